//! Any sequence of events, made up by libFuzzer, which keeps those that reach new code and mutates them.
#![no_main]

#[path = "../../tests/model/mod.rs"]
mod model;

libfuzzer_sys::fuzz_target!(|input: (model::Setup, Vec<model::Op>)| {
    let (setup, ops) = input;
    model::run(&setup, &ops);
});
