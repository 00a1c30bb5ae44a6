//! Expression trees, stored as flat tables: nodes that refer to each other by number, and one text for names and
//! strings.
//!
//! Parsing a tree does not allocate memory for each node, and dropping a tree does not recurse. A tree is immutable
//! and shared by all expressions that were parsed together.

use std::sync::{Arc, OnceLock};

use crate::regex;
use crate::syntax::AbsTime;
use crate::syntax::scalar::{Scalar, TextRange};
use crate::syntax::{function_names, name};

mod builder;
mod node;
mod print_template;
mod tree_equality;

pub(crate) use builder::TreeBuilder;
pub(crate) use node::{
    ABSOLUTE_BASE, AdField, BinaryOp, NO_BASE, NameInfo, Node, NodeId, SpecialName, UnaryOp, special_name,
};
pub(crate) use print_template::{FormPrinter, PrintTemplates};
pub(crate) use tree_equality::is_same_scalar;

/// Syntax in which a tree caches its printed form.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CachedForm {
    /// The syntax of values in long ads.
    Old,
    /// The syntax of values in JSON.
    Json,
}

/// Returns the name at a node, or a name with an empty string if the node is not a name.
#[inline]
fn name_info_at(nodes: &[Node], id: NodeId) -> NameInfo {
    match nodes[id as usize] {
        Node::Name { text, hash, function, special } => NameInfo { text, hash, function, special },
        _ => NameInfo {
            text: TextRange::default(),
            hash: 0,
            function: function_names::UNKNOWN_FUNCTION,
            special: SpecialName::None,
        },
    }
}

/// Immutable tree of nodes.
#[derive(Debug, Default)]
pub(crate) struct ExprTree {
    pub(crate) nodes: Box<[Node]>,
    pub(crate) links: Box<[NodeId]>,
    pub(crate) fields: Box<[AdField]>,
    pub(crate) times: Box<[AbsTime]>,
    pub(crate) text: Box<[u8]>,
    /// True if the tree has lists or ads. Only lists and ads need to know the ad in which they were written.
    pub(crate) has_scopes: bool,
    regexes: OnceLock<Box<regex::RegexCache>>,
    /// Printed forms of the whole tree, cached if several ads share the tree.
    cached_forms: [OnceLock<Box<[u8]>>; 2],
    /// Print templates, which are shared by all trees that were built from the same template and differ only in
    /// scalars; `None` if the tree was not built from a template.
    print_templates: Option<Arc<PrintTemplates>>,
}

impl ExprTree {
    /// Returns a copy of the tree with other nodes and another text. The nodes may differ only in scalars and in
    /// ranges of the text.
    pub(crate) fn with_scalars(&self, nodes: Box<[Node]>, text: Box<[u8]>) -> ExprTree {
        ExprTree {
            nodes,
            links: self.links.clone(),
            fields: self.fields.clone(),
            times: self.times.clone(),
            text,
            has_scopes: self.has_scopes,
            regexes: OnceLock::new(),
            cached_forms: Default::default(),
            print_templates: None,
        }
    }

    /// Returns the tree with print templates that are valid for it.
    pub(crate) fn with_templates(self, patterns: &Arc<PrintTemplates>) -> ExprTree {
        ExprTree { print_templates: Some(Arc::clone(patterns)), ..self }
    }

    #[inline]
    pub(crate) fn node(&self, id: NodeId) -> Node {
        self.nodes[id as usize]
    }

    #[inline]
    pub(crate) fn text_bytes(&self, text: TextRange) -> &[u8] {
        text.slice(&self.text)
    }

    /// Returns the scalar at a node, or `None` if the node is not a scalar.
    #[inline]
    pub(crate) fn scalar(&self, id: NodeId) -> Option<Scalar<&[u8]>> {
        self.node(id).as_scalar().map(|scalar| scalar.map(|text| self.text_bytes(text)))
    }

    /// Returns the name at a node, which must be a name.
    #[inline]
    pub(crate) fn name_info(&self, id: NodeId) -> NameInfo {
        name_info_at(&self.nodes, id)
    }

