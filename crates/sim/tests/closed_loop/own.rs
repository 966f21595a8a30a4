//! Laws and congestion controls that are not of this workspace's crates.

use core::time::Duration;
use pcc::control::{Law, Path, RateControl, Verdict, Worth};
use pcc::interval::{IntervalPlan, Report};
use pcc::rng::Rng;
use pcc::units::{Rate, Timestamp};
use pcc_sim::tcp::{Acked, CongestionControl, InRecovery, Window};
use pcc_sim::{Cast, Control, Entrant, Flow, Results, Scenario, run};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

fn over(path: &str, flows: Vec<Flow>) -> Results {
    run(&Scenario::new(path.parse().unwrap(), flows, 1, Duration::from_secs(20))).unwrap()
}

/// RFC 5681, written by somebody else.
#[derive(Default)]
struct Renoish(Window);

impl CongestionControl for Renoish {
    fn limits(&self) -> &Window {
        &self.0
    }

    fn limits_mut(&mut self) -> &mut Window {
        &mut self.0
    }

    fn reduced(&mut self, _: Timestamp) -> f64 {
        (self.0.segments / 2.0).floor().max(2.0)
    }

    fn on_ack(&mut self, event: &Acked, _: InRecovery) {
        let left = if self.0.is_slow_start() { self.0.slow_start(event.acked) } else { event.acked as f64 };
        if left > 0.0 {
            self.0.grow(left, self.0.segments);
        }
    }
}

#[test]
fn reno_by_somebody_else_is_reno_to_the_last_packet() {
    let path = "rate=20Mbit,rtt=30ms,buffer=40KB,loss=0.1%";
    let mine = over(path, vec![Flow::of(Control::own("mine", |_| Renoish::default()))]);
    let reno = over(path, vec![Flow::of(Control::Reno)]);
    assert_eq!((&mine.flows[0].rtts, mine.events), (&reno.flows[0].rtts, reno.events));
    assert!(mine.flows[0].sent.lost > 10, "{:?}", mine.flows[0].sent);
}

/// BBR's two levers: a window and a pace that the law sets by itself.
struct Paced(Window, Rate);

impl CongestionControl for Paced {
    fn limits(&self) -> &Window {
        &self.0
    }

    fn limits_mut(&mut self) -> &mut Window {
        &mut self.0
    }

    fn reduced(&mut self, _: Timestamp) -> f64 {
        self.0.segments
    }

    fn on_ack(&mut self, _: &Acked, _: InRecovery) {
        self.0.segments = 1000.0;
    }

    fn decides_alone(&self) -> bool {
        true
    }

    fn is_paced(&self) -> bool {
        true
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.1)
    }
}

#[test]
fn a_control_of_one_s_own_paces_itself_through_losses() {
    let rate = Rate::from_mbit(8.0);
    let control = Control::own("paced", move |_| Paced(Window::default(), rate));
    let results = over("rate=20Mbit,rtt=30ms,buffer=15KB,loss=5%", vec![Flow::of(control)]);
    let goodput = results.flows[0].goodput(Duration::from_secs(2), Duration::from_secs(20)).mbit();
    assert!((7.4..8.3).contains(&(goodput / 0.95)), "{goodput}");
    assert!(results.flows[0].added_rtt(0.95) < Duration::from_millis(3), "nothing queues");
}

/// Keeps the rate with which it begins, and counts what it is told.
#[derive(Debug)]
struct Still(Rate, Arc<AtomicU32>);

impl RateControl for Still {
    fn next(&mut self, _: &Path, _: &mut Rng) -> IntervalPlan {
        IntervalPlan { trial: Some(0), ..IntervalPlan::filler(self.0) }
    }

    fn on_report(&mut self, plan: IntervalPlan, report: &Report, _: &dyn Worth, _: &Path) -> Verdict {
        assert_eq!((plan.trial, plan.rate, report.target), (Some(0), self.0, self.0));
        self.1.fetch_add(1, Ordering::Relaxed);
        Verdict::Wait
    }

    fn begin(&mut self, rate: Rate, _: &Path) {
        self.0 = rate;
    }

    fn limit(&mut self, _: Rate) {}

    fn back_off(&mut self, rate: Rate) {
        self.0 = rate;
    }

    fn restart(&mut self) {}

    fn rate(&self) -> Rate {
        self.0
    }

    fn state(&self) -> &'static str {
        "Still"
    }
}

#[test]
fn a_law_of_one_s_own_steers_beside_others() {
    let told = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&told);
    let law = Law::own("still", move |_, _| Still(Rate::from_mbit(3.0), Arc::clone(&count)));
    let Cast(flows) = Cast::among("still:rtt=+10ms cubic:start=1s", &[Entrant::from(law)]).unwrap();
    let results = over("rate=20Mbit,rtt=30ms,buffer=75KB", flows);
    let late = |flow: usize| results.flows[flow].goodput(Duration::from_secs(10), Duration::from_secs(20)).mbit();
    // By whole packets: 3 Mbit/s of datagrams.
    assert!((2.8..3.15).contains(&late(0)) && late(1) > 14.0, "{} {}", late(0), late(1));
    let series = &results.flows[0].series;
    assert!(series.iter().rev().take(100).all(|sample| sample.state == "Still"));
    assert!(told.load(Ordering::Relaxed) > 300, "{told:?} reports in twenty seconds of intervals of an RTT");
}
