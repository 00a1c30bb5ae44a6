//! Templates for expressions whose texts differ only in numbers and strings. If one of these texts is a valid
//! expression, the others are valid too, and their trees differ only in the values of the numbers and strings.

use std::ops::Range;
use std::sync::Arc;

use crate::syntax::tree::{ExprTree, Node, NodeId, PrintTemplates};

/// Maximum number of digits of a number that a template handles; the parser handles longer numbers.
const MAX_DIGITS: usize = 18;

/// Kind of a hole, a part of a text that may differ in other texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HoleKind {
    /// Decimal integer, or the digits before a decimal point.
    Number,
    /// Digits after a decimal point.
    Fraction,
    /// Text between quotation marks, without backslashes.
    String,
}

/// Text of a valid expression with its holes, which are the parts that may differ in other texts.
#[derive(Clone, Debug, Default)]
struct ExprSkeleton {
    text: Vec<u8>,
    holes: Vec<(u32, u32, HoleKind)>,
    /// True if the text has numbers that are not holes, because they are too long or not decimal.
    has_other_numbers: bool,
}

impl ExprSkeleton {
    /// Replaces the text of the skeleton and finds its holes.
    fn set_text(&mut self, text: &[u8]) {
        self.text.clear();
        self.text.extend_from_slice(text);
        self.holes.clear();
        self.has_other_numbers = false;
        let mut at = 0;
        while let Some(byte) = text.get(at) {
            let (start, kind) = match byte {
                b'"' => (at + 1, Some(HoleKind::String)),
                b'0'..=b'9' => (at, kind_of_digits(text, at)),
                // The text after a quoted name has no holes, so the rest of another text must be equal.
                b'\'' => return,
                // Digits in a comment are not part of the expression, so a text with a comment has no holes.
                b'/' if matches!(text.get(at + 1), Some(b'/' | b'*')) => {
                    self.holes.clear();
                    return;
                }
                _ => {
                    at += 1;
                    continue;
                }
            };
            let end = match kind {
                Some(HoleKind::String) => match string_length(&text[start..]) {
                    Some(length) => start + length,
                    None => return,
                },
                _ => start + digits_length(&text[start..]),
            };
            match kind {
                Some(kind) => self.holes.push((start as u32, end as u32, kind)),
                // Digits that belong to a name are not a number.
                None => self.has_other_numbers |= start == 0 || !is_word_byte(&text[start - 1]),
            }
            at = end + usize::from(kind == Some(HoleKind::String));
        }
    }

    /// Returns true if another text is equal except for the holes, which implies that it is a valid expression.
    fn matches_text(&self, text: &[u8]) -> bool {
        self.text == text || self.match_holes(text, |_, _| ())
    }

    /// Compares a text like `matches_text`. Calls `hole` with the index and the range in `text` of each hole that
    /// precedes the first difference.
    fn match_holes(&self, text: &[u8], mut hole: impl FnMut(usize, Range<usize>)) -> bool {
        let (mut rest, mut from) = (text, 0);
        for (number, &(start, end, kind)) in self.holes.iter().enumerate() {
            let Some(remaining) = rest.strip_prefix(&self.text[from..start as usize]) else { return false };
            let length = match kind {
                HoleKind::String => string_length(remaining),
                HoleKind::Number => {
                    Some(digits_length(remaining)).filter(|length| is_decimal_integer(&remaining[..*length]))
                }
                HoleKind::Fraction => {
                    Some(digits_length(remaining)).filter(|length| (1..=MAX_DIGITS).contains(length))
                }
            };
            let Some(length) = length else { return false };
            let at = text.len() - remaining.len();
            hole(number, at..at + length);
            (rest, from) = (&remaining[length..], end as usize);
        }
        rest == &self.text[from..]
    }
}

/// Maximum number of holes of a text that serves as a template.
const MAX_HOLES: usize = 32;

