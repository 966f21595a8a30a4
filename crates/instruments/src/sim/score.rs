//! `pcc-lab sim score`: what is promised, as far as a simulation can judge it.

use super::Ours;
use crate::exit::{Failure, misused};
use anyhow::anyhow;
use pcc_command::UtilityOptions;
use pcc_score::{EXIT_CODES, Score};

#[derive(clap::Args, Debug)]
#[command(after_help = format!("{EXIT_CODES}\nExample: pcc-lab sim score --short --row 7,21 --law epsilon=0.02"))]
pub(super) struct Args {
    #[command(flatten)]
    score: pcc_score::Args,
    #[command(flatten)]
    utility_options: UtilityOptions,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let ours = Ours::of(&args.utility_options)?;
    let score = Score::of(None, &args.score, &|flow| ours.apply(flow)).map_err(misused)?;
    score.print(args.score.json)?;
    let (missed, open) = (score.missed(), score.open());
    let context = format!("of {} promises {missed} are missed, {open} could not be judged", score.rows.len());
    match (missed, open) {
        (0, 0) => Ok(()),
        (0, _) => Err(anyhow!(context).context(Failure::Partial)),
        _ => Err(anyhow!(context).context(Failure::Error)),
    }
}

#[cfg(test)]
mod tests {
    use pcc_lab::measure::Measure;
    use pcc_sim::score::ROWS;

    /// A quantity that the lab has no measure for.
    const OURS_ALONE: [&str; 10] = [
        "fair-part",
        "first-share",
        "last-part",
        "last-fair-part",
        "first-fct",
        "frame-mean",
        "frame-most",
        "queue-p95",
        "late-jain@1s",
        "others-goodput",
    ];

    #[test]
    fn programs_read_the_lab_s_names() {
        for row in ROWS {
            let name = row.measure.metric();
            assert!(name.parse::<Measure>().is_ok() != OURS_ALONE.contains(&name.as_str()), "{name}");
        }
        let of = |number: &str| pcc_score::metric(ROWS.iter().find(|row| row.number == number).unwrap());
        assert_eq!(
            (of("1"), of("10"), of("11")),
            ("share".into(), "fct/cubic".into(), "power/cubic at fq_codel".into())
        );
    }
}
