//! What became of a simulation, as a table and as JSON.

use core::time::Duration;
use pcc_sim::{Results, Scenario};
use serde_json::{Value, json};

/// One line a flow.
pub(super) struct Line {
    pub(super) name: String,
    start: f64,
    goodput: f64,
    share: f64,
    loss: f64,
    added: [f64; 2],
    waste: Option<f64>,
    finished: Option<f64>,
    /// Mean and largest delay of a call's frames. Unit: ms.
    frames: Option<[f64; 2]>,
}

/// A flow lives from its start to its end or to that of the run.
fn life(scenario: &Scenario, results: &Results, place: usize) -> (Duration, Duration) {
    let (flow, told) = (&results.flows[place], &scenario.flows[place]);
    let end = flow.finished.or(told.stop).unwrap_or(scenario.duration).min(scenario.duration);
    (flow.start.min(end), end)
}

/// Flows by the names that they were given.
pub(super) fn lines(scenario: &Scenario, results: &Results, names: &[String]) -> Vec<Line> {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let line = |(place, name): (usize, &String)| {
        let flow = &results.flows[place];
        let (from, to) = life(scenario, results, place);
        let allowed = results.capacity_for(place, from, to).mbit();
        let goodput = flow.goodput(from, to).mbit();
        Line {
            name: name.clone(),
            start: flow.start.as_secs_f64(),
            goodput,
            share: if allowed > 0.0 { goodput / allowed } else { 0.0 },
            loss: flow.loss(),
            added: [0.5, 0.95].map(|quantile| ms(flow.added_rtt(quantile))),
            waste: flow.waste(),
            finished: flow.finished.map(|at| (at.saturating_sub(flow.start)).as_secs_f64()),
            frames: flow.frame_delay(Duration::ZERO).map(|(mean, most)| [ms(mean), ms(most)]),
        }
    };
    names.iter().enumerate().map(line).collect()
}

/// The path, and those behind it.
pub(super) fn way(scenario: &Scenario) -> String {
    scenario.beyond.iter().fold(scenario.path.to_string(), |way, path| format!("{way}, then {path}"))
}

/// Jain's index over a second, while all flows are there; `None` with fewer than two.
fn jain(scenario: &Scenario, results: &Results) -> Option<f64> {
    let lives: Vec<_> = (0..results.flows.len()).map(|place| life(scenario, results, place)).collect();
    let (from, to) = (lives.iter().map(|life| life.0).max()?, lives.iter().map(|life| life.1).min()?);
    let second = Duration::from_secs(1);
    (lives.len() > 1 && to >= from + second).then(|| results.jain(second, from, to))
}

pub(super) fn text(scenario: &Scenario, results: &Results, lines: &[Line]) -> String {
    let mut text = format!(
        "{:24} {:>8} {:>12} {:>7} {:>8} {:>9} {:>9} {:>7} {:>9}\n",
        "flow", "start s", "Mbit/s", "share", "loss %", "RTT+ p50", "p95 ms", "waste", "done s"
    );
    let or_dash = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    for line in lines {
        text += &format!(
            "{:24} {:8.1} {:12.3} {:7.3} {:8.3} {:9.2} {:9.2} {:>7} {:>9}\n",
            line.name,
            line.start,
            line.goodput,
            line.share,
            line.loss * 100.0,
            line.added[0],
            line.added[1],
            or_dash(line.waste),
            or_dash(line.finished),
        );
    }
    for line in lines {
        if let Some([mean, most]) = line.frames {
            text += &format!("{}: frame delay mean {mean:.2}, largest {most:.2} ms\n", line.name);
        }
    }
    text += &format!("all: share {:.3}", results.share_after(Duration::ZERO));
    if let Some(jain) = jain(scenario, results) {
        text += &format!(", Jain at 1 s while all are there {jain:.3}");
    }
    text += &format!(", {} packets dropped, {} marked\n", results.drops(), results.marked);
    text
}

pub(super) fn json(scenario: &Scenario, results: &Results, lines: &[Line]) -> Value {
    let one = |line: &Line| {
        json!({
            "flow": line.name,
            "start_s": line.start,
            "goodput_mbit": line.goodput,
            "share": line.share,
            "loss": line.loss,
            "rtt_added_p50_ms": line.added[0],
            "rtt_added_p95_ms": line.added[1],
            "waste": line.waste,
            "finished_s": line.finished,
            "frame_delay_mean_ms": line.frames.map(|[mean, _]| mean),
            "frame_delay_largest_ms": line.frames.map(|[_, most]| most),
        })
    };
    json!({
        "seed": scenario.seed,
        "path": scenario.path.to_string(),
        "then": scenario.beyond.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "seconds": scenario.duration.as_secs_f64(),
        "flows": lines.iter().map(one).collect::<Vec<_>>(),
        "share": results.share_after(Duration::ZERO),
        "jain_1s": jain(scenario, results),
        "dropped": results.drops(),
        "marked": results.marked,
    })
}
