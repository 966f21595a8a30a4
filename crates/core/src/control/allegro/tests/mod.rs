mod rounds;

use super::elasticity::LEAST_GROWTH;
use super::*;
use crate::control::{Driver, Law};
use crate::interval::LimitedBy;
use crate::units::Bytes;
use crate::utility::{Safe, Utility};
use core::time::Duration;

/// A law on a path of `capacity` Mbit/s and 30 ms without a buffer: what it tries is judged at once.
struct Flow<L> {
    law: L,
    rng: Rng,
    capacity: f64,
    plan: Option<IntervalPlan>,
    story: Vec<String>,
}

const PACKET: Bytes = Bytes::new(1200);

impl Flow<Driver> {
    fn starting_at(mbit: f64, capacity: f64) -> Self {
        Self::of(Driver::new(Law::Allegro(Config::default()), Rate::from_mbit(mbit)), capacity)
    }

    /// Past its start-up, and able to start again.
    fn started_at(mbit: f64, capacity: f64) -> Self {
        let mut flow = Self::starting_at(mbit, capacity);
        flow.law.back_off(Rate::from_mbit(mbit));
        assert_eq!(flow.next().trial, None);
        flow
    }
}

impl Flow<Allegro> {
    /// Past its start-up.
    fn at(mbit: f64, capacity: f64) -> Self {
        Self::of(Allegro::new(Config::default(), Rate::from_mbit(mbit)), capacity)
    }
}

impl<L: RateControl> Flow<L> {
    fn of(law: L, capacity: f64) -> Self {
        Self { law, rng: Rng::new(7), capacity, plan: None, story: Vec::new() }
    }

    fn next(&mut self) -> IntervalPlan {
        let path = self.path();
        self.law.next(&path, &mut self.rng)
    }

    fn path(&self) -> Path {
        Path {
            rtt: Duration::from_millis(30),
            queue: Duration::ZERO,
            packet: PACKET,
            initial: Rate::from_mbit(3.2),
            monitor: crate::monitor::Config::default(),
            floor: Rate::from_mbit(0.64),
            ceiling: Rate::from_mbit(1e6),
            delivery: Rate::from_mbit(self.capacity),
            capacity: None,
            trains: None,
        }
    }

    fn report(&self, target: Rate) -> Report {
        let duration = Duration::from_millis(60);
        let delivered = target.min(Rate::from_mbit(self.capacity));
        let loss = 1.0 - delivered.mbit() / target.mbit();
        let sent = target * duration;
        let packets = (sent.get() / PACKET.get()).max(1) as u32;
        let lost = Bytes::new((sent.get() as f64 * loss) as u64);
        Report {
            target,
            achieved: target,
            duration,
            packets,
            packets_lost: (f64::from(packets) * loss).round() as u32,
            sent,
            lost,
            delivery_rate: Some(delivered),
            ..crate::utility::tests::report(target.mbit(), loss)
        }
    }

    /// Sends one interval and judges it, before the next one begins.
    fn step(&mut self) -> &mut Self {
        self.step_as(|report| report)
    }

    fn step_as(&mut self, seen: impl Fn(Report) -> Report) -> &mut Self {
        let path = self.path();
        let plan = match self.plan.take() {
            Some(plan) => plan,
            None => self.law.next(&path, &mut self.rng),
        };
        let report = seen(self.report(plan.rate));
        if plan.trial.is_some() {
            let verdict = self.law.on_report(plan, &report, &|report: &Report| Safe::default().evaluate(report), &path);
            let (state, rate) = (self.law.state(), self.law.rate().mbit());
            self.story.push(format!("{:.2} Mbit/s: {verdict:?}, {state} at {rate:.2}", plan.rate.mbit()));
        }
        self
    }

    fn steps(&mut self, n: usize) -> &mut Self {
        (0..n).for_each(|_| {
            self.step();
        });
        self
    }

    fn is(&mut self, state: &str, low: f64, high: f64) -> &mut Self {
        let rate = self.law.rate().mbit();
        assert!(self.law.state() == state && (low..=high).contains(&rate), "{}", self.story.join("\n"));
        self
    }
}

#[test]
fn starting_doubles_while_the_path_delivers_more() {
    Flow::starting_at(1.0, 100.0)
        .step()
        .is("Starting", 1.0, 1.0)
        .step()
        .is("Starting", 2.0, 2.0)
        .steps(4)
        .is("Starting", 32.0, 32.0);
}

#[test]
fn starting_ends_below_what_the_path_delivered() {
    Flow::starting_at(1.0, 100.0).steps(8).is("Draining", 94.0, 96.0).step().is("Draining", 94.0, 96.0).step().is(
        "Decision Making",
        94.0,
        96.0,
    );
}

#[test]
fn a_single_loss_does_not_end_starting() {
    let one_lost = |report: Report| Report { lost: PACKET, packets_lost: 1, ..report };
    Flow::starting_at(0.7, 100.0).step().step_as(one_lost).step().is("Starting", 2.8, 2.8);
}

