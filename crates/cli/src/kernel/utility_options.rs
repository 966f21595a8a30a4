//! The goal of a variant: a utility's text becomes the program that the kernel runs.

use crate::exit::{misuse, misused};
use crate::utility::{gives_way, heeds_something};
use pcc::utility::{Utility, parse_with};
use pcc_bpf::load::UTILITY_TEXT;
use pcc_bpf::program::Program;
use pcc_utility::formula::{formula, named};
use pcc_utility::{Choice, Setting};
use std::sync::Arc;

/// The utility, and values for its parameters.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct UtilityOptions {
    /// What PCC strives for: a name of `pcc-lab utility list`, with parameters if need be (vivace,b=2), a formula of your
    /// own ('x^0.9 - 11.35*x*L'), or a file with one (mine.utility). `pcc-lab utility check` shows how it behaves [default:
    /// fair; of pcc_bulk safe, of pcc_scav scavenger]
    #[arg(long, value_name = "NAME|FORMULA|FILE")]
    utility: Option<Choice>,
    /// Set a parameter of the utility, or a constant of your formula, with its unit: --set ceiling=80ms
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',')]
    set: Vec<Setting>,
}

/// A utility in the kernel's form.
pub(super) struct Objective {
    /// As people wrote it.
    pub(super) text: String,
    pub(super) program: Program,
    utility: Arc<dyn Utility>,
}

impl Objective {
    /// Errors: nothing makes its senders give way, and they are not limited.
    pub(super) fn check(&self, limited: bool) -> anyhow::Result<()> {
        heeds_something(&self.text, self.utility.panic_loss(), limited)?;
        gives_way(&self.text, &*self.utility, limited)
    }
}

const USUAL: &str = "fair";

/// Names that say what it is for, and what is striven for under them. The module's `pcc_bulk` is of the same mind.
const BY_NAME: [(&str, &str); 2] = [("pcc_bulk", "safe"), ("pcc_scav", "scavenger")];

/// The utility of a congestion control of that name unless something else is asked for.
pub(super) fn usual(name: &str) -> &'static str {
    BY_NAME.iter().find(|(known, _)| *known == name).map_or(USUAL, |(_, utility)| utility)
}

impl UtilityOptions {
    /// Settings without a utility: for the one that is striven for so far.
    pub(super) const fn is_alone(&self) -> bool {
        self.utility.is_none()
    }

    pub(super) const fn is_given(&self) -> bool {
        self.utility.is_some() || !self.set.is_empty()
    }

    /// The program. `before` is what is striven for so far, for settings without a utility.
    ///
    /// Errors: no such parameter, or a value that it cannot have; or the text is too long.
    pub(super) fn objective(&self, before: Option<&str>) -> anyhow::Result<Objective> {
        let written = self.utility.as_ref().map(|choice| choice.written.as_str());
        let text = self.utility.as_ref().map(|choice| choice.text.as_str()).or(before).unwrap_or(USUAL).trim();
        let (text, earlier) = without_settings(text);
        let mut settings = earlier;
        for (key, value) in self.set.iter().map(|one| (one.key.clone(), one.value.clone())) {
            settings.retain(|(earlier, _)| *earlier != key);
            settings.push((key, value));
        }
        let utility = parse_with(text, &settings);
        let utility = utility.map_err(|error| misuse!("{}: {error}", written.unwrap_or(text)))?;
        let given = settings.clone();
        let expression = formula(text, settings).map_err(misused)?;
        let program = Program::new(expression.program());
        let set = given.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",");
        let text = match named(text) {
            _ if set.is_empty() => text.to_owned(),
            Some(_) => format!("{text},{set}"),
            None => format!("{text} [{set}]"),
        };
        if text.len() >= UTILITY_TEXT {
            return Err(misuse!(
                "the utility's text has {} letters, and the kernel keeps {} of it: shorten it, or leave out its comments",
                text.len(),
                UTILITY_TEXT - 1
            ));
        }
        Ok(Objective { text, program, utility })
    }
}

