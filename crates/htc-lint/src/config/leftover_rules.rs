//! Text that is part of a value by mistake: comments, quotes, references in other languages, separators.

use std::ops::Range;

use bstr::{BStr, ByteSlice};
use htc_base::text::{Span, caseless, list, unqualified_name};
use htc_config::Advice;
use htc_config::finding::{Finding, Replacement};
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::MacroEntry;
use htc_config::macro_reference;
use htc_config::registry::{self, RegisteredParameter, ValueType};
use htc_config::value_check::check_value;

use super::environment_names::environment_reference;
use super::foreign_references::find_foreign_reference;
use super::lint_subject::LintSubject;
use super::parameter_names::{is_attribute_list, is_parameter};
use super::program_paths::{find_arguments, find_relative_item};
use super::type_rules::has_checked_type;
use super::written_pieces::{replace_if_certain, replace_value};

/// Checks one value. Returns true if the value contains text that prevents the other rules from checking it.
pub(super) fn check_leftovers(
    subject: &LintSubject<'_>,
    entry: &MacroEntry,
    parameter: Option<&RegisteredParameter>,
    findings: &mut Vec<Finding>,
) -> bool {
    let raw = &entry.current.raw;
    if raw.contains(&b'\n') || has_own_language(&entry.name, parameter) {
        return false;
    }
    let leftovers = [
        find_placeholder(raw).map(|span| {
            let message = "a placeholder of a template engine was not replaced";
            (
                LintRule::TemplateMark,
                span,
                message.to_owned(),
                "write the value in place of the placeholder, or run the template engine".into(),
            )
        }),
        find_comment(raw).map(|span| {
            let mut message =
                "# does not start a comment within a line: the text is part of the value".to_owned();
            let is_bad = |parameter: &RegisteredParameter| {
                has_checked_type(parameter) && !check_value(parameter, raw, subject.world).is_empty()
            };
            if parameter.is_some_and(is_bad) {
                message.push_str(", which HTCondor rejects");
            }
            let fix = "put the comment on its own line";
            (LintRule::CommentInValue, span, message, fix.into())
        }),
        find_job_reference(&entry.name, raw, parameter)
            .map(|(span, reference)| (span, advise_reference(subject, entry, reference)))
            .or_else(|| {
                find_braced_function(raw).map(|(span, reference)| (span, Advice::Write(reference.into())))
            })
            .or_else(|| find_foreign_reference(raw, parameter))
            .or_else(|| {
                let (span, reference) = find_shell_variable(subject, raw, parameter)?;
                Some((span, advise_reference(subject, entry, reference)))
            })
            .map(|(span, advice)| {
                let shown = BStr::new(&raw[span.clone()]);
                let message = format!("'{shown}' is not a reference: it remains in the value unchanged");
                (LintRule::ShellVariable, span, message, advice)
            }),
        find_bracketed_list(raw, parameter).map(|(span, inner)| {
            let message = "the brackets are part of the first and the last item".to_owned();
            (LintRule::QuotedValue, span, message, Advice::Write(inner.into()))
        }),
        find_quotes(raw, parameter).or_else(|| find_quoted_item(entry, parameter)).map(|span| {
            let inner = raw[span.clone()].trim_with(|c| c == '"' || c == '\'' || c.is_whitespace());
            let message = "the quotes are part of the value".to_owned();
            (LintRule::QuotedValue, span, message, Advice::Write(inner.into()))
        }),
        find_trailing_mark(raw, parameter).map(|span| {
            let mark = BStr::new(&raw[span.clone()]);
            let message = format!("the '{mark}' at the end is part of the value");
            (LintRule::TrailingText, span, message, "remove it".into())
        }),
        find_semicolon(raw, parameter).map(|span| {
            let message = "';' does not separate items: it is part of the item before it";
            (LintRule::TrailingText, span, message.to_owned(), Advice::Write(",".into()))
        }),
        find_leading_plus(&entry.name, raw, parameter).map(|span| {
            let message = "the value begins with '+', which is not an operator here".to_owned();
            let fix = format!("write {} += {}", entry.name, raw[span.end..].trim().as_bstr());
            (LintRule::TrailingText, span, message, fix.into())
        }),
        find_backslash(raw).map(|span| {
            let message = "text follows the backslash, so it does not continue the line";
            (LintRule::TrailingText, span, message.to_owned(), "remove the text after it".into())
        }),
        find_arguments(&entry.name, raw).map(|(span, fix)| {
            let shown = raw[span.clone()].as_bstr();
            let message = format!("the arguments '{shown}' are part of the program's path");
            (LintRule::TrailingText, span, message, fix.into())
        }),
        find_relative_path(&entry.name, raw, parameter).or_else(|| find_relative_item(raw, parameter)).map(
            |span| {
                let path = BStr::new(&raw[span.clone()]);
                let message = format!("the path {path} is relative to the working directory of each daemon");
                (LintRule::RelativePath, span, message, "write an absolute path".into())
            },
        ),
    ];
    let mut is_unusable = false;
    for (rule, span, message, fix) in leftovers.into_iter().flatten() {
        let message = format!("{}: {message}", entry.name);
        is_unusable |= !matches!(rule, LintRule::RelativePath | LintRule::ShellVariable);
        let place = Some((span.start, span.end));
        let has_more = !raw[span.end..].trim().is_empty();
        let part = &raw[span];
        let finding = subject.make_finding(rule, &entry.current, place, message, fix);
        findings.push(match rule {
            LintRule::TrailingText if part == b";" && has_more => finding.replaced_by(","),
            LintRule::TrailingText if part == b"+" => finding,
            LintRule::TrailingText if !part.starts_with(b"-") && !part.starts_with(b"$") => {
                replace_value(finding, part, "")
            }
            LintRule::CommentInValue => move_comment(finding, part),
            _ => replace_if_certain(finding, part),
        });
        if is_unusable {
            break;
        }
    }
    is_unusable
}

