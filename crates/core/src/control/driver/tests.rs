use super::*;
use crate::units::Bytes;
use crate::utility::Utility;
use crate::utility::tests::report;

/// A path of 100 Mbit/s and 30 ms.
pub(in crate::control) fn path() -> Path {
    Path {
        rtt: Duration::from_millis(30),
        queue: Duration::ZERO,
        packet: Bytes::new(1200),
        initial: Rate::from_mbit(3.2),
        monitor: crate::monitor::Config::default(),
        floor: Rate::from_mbit(0.04),
        ceiling: Rate::from_mbit(1e6),
        delivery: Rate::from_mbit(100.0),
        capacity: None,
        trains: None,
    }
}

fn laws() -> impl Iterator<Item = Law> {
    Law::NAMES.iter().map(|name| name.parse().unwrap())
}

/// An interval, judged before the next one begins, on a path of 100 Mbit/s without a buffer.
fn step(driver: &mut Driver, rng: &mut Rng) {
    let plan = driver.next(&path(), rng);
    if plan.trial.is_some() {
        let (mbit, vivace) = (plan.rate.mbit(), crate::utility::Vivace::default());
        let seen = report(mbit, (1.0 - 100.0 / mbit).max(0.0));
        let sent = plan.rate * seen.duration;
        let seen = Report { sent, lost: Bytes::new((sent.get() as f64 * seen.loss()) as u64), ..seen };
        driver.on_report(plan, &seen, &|report: &Report| vivace.evaluate(report), &path());
    }
}

#[test]
fn every_law_begins_after_doubling_and_an_interval_that_drains() {
    for law in laws() {
        let (mut driver, mut rng) = (Driver::new(law.clone(), Rate::from_mbit(1.0)), Rng::new(7));
        let mut states = vec![driver.state()];
        for _ in 0..12 {
            step(&mut driver, &mut rng);
            if states.last() != Some(&driver.state()) {
                states.push(driver.state());
            }
        }
        let begins = if law.name() == "allegro" { "Decision Making" } else { "Probing" };
        assert_eq!(states[..3], ["Starting", "Draining", begins], "{law:?}");
        assert!((80.0..115.0).contains(&driver.rate().mbit()), "{law:?}: {}", driver.rate());
        driver.start(Rate::from_mbit(2.0));
        assert_eq!((driver.state(), driver.rate()), ("Starting", Rate::from_mbit(2.0)));
    }
}

#[test]
fn a_rate_that_trains_told_is_reached_without_a_queue_to_drain() {
    let told = Path { capacity: Some(Rate::from_mbit(80.0)), ..path() };
    let law: Law = "ascent".parse().unwrap();
    let (mut driver, mut rng) = (Driver::new(law, Rate::from_mbit(1.0)), Rng::new(7));
    let mut rates = Vec::new();
    while driver.is_starting() && rates.len() < 12 {
        let plan = driver.next(&told, &mut rng);
        rates.push((plan.rate.mbit() * 10.0).round() / 10.0);
        if plan.trial.is_some() {
            let seen = report(plan.rate.mbit(), 0.0);
            driver.on_report(plan, &seen, &|report: &Report| report.target.mbit(), &told);
        }
    }
    assert_eq!(rates, [1.0, 8.0, 64.0, 76.0]);
    let first = driver.next(&told, &mut rng);
    assert_eq!(driver.state(), "Probing");
    assert!((first.rate.mbit() / 76.0 - 1.0).abs() < 0.03 && first.trial.is_some(), "{first:?}");
}

#[test]
fn a_first_interval_through_which_the_rtt_grew_is_the_last() {
    for law in laws() {
        let (mut driver, mut rng) = (Driver::new(law.clone(), Rate::from_mbit(20.0)), Rng::new(7));
        let mut states = Vec::new();
        for _ in 0..12 {
            let plan = driver.next(&path(), &mut rng);
            states.push(driver.state());
            if plan.trial.is_some() {
                let grows = Report {
                    rtt_gradient: Some(1.0),
                    rtt_gradient_error: 0.01,
                    rtt_span: Duration::from_millis(20),
                    rtt_samples: 20,
                    ..report(plan.rate.mbit(), 0.0)
                };
                driver.on_report(plan, &grows, &|report: &Report| report.target.mbit(), &path());
            }
        }
        states.retain(|state| *state != "Draining");
        assert!(states.starts_with(&["Starting"]), "{law:?}: {states:?}");
        assert!(!states[1..].contains(&"Starting"), "{law:?}: {states:?}");
    }
}

