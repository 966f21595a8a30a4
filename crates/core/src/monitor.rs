//! Attributes every transmission to the monitor interval in which it was sent, in constant time by packet number. Hands
//! over intervals in order, once the fate of all their packets is known.

use crate::bursts::Bursts;
use crate::interval::IntervalPlan;
use crate::interval::{Interval, LimitedBy, Report, SHORTEST_TRIAL};
use crate::rng::Rng;
use crate::rtt::{RttEstimator, RttSample};
use crate::units::{Bytes, Rate, Timestamp};
use crate::way_back::WayBack;
use core::time::Duration;
use std::collections::VecDeque;

/// Packets remembered at the most; a transport that has more outstanding loses the attribution of the oldest.
const MAX_PACKETS: usize = 1 << 20;
/// The most packets in flight: of more, the fate of the older half would not be known.
pub(crate) const MAX_IN_FLIGHT: u64 = MAX_PACKETS as u64 / 2;
/// A jump in packet numbers beyond this starts afresh instead of filling the gap.
const MAX_GAP: u64 = 1 << 16;
/// Intervals waiting for the fate of their packets at the most.
const MAX_INTERVALS: usize = 64;
/// An interval closes after this long whatever happened, or after four RTT if those are longer.
const LONGEST_INTERVAL: Duration = Duration::from_millis(250);
/// A packet an RTT would be many times a short path's rate where dozens share it.
const LEAST_GAP: Duration = Duration::from_millis(1);
/// Divisor by which the known lateness of packets shrinks with each interval without a late one, as a sample's weight
/// in the smoothed variation of RFC 6298.
const LATENESS_FORGOTTEN: u32 = 4;
crate::shared::shared_with_c!("MONITOR_" [] LONGEST_INTERVAL, LEAST_GAP, LEAST_PACKETS = Config::default().min_packets);

/// Lengths of monitor intervals.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Packets whose time at its rate an interval lasts at least (`NSDI 2015` §3.1), up to 4 RTT, unless the law chose
    /// its length with them in mind ([`IntervalPlan::is_stretched`]). A judged interval lasts at least 1 ms, the time
    /// of ten trains.
    pub min_packets: u32,
}

impl Config {
    /// How long this interval is meant to last if the law asks for `by_time`.
    pub(crate) fn length(&self, plan: &IntervalPlan, by_time: Duration, packet: Bytes, rtt: Duration) -> Duration {
        let volume = Bytes::new(packet.get().saturating_mul(u64::from(self.min_packets)));
        let by_packets = if plan.is_stretched { plan.rate.time_for(volume).min(4 * rtt) } else { Duration::ZERO };
        let by_trains = if plan.trial.is_some() { SHORTEST_TRIAL } else { Duration::ZERO };
        by_time.max(by_packets).max(by_trains)
    }
}

pub(crate) fn longest_interval(rtt: Duration) -> Duration {
    LONGEST_INTERVAL.max(4 * rtt)
}

impl Default for Config {
    fn default() -> Self {
        Self { min_packets: 10 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// No packet of that number was reported as sent, or its fate is known and used.
    Settled,
    Outstanding,
    /// Declared lost; an acknowledgement may still prove that wrong.
    Lost,
}

/// A packet, in 12 bytes: a fast and long path has tens of thousands of them in flight.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// Microseconds since the origin, modulo 2³²: unambiguous for 35 minutes.
    at_us: u32,
    interval: u32,
    bytes: u16,
    fate: Fate,
}

const SETTLED: Sent = Sent { at_us: 0, interval: 0, bytes: 0, fate: Fate::Settled };

const fn micros(at: Timestamp) -> u32 {
    (at.as_nanos() / 1000) as u32
}

impl Sent {
    /// How long ago it was sent; `None` if the clock stepped back, or if that is longer than anybody waits.
    fn age(&self, now: Timestamp) -> Option<Duration> {
        self.age_us(now).map(|age| Duration::from_micros(age.into()))
    }

    /// The same in microseconds.
    fn age_us(&self, now: Timestamp) -> Option<u32> {
        let age = micros(now).wrapping_sub(self.at_us);
        // Beyond half of the circle one cannot tell which of the two it is.
        (age <= u32::MAX / 2).then_some(age)
    }

    /// When it was sent, or `now` where that cannot be told.
    fn sent_at(&self, now: Timestamp) -> Timestamp {
        let age = u64::from(self.age_us(now).unwrap_or_default()) * 1000;
        Timestamp::from_nanos(now.as_nanos().saturating_sub(age))
    }
}

/// The monitor's result of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acked {
    pub(crate) sent_at: Timestamp,
    pub(crate) bytes: Bytes,
}

