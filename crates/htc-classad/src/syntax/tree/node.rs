//! The nodes of a tree, and what names mean by themselves.

use crate::syntax::scalar::{Scalar, TextRange};

/// The number of a node within its tree.
pub(crate) type NodeId = u32;

/// In place of a base in [`ExprTree::reference`]: a plain name, looked up from the current ad.
pub(crate) const NO_BASE: NodeId = u32::MAX;
/// In place of a base: `.name`, looked up from the root ad.
pub(crate) const ABSOLUTE_BASE: NodeId = u32::MAX - 1;

/// One node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Node {
    Undefined,
    Error,
    Bool(bool),
    Int(i64),
    Real(f64),
    Str(TextRange),
    /// Index into the times.
    AbsTime(u32),
    /// A `relTime("...")` literal. It evaluates to a real (literals.cpp).
    RelTime(f64),
    /// A name, looked up from the current ad. It is also what nodes with a name of their own mean by its number.
    Name {
        text: TextRange,
        hash: u32,
        /// Number of the function of that name, [`function_names::UNKNOWN_FUNCTION`] for names that are not called or not known.
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
    /// The branches stand at `branches` and `branches + 1` of the links.
    Ternary {
        condition: NodeId,
        branches: u32,
    },
    /// Arguments are `count` links from `first` on.
    Call {
        name: NodeId,
        first: u32,
        count: u32,
    },
    /// Elements are `count` links from `first` on.
    List {
        first: u32,
        count: u32,
    },
    /// Attributes are `count` fields from `first` on, in the order of ads.
    Ad {
        first: u32,
        count: u32,
    },
}

// A name fills it but for the byte that tells the kinds of node apart.
const _: () = assert!(size_of::<Node>() == 16);

/// Flat, since a [`Scalar`] within it would make it half as large again.
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
    /// The scalar that it is.
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
    /// Whether it is a connective or a comparison of values.
    #[inline(always)]
    pub(crate) fn is_truth_valued(self) -> bool {
        use BinaryOp::{And, Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual, Or};
        matches!(self, And | Or | Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual)
    }
}

/// Names that mean something where no attribute of that name is in the ad (`AttributeReference::_Evaluate`, attrrefs.cpp).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpecialName {
    None,
    SelfAd,
    Parent,
    Root,
    /// Special in condor mode only.
    My,
    /// Special in condor mode only.
    CurrentTime,
    /// Not special to the language; known so that `TARGET.x` can be answered without a match ad.
    Target,
}

/// What is known of the name at a node.
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

/// What a name means where no attribute has it.
#[inline]
pub(crate) fn special_name(name: &[u8]) -> SpecialName {
    // The lengths of the names below, a bit for each.
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
