//! Reports of errors in the ads of an input. The first errors are reported one by one; of the others, only the number
//! is reported. Inputs that are not ads are refused.

use super::{Problem, ProgramContext, malformed_ad_problem};
use crate::classad::stream::{AdError, AdRecord};
use crate::text::plural::counted;

/// Maximum number of errors of one input that are reported one by one.
pub(crate) const MAX_ERROR_MESSAGES: u64 = 20;

/// Reporter of the errors of one input.
pub(crate) struct AdErrorReporter {
    name: String,
    session: ProgramContext,
    /// Number of errors so far; warnings are not counted.
    count: u64,
    warning_count: u64,
    /// True once an ad with attributes was read.
    has_ads: bool,
}

impl AdErrorReporter {
    /// Creates a reporter for the input with this name.
    pub(crate) fn new(name: String, session: &ProgramContext) -> Self {
        AdErrorReporter { name, session: session.clone(), count: 0, warning_count: 0, has_ads: false }
    }

    /// Returns the name of the input.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Reports the errors of an ad.
    ///
    /// # Errors
    /// Returns an error if the input is probably not a file of ads.
    pub(crate) fn report(&mut self, record: &AdRecord) -> Result<(), Problem> {
        self.report_all(&record.errors, record.more_errors);
        let problem = wrong_kind_of_record(&self.name, record, !self.has_ads);
        self.has_ads |= !record.ad.is_empty();
        problem.map_or(Ok(()), Err)
    }

    /// Reports the errors of several ads; `more_errors` is the number of errors that are not in `errors`.
    pub(crate) fn report_all(&mut self, errors: &[AdError], more_errors: u64) {
        errors.iter().for_each(|error| self.report_error(error));
        self.count += more_errors;
        if self.count > 0 {
            self.session.record_unreadable_ad();
        }
    }

    fn report_error(&mut self, error: &AdError) {
        let count = if error.is_warning { &mut self.warning_count } else { &mut self.count };
        *count += 1;
        if *count <= MAX_ERROR_MESSAGES {
            report_ad_error(error, &self.name, &self.session);
        }
    }

    /// Reports the total number of errors if some were not reported one by one, and returns it.
    pub(crate) fn end(&mut self) -> u64 {
        if self.count > MAX_ERROR_MESSAGES {
            self.session.warn(&format!("{}: {} in total", self.name, counted(self.count, "error")));
        }
        if self.warning_count > MAX_ERROR_MESSAGES {
            self.session.warn(&format!("{}: {} in total", self.name, counted(self.warning_count, "warning")));
        }
        std::mem::take(&mut self.count)
    }
}

/// Reports an error in an ad, or warns about it if it is only a warning.
pub(crate) fn report_ad_error(error: &AdError, name: &str, session: &ProgramContext) {
    if error.is_warning {
        session.warn(&render_ad_warning(error, name));
    } else {
        session.record_unreadable_ad();
        session.report(&malformed_ad_problem(error, name).into());
    }
}

/// Warns if two ads were concatenated without an empty line between them.
pub(crate) fn warn_of_joined_ads(text: &[u8], name: &str, session: &ProgramContext) {
    let mut reader = session.ad_reader(text);
    while let Ok(Some(record)) = reader.next_record() {
        let warnings = record.errors.iter().filter(|error| error.is_warning);
        warnings.for_each(|warning| report_ad_error(warning, name, session));
    }
}

/// Returns the text of a warning about an ad, with its location and a hint.
pub(crate) fn render_ad_warning(error: &AdError, name: &str) -> String {
    let hint = error.help.map(|help| format!("\nhint: {help}")).unwrap_or_default();
    format!("{}{hint}", error.caret(name).render(&error.message))
}

/// Returns the error for an input that is not a file of ads, judged by the errors of one of its ads, or `None` if the
/// input may be a file of ads.
pub(crate) fn wrong_kind_of_record(name: &str, record: &AdRecord, is_first: bool) -> Option<Problem> {
    let errors = record.errors.iter().filter(|error| !error.is_warning);
    let lines: Vec<&[u8]> = errors.map(|error| error.text.as_slice()).collect();
    let count = lines.len() as u64 + record.more_errors;
    wrong_kind_problem(name, &lines, is_first.then_some((count, record.ad.len())))
}

