use pcc::control::Law;
use pcc::utility::{UtilityInfo, built_in, parameters};
use serde_json::{Value, json};
use std::io::Write as _;

/// The built-in utilities
#[derive(clap::Args, Debug)]
#[command(after_help = "Example: pcc-lab utility list --json")]
pub(super) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", json!({ "utilities": built_in().map(json).collect::<Vec<_>>() }))?;
        return Ok(());
    }
    let width = built_in().map(|about| about.name.len()).max().unwrap_or_default();
    for about in built_in() {
        writeln!(out, "{:width$}  {}", about.name, about.summary)?;
        let parameters = parameters(about.name).join(", ");
        if !parameters.is_empty() {
            writeln!(out, "{:width$}    parameters: {parameters}", "")?;
        }
    }
    writeln!(
        out,
        "\nThe first one is the default. `pcc-lab utility show NAME` has the formula, and docs/utility.md the language."
    )?;
    Ok(())
}

/// The law that suits a built-in utility, by the text that is its twin: that has a value for each parameter.
pub(super) fn law(about: &UtilityInfo) -> &'static str {
    pcc::utility::parse(about.text).map_or("", |utility| Law::suited_to(&*utility).name())
}

pub(super) fn json(about: &UtilityInfo) -> Value {
    json!({
        "name": about.name,
        "summary": about.summary,
        "formula": about.formula,
        "unit": about.unit,
        "source": about.source,
        "traps": about.traps,
        "parameters": parameters(about.name),
        "law": law(about),
        "text": about.text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_utility_is_listed_with_its_law() {
        let laws: Vec<_> = built_in().map(|about| (about.name, law(about))).collect();
        assert!(laws.contains(&("fair", "ascent")) && laws.contains(&("safe", "allegro")), "{laws:?}");
        let first = built_in().next().map(json).unwrap();
        assert_eq!((&first["name"], &first["parameters"][0]), (&json!("fair"), &json!("level")));
    }
}
