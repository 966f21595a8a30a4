//! Each constant inside the default law, its start and the monitor, halved and doubled: the page `docs/sweeps/constants.md`.
//!
//! A constant cannot be set from outside, and building the core once a value would take hours. So the workspace is copied, each
//! constant made a function there that a variable of the environment can turn, and that copy built once.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "it builds a program, asks it, and says how far it is"
)]

use crate::ascent::{self, CASES};
use crate::copy::{Copy, Program, root};
use crate::measure::{Case, measure, names};
use crate::page::{moved, number};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Where what is turned lives, below `crates/core/src`.
const FILES: [&str; 26] = [
    "rtt.rs",
    "monitor.rs",
    "interval.rs",
    "interval/report.rs",
    "bursts.rs",
    "trains.rs",
    "trains/train.rs",
    "trains/arrived.rs",
    "pcc/silence.rs",
    "pcc/window.rs",
    "pcc/judging.rs",
    "control/path.rs",
    "control/driver.rs",
    "control/starting.rs",
    "control/approach.rs",
    "control/response.rs",
    "control/ascent/mod.rs",
    "control/ascent/pair.rs",
    "control/ascent/level.rs",
    "control/ascent/loss.rs",
    "control/ascent/bottleneck.rs",
    "control/ascent/forecast.rs",
    "control/ascent/price.rs",
    "control/ascent/rival.rs",
    "control/ascent/deviation.rs",
    "control/ascent/scatter.rs",
];

/// What is given by somebody else, or is no choice of a value, and why.
const LEFT: [(&str, &str); 12] = [
    ("rtt.rs MAX_ACK_DELAY", "RFC 9000 §18.2"),
    ("pcc/window.rs INITIAL_WINDOW", "RFC 6928"),
    ("control/ascent/rival.rs C", "RFC 9438 §4.6: it is CUBIC's"),
    ("control/ascent/rival.rs BETA", "RFC 9438 §4.6: it is CUBIC's"),
    ("control/ascent/forecast.rs HALVINGS", "digits of a search"),
    ("control/ascent/forecast.rs SIDE", "width of a numeric derivative"),
    ("control/ascent/forecast.rs EQUAL", "digits of a number"),
    ("control/ascent/price.rs READ_TO", "digits of a number"),
    ("control/ascent/pair.rs RESOLUTION", "a clock's: TCP has microseconds"),
    ("trains.rs MOST_TRAINS", "a bound of memory"),
    ("monitor.rs MAX_GAP", "a bound of memory"),
    ("pcc/judging.rs PANIC_PACKETS", "of other utilities only: none is sent by `fair` before half is lost"),
];

/// The variable: `pcc/window.rs STARTING_LEAD=0.5`.
const TURNED: &str = "PCC_TURNED";

/// What the copy has besides.
const TURN: &str = r#"

/// What is turned by a variable of the environment.
pub(crate) mod turn {
    pub(crate) trait Turn: Sized {
        fn by(self, factor: f64) -> Self;
    }
    impl Turn for f64 {
        fn by(self, factor: f64) -> Self {
            if self < 0.5 || self >= 1.0 {
                return self * factor;
            }
            let odds = self / (1.0 - self) * factor;
            odds / (1.0 + odds)
        }
    }
    impl Turn for u32 {
        fn by(self, factor: f64) -> Self {
            ((f64::from(self) * factor) as u32).max(1)
        }
    }
    impl Turn for core::time::Duration {
        fn by(self, factor: f64) -> Self {
            self.mul_f64(factor)
        }
    }
    pub(crate) fn turned<T: Turn>(name: &str, value: T) -> T {
        match std::env::var("PCC_TURNED").ok().as_deref().and_then(|turned| turned.rsplit_once('=')) {
            Some((which, factor)) if which == name => value.by(factor.parse().unwrap()),
            _ => value,
        }
    }
}
"#;

/// A constant: where, its name, its value as written, what it says of itself.
struct Constant {
    key: String,
    value: String,
    what: String,
}

/// `[pub(..) ]const NAME: TYPE = VALUE;` of a type that can be turned.
fn definition(line: &str) -> Option<(&str, &str, &str, &str)> {
    let (visible, rest) = line.split_once("const ")?;
    let (name, rest) = rest.split_once(": ")?;
    let (kind, value) = rest.split_once(" = ")?;
    let (value, _) = value.split_once(';')?;
    let is_one =
        (visible.is_empty() || visible.starts_with("pub")) && name.chars().all(|c| c.is_uppercase() || c == '_');
    (is_one && ["f64", "u32", "Duration"].contains(&kind)).then_some((visible, name, kind, value))
}

/// The constants of a file that are turned.
fn constants(file: &str, text: &str) -> Vec<Constant> {
    if !FILES.contains(&file) {
        return Vec::new();
    }
    let (mut said, mut is_done) = (String::new(), false);
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("///") {
            if core::mem::take(&mut is_done) {
                said.clear();
            }
            said += comment;
        } else if let Some((_, name, _, value)) = definition(line) {
            let key = format!("{file} {name}");
            if !LEFT.iter().any(|(left, _)| *left == key) {
                let value = value.replace("Duration::from_", "").replace('_', "");
                found.push(Constant { key, value, what: said.trim().to_owned() });
            }
            // One comment may be of several.
            is_done = true;
        } else {
            said.clear();
        }
    }
    found
}

