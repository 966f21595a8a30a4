//! The code that a formula becomes in the kernel (`crates/bpf/src/formula.rs`) gives what the interpreter gives.
#![cfg(target_os = "linux")]

use pcc::rng::Rng;
use pcc::utility::built_in;
use pcc::utility::expression::{self, Expression, Operator, Variable};
use pcc_bpf::formula::{Code, digest};
use pcc_kernel_c::Program;

/// The memory that the code is given: a program, then `struct pcc_machine`.
const MACHINE: usize = 8192;

/// The result of a function of the object.
fn call(name: &str, arguments: [u64; 4]) -> u64 {
    let [a, b, c, d] = arguments;
    let (operator, [a, b, c]) = match name {
        "n_add" => (1, [a, b, 0]),
        "n_mul" => (3, [a, b, 0]),
        "n_div" => (4, [a, b, 0]),
        "n_exp" => (9, [a, 0, 0]),
        "n_log" => (10, [a, 0, 0]),
        "n_sqrt" => (11, [a, 0, 0]),
        "pcc_operate" => (a as usize - 4, [b, c, d]),
        _ => panic!("{name}"),
    };
    let [a, b, c] = [a, b, c].map(f64::from_bits);
    pcc_kernel_c::apply(operator, a, b, c).to_bits()
}

/// The instructions that such code has, as the kernel runs them.
fn run(code: &Code, memory: &mut [u8]) -> u64 {
    let mut registers = [0_u64; 10];
    (registers[1], registers[2]) = (1, 1 + MACHINE as u64);
    let mut at = 0;
    loop {
        let [operation, both, o0, o1, constant @ ..] = code.instructions[at];
        let (to, from) = if cfg!(target_endian = "little") { (both & 15, both >> 4) } else { (both >> 4, both & 15) };
        let (to, from) = (to as usize, from as usize);
        let (offset, constant) = (i16::from_ne_bytes([o0, o1]), i32::from_ne_bytes(constant));
        let place = |base: u64| {
            let begin = (base as i64 + i64::from(offset) - 1) as usize;
            begin..begin + 8
        };
        match operation {
            0x79 => registers[to] = u64::from_ne_bytes(memory[place(registers[from])].try_into().unwrap()),
            0x7b => memory[place(registers[to])].copy_from_slice(&registers[from].to_ne_bytes()),
            0xbf => registers[to] = registers[from],
            0xb7 => registers[to] = i64::from(constant) as u64,
            0x67 => registers[to] <<= constant,
            0x77 => registers[to] >>= constant,
            0xaf => registers[to] ^= registers[from],
            0xad if registers[to] < registers[from] => at += offset as usize,
            0x15 if registers[to] == constant as u64 => at += offset as usize,
            0xad | 0x15 => {}
            0x85 => {
                let (_, name) = code.calls.iter().find(|(place, _)| *place == at).unwrap();
                registers[0] = call(name, registers[1..5].try_into().unwrap());
                // A function may leave anything in these.
                registers[1..6].fill(0xdead_beef);
            }
            0x95 => return registers[0],
            _ => panic!("{operation:#x}"),
        }
        at += 1;
    }
}

/// A measurement: often not known, or not finite.
fn measured(rng: &mut Rng) -> f64 {
    match rng.next_u64() % 8 {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => 0.0,
        3 => -(rng.next_u64() as f64) / 1e18,
        _ => (rng.next_u64() >> (rng.next_u64() % 64)) as f64 / 1e6,
    }
}

/// Compares both for some measurements; how often there was a result.
fn compare(program: &Program, rng: &mut Rng) -> u32 {
    // As if it were a user's, also if it is like a built-in utility.
    let mut bytes = program.bytes();
    bytes[16..20].fill(0);
    let code = Code::of(&bytes);
    let mut defined = 0;
    for _ in 0..50 {
        let values = Variable::ALL.map(|_| measured(rng));
        let expected = program.run(|variable| values[Variable::ALL.iter().position(|one| *one == variable).unwrap()]);
        let mut memory = bytes.clone();
        memory.resize(MACHINE, 0);
        memory.extend(values.iter().flat_map(|value| value.to_bits().to_ne_bytes()));
        // The machine's old content is no part of a result.
        memory.resize(MACHINE + 520, 0xa5);
        let got = f64::from_bits(run(&code, &mut memory));
        assert_eq!(got.to_bits(), expected.to_bits(), "{got} for {expected}: {program:?} of {values:?}");
        defined += u32::from(got.is_finite());
    }
    defined
}

