//! The sessions with `pcc-lab` in the documentation for users work as they are written there.
#![cfg(target_os = "linux")]

#[path = "../../cli/tests/sessions/mod.rs"]
mod sessions;

#[test]
fn every_session_with_the_instruments_works_as_written() {
    sessions::work(env!("CARGO_BIN_EXE_pcc-lab"), |script| script.contains("pcc-lab "));
}