/// `line` with a call wherever one of `own` is named, or one of `all` behind its module: `trains::LARGEST_ERROR`.
fn with_calls(line: &str, own: &BTreeSet<String>, all: &BTreeSet<String>) -> String {
    let (mut out, mut word) = (String::new(), String::new());
    for c in line.chars().chain(core::iter::once(' ')) {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        let behind = out.strip_suffix("::").map(|out| out.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next());
        let is_called = match behind {
            Some(module) => all.contains(&word) && module.is_some_and(|name| name.starts_with(char::is_lowercase)),
            None => own.contains(&word),
        };
        out += &word;
        if is_called {
            out += "()";
        }
        word.clear();
        out.push(c);
    }
    out.pop();
    out
}

/// The file as the copy has it: its `own` constants are functions, and those of `all` that it imports are called as well.
fn rewritten(file: &str, text: &str, own: &BTreeSet<String>, all: &BTreeSet<String>) -> String {
    let code = text.split_once("#[cfg(test)]\nmod ").map_or(text, |(code, _)| code);
    let (mut used, mut out, mut importing) = (own.clone(), String::new(), false);
    for line in code.lines() {
        importing |=
            line.split_once("use ").is_some_and(|(visible, _)| visible.is_empty() || visible.starts_with("pub"));
        if importing {
            let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            used.extend(words.filter(|word| all.contains(*word)).map(str::to_owned));
            importing = !line.contains(';');
            out += line;
        } else if line.trim_start().starts_with("//") {
            out += line;
        } else if let Some((visible, name, kind, value)) = definition(line).filter(|(_, name, ..)| own.contains(*name))
        {
            let value = with_calls(value, &used, all);
            out += &format!(
                "#[allow(non_snake_case)]\n{visible}fn {name}() -> {kind} {{\n    \
                 static TURNED: std::sync::OnceLock<{kind}> = std::sync::OnceLock::new();\n    \
                 *TURNED.get_or_init(|| crate::turn::turned(\"{file} {name}\", {value}))\n}}"
            );
        } else {
            let line = with_calls(line, &used, all);
            // What calls is constant no more; the table of utilities is one still.
            out += &if file.starts_with("utility/") { line } else { line.replace("const fn ", "fn ") };
        }
        out.push('\n');
    }
    out
}

/// The files of the core that may name one.
fn sources(place: &Path, below: &str) -> std::io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(place.join(below))? {
        let name = format!("{below}{}", entry?.file_name().to_string_lossy());
        if name.ends_with(".rs") {
            found.push(name);
        } else if !name.contains('.') && name != "utility/text" {
            found.extend(sources(place, &(name + "/"))?);
        }
    }
    Ok(found)
}

/// The program that can be turned, and what of it.
fn build(root: &Path) -> Result<(Program, Vec<Constant>), String> {
    let copy = Copy::of(root, "constants")?;
    let place = copy.place();
    let problem = |error: std::io::Error| format!("{}: {error}", place.display());
    let source = place.join("crates/core/src");
    let files = sources(&source, "").map_err(problem)?;
    if let Some(file) = FILES.iter().find(|file| !files.iter().any(|found| found == *file)) {
        return Err(format!(
            "the core has no file {file} any more: FILES of constants.rs names those whose constants are turned"
        ));
    }
    let texts = files.iter().map(|file| fs::read_to_string(source.join(file))).collect::<std::io::Result<Vec<_>>>();
    let texts = texts.map_err(problem)?;
    let found: Vec<Vec<_>> = files.iter().zip(&texts).map(|(file, text)| constants(file, text)).collect();
    let names = |found: &[Constant]| -> BTreeSet<String> {
        found.iter().filter_map(|one| Some(one.key.split_once(' ')?.1.to_owned())).collect()
    };
    let all = found.iter().flat_map(|found| names(found)).collect();
    for ((file, text), found) in files.iter().zip(&texts).zip(&found) {
        // Rates and times are constants elsewhere.
        if file != "units.rs" && file != "rng.rs" {
            fs::write(source.join(file), rewritten(file, text, &names(found), &all)).map_err(problem)?;
        }
    }
    let lib = fs::read_to_string(source.join("lib.rs")).map_err(problem)?;
    fs::write(source.join("lib.rs"), lib + TURN).map_err(problem)?;
    Ok((copy.build()?, found.into_iter().flatten().collect()))
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
    let root = root()?;
    let (program, constants) = build(&root)?;
    let (usual, names) = (program.ask(("figures", &CASES), TURNED, "")?, names(&CASES));
    let moves = |key: &str, factor: &str| {
        let found = program.ask(("figures", &CASES), TURNED, &format!("{key}={factor}"))?;
        let all = names.iter().zip(usual.iter().zip(&found));
        let moved = all.filter(|(_, (usual, found))| moved(usual, found));
        let told: Vec<_> = moved
            .map(|(name, (usual, found))| format!("{name} {} → {}", number(usual.median()), number(found.median())))
            .collect();
        Ok::<_, String>(if told.is_empty() { "nothing".to_owned() } else { told.join("; ") })
    };
    let (mut text, mut file) = (HEAD.to_owned(), String::new());
    for (place, constant) in constants.iter().enumerate() {
        let (of, name) = constant.key.split_once(' ').unwrap_or_default();
        if file != of {
            write!(text, "\n## `{of}`\n\n| | | halved | doubled |\n|---|---|---|---|\n").unwrap_or_default();
            of.clone_into(&mut file);
        }
        eprintln!("{} of {}: {}", place + 1, constants.len(), constant.key);
        let (halved, doubled) = (moves(&constant.key, "0.5")?, moves(&constant.key, "2")?);
        writeln!(text, "| `{name}` = {} | {} | {halved} | {doubled} |", constant.value, constant.what)
            .unwrap_or_default();
    }
    text += "\n## Not turned\n\n| | |\n|---|---|\n";
    for (key, why) in LEFT {
        writeln!(text, "| `{}` | {why} |", key.replace(' ', "`: `")).unwrap_or_default();
    }
    Ok(text.trim_end().to_owned())
}
