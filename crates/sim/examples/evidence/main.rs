//! How sure each law is of its direction, and how soon: the page `docs/evidence.md`.
//!
//! `cargo run --release -p pcc-sim --example evidence >docs/evidence.md`
//!
//! Virtual time: the same figures on every machine.
#![allow(clippy::print_stdout, clippy::disallowed_types, reason = "it prints, and an observer is shared")]

mod passage;
mod table;

use std::process::ExitCode;

fn main() -> ExitCode {
    match table::page() {
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
