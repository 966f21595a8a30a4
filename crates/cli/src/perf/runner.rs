//! Runs what was asked for: a server, one test, or several algorithms in turn.

use super::args::Args;
use super::output::Output;
use super::text;
use crate::exit::{Failure, misuse};
use crate::interrupt::Interrupt;
use anyhow::{Context, anyhow};
use noq::{Endpoint, ServerConfig};
use pcc_net::dial::DialError;
use pcc_net::scope;
use pcc_net::tls::{self, Identity, Trust};
use pcc_net::url::Peer;
use pcc_perf::client::Plan;
use pcc_perf::flow::Way;
use pcc_perf::listen::ListenError;
use pcc_perf::load::{Load, Until};
use pcc_perf::protocol::OverLimit;
use pcc_perf::run::{Event, GOODBYE, Objective, Run, Test};
use pcc_perf::server::{Limits, Served, Server};
use pcc_perf::windows::Windows;
use pcc_perf::{TestError, protocol};
use pcc_quic::Algorithm;
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Without `-t` and `-n`.
const TIME: Duration = Duration::from_secs(10);

fn test_of(args: &Args) -> anyhow::Result<Test> {
    let host = args.host().unwrap_or_default();
    let peer = Peer::parse(host, args.port).context(Failure::Usage)?;
    if peer.port == 0 {
        return Err(misuse!("`-p 0` is no valid port (1 to 65535) of a server; one that is started with it takes any"));
    }
    if args.max_rate().is_some() && (args.reverse || args.bidir) {
        let option = if args.reverse { "-R" } else { "--bidir" };
        return Err(misuse!(
            "-b limits what this end sends, and with {option} the server sends: limit that where it runs, with \
             `pcc perf -s -b RATE`, and leave out one of the two here"
        ));
    }
    let objective = args.utility_options.objective()?;
    let algorithms = algorithms(args, &objective)?;
    let windows = Windows(args.window);
    Ok(Test {
        peer,
        plan: Plan {
            load: load(args),
            interval: args.interval,
            omit: args.omit,
            throttle: args.source,
            send_window: windows.bytes(),
            at_once: args.at_once,
        },
        rounds: if algorithms.len() > 1 { args.rounds } else { 1 },
        algorithms,
        objective: Objective { utility: objective.written, law: objective.law_written, set: objective.set },
        max_rate: args.max_rate(),
        largest_datagram: args.set_mss,
        windows,
        qlog: args.qlog.clone(),
        trust: trust(args),
        family: args.family(),
        named: !args.congestion.is_empty(),
        recording: args.verbose && args.json_stream,
    })
}

fn load(args: &Args) -> Load {
    let ways = match (args.reverse, args.bidir) {
        (true, _) => vec![Way::Down],
        (_, true) => vec![Way::Up, Way::Down],
        _ => vec![Way::Up],
    };
    let until = match args.bytes {
        Some(bytes) => Until::Volume(bytes.get()),
        None => Until::Time(args.time.unwrap_or(TIME)),
    };
    Load { ways, streams: args.parallel, until }
}

fn trust(args: &Args) -> Trust {
    match (&args.fingerprint, &args.ca) {
        (Some(fingerprint), _) => Trust::Pinned(*fingerprint),
        (_, Some(file)) => Trust::Authorities(file.clone()),
        _ if args.insecure => Trust::Anyone,
        _ => Trust::System,
    }
}

/// The algorithms to use, with what was asked of PCC.
fn algorithms(args: &Args, objective: &pcc_utility::Objective) -> anyhow::Result<Vec<Algorithm>> {
    let named = if args.congestion.is_empty() { vec![Algorithm::default()] } else { args.congestion.clone() };
    let mut names: Vec<&str> = named.iter().map(Algorithm::name).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() < named.len() {
        return Err(misuse!("-C names an algorithm twice; --rounds says how often each has its turn"));
    }
    args.utility_options.steered(&named, objective)
}

/// With the options that help.
pub(crate) fn explained(error: TestError) -> anyhow::Error {
    match error {
        TestError::Dial(error) => explain(*error),
        error => with_limits(error).into(),
    }
}

