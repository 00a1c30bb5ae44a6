//! Output in the form of the daemon's log: its lines, the table of routes, and the steps of transforms.

use std::io::{self, Write};

use bstr::{BString, ByteSlice};

use crate::cli::common::{ProgramContext, stdout};
use crate::router::table_note::{condition_error_line, empty_include_line, function_message_text};
use crate::router::translate::{TransformPosition, TransformProgress, TranslationWatcher};
use crate::router::{Route, RouteState, RouteTable, limits, route};
use crate::transform::{
    CommandKeyword, FailedInclude, FailureReason, Observer, ProblemKind, RuleLine, Transform, TransformEvent,
    TransformFailure,
};

/// Minimum length in bytes of a log line that is preceded by an empty line.
const LONG_LINE: usize = 150;

/// Log of the daemon, printed to standard output.
pub(super) struct DaemonLog {
    /// Text that has not been printed yet.
    pub(super) out: Vec<u8>,
    /// True if log lines are printed.
    pub(super) loud: bool,
    /// True if log lines are kept in `kept_lines`, because the configuration is being read.
    pub(super) silent: bool,
    /// Log lines that may be printed later.
    pub(super) kept_lines: Vec<BString>,
}

impl DaemonLog {
    pub(super) fn write_line(&mut self, text: &[u8]) {
        if !self.loud {
            return;
        }
        if self.silent {
            self.kept_lines.push(text.into());
            return;
        }
        let mut text = text;
        if let Some(rest) = text.strip_prefix(b"JobRouter") {
            text = rest.strip_prefix(b":").unwrap_or(rest);
            text = text.strip_prefix(b" ").unwrap_or(text);
        }
        if text.len() > LONG_LINE {
            self.out.push(b'\n');
        }
        self.out.extend_from_slice(text);
    }

    /// Logs an error line, which is printed with all options.
    pub(super) fn write_error(&mut self, text: &[u8]) {
        let loud = std::mem::replace(&mut self.loud, true);
        self.write_line(text);
        self.loud = loud;
    }

    pub(super) fn print(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        stdout().write_all(&std::mem::take(&mut self.out))
    }
}

/// Returns the table of routes in the form of the log.
pub(super) fn table_text(table: &RouteTable, states: &[RouteState]) -> Vec<u8> {
    let mut text = b"JobRouter: Checking for candidate jobs. routing table is:\n\
        Route Name               Source      Submitted/Max        Idle/Max     Throttle\n"
        .to_vec();
    for (at, route) in table.routes_in_order() {
        let state = &states[at];
        let (name, throttle) = (route.name.to_str_lossy(), limits::format_throttle(state.throttle));
        let line = format!(
            "{name:<24} {name:<11} {:7}/{:7} {:7}/{:7} {:>8}\n",
            state.jobs,
            route.max_jobs,
            state.idle_jobs(),
            route.max_idle_jobs,
            throttle.to_str_lossy()
        );
        text.extend_from_slice(line.as_bytes());
    }
    text
}

/// Returns the output of `-config`.
pub(super) fn routes_text(table: &RouteTable) -> Vec<u8> {
    let mut out = Vec::new();
    for (kind, transforms) in [("Pre-Route", &table.pre_transforms), ("Post-Route", &table.post_transforms)] {
        for transform in transforms {
            out.extend_from_slice(format!("{kind} Transform : {}\n", transform.name).as_bytes());
            route::format_transform(transform, None, &mut out);
            out.push(b'\n');
        }
    }
    for (number, (_, route)) in table.routes_in_order().enumerate() {
        let Route { name, universe, max_jobs, max_idle_jobs, grid_resource, .. } = route;
        let requirements = route.requirements_text().as_bstr();
        let text = format!(
            "Route {}\nName         : \"{name}\"\nSource       : {name}\nUniverse     : {universe}\n\
             MaxJobs      : {max_jobs}\nMaxIdleJobs  : {max_idle_jobs}\nGridResource : {grid_resource}\n\
             Requirements : {requirements}\n",
            number + 1
        );
        out.extend_from_slice(text.as_bytes());
        route::format_transform(&route.transform, Some(*universe), &mut out);
        out.push(b'\n');
    }
    out
}

/// Observer of transforms that logs the lines of `-log-steps`.
pub(super) struct StepLogger<'a> {
    pub(super) log: &'a mut DaemonLog,
    pub(super) steps: bool,
    /// Last error that the reference records for the current transform (`MACRO_SET::errors`).
    pub(super) complaint: String,
    /// Lines of the current transform.
    pub(super) lines: Vec<RuleLine>,
    pub(super) program: &'a ProgramContext,
}