#[test]
fn second_result_of_same_rate_does_not_end_starting_however_bad() {
    let with = |report: Report, loss: f64, limited_by: LimitedBy| Report {
        lost: Bytes::new((report.sent.get() as f64 * loss) as u64),
        packets_lost: (f64::from(report.packets) * loss) as u32,
        achieved: if limited_by == LimitedBy::Host { report.achieved * 0.6 } else { report.achieved },
        limited_by,
        ..report
    };
    Flow::starting_at(10.0, 1000.0)
        .step_as(|report| with(report, 0.4, LimitedBy::Host))
        .step_as(|report| with(report, 0.3, LimitedBy::Host))
        .step_as(|report| with(report, 0.4, LimitedBy::Network))
        .is("Starting", 10.0, 10.0);
}

#[test]
fn a_held_ack_does_not_end_starting_but_a_queue_does() {
    let delivered_a_tenth = |queued: Duration| {
        move |report: Report| Report {
            delivery_rate: Some(report.achieved * 0.1),
            rtt_gradient: Some(queued.as_secs_f64() / report.rtt_span.as_secs_f64()),
            rtt_gradient_error: 0.0,
            ..report
        }
    };
    let mut held = Flow::starting_at(1.0, 100.0);
    held.steps(4).step_as(delivered_a_tenth(Duration::from_micros(300))).is("Starting", 16.0, 16.0);
    let mut queued = Flow::starting_at(1.0, 100.0);
    // A queue that grows by 0.9 seconds a second lets 1/1.9 of what is sent pass meanwhile.
    queued.steps(4).step_as(delivered_a_tenth(Duration::from_millis(90))).is("Draining", 7.9, 8.1);
}

#[test]
fn starting_waits_while_the_application_has_no_data() {
    let idle = |report: Report| Report { app_limited: true, ..report };
    Flow::starting_at(1.0, 100.0)
        .steps(3)
        .is("Starting", 4.0, 4.0)
        .step_as(idle)
        .step_as(idle)
        .is("Starting", 4.0, 8.0);
}

#[test]
fn a_late_result_is_awaited_at_the_application_s_rate() {
    let mut flow = Flow::starting_at(4.0, 100.0);
    flow.steps(4).is("Starting", 32.0, 32.0);
    let path = Path { delivery: Rate::from_mbit(5.0), ..flow.path() };
    let first = flow.law.next(&path, &mut flow.rng);
    let short_of_data = Report { app_limited: true, ..flow.report(first.rate) };
    flow.law.on_report(first, &short_of_data, &|report: &Report| Safe::default().evaluate(report), &path);
    let rates: Vec<_> = (0..3).map(|_| flow.law.next(&path, &mut flow.rng).rate.mbit()).collect();
    assert!(rates.iter().all(|rate| *rate <= 9.6), "twice 5 at most, the last one a filler: {rates:?}");
}

#[test]
fn new_loss_ends_starting_on_any_host() {
    let busy = |loss: f64| {
        move |report: Report| Report {
            achieved: report.achieved * 0.6,
            lost: Bytes::new((report.sent.get() as f64 * loss) as u64),
            packets_lost: (f64::from(report.packets) * loss) as u32,
            loss_bursts: (f64::from(report.packets) * loss * 0.7) as u32,
            limited_by: LimitedBy::Host,
            ..report
        }
    };
    let mut flow = Flow::starting_at(10.0, 1000.0);
    flow.step().step_as(busy(0.0)).is("Starting", 20.0, 20.0);
    flow.step_as(busy(0.3));
    assert_eq!(flow.law.state(), "Draining", "{}", flow.story.join("\n"));
}

#[test]
fn a_host_that_nearly_doubled_tries_the_next_doubling() {
    let reached = |share: f64| {
        move |report: Report| Report { achieved: report.achieved * share, limited_by: LimitedBy::Host, ..report }
    };
    Flow::starting_at(10.0, 1000.0).step().step_as(reached(0.8)).step().is("Starting", 40.0, 40.0);
    Flow::starting_at(10.0, 1000.0).step().step_as(reached(0.6)).step().is("Starting", 20.0, 20.0);
}

#[test]
fn a_utility_that_falls_ends_starting_though_nothing_is_lost() {
    let mut flow = Flow::starting_at(10.0, 1000.0);
    let path = flow.path();
    let queue = |report: &Report| report.achieved.mbit() * (1.0 - 10.0 * report.queue_growth());
    for growth in [0.0, 0.0, 0.3] {
        let plan = flow.law.next(&path, &mut flow.rng);
        let report = Report { rtt_gradient: Some(growth), ..flow.report(plan.rate) };
        flow.law.on_report(plan, &report, &queue, &path);
    }
    assert_eq!(flow.law.state(), "Draining", "98, 196, then −784");
}

