//! What is found in a look through a transform.

use std::collections::BTreeMap;

use htc_base::world::World;
use htc_transform::Line;

/// Who will run the transform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Runner {
    /// `condor_transform_ads` and `htc-router-translate transform --rules`.
    #[default]
    Tool,
    /// The access point, from `JOB_TRANSFORM_x`.
    Schedd,
    /// The job router, from `JOB_ROUTER_ROUTE_x` and its like.
    Router,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The transform fails, or does not load.
    Error,
    /// It does something else than it seems to.
    Warning,
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// A stable name of the rule that found it.
    pub rule: &'static str,
    /// How bad.
    pub severity: Severity,
    /// The line.
    pub line: Line,
    /// The place within the line.
    pub at: (usize, usize),
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub fix: String,
    /// Whether it stands inside an `if`, so that it may never be reached.
    pub inside_if: bool,
}

impl Finding {
    /// Whether the transform fails here for every ad.
    pub fn is_fatal(&self) -> bool {
        self.severity == Severity::Error && !self.inside_if
    }
}

/// The state of one look through a transform.
pub(super) struct Lint<'a> {
    pub(super) runner: Runner,
    pub(super) world: &'a dyn World,
    pub(super) findings: Vec<Finding>,
    pub(super) inside_if: bool,
    /// Attributes set so far and not looked at since: name in lower case, where.
    pub(super) written: BTreeMap<Vec<u8>, (Line, (usize, usize), usize)>,
}

impl Lint<'_> {
    /// Notes what does something else than it seems to, at a place in a line.
    pub(super) fn warn(
        &mut self,
        rule: &'static str,
        place: (&Line, (usize, usize)),
        message: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.add((rule, Severity::Warning), place, message.into(), fix.into());
    }

    /// Notes what makes the transform fail.
    pub(super) fn fails(
        &mut self,
        rule: &'static str,
        place: (&Line, (usize, usize)),
        message: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.add((rule, Severity::Error), place, message.into(), fix.into());
    }

    fn add(
        &mut self,
        (rule, severity): (&'static str, Severity),
        (line, at): (&Line, (usize, usize)),
        message: String,
        fix: String,
    ) {
        let inside_if = self.inside_if;
        self.findings.push(Finding { rule, severity, line: line.clone(), at, message, fix, inside_if });
    }
}