/// The options of both ends that help where a limit of the server ended a test.
fn with_limits(error: TestError) -> TestError {
    let (less, more) = match &error {
        TestError::OverLimit(OverLimit::Bytes) => ("move less with -n or -t", "--max-bytes"),
        TestError::OverLimit(OverLimit::Time) => ("take less with -t or -n", "--max-time"),
        _ => return error,
    };
    TestError::Stopped(format!("{error}: {less}, or ask whoever runs it for more (`pcc perf -s {more}`)"))
}

/// `--fingerprint` does here for a server what the URL of `pcc serve` does for a file.
fn explain(error: DialError) -> anyhow::Error {
    let is_unreachable = error.is_unreachable();
    let error = match error {
        DialError::Untrusted { peer, found, reason, has_authorities } => anyhow!(
            "the certificate of {peer} is not trusted: {reason}; if its server printed {found}, pass --fingerprint \
             {found}, otherwise {}measure without knowing to whom with --insecure",
            if has_authorities { "" } else { "name its authority with --ca FILE, or " }
        ),
        DialError::WrongCertificate { peer, expected, found } => anyhow!(
            "{peer} shows another certificate than --fingerprint names: expected {expected}, found {found}; if its \
             server printed {found}, pass that, otherwise another server answers there"
        ),
        DialError::Refused { peer, address } => anyhow!(
            "{peer} refused: nothing listens on UDP port {} of {}; start `pcc perf -s` there, or pass its port with -p",
            address.port(),
            address.ip()
        ),
        DialError::Full { peer } => anyhow!(
            "{peer} is full: it serves as many clients as it may; try again later, or ask whoever runs it for more \
             (`pcc perf -s --max-clients`)"
        ),
        other => other.into(),
    };
    if is_unreachable { error.context(Failure::Unreachable) } else { error }
}

/// `pcc perf -c`.
pub(super) async fn measure(args: Args) -> anyhow::Result<()> {
    let mut output = Output::open(&args)?;
    let test = test_of(&args)?;
    let interrupt = Interrupt::listen(1)?;
    output.start(&test)?;
    let mut runs: Vec<Run> = Vec::new();
    let failed = turns(&test, &mut output, &interrupt, &mut runs).await.err();
    output.end(&test, &runs, failed.as_ref())?;
    match failed {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

async fn turns(test: &Test, output: &mut Output, interrupt: &Interrupt, runs: &mut Vec<Run>) -> anyhow::Result<()> {
    for (algorithm, turn) in test.turns() {
        let stop = async { interrupt.heard().await.to_string() };
        let mut written = Ok(());
        let mut tell = |event: Event<'_>| {
            written = match event {
                _ if written.is_err() => return,
                Event::Connected(local, remote) => output.run(test, turn, (local, remote)),
                Event::Interval(interval) => output.interval(test, turn, interval),
                _ => Ok(()),
            };
        };
        let run = test.run(algorithm, turn, stop, &mut tell).await;
        written?;
        let mut run = run.map_err(|error| match (error, interrupt.is_heard()) {
            (TestError::Stopped(_), Some(how)) => anyhow!(how),
            (error, _) => explained(error),
        })?;
        let is_there = matches!(run.outcome.cut_short, Some(TestError::OverLimit(_)));
        run.outcome.cut_short = run.outcome.cut_short.map(with_limits);
        output.ran(&run)?;
        let stopped = run.outcome.cut_short.as_ref().map(TestError::told);
        runs.push(run);
        if let Some(reason) = stopped {
            let reason = anyhow!("the test was cut short: {reason}");
            return Err(match interrupt.is_heard() {
                Some(how) => anyhow!("the test was cut short").context(how),
                None if is_there => reason,
                None => reason.context(Failure::Unreachable),
            });
        }
    }
    Ok(())
}

/// `pcc perf -s`.
pub(super) async fn serve(args: Args) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen(1)?;
    let mut output = Output::open(&args)?;
    let mut algorithms = algorithms(&args, &args.utility_options.objective()?)?;
    if algorithms.len() > 1 {
        return Err(misuse!("a server sends with one algorithm; clients choose among several with -R -C"));
    }
    let algorithm = algorithms.pop().unwrap_or_default();
    let identity = Identity::persistent()?;
    let endpoint = listen(&args)?;
    let address = endpoint.local_addr()?;
    output.line(
        &listening(address, &identity),
        "listening",
        &json!({ "port": address.port(), "address": address.ip().to_string(),
                 "fingerprint": identity.fingerprint().to_string(), "algorithm": algorithm.name() }),
    )?;
    let server = Server {
        endpoint: endpoint.clone(),
        config: ServerConfig::with_crypto(Arc::new(tls::server(&identity, protocol::SERVER_ALPN)?)),
        algorithm,
        windows: Windows(args.window),
        qlog: args.qlog.clone(),
        largest_datagram: args.set_mss,
        max_rate: args.max_rate(),
        limits: Limits { clients: args.max_clients as usize, bytes: args.max_bytes.get(), time: args.max_time },
        once: args.one_off,
    };
    let output = Mutex::new(output);
    let tell = move |served: &Served| {
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = output.line(
            &format!("{}: {}; {}", served.from, text::counts(&served.side), served.end),
            "served",
            &json!({ "client": served.from.to_string(), "end": served.end, "side": served.side }),
        ) {
            tracing::warn!("{error:#}");
        }
    };
    tokio::select! {
        () = server.run(tell) => {}
        _ = interrupt.heard() => {
            endpoint.close(protocol::NO_ERROR, b"the server was stopped");
            let _ = tokio::time::timeout(GOODBYE, endpoint.wait_idle()).await;
        }
    }
    Ok(())
}

