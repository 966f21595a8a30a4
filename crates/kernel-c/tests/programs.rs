//! `kernel/programs.h` holds the built-in utilities as programs. `PCC_KERNEL_WRITE=1` writes it anew.

use pcc::utility::expression::{self, Op, Operator, Variable};
use pcc::utility::{Expression, UtilityInfo, built_in};
use pcc_kernel_c::Program;
use std::fmt::Write;

/// What `kernel/program.h` and `kernel/report.h` call these.
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
        Op::Push(value) => format!("{{ PCC_PUSH, 0, {:#x} }}, /* {value:?} */", value.to_bits()),
        Op::Load(variable) => {
            let place = Variable::ALL.into_iter().position(|other| other == variable).unwrap();
            format!("{{ PCC_LOAD, PCC_{}, 0 }},", MEASUREMENTS[place])
        }
        Op::Set(slot) => format!("{{ PCC_SET, {slot}, 0 }},"),
        Op::Get(slot) => format!("{{ PCC_GET, {slot}, 0 }},"),
        Op::Apply(operator) => format!("{{ PCC_{}, 0, 0 }},", operator.word().to_uppercase()),
    }
}

/// Names of a built-in utility's own in C.
fn name_in_c(about: &UtilityInfo) -> String {
    about.name.replace('-', "_")
}

/// The program as `struct pcc_program`.
fn data(about: &UtilityInfo, program: &expression::Program) -> String {
    let loads = Variable::ALL.iter().enumerate().filter(|(_, one)| program.ops().contains(&Op::Load(**one)));
    let loads = loads.fold(0_u32, |loads, (place, _)| loads | 1 << place);
    let (name, panic_loss) = (name_in_c(about).to_uppercase(), program.panic_loss());
    let mut text = format!("\n/* {} */\n#define PCC_UTILITY_{name} {{ \\\n", about.summary);
    writeln!(text, "\t.length = {}, \\", program.ops().len()).unwrap();
    writeln!(text, "\t.loads = {loads:#x}, \\").unwrap();
    writeln!(text, "\t.panic_loss = {:#x}, /* {panic_loss:?} */ \\", panic_loss.to_bits()).unwrap();
    writeln!(text, "\t.built_in = PCC_IS_{name}, \\").unwrap();
    writeln!(text, "\t.ops = {{ \\").unwrap();
    for op in program.ops() {
        writeln!(text, "\t\t{} \\", written(op)).unwrap();
    }
    text + "\t}, \\\n}\n"
}

/// The program as C: each place of the stack, each slot and each measurement is a variable. What it pushes is what the program
/// that it is given pushes there.
fn code(about: &UtilityInfo, program: &expression::Program) -> String {
    let (mut stack, mut deepest, mut slots, mut lines): (Vec<String>, _, _, _) = (Vec::new(), 0, 0, String::new());
    let named = |variable: &Variable| {
        let place = Variable::ALL.into_iter().position(|other| other == *variable).unwrap();
        (MEASUREMENTS[place].to_lowercase(), MEASUREMENTS[place])
    };
    for (place, op) in program.ops().iter().enumerate() {
        match op {
            Op::Push(_) => stack.push(format!("program->ops[{place}].value")),
            Op::Load(variable) => stack.push(named(variable).0),
            Op::Get(slot) => stack.push(format!("t{slot}")),
            Op::Set(slot) => {
                slots = slots.max(usize::from(*slot) + 1);
                writeln!(lines, "\tt{slot} = {};", stack.pop().unwrap()).unwrap();
            }
            Op::Apply(operator) => {
                let mut operands = stack.split_off(stack.len() - operator.operands());
                operands.resize(3, "N_ZERO".to_owned());
                let (to, word) = (format!("s{}", stack.len()), operator.word().to_uppercase());
                writeln!(lines, "\t{to} = pcc_apply(PCC_{word}, {});", operands.join(", ")).unwrap();
                stack.push(to);
                deepest = deepest.max(stack.len());
            }
        }
    }
    let loaded: Vec<_> =
        Variable::ALL.iter().filter(|one| program.ops().contains(&Op::Load(**one))).map(named).collect();
    let places = (0..deepest).map(|place| format!("s{place}")).chain((0..slots).map(|slot| format!("t{slot}")));
    let mut text = format!(
        "\nPCC_CALL pcc_num pcc_worth_{}(const struct pcc_program *program,\n\t\t\t\tconst struct pcc_report *report)\n{{\n",
        name_in_c(about)
    );
    for names in loaded.iter().map(|(name, _)| name.clone()).chain(places).collect::<Vec<_>>().chunks(8) {
        writeln!(text, "\tpcc_num {};", names.join(", ")).unwrap();
    }
    text += "\n\tPCC_NEEDS(program, N_UNKNOWN);\n\tPCC_NEEDS(report, N_UNKNOWN);\n";
    for (name, measurement) in loaded {
        writeln!(text, "\t{name} = pcc_defined(pcc_measurement(report, PCC_{measurement}));").unwrap();
    }
    text + &lines + &format!("\treturn {};\n}}\n", stack.pop().unwrap())
}

fn header() -> String {
    let all: Vec<_> =
        built_in().map(|about| (about, about.text.parse::<Expression>().unwrap().program().clone())).collect();
    let mut text = "/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */\n\
        /* The built-in utilities as programs, and as C; crates/core/src/utility/text has them as\n \
        * text. Written by `PCC_KERNEL_WRITE=1 cargo test -p pcc-kernel-c --test programs`.\n */\n\
        #ifndef PCC_PROGRAMS_H\n#define PCC_PROGRAMS_H\n\n#include \"program.h\"\n\n\
        enum pcc_built_in {\n\tPCC_IS_OF_A_USER,\n"
        .to_owned();
    for (about, _) in &all {
        writeln!(text, "\tPCC_IS_{},", name_in_c(about).to_uppercase()).unwrap();
    }
    text += "\tPCC_BUILT_INS\n};\n";
    for (about, program) in &all {
        text += &data(about, program);
        text += &code(about, program);
    }
    text += "\n/* What a report is worth to one of them; NaN where that is not defined. */\n\
        PCC_PART pcc_num pcc_built_in_worth(const struct pcc_program *program,\n\
        \t\t\t\t    const struct pcc_report *report)\n{\n\tswitch (program->built_in) {\n";
    for (about, _) in &all {
        let name = name_in_c(about);
        writeln!(text, "\tcase PCC_IS_{}:\n\t\treturn pcc_worth_{name}(program, report);", name.to_uppercase())
            .unwrap();
    }
    text += "\tdefault:\n\t\treturn N_UNKNOWN;\n\t}\n}\n\n#ifndef __bpf__\n\
        /* By enum pcc_built_in, to recognise them by. */\n\
        static const struct pcc_program pcc_built_ins[PCC_BUILT_INS] = {\n";
    for (about, _) in &all {
        let name = name_in_c(about).to_uppercase();
        writeln!(text, "\t[PCC_IS_{name}] = PCC_UTILITY_{name},").unwrap();
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
