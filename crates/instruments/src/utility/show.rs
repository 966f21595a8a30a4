use super::list;
use crate::exit::misused;
use pcc::control::Law;
use pcc::utility::parameters;
use pcc_utility::Choice;
use pcc_utility::formula::{formula, named};
use serde_json::json;
use std::io::Write as _;

/// Everything about a utility: formula, units, source, traps, and the program that it becomes
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  pcc-lab utility show scavenger\n  pcc-lab utility show vivace,b=300")]
pub(super) struct Args {
    /// A name of `pcc-lab utility list`, a formula, or a file
    #[arg(value_name = "NAME|FORMULA|FILE")]
    utility: String,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let text = Choice::text_of(&args.utility).map_err(misused)?;
    let (text, named) = (text.trim(), named(&text));
    // Also one that lacks what it cannot do without: it is shown with an example of it.
    let choice = match &named {
        Some((_, settings)) if settings.is_empty() => None,
        _ => Some(args.utility.parse::<Choice>().map_err(misused)?),
    };
    let program = formula(text, Vec::new()).map_err(misused)?.program().to_string();
    if let Some((about, _)) = named {
        if args.json {
            let mut told = list::json(about);
            told["program"] = program.into();
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
        let given = if choice.is_some() { format!("\n\nwith parameters as in {text}:") } else { String::new() };
        writeln!(out, "\n{}{given}\n\n{program}", about.text.trim_end())?;
        return Ok(());
    }
    let law = choice.map(|choice| Law::suited_to(&*choice.utility).name()).unwrap_or_default();
    let constants = parameters(text);
    if args.json {
        writeln!(out, "{}", json!({ "text": text, "parameters": constants, "law": law, "program": program }))?;
        return Ok(());
    }
    writeln!(out, "{text}\n")?;
    if !constants.is_empty() {
        writeln!(out, "parameters  {}", constants.join(", "))?;
    }
    writeln!(out, "law         {law}")?;
    writeln!(out, "\n{program}")?;
    Ok(())
}
