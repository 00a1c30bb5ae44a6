//! Texts that match or do not match several regular expressions at once.
//!
//! Each pattern becomes a deterministic automaton (crate `regex-automata`) that accepts the texts containing
//! a match. A breadth-first search through all automata in parallel finds the shortest texts with the wanted
//! result for each.

use std::collections::VecDeque;

use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, Hir, Look, Repetition};
use rustc_hash::FxHashSet;

use super::goal::Goal;
use super::pattern_texts;
use htc_classad::{AttrName, Expr, ExprKind, Truth, Value};

/// Pattern, with the wanted result of matching.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PatternGoal {
    pattern: Vec<u8>,
    options: Vec<u8>,
    must_match: bool,
}

/// Maximum size of an automaton, in bytes.
const MAX_AUTOMATON_BYTES: usize = 1 << 20;
/// Maximum number of combinations of states to visit.
const MAX_STATES: usize = 20_000;
/// Maximum number of texts to generate.
const MAX_JOINT_TEXTS: usize = 40;

impl PatternGoal {
    /// Returns the pattern and wanted result of a goal that matches an attribute, or `None` for other goals.
    pub(super) fn from_goal(goal: &Goal, name: &AttrName) -> Option<PatternGoal> {
        let ExprKind::Call(function, parts) = goal.expr.kind() else { return None };
        let text = |at: usize| match parts.get(at).and_then(Expr::as_literal) {
            Some(Value::Str(text)) => Some(text.to_vec()),
            _ => None,
        };
        let is_about = parts
            .get(1)
            .is_some_and(|part| htc_classad::references::mentioned_attributes(part).contains(name));
        (function.eq_ignore_ascii_case(b"regexp") && is_about).then_some(())?;
        let (accepts_match, accepts_mismatch) =
            (goal.wanted.contains(Truth::True), goal.wanted.contains(Truth::False));
        (accepts_match != accepts_mismatch).then_some(())?;
        Some(PatternGoal {
            pattern: text(0)?,
            options: text(2).unwrap_or_default(),
            must_match: accepts_match,
        })
    }

    fn build_automaton(&self) -> Option<dense::DFA<Vec<u32>>> {
        let has_option = |letter: u8| self.options.iter().any(|it| it.eq_ignore_ascii_case(&letter));
        let mut options = ParserBuilder::new();
        options.case_insensitive(has_option(b'i')).multi_line(has_option(b'm'));
        options.dot_matches_new_line(has_option(b's')).ignore_whitespace(has_option(b'x'));
        let hir = pattern_texts::parse_pattern(&self.pattern, options)?;
        let any_bytes = || {
            Hir::repetition(Repetition {
                min: 0,
                max: None,
                greedy: true,
                sub: Box::new(Hir::class(Class::Bytes(ClassBytes::new([ClassBytesRange::new(0, 0xff)])))),
            })
        };
        let whole = if has_option(b'f') { hir } else { Hir::concat(vec![any_bytes(), hir, any_bytes()]) };
        let whole = Hir::concat(vec![whole, Hir::look(Look::End)]);
        let config = thompson::Config::new().utf8(false).nfa_size_limit(Some(MAX_AUTOMATON_BYTES));
        let nfa = thompson::Compiler::new().configure(config).build_from_hir(&whole).ok()?;
        let config = dense::Config::new()
            .start_kind(StartKind::Anchored)
            .match_kind(MatchKind::All)
            .dfa_size_limit(Some(MAX_AUTOMATON_BYTES))
            .determinize_size_limit(Some(MAX_AUTOMATON_BYTES * 4));
        dense::Builder::new().configure(config).build_from_nfa(&nfa).ok()
    }
}

/// States of all automata after a text; then the index of the states before the last byte of the text, and this byte,
/// or `None` for the empty string.
type ReachedStates = (Vec<StateID>, Option<(usize, u8)>);

