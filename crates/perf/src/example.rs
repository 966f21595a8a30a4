//! A run and a report, for tests here and in the tool.

use crate::client::Outcome;
use crate::cpu::Cpu;
use crate::flow::{Counted, Flow, Way};
use crate::run::{Run, Turn};
use pcc::interval::Report;
use pcc::utility::SenderView;
use std::time::Duration;

/// A run of one second that moved data at `mbit` Mbit/s.
pub fn run(algorithm: &'static str, round: u32, mbit: f64) -> Run {
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

/// A tenth was lost, behind a queue of 10 ms.
pub fn report() -> Report {
    SenderView { loss: 0.1, queue: (0.01, 0.01), ..SenderView::clear(50.0, 0.03) }.report()
}