/// Adds the correction of a comment in a value: it becomes a line before the statement.
fn move_comment(finding: Finding, comment: &[u8]) -> Finding {
    let finding = replace_value(finding, comment, "");
    let Some((spot, replacement)) = finding.spot.as_ref().zip(finding.replacement.as_ref()) else {
        return finding;
    };
    let before = spot.text.get(..replacement.span.start as usize).unwrap_or_default().trim_end();
    let indent = before.len() - before.trim_start().len();
    // A comment cannot be inserted before a continuation line.
    if !caseless::starts_with(&before[indent..], &finding.name) {
        return Finding { replacement: None, ..finding };
    }
    let text = [&before[..indent], comment, b"\n", before].concat();
    let span = Span::new(0, replacement.span.end as usize);
    Finding { replacement: Some(Replacement { span, text: text.into() }), ..finding }
}

/// True for values in another language, in which these characters have a meaning.
fn has_own_language(name: &[u8], parameter: Option<&RegisteredParameter>) -> bool {
    let name = unqualified_name(name);
    let is_foreign = |ending: &str| caseless::ends_with(name, ending.as_bytes());
    let of_type = matches!(
        parameter.map(|parameter| parameter.value_type),
        Some(ValueType::Route | ValueType::Transform)
    );
    of_type
        || ["_REGEX", "_REGEXP", "_CMD", "_COMMAND", "_ENTRIES", "_DEFAULTS", "_OVERRIDE"]
            .iter()
            .any(|end| is_foreign(end))
        || ["ENVIRONMENT_FOR_", "JOB_ROUTER_ENTRIES", "SUBMIT_TEMPLATE_", "EXTENDED_SUBMIT"]
            .iter()
            .any(|start| caseless::starts_with(name, start.as_bytes()))
}

/// True if the byte at `at` is between double quotes.
fn is_quoted(raw: &[u8], at: usize) -> bool {
    raw[..at].iter().filter(|byte| **byte == b'"').count() % 2 == 1
}

/// Finds `# text` after a blank, outside of quotes.
fn find_comment(raw: &[u8]) -> Option<Range<usize>> {
    let starts = memchr::memchr_iter(b'#', raw).find(|&at| {
        let before = at.checked_sub(1).map(|before| raw[before]);
        let after = raw.get(at + 1).copied().unwrap_or(b' ');
        before.is_some_and(|byte| byte == b' ' || byte == b'\t')
            && (after == b' ' || after == b'#' || after.is_ascii_alphabetic())
            && !is_quoted(raw, at)
    });
    starts.map(|at| at..raw.len())
}

/// True for an expression of a template engine with blanks around it, such as `", ".join(names)`.
fn is_template_expression(inner: &[u8]) -> bool {
    let letters = inner.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    inner.starts_with(b" ") && inner.ends_with(b" ") && letters > 2 && inner.find_byteset(b".|(").is_some()
}

