use super::{Choice, list};
use pcc::control::Law;
use pcc::utility::{About, Expression, built_in, parameters};
use serde_json::json;
use std::io::Write as _;

/// What there is to know of a utility: formula, units, source, traps, and the program that it becomes
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// A name of `pcc utility list`, a formula, or a file
    #[arg(value_name = "NAME|FORMULA|FILE")]
    utility: String,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    // Also one that lacks what it cannot do without: it is shown with an example of it.
    if let Some(about) = about(&args.utility) {
        let program: Expression = about.text.parse()?;
        if args.json {
            let mut told = list::json(about);
            told["program"] = program.program().to_string().into();
            writeln!(out, "{told}")?;
            return Ok(());
        }
        writeln!(out, "{}: {}\n", about.name, about.summary)?;
        writeln!(out, "formula     {}", about.formula)?;
        writeln!(out, "unit        {}", about.unit)?;
        writeln!(out, "source      {}", about.source)?;
        let parameters = parameters(about.name);
        if !parameters.is_empty() {
            writeln!(out, "parameters  {}", parameters.join(", "))?;
        }
        writeln!(out, "law         {}", list::law(about))?;
        for trap in about.traps {
            writeln!(out, "trap        {trap}")?;
        }
        writeln!(out, "\n{}\n\n{}", about.text.trim_end(), program.program())?;
        return Ok(());
    }
    let choice: Choice = args.utility.parse().map_err(super::course::misuse)?;
    let program: Expression = choice.text.parse()?;
    let law = Law::suited_to(&*choice.utility).name();
    let constants = parameters(&choice.text);
    if args.json {
        let told = json!({ "text": choice.text, "parameters": constants, "law": law, "program": program.program().to_string() });
        writeln!(out, "{told}")?;
        return Ok(());
    }
    writeln!(out, "{}\n", choice.text.trim_end())?;
    if !constants.is_empty() {
        writeln!(out, "parameters  {}", constants.join(", "))?;
    }
    writeln!(out, "law         {law}")?;
    writeln!(out, "\n{}", program.program())?;
    Ok(())
}

/// Of the built-in utility that this names, with or without parameters.
pub(super) fn about(written: &str) -> Option<&'static About> {
    let name = written.split(',').next()?.trim();
    built_in().find(|about| about.name == name)
}
