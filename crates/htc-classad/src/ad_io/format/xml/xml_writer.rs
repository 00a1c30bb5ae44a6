//! Writer of ads as XML (reference: xmlSink.cpp).

use crate::ad::StoredValue;
use crate::ad::{ClassAd, unparse};
use crate::syntax::name::ad_order;
use crate::syntax::scalar::Scalar;
use crate::syntax::tree::{ExprTree, Node, NodeId};
use crate::syntax::{AbsTime, numbers, times};

/// Layout of an ad in XML.
///
/// ```
/// use htc_classad::{ClassAd, format::xml::{self, XmlLayout}};
/// let mut out = Vec::new();
/// xml::push(&ClassAd::from([("Cpus", 4)]), XmlLayout::Compact, &mut out);
/// assert_eq!(out, b"<c><a n=\"Cpus\"><i>4</i></a></c>");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XmlLayout {
    /// Prints each attribute on its own line, indented by four blanks, and the end tag on another line.
    #[default]
    Spaced,
    /// Prints everything on one line, without a newline at the end.
    Compact,
}

/// Text at the beginning of a file, before the first ad.
///
/// ```
/// use htc_classad::{ClassAd, format::xml::{self, XmlLayout}, stream::AdReader};
/// let mut file = xml::HEADER.as_bytes().to_vec();
/// xml::push(&ClassAd::from([("Cpus", 4)]), XmlLayout::Spaced, &mut file);
/// file.extend_from_slice(xml::FOOTER.as_bytes());
/// assert_eq!(AdReader::new(&file[..], None).count(), 1);
/// ```
pub const HEADER: &str = "<?xml version=\"1.0\"?>\n<!DOCTYPE classads SYSTEM \"classads.dtd\">\n<classads>\n";
/// Text at the end of a file, after the last ad.
pub const FOOTER: &str = "</classads>\n";

enum XmlWriteTask<'t> {
    Node(&'t ExprTree, NodeId, usize),
    Open(&'t [u8], usize),
    Close,
    EndAd(usize),
    Text(&'static str),
}

struct XmlWriter<'o> {
    out: &'o mut Vec<u8>,
    spaced: bool,
}

impl XmlWriter<'_> {
    fn write_line_break(&mut self) {
        if self.spaced {
            self.out.push(b'\n');
        }
    }

    fn write_indent(&mut self, by: usize) {
        if self.spaced {
            self.out.resize(self.out.len() + by, b' ');
        }
    }

    fn write_attribute_start(&mut self, name: &[u8], indent: usize) {
        self.write_indent(indent);
        self.out.extend_from_slice(b"<a n=\"");
        if is_plain(name) {
            self.out.extend_from_slice(name);
        } else {
            let mut text = Vec::new();
            unparse::escape(name, b'"', &mut text);
            push_with_entities(&text, self.out);
        }
        self.out.extend_from_slice(b"\">");
    }

    fn write_attribute_end(&mut self) {
        self.out.extend_from_slice(b"</a>");
        self.write_line_break();
    }

    fn write_text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn write_real(&mut self, real: f64) {
        self.write_text("<r>");
        match real {
            0.0 => self.write_text("0.0"),
            real if real.is_nan() => self.write_text("NaN"),
            f64::INFINITY => self.write_text("INF"),
            f64::NEG_INFINITY => self.write_text("-INF"),
            real => numbers::push_e15(real, self.out),
        }
        self.write_text("</r>");
    }

    fn write_integer(&mut self, integer: i64) {
        self.write_text("<i>");
        numbers::push_int(integer, self.out);
        self.write_text("</i>");
    }

    fn write_string(&mut self, text: &[u8]) {
        self.write_text("<s>");
        if is_plain(text) {
            self.out.extend_from_slice(text);
        } else {
            let mut escaped = Vec::new();
            // The quote character is 0, so that `"` is not escaped.
            unparse::escape(text, 0, &mut escaped);
            push_with_entities(&escaped, self.out);
        }
        self.write_text("</s>");
    }

    fn write_stored_value(&mut self, ad: &ClassAd, slot: &StoredValue, indent: usize) {
        match slot {
            StoredValue::Expr(root, tree) => self.write_node(tree, *root, indent),
            plain => {
                if let Some(value) = ad.stored_scalar(plain) {
                    self.write_scalar(value);
                }
            }
        }
    }

    fn write_scalar(&mut self, value: Scalar<&[u8]>) {
        match value {
            Scalar::Undefined => self.write_text("<un/>"),
            Scalar::Error => self.write_text("<er/>"),
            Scalar::Bool(truth) => self.write_text(if truth { "<b v=\"t\"/>" } else { "<b v=\"f\"/>" }),
            Scalar::Int(integer) => self.write_integer(integer),
            Scalar::Real(real) => self.write_real(real),
            Scalar::Str(text) => self.write_string(text),
        }
    }

    fn write_node(&mut self, tree: &ExprTree, root: NodeId, indent: usize) {
        let mut todo = vec![XmlWriteTask::Node(tree, root, indent)];
        while let Some(task) = todo.pop() {
            match task {
                XmlWriteTask::Text(text) => self.write_text(text),
                XmlWriteTask::Open(name, indent) => self.write_attribute_start(name, indent),
                XmlWriteTask::Close => self.write_attribute_end(),
                XmlWriteTask::EndAd(indent) => {
                    self.write_indent(indent);
                    self.write_text("</c>");
                }
                XmlWriteTask::Node(tree, id, indent) => self.write_node_start(tree, id, indent, &mut todo),
            }
        }
    }

    fn write_node_start<'t>(
        &mut self,
        tree: &'t ExprTree,
        id: NodeId,
        indent: usize,
        todo: &mut Vec<XmlWriteTask<'t>>,
    ) {
        if let Some(value) = tree.scalar(id) {
            return self.write_scalar(value);
        }
        match tree.node(id) {
            Node::RelTime(real) => self.write_real(real),
            Node::AbsTime(time) => self.write_abs_time(tree.times[time as usize]),
            Node::List { first, count } => {
                self.write_text("<l>");
                todo.push(XmlWriteTask::Text("</l>"));
                todo.extend(
                    tree.links(first, count).iter().rev().map(|item| XmlWriteTask::Node(tree, *item, indent)),
                );
            }
            Node::Ad { first, count } => {
                self.write_text("<c>");
                self.write_line_break();
                todo.push(XmlWriteTask::EndAd(indent));
                for field in tree.fields(first, count).iter().rev() {
                    let name = tree.name_bytes(field.name);
                    todo.extend([
                        XmlWriteTask::Close,
                        XmlWriteTask::Node(tree, field.node, indent + 4),
                        XmlWriteTask::Open(name, indent + 4),
                    ]);
                }
            }
            _ => {
                self.write_text("<e>");
                let mut text = Vec::new();
                unparse::push_node(tree, id, unparse::UnparseForm::New, &mut text);
                push_with_entities(&text, self.out);
                self.write_text("</e>");
            }
        }
    }

    fn write_abs_time(&mut self, time: AbsTime) {
        self.write_text("<at>");
        times::push_abs_time(time, self.out);
        self.write_text("</at>");
    }
}

