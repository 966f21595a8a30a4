//! The results of a simulation, as a table and as JSON.

use core::time::Duration;
use pcc_report::columns::{Column, aligned};
use pcc_sim::{FlowSummary, Harm, Results, Scenario, SecondHalf, jain_together};
use serde_json::{Value, json};

/// A simulation and what is told of it.
#[derive(Debug)]
pub struct Told<'a> {
    scenario: &'a Scenario,
    results: &'a Results,
    /// Flows by the names that they were given.
    flows: Vec<(&'a str, FlowSummary)>,
    late: SecondHalf,
    harm: Vec<Harm>,
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

const COLUMNS: [Column; 9] = {
    use Column::{Left, Right};
    [Left(23), Right(7), Right(11), Right(6), Right(7), Right(8), Right(8), Right(6), Right(8)]
};

fn or_dash(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.3}"))
}

impl<'a> Told<'a> {
    /// The scenario of [`Staged::seeded`](crate::Staged::seeded), its results, and what PCC costs others, if that was asked.
    pub fn of((scenario, results): (&'a Scenario, &'a Results), names: &'a [String], harm: Vec<Harm>) -> Self {
        let flow = |(place, name): (usize, &'a String)| (name.as_str(), FlowSummary::of(scenario, results, place));
        let flows = names.iter().enumerate().map(flow).collect();
        Self { scenario, results, flows, late: SecondHalf::of(scenario, results), harm }
    }

    /// The simulation that it is of.
    pub const fn scenario(&self) -> &'a Scenario {
        self.scenario
    }

    /// Packets lost, of those that all senders sent.
    fn loss(&self) -> f64 {
        self.results.loss_after(Duration::ZERO)
    }

    /// For people.
    pub fn text(&self) -> String {
        let Self { scenario, results, late, .. } = self;
        let heads = ["flow", "start s", "Mbit/s", "share", "loss %", "RTT+ p50", "p95 ms", "waste", "done s"];
        let mut rows = vec![heads.map(String::from).to_vec()];
        rows.extend(self.flows.iter().map(|(name, flow)| {
            vec![
                (*name).to_owned(),
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
        for (name, flow) in &self.flows {
            if let Some([mean, most]) = flow.frames.map(|frames| frames.map(ms)) {
                text += &format!("{name}: frame delay mean {mean:.2}, largest {most:.2} ms\n");
            }
        }
        text += &format!("all: share {:.3}, loss {:.3} %", results.share_after(Duration::ZERO), self.loss() * 100.0);
        if let Some(jain) = jain_together(scenario, results) {
            text += &format!(", Jain at 1 s while all are there {jain:.3}");
        }
        text += &format!(", {} packets dropped, {} marked\n", results.drops(), results.marked);
        text +=
            &format!("second half: queueing delay p95 {:.2} ms, loss {:.3} %", ms(late.queue_p95), late.loss * 100.0);
        text += &late.jain.map_or("\n".to_owned(), |jain| format!(", Jain at 1 s {jain:.3}\n"));
        for harm in &self.harm {
            let (kind, kept) = (harm.control.to_string(), or_dash(harm.kept()));
            text += &format!(
                "harm: {kind} has {:.3} Mbit/s beside PCC, {:.3} with {kind} in PCC's place: {kept} of it\n",
                harm.goodput, harm.instead
            );
        }
        text
    }

    /// For programs: an element of `runs`, as docs/json.md has it.
    pub fn json(&self) -> Value {
        let Self { scenario, results, late, .. } = self;
        let one = |(name, flow): &(&str, FlowSummary)| {
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
        let harm = |harm: &Harm| {
            json!({
                "sender": harm.control.to_string(),
                "goodput_mbit": harm.goodput,
                "goodput_instead_mbit": harm.instead,
                "kept": harm.kept(),
            })
        };
        json!({
            "seed": scenario.seed,
            "path": scenario.path.to_string(),
            "then": scenario.beyond.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "seconds": scenario.duration.as_secs_f64(),
            "flows": self.flows.iter().map(one).collect::<Vec<_>>(),
            "share": results.share_after(Duration::ZERO),
            "loss": self.loss(),
            "jain_1s": jain_together(scenario, results),
            "second_half": {
                "queue_p95_ms": ms(late.queue_p95),
                "loss": late.loss,
                "jain_1s": late.jain,
            },
            "harm": self.harm.iter().map(harm).collect::<Vec<_>>(),
            "dropped": results.drops(),
            "marked": results.marked,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc_sim::Cast;

    #[test]
    fn a_run_tells_of_all_its_flows_and_of_harm() {
        let Cast(flows) = "5Mbit pcc:start=random:0..1s".parse().unwrap();
        let path = "rate=10Mbit,rtt=20ms,buffer=25KB".parse().unwrap();
        let scenario = Scenario::new(path, flows, 1, Duration::from_secs(4));
        let results = pcc_sim::run(&scenario).unwrap();
        let (kind, instead) = Harm::asks_for(&scenario).remove(0);
        let harm = Harm::of(&scenario, kind, &results, &pcc_sim::run(&instead).unwrap());
        let names = ["5Mbit", "pcc"].map(str::to_owned);
        let told = Told::of((&scenario, &results), &names, harm.into_iter().collect());
        let json = told.json();
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
        let all = "seed path then seconds flows share loss jain_1s second_half harm dropped marked";
        assert_eq!(keys(&json), all);
        assert_eq!(keys(&json["second_half"]), "queue_p95_ms loss jain_1s");
        assert_eq!(keys(&json["harm"][0]), "sender goodput_mbit goodput_instead_mbit kept");
        assert_eq!(json["harm"][0]["sender"], "5.00 Mbit/s");
        assert!(json["second_half"]["jain_1s"].as_f64().is_some_and(|jain| jain > 0.5), "{json}");
        let flow = "flow start_s goodput_mbit share loss rtt_added_p50_ms rtt_added_p95_ms waste finished_s \
                    frame_delay_mean_ms frame_delay_largest_ms";
        assert_eq!(keys(&json["flows"][1]), flow);
        assert!(told.text().contains("harm: 5.00 Mbit/s has "), "{}", told.text());
    }
}