/// Finds `{{ name }}`, `<% name %>` and a value `@name@`.
fn find_placeholder(raw: &[u8]) -> Option<Range<usize>> {
    let is_name = |text: &[u8]| {
        let text = text.trim();
        text.first().is_some_and(|byte| byte.is_ascii_alphabetic() || b"_@".contains(byte))
            && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_.-|:'()[]@ ".contains(byte))
    };
    let component = raw.split(|&byte| byte == b'/').find(|part| {
        part.len() > 4 && part.starts_with(b"%") && part.ends_with(b"%") && is_name(&part[1..part.len() - 1])
    });
    if let Some(start) = component.and_then(|part| Some((raw.find(part)?, part.len()))) {
        return Some(start.0..start.0 + start.1);
    }
    for (open, close) in [(&b"{{"[..], &b"}}"[..]), (b"<%=", b"%>"), (b"<%", b"%>")] {
        let Some(start) = raw.find(open) else { continue };
        let body = start + open.len();
        let Some(length) = raw[body..].find(close) else { continue };
        let inner = &raw[body..body + length];
        if is_name(inner) || open == b"{{" && is_template_expression(inner) {
            return Some(start..body + length + close.len());
        }
    }
    // An item of a list: MASTER, @DAEMONS@.
    let is_placeholder = |item: &[u8]| {
        let inner = item.strip_prefix(b"@").and_then(|rest| rest.strip_suffix(b"@")).unwrap_or_default();
        inner.len() > 1 && inner.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    let mut items = raw.split(|byte| b", \t".contains(byte)).filter(|item| !item.is_empty());
    if let Some(item) = items.find(|item| is_placeholder(item) && *item != raw) {
        return raw.find(item).map(|start| start..start + item.len());
    }
    // The placeholder has one `@` or two on each side.
    let inner = raw.strip_prefix(b"@")?;
    if let Some(inner) = inner.strip_prefix(b"@") {
        let name = inner.strip_suffix(b"@@")?;
        return (name.len() > 1 && is_name(name)).then_some(0..raw.len());
    }
    let end = inner.find_byte(b'@')?;
    let is_complete = end > 1
        && inner[..end].iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        && inner.get(end + 1).is_none_or(|next| !next.is_ascii_alphanumeric());
    is_complete.then_some(0..end + 2)
}

/// Finds `$ENV{HOME}`; returns its place and the reference that was probably intended.
fn find_braced_function(raw: &[u8]) -> Option<(Range<usize>, String)> {
    // Without a last brace, no reference ends; looking for one after each dollar would take quadratic time.
    let last_brace = raw.rfind_byte(b'}')?;
    memchr::memchr_iter(b'$', &raw[..last_brace]).find_map(|dollar| {
        let length = raw[dollar + 1..]
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
            .count();
        let open = dollar + 1 + length;
        let word = &raw[dollar + 1..open];
        if raw[open] != b'{' || word.is_empty() || macro_reference::find_function(word).is_none() {
            return None;
        }
        let close = open + raw[open..].find_byte(b'}')?;
        let body = &raw[open + 1..close];
        let reference = || format!("${}({})", BStr::new(word), BStr::new(body));
        (!body.is_empty()).then(|| (dollar..close + 1, reference()))
    })
}

/// Finds `$$(NAME)`, which is replaced only in job ads; returns its place and the reference to the macro with this
/// name.
fn find_job_reference(
    name: &[u8],
    raw: &[u8],
    parameter: Option<&RegisteredParameter>,
) -> Option<(Range<usize>, String)> {
    let bare = unqualified_name(name);
    let is_of_jobs = ["SUBMIT_", "JOB_", "APPEND_", "DAGMAN_"]
        .iter()
        .any(|start| caseless::starts_with(bare, start.as_bytes()));
    if is_of_jobs || parameter?.value_type.is_expression() {
        return None;
    }
    let start = raw.find(b"$$(")?;
    let body = start + b"$$(".len();
    let end = body + raw[body..].find_byte(b')')?;
    let reference = format!("$({})", BStr::new(&raw[body..end]));
    let is_name = raw[body..end].iter().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(byte));
    is_name.then_some((start..end + 1, reference))
}