/// Template: a parsed expression from which the trees of texts with the same skeleton are built without tokenizing
/// them.
#[derive(Debug)]
pub(crate) struct ExprTemplate {
    skeleton: ExprSkeleton,
    root: NodeId,
    tree: Arc<ExprTree>,
    /// Node whose value each hole determines, or `None` if this is uncertain.
    hole_nodes: Option<Box<[NodeId]>>,
    /// Print templates for the trees that are built from this template.
    print_templates: Arc<PrintTemplates>,
    /// Nodes that refer to the text, each with the number of holes before its text.
    text_nodes: Box<[(NodeId, u32)]>,
}

impl ExprTemplate {
    /// Creates a template from a text and its parsed expression.
    pub(crate) fn new(text: &[u8], root: NodeId, tree: &Arc<ExprTree>) -> Self {
        let mut skeleton = ExprSkeleton::default();
        skeleton.set_text(text);
        let value_nodes = hole_nodes(&skeleton, tree);
        let before = |start: u32| skeleton.holes.iter().take_while(|hole| hole.0 < start).count() as u32;
        let start = |node: &Node| match node {
            Node::Name { text, .. } | Node::Str(text) => Some(text.start),
            _ => None,
        };
        let texts = tree.nodes.iter().zip(0..).filter_map(|(node, id)| Some((id, before(start(node)?))));
        let texts = if value_nodes.is_some() { texts.collect() } else { Box::default() };
        let patterns =
            Arc::new(PrintTemplates::new(root, value_nodes.as_deref().unwrap_or_default().to_vec()));
        ExprTemplate {
            skeleton,
            root,
            tree: Arc::clone(tree),
            hole_nodes: value_nodes,
            print_templates: patterns,
            text_nodes: texts,
        }
    }

    /// Returns the template's own expression if the text is equal to its text, or else `None`.
    #[inline]
    pub(crate) fn parsed_if_same(&self, text: &[u8]) -> Option<(NodeId, Arc<ExprTree>)> {
        (self.skeleton.text == text).then(|| (self.root, Arc::clone(&self.tree)))
    }

    /// Returns true if a text has the template's skeleton and so is a valid expression.
    pub(crate) fn matches_text(&self, text: &[u8]) -> bool {
        self.skeleton.matches_text(text)
    }

    /// Builds the tree that the parser would return for a text with the same skeleton. Returns `None` if the text has a
    /// different skeleton or the values of its holes cannot be determined.
    pub(crate) fn build_tree(&self, text: &[u8]) -> Option<(NodeId, Arc<ExprTree>)> {
        let value_nodes = self.hole_nodes.as_deref()?;
        let mut places = [(0, 0); MAX_HOLES];
        let fits = self.skeleton.match_holes(text, |number, place| places[number] = (place.start, place.end));
        if !fits {
            return None;
        }
        let places = &places[..value_nodes.len()];
        let (old, extra) = self.tree.text.split_at(self.skeleton.text.len());
        let mut nodes = self.tree.nodes.clone();
        // Returns how far the text after the first `holes` holes has moved.
        let moved = |holes: u32| match holes.checked_sub(1) {
            None => 0,
            Some(last) => places[last as usize].1 as i64 - i64::from(self.skeleton.holes[last as usize].1),
        };
        for &(id, holes) in &self.text_nodes {
            if let Node::Name { text: part, .. } | Node::Str(part) = &mut nodes[id as usize] {
                // Offsets after the source refer to extra text, which moves with the end of the source.
                let by = match (part.start as usize) < old.len() {
                    true => moved(holes),
                    false => text.len() as i64 - old.len() as i64,
                };
                part.start = u32::try_from(i64::from(part.start) + by).ok()?;
            }
        }
        let holes = self.skeleton.holes.iter().map(|hole| hole.2);
        let mut at = 0;
        for (kind, &id) in holes.zip(value_nodes) {
            let (start, end) = places[at];
            at += 1;
            match (kind, &mut nodes[id as usize]) {
                (HoleKind::String, Node::Str(part)) => part.len = (end - start) as u32,
                (HoleKind::Number, Node::Int(value)) => {
                    let digits = parse_integer(&text[start..end])?;
                    *value = if *value < 0 { -digits } else { digits };
                }
                (HoleKind::Number, Node::Real(value)) => {
                    *value = parse_real(&text[start..places.get(at)?.1])?.copysign(*value);
                }
                (HoleKind::Fraction, Node::Real(_)) => {}
                _ => return None,
            }
        }
        let mut whole = Vec::with_capacity(text.len() + extra.len());
        whole.extend_from_slice(text);
        whole.extend_from_slice(extra);
        let made =
            self.tree.with_scalars(nodes, whole.into_boxed_slice()).with_templates(&self.print_templates);
        Some((self.root, Arc::new(made)))
    }
}

