//! A utility's program in the form in which a kernel takes it.

use crate::report::Report;
use pcc::units::Rate;
use pcc::utility::expression::{self, Op, Operator, Variable};
use pcc::utility::{Expression, Outlook, built_in};
use std::sync::LazyLock;

/// `PCC_NEG`: where operators begin among the codes of operations.
pub(crate) const FIRST_OPERATOR: usize = 4;

unsafe extern "C" {
    fn pcc_lib_check(program: *const Program) -> i32;
    fn pcc_lib_read(program: *mut Program, text: *const u8, length: u32) -> i32;
    fn pcc_lib_bad_word(text: *const u8, length: u32, word: *mut u32) -> u32;
    fn pcc_lib_run(program: *const Program, measured: *const u64) -> u64;
    fn pcc_lib_utility(program: *const Program, report: *const Report) -> u64;
    fn pcc_lib_interpret(program: *const Program, report: *const Report) -> u64;
    fn pcc_lib_best_response(program: *const Program, outlook: *const [u64; 9]) -> u64;
}

/// `struct pcc_op`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Step {
    pub(crate) code: u32,
    pub(crate) index: u32,
    pub(crate) value: u64,
}

/// `struct pcc_program`: a program that a kernel can run, in its layout.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Program {
    pub(crate) length: u32,
    pub(crate) loads: u32,
    pub(crate) panic_loss: u64,
    pub(crate) built_in: u32,
    pub(crate) reserved: u32,
    pub(crate) ops: [Step; expression::MOST_OPS],
}

/// `fair`, which the kernel has code of: `PCC_IS_FAIR`.
static FAIR: LazyLock<Option<expression::Program>> = LazyLock::new(|| {
    let text = built_in().find(|about| about.name == "fair")?.text;
    Some(text.parse::<Expression>().ok()?.program().clone())
});

/// Whether it is `fair`, but for the values that it pushes.
fn is_fair(program: &expression::Program) -> bool {
    let alike = |(one, other): (&Op, &Op)| one == other || matches!((one, other), (Op::Push(_), Op::Push(_)));
    let ops = program.ops();
    FAIR.as_ref().is_some_and(|fair| fair.ops().len() == ops.len() && ops.iter().zip(fair.ops()).all(alike))
}

impl Program {
    /// The program that a utility's text became.
    pub fn new(program: &expression::Program) -> Self {
        let mut steps = [Step::default(); expression::MOST_OPS];
        let mut loads = 0;
        for (step, op) in steps.iter_mut().zip(program.ops()) {
            *step = match *op {
                Op::Push(value) => Step { code: 0, index: 0, value: value.to_bits() },
                Op::Load(variable) => {
                    let index = place(&Variable::ALL, &variable);
                    loads |= 1 << index;
                    Step { code: 1, index, value: 0 }
                }
                Op::Set(slot) => Step { code: 2, index: slot.into(), value: 0 },
                Op::Get(slot) => Step { code: 3, index: slot.into(), value: 0 },
                Op::Apply(operator) => {
                    Step { code: FIRST_OPERATOR as u32 + place(&Operator::ALL, &operator), index: 0, value: 0 }
                }
            };
        }
        let (length, panic_loss) = (program.ops().len() as u32, program.panic_loss().to_bits());
        Self { length, loads, panic_loss, built_in: is_fair(program).into(), reserved: 0, ops: steps }
    }

    /// The program that the kernel reads from its text, if it is one.
    pub fn read(text: &str) -> Option<Self> {
        let ops = [Step::default(); expression::MOST_OPS];
        let mut program = Self { length: 0, loads: 0, panic_loss: 0, built_in: 0, reserved: 0, ops };
        let length = u32::try_from(text.len()).ok()?;
        // SAFETY: the structure is laid out as C has it, and both live through the call.
        let invalid = unsafe { pcc_lib_read(&raw mut program, text.as_ptr(), length) };
        (invalid == 0).then_some(program)
    }

    /// The word of a text that keeps the kernel from reading it as a program, if it is one word's fault.
    pub fn bad_word(text: &str) -> Option<&str> {
        let (length, mut word) = (u32::try_from(text.len()).ok()?, 0);
        // SAFETY: all live through the call.
        let at = unsafe { pcc_lib_bad_word(text.as_ptr(), length, &raw mut word) } as usize;
        text.get(at..at.checked_add(word as usize)?)
    }

    /// As it lies in the kernel's memory.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(size_of::<Self>());
        bytes.extend(self.length.to_ne_bytes());
        bytes.extend(self.loads.to_ne_bytes());
        bytes.extend(self.panic_loss.to_ne_bytes());
        bytes.extend(self.built_in.to_ne_bytes());
        bytes.extend(self.reserved.to_ne_bytes());
        for step in &self.ops {
            bytes.extend(step.code.to_ne_bytes());
            bytes.extend(step.index.to_ne_bytes());
            bytes.extend(step.value.to_ne_bytes());
        }
        bytes
    }

    /// Whether the kernel's own check finds nothing wrong with it.
    pub fn is_valid(&self) -> bool {
        // SAFETY: the structure is laid out as C has it, and lives through the call.
        unsafe { pcc_lib_check(self) == 0 }
    }

    /// Its bytes with this one changed, to see what the kernel makes of it.
    #[must_use]
    pub fn damaged(&self, byte: usize, by: u8) -> Self {
        let mut damaged = self.clone();
        let words = damaged.ops.len() + 2;
        let (word, part) = (byte / 16 % words, byte % 16);
        let flip = |value: u64, at: usize| value ^ (u64::from(by) << (8 * at));
        if word == words - 1 {
            damaged.built_in ^= u32::from(by);
            return damaged;
        }
        match (word.checked_sub(1).and_then(|op| damaged.ops.get_mut(op)), part) {
            (None, 0..4) => damaged.length = flip(damaged.length.into(), part) as u32,
            (None, 4..8) => damaged.loads = flip(damaged.loads.into(), part - 4) as u32,
            (None, _) => damaged.panic_loss = flip(damaged.panic_loss, part - 8),
            (Some(op), 0..4) => op.code = flip(op.code.into(), part) as u32,
            (Some(op), 4..8) => op.index = flip(op.index.into(), part - 4) as u32,
            (Some(op), _) => op.value = flip(op.value, part - 8),
        }
        damaged
    }

    /// What the kernel's interpreter makes of these measurements; NaN for one says that it is not known, NaN as the result
    /// that the utility is not defined.
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
        let Outlook { capacity, lowest, highest, queue, longest, horizon, lost, marked, full } = *outlook;
        let outlook = [capacity, lowest, highest, queue, longest, horizon, lost, marked, full].map(f64::to_bits);
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

fn place<T: PartialEq>(all: &[T], one: &T) -> u32 {
    all.iter().position(|other| other == one).map_or(u32::MAX, |place| place as u32)
}
