//! PCC's promises, by each law and by kernel TCP's: the page `docs/sweeps/laws.md`.

use crate::each::each;
use crate::page::number;
use pcc::control::Law;
use pcc_sim::score::{Form, Judged, ROWS, Row, Size, Task, judge, plan};
use pcc_sim::{Cast, Control, Flow};

/// The least number of seeds of each row.
const SEEDS: u64 = 4;

/// A law and the utility that it climbs, as `--law` and `--utility` read them.
const LAWS: [(&str, &str); 5] = [
    ("ascent", "fair"),
    ("allegro,paper", "safe,queued=1"),
    ("allegro", "safe"),
    ("vivace", "vivace"),
    ("vivace,proteus", "proteus"),
];
const PEERS: [&str; 2] = ["cubic", "bbr"];

const HEAD: &str = "\
# The laws side by side

The rows of `pcc-lab sim score` with each law, and with the models of CUBIC and BBR in PCC's place. Made, whole, by

```sh
cargo run --release -p pcc-sweeps --bin sweep laws >docs/sweeps/laws.md
```

Virtual time, no kernel and no host: the length of `pcc-lab sim score --short` and at least four seeds, their median, or the worst where the
measure says so. **Bold** keeps the promise (`must`). Rows that name a utility of their own, as a scavenger's do, are left out. Where a
measure is divided by a peer's, so are the peers'. The laws are described in [algorithm.md](../algorithm.md#the-machine).
`allegro,paper` with `safe,queued=1` is Allegro as its paper has it; `vivace,proteus` with `proteus` is Proteus as a primary.
";

pub(crate) fn page() -> Result<String, String> {
    let of_no_utility = |row: &&Row| {
        let cast: Result<Cast, _> = row.flows.parse();
        let usual = Flow::default().config.utility;
        cast.is_ok_and(|Cast(flows)| flows.iter().all(|flow| flow.config.utility.name() == usual.name()))
    };
    let least = |row: &Row| Row { seeds: [row.seeds[0].max(SEEDS); 2], ..*row };
    let rows: Vec<Row> = ROWS.iter().filter(|row| row.is_of(Size::Short)).filter(of_no_utility).map(least).collect();
    let mut columns: Vec<(String, Vec<Option<f64>>)> = Vec::new();
    for (place, (law, utility)) in LAWS.into_iter().enumerate() {
        let name = format!("{law} / {utility}");
        let law: Law = law.parse().map_err(|error| format!("{error}"))?;
        let utility = pcc::utility::parse(utility).map_err(|error| error.to_string())?;
        let ours = |flow: &mut Flow| {
            if flow.control == Control::Pcc {
                (flow.config.law, flow.config.utility) = (Some(law.clone()), utility.clone());
            }
        };
        let peers = if place == 0 { &PEERS[..] } else { &[] };
        let tasks = plan(&rows, &Form { peers, ..Form::of(Size::Short) }, &ours);
        let judged =
            judge(&rows, &Form { peers, ..Form::of(Size::Short) }, &each(&tasks, |task: &Task| Ok(task.run()))?);
        columns.insert(place, (name, judged.iter().map(|row| row.measured).collect()));
        for (number, peer) in peers.iter().enumerate() {
            columns.push((peer.to_uppercase(), judged.iter().map(|row| by_the_peer(row, number)).collect()));
        }
    }
    Ok(format!("{HEAD}\n{}", table(&rows, &columns)))
}

fn by_the_peer(row: &Judged, number: usize) -> Option<f64> {
    Some(row.peers.get(number)?.1? / row.by.unwrap_or(1.0))
}

fn table(rows: &[Row], columns: &[(String, Vec<Option<f64>>)]) -> String {
    let names: Vec<_> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let mut lines = vec![
        format!("| row | case | measure | must | {} |", names.join(" | ")),
        format!("|---|---|---|--:|{}", "--:|".repeat(names.len())),
    ];
    for (place, row) in rows.iter().enumerate() {
        let cell = |(_, figures): &(String, Vec<Option<f64>>)| match figures[place] {
            None => "–".to_owned(),
            Some(value) if row.is_kept_by(row.must, value) => format!("**{}**", number(value)),
            Some(value) => number(value),
        };
        let (sign, cells) = (if row.at_most { "≤" } else { "≥" }, columns.iter().map(cell).collect::<Vec<_>>());
        let measure =
            row.over.map_or(row.measure.name(), |peer| format!("{} / {}'s", row.measure.name(), peer.to_uppercase()));
        let measure = row.statistic.of(&measure);
        lines.push(format!(
            "| {} | {} | {measure} | {sign} {} | {} |",
            row.number,
            row.case,
            row.must,
            cells.join(" | ")
        ));
    }
    let kept = |(_, figures): &(String, Vec<Option<f64>>)| {
        let kept =
            rows.iter().zip(figures).filter(|(row, value)| value.is_some_and(|value| row.is_kept_by(row.must, value)));
        kept.count().to_string()
    };
    let kept: Vec<_> = columns.iter().map(kept).collect();
    lines.push(format!("| | of {} rows kept | | | {} |", rows.len(), kept.join(" | ")));
    lines.join("\n")
}
