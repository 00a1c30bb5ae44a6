//! Conversion of expressions and values to text in new, old and pretty syntax (reference: sink.cpp).
//!
//! No function here recurses, so even an expression of a million terms can be printed.
//!
//! ```
//! use htc_classad::unparse;
//! let mut quoted = b"\"".to_vec();
//! unparse::escape(b"say \"hi\"", b'"', &mut quoted);
//! quoted.push(b'"');
//! assert_eq!(quoted, br#""say \"hi\"""#);
//! ```

mod methods;

use bstr::BString;

use crate::ad::{ClassAd, StoredValue, Value};
use crate::syntax::AbsTime;
use crate::syntax::expr::{Expr, ExprRepr};
use crate::syntax::numbers::{self, push_int};
use crate::syntax::scalar::Scalar;
use crate::syntax::times;
use crate::syntax::tree::{
    ABSOLUTE_BASE, BinaryOp, CachedForm, ExprTree, FormPrinter, Node, NodeId, UnaryOp,
};

/// Syntax and layout in which an expression is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnparseForm {
    /// New syntax, as printed by `classad_eval` and Python's `repr`.
    New,
    /// Old syntax, as used for values in long ads.
    Old,
    /// Old syntax, with each ad as lines without brackets; the values in these lines have the form `Old`.
    OldLines,
    /// New syntax, with each attribute of a nested ad and each element of a list on its own line.
    Pretty,
    /// New syntax, with parentheses around each operation.
    Parenthesised,
}

/// Piece of output that is still to be written.
enum UnparseTask<'t> {
    Node(&'t ExprTree, NodeId),
    Text(&'static str),
    Name(&'t [u8]),
    /// Name that is printed without quotes.
    Raw(&'t [u8]),
    /// Line break followed by this number of blanks.
    Line(usize),
    Indent(isize),
}

impl UnparseForm {
    /// Returns true if the form is in old syntax.
    fn is_old(self) -> bool {
        matches!(self, UnparseForm::Old | UnparseForm::OldLines)
    }
}

pub(crate) fn push_expr(expr: &Expr, form: UnparseForm, out: &mut Vec<u8>) {
    match &expr.0 {
        ExprRepr::Scalar(value) => push_scalar(value.as_borrowed(), form, out),
        ExprRepr::Node(tree, root) => push_node(tree, *root, form, out),
    }
}

pub(crate) fn unparse_value(value: &Value, form: UnparseForm) -> BString {
    let mut out = Vec::new();
    push_value(value, form, &mut out);
    out.into()
}

pub(crate) fn push_value(value: &Value, form: UnparseForm, out: &mut Vec<u8>) {
    match value {
        Value::List(list) => {
            let items = list.items();
            out.extend_from_slice(b"{ ");
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                push_expr(item, form, out);
            }
            out.extend_from_slice(b" }");
        }
        Value::Ad(ad) => self::push_ad(ad, form, out),
        Value::AbsTime(time) => push_abs_time(*time, out),
        Value::RelTime(seconds) => push_rel_time(*seconds, out),
        value => {
            if let Some(value) = Scalar::from_value(value) {
                push_scalar(value, form, out);
            }
        }
    }
}

/// Writes the ad's own attributes, sorted by length of name, in new syntax on one line: `[ a = 1; b = 2 ]`.
pub(crate) fn push_ad(ad: &ClassAd, form: UnparseForm, out: &mut Vec<u8>) {
    let (open, delimiter, close, inner) = match form {
        UnparseForm::OldLines => ("", "\n", "\n", UnparseForm::Old),
        _ => ("[ ", "; ", " ]", form),
    };
    out.extend_from_slice(open.as_bytes());
    for (at, (name, value)) in ad.in_ad_order().into_iter().enumerate() {
        if at > 0 {
            out.extend_from_slice(delimiter.as_bytes());
        }
        self::push_name(name, inner, out);
        out.extend_from_slice(b" = ");
        push_expr(&value, inner, out);
    }
    out.extend_from_slice(close.as_bytes());
}

/// Returns the pretty form of an expression.
pub(crate) fn unparse_pretty_expr(expr: &Expr) -> BString {
    let mut out = Vec::new();
    self::push_expr(expr, UnparseForm::Pretty, &mut out);
    out.into()
}

pub(crate) fn push_scalar(value: Scalar<&[u8]>, form: UnparseForm, out: &mut Vec<u8>) {
    match value {
        Scalar::Undefined => out.extend_from_slice(b"undefined"),
        Scalar::Error => out.extend_from_slice(b"error"),
        Scalar::Bool(truth) => out.extend_from_slice(if truth { b"true" } else { b"false" }),
        Scalar::Int(i) => push_int(i, out),
        Scalar::Real(r) => push_real(r, form, out),
        Scalar::Str(text) => push_string(text, form, out),
    }
}

fn push_abs_time(time: AbsTime, out: &mut Vec<u8>) {
    out.extend_from_slice(b"absTime(\"");
    times::push_abs_time(time, out);
    out.extend_from_slice(b"\")");
}

fn push_rel_time(seconds: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"relTime(\"");
    times::push_rel_time(seconds, out);
    out.extend_from_slice(b"\")");
}

/// Writes a real with the format `%1.15E` in new syntax or `%.16G` in old syntax.
pub(crate) fn push_real(value: f64, form: UnparseForm, out: &mut Vec<u8>) {
    if value == 0.0 {
        out.extend_from_slice(if value.is_sign_negative() { b"-0.0" } else { b"0.0" });
    } else if value.is_nan() {
        out.extend_from_slice(b"real(\"NaN\")");
    } else if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 { b"real(\"INF\")" } else { b"real(\"-INF\")" });
    } else if form.is_old() {
        numbers::push_g16(value, out);
    } else {
        numbers::push_e15(value, out);
    }
}

