use super::args::ObjectArgs;
use anyhow::bail;
use pcc_bpf::doctor::findings;
use pcc_report::finding::{Finding, Grade};
use serde_json::json;
use std::io::{self, Write as _};

/// Whether PCC can be loaded here, what is missing, and what to do about it
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Example: pcc kernel doctor --json\nExit codes: 0 nothing is missing that `pcc kernel load` needs, 1 something is"
)]
pub(super) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: ObjectArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let mut findings = findings(&args.source.source());
    for finding in findings.iter_mut().filter(|finding| finding.found == "not built in") {
        finding.remedy = finding.remedy.take().map(|remedy| format!("{remedy}; {}", crate::advice::OBJECT));
    }
    let lacking = findings.iter().filter(|finding| finding.grade == Grade::Missing).count();
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{}", json!({ "loads": lacking == 0, "findings": findings }))?;
    } else {
        for Finding { what, grade, found, remedy } in &findings {
            writeln!(out, "{:8} {what:16} {found}", grade.word())?;
            if let Some(remedy) = remedy {
                writeln!(out, "{:25} {remedy}", "")?;
            }
        }
    }
    match lacking {
        0 => Ok(()),
        1 => bail!("PCC cannot be loaded here: one thing is missing"),
        _ => bail!("PCC cannot be loaded here: {lacking} things are missing"),
    }
}
