//! How often each law moves the right way, and how soon: the page `docs/sweeps/evidence.md`.
//!
//! `cargo run --release -p pcc-sweeps --bin evidence >docs/sweeps/evidence.md`
//!
//! Virtual time: the same figures on every machine.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

mod passage;
#[path = "../stamp.rs"]
mod stamp;
mod table;

use std::process::ExitCode;

fn main() -> ExitCode {
    match table::page() {
        Ok(page) => {
            println!("{}", stamp::stamped(&page));
            ExitCode::SUCCESS
        }
        Err(problem) => {
            println!("{problem}");
            ExitCode::from(2)
        }
    }
}
