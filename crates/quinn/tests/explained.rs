//! A path's properties come out of the sender's trace: noq's qlog in virtual time, explained.

#[allow(dead_code, reason = "quinn and medians are for the other test file")]
mod virtual_time;

use noq_proto::{ConnectionId, QlogConfig, QlogFactory, Side, TransportConfig, VarInt};
use pcc_explain::{Cause, Explained};
use pcc_quic::transport::{self, Windows};
use pcc_quic::{Algorithm, PccConfig};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use virtual_time::{Policer, noq_stack, run_behind};

/// A trace of a server, as `--qlog` writes it.
#[derive(Clone, Debug, Default)]
struct Trace(Arc<Mutex<Vec<u8>>>);

impl Trace {
    fn record(&self, record: &[u8]) {
        self.0.lock().unwrap().extend_from_slice(record);
    }
}

/// Passes whole records on.
struct Writer(Trace, Vec<u8>);

impl Write for Writer {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.1.extend_from_slice(text);
        if self.1.ends_with(b"\n") {
            self.0.record(&core::mem::take(&mut self.1));
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl QlogFactory for Trace {
    fn for_connection(&self, side: Side, _: SocketAddr, _: ConnectionId, now: Instant) -> Option<QlogConfig> {
        let mut config = QlogConfig::new(Box::new(Writer(self.clone(), Vec::new())));
        config.start_time(now);
        (side == Side::Server).then_some(config)
    }
}

/// A server that sends over a path.
struct Sender {
    algorithm: Algorithm,
    path: &'static str,
    policer: Option<Policer>,
    quiet: Option<(f64, f64)>,
    change: fn(&mut TransportConfig),
}

impl Sender {
    fn of(algorithm: Algorithm, path: &'static str) -> Self {
        Self { algorithm, path, policer: None, quiet: None, change: |_| () }
    }

    fn explained(self, seconds: u64) -> Explained {
        let (trace, now) = (Trace::default(), Instant::now());
        let mut algorithm = self.algorithm;
        if let Algorithm::Pcc(pcc) = &mut algorithm {
            pcc.core.seed = 1;
        }
        let mut transport = transport::config(&algorithm, &Windows::default());
        transport.qlog_factory(Arc::new(trace.clone()));
        if self.quiet.is_some() {
            // Data that an application has written is still sent when it pauses.
            transport.send_window(400_000);
        }
        (self.change)(&mut transport);
        let (client, mut server) = noq_stack::pair_with(now, transport, 1);
        if let Some((from, to)) = self.quiet {
            server = server.quiet(now + Duration::from_secs_f64(from), now + Duration::from_secs_f64(to));
        }
        run_behind(self.policer, (client, server), now, self.path, 1, Duration::from_secs(seconds));
        let text = trace.0.lock().unwrap();
        if let Some(file) = std::env::var_os("PCC_TRACE") {
            std::fs::write(file, &*text).unwrap();
        }
        pcc_explain::explain(&text[..]).unwrap()
    }
}

/// The share of the time that this was the limit.
fn share(explained: &Explained, cause: Cause) -> f64 {
    explained.limits[cause as usize] / explained.took
}

#[track_caller]
fn assert_mostly(explained: &Explained, cause: Cause, least: f64) {
    let share = share(explained, cause);
    assert!(share >= least, "{share:.2}\n{}", pcc_explain::words::answer("trace", explained));
}

fn pcc() -> Algorithm {
    Algorithm::Pcc(PccConfig::default())
}

const LOSSY: &str = "rate=50Mbit,rtt=50ms,loss=1%,buffer=300KB";

#[test]
fn cubic_is_held_back_by_random_losses() {
    let explained = Sender::of(Algorithm::Cubic, LOSSY).explained(20);
    assert_mostly(&explained, Cause::Loss, 0.8);
    let lost = explained.lost as f64 / explained.packets as f64;
    assert!((0.005..0.02).contains(&lost), "{lost}");
}

#[test]
fn pcc_behind_random_losses_is_held_back_by_the_rate() {
    let explained = Sender::of(pcc(), LOSSY).explained(20);
    assert_mostly(&explained, Cause::Rate, 0.7);
}

#[test]
fn a_bloated_buffer_is_a_long_queue_to_cubic_and_a_rate_to_pcc() {
    let path = "rate=10Mbit,rtt=40ms,buffer=500KB";
    assert_mostly(&Sender::of(Algorithm::Cubic, path).explained(15), Cause::Queue, 0.8);
    assert_mostly(&Sender::of(pcc(), path).explained(15), Cause::Rate, 0.7);
}

#[test]
fn an_application_that_pauses_is_the_limit_then() {
    for algorithm in [Algorithm::Cubic, pcc()] {
        let sender = Sender { quiet: Some((4.0, 7.0)), ..Sender::of(algorithm, "rate=20Mbit,rtt=40ms,buffer=100KB") };
        let explained = sender.explained(10);
        let limits: Vec<_> = explained.seconds.iter().map(|second| second.limited_by).collect();
        assert_eq!(limits[5..6], [Some(Cause::Application); 1], "{limits:?}");
        let time = explained.limits[Cause::Application as usize];
        assert!((2.4..3.3).contains(&time), "{time} {}", pcc_explain::words::answer("trace", &explained));
    }
}

#[test]
fn a_small_receive_window_is_the_limit() {
    for algorithm in [Algorithm::Cubic, pcc()] {
        let change = |transport: &mut TransportConfig| {
            transport.stream_receive_window(VarInt::from_u32(100_000)).receive_window(VarInt::from_u32(100_000));
        };
        let explained = Sender { change, ..Sender::of(algorithm, "rate=50Mbit,rtt=100ms,buffer=600KB") }.explained(10);
        assert_mostly(&explained, Cause::ReceiverWindow, 0.8);
    }
}

#[test]
fn a_policer_is_known_with_its_rate() {
    for algorithm in [Algorithm::Cubic, pcc()] {
        let policer = Some(Policer::new(10.0, 60e3));
        let explained = Sender { policer, ..Sender::of(algorithm, "rate=100Mbit,rtt=40ms,buffer=500KB") }.explained(20);
        assert_mostly(&explained, Cause::Policer, 0.7);
        let rate = explained.policer.unwrap() * 1e-6;
        assert!((9.0..11.0).contains(&rate), "{rate} Mbit/s");
    }
}

#[test]
fn an_outage_is_seen_while_it_lasts() {
    for algorithm in [Algorithm::Cubic, pcc()] {
        let path = "rate=20Mbit,rtt=40ms,buffer=100KB,at=4s:loss=100%,at=6s:loss=0%";
        let explained = Sender::of(algorithm, path).explained(12);
        let time = explained.limits[Cause::Outage as usize];
        assert!((1.6..3.6).contains(&time), "{time} {}", pcc_explain::words::answer("trace", &explained));
        assert_eq!(explained.seconds[5].limited_by, Some(Cause::Outage));
    }
}
