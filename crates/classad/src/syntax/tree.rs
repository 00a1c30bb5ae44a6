//! The flat table that an expression is: nodes that name one another by number, one text for names and strings.
//!
//! A table is parsed without an allocation per node, dropped without recursion, and shared by all expressions that
//! were read together. It is never changed once made.

use std::sync::{Arc, OnceLock};

use crate::regex;
use crate::syntax::AbsTime;
use crate::syntax::{function_names, name};

/// The number of a node within its tree.
pub(crate) type NodeId = u32;

/// In place of a base in [`Tree::reference`]: a plain name, looked up from the current ad.
pub(crate) const NO_BASE: NodeId = u32::MAX;
/// In place of a base: `.name`, looked up from the root ad.
pub(crate) const ABSOLUTE: NodeId = u32::MAX - 1;

/// A range of the tree's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// One node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Node {
    Undefined,
    Error,
    Bool(bool),
    Int(i64),
    Real(f64),
    Str(Text),
    /// Index into the times.
    AbsTime(u32),
    /// A `relTime("...")` literal. It evaluates to a real (literals.cpp).
    RelTime(f64),
    /// A name, looked up from the current ad. It is also what nodes with a name of their own mean by its number.
    Name {
        text: Text,
        hash: u32,
        /// Number of the function of that name, [`function_names::UNKNOWN`] for names that are not called or not known.
        function: u16,
        special: Special,
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

/// The forms of which a tree keeps the text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kept {
    /// The value in a long ad.
    Old,
    /// The value in JSON.
    Json,
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

/// Names that mean something where no attribute of that name is in the ad (`AttributeReference::_Evaluate`, attrrefs.cpp).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
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
pub(crate) struct Name {
    pub(crate) text: Text,
    pub(crate) hash: u32,
    pub(crate) function: u16,
    pub(crate) special: Special,
}

/// An attribute of an ad within an expression.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: NodeId,
    pub(crate) node: NodeId,
}

/// The name at a node; one without text where the node is none.
#[inline]
fn name_of(nodes: &[Node], id: NodeId) -> Name {
    match nodes[id as usize] {
        Node::Name { text, hash, function, special } => Name { text, hash, function, special },
        _ => Name {
            text: Text { start: 0, len: 0 },
            hash: 0,
            function: function_names::UNKNOWN,
            special: Special::None,
        },
    }
}

/// An immutable table of nodes.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) nodes: Box<[Node]>,
    pub(crate) links: Box<[NodeId]>,
    pub(crate) fields: Box<[Field]>,
    pub(crate) times: Box<[AbsTime]>,
    pub(crate) text: Box<[u8]>,
    /// Whether lists or ads are written in it: only those remember the ad they were written in.
    pub(crate) has_scopes: bool,
    regexes: OnceLock<Box<regex::Cache>>,
    /// The old form of the last node, for trees that several ads share.
    texts: [OnceLock<Box<[u8]>>; 2],
}

impl Tree {
    #[inline]
    pub(crate) fn node(&self, id: NodeId) -> Node {
        self.nodes[id as usize]
    }

    #[inline]
    pub(crate) fn bytes(&self, text: Text) -> &[u8] {
        &self.text[text.start as usize..text.start as usize + text.len as usize]
    }

    /// The name at a node that is one.
    #[inline]
    pub(crate) fn name(&self, id: NodeId) -> Name {
        name_of(&self.nodes, id)
    }

    #[inline]
    pub(crate) fn name_bytes(&self, id: NodeId) -> &[u8] {
        self.bytes(self.name(id).text)
    }

    /// The base and the name of a reference, [`NO_BASE`] and [`ABSOLUTE`] among the bases.
    pub(crate) fn reference(&self, id: NodeId) -> Option<(NodeId, NodeId)> {
        match self.node(id) {
            Node::Name { .. } => Some((NO_BASE, id)),
            Node::Attr { base, name } => Some((base, name)),
            _ => None,
        }
    }

    /// A form of the whole tree, kept for the next time; `None` where that would not pay: the tree belongs to one ad, or the node
    /// is but a part of it.
    pub(crate) fn kept_text(
        self: &Arc<Self>,
        root: NodeId,
        form: Kept,
        print: impl FnOnce() -> Vec<u8>,
    ) -> Option<&[u8]> {
        let whole = root as usize + 1 == self.nodes.len() && self.nodes.len() > 1;
        (whole && Arc::strong_count(self) > 1)
            .then(|| &**self.texts[form as usize].get_or_init(|| print().into()))
    }

