//! The options that say what PCC strives for, and how it gets there: the same in every command that sends.

use crate::exit::misuse;
use pcc_quic::{Algorithm, PccConfig};
use pcc_utility::{Choice, LawChoice, Objective, ObjectiveError, Setting};

/// A utility for PCC to strive for, and the law by which it gets there.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct UtilityOptions {
    /// What PCC strives for: a name of `pcc-lab utility list`, with parameters if need be (vivace,b=2), a formula of your
    /// own ('x^0.9 - 11.35*x*L'), or a file with one (mine.utility) [default: fair]
    #[arg(long, value_name = "NAME|FORMULA|FILE")]
    pub utility: Option<Choice>,

    /// Yield to all other senders, at full speed without any: short for --utility scavenger
    #[arg(long, conflicts_with = "utility")]
    pub scavenger: bool,

    /// The control law: ascent, allegro or vivace, with parameters if need be (allegro,epsilon_min=0.02);
    /// docs/algorithm.md and docs/laws.md describe them [default: the law that suits the utility]
    #[arg(long, value_name = "LAW[,KEY=VALUE]")]
    pub law: Option<LawChoice>,

    /// Set a parameter of the utility or of the law, or a constant of your formula, with its unit: --set ceiling=80ms
    /// --set epsilon=0.01
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',')]
    pub set: Vec<Setting>,
}

impl UtilityOptions {
    /// The utility without options.
    pub const USUAL: &'static str = "fair";

    /// Whether any of the options was given, and which.
    pub fn given(&self) -> Option<String> {
        let set = self.set.first().map(|setting| format!("--set {setting}"));
        None.or(self.utility.as_ref().map(|choice| format!("--utility {}", choice.written)))
            .or_else(|| self.scavenger.then(|| "--scavenger".to_owned()))
            .or_else(|| self.law.as_ref().map(|choice| format!("--law {}", choice.written)))
            .or(set)
    }

    /// Puts the options together.
    ///
    /// Errors: a setting that neither the utility nor the law has, that both have, or with a value that cannot be.
    pub fn objective(&self) -> anyhow::Result<Objective> {
        let usual = if self.scavenger { "scavenger" } else { Self::USUAL };
        let (written, text) =
            self.utility.as_ref().map_or((usual, usual), |choice| (choice.written.as_str(), choice.text.as_str()));
        let objective = Objective::new(written, text, self.law.as_ref(), &self.set);
        objective.map_err(|error| misuse!(explained(&error)))
    }

    /// The algorithms that `-C` names, of which PCC strives for `objective`, which these options came to.
    ///
    /// Errors: the options steer PCC, and it is not among them.
    pub fn steered(&self, named: &[Algorithm], objective: &Objective) -> anyhow::Result<Vec<Algorithm>> {
        if let Some(given) = self.given().filter(|_| !named.iter().any(|one| matches!(one, Algorithm::Pcc(_)))) {
            return Err(misuse!("{given} steers PCC, which -C does not name: leave out one of the two"));
        }
        let steered = named.iter().cloned().map(|algorithm| match algorithm {
            Algorithm::Pcc(PccConfig { mut core, .. }) => {
                objective.apply(&mut core);
                Algorithm::Pcc(core.into())
            }
            other => other,
        });
        Ok(steered.collect())
    }
}

