//! A run and a report for tests.

use crate::client::Outcome;
use crate::cpu::Cpu;
use crate::flow::{Counted, Flow, Way};
use crate::run::{Run, Turn};
use std::time::Duration;

/// A run of one second that moved data at `mbit` Mbit/s.
pub(crate) fn run(algorithm: &'static str, round: u32, mbit: f64) -> Run {
    let flow = Flow {
        seconds: 1.0,
        bytes: (mbit * 125_000.0) as u64,
        counted: Counted::Receiver,
        offered: None,
        packets: Some(1000),
        lost: Some(10),
        wire_bytes: Some((mbit * 130_000.0) as u64),
        useful_sent: Some((mbit * 125_000.0) as u64),
        rtt: Duration::from_millis(40),
        cwnd: None,
        mtu: None,
        algorithm: Some(algorithm.to_owned()),
        pcc: None,
    };
    let outcome = Outcome {
        connect: Duration::ZERO,
        flows: vec![(Way::Up, flow)],
        streams: Vec::new(),
        idle_rtt: Duration::from_millis(30),
        loaded_rtt: None,
        cpu_here: (Cpu::default(), Duration::from_secs(1)),
        cpu_there: None,
        there: None,
        cut_short: None,
    };
    Run { turn: Turn { algorithm, round }, outcome }
}

/// Of 100 packets, of which ten were lost.
pub(crate) fn report() -> pcc::interval::Report {
    use pcc::units::{Bytes, Rate, Timestamp};
    let ms = std::time::Duration::from_millis;
    let rate = Rate::from_mbit(50.0);
    pcc::interval::Report {
        id: 0,
        started: Timestamp::ZERO,
        duration: ms(100),
        target: rate,
        achieved: rate,
        packets: 100,
        packets_lost: 10,
        loss_bursts: 10,
        packets_marked: 0,
        sent: Bytes::new(100_000),
        lost: Bytes::new(10_000),
        excess_loss: None,
        delivery_rate: Some(rate),
        rtt: Some(ms(40)),
        rtt_least: Some(ms(40)),
        rtt_base: Some(ms(30)),
        rtt_gradient: Some(0.0),
        rtt_gradient_error: 0.0,
        rtt_span: ms(100),
        rtt_pause: ms(1),
        rtt_samples: 100,
        rtt_residual: ms(0),
        rtt_deviation: ms(0),
        app_limited: false,
        timed_out: false,
        limited_by: pcc::interval::LimitedBy::Network,
        previous: None,
    }
}
