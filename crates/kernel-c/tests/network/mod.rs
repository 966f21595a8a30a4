//! A path that answers a law with reports.

use core::time::Duration;
use pcc::control::Path;
use pcc::interval::IntervalPlan;
use pcc::interval::{LimitedBy, Report};
use pcc::monitor;
use pcc::rng::Rng;
use pcc::units::{Bytes, Rate, Timestamp};
use pcc::utility::SenderView;

/// A path, as far as reports show it: a capacity, a queue, a random loss, noise. It changes now and then.
pub(crate) struct Network {
    pub(crate) rng: Rng,
    capacity: f64,
    base: f64,
    buffer: f64,
    queue: f64,
    loss: f64,
    noise: f64,
    marks: bool,
    /// The level to which others fill the queue.
    others: f64,
    /// The highest rate that the sender was allowed.
    limit: f64,
    now: f64,
}

impl Network {
    pub(crate) fn new(seed: u64) -> Self {
        let mut network = Self {
            rng: Rng::new(seed),
            capacity: 0.0,
            base: 0.0,
            buffer: 0.0,
            queue: 0.0,
            loss: 0.0,
            noise: 0.0,
            marks: false,
            others: 0.0,
            limit: 0.0,
            now: 1.0,
        };
        network.change();
        network
    }

    /// Between these, each order of magnitude as likely as the others.
    fn between(&mut self, least: f64, most: f64) -> f64 {
        least * (most / least).powf(self.rng.unit())
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.rng.next_u64().is_multiple_of(n)
    }

    fn change(&mut self) {
        self.capacity = self.between(2e4, 1e9);
        self.base = self.between(1e-4, 0.8);
        self.buffer = self.between(1e-5, 0.5);
        self.loss = if self.one_in(2) { 0.0 } else { self.between(1e-4, 0.3) };
        self.noise = if self.one_in(3) { 0.0 } else { self.between(1e-6, 0.02) };
        self.marks = self.one_in(4);
        self.limit = if self.one_in(4) { self.between(1e5, 1e9) } else { 1.25e10 };
        self.others = if self.one_in(3) { self.buffer * self.rng.unit() } else { 0.0 };
    }

    pub(crate) fn path(&mut self, packet: u64, delivery: f64) -> Path {
        let time = Duration::from_secs_f64;
        Path {
            rtt: time(self.base + self.queue),
            queue: time(self.queue * self.rng.unit()),
            packet: Bytes::new(packet),
            monitor: monitor::Config::default(),
            floor: Rate::from_bytes_per_sec(packet as f64 / 0.25),
            initial: Rate::from_bytes_per_sec((10.0 * packet as f64 / (self.base / 2.0)).min(self.limit)),
            ceiling: Rate::from_bytes_per_sec(self.limit),
            delivery: Rate::from_bytes_per_sec(delivery),
            capacity: None,
            trains: None,
        }
    }

    /// The report of an interval sent at this rate, with noise.
    pub(crate) fn carry(&mut self, plan: IntervalPlan, packet: u64, path: &Path) -> Report {
        if self.one_in(150) {
            self.change();
        }
        let length = (path.rtt.as_secs_f64() * plan.rtts.0).max(0.001);
        let achieved = plan.rate.bytes_per_sec() * if self.one_in(20) { self.rng.unit() } else { 1.0 };
        let growth = achieved / self.capacity - 1.0;
        let before = self.queue.max(self.others * self.rng.unit());
        self.queue = (before + growth * length).clamp(0.0, self.buffer);
        let overflow = ((before + growth * length - self.buffer) / length / (1.0 + growth)).clamp(0.0, 1.0);
        let sent = (achieved * length) as u64;
        let packets = (sent / packet).clamp(1, u32::MAX.into()) as u32;
        let share = (self.loss + overflow).min(1.0);
        let lost = (f64::from(packets) * share * 2.0 * self.rng.unit()).min(packets.into()) as u32;
        let noise = self.noise * (self.rng.unit() - 0.5);
        // A radio lets go of what it held: for a moment the RTT grows faster than any queue.
        let leap = if self.one_in(6) { self.between(0.5, 5.0) } else { 0.0 };
        let rtt = |queue: f64| Some(Duration::from_secs_f64((self.base + queue + noise.abs()).max(1e-6)));
        let samples = packets.min(1000) * u32::from(lost < packets);
        let seen = |time: Option<Duration>| time.filter(|_| samples > 0);
        let limited_by = match self.rng.next_u64() % 40 {
            0 => LimitedBy::Application,
            1 => LimitedBy::Host,
            2 => LimitedBy::ReceiverWindow,
            _ => LimitedBy::Network,
        };
        // A host that stops sends what piled up in a small part of an interval.
        let seen_for = if self.rng.unit() < 0.1 || leap > 0.0 { length * self.rng.unit() } else { length * 0.95 };
        self.now += length;
        let mut report = SenderView::clear(1.0, 0.1).report();
        report.id = 0;
        report.started = Timestamp::from_nanos(((self.now - length) * 1e9) as u64);
        report.duration = Duration::from_secs_f64(length);
        report.target = plan.rate;
        report.achieved = Rate::from_bytes_per_sec(achieved);
        report.packets = packets;
        report.packets_lost = lost;
        report.loss_bursts = (f64::from(lost) * self.rng.unit()) as u32;
        report.packets_marked = if self.marks { (f64::from(packets - lost) * 0.1 * self.rng.unit()) as u32 } else { 0 };
        report.sent = Bytes::new(sent);
        report.lost = Bytes::new((sent as f64 * f64::from(lost) / f64::from(packets)) as u64);
        report.delivery_rate = (samples > 1).then(|| Rate::from_bytes_per_sec(achieved.min(self.capacity)));
        report.rtt = seen(rtt((before + self.queue) / 2.0));
        report.rtt_least = seen(rtt(before.min(self.queue)));
        report.rtt_base = Some(path.rtt.saturating_sub(path.queue));
        report.rtt_gradient = (samples > 1).then(|| (self.queue - before + noise) / length + leap);
        report.rtt_gradient_error =
            if samples > 2 { self.noise / length / f64::from(samples).sqrt() } else { f64::INFINITY };
        report.rtt_span = Duration::from_secs_f64(seen_for);
        report.rtt_pause = Duration::from_secs_f64(seen_for * 0.1 * self.rng.unit());
        report.rtt_samples = samples;
        report.rtt_residual = Duration::from_secs_f64(self.noise);
        report.rtt_deviation = Duration::from_secs_f64(self.noise);
        report.app_limited = matches!(limited_by, LimitedBy::Application | LimitedBy::ReceiverWindow);
        report.limited_by = limited_by;
        report
    }
}
