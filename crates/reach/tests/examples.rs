//! The example runs to its end.

#[path = "../examples/on_iroh.rs"]
mod on_iroh;

#[test]
fn one_line_gives_pcc_to_an_application_on_iroh() {
    on_iroh::main().unwrap();
}
