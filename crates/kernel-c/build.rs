//! Compiles `kernel/` as a library. Where debug assertions are on, what C does not define traps.

use std::env;

fn main() {
    let kernel = "../../kernel";
    println!("cargo:rerun-if-changed={kernel}");
    let mut build = cc::Build::new();
    build.file(format!("{kernel}/tests/library.c")).std("gnu11").opt_level(2).warnings(true).extra_warnings(true);
    if env::var_os("CARGO_FEATURE_MODULE").is_some() {
        build.define("MONITOR_INTERVALS", "32");
    }
    if env::var_os("CARGO_CFG_DEBUG_ASSERTIONS").is_some() {
        build.flag_if_supported("-fsanitize=undefined").flag_if_supported("-fsanitize-undefined-trap-on-error");
    }
    build.compile("pcc_kernel_c");
}
