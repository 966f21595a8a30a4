//! A utility's program, as the kernel's C runs it.

use crate::report::Report;
use core::ops::Deref;
use pcc::units::Rate;
use pcc::utility::Outlook;
use pcc::utility::expression::{self, Variable};
use pcc_bpf::program::{self, Step};

unsafe extern "C" {
    fn pcc_lib_read(program: *mut program::Program, text: *const u8, length: u32) -> i32;
    fn pcc_lib_bad_word(text: *const u8, length: u32, word: *mut u32) -> u32;
    fn pcc_lib_run(program: *const Program, measured: *const u64) -> u64;
    fn pcc_lib_utility(program: *const Program, report: *const Report) -> u64;
    fn pcc_lib_interpret(program: *const Program, report: *const Report) -> u64;
    fn pcc_lib_best_response(program: *const Program, outlook: *const [u64; 8]) -> u64;
}

/// A program in the kernel's layout, which the kernel's C can run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Program(program::Program);

impl Deref for Program {
    type Target = program::Program;

    fn deref(&self) -> &program::Program {
        &self.0
    }
}

impl Program {
    /// The program that a utility's text became.
    pub fn new(program: &expression::Program) -> Self {
        Self(program::Program::new(program))
    }

    /// The program that the kernel reads from its text, if it is one.
    pub fn read(text: &str) -> Option<Self> {
        let ops = [Step::default(); expression::MOST_OPS];
        let mut program = program::Program { length: 0, loads: 0, panic_loss: 0, built_in: 0, reserved: 0, ops };
        let length = u32::try_from(text.len()).ok()?;
        // SAFETY: the structure is laid out as C has it, and both live through the call.
        let invalid = unsafe { pcc_lib_read(&raw mut program, text.as_ptr(), length) };
        (invalid == 0).then_some(Self(program))
    }

    /// The word of a text that keeps the kernel from reading it as a program, if it is one word's fault.
    pub fn bad_word(text: &str) -> Option<&str> {
        let (length, mut word) = (u32::try_from(text.len()).ok()?, 0);
        // SAFETY: all live through the call.
        let at = unsafe { pcc_lib_bad_word(text.as_ptr(), length, &raw mut word) } as usize;
        text.get(at..at.checked_add(word as usize)?)
    }

    /// Its bytes with this one changed, to see what the kernel makes of it.
    #[must_use]
    pub fn damaged(&self, byte: usize, by: u8) -> Self {
        let mut damaged = self.0.clone();
        let words = damaged.ops.len() + 2;
        let (word, part) = (byte / 16 % words, byte % 16);
        let flip = |value: u64, at: usize| value ^ (u64::from(by) << (8 * at));
        if word == words - 1 {
            damaged.built_in ^= u32::from(by);
            return Self(damaged);
        }
        match (word.checked_sub(1).and_then(|op| damaged.ops.get_mut(op)), part) {
            (None, 0..4) => damaged.length = flip(damaged.length.into(), part) as u32,
            (None, 4..8) => damaged.loads = flip(damaged.loads.into(), part - 4) as u32,
            (None, _) => damaged.panic_loss = flip(damaged.panic_loss, part - 8),
            (Some(op), 0..4) => op.code = flip(op.code.into(), part) as u32,
            (Some(op), 4..8) => op.index = flip(op.index.into(), part - 4) as u32,
            (Some(op), _) => op.value = flip(op.value, part - 8),
        }
        Self(damaged)
    }

    /// The result of the kernel's interpreter for these measurements. A measurement of NaN is not known, a result of NaN not
    /// defined.
    pub fn run(&self, measure: impl Fn(Variable) -> f64) -> f64 {
        let measured = Variable::ALL.map(|variable| measure(variable).to_bits());
        // SAFETY: both live through the call; C reads as many measurements as there are variables.
        f64::from_bits(unsafe { pcc_lib_run(self, measured.as_ptr()) })
    }

    /// Whether the kernel has code of its own for it.
    pub fn has_code(&self) -> bool {
        self.built_in != 0
    }

    /// The utility of a report as the interpreter has it, though the kernel may have other code for it.
    pub fn interpret(&self, report: &Report) -> f64 {
        // SAFETY: both live through the call.
        f64::from_bits(unsafe { pcc_lib_interpret(self, report) })
    }

    /// As [`pcc::utility::Utility::best_response`].
    pub fn best_response(&self, outlook: &Outlook) -> Option<Rate> {
        let Outlook { capacity, lowest, highest, queue, horizon, lost, marked, full } = *outlook;
        let outlook = [capacity, lowest, highest, queue, horizon, lost, marked, full].map(f64::to_bits);
        // SAFETY: both live through the call, and `struct pcc_outlook` is these numbers in this order.
        let rate = f64::from_bits(unsafe { pcc_lib_best_response(self, &raw const outlook) });
        (!rate.is_nan()).then(|| Rate::from_bytes_per_sec(rate))
    }

    /// The utility of a report; NaN where it is not defined.
    pub fn evaluate(&self, report: &Report) -> f64 {
        // SAFETY: both live through the call.
        f64::from_bits(unsafe { pcc_lib_utility(self, report) })
    }
}
