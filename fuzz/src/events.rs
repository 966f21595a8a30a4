//! Any sequence of events, made up by libFuzzer, which keeps those that reach new code and mutates them.
#![no_main]

#[path = "../../crates/core/tests/model/mod.rs"]
mod model;

/// Some forty intervals. Without a bound a fuzzer, which likes large numbers, spends its time on 2000 packets a run that
/// show it nothing new, and in equal time covers less.
const MOST_TRANSFERRED: u32 = 600;

libfuzzer_sys::fuzz_target!(|input: (model::Setup, Vec<model::Op>)| {
    let (setup, ops) = input;
    model::run(&setup, &ops, MOST_TRANSFERRED);
});
