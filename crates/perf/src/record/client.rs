//! The trains over a connection, from the end that wants to know.

use super::course::{Course, Purpose};
use super::figures::{self, Figure, OneWay};
use super::listener::Listener;
use super::server::SETTLE;
use super::train::{self, Heard, Packet, Train};
use crate::flow::Way;
use crate::protocol;
use crate::stream_error::StreamError;
use crate::test_error::TestError;
use crate::windows::Windows;
use noq::{Connection, EndpointConfig, ReadExactError};
use pcc::units::{Bytes, Rate};
use pcc_net::dial::{self, Dialed, Dialer};
use pcc_net::tls::Trust;
use pcc_net::url::Peer;
use pcc_quic::Algorithm;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A recording as it is asked for.
#[derive(Debug)]
pub struct Recorder {
    /// Whom with.
    pub peer: Peer,
    /// Which certificates are good.
    pub trust: Trust,
    /// Which version of IP.
    pub family: dial::Family,
    /// How long trains measure, both directions together. The search for the rate, and the ways, come on top.
    pub time: Duration,
}

/// A path as it was found.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Towards the server.
    pub up: OneWay,
    /// Back.
    pub down: OneWay,
    /// The round trip without queues, transmission times left out. Unit: seconds.
    pub rtt: Figure,
    /// Why it ended before its time.
    pub cut_short: Option<String>,
}

/// A train that begins.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The direction.
    pub way: Way,
    /// The train's purpose.
    pub purpose: Purpose,
    /// The train's rate.
    pub rate: Rate,
}

/// Bytes that may be in flight, since no congestion control is wanted: 4 s at 120 Mbit/s, half a second at 1 Gbit/s.
pub(crate) const IN_FLIGHT: Bytes = Bytes::new(64 << 20);

/// The algorithm of both ends.
pub(crate) const fn algorithm() -> Algorithm {
    Algorithm::FixedWindow(IN_FLIGHT)
}

/// More trains than any path needs.
const MOST_TRAINS: usize = 80;

impl Recorder {
    /// Connects and measures. `stop` ends it before its time, with the reason in words.
    ///
    /// Errors: there is no connection, or nothing was measured.
    pub async fn run(
        &self,
        stop: impl Future<Output = String>,
        tell: &mut (dyn FnMut(Step) + Send),
    ) -> Result<Recorded, TestError> {
        let mut stop = pin!(stop);
        let dialer = Dialer {
            alpn: &[protocol::RECORD],
            trust: self.trust.clone(),
            transport: Arc::new(Windows::default().transport(&algorithm())).into(),
            endpoint: EndpointConfig::default(),
            timeout: dial::TIMEOUT,
            family: self.family,
            via: Vec::new(),
        };
        let dialed = tokio::select! {
            dialed = dialer.dial(&self.peer) => dialed?,
            reason = &mut stop => return Err(TestError::Stopped(reason)),
        };
        let Dialed { endpoint, connection, warning, .. } = dialed;
        if let Some(warning) = warning {
            tracing::warn!("{warning}");
        }
        let epoch = Instant::now();
        let mut client = Client {
            connection: &connection,
            epoch,
            listener: Listener::new(epoch),
            courses: [Way::Up, Way::Down].map(|way| (way, Course::new(self.time / 2))),
            trains: 0,
        };
        let ended = tokio::select! {
            biased;
            reason = &mut stop => Err(TestError::Stopped(reason)),
            ended = client.run(tell) => ended,
        };
        let over_limit = protocol::over_limit(&connection);
        connection.close(protocol::NO_ERROR, b"");
        let told = client.told();
        let _ = tokio::time::timeout(crate::run::GOODBYE, endpoint.wait_idle()).await;
        let ended = match over_limit {
            Some(over) => Err(over.into()),
            None => ended,
        };
        match (told, ended) {
            (Some(told), Ok(())) => Ok(told),
            (Some(told), Err(error)) => Ok(Recorded { cut_short: Some(error.told()), ..told }),
            (None, Err(error)) => Err(error),
            (None, Ok(())) => Err(TestError::EndedAtOnce),
        }
    }
}

struct Client<'a> {
    connection: &'a Connection,
    epoch: Instant,
    listener: Listener,
    courses: [(Way, Course); 2],
    trains: u32,
}

