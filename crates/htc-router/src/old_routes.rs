//! Routes in the syntax that 25.14 no longer reads: `JOB_ROUTER_ENTRIES`, `_FILE` and `_CMD`, with
//! `JOB_ROUTER_DEFAULTS`.

use std::time::Duration;

use bstr::{BString, ByteSlice};

use htc_base::text::caret::Caret;
use htc_base::text::{Span, arguments, caseless};
use htc_base::world::{ExternalCommand, World};
use htc_classad::{ClassAd, Context, ParseError};
use htc_config::ConfigView;
use htc_transform::route_conversion::{self, ConversionOptions, ConvertedRoute, OldRouteReader};

/// Maximum size of a file or of a command's output, in bytes.
const MAX_SOURCE_BYTES: usize = 64 << 20;

/// Route in the old syntax, converted as the reference converts it.
#[derive(Clone, Debug)]
pub struct OldRoute {
    /// Parameter that contains the route.
    pub source: &'static str,
    /// Number of the route in the parameter, from 1.
    pub number: usize,
    /// Value of `OverrideRoutingEntry`: true to replace an earlier route with the same name.
    pub overrides: Option<bool>,
    /// Lines of the route's comments.
    pub comments: Vec<BString>,
    /// Converted route, or an error with file, line and caret where they are known.
    pub converted: Result<ConvertedRoute, String>,
}

/// Options of the conversion when its result is loaded rather than printed.
pub(super) const LOADABLE_OPTIONS: ConversionOptions =
    ConversionOptions { drop_input_rsl: false, fix_eval_set: false, old_ce: false, loadable: true };

/// Returns the default attributes for all routes, and an error message if JOB_ROUTER_DEFAULTS is invalid.
pub fn default_attributes(view: &ConfigView<'_>) -> (ClassAd, Option<String>) {
    let merge = view.flag("MERGE_JOB_ROUTER_DEFAULT_ADS", false);
    let text = view.text("JOB_ROUTER_DEFAULTS").unwrap_or_default();
    let (ad, error) = route_conversion::parse_route_defaults(&text, merge);
    (ad, error.map(|error| format!("JOB_ROUTER_DEFAULTS: {error}")))
}

/// Loads all routes of the old parameters in the order in which the reference reads them: file, command, parameter.
pub fn load_old_routes(
    view: &ConfigView<'_>,
    world: &dyn World,
    commands: bool,
    note: &mut dyn FnMut(String),
) -> Vec<OldRoute> {
    let (under, error) = default_attributes(view);
    error.into_iter().for_each(&mut *note);
    let mut found = Vec::new();
    let mut add = |source: &'static str, text: &[u8], written: Option<&ValueSource>| {
        found.extend(parse_routes(source, text, written, &under, world));
    };
    if let Some(path) = view.text("JOB_ROUTER_ENTRIES_FILE") {
        match world.read_file(&path.to_path_lossy(), Some(MAX_SOURCE_BYTES as u64)) {
            Ok(text) => {
                let written = ValueSource { name: path.to_string(), text: text.clone(), value_offset: 0 };
                add("JOB_ROUTER_ENTRIES_FILE", &text, Some(&written));
            }
            Err(error) => note(format!("JOB_ROUTER_ENTRIES_FILE: cannot read '{path}': {error}")),
        }
    }
    if let Some(command) = view.text("JOB_ROUTER_ENTRIES_CMD") {
        match run_command(&command, world, commands) {
            Ok(text) => {
                let written =
                    ValueSource { name: format!("<{command}>"), text: text.clone(), value_offset: 0 };
                add("JOB_ROUTER_ENTRIES_CMD", &text, Some(&written));
            }
            Err(error) => note(format!("JOB_ROUTER_ENTRIES_CMD: {error}")),
        }
    }
    if let Some(text) = view.text("JOB_ROUTER_ENTRIES") {
        add(
            "JOB_ROUTER_ENTRIES",
            &text,
            ValueSource::from_parameter("JOB_ROUTER_ENTRIES", view, world).as_ref(),
        );
    }
    found
}

/// Parses the routes in one text.
fn parse_routes(
    source: &'static str,
    text: &[u8],
    written: Option<&ValueSource>,
    under: &ClassAd,
    world: &dyn World,
) -> Vec<OldRoute> {
    let mut routes = OldRouteReader::new_recovering(text);
    let mut found = Vec::new();
    loop {
        let start = routes.offset();
        let Some(route) = routes.next() else { return found };
        let comments = extract_comments(text.get(start..routes.offset()).unwrap_or_default());
        let overrides = route.as_ref().ok().and_then(|route| {
            let mut whole = under.clone();
            whole.update(route);
            Context::new(world).my(&whole).boolean("OverrideRoutingEntry")
        });
        let converted = match route {
            Ok(route) => Ok(route_conversion::convert_route(&route, b"", under, LOADABLE_OPTIONS, world)),
            Err(error) => Err(describe_error(&error, text, written)),
        };
        found.push(OldRoute { source, number: found.len() + 1, overrides, comments, converted });
    }
}

