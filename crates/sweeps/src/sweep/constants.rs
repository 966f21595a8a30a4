//! Each constant inside the default law, its start and the monitor, halved and doubled: the page `docs/sweeps/constants.md`.
//!
//! A constant cannot be set from outside. So the workspace is copied, and there one definition after the other is changed, the
//! program built, and asked. That takes hours; [`kept`] keeps the measured rows that still hold.
#![expect(clippy::print_stderr, reason = "it says how far it is")]

use crate::ascent::{self, CASES};
use crate::copy::{Copy, root};
use crate::measure::{self, Case, Figure, measure, names};
use crate::page::{moved, number};
use crate::parts::OFF;
use crate::stamp;
use crate::turned::{Constant, FILES, LEFT, TURN, constants};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The law's constants in the workspace at `root`, in the order of [`FILES`].
fn all(root: &Path) -> Result<Vec<Constant>, String> {
    let mut all = Vec::new();
    for file in FILES {
        let place = root.join("crates/core/src").join(file);
        let text = fs::read_to_string(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        all.extend(constants(file, &text));
    }
    Ok(all)
}

/// The figures of a law with this constant times `factor`.
fn figures_with(copy: &Copy, constant: &Constant, factor: &str) -> Result<Vec<Figure>, String> {
    let (usual, turned) = constant.turned(factor);
    copy.replace(constant.file, &usual, &turned)?;
    let figures = copy.build().and_then(|program| program.ask(&["figures"], names(&CASES).len(), OFF, ""));
    copy.replace(constant.file, &turned, &usual)?;
    figures
}

/// All figures of the defaults, a line each: what the copy is asked for.
pub(crate) fn figures(cases: &[Case]) -> Result<String, String> {
    Ok(measure::written(&measure(cases, &[ascent::base()?])?[0]))
}

const HEAD: &str = "\
# What the constants inside the law are worth

Nobody can set these constants. Each is halved and doubled alone, from the first packet on; of a share above one half the odds are
halved and doubled. Made by

```sh
cargo run --release -p pcc-sweeps --bin sweep constants >docs/sweeps/constants.md
```

The cases and the seeds are those of [ascent.md](ascent.md), which has the parameters. A figure has moved if its median of four seeds lies
outside the unchanged law's seeds by half of their range and by a hundredth. These cases do not show changing hosts and paths, nor the
needs of other utilities: `nothing` means that a constant does not matter here.

A constant that is missing here was changed after the run.

Half of the constants move nothing. The others gain nothing beyond chance: a moved figure is worse, or trades one case for another. A
CUBIC's part with four bandwidth-delay products of buffer is some 0.71 after any change, since the unchanged law's four seeds are
unusual there.
";

/// A row of the page: a constant, and what moves when it is halved and doubled.
struct Row {
    constant: Constant,
    moves: String,
}

/// The whole page, measured.
pub(crate) fn page() -> Result<String, String> {
    let copy = Copy::of(&root()?, "constants")?;
    copy.replace(
        "lib.rs",
        "\npub use crate::pcc::{Config, Pcc};\n",
        &format!("\npub use crate::pcc::{{Config, Pcc}};{TURN}"),
    )?;
    let constants = all(copy.place())?;
    let (usual, names, count) =
        (copy.build()?.ask(&["figures"], names(&CASES).len(), OFF, "")?, names(&CASES), constants.len());
    let moves = |constant: &Constant, factor: &str| {
        let found = figures_with(&copy, constant, factor)?;
        let all = names.iter().zip(usual.iter().zip(&found));
        let moved = all.filter(|(_, (usual, found))| moved(usual, found));
        let told: Vec<_> = moved
            .map(|(name, (usual, found))| format!("{name} {} → {}", number(usual.median()), number(found.median())))
            .collect();
        Ok::<_, String>(if told.is_empty() { "nothing".to_owned() } else { told.join("; ") })
    };
    let rows = constants.into_iter().enumerate().map(|(place, constant)| {
        eprintln!("{} of {count}: {} {}", place + 1, constant.file, constant.name);
        let moves = format!("{} | {}", moves(&constant, "0.5")?, moves(&constant, "2.0")?);
        Ok(Row { constant, moves })
    });
    Ok(written(&rows.collect::<Result<Vec<_>, String>>()?))
}

/// The page as it was last written, less the rows of constants that are gone or have another value now. Measures nothing.
pub(crate) fn kept() -> Result<String, String> {
    let root = root()?;
    let place = root.join("docs/sweeps/constants.md");
    let page = fs::read_to_string(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let rows = all(&root)?.into_iter().filter_map(|constant| {
        let moves = measured(&page, &constant)?;
        Some(Row { constant, moves })
    });
    let kept = written(&rows.collect::<Vec<_>>());
    // The figures are still of the law that they were measured with.
    let law = page.lines().rev().find(|line| line.starts_with(stamp::BEGINS));
    Ok(law.map_or(kept.clone(), |law| format!("{kept}\n\n{law}")))
}

/// The figures that this constant moves by a page, in the part of its file.
fn measured(page: &str, constant: &Constant) -> Option<String> {
    let part = page.split("\n## ").find(|part| part.starts_with(&format!("`{}`", constant.file)))?;
    let line = part.lines().find_map(|line| line.strip_prefix(&head(constant)))?;
    let mut cells = line.strip_suffix(" |")?.rsplitn(3, " | ");
    let (doubled, halved) = (cells.next()?, cells.next()?);
    Some(format!("{halved} | {doubled}"))
}

/// How the row of a constant begins.
fn head(constant: &Constant) -> String {
    let named = constant.value.contains(char::is_uppercase);
    let value = constant.value.replace("Duration::from_", "");
    format!("| `{}` = {} | ", constant.name, if named { value } else { value.replace('_', "") })
}

fn written(rows: &[Row]) -> String {
    let (mut text, mut file) = (HEAD.to_owned(), "");
    for Row { constant, moves } in rows {
        if file != constant.file {
            file = constant.file;
            write!(text, "\n## `{file}`\n\n| | | halved | doubled |\n|---|---|---|---|\n").unwrap_or_default();
        }
        writeln!(text, "{}{} | {moves} |", head(constant), constant.what).unwrap_or_default();
    }
    text += "\n## Not turned\n\n| | |\n|---|---|\n";
    for (key, why) in LEFT {
        writeln!(text, "| `{}` | {why} |", key.replace(' ', "`: `")).unwrap_or_default();
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first cell of each row.
    fn heads(page: &str) -> Vec<&str> {
        page.lines().filter(|line| line.starts_with("| `")).filter_map(|line| line.split(" | ").next()).collect()
    }

    #[test]
    fn the_page_names_only_constants_of_today() {
        let page = fs::read_to_string(root().unwrap().join("docs/sweeps/constants.md")).unwrap();
        let kept = kept().unwrap();
        assert_eq!(kept.lines().last(), page.lines().last(), "the law of its figures");
        assert_eq!(heads(&page), heads(&kept), "`sweep kept-constants` prints the page of today");
    }
}
