//! Golden cases: results of the reference, one JSON record per line, compared with the results of our library
//! and programs.
//!
//! A [`Kind`] defines how a record is read and executed. All kinds share the reading of files, the workers,
//! the time limit and the list of intentional differences. To add a kind, implement [`Case`] and add it to
//! [`KINDS`].

mod classad;
mod differences;
mod program;
pub mod record;
mod workers;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

pub use differences::Differences;
pub use record::Text;

/// Result whose error is one sentence that contains the path.
pub type Result<T> = std::result::Result<T, String>;

/// One input and the reference's result.
pub trait Case: Send + Sync {
    /// Returns the name of the case, unique within its kind.
    fn id(&self) -> &str;
    /// Returns the subject of the case, or an empty string.
    fn group(&self) -> &str {
        ""
    }
    /// Runs our code on the input and compares the results.
    fn check(&self) -> Verdict;
}

/// Result of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The results are equal.
    Passed,
    /// The results differ, or ours was not available within the time limit.
    Failed(Disagreement),
}

/// Two different results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The part that differs, in a word or two.
    pub what: String,
    /// The input.
    pub input: String,
    /// The reference's result.
    pub expected: String,
    /// Our result.
    pub got: String,
    /// Our output on standard error, if it is not compared.
    pub stderr: String,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(to, "({})", self.what)?;
        writeln!(to, "  input    {}", self.input)?;
        writeln!(to, "  expected {:?}", self.expected)?;
        write!(to, "  got      {:?}", self.got)?;
        if self.stderr.is_empty() { Ok(()) } else { write!(to, "\n  stderr   {:?}", self.stderr) }
    }
}

/// A kind of golden file.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Name of the kind: the first argument of `examples/corpus.rs`, and the name of the copy in
    /// `tests/data/golden`.
    pub name: &'static str,
    /// The program that is run, or `None` if cases call the library.
    pub program: Option<&'static str>,
    /// Reads one record.
    read: fn(&str, &Path) -> Result<Box<dyn Case>>,
}

/// All kinds.
pub const KINDS: &[Kind] = &[
    Kind { name: "classad", program: None, read: classad::read },
    Kind { name: "classad_eval", program: Some("htc-classad-eval"), read: program::classad_eval },
    Kind { name: "user_map", program: Some("htc-classad-eval"), read: program::classad_eval },
    Kind { name: "output", program: Some("htc-classad-eval"), read: program::output },
    Kind { name: "condor_q", program: Some("htc-classad-eval"), read: program::condor_q },
    Kind { name: "config", program: Some("htc-config-dump"), read: program::config },
    Kind { name: "transform", program: Some("htc-router-translate"), read: program::transform },
    Kind { name: "router", program: Some("htc-router-translate"), read: program::router },
];

/// Results of the cases of some files.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Number of cases that agreed.
    pub passed: usize,
    /// Name and results of cases that differed.
    pub failed: Vec<(String, Disagreement)>,
    /// Names of cases that differed as listed, with the reason.
    pub excused: Vec<(String, String)>,
    /// Number of cases of each group that agreed, and number of all cases of the group.
    pub groups: BTreeMap<String, (usize, usize)>,
    /// Names of cases that agree although they are listed as different: the list is out of date.
    pub needless: Vec<String>,
}

impl Kind {
    /// Returns the kind of this name.
    pub fn named(name: &str) -> Option<&'static Kind> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// Returns the copy of the reference's results that belongs to the sources.
    pub fn copy(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/golden/{}.jsonl.gz", self.name))
    }

    /// Runs all cases of the files; `programs` is the directory of the programs.
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
        let groups: HashMap<String, String> = cases
            .iter()
            .filter(|case| !case.group().is_empty())
            .map(|case| (case.id().to_owned(), case.group().to_owned()))
            .collect();
        for (id, verdict) in workers::check_cases(cases) {
            if let Some(group) = groups.get(&id) {
                let (agreed, all) = outcome.groups.entry(group.clone()).or_default();
                *agreed += usize::from(verdict == Verdict::Passed);
                *all += 1;
            }
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
    /// Prints every case that failed with both results, and the numbers of cases; returns true if no case
    /// failed.
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
        for (group, (agreed, all)) in &self.groups {
            println!("{agreed:4} of {all:4} agree: {group}");
        }
        let failed = self.failed.len() + self.needless.len();
        println!("{} passed, {failed} failed", self.passed + self.excused.len());
        failed == 0
    }
}

/// Executes the command line `KIND [--programs DIR] FILE...`; returns true if all cases agreed.
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