/// Returns the shortest texts with the wanted results; empty if a pattern is too large or no text was found.
pub(super) fn find_joint_texts(wanted: &[PatternGoal]) -> Vec<Vec<u8>> {
    let Some(automata) = wanted.iter().map(PatternGoal::build_automaton).collect::<Option<Vec<_>>>() else {
        return Vec::new();
    };
    let start = start::Config::new().anchored(Anchored::Yes);
    let Ok(first) = automata.iter().map(|it| it.start_state(&start)).collect::<Result<Vec<_>, _>>() else {
        return Vec::new();
    };
    let has_wanted_results = |states: &[StateID]| {
        automata.iter().zip(states).zip(wanted).all(|((automaton, state), wanted)| {
            automaton.is_match_state(automaton.next_eoi_state(*state)) == wanted.must_match
        })
    };
    let bytes = representative_bytes(&automata);
    let mut reached: Vec<ReachedStates> = vec![(first.clone(), None)];
    let mut known: FxHashSet<Vec<StateID>> = FxHashSet::from_iter([first]);
    let mut todo = VecDeque::from([0]);
    let mut texts = Vec::new();
    while let Some(at) = todo.pop_front() {
        if has_wanted_results(&reached[at].0) {
            texts.push(text_to_state(&reached, at));
        }
        if texts.len() >= MAX_JOINT_TEXTS || reached.len() >= MAX_STATES {
            break;
        }
        for &byte in &bytes {
            let states = reached[at].0.iter().zip(&automata);
            let next: Vec<StateID> = states.map(|(state, it)| it.next_state(*state, byte)).collect();
            let cannot_match = automata
                .iter()
                .zip(&next)
                .zip(wanted)
                .any(|((automaton, state), wanted)| wanted.must_match && automaton.is_dead_state(*state));
            if !cannot_match && known.insert(next.clone()) {
                todo.push_back(reached.len());
                reached.push((next, Some((at, byte))));
            }
        }
    }
    texts
}

/// Returns the text with which the automata reach the combination of states number `at`.
fn text_to_state(reached: &[ReachedStates], mut at: usize) -> Vec<u8> {
    let mut text = Vec::new();
    while let Some((before, byte)) = reached[at].1 {
        text.push(byte);
        at = before;
    }
    text.reverse();
    text
}

/// Returns one byte of each class of bytes that the automata distinguish, preferably a letter or digit.
fn representative_bytes(automata: &[dense::DFA<Vec<u32>>]) -> Vec<u8> {
    let mut known: FxHashSet<Vec<u8>> = FxHashSet::default();
    let preferred = (b'a'..=b'z').chain(b'0'..=b'9').chain(b'A'..=b'Z').chain(b' '..=b'~').chain(1..=0xff);
    let classes = |byte: u8| automata.iter().map(|it| it.byte_classes().get(byte)).collect::<Vec<u8>>();
    preferred.filter(|byte| known.insert(classes(*byte))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts_of(patterns: &[(&str, bool)]) -> Vec<String> {
        let wanted: Vec<PatternGoal> = patterns
            .iter()
            .map(|(pattern, is_found)| PatternGoal {
                pattern: pattern.as_bytes().to_vec(),
                options: Vec::new(),
                must_match: *is_found,
            })
            .collect();
        find_joint_texts(&wanted).into_iter().map(|text| String::from_utf8(text).unwrap()).collect()
    }

    #[test]
    fn texts_that_match_only_some_patterns_are_found() {
        assert_eq!(texts_of(&[("^cms", true), ("prod$", true)])[0], "cmsprod");
        assert_eq!(texts_of(&[("^a.*b$", true), ("ccc", true), ("d{3}", true)])[0], "acccdddb");
        assert_eq!(texts_of(&[("^(aa)*$", true), ("^(aaa)*$", true), ("a", true)])[0], "aaaaaa");
        assert_eq!(texts_of(&[("^[ab]+$", true), ("a", false)])[0], "b");
        assert!(texts_of(&[("^a", true), ("^b", true)]).is_empty());
        assert!(texts_of(&[("(", true)]).is_empty());
        assert!(texts_of(&[("((a{300}){300}){5}", true)]).is_empty());
    }
}
