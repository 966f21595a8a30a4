//! `pcc-lab report`: stored results as a page, pictures and tables.

use super::bench::Stored;
use crate::reserved::Reserved;
use anyhow::Context as _;
use pcc_lab::report::{self, Section};
use pcc_report::provenance::{Build, Provenance, Source};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Write the stored results as one HTML file
///
/// Each figure stands beside the published one, with its data and PASS or MISS. The page needs no network.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example: pcc-lab report -o report.html --csv tables --pictures pictures")]
pub(crate) struct Args {
    /// Supplied scenarios by name, or .toml files [default: all supplied ones]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The page
    #[arg(short, long, value_name = "FILE", default_value = "pcc-lab.html")]
    output: PathBuf,
    /// A table of every run of each scenario, NAME.csv
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
    /// Each figure as a picture, NAME.svg
    #[arg(long, value_name = "DIR")]
    pictures: Option<PathBuf>,
    #[command(flatten)]
    stored: Stored,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let page = Reserved::at(&args.output, "--output")?;
    let (scenarios, store, program) = args.stored.open(&args.names)?;
    let outcomes: Vec<_> = scenarios.iter().map(|scenario| store.outcomes(scenario)).collect();
    let together = scenarios.iter().zip(&outcomes);
    let sections: Vec<_> = together
        .map(|(scenario, outcomes)| Section::of(scenario, outcomes, &store, args.stored.command(scenario)))
        .collect();
    let build = Build {
        version: env!("CARGO_PKG_VERSION").into(),
        commit: store.program(&program.hash).1,
        program: program.hash,
    };
    if let Some(doubt) = build.doubt() {
        crate::say::say(format!(
            "{doubt}: the page says so on top. `pcc-lab run all --commit COMMIT --program PATH` notes the commit of a program"
        ));
    }
    let command = crate::command_line::this(crate::TOOL);
    let provenance = Provenance { source: Source::Lab, build, command, seeds: Vec::new() };
    page.write(&report::page(&sections, &provenance))?;
    for section in sections.iter().filter(|section| section.runs().0 > 0) {
        if let Some(dir) = &args.csv {
            put(dir, &format!("{}.csv", section.scenario.name), &section.csv(&provenance), "--csv")?;
        }
        for (name, picture) in args.pictures.iter().flat_map(|_| section.pictures(&provenance)) {
            put(args.pictures.as_deref().unwrap_or(Path::new(".")), &name, &picture, "--pictures")?;
        }
    }
    let mut out = std::io::stdout().lock();
    let count = |is: fn(&Section<'_>) -> bool| sections.iter().filter(|section| is(section)).count();
    writeln!(
        out,
        "{}: {} of {} scenarios, {} of them complete",
        args.output.display(),
        count(|section| section.runs().0 > 0),
        sections.len(),
        count(|section| section.runs().0 == section.runs().1),
    )?;
    Ok(())
}

fn put(dir: &Path, name: &str, text: &str, option: &str) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("could not create the directory {}", dir.display()))?;
    Reserved::at(&dir.join(name), option)?.write(text)
}
