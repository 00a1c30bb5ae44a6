//! Nodes of a tree, and names with a special meaning.

use crate::syntax::scalar::{Scalar, TextRange};

/// Number of a node within its tree.
pub(crate) type NodeId = u32;

/// Base of a plain name, which is looked up in the current ad (see [`ExprTree::as_reference`]).
pub(crate) const NO_BASE: NodeId = u32::MAX;
/// Base of `.name`, which is looked up in the root ad.
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
    /// Literal `absTime("...")`, as an index into the times of the tree.
    AbsTime(u32),
    /// Literal `relTime("...")`, which evaluates to a real (literals.cpp).
    RelTime(f64),
    /// Name that is looked up in the current ad. Nodes that have a name, such as calls, refer to such a node.
    Name {
        text: TextRange,
        hash: u32,
        /// Number of the function that has this name, or [`function_names::UNKNOWN_FUNCTION`] if the name is not
        /// called or is not a function.
        function: u16,
        special: SpecialName,
    },
    /// Selection: `.name` or `base.name`.
    Attr {
        base: NodeId,
        name: NodeId,
    },
    /// Unary operator with its operand, or parentheses around an operand.
    Unary(UnaryOp, NodeId),
    Binary(BinaryOp, NodeId, NodeId),
    /// Conditional expression. The branches are the links `branches` and `branches + 1` of the tree.
    Ternary {
        condition: NodeId,
        branches: u32,
    },
    /// Function call. The arguments are `count` links of the tree, starting at `first`.
    Call {
        name: NodeId,
        first: u32,
        count: u32,
    },
    /// List. The elements are `count` links of the tree, starting at `first`.
    List {
        first: u32,
        count: u32,
    },
    /// Ad. The attributes are `count` fields of the tree, starting at `first`, sorted by length of name.
    Ad {
        first: u32,
        count: u32,
    },
}

// `Node::Name`, the largest variant, fills 16 bytes together with the tag of the enum.
const _: () = assert!(size_of::<Node>() == 16);

/// Converts variant by variant. `Node` does not contain a [`Scalar`], because nesting would make the type 50 % larger.
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
    /// Returns the scalar if the node is a scalar, or else `None`.
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

/// Operator with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnaryOp {
    Parentheses,
    Plus,
    Minus,
    Not,
    BitNot,
}

/// Operator with two operands.
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
    /// Returns true if the operator is a logical operator or a comparison.
    #[inline(always)]
    pub(crate) fn is_truth_valued(self) -> bool {
        use BinaryOp::{And, Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual, Or};
        matches!(self, And | Or | Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual)
    }
}

/// Special meaning that a name has if no attribute has this name (`AttributeReference::_Evaluate`, attrrefs.cpp).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpecialName {
    None,
    SelfAd,
    Parent,
    Root,
    /// Scope `MY`, except in strict mode.
    My,
    /// Attribute `CurrentTime`, except in strict mode.
    CurrentTime,
    /// Scope `TARGET`. It is recognized so that `TARGET.x` can be evaluated without a match ad.
    Target,
}

/// Name at a node, with its hash and its special meaning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameInfo {
    pub(crate) text: TextRange,
    pub(crate) hash: u32,
    pub(crate) function: u16,
    pub(crate) special: SpecialName,
}

/// Attribute of an ad that is written within an expression.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdField {
    pub(crate) name: NodeId,
    pub(crate) node: NodeId,
}

/// Returns the special meaning that a name has if no attribute has this name.
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