/// Returns the node whose value each hole determines. Returns `None` if a number or string does not correspond to such
/// a node, because it has an exponent or a unit, or is part of a time.
fn hole_nodes(skeleton: &ExprSkeleton, tree: &ExprTree) -> Option<Box<[NodeId]>> {
    let text = &skeleton.text;
    if skeleton.has_other_numbers || skeleton.holes.len() > MAX_HOLES || !tree.text.starts_with(text) {
        return None;
    }
    // The parser creates the nodes of numbers in the order in which the numbers are written.
    let is_number =
        |node: &Node| matches!(node, Node::Int(_) | Node::Real(_) | Node::AbsTime(_) | Node::RelTime(_));
    let mut numbers = tree.nodes.iter().zip(0..).filter(|(node, _)| is_number(node));
    let mut value_nodes = Vec::with_capacity(skeleton.holes.len());
    for (at, &(start, end, kind)) in skeleton.holes.iter().enumerate() {
        let part = &text[start as usize..end as usize];
        let fraction =
            skeleton.holes.get(at + 1).filter(|next| next.2 == HoleKind::Fraction && next.0 == end + 1);
        let id = match kind {
            HoleKind::Number => match (numbers.next()?, fraction) {
                ((Node::Int(value), id), None)
                    if is_value_of_digits(*value, part, &text[..start as usize]) =>
                {
                    id
                }
                ((Node::Real(value), id), Some(next)) => {
                    let whole = parse_real(&text[start as usize..next.1 as usize])?;
                    (whole.to_bits() == value.abs().to_bits()).then_some(id)?
                }
                _ => return None,
            },
            HoleKind::Fraction => *value_nodes.last()?,
            HoleKind::String => {
                let is = |node: &Node| matches!(node, Node::Str(own) if own.start == start && own.len == end - start);
                tree.nodes.iter().zip(0..).find(|(node, _)| is(node))?.1
            }
        };
        value_nodes.push(id);
    }
    numbers.next().is_none().then(|| value_nodes.into())
}

/// Returns true if `value` is the value of the digits, or its negative if a sign precedes the digits. A zero after a
/// sign is ambiguous, and the result is false.
fn is_value_of_digits(value: i64, digits: &[u8], before: &[u8]) -> bool {
    let signed = before.trim_ascii_end().last() == Some(&b'-');
    match parse_integer(digits) {
        Some(0) => value == 0 && !signed,
        Some(number) => value == number || signed && value == -number,
        None => false,
    }
}

