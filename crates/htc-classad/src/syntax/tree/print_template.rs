//! Print templates for trees that differ only in some scalars: the text between these scalars is printed once for all
//! trees.

use std::sync::OnceLock;

use memchr::memmem;

use super::{CachedForm, ExprTree, Node, NodeId};
use crate::syntax::scalar::{Scalar, TextRange};

/// Number that is unlikely to occur in an expression.
const MARKER: i64 = 770_077_007_700_770_000;

/// Printer of expressions in one of the syntaxes that trees cache.
pub(crate) trait FormPrinter {
    /// Syntax of the printer.
    const FORM: CachedForm;
    /// Appends the text of an expression.
    fn push_tree(tree: &ExprTree, root: NodeId, out: &mut Vec<u8>);
    /// Appends the text of a scalar that is a part of an expression.
    fn push_scalar(scalar: Scalar<&[u8]>, out: &mut Vec<u8>);
}

/// Print templates of all trees that were built from the same template.
#[derive(Debug)]
pub(crate) struct PrintTemplates {
    root: NodeId,
    /// Nodes in which the trees differ.
    differing: Box<[NodeId]>,
    forms: [OnceLock<Option<PrintTemplate>>; 2],
}

/// Text that is common to the printed forms of the trees, in one syntax.
#[derive(Debug)]
struct PrintTemplate {
    text: Box<[u8]>,
    /// Offsets in the text at which scalars are inserted, in ascending order, each with the node of its scalar.
    scalars: Box<[(usize, NodeId)]>,
}

impl PrintTemplates {
    /// Creates the print templates for trees that differ only in the given nodes.
    pub(crate) fn new(root: NodeId, mut differing: Vec<NodeId>) -> Self {
        differing.sort_unstable();
        differing.dedup();
        PrintTemplates { root, differing: differing.into(), forms: Default::default() }
    }

    /// Appends the text of one of the trees. Returns false if no template can be used.
    pub(super) fn push_printed<P: FormPrinter>(
        &self,
        tree: &ExprTree,
        root: NodeId,
        out: &mut Vec<u8>,
    ) -> bool {
        if root != self.root {
            return false;
        }
        let pattern = self.forms[P::FORM as usize].get_or_init(|| self.build_template::<P>(tree));
        let Some(pattern) = pattern else { return false };
        let mut from = 0;
        for &(at, id) in &pattern.scalars {
            out.extend_from_slice(&pattern.text[from..at]);
            P::push_scalar(tree.scalar(id).unwrap_or_default(), out);
            from = at;
        }
        out.extend_from_slice(&pattern.text[from..]);
        true
    }

    /// Builds a template: prints the tree with a unique value at each differing node, and finds the positions of these
    /// values.
    fn build_template<P: FormPrinter>(&self, tree: &ExprTree) -> Option<PrintTemplate> {
        // A scalar that is the whole expression may be printed differently than as a part of an expression.
        if self.differing.contains(&self.root) {
            return None;
        }
        let (mut nodes, mut text) = (tree.nodes.clone(), tree.text.to_vec());
        for (id, mark) in self.differing.iter().zip(1000..) {
            let node = &mut nodes[*id as usize];
            *node = match *node {
                Node::Int(value) => Node::Int(if value < 0 { -MARKER - mark } else { MARKER + mark }),
                Node::Real(value) => Node::Real((MARKER as f64 / 1e3 + mark as f64).copysign(value)),
                Node::Str(_) => {
                    let start = text.len() as u32;
                    text.extend_from_slice(format!("<{MARKER}.{mark}>").as_bytes());
                    Node::Str(TextRange { start, len: text.len() as u32 - start })
                }
                _ => return None,
            };
        }
        let marked = tree.with_scalars(nodes, text.into());
        let (mut whole, mut scalar) = (Vec::new(), Vec::new());
        P::push_tree(&marked, self.root, &mut whole);
        let mut places = Vec::with_capacity(self.differing.len());
        for &id in &self.differing {
            scalar.clear();
            P::push_scalar(marked.scalar(id)?, &mut scalar);
            let mut found = memmem::find_iter(&whole, &scalar);
            let (Some(start), None) = (found.next(), found.next()) else { return None };
            places.push((start, scalar.len(), id));
        }
        places.sort_unstable();
        let (mut text, mut scalars, mut from) = (Vec::with_capacity(whole.len()), Vec::new(), 0);
        for (start, length, id) in places {
            text.extend_from_slice(whole.get(from..start)?);
            scalars.push((text.len(), id));
            from = start + length;
        }
        text.extend_from_slice(&whole[from..]);
        Some(PrintTemplate { text: text.into(), scalars: scalars.into() })
    }
}
