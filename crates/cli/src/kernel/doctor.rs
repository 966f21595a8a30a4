use super::args::ObjectArgs;
use anyhow::bail;
use pcc_bpf::doctor::{Finding, Grade, findings};
use serde_json::json;
use std::io::{self, Write as _};

/// Whether PCC can be loaded here, what is missing, and what to do about it
///
/// Exit code 0 if nothing is missing that `pcc kernel load` needs, else 1.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: ObjectArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let findings = findings(&args.source.source());
    let lacking = findings.iter().filter(|finding| finding.grade == Grade::Missing).count();
    let mut out = io::stdout().lock();
    if args.json {
        let told = |one: &Finding| {
            let remedy = (!one.remedy.is_empty()).then_some(&one.remedy);
            json!({ "what": one.what, "grade": one.grade.word().to_lowercase(), "found": one.found, "remedy": remedy })
        };
        let findings = findings.iter().map(told).collect::<Vec<_>>();
        writeln!(out, "{}", json!({ "loads": lacking == 0, "findings": findings }))?;
    } else {
        for Finding { what, grade, found, remedy } in &findings {
            writeln!(out, "{:8} {what:16} {found}", grade.word())?;
            if !remedy.is_empty() {
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
