//! The switches of `sweep parts` fit the law.

#[path = "../examples/sweep/switches.rs"]
mod switches;

#[test]
fn every_switch_finds_its_place_in_the_law() {
    let core = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src");
    for (file, ..) in switches::SWITCHES {
        let text = std::fs::read_to_string(core.join(file)).unwrap();
        switches::switched(file, &text).unwrap();
    }
}
