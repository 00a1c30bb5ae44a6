//! Prints ads as JSON objects (reference: jsonSink.cpp).

use crate::ad::unparse;
use crate::ad::{ClassAd, Slot, Value};
use crate::syntax::name::ad_order;
use crate::syntax::numbers;
use crate::syntax::scalar::Scalar;
use crate::syntax::tree::{Kept, Node, NodeId, Print, Tree};

/// How an ad is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// A line for each attribute and element, indented by two.
    #[default]
    Indented,
    /// All in one line, which is not ended.
    OneLine,
}

/// What is still to be written.
enum Task<'t> {
    Node(&'t Tree, NodeId),
    Key(&'t [u8]),
    Text(&'static str),
    Line,
    Deeper,
    Shallower,
}

struct Writer<'o> {
    out: &'o mut Vec<u8>,
    indented: bool,
    indent: usize,
}

impl Writer<'_> {
    fn line(&mut self) {
        if self.indented {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + self.indent, b' ');
        }
    }

    fn key(&mut self, name: &[u8]) {
        self.out.push(b'"');
        escape(name, self.out);
        self.out.extend_from_slice(b"\": ");
    }

    fn quoted(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.out.extend_from_slice(b"\"\\/Expr(");
        escaped(write, self.out);
        self.out.extend_from_slice(b")\\/\"");
    }

    fn real(&mut self, real: f64) {
        if real.is_finite() {
            unparse::real(real, unparse::Form::Old, self.out);
        } else {
            self.quoted(|out| unparse::real(real, unparse::Form::Old, out));
        }
    }

    fn string(&mut self, text: &[u8]) {
        self.out.push(b'"');
        escape(text, self.out);
        self.out.push(b'"');
    }

    fn slot(&mut self, ad: &ClassAd, slot: &Slot) {
        match slot {
            Slot::Expr(root, tree) => match tree.node(*root) {
                // What JSON has a form for is laid out as the whole is.
                Node::List { .. } | Node::Ad { .. } | Node::RelTime(_) => self.node(tree, *root),
                _ => tree.push_form::<JsonForm>(*root, self.out),
            },
            plain => {
                if let Some(value) = ad.scalar(plain) {
                    self.scalar(value);
                }
            }
        }
    }

    fn scalar(&mut self, value: Scalar<&[u8]>) {
        match value {
            Scalar::Undefined => self.out.extend_from_slice(b"null"),
            Scalar::Error => self.quoted(|out| out.extend_from_slice(b"error")),
            Scalar::Bool(truth) => self.out.extend_from_slice(if truth { b"true" } else { b"false" }),
            Scalar::Int(integer) => numbers::push_int(integer, self.out),
            Scalar::Real(real) => self.real(real),
            Scalar::Str(text) => self.string(text),
        }
    }

    fn node(&mut self, tree: &Tree, root: NodeId) {
        let mut todo = vec![Task::Node(tree, root)];
        while let Some(task) = todo.pop() {
            match task {
                Task::Text(text) => self.out.extend_from_slice(text.as_bytes()),
                Task::Line => self.line(),
                Task::Deeper => self.indent += 2,
                Task::Shallower => self.indent -= 2,
                Task::Key(name) => self.key(name),
                Task::Node(tree, id) => self.one(tree, id, &mut todo),
            }
        }
    }

    fn one<'t>(&mut self, tree: &'t Tree, id: NodeId, todo: &mut Vec<Task<'t>>) {
        if let Some(value) = tree.scalar(id) {
            return self.scalar(value);
        }
        match tree.node(id) {
            // A relative time that was written as a literal is but a number (literals.cpp).
            Node::RelTime(real) => self.real(real),
            Node::List { first, count } => {
                self.out.push(b'[');
                todo.extend([Task::Text("]"), Task::Line, Task::Shallower]);
                for (at, item) in tree.links(first, count).iter().enumerate().rev() {
                    todo.extend([Task::Node(tree, *item), Task::Line]);
                    if at > 0 {
                        todo.push(Task::Text(","));
                    }
                }
                todo.push(Task::Deeper);
            }
            Node::Ad { first, count } => {
                self.out.push(b'{');
                todo.extend([Task::Text("}"), Task::Line, Task::Shallower]);
                for (at, field) in tree.fields(first, count).iter().enumerate().rev() {
                    let name = tree.name_bytes(field.name);
                    todo.extend([Task::Node(tree, field.node), Task::Key(name), Task::Line]);
                    if at > 0 {
                        todo.push(Task::Text(","));
                    }
                }
                todo.push(Task::Deeper);
            }
            _ => self.quoted(|out| unparse::node(tree, id, unparse::Form::New, out)),
        }
    }
}

