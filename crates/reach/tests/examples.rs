//! The example runs to its end.

#[path = "../examples/one_line.rs"]
mod one_line;

#[test]
fn one_line_gives_pcc_to_an_application_on_iroh() {
    one_line::main().unwrap();
}