    #[inline]
    pub(crate) fn links(&self, first: u32, count: u32) -> &[NodeId] {
        &self.links[first as usize..first as usize + count as usize]
    }

    #[inline]
    pub(crate) fn fields(&self, first: u32, count: u32) -> &[Field] {
        &self.fields[first as usize..first as usize + count as usize]
    }

    /// The regular expressions that calls of this tree have used, compiled.
    pub(crate) fn regexes(&self) -> &regex::Cache {
        self.regexes.get_or_init(Box::default)
    }

    /// The field of that name within an ad of this tree: where it stands among the fields, and its node.
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
                    let name = self.name(field.name);
                    name.hash == hash && self.bytes(name.text).eq_ignore_ascii_case(wanted)
                })
                .map(found);
        }
        fields.binary_search_by(|field| name::ad_order(self.name_bytes(field.name), wanted)).ok().map(found)
    }
}

/// Makes a tree. The parser and everything that rewrites expressions builds through it.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    pub(crate) nodes: Vec<Node>,
    pub(crate) links: Vec<NodeId>,
    pub(crate) fields: Vec<Field>,
    pub(crate) times: Vec<AbsTime>,
    pub(crate) text: Vec<u8>,
    pub(crate) has_scopes: bool,
}

impl Builder {
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.links.clear();
        self.fields.clear();
        self.times.clear();
        self.text.clear();
        self.has_scopes = false;
    }

    #[inline]
    pub(crate) fn push(&mut self, node: Node) -> NodeId {
        let id = self.nodes.len() as NodeId;
        self.nodes.push(node);
        id
    }

    pub(crate) fn text(&mut self, bytes: &[u8]) -> Text {
        let start = self.text.len() as u32;
        self.text.extend_from_slice(bytes);
        Text { start, len: bytes.len() as u32 }
    }

    pub(crate) fn string(&mut self, bytes: &[u8]) -> NodeId {
        let text = self.text(bytes);
        self.push(Node::Str(text))
    }

    /// Adds a name whose text is already in place.
    #[inline(always)]
    pub(crate) fn name_at(&mut self, text: Text, bytes: &[u8]) -> NodeId {
        let (hash, special) = (name::hash(bytes), special(bytes));
        self.push(Node::Name { text, hash, function: function_names::UNKNOWN, special })
    }

    pub(crate) fn name(&mut self, bytes: &[u8]) -> NodeId {
        let text = self.text(bytes);
        self.name_at(text, bytes)
    }

    pub(crate) fn attr(&mut self, base: NodeId, name: &[u8]) -> NodeId {
        let name = self.name(name);
        if base == NO_BASE { name } else { self.push(Node::Attr { base, name }) }
    }

    pub(crate) fn link(&mut self, nodes: &[NodeId]) -> u32 {
        let first = self.links.len() as u32;
        self.links.extend_from_slice(nodes);
        first
    }

    pub(crate) fn call(&mut self, name: &[u8], arguments: &[NodeId]) -> NodeId {
        let function = function_names::number(name);
        let name = self.name(name);
        self.call_of(name, function, arguments)
    }

    /// Adds a call of the function of that number, whose name is in place.
    pub(crate) fn call_of(&mut self, name: NodeId, number: u16, arguments: &[NodeId]) -> NodeId {
        if let Node::Name { function, .. } = &mut self.nodes[name as usize] {
            *function = number;
        }
        let first = self.link(arguments);
        self.push(Node::Call { name, first, count: arguments.len() as u32 })
    }

    pub(crate) fn list(&mut self, items: &[NodeId]) -> NodeId {
        self.has_scopes = true;
        let first = self.link(items);
        self.push(Node::List { first, count: items.len() as u32 })
    }

    pub(crate) fn time(&mut self, time: AbsTime) -> NodeId {
        self.times.push(time);
        self.push(Node::AbsTime(self.times.len() as u32 - 1))
    }

    /// Adds an ad of these fields, whose names stand in this builder's own text.
    pub(crate) fn ad(&mut self, fields: &mut [Field]) -> NodeId {
        let own = std::mem::take(&mut self.text);
        let id = self.ad_with(fields, |text| &own[text.start as usize..(text.start + text.len) as usize]);
        self.text = own;
        id
    }

    /// Adds an ad of these fields: the last value of a name counts, under its first spelling. `bytes` gives the text
    /// of a name, since a parser's names stand in its source until the tree is finished.
    pub(crate) fn ad_with<'t>(&mut self, fields: &mut [Field], bytes: impl Fn(Text) -> &'t [u8]) -> NodeId {
        self.has_scopes = true;
        let nodes = &self.nodes;
        let bytes = |field: &Field| bytes(name_of(nodes, field.name).text);
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
        self.push(Node::Ad { first, count })
    }

    /// The finished tree. The builder is left as it was, so that its memory can be used again.
    pub(crate) fn finish(&self) -> Tree {
        self.finish_with(self.text.as_slice().into())
    }

    /// The finished tree with a text that names and strings stand in, in place of the builder's own.
    pub(crate) fn finish_with(&self, text: Box<[u8]>) -> Tree {
        Tree {
            nodes: self.nodes.as_slice().into(),
            links: self.links.as_slice().into(),
            fields: self.fields.as_slice().into(),
            times: self.times.as_slice().into(),
            text,
            has_scopes: self.has_scopes,
            regexes: OnceLock::new(),
            texts: Default::default(),
        }
    }

    /// Copies the expression at `root` of `tree` into this builder. It does not recurse.
    pub(crate) fn copy(&mut self, tree: &Arc<Tree>, root: NodeId) -> NodeId {
        self.copy_with(tree, root, &mut |_, _| None)
    }

    /// Copies an expression; `replace` may put another node of this builder in place of any.
    pub(crate) fn copy_with(
        &mut self,
        tree: &Arc<Tree>,
        root: NodeId,
        replace: &mut dyn FnMut(&mut Self, NodeId) -> Option<NodeId>,
    ) -> NodeId {
        enum Step {
            Enter(NodeId),
            Leave(NodeId),
        }
        let mut todo = vec![Step::Enter(root)];
        let mut done: Vec<NodeId> = Vec::new();
        while let Some(step) = todo.pop() {
            match step {
                Step::Enter(id) => {
                    if let Some(other) = replace(self, id) {
                        done.push(other);
                        continue;
                    }
                    todo.push(Step::Leave(id));
                    let mut children = Vec::new();
                    tree.children(id, &mut children);
                    todo.extend(children.into_iter().rev().map(Step::Enter));
                }
                Step::Leave(id) => {
                    let node = tree.node(id);
                    let take = |done: &mut Vec<NodeId>, count: usize| done.split_off(done.len() - count);
                    let copied = match node {
                        Node::Str(text) => self.string(tree.bytes(text)),
                        Node::AbsTime(time) => self.time(tree.times[time as usize]),
                        Node::Name { text, .. } => self.name(tree.bytes(text)),
                        Node::Attr { base, name } => {
                            let base = if base == ABSOLUTE { base } else { take(&mut done, 1)[0] };
                            self.attr(base, tree.name_bytes(name))
                        }
                        Node::Unary(op, _) => {
                            let operand = take(&mut done, 1)[0];
                            self.push(Node::Unary(op, operand))
                        }
                        Node::Binary(op, _, _) => {
                            let operands = take(&mut done, 2);
                            self.push(Node::Binary(op, operands[0], operands[1]))
                        }
                        Node::Ternary { .. } => {
                            let parts = take(&mut done, 3);
                            let branches = self.link(&parts[1..]);
                            self.push(Node::Ternary { condition: parts[0], branches })
                        }
                        Node::Call { name, count, .. } => {
                            let arguments = take(&mut done, count as usize);
                            self.call(tree.name_bytes(name), &arguments)
                        }
                        Node::List { count, .. } => {
                            let items = take(&mut done, count as usize);
                            self.list(&items)
                        }
                        Node::Ad { first, count } => {
                            let values = take(&mut done, count as usize);
                            let mut fields: Vec<Field> = tree
                                .fields(first, count)
                                .iter()
                                .zip(values)
                                .map(|(field, node)| Field {
                                    name: self.name(tree.name_bytes(field.name)),
                                    node,
                                })
                                .collect();
                            self.ad(&mut fields)
                        }
                        literal => self.push(literal),
                    };
                    done.push(copied);
                }
            }
        }
        done.pop().unwrap_or_default()
    }
}

