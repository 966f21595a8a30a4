//! Prints the C header of libpcc: `cargo run --manifest-path crates/capi/header/Cargo.toml > crates/capi/include/pcc.h`.

use cbindgen::{Builder, Config, EnumConfig, ExportConfig, Language, RenameRule, Style};

const BEGINNING: &str = "\
/* libpcc: PCC decides how fast to send by measuring what each rate achieved.
 *
 * A transport makes one sender for each path, tells it of each packet, and sends at pcc_rate() while pcc_bytes_in_flight() is
 * below pcc_congestion_window(). The library does no I/O and reads no clock: time is an argument, in nanoseconds. It
 * allocates memory in pcc_new(), and later only when more packets are in flight than ever before.
 *
 * Written by crates/capi/header; do not edit. */";

fn main() {
    let names = [
        ("Sender", "pcc"),
        ("PccConfig", "pcc_config"),
        ("PccLimit", "pcc_limit"),
        ("PccRtt", "pcc_rtt_times"),
        ("PccStatus", "pcc_status"),
    ];
    let export = ExportConfig {
        rename: names.map(|(rust, c)| (rust.to_owned(), c.to_owned())).into(),
        include: names.map(|(rust, _)| rust.to_owned()).into(),
        ..ExportConfig::default()
    };
    let config = Config {
        language: Language::C,
        style: Style::Tag,
        header: Some(BEGINNING.to_owned()),
        include_guard: Some("PCC_H".to_owned()),
        cpp_compat: true,
        documentation: true,
        usize_is_size_t: true,
        export,
        enumeration: EnumConfig { rename_variants: RenameRule::ScreamingSnakeCase, ..EnumConfig::default() },
        ..Config::default()
    };
    let source = |file: &str| format!("{}/../src/{file}", env!("CARGO_MANIFEST_DIR"));
    let builder = Builder::new().with_config(config).with_src(source("sender.rs")).with_src(source("lib.rs"));
    let mut header = Vec::new();
    builder.generate().expect("the sources can be read").write(&mut header);
    print!("{}", for_c(&String::from_utf8(header).expect("UTF-8")));
}

/// Rust's sections on safety repeat what a C programmer takes for granted, and C has no links to functions.
fn for_c(header: &str) -> String {
    let mut text = String::new();
    let mut is_safety = false;
    for line in header.lines() {
        let line = line.replace("[`", "").replace("`]", "()");
        is_safety = line.ends_with("* # Safety") || is_safety && !line.ends_with("*/");
        if !is_safety {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text.replace(" *\n */", " */")
}
