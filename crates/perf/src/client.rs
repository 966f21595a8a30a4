//! One test, from the client's end: idle path, load, what came of it.

use crate::cpu::Cpu;
use crate::flow::{End, Flow, Moment, Way};
use crate::intervals::MonitorInterval;
use crate::load::{self, Load, Stream, Until};
use crate::meter::Meter;
use crate::protocol::{Dialect, Phase, REPORT_INTERVAL};
use crate::reports::{self, Report};
use crate::side::Side;
use crate::stream_error::StreamError;
use crate::test_error::TestError;
use crate::windows;
use noq::Connection;
use pcc::units::Rate;
use pcc_net::throttle::Throttle;
use pcc_stats::Spread;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The plan of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The load.
    pub load: Load,
    /// Time between interval lines; zero for none.
    pub interval: Duration,
    /// Left out of the results at the beginning.
    pub omit: Duration,
    /// Most that the application offers, over all streams.
    pub throttle: Option<Rate>,
    /// Largest send buffer in bytes.
    pub send_window: u64,
    /// Begins right after the handshake, without measuring the idle path.
    pub at_once: bool,
}

/// One interval, told while the test runs.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Seconds since the load began.
    pub start: f64,
    /// The same.
    pub end: f64,
    /// Within the time to be left out.
    pub omitted: bool,
    /// One a direction.
    pub flows: Vec<(Way, Flow)>,
    /// Bytes of each stream.
    pub streams: Vec<(Stream, u64)>,
    /// Monitor intervals of this end's PCC that were resolved in it, if they are recorded.
    pub monitor_intervals: Option<Vec<MonitorInterval>>,
}

/// Its outcome.
#[derive(Debug)]
pub struct Outcome {
    /// One a direction, from the end of the omitted time on.
    pub flows: Vec<(Way, Flow)>,
    /// Bytes of each stream, by this end's count, and by the server's if it reports.
    pub streams: Vec<(Stream, u64, Option<u64>)>,
    /// From the first packet of the handshake until data could be sent.
    pub connect: Duration,
    /// RTT before the load, that of the handshake if none was measured.
    pub idle_rtt: Duration,
    /// RTT under load in milliseconds, the sender's samples; none if the test was too short for one.
    pub loaded_rtt: Option<Spread>,
    /// CPU time here and how long it was measured.
    pub cpu_here: (Cpu, Duration),
    /// The same at a server that reports.
    pub cpu_there: Option<(Cpu, Duration)>,
    /// All that the server counted, by its last report; none from one that does not report.
    pub there: Option<Side>,
    /// Why it ended before its time: the user's Ctrl-C, or a lost connection.
    pub cut_short: Option<TestError>,
}

impl Outcome {
    /// The RTT that the load added, at the median. Unit: ms.
    pub fn rtt_added_ms(&self) -> Option<f64> {
        Some((self.loaded_rtt?.median - self.idle_rtt.as_secs_f64() * 1e3).max(0.0))
    }

    /// CPU time of this end in percent of a core.
    pub fn cpu_percent(&self) -> f64 {
        let (cpu, time) = self.cpu_here;
        100.0 * cpu.total_us() as f64 / time.as_micros().max(1) as f64
    }
}

/// How often RTTs are sampled and the send buffer is fitted to the path.
const SAMPLE: Duration = windows::FITTING_INTERVAL;
/// How long the server is waited for once the test is over: for its last report, or for its confirmation.
const GRACE: Duration = Duration::from_secs(3);

