//! How this side sends: the options that all commands which move files share.

use crate::exit::misuse;
use crate::utility::{UtilityOptions, heeds_something};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use noq::TransportConfig;
use pcc::observe::Observer;
use pcc::units::{Bytes, Rate};
use pcc_files::keep_alive;
use pcc_net::dial::Transport;
use pcc_net::paths::Paths;
use pcc_quic::qlog::{Qlog, traced};
use pcc_quic::transport::{self, Windows};
use pcc_quic::{Algorithm, PccConfig};
use std::sync::Arc;

/// Bytes in flight within ssh. OpenSSH has 2 MiB of a stream under way; with as much again TCP never waits for more.
const WITHIN_SSH: Bytes = Bytes::new(4 << 20);

/// Congestion control of what this side sends.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Sending")]
pub(crate) struct SenderArgs {
    /// The sender's congestion control, for data that this side sends [default: pcc]
    ///
    /// Any HTTP/3 peer gains when the sender uses PCC; the receiver needs nothing. The other algorithms are for
    /// comparison.
    #[arg(short = 'C', long, value_name = "ALGORITHM", value_parser = PossibleValuesParser::new(Algorithm::NAMES).try_map(|name| name.parse::<Algorithm>()))]
    congestion: Option<Algorithm>,

    #[command(flatten)]
    pub(crate) utility_options: UtilityOptions,

    /// The highest rate of each connection, for example 100Mbit (or 100M) or 12.5MB; `pcc get` receives no faster
    /// either
    #[arg(long, value_name = "RATE")]
    pub(crate) limit: Option<Rate>,

    /// Write a qlog file of each connection into this directory, with PCC's intervals and decisions: docs/qlog.md
    ///
    /// At most 100 files of 100 MiB. A server's oldest trace there makes room for a new one.
    #[arg(long, value_name = "DIR", value_parser = qlog, help_heading = "Output")]
    pub(crate) qlog: Option<Qlog>,

    /// Begin as on an unknown path, and keep nothing of it
    ///
    /// By default a transfer begins at half of the rate that an earlier one had to the same address within the last hour, if the
    /// RTT agrees (RFC 9959). `~/.cache/pcc/paths.json` holds these rates.
    #[arg(long)]
    pub(crate) no_path_memory: bool,
}

impl SenderArgs {
    /// The algorithm with its parameters; `observer` hears of PCC's intervals.
    ///
    /// Errors: a utility or a law's parameters were chosen for an algorithm that knows none, or cannot be.
    pub(crate) fn algorithm(&self, observer: Option<Arc<dyn Observer>>) -> anyhow::Result<Algorithm> {
        let congestion = self.congestion.clone().unwrap_or_default();
        let Algorithm::Pcc(PccConfig { mut core, .. }) = congestion else {
            if let Some(given) = self.utility_options.given() {
                let algorithm = congestion.name();
                return Err(misuse!("{given} steers PCC, not {algorithm}: leave out one of the two"));
            }
            return Ok(congestion);
        };
        let objective = self.utility_options.objective()?;
        heeds_something(&objective.written, objective.utility.panic_loss(), self.limit.is_some())?;
        objective.apply(&mut core);
        core.max_rate = self.limit;
        core.observer = observer;
        Ok(Algorithm::Pcc(core.into()))
    }

    /// The same for packets inside of ssh's connection, whose TCP decides about the rate: no control, unless one is asked for.
    ///
    /// Errors: as of [`Self::algorithm`].
    pub(crate) fn algorithm_within_ssh(&self) -> anyhow::Result<Algorithm> {
        let is_asked_for = self.congestion.is_some() || self.utility_options.given().is_some();
        if is_asked_for { self.algorithm(None) } else { Ok(Algorithm::FixedWindow(WITHIN_SSH)) }
    }

    /// What earlier transfers learnt of their paths, unless it is not wanted.
    pub(crate) fn paths(&self) -> Paths {
        if self.no_path_memory { Paths::none() } else { Paths::load() }
    }

    /// A transport that sends with this algorithm as these options say, over paths within `windows`.
    pub(crate) fn transport_of(&self, algorithm: &Algorithm, windows: &Windows) -> TransportConfig {
        let (algorithm, trace) = traced(self.qlog.as_ref(), algorithm.clone());
        let mut config = transport::config(&algorithm, windows);
        if let Some(limit) = self.limit {
            algorithm.cap(&mut config, limit);
        }
        if let Some(trace) = trace {
            config.qlog_factory(trace);
        }
        config
    }
}

impl SenderArgs {
    /// The transport of a server: clients may use several networks, unless that would have them go round `--limit`, which each path
    /// has for itself.
    pub(crate) fn server_transport(&self, algorithm: &Algorithm, windows: &Windows) -> TransportConfig {
        let mut transport = self.transport_of(algorithm, windows);
        if self.limit.is_none() {
            transport::allow_paths(&mut transport);
        }
        transport
    }

