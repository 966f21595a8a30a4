//! A test as it was asked for, and the runs that are made of it.

use crate::client::{self, Interval, Outcome, Plan};
use crate::datagram::{self, LargestDatagram};
use crate::flow::{Flow, Way};
use crate::meter::Meter;
use crate::protocol;
use crate::server::watched;
use crate::test_error::TestError;
use crate::windows::Windows;
use noq::{Connection, Endpoint, PathId};
use pcc::units::Rate;
use pcc_net::dial::{self, Dialed, Dialer};
use pcc_net::tls::Trust;
use pcc_net::url::Peer;
use pcc_quic::Algorithm;
use pcc_quic::qlog::{Qlog, traced};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// A test as it was asked for.
#[derive(Debug)]
pub struct Test {
    /// Whom with.
    pub peer: Peer,
    /// The plan of each run.
    pub plan: Plan,
    /// The algorithms, which take turns.
    pub algorithms: Vec<Algorithm>,
    /// Turns of each.
    pub rounds: u32,
    /// PCC's utility and law, for the results.
    pub objective: Objective,
    /// Most that this end sends.
    pub max_rate: Option<Rate>,
    /// The largest UDP datagram.
    pub largest_datagram: Option<LargestDatagram>,
    /// Flow-control windows.
    pub windows: Windows,
    /// Which certificates are good.
    pub trust: Trust,
    /// Which version of IP.
    pub family: dial::Family,
    /// Whether the algorithm was named, so that a server may be asked for it.
    pub named: bool,
    /// Where connections leave traces.
    pub qlog: Option<Qlog>,
    /// Whether PCC's monitor intervals are told one by one.
    pub recording: bool,
}

/// PCC's utility and law, as the user wrote them.
#[derive(Clone, Debug, Default)]
pub struct Objective {
    /// The utility.
    pub utility: String,
    /// The law, if it was named.
    pub law: Option<String>,
    /// Other settings, `KEY=VALUE`.
    pub set: Vec<String>,
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// The algorithm's name.
    pub algorithm: &'static str,
    /// From 1.
    pub round: u32,
}

/// A run that was made.
#[derive(Debug)]
pub struct Run {
    /// Whose turn it was.
    pub turn: Turn,
    /// Its outcome.
    pub outcome: Outcome,
}

/// Events of a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// It begins, on a connection between these addresses: this end's, and the other's.
    Connected(SocketAddr, SocketAddr),
    /// An interval of it has passed.
    Interval(&'a Interval),
}

impl Run {
    /// The direction that counts: the only one, or up.
    pub fn flow(&self) -> Option<&Flow> {
        self.outcome.flows.first().map(|(_, flow)| flow)
    }

    /// Useful bits per second, all directions together.
    pub fn bits_per_second(&self) -> f64 {
        // `sum` has -0 of no flows.
        self.outcome.flows.iter().fold(0.0, |sum, (_, flow)| sum + flow.bits_per_second())
    }
}

impl Test {
    /// The algorithms' names.
    pub fn names(&self) -> Vec<&'static str> {
        self.algorithms.iter().map(Algorithm::name).collect()
    }

    /// The turns, in their order: every other round backwards, since hosts warm up and paths drift, which must not favour the
    /// algorithms that come later.
    pub fn turns(&self) -> impl Iterator<Item = (&Algorithm, Turn)> {
        let count = self.algorithms.len();
        (1..=self.rounds).flat_map(move |round| {
            (0..count).map(move |place| {
                let algorithm = &self.algorithms[if round % 2 == 1 { place } else { count - 1 - place }];
                (algorithm, Turn { algorithm: algorithm.name(), round })
            })
        })
    }

    /// Connects and runs once. `stop` ends the run before its time when it resolves, with the reason in words.
    ///
    /// Errors: there is no connection, or nothing was measured.
    pub async fn run(
        &self,
        algorithm: &Algorithm,
        turn: Turn,
        stop: impl Future<Output = String>,
        tell: &mut (dyn FnMut(Event<'_>) + Send),
    ) -> Result<Run, TestError> {
        let mut stop = pin!(stop);
        let (algorithm, watch) = watched(algorithm.clone(), self.recording, self.max_rate);
        let meter = Arc::new(Meter::new(algorithm.name(), watch));
        let dialer = self.dialer(&algorithm)?;
        let dialed = tokio::select! {
            dialed = dialer.dial(&self.peer) => dialed?,
            reason = &mut stop => return Err(TestError::Stopped(reason)),
        };
        let Dialed { endpoint, connection, warning, .. } = dialed;
        if let (Some(warning), 1) = (warning, turn.round) {
            tracing::warn!("{warning}");
        }
        let (local, remote) = ends(&endpoint, &connection)?;
        tell(Event::Connected(local, remote));
        let dialect = protocol::spoken(&connection);
        let mut tell_interval = |interval: &Interval| tell(Event::Interval(interval));
        let outcome = client::run(&connection, &meter, dialect, &self.plan, stop, &mut tell_interval).await;
        let over_limit = protocol::over_limit(&connection);
        connection.close(protocol::NO_ERROR, b"");
        // The goodbye is sent at once; waiting for its answer would only delay the next turn on a long path.
        let _ = tokio::time::timeout(GOODBYE, endpoint.wait_idle()).await;
        // Whatever failed then, failed of that.
        let outcome = match (outcome, over_limit) {
            (Ok(outcome), Some(over)) => Outcome { cut_short: Some(over.into()), ..outcome },
            (Err(_), Some(over)) => return Err(over.into()),
            (outcome, None) => outcome?,
        };
        Ok(Run { turn, outcome })
    }

    fn dialer(&self, algorithm: &Algorithm) -> Result<Dialer, TestError> {
        let wish = self.named && self.plan.load.ways.contains(&Way::Down);
        let (algorithm, trace) = traced(self.qlog.as_ref(), algorithm.clone());
        let mut transport = self.windows.transport(&algorithm);
        if let Some(largest) = self.largest_datagram {
            largest.limit(&mut transport);
        }
        if let Some(limit) = self.max_rate {
            algorithm.cap(&mut transport, limit);
        }
        if let Some(trace) = trace {
            transport.qlog_factory(trace);
        }
        Ok(Dialer {
            alpn: protocol::client_alpn(wish.then_some(&algorithm)),
            trust: self.trust.clone(),
            transport: Arc::new(transport).into(),
            endpoint: datagram::endpoint(self.largest_datagram)?,
            timeout: dial::TIMEOUT,
            family: self.family,
            via: Vec::new(),
        })
    }
}

/// The addresses of both ends.
fn ends(endpoint: &Endpoint, connection: &Connection) -> Result<(SocketAddr, SocketAddr), TestError> {
    let path = connection.path(PathId::ZERO).ok_or(TestError::EndedAtOnce)?;
    let bound = endpoint.local_addr()?;
    let local = path.local_ip()?.unwrap_or(bound.ip());
    Ok((SocketAddr::new(local, bound.port()), path.remote_address()?))
}

/// Enough for a close to leave this host.
pub const GOODBYE: Duration = Duration::from_millis(200);
