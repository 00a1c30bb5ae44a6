//! Building of trees, and copying of parts of one tree into another.

use std::sync::{Arc, OnceLock};

use super::{ABSOLUTE_BASE, AdField, ExprTree, NO_BASE, Node, NodeId, name_info_at, special_name};
use crate::syntax::AbsTime;
use crate::syntax::scalar::{Scalar, TextRange};
use crate::syntax::{function_names, name};

/// Builder of a tree. Used by the parser and by all functions that rewrite expressions.
#[derive(Debug, Default)]
pub(crate) struct TreeBuilder {
    pub(crate) nodes: Vec<Node>,
    pub(crate) links: Vec<NodeId>,
    pub(crate) fields: Vec<AdField>,
    pub(crate) times: Vec<AbsTime>,
    pub(crate) text: Vec<u8>,
    pub(crate) has_scopes: bool,
}

impl TreeBuilder {
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.links.clear();
        self.fields.clear();
        self.times.clear();
        self.text.clear();
        self.has_scopes = false;
    }

    #[inline]
    pub(crate) fn push_node(&mut self, node: Node) -> NodeId {
        let id = self.nodes.len() as NodeId;
        self.nodes.push(node);
        id
    }

    pub(crate) fn push_text(&mut self, bytes: &[u8]) -> TextRange {
        let start = self.text.len() as u32;
        self.text.extend_from_slice(bytes);
        TextRange { start, len: bytes.len() as u32 }
    }

    pub(crate) fn push_scalar(&mut self, scalar: Scalar<&[u8]>) -> NodeId {
        let scalar = scalar.map(|bytes| self.push_text(bytes));
        self.push_node(scalar.into())
    }

    /// Adds the node of a name whose text is already in the text of the tree.
    #[inline(always)]
    pub(crate) fn push_name_at(&mut self, text: TextRange, bytes: &[u8]) -> NodeId {
        let (hash, special) = (name::hash(bytes), special_name(bytes));
        self.push_node(Node::Name { text, hash, function: function_names::UNKNOWN_FUNCTION, special })
    }

    pub(crate) fn push_name(&mut self, bytes: &[u8]) -> NodeId {
        let text = self.push_text(bytes);
        self.push_name_at(text, bytes)
    }

    pub(crate) fn push_attribute(&mut self, base: NodeId, name: &[u8]) -> NodeId {
        let name = self.push_name(name);
        if base == NO_BASE { name } else { self.push_node(Node::Attr { base, name }) }
    }

    pub(crate) fn push_links(&mut self, nodes: &[NodeId]) -> u32 {
        let first = self.links.len() as u32;
        self.links.extend_from_slice(nodes);
        first
    }

    pub(crate) fn push_call(&mut self, name: &[u8], arguments: &[NodeId]) -> NodeId {
        let function = function_names::function_number(name);
        let name = self.push_name(name);
        self.push_numbered_call(name, function, arguments)
    }

    /// Adds a call of the function with this number. The node of its name must exist already.
    pub(crate) fn push_numbered_call(&mut self, name: NodeId, number: u16, arguments: &[NodeId]) -> NodeId {
        if let Node::Name { function, .. } = &mut self.nodes[name as usize] {
            *function = number;
        }
        let first = self.push_links(arguments);
        self.push_node(Node::Call { name, first, count: arguments.len() as u32 })
    }

    pub(crate) fn push_list(&mut self, items: &[NodeId]) -> NodeId {
        self.has_scopes = true;
        let first = self.push_links(items);
        self.push_node(Node::List { first, count: items.len() as u32 })
    }

    pub(crate) fn push_time(&mut self, time: AbsTime) -> NodeId {
        self.times.push(time);
        self.push_node(Node::AbsTime(self.times.len() as u32 - 1))
    }

    /// Adds an ad with these attributes, whose names are in the text of this builder.
    pub(crate) fn push_ad(&mut self, fields: &mut [AdField]) -> NodeId {
        let own = std::mem::take(&mut self.text);
        let id = self
            .push_ad_with_names(fields, |text| &own[text.start as usize..(text.start + text.len) as usize]);
        self.text = own;
        id
    }

    /// Adds an ad with these attributes. If names are equal, the last value and the first spelling are used.
    /// `bytes` returns the text of a name, because the names of a parser are in its source until the tree is
    /// finished.
    pub(crate) fn push_ad_with_names<'t>(
        &mut self,
        fields: &mut [AdField],
        bytes: impl Fn(TextRange) -> &'t [u8],
    ) -> NodeId {
        self.has_scopes = true;
        let nodes = &self.nodes;
        let bytes = |field: &AdField| bytes(name_info_at(nodes, field.name).text);
        fields.sort_by(|a, b| name::ad_order(bytes(a), bytes(b)));
        let first = self.fields.len() as u32;
        for (at, field) in fields.iter().enumerate() {
            let repeated = at > 0 && bytes(&fields[at - 1]).eq_ignore_ascii_case(bytes(field));
            match self.fields.last_mut() {
                Some(last) if repeated => last.node = field.node,
                _ => self.fields.push(*field),
            }
        }
        let count = self.fields.len() as u32 - first;
        self.push_node(Node::Ad { first, count })
    }

    /// Returns the finished tree. The builder keeps its contents and its memory.
    pub(crate) fn finish(&self) -> ExprTree {
        self.finish_with(self.text.as_slice().into())
    }

    /// Returns the finished tree with `text` as the text of names and strings instead of the text of the builder.
    pub(crate) fn finish_with(&self, text: Box<[u8]>) -> ExprTree {
        ExprTree {
            nodes: self.nodes.as_slice().into(),
            links: self.links.as_slice().into(),
            fields: self.fields.as_slice().into(),
            times: self.times.as_slice().into(),
            text,
            has_scopes: self.has_scopes,
            regexes: OnceLock::new(),
            cached_forms: Default::default(),
            print_templates: None,
        }
    }

    /// Copies the expression at the node `root` of another tree into this builder, without recursion.
    pub(crate) fn copy_node(&mut self, tree: &Arc<ExprTree>, root: NodeId) -> NodeId {
        self.copy_replacing(tree, root, &mut |_, _| None)
    }

    /// Copies one node. Its parts must have been copied before, and their new nodes are the last elements of
    /// `done`.
    fn copy_with_children(&mut self, tree: &ExprTree, id: NodeId, done: &mut Vec<NodeId>) -> NodeId {
        let mut take = |count: usize| done.split_off(done.len() - count);
        match tree.node(id) {
            Node::Str(text) => self.push_scalar(Scalar::Str(tree.text_bytes(text))),
            Node::AbsTime(time) => self.push_time(tree.times[time as usize]),
            Node::Name { text, .. } => self.push_name(tree.text_bytes(text)),
            Node::Attr { base, name } => {
                let base = if base == ABSOLUTE_BASE { base } else { take(1)[0] };
                self.push_attribute(base, tree.name_bytes(name))
            }
            Node::Unary(op, _) => {
                let operand = take(1)[0];
                self.push_node(Node::Unary(op, operand))
            }
            Node::Binary(op, _, _) => {
                let operands = take(2);
                self.push_node(Node::Binary(op, operands[0], operands[1]))
            }
            Node::Ternary { .. } => {
                let parts = take(3);
                let branches = self.push_links(&parts[1..]);
                self.push_node(Node::Ternary { condition: parts[0], branches })
            }
            Node::Call { name, count, .. } => self.push_call(tree.name_bytes(name), &take(count as usize)),
            Node::List { count, .. } => self.push_list(&take(count as usize)),
            Node::Ad { first, count } => {
                let fields = tree.fields(first, count).iter().zip(take(count as usize));
                let mut fields: Vec<AdField> = fields
                    .map(|(field, node)| AdField { name: self.push_name(tree.name_bytes(field.name)), node })
                    .collect();
                self.push_ad(&mut fields)
            }
            literal => self.push_node(literal),
        }
    }

    /// Copies an expression into this builder. For any node, `replace` may return a node of this builder that is
    /// used instead.
    pub(crate) fn copy_replacing(
        &mut self,
        tree: &Arc<ExprTree>,
        root: NodeId,
        replace: &mut dyn FnMut(&mut Self, NodeId) -> Option<NodeId>,
    ) -> NodeId {
        enum CopyStep {
            Enter(NodeId),
            Leave(NodeId),
        }
        let mut todo = vec![CopyStep::Enter(root)];
        let mut done: Vec<NodeId> = Vec::new();
        while let Some(step) = todo.pop() {
            match step {
                CopyStep::Enter(id) => {
                    if let Some(other) = replace(self, id) {
                        done.push(other);
                        continue;
                    }
                    todo.push(CopyStep::Leave(id));
                    let mut children = Vec::new();
                    tree.children(id, &mut children);
                    todo.extend(children.into_iter().rev().map(CopyStep::Enter));
                }
                CopyStep::Leave(id) => {
                    let copied = self.copy_with_children(tree, id, &mut done);
                    done.push(copied);
                }
            }
        }
        done.pop().unwrap_or_default()
    }
}
