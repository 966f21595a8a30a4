//! `pcc-lab race`: the same file over the same bad network, once for each congestion control algorithm, side by side.

mod live;
mod output;

use crate::exit::{Failure, misuse};
use crate::interrupt::Interrupt;
use crate::program;
use crate::reserved::Reserved;
use anyhow::{Context, bail};
use core::time::Duration;
use live::Live;
use pcc::units::Bytes;
use pcc_command::UtilityOptions;
use pcc_quic::Algorithm;
use pcc_race::carrier::{self, Carrier};
use pcc_race::course::{Course, CourseError};
use pcc_race::entry::{Entry, Rules, Update};
use pcc_race::kernel::Unavailable;
use pcc_race::score::Score;
use pcc_race::source::Source;
use pcc_race::summary::Summary;
use pcc_race::trace::Trace;
use pcc_race::{kernel, page, runner, still};
use pcc_report::provenance;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc;

const EXAMPLES: &str = "\
Examples:
  pcc-lab race                                     a satellite link, with a file made for it
  pcc-lab race film.mkv                            your own file
  pcc-lab race lossy film.mkv                      your own file, over 100 Mbit/s with 1 % loss
  pcc-lab race lossy --scavenger                   how much a sender that yields still gets
  pcc-lab race rate=50Mbit,rtt=20ms,loss=0.5% -C pcc,bbr --size 20MB
  sudo pcc-lab race satellite --kernel             against the kernel's TCPs too
  pcc-lab race satellite --json -o satellite.html --svg satellite.svg

`pcc emulate --list` shows the presets and the parameters. docs/race.md defines the columns.

Exit codes: 0 done, 1 error, 2 misused, 4 a copy is damaged, 130 interrupted";

/// Arguments of `pcc-lab race`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The path [default: satellite]: the name of a preset (satellite, lossy, ...), parameters like rate=42Mbit,rtt=800ms,loss=0.74%, or a
    /// preset and what differs from it: satellite,loss=2%
    #[arg(value_name = "PRESET|PARAMETERS")]
    word: Option<String>,
    /// The path by name: the only word is the file then
    #[arg(long, value_name = "PRESET|PARAMETERS", conflicts_with = "file")]
    link: Option<String>,
    /// The file to move; without it, one of random bytes is made, large enough for 20 s at full speed
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The runners: congestion control algorithms, separated by commas
    #[arg(short = 'C', long, value_name = "A,B,C", value_delimiter = ',', default_value = "pcc,cubic,bbr")]
    congestion: Vec<Algorithm>,
    #[command(flatten)]
    utility_options: UtilityOptions,
    /// Size of the file that is made, for example 20MB
    #[arg(long, value_name = "BYTES", conflicts_with = "file")]
    size: Option<Bytes>,
    /// Time that the others have after the first one finished (like 60s or 2min)
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = crate::written::duration)]
    time_limit: Duration,
    /// Also over TCP with this kernel's CUBIC and BBR (Linux, as root)
    ///
    /// Each TCP connection is between two network namespaces, through a TUN device at either end, over the same
    /// emulated path.
    #[arg(long)]
    kernel: bool,
    /// Run one after another, for a computer that is too slow for all at once
    #[arg(long)]
    serial: bool,
    /// Seed of everything random: the path's losses, PCC's trials, the file that is made
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = crate::written::seed)]
    seed: u64,
    /// Where the page with the timelines goes [default: pcc-race.html, or with a number if that exists]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write a still picture of the race too
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// One JSON object a line; the last one holds the results
    #[arg(long)]
    json: bool,
}

/// The path without one.
const USUAL: &str = "satellite";

impl Args {
    /// A user who names a file alone means it to race over the usual path.
    fn course_and_file(&self) -> (&str, Option<&Path>) {
        if let Some(link) = &self.link {
            return (link, self.word.as_deref().map(Path::new));
        }
        let word = self.word.as_deref().unwrap_or(USUAL);
        let file = Path::new(word);
        if self.file.is_none() && word.parse::<pcc_link::Path>().is_err() && file.is_file() {
            return (USUAL, Some(file));
        }
        (word, self.file.as_deref())
    }
}

