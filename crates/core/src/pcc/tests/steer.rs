//! A sender's utility is changed while it sends.

use super::*;
use crate::utility::parse;

fn steer(flow: &mut Flow, written: &str, law: Option<&str>) {
    let law = law.map(|law| law.parse().unwrap());
    flow.pcc.steer(flow.now, parse(written).unwrap(), law);
}

/// On a path without bounds only the utility bounds the rate.
fn wants(flow: &mut Flow, mbit: f64) {
    flow.sends_for(ms(15_000));
    let rate = flow.pcc.law.rate().mbit();
    assert!((rate / mbit - 1.0).abs() < 0.2, "{rate} Mbit/s, not {mbit}: {:?}", flow.story);
}

#[test]
fn a_sender_follows_what_is_wanted_of_it_now() {
    let mut flow = Flow::new();
    steer(&mut flow, "rate-limiter,limit=8Mbit,t=0.5", None);
    wants(&mut flow, 8.0);
    steer(&mut flow, "rate-limiter,limit=2Mbit,t=0.5", None);
    wants(&mut flow, 2.0);
    steer(&mut flow, "rate-limiter,limit=8Mbit,t=0.5", Some("vivace"));
    wants(&mut flow, 8.0);
    flow.tells("new objective");
}

#[test]
fn a_new_law_begins_at_the_rate_that_was_found() {
    for law in crate::control::Law::NAMES {
        let mut flow = Flow::new();
        steer(&mut flow, "rate-limiter,limit=8Mbit,t=0.5", None);
        wants(&mut flow, 8.0);
        let before = flow.pcc.law.rate();
        steer(&mut flow, "rate-limiter,limit=8Mbit,t=0.5", Some(law));
        assert_eq!(flow.pcc.law.rate(), before, "{law}");
        assert!(!flow.pcc.law.is_starting(), "{law}");
        flow.tells(&format!("new objective, {}", flow.pcc.state()));
    }
}

#[test]
fn sender_that_is_still_starting_goes_on_starting_by_new_law() {
    let mut flow = Flow::new();
    flow.sends_for(ms(100));
    let before = flow.pcc.law.rate();
    assert!(flow.pcc.law.is_starting());
    steer(&mut flow, "safe", None);
    assert!(flow.pcc.law.is_starting() && flow.pcc.law.rate() >= before);
    // And before there is an RTT to start with.
    let mut flow = Flow::new();
    steer(&mut flow, "safe", None);
    flow.sends_for(ms(200));
    assert!(flow.pcc.law.rate() > before, "{} after 200 ms", flow.pcc.law.rate());
}

#[test]
fn the_same_law_keeps_its_parameters_only_if_they_are_asked_for() {
    let mut flow = Flow::new();
    flow.sends_for(ms(100));
    steer(&mut flow, "fair,level=0.02", Some("ascent,epsilon=0.05"));
    assert!(format!("{:?}", flow.pcc.law).contains("epsilon: 0.05"), "{:?}", flow.pcc.law);
    steer(&mut flow, "fair,level=0.02", None);
    assert!(!format!("{:?}", flow.pcc.law).contains("epsilon: 0.05"), "{:?}", flow.pcc.law);
}