impl TranslationWatcher for StepLogger<'_> {
    fn note_progress(&mut self, part: TransformPosition, transform: &Transform, stage: TransformProgress) {
        let name = &transform.name;
        let kind = match part {
            TransformPosition::Pre => "pre-route transform",
            TransformPosition::Route => "route",
            TransformPosition::Post => "post-route transform",
        };
        match stage {
            TransformProgress::Skipped => {
                let text = format!("JobRouter {kind} {name}: does not match job. skipping it.\n");
                self.log.write_line(text.as_bytes());
            }
            TransformProgress::Begins => {
                if self.steps {
                    self.log.write_line(format!("\tApplying {kind}: {name}\n").as_bytes());
                }
                self.lines = transform.lines().cloned().collect();
                if transform.is_empty() {
                    self.log.write_line(&empty_include_line(b"<Local>"));
                }
            }
            // The reference logs this line after each transform, even if there was no error.
            TransformProgress::Ended => {
                let complaint = std::mem::take(&mut self.complaint);
                self.log.write_line(format!("ERROR in transform {name} : {complaint}\n").as_bytes());
                if part == TransformPosition::Route {
                    self.log.write_line(format!("ERROR in route {name} : \n").as_bytes());
                }
            }
        }
    }

    fn log(&mut self, text: &str) {
        self.log.write_line(text.as_bytes());
    }

    fn note_failure(&mut self, failure: &TransformFailure) {
        self.program.write_stderr("Transform of ad  failed!\n");
        if let Some(line) = condition_error_line(failure) {
            self.log.write_error(&line);
        }
        if let Some(inclusion) = &failure.inclusion {
            let FailedInclude { file, line, reason, .. } = &**inclusion;
            self.complaint = format!("Error \"{file}\", Line {line}, Include Depth 1: {reason}\n");
            return;
        }
        match (&failure.reason, failure.reference_message()) {
            (FailureReason::UnendedBlock(tag), _) => {
                self.complaint = format!("Found end-of-file while scanning for '@{tag}' in <Local>\n");
            }
            (FailureReason::UnclosedIf, Some(text)) => {
                self.complaint = format!("Error \"<Local>\", Line {}{text}\n", self.lines.len() + 1);
            }
            (_, Some(text)) => self.complaint = self.with_place("Error", &failure.line, &text),
            _ => {}
        }
    }

    fn observer(&mut self) -> &mut dyn Observer {
        self
    }
}

impl StepLogger<'_> {
    /// Returns a message with its location. Lines are counted in the transform without its envelope.
    fn with_place(&self, kind: &str, line: &RuleLine, text: &[u8]) -> String {
        let number = self.lines.iter().position(|known| known == line).map_or(0, |at| at + 1);
        format!("{kind} \"<Local>\", Line {number}{}\n", text.as_bstr())
    }
}

impl Observer for StepLogger<'_> {
    fn wants_steps(&self) -> bool {
        self.steps
    }

    fn wants_undefined_reason(&self, _: &RuleLine) -> bool {
        false
    }

    fn on_event(&mut self, line: &RuleLine, event: TransformEvent<'_>) {
        if let TransformEvent::Problem(problem) = &event {
            match &problem.kind {
                ProblemKind::Function(text) => {
                    // The tool prints only the message, without the text that the library adds.
                    self.complaint = function_message_text(text).into();
                }
                // The tool treats an aborted regular-expression match as no match, without a message.
                ProblemKind::MatchLimit { .. } => {}
                ProblemKind::Undefined { .. }
                | ProblemKind::Trailing { .. }
                | ProblemKind::DefaultOfUndefined(_) => {}
                ProblemKind::Expression { keyword, attribute, .. } => {
                    let (name, text) = (keyword.name(), &problem.text);
                    self.program
                        .write_stderr(&format!("ERROR: {name} {attribute} invalid expression : {text}\n"));
                }
                ProblemKind::Evaluate { keyword, attribute, .. } => {
                    let (name, text) = (keyword.name(), &problem.text);
                    self.program
                        .write_stderr(&format!("ERROR: {name} {attribute} could not evaluate : {text}\n"));
                }
                ProblemKind::Pattern { pattern, code, .. } => self.program.write_stderr(&format!(
                    "ERROR: Error compiling regex '{pattern}'. {code}. this entry will be ignored.\n"
                )),
                kind => self.program.write_stderr(&format!("ERROR: {kind}\n")),
            }
        }
        if let TransformEvent::EmptyInclude(name) = &event {
            self.log.write_line(&empty_include_line(name));
        }
        if let TransformEvent::Warning(text) = &event {
            self.complaint = self.with_place("Warning", line, &[&b": "[..], text].concat());
        }
        if !self.steps {
            return;
        }
        match event {
            TransformEvent::Command { keyword, attribute, text } => {
                let name = keyword.name().as_bytes();
                match keyword {
                    CommandKeyword::Delete => self.log.print(&[name, b" ", attribute, b"\n"].concat()),
                    _ => self.log.print(&[name, b" ", attribute, b" to ", text, b"\n"].concat()),
                }
            }
            TransformEvent::Evaluated { keyword: CommandKeyword::EvalMacro, attribute, text } => {
                self.log.print(&[b"          ", attribute, b" = ", text, b"\n"].concat());
            }
            TransformEvent::Evaluated { attribute, text, .. } => {
                self.log.print(&[b"    SET ", attribute, b" to ", text, b"\n"].concat());
            }
            _ => {}
        }
    }
}