    /// The transport of a client: it begins with what `paths` know, and notices a server that is gone.
    pub(crate) fn transport(&self, algorithm: Algorithm, windows: Windows, paths: &Paths) -> Transport {
        let (sender, paths) = (self.clone(), paths.clone());
        Transport::by_address(move |address| {
            let mut transport = sender.transport_of(&paths.resume(&algorithm, address), &windows);
            keep_alive(&mut transport);
            transport
        })
    }
}

/// A directory for traces.
pub(crate) fn qlog(directory: &str) -> Result<Qlog, String> {
    Qlog::open(directory).map_err(|error| format!("the directory cannot be made: {error}"))
}

/// The same algorithm, whose intervals the observer hears of if it is PCC.
pub(crate) fn observed(algorithm: &Algorithm, observer: Arc<dyn Observer>) -> Algorithm {
    let mut algorithm = algorithm.clone();
    if let Algorithm::Pcc(pcc) = &mut algorithm {
        pcc.core.observer = Some(observer);
    }
    algorithm
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Failure;
    use clap::Parser;
    use pcc::control::Law;

    #[derive(clap::Parser)]
    struct Cli {
        #[command(flatten)]
        sender: SenderArgs,
    }

    fn parse(args: &str) -> Result<SenderArgs, clap::Error> {
        Cli::try_parse_from(["pcc"].into_iter().chain(args.split_whitespace())).map(|cli| cli.sender)
    }

    #[test]
    fn the_default_is_pcc_with_the_fair_utility_and_no_limit() {
        let Algorithm::Pcc(pcc) = parse("").unwrap().algorithm(None).unwrap() else { panic!("not PCC") };
        assert_eq!((pcc.core.utility.name(), pcc.core.max_rate), ("fair", None));
    }

    #[test]
    fn within_ssh_nothing_controls_unless_it_is_asked_for() {
        let name = |args: &str| parse(args).unwrap().algorithm_within_ssh().unwrap().name();
        assert_eq!((name(""), name("--limit 5Mbit"), name("-C cubic")), ("fixed-window", "fixed-window", "cubic"));
        assert_eq!((name("-C pcc"), name("--utility safe")), ("pcc", "pcc"));
    }

    #[test]
    fn a_limit_is_pccs_highest_rate() {
        let args = parse("--utility linear --limit 12.5MB").unwrap();
        let Algorithm::Pcc(pcc) = args.algorithm(None).unwrap() else { panic!("not PCC") };
        assert_eq!((pcc.core.utility.name(), pcc.core.max_rate), ("linear", Some(Rate::from_mbit(100.0))));
    }

    #[test]
    fn who_bears_any_loss_has_a_limit() {
        let error = parse("--utility loss-resilient").unwrap().algorithm(None).unwrap_err();
        assert_eq!(crate::exit::failure_of(&error), Failure::Usage);
        assert!(format!("{error:#}").contains("--limit 50Mbit"), "{error:#}");
        let Algorithm::Pcc(pcc) = parse("--utility loss-resilient --limit 50Mbit").unwrap().algorithm(None).unwrap()
        else {
            panic!("not PCC")
        };
        assert_eq!((pcc.core.utility.name(), pcc.core.max_rate), ("loss-resilient", Some(Rate::from_mbit(50.0))));
    }

    #[test]
    fn a_wrong_parameter_of_the_law_is_refused_with_the_choice() {
        let Algorithm::Pcc(pcc) = parse("--law allegro,epsilon_min=0.02").unwrap().algorithm(None).unwrap() else {
            panic!()
        };
        let Some(Law::Allegro(config)) = pcc.core.law else { panic!("not Allegro") };
        assert_eq!(config.epsilon_min, 0.02);
        let error = parse("--law allegro,epsilon=0.02").unwrap_err().to_string();
        assert!(error.contains("`epsilon` is no parameter") && error.contains("epsilon_min"), "{error}");
    }

    #[test]
    fn rate_without_unit_is_refused_with_its_value_and_example() {
        let error = parse("--limit 100").unwrap_err().to_string();
        assert!(error.contains("`100` has no unit") && error.contains("100Mbit"), "{error}");
    }

    #[test]
    fn a_utility_for_an_algorithm_without_one_is_misuse() {
        let error = parse("-C cubic --utility linear").unwrap().algorithm(None).unwrap_err();
        assert_eq!(crate::exit::failure_of(&error), Failure::Usage);
        let text = format!("{error:#}");
        assert!(text.contains("--utility linear") && text.contains("cubic"), "{text}");
        let error = parse("-C cubic --law allegro,least_gain=0").unwrap().algorithm(None).unwrap_err();
        assert!(format!("{error:#}").contains("--law allegro,least_gain=0 steers PCC, not cubic"), "{error:#}");
    }
}
