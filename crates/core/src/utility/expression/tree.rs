use super::operator::Operator;
use crate::utility::quantity::Kind;
use core::ops::Range;

/// A text as a tree, with the place of each part.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) at: Range<usize>,
    pub(super) node: Node,
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    /// In its base unit.
    Number(f64, Kind),
    Name(String),
    Apply(Operator, Vec<Tree>),
}

impl Tree {
    pub(super) fn apply(at: Range<usize>, operator: Operator, operands: Vec<Self>) -> Self {
        Self { at, node: Node::Apply(operator, operands) }
    }
}

/// A whole text.
#[derive(Clone, Debug)]
pub(super) struct Script {
    pub(super) definitions: Vec<Definition>,
    pub(super) result: Tree,
}

/// `let NAME = VALUE;`
#[derive(Clone, Debug)]
pub(super) struct Definition {
    pub(super) name: String,
    /// The place of the name.
    pub(super) at: Range<usize>,
    pub(super) value: Tree,
}
