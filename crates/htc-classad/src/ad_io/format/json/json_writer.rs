//! Writer of ads as JSON objects (reference: jsonSink.cpp).

use crate::ad::unparse;
use crate::ad::{ClassAd, StoredValue, Value};
use crate::syntax::name::ad_order;
use crate::syntax::numbers;
use crate::syntax::scalar::Scalar;
use crate::syntax::tree::{CachedForm, ExprTree, FormPrinter, Node, NodeId};

/// Layout of an ad in JSON.
///
/// ```
/// use htc_classad::{ClassAd, format::json::{self, JsonLayout}};
/// let print = |layout| {
///     let mut out = Vec::new();
///     json::push(&ClassAd::from([("Cpus", 4)]), layout, &mut out);
///     String::from_utf8(out).unwrap()
/// };
/// assert_eq!(print(JsonLayout::OneLine), r#"{"Cpus": 4}"#);
/// assert_eq!(print(JsonLayout::Indented), "{\n  \"Cpus\": 4\n}");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JsonLayout {
    /// Prints each attribute and element on its own line, indented by two blanks.
    #[default]
    Indented,
    /// Prints everything on one line, without a newline at the end.
    OneLine,
}

/// Piece of output that is still to be written.
enum JsonWriteTask<'t> {
    Node(&'t ExprTree, NodeId),
    Key(&'t [u8]),
    Text(&'static str),
    Line,
    Deeper,
    Shallower,
}

struct JsonWriter<'o> {
    out: &'o mut Vec<u8>,
    indented: bool,
    indent: usize,
}

impl JsonWriter<'_> {
    fn write_line_break(&mut self) {
        if self.indented {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + self.indent, b' ');
        }
    }

    fn write_key(&mut self, name: &[u8]) {
        self.out.push(b'"');
        escape(name, self.out);
        self.out.extend_from_slice(b"\": ");
    }

    fn write_quoted_expr(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.out.extend_from_slice(b"\"\\/Expr(");
        push_escaped(write, self.out);
        self.out.extend_from_slice(b")\\/\"");
    }

    fn write_real(&mut self, real: f64) {
        if real.is_finite() {
            unparse::push_real(real, unparse::UnparseForm::Old, self.out);
        } else {
            self.write_quoted_expr(|out| unparse::push_real(real, unparse::UnparseForm::Old, out));
        }
    }

    fn write_string(&mut self, text: &[u8]) {
        self.out.push(b'"');
        escape(text, self.out);
        self.out.push(b'"');
    }

    fn write_stored_value(&mut self, ad: &ClassAd, slot: &StoredValue) {
        match slot {
            StoredValue::Expr(root, tree) => match tree.node(*root) {
                // Lists, ads and relative times are written as JSON, in the layout of the ad.
                Node::List { .. } | Node::Ad { .. } | Node::RelTime(_) => self.write_node(tree, *root),
                _ => tree.push_form::<JsonFormPrinter>(*root, self.out),
            },
            plain => {
                if let Some(value) = ad.stored_scalar(plain) {
                    self.write_scalar(value);
                }
            }
        }
    }

    fn write_scalar(&mut self, value: Scalar<&[u8]>) {
        match value {
            Scalar::Undefined => self.out.extend_from_slice(b"null"),
            Scalar::Error => self.write_quoted_expr(|out| out.extend_from_slice(b"error")),
            Scalar::Bool(truth) => self.out.extend_from_slice(if truth { b"true" } else { b"false" }),
            Scalar::Int(integer) => numbers::push_int(integer, self.out),
            Scalar::Real(real) => self.write_real(real),
            Scalar::Str(text) => self.write_string(text),
        }
    }

    fn write_node(&mut self, tree: &ExprTree, root: NodeId) {
        let mut todo = vec![JsonWriteTask::Node(tree, root)];
        while let Some(task) = todo.pop() {
            match task {
                JsonWriteTask::Text(text) => self.out.extend_from_slice(text.as_bytes()),
                JsonWriteTask::Line => self.write_line_break(),
                JsonWriteTask::Deeper => self.indent += 2,
                JsonWriteTask::Shallower => self.indent -= 2,
                JsonWriteTask::Key(name) => self.write_key(name),
                JsonWriteTask::Node(tree, id) => self.write_node_start(tree, id, &mut todo),
            }
        }
    }

    fn write_node_start<'t>(&mut self, tree: &'t ExprTree, id: NodeId, todo: &mut Vec<JsonWriteTask<'t>>) {
        if let Some(value) = tree.scalar(id) {
            return self.write_scalar(value);
        }
        match tree.node(id) {
            // A literal of a relative time is written as a number (literals.cpp).
            Node::RelTime(real) => self.write_real(real),
            Node::List { first, count } => {
                self.out.push(b'[');
                todo.extend([JsonWriteTask::Text("]"), JsonWriteTask::Line, JsonWriteTask::Shallower]);
                for (at, item) in tree.links(first, count).iter().enumerate().rev() {
                    todo.extend([JsonWriteTask::Node(tree, *item), JsonWriteTask::Line]);
                    if at > 0 {
                        todo.push(JsonWriteTask::Text(","));
                    }
                }
                todo.push(JsonWriteTask::Deeper);
            }
            Node::Ad { first, count } => {
                self.out.push(b'{');
                todo.extend([JsonWriteTask::Text("}"), JsonWriteTask::Line, JsonWriteTask::Shallower]);
                for (at, field) in tree.fields(first, count).iter().enumerate().rev() {
                    let name = tree.name_bytes(field.name);
                    todo.extend([
                        JsonWriteTask::Node(tree, field.node),
                        JsonWriteTask::Key(name),
                        JsonWriteTask::Line,
                    ]);
                    if at > 0 {
                        todo.push(JsonWriteTask::Text(","));
                    }
                }
                todo.push(JsonWriteTask::Deeper);
            }
            _ => self.write_quoted_expr(|out| unparse::push_node(tree, id, unparse::UnparseForm::New, out)),
        }
    }
}