/// Text of the file or output that a value was read from.
struct ValueSource {
    name: String,
    text: Vec<u8>,
    /// Offset of the value in the text.
    value_offset: usize,
}

impl ValueSource {
    /// Returns the text of the file that sets a parameter, or `None` if it cannot be read.
    fn from_parameter(parameter: &str, view: &ConfigView<'_>, world: &dyn World) -> Option<Self> {
        let origin = view.raw(parameter)?.origin;
        let text = world.read_file(&origin.source.to_path_lossy(), Some(MAX_SOURCE_BYTES as u64)).ok()?;
        // For a statement of several lines the reference records the number of the last line.
        let lines = text.lines_with_terminator().take(origin.line? as usize);
        let (mut at, mut value_at) = (0, None);
        for line in lines {
            let start = line.len() - line.trim_start().len();
            if caseless::starts_with(&line[start..], parameter.as_bytes())
                && let Some(sign) = line.find_byte(b'=')
            {
                // After `@=tag` the value begins on the next line.
                value_at = Some(at + if line[..sign].ends_with(b"@") { line.len() } else { sign + 1 });
            }
            at += line.len();
        }
        Some(ValueSource { name: origin.source.to_string(), value_offset: value_at?, text })
    }

    /// Converts an offset in the value to an offset in the file. Reads the value and the file in parallel, skipping
    /// whitespace, line continuations and comments of the file. Returns `None` if macros make the value differ from the
    /// file.
    fn offset_in_file(&self, value: &[u8], at: usize) -> Option<usize> {
        let mut here = self.value_offset;
        let mut line_begins = true;
        for (number, &byte) in value.iter().enumerate() {
            if byte.is_ascii_whitespace() {
                continue;
            }
            loop {
                let found = *self.text.get(here)?;
                if found == byte && !(line_begins && found == b'#') {
                    break;
                }
                match found {
                    b'\n' => line_begins = true,
                    b'#' if line_begins => here += self.text[here..].find_byte(b'\n')?.saturating_sub(1),
                    b'\\' | b' ' | b'\t' | b'\r' => {}
                    _ => return None,
                }
                here += 1;
            }
            if number >= at {
                return Some(here);
            }
            line_begins = false;
            here += 1;
        }
        Some(self.text[..here].trim_end().len())
    }
}

/// Formats an error in a route, with its position in the file if it can be determined.
fn describe_error(error: &ParseError, text: &[u8], written: Option<&ValueSource>) -> String {
    let (start, end) = (error.span.start as usize, error.span.end as usize);
    let message = match error.help() {
        Some(help) => format!("{error} ({help})"),
        None => error.to_string(),
    };
    let place = written.and_then(|written| Some((written, written.offset_in_file(text, start)?)));
    match place {
        Some((written, from)) => {
            let span = Span::new(from, from + end.saturating_sub(start));
            let text = &written.text[..];
            Caret { source: &written.name, text, span }.render(&message)
        }
        None => Caret { source: "the value", text, span: Span::new(start, end) }.render(&message),
    }
}

/// Returns the lines of all comments in the text of an ad (`//` to the end of the line, and `/* ... */`).
fn extract_comments(text: &[u8]) -> Vec<BString> {
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

fn run_command(command: &[u8], world: &dyn World, allowed: bool) -> Result<Vec<u8>, String> {
    if !allowed {
        return Err("not run, because commands of the configuration are not allowed here".into());
    }
    let argv: Vec<BString> =
        arguments::parse_v1_raw_or_v2_quoted(command).map_err(|error| error.to_string())?;
    let command = ExternalCommand {
        argv,
        stdin: Vec::new(),
        merge_stderr: false,
        timeout: Duration::from_secs(60),
        output_limit: MAX_SOURCE_BYTES,
    };
    let output = world.run(&command).map_err(|error| error.to_string())?;
    if output.exit.is_success() { Ok(output.stdout) } else { Err(output.exit.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_in_a_value_is_found_in_its_file() {
        let text = b"A = 1\nE = \\\n # no\n  [ x = 1; \\\n  y ! 2; ]\n".to_vec();
        let written = ValueSource { name: "f".into(), value_offset: text.find("= \\").unwrap() + 1, text };
        let value = b"[ x = 1;   y ! 2; ]";
        let at = written.offset_in_file(value, value.find("!").unwrap()).unwrap();
        assert_eq!(&written.text[at..at + 3], b"! 2");
        assert_eq!(written.offset_in_file(b"[ z = 1; ]", 3), None);
    }

    #[test]
    fn comments_are_found_outside_strings() {
        let text =
            b"/* one\n * two */ [ a = \"// no \\\" /* no */\"; b = '//'; c = 4 / 2; // three\n ] // four";
        assert_eq!(extract_comments(text), ["one", "two", "three", "four"]);
        assert_eq!(extract_comments(b"[ a = 1 ] /* open"), ["open"]);
    }
}
