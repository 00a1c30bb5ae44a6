//! Parsing of hook output, and the treatment of output that was cut off.
//!
//! There are two parsers. *Token lines*: every non-blank line must be an attribute, otherwise the whole output is
//! invalid (FETCH_WORK and the hooks of the router). *Ad prefix*: the lines before the first line that is not an
//! attribute are used, and the hook still succeeds (prepare hooks; `initAdFromString`).

use bstr::{BString, ByteSlice};

use crate::HookType;
use htc_base::process::Exit;
use htc_base::quirks::{Quirk, QuirkDecision, QuirkMode};
use htc_base::text::Span;
use htc_base::text::space::is_space;
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Dialect, LineError, Value};

/// Line of hook output that is not an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadOutputLine {
    /// Line number, from 1.
    pub number: usize,
    /// Position of the line in the output, without surrounding blanks.
    pub span: Span,
    /// The line as the reference quotes it.
    pub line: BString,
    /// Syntax error in the line, with spans relative to the start of `line`; `None` if the line begins with a quote
    /// (`'`).
    pub error: Option<LineError>,
}

impl BadOutputLine {
    /// Returns the message that the startd and the router log.
    pub fn reference_message(&self) -> String {
        format!("Failed to insert \"{}\" into ClassAd, ignoring invalid hook output", self.line)
    }

    /// Returns the invalid bytes of the output, or the whole line if the position of the error is not known.
    pub fn error_span(&self) -> Span {
        match &self.error {
            Some(LineError::Value(error)) => {
                let start = self.span.start.saturating_add(error.span.start).min(self.span.end);
                let end = self.span.start.saturating_add(error.span.end).clamp(start, self.span.end);
                Span { start, end }
            }
            _ => self.span,
        }
    }
}

impl std::fmt::Display for BadOutputLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: ", self.number)?;
        match &self.error {
            None => write!(f, "a name cannot be quoted here")?,
            Some(error) => write!(f, "{error}")?,
        }
        let shown = &self.line[..self.line.len().min(80)];
        write!(f, ": {}{}", shown.as_bstr(), if shown.len() < self.line.len() { "..." } else { "" })
    }
}

/// Returns the part of an output before its first NUL byte. Callers do not see the rest (`Read_Std_Pipe` makes a C
/// string of the output).
pub fn visible_output(output: &[u8]) -> &[u8] {
    &output[..memchr::memchr(0, output).unwrap_or(output.len())]
}

/// Decides if output that was cut off at PIPE_BUFFER_MAX is used. 25.14 uses it, including its incomplete last line.
/// Returns `None` if the output is complete.
pub fn decide_cut_output(cut: bool, quirks: QuirkMode) -> Option<QuirkDecision> {
    cut.then(|| quirks.decide(Quirk::AnswerCutAccepted))
}

/// Returns the non-blank lines of a hook's output with their numbers, for the *token lines* parser. Removes blanks and
/// carriage returns at both ends of each line.
pub fn output_lines(output: &[u8]) -> impl Iterator<Item = (usize, Span)> + '_ {
    let text = visible_output(output);
    let mut at = 0;
    text.split(|&byte| byte == b'\n').enumerate().filter_map(move |(index, line)| {
        let start = at + line.iter().take_while(|byte| is_space(**byte)).count();
        let end = at + line.len() - line.iter().rev().take_while(|byte| is_space(**byte)).count();
        at += line.len() + 1;
        (start < end).then(|| (index + 1, Span::new(start, end)))
    })
}

/// Parses the output of FETCH_WORK and of router hooks: every line must be an attribute, and later lines
/// replace earlier ones.
///
/// # Errors
/// Returns the first line that is not an attribute. No other line of the output is used in this case.
pub fn parse_token_lines(output: &[u8], dialect: Dialect) -> Result<ClassAd, BadOutputLine> {
    let mut ad = ClassAd::new();
    let text = visible_output(output);
    for (number, span) in output_lines(output) {
        let line = span.slice(text);
        let bad = |error| BadOutputLine { number, span, line: line.into(), error };
        // "We don't support quoted attribute names in this old ClassAds method" (classad.cpp, Insert).
        if line.starts_with(b"'") {
            return Err(bad(None));
        }
        ad.insert_line_with(line, dialect).map_err(|error| bad(Some(error)))?;
    }
    Ok(ad)
}

/// Output parsed up to its first invalid line.
#[derive(Clone, Debug, Default)]
pub struct ParsedAdPrefix {
    /// Attributes before the first invalid line.
    pub ad: ClassAd,
    /// Line at which parsing stopped, or `None` if everything was parsed.
    pub unread: Option<BadOutputLine>,
}

