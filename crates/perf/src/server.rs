//! The server's end: any number of clients, each within limits.

use crate::datagram::LargestDatagram;
use crate::meter::{Counter, Meter};
use crate::protocol::{self, Dialect, NO_ERROR, OVER_LIMIT, OverLimit, Phase, UNLIMITED};
use crate::record;
use crate::reports;
use crate::side::Side;
use crate::stream_error::StreamError;
use crate::watch::Watch;
use crate::windows;
use noq::{Connection, ConnectionError, Endpoint, Incoming, ServerConfig};
use pcc::units::Rate;
use pcc_quic::Algorithm;
use pcc_quic::qlog::{Qlog, traced};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// The limits of a server's work for clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time.
    pub clients: usize,
    /// Bytes sent and received in one connection.
    pub bytes: u64,
    /// Length of one connection.
    pub time: Duration,
}

/// How a server serves.
pub struct Server {
    /// Where.
    pub endpoint: Endpoint,
    /// TLS; the transport is chosen for each connection.
    pub config: ServerConfig,
    /// Its algorithm, unless the client wishes another.
    pub algorithm: Algorithm,
    /// Flow-control windows.
    pub windows: windows::Windows,
    /// The largest UDP payload.
    pub largest_datagram: Option<LargestDatagram>,
    /// Most to send to each client.
    pub max_rate: Option<Rate>,
    /// The limits of its work for clients.
    pub limits: Limits,
    /// Where connections leave traces.
    pub qlog: Option<Qlog>,
    /// Ends after the first client.
    pub once: bool,
}

/// One connection that ended.
#[derive(Clone, Debug)]
pub struct Served {
    /// The client.
    pub from: SocketAddr,
    /// All that was counted.
    pub side: Side,
    /// The reason of its end.
    pub end: String,
}

/// Who is served, and what is counted of it.
struct Client {
    from: SocketAddr,
    send_window: u64,
    meter: Arc<Meter>,
    max_rate: Option<Rate>,
}

impl Server {
    /// Serves until the endpoint is closed, or once; each ended connection is told.
    pub async fn run(self, tell: impl Fn(&Served) + Send + Sync + 'static) {
        self.endpoint.set_server_config(Some(self.config.clone()));
        let tell = Arc::new(tell);
        let clients = Arc::new(Semaphore::new(self.limits.clients));
        let mut connections = JoinSet::new();
        while let Some(incoming) = self.endpoint.accept().await {
            while connections.try_join_next().is_some() {} // frees what ended
            // Whoever forges addresses gets no more than half of the places (RFC 9000 §8.1.2).
            let crowded = 2 * clients.available_permits() <= self.limits.clients;
            if crowded && !incoming.remote_address_validated() {
                if let Err(error) = incoming.retry() {
                    error.into_incoming().refuse();
                }
                continue;
            }
            let Ok(place) = Arc::clone(&clients).try_acquire_owned() else {
                tracing::warn!(client = %incoming.remote_address(), "refused: {} clients are served", self.limits.clients);
                incoming.refuse();
                continue;
            };
            let accepted = self.accept(incoming);
            let (limits, tell) = (self.limits, Arc::clone(&tell));
            connections.spawn(async move {
                let _place = place;
                match accepted.await {
                    Ok((connection, client)) => {
                        tell(&serve(connection, client, limits).await);
                        true
                    }
                    Err(error) => {
                        tracing::debug!("no connection: {error:#}");
                        false
                    }
                }
            });
            if self.once && matches!(connections.join_next().await, Some(Ok(true))) {
                break;
            }
        }
        self.endpoint.close(NO_ERROR, b"");
        while connections.join_next().await.is_some() {}
        self.endpoint.wait_idle().await;
    }

    /// Gives the connection a transport of its own, so that its PCC can be watched.
    fn accept(
        &self,
        incoming: Incoming,
    ) -> impl Future<Output = Result<(Connection, Client), ConnectionError>> + use<> {
        let hello = incoming.decrypt();
        let offers = || hello.as_ref().and_then(|hello| hello.alpns()).into_iter().flatten().map_while(Result::ok);
        let records = offers().any(|alpn| alpn[..] == *protocol::RECORD);
        let wish = if records {
            Some(record::client::algorithm())
        } else {
            offers().find_map(|alpn| protocol::wished_algorithm(&alpn))
        };
        // Who wishes for what this server sends with anyway gets it as it is set up here.
        let wish = wish.filter(|wish| wish.name() != self.algorithm.name());
        let (algorithm, watch) = watched(wish.unwrap_or_else(|| self.algorithm.clone()), false, self.max_rate);
        let (algorithm, trace) = traced(self.qlog.as_ref(), algorithm);
        let mut config = self.config.clone();
        let mut transport = self.windows.transport(&algorithm);
        if let Some(largest) = self.largest_datagram {
            largest.limit(&mut transport);
        }
        // Trains keep to it by themselves: a pacer would falsify them.
        if let Some(limit) = self.max_rate.filter(|_| !records) {
            algorithm.cap(&mut transport, limit);
        }
        if let Some(trace) = trace {
            transport.qlog_factory(trace);
        }
        // A client that is silent for longer than the idle time-out shall not be kept.
        transport.keep_alive_interval(None);
        config.transport_config(Arc::new(transport));
        let meter = Arc::new(Meter::within(self.limits.bytes, algorithm.name(), watch));
        let client = Client {
            from: incoming.remote_address(),
            send_window: self.windows.bytes(),
            meter,
            max_rate: self.max_rate,
        };
        let accepted = incoming.accept_with(Arc::new(config));
        async move { Ok((accepted?.await?, client)) }
    }
}