/// Returns true if a text is written unchanged: it has only printable ASCII characters, and no quotes,
/// backslashes or characters of markup.
fn is_plain(text: &[u8]) -> bool {
    let is_plain =
        |byte: &u8| matches!(byte, b' '..=b'~') & !matches!(byte, b'"' | b'\'' | b'\\' | b'&' | b'<' | b'>');
    text.iter().fold(true, |plain, byte| plain & is_plain(byte))
}

fn push_with_entities(mut text: &[u8], out: &mut Vec<u8>) {
    while let Some(at) = memchr::memchr3(b'&', b'<', b'>', text) {
        out.extend_from_slice(&text[..at]);
        out.extend_from_slice(match text[at] {
            b'&' => &b"&amp;"[..],
            b'<' => b"&lt;",
            _ => b"&gt;",
        });
        text = &text[at + 1..];
    }
    out.extend_from_slice(text);
}

/// Appends an ad with the given attributes in the given order.
pub(crate) fn push_attributes<'a>(
    ad: &ClassAd,
    attributes: impl Iterator<Item = (&'a [u8], &'a StoredValue)>,
    layout: XmlLayout,
    out: &mut Vec<u8>,
) {
    let mut writer = XmlWriter { out, spaced: layout == XmlLayout::Spaced };
    writer.write_text("<c>");
    writer.write_line_break();
    for (name, slot) in attributes {
        writer.write_attribute_start(name, 4);
        writer.write_stored_value(ad, slot, 4);
        writer.write_attribute_end();
    }
    writer.write_text("</c>");
    writer.write_line_break();
}

/// Appends an ad's own attributes, including secrets, sorted by length of name.
///
/// ```
/// use htc_classad::{ClassAd, Dialect, format::xml::{self, XmlLayout}};
/// let ad: ClassAd = "[ Rank = Memory * 2 ]".parse().unwrap();
/// let mut text = Vec::new();
/// xml::push(&ad, XmlLayout::Compact, &mut text);
/// assert_eq!(text, b"<c><a n=\"Rank\"><e>Memory * 2</e></a></c>");
/// assert_eq!(xml::parse_prefix(&text, Dialect::new_syntax()).unwrap().ad, ad);
/// ```
pub fn push(ad: &ClassAd, layout: XmlLayout, out: &mut Vec<u8>) {
    let mut slots: Vec<_> = ad.stored_values().collect();
    slots.sort_unstable_by(|a, b| ad_order(a.0, b.0));
    push_attributes(ad, slots.into_iter(), layout, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that texts with and without characters of markup are written in the same way.
    #[test]
    fn plain_texts_need_no_escapes() {
        for byte in 0..=255_u8 {
            let text = [b'a', byte, b'z'];
            let (mut escaped, mut out) = (Vec::new(), Vec::new());
            unparse::escape(&text, 0, &mut escaped);
            push_with_entities(&escaped, &mut out);
            assert!(!is_plain(&text) || out == text, "{byte}");
        }
        let mut out = Vec::new();
        push_with_entities(b"a < b && c > \"d\"", &mut out);
        assert_eq!(out, b"a &lt; b &amp;&amp; c &gt; \"d\"");
    }
}
