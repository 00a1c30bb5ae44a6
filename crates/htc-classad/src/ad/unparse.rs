//! Expressions and values into text: new, old and pretty forms (reference: sink.cpp).
//!
//! Nothing here recurses, so that an expression of a million terms prints as well as a small one.

use std::fmt;

use bstr::BString;

use crate::ad::{ClassAd, Slot, Value};
use crate::syntax::AbsTime;
use crate::syntax::expr::{Expr, Repr};
use crate::syntax::numbers::{self, push_int};
use crate::syntax::scalar::Scalar;
use crate::syntax::times;
use crate::syntax::tree::{ABSOLUTE, BinaryOp, Kept, Node, NodeId, Print, Tree, UnaryOp};

/// The forms an expression is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The default: `classad_eval`, Python's `repr`.
    New,
    /// Values of long ads.
    Old,
    /// New, with an attribute or element of nested ads and lists on each line.
    Pretty,
    /// New, with parentheses around each operation.
    Parenthesised,
}

/// What is still to be written.
enum Task<'t> {
    Node(&'t Tree, NodeId),
    Text(&'static str),
    Name(&'t [u8]),
    /// A name that is printed as it is.
    Raw(&'t [u8]),
    /// A line break and so many blanks.
    Line(usize),
    Indent(isize),
}

pub(crate) fn expr(expr: &Expr, form: Form, out: &mut Vec<u8>) {
    match &expr.0 {
        Repr::Scalar(value) => scalar(value.look(), form, out),
        Repr::Node(tree, root) => node(tree, *root, form, out),
    }
}

pub(crate) fn value(value: &Value, form: Form) -> BString {
    let mut out = Vec::new();
    push_value(value, form, &mut out);
    out.into()
}

pub(crate) fn push_value(value: &Value, form: Form, out: &mut Vec<u8>) {
    match value {
        Value::List(list) => {
            let items = list.items();
            out.extend_from_slice(b"{ ");
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                expr(item, form, out);
            }
            out.extend_from_slice(b" }");
        }
        Value::Ad(ad) => self::ad(ad, form, out),
        Value::AbsTime(time) => abs_time(*time, out),
        Value::RelTime(seconds) => rel_time(*seconds, out),
        value => {
            if let Some(value) = Scalar::of(value) {
                scalar(value, form, out);
            }
        }
    }
}

/// An ad in one line: `[ a = 1; b = 2 ]`, its own attributes in the order of ads.
pub(crate) fn ad(ad: &ClassAd, form: Form, out: &mut Vec<u8>) {
    out.extend_from_slice(b"[ ");
    for (at, (name, value)) in ad.in_ad_order().into_iter().enumerate() {
        if at > 0 {
            out.extend_from_slice(b"; ");
        }
        self::name(name, form, out);
        out.extend_from_slice(b" = ");
        expr(&value, form, out);
    }
    out.extend_from_slice(b" ]");
}

/// The pretty form of an expression.
pub(crate) fn pretty(expr: &Expr) -> BString {
    let mut out = Vec::new();
    self::expr(expr, Form::Pretty, &mut out);
    out.into()
}

pub(crate) fn scalar(value: Scalar<&[u8]>, form: Form, out: &mut Vec<u8>) {
    match value {
        Scalar::Undefined => out.extend_from_slice(b"undefined"),
        Scalar::Error => out.extend_from_slice(b"error"),
        Scalar::Bool(truth) => out.extend_from_slice(if truth { b"true" } else { b"false" }),
        Scalar::Int(i) => push_int(i, out),
        Scalar::Real(r) => real(r, form, out),
        Scalar::Str(text) => string(text, form, out),
    }
}

fn abs_time(time: AbsTime, out: &mut Vec<u8>) {
    out.extend_from_slice(b"absTime(\"");
    times::push_abs(time, out);
    out.extend_from_slice(b"\")");
}

fn rel_time(seconds: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"relTime(\"");
    times::push_rel(seconds, out);
    out.extend_from_slice(b"\")");
}

/// A real: `%1.15E` in the new form, `%.16G` in the old.
pub(crate) fn real(value: f64, form: Form, out: &mut Vec<u8>) {
    if value == 0.0 {
        out.extend_from_slice(if value.is_sign_negative() { b"-0.0" } else { b"0.0" });
    } else if value.is_nan() {
        out.extend_from_slice(b"real(\"NaN\")");
    } else if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 { b"real(\"INF\")" } else { b"real(\"-INF\")" });
    } else if form == Form::Old {
        numbers::push_g16(value, out);
    } else {
        numbers::push_e15(value, out);
    }
}