/// Printer of expressions that have no JSON form.
struct JsonFormPrinter;

impl FormPrinter for JsonFormPrinter {
    const FORM: CachedForm = CachedForm::Json;

    fn push_tree(tree: &ExprTree, root: NodeId, out: &mut Vec<u8>) {
        JsonWriter { out, indented: false, indent: 0 }.write_node(tree, root);
    }

    fn push_scalar(scalar: Scalar<&[u8]>, out: &mut Vec<u8>) {
        match scalar {
            Scalar::Int(integer) => numbers::push_int(integer, out),
            // The string needs no escapes, neither in the ClassAd syntax nor in JSON.
            Scalar::Str(text)
                if plain_length(text) == text.len() && text.is_ascii() && !text.contains(&127) =>
            {
                out.extend_from_slice(b"\\\"");
                out.extend_from_slice(text);
                out.extend_from_slice(b"\\\"");
            }
            other => push_escaped(|out| unparse::push_scalar(other, unparse::UnparseForm::New, out), out),
        }
    }
}

/// Appends an ad with the given attributes in the given order.
pub(crate) fn push_attributes<'a>(
    ad: &ClassAd,
    attributes: impl Iterator<Item = (&'a [u8], &'a StoredValue)>,
    layout: JsonLayout,
    out: &mut Vec<u8>,
) {
    let mut writer = JsonWriter { out, indented: layout == JsonLayout::Indented, indent: 2 };
    writer.out.push(b'{');
    for (at, (name, slot)) in attributes.enumerate() {
        if at > 0 {
            writer.out.push(b',');
        }
        writer.write_line_break();
        writer.write_key(name);
        writer.write_stored_value(ad, slot);
    }
    writer.indent = 0;
    writer.write_line_break();
    writer.out.push(b'}');
}

/// Appends an ad's own attributes, including secrets, sorted by length of name.
///
/// ```
/// use htc_classad::{ClassAd, format::json::{self, JsonLayout}};
/// let ad: ClassAd = "[ Owner = \"ana\"; Rank = Memory * 2 ]".parse().unwrap();
/// let mut out = Vec::new();
/// json::push(&ad, JsonLayout::OneLine, &mut out);
/// assert_eq!(String::from_utf8(out).unwrap(), r#"{"Rank": "\/Expr(Memory * 2)\/","Owner": "ana"}"#);
/// ```
pub fn push(ad: &ClassAd, layout: JsonLayout, out: &mut Vec<u8>) {
    let mut slots: Vec<_> = ad.stored_values().collect();
    slots.sort_unstable_by(|a, b| ad_order(a.0, b.0));
    push_attributes(ad, slots.into_iter(), layout, out);
}

/// Appends a value in the form in which a literal value of an attribute is written.
///
/// ```
/// use htc_classad::{Value, format::json::{self, JsonLayout}};
/// let mut out = Vec::new();
/// json::push_value(&Value::from("say \"hi\""), JsonLayout::OneLine, &mut out);
/// assert_eq!(String::from_utf8(out).unwrap(), r#""say \"hi\"""#);
/// ```
pub fn push_value(value: &Value, layout: JsonLayout, out: &mut Vec<u8>) {
    let mut ad = ClassAd::new();
    if let Value::RelTime(_) = value {
        let mut writer = JsonWriter { out, indented: false, indent: 0 };
        writer.write_quoted_expr(|out| out.extend_from_slice(&value.unparse()));
        return;
    }
    ad.set("v", value.clone());
    let mut writer = JsonWriter { out, indented: layout == JsonLayout::Indented, indent: 0 };
    if let Some((_, slot)) = ad.stored_values().next() {
        writer.write_stored_value(&ad, slot);
    }
}

/// Appends the text of a JSON string with escapes. Bytes from 0x7f on are unchanged.
fn escape(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    loop {
        let (plain, remaining) = rest.split_at(plain_length(rest));
        out.extend_from_slice(plain);
        let Some((byte, remaining)) = remaining.split_first() else { return };
        rest = remaining;
        let letter = match byte {
            8 => b'b',
            12 => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0..=31 => b'u',
            _ => *byte,
        };
        out.extend_from_slice(&[b'\\', letter]);
        if letter == b'u' {
            const HEX_DIGITS: &[u8; 16] = b"0123456789ABCDEF";
            let digit = |shift: u8| HEX_DIGITS[usize::from(*byte >> shift & 15)];
            out.extend_from_slice(&[b'0', b'0', digit(4), digit(0)]);
        }
    }
}

/// Appends the text that `write` produces, with the escapes of JSON strings. Text that needs no escapes is
/// written without a copy.
fn push_escaped(write: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    let start = out.len();
    write(out);
    if plain_length(&out[start..]) < out.len() - start {
        let text = out.split_off(start);
        escape(&text, out);
    }
}

/// Returns the length of the text before the first byte that JSON escapes.
fn plain_length(text: &[u8]) -> usize {
    let is_escaped = |byte: &u8| (*byte < 32) | (*byte == b'"') | (*byte == b'\\');
    // The bytes are tested without an early exit, which the compiler turns into vector comparisons.
    let is_plain = |chunk: &&[u8]| !chunk.iter().fold(false, |any, byte| any | is_escaped(byte));
    let many = 32 * text.chunks_exact(32).take_while(is_plain).count();
    let some = many + 8 * text[many..].chunks_exact(8).take_while(is_plain).count();
    some + text[some..].iter().position(is_escaped).unwrap_or(text.len() - some)
}