impl Client<'_> {
    /// One train after the other, the directions in turn, so that what is compared lies close together.
    async fn run(&mut self, tell: &mut (dyn FnMut(Step) + Send)) -> Result<(), TestError> {
        for _ in 0..MOST_TRAINS {
            let mut is_over = true;
            for place in 0..self.courses.len() {
                let (way, course) = &self.courses[place];
                let (way, Some((purpose, train))) = (*way, course.next()) else { continue };
                is_over = false;
                tell(Step { way, purpose, rate: train.rate() });
                self.trains += 1;
                let heard = match way {
                    Way::Up => self.up(train).await?,
                    Way::Down => self.down(train).await?,
                };
                self.courses[place].1.pass(heard);
            }
            if is_over {
                break;
            }
        }
        Ok(())
    }

    fn told(&self) -> Option<Recorded> {
        // One end sends what the other reads, and both read.
        let late =
            |(_, course): &(Way, Course)| course.heard(Purpose::Quiet).map(figures::lateness).fold(0.0, f64::max);
        let lateness = self.courses.iter().map(late).sum();
        let [up, down] = self.courses.each_ref().map(|(_, course)| OneWay::of(course, lateness));
        let (up, down) = (up?, down?);
        let rtt =
            Figure { value: (up.delay.value + down.delay.value).max(0.0), error: up.delay.error + down.delay.error };
        Some(Recorded { up, down, rtt, cut_short: None })
    }

    async fn up(&self, train: Train) -> Result<Heard, StreamError> {
        let (mut send, mut recv) = self.connection.open_bi().await?;
        send.write_all(&train.request(false, self.trains)).await?;
        let _ = gap(&mut recv).await?;
        let (connection, number, epoch) = (self.connection.clone(), self.trains, self.epoch);
        let sending = tokio::task::spawn_blocking(move || super::sending::send(&connection, number, train, epoch));
        // The connection's end is noticed by what follows.
        let left = self.hearing(async { Ok(sending.await.unwrap_or_default()) }).await?;
        send.finish()?;
        let list = recv.read_to_end(train::most_written(train)).await?;
        let arrived = train::arrivals_read(&list, left.len());
        let packets = left.into_iter().zip(arrived).map(|(sent, arrived)| Packet { sent, arrived }).collect();
        Ok(Heard { train, packets })
    }

    async fn down(&self, train: Train) -> Result<Heard, StreamError> {
        let (mut send, mut recv) = self.connection.open_bi().await?;
        self.listener.expect(self.trains, train);
        send.write_all(&train.request(true, self.trains)).await?;
        send.finish()?;
        let slower = self
            .hearing(async {
                let slower = gap(&mut recv).await?;
                recv.read_to_end(0).await?;
                if !self.listener.is_complete() {
                    tokio::time::sleep(SETTLE).await;
                }
                Ok(slower)
            })
            .await?;
        let train = Train { gap: slower.clamp(train.gap, train::LONGEST), ..train };
        Ok(Heard { train, packets: completed(&self.listener.take(), train) })
    }

    /// Does this while datagrams are heard.
    async fn hearing<T>(&self, work: impl Future<Output = Result<T, StreamError>>) -> Result<T, StreamError> {
        tokio::select! {
            done = work => done,
            error = self.listener.run(self.connection) => Err(error.into()),
        }
    }
}

/// The gap with which the server sends or hears.
async fn gap(recv: &mut noq::RecvStream) -> Result<Duration, StreamError> {
    let mut gap = [0; 8];
    match recv.read_exact(&mut gap).await {
        Ok(()) => Ok(Duration::from_nanos(u64::from_be_bytes(gap))),
        Err(ReadExactError::ReadError(error)) => Err(error.into()),
        Err(ReadExactError::FinishedEarly(_)) => Err(StreamError::Closed(noq::ClosedStream::default())),
    }
}

/// All packets of a train: of those that never came it is known when they should have left.
fn completed(came: &[Option<(f64, f64)>], train: Train) -> Vec<Packet> {
    let gap = train.gap.as_secs_f64();
    let known = |(place, came): (usize, &Option<(f64, f64)>)| Some((place, came.as_ref()?.0));
    let first = came.iter().enumerate().find_map(known);
    let mut near = first.map(|(place, sent)| sent - gap * place as f64);
    came.iter()
        .map(|came| match came {
            Some((sent, at)) => {
                near = Some(sent + gap);
                Packet { sent: *sent, arrived: Some(*at) }
            }
            None => {
                let sent = near.unwrap_or(0.0);
                near = Some(sent + gap);
                Packet { sent, arrived: None }
            }
        })
        .collect()
}