/// Writes a string with its quotes.
pub(crate) fn push_string(text: &[u8], form: UnparseForm, out: &mut Vec<u8>) {
    out.push(b'"');
    if form.is_old() {
        escape_quote(text, b'"', out);
    } else {
        escape(text, b'"', out);
    }
    out.push(b'"');
}

/// Writes a text with a backslash before each quote, the only escape of the old syntax.
fn escape_quote(text: &[u8], quote: u8, out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr::memchr(quote, rest) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(&[b'\\', quote]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Writes a text with the escapes of the new syntax. Of the quote characters, only `quote` is escaped.
///
/// ```
/// use htc_classad::unparse;
/// let mut text = Vec::new();
/// unparse::escape(b"a \"b\"\tc", b'"', &mut text);
/// assert_eq!(text, br#"a \"b\"\tc"#);
/// ```
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

/// Writes the name of an attribute, in quotes if necessary. In old syntax only the quote is escaped, as in
/// strings.
pub(crate) fn push_name(name: &[u8], form: UnparseForm, out: &mut Vec<u8>) {
    const RESERVED_WORDS: [&[u8]; 7] = [b"error", b"false", b"is", b"isnt", b"parent", b"true", b"undefined"];
    let identifier = name.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
        && name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_');
    if identifier && !RESERVED_WORDS.iter().any(|word| word.eq_ignore_ascii_case(name)) {
        out.extend_from_slice(name);
    } else {
        out.push(b'\'');
        match form {
            UnparseForm::Old => escape_quote(name, b'\'', out),
            _ => escape(name, b'\'', out),
        }
        out.push(b'\'');
    }
}

/// Returns the text of a binary operator, including the blanks around the operator.
pub(crate) fn operator_text(op: BinaryOp, form: UnparseForm) -> &'static str {
    match op {
        BinaryOp::Or => " || ",
        BinaryOp::And => " && ",
        BinaryOp::BitOr => " | ",
        BinaryOp::BitXor => " ^ ",
        BinaryOp::BitAnd => " & ",
        BinaryOp::Equal => " == ",
        BinaryOp::NotEqual => " != ",
        BinaryOp::Is if form.is_old() => " =?= ",
        BinaryOp::Is => " is ",
        BinaryOp::Isnt if form.is_old() => " =!= ",
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

/// Returns true if the node gets its own parentheses in the parenthesised form.
fn is_operation(node: Node) -> bool {
    match node {
        Node::Unary(op, _) => op != UnaryOp::Parentheses,
        Node::Binary(op, ..) => op != BinaryOp::Subscript,
        Node::Ternary { .. } => true,
        _ => false,
    }
}

/// Writes a node with all nodes below it.
pub(crate) fn push_node(tree: &ExprTree, root: NodeId, form: UnparseForm, out: &mut Vec<u8>) {
    let mut todo = vec![UnparseTask::Node(tree, root)];
    let mut indent: usize = 0;
    while let Some(task) = todo.pop() {
        let (tree, id) = match task {
            UnparseTask::Text(text) => {
                out.extend_from_slice(text.as_bytes());
                continue;
            }
            UnparseTask::Name(text) => {
                push_name(text, form, out);
                continue;
            }
            UnparseTask::Raw(text) => {
                out.extend_from_slice(text);
                continue;
            }
            UnparseTask::Line(blanks) => {
                out.push(b'\n');
                out.resize(out.len() + blanks, b' ');
                continue;
            }
            UnparseTask::Indent(by) => {
                indent = indent.saturating_add_signed(by);
                continue;
            }
            UnparseTask::Node(tree, id) => (tree, id),
        };
        push_node_start(tree, id, form, &mut indent, &mut todo, out);
    }
}

/// Writes the beginning of a node and queues the parts that follow.
#[inline(always)]
fn push_node_start<'t>(
    tree: &'t ExprTree,
    id: NodeId,
    form: UnparseForm,
    indent: &mut usize,
    todo: &mut Vec<UnparseTask<'t>>,
    out: &mut Vec<u8>,
) {
    let at = todo.len();
    let node = tree.node(id);
    let wrap = form == UnparseForm::Parenthesised && is_operation(node);
    if wrap {
        todo.push(UnparseTask::Text("("));
    }
    match node {
        Node::Undefined | Node::Error | Node::Bool(_) | Node::Int(_) | Node::Real(_) | Node::Str(_) => {
            if let Some(value) = tree.scalar(id) {
                push_scalar(value, form, out);
            }
        }
        Node::AbsTime(time) => push_abs_time(tree.times[time as usize], out),
        Node::RelTime(seconds) => push_rel_time(seconds, out),
        Node::Name { text, .. } => push_name(tree.text_bytes(text), form, out),
        Node::Attr { base: ABSOLUTE_BASE, name: text } => {
            out.push(b'.');
            push_name(tree.name_bytes(text), form, out);
        }
        // The name after a base is printed without quotes (`ClassAdUnParser::Unparse`, sink.cpp).
        Node::Attr { base, name: text } => {
            todo.extend([
                UnparseTask::Node(tree, base),
                UnparseTask::Text("."),
                UnparseTask::Raw(tree.name_bytes(text)),
            ]);
        }
        Node::Unary(UnaryOp::Parentheses, inner) if form == UnparseForm::Parenthesised => {
            todo.push(UnparseTask::Node(tree, inner));
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
            todo.extend([UnparseTask::Text(sign), UnparseTask::Node(tree, inner)]);
            if op == UnaryOp::Parentheses {
                todo.push(UnparseTask::Text(")"));
            }
        }
        Node::Binary(BinaryOp::Subscript, left, right) => {
            todo.extend([
                UnparseTask::Node(tree, left),
                UnparseTask::Text("["),
                UnparseTask::Node(tree, right),
                UnparseTask::Text("]"),
            ]);
        }
        Node::Binary(op, left, right) => {
            todo.extend([
                UnparseTask::Node(tree, left),
                UnparseTask::Text(operator_text(op, form)),
                UnparseTask::Node(tree, right),
            ]);
        }
        Node::Ternary { condition, branches } => {
            let branches = tree.links(branches, 2);
            todo.extend([
                UnparseTask::Node(tree, condition),
                UnparseTask::Text(" ? "),
                UnparseTask::Node(tree, branches[0]),
                UnparseTask::Text(" : "),
                UnparseTask::Node(tree, branches[1]),
            ]);
        }
        Node::Call { name, first, count } => {
            out.extend_from_slice(tree.name_bytes(name));
            out.push(b'(');
            queue_separated(tree, tree.links(first, count), todo);
            todo.push(UnparseTask::Text(")"));
        }
        Node::List { first, count } if form == UnparseForm::Pretty => {
            queue_pretty_list(tree, tree.links(first, count), indent, todo);
        }
        Node::List { first, count } => {
            todo.push(UnparseTask::Text("{ "));
            queue_separated(tree, tree.links(first, count), todo);
            todo.push(UnparseTask::Text(" }"));
        }
        Node::Ad { first, count } if form == UnparseForm::Pretty => {
            queue_pretty_ad(tree, first, count, indent, todo);
        }
        Node::Ad { first, count } if form == UnparseForm::OldLines => {
            for (at, field) in tree.fields(first, count).iter().enumerate() {
                if at > 0 {
                    out.push(b'\n');
                }
                push_name(tree.name_bytes(field.name), UnparseForm::Old, out);
                out.extend_from_slice(b" = ");
                push_node(tree, field.node, UnparseForm::Old, out);
            }
            out.push(b'\n');
        }
        Node::Ad { first, count } => {
            todo.push(UnparseTask::Text("[ "));
            for (at, field) in tree.fields(first, count).iter().enumerate() {
                if at > 0 {
                    todo.push(UnparseTask::Text("; "));
                }
                todo.extend([
                    UnparseTask::Name(tree.name_bytes(field.name)),
                    UnparseTask::Text(" = "),
                    UnparseTask::Node(tree, field.node),
                ]);
            }
            todo.push(UnparseTask::Text(" ]"));
        }
    }
    if wrap {
        todo.push(UnparseTask::Text(")"));
    }
    // The parts were queued in the order in which they are written, but the last element is processed first.
    todo[at..].reverse();
}

/// Queues nodes with commas between them.
fn queue_separated<'t>(tree: &'t ExprTree, items: &[NodeId], todo: &mut Vec<UnparseTask<'t>>) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            todo.push(UnparseTask::Text(","));
        }
        todo.push(UnparseTask::Node(tree, *item));
    }
}

