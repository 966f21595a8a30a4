//! Each rule of the default law left out by itself: the page `docs/sweeps/parts.md`.
//!
//! The law has no switches. `switches.rs` puts them into a copy, where a variable of the environment turns one off.
#![expect(clippy::print_stderr, reason = "it says how far it is")]

use crate::ascent::CASES;
use crate::copy::{Copy, Program, root};
use crate::measure::names;
use crate::page::moves;

/// The variable that names the rule to leave out.
pub(crate) const OFF: &str = "PCC_OFF";

/// The rules that `switches.rs` switches, and the law without each.
const PARTS: [(&str, &str); 19] = [
    ("trains", "Start-up only doubles; no train measures the bottleneck's rate."),
    ("drain", "Probing begins at once after start-up; the queue of start-up does not drain first."),
    ("test", "No pair at half of the rate asks whether a standing delay is a queue or the path's."),
    ("asks", "No pair at half of the rate asks whether losses or marks answer to the rate."),
    ("free", "Losses and marks that certainly do not answer to the rate keep their price."),
    ("own-loss", "All losses are random."),
    ("random-loss", "All losses are the sender's own."),
    ("overflow", "A loss is no second reading of the capacity."),
    ("errors", "Each pair counts in full, whatever its error."),
    ("scatter", "The scatter of capacity readings does not count as their error."),
    ("noise", "The queueing delay counts in full, whatever its noise."),
    ("doubt", "A queue within the noise of a radio ends the growth of the headroom."),
    ("clumps", "The length of a probe does not grow with the noise of the RTT."),
    ("headroom", "Steps up do not double while everything is carried: each is one ε."),
    ("news", "A pair that left before the last increase may raise the capacity."),
    ("unused", "The capacity is remembered however long the rate stays below it."),
    ("on-its-way", "Probes in flight are not foreseen."),
    ("price", "Only the momentary queue has a price, not the mean queue."),
    ("rival", "No floor is put under the rate beside a sender that fills the queue."),
];

const HEAD: &str = "\
# What each rule of the law is worth

One rule is left out at a time, from the first packet on. Made by

```sh
cargo run --release -p pcc-sim --example sweep parts >docs/sweeps/parts.md
```

The command changes a copy of the workspace (`crates/sim/examples/sweep/switches.rs`); the law itself has no switches.
The cases and seeds are those of [ascent.md](ascent.md). A table has the figures that a rule moves: out of the range of the whole
law's four seeds by half of that range, and by a hundredth; these are bold. `pcc sim score` has more cases than this page.
";

/// A `sweep` whose law leaves out the rule that [`OFF`] names.
pub(crate) fn program() -> Result<Program, String> {
    let copy = Copy::of(&root()?, "parts")?;
    copy.switch()?;
    copy.build()
}

/// The whole page.
pub(crate) fn page() -> Result<String, String> {
    let program = program()?;
    let (names, cases) = (names(&CASES), ("figures", CASES.as_slice()));
    let whole = program.ask(cases, OFF, "")?;
    let mut text = vec![HEAD.to_owned()];
    for (part, what) in PARTS {
        eprintln!("without {part}");
        let found = program.ask(cases, OFF, part)?;
        text.push(format!("## {part}\n\n{what}\n"));
        text.push(format!("{}\n", moves(&names, ("with", &whole), &[("without", &found)])));
    }
    Ok(text.join("\n").trim_end().to_owned())
}