/// Returns the correction of `$NAME`. If no macro has this name, an environment variable or a variable of a template
/// may be intended.
fn advise_reference(subject: &LintSubject<'_>, entry: &MacroEntry, reference: String) -> Advice {
    let name = reference.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
    let is_known = |name: &str| {
        let name = name.as_bytes();
        // `A = $(A)` is the earlier value.
        if caseless::eq(name, &entry.name) {
            let default = registry::default_value(name);
            return !entry.replaced.is_empty() || default.is_some_and(|default| !default.is_empty());
        }
        subject.view.raw_bytes(name).is_some() || subject.is_set_with_any_prefix(name) || is_parameter(name)
    };
    match name.filter(|name| !is_known(name)) {
        Some(name) => format!(
            "write $ENV({name}) for a variable of the environment, or define {name} and write $({name})"
        )
        .into(),
        // The variable may be missing in the environment of the daemon.
        None if name.is_none() && reference.starts_with("$ENV(") => {
            format!("write {reference} if the environment of the daemon has the variable").into()
        }
        None => Advice::Write(reference.into()),
    }
}

/// Finds `$NAME` and `${NAME}`; returns the place and the reference that was probably intended.
fn find_shell_variable(
    subject: &LintSubject<'_>,
    raw: &[u8],
    parameter: Option<&RegisteredParameter>,
) -> Option<(Range<usize>, String)> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_expression = parameter.is_some_and(|parameter| parameter.value_type.is_expression());
    memchr::memchr_iter(b'$', raw).find_map(|dollar| {
        let has_brace = raw.get(dollar + 1) == Some(&b'{');
        let start = dollar + 1 + usize::from(has_brace);
        let length = raw[start.min(raw.len())..].iter().take_while(|byte| is_part(byte)).count();
        let name = raw.get(start..start + length)?;
        let next = raw.get(start + length);
        let is_other = dollar > 0 && matches!(raw[dollar - 1], b'$' | b'\\')
            || next == Some(&b'(')
            || has_brace && next != Some(&b'}')
            || name.len() < 2
            || name[0].is_ascii_digit()
            || is_expression && is_quoted(raw, dollar) && subject.view.raw_bytes(name).is_none();
        let mut end = start + length + usize::from(has_brace);
        let mut reference = format!("$({})", BStr::new(name));
        if name == b"ENV" && next == Some(&b'[') {
            let close = raw[end..].find_byte(b']')?;
            reference = format!("$ENV({})", BStr::new(&raw[end + 1..end + close]));
            end += close + 1;
        } else if subject.view.raw_bytes(name).is_none()
            && let Some(variable) = environment_reference(name)
        {
            reference = variable;
        }
        (!is_other).then_some((dollar..end, reference))
    })
}

/// Finds quotes around a path, a host or a name, which HTCondor treats as part of the value.
fn find_quotes(raw: &[u8], parameter: Option<&RegisteredParameter>) -> Option<Range<usize>> {
    let parameter = parameter?;
    let text = raw.trim();
    let quote = *text.first().filter(|byte| matches!(byte, b'"' | b'\''))?;
    let is_path = parameter.value_type == ValueType::Path && !parameter.name.contains("_HOOK_");
    let is_plain = is_path
        || parameter.value_type == ValueType::Hosts
        || matches!(parameter.value_type, ValueType::Name | ValueType::Interfaces | ValueType::Permissions)
        || parameter.value_type == ValueType::List && !parameter.name.contains("ATTRS")
        || parameter.name == "DOCKER_VOLUME_DIR_*";
    let is_whole = text.len() > 1 && text.last() == Some(&quote);
    // A quote that is not closed is part of a path, too.
    let is_word = is_path || matches!(parameter.value_type, ValueType::Name | ValueType::Interfaces);
    let is_open = is_word && !text[1..].contains(&quote) && !text[1..].contains(&b' ');
    (is_plain && (is_whole || is_open)).then_some(0..raw.len())
}

