//! What each process of a run does.

use crate::{Transport, on_noq, on_quinn, on_s2n};
use anyhow::{Context, Result};
use pcc_quic::Algorithm;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// What was sent arrives in this time.
const PATIENCE: Duration = Duration::from_secs(20);

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// The receiver's role: announces its port, and reports what came.
pub(crate) fn receive(transport: Transport, certificate: &str, key: &str) -> Result<()> {
    runtime()?.block_on(async {
        match transport {
            Transport::CubicOnNoq | Transport::PccOnNoq => on_noq::receive(certificate, key).await,
            Transport::CubicOnQuinn | Transport::PccOnQuinn => on_quinn::receive(certificate, key).await,
            Transport::CubicOnS2n | Transport::PccOnS2n => on_s2n::receive(certificate, key).await,
        }
    })
}

/// The sender's role: fills one stream for `time`, waits until all of it has arrived, and says what that cost.
pub(crate) fn send(transport: Transport, certificate: &str, port: u16, time: Duration) -> Result<()> {
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let sending = async {
        match transport {
            Transport::CubicOnNoq => on_noq::send(certificate, to, time, Algorithm::Cubic).await,
            Transport::PccOnNoq => on_noq::send(certificate, to, time, Algorithm::default()).await,
            Transport::CubicOnQuinn => on_quinn::send(certificate, to, time, false).await,
            Transport::PccOnQuinn => on_quinn::send(certificate, to, time, true).await,
            Transport::CubicOnS2n => {
                on_s2n::send(certificate, to, time, s2n_quic::provider::congestion_controller::Cubic::default()).await
            }
            Transport::PccOnS2n => on_s2n::send(certificate, to, time, pcc_s2n::PccConfig::default()).await,
        }
    };
    let limited = async { tokio::time::timeout(time + PATIENCE, sending).await };
    runtime()?.block_on(limited).context("not all of it arrived in time")?
}