/// A name in that folder for a page that nobody named: the pages of earlier races stay.
fn unused(folder: &Path) -> PathBuf {
    let numbered = (2..=MOST_PAGES).map(|number| format!("pcc-race-{number}.html"));
    let names = core::iter::once("pcc-race.html".to_owned()).chain(numbered);
    let mut pages = names.map(|name| folder.join(name));
    pages.find(|page| page.symlink_metadata().is_err()).unwrap_or_else(|| folder.join("pcc-race.html"))
}

/// A user who keeps more of them gives names.
const MOST_PAGES: u32 = 10_000;

/// Runs it.
pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let carriers = carriers(&args)?;
    let names: Vec<_> = carriers.iter().map(Carrier::name).collect();
    let (path, file) = args.course_and_file();
    if file.is_some() && args.size.is_some() {
        return Err(misuse!("--size is of the file that is made, and one is given"));
    }
    let output = args.output.clone().unwrap_or_else(|| unused(Path::new("")));
    if args.svg.as_ref() == Some(&output) {
        return Err(misuse!("-o and --svg name the same file"));
    }
    let course = Arc::new(course(path, args.seed)?);
    let interrupt = Interrupt::listen(1)?;
    // Whatever can fail fails now, and not after a minute of racing.
    let page = Reserved::at(&output, "-o")?;
    let svg = args.svg.as_deref().map(|file| Reserved::at(file, "--svg")).transpose()?;
    let size = args.size.map_or_else(|| course.fitting_size(), Bytes::get);
    if file.is_none() && size == 0 {
        return Err(misuse!("--size 0: there is nothing to move"));
    }
    let source = Arc::new(Source::open(file, size, args.seed)?);
    let mut out = io::stdout();
    if args.json {
        writeln!(out, "{}", output::start(&course, &source, &names))?;
    } else {
        writeln!(out, "{} over {course}", source.describe())?;
    }
    let rules = Arc::new(Rules::new(args.time_limit, course.time_for(source.bytes)));
    let entry = |carrier| Entry { carrier, course: course.clone(), source: source.clone(), rules: rules.clone() };
    let entries = carriers.into_iter().map(entry).collect();
    let live = Live::new(&names, source.bytes, args.json)?;
    let (traces, interrupted) = race(entries, args.serial, &rules, live, &interrupt, args.json).await?;

    let scores: Vec<_> = traces.iter().map(|trace| Score::of(trace, &course, source.bytes)).collect();
    let summary = Summary { course: &course, source: &source, scores: &scores, traces: &traces };
    let told = if args.json { format!("{}\n", summary.json()) } else { output::table(&summary) };
    write!(out, "{told}")?;
    let provenance = program::provenance(provenance::Source::Emulator, vec![args.seed])?;
    page.write(&page::render(&summary, &provenance))?;
    if let Some(svg) = svg {
        svg.write(&still::render(&summary, &provenance))?;
    }
    if !args.json {
        writeln!(out, "\nTimelines: {}", output.display())?;
    }
    verdict(&traces, interrupted)
}

/// Those who race.
///
/// Errors: one is named twice, or this host lacks what TCP's need.
fn carriers(args: &Args) -> anyhow::Result<Vec<Carrier>> {
    let algorithms = args.utility_options.steered(&args.congestion, &args.utility_options.objective()?)?;
    let mut carriers: Vec<_> = algorithms.into_iter().map(Carrier::Quic).collect();
    if args.kernel {
        carriers.extend(carrier::TCP);
    }
    let names: Vec<_> = carriers.iter().map(Carrier::name).collect();
    if let Some((_, twice)) =
        names.iter().enumerate().find(|(place, name)| names.iter().take(*place).any(|n| n == *name))
    {
        return Err(misuse!("-C names `{twice}` twice: each algorithm runs once"));
    }
    kernel::check(&carriers).map_err(no_kernel)?;
    Ok(carriers)
}

