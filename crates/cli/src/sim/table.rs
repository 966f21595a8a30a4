//! What became of a simulation, as a table and as JSON.

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

pub(super) fn text(scenario: &Scenario, results: &Results, lines: &[Line]) -> String {
    let mut text = format!(
        "{:24} {:>8} {:>12} {:>7} {:>8} {:>9} {:>9} {:>7} {:>9}\n",
        "flow", "start s", "Mbit/s", "share", "loss %", "RTT+ p50", "p95 ms", "waste", "done s"
    );
    let or_dash = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    for Line { name, flow } in lines {
        text += &format!(
            "{:24} {:8.1} {:12.3} {:7.3} {:8.3} {:9.2} {:9.2} {:>7} {:>9}\n",
            name,
            flow.start.as_secs_f64(),
            flow.goodput,
            flow.share,
            flow.loss * 100.0,
            ms(flow.added[0]),
            ms(flow.added[1]),
            or_dash(flow.waste),
            or_dash(flow.finished.as_ref().map(Duration::as_secs_f64)),
        );
    }
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
