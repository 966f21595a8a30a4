use super::course::Course;
use crate::exit::misuse;
use crate::reserved::Reserved;
use pcc_chart::page::page;
use pcc_play::drawing::{MOST_SENDERS, drawing, first_line};
use pcc_play::findings;
use pcc_report::escape::escape;
use pcc_report::provenance::Source;
use pcc_utility::Findings;
use std::path::PathBuf;

/// Draw a utility on a path: what each rate is worth, what senders bear, and where they settle
#[derive(clap::Args, Debug)]
#[command(after_help = "Example: pcc-lab utility plot safe --link rate=50Mbit,rtt=40ms -o safe.html")]
pub(super) struct Args {
    #[command(flatten)]
    course: Course,
    /// FILE.svg for the drawing, or FILE.html for a page with the drawing and the tables of `pcc-lab utility check`
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let ending = args.output.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let is_page = match ending {
        "svg" => false,
        "html" => true,
        _ => {
            let name = args.output.display();
            return Err(misuse!("--output {name}: choose a name that ends in .svg or .html"));
        }
    };
    let (objective, path) = (args.course.objective()?, args.course.bottleneck()?);
    let file = Reserved::at(&args.output, "--output")?;
    let svg = drawing(&objective, path);
    if !is_page {
        return file.write(&svg);
    }
    let provenance = crate::program::provenance(Source::Analysis, Vec::new())?;
    let title = provenance.title(&first_line(&objective.written));
    let text = findings::text(&Findings::of(objective, path, &[1, 2, 5, 10, MOST_SENDERS]), None);
    let body = format!("{svg}<pre>{}</pre>\n{}", escape(&text), provenance.list());
    file.write(&page(&title, "svg{height:auto}", &body))
}
