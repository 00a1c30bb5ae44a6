//! Nodes of a tree, and the special meanings of names.

use crate::syntax::scalar::{Scalar, TextRange};

/// The number of a node within its tree.
pub(crate) type NodeId = u32;

/// Stands for the base of a plain name, looked up from the current ad (see [`ExprTree::as_reference`]).
pub(crate) const NO_BASE: NodeId = u32::MAX;
/// Stands for the base of `.name`, looked up from the root ad.
pub(crate) const ABSOLUTE_BASE: NodeId = u32::MAX - 1;

/// Node of an expression tree.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Node {
    Undefined,
    Error,
    Bool(bool),
    Int(i64),
    Real(f64),
    Str(TextRange),
    /// Index into the times of the tree.
    AbsTime(u32),
    /// A `relTime("...")` literal. It evaluates to a real (literals.cpp).
    RelTime(f64),
    /// A name, looked up from the current ad. Other nodes that have a name refer to such a node by its number.
    Name {
        text: TextRange,
        hash: u32,
        /// Number of the function with that name, or [`function_names::UNKNOWN_FUNCTION`] if the name is not called or
        /// is not a function.
        function: u16,
        special: SpecialName,
    },
    /// `.name` or `base.name`.
    Attr {
        base: NodeId,
        name: NodeId,
    },
    /// An operator before its operand, or parentheses around it.
    Unary(UnaryOp, NodeId),
    Binary(BinaryOp, NodeId, NodeId),
    /// The branches are at `branches` and `branches + 1` of the links.
    Ternary {
        condition: NodeId,
        branches: u32,
    },
    /// The arguments are `count` links from `first` on.
    Call {
        name: NodeId,
        first: u32,
        count: u32,
    },
    /// The elements are `count` links from `first` on.
    List {
        first: u32,
        count: u32,
    },
    /// The attributes are `count` fields from `first` on, sorted by length of name.
    Ad {
        first: u32,
        count: u32,
    },
}

// A name fills the node except for the byte of the enum's tag.
const _: () = assert!(size_of::<Node>() == 16);

/// The variants are flat because nesting a [`Scalar`] would make this type half as large again.
impl From<Scalar<TextRange>> for Node {
    #[inline(always)]
    fn from(scalar: Scalar<TextRange>) -> Self {
        match scalar {
            Scalar::Undefined => Node::Undefined,
            Scalar::Error => Node::Error,
            Scalar::Bool(truth) => Node::Bool(truth),
            Scalar::Int(integer) => Node::Int(integer),
            Scalar::Real(real) => Node::Real(real),
            Scalar::Str(text) => Node::Str(text),
        }
    }
}

impl Node {
    /// Returns the node as a scalar, or `None` if it is not one.
    #[inline(always)]
    pub(crate) fn as_scalar(self) -> Option<Scalar<TextRange>> {
        Some(match self {
            Node::Undefined => Scalar::Undefined,
            Node::Error => Scalar::Error,
            Node::Bool(truth) => Scalar::Bool(truth),
            Node::Int(integer) => Scalar::Int(integer),
            Node::Real(real) => Scalar::Real(real),
            Node::Str(text) => Scalar::Str(text),
            _ => return None,
        })
    }
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnaryOp {
    Parentheses,
    Plus,
    Minus,
    Not,
    BitNot,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Equal,
    NotEqual,
    Is,
    Isnt,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    ShiftRightZero,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulus,
    Elvis,
    Subscript,
}

impl BinaryOp {
    /// Returns true if the operator is a logical connective or a comparison of values.
    #[inline(always)]
    pub(crate) fn is_truth_valued(self) -> bool {
        use BinaryOp::{And, Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual, Or};
        matches!(self, And | Or | Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual)
    }
}

/// Names with a special meaning if the ad has no attribute of that name (`AttributeReference::_Evaluate`,
/// attrrefs.cpp).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpecialName {
    None,
    SelfAd,
    Parent,
    Root,
    /// The scope `MY`, unless the mode is strict.
    My,
    /// The attribute `CurrentTime`, unless the mode is strict.
    CurrentTime,
    /// The scope `TARGET`, recognized so that `TARGET.x` can be evaluated without a match ad.
    Target,
}

/// Name at a node, with its hash and meaning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameInfo {
    pub(crate) text: TextRange,
    pub(crate) hash: u32,
    pub(crate) function: u16,
    pub(crate) special: SpecialName,
}

/// An attribute of an ad within an expression.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdField {
    pub(crate) name: NodeId,
    pub(crate) node: NodeId,
}

/// Returns the special meaning of a name if no attribute has it.
#[inline]
pub(crate) fn special_name(name: &[u8]) -> SpecialName {
    // Lengths of the names below, as a bit mask.
    const SPECIAL_NAME_LENGTHS: u32 = 1 << 2 | 1 << 4 | 1 << 6 | 1 << 8 | 1 << 11;
    if SPECIAL_NAME_LENGTHS >> name.len().min(31) & 1 == 0 {
        SpecialName::None
    } else {
        special_name_of_length(name)
    }
}

fn special_name_of_length(name: &[u8]) -> SpecialName {
    match name.len() {
        2 if name.eq_ignore_ascii_case(b"my") => SpecialName::My,
        4 if name.eq_ignore_ascii_case(b"self") => SpecialName::SelfAd,
        4 if name.eq_ignore_ascii_case(b"root") => SpecialName::Root,
        6 if name.eq_ignore_ascii_case(b"target") => SpecialName::Target,
        6 if name.eq_ignore_ascii_case(b"parent") => SpecialName::Parent,
        8 if name.eq_ignore_ascii_case(b"toplevel") => SpecialName::Root,
        11 if name.eq_ignore_ascii_case(b"currenttime") => SpecialName::CurrentTime,
        _ => SpecialName::None,
    }
}