#[test]
fn a_back_off_ends_starting_and_the_law_begins_there() {
    for law in laws() {
        let (mut driver, mut rng) = (Driver::new(law, Rate::from_mbit(50.0)), Rng::new(7));
        driver.back_off(Rate::from_mbit(20.0));
        assert!(!driver.is_starting());
        driver.restart();
        assert_eq!(driver.next(&path(), &mut rng), IntervalPlan::filler(Rate::from_mbit(20.0)));
        assert!(driver.next(&path(), &mut rng).trial.is_some());
        driver.back_off(Rate::from_mbit(10.0));
        assert_eq!(driver.rate(), Rate::from_mbit(10.0));
        assert!(driver.next(&path(), &mut rng).trial.is_some(), "the law goes on");
    }
}

/// Allegro's estimates, as its debug output has them.
fn learnt(driver: &Driver) -> String {
    let all = format!("{driver:?}");
    let (_, elasticity) = all.split_once("Elasticity(").unwrap_or_default();
    elasticity.chars().take_while(|c| *c != ')').collect()
}

#[test]
fn after_another_start_the_law_knows_what_it_knew_of_itself() {
    let (mut driver, mut rng) = (Driver::new("allegro".parse().unwrap(), Rate::from_mbit(10.0)), Rng::new(7));
    (0..60).for_each(|_| step(&mut driver, &mut rng));
    let before = learnt(&driver);
    assert!(before.parse::<f64>().is_ok_and(|learnt| (learnt - 0.5).abs() > 0.1), "{before}");
    driver.start(Rate::from_mbit(50.0));
    let mut states = Vec::new();
    while driver.state() != "Decision Making" && states.len() < 20 {
        step(&mut driver, &mut rng);
        states.push(driver.state());
    }
    assert_eq!(states.last(), Some(&"Decision Making"), "{states:?}");
    assert_eq!(learnt(&driver), before);
    assert!(driver.rate() > Rate::from_mbit(80.0), "and begins where start-up ended: {}", driver.rate());
}

#[test]
fn who_is_told_to_begin_again_looks_for_the_rate_anew() {
    for law in laws() {
        let mut driver = Driver::new(law.clone(), Rate::from_mbit(50.0));
        driver.back_off(Rate::from_mbit(20.0));
        driver.begin(Rate::from_mbit(5.0), &path());
        assert_eq!((driver.state(), driver.rate()), ("Starting", Rate::from_mbit(5.0)), "{law:?}");
    }
}

#[test]
fn a_utility_without_a_queue_price_gets_allegro() {
    for (utility, law) in [("fair", "ascent"), ("scavenger", "ascent"), ("safe", "allegro"), ("vivace", "allegro")] {
        assert_eq!(Law::suited_to(&*crate::utility::parse(utility).unwrap()).name(), law, "{utility}");
    }
}

#[test]
fn a_doubling_takes_an_rtt_or_as_many_as_allegro_is_told() {
    for (law, rtts) in [("ascent", 1.0), ("vivace,interval_rtts=2", 1.0), ("allegro,starting_rtts=3", 3.0)] {
        let plan = Driver::new(law.parse().unwrap(), Rate::from_mbit(50.0)).next(&path(), &mut Rng::new(7));
        assert_eq!(plan.rtts, (rtts, rtts), "{law}");
    }
}

/// Never moves.
#[derive(Debug)]
struct Still(Rate);

impl RateControl for Still {
    fn next(&mut self, _: &Path, _: &mut Rng) -> IntervalPlan {
        IntervalPlan::filler(self.0)
    }

    fn on_report(&mut self, _: IntervalPlan, _: &Report, _: Evaluate<'_>, _: &Path) -> Verdict {
        Verdict::Wait
    }

    fn begin(&mut self, rate: Rate, _: &Path) {
        self.0 = rate;
    }

    fn limit(&mut self, rate: Rate) {
        self.0 = rate;
    }

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
fn a_law_of_one_s_own_takes_over_from_start_up() {
    let law = Law::own("half", |rate, _| Still(rate * 0.5));
    let (mut driver, mut rng) = (Driver::new(law.clone(), Rate::from_mbit(1.0)), Rng::new(7));
    while driver.state() != "Still" {
        step(&mut driver, &mut rng);
    }
    assert!((40.0..58.0).contains(&driver.rate().mbit()), "{}", driver.rate());
    assert_eq!(driver.next(&path(), &mut rng), IntervalPlan::filler(driver.rate()));
    // The law that was at work goes on after another start-up, at the rate that was found, and is not made again.
    driver.start(Rate::from_mbit(2.0));
    while driver.state() != "Still" {
        step(&mut driver, &mut rng);
    }
    assert!((80.0..115.0).contains(&driver.rate().mbit()), "{}", driver.rate());
}

#[test]
fn a_law_of_one_s_own_has_its_name_and_equals_its_clones() {
    let make = || Law::own("still", |rate, _| Still(rate));
    let law = make();
    assert_eq!((law.name(), format!("{law:?}")), ("still", "Own(Own { name: \"still\", .. })".into()));
    assert!(law == law.clone() && law != make() && law != Law::default());
    assert!(!law.measures_by_trains() && law.burst_ratio() == 0.0);
}
