//! A formula as BPF instructions: what `pcc_run` of `kernel/program.h` does with its program, without an interpreter.
//!
//! The operators are the kernel's own functions, called in the program's order, so results equal the interpreter's to the last
//! bit. Values live in `struct pcc_machine`, and constants in the program: the same code serves every value of a parameter.

use crate::program::{FIRST_OPERATOR, Program, Step};
use core::mem::{offset_of, size_of};
use pcc::utility::expression::MOST_OPS;

const BUILT_IN: usize = offset_of!(Program, built_in);
const OPS: usize = offset_of!(Program, ops);
const OP_SIZE: usize = size_of::<Step>();
const VALUE: i16 = offset_of!(Step, value) as i16;
/// Offsets within `struct pcc_machine`.
const STACK: i16 = 256;
const SLOTS: i16 = 384;
/// `PCC_WRITTEN`.
const WRITTEN: u32 = 255;
/// Codes of operations, `enum pcc_code`.
const PUSH: u32 = 0;
const LOAD: u32 = 1;
const SET: u32 = 2;
const GET: u32 = 3;
const NEGATE: u32 = FIRST_OPERATOR;
const ADD: u32 = 5;
const SUBTRACT: u32 = 6;
const MULTIPLY: u32 = 7;
const DIVIDE: u32 = 8;
const ABSOLUTE: u32 = 12;
const EXPONENTIAL: u32 = 13;
const LOGARITHM: u32 = 14;
const ROOT: u32 = 15;
const SIGMOID: u32 = 16;
const NOT: u32 = 21;
const KNOWN: u32 = 24;
const IF: u32 = 25;

/// Registers. Functions keep those from 6 on.
const MACHINE: u8 = 6;
const PROGRAM: u8 = 7;
/// Twice the bits of infinity: what is less, doubled, is finite whatever its sign.
const INFINITE: u8 = 8;
const UNKNOWN: u8 = 9;

/// The instructions' operations, linux/bpf.h.
const LOAD_WORD: u8 = 0x79;
const STORE_WORD: u8 = 0x7b;
const MOVE: u8 = 0xbf;
const MOVE_CONSTANT: u8 = 0xb7;
const SHIFT_LEFT: u8 = 0x67;
const SHIFT_RIGHT: u8 = 0x77;
const XOR: u8 = 0xaf;
const JUMP_IF_LESS: u8 = 0xad;
const JUMP_IF_EQUAL: u8 = 0x15;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;

