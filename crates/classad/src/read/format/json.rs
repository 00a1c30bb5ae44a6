//! Ads as JSON objects (reference: jsonSink.cpp, jsonSource.cpp).
//!
//! What JSON has no word for is written as `"\/Expr(...)\/"`. The reader is the language's own lexer with other
//! escapes, so it also takes comments, joined strings and stray commas. Neither side recurses.

use std::borrow::Cow;
use std::ops::Range;

use crate::ad::unparse;
use crate::ad::{ClassAd, Slot, Value};
use crate::read::memo::{Memo, NONE};
use crate::syntax::Expr;
use crate::syntax::ParseError;
use crate::syntax::expr::Repr;
use crate::syntax::lexer::{Kind, Lexer};
use crate::syntax::name::ad_order;
use crate::syntax::parser::{Parsed, Parser, parse_with};
use crate::syntax::scalar::Scalar;
use crate::syntax::tree::{Builder, Field, Kept, Node, NodeId, Print, Tree};
use crate::syntax::{Dialect, numbers};

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
pub(crate) fn escape(text: &[u8], out: &mut Vec<u8>) {
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

/// Reads an ad that is the whole text.
///
/// ```
/// use htc_classad::{Dialect, format::json};
/// let ad = json::parse(br#"{"Owner": "ana", "Rank": "\/Expr(Memory * 2)\/"}"#, Dialect::json()).unwrap();
/// assert_eq!(ad.get("rank").unwrap().unparse(), "Memory * 2");
/// ```
///
/// # Errors
/// Says where the text stops being an ad and what would have been accepted there.
pub fn parse(text: &[u8], dialect: Dialect) -> Result<ClassAd, ParseError> {
    let (ad, used) = parse_prefix(text, dialect)?;
    super::new::expect_end(text, used, Dialect { json: true, ..dialect })?;
    Ok(ad)
}

/// Reads the ad that a text begins with; also tells how many bytes it took.
///
/// # Errors
/// As [`parse`].
pub fn parse_prefix(text: &[u8], dialect: Dialect) -> Result<(ClassAd, usize), ParseError> {
    read(text, dialect, None)
}

/// As [`parse_prefix`], for an ad of many: names and expressions are looked up in what is remembered of those before.
pub(crate) fn parse_next(
    text: &[u8],
    dialect: Dialect,
    memo: &mut Memo,
) -> Result<(ClassAd, usize), ParseError> {
    read(text, dialect, Some(memo))
}

fn read(text: &[u8], dialect: Dialect, memo: Option<&mut Memo>) -> Result<(ClassAd, usize), ParseError> {
    let dialect = Dialect { json: true, old_strings: false, ..dialect };
    parse_with(text, dialect, |parser| Reader { parser, dialect, builder: Builder::default(), memo }.ad())
}

struct Reader<'p, 's, 'w, 'm> {
    /// For its cursor and its messages; expressions are not read with it.
    parser: &'p mut Parser<'s, 'w>,
    dialect: Dialect,
    builder: Builder,
    memo: Option<&'m mut Memo>,
}

/// An array or object that is not complete yet.
enum Open {
    Array(Vec<NodeId>),
    Object(Vec<Field>, u32),
}

/// Arrays and objects that may stand within one another. The reference has no limit and overflows its stack some way
/// beyond; what is indented by its depth must stay of a size.
pub(crate) const DEEPEST: usize = 5000;

const NAME: &str = "the name of an attribute in quotes or `}`";

impl<'s> Reader<'_, 's, '_, '_> {
    fn lexer(&mut self) -> &mut Lexer<'s> {
        &mut self.parser.lexer
    }

    fn kind(&self) -> Kind {
        self.parser.kind()
    }

    fn expect(&mut self, kind: Kind, expected: &'static str) -> Parsed<()> {
        if self.kind() != kind {
            return Err(self.parser.unexpected(expected));
        }
        self.lexer().advance();
        Ok(())
    }

    fn ad(&mut self) -> Parsed<(ClassAd, usize)> {
        if self.kind() != Kind::OpenBrace {
            return Err(self.parser.unexpected("an ad, which begins with `{`"));
        }
        self.lexer().advance();
        let mut ad = match self.memo.as_deref_mut() {
            Some(memo) => memo.begin(),
            None => ClassAd::likely_in(self.parser.lexer.source().len()),
        };
        while let Some(name) = self.name()? {
            let place = self.memo.as_deref_mut().map_or((NONE, None), |memo| memo.enter_name(&name));
            self.attribute(&mut ad, &name, place)?;
            self.separator(Kind::CloseBrace, "`,` or `}`")?;
        }
        if let Some(memo) = self.memo.as_deref_mut() {
            memo.end(&ad);
        }
        Ok((ad, self.parser.lexer.end()))
    }

    /// Sets an attribute to the value that comes next. Its number in the memory, and the hash of the name if it is not in the ad.
    fn attribute(&mut self, ad: &mut ClassAd, name: &[u8], (number, new): (u32, Option<u32>)) -> Parsed<()> {
        let token = &self.parser.lexer.token;
        let value = match token.kind {
            Kind::String => {
                let text = self.parser.lexer.bytes(token.text);
                if token.quoted_expression
                    && let Some(inner) = quoted_expression(text)
                {
                    let part = PREFIX.len()..PREFIX.len() + inner.len();
                    let known = |memo: &mut Memo| memo.recall(number, inner);
                    match self.memo.as_deref_mut().and_then(known) {
                        Some((root, tree)) => ad.put_known(name, new, Slot::Expr(root, tree)),
                        None => {
                            let expr = self.expression(part.clone())?;
                            if let (Some(memo), Repr::Node(tree, root)) = (self.memo.as_deref_mut(), &expr.0)
                            {
                                let lexer = &self.parser.lexer;
                                let text = &lexer.bytes(lexer.token.text)[part];
                                memo.learn(number, text, *root, tree);
                            }
                            ad.insert(name, expr);
                        }
                    }
                    self.lexer().advance();
                    return Ok(());
                }
                Scalar::Str(text)
            }
            Kind::Integer => Scalar::Int(token.integer),
            Kind::Real => Scalar::Real(token.real),
            Kind::Boolean => Scalar::Bool(token.boolean),
            Kind::Undefined => Scalar::Undefined,
            _ => {
                let value = self.value()?;
                ad.insert(name, value);
                return Ok(());
            }
        };
        ad.put_plain(name, new, value);
        self.lexer().advance();
        Ok(())
    }

    /// The name of the next attribute with its colon; none at the end of the object, whose brace is left standing.
    fn name(&mut self) -> Parsed<Option<Cow<'s, [u8]>>> {
        while self.kind() == Kind::Comma {
            self.lexer().advance();
        }
        if self.kind() == Kind::CloseBrace {
            return Ok(None);
        }
        if self.kind() != Kind::String {
            return Err(self.parser.unexpected(NAME));
        }
        let lexer = &self.parser.lexer;
        let text = lexer.token.text;
        if text.len == 0 {
            return Err(self.parser.error(crate::syntax::ParseErrorKind::EmptyName, NAME));
        }
        let name = match lexer.in_source(text) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(lexer.bytes(text).to_vec()),
        };
        self.lexer().advance();
        self.expect(Kind::Colon, "`:`")?;
        Ok(Some(name))
    }

    /// Whatever must stand behind an element: a comma, which is taken, or the closing bracket, which is not.
    fn separator(&mut self, close: Kind, expected: &'static str) -> Parsed<()> {
        match self.kind() {
            Kind::Comma => self.lexer().advance(),
            kind if kind == close => {}
            _ => return Err(self.parser.unexpected(expected)),
        }
        Ok(())
    }

    /// The expression that a part of the present token's text is, which is a string.
    fn expression(&mut self, part: Range<usize>) -> Parsed<Expr> {
        let dialect = Dialect { json: false, ..self.dialect };
        self.parser.within(part, dialect).map_err(|mut error| {
            // The place within the decoded text means nothing to the user: point at the string.
            let lexer = &self.parser.lexer;
            error.span = crate::text::Span::new(lexer.token.start, lexer.end());
            error
        })
    }

    /// A scalar, or none where an array or object begins.
    fn scalar(&mut self) -> Parsed<Option<Expr>> {
        let token = &self.parser.lexer.token;
        let expr = match token.kind {
            Kind::Undefined => Expr::literal(Value::Undefined),
            Kind::Boolean => Expr::literal(token.boolean),
            Kind::Integer => Expr::literal(token.integer),
            Kind::Real => Expr::literal(token.real),
            Kind::String => {
                let text = self.parser.lexer.bytes(token.text);
                match quoted_expression(text).filter(|_| token.quoted_expression) {
                    Some(inner) => {
                        let part = PREFIX.len()..PREFIX.len() + inner.len();
                        self.expression(part)?
                    }
                    None => Expr::literal(text),
                }
            }
            Kind::OpenBrace | Kind::OpenBox => return Ok(None),
            _ => return Err(self.parser.unexpected("a value")),
        };
        self.lexer().advance();
        Ok(Some(expr))
    }

    fn value(&mut self) -> Parsed<Expr> {
        if let Some(scalar) = self.scalar()? {
            return Ok(scalar);
        }
        self.builder.clear();
        let mut open: Vec<Open> = Vec::new();
        loop {
            if open.len() >= DEEPEST {
                return Err(self.parser.error(crate::syntax::ParseErrorKind::TooDeepJson, "a value"));
            }
            // A value begins here.
            let mut node = match self.scalar()? {
                Some(scalar) => self.builder.expr(&scalar),
                None if self.kind() == Kind::OpenBrace => {
                    self.lexer().advance();
                    if let Some(name) = self.name()? {
                        let name = self.builder.name(&name);
                        open.push(Open::Object(Vec::new(), name));
                        continue;
                    }
                    self.lexer().advance();
                    self.builder.ad(&mut [])
                }
                None => {
                    self.lexer().advance();
                    if self.kind() != Kind::CloseBox {
                        open.push(Open::Array(Vec::new()));
                        continue;
                    }
                    self.lexer().advance();
                    self.builder.list(&[])
                }
            };
            // A value ended here: it goes into what is open, which may end with it.
            loop {
                match open.pop() {
                    None => return Ok(Expr::from_builder(&self.builder, node)),
                    Some(Open::Array(mut items)) => {
                        items.push(node);
                        if self.kind() != Kind::CloseBox {
                            self.expect(Kind::Comma, "`,` or `]`")?;
                            open.push(Open::Array(items));
                            break;
                        }
                        node = self.builder.list(&items);
                    }
                    Some(Open::Object(mut fields, name)) => {
                        fields.push(Field { name, node });
                        self.separator(Kind::CloseBrace, "`,` or `}`")?;
                        if let Some(name) = self.name()? {
                            let name = self.builder.name(&name);
                            open.push(Open::Object(fields, name));
                            break;
                        }
                        node = self.builder.ad(&mut fields);
                    }
                }
                self.lexer().advance();
            }
        }
    }
}