#[test]
fn a_sender_far_below_the_path_doubles_again() {
    let mut lone = Flow::started_at(10.0, 1000.0);
    lone.steps(4);
    for _ in 0..20 {
        lone.step();
    }
    assert!(lone.story.iter().any(|line| line.contains("far below the path")), "{}", lone.story.join("\n"));
    assert!(lone.law.rate() > Rate::from_mbit(900.0), "{}", lone.story.join("\n"));
    let mut sharing = Flow::started_at(10.0, 1000.0);
    let delivered = |report: Report| {
        // Half of what is added beyond 10 Mbit/s arrives, as for one of two senders.
        let loss = (report.achieved.mbit() - 10.0).max(0.0) / 2.0 / report.achieved.mbit();
        Report { lost: Bytes::new((report.sent.get() as f64 * loss) as u64), ..report }
    };
    for _ in 0..60 {
        sharing.step_as(delivered);
        assert_ne!(sharing.law.state(), "Starting", "{}", sharing.story.join("\n"));
    }
}

#[test]
fn only_differences_of_utilities_matter() {
    for more in [0.0, 1000.0] {
        let mut flow = Flow::started_at(50.0, 100.0);
        for _ in 0..100 {
            let path = flow.path();
            let plan = flow.law.next(&path, &mut flow.rng);
            let report = flow.report(plan.rate);
            if plan.trial.is_some() {
                flow.law.on_report(plan, &report, &|report: &Report| Safe::default().evaluate(report) + more, &path);
            }
        }
        let rate = flow.law.rate().mbit();
        assert!((90.0..=106.0).contains(&rate), "{rate} with {more} more");
    }
}

#[test]
fn trials_find_the_capacity_and_stay_there() {
    let mut flow = Flow::starting_at(1.0, 100.0);
    flow.steps(60);
    for _ in 0..100 {
        flow.step();
        let rate = flow.law.rate().mbit();
        assert!((94.0..=106.0).contains(&rate), "{}", flow.story.join("\n"));
    }
}

#[test]
fn trials_come_in_blocks_that_cancel_a_drift() {
    let mut flow = Flow::at(50.0, 100.0);
    for _ in 0..20 {
        let order: Vec<bool> = (0..4).map(|_| flow.next().rate > flow.law.rate()).collect();
        assert!(order == [true, false, false, true] || order == [false, true, true, false], "{order:?}");
        assert_eq!(flow.next(), IntervalPlan::filler(flow.law.rate()), "then the base rate until the results");
        flow.law.decide(0.01);
    }
}

#[test]
fn a_trial_short_of_data_is_repeated_at_the_same_rate() {
    let mut flow = Flow::at(50.0, 100.0);
    flow.step_as(|report| Report { app_limited: true, ..report }).is("Decision Making", 50.0, 50.0);
}

#[test]
fn adjusting_steps_grow_and_a_failed_one_goes_back() {
    let mut flow = Flow::at(50.0, 60.0);
    flow.steps(4).is("Rate Adjusting", 51.5, 51.6); // 50 · 1.01 · 1.02
    flow.step().is("Rate Adjusting", 53.5, 53.6); // · 1.04
    flow.step().is("Rate Adjusting", 56.7, 56.8); // · 1.06
    flow.step().is("Rate Adjusting", 61.2, 61.4); // · 1.08, above the capacity
    flow.step().is("Decision Making", 56.7, 56.8);
}

#[test]
fn a_useless_climb_becomes_slow_and_yields_fast() {
    let mut flow = Flow::at(90.0, 60.0);
    for _ in 0..30 {
        flow.law.rate = Rate::from_mbit(90.0);
        flow.law.decide(0.05);
        flow.steps(4);
    }
    assert!(flow.law.elasticity.0.abs() < 0.02, "alone on a full path: {:?}", flow.law.elasticity);
    assert_eq!((flow.law.growth(1.0), flow.law.growth(-1.0)), (LEAST_GROWTH, 1.0));
    for _ in 0..30 {
        flow.law.rate = Rate::from_mbit(30.0);
        flow.law.decide(0.05);
        flow.steps(4);
    }
    assert!((flow.law.elasticity.0 - 1.0).abs() < 0.02, "with capacity to spare: {:?}", flow.law.elasticity);
    assert_eq!((flow.law.growth(1.0), flow.law.growth(-1.0)), (1.0, LEAST_GROWTH));
}

#[test]
fn heavy_random_loss_sends_rate_down_however_noisy_trials() {
    let mut flow = Flow::at(50.0, 1000.0);
    flow.law.decide(0.05);
    let mut noise = Rng::new(3);
    for _ in 0..200 {
        let loss = 0.09 + 0.01 * (noise.unit() - 0.5);
        flow.step_as(move |report| {
            let lost = Bytes::new((report.sent.get() as f64 * loss) as u64);
            Report { lost, packets_lost: (f64::from(report.packets) * loss) as u32, ..report }
        });
    }
    assert!(flow.law.rate().mbit() < 10.0, "{}", flow.story.join("\n"));
}