/// With the option that was wrong, or helps.
fn explained(error: &ObjectiveError) -> String {
    match error {
        ObjectiveError::Both { key, law, value, .. } => {
            format!("--set {error}; for the law write --law {law},{key}={value}, and in a formula choose another name")
        }
        ObjectiveError::Unknown { .. } => format!("--set {error}"),
        ObjectiveError::Value(_) | ObjectiveError::Law(_) => format!("--set: {error}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::{Failure, failure_of};
    use clap::Parser;
    use pcc::control::Law;
    use pcc::utility::SenderView;

    #[derive(clap::Parser)]
    struct Cli {
        #[command(flatten)]
        utility_options: UtilityOptions,
    }

    fn parse(args: &[&str]) -> Result<UtilityOptions, clap::Error> {
        Cli::try_parse_from(["pcc"].iter().chain(args)).map(|cli| cli.utility_options)
    }

    fn objective(args: &[&str]) -> Objective {
        parse(args).unwrap().objective().unwrap()
    }

    #[test]
    fn without_options_it_is_fair_by_the_law_that_suits_it() {
        let usual = objective(&[]);
        assert_eq!((usual.utility.name(), usual.law().name()), (UtilityOptions::USUAL, "ascent"));
        assert!(usual.law.is_none() && parse(&[]).unwrap().given().is_none());
        assert_eq!(usual.utility.name(), pcc::Config::default().utility.name());
    }

    #[test]
    fn of_the_algorithms_pcc_alone_is_steered() {
        let scavenger = parse(&["--scavenger"]).unwrap();
        let steered = |names: &[&str]| {
            let named: Vec<Algorithm> = names.iter().map(|name| name.parse().unwrap()).collect();
            scavenger.steered(&named, &scavenger.objective().unwrap())
        };
        let two = steered(&["cubic", "pcc"]).unwrap();
        assert_eq!(two.iter().map(Algorithm::name).collect::<Vec<_>>(), ["cubic", "pcc"]);
        assert!(matches!(&two[1], Algorithm::Pcc(config) if config.core.utility.name() == "scavenger"));
        let error = steered(&["cubic"]).unwrap_err();
        assert!(format!("{error:#}").contains("--scavenger steers PCC, which -C does not name"), "{error:#}");
    }

    #[test]
    fn a_scavenger_is_short_for_the_utility_of_that_name() {
        assert_eq!(objective(&["--scavenger"]).utility.name(), "scavenger");
        assert!(parse(&["--scavenger", "--utility", "safe"]).is_err());
    }

    #[test]
    fn a_setting_goes_to_whoever_has_a_parameter_of_that_name() {
        let both = objective(&["--set", "level=0.01,epsilon=0.03", "--set", "loss_cap=10%"]);
        let Some(Law::Ascent(config)) = &both.law else { panic!("{both:?}") };
        assert_eq!(config.epsilon, 0.03);
        assert!(format!("{:?}", both.utility).contains("level: 0.01"), "{both:?}");
        let text = objective(&["--utility", "let b = 5; let cap = 20ms; x - b*x*L - x*q/cap", "--set", "b=7,cap=1s"]);
        let same = objective(&["--utility", "let b = 7; let cap = 1s; x - b*x*L - x*q/cap"]);
        let queued = SenderView { loss: 0.1, queue: (0.01, 0.01), ..SenderView::clear(50.0, 0.03) }.report();
        assert_eq!(text.utility.evaluate(&queued), same.utility.evaluate(&queued), "{text:?}");
        let law = objective(&["--law", "allegro", "--set", "epsilon_min=0.02"]);
        let Some(Law::Allegro(config)) = &law.law else { panic!("{law:?}") };
        assert_eq!(config.epsilon_min, 0.02);
    }

    #[test]
    fn what_cannot_be_set_is_refused_with_what_can() {
        for (args, expected) in [
            (
                &["--set", "colour=blue"][..],
                "the utility fair has level, loss_price, loss_cap, sureness; the law ascent has epsilon, ",
            ),
            (&["--set", "level=many"], "`many` is no level"),
            (&["--set", "epsilon=3"], "`3` is no epsilon"),
            (&["--utility", "x - 5*x*L", "--set", "b=3"], "has no parameters"),
            (&["--utility", "let b = 5; x - b*x*L", "--set", "b=fast"], "`fast` is no b"),
            (&["--utility", "let b = 20ms; x - x*q/b", "--set", "b=20Mbit"], "`20Mbit` is no b: it is a time (s)"),
            (&["--utility", "let q2 = q; x - 100*x*q2", "--set", "q2=1"], "there is no such parameter"),
            (&["--utility", "let epsilon = 5; x - 100*x*q - epsilon*L", "--set", "epsilon=3"], "both the utility"),
            (&["--utility", "rate-limiter,limit=20Mbit", "--set", "limit=20"], "write it like 20Mbit"),
        ] {
            let error = parse(args).unwrap().objective().unwrap_err();
            assert_eq!(failure_of(&error), Failure::Usage);
            assert!(format!("{error:#}").contains(expected), "{args:?}: {error:#}");
        }
        assert!(parse(&["--set", "epsilon"]).unwrap_err().to_string().contains("write KEY=VALUE"));
    }
}