/// Runs one test over `connection`.
///
/// Errors: only if nothing was measured; a test that is cut short has an outcome.
pub async fn run(
    connection: &Connection,
    meter: &Arc<Meter>,
    dialect: Dialect,
    plan: &Plan,
    stop: impl Future<Output = String>,
    tell: &mut (dyn FnMut(&Interval) + Send),
) -> Result<Outcome, TestError> {
    let mut background = JoinSet::new();
    let reported = listen(connection, meter, dialect, &mut background);
    // Without a first report the server has received nothing yet.
    let unreported = (plan.at_once && dialect == Dialect::Reporting).then(Side::default);
    let mut view = View { connection, meter, reported, unreported, began: Instant::now(), heard: Heard::default() };
    let connect = meter.age();
    let idle_rtt = if plan.at_once {
        connection.path_stats(noq::PathId::ZERO).unwrap_or_default().rtt
    } else {
        let rtt = load::idle_rtt(connection, meter).await.map_err(TestError::NoAnswer)?;
        view.wait_for_report(|_| true).await; // the server's starting point
        rtt
    };

    let (phase, phases) = watch::channel(Phase::Run);
    let throttle = plan.throttle.map(|rate| Arc::new(Throttle::new(rate)));
    windows::fit_send_window(connection, 0, plan.send_window);
    view.began = Instant::now();
    let start = view.now();
    let (streams, mut tasks) = load::start(&plan.load, connection, meter, throttle, &phases).await?;

    let mut course = Course::new(plan, streams, start.clone(), tell);
    let mut stop = pin!(stop);
    let cut_short = course.follow(&mut view, &mut tasks, stop.as_mut()).await.err();
    let ended = view.now();
    course.tell_last(&ended, view.meter);
    let Settled { last, delivered, silent_from } = settle(&mut view, tasks, &phase, dialect).await;
    let silence = silent_from.map(|from| TestError::Silent(from.as_secs_f64()));
    let end = End { ended: &ended, last: &last, delivered };
    Ok(Outcome {
        flows: plan.load.ways.iter().map(|&way| (way, Flow::whole(way, &start, &course.counted_from, &end))).collect(),
        streams: counts(&course.streams, &last),
        connect,
        idle_rtt,
        loaded_rtt: Spread::of(course.rtts),
        cpu_here: cpu(&start.client, &ended.client),
        cpu_there: start.server.as_ref().zip(last.server.as_ref()).map(|(from, to)| cpu(from, to)),
        there: view.reported.borrow().as_ref().map(|report| report.side.clone()),
        cut_short: cut_short.or(silence),
    })
}

/// Starts to receive reports, if the server sends any.
fn listen(
    connection: &Connection,
    meter: &Arc<Meter>,
    dialect: Dialect,
    tasks: &mut JoinSet<()>,
) -> watch::Receiver<Option<Report>> {
    let (latest, reported) = watch::channel(None);
    if dialect == Dialect::Reporting {
        let (connection, meter) = (connection.clone(), Arc::clone(meter));
        tasks.spawn(async move {
            let error = reports::receive(connection, meter, latest).await;
            tracing::debug!("no more reports from the server: {error}");
        });
    }
    reported
}

/// Where the client reads what is known.
struct View<'a> {
    connection: &'a Connection,
    meter: &'a Meter,
    reported: watch::Receiver<Option<Report>>,
    /// What is known of the server before it reports.
    unreported: Option<Side>,
    began: Instant,
    heard: Heard,
}

/// What has come from the server, of whatever kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Heard {
    datagrams: u64,
    /// When the latest of them was noticed, since the load began.
    at: Duration,
}

impl View<'_> {
    fn now(&self) -> Moment {
        let report = self.reported.borrow().clone();
        Moment {
            at: self.began.elapsed(),
            client: self.meter.read(self.connection),
            received_when_reported: report.as_ref().map_or(0, |report| report.received),
            server: report.map(|report| report.side).or_else(|| self.unreported.clone()),
        }
    }

    /// Waits for a report that is `enough`; not long, and not at all if none will come. Answers whether it came.
    async fn wait_for_report(&mut self, enough: impl Fn(&Side) -> bool) -> bool {
        let enough = self.reported.wait_for(|report| report.as_ref().is_some_and(|report| enough(&report.side)));
        let came = matches!(tokio::time::timeout(GRACE, enough).await, Ok(Ok(_)));
        if !came {
            tracing::debug!("the server's report did not come in time");
        }
        came
    }

    /// Notices whether something has come from the server.
    fn listen(&mut self) {
        let datagrams = self.connection.stats().udp_rx.datagrams;
        if datagrams != self.heard.datagrams {
            self.heard = Heard { datagrams, at: self.began.elapsed() };
        }
    }
}

