//! The other end: it hears trains, and sends trains that the client asks for.

use super::course::FIRST;
use super::listener::Listener;
use super::train::{self, REQUEST, Train, WIRE};
use crate::meter::{Counter, Meter};
use crate::protocol::NO_ERROR;
use crate::stream_error::StreamError;
use noq::{Connection, PathId, ReadExactError, RecvStream, SendStream};
use pcc::units::Rate;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Datagrams that come later than this after the end of their train are lost.
pub(super) const SETTLE: Duration = Duration::from_millis(200);

/// A train is at most so much faster than what has arrived before. A client that searches asks for twice as much, and loses up to
/// a seventh at random meanwhile.
const FASTER: f64 = 2.5;

/// The list of a train's arrivals takes at most this part of the fastest rate that the client was shown to receive.
const LIST: f64 = 0.25;

/// Answers one connection, within what `meter` allows, never faster than `limit`.
pub(crate) async fn serve(connection: &Connection, meter: &Meter, limit: Option<Rate>) -> String {
    let epoch = Instant::now();
    let end = Arc::new(Listener::new(epoch));
    let mut client =
        Client { connection, meter, epoch, listener: Arc::clone(&end), best: FIRST / FASTER, limit, before: None };
    tokio::select! {
        end = end.run(connection) => end.to_string(),
        end = client.answer() => end.to_string(),
    }
}

struct Client<'a> {
    connection: &'a Connection,
    meter: &'a Meter,
    epoch: Instant,
    listener: Arc<Listener>,
    /// The fastest that it was shown to receive. Unit: bytes per second.
    best: f64,
    limit: Option<Rate>,
    /// The latest train to it: its rate, and packets sent and lost before it.
    before: Option<(f64, u64, u64)>,
}

impl Client<'_> {
    /// Answers one train after the other.
    async fn answer(&mut self) -> StreamError {
        loop {
            let (send, recv) = match self.connection.accept_bi().await {
                Ok(streams) => streams,
                Err(error) => return error.into(),
            };
            if let Err(error) = self.train(send, recv).await
                && self.connection.close_reason().is_some()
            {
                return error;
            }
        }
    }

    async fn train(&mut self, mut send: SendStream, mut recv: RecvStream) -> Result<(), StreamError> {
        let counter = self.meter.stream(recv.id());
        let mut request = [0; REQUEST];
        match recv.read_exact(&mut request).await {
            Ok(()) => {}
            Err(ReadExactError::FinishedEarly(_)) => return Ok(()),
            Err(ReadExactError::ReadError(error)) => return Err(error.into()),
        }
        let Some((is_down, number, train)) = Train::requested(&request) else {
            let _ = send.reset(NO_ERROR); // already closed is as good
            return Ok(());
        };
        let bytes = u64::from(train.packets) * WIRE.get();
        if counter.claim(bytes) < bytes {
            // The task that watches the limit closes the connection.
            return std::future::pending().await;
        }
        if is_down {
            self.send(send, number, train, &counter).await
        } else {
            self.hear(send, recv, number, train, &counter).await
        }
    }

    /// Sends a train, as fast as is asked or as this client was shown to bear.
    async fn send(
        &mut self,
        mut send: SendStream,
        number: u32,
        train: Train,
        counter: &Counter,
    ) -> Result<(), StreamError> {
        self.judge_before();
        let most = self.best * FASTER;
        let most = self.limit.map_or(most, |limit| limit.bytes_per_sec().min(most));
        let slowest = Rate::from_bytes_per_sec(most).time_for(WIRE);
        let train = Train { gap: train.gap.max(slowest.min(train::LONGEST / train.packets)), ..train };
        send.write_all(&(train.gap.as_nanos() as u64).to_be_bytes()).await?;
        let path = self.connection.path_stats(PathId::ZERO).unwrap_or_default();
        self.before = Some((train.rate().bytes_per_sec(), path.sent_packets, path.lost_packets));
        let (connection, epoch) = (self.connection.clone(), self.epoch);
        let left = tokio::task::spawn_blocking(move || super::sending::send(&connection, number, train, epoch)).await;
        counter.sent(left.map_or(0, |left| left.len() as u64) * WIRE.get());
        send.finish()?;
        Ok(())
    }

    /// Notes the rate at which the client received the latest train.
    fn judge_before(&mut self) {
        let Some((rate, sent, lost)) = self.before.take() else { return };
        let path = self.connection.path_stats(PathId::ZERO).unwrap_or_default();
        let (sent, lost) = (path.sent_packets.saturating_sub(sent), path.lost_packets.saturating_sub(lost));
        if sent > 0 {
            self.best = self.best.max(rate * (1.0 - lost as f64 / sent as f64));
        }
    }

    /// Hears a train, and tells when each of its datagrams arrived.
    async fn hear(
        &mut self,
        mut send: SendStream,
        mut recv: RecvStream,
        number: u32,
        train: Train,
        counter: &Counter,
    ) -> Result<(), StreamError> {
        self.listener.expect(number, train);
        send.write_all(&(train.gap.as_nanos() as u64).to_be_bytes()).await?;
        recv.read_to_end(0).await?;
        if !self.listener.is_complete() {
            tokio::time::sleep(SETTLE).await;
        }
        let came = self.listener.take();
        let mut arrivals: Vec<_> = came
            .iter()
            .enumerate()
            .filter_map(|(place, came)| Some((place as u32, (came.as_ref()?.1 * 1e6) as u64)))
            .collect();
        counter.received(arrivals.len() as u64 * WIRE.get());
        arrivals.sort_by_key(|(_, at)| *at);
        let list = train::arrivals_written(&arrivals);
        // Nothing else slows it down.
        let throttle = pcc_net::throttle::Throttle::new(Rate::from_bytes_per_sec(self.best.max(FIRST / FASTER) * LIST));
        for part in list.chunks(PART) {
            throttle.wait(part.len()).await;
            send.write_all(part).await?;
        }
        send.finish()?;
        Ok(())
    }
}

/// Bytes of a list that are sent at a time: two packets.
const PART: usize = 2400;