/// A string with its quotes.
pub(crate) fn string(text: &[u8], form: Form, out: &mut Vec<u8>) {
    out.push(b'"');
    if form == Form::Old {
        escape_quote(text, b'"', out);
    } else {
        escape(text, b'"', out);
    }
    out.push(b'"');
}

/// Writes text with the one escape of the old syntax.
fn escape_quote(text: &[u8], quote: u8, out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr::memchr(quote, rest) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(&[b'\\', quote]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Writes text with the escapes of the new syntax; of the two quotes only `quote` is escaped.
pub fn escape(text: &[u8], quote: u8, out: &mut Vec<u8>) {
    for byte in text {
        let letter = match byte {
            7 => b'a',
            8 => b'b',
            12 => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            11 => b'v',
            b'\\' => b'\\',
            byte if *byte == quote => quote,
            b' '..=b'~' => {
                out.push(*byte);
                continue;
            }
            _ => {
                out.extend_from_slice(&[
                    b'\\',
                    b'0' + (byte >> 6),
                    b'0' + (byte >> 3 & 7),
                    b'0' + (byte & 7),
                ]);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', letter]);
    }
}

/// The name of an attribute, quoted where it has to be. The old form escapes nothing but the quote, as in strings.
pub(crate) fn name(name: &[u8], form: Form, out: &mut Vec<u8>) {
    const RESERVED: [&[u8]; 7] = [b"error", b"false", b"is", b"isnt", b"parent", b"true", b"undefined"];
    let identifier = name.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
        && name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_');
    if identifier && !RESERVED.iter().any(|word| word.eq_ignore_ascii_case(name)) {
        out.extend_from_slice(name);
    } else {
        out.push(b'\'');
        match form {
            Form::Old => escape_quote(name, b'\'', out),
            _ => escape(name, b'\'', out),
        }
        out.push(b'\'');
    }
}

/// The sign of a binary operator with the blanks around it.
pub(crate) fn operator(op: BinaryOp, form: Form) -> &'static str {
    match op {
        BinaryOp::Or => " || ",
        BinaryOp::And => " && ",
        BinaryOp::BitOr => " | ",
        BinaryOp::BitXor => " ^ ",
        BinaryOp::BitAnd => " & ",
        BinaryOp::Equal => " == ",
        BinaryOp::NotEqual => " != ",
        BinaryOp::Is if form == Form::Old => " =?= ",
        BinaryOp::Is => " is ",
        BinaryOp::Isnt if form == Form::Old => " =!= ",
        BinaryOp::Isnt => " isnt ",
        BinaryOp::Less => " < ",
        BinaryOp::LessEqual => " <= ",
        BinaryOp::Greater => " > ",
        BinaryOp::GreaterEqual => " >= ",
        BinaryOp::ShiftLeft => " << ",
        BinaryOp::ShiftRight => " >> ",
        BinaryOp::ShiftRightZero => " >>> ",
        BinaryOp::Add => " + ",
        BinaryOp::Subtract => " - ",
        BinaryOp::Multiply => " * ",
        BinaryOp::Divide => " / ",
        BinaryOp::Modulus => " % ",
        BinaryOp::Elvis => " ?: ",
        BinaryOp::Subscript => "[",
    }
}

/// What gets parentheses of its own in the form that has them everywhere.
fn is_operation(node: Node) -> bool {
    match node {
        Node::Unary(op, _) => op != UnaryOp::Parentheses,
        Node::Binary(op, ..) => op != BinaryOp::Subscript,
        Node::Ternary { .. } => true,
        _ => false,
    }
}

/// Writes a node and all below it.
pub(crate) fn node(tree: &Tree, root: NodeId, form: Form, out: &mut Vec<u8>) {
    let mut todo = vec![Task::Node(tree, root)];
    let mut indent: usize = 0;
    while let Some(task) = todo.pop() {
        let (tree, id) = match task {
            Task::Text(text) => {
                out.extend_from_slice(text.as_bytes());
                continue;
            }
            Task::Name(text) => {
                name(text, form, out);
                continue;
            }
            Task::Raw(text) => {
                out.extend_from_slice(text);
                continue;
            }
            Task::Line(blanks) => {
                out.push(b'\n');
                out.resize(out.len() + blanks, b' ');
                continue;
            }
            Task::Indent(by) => {
                indent = indent.saturating_add_signed(by);
                continue;
            }
            Task::Node(tree, id) => (tree, id),
        };
        take_apart((tree, id), form, &mut indent, &mut todo, out);
    }
}

/// Writes what a node begins with, and lists the rest of it.
#[inline(always)]
fn take_apart<'t>(
    (tree, id): (&'t Tree, NodeId),
    form: Form,
    indent: &mut usize,
    todo: &mut Vec<Task<'t>>,
    out: &mut Vec<u8>,
) {
    let at = todo.len();
    let node = tree.node(id);
    let wrap = form == Form::Parenthesised && is_operation(node);
    if wrap {
        todo.push(Task::Text("("));
    }
    match node {
        Node::Undefined | Node::Error | Node::Bool(_) | Node::Int(_) | Node::Real(_) | Node::Str(_) => {
            if let Some(value) = tree.scalar(id) {
                scalar(value, form, out);
            }
        }
        Node::AbsTime(time) => abs_time(tree.times[time as usize], out),
        Node::RelTime(seconds) => rel_time(seconds, out),
        Node::Name { text, .. } => name(tree.bytes(text), form, out),
        Node::Attr { base: ABSOLUTE, name: text } => {
            out.push(b'.');
            name(tree.name_bytes(text), form, out);
        }
        // The name behind a base is printed raw (`ClassAdUnParser::Unparse`, sink.cpp).
        Node::Attr { base, name: text } => {
            todo.extend([Task::Node(tree, base), Task::Text("."), Task::Raw(tree.name_bytes(text))]);
        }
        Node::Unary(UnaryOp::Parentheses, inner) if form == Form::Parenthesised => {
            todo.push(Task::Node(tree, inner));
        }
        Node::Unary(op, inner) => {
            let sign = match op {
                UnaryOp::Parentheses => "(",
                UnaryOp::Plus => " +",
                UnaryOp::Minus => " -",
                UnaryOp::Not => " !",
                UnaryOp::BitNot => " ~",
            };
            let sign = if wrap { sign.trim_start() } else { sign };
            todo.extend([Task::Text(sign), Task::Node(tree, inner)]);
            if op == UnaryOp::Parentheses {
                todo.push(Task::Text(")"));
            }
        }
        Node::Binary(BinaryOp::Subscript, left, right) => {
            todo.extend([Task::Node(tree, left), Task::Text("["), Task::Node(tree, right), Task::Text("]")]);
        }
        Node::Binary(op, left, right) => {
            todo.extend([Task::Node(tree, left), Task::Text(operator(op, form)), Task::Node(tree, right)]);
        }
        Node::Ternary { condition, branches } => {
            let branches = tree.links(branches, 2);
            todo.extend([
                Task::Node(tree, condition),
                Task::Text(" ? "),
                Task::Node(tree, branches[0]),
                Task::Text(" : "),
                Task::Node(tree, branches[1]),
            ]);
        }
        Node::Call { name, first, count } => {
            out.extend_from_slice(tree.name_bytes(name));
            out.push(b'(');
            separated(tree, tree.links(first, count), todo);
            todo.push(Task::Text(")"));
        }
        Node::List { first, count } if form == Form::Pretty => {
            pretty_list(tree, tree.links(first, count), indent, todo);
        }
        Node::List { first, count } => {
            todo.push(Task::Text("{ "));
            separated(tree, tree.links(first, count), todo);
            todo.push(Task::Text(" }"));
        }
        Node::Ad { first, count } if form == Form::Pretty => {
            pretty_ad(tree, (first, count), indent, todo);
        }
        Node::Ad { first, count } => {
            todo.push(Task::Text("[ "));
            for (at, field) in tree.fields(first, count).iter().enumerate() {
                if at > 0 {
                    todo.push(Task::Text("; "));
                }
                todo.extend([
                    Task::Name(tree.name_bytes(field.name)),
                    Task::Text(" = "),
                    Task::Node(tree, field.node),
                ]);
            }
            todo.push(Task::Text(" ]"));
        }
    }
    if wrap {
        todo.push(Task::Text(")"));
    }
    // The parts were listed in reading order; the last one pushed is the first one taken.
    todo[at..].reverse();
}

/// Nodes with commas between them.
fn separated<'t>(tree: &'t Tree, items: &[NodeId], todo: &mut Vec<Task<'t>>) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            todo.push(Task::Text(","));
        }
        todo.push(Task::Node(tree, *item));
    }
}

