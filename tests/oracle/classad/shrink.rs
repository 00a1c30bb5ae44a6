//! Reduces a question with different answers to a minimal one.

use super::peer::Peer;
use super::{Question, explained, ours};

/// Property of a difference that is preserved: which of the two answers says that a text does not parse.
#[derive(Clone, Copy, PartialEq, Eq)]
struct RefusedBy {
    theirs: bool,
    ours: bool,
}

fn refused_by(question: &Question, theirs: &str) -> RefusedBy {
    let refused = |answer: &str| answer == "!parse" || answer == "!ad";
    RefusedBy { theirs: refused(theirs), ours: refused(&ours::answer(question)) }
}

/// Removes pieces of a question's texts as long as the answers differ.
pub(crate) fn smallest(peer: &mut Peer, question: &Question) -> Question {
    let mut best = question.clone();
    let theirs = peer.ask(std::slice::from_ref(question)).pop().unwrap_or_default();
    let expected = refused_by(question, &theirs);
    let mut progress = true;
    while progress {
        progress = false;
        if best.target.is_some() {
            let without = Question { target: None, ..best.clone() };
            if let Some(found) = first_that_differs(peer, vec![without], expected) {
                best = found;
                progress = true;
            }
        }
        let replace_text = |best: &Question, text: String| Question { text, ..best.clone() };
        let replace_my = |best: &Question, my: String| Question { my, ..best.clone() };
        let replace_target =
            |best: &Question, target: String| Question { target: Some(target), ..best.clone() };
        progress |= shrink_text(peer, expected, &mut best, |question| question.text.clone(), replace_text);
        progress |= shrink_text(peer, expected, &mut best, |question| question.my.clone(), replace_my);
        if best.target.is_some() {
            progress |= shrink_text(
                peer,
                expected,
                &mut best,
                |question| question.target.clone().unwrap_or_default(),
                replace_target,
            );
        }
    }
    best
}

fn shrink_text(
    peer: &mut Peer,
    expected: RefusedBy,
    best: &mut Question,
    text: impl Fn(&Question) -> String,
    replace: impl Fn(&Question, String) -> Question,
) -> bool {
    let mut any = false;
    let mut length = text(best).len() / 2;
    while length > 0 {
        let current = text(best);
        let bytes = current.as_bytes();
        let step = (length / 2).max(1);
        let candidates = (0..bytes.len().saturating_sub(length - 1))
            .step_by(step)
            .filter_map(|start| {
                let mut cut = bytes[..start].to_vec();
                cut.extend_from_slice(&bytes[start + length..]);
                String::from_utf8(cut).ok()
            })
            .map(|cut| replace(best, cut))
            .collect();
        match first_that_differs(peer, candidates, expected) {
            Some(found) => {
                *best = found;
                any = true;
                length = length.min(text(best).len() / 2).max(1);
                if text(best).is_empty() {
                    break;
                }
            }
            None => length /= 2,
        }
    }
    any
}

fn first_that_differs(peer: &mut Peer, candidates: Vec<Question>, expected: RefusedBy) -> Option<Question> {
    for batch in candidates.chunks(100) {
        let answers = peer.ask(batch);
        let found = batch.iter().zip(answers).find(|(question, theirs)| {
            ours::answer(question) != *theirs
                && explained(question, theirs).is_none()
                && refused_by(question, theirs) == expected
        });
        if let Some((question, _)) = found {
            return Some(question.clone());
        }
    }
    None
}
