//! A utility as the kernel is told it: a program.

use pcc::utility::expression::{self, Op, Operator, Variable};
use pcc::utility::{Expression, built_in};
use std::sync::LazyLock;

/// `PCC_NEG`: where operators begin among the codes of operations.
pub const FIRST_OPERATOR: u32 = 4;

/// `struct pcc_op`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Step {
    /// `enum pcc_code`.
    pub code: u32,
    /// The number of a measurement, or of a slot.
    pub index: u32,
    /// The bits of the number that it pushes.
    pub value: u64,
}

/// `struct pcc_program`: a program that a kernel can run, in its layout.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Program {
    /// Number of steps.
    pub length: u32,
    /// The measurements that it loads, a bit each.
    pub loads: u32,
    /// The bits of [`pcc::utility::Utility::panic_loss`].
    pub panic_loss: u64,
    /// Which code the kernel has of it; 0 for none.
    pub built_in: u32,
    /// Zero.
    pub reserved: u32,
    /// Zero behind the last step.
    pub ops: [Step; expression::MOST_OPS],
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
    /// The program that a utility's text became. The kernel's check passes all of them.
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
                    Step { code: FIRST_OPERATOR + place(&Operator::ALL, &operator), index: 0, value: 0 }
                }
            };
        }
        let (length, panic_loss) = (program.ops().len() as u32, program.panic_loss().to_bits());
        Self { length, loads, panic_loss, built_in: is_fair(program).into(), reserved: 0, ops: steps }
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
}

fn place<T: PartialEq>(all: &[T], one: &T) -> u32 {
    all.iter().position(|other| other == one).map_or(u32::MAX, |place| place as u32)
}
