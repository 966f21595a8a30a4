//! A utility on a path as a picture: what each rate is worth, what senders bear, and where they settle.

use core::time::Duration;
use pcc::units::Rate;
use pcc_chart::axis::short;
use pcc_chart::sheet::{Chart, Line, sheet};
use pcc_utility::{Bears, Bottleneck, Disturbance, Game, Objective, Settled};

/// The most senders that are drawn.
pub const MOST_SENDERS: u32 = 50;
/// Rates of the drawings of what is borne. Unit: Mbit/s.
const RATES: (f64, f64) = (0.1, 10_000.0);
const STEPS: u32 = 60;

/// A figure of the state in which they settle.
type Value = fn(&Settled) -> f64;

/// All of it as SVG.
pub fn drawing(objective: &Objective, path: Bottleneck) -> String {
    sheet(&title(objective, path), &charts(objective, path))
}

/// The utility, the path and the law.
fn title(objective: &Objective, path: Bottleneck) -> String {
    format!(
        "{} on {} Mbit/s, {} ms, {} ms of buffer, by {}",
        first_line(&objective.written),
        short(path.capacity.mbit()),
        short(path.base_rtt.as_secs_f64() * 1e3),
        short(path.buffer.as_secs_f64() * 1e3),
        objective.law().name()
    )
}

/// One chart a question: what a rate is worth, how much loss is borne, and the queue and the loss where senders settle.
pub fn charts(objective: &Objective, path: Bottleneck) -> [Chart; 4] {
    let game = objective.game(path);
    let settled: Vec<(f64, Option<Settled>)> =
        (1..=MOST_SENDERS).map(|senders| (f64::from(senders), game.settle(senders).stable.first().copied())).collect();
    let by_number = |title: &str, of: Vec<(&str, Value)>| {
        let line = |(name, value): (&str, Value)| {
            Line::new(name, settled.iter().map(|(n, settled)| (*n, settled.as_ref().map(value))).collect())
        };
        Chart { title: title.into(), along: "senders", log: false, lines: of.into_iter().map(line).collect() }
    };
    [
        worth(&game),
        borne(&game),
        by_number(
            "Standing queue where they settle, ms",
            vec![("least", |one| one.queue.0.as_secs_f64() * 1e3), ("most", |one| one.queue.1.as_secs_f64() * 1e3)],
        ),
        by_number("Loss where they settle, %", vec![("all loss", |one| one.loss * 100.0)]),
    ]
}

/// The worth of each rate to a lone sender, by the queue before it.
fn worth(game: &Game<'_>) -> Chart {
    let path = *game.path();
    let line = |(name, queue): (&str, Duration)| {
        let points: Vec<_> = game.curve(Rate::ZERO, queue).iter().map(|(rate, value)| (rate.mbit(), *value)).collect();
        let peaks = game.shape(Rate::ZERO, queue).peaks;
        let mark = |rate: Rate| points.iter().find(|(x, _)| *x >= rate.mbit()).and_then(|(x, y)| Some((*x, (*y)?)));
        Line { marks: peaks.into_iter().filter_map(mark).collect(), ..Line::new(name, points) }
    };
    let queues = [("no queue", Duration::ZERO), ("half a buffer", path.buffer / 2), ("a full buffer", path.buffer)];
    let mut lines: Vec<Line> = queues.into_iter().map(line).collect();
    // Far beyond the best rate prices are a hundred times the rewards, and would flatten all that is of interest. Values below twice the
    // distance of the peaks from each other, or from zero, are left out.
    let marks = || lines.iter().flat_map(|line| &line.marks).map(|(_, y)| *y);
    let (best, worst) = (marks().fold(0.0, f64::max), marks().fold(0.0, f64::min));
    let shown = worst - (best - worst);
    for (_, value) in lines.iter_mut().flat_map(|line| &mut line.points) {
        *value = value.filter(|value| best == worst || *value >= shown);
    }
    Chart {
        title: "What a rate is worth to a lone sender that begins behind".into(),
        along: "own rate, Mbit/s",
        log: false,
        lines,
    }
}

/// How much random loss is borne, by the rate.
fn borne(game: &Game<'_>) -> Chart {
    let (least, most) = RATES;
    let points = (0..=STEPS).map(|step| {
        let rate = least * (most / least).powf(f64::from(step) / f64::from(STEPS));
        let borne = match game.bears(Disturbance::Loss, Rate::from_mbit(rate)) {
            Bears::UpTo(loss) => Some(loss * 100.0),
            Bears::Any => Some(100.0),
            Bears::Nothing => Some(0.0),
            Bears::Undefined => None,
        };
        (rate, borne)
    });
    Chart {
        title: "Random loss that is borne, %".into(),
        along: "own rate, Mbit/s",
        log: true,
        lines: vec![Line::new("random loss", points.collect())],
    }
}

/// As much of a formula as a title has room for.
pub fn first_line(written: &str) -> String {
    const LONGEST: usize = 60;
    let line = written.lines().next().unwrap_or_default();
    if line.chars().count() <= LONGEST { line.into() } else { line.chars().take(LONGEST).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawing_has_chart_for_each_question_and_mark_at_each_peak() {
        let objective = Objective::new("fair", "fair", None, &[]).unwrap();
        let path = Bottleneck {
            capacity: Rate::from_mbit(100.0),
            base_rtt: Duration::from_millis(30),
            buffer: Duration::from_millis(30),
            loss: 0.0,
        };
        let svg = drawing(&objective, path);
        assert_eq!((svg.matches("class=\"title\"").count(), svg.matches("<circle").count()), (4, 3), "{svg}");
        assert!(svg.contains("fair on 100 Mbit/s, 30 ms, 30 ms of buffer, by ascent"));
        assert!(!svg.contains("NaN"));
    }
}