/// Returns the error for an input that is not a file of ads, judged by its lines that are not attributes, or `None` if it may be
/// a file of ads. `first_ad` has the numbers of such lines and of attributes in the first ad; it is `None` for later ads, which
/// are not judged, so that one damaged line does not prevent reading the ads after it.
///
/// Without this check, the few lines of another kind of file that look like attributes would be used as an ad.
pub(crate) fn wrong_kind_problem(
    name: &str,
    lines: &[&[u8]],
    first_ad: Option<(u64, usize)>,
) -> Option<Problem> {
    let (errors, attributes) = first_ad?;
    let kinds: Vec<OtherKind> = lines.iter().filter_map(|line| OtherKind::of_line(line)).collect();
    let is_macro = |kind: &OtherKind| *kind == OtherKind::Macro;
    // A job ad may contain one line that was meant for a configuration.
    let macros = kinds.iter().filter(|kind| is_macro(kind)).count();
    let has_macros = macros > 1 || (macros == 1 && errors == 1 && attributes <= MAX_FEW_ATTRIBUTES);
    let other = kinds.iter().find(|kind| !is_macro(kind)).copied();
    let hint = match other.or(has_macros.then_some(OtherKind::Macro)) {
        Some(OtherKind::Macro | OtherKind::Statement) => {
            format!("it looks like a configuration: use --config-file {name}")
        }
        Some(OtherKind::Submit) => {
            "it looks like a submit description: condor_submit -dry-run job.ads makes a file of ads from it"
                .to_owned()
        }
        Some(OtherKind::TomlTable) => "it looks like TOML: a scenario or a suite of hook tests".to_owned(),
        None if attributes > 0 && errors > attributes as u64 => {
            "most lines of its first ad are not attributes; an ad has lines 'Name = value'".to_owned()
        }
        None => return None,
    };
    Some(Problem::unreadable(format!("'{name}' is not a file of ads")).hint(hint))
}

/// Maximum number of attributes in a text that is treated as a configuration because of a single line with a macro.
const MAX_FEW_ATTRIBUTES: usize = 20;

/// Kind of text to which a line that is not an attribute belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OtherKind {
    /// Line `NAME = $(OTHER)` of a configuration.
    Macro,
    /// Another statement of a configuration, such as `use`.
    Statement,
    /// A header `[table]` or `[[list]]` of TOML.
    TomlTable,
    /// The statement `queue` of a submit description.
    Submit,
}

impl OtherKind {
    /// Returns the kind of text to which the line belongs, or `None` if this is not clear.
    fn of_line(line: &[u8]) -> Option<OtherKind> {
        let line = line.trim_ascii();
        let word = line.split(|byte| !byte.is_ascii_alphanumeric()).next().unwrap_or_default();
        let rest = line[word.len()..].trim_ascii_start();
        let is = |words: &[&str]| words.iter().any(|it| word.eq_ignore_ascii_case(it.as_bytes()));
        let is_table = |open: &[u8], close: &[u8]| {
            line.strip_prefix(open).and_then(|line| line.strip_suffix(close)).is_some_and(|name| {
                !name.is_empty()
                    && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
            })
        };
        if is_table(b"[[", b"]]") || is_table(b"[", b"]") {
            Some(OtherKind::TomlTable)
        } else if is(&["queue"]) && !rest.starts_with(b"=") {
            Some(OtherKind::Submit)
        } else if (is(&["use", "include"]) && rest.contains(&b':'))
            || (is(&["if", "elif"]) && !rest.starts_with(b"="))
            || (is(&["else", "endif"]) && rest.is_empty())
            || line.windows(2).any(|pair| pair == b"@=")
        {
            Some(OtherKind::Statement)
        } else if line.contains(&b'=') && line.windows(2).any(|pair| pair == b"$(") {
            Some(OtherKind::Macro)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_other_kinds_of_text_are_recognized() {
        for (line, kind) in [
            ("LOG = $(LOCAL_DIR)/log", Some(OtherKind::Macro)),
            ("use ROLE : Execute", Some(OtherKind::Statement)),
            ("JOB_ROUTER_ROUTE_a @=end", Some(OtherKind::Statement)),
            ("if defined X", Some(OtherKind::Statement)),
            ("endif", Some(OtherKind::Statement)),
            ("[[jobs]]", Some(OtherKind::TomlTable)),
            ("[machine]", Some(OtherKind::TomlTable)),
            ("Queue", Some(OtherKind::Submit)),
            ("queue 5 name from list", Some(OtherKind::Submit)),
            ("queue = (", None),
            ("Foo = (", None),
            ("garbage", None),
            ("if = (", None),
            ("[ A = 1; ]", None),
        ] {
            assert_eq!(OtherKind::of_line(line.as_bytes()), kind, "{line}");
        }
    }
}
