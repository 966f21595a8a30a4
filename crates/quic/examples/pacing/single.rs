//! One connection: how far is each gap from what the rate asks for?

use crate::ends::{self, Pacer};
use crate::machine::{Span, Use};
use crate::tap::{Arrival, Tap};
use core::fmt;
use pcc::units::{Bytes, Rate};
use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Figures {
    pacer: Pacer,
    target: Rate,
    achieved: Rate,
    /// Distances of the gaps from the ideal one, in µs, ascending.
    errors: Vec<f64>,
    /// Most packets in a row with less than a quarter of the ideal gap between them.
    longest_train: usize,
    cores: Use,
}

impl Figures {
    pub(crate) const HEADER: &'static str = "pacer         rate          achieved      gap off by: p50      p99      max   longest train   CPU: sender   others";

    fn error(&self, share: f64) -> f64 {
        let index = (self.errors.len().saturating_sub(1) as f64 * share) as usize;
        self.errors.get(index).copied().unwrap_or(f64::NAN)
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:13} {:13} {:13} {:12.1} µs {:5.1} µs {:5.0} µs {:8} packets {:11.1} % {:6.1} %",
            self.pacer.name(),
            self.target.to_string(),
            format!("{:.3} Mbit/s", self.achieved.mbit()),
            self.error(0.5),
            self.error(0.99),
            self.error(1.0),
            self.longest_train,
            self.cores.thread * 100.0,
            self.cores.others * 100.0
        )
    }
}

/// The start is not measured: handshake, MTU discovery, first packets.
const SETTLING: Duration = Duration::from_secs(1);

pub(crate) fn measure(pacer: Pacer, rate: Rate, time: Duration) -> anyhow::Result<Figures> {
    let single = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (send_address, receive_address) = mpsc::channel();
    let receiver = single()?;
    std::thread::spawn(move || {
        receiver.block_on(async {
            let (endpoint, certificate) = ends::receiver()?;
            send_address.send((endpoint.local_addr()?, certificate))?;
            ends::discard(endpoint).await;
            anyhow::Ok(())
        })
    });
    let (address, certificate): (SocketAddr, _) = receive_address.recv()?;
    let tap = Tap::start(address)?;
    let to = tap.address;
    // This thread is the sender.
    let cores = single()?.block_on(async {
        let endpoint = ends::sender(pacer, rate, &certificate)?;
        let connection = ends::connect(&endpoint, to).await?;
        ends::flood(&connection).await?;
        tokio::time::sleep(SETTLING).await;
        let span = Span::start()?;
        tokio::time::sleep(time).await;
        span.end()
    })?;
    Ok(figures(pacer, rate, &tap.stop()?, cores))
}

fn figures(pacer: Pacer, target: Rate, arrivals: &[Arrival], cores: Use) -> Figures {
    let full = arrivals.iter().map(|arrival| arrival.bytes).max().unwrap_or(0);
    let begin = arrivals.first().map_or(0, |first| first.nanos + SETTLING.as_nanos() as u64);
    let settled: Vec<_> = arrivals.iter().filter(|arrival| arrival.nanos >= begin).collect();
    let ideal = target.time_for(Bytes::new(full as u64)).as_nanos() as f64 / 1e3;
    let gaps: Vec<_> = settled
        .windows(2)
        // The gap behind a packet is that packet's.
        .filter(|pair| pair[0].bytes == full)
        .map(|pair| (pair[1].nanos as f64 - pair[0].nanos as f64) / 1e3)
        .collect();
    let mut errors: Vec<_> = gaps.iter().map(|gap| (gap - ideal).abs()).collect();
    errors.sort_by(f64::total_cmp);
    let longest_train = gaps.split(|&gap| gap >= ideal / 4.0).map(|train| train.len() + 1).max().unwrap_or(0);
    let bytes = settled.iter().map(|arrival| arrival.bytes as u64).sum();
    let span = settled.last().map_or(0, |last| last.nanos) - settled.first().map_or(0, |first| first.nanos);
    let achieved = Rate::from_volume(Bytes::new(bytes), Duration::from_nanos(span));
    Figures { pacer, target, achieved, errors, longest_train, cores }
}
