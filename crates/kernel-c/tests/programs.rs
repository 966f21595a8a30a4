//! `kernel/programs.h` holds the built-in utilities as programs. `PCC_KERNEL_WRITE=1` writes it anew.
#![cfg(target_os = "linux")]

use pcc::utility::expression::{self, Op, Operator, Variable};
use pcc::utility::{Expression, UtilityInfo, built_in, by_name};
use pcc_kernel_c::Program;
use std::fmt::Write;

/// The measurements' names in `kernel/program.h` and `kernel/report.h`.
const MEASUREMENTS: [&str; 17] = [
    "X",
    "THROUGHPUT",
    "LOSS",
    "OWN_LOSS",
    "MARKS",
    "RTT",
    "RTT_LEAST",
    "RTT_BASE",
    "QUEUE",
    "GROWTH",
    "SIGMA",
    "RESIDUAL",
    "DURATION",
    "PREV_X",
    "PREV_THROUGHPUT",
    "PREV_LOSS",
    "PREV_RTT",
];

fn written(op: &Op) -> String {
    match *op {
        Op::Push(value) => format!("{{ PCC_PUSH, 0, {:#x} /* {value:?} */ }},", value.to_bits()),
        Op::Load(variable) => {
            let place = Variable::ALL.into_iter().position(|other| other == variable).unwrap();
            format!("{{ PCC_LOAD, PCC_{}, 0 }},", MEASUREMENTS[place])
        }
        Op::Set(slot) => format!("{{ PCC_SET, {slot}, 0 }},"),
        Op::Get(slot) => format!("{{ PCC_GET, {slot}, 0 }},"),
        Op::Apply(operator) => format!("{{ PCC_{}, 0, 0 }},", operator.word().to_uppercase()),
    }
}

/// The operations in lines of up to 92 letters.
fn lines(program: &expression::Program) -> String {
    let mut lines = vec![String::new()];
    for op in program.ops().iter().map(written) {
        if lines[lines.len() - 1].len() + op.len() > 75 {
            lines.push(String::new());
        }
        let line = lines.last_mut().unwrap();
        *line += if line.is_empty() { "" } else { " " };
        *line += &op;
    }
    lines.iter().fold(String::new(), |text, line| text + "\t\t" + line + " \\\n")
}

fn header() -> String {
    let program = |about: &UtilityInfo| about.text.parse::<Expression>().unwrap().program().clone();
    let fair = program(built_in().find(|about| about.name == "fair").unwrap());
    let loads = Variable::ALL.iter().enumerate().filter(|(_, one)| fair.ops().contains(&Op::Load(**one)));
    let loads = loads.fold(0_u32, |loads, (place, _)| loads | 1 << place);
    let (length, panic_loss) = (fair.ops().len(), fair.panic_loss());
    let mut text = "/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */\n\
        /* The built-in utilities as programs; crates/core/src/utility has them as formulas. Written\n \
        * by `PCC_KERNEL_WRITE=1 cargo test -p pcc-kernel-c --test programs`.\n */\n\
        #ifndef PCC_PROGRAMS_H\n#define PCC_PROGRAMS_H\n\n#include \"program.h\"\n\n\
        #define PCC_UTILITY_FAIR { \\\n"
        .to_owned();
    writeln!(text, "\t.length = {length}, .loads = {loads:#x}, .built_in = PCC_IS_FAIR, \\").unwrap();
    writeln!(text, "\t.panic_loss = {:#x}, /* {panic_loss:?} */ \\", panic_loss.to_bits()).unwrap();
    writeln!(text, "\t.ops = {{ \\\n{}\t}}, \\\n}}", lines(&fair)).unwrap();
    text += "\n#ifdef __KERNEL__\n/* Those that need no parameter, as text.h reads them. */\n\
        static const struct {\n\tconst char *name;\n\tconst char *program;\n} pcc_utilities[] = {\n";
    for about in built_in().filter(|about| by_name(about.name).is_some()) {
        writeln!(text, "\t{{ \"{}\",\n\t  \"{}\"\n\t}},", about.name, program(about)).unwrap();
    }
    text + "};\n#endif\n\n#endif\n"
}

#[test]
fn the_built_in_utilities_are_those_of_the_core() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernel/programs.h");
    if std::env::var_os("PCC_KERNEL_WRITE").is_some() {
        std::fs::write(path, header()).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default().replace("\r\n", "\n");
    assert!(found == header(), "{path} is not what the utilities' texts say; write it anew with PCC_KERNEL_WRITE=1");
    assert_eq!(Operator::ALL.len(), 22, "an operator more or less: kernel/program.h has them by place");
}

#[test]
fn what_core_writes_down_kernel_reads_as_same_program() {
    let texts =
        ["x*1e-7 - L*123456789012345.0 + 1e22*marks", "x - 0.1*0.30000000000000004*L*x", "-x*2.5e-11 + 17.0*g*x"];
    let texts = built_in().map(|about| about.text).chain(texts);
    for text in texts {
        let utility = text.parse::<Expression>().unwrap_or_else(|error| panic!("{text}: {error}"));
        let listing = utility.program().to_string();
        assert_eq!(Program::read(&listing), Some(Program::new(utility.program())), "{listing}");
        assert_eq!(Program::read(&format!("\t {} \n", listing.replace(' ', " \r\n"))), Program::read(&listing));
    }
}

#[test]
fn a_text_that_is_no_program_the_kernel_refuses() {
    for text in [
        "",
        "fair",
        "pcc-utility/1",
        "pcc-utility/2 panic_loss=0.5 x",
        "pcc-utility/1 panic_loss= x",
        "pcc-utility/1 panic_loss=1.5 x",
        "pcc-utility/1 panic_loss=0.5",
        "pcc-utility/1 panic_loss=0.5 x L",
        "pcc-utility/1 panic_loss=0.5 x mul",
        "pcc-utility/1 panic_loss=0.5 X",
        "pcc-utility/1 panic_loss=0.5 xx",
        "pcc-utility/1 panic_loss=0.5 get0",
        "pcc-utility/1 panic_loss=0.5 x set16 get16",
        "pcc-utility/1 panic_loss=0.5 x set18446744073709551617 get1",
        "pcc-utility/1 panic_loss=0.5 x set get",
        "pcc-utility/1 panic_loss=0.5 1e309",
        "pcc-utility/1 panic_loss=0.5 NaN",
        "pcc-utility/1 panic_loss=0.5 .",
        "pcc-utility/1 panic_loss=0.5 1e",
        "pcc-utility/1 panic_loss=0.5 1-1",
        "pcc-utility/1 panic_loss=0.5 --1",
    ] {
        assert_eq!(Program::read(text), None, "{text}");
        assert!(text.parse::<pcc::utility::expression::Program>().is_err(), "{text}");
    }
    let long = format!("pcc-utility/1 panic_loss=0.5 x{}", " x add".repeat(128));
    assert_eq!(Program::read(&long), None);
    assert!(Program::read(&long[..long.len() - 6]).is_some(), "256 operations and no more");
    assert_eq!(Program::bad_word(&long), None, "its 257th word is a word");
    assert_eq!(Program::bad_word("pcc-utility/1 panic_loss=0.5 x times"), Some("times"));
    assert_eq!(Program::bad_word("pcc-utility/1 panic_loss=0.5 x mul"), None);
    let deep =
        |values: usize| format!("pcc-utility/1 panic_loss=0.5{}{}", " x".repeat(values), " add".repeat(values - 1));
    assert_eq!((Program::read(&deep(16)).is_some(), Program::read(&deep(17))), (true, None));
}
