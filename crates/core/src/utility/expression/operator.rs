//! The operations of the language, and what exactly each gives.

/// An operation on one, two or three numbers.
///
/// A number is finite, or it is not defined, which is written as NaN. A result that is not finite is not defined, and
/// neither is one of something that is not defined, but for [`Operator::Known`], [`Operator::And`], [`Operator::Or`] and
/// [`Operator::If`]. Truth is 1, its opposite 0; what asks for truth takes any other number than 0 for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// −a.
    Negate,
    /// a + b.
    Add,
    /// a − b.
    Subtract,
    /// a · b.
    Multiply,
    /// a / b; not defined for b = 0.
    Divide,
    /// a to the power of b; not defined for a < 0 unless b is an integer, nor for a = 0 and b < 0. 0⁰ is 1.
    Power,
    /// The smaller of the two.
    Min,
    /// The larger of the two.
    Max,
    /// The size, without the sign.
    Abs,
    /// e to the power of a.
    Exp,
    /// Natural logarithm; not defined for a ≤ 0.
    Log,
    /// Square root; not defined for a < 0.
    Sqrt,
    /// 1/(1 + e^(−a)), the logistic function.
    Sigmoid,
    /// Whether a < b.
    Less,
    /// Whether a ≤ b.
    AtMost,
    /// Whether a > b.
    Greater,
    /// Whether a ≥ b.
    AtLeast,
    /// Whether a is false.
    Not,
    /// False if either is; else not defined if either is not; else true.
    And,
    /// True if either is; else not defined if either is not; else false.
    Or,
    /// Whether a is defined.
    Known,
    /// b if a, else c; not defined if a or what it chooses is not.
    If,
}

impl Operator {
    /// All of them.
    pub const ALL: [Self; 22] = [
        Self::Negate,
        Self::Add,
        Self::Subtract,
        Self::Multiply,
        Self::Divide,
        Self::Power,
        Self::Min,
        Self::Max,
        Self::Abs,
        Self::Exp,
        Self::Log,
        Self::Sqrt,
        Self::Sigmoid,
        Self::Less,
        Self::AtMost,
        Self::Greater,
        Self::AtLeast,
        Self::Not,
        Self::And,
        Self::Or,
        Self::Known,
        Self::If,
    ];

    /// Its word in a program's listing.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Negate => "neg",
            Self::Add => "add",
            Self::Subtract => "sub",
            Self::Multiply => "mul",
            Self::Divide => "div",
            Self::Power => "pow",
            Self::Min => "min",
            Self::Max => "max",
            Self::Abs => "abs",
            Self::Exp => "exp",
            Self::Log => "log",
            Self::Sqrt => "sqrt",
            Self::Sigmoid => "sigmoid",
            Self::Less => "lt",
            Self::AtMost => "le",
            Self::Greater => "gt",
            Self::AtLeast => "ge",
            Self::Not => "not",
            Self::And => "and",
            Self::Or => "or",
            Self::Known => "known",
            Self::If => "if",
        }
    }

    /// The number of its operands.
    pub const fn operands(self) -> usize {
        match self {
            Self::Negate | Self::Abs | Self::Exp | Self::Log | Self::Sqrt | Self::Sigmoid | Self::Not | Self::Known => {
                1
            }
            Self::If => 3,
            _ => 2,
        }
    }

    /// Its result. Operands that it does not take are ignored.
    pub fn apply(self, a: f64, b: f64, c: f64) -> f64 {
        // A comparison with what is not defined would say no, and so would min and max ignore it.
        let unknown = a.is_nan() || (self.operands() > 1 && b.is_nan());
        let result = match self {
            Self::Known => truth(!a.is_nan()),
            Self::And if is_false(a) || is_false(b) => 0.0,
            Self::Or if is_true(a) || is_true(b) => 1.0,
            Self::If if a.is_nan() => f64::NAN,
            Self::If => return if is_true(a) { b } else { c },
            _ if unknown => f64::NAN,
            Self::Negate => -a,
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            Self::Power => a.powf(b),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::Abs => a.abs(),
            Self::Exp => a.exp(),
            Self::Log => a.ln(),
            Self::Sqrt => a.sqrt(),
            Self::Sigmoid => sigmoid(a),
            Self::Less => truth(a < b),
            Self::AtMost => truth(a <= b),
            Self::Greater => truth(a > b),
            Self::AtLeast => truth(a >= b),
            Self::Not => truth(is_false(a)),
            Self::And => 1.0,
            Self::Or => 0.0,
        };
        if result.is_finite() { result } else { f64::NAN }
    }
}

/// From either end without an overflow on the way.
fn sigmoid(a: f64) -> f64 {
    if a >= 0.0 { 1.0 / (1.0 + (-a).exp()) } else { a.exp() / (1.0 + a.exp()) }
}

fn truth(is: bool) -> f64 {
    f64::from(u8::from(is))
}

fn is_false(a: f64) -> bool {
    a == 0.0
}

fn is_true(a: f64) -> bool {
    !a.is_nan() && a != 0.0
}
