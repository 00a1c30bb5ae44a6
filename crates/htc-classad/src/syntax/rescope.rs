//! Change of the scope of references, for the conversion of old routes (reference: `RewriteAttrRefs` of
//! `compat_classad_util.cpp`).

use crate::syntax::expr::{Expr, ExprRepr};
use crate::syntax::tree::{NO_BASE, Node, TreeBuilder};

impl Expr {
    /// Returns the expression with each `from.x` replaced by `to.x`, or by `x` if `to` is `None`. If `to` is
    /// given, a reference to `from` itself is replaced by `to`.
    ///
    /// ```
    /// use htc_classad::Expr;
    /// let expr = Expr::parse(b"target.Memory > MY.Want && TARGET.Disk > 5").unwrap();
    /// assert_eq!(expr.rescope(b"TARGET", Some(b"MY")).unparse(), "MY.Memory > MY.Want && MY.Disk > 5");
    /// assert_eq!(expr.rescope(b"TARGET", None).unparse(), "Memory > MY.Want && Disk > 5");
    /// ```
    #[must_use]
    pub fn rescope(&self, from: impl AsRef<[u8]>, to: Option<&[u8]>) -> Expr {
        let from = from.as_ref();
        let ExprRepr::Node(tree, root) = &self.0 else { return self.clone() };
        let is_from = |node: Node| match node {
            Node::Name { text, .. } => tree.text_bytes(text).eq_ignore_ascii_case(from),
            _ => false,
        };
        let mut builder = TreeBuilder::default();
        let root = builder.copy_replacing(tree, *root, &mut |builder, id| match (tree.node(id), to) {
            (node, Some(to)) if is_from(node) => Some(builder.push_attribute(NO_BASE, to)),
            (Node::Attr { base, name }, None) if base != crate::syntax::tree::ABSOLUTE_BASE => {
                is_from(tree.node(base)).then(|| builder.push_attribute(NO_BASE, tree.name_bytes(name)))
            }
            _ => None,
        });
        Expr::from_builder(&builder, root)
    }
}