/// What an expression begins with in a string.
const PREFIX: &[u8] = b"/Expr(";

/// The text within `/Expr(` and `)/`, right behind the former.
fn quoted_expression(text: &[u8]) -> Option<&[u8]> {
    let (start, rest) = text.split_at_checked(PREFIX.len())?;
    if !start.eq_ignore_ascii_case(PREFIX) {
        return None;
    }
    // `/Expr()/` has room for both ends; the shorter `/Expr(/` has not, but the reference looks at its ends only.
    if text.ends_with(b")/") { Some(rest.strip_suffix(b")/").unwrap_or_default()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(text: &str) -> String {
        let ad = parse(text.as_bytes(), Dialect::json()).expect("good JSON");
        let mut out = Vec::new();
        push(&ad, Layout::OneLine, &mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn values_go_through_and_come_back() {
        for text in [
            r#"{}"#,
            r#"{"A": 1,"B": [1,[2,[]],{"C": null,"D": {}}]}"#,
            r#"{"E": "\/Expr(a + b)\/","F": "/Expr(a)/"}"#,
            r#"{"R": 1.5,"S": "x\ny\u0001\"\\"}"#,
        ] {
            assert_eq!(round(text), text);
        }
        assert_eq!(round(r#"{,,"A":1,,"B":2,}"#), r#"{"A": 1,"B": 2}"#);
    }

    #[test]
    fn an_ad_of_many_is_what_it_is_by_itself() {
        let texts = [
            r#"{"A": 1,"B": "x","E": "\/Expr(a + b)\/"}"#,
            r#"{"A": 2,"B": "y\"z","E": "\/Expr(a + b)\/"}"#,
            r#"{"A": 1,"B": "x","E": "\/Expr(a + 12 > strlen(\"x\"))\/"}"#,
            r#"{"A": 1,"B": "x","E": "\/Expr(a + 7 > strlen(\"longer\"))\/"}"#,
            r#"{"A": 1,"B": "x","E": "\/Expr(a + 007 > strlen(\"\"))\/"}"#,
            r#"{"A": 2,"B": "broken off","#,
            r#"{"A": 2,"a": 3,"B": "","E": "\/Expr(a + c)\/","e": 1.5}"#,
            r#"{"a": 1,"B": "\/Expr(\"x\")\/","E": "\/Expr(\/"}"#,
            r#"{"B": [1,{"c": null}],"A": true,"E": null}"#,
            "{}",
        ];
        let mut memo = Memo::default();
        for text in texts.iter().chain(&texts) {
            let remembered = parse_next(text.as_bytes(), Dialect::json(), &mut memo);
            let alone = parse_prefix(text.as_bytes(), Dialect::json());
            assert_eq!(
                remembered.as_ref().map(|(ad, used)| (ad.unparse(), *used)),
                alone.as_ref().map(|(ad, used)| (ad.unparse(), *used)),
                "{text}"
            );
            if let (Ok((ad, _)), Ok((other, _))) = (remembered, alone) {
                assert!(other.names().all(|name| ad.contains(name)), "{text}");
            }
        }
    }

    #[test]
    fn a_million_brackets_do_not_overflow() {
        let deep = |levels: usize| format!("{{\"A\": {}{}}}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(round(&deep(DEEPEST)).len(), deep(DEEPEST).len());
        assert!(parse(deep(1_000_000).as_bytes(), Dialect::json()).is_err());
        assert!(parse("{\"A\": ".repeat(200_000).as_bytes(), Dialect::json()).is_err());
        let error = parse(deep(DEEPEST + 1).as_bytes(), Dialect::json()).expect_err("one too many");
        assert_eq!(error.to_string(), "the arrays and objects are nested too deeply");
        assert!(error.help().is_some_and(|help| help.contains(&DEEPEST.to_string())), "{:?}", error.help());
    }

    #[test]
    fn bad_json_says_where() {
        for (text, at) in
            [("{\"A\": }", 6), ("{\"A\" 1}", 5), ("[1]", 0), ("{\"A\":[1,]}", 8), ("{\"A\":1} x", 8)]
        {
            let error = parse(text.as_bytes(), Dialect::json()).expect_err("bad JSON");
            assert_eq!(error.span.start, at, "{text}: {error}");
        }
    }
}