/// Finds a list in the form of other languages, `["a", "b"]`; returns its place and its items.
fn find_bracketed_list(
    raw: &[u8],
    parameter: Option<&RegisteredParameter>,
) -> Option<(Range<usize>, Vec<u8>)> {
    let is_list = parameter?.value_type == ValueType::List;
    const PAIRS: [(&[u8], &[u8]); 3] = [(b"[", b"]"), (b"(", b")"), (b"{", b"}")];
    let between = |(open, close): &(&[u8], &[u8])| raw.trim().strip_prefix(*open)?.strip_suffix(*close);
    let inner = PAIRS.iter().find_map(between).filter(|_| is_list)?;
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_., \t\"'".contains(byte);
    let items: Vec<u8> = inner.iter().copied().filter(|byte| !b"\"'".contains(byte)).collect();
    (!items.trim().is_empty() && inner.iter().all(is_plain)).then(|| (0..raw.len(), items.trim().to_vec()))
}

/// Finds an item of a list that is in quotes. Another rule checks lists of attributes whose values are parameters.
fn find_quoted_item(entry: &MacroEntry, parameter: Option<&RegisteredParameter>) -> Option<Range<usize>> {
    let raw = &entry.current.raw;
    if parameter?.value_type != ValueType::List || is_attribute_list(&entry.name) {
        return None;
    }
    let is_quoted = |item: &&[u8]| match item {
        [first @ (b'"' | b'\''), inner @ .., last] if first == last => {
            !inner.is_empty() && inner.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(byte))
        }
        _ => false,
    };
    let item = list::split(raw).find(is_quoted)?;
    raw.find(item).map(|start| start..start + item.len())
}

/// Finds a comma or semicolon after a value that is not a list.
fn find_trailing_mark(raw: &[u8], parameter: Option<&RegisteredParameter>) -> Option<Range<usize>> {
    let parameter = parameter?;
    let is_single = parameter.value_type == ValueType::Path
        || ["CONDOR_HOST", "UID_DOMAIN", "FILESYSTEM_DOMAIN", "TRUST_DOMAIN", "DEFAULT_DOMAIN_NAME"]
            .contains(&parameter.name);
    let end = raw.trim_end().len();
    let last = raw.get(end.checked_sub(1)?)?;
    (is_single && matches!(last, b',' | b';')).then(|| end - 1..end)
}

/// Finds the plus of `NAME =+ item`, which becomes part of the list.
fn find_leading_plus(
    name: &[u8],
    raw: &[u8],
    parameter: Option<&RegisteredParameter>,
) -> Option<Range<usize>> {
    let is_list =
        matches!(parameter?.value_type, ValueType::Hosts | ValueType::Permissions | ValueType::List);
    // This list adds its items to a default if it begins with a plus.
    let is_other = caseless::eq(unqualified_name(name), b"DC_DAEMON_LIST");
    let has_blank = raw.get(1).is_some_and(|next| b" \t".contains(next));
    (is_list && !is_other && raw.starts_with(b"+") && has_blank).then_some(0..1)
}

/// Finds a semicolon between the items of a list.
fn find_semicolon(raw: &[u8], parameter: Option<&RegisteredParameter>) -> Option<Range<usize>> {
    let is_list = matches!(
        parameter?.value_type,
        ValueType::Hosts | ValueType::Permissions | ValueType::List | ValueType::Interfaces
    );
    // The address of a daemon, `<10.0.0.1:9618?...>`, may contain semicolons.
    let is_host_list = parameter.is_some_and(|found| {
        let is_of_hosts = matches!(found.value_type, ValueType::Hosts | ValueType::Permissions);
        found.name.starts_with("FLOCK_") || is_of_hosts && !raw.contains(&b'<')
    });
    let at = memchr::memchr_iter(b';', raw).find(|&at| {
        let is_between = raw.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
        if is_host_list && is_between && !is_quoted(raw, at) {
            return true;
        }
        at > 0
            && !is_quoted(raw, at)
            && !raw[at - 1].is_ascii_whitespace()
            && raw.get(at + 1).is_some_and(u8::is_ascii_whitespace)
    })?;
    is_list.then_some(at..at + 1)
}

/// Finds a backslash with only blanks, or a comment, after it.
fn find_backslash(raw: &[u8]) -> Option<Range<usize>> {
    let text = raw.trim_end();
    let at = text.rfind_byte(b'\\')?;
    let is_last = at + 1 == text.len();
    let is_windows = text.get(1) == Some(&b':');
    (is_last && at > 0 && matches!(text[at - 1], b' ' | b'\t' | b',' | b'|' | b'&') && !is_windows)
        .then_some(at..raw.len())
}

