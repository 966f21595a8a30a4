//! The examples run to their end.

#[path = "../examples/exact.rs"]
mod exact;
#[path = "../examples/one_line.rs"]
mod one_line;

#[test]
fn one_line_gives_pcc_to_an_application() {
    one_line::main().unwrap();
}

#[test]
fn an_application_can_pace_exactly() {
    exact::main().unwrap();
}
