//! Each constant inside the default law, its start and the monitor, halved and doubled: the page `docs/sweeps/constants.md`.
//!
//! A constant cannot be set from outside. So the workspace is copied, and there one definition after the other is changed, the
//! program built, and asked.
#![expect(clippy::print_stderr, reason = "it says how far it is")]

use crate::ascent::{self, CASES};
use crate::copy::{Copy, root};
use crate::measure::{Case, Figure, measure, names};
use crate::page::{moved, number};
use crate::parts::OFF;
use crate::turned::{Constant, FILES, LEFT, TURN, constants};
use std::fmt::Write as _;
use std::fs;

/// The law's constants, in the order of [`FILES`].
fn all(copy: &Copy) -> Result<Vec<Constant>, String> {
    let mut all = Vec::new();
    for file in FILES {
        let place = copy.place().join("crates/core/src").join(file);
        let text = fs::read_to_string(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        all.extend(constants(file, &text));
    }
    Ok(all)
}

/// The figures of a law with this constant times `factor`.
fn figures_with(copy: &Copy, constant: &Constant, factor: &str) -> Result<Vec<Figure>, String> {
    let (usual, turned) = constant.turned(factor);
    copy.replace(constant.file, &usual, &turned)?;
    let figures = copy.build().and_then(|program| program.ask(("figures", &CASES), OFF, ""));
    copy.replace(constant.file, &turned, &usual)?;
    figures
}

/// All figures of the defaults, a line each: what the copy is asked for.
pub(crate) fn figures(cases: &[Case]) -> Result<String, String> {
    let rows = measure(cases, &[ascent::base()?])?;
    let lines = rows[0].iter().map(|figure| {
        let seeds: Vec<_> = figure.seeds().iter().map(|value| format!("{value:e}")).collect();
        seeds.join(" ")
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

const HEAD: &str = "\
# What the constants inside the law are worth

Those that nobody can set: each halved and doubled (of a share above one half, its odds), alone, from the first packet on. Made by

```sh
cargo run --release -p pcc-sim --example sweep constants >docs/sweeps/constants.md
```

The cases and the seeds are those of [ascent.md](ascent.md), which has the parameters. A figure has moved if its median of four seeds lies
outside the unchanged law's seeds by half of their range and by a hundredth. These cases do not show changing hosts and paths, nor the
needs of other utilities: `nothing` means that a constant does not matter here.

Half of them move nothing. None of the others gains anything beyond chance: a moved figure is worse, or trades one case for another. (A
CUBIC's part of four products of buffer is some 0.71 wherever anything is changed. The unchanged law's four seeds are lucky there.)
";

/// The whole page.
pub(crate) fn page() -> Result<String, String> {
    let copy = Copy::of(&root()?, "constants")?;
    copy.replace(
        "lib.rs",
        "\npub use crate::pcc::{Config, Pcc};\n",
        &format!("\npub use crate::pcc::{{Config, Pcc}};{TURN}"),
    )?;
    let constants = all(&copy)?;
    let (usual, names) = (copy.build()?.ask(("figures", &CASES), OFF, "")?, names(&CASES));
    let moves = |constant: &Constant, factor: &str| {
        let found = figures_with(&copy, constant, factor)?;
        let all = names.iter().zip(usual.iter().zip(&found));
        let moved = all.filter(|(_, (usual, found))| moved(usual, found));
        let told: Vec<_> = moved
            .map(|(name, (usual, found))| format!("{name} {} → {}", number(usual.median()), number(found.median())))
            .collect();
        Ok::<_, String>(if told.is_empty() { "nothing".to_owned() } else { told.join("; ") })
    };
    let (mut text, mut file) = (HEAD.to_owned(), "");
    for (place, constant) in constants.iter().enumerate() {
        if file != constant.file {
            file = constant.file;
            write!(text, "\n## `{file}`\n\n| | | halved | doubled |\n|---|---|---|---|\n").unwrap_or_default();
        }
        eprintln!("{} of {}: {file} {}", place + 1, constants.len(), constant.name);
        let (halved, doubled) = (moves(constant, "0.5")?, moves(constant, "2.0")?);
        let value = constant.value.replace("Duration::from_", "").replace('_', "");
        writeln!(text, "| `{}` = {value} | {} | {halved} | {doubled} |", constant.name, constant.what)
            .unwrap_or_default();
    }
    text += "\n## Not turned\n\n| | |\n|---|---|\n";
    for (key, why) in LEFT {
        writeln!(text, "| `{}` | {why} |", key.replace(' ', "`: `")).unwrap_or_default();
    }
    Ok(text.trim_end().to_owned())
}