fn queue_pretty_list<'t>(
    tree: &'t ExprTree,
    items: &[NodeId],
    indent: &mut usize,
    todo: &mut Vec<UnparseTask<'t>>,
) {
    let outer = *indent;
    *indent += 3;
    todo.extend([UnparseTask::Line(*indent), UnparseTask::Text("{")]);
    let inner = *indent + 3;
    todo.push(UnparseTask::Indent(3));
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            todo.push(UnparseTask::Text(","));
        }
        todo.extend([UnparseTask::Line(inner), UnparseTask::Node(tree, *item)]);
    }
    todo.extend([
        UnparseTask::Indent(-3),
        UnparseTask::Line(outer + 3),
        UnparseTask::Text("}"),
        UnparseTask::Indent(-3),
    ]);
}

fn queue_pretty_ad<'t>(
    tree: &'t ExprTree,
    first: u32,
    count: u32,
    indent: &mut usize,
    todo: &mut Vec<UnparseTask<'t>>,
) {
    let outer = *indent;
    *indent += 4;
    todo.extend([UnparseTask::Line(*indent), UnparseTask::Text("["), UnparseTask::Indent(4)]);
    for (at, field) in tree.fields(first, count).iter().enumerate() {
        if at > 0 {
            todo.push(UnparseTask::Text("; "));
        }
        todo.extend([
            UnparseTask::Line(outer + 8),
            UnparseTask::Name(tree.name_bytes(field.name)),
            UnparseTask::Text(" = "),
            UnparseTask::Node(tree, field.node),
        ]);
    }
    todo.extend([
        UnparseTask::Indent(-4),
        UnparseTask::Line(outer + 4),
        UnparseTask::Text("]"),
        UnparseTask::Indent(-4),
    ]);
}

/// Printer of expressions in old syntax, for values in long ads.
struct OldFormPrinter;

impl FormPrinter for OldFormPrinter {
    const FORM: CachedForm = CachedForm::Old;

    fn push_tree(tree: &ExprTree, root: NodeId, out: &mut Vec<u8>) {
        push_node(tree, root, UnparseForm::Old, out);
    }

    fn push_scalar(value: Scalar<&[u8]>, out: &mut Vec<u8>) {
        push_scalar(value, UnparseForm::Old, out);
    }
}

/// Writes the value of an attribute, as stored in the ad.
pub(crate) fn push_stored_value(ad: &ClassAd, slot: &StoredValue, form: UnparseForm, out: &mut Vec<u8>) {
    match slot {
        StoredValue::Expr(root, tree) if form.is_old() => tree.push_form::<OldFormPrinter>(*root, out),
        StoredValue::Expr(root, tree) => push_node(tree, *root, form, out),
        plain => {
            if let Some(value) = ad.stored_scalar(plain) {
                push_scalar(value, form, out);
            }
        }
    }
}