/// The packets in flight and the intervals they belong to.
#[derive(Clone, Debug)]
pub(crate) struct Monitor {
    config: Config,
    packets: VecDeque<Sent>,
    /// Number of the packet at the front of `packets`.
    first: u64,
    intervals: VecDeque<Interval>,
    next_interval: u64,
    in_flight: Bytes,
    sent: Bytes,
    /// The newest packet of the acknowledgement being read: only its RTT is free of the peer's batching.
    newest_acked: Option<(u64, Sent)>,
    largest_acked: Option<u64>,
    /// Packets that arrived marked and belong to no interval yet.
    marks: u32,
    latest_rtt: Duration,
    way_back: WayBack,
    /// Which of its samples are not the path's.
    bursts: Bursts,
    /// Lateness of packets that arrive after they were declared lost.
    lateness: Duration,
    /// One did so since the last report.
    was_late: bool,
}
impl Monitor {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            config,
            packets: VecDeque::new(),
            first: 0,
            intervals: VecDeque::new(),
            next_interval: 0,
            in_flight: Bytes::ZERO,
            sent: Bytes::ZERO,
            newest_acked: None,
            largest_acked: None,
            marks: 0,
            latest_rtt: Duration::ZERO,
            way_back: WayBack::default(),
            bursts: Bursts::default(),
            lateness: Duration::ZERO,
            was_late: false,
        }
    }

    /// Leaves out the samples of bursts, from this ratio of gaps between acknowledgements on; 0 for none.
    pub(crate) const fn leave_out_bursts(&mut self, ratio: f64) {
        self.bursts = Bursts::with_ratio(ratio);
    }

    #[cfg(test)]
    pub(crate) const fn bursts(&self) -> &Bursts {
        &self.bursts
    }

    pub(crate) const fn bytes_in_flight(&self) -> Bytes {
        self.in_flight
    }

    /// Bytes whose fate is known.
    pub(crate) const fn bytes_settled(&self) -> Bytes {
        self.sent.saturating_sub(self.in_flight)
    }

    /// The interval that packets are now added to.
    pub(crate) fn open_interval(&mut self) -> Option<&mut Interval> {
        self.intervals.back_mut().filter(|interval| interval.deadline.is_none())
    }

    /// Nothing but pacing and the host, or the window, kept the sender silent until `now`.
    pub(crate) fn last_until(&mut self, now: Timestamp) {
        if let Some(last) = self.intervals.back_mut() {
            last.lasts_until(now);
        }
    }

    /// Opens an interval for the packet about to be recorded.
    pub(crate) fn open(&mut self, now: Timestamp, plan: IntervalPlan, packet: Bytes, rtt: Duration, rng: &mut Rng) {
        let (shortest, longest) = plan.rtts;
        let rtts = shortest + (longest - shortest) * rng.unit();
        let by_time = Duration::try_from_secs_f64(rtt.as_secs_f64() * rtts).unwrap_or(rtt);
        let length = self.config.length(&plan, by_time, packet, rtt);
        self.intervals.push_back(Interval::new(self.next_interval, plan, length, now));
        self.next_interval += 1;
    }

    /// Closes the open interval if it has lasted long enough; true if it did. `limited` is what the transport says
    /// keeps it from sending.
    pub(crate) fn close_if_due(&mut self, now: Timestamp, rtt: &RttEstimator, limited: Option<LimitedBy>) -> bool {
        self.forget_overtaken(now, rtt.stall_period());
        if self.is_full() {
            return false;
        }
        let longest = longest_interval(rtt.smoothed_or_assumed());
        let Some(open) = self.open_interval() else { return false };
        let due = now.since(open.started) >= open.length.min(longest);
        if due {
            open.close(now, now + rtt.stall_period(), limited);
        }
        due
    }

    /// A trial is never given up for want of room: the open interval just lasts longer.
    fn is_full(&self) -> bool {
        self.intervals.len() >= MAX_INTERVALS
    }

    /// The time at which the open interval must close, the oldest closed one is given up, or its losses are believed.
    pub(crate) fn next_deadline(&self, rtt: &RttEstimator) -> Option<Timestamp> {
        let oldest = self.intervals.front().and_then(|front| front.resolved(self.lateness).or(front.deadline));
        let open = self.intervals.back().filter(|interval| interval.deadline.is_none() && !self.is_full());
        let closing = open.map(|open| {
            let longest = longest_interval(rtt.smoothed_or_assumed());
            open.started + open.length.min(longest)
        });
        [oldest, closing].into_iter().flatten().min()
    }

    /// Records a packet in the open interval. Numbers must increase; others are ignored.
    pub(crate) fn on_packet_sent(&mut self, now: Timestamp, packet: u64, bytes: Bytes, window_limited: bool) {
        self.trim();
        let mut end = self.first.saturating_add(self.packets.len() as u64);
        if packet < end {
            return;
        }
        if self.packets.is_empty() || packet - end > MAX_GAP {
            self.discard_below(end);
            self.packets.clear();
            (self.first, end) = (packet, packet);
        }
        if self.packets.len() + (packet - end) as usize >= MAX_PACKETS {
            self.discard_below(packet.saturating_sub(MAX_PACKETS as u64 / 2));
            self.trim();
        }
        for _ in end..packet {
            self.packets.push_back(SETTLED);
        }
        let bytes = u16::try_from(bytes.get()).unwrap_or(u16::MAX); // a UDP datagram holds no more
        let volume = Bytes::new(bytes.into());
        self.in_flight += volume;
        self.sent += volume;
        let interval = self.open_interval().map_or(u32::MAX, |open| {
            open.on_sent(now, volume, window_limited);
            open.id as u32
        });
        self.packets.push_back(Sent { at_us: micros(now), interval, bytes, fate: Fate::Outstanding });
    }

    /// Settles a packet as delivered; `None` if that is no news.
    pub(crate) fn on_ack(&mut self, now: Timestamp, packet: u64) -> Option<Acked> {
        let sent = self.get_mut(packet)?;
        let was = *sent;
        sent.fate = Fate::Settled;
        let bytes = Bytes::new(was.bytes.into());
        match was.fate {
            Fate::Settled => return None,
            Fate::Outstanding => {
                self.in_flight -= bytes;
                if let Some(interval) = self.interval_of(was) {
                    interval.on_acked(now, bytes);
                }
            }
            Fate::Lost => {
                // No more than a quarter of an RTT, by which RFC 9002 §6.1.2 and RACK (RFC 8985 §6.2) wait for packets.
                let age = was.age(now).unwrap_or_default();
                let late = age.saturating_sub(self.latest_rtt).min(self.latest_rtt / 4);
                self.lateness = self.lateness.max(late);
                self.was_late = true;
                if let Some(interval) = self.interval_of(was) {
                    interval.on_spurious_loss(now, bytes);
                }
            }
        }
        if self.largest_acked.is_none_or(|largest| packet > largest) {
            (self.largest_acked, self.newest_acked) = (Some(packet), Some((packet, was)));
        }
        Some(Acked { sent_at: was.sent_at(now), bytes })
    }

    /// Ends the reading of an acknowledgement: the RTT of its newest packet, if it moved the largest one.
    pub(crate) fn on_end_acks(&mut self, now: Timestamp) -> Option<RttSample> {
        let (_, newest) = self.newest_acked.take()?;
        let marks = core::mem::take(&mut self.marks);
        if let Some(interval) = self.interval_of(newest) {
            interval.on_marked(marks);
        }
        let rtt = newest.age(now)?;
        self.latest_rtt = rtt;
        let sample = RttSample { rtt, waited: self.way_back.waited(rtt) };
        if self.bursts.is_of_the_path(now, sample.forward())
            && let Some(interval) = self.interval_of(newest)
        {
            interval.on_rtt(now - rtt, sample.forward());
        }
        Some(sample)
    }

    /// Whether an acknowledgement is being read: its RTT and its marks are told of at its end.
    pub(crate) const fn reads_an_acknowledgement(&self) -> bool {
        self.newest_acked.is_some()
    }

    /// The acknowledgement being read left at this time of the peer's clock.
    pub(crate) fn on_ack_left(&mut self, now: Timestamp, left: Timestamp) {
        self.way_back.on_left(now, left);
    }

    /// A number of packets arrived marked: most likely the newest ones of this acknowledgement, or of the next one that
    /// has news.
    pub(crate) const fn on_marked(&mut self, packets: u32) {
        self.marks = self.marks.saturating_add(packets);
    }

    pub(crate) fn on_loss(&mut self, now: Timestamp, packet: u64) {
        let Some(sent) = self.get_mut(packet).filter(|sent| sent.fate == Fate::Outstanding) else { return };
        sent.fate = Fate::Lost;
        let was = *sent;
        let bytes = Bytes::new(was.bytes.into());
        self.in_flight -= bytes;
        if let Some(interval) = self.interval_of(was) {
            interval.on_lost(now, packet, bytes);
        }
    }

    /// Forgets every packet below this number: their fate will not be reported.
    pub(crate) fn discard_below(&mut self, packet: u64) {
        while self.first < packet
            && let Some(sent) = self.packets.pop_front()
        {
            self.first += 1;
            if sent.fate == Fate::Outstanding {
                let bytes = Bytes::new(sent.bytes.into());
                self.in_flight -= bytes;
                if let Some(interval) = self.interval_of(sent) {
                    interval.on_discarded(bytes);
                }
            }
        }
    }

    /// The transport had nothing to send for `time`.
    pub(crate) fn on_limited(&mut self, time: Duration, by: LimitedBy) {
        if let Some(open) = self.open_interval() {
            open.on_limited(time, by);
        }
    }

    /// The report of the oldest interval, if it is resolved or its deadline has passed; no report if all of its packets
    /// were discarded. Each closed interval is reported once, in order.
    pub(crate) fn pop(&mut self, now: Timestamp) -> Option<(IntervalPlan, Option<Report>)> {
        let front = self.intervals.front()?;
        if front.outstanding > 0 && front.deadline.is_some_and(|deadline| now >= deadline) {
            self.give_up_oldest();
        }
        let resolved = self.intervals.front()?.resolved(self.lateness)?;
        if now < resolved {
            return None;
        }
        if !core::mem::take(&mut self.was_late) {
            self.lateness -= self.lateness / LATENESS_FORGOTTEN;
        }
        let interval = self.intervals.pop_front()?;
        let report = (interval.packets > 0).then(|| interval.report());
        Some((interval.plan, report))
    }

    /// Gives up what is outstanding of the oldest interval. Where nothing that was sent later has arrived, the path is
    /// silent and it is lost; what others overtook long ago the transport has forgotten, and its fate is not known.
    fn give_up_oldest(&mut self) {
        let Some(front) = self.intervals.front_mut() else { return };
        let overtaken = self.largest_acked.map_or(0, |largest| largest.saturating_sub(self.first));
        let overtaken = usize::try_from(overtaken).unwrap_or(usize::MAX);
        let mut forgotten = Bytes::ZERO;
        for sent in self.packets.iter_mut().take(overtaken) {
            if sent.fate == Fate::Outstanding && sent.interval == front.id as u32 {
                sent.fate = Fate::Settled;
                let bytes = Bytes::new(sent.bytes.into());
                forgotten += bytes;
                front.on_discarded(bytes);
            }
        }
        self.in_flight -= forgotten;
        if front.outstanding > 0 {
            front.give_up();
        }
    }

    /// The oldest interval as far as it is known, as though all that is outstanding arrived, if it is closed and to be
    /// judged and may tell something already. Asked at each acknowledgement.
    pub(crate) fn so_far(&self) -> Option<(IntervalPlan, Report)> {
        let front = self.intervals.front()?;
        let may_tell = front.deadline.is_some() && front.plan.trial.is_some() && front.may_tell_early();
        may_tell.then(|| (front.plan, front.report()))
    }

    /// Drops the oldest interval: its packets are judged no more.
    pub(crate) fn forget_oldest(&mut self) {
        self.intervals.pop_front();
    }

    /// Starts afresh: packets already sent are judged in no interval, the next packet opens a new one.
    pub(crate) fn realign(&mut self) {
        self.intervals.clear();
    }

    fn get_mut(&mut self, packet: u64) -> Option<&mut Sent> {
        self.packets.get_mut(usize::try_from(packet.checked_sub(self.first)?).ok()?)
    }

    fn interval_of(&mut self, sent: Sent) -> Option<&mut Interval> {
        let front = self.intervals.front()?.id as u32;
        self.intervals.get_mut(sent.interval.wrapping_sub(front) as usize)
    }

    /// Settles what is in no interval and was overtaken so long ago: the transport forgot it.
    fn forget_overtaken(&mut self, now: Timestamp, long: Duration) {
        self.trim();
        while let Some(&front) = self.packets.front()
            && front.fate == Fate::Outstanding
            && self.largest_acked.is_some_and(|largest| self.first < largest)
            && front.age(now).is_none_or(|age| age > long)
            && self.interval_of(front).is_none()
        {
            self.discard_below(self.first + 1);
            self.trim();
        }
    }

    /// Bytes of the latest packets that left at one time.
    pub(crate) fn latest_train(&self) -> Bytes {
        self.intervals.back().map_or(Bytes::ZERO, Interval::latest_train)
    }

    /// Drops settled packets from the front, and lost ones whose interval has been judged.
    fn trim(&mut self) {
        while let Some(&front) = self.packets.front() {
            let needed = match front.fate {
                Fate::Settled => false,
                Fate::Outstanding => true,
                Fate::Lost => self.interval_of(front).is_some(),
            };
            if needed {
                break;
            }
            self.packets.pop_front();
            self.first += 1;
        }
    }
}

/// The least rate: a packet an RTT, but no more than one each [`LEAST_GAP`]. Who has less hears too rarely of its path to find
/// its part of it again, and no TCP has less but after a time-out (RFC 5681).
pub(crate) fn floor_rate(packet: Bytes, rtt: Duration) -> Rate {
    Rate::from_volume(packet, LEAST_GAP.max(rtt))
}

#[cfg(test)]
mod tests;
