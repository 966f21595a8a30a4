//! What became of a simulation, as a table and as JSON.

use crate::columns::{Column, aligned};
use core::time::Duration;
use pcc_sim::{FlowSummary, Results, Scenario, jain_together};
use serde_json::{Value, json};

/// One line a flow.
pub(super) struct Line {
    name: String,
    flow: FlowSummary,
}

/// Flows by the names that they were given.
pub(super) fn lines(scenario: &Scenario, results: &Results, names: &[String]) -> Vec<Line> {
    let line =
        |(place, name): (usize, &String)| Line { name: name.clone(), flow: FlowSummary::of(scenario, results, place) };
    names.iter().enumerate().map(line).collect()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

const COLUMNS: [Column; 9] = {
    use Column::{Left, Right};
    [Left(23), Right(7), Right(11), Right(6), Right(7), Right(8), Right(8), Right(6), Right(8)]
};

pub(super) fn text(scenario: &Scenario, results: &Results, lines: &[Line]) -> String {
    let or_dash = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    let heads = ["flow", "start s", "Mbit/s", "share", "loss %", "RTT+ p50", "p95 ms", "waste", "done s"];
    let mut rows = vec![heads.map(String::from).to_vec()];
    rows.extend(lines.iter().map(|Line { name, flow }| {
        vec![
            name.clone(),
            format!("{:.1}", flow.start.as_secs_f64()),
            format!("{:.3}", flow.goodput),
            format!("{:.3}", flow.share),
            format!("{:.3}", flow.loss * 100.0),
            format!("{:.2}", ms(flow.added[0])),
            format!("{:.2}", ms(flow.added[1])),
            or_dash(flow.waste),
            or_dash(flow.finished.as_ref().map(Duration::as_secs_f64)),
        ]
    }));
    let mut text = aligned(&COLUMNS, &rows);
    for Line { name, flow } in lines {
        if let Some([mean, most]) = flow.frames.map(|frames| frames.map(ms)) {
            text += &format!("{name}: frame delay mean {mean:.2}, largest {most:.2} ms\n");
        }
    }
    text += &format!("all: share {:.3}", results.share_after(Duration::ZERO));
    if let Some(jain) = jain_together(scenario, results) {
        text += &format!(", Jain at 1 s while all are there {jain:.3}");
    }
    text += &format!(", {} packets dropped, {} marked\n", results.drops(), results.marked);
    text
}

pub(super) fn json(scenario: &Scenario, results: &Results, lines: &[Line]) -> Value {
    let one = |Line { name, flow }: &Line| {
        json!({
            "flow": name,
            "start_s": flow.start.as_secs_f64(),
            "goodput_mbit": flow.goodput,
            "share": flow.share,
            "loss": flow.loss,
            "rtt_added_p50_ms": ms(flow.added[0]),
            "rtt_added_p95_ms": ms(flow.added[1]),
            "waste": flow.waste,
            "finished_s": flow.finished.as_ref().map(Duration::as_secs_f64),
            "frame_delay_mean_ms": flow.frames.map(|[mean, _]| ms(mean)),
            "frame_delay_largest_ms": flow.frames.map(|[_, most]| ms(most)),
        })
    };
    json!({
        "seed": scenario.seed,
        "path": scenario.path.to_string(),
        "then": scenario.beyond.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "seconds": scenario.duration.as_secs_f64(),
        "flows": lines.iter().map(one).collect::<Vec<_>>(),
        "share": results.share_after(Duration::ZERO),
        "jain_1s": jain_together(scenario, results),
        "dropped": results.drops(),
        "marked": results.marked,
    })
}