/// Finds a relative path in a parameter whose value daemons use unchanged.
fn find_relative_path(
    name: &[u8],
    raw: &[u8],
    parameter: Option<&RegisteredParameter>,
) -> Option<Range<usize>> {
    const DIRECTORIES: [&str; 17] = [
        "EXECUTE",
        "SPOOL",
        "LOG",
        "LOCK",
        "RUN",
        "LOCAL_DIR",
        "RELEASE_DIR",
        "BIN",
        "SBIN",
        "LIBEXEC",
        "LIB",
        "ETC",
        "HISTORY",
        "STARTD_HISTORY",
        "SEC_PASSWORD_DIRECTORY",
        "CERTIFICATE_MAPFILE",
        "*_CRON_*_EXECUTABLE",
    ];
    // The program that prints the names of a resource (`init_machine_resources`, ResAttributes.cpp).
    if caseless::starts_with(unqualified_name(name), b"MACHINE_RESOURCE_INVENTORY_") {
        let is_relative = raw.first().is_some_and(|first| first.is_ascii_alphanumeric() || *first == b'.');
        return (is_relative && raw.get(1) != Some(&b':')).then_some(0..raw.len());
    }
    let parameter = parameter?;
    let text = raw.trim();
    let first = *text.first()?;
    // Daemons do not expand `~`.
    let is_relative = first.is_ascii_alphanumeric() || first == b'.' || first == b'~';
    let is_windows = text.get(1) == Some(&b':');
    // Another rule checks the paths of hooks.
    let is_hook = parameter.name.contains("_HOOK_");
    let has_tilde = parameter.value_type == ValueType::Path && text.starts_with(b"~") && !is_hook;
    let is_checked = DIRECTORIES.contains(&parameter.name) || has_tilde;
    (is_checked && is_relative && !is_windows).then_some(0..raw.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_begins_with_a_blank_before_it_and_is_not_quoted() {
        let found = |raw: &str| find_comment(raw.as_bytes()).map(|span| raw[span].to_owned());
        assert_eq!(found("/scratch # fast disk").as_deref(), Some("# fast disk"));
        assert_eq!(found("A, B #no schedd").as_deref(), Some("#no schedd"));
        for good in ["http://x/#part", "\"a # b\"", "#", "a#b", "x #1"] {
            assert_eq!(found(good), None, "{good}");
        }
    }

    #[test]
    fn functions_with_braces_are_found() {
        let found = |raw: &str| {
            find_braced_function(raw.as_bytes()).map(|(span, meant)| (raw[span].to_owned(), meant))
        };
        let home = Some(("$ENV{HOME}".to_owned(), "$ENV(HOME)".to_owned()));
        assert_eq!(found("$ENV{HOME}/condor"), home);
        assert_eq!(found("$$ $x ${HOME} $ENV{HOME}"), home);
        for good in ["${HOME}", "$ENV(HOME)", "$ENV{", "$ENV{}", "$(A) {b}", "$"] {
            assert_eq!(found(good), None, "{good}");
        }
        // Many dollars do not take quadratic time.
        assert_eq!(found(&("$ENV{".repeat(200_000) + "}")).map(|(text, _)| text.len()), Some(1_000_001));
        assert_eq!(found(&"$ENV{".repeat(200_000)), None);
    }

    #[test]
    fn placeholders_contain_names() {
        let found = |raw: &str| find_placeholder(raw.as_bytes()).map(|span| raw[span].to_owned());
        assert_eq!(found("{{ condor_host }}").as_deref(), Some("{{ condor_host }}"));
        assert_eq!(found("x <%= @a %> y").as_deref(), Some("<%= @a %>"));
        assert_eq!(found("x <%= host %> y").as_deref(), Some("<%= host %>"));
        assert_eq!(found("@HOST@").as_deref(), Some("@HOST@"));
        assert_eq!(found("@@SCRATCH@@").as_deref(), Some("@@SCRATCH@@"));
        for good in ["member(x, {{1,2}})", "*@example.org", "@nis@", "{{\"a\"}}"] {
            assert!(good == "@nis@" || found(good).is_none(), "{good}");
        }
    }

    #[test]
    fn a_backslash_after_a_blank_is_not_a_continuation() {
        let found = |raw: &str| find_backslash(raw.as_bytes()).is_some();
        assert!(found("A && \\") && found("A, B, \\"));
        assert!(!found("C:\\condor\\") && !found("a\\b") && !found("\\\\host\\share"));
    }
}