    #[inline]
    pub(crate) fn name_bytes(&self, id: NodeId) -> &[u8] {
        self.text_bytes(self.name_info(id).text)
    }

    /// Returns the node within the parentheses around a node, or the node itself if it has none.
    pub(crate) fn strip_parentheses(&self, id: NodeId) -> NodeId {
        let mut at = id;
        while let Node::Unary(UnaryOp::Parentheses, inner) = self.node(at) {
            at = inner;
        }
        at
    }

    /// Returns the base and the name if a node is a reference, or else `None`. The base may be [`NO_BASE`] or
    /// [`ABSOLUTE_BASE`].
    pub(crate) fn as_reference(&self, id: NodeId) -> Option<(NodeId, NodeId)> {
        match self.node(id) {
            Node::Name { .. } => Some((NO_BASE, id)),
            Node::Attr { base, name } => Some((base, name)),
            _ => None,
        }
    }

    /// Appends the printed form of an expression. The form of the whole tree is cached if several ads share the tree.
    pub(crate) fn push_form<P: FormPrinter>(self: &Arc<Self>, root: NodeId, out: &mut Vec<u8>) {
        let print = |out: &mut Vec<u8>| {
            let patterns = self.print_templates.as_ref();
            if !patterns.is_some_and(|patterns| patterns.push_printed::<P>(self, root, out)) {
                P::push_tree(self, root, out);
            }
        };
        let is_whole = root as usize + 1 == self.nodes.len() && self.nodes.len() > 1;
        if !is_whole || Arc::strong_count(self) == 1 {
            return print(out);
        }
        out.extend_from_slice(self.cached_forms[P::FORM as usize].get_or_init(|| {
            let mut text = Vec::with_capacity(self.text.len() + 64);
            print(&mut text);
            text.into()
        }));
    }

    #[inline]
    pub(crate) fn links(&self, first: u32, count: u32) -> &[NodeId] {
        &self.links[first as usize..first as usize + count as usize]
    }

    #[inline]
    pub(crate) fn fields(&self, first: u32, count: u32) -> &[AdField] {
        &self.fields[first as usize..first as usize + count as usize]
    }

    /// Returns the cache of compiled regular expressions for the calls in this tree.
    pub(crate) fn regexes(&self) -> &regex::RegexCache {
        self.regexes.get_or_init(Box::default)
    }

    /// Finds an attribute of an ad that is written in this tree. Returns the index of the attribute in the ad, and the
    /// node of its expression.
    #[inline]
    pub(crate) fn find_field(
        &self,
        first: u32,
        count: u32,
        wanted: &[u8],
        hash: u32,
    ) -> Option<(usize, NodeId)> {
        let fields = self.fields(first, count);
        let found = |at: usize| (first as usize + at, fields[at].node);
        if fields.len() <= 16 {
            return fields
                .iter()
                .position(|field| {
                    let name = self.name_info(field.name);
                    name.hash == hash && self.text_bytes(name.text).eq_ignore_ascii_case(wanted)
                })
                .map(found);
        }
        fields.binary_search_by(|field| name::ad_order(self.name_bytes(field.name), wanted)).ok().map(found)
    }

    /// Appends the direct parts of a node, such as operands, in the order in which they are written.
    pub(crate) fn children(&self, id: NodeId, out: &mut Vec<NodeId>) {
        match self.node(id) {
            Node::Attr { base, .. } if base != ABSOLUTE_BASE => out.push(base),
            Node::Unary(_, operand) => out.push(operand),
            Node::Binary(_, left, right) => out.extend([left, right]),
            Node::Ternary { condition, branches } => {
                out.push(condition);
                out.extend_from_slice(self.links(branches, 2));
            }
            Node::Call { first, count, .. } | Node::List { first, count } => {
                out.extend_from_slice(self.links(first, count));
            }
            Node::Ad { first, count } => out.extend(self.fields(first, count).iter().map(|field| field.node)),
            _ => {}
        }
    }
}
