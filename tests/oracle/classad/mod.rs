//! Random expressions, asked of the reference's own library through its Python module and of ours.
//!
//! `HTC_ORACLE_EXPRESSIONS` says how many questions are asked (3,000 without it), `HTC_ORACLE_SEED` where the random
//! numbers begin, `HTC_PYTHON` which Python has the module `classad2` (the package `htcondor`). Without it nothing is
//! compared, and the test says so. A difference is shrunk to its smallest form before it is shown.

mod ads;
mod generate;
mod ours;
mod peer;
mod shrink;

use std::fmt;

use generate::Generator;
use peer::Peer;

/// Questions that are sent together.
const BATCH: usize = 400;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) kind: Kind,
    pub(crate) my: String,
    pub(crate) target: Option<String>,
    pub(crate) text: String,
}

/// What is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The expression as it prints, and its value.
    Eval,
    /// What is left of it when the ad is worked in.
    Flatten,
    /// The names it needs, and the ad's own that it depends on.
    Refs,
    /// The ad in new, old and JSON form.
    Print,
    /// Whether the two ads match.
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
    /// Whether a number is written anywhere that is, in seconds, a year beyond what an int holds (6.8e16).
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

/// Why an answer of ours is another one, where there is a reason: the reference's depends on memory, on the compiler or
/// on the machine, or it is a known mistake that ours does not repeat.
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
    let wanted = super::number("HTC_ORACLE_EXPRESSIONS").unwrap_or(3000) as usize;
    let seed = super::number("HTC_ORACLE_SEED").unwrap_or(1);
    let mut generator = Generator::new(seed);
    let (mut asked, mut excused, mut differences) = (0, 0, Vec::new());
    while asked < wanted && differences.len() < 20 {
        let questions: Vec<Question> = (0..BATCH.min(wanted - asked)).map(|_| generator.question()).collect();
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
