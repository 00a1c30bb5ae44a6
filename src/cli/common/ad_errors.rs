//! Reports what is wrong with the ads of an input: the first errors one by one, of the rest the number. Refuses inputs
//! that are not ads.

use super::{Problem, ProgramContext, malformed_ad_problem};
use crate::classad::stream::{AdError, AdRecord};
use crate::text::plural::counted;

/// Number of errors of one input that are reported one by one.
const MAX_ERROR_MESSAGES: u64 = 20;

/// Reporter of the errors of one input.
pub(crate) struct AdErrorReporter {
    name: String,
    session: ProgramContext,
    /// Number of errors so far, without warnings.
    count: u64,
    warning_count: u64,
    /// True after the first ad with attributes.
    has_ads: bool,
}

impl AdErrorReporter {
    /// Creates a reporter for an input with a name.
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

    /// Reports errors of several ads, and adds the number of further ones.
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

    /// Reports how many errors were not reported one by one; returns the number of all errors.
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

/// Reports one error in an ad, or warns of it.
pub(crate) fn report_ad_error(error: &AdError, name: &str, session: &ProgramContext) {
    if error.is_warning {
        session.warn(&render_ad_warning(error, name));
    } else {
        session.record_unreadable_ad();
        session.report(&malformed_ad_problem(error, name).into());
    }
}

/// Returns the text of a warning about an ad, with its place and advice.
pub(crate) fn render_ad_warning(error: &AdError, name: &str) -> String {
    let hint = error.help.map(|help| format!("\nhint: {help}")).unwrap_or_default();
    format!("{}{hint}", error.caret(name).render(&error.message))
}

/// Returns the error for an input that is not a file of ads, judged by the errors of one of its ads; otherwise returns
/// `None`.
pub(crate) fn wrong_kind_of_record(name: &str, record: &AdRecord, is_first: bool) -> Option<Problem> {
    let errors = record.errors.iter().filter(|error| !error.is_warning);
    let lines: Vec<&[u8]> = errors.map(|error| error.text.as_slice()).collect();
    let count = lines.len() as u64 + record.more_errors;
    wrong_kind_problem(name, &lines, is_first.then_some((count, record.ad.len())))
}

/// Returns the error for an input that is not a file of ads, judged by lines that cannot be read; otherwise returns `None`.
/// `first_ad` is the number of such lines and of attributes if the lines are those of the first ad; later ads do not decide,
/// because a damaged line must not cost the ads after it.
///
/// A text of another kind must not be used as an ad that has the few lines of it that look like attributes.
pub(crate) fn wrong_kind_problem(
    name: &str,
    lines: &[&[u8]],
    first_ad: Option<(u64, usize)>,
) -> Option<Problem> {
    let (errors, attributes) = first_ad?;
    let kinds: Vec<OtherKind> = lines.iter().filter_map(|line| OtherKind::of_line(line)).collect();
    let is_macro = |kind: &OtherKind| *kind == OtherKind::Macro;
    // A job's ad may have one line that was meant for a configuration.
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

/// Maximum number of attributes of a text in which a single line with a macro shows that it is a configuration.
const MAX_FEW_ATTRIBUTES: usize = 20;

/// Kind of text that a line which is not an attribute belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OtherKind {
    /// A configuration's `NAME = $(OTHER)`.
    Macro,
    /// Another statement of a configuration.
    Statement,
    /// A header `[table]` or `[[list]]` of TOML.
    TomlTable,
    /// The statement `queue` of a submit description.
    Submit,
}

impl OtherKind {
    /// Returns the kind of text that has such a line, or `None` if that is unclear.
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
    fn lines_of_other_kinds_of_text_are_recognised() {
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
