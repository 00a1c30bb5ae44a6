//! Evaluates random expressions with the reference's library, through its Python module, and with ours.
//!
//! `HTC_ORACLE_EXPRESSIONS` sets the number of expressions [default: 3,000], `HTC_ORACLE_SEED` the random
//! seed, and `HTC_PYTHON` names a Python that has the module `classad2` (the package `htcondor`). If there is
//! none, nothing is compared, and the test prints a message. A difference is reduced to a minimal expression
//! before it is shown.

mod ads;
mod generate;
mod ours;
mod peer;
mod shrink;

use std::fmt;

use generate::Generator;
use peer::Peer;

/// Number of questions that are sent together.
const BATCH: usize = 400;

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) kind: Kind,
    pub(crate) my: String,
    pub(crate) target: Option<String>,
    pub(crate) text: String,
}

/// Kind of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The expression as it prints, and its value.
    Eval,
    /// The flattened expression.
    Flatten,
    /// The names that it refers to, and the ad's own attributes that it depends on.
    Refs,
    /// The ad in new, old and JSON form.
    Print,
    /// The result of matching the two ads.
    Match,
}

impl Kind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Kind::Eval => "eval",
            Kind::Flatten => "flatten",
            Kind::Refs => "refs",
            Kind::Print => "print",
            Kind::Match => "match",
        }
    }
}

impl Question {
    /// Returns true if a number in the texts is so large that, in seconds, its year exceeds an int (6.8e16).
    fn has_huge_number(&self) -> bool {
        [Some(&self.my), self.target.as_ref(), Some(&self.text)]
            .into_iter()
            .flatten()
            .any(|text| text.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() >= 17))
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} in {}", self.kind.word(), self.text, self.my)?;
        if let Some(target) = &self.target {
            write!(f, " against {target}")?;
        }
        Ok(())
    }
}

/// Returns the reason why our answer differs, if it is known: the reference's answer depends on memory, the
/// compiler or the machine, or is a known bug that ours does not reproduce.
fn explained(question: &Question, theirs: &str) -> Option<&'static str> {
    let uses = |word: &str| {
        question.my.contains(word)
            || question.text.contains(word)
            || question.target.as_deref().is_some_and(|target| target.contains(word))
    };
    if uses("userHome") || uses("userMap") {
        return Some("depends on accounts and maps of the machine");
    }
    if (uses("splitTime") || uses("formatTime")) && question.has_huge_number() {
        return Some("the year does not fit an int, and the reference shows memory that it has not set");
    }
    if question.kind == Kind::Flatten && question.text.contains('[') {
        return Some("the module flattens ads within an expression as if they stood in no ad");
    }
    if question.kind == Kind::Flatten && uses("Time") {
        return Some("the module turns times into its own kind of times");
    }
    if uses("absTime()") {
        return Some("the time has gone on between the two answers");
    }
    if theirs == peer::CRASHED {
        return Some("the reference crashes, or takes more than a minute of the processor");
    }
    None
}

#[test]
fn random_expressions_have_the_values_of_the_reference() {
    let Some(mut peer) = Peer::start() else {
        println!("skipped: no Python with the module classad2 (set HTC_PYTHON)");
        return;
    };
    let expected = super::number("HTC_ORACLE_EXPRESSIONS").unwrap_or(3000) as usize;
    let seed = super::number("HTC_ORACLE_SEED").unwrap_or(1);
    let mut generator = Generator::new(seed);
    let (mut asked, mut excused, mut differences) = (0, 0, Vec::new());
    while asked < expected && differences.len() < 20 {
        let questions: Vec<Question> =
            (0..BATCH.min(expected - asked)).map(|_| generator.question()).collect();
        let answers = peer.ask(&questions);
        asked += questions.len();
        for (question, theirs) in questions.iter().zip(answers) {
            let ours = ours::answer(question);
            if ours == theirs {
                continue;
            }
            if explained(question, &theirs).is_some() {
                excused += 1;
                continue;
            }
            differences.push(shrink::smallest(&mut peer, question));
        }
    }
    println!("{asked} questions, seed {seed}: {} differ, {excused} for a known reason", differences.len());
    let mut report = String::new();
    for question in &differences {
        let theirs = peer.ask(std::slice::from_ref(question)).pop().unwrap_or_default();
        report +=
            &format!("\n{question}\n  reference {theirs:?}\n  ours      {:?}\n", ours::answer(question));
    }
    assert!(differences.is_empty(), "{report}");
}
