//! A scalar that is looked at where it stands: in a text, in the tree of an expression, in an ad, in a value.

use crate::syntax::tree::{Node, NodeId, Tree};

/// A value that has no parts. Texts are borrowed from where they stand.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scalar<'t> {
    Undefined,
    Error,
    Bool(bool),
    Int(i64),
    Real(f64),
    Str(&'t [u8]),
}

impl Tree {
    /// The scalar that a node is.
    #[inline]
    pub(crate) fn scalar(&self, id: NodeId) -> Option<Scalar<'_>> {
        Some(match self.node(id) {
            Node::Undefined => Scalar::Undefined,
            Node::Error => Scalar::Error,
            Node::Bool(truth) => Scalar::Bool(truth),
            Node::Int(integer) => Scalar::Int(integer),
            Node::Real(real) => Scalar::Real(real),
            Node::Str(text) => Scalar::Str(self.bytes(text)),
            _ => return None,
        })
    }
}
