use super::operator::Operator;
use super::variable::Variable;

/// The most operations of a program.
pub const MOST_OPS: usize = 256;
/// The most values that its stack holds at once.
pub const MOST_DEPTH: usize = 16;
/// The most values that it sets aside.
pub const MOST_SLOTS: usize = 16;
crate::shared::shared_with_c!("PCC_" []
    MOST_OPS = MOST_OPS as u32, MOST_DEPTH = MOST_DEPTH as u32, MOST_SLOTS = MOST_SLOTS as u32
);

/// One step of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// Puts a finite number on the stack.
    Push(f64),
    /// Puts a measurement on the stack.
    Load(Variable),
    /// Takes the top of the stack and sets it aside in this slot.
    Set(u8),
    /// Puts a copy of what this slot holds on the stack.
    Get(u8),
    /// Takes its operands from the stack, the last one first, and puts its result there.
    Apply(Operator),
}

/// A utility as a stack machine: at most [`MOST_OPS`] steps, one after the other, without branches, on a stack of at
/// most [`MOST_DEPTH`] values and [`MOST_SLOTS`] slots. The value that remains on the stack is the utility.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    ops: Vec<Op>,
    depth: usize,
    panic_loss: f64,
}

/// Why some steps are no program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Invalid {
    TooLong,
    TooDeep,
    /// A step takes more than there is, more or less than one value is left, a slot is read before it is set or does not
    /// exist, or a number is not finite.
    Malformed,
}

impl Program {
    /// The program of these steps, if it keeps to the bounds and takes no value that is not there.
    pub(super) fn new(ops: Vec<Op>, panic_loss: f64) -> Result<Self, Invalid> {
        if ops.len() > MOST_OPS {
            return Err(Invalid::TooLong);
        }
        let (mut held, mut depth, mut set) = (0_usize, 0, [false; MOST_SLOTS]);
        for op in &ops {
            let (takes, gives) = op.effect();
            held = held.checked_sub(takes).ok_or(Invalid::Malformed)? + gives;
            depth = depth.max(held);
            match *op {
                Op::Push(value) if !value.is_finite() => return Err(Invalid::Malformed),
                Op::Set(slot) => *set.get_mut(usize::from(slot)).ok_or(Invalid::Malformed)? = true,
                Op::Get(slot) if set.get(usize::from(slot)) != Some(&true) => return Err(Invalid::Malformed),
                _ => {}
            }
        }
        if depth > MOST_DEPTH {
            return Err(Invalid::TooDeep);
        }
        let valid = held == 1 && (0.0..=1.0).contains(&panic_loss);
        if valid { Ok(Self { ops, depth, panic_loss }) } else { Err(Invalid::Malformed) }
    }

    /// Its steps.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// The most values that its stack holds at once.
    pub const fn depth(&self) -> usize {
        self.depth
    }

    /// The loss rate above which a sender falls back without asking further, as
    /// [`crate::utility::Utility::panic_loss`].
    pub const fn panic_loss(&self) -> f64 {
        self.panic_loss
    }

    /// The utility of these measurements. A measurement of NaN is not known; a result of NaN is not defined. Allocates
    /// nothing.
    pub fn run(&self, measure: impl Fn(Variable) -> f64) -> f64 {
        let (mut stack, mut slots) = (Stack { values: [f64::NAN; MOST_DEPTH], held: 0 }, [f64::NAN; MOST_SLOTS]);
        for op in &self.ops {
            match *op {
                Op::Push(value) => stack.push(value),
                Op::Load(variable) => {
                    let value = measure(variable);
                    stack.push(if value.is_finite() { value } else { f64::NAN });
                }
                Op::Set(slot) => {
                    let value = stack.pop();
                    if let Some(place) = slots.get_mut(usize::from(slot)) {
                        *place = value;
                    }
                }
                Op::Get(slot) => stack.push(slots.get(usize::from(slot)).copied().unwrap_or(f64::NAN)),
                Op::Apply(operator) => {
                    let mut operands = [f64::NAN; 3];
                    for operand in operands[..operator.operands()].iter_mut().rev() {
                        *operand = stack.pop();
                    }
                    let [a, b, c] = operands;
                    stack.push(operator.apply(a, b, c));
                }
            }
        }
        stack.pop()
    }
}

impl Op {
    /// The number of values that it takes from the stack, and that it puts there.
    const fn effect(self) -> (usize, usize) {
        match self {
            Self::Push(_) | Self::Load(_) | Self::Get(_) => (0, 1),
            Self::Set(_) => (1, 0),
            Self::Apply(operator) => (operator.operands(), 1),
        }
    }
}

/// A program that [`Program::new`] allowed never leaves its bounds; any other would find and leave NaN.
struct Stack {
    values: [f64; MOST_DEPTH],
    held: usize,
}

impl Stack {
    fn push(&mut self, value: f64) {
        if let Some(place) = self.values.get_mut(self.held) {
            *place = value;
            self.held += 1;
        }
    }

    fn pop(&mut self) -> f64 {
        self.held = self.held.saturating_sub(1);
        core::mem::replace(&mut self.values[self.held], f64::NAN)
    }
}