/// A test under way.
struct Course<'a> {
    plan: &'a Plan,
    streams: Vec<Stream>,
    /// Bytes of each stream at the end of the latest interval.
    stream_bytes: Vec<u64>,
    /// The end of the latest interval.
    told: Moment,
    /// From here on it counts: the start, or the end of the omitted time.
    counted_from: Moment,
    rtts: Vec<f64>,
    /// When the interval under way is to end.
    due: Duration,
    /// The latest report that was noticed.
    reported: Option<u64>,
    tell: &'a mut (dyn FnMut(&Interval) + Send),
}

impl<'a> Course<'a> {
    fn new(plan: &'a Plan, streams: Vec<Stream>, start: Moment, tell: &'a mut (dyn FnMut(&Interval) + Send)) -> Self {
        let stream_bytes = vec![0; streams.len()];
        let (told, due) = (start.clone(), plan.interval);
        Self { plan, streams, stream_bytes, told, counted_from: start, rtts: Vec::new(), due, reported: None, tell }
    }

    /// Follows the test to its end: its time is over, or its data has arrived.
    async fn follow(
        &mut self,
        view: &mut View<'_>,
        tasks: &mut JoinSet<Result<(), StreamError>>,
        mut stop: Pin<&mut impl Future<Output = String>>,
    ) -> Result<(), TestError> {
        let end = match self.plan.load.until {
            Until::Time(time) => time.saturating_add(self.plan.omit),
            Until::Volume(_) => Duration::MAX,
        };
        let mut ticks = tokio::time::interval(SAMPLE);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                reason = &mut stop => return Err(TestError::Stopped(reason)),
                ended = tasks.join_next() => match ended {
                    None => return Ok(()),
                    Some(ended) => ended??,
                },
                _ = ticks.tick() => {
                    self.sample(view);
                    if view.began.elapsed() >= end {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn sample(&mut self, view: &mut View<'_>) {
        view.listen();
        let path = view.connection.path_stats(noq::PathId::ZERO).unwrap_or_default();
        windows::fit_send_window(view.connection, path.cwnd, self.plan.send_window);
        let at = view.began.elapsed();
        if self.counted_from.at < self.plan.omit && at >= self.plan.omit {
            self.counted_from = view.now();
            self.rtts.clear();
        }
        let rtt = match (self.plan.load.ways.contains(&Way::Up), &*view.reported.borrow()) {
            (false, Some(report)) => Duration::from_micros(report.side.rtt_us),
            _ => path.rtt,
        };
        self.rtts.push(rtt.as_secs_f64() * 1e3);
        let interval = self.plan.interval;
        if !interval.is_zero() && at >= self.due + self.delay(view) {
            self.tell_until(&view.now(), view.meter);
            // What one lasts longer the next is shorter; but a host that stood still is not made up for.
            self.due = if at < self.due + interval { self.due } else { at } + interval;
        }
    }

    /// How much longer an interval lasts, so that it ends with a report: what arrived is known then, and not what had
    /// arrived up to a tenth of a second before. No longer than until the next report is due.
    fn delay(&mut self, view: &View<'_>) -> Duration {
        let reported = view.reported.borrow().as_ref().map(|report| report.side.at_us);
        let is_fresh = core::mem::replace(&mut self.reported, reported) != reported;
        let is_worth_it = self.plan.load.ways.contains(&Way::Up) && self.plan.interval > REPORT_INTERVAL;
        if is_fresh || reported.is_none() || !is_worth_it { Duration::ZERO } else { REPORT_INTERVAL }
    }

    fn tell_until(&mut self, now: &Moment, meter: &Meter) {
        let bytes = stream_bytes(&self.streams, &now.client);
        let since = |(now, before): (&u64, &u64)| now.saturating_sub(*before);
        let moved = bytes.iter().zip(&self.stream_bytes).map(since);
        let interval = Interval {
            start: self.told.at.as_secs_f64(),
            end: now.at.as_secs_f64(),
            omitted: now.at <= self.plan.omit,
            flows: self.plan.load.ways.iter().map(|&way| (way, Flow::during(way, &self.told, now))).collect(),
            streams: self.streams.iter().copied().zip(moved).collect(),
            monitor_intervals: meter.take_intervals(),
        };
        (self.tell)(&interval);
        self.stream_bytes = bytes;
        self.told = now.clone();
    }

    /// The rest of the last interval, unless it is too short to say anything.
    fn tell_last(&mut self, now: &Moment, meter: &Meter) {
        let rest = now.at.saturating_sub(self.told.at);
        if !self.plan.interval.is_zero() && (rest > self.plan.interval / 10 || self.told.at.is_zero()) {
            self.tell_until(now, meter);
        }
    }
}

/// What is known at last.
struct Settled {
    last: Moment,
    /// Whether everything that was sent has arrived.
    delivered: bool,
    /// From when on the server, which should have answered, was silent.
    silent_from: Option<Duration>,
}

/// Ends the load and hears the server out.
async fn settle(
    view: &mut View<'_>,
    mut tasks: JoinSet<Result<(), StreamError>>,
    phase: &watch::Sender<Phase>,
    dialect: Dialect,
) -> Settled {
    let lost = view.connection.close_reason().is_some();
    let mut delivered = tasks.is_empty() && !lost;
    view.listen();
    let heard = view.heard;
    if !delivered && dialect == Dialect::Plain && !lost {
        // Only the end of its answer tells that the server has received everything.
        phase.send_replace(Phase::Finish);
        delivered = tokio::time::timeout(GRACE, all_well(&mut tasks)).await.unwrap_or(false);
    }
    let done = view.now();
    phase.send_replace(Phase::Abort);
    let answered = match dialect {
        Dialect::Plain => delivered,
        Dialect::Reporting if lost => false,
        Dialect::Reporting => {
            let begun = view.meter.streams_begun();
            view.wait_for_report(move |side| side.streams_done >= begun).await
        }
    };
    view.listen();
    // Who is there acknowledges at least, be its answer behind a long queue or lost on its way.
    let silent = !lost && !answered && view.heard == heard;
    let mut last = view.now();
    last.at = done.at;
    Settled { last, delivered, silent_from: silent.then_some(heard.at) }
}

/// Waits for all tasks; whether none failed.
async fn all_well(tasks: &mut JoinSet<Result<(), StreamError>>) -> bool {
    let mut well = true;
    while let Some(ended) = tasks.join_next().await {
        well &= matches!(ended, Ok(Ok(())));
    }
    well
}

fn bytes_of(stream: Stream, side: &Side) -> Option<u64> {
    side.streams.iter().find(|(id, _)| *id == stream.id).map(|(_, bytes)| *bytes)
}

fn stream_bytes(streams: &[Stream], side: &Side) -> Vec<u64> {
    streams.iter().map(|&stream| bytes_of(stream, side).unwrap_or(0)).collect()
}

fn counts(streams: &[Stream], last: &Moment) -> Vec<(Stream, u64, Option<u64>)> {
    let count = |&stream: &Stream| {
        let there = last.server.as_ref().and_then(|server| bytes_of(stream, server));
        (stream, bytes_of(stream, &last.client).unwrap_or(0), there)
    };
    streams.iter().map(count).collect()
}

fn cpu(from: &Side, to: &Side) -> (Cpu, Duration) {
    (to.cpu.since(from.cpu), Duration::from_micros(to.at_us.saturating_sub(from.at_us)))
}
