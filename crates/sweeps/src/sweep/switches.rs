//! Where a copy of the core asks whether a rule is left out: each text stands in its file exactly once.

/// Files below `crates/core/src`, what they say, and what the copy says instead. `crate::off("RULE")` is true where the rule is off.
pub(crate) const SWITCHES: [(&str, &str, &str); 76] = [
    (
        "control/law.rs",
        "const fn measures_by_trains(&self) -> bool {\n        matches!(self, Self::Ascent(_))",
        "fn measures_by_trains(&self) -> bool {\n        matches!(self, Self::Ascent(_)) && !crate::off(\"trains\")",
    ),
    (
        "trains.rs",
        "may_tell && !self.arrived.may_be_jitter(least_rtt, spread)",
        "may_tell && (crate::off(\"jitter\") || !self.arrived.may_be_jitter(least_rtt, spread))",
    ),
    (
        "control/approach.rs",
        "self.goal.min(self.proven * STEP);",
        "self.goal.min(self.proven * if crate::off(\"steps\") { 2.0 } else { STEP });",
    ),
    ("control/driver.rs", "match share.take() {", "match share.take().filter(|_| !crate::off(\"drain\")) {"),
    (
        "control/driver.rs",
        "Phase::Starting(starting) if starting.ends_early(",
        "Phase::Starting(starting) if !crate::off(\"early\") && starting.ends_early(",
    ),
    (
        "control/starting.rs",
        "(rise / 2.0).min(least.as_secs_f64() - first).max(0.0)",
        "if crate::off(\"own-queue\") { 0.0 } else { (rise / 2.0).min(least.as_secs_f64() - first).max(0.0) }",
    ),
    (
        "control/starting.rs",
        "report.rtt_samples >= TELLING_SAMPLES && report",
        "!crate::off(\"climbs\") && report.rtt_samples >= TELLING_SAMPLES && report",
    ),
    ("control/starting.rs", "path.trains.is_some_and(", "!crate::off(\"excused\") && path.trains.is_some_and("),
    (
        "control/starting.rs",
        "worth < 0.0 || self.best.is_some_and(is_less)",
        "!crate::off(\"worse\") && (worth < 0.0 || self.best.is_some_and(is_less))",
    ),
    (
        "control/ascent/mod.rs",
        "self.probing.level.noise().min(rtt)",
        "(if crate::off(\"clumps\") { 0.0 } else { self.probing.level.noise() }).min(rtt)",
    ),
    (
        "control/ascent/mod.rs",
        ".min(LONG_ENOUGH)",
        ".min(if crate::off(\"long-enough\") { f64::MAX } else { LONG_ENOUGH })",
    ),
    (
        "control/ascent/mod.rs",
        "(4.0 * rtt).min(SHORT)",
        "(if crate::off(\"short-path\") { 0.0 } else { 4.0 * rtt }).min(SHORT)",
    ),
    (
        "control/ascent/mod.rs",
        "((pair.seconds_asked() / rtt(path)).max(1.0) + 1.0) / 2.0",
        "if crate::off(\"long-pairs\") { 1.0 } else { ((pair.seconds_asked() / rtt(path)).max(1.0) + 1.0) / 2.0 }",
    ),
    (
        "control/ascent/pair.rs",
        "let coverage = (seen /",
        "let coverage = if crate::off(\"unseen\") { 1.0 } else { 0.0_f64 }.max(seen /",
    ),
    (
        "control/ascent/pair.rs",
        "let growth = Estimate { mean, variance: variance / (6.0 * apart * apart) + mean * mean * midpoint_variance };",
        "let unknown = if crate::off(\"means\") { 1e9 } else { 0.0 };\n        let growth = Estimate { mean, variance: variance / (6.0 * apart * apart) + mean * mean * midpoint_variance + unknown };",
    ),
    (
        "control/ascent/pair.rs",
        "* (lost / bursts.max(1.0)).max(1.0)",
        "* if crate::off(\"runs\") { 1.0 } else { (lost / bursts.max(1.0)).max(1.0) }",
    ),
    (
        "control/ascent/mod.rs",
        "let (growth, carried) = (probing.growth(&pair), pair.carried());",
        "let (mut growth, mut carried) = (probing.growth(&pair), pair.carried());\n        if crate::off(\"errors\") {\n            (growth.variance, carried.growth.variance, carried.ln_rate.variance) = (0.0, 0.0, 0.0);\n        }",
    ),
    (
        "control/ascent/probing.rs",
        "variance: change.variance.max(TELLING_GROWTH * TELLING_GROWTH)",
        "variance: change.variance.max(if crate::off(\"at-best\") { 0.0 } else { TELLING_GROWTH * TELLING_GROWTH })",
    ),
    (
        "control/response.rs",
        "((unexplained / (self.pairs - 1.0).max(1.0)).max(1.0) / self.xx).sqrt()",
        "(if crate::off(\"unexplained\") { 1.0 } else { (unexplained / (self.pairs - 1.0).max(1.0)).max(1.0) } / self.xx).sqrt()",
    ),
    (
        "control/ascent/probing.rs",
        "        self.level.begin_pair(self.trial)",
        "        if crate::off(\"test\") { 1.0 } else { self.level.begin_pair(self.trial) }",
    ),
    (
        "control/ascent/level.rs",
        "self.base_offset = self.base_offset.min(above + noise);",
        "self.base_offset = self.base_offset.min(if crate::off(\"shorter\") { f64::MAX } else { above + noise });",
    ),
    (
        "control/ascent/level.rs",
        "growth.max(0.0) * pair.second",
        "growth.max(0.0) * if crate::off(\"grown\") { 0.0 } else { 1.0 } * pair.second",
    ),
    (
        "control/ascent/level.rs",
        "unexpected.max(residual)",
        "unexpected.max(if crate::off(\"residual\") { 0.0 } else { residual })",
    ),
    (
        "control/ascent/loss.rs",
        "if certain { more.mean } else { ours * more.wiener() }",
        "if crate::off(\"own-loss\") {\n            0.0\n        } else if certain {\n            more.mean\n        } else {\n            ours * more.wiener()\n        }",
    ),
    (
        "control/ascent/loss.rs",
        "let (certain, random) = (self.losses.certainly_rise(), self.random);",
        "let (certain, random) = (self.losses.certainly_rise() || crate::off(\"random-loss\"), self.random);",
    ),
    (
        "control/ascent/loss.rs",
        "let ours = 1.0 - self.is_nobodys(fullness);",
        "let ours = if crate::off(\"expected\") { 0.0 } else { 1.0 - self.is_nobodys(fullness) };",
    ),
    (
        "control/ascent/loss.rs",
        "(low.undelivered() - random).min(0.0)",
        "if crate::off(\"bounds\") { 0.0 } else { (low.undelivered() - random).min(0.0) }",
    ),
    (
        "control/ascent/loss.rs",
        "(1.0 - self.is_nobodys(fullness)) * self.random",
        "(1.0 - if crate::off(\"nobodys\") { 0.0 } else { self.is_nobodys(fullness) }) * self.random",
    ),
    (
        "control/ascent/loss.rs",
        "answers / (NOBODYS_MARKS + answers) * marked",
        "if crate::off(\"nobodys-marks\") { marked } else { answers / (NOBODYS_MARKS + answers) * marked }",
    ),
    (
        "control/ascent/loss.rs",
        "(-self.random / RARE).exp()",
        "if crate::off(\"rare\") { 1.0 } else { (-self.random / RARE).exp() }",
    ),
    (
        "control/ascent/loss.rs",
        "(1.0 - fullness) / fullness;",
        "if crate::off(\"full\") { 1.0 } else { (1.0 - fullness) / fullness };",
    ),
    (
        "control/ascent/level.rs",
        "(FORGETTING * self.longest).max(above)",
        "(if crate::off(\"full-once\") { 1.0 } else { FORGETTING } * self.longest).max(above)",
    ),
    (
        "control/ascent/loss.rs",
        "(1.0 + self.losses.answers() / odds)",
        "(1.0 + if crate::off(\"rates\") { 1.0 } else { self.losses.answers() } / odds)",
    ),
    (
        "control/ascent/loss.rs",
        "let overflows = self.overflows.rises()",
        "let overflows = if crate::off(\"queues\") { 0.0 } else { self.overflows.rises() }",
    ),
    (
        "control/ascent/loss.rs",
        "/ (1.0 + self.samples / 2.0).sqrt()",
        "/ if crate::off(\"best-slope\") { 1.0 } else { (1.0 + self.samples / 2.0).sqrt() }",
    ),
    (
        "control/ascent/loss.rs",
        "(unexplained / (self.samples - 1.0).max(1.0)).max(1.0)",
        "if crate::off(\"others\") { 1.0 } else { (unexplained / (self.samples - 1.0).max(1.0)).max(1.0) }",
    ),
    (
        "control/ascent/loss.rs",
        "let kept = if lost > 0.0 {",
        "let kept = if lost > 0.0 && !crate::off(\"remembered\") {",
    ),
    (
        "utility/fair.rs",
        "let cap = if report.excess_loss.is_some() {",
        "let cap = if report.excess_loss.is_some() && !crate::off(\"no-cap\") || crate::off(\"cap\") {",
    ),
    (
        "utility/fair.rs",
        "self.loss_price * (outlook.marked + outlook.lost.min(1.0 - outlook.marked));",
        "self.loss_price\n            * (outlook.marked\n                + (outlook.lost.min(1.0 - outlook.marked) - if crate::off(\"no-cap\") { self.loss_cap } else { 0.0 }).max(0.0));",
    ),
    (
        "control/ascent/bottleneck.rs",
        "if loses || loses_more { overflowing",
        "if (loses || loses_more) && !crate::off(\"overflow\") { overflowing",
    ),
    (
        "control/ascent/bottleneck.rs",
        "= loss_above_random.is_above(0.0);",
        "= loss_above_random.is_above(0.0) && !crate::off(\"loses-more\");",
    ),
    (
        "control/ascent/bottleneck.rs",
        "let grows = growth.wiener()",
        "let grows = !crate::off(\"grows\") && growth.wiener()",
    ),
    (
        "control/ascent/bottleneck.rs",
        "let stands = queue.level",
        "let stands = !crate::off(\"long-queue\") && queue.level",
    ),
    (
        "control/ascent/bottleneck.rs",
        "self.half_buffer += WEIGHT *",
        "self.half_buffer += if crate::off(\"buffer\") { 0.0 } else { WEIGHT } *",
    ),
    (
        "control/ascent/bottleneck.rs",
        ".max(1.0 / pair.packets())",
        ".max(if crate::off(\"one-packet\") { 1e-9 } else { 1.0 / pair.packets() })",
    ),
    (
        "control/ascent/bottleneck.rs",
        ".max(self.scatter.variance());",
        ".max(if crate::off(\"scatter\") { 0.0 } else { self.scatter.variance() });",
    ),
    (
        "control/ascent/bottleneck.rs",
        "self.headroom *= if loses {",
        "self.headroom *= if loses || crate::off(\"doubt\") {",
    ),
    (
        "control/ascent/bottleneck.rs",
        "if reading.after_increase &&",
        "if (reading.after_increase || crate::off(\"news\")) &&",
    ),
    (
        "control/ascent/bottleneck.rs",
        ".max(rate.min(pair.target()))",
        ".max(rate.min(if crate::off(\"late\") { f64::MAX } else { pair.target() }))",
    ),
    (
        "control/ascent/bottleneck.rs",
        "if sent < ACHIEVED_SHARE * asked {",
        "if sent < ACHIEVED_SHARE * asked || crate::off(\"pacer\") {",
    ),
    (
        "control/ascent/bottleneck.rs",
        ".min(reading.largest_step);",
        ".min(if crate::off(\"headroom\") { first } else { reading.largest_step });",
    ),
    (
        "control/ascent/bottleneck.rs",
        "if rate < UNUSED * self.capacity {",
        "if rate < UNUSED * self.capacity && !crate::off(\"unused\") {",
    ),
    (
        "control/ascent/mod.rs",
        "for sent in &probing.launched {",
        "if crate::off(\"noise\") {\n            forecast.queue = probing.level.raw();\n        }\n        for sent in probing.launched.iter().filter(|_| !crate::off(\"on-its-way\")) {",
    ),
    (
        "control/ascent/mod.rs",
        "(self.config.horizon_rtts * rtt).max(pair.seconds())",
        "(self.config.horizon_rtts * rtt).max(if crate::off(\"pair-s-time\") { 0.0 } else { pair.seconds() })",
    ),
    (
        "control/ascent/mod.rs",
        "let best = best * asked.powf(self.config.price_gain);",
        "let best = best * if crate::off(\"price\") { 1.0 } else { asked.powf(self.config.price_gain) };",
    ),
    (
        "control/ascent/price.rs",
        "level.min(UNUSUAL * self.mean.max(TELLING))",
        "level.min(if crate::off(\"unusual\") { f64::MAX } else { UNUSUAL * self.mean.max(TELLING) })",
    ),
    ("control/ascent/price.rs", "|| self.mean <= noise {", "|| self.mean <= noise && !crate::off(\"noisy-price\") {"),
    ("control/ascent/mod.rs", "floor.map_or(", "floor.filter(|_| !crate::off(\"rival\")).map_or("),
    (
        "control/ascent/probing.rs",
        "(DOUBTFUL / self.share.at_least(ERRORS))",
        "(DOUBTFUL / if crate::off(\"senders\") { 0.0 } else { self.share.at_least(ERRORS) })",
    ),
    (
        "control/ascent/mod.rs",
        "(!endless.wants_less(utility, floor))",
        "(crate::off(\"bears\") || !endless.wants_less(utility, floor))",
    ),
    (
        "control/ascent/mod.rs",
        "let filled = if rival.is_there() {",
        "let filled = if rival.is_there() && !crate::off(\"standing\") {",
    ),
    (
        "control/ascent/rival.rs",
        "yields: YIELD_RTTS * rtt + 2.0 * queue }",
        "yields: if crate::off(\"yields\") { 0.0 } else { YIELD_RTTS * rtt + 2.0 * queue } }",
    ),
    ("control/ascent/rival.rs", "let drained = !is_long", "let drained = !crate::off(\"drained\") && !is_long"),
    (
        "control/ascent/rival.rs",
        "lost || queue < FELL * self.extreme",
        "lost || queue < FELL * self.extreme && !crate::off(\"falls\")",
    ),
    ("control/ascent/rival.rs", "let grew = cubic.age >", "let grew = !crate::off(\"returns\") && cubic.age >"),
    ("control/ascent/rival.rs", "> ANSWERED * rtt", "> if crate::off(\"answered\") { 0.0 } else { ANSWERED } * rtt"),
    ("control/ascent/rival.rs", "let low = if lost {", "let low = if lost || crate::off(\"whole\") {"),
    (
        "control/ascent/mod.rs",
        "deviation: probing.deviation.mean,",
        "deviation: if crate::off(\"deviation\") { 0.0 } else { probing.deviation.mean },",
    ),
    (
        "control/ascent/forecast.rs",
        "if rate > self.negligible_rate {",
        "if rate > self.negligible_rate || crate::off(\"quiet\") {",
    ),
    ("control/ascent/level.rs", "let rested = ", "let rested = crate::off(\"rest\") || "),
    (
        "control/ascent/level.rs",
        "(before - after).abs() > (CERTAIN",
        "(before - after).max(if crate::off(\"rises\") { 0.0 } else { after - before }) > (CERTAIN",
    ),
    ("control/ascent/level.rs", "let overflows = ", "let overflows = !crate::off(\"told-by-loss\") && "),
    (
        "control/ascent/level.rs",
        "} else if pair.rate() >= ACHIEVED_SHARE * pair.target() {",
        "} else if pair.rate() >= ACHIEVED_SHARE * pair.target() || crate::off(\"window\") {",
    ),
    (
        "control/ascent/forecast.rs",
        "(self.half_buffer - self.probe_amplitude).max(0.0) / self.horizon",
        "if crate::off(\"overflows\") { 1e3 } else { (self.half_buffer - self.probe_amplitude).max(0.0) / self.horizon }",
    ),
    (
        "control/ascent/mod.rs",
        "if probing.share.at_least(ERRORS) <= ALONE && !probing.rival.is_there() {",
        "if (probing.share.at_least(ERRORS) <= ALONE || crate::off(\"alone\"))\n            && (!probing.rival.is_there() || crate::off(\"known\"))\n        {",
    ),
    (
        "lib.rs",
        "#![forbid(unsafe_code)]",
        "#![forbid(unsafe_code)]\n\n/// Whether the environment asks to leave out this rule.\npub(crate) fn off(rule: &str) -> bool {\n    static OFF: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| std::env::var(\"PCC_OFF\").unwrap_or_default());\n    OFF.split(',').any(|off| off == rule)\n}",
    ),
];

/// The text of a file of the core with `to` for `from`.
///
/// Errors: what stands there not exactly once, so that the law has moved on.
pub(crate) fn replaced(file: &str, text: &str, from: &str, to: &str) -> Result<String, String> {
    match text.matches(from).count() {
        1 => Ok(text.replace(from, to)),
        times => Err(format!("{file} has `{from}` {times} times, not once: mend crates/sweeps/src/sweep/switches.rs")),
    }
}
