//! The built-in utilities by name.

use super::built_in::make;
use super::built_in::{BuiltIn, UtilityInfo};
use super::error::ParseUtilityError;
use super::function::Utility;
use super::{
    Deadline, Fair, Hybrid, Interactive, Linear, LossResilient, Proteus, RateLimiter, Safe, Scavenger, Vivace,
    VivaceLoss, Weighted,
};
use std::sync::Arc;

type Make = fn(Option<&str>) -> Result<Arc<dyn Utility>, ParseUtilityError>;

/// A built-in utility.
struct Entry {
    about: UtilityInfo,
    make: Make,
    parameters: fn() -> Vec<&'static str>,
}

const fn entry<T: BuiltIn>() -> Entry {
    let parameters = || T::default().parameters().iter().map(|parameter| parameter.name).collect();
    Entry { about: T::INFO, make: make::<T>, parameters }
}

/// All of them; the default comes first.
const CATALOGUE: [Entry; 13] = [
    entry::<Fair>(),
    entry::<Safe>(),
    entry::<Interactive>(),
    entry::<LossResilient>(),
    entry::<Linear>(),
    entry::<Vivace>(),
    entry::<VivaceLoss>(),
    entry::<Weighted>(),
    entry::<Proteus>(),
    entry::<Scavenger>(),
    entry::<Hybrid>(),
    entry::<RateLimiter>(),
    entry::<Deadline>(),
];

/// The names of the built-in utilities.
pub const NAMES: [&str; CATALOGUE.len()] = {
    let mut names = [""; CATALOGUE.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = CATALOGUE[i].about.name;
        i += 1;
    }
    names
};

/// The description of each built-in utility.
pub fn built_in() -> impl Iterator<Item = &'static UtilityInfo> {
    CATALOGUE.iter().map(|entry| &entry.about)
}

/// The utility that `NAME` or `NAME,key=value...` names; `None` if there is none of that name.
///
/// Errors: a parameter that it does not have, a value that a parameter cannot have, or none where there is no default.
pub(super) fn named(written: &str) -> Option<Result<Arc<dyn Utility>, ParseUtilityError>> {
    let (name, parameters) =
        written.split_once(',').map_or((written, None), |(name, parameters)| (name, Some(parameters)));
    Some((entry_of(name)?.make)(parameters))
}

/// The parameters of the built-in utility that this names; `None` if there is none of that name.
pub(super) fn parameters_of(written: &str) -> Option<Vec<&'static str>> {
    let name = written.split(',').next().unwrap_or_default();
    Some((entry_of(name)?.parameters)())
}

fn entry_of(name: &str) -> Option<&'static Entry> {
    static ENTRIES: &[Entry] = &CATALOGUE;
    ENTRIES.iter().find(|entry| entry.about.name == name.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::parse;
    use crate::utility::tests::report;

    /// Its name, with an example of what has no default.
    fn example(name: &str) -> String {
        match name {
            "weighted" => format!("{name},share=0.5"),
            "hybrid" => format!("{name},needed=20Mbit"),
            "rate-limiter" => format!("{name},limit=20Mbit"),
            _ => name.to_owned(),
        }
    }

    #[test]
    fn every_name_gives_the_utility_of_that_name() {
        for about in built_in() {
            let utility = parse(&example(about.name)).unwrap();
            assert_eq!(utility.name(), about.name);
            assert!(utility.evaluate(&report(10.0, 0.01)).is_finite(), "{}", about.name);
            for said in [about.summary, about.formula, about.unit, about.source, about.text] {
                assert!(!said.is_empty(), "{}", about.name);
            }
        }
        assert_eq!(NAMES[0], "fair");
        assert!(named("best").is_none());
    }

    #[test]
    fn what_is_written_after_the_name_changes_the_function() {
        for (written, x, loss, expected) in [
            ("vivace,c=0", 10.0, 0.1, 10f64.powf(0.9)),
            ("vivace-loss,c=0,t=1", 10.0, 0.1, 10.0),
            ("safe,loss_cap=10%", 100.0, 0.1, 90.0 / 2.0 - 10.0),
            ("weighted,share=20%", 10.0, 0.2, 10.0 - 5.0 * 10.0 * 0.25),
            ("rate-limiter, limit=10Mbit, t=1", 10.0, 0.0, 0.0),
        ] {
            let u = parse(written).unwrap().evaluate(&report(x, loss));
            assert!((u - expected).abs() < 1e-9, "{written}: {u} is not {expected}");
        }
    }

    #[test]
    fn an_impossible_parameter_is_refused_with_the_choice() {
        for (written, expected) in [
            ("vivace,", "the utility vivace: `` is not NAME=VALUE"),
            ("vivace,b", "`b` is not NAME=VALUE"),
            ("vivace,x=1", "`x` is no parameter of it; choose from t, b, c"),
            ("vivace,b=-1", "`-1` is no b; it is from 0 to 1000000"),
            ("vivace,b=NaN", "`NaN` is no b"),
            ("vivace,b=1ms", "`1ms` is no b"),
            ("linear,x=1", "the utility linear: has no parameters"),
            ("hybrid", "the utility hybrid: needs its needed: write it like hybrid,needed=20Mbit"),
            ("rate-limiter,t=1", "needs its limit"),
            ("rate-limiter,limt=20Mbit", "did you mean `limit`?"),
            ("rate-limiter,limit=20", "`20` is no limit; it is from 0.0001 to 10000000 Mbit/s; write it like 20Mbit"),
            ("deadline,ceiling=0s", "`0s` is no ceiling"),
            ("weighted", "write it like weighted,share=0.5"),
        ] {
            let error = parse(written).unwrap_err().to_string();
            assert!(error.contains(expected), "{written}: {error}");
        }
    }
}