impl Tree {
    /// Appends the direct parts of a node in the order in which they are written.
    pub(crate) fn children(&self, id: NodeId, out: &mut Vec<NodeId>) {
        match self.node(id) {
            Node::Attr { base, .. } if base != ABSOLUTE => out.push(base),
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

    /// Whether two expressions are the same node by node: names with their case, parentheses counted
    /// (reference: `SameAs`).
    pub(crate) fn same(&self, id: NodeId, other: &Tree, other_id: NodeId) -> bool {
        let mut todo = vec![(id, other_id)];
        while let Some((a, b)) = todo.pop() {
            if std::ptr::eq(self, other) && a == b {
                continue;
            }
            let same = match (self.node(a), other.node(b)) {
                (Node::Undefined, Node::Undefined) | (Node::Error, Node::Error) => true,
                (Node::Bool(x), Node::Bool(y)) => x == y,
                (Node::Int(x), Node::Int(y)) => x == y,
                (Node::Real(x), Node::Real(y)) | (Node::RelTime(x), Node::RelTime(y)) => same_real(x, y),
                (Node::Str(x), Node::Str(y)) => self.bytes(x) == other.bytes(y),
                (Node::AbsTime(x), Node::AbsTime(y)) => self.times[x as usize] == other.times[y as usize],
                (Node::Name { text: n, .. }, Node::Name { text: m, .. }) => self.bytes(n) == other.bytes(m),
                (Node::Attr { base: x, name: n }, Node::Attr { base: y, name: m }) => {
                    self.name_bytes(n) == other.name_bytes(m)
                        && if x == ABSOLUTE || y == ABSOLUTE {
                            x == y
                        } else {
                            todo.push((x, y));
                            true
                        }
                }
                (Node::Unary(op, x), Node::Unary(other_op, y)) => {
                    todo.push((x, y));
                    op == other_op
                }
                (Node::Binary(op, l, r), Node::Binary(other_op, m, s)) => {
                    todo.extend([(r, s), (l, m)]);
                    op == other_op
                }
                (
                    Node::Ternary { condition: c, branches: x },
                    Node::Ternary { condition: d, branches: y },
                ) => {
                    todo.extend(self.links(x, 2).iter().copied().zip(other.links(y, 2).iter().copied()));
                    todo.push((c, d));
                    true
                }
                (
                    Node::Call { name: n, first: x, count },
                    Node::Call { name: m, first: y, count: other_count },
                ) => {
                    todo.extend(
                        self.links(x, count).iter().copied().zip(other.links(y, other_count).iter().copied()),
                    );
                    count == other_count && self.name_bytes(n) == other.name_bytes(m)
                }
                (Node::List { first: x, count }, Node::List { first: y, count: other_count }) => {
                    todo.extend(
                        self.links(x, count).iter().copied().zip(other.links(y, other_count).iter().copied()),
                    );
                    count == other_count
                }
                (Node::Ad { first: x, count }, Node::Ad { first: y, count: other_count }) => {
                    let fields = self.fields(x, count);
                    let others = other.fields(y, other_count);
                    // Both are in the order of ads, so that equal ads have equal names place by place.
                    let names = fields
                        .iter()
                        .zip(others)
                        .all(|(f, g)| self.name_bytes(f.name).eq_ignore_ascii_case(other.name_bytes(g.name)));
                    todo.extend(fields.iter().map(|f| f.node).zip(others.iter().map(|g| g.node)));
                    count == other_count && names
                }
                _ => false,
            };
            if !same {
                return false;
            }
        }
        true
    }
}

/// What a name means where no attribute has it.
#[inline]
pub(crate) fn special(name: &[u8]) -> Special {
    // The lengths of the names below, a bit for each.
    const LENGTHS: u32 = 1 << 2 | 1 << 4 | 1 << 6 | 1 << 8 | 1 << 11;
    if LENGTHS >> name.len().min(31) & 1 == 0 { Special::None } else { special_of_length(name) }
}

fn special_of_length(name: &[u8]) -> Special {
    match name.len() {
        2 if name.eq_ignore_ascii_case(b"my") => Special::My,
        4 if name.eq_ignore_ascii_case(b"self") => Special::SelfAd,
        4 if name.eq_ignore_ascii_case(b"root") => Special::Root,
        6 if name.eq_ignore_ascii_case(b"target") => Special::Target,
        6 if name.eq_ignore_ascii_case(b"parent") => Special::Parent,
        8 if name.eq_ignore_ascii_case(b"toplevel") => Special::Root,
        11 if name.eq_ignore_ascii_case(b"currenttime") => Special::CurrentTime,
        _ => Special::None,
    }
}
/// Whether two real literals are the same: the reference allows a difference of the machine's epsilon, however small the
/// numbers are, so that what was printed with 16 digits is the same when it is read again.
pub(crate) fn same_real(left: f64, right: f64) -> bool {
    (left - right).abs() <= f64::EPSILON
}