/// Code of a formula, and the functions that it calls, by the places of the calls.
#[derive(Default)]
pub struct Code {
    /// Instructions of eight bytes, in this machine's byte order.
    pub instructions: Vec<[u8; 8]>,
    /// The instructions that call a function of the object.
    pub calls: Vec<(usize, &'static str)>,
}

fn word(program: &[u8], at: usize) -> u32 {
    program.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

/// Codes and indices of a program's operations.
fn operations(program: &[u8]) -> impl Iterator<Item = (u32, u32)> {
    let length = (word(program, 0) as usize).min(program.len().saturating_sub(OPS) / OP_SIZE).min(MOST_OPS);
    (0..length).map(|op| OPS + op * OP_SIZE).map(|at| (word(program, at), word(program, at + 4)))
}

/// By which a formula is told from others, whatever values it pushes; 0 for `fair`, which has code of its own.
pub fn digest(program: &[u8]) -> u64 {
    if word(program, BUILT_IN) != 0 {
        return 0;
    }
    let mut shape = blake3::Hasher::new();
    for (code, index) in operations(program) {
        shape.update(&code.to_ne_bytes()).update(&index.to_ne_bytes());
    }
    shape.finalize().as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The program as the kernel has it where the code of a formula of this digest is: it runs that instead of the program's operations.
pub fn marked(program: &[u8], written: u64) -> Vec<u8> {
    let mut marked = program.to_vec();
    if let Some(place) = marked.get_mut(BUILT_IN..BUILT_IN + 4).filter(|_| written != 0 && written == digest(program)) {
        place.copy_from_slice(&WRITTEN.to_ne_bytes());
    }
    marked
}

/// An operator's function in the object, the register of its first operand, and the number of operands.
fn call_of(code: u32) -> (&'static str, u8, u8) {
    let (function, first) = match code {
        ADD | SUBTRACT => ("n_add", 1),
        MULTIPLY => ("n_mul", 1),
        DIVIDE => ("n_div", 1),
        EXPONENTIAL => ("n_exp", 1),
        LOGARITHM => ("n_log", 1),
        ROOT => ("n_sqrt", 1),
        NEGATE | ABSOLUTE => ("", 0),
        _ => ("pcc_operate", 2),
    };
    let operands = match code {
        NEGATE | ABSOLUTE..=SIGMOID | NOT | KNOWN => 1,
        IF => 3,
        _ => 2,
    };
    (function, first, operands)
}

impl Code {
    /// The code of a valid program, `struct pcc_program`. For `fair`, whose code the kernel has, it has no result.
    ///
    /// Until the first call each instruction takes one place: lines of the source begin in some of these.
    pub fn of(program: &[u8]) -> Self {
        let mut code = Self::default();
        code.constant(UNKNOWN, 0x7ff8, 48);
        code.put(MOVE, 0, UNKNOWN, 0, 0);
        if digest(program) != 0 {
            code.body(program);
        }
        code.put(EXIT, 0, 0, 0, 0);
        code
    }

    fn body(&mut self, program: &[u8]) {
        self.constant(INFINITE, 0xffe, 52);
        self.put(MOVE, PROGRAM, 1, 0, 0);
        self.put(MOVE, MACHINE, 2, 0, 0);
        let checks = self.instructions.len();
        self.put(JUMP_IF_EQUAL, PROGRAM, 0, 0, 0);
        self.put(JUMP_IF_EQUAL, MACHINE, 0, 0, 0);
        let mut stack = Vec::new();
        let mut loaded = 0_u32;
        for (op, (code, index)) in operations(program).enumerate() {
            // As the interpreter does, it stays within whatever an invalid program says.
            let (index, slot) = (index & 31, SLOTS + (index & 15) as i16 * 8);
            let at = index as i16 * 8;
            match code {
                PUSH => stack.push((PROGRAM, (OPS + op * OP_SIZE) as i16 + VALUE)),
                LOAD => {
                    if loaded >> index & 1 == 0 {
                        self.load_defined(at);
                    }
                    loaded |= 1 << index;
                    stack.push((MACHINE, at));
                }
                SET => {
                    self.load(0, stack.pop());
                    self.put(STORE_WORD, MACHINE, 0, slot, 0);
                }
                GET => {
                    self.put(LOAD_WORD, 0, MACHINE, slot, 0);
                    self.push(&mut stack);
                }
                _ => self.apply(code, &mut stack),
            }
        }
        self.load(0, stack.pop());
        for check in [checks, checks + 1] {
            let to_exit = (self.instructions.len() - check - 1) as i16;
            self.instructions[check][2..4].copy_from_slice(&to_exit.to_ne_bytes());
        }
    }

    /// The measured value, or NaN if it is not finite: once for all operations that load it.
    fn load_defined(&mut self, at: i16) {
        self.put(LOAD_WORD, 0, MACHINE, at, 0);
        self.defined();
        self.put(STORE_WORD, MACHINE, 0, at, 0);
    }

    fn apply(&mut self, code: u32, stack: &mut Vec<(u8, i16)>) {
        let (function, first, operands) = call_of(code);
        for operand in (0..operands).rev() {
            self.load(first + operand, stack.pop());
        }
        match code {
            SUBTRACT => self.change_sign(2),
            NEGATE => self.change_sign(0),
            ABSOLUTE => {
                self.put(SHIFT_LEFT, 0, 0, 0, 1);
                self.put(SHIFT_RIGHT, 0, 0, 0, 1);
            }
            _ => {}
        }
        if function == "pcc_operate" {
            self.put(MOVE_CONSTANT, 1, 0, 0, code as i32);
            (operands..3).for_each(|operand| self.put(MOVE_CONSTANT, first + operand, 0, 0, 0));
        }
        if !function.is_empty() {
            self.calls.push((self.instructions.len(), function));
            self.put(CALL, 0, 1, 0, 0);
        }
        if function != "pcc_operate" {
            self.defined();
        }
        self.push(stack);
    }

    /// The result of an operation, as the next value on the stack.
    fn push(&mut self, stack: &mut Vec<(u8, i16)>) {
        let at = STACK + (stack.len() % 16) as i16 * 8;
        self.put(STORE_WORD, MACHINE, 0, at, 0);
        stack.push((MACHINE, at));
    }

    fn load(&mut self, register: u8, place: Option<(u8, i16)>) {
        match place {
            Some((base, at)) => self.put(LOAD_WORD, register, base, at, 0),
            None => self.put(MOVE, register, UNKNOWN, 0, 0),
        }
    }

    /// NaN for a result that is not finite.
    fn defined(&mut self) {
        self.put(MOVE, 1, 0, 0, 0);
        self.put(SHIFT_LEFT, 1, 0, 0, 1);
        self.put(JUMP_IF_LESS, 1, INFINITE, 1, 0);
        self.put(MOVE, 0, UNKNOWN, 0, 0);
    }

    fn change_sign(&mut self, register: u8) {
        self.constant(3, 1, 63);
        self.put(XOR, register, 3, 0, 0);
    }

    fn constant(&mut self, register: u8, bits: i32, places: i32) {
        self.put(MOVE_CONSTANT, register, 0, 0, bits);
        self.put(SHIFT_LEFT, register, 0, 0, places);
    }

    fn put(&mut self, operation: u8, to: u8, from: u8, offset: i16, constant: i32) {
        let registers = if cfg!(target_endian = "little") { from << 4 | to } else { to << 4 | from };
        let ([o0, o1], [c0, c1, c2, c3]) = (offset.to_ne_bytes(), constant.to_ne_bytes());
        self.instructions.push([operation, registers, o0, o1, c0, c1, c2, c3]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_what_is_no_program_ends_and_stays_within() {
        for byte in 0..=255 {
            let code = Code::of(&[byte; 5000].map(|byte| if byte % 3 == 0 { 0 } else { byte }));
            assert!(code.instructions.len() < 4096 && code.instructions.last().is_some_and(|last| last[0] == EXIT));
        }
        for length in 0..100 {
            let bytes: Vec<u8> = (0..length).map(|at| if at < BUILT_IN { 1 } else { 0 }).collect();
            assert_eq!(Code::of(&bytes).instructions.last().unwrap()[0], EXIT);
        }
    }

    #[test]
    fn a_program_is_marked_where_its_code_is_and_nowhere_else() {
        let x: Vec<u8> = [1, 1, 0, 0, 0, 0, LOAD, 0, 0, 0].into_iter().flat_map(u32::to_ne_bytes).collect();
        let marked_x = marked(&x, digest(&x));
        assert_eq!((word(&marked_x, BUILT_IN), &marked_x[20..]), (WRITTEN, &x[20..]));
        assert_eq!((marked(&x, 0), marked(&x, 1)), (x.clone(), x.clone()));
        let built_in: Vec<u8> = x.iter().enumerate().map(|(at, byte)| if at == BUILT_IN { 1 } else { *byte }).collect();
        assert_eq!((digest(&built_in), marked(&built_in, 0)), (0, built_in.clone()));
    }
}
