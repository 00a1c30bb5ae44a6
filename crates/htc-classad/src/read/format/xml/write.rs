//! Printing ads as XML (reference: xmlSink.cpp).

use crate::ad::Slot;
use crate::ad::{ClassAd, unparse};
use crate::syntax::name::ad_order;
use crate::syntax::scalar::Scalar;
use crate::syntax::tree::{Node, NodeId, Tree};
use crate::syntax::{AbsTime, numbers, times};

/// How an ad is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// A line for each attribute, indented by four, and one for the end.
    #[default]
    Spaced,
    /// All in one line, which is not ended.
    Compact,
}

/// What stands before the first ad of a file.
pub const HEADER: &str = "<?xml version=\"1.0\"?>\n<!DOCTYPE classads SYSTEM \"classads.dtd\">\n<classads>\n";
/// What stands behind the last ad of a file.
pub const FOOTER: &str = "</classads>\n";

enum Task<'t> {
    Node(&'t Tree, NodeId, usize),
    Open(&'t [u8], usize),
    Close,
    EndAd(usize),
    Text(&'static str),
}

struct Writer<'o> {
    out: &'o mut Vec<u8>,
    spaced: bool,
}

impl Writer<'_> {
    fn line(&mut self) {
        if self.spaced {
            self.out.push(b'\n');
        }
    }

    fn indent(&mut self, by: usize) {
        if self.spaced {
            self.out.resize(self.out.len() + by, b' ');
        }
    }

    fn open(&mut self, name: &[u8], indent: usize) {
        self.indent(indent);
        self.out.extend_from_slice(b"<a n=\"");
        let mut text = Vec::new();
        unparse::escape(name, b'"', &mut text);
        entities(&text, self.out);
        self.out.extend_from_slice(b"\">");
    }

    fn close(&mut self) {
        self.out.extend_from_slice(b"</a>");
        self.line();
    }

    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn real(&mut self, real: f64) {
        self.text("<r>");
        match real {
            0.0 => self.text("0.0"),
            real if real.is_nan() => self.text("NaN"),
            f64::INFINITY => self.text("INF"),
            f64::NEG_INFINITY => self.text("-INF"),
            real => numbers::push_e15(real, self.out),
        }
        self.text("</r>");
    }

    fn integer(&mut self, integer: i64) {
        self.text("<i>");
        numbers::push_int(integer, self.out);
        self.text("</i>");
    }

    fn string(&mut self, text: &[u8]) {
        self.text("<s>");
        let mut escaped = Vec::new();
        // No byte is the quote here: `"` stands bare.
        unparse::escape(text, 0, &mut escaped);
        entities(&escaped, self.out);
        self.text("</s>");
    }

    fn slot(&mut self, ad: &ClassAd, slot: &Slot, indent: usize) {
        match slot {
            Slot::Expr(root, tree) => self.node(tree, *root, indent),
            plain => {
                if let Some(value) = ad.scalar(plain) {
                    self.scalar(value);
                }
            }
        }
    }

    fn scalar(&mut self, value: Scalar<&[u8]>) {
        match value {
            Scalar::Undefined => self.text("<un/>"),
            Scalar::Error => self.text("<er/>"),
            Scalar::Bool(truth) => self.text(if truth { "<b v=\"t\"/>" } else { "<b v=\"f\"/>" }),
            Scalar::Int(integer) => self.integer(integer),
            Scalar::Real(real) => self.real(real),
            Scalar::Str(text) => self.string(text),
        }
    }

    fn node(&mut self, tree: &Tree, root: NodeId, indent: usize) {
        let mut todo = vec![Task::Node(tree, root, indent)];
        while let Some(task) = todo.pop() {
            match task {
                Task::Text(text) => self.text(text),
                Task::Open(name, indent) => self.open(name, indent),
                Task::Close => self.close(),
                Task::EndAd(indent) => {
                    self.indent(indent);
                    self.text("</c>");
                }
                Task::Node(tree, id, indent) => self.one(tree, id, indent, &mut todo),
            }
        }
    }

    fn one<'t>(&mut self, tree: &'t Tree, id: NodeId, indent: usize, todo: &mut Vec<Task<'t>>) {
        if let Some(value) = tree.scalar(id) {
            return self.scalar(value);
        }
        match tree.node(id) {
            Node::RelTime(real) => self.real(real),
            Node::AbsTime(time) => self.abs_time(tree.times[time as usize]),
            Node::List { first, count } => {
                self.text("<l>");
                todo.push(Task::Text("</l>"));
                todo.extend(
                    tree.links(first, count).iter().rev().map(|item| Task::Node(tree, *item, indent)),
                );
            }
            Node::Ad { first, count } => {
                self.text("<c>");
                self.line();
                todo.push(Task::EndAd(indent));
                for field in tree.fields(first, count).iter().rev() {
                    let name = tree.name_bytes(field.name);
                    todo.extend([
                        Task::Close,
                        Task::Node(tree, field.node, indent + 4),
                        Task::Open(name, indent + 4),
                    ]);
                }
            }
            _ => {
                self.text("<e>");
                let mut text = Vec::new();
                unparse::node(tree, id, unparse::Form::New, &mut text);
                entities(&text, self.out);
                self.text("</e>");
            }
        }
    }

    fn abs_time(&mut self, time: AbsTime) {
        self.text("<at>");
        times::push_abs(time, self.out);
        self.text("</at>");
    }
}

fn entities(text: &[u8], out: &mut Vec<u8>) {
    for byte in text {
        match byte {
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            byte => out.push(*byte),
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
    let mut writer = Writer { out, spaced: layout == Layout::Spaced };
    writer.text("<c>");
    writer.line();
    for (name, slot) in attributes {
        writer.open(name, 4);
        writer.slot(ad, slot, 4);
        writer.close();
    }
    writer.text("</c>");
    writer.line();
}

/// Appends an ad's own attributes, secrets included, in the order of ads.
pub fn push(ad: &ClassAd, layout: Layout, out: &mut Vec<u8>) {
    let mut slots: Vec<_> = ad.slots().collect();
    slots.sort_unstable_by(|a, b| ad_order(a.0, b.0));
    push_attributes(ad, slots.into_iter(), layout, out);
}
