//! Routes in the syntax that 25.14 no longer reads: `JOB_ROUTER_ENTRIES`, `_FILE`, `_CMD` over `JOB_ROUTER_DEFAULTS`.

use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::knobs;
use crate::classad::{ClassAd, Context};
use crate::config::View;
use crate::text::arguments;
use crate::transform::legacy::{self, Converted, Options, Routes};
use crate::world::{Command, World};

/// How much of a file or of a command's output is read, in bytes.
const LIMIT: usize = 64 << 20;

/// A route of the old syntax, converted as the reference converts it.
#[derive(Clone, Debug)]
pub struct OldRoute {
    /// The parameter it stands in.
    pub source: &'static str,
    /// Its number there, from 1.
    pub number: usize,
    /// `OverrideRoutingEntry`: whether it takes the place of a former route of its name.
    pub overrides: Option<bool>,
    /// What its comments say, a line each.
    pub comments: Vec<BString>,
    /// The result, or what is wrong with it.
    pub converted: Result<Converted, String>,
}

/// The attributes underneath all routes.
pub fn defaults(view: &View<'_>) -> (ClassAd, Option<String>) {
    let merge =
        view.boolean("MERGE_JOB_ROUTER_DEFAULT_ADS").ok().flatten().is_some_and(|setting| setting.value);
    let text = knobs::text(view, "JOB_ROUTER_DEFAULTS").unwrap_or_default();
    let (ad, error) = legacy::defaults(&text, merge);
    (ad, error.map(|error| format!("JOB_ROUTER_DEFAULTS: {error}")))
}

/// All routes of the old parameters, in the order in which routers read them: file, command, the parameter itself.
pub fn routes(
    view: &View<'_>,
    world: &dyn World,
    commands: bool,
    note: &mut dyn FnMut(String),
) -> Vec<OldRoute> {
    let (under, error) = defaults(view);
    error.into_iter().for_each(&mut *note);
    let mut found = Vec::new();
    let mut add = |source: &'static str, text: &[u8]| {
        let mut routes = Routes::new(text);
        let mut number = 0;
        loop {
            let start = routes.offset();
            let Some(route) = routes.next() else { break };
            number += 1;
            let comments = comments(text.get(start..routes.offset()).unwrap_or_default());
            let overrides = route.as_ref().ok().and_then(|route| {
                let mut whole = under.clone();
                whole.update(route);
                Context::new(world).my(&whole).boolean("OverrideRoutingEntry")
            });
            let converted = match route {
                Ok(route) => Ok(legacy::convert(&route, b"", &under, Options::default(), world)),
                Err(error) => Err(error.to_string()),
            };
            found.push(OldRoute { source, number, overrides, comments, converted });
        }
    };
    if let Some(path) = knobs::text(view, "JOB_ROUTER_ENTRIES_FILE") {
        match world.read_file(&path.to_path_lossy(), Some(LIMIT as u64)) {
            Ok(text) => add("JOB_ROUTER_ENTRIES_FILE", &text),
            Err(error) => note(format!("JOB_ROUTER_ENTRIES_FILE: cannot read '{path}': {error}")),
        }
    }
    if let Some(command) = knobs::text(view, "JOB_ROUTER_ENTRIES_CMD") {
        match run(&command, world, commands) {
            Ok(text) => add("JOB_ROUTER_ENTRIES_CMD", &text),
            Err(error) => note(format!("JOB_ROUTER_ENTRIES_CMD: {error}")),
        }
    }
    if let Some(text) = knobs::text(view, "JOB_ROUTER_ENTRIES") {
        add("JOB_ROUTER_ENTRIES", &text);
    }
    found
}

/// The lines of the comments in the text of an ad (`// to the end of the line`, `/* up to */`).
fn comments(text: &[u8]) -> Vec<BString> {
    let mut lines = Vec::new();
    let mut add = |text: &[u8]| {
        let cut = |line: &[u8]| BString::from(line.trim().trim_start_with(|c| c == '*').trim());
        lines.extend(text.lines().map(cut).filter(|line| !line.is_empty()));
    };
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        at += match rest[0] {
            quote @ (b'"' | b'\'') => {
                let mut end = 1;
                while end < rest.len() && rest[end] != quote {
                    end += if rest[end] == b'\\' { 2 } else { 1 };
                }
                end + 1
            }
            b'/' if rest.starts_with(b"//") => {
                let end = rest.find_byte(b'\n').unwrap_or(rest.len());
                add(&rest[2..end]);
                end
            }
            b'/' if rest.starts_with(b"/*") => {
                let end = rest[2..].find(b"*/").map_or(rest.len(), |end| end + 2);
                add(&rest[2..end]);
                end + 2
            }
            _ => 1,
        };
    }
    lines
}

fn run(command: &[u8], world: &dyn World, allowed: bool) -> Result<Vec<u8>, String> {
    if !allowed {
        return Err("not run: commands of the configuration are not wanted here".into());
    }
    let argv: Vec<BString> =
        arguments::parse_v1_raw_or_v2_quoted(command).map_err(|error| error.to_string())?;
    let command = Command {
        argv,
        stdin: Vec::new(),
        merge_stderr: false,
        timeout: Duration::from_secs(60),
        output_limit: LIMIT,
    };
    let output = world.run(&command).map_err(|error| error.to_string())?;
    if output.exit.is_success() { Ok(output.stdout) } else { Err(output.exit.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_found_outside_strings() {
        let text =
            b"/* one\n * two */ [ a = \"// no \\\" /* no */\"; b = '//'; c = 4 / 2; // three\n ] // four";
        assert_eq!(comments(text), ["one", "two", "three", "four"]);
        assert_eq!(comments(b"[ a = 1 ] /* open"), ["open"]);
    }
}
