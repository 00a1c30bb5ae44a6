//! Golden cases: what the reference answered, one JSON record a line, asked of the library and of the programs.
//!
//! A [`Kind`] says how a record is read and asked. All kinds share the reading of files, the workers, the time limit
//! and the list of differences that must be. To add a kind, implement [`Case`] and enter it in [`KINDS`].

mod classad;
mod differences;
mod program;
pub mod record;
mod workers;

use std::fmt;
use std::path::{Path, PathBuf};

pub use differences::Differences;
pub use record::Text;

/// What the harness says instead of panicking: one sentence with the path it is about.
pub type Result<T> = std::result::Result<T, String>;

/// One question that the reference was asked, and its answer.
pub trait Case: Send + Sync {
    /// Its name, which no other case of its kind has.
    fn id(&self) -> &str;
    /// Asks ours.
    fn ask(&self) -> Verdict;
}

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The same answer.
    Passed,
    /// Another answer, or none within the time limit.
    Failed(Disagreement),
}

/// Both answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// What differs, in a word or two.
    pub what: String,
    /// What was asked.
    pub asked: String,
    /// What the reference answered.
    pub wanted: String,
    /// What we answered.
    pub got: String,
    /// What we said on standard error, where that is no part of the answer.
    pub said: String,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(to, "({})", self.what)?;
        writeln!(to, "  asked  {}", self.asked)?;
        writeln!(to, "  wanted {:?}", self.wanted)?;
        write!(to, "  got    {:?}", self.got)?;
        if self.said.is_empty() { Ok(()) } else { write!(to, "\n  said   {:?}", self.said) }
    }
}

/// A kind of golden file.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Its name: the first word for `examples/corpus.rs`, and the name of the copy in `tests/data/golden`.
    pub name: &'static str,
    /// The program that is asked, if it is one.
    pub program: Option<&'static str>,
    /// Reads one record.
    read: fn(&str, &Path) -> Result<Box<dyn Case>>,
}

/// Every kind.
pub const KINDS: &[Kind] = &[
    Kind { name: "classad", program: None, read: classad::read },
    Kind { name: "classad_eval", program: Some("htc-classad-eval"), read: program::classad_eval },
    Kind { name: "user_map", program: Some("htc-classad-eval"), read: program::classad_eval },
    Kind { name: "output", program: Some("htc-classad-eval"), read: program::output },
    Kind { name: "config", program: Some("htc-config-dump"), read: program::config },
    Kind { name: "transform", program: Some("htc-router-translate"), read: program::transform },
    Kind { name: "router", program: Some("htc-router-translate"), read: program::router },
];

/// What came of the cases of some files.
#[derive(Debug, Default)]
pub struct Outcome {
    /// How many cases agreed.
    pub passed: usize,
    /// Those that did not: name and both answers.
    pub failed: Vec<(String, Disagreement)>,
    /// Those that did not, as the list of differences says, and its reason.
    pub excused: Vec<(String, String)>,
    /// Listed as different, and yet they agree: the list is old.
    pub needless: Vec<String>,
}

impl Kind {
    /// The kind of this name.
    pub fn named(name: &str) -> Option<&'static Kind> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// The copy of the reference's answers that belongs to the sources.
    pub fn copy(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/golden/{}.jsonl.gz", self.name))
    }

    /// Asks all cases of the files; `programs` is where the programs stand.
    pub fn run(&self, files: &[PathBuf], programs: &Path) -> Result<Outcome> {
        let program = programs.join(self.program.unwrap_or_default());
        if self.program.is_some() && !program.exists() {
            return Err(format!("there is no {}: build the programs first", program.display()));
        }
        let mut cases = Vec::new();
        for file in files {
            for (number, line) in record::lines(file)?.iter().enumerate() {
                let case = (self.read)(line, &program)
                    .map_err(|error| format!("{}:{}: {error}", file.display(), number + 1))?;
                cases.push(case);
            }
        }
        let differences = Differences::load()?;
        let mut outcome = Outcome::default();
        for (id, verdict) in workers::ask(cases) {
            match (verdict, differences.reason(self.name, &id)) {
                (Verdict::Passed, None) => outcome.passed += 1,
                (Verdict::Passed, Some(_)) => outcome.needless.push(id),
                (Verdict::Failed(_), Some(reason)) => outcome.excused.push((id, reason.to_owned())),
                (Verdict::Failed(disagreement), None) => outcome.failed.push((id, disagreement)),
            }
        }
        Ok(outcome)
    }
}

impl Outcome {
    /// Prints every case that failed with both answers, and last how many passed and failed; true when none failed.
    pub fn report(&self) -> bool {
        for (id, disagreement) in &self.failed {
            println!("{id} {disagreement}");
        }
        for (id, reason) in &self.excused {
            println!("{id} differs as it must: {reason}");
        }
        for id in &self.needless {
            println!("{id} agrees: take it out of the list of differences");
        }
        let failed = self.failed.len() + self.needless.len();
        println!("{} passed, {failed} failed", self.passed + self.excused.len());
        failed == 0
    }
}

/// The command line `KIND [--programs DIR] FILE...`. True when all agreed.
pub fn main(kind: &Kind, arguments: &[String]) -> Result<bool> {
    let mut files = Vec::new();
    let mut programs = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--programs" => programs = Some(rest.next().ok_or("--programs needs a directory")?.into()),
            file => files.push(PathBuf::from(file)),
        }
    }
    if files.is_empty() {
        return Err(format!("no file given: {} FILE...", kind.name));
    }
    let programs = match (programs, kind.program) {
        (Some(programs), _) => programs,
        (None, Some(name)) => super::programs::find(&[name])?,
        (None, None) => PathBuf::new(),
    };
    Ok(kind.run(&files, &programs)?.report())
}
