//! Each rule of the default law left out by itself, and groups of them: the page `docs/sweeps/parts.md`.
//!
//! The law has no switches. `switches.rs` puts them into a copy, where a variable of the environment turns one off.
#![expect(clippy::print_stderr, reason = "it says how far it is")]

use crate::copy::{Copy, Program, root};
use crate::measure::{Figure, Metric};
use crate::page::number;
use crate::paths::{Direction, LESS_SEEDS, SEEDS, names};
use crate::rules::{GROUPS, RULES};

/// The variable that names the rules to leave out, with commas between them.
pub(crate) const OFF: &str = "PCC_OFF";

const HEAD: &str = "\
# What each rule of the law is worth

One rule is left out at a time, then the rules of a mechanism together, from the first packet on. *Nothing* beside a single rule
does not mean that the law can do without it: another rule covers it. A group shows what its rules are worth together. Made by

```sh
cargo run --release -p pcc-sweeps --bin sweep parts >docs/sweeps/parts.md
```

The command changes a copy of the workspace (`crates/sweeps/src/sweep/switches.rs`); the law itself has no switches.
`parts --groups` makes the groups alone. The figures are those of [ascent.md](ascent.md), of rows of `pcc-lab sim score` in their
short form, among them those in company, of crowds on a slow link, and of radio links from [links.md](links.md). The whole law has twelve seeds, the law without a rule the first two of them.

Figures are means. A rule touches a figure if any seed is another than with the rule, to the last bit. The figure moves if both
seeds lie beyond all twelve, and the mean by a hundredth and by four standard errors, of which the twelve tell. Any two of the
twelve seeds against the other ten move 0.6 % of the figures, or half a figure a rule: a rule that moves only one may move none. A
figure is worse if goodput or fairness fall, loss or delay rise, or a part comes farther from the fair one.

Of a rule that moves nothing here `pcc-lab sim score` and the tests of `crates/sim` may tell more: they have more paths and seeds.
";

/// A change of a figure by so many standard errors is no chance.
const TELLING: f64 = 4.0;
/// Less than this part of a figure is nothing.
const ALIKE: f64 = 0.01;

/// A `sweep` whose law leaves out the rule that [`OFF`] names.
pub(crate) fn program() -> Result<Program, String> {
    let copy = Copy::of(&root()?, "parts")?;
    copy.switch()?;
    copy.build()
}

/// A figure that moves.
struct Moved<'a> {
    name: &'a str,
    with: f64,
    without: f64,
    /// By how much, of the larger, or of what matters.
    by: f64,
    is_worse: bool,
}

fn moved<'a>((name, metric): &'a (String, Metric), whole: &Figure, less: &Figure) -> Option<Moved<'a>> {
    let (with, without) = (whole.mean(), less.mean());
    let error = whole.deviation() * (1.0 / whole.seeds().len() as f64 + 1.0 / less.seeds().len() as f64).sqrt();
    let apart = (without - with).abs();
    let (low, high) = whole.range();
    let is_usual = less.seeds().iter().any(|seed| (low..=high).contains(seed)) || (low..=high).contains(&without);
    let is_alike = is_usual || apart <= (TELLING * error).max(ALIKE * with.abs());
    let (direction, least) = metric.scale();
    let is_worse = match direction {
        Direction::Up => without < with,
        Direction::Down => without > with,
        Direction::To(best) => (without - best).abs() > (with - best).abs(),
    };
    let by = apart / with.abs().max(without.abs()).max(least);
    (!is_alike).then_some(Moved { name, with, without, by, is_worse })
}

/// Whether a seed is another than it was with the rule.
fn is_touched(whole: &Figure, less: &Figure) -> bool {
    less.seeds().iter().any(|seed| whole.seeds().iter().all(|one| one.to_bits() != seed.to_bits()))
}

/// A line of the table of all rules.
fn line(rule: &str, what: &str, touched: usize, moved: &[Moved<'_>]) -> String {
    let worse = moved.iter().filter(|figure| figure.is_worse).count();
    let most = moved.iter().max_by(|one, other| one.by.total_cmp(&other.by));
    let most = most.map_or("nothing".to_owned(), |figure| {
        format!("{}: {} → {}", figure.name, number(figure.with), number(figure.without))
    });
    format!("| {rule} | {what} | {touched} | {worse} | {} | {most} |", moved.len() - worse)
}

fn table(moved: &[Moved<'_>]) -> String {
    let mut lines = vec!["| | with | without |".to_owned(), "|---|--:|--:|".to_owned()];
    for figure in moved {
        let without = number(figure.without);
        let without = if figure.is_worse { format!("**{without}**") } else { without };
        lines.push(format!("| {} | {} | {without} |", figure.name, number(figure.with)));
    }
    lines.join("\n")
}

/// The law without some of its rules, in the tables.
struct Parts {
    program: Program,
    names: Vec<(String, Metric)>,
    whole: Vec<Figure>,
    /// A table for each line that moves something.
    tables: Vec<String>,
}

impl Parts {
    /// The line of what is left out; `rules` are as [`OFF`] takes them.
    fn without(&mut self, name: &str, rules: &str, what: &str) -> Result<String, String> {
        eprintln!("without {name}");
        let less = self.program.ask(&["part-figures", &LESS_SEEDS.to_string()], self.names.len(), OFF, rules)?;
        let found = self.names.iter().zip(self.whole.iter().zip(&less));
        let moved: Vec<_> = found.filter_map(|(name, (whole, less))| moved(name, whole, less)).collect();
        let touched = self.whole.iter().zip(&less).filter(|(whole, less)| is_touched(whole, less)).count();
        let line = line(name, what, touched, &moved);
        eprintln!("{line}");
        if !moved.is_empty() {
            self.tables.push(format!("### {name}\n\n{what}\n\n{}\n", table(&moved)));
        }
        Ok(line)
    }
}

fn head(of: &str) -> String {
    format!(
        "## {of}\n\n| rule | the law without it | touched | worse | better | what moves most |\n|---|---|--:|--:|--:|---|"
    )
}

/// The whole page; or of these rules only, or with `--groups` of the groups.
pub(crate) fn page(asked: &[String]) -> Result<String, String> {
    let (program, names) = (program()?, names());
    let whole = program.ask(&["part-figures", &SEEDS.to_string()], names.len(), OFF, "")?;
    let mut parts = Parts { program, names, whole, tables: Vec::new() };
    let mut summary = vec![HEAD.to_owned()];
    let is_asked = |rule: &str| asked.is_empty() || asked.iter().any(|one| one == rule);
    for (of, rules) in RULES {
        let rules: Vec<_> = rules.iter().filter(|(rule, _)| is_asked(rule)).collect();
        summary.extend((!rules.is_empty()).then(|| head(of)));
        for (rule, what) in &rules {
            summary.push(parts.without(rule, rule, what)?);
        }
        summary.extend((!rules.is_empty()).then(String::new));
    }
    if is_asked("--groups") {
        summary.push(head("Rules of a mechanism together"));
        for (group, rules) in GROUPS {
            let what = format!("Without {}.", rules.join(", "));
            summary.push(parts.without(group, &rules.join(","), &what)?);
        }
        summary.push(String::new());
    }
    let tables = parts.tables.join("\n");
    Ok(format!("{}\n## Each rule\n\nWhat is worse is in bold.\n\n{}", summary.join("\n"), tables.trim_end()))
}