/// A formula, and values for its constants that are told behind it, as in `let b = 5; x - b*x*L [b=7]`.
fn without_settings(text: &str) -> (&str, Vec<(String, String)>) {
    let parts = text.strip_suffix(']').and_then(|text| text.rsplit_once(" ["));
    let pair = |pair: &str| pair.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    parts.map_or((text, Vec::new()), |(formula, set)| (formula, set.split(',').filter_map(pair).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc::utility::{Expression, built_in, parameters};

    fn utility_options(utility: &str, set: &[&str]) -> UtilityOptions {
        let set = set.iter().map(|one| one.parse().unwrap()).collect();
        UtilityOptions { utility: Some(utility.parse().unwrap()), set }
    }

    #[test]
    fn a_built_in_utility_refuses_unknown_constants() {
        for about in built_in() {
            let constants = Expression::constants(about.text);
            for parameter in parameters(about.name).into_iter().filter(|name| !constants.contains(name)) {
                let set = format!("{parameter}=1");
                let error = utility_options(about.name, &[&set])
                    .objective(None)
                    .err()
                    .map(|error| format!("{error:#}"))
                    .unwrap();
                assert!(error.contains(&parameter), "{}: {error}", about.name);
            }
        }
        let fair = UtilityOptions::default().objective(None).unwrap();
        assert_eq!(
            (fair.text.as_str(), &fair.program),
            ("fair", &utility_options("fair", &[]).objective(None).unwrap().program)
        );
    }

    #[test]
    fn a_name_that_says_what_it_is_for_is_enough() {
        for (name, utility) in [("pcc", "fair"), ("pcc_bulk", "safe"), ("pcc_scav", "scavenger"), ("pcc_bulky", "fair")]
        {
            let objective = UtilityOptions::default().objective(Some(usual(name))).unwrap();
            assert_eq!(
                (objective.text.as_str(), objective.program),
                (utility, utility_options(utility, &[]).objective(None).unwrap().program)
            );
        }
        assert_eq!(utility_options("vivace", &[]).objective(Some(usual("pcc_bulk"))).unwrap().text, "vivace");
    }

    #[test]
    fn a_parameter_is_set_however_it_is_written() {
        let one = utility_options("vivace,b=2", &[]).objective(None).unwrap();
        let other = utility_options("vivace", &["b=2"]).objective(None).unwrap();
        assert_eq!((one.text.as_str(), &one.program), (other.text.as_str(), &other.program));
        assert_ne!(one.program, utility_options("vivace", &[]).objective(None).unwrap().program);
        let later = UtilityOptions { utility: None, set: vec!["b=2".parse().unwrap()] };
        assert_eq!(later.objective(Some("vivace")).unwrap().program, one.program);
    }

    #[test]
    fn a_constant_of_a_formula_is_set_and_told() {
        let objective = utility_options("let b = 5; x - b*x*L", &["b=7"]).objective(None).unwrap();
        assert_eq!(objective.program, utility_options("x - 7*x*L", &[]).objective(None).unwrap().program);
        assert_eq!(objective.text, "let b = 5; x - b*x*L [b=7]");
        let later = UtilityOptions { utility: None, set: vec!["b=9".parse().unwrap()] };
        let objective = later.objective(Some(&objective.text)).unwrap();
        assert_eq!(objective.program, utility_options("x - 9*x*L", &[]).objective(None).unwrap().program);
    }

    #[test]
    fn what_cannot_be_set_is_named() {
        let refused =
            |utility, set| utility_options(utility, &[set]).objective(None).err().map(|error| format!("{error:#}"));
        for (utility, set) in [("vivace", "nonsense=1"), ("x - 5*x*L", "b=1"), ("vivace", "b=much")] {
            let error = refused(utility, set).unwrap();
            assert!(error.contains(set.split('=').next().unwrap()) || error.contains("much"), "{error}");
        }
    }
}
