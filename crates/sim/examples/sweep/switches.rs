//! Where a copy of the core asks whether a rule is left out: each text stands in its file exactly once.

/// Files below `crates/core/src`, what they say, and what the copy says instead. `crate::off("RULE")` is true where the rule is off.
pub(crate) const SWITCHES: [(&str, &str, &str); 19] = [
    (
        "control/law.rs",
        "const fn measures_by_trains(&self) -> bool {\n        matches!(self, Self::Ascent(_))",
        "fn measures_by_trains(&self) -> bool {\n        matches!(self, Self::Ascent(_)) && !crate::off(\"trains\")",
    ),
    ("control/driver.rs", "match share.take() {", "match share.take().filter(|_| !crate::off(\"drain\")) {"),
    (
        "control/ascent/mod.rs",
        "self.probing.level.noise().min(rtt)",
        "(if crate::off(\"clumps\") { 0.0 } else { self.probing.level.noise() }).min(rtt)",
    ),
    (
        "control/ascent/mod.rs",
        "let dear = asked.powf(self.config.price_gain);",
        "let dear = if crate::off(\"price\") { 1.0 } else { asked.powf(self.config.price_gain) };",
    ),
    ("control/ascent/mod.rs", "floor.map_or(", "floor.filter(|_| !crate::off(\"rival\")).map_or("),
    ("control/ascent/mod.rs", "level.in_doubt() {", "level.in_doubt() && !crate::off(\"test\") {"),
    (
        "control/ascent/mod.rs",
        "let (growth, carried) = (probing.growth(&pair), pair.carried());",
        "let (mut growth, mut carried) = (probing.growth(&pair), pair.carried());
        if crate::off(\"errors\") {
            (growth.variance, carried.growth.variance, carried.ln_rate.variance) = (0.0, 0.0, 0.0);
        }",
    ),
    (
        "control/ascent/bottleneck.rs",
        ".min(told.largest_step);",
        ".min(if crate::off(\"headroom\") { first } else { told.largest_step });",
    ),
    ("control/ascent/bottleneck.rs", "if told.fresh &&", "if (told.fresh || crate::off(\"news\")) &&"),
    ("control/ascent/mod.rs", "probing.is_calm());", "probing.is_calm() && !crate::off(\"free\"));"),
    (
        "control/ascent/mod.rs",
        "for sent in &probing.launched {",
        "if crate::off(\"noise\") {
            forecast.queue = probing.level.unfiltered();
        }
        for sent in probing.launched.iter().filter(|_| !crate::off(\"on-its-way\")) {",
    ),
    (
        "control/ascent/probing.rs",
        "= self.level.begin_pair(self.trial);",
        "= if crate::off(\"test\") { 1.0 } else { self.level.begin_pair(self.trial) };",
    ),
    (
        "control/ascent/probing.rs",
        "let asks = (self.trial / 2)",
        "let asks = !crate::off(\"asks\") && (self.trial / 2)",
    ),
    (
        "control/ascent/loss.rs",
        "if self.losses.slope().is_above(0.0) {",
        "if self.losses.slope().is_above(0.0) && !crate::off(\"own-loss\") || crate::off(\"random-loss\") {",
    ),
    (
        "control/ascent/bottleneck.rs",
        "let ln_rate = if loses || loses_more {",
        "let ln_rate = if (loses || loses_more) && !crate::off(\"overflow\") {",
    ),
    (
        "control/ascent/bottleneck.rs",
        ".max(self.scatter.variance());",
        ".max(if crate::off(\"scatter\") { 0.0 } else { self.scatter.variance() });",
    ),
    (
        "control/ascent/bottleneck.rs",
        "if rate < UNUSED * self.capacity {",
        "if rate < UNUSED * self.capacity && !crate::off(\"unused\") {",
    ),
    (
        "control/ascent/bottleneck.rs",
        "self.headroom *= if loses {",
        "self.headroom *= if loses || crate::off(\"doubt\") {",
    ),
    (
        "lib.rs",
        "#![forbid(unsafe_code)]",
        "#![forbid(unsafe_code)]

/// Whether the environment asks to leave out this rule.
pub(crate) fn off(rule: &str) -> bool {
    static OFF: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| std::env::var(\"PCC_OFF\").unwrap_or_default());
    OFF.split(',').any(|off| off == rule)
}",
    ),
];

/// The text of a file of the core with `to` for `from`.
///
/// Errors: what stands there not exactly once, so that the law has moved on.
pub(crate) fn replaced(file: &str, text: &str, from: &str, to: &str) -> Result<String, String> {
    match text.matches(from).count() {
        1 => Ok(text.replace(from, to)),
        times => Err(format!("{file} has `{from}` {times} times, not once: mend examples/sweep/switches.rs")),
    }
}
