//! The load of a test: its streams, from the client's end.

use crate::flow::Way;
use crate::meter::Meter;
use crate::protocol::{self, Phase, UNLIMITED};
use crate::stream_error::StreamError;
use noq::Connection;
use pcc_net::throttle::Throttle;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How long or how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// For this time.
    Time(Duration),
    /// Until that many bytes have arrived, over all streams of one direction.
    Volume(u64),
}

/// The load of one test.
#[derive(Clone, Debug)]
pub struct Load {
    /// The directions, one or both.
    pub ways: Vec<Way>,
    /// Streams in each direction.
    pub streams: u32,
    /// When it is over.
    pub until: Until,
}

/// A stream of the load.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// Its identifier in the connection.
    pub id: u64,
    /// Which way its data goes.
    pub way: Way,
}

/// Opens all streams and starts their data. The tasks end when their data has arrived or the test is aborted.
pub async fn start(
    load: &Load,
    connection: &Connection,
    meter: &Arc<Meter>,
    throttle: Option<Arc<Throttle>>,
    phase: &watch::Receiver<Phase>,
) -> Result<(Vec<Stream>, JoinSet<Result<(), StreamError>>), StreamError> {
    let mut streams = Vec::new();
    let mut tasks = JoinSet::new();
    for &way in &load.ways {
        for index in 0..load.streams {
            let size = share(load.until, u64::from(load.streams), u64::from(index));
            let (mut send, recv) = connection.open_bi().await?;
            streams.push(Stream { id: send.id().into(), way });
            let counter = meter.stream(send.id());
            let (throttle, phase) = (throttle.clone(), phase.clone());
            tasks.spawn(async move {
                let mut aborted = std::pin::pin!(protocol::reached(Phase::Abort, phase.clone()));
                let upload = async {
                    protocol::write_request(&mut send, if way == Way::Down { size } else { 0 }).await?;
                    if way == Way::Up {
                        protocol::fill(&mut send, size, &counter, throttle.as_deref(), phase.clone()).await?;
                    }
                    Ok::<_, StreamError>(())
                };
                tokio::select! {
                    biased;
                    () = &mut aborted => {}
                    done = upload => done?,
                }
                if *phase.borrow() == Phase::Abort {
                    let _ = send.reset(protocol::NO_ERROR); // already closed is as good
                    return Ok(());
                }
                send.finish()?;
                protocol::drain(recv, &counter, phase.clone()).await?;
                if *phase.borrow() == Phase::Abort {
                    let _ = send.reset(protocol::NO_ERROR);
                }
                Ok(())
            });
        }
    }
    Ok((streams, tasks))
}

/// What stream `index` of `streams` carries: equal parts, the first ones one byte more if it does not divide.
const fn share(until: Until, streams: u64, index: u64) -> u64 {
    match until {
        Until::Time(_) => UNLIMITED,
        Until::Volume(bytes) => bytes / streams + if index < bytes % streams { 1 } else { 0 },
    }
}

/// Echoes measured before the load.
const ECHOES: u32 = 5;
/// None is started after this time, so that a long path is not kept waiting.
const ECHO_TIME: Duration = Duration::from_secs(1);

/// The RTT of the idle path: the quickest of some tiny requests. Unlike the transport's own first samples it holds no
/// handshake's cryptography and no delayed acknowledgement.
pub async fn idle_rtt(connection: &Connection, meter: &Meter) -> Result<Duration, StreamError> {
    let began = Instant::now();
    let mut best = Duration::MAX;
    for _ in 0..ECHOES {
        let sent = Instant::now();
        let (mut send, mut recv) = connection.open_bi().await?;
        let _counter = meter.stream(send.id());
        protocol::write_request(&mut send, 1).await?;
        send.finish()?;
        recv.read_to_end(1).await?;
        best = best.min(sent.elapsed());
        if began.elapsed() > ECHO_TIME {
            break;
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_share_a_volume_to_the_byte() {
        for (bytes, streams) in [(10, 4), (0, 3), (7, 7), (5_000_000, 64)] {
            let total: u64 = (0..streams).map(|index| share(Until::Volume(bytes), streams, index)).sum();
            assert_eq!(total, bytes, "{streams} streams");
        }
    }
}
