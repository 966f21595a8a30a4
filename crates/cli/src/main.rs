//! The pcc tool.
fn main() {}
