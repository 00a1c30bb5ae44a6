//! Names that an evaluation may read, directly or through the definitions of other names.

use std::cell::RefCell;
use std::collections::BTreeMap;

use htc_classad::references::{self, AttrNames};
use htc_classad::{AttrName, ClassAd, Expr, Value};
use rustc_hash::FxHashMap;

/// Names that an expression may read.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadNames {
    pub(super) names: AttrNames,
    /// True if it may also read names that it does not mention.
    pub(super) reads_any: bool,
}

impl ReadNames {
    pub(super) fn of_expr(expr: &Expr) -> Self {
        ReadNames { names: references::all_names(expr), reads_any: may_differ(expr) }
    }

    pub(super) fn add_expr(&mut self, expr: &Expr) {
        if expr.as_literal().is_none() {
            self.names.extend(references::all_names(expr));
            self.reads_any |= may_differ(expr);
        }
    }
}

/// True if the value may differ for equal definitions of the names: attributes are read that are not named, or a random
/// number.
fn may_differ(expr: &Expr) -> bool {
    references::can_read_any_attribute(expr)
        || expr.unparse().to_ascii_lowercase().windows(7).any(|word| word == b"random(")
}

/// Names that the definitions of each name read, over all ads of one side.
pub(super) type NameGraph = BTreeMap<AttrName, ReadNames>;

/// Returns the names read by the definitions of a name in some ads.
pub(super) fn definitions_read<'a>(name: &AttrName, ads: impl Iterator<Item = &'a ClassAd>) -> ReadNames {
    let mut read = ReadNames::default();
    let mut last: Option<Expr> = None;
    for expr in ads.filter_map(|ad| ad.get(name)) {
        // Slots of one machine have the same expressions.
        if expr.as_literal().is_none() && last.as_ref() != Some(&expr) {
            read.add_expr(&expr);
            last = Some(expr);
        }
    }
    read
}

/// Returns the names that can be reached from `start` through the definitions on both sides.
pub(super) fn close(start: ReadNames, graphs: [&NameGraph; 2]) -> ReadNames {
    let mut pending: Vec<AttrName> = start.names.iter().cloned().collect();
    let mut closed = start;
    while let Some(name) = pending.pop() {
        for read in graphs.iter().filter_map(|graph| graph.get(&name)) {
            closed.reads_any |= read.reads_any;
            for inner in &read.names {
                if closed.names.insert(inner.clone()) {
                    pending.push(inner.clone());
                }
            }
        }
    }
    closed
}

/// Finder of definitions that may read their own name again. Within such a circle the value of a name depends on where the
/// evaluation begins.
pub(super) struct CircleFinder<'a> {
    graphs: [&'a NameGraph; 2],
    known: RefCell<FxHashMap<Vec<u8>, bool>>,
}

impl<'a> CircleFinder<'a> {
    pub(super) fn new(graphs: [&'a NameGraph; 2]) -> Self {
        CircleFinder { graphs, known: RefCell::default() }
    }

    /// True if evaluating a definition of a name may evaluate the name again.
    pub(super) fn is_circular(&self, name: &AttrName, definition: &Expr) -> bool {
        let mut key = name.as_bytes().to_ascii_lowercase();
        key.push(0);
        push_expr_key(definition, &mut key);
        if let Some(known) = self.known.borrow().get(&key) {
            return *known;
        }
        let read = close(ReadNames::of_expr(definition), self.graphs);
        let is_circular = read.reads_any || read.names.contains(name);
        self.known.borrow_mut().insert(key, is_circular);
        is_circular
    }
}

/// Appends an expression to a key; equal keys mean equal expressions. Returns true if it is a literal.
pub(super) fn push_expr_key(expr: &Expr, key: &mut Vec<u8>) -> bool {
    let push = |kind: u8, bytes: &[u8], key: &mut Vec<u8>| {
        key.push(kind);
        key.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        key.extend_from_slice(bytes);
    };
    let literal = expr.as_literal();
    match &literal {
        Some(Value::Int(number)) => push(b'i', &number.to_le_bytes(), key),
        // The text of a real has 16 digits, but 17 may be needed to distinguish two reals.
        Some(Value::Real(real)) => push(b'r', &real.to_bits().to_le_bytes(), key),
        Some(_) => push(b'l', &expr.unparse(), key),
        None => {
            let text = expr.unparse();
            push(b'e', &text, key);
            // The text of a real has 16 digits, as above.
            if text.windows(2).any(is_part_of_real) {
                for value in references::literals(expr) {
                    if let Value::Real(real) = value {
                        key.extend_from_slice(&real.to_bits().to_le_bytes());
                    }
                }
            }
        }
    }
    literal.is_some()
}

/// Returns the key of an expression; equal keys mean equal expressions.
pub(super) fn expression_key(expr: &Expr) -> Vec<u8> {
    let mut key = Vec::new();
    push_expr_key(expr, &mut key);
    key
}

/// True if two bytes may belong to the text of a real number.
fn is_part_of_real(pair: &[u8]) -> bool {
    match pair {
        [b'.', digit] | [digit, b'.'] => digit.is_ascii_digit(),
        [b'E', sign] => matches!(sign, b'+' | b'-'),
        _ => false,
    }
}

/// Returns a key of an ad's definitions of these names, or of all its attributes.
pub(super) fn definitions_key(ad: &ClassAd, read: &ReadNames) -> Vec<u8> {
    let mut key = Vec::new();
    if read.reads_any {
        for (name, expr) in ad.flattened_chain().sorted() {
            key.extend(name.to_ascii_lowercase());
            key.push(0);
            push_expr_key(&expr, &mut key);
        }
        return key;
    }
    for (at, name) in read.names.iter().enumerate() {
        if let Some(expr) = ad.get(name) {
            key.extend_from_slice(&(at as u32).to_le_bytes());
            push_expr_key(&expr, &mut key);
        }
    }
    key
}
