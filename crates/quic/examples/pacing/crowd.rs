//! Many connections on one endpoint: does each keep its rate?

use crate::ends::{self, Pacer};
use crate::machine::{Span, Use};
use core::fmt;
use pcc::units::{Bytes, Rate};
use std::sync::mpsc;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Figures {
    target: Rate,
    /// Achieved rate of each connection by its target, ascending.
    shares: Vec<f64>,
    cores: Use,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let off = self.shares.iter().filter(|&&share| (share - 1.0).abs() > 0.05).count();
        let median = self.shares.get(self.shares.len() / 2).copied().unwrap_or(f64::NAN);
        write!(
            f,
            "{} connections of {}: {:.4} to {:.4} of it, median {:.4}; {} off by more than 5 %; \
             CPU of both ends {:.0} %, of others {:.0} %",
            self.shares.len(),
            self.target,
            self.shares.first().copied().unwrap_or(f64::NAN),
            self.shares.last().copied().unwrap_or(f64::NAN),
            median,
            off,
            self.cores.process * 100.0,
            self.cores.others * 100.0
        )
    }
}

pub(crate) fn measure(connections: usize, rate: Rate, time: Duration) -> anyhow::Result<Figures> {
    let (send_address, receive_address) = mpsc::channel();
    std::thread::spawn(move || {
        tokio::runtime::Runtime::new()?.block_on(async {
            let (endpoint, certificate) = ends::receiver()?;
            send_address.send((endpoint.local_addr()?, certificate))?;
            ends::discard(endpoint).await;
            anyhow::Ok(())
        })
    });
    let (address, certificate) = receive_address.recv()?;
    tokio::runtime::Runtime::new()?.block_on(async {
        let endpoint = ends::sender(Pacer::Ours, rate, &certificate)?;
        let mut open = Vec::new();
        for _ in 0..connections {
            open.push(ends::connect(&endpoint, address).await?);
        }
        for connection in &open {
            ends::flood(connection).await?;
        }
        tokio::time::sleep(SETTLING).await;
        let sent = || open.iter().map(|connection| connection.stats().udp_tx.bytes).collect::<Vec<_>>();
        let (span, before) = (Span::start()?, sent());
        tokio::time::sleep(time).await;
        let (cores, after) = (span.end()?, sent());
        let volumes = after.iter().zip(&before).map(|(after, before)| Bytes::new(after - before));
        let share = |volume| Rate::from_volume(volume, cores.passed).mbit() / rate.mbit();
        let mut shares: Vec<_> = volumes.map(share).collect();
        shares.sort_by(f64::total_cmp);
        Ok(Figures { target: rate, shares, cores })
    })
}

/// Until every connection sends, and knows its MTU.
const SETTLING: Duration = Duration::from_secs(3);
