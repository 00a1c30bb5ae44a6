//! What the tool prints of the daemon's log: its lines, the table of routes, the steps of transforms.

use std::io::{self, Write};

use bstr::{BString, ByteSlice};

use crate::cli::common::{Session as Program, stdout};
use crate::router::note::{condition_line, empty_include, function_words};
use crate::router::translate::{Part, Stage, Watcher};
use crate::router::{Route, RouteState, RouteTable, limits, route};
use crate::transform::{Event, Failure, Inclusion, Keyword, Line, Observer, ProblemKind, Reason, Transform};

/// Lines longer than this get an empty one in front.
const LONG_LINE: usize = 150;

/// What the daemon would log, on standard output.
pub(super) struct Log {
    /// What is still to be printed.
    pub(super) out: Vec<u8>,
    /// Whether anything of the log is shown at all.
    pub(super) loud: bool,
    /// Lines are kept back while the configuration is read.
    pub(super) silent: bool,
    /// The lines that are kept back.
    pub(super) kept: Vec<BString>,
}

impl Log {
    pub(super) fn line(&mut self, text: &[u8]) {
        if !self.loud {
            return;
        }
        if self.silent {
            self.kept.push(text.into());
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

    /// A line that the daemon logs as an error: shown whatever the options are.
    pub(super) fn error(&mut self, text: &[u8]) {
        let loud = std::mem::replace(&mut self.loud, true);
        self.line(text);
        self.loud = loud;
    }

    pub(super) fn print(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        stdout().write_all(&std::mem::take(&mut self.out))
    }
}

/// The table of routes as the log shows it.
pub(super) fn table_text(table: &RouteTable, states: &[RouteState]) -> Vec<u8> {
    let mut text = b"JobRouter: Checking for candidate jobs. routing table is:\n\
        Route Name               Source      Submitted/Max        Idle/Max     Throttle\n"
        .to_vec();
    for (at, route) in table.in_order() {
        let state = &states[at];
        let (name, throttle) = (route.name.to_str_lossy(), limits::throttle_text(state.throttle));
        let line = format!(
            "{name:<24} {name:<11} {:7}/{:7} {:7}/{:7} {:>8}\n",
            state.jobs,
            route.max_jobs,
            state.idle(),
            route.max_idle_jobs,
            throttle.to_str_lossy()
        );
        text.extend_from_slice(line.as_bytes());
    }
    text
}

/// What `-config` prints.
pub(super) fn routes(table: &RouteTable) -> Vec<u8> {
    let mut out = Vec::new();
    for (kind, transforms) in [("Pre-Route", &table.pre), ("Post-Route", &table.post)] {
        for transform in transforms {
            out.extend_from_slice(format!("{kind} Transform : {}\n", transform.name).as_bytes());
            route::formatted(transform, None, &mut out);
            out.push(b'\n');
        }
    }
    for (number, (_, route)) in table.in_order().enumerate() {
        let Route { name, universe, max_jobs, max_idle_jobs, grid_resource, .. } = route;
        let requirements = route.requirements_text().as_bstr();
        let text = format!(
            "Route {}\nName         : \"{name}\"\nSource       : {name}\nUniverse     : {universe}\n\
             MaxJobs      : {max_jobs}\nMaxIdleJobs  : {max_idle_jobs}\nGridResource : {grid_resource}\n\
             Requirements : {requirements}\n",
            number + 1
        );
        out.extend_from_slice(text.as_bytes());
        route::formatted(&route.transform, Some(*universe), &mut out);
        out.push(b'\n');
    }
    out
}

/// The lines of `-log-steps`.
pub(super) struct Steps<'a> {
    pub(super) log: &'a mut Log,
    pub(super) steps: bool,
    /// What the reference has noted last of the transform that runs (`MACRO_SET::errors`).
    pub(super) complaint: String,
    /// The lines of that transform.
    pub(super) lines: Vec<Line>,
    pub(super) program: &'a Program,
}

impl Watcher for Steps<'_> {
    fn stage(&mut self, part: Part, transform: &Transform, stage: Stage) {
        let name = &transform.name;
        let kind = match part {
            Part::Pre => "pre-route transform",
            Part::Route => "route",
            Part::Post => "post-route transform",
        };
        match stage {
            Stage::Skipped => {
                let text = format!("JobRouter {kind} {name}: does not match job. skipping it.\n");
                self.log.line(text.as_bytes());
            }
            Stage::Begins => {
                if self.steps {
                    self.log.line(format!("\tApplying {kind}: {name}\n").as_bytes());
                }
                self.lines = transform.lines().cloned().collect();
                if transform.is_empty() {
                    self.log.line(&empty_include(b"<Local>"));
                }
            }
            // The reference says so after each transform, whether or not anything went wrong.
            Stage::Ended => {
                let complaint = std::mem::take(&mut self.complaint);
                self.log.line(format!("ERROR in transform {name} : {complaint}\n").as_bytes());
                if part == Part::Route {
                    self.log.line(format!("ERROR in route {name} : \n").as_bytes());
                }
            }
        }
    }