/// Returns the value of the digits of an integer.
fn parse_integer(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Returns the value of digits, a point and digits.
fn parse_real(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn digits_length(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Returns the length of the string in which a text begins, or `None` if the string has a backslash or no end.
fn string_length(text: &[u8]) -> Option<usize> {
    memchr::memchr2(b'"', b'\\', text).filter(|end| text[*end] == b'"')
}

/// Returns true if digits are a decimal number. Digits after a leading zero are octal.
fn is_decimal_integer(digits: &[u8]) -> bool {
    (1..=MAX_DIGITS).contains(&digits.len()) && (digits[0] != b'0' || digits.len() == 1)
}

fn is_word_byte(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}

/// Returns the kind of hole that the digits at an offset form, or `None` if they are part of a name or of a number that
/// is not a hole.
fn kind_of_digits(text: &[u8], at: usize) -> Option<HoleKind> {
    let length = digits_length(&text[at..]);
    let before = |count: usize| at.checked_sub(count).and_then(|at| text.get(at));
    if text.get(at + length).is_some_and(is_word_byte) || before(1).is_some_and(is_word_byte) {
        return None;
    }
    match before(1) {
        // This point belongs to a number and not to a selection such as `a.b`.
        Some(b'.') if before(2).is_some_and(u8::is_ascii_digit) => {
            (length <= MAX_DIGITS).then_some(HoleKind::Fraction)
        }
        Some(b'+' | b'-') if before(2).is_some_and(|byte| matches!(byte, b'e' | b'E')) => None,
        Some(b'.') => None,
        _ => is_decimal_integer(&text[at..at + length]).then_some(HoleKind::Number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ad::ClassAd;
    use crate::syntax::expr::ExprRepr;
    use crate::syntax::{Dialect, Expr};
    use proptest::prelude::*;

    fn fits(known: &str, text: &str) -> bool {
        let mut skeleton = ExprSkeleton::default();
        skeleton.set_text(known.as_bytes());
        skeleton.matches_text(text.as_bytes())
    }

    #[test]
    fn a_template_matches_texts_that_differ_in_numbers_and_strings() {
        for (known, text, expected) in [
            ("a > 5 && b == \"x\"", "a > 1234 && b == \"\"", true),
            ("a * 1.5", "a * 20.0625", true),
            ("-5 - 3", "-77 - 0", true),
            ("a > 5", "a > 05", false),
            ("a > 5", "a > 5.5", false),
            ("a > 5", "a > 5K", false),
            ("a > 0x5", "a > 7x5", false),
            ("a1 > 1e5", "a2 > 1e5", false),
            ("1e+5", "1e+7", false),
            ("a == \"x\"", "a == \"x\\\"\"", false),
            ("a == \"x\"", "a == \"x\" \"y\"", false),
            ("a > 5", "a > 1234567890123456789", false),
            ("a > 5", "a > ", false),
            ("'b 1' > 2", "'b 1' > 3", false),
            ("a /* \"x\" */ + 1", "a /* \"*/ ( \" */ + 1", false),
            ("a + 1 // 5", "a + 1 // 6", false),
            ("a == \"http://x\"", "a == \"http://y\"", true),
        ] {
            assert_eq!(fits(known, text), expected, "{known} | {text}");
        }
    }

    #[test]
    fn trees_from_a_template_equal_parsed_trees() {
        for (known, text, expected) in [
            ("a > 5 && b == \"x\"", "a > 1234 && b == \"longer\"", true),
            ("f(1.5, \"\", { c, -2 }) + d", "f(20.0625, \"xyz\", { c, -123456 }) + d", true),
            ("strcat(\"a\\\"b\", c, \"d\") + 1", "strcat(\"a\\\"b\", c, \"d\") + 1000", false),
            ("TARGET.Machine =!= \"node1\" && x", "TARGET.Machine =!= \"node1234\" && x", true),
            ("[ a = 1; b = \"x\" ].a + c", "[ a = 123; b = \"\" ].a + c", true),
            ("a == -1.5 && b == -3", "a == -0.25 && b == -0", true),
            ("a == -0", "a == -5", false),
            ("a -0.0 > 1 - 7", "a -3.5 > 0 - 0", true),
            ("a > 5 + 1e3", "a > 7 + 1e3", false),
            ("a > 5K + 1", "a > 5K + 2", false),
            ("absTime(\"2026-07-01T12:00:00Z\") + 1", "absTime(\"2027-07-01T12:00:00Z\") + 1", false),
            ("a > 5 && b", "a > 5 || b", false),
            // Numbers in a comment follow a number that is not a hole.
            ("b + .5 // 0.5", "b + .5 // 0.7", false),
            ("b + 1e1 /* 10.0 */", "b + 1e1 /* 6.0 */", false),
            ("b + 5K 5", "b + 5K 6", false),
            ("b + 1 ? 5 : .5 0.5", "b + 1 ? 5 : .5 0.7", false),
        ] {
            let parse = |text: &str| match Expr::parse_prefix(text.as_bytes(), Dialect::old_syntax()) {
                Ok((Expr(ExprRepr::Node(tree, root)), _)) => (tree, root),
                _ => panic!("{text}"),
            };
            let (tree, root) = parse(known);
            let example = ExprTemplate::new(known.as_bytes(), root, &tree);
            let made = example.build_tree(text.as_bytes());
            assert_eq!(made.is_some(), expected, "{known} | {text}");
            let Some((root, tree)) = made else { continue };
            let (made, read) = (Expr(ExprRepr::Node(tree, root)), parse(text));
            let read = Expr(ExprRepr::Node(read.0, read.1));
            assert_eq!(printed(made.clone()), printed(read.clone()), "{text}");
            assert!(made == read && made.unparse() == read.unparse(), "{} | {text}", made.unparse());
        }
    }

    /// Returns an expression as ads print it, once in an unshared tree and once in a shared tree.
    fn printed(expr: Expr) -> Vec<String> {
        let print = |ad: &ClassAd| {
            let mut out = crate::ad_io::format::long::print(ad);
            crate::ad_io::format::json::push(ad, Default::default(), &mut out);
            String::from_utf8_lossy(&out).into_owned()
        };
        let mut ad = ClassAd::new();
        ad.insert("A", expr);
        let alone = print(&ad);
        vec![alone, print(&ad.clone())]
    }

    /// Generates tokens, most of them with a variant that may replace the token in another text.
    fn texts() -> impl Strategy<Value = Vec<(usize, String, String)>> {
        let pieces = "[a-e_+*/<>&|=.,:?(){}\\[\\] '-]{0,3}|\"|\\\\|[0-9]{1,20}|0|[.][0-9]{1,3}|[eExXK]";
        prop::collection::vec((0..3usize, pieces, "[0-9]{0,20}|[ -~]{0,3}"), 0..12)
    }

    proptest! {
        #[test]
        fn a_text_that_fits_a_template_has_the_same_validity(texts in texts()) {
            let known: String = texts.iter().map(|(_, text, _)| text.as_str()).collect();
            let other: String =
                texts.iter().map(|(which, text, other)| if *which == 0 { other } else { text }.as_str()).collect();
            let parse = |text: &str| Expr::parse_prefix(text.as_bytes(), Dialect::old_syntax());
            if let Ok((_, used)) = parse(&known) && fits(&known, &other) {
                let read = parse(&other);
                let whole = used == known.len();
                prop_assert!(read.is_ok_and(|(_, used)| !whole || used == other.len()), "{known} | {other}");
            }
            for dialect in [Dialect::old_syntax(), Dialect::new_syntax(), Dialect::old_syntax().strict(true)] {
                let parse = |text: &str| Expr::parse_prefix(text.as_bytes(), dialect);
                if let Ok((Expr(ExprRepr::Node(tree, root)), _)) = parse(&known)
                    && let Some((root, tree)) = ExprTemplate::new(known.as_bytes(), root, &tree).build_tree(other.as_bytes())
                {
                    let (made, read) = (Expr(ExprRepr::Node(tree, root)), parse(&other).unwrap().0);
                    prop_assert_eq!(printed(made.clone()), printed(read.clone()));
                    prop_assert_eq!(made.unparse(), read.unparse());
                    prop_assert_eq!(made.unparse_old(), read.unparse_old());
                    prop_assert!(made == read, "{known} | {other}");
                }
            }
        }
    }
}