fn listen(args: &Args) -> anyhow::Result<Endpoint> {
    let at = |ip: IpAddr| SocketAddr::new(ip, args.port);
    let any = at(if args.ipv4 { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() });
    let address = args.bind.map_or(any, |mut address| {
        address.set_port(args.port);
        address
    });
    // A host may have no IPv6.
    let or = (args.bind.is_none() && !args.ipv6).then(|| at(Ipv4Addr::UNSPECIFIED.into()));
    pcc_perf::listen::listen(address, or, args.set_mss).map_err(|error| match error {
        ListenError::Address { address, source } => anyhow::Error::new(source).context(format!(
            "could not listen on UDP {address}; choose another port with -p (0 takes a free one), or an address of this host with -B"
        )),
        other => other.into(),
    })
}

/// A server's first words: the command for the other end.
fn listening(address: SocketAddr, identity: &Identity) -> String {
    let port = if address.port() == 4433 { String::new() } else { format!(" -p {}", address.port()) };
    let host = scope::reached_at(address.ip())
        .first()
        .map_or_else(|| "localhost".to_owned(), |ip| scope::seen_from_elsewhere(*ip));
    let fingerprint = identity.fingerprint();
    format!("listening on UDP {address}; measure with:\n  pcc perf -c {host}{port} --fingerprint {fingerprint}")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::exit::failure_of;
    use crate::perf::args::tests::asked;

    /// The test that these words ask for.
    pub(in crate::perf) fn test(words: &str) -> Test {
        test_of(&asked(words).unwrap()).unwrap()
    }

    #[test]
    fn every_other_round_goes_backwards() {
        let test = test("-c host -C pcc,cubic --rounds 3");
        let turns: Vec<_> = test.turns().map(|(algorithm, turn)| (algorithm.name(), turn.round)).collect();
        assert_eq!(turns, [("pcc", 1), ("cubic", 1), ("cubic", 2), ("pcc", 2), ("pcc", 3), ("cubic", 3)]);
    }

    #[test]
    fn no_server_has_port_zero() {
        let error = test_of(&asked("-c ::1 -p 0").unwrap()).unwrap_err();
        assert_eq!(failure_of(&error), Failure::Usage);
        assert!(format!("{error:#}").contains("no valid port (1 to 65535)"), "{error:#}");
        assert_eq!(test("-c [::1]:5 -p 0").peer.port, 5, "it has one");
    }

    #[test]
    fn what_the_server_sends_is_limited_where_it_runs() {
        for option in ["-R", "--bidir"] {
            let error = test_of(&asked(&format!("-c host -b 5M {option}")).unwrap()).unwrap_err();
            assert_eq!(failure_of(&error), Failure::Usage);
            let told = format!("{error:#}");
            assert!(told.contains(option) && told.contains("pcc perf -s -b"), "{told}");
        }
    }
}