/// The algorithm with somebody watching it, if it is PCC; `recording` its intervals one by one. It will be let send
/// `limit`.
pub fn watched(algorithm: Algorithm, recording: bool, limit: Option<Rate>) -> (Algorithm, Option<Arc<Watch>>) {
    match algorithm {
        Algorithm::Pcc(mut config) => {
            let watch = if recording { Watch::recording() } else { Watch::default() };
            let watch = Arc::new(watch.within(limit));
            config.core.observer = Some(watch.clone());
            (Algorithm::Pcc(config), Some(watch))
        }
        other => (other, None),
    }
}

/// Serves one connection to its end.
async fn serve(connection: Connection, client: Client, limits: Limits) -> Served {
    let Client { from, send_window, meter, max_rate } = client;
    if protocol::is_recorded(&connection) {
        let end = tokio::select! {
            end = record::server::serve(&connection, &meter, max_rate) => end,
            end = over_limit(&connection, &meter, limits.time) => end,
        };
        return Served { from, side: meter.read(&connection), end };
    }
    let (phase, phases) = watch::channel(Phase::Run);
    let mut tasks = JoinSet::new();
    if protocol::spoken(&connection) == Dialect::Reporting {
        let reports = reports::send(connection.clone(), Arc::clone(&meter));
        tasks.spawn(async {
            reports.await;
            Ok(())
        });
    }
    let end = tokio::select! {
        end = serve_streams(&connection, &meter, &phases, &mut tasks) => end,
        end = over_limit(&connection, &meter, limits.time) => end,
        end = windows::keep_fitting(connection.clone(), send_window) => end,
    };
    phase.send_replace(Phase::Abort);
    Served { from, side: meter.read(&connection), end }
}

async fn serve_streams(
    connection: &Connection,
    meter: &Arc<Meter>,
    phases: &watch::Receiver<Phase>,
    tasks: &mut JoinSet<Result<(), StreamError>>,
) -> String {
    loop {
        while tasks.try_join_next().is_some() {}
        let phases = phases.clone();
        tokio::select! {
            stream = connection.accept_bi() => match stream {
                Ok((send, recv)) => {
                    let counter = meter.stream(recv.id());
                    tasks.spawn(answer(Some(send), recv, connection.clone(), counter, phases));
                }
                Err(error) => return error.to_string(),
            },
            stream = connection.accept_uni() => match stream {
                Ok(recv) => {
                    let counter = meter.stream(recv.id());
                    tasks.spawn(answer(None, recv, connection.clone(), counter, phases));
                }
                Err(error) => return error.to_string(),
            },
        }
    }
}

/// Serves one stream: reads the request and the data after it, then sends what was asked for; on a stream of its own
/// if the request came on a unidirectional one.
async fn answer(
    send: Option<noq::SendStream>,
    mut recv: noq::RecvStream,
    connection: Connection,
    counter: Counter,
    phases: watch::Receiver<Phase>,
) -> Result<(), StreamError> {
    let Some(size) = protocol::read_request(&mut recv).await? else { return Ok(()) };
    protocol::drain(recv, &counter, phases.clone()).await?;
    let mut send = match send {
        Some(send) => send,
        None if size == 0 => return Ok(()),
        None => connection.open_uni().await?,
    };
    protocol::fill(&mut send, size, &counter, None, phases).await?;
    if size != UNLIMITED {
        send.finish()?;
    }
    // A stream has ended when its data has arrived: until then its counts change.
    send.stopped().await?;
    Ok(())
}

/// Resolves when the connection went beyond a limit, and was closed for it.
async fn over_limit(connection: &Connection, meter: &Meter, time: Duration) -> String {
    let over = match tokio::time::timeout(time, meter.exhausted()).await {
        Ok(()) => OverLimit::Bytes,
        Err(_) => OverLimit::Time,
    };
    connection.close(OVER_LIMIT, over.reason().as_bytes());
    over.reason().to_owned()
}
