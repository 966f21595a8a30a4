//! The constants inside the law that `sweep constants` turns, and their definitions in a copy of the core that is turned.

/// The files that have them, below `crates/core/src`.
pub(crate) const FILES: [&str; 26] = [
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

/// Constants that somebody else gives, or that are no choice of a value, and why.
pub(crate) const LEFT: [(&str, &str); 12] = [
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

/// An addition to the copy's `lib.rs`: the odds of a share above one half are turned.
pub(crate) const TURN: &str = "

/// Values times a factor.
#[allow(dead_code)]
pub(crate) mod turn {
    pub(crate) const fn float(value: f64, factor: f64) -> f64 {
        if value < 0.5 || value >= 1.0 {
            return value * factor;
        }
        let odds = value / (1.0 - value) * factor;
        odds / (1.0 + odds)
    }
    pub(crate) const fn count(value: u32, factor: f64) -> u32 {
        let turned = (value as f64 * factor) as u32;
        if turned == 0 { 1 } else { turned }
    }
    pub(crate) const fn time(value: core::time::Duration, factor: f64) -> core::time::Duration {
        core::time::Duration::from_nanos((value.as_nanos() as f64 * factor) as u64)
    }
}
";

/// A constant of a file below `crates/core/src`.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    pub(crate) file: &'static str,
    pub(crate) name: String,
    /// As written there.
    pub(crate) value: String,
    /// Its own words.
    pub(crate) what: String,
    /// The line that defines it.
    line: String,
    /// The function of [`TURN`] for its type.
    turn: &'static str,
}

impl Constant {
    /// The line that defines it, and the one that defines it times `factor`.
    pub(crate) fn turned(&self, factor: &str) -> (String, String) {
        let (from, value) = (&self.line, &self.value);
        let to = from.replace(&format!(" = {value};"), &format!(" = crate::turn::{}({value}, {factor});", self.turn));
        (format!("\n{from}\n"), format!("\n{to}\n"))
    }
}

/// `[pub(..) ]const NAME: TYPE = VALUE;` of a type that can be turned.
fn definition(file: &'static str, line: &str, what: &str) -> Option<Constant> {
    let (visible, rest) = line.split_once("const ")?;
    let (name, rest) = rest.split_once(": ")?;
    let (kind, value) = rest.split_once(" = ")?;
    let value = value.strip_suffix(';')?;
    let is_one =
        (visible.is_empty() || visible.starts_with("pub")) && name.chars().all(|c| c.is_uppercase() || c == '_');
    let (_, turn) =
        [("f64", "float"), ("u32", "count"), ("Duration", "time")].into_iter().find(|(of, _)| is_one && *of == kind)?;
    let [name, value, what, line] = [name, value, what.trim(), line].map(str::to_owned);
    Some(Constant { file, name, value, what, line, turn })
}

/// The constants of a file, but for those that are [`LEFT`]. One comment may be of several.
pub(crate) fn constants(file: &'static str, text: &str) -> Vec<Constant> {
    let (mut said, mut is_done, mut found) = (String::new(), false, Vec::new());
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("///") {
            if core::mem::take(&mut is_done) {
                said.clear();
            }
            said += comment;
        } else if let Some(constant) = definition(file, line, &said) {
            found.push(constant);
            is_done = true;
        } else {
            said.clear();
        }
    }
    found.retain(|one| !LEFT.iter().any(|(left, _)| left.split_once(' ') == Some((file, &one.name))));
    found
}