fn pretty_list<'t>(tree: &'t Tree, items: &[NodeId], indent: &mut usize, todo: &mut Vec<Task<'t>>) {
    let outer = *indent;
    *indent += 3;
    todo.extend([Task::Line(*indent), Task::Text("{")]);
    let inner = *indent + 3;
    todo.push(Task::Indent(3));
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            todo.push(Task::Text(","));
        }
        todo.extend([Task::Line(inner), Task::Node(tree, *item)]);
    }
    todo.extend([Task::Indent(-3), Task::Line(outer + 3), Task::Text("}"), Task::Indent(-3)]);
}

fn pretty_ad<'t>(tree: &'t Tree, (first, count): (u32, u32), indent: &mut usize, todo: &mut Vec<Task<'t>>) {
    let outer = *indent;
    *indent += 4;
    todo.extend([Task::Line(*indent), Task::Text("["), Task::Indent(4)]);
    for (at, field) in tree.fields(first, count).iter().enumerate() {
        if at > 0 {
            todo.push(Task::Text("; "));
        }
        todo.extend([
            Task::Line(outer + 8),
            Task::Name(tree.name_bytes(field.name)),
            Task::Text(" = "),
            Task::Node(tree, field.node),
        ]);
    }
    todo.extend([Task::Indent(-4), Task::Line(outer + 4), Task::Text("]"), Task::Indent(-4)]);
}