/// The path of that name or with these parameters.
fn course(written: &str, seed: u64) -> anyhow::Result<Course> {
    let course = Course::parse(written, seed).map_err(|error| match error {
        CourseError::Text(_) if Path::new(written).is_file() => {
            anyhow::anyhow!("{written} is a file, and the path comes first: pcc-lab race PATH {written}")
        }
        CourseError::Text(error) => anyhow::anyhow!("{error}; and no file has that name"),
        other => other.into(),
    });
    course.context(Failure::Usage)
}

/// The programs that are missing, before the race and in one line.
fn no_kernel(error: Unavailable) -> anyhow::Error {
    match error {
        Unavailable::System => anyhow::anyhow!("--kernel needs Linux: elsewhere the race is over QUIC alone"),
        error => anyhow::anyhow!(
            "--kernel cannot run here: {:#}; it needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN) and /dev/net/tun, and \
             without it the race is over QUIC alone",
            anyhow::Error::new(error)
        ),
    }
}

/// Starts everybody, shows how they do, and answers what became of each.
async fn race(
    entries: Vec<Entry>,
    serial: bool,
    rules: &Rules,
    mut live: Live,
    interrupt: &Interrupt,
    json: bool,
) -> anyhow::Result<(Vec<Trace>, Option<Failure>)> {
    let (tell, mut told) = mpsc::unbounded_channel();
    let mut race = tokio::task::spawn_blocking(move || runner::run_all(entries, serial, &tell));
    let mut interrupted = None;
    let mut shown = Ok(());
    let traces = loop {
        tokio::select! {
            traces = &mut race => break traces.context("the race broke off")?,
            Some(update) = told.recv(), if shown.is_ok() => {
                shown = show(&update, &mut live, json);
                if shown.is_err() {
                    rules.stop();
                }
            }
            how = interrupt.heard(), if interrupted.is_none() => {
                interrupted = Some(how);
                rules.stop();
            }
        }
    };
    while shown.is_ok()
        && let Ok(update) = told.try_recv()
    {
        shown = show(&update, &mut live, json);
    }
    live.finish();
    shown?;
    Ok((traces, interrupted))
}

fn show(update: &Update, live: &mut Live, json: bool) -> io::Result<()> {
    live.show(update);
    match output::event(update) {
        Some(event) if json => writeln!(io::stdout(), "{event}"),
        _ => Ok(()),
    }
}

/// Whether the race was one; that somebody did not finish in time is a result, not a failure.
fn verdict(traces: &[Trace], interrupted: Option<Failure>) -> anyhow::Result<()> {
    if let Some(damaged) = traces.iter().find(|trace| trace.error.is_none() && !trace.verified) {
        let error = anyhow::anyhow!("the copy that {} made differs from the file", damaged.algorithm);
        return Err(error.context(Failure::Integrity));
    }
    if let Some(how) = interrupted {
        return Err(anyhow::anyhow!("these are the results so far").context(how));
    }
    for trace in traces {
        if let Some(error) = &trace.error {
            bail!("{} could not run: {error}", trace.algorithm);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_the_path_s_place_is_told_where_it_belongs() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let name = file.path().to_str().unwrap();
        let wrong = format!("{:#}", course(name, 1).unwrap_err());
        assert!(wrong.ends_with(&format!("the path comes first: pcc-lab race PATH {name}")), "{wrong}");
        let neither = format!("{:#}", course("film.mkv", 1).unwrap_err());
        assert!(neither.ends_with("no file has that name"), "{neither}");
    }

    #[test]
    fn the_page_of_an_earlier_race_stays() {
        let dir = tempfile::tempdir().unwrap();
        let pages: Vec<_> = (0..3)
            .map(|_| {
                let page = unused(dir.path());
                std::fs::write(&page, "").unwrap();
                page.file_name().unwrap().to_owned()
            })
            .collect();
        assert_eq!(pages, ["pcc-race.html", "pcc-race-2.html", "pcc-race-3.html"]);
    }
}