    fn log(&mut self, text: &str) {
        self.log.line(text.as_bytes());
    }

    fn failed(&mut self, failure: &Failure) {
        self.program.tell("Transform of ad  failed!\n");
        if let Some(line) = condition_line(failure) {
            self.log.error(&line);
        }
        if let Some(inclusion) = &failure.inclusion {
            let Inclusion { file, line, reason, .. } = &**inclusion;
            self.complaint = format!("Error \"{file}\", Line {line}, Include Depth 1: {reason}\n");
            return;
        }
        match (&failure.reason, failure.complaint()) {
            (Reason::Unended(tag), _) => {
                self.complaint = format!("Found end-of-file while scanning for '@{tag}' in <Local>\n");
            }
            (Reason::Unclosed, Some(text)) => {
                self.complaint = format!("Error \"<Local>\", Line {}{text}\n", self.lines.len() + 1);
            }
            (_, Some(text)) => self.complaint = self.placed("Error", &failure.line, &text),
            _ => {}
        }
    }

    fn observer(&mut self) -> &mut dyn Observer {
        self
    }
}

impl Steps<'_> {
    /// A message with its place, counted in lines without the envelope.
    fn placed(&self, kind: &str, line: &Line, text: &[u8]) -> String {
        let number = self.lines.iter().position(|known| known == line).map_or(0, |at| at + 1);
        format!("{kind} \"<Local>\", Line {number}{}\n", text.as_bstr())
    }
}

impl Observer for Steps<'_> {
    fn wants_steps(&self) -> bool {
        self.steps
    }

    fn wants_reason(&self, _: &Line) -> bool {
        false
    }

    fn event(&mut self, line: &Line, event: Event<'_>) {
        if let Event::Problem(problem) = &event {
            match &problem.kind {
                ProblemKind::Function(text) => {
                    // The tool prints the message without what the library says around it.
                    self.complaint = function_words(text).into();
                }
                // The tool takes a match that was given up for none, without a word.
                ProblemKind::MatchLimit { .. } => {}
                ProblemKind::Undefined { .. }
                | ProblemKind::Trailing { .. }
                | ProblemKind::DefaultOfUndefined(_) => {}
                ProblemKind::Expression { keyword, attribute, .. } => {
                    let (name, text) = (keyword.name(), &problem.text);
                    self.program.tell(&format!("ERROR: {name} {attribute} invalid expression : {text}\n"));
                }
                ProblemKind::Evaluate { keyword, attribute, .. } => {
                    let (name, text) = (keyword.name(), &problem.text);
                    self.program.tell(&format!("ERROR: {name} {attribute} could not evaluate : {text}\n"));
                }
                ProblemKind::Pattern { pattern, code, .. } => self.program.tell(&format!(
                    "ERROR: Error compiling regex '{pattern}'. {code}. this entry will be ignored.\n"
                )),
                kind => self.program.tell(&format!("ERROR: {kind}\n")),
            }
        }
        if let Event::EmptyInclude(name) = &event {
            self.log.line(&empty_include(name));
        }
        if let Event::Warning(text) = &event {
            self.complaint = self.placed("Warning", line, &[&b": "[..], text].concat());
        }
        if !self.steps {
            return;
        }
        match event {
            Event::Command { keyword, attribute, text } => {
                let name = keyword.name().as_bytes();
                match keyword {
                    Keyword::Delete => self.log.print(&[name, b" ", attribute, b"\n"].concat()),
                    _ => self.log.print(&[name, b" ", attribute, b" to ", text, b"\n"].concat()),
                }
            }
            Event::Evaluated { keyword: Keyword::EvalMacro, attribute, text } => {
                self.log.print(&[b"          ", attribute, b" = ", text, b"\n"].concat());
            }
            Event::Evaluated { attribute, text, .. } => {
                self.log.print(&[b"    SET ", attribute, b" to ", text, b"\n"].concat());
            }
            _ => {}
        }
    }
}