/// Prints values of long ads.
struct OldForm;

impl Print for OldForm {
    const FORM: Kept = Kept::Old;

    fn tree(tree: &Tree, root: NodeId, out: &mut Vec<u8>) {
        node(tree, root, Form::Old, out);
    }

    fn scalar(value: Scalar<&[u8]>, out: &mut Vec<u8>) {
        scalar(value, Form::Old, out);
    }
}

/// The value of an attribute as it stands in its ad.
pub(crate) fn slot(ad: &ClassAd, slot: &Slot, form: Form, out: &mut Vec<u8>) {
    match slot {
        Slot::Expr(root, tree) if form == Form::Old => tree.push_form::<OldForm>(*root, out),
        Slot::Expr(root, tree) => node(tree, *root, form, out),
        plain => {
            if let Some(value) = ad.scalar(plain) {
                scalar(value, form, out);
            }
        }
    }
}

impl Expr {
    /// The new form of the expression.
    pub fn unparse(&self) -> BString {
        let mut out = Vec::new();
        expr(self, Form::New, &mut out);
        out.into()
    }

    /// The old form, as it stands behind `=` in a long ad.
    pub fn unparse_old(&self) -> BString {
        let mut out = Vec::new();
        expr(self, Form::Old, &mut out);
        out.into()
    }

    /// The new form with a line for each attribute and element of nested ads and lists (`PrettyPrint`, sink.cpp).
    pub fn unparse_pretty(&self) -> BString {
        pretty(self)
    }

    /// The new form with parentheses around every operation, so that precedence can be seen.
    pub fn unparse_parenthesised(&self) -> BString {
        let mut out = Vec::new();
        expr(self, Form::Parenthesised, &mut out);
        out.into()
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.unparse(), f)
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expr({})", self.unparse())
    }
}

impl Value {
    /// The new form: what `classad_eval` prints.
    pub fn unparse(&self) -> BString {
        value(self, Form::New)
    }

    /// The old form: what stands behind `=` in a long ad.
    pub fn unparse_old(&self) -> BString {
        value(self, Form::Old)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.unparse(), f)
    }
}

impl ClassAd {
    /// The new form on one line.
    pub fn unparse(&self) -> BString {
        let mut out = Vec::new();
        ad(self, Form::New, &mut out);
        out.into()
    }
}

impl From<&ClassAd> for BString {
    fn from(ad: &ClassAd) -> Self {
        ad.unparse()
    }
}
