//! What is found in a look through a transform.

use std::collections::BTreeMap;

use htc_base::world::World;
use htc_transform::RuleLine;

/// Who will run the transform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransformRunner {
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
pub struct TransformFinding {
    /// A stable name of the rule that found it.
    pub rule: &'static str,
    /// How bad.
    pub severity: Severity,
    /// The line.
    pub line: RuleLine,
    /// The place within the line.
    pub at: (usize, usize),
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub fix: String,
    /// True if it stands inside an `if`, so that it may never be reached.
    pub inside_if: bool,
}

impl TransformFinding {
    /// Returns true if the transform fails here for every ad.
    pub fn is_fatal(&self) -> bool {
        self.severity == Severity::Error && !self.inside_if
    }
}

/// The state of one look through a transform.
pub(super) struct TransformLinter<'a> {
    pub(super) runner: TransformRunner,
    pub(super) world: &'a dyn World,
    pub(super) findings: Vec<TransformFinding>,
    pub(super) inside_if: bool,
    /// Attributes set so far and not looked at since: name in lower case, where.
    pub(super) unread_sets: BTreeMap<Vec<u8>, (RuleLine, (usize, usize), usize)>,
}

impl TransformLinter<'_> {
    /// Notes what does something else than it seems to, at a place in a line.
    pub(super) fn report_warning(
        &mut self,
        rule: &'static str,
        place: (&RuleLine, (usize, usize)),
        message: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.add_finding((rule, Severity::Warning), place, message.into(), fix.into());
    }

    /// Notes what makes the transform fail.
    pub(super) fn report_error(
        &mut self,
        rule: &'static str,
        place: (&RuleLine, (usize, usize)),
        message: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.add_finding((rule, Severity::Error), place, message.into(), fix.into());
    }

    fn add_finding(
        &mut self,
        (rule, severity): (&'static str, Severity),
        (line, at): (&RuleLine, (usize, usize)),
        message: String,
        fix: String,
    ) {
        let inside_if = self.inside_if;
        self.findings.push(TransformFinding {
            rule,
            severity,
            line: line.clone(),
            at,
            message,
            fix,
            inside_if,
        });
    }
}
