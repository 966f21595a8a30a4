//! Where a law's constants come from: each parameter varied around its default, over the paths that it matters for, and each
//! rule of the law left out.
//!
//! ```sh
//! cargo run --release -p pcc-sweeps --bin sweep ascent >docs/sweeps/ascent.md     # the whole page
//! cargo run --release -p pcc-sweeps --bin sweep constants >docs/sweeps/constants.md   # what nobody can set: hours
//! cargo run -p pcc-sweeps --bin sweep kept-constants     # the same page less what has changed since: at once
//! cargo run --release -p pcc-sweeps --bin sweep parts >docs/sweeps/parts.md       # each rule left out: half an hour
//! cargo run --release -p pcc-sweeps --bin sweep -- parts --groups                 # rules of a mechanism together
//! cargo run --release -p pcc-sweeps --bin sweep trains >docs/sweeps/trains.md     # start-up
//! cargo run --release -p pcc-sweeps --bin sweep allegro                          # its table; or vivace
//! cargo run --release -p pcc-sweeps --bin sweep links >docs/sweeps/links.md       # 60 radio links: PCC, what a queue may cost, BBR, CUBIC
//! cargo run --release -p pcc-sweeps --bin sweep crowd >docs/sweeps/crowd.md       # many senders, and one beside CUBIC
//! cargo run --release -p pcc-sweeps --bin sweep loss-tells >docs/sweeps/loss-tells.md   # what losses tell where a test does not
//! cargo run --release -p pcc-sweeps --bin sweep laws >docs/sweeps/laws.md         # each law by what is promised
//! cargo run --release -p pcc-sweeps --bin sweep bounds                           # what `pcc-lab sim score` must not fall behind
//! cargo run --release -p pcc-sweeps --bin sweep ascent epsilon=0.03 fair,level=0.01   # the defaults and these instead
//! ```
//!
//! Virtual time: the same figures on every machine.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

mod ascent;
mod bounds;
mod constants;
mod copy;
mod crowd;
mod each;
mod laws;
mod links;
mod loss_tells;
mod measure;
mod page;
mod papers;
mod parts;
mod paths;
mod rules;
#[path = "../stamp.rs"]
mod stamp;
mod switches;
#[cfg(test)]
mod tests;
mod trains;
mod turned;

use std::process::ExitCode;

const HELP: &str = "usage: sweep ascent|parts|constants|kept-constants|links|crowd|loss-tells|trains|allegro|vivace|laws|bounds [VARIANT..]; a variant is parameters of the law like epsilon=0.01, or a utility like \
                    fair,level=0.01";

fn main() -> ExitCode {
    let mut asked = std::env::args().skip(1);
    let law = asked.next();
    let variants: Vec<_> = asked.collect();
    let page = match law.as_deref() {
        Some("ascent") if variants.is_empty() => ascent::page().map(|page| stamp::stamped(&page)),
        Some("ascent") => ascent::table(&variants),
        Some("constants") => constants::page().map(|page| stamp::stamped(&page)),
        Some("kept-constants") => constants::kept(),
        Some("parts") => parts::page(&variants).map(|page| stamp::stamped(&page)),
        Some("figures") => constants::figures(&ascent::CASES),
        Some("part-figures") => paths::figures(seeds(&variants)).map(|all| measure::written(&all)),
        Some("train-figures") => constants::figures(&trains::CASES),
        Some("links") if variants.is_empty() => links::page().map(|page| stamp::stamped(&page)),
        Some("links") => links::table(&variants),
        Some("loss-tells") => loss_tells::page().map(|page| stamp::stamped(&page)),
        Some("loss-tells-figures") => constants::figures(&loss_tells::CASES),
        Some("crowd") => crowd::page().map(|page| stamp::stamped(&page)),
        Some("trains") => trains::page().map(|page| stamp::stamped(&page)),
        Some("laws") => laws::page().map(|page| stamp::stamped(&page)),
        Some("bounds") => bounds::table(&variants),
        Some("allegro") => papers::allegro(&variants).map(|table| stamp::stamped(&table)),
        Some("vivace") => papers::vivace(&variants).map(|table| stamp::stamped(&table)),
        _ => Err(HELP.to_owned()),
    };
    match page {
        Ok(page) => {
            println!("{page}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            println!("{problem}");
            ExitCode::from(2)
        }
    }
}

/// The number of seeds of which a copy is asked.
fn seeds(asked: &[String]) -> u64 {
    asked.first().and_then(|seeds| seeds.parse().ok()).unwrap_or(1)
}
