//! Names of what sends: `cubic`, `reno+paced`, `cubic*10`, `pcc/safe`, `quic:pcc/safe`, `quic:pcc+allegro+epsilon_min=0.02`,
//! `quic:pcc/safe,queued=1+allegro+paper`, `quic:pcc/mine.utility`, `app`.

use crate::names::{BPF_ALGORITHM, MODULE_ALGORITHM};
use crate::spec::FlowSpec;
use pcc::control::Law;
use pcc::utility::{Expression, built_in};
use pcc_utility::file as utility_file;
use std::path::Path;

/// The congestion controls of the guest kernel.
pub const KERNEL_ALGORITHMS: [&str; 17] = [
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// The algorithms of `pcc perf`, over QUIC.
pub const QUIC_ALGORITHMS: [&str; 4] = ["quic:pcc", "quic:cubic", "quic:bbr", "quic:newreno"];

/// The program under test of `--app`.
pub const APP: &str = "app";

/// More connections than this in a bundle are likelier a slip of the pen than a plan.
const MOST_CONNECTIONS: u32 = 1000;

/// The names in a list with commas between them. A comma inside parentheses, or before `KEY=`, is of a utility.
pub fn algorithms(list: &str) -> Vec<String> {
    let (mut names, mut name, mut depth) = (Vec::new(), String::new(), 0_i32);
    for (at, letter) in list.char_indices() {
        match letter {
            ',' if depth <= 0 && !is_setting(&list[at + 1..]) => names.push(core::mem::take(&mut name)),
            _ => {
                depth += i32::from(letter == '(') - i32::from(letter == ')');
                name.push(letter);
            }
        }
    }
    names.push(name);
    names
}

/// Whether a text begins with `KEY=`.
fn is_setting(text: &str) -> bool {
    let key = text.split('=').next().filter(|key| key.len() < text.len());
    key.is_some_and(|key| !key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_'))
}

/// A flow of the algorithm of that name: who sends, in how many connections, how; the rest is for the caller to fill in. A
/// file with a utility is looked for in `dir`.
pub(super) fn flow_of(name: &str, dir: &Path) -> Result<FlowSpec, String> {
    let (base, connections) = match name.rsplit_once('*') {
        Some((base, count)) => {
            let count = count.parse().ok().filter(|count| (1..=MOST_CONNECTIONS).contains(count));
            (base, count.ok_or_else(|| format!("`{name}`: a bundle has 1 to {MOST_CONNECTIONS} connections"))?)
        }
        None => (name, 1),
    };
    let (base, paced) = match base.strip_suffix("+paced") {
        Some(base) => (base, true),
        None => (base, false),
    };
    let (base, law) = match base.split_once('+') {
        Some((base, parameters)) => (base, Some(parameters.replace('+', ","))),
        None => (base, None),
    };
    let (base, utility) = match base.split_once('/') {
        Some((base, file)) if utility_file::is_file(file) => {
            let text = utility_file::read(&dir.join(file));
            (
                base,
                Some(text.map_err(|error| format!("`{name}`: could not read {}: {error}", dir.join(file).display()))?),
            )
        }
        Some((base, utility)) => (base, Some(utility.to_owned())),
        None => (base, None),
    };
    let flow = FlowSpec { algorithm: base.to_owned(), connections, paced, utility, law, ..FlowSpec::default() };
    check(name, &flow).map(|()| flow)
}

/// Errors: there is no such algorithm, or it does not have what `name` wants of it.
fn check(name: &str, flow: &FlowSpec) -> Result<(), String> {
    let base = flow.algorithm.as_str();
    let is_quic = QUIC_ALGORITHMS.contains(&base);
    let modules = [MODULE_ALGORITHM, BPF_ALGORITHM];
    if !is_quic && !KERNEL_ALGORITHMS.contains(&base) && !modules.contains(&base) && base != APP {
        let known = [&QUIC_ALGORITHMS[..], &KERNEL_ALGORITHMS[..], &modules].concat().join(", ");
        return Err(format!("unknown algorithm `{base}`: choose from {known}"));
    }
    if (is_quic || base == APP) && (flow.paced || flow.connections > 1) {
        return Err(format!("`{name}`: only kernel TCP can be paced or bundled by the lab"));
    }
    if let Some(utility) = &flow.utility {
        match base {
            "quic:pcc" => drop(pcc::utility::parse(utility).map_err(|error| format!("`{name}`: {error}"))?),
            _ if modules.contains(&base) => drop(listing(utility).map_err(|error| format!("`{name}`: {error}"))?),
            _ => return Err(format!("`{name}`: only pcc and quic:pcc have a utility")),
        }
    }
    if let Some(law) = &flow.law {
        match base {
            "quic:pcc" => {
                law.parse::<Law>().map_err(|error| format!("`{name}`: {error}"))?;
            }
            _ => return Err(format!("`{name}`: only quic:pcc has a choice of control laws; the kernel has Ascent")),
        }
    }
    Ok(())
}

/// A utility as the kernel module reads it: one of the built-in ones by name, or a formula.
///
/// Errors: it is neither; values of parameters are for a formula to say.
pub(crate) fn listing(utility: &str) -> Result<String, String> {
    let known = built_in().find(|about| about.name == utility.trim());
    let formula = known.map_or(utility, |about| about.text).parse::<Expression>();
    formula.map(|formula| formula.program().to_string()).map_err(|error| {
        // Only the catalogue can tell the meaning of a word that is neither.
        pcc::utility::parse(utility).err().unwrap_or(error).to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_who_sends_and_how() {
        for (name, algorithm, connections, paced, utility, law) in [
            ("cubic", "cubic", 1, false, None, None),
            ("reno+paced", "reno", 1, true, None, None),
            ("cubic*10", "cubic", 10, false, None, None),
            ("reno+paced*2", "reno", 2, true, None, None),
            ("bpf:pcc/safe", "bpf:pcc", 1, false, Some("safe"), None),
            ("quic:pcc", "quic:pcc", 1, false, None, None),
            ("quic:pcc/linear", "quic:pcc", 1, false, Some("linear"), None),
            ("quic:pcc+allegro", "quic:pcc", 1, false, None, Some("allegro")),
            ("quic:pcc+epsilon=0.01", "quic:pcc", 1, false, None, Some("epsilon=0.01")),
            (
                "quic:pcc/linear+allegro+epsilon_min=0.02+interval_rtts=1..1.4",
                "quic:pcc",
                1,
                false,
                Some("linear"),
                Some("allegro,epsilon_min=0.02,interval_rtts=1..1.4"),
            ),
            (
                "quic:pcc/safe,queued=1+allegro+paper",
                "quic:pcc",
                1,
                false,
                Some("safe,queued=1"),
                Some("allegro,paper"),
            ),
            ("pcc", "pcc", 1, false, None, None),
            ("pcc/scavenger*2", "pcc", 2, false, Some("scavenger"), None),
        ] {
            let flow = flow_of(name, Path::new("")).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(
                (flow.algorithm.as_str(), flow.connections, flow.paced),
                (algorithm, connections, paced),
                "{name}"
            );
            assert_eq!((flow.utility.as_deref(), flow.law.as_deref()), (utility, law), "{name}");
        }
    }

    #[test]
    fn a_comma_of_a_utility_parts_no_names() {
        for (list, names) in [
            ("cubic,bbr", &["cubic", "bbr"][..]),
            ("quic:pcc/safe,queued=1+allegro+paper,cubic", &["quic:pcc/safe,queued=1+allegro+paper", "cubic"]),
            (
                "quic:pcc/hybrid,needed=20Mbit,quic:pcc+epsilon=0.01",
                &["quic:pcc/hybrid,needed=20Mbit", "quic:pcc+epsilon=0.01"],
            ),
            ("quic:pcc/x*max(1-L,0.1),reno+paced*2", &["quic:pcc/x*max(1-L,0.1)", "reno+paced*2"]),
        ] {
            assert_eq!(algorithms(list), names, "{list}");
        }
    }

    #[test]
    fn a_name_that_means_nothing_is_refused_with_what_would() {
        for (name, expected) in [
            ("swift", "unknown algorithm `swift`: choose from quic:pcc"),
            ("cubic*0", "1 to 1000 connections"),
            ("cubic*many", "1 to 1000 connections"),
            ("quic:pcc*10", "only kernel TCP"),
            ("quic:bbr+paced", "only kernel TCP"),
            ("quic:pcc/fastest", "`fastest` is no utility; choose from fair"),
            ("quic:pcc/no.utility", "could not read no.utility: No such file"),
            ("quic:pcc/hybrid", "write it like hybrid,needed=20Mbit"),
            ("quic:cubic/safe", "only pcc and quic:pcc have a utility"),
            ("pcc/fastest", "`fastest` is no utility; choose from fair"),
            ("pcc+vivace", "only quic:pcc has a choice of control laws; the kernel has Ascent"),
            (
                "quic:pcc+epsilon_min=0.02",
                "`epsilon_min` is no parameter of the control law ascent; choose from epsilon",
            ),
            ("quic:pcc+interval_rtts=NaN", "`NaN` is no interval_rtts"),
            ("quic:cubic+epsilon_min=0.02", "only quic:pcc has a choice of control laws"),
            ("cubic+fast", "only quic:pcc has a choice of control laws"),
        ] {
            let error = flow_of(name, Path::new("")).unwrap_err();
            assert!(error.contains(expected), "{name}: {error}");
        }
    }

    #[test]
    fn a_utility_may_stand_in_a_file() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("mine.utility"), "# mine\nlet b = 5;\nx - b*x*L\n").unwrap();
        for name in ["quic:pcc/mine.utility", "pcc/./mine.utility"] {
            let flow = flow_of(name, dir.path()).unwrap();
            assert!(flow.utility.unwrap().ends_with("x - b*x*L\n"));
        }
        std::fs::write(dir.path().join("mine.utility"), "x - los").unwrap();
        assert!(flow_of("quic:pcc/mine.utility", dir.path()).unwrap_err().contains("`los` is no measurement"));
    }
}