#[test]
fn code_of_a_utility_gives_what_its_program_gives() {
    let mut rng = Rng::new(5);
    for text in built_in().map(|about| about.text) {
        let utility = text.parse::<Expression>().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(compare(&Program::new(utility.program()), &mut rng) > 0, "{text}");
    }
}

/// A program of any operations that has as many values as they take.
fn any_program(rng: &mut Rng) -> expression::Program {
    let mut draw = |below: usize| (rng.next_u64() % below as u64) as usize;
    let (mut words, mut held, mut set) = (vec!["pcc-utility/1 panic_loss=0.5 x".to_owned()], 1, Vec::new());
    for _ in 0..draw(120) {
        let operator = Operator::ALL[draw(Operator::ALL.len())];
        let (word, takes, gives) = match draw(6) {
            0 => (format!("{:?}", draw(100) as f64 / 7.0), 0, 1),
            1 => (Variable::ALL[draw(Variable::ALL.len())].names()[0].to_owned(), 0, 1),
            2 if held > 1 => {
                set.push(draw(16));
                (format!("set{}", set[set.len() - 1]), 1, 0)
            }
            3 if !set.is_empty() => (format!("get{}", set[draw(set.len())]), 0, 1),
            _ => (operator.word().to_owned(), operator.operands(), 1),
        };
        if takes <= held && held - takes + gives < 16 {
            held = held - takes + gives;
            words.push(word);
        }
    }
    let text = words.join(" ") + &" add".repeat(held - 1);
    text.parse().unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

#[test]
fn code_of_any_program_gives_what_the_program_gives() {
    let (mut rng, mut defined) = (Rng::new(6), 0);
    for _ in 0..2000 {
        defined += compare(&Program::new(&any_program(&mut rng)), &mut rng);
    }
    assert!(defined > 1000, "{defined}");
}

/// As long as programs can be.
fn longest() -> [String; 3] {
    [(" sigmoid", 255), (" x sub", 127), (" x x if", 85)]
        .map(|(words, times)| "pcc-utility/1 panic_loss=0.5 x".to_owned() + &words.repeat(times))
}

#[test]
fn the_kernel_reads_each_program_of_the_core() {
    let mut rng = Rng::new(7);
    let passes = |program: &expression::Program| Program::read(&program.to_string()) == Some(Program::new(program));
    for _ in 0..2000 {
        let program = any_program(&mut rng);
        assert!(passes(&program), "{program}");
    }
    let deepest = format!("pcc-utility/1 panic_loss=1{}{}", " x".repeat(16), " add".repeat(15));
    let slots = (0..16).map(|slot| format!(" x set{slot}")).collect::<String>();
    let most_slots = format!("pcc-utility/1 panic_loss=0{slots} get15");
    let without_sign = "pcc-utility/1 panic_loss=-0.0 -0.0".to_owned();
    for text in longest().into_iter().chain([deepest, most_slots, without_sign]) {
        assert!(passes(&text.parse().unwrap()), "{text}");
    }
    for about in built_in() {
        assert!(passes(about.text.parse::<Expression>().unwrap().program()), "{}", about.name);
    }
}

#[test]
fn code_of_the_longest_programs_has_room_in_the_object() {
    for text in longest() {
        let code = Code::of(&Program::new(&text.parse().unwrap()).bytes());
        assert!(code.instructions.len() < 2400, "{} instructions: {text}", code.instructions.len());
    }
}

#[test]
fn code_serves_all_values_of_a_formula_s_parameters() {
    let program = |text: &str| Program::new(text.parse::<Expression>().unwrap().program()).bytes();
    let [one, other, another] = ["x - 0.1*L*x", "x - 0.2*L*x", "x - 0.1*L*T"].map(program);
    assert!(digest(&one) == digest(&other) && digest(&one) != digest(&another));
    assert!(Code::of(&one).instructions == Code::of(&other).instructions);
}