/// Prints expressions that JSON has no form for.
struct JsonForm;

impl Print for JsonForm {
    const FORM: Kept = Kept::Json;

    fn tree(tree: &Tree, root: NodeId, out: &mut Vec<u8>) {
        Writer { out, indented: false, indent: 0 }.node(tree, root);
    }

    fn scalar(scalar: Scalar<&[u8]>, out: &mut Vec<u8>) {
        match scalar {
            Scalar::Int(integer) => numbers::push_int(integer, out),
            // Nothing of it has an escape in either form.
            Scalar::Str(text)
                if plain_length(text) == text.len() && text.is_ascii() && !text.contains(&127) =>
            {
                out.extend_from_slice(b"\\\"");
                out.extend_from_slice(text);
                out.extend_from_slice(b"\\\"");
            }
            other => escaped(|out| unparse::scalar(other, unparse::Form::New, out), out),
        }
    }
}

/// Appends an ad of these attributes in this order.
pub(crate) fn push_attributes<'a>(
    ad: &ClassAd,
    attributes: impl Iterator<Item = (&'a [u8], &'a Slot)>,
    layout: Layout,
    out: &mut Vec<u8>,
) {
    let mut writer = Writer { out, indented: layout == Layout::Indented, indent: 2 };
    writer.out.push(b'{');
    for (at, (name, slot)) in attributes.enumerate() {
        if at > 0 {
            writer.out.push(b',');
        }
        writer.line();
        writer.key(name);
        writer.slot(ad, slot);
    }
    writer.indent = 0;
    writer.line();
    writer.out.push(b'}');
}

/// Appends an ad's own attributes, secrets included, in the order of ads.
pub fn push(ad: &ClassAd, layout: Layout, out: &mut Vec<u8>) {
    let mut slots: Vec<_> = ad.slots().collect();
    slots.sort_unstable_by(|a, b| ad_order(a.0, b.0));
    push_attributes(ad, slots.into_iter(), layout, out);
}

/// Appends a value: what the attribute would be if it were a literal.
pub fn push_value(value: &Value, layout: Layout, out: &mut Vec<u8>) {
    let mut ad = ClassAd::new();
    if let Value::RelTime(_) = value {
        let mut writer = Writer { out, indented: false, indent: 0 };
        writer.quoted(|out| out.extend_from_slice(&value.unparse()));
        return;
    }
    ad.set("v", value.clone());
    let mut writer = Writer { out, indented: layout == Layout::Indented, indent: 0 };
    if let Some((_, slot)) = ad.slots().next() {
        writer.slot(&ad, slot);
    }
}

/// Escapes of JSON strings; bytes from 0x7f on stand as they are.
fn escape(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    loop {
        let (plain, behind) = rest.split_at(plain_length(rest));
        out.extend_from_slice(plain);
        let Some((byte, behind)) = behind.split_first() else { return };
        rest = behind;
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
            const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
            let digit = |shift: u8| DIGITS[usize::from(*byte >> shift & 15)];
            out.extend_from_slice(&[b'0', b'0', digit(4), digit(0)]);
        }
    }
}

/// Appends a text with the escapes of JSON strings; what needs none stays where it was written.
fn escaped(write: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    let start = out.len();
    write(out);
    if plain_length(&out[start..]) < out.len() - start {
        let text = out.split_off(start);
        escape(&text, out);
    }
}

/// How much of a text stands before the first byte that JSON escapes.
fn plain_length(text: &[u8]) -> usize {
    let is_escaped = |byte: &u8| (*byte < 32) | (*byte == b'"') | (*byte == b'\\');
    // Many at a time without an exit in between: the compiler makes vector comparisons of it.
    let is_plain = |chunk: &&[u8]| !chunk.iter().fold(false, |any, byte| any | is_escaped(byte));
    let many = 32 * text.chunks_exact(32).take_while(is_plain).count();
    let some = many + 8 * text[many..].chunks_exact(8).take_while(is_plain).count();
    some + text[some..].iter().position(is_escaped).unwrap_or(text.len() - some)
}