/// Parses the output of a prepare hook.
pub fn parse_ad_prefix(output: &[u8], dialect: Dialect) -> ParsedAdPrefix {
    let mut prefix = ParsedAdPrefix::default();
    let text = visible_output(output);
    let mut at = 0;
    while at < text.len() {
        at += text[at..].iter().take_while(|byte| is_space(**byte)).count();
        let end = at + memchr::memchr(b'\n', &text[at..]).unwrap_or(text.len() - at);
        let line = &text[at..end];
        // The reference also fails to parse the empty rest after the last line, but this has no effect.
        if line.is_empty() {
            break;
        }
        if let Err(error) = prefix.ad.insert_line_with(line, dialect) {
            let number = memchr::memchr_iter(b'\n', &text[..at]).count() + 1;
            let (span, error) = (Span::new(at, end), Some(error));
            prefix.unread = Some(BadOutputLine { number, span, line: line.into(), error });
            break;
        }
        at = (end + 1).min(text.len());
    }
    prefix
}

/// Reader of the status of a prepare hook: starter and shadow interpret `HookStatusCode` differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrepareStatusReader {
    /// PREPARE_JOB and PREPARE_JOB_BEFORE_TRANSFER: any number that is not negative is used; reals are truncated
    /// (`HookPrepareJobClient::hookExited`).
    Starter,
    /// SHADOW_PREPARE_JOB: any integer is used, even if it is negative, and no other value (`ShadowHookMgr.cpp`).
    Shadow,
}

/// Status of a prepare hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrepareStatus {
    /// 0 for success; otherwise the exit status, the value of `HookStatusCode`, or minus the number of the signal that
    /// killed the hook.
    pub status: i64,
    /// True if the status comes from `HookStatusCode` rather than the exit.
    pub reported: bool,
    /// Description of the status: `exited with status 3`, `died with signal 9`, `reported status 005`.
    pub how: String,
    /// `HookStatusMessage`; empty if the output does not set it.
    pub message: BString,
}

impl PrepareStatus {
    /// Returns the text for the log and the job's events: `PREPARE_JOB (script) failed (exited with status 3): <no
    /// message>`.
    pub fn log_message(&self, hook: HookType, path: &[u8]) -> BString {
        let name = path.rsplitn_str(2, "/").next().unwrap_or(path);
        let outcome = if self.status == 0 { "succeeded" } else { "failed" };
        let mut text =
            BString::from(format!("{} ({}) {outcome} ({}): ", hook.name(), name.as_bstr(), self.how));
        let message: &[u8] = if self.message.is_empty() { b"<no message>" } else { &self.message };
        text.extend_from_slice(message);
        text
    }
}

/// Determines the status of a prepare hook from its exit and its output ([`parse_ad_prefix`]).
pub fn read_prepare_status(
    exit: Exit,
    update: &ClassAd,
    reader: PrepareStatusReader,
    world: &dyn World,
) -> PrepareStatus {
    let context = Context::new(world).my(update);
    let message = context.string("HookStatusMessage").unwrap_or_default();
    let code = match exit {
        Exit::Signal { number, .. } => {
            return PrepareStatus {
                status: -i64::from(number),
                reported: false,
                how: exit.to_string(),
                message,
            };
        }
        Exit::Code(code) => i64::from(code),
    };
    let value = context.eval_attr("HookStatusCode");
    // The reference truncates the value to 32 bits.
    let reported = match reader {
        PrepareStatusReader::Starter => value.as_int().map(|code| code as i32).filter(|&code| code >= 0),
        PrepareStatusReader::Shadow => match value {
            Value::Int(code) => Some(code as i32),
            _ => None,
        },
    };
    match reported {
        Some(status) => PrepareStatus {
            status: status.into(),
            reported: true,
            how: format!("reported status {status:03}"),
            message,
        },
        None => PrepareStatus { status: code, reported: false, how: exit.to_string(), message },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_line_invalidates_a_fetched_job() {
        let ad = parse_token_lines(b"\r\n  Cmd = \"x\" \r\n\n A = 1\na = 2\r\n\0junk", Dialect::new_syntax())
            .unwrap();
        assert_eq!(ad.len(), 2);
        assert_eq!(ad.get("A").unwrap().unparse(), "2");
        let bad = parse_token_lines(b"A = 1\n-----\nB = 2\n", Dialect::new_syntax()).unwrap_err();
        assert_eq!((bad.number, bad.span), (2, Span::new(6, 11)));
        assert_eq!(
            bad.reference_message(),
            "Failed to insert \"-----\" into ClassAd, ignoring invalid hook output"
        );
        assert!(parse_token_lines(b"'A' = 1", Dialect::new_syntax()).is_err());
        assert!(parse_token_lines(b" \n", Dialect::new_syntax()).unwrap().is_empty());
    }

    #[test]
    fn a_prepare_hook_is_read_to_its_first_bad_line() {
        let read = parse_ad_prefix(b"\n\n A = 1\nB = 2\n# comment\nC = 3\n", Dialect::new_syntax());
        assert_eq!(read.ad.len(), 2);
        let bad = read.unread.unwrap();
        assert_eq!((bad.number, bad.line.as_slice()), (5, b"# comment".as_slice()));
        let read = parse_ad_prefix(b"'A' = 1\n\n", Dialect::new_syntax());
        assert!(read.unread.is_none() && read.ad.contains("'A'"));
    }
}
