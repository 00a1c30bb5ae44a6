//! Man pages of verbs. Several verbs with the same options share a page, so that no option list is repeated.

use std::io::{self, Write};

use clap::{Arg, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};

use super::program::{Program, VerbManual};

/// Maximum length of a line that `mandoc -Tlint` accepts, including its newline.
const MAX_LINE_BYTES: usize = 80;

/// Date of all man pages. It is fixed, so that generated pages can be compared.
pub(super) const MAN_DATE: &str = "2026-11-29";

/// Minimum number of verbs for separate pages; fewer are described on the program's own page.
const MIN_VERBS_WITH_PAGES: usize = 5;

/// Returns true if the verbs of a program have separate pages.
pub(super) fn verbs_have_pages(command: &Command) -> bool {
    command.get_subcommands().count() >= MIN_VERBS_WITH_PAGES
}

/// Groups the verbs that have the same options. Groups are in the order of their first verbs.
fn group_similar_verbs(command: &Command) -> Vec<Vec<&Command>> {
    let taken = |verb: &Command| verb.get_arguments().map(|arg| format!("{arg:?}")).collect::<Vec<_>>();
    let mut groups: Vec<Vec<&Command>> = Vec::new();
    for verb in command.get_subcommands() {
        match groups
            .iter_mut()
            .find(|group| verb.get_arguments().count() > 1 && taken(group[0]) == taken(verb))
        {
            Some(group) => group.push(verb),
            None => groups.push(vec![verb]),
        }
    }
    groups
}

/// Returns the pages of all verbs, each with its name and its troff text.
///
/// # Errors
/// Never fails: the output is a `Vec`.
pub fn verb_pages(program: &Program) -> io::Result<Vec<(String, Vec<u8>)>> {
    let command = (program.command)().mut_subcommands(|verb| verb.mut_args(|arg| arg.hide_short_help(false)));
    if !verbs_have_pages(&command) {
        return Ok(Vec::new());
    }
    let mut pages = Vec::new();
    for group in group_similar_verbs(&command) {
        let first = page_name(program, group[0]);
        pages.push((first.clone(), verb_page(program, &command, &group)?));
        for other in &group[1..] {
            pages.push((page_name(program, other), format!(".so man1/{first}.1\n").into_bytes()));
        }
    }
    Ok(pages)
}

fn page_name(program: &Program, verb: &Command) -> String {
    format!("{}-{}", program.name, verb.get_name())
}

/// Returns the page of verbs with the same options. Options of the program are hidden, but must be defined because
/// options of the verb may refer to them.
fn verb_page(program: &Program, command: &Command, group: &[&Command]) -> io::Result<Vec<u8>> {
    let first = group[0];
    let mut page = Vec::new();
    let named = first
        .clone()
        .name(page_name(program, first))
        .display_name(page_name(program, first))
        .disable_help_flag(true);
    let shown = named.mut_args(|arg| if is_help(&arg) { arg.hide(true) } else { arg });
    let is_missing =
        |arg: &&Arg| arg.is_global_set() && !first.get_arguments().any(|own| own.get_id() == arg.get_id());
    let shown = command
        .get_arguments()
        .filter(is_missing)
        .fold(shown, |shown, arg| shown.arg(arg.clone().hide(true)));
    let man = Man::new(shown)
        .title(page_name(program, first).to_uppercase())
        .date(MAN_DATE)
        .source(format!("htc-hooks {}", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    man.render_title(&mut page)?;
    let mut roff = Roff::default();
    roff.control("SH", ["NAME"]);
    let names: Vec<String> = group.iter().map(|verb| page_name(program, verb)).collect();
    let about = match group {
        [only] => verb_description(only),
        _ => program.manual.about.to_owned(),
    };
    roff.text([roman(format!("{} - {}", names.join(", "), whatis_text(&about)))]);
    roff.control("SH", ["SYNOPSIS"]);
    for (number, verb) in group.iter().enumerate() {
        if number > 0 {
            roff.control("br", []);
        }
        roff.text(synopsis(&format!("{} {}", program.name, verb.get_name()), verb));
    }
    roff.control("SH", ["DESCRIPTION"]);
    match group {
        [only] => drop(roff.text([roman(long_about(only))])),
        _ => {
            for verb in group {
                roff.control("TP", []).text([bold(verb.get_name())]).text([roman(long_about(verb))]);
            }
        }
    }
    write_roff(&roff, &mut page)?;
    man.render_options_section(&mut page)?;
    let mut roff = Roff::default();
    let texts: Vec<&VerbManual> =
        group.iter().filter_map(|verb| program.manual.verb(verb.get_name())).collect();
    if let Some(first) = texts.first() {
        roff.control("SH", ["EXIT STATUS"]).text([roman(first.statuses)]);
        roff.control("SH", ["EXAMPLES"]);
    }
    for example in texts.iter().flat_map(|texts| texts.examples) {
        roff.control("TP", []).text([bold(example.line)]).text([roman(example.what)]);
    }
    roff.control("SH", ["SEE ALSO"]);
    roff.text([
        bold(program.name),
        roman("(1) for the options of all verbs, all exit statuses, the environment and the differences from HTCondor"),
    ]);
    write_roff(&roff, &mut page)?;
    Ok(wrap_long_lines(&page))
}

/// Breaks the text lines of a page at spaces, because `mandoc -Tlint` reports lines of more than 80 bytes. Requests, which begin
/// with a dot, are not broken, nor are runs of several spaces.
pub(super) fn wrap_long_lines(page: &[u8]) -> Vec<u8> {
    let mut wrapped = Vec::with_capacity(page.len() + page.len() / 60);
    for line in page.split_inclusive(|&byte| byte == b'\n') {
        let mut rest = line;
        while rest.len() > MAX_LINE_BYTES && !rest.starts_with(b".") && !rest.starts_with(b"'") {
            let is_break = |at: &usize| {
                let next = rest.get(at + 1).copied().unwrap_or(b'\n');
                rest[*at] == b' '
                    && *at > 0
                    && rest[at - 1] != b' '
                    && !matches!(next, b' ' | b'.' | b'\'' | b'\n')
            };
            let before = (1..MAX_LINE_BYTES.min(rest.len())).rev().find(is_break);
            let Some(at) = before.or_else(|| (MAX_LINE_BYTES..rest.len()).find(is_break)) else { break };
            wrapped.extend_from_slice(&rest[..at]);
            wrapped.push(b'\n');
            rest = &rest[at + 1..];
        }
        wrapped.extend_from_slice(rest);
    }
    wrapped
}

/// Shortens a description for `whatis`: removes parentheses, and changes the first letter to lower case.
fn whatis_text(about: &str) -> String {
    let text = about.split(" (").next().unwrap_or(about);
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_lowercase().collect::<String>() + letters.as_str())
}

fn verb_description(verb: &Command) -> String {
    verb.get_about().or_else(|| verb.get_long_about()).map(ToString::to_string).unwrap_or_default()
}

fn long_about(verb: &Command) -> String {
    verb.get_long_about().or_else(|| verb.get_about()).map(ToString::to_string).unwrap_or_default()
}

/// Returns the line under SYNOPSIS of a program or verb: its name, options, verb and operands.
pub(super) fn synopsis(name: &str, command: &Command) -> Vec<Inline> {
    let mut line = vec![bold(name), roman(" [OPTION]...")];
    if let Some(verb) = command.get_subcommand_value_name().filter(|_| command.has_subcommands()) {
        let is_required = command.is_subcommand_required_set();
        line.push(roman(if is_required { format!(" {verb}") } else { format!(" [{verb}]") }));
    }
    line.extend(
        command
            .get_positionals()
            .filter(|arg| !arg.is_hide_set())
            .map(|arg| roman(format!(" {}", operand_text(arg)))),
    );
    line
}

fn operand_text(arg: &Arg) -> String {
    let name = arg.get_value_names().and_then(<[_]>::first).map(ToString::to_string).unwrap_or_default();
    let several = arg.get_num_args().is_some_and(|range| range.max_values() > 1)
        || matches!(arg.get_action(), clap::ArgAction::Append);
    let name = if several { format!("{name}...") } else { name };
    if arg.is_required_set() { name } else { format!("[{name}]") }
}

/// Adds the list of verbs to the program's own page.
pub(super) fn push_verb_list(roff: &mut Roff, program: &Program, command: &Command) {
    roff.control("SH", ["VERBS"]);
    roff.text([roman(format!(
        "Each verb has its own page, such as {}(1). The options above apply to all verbs; a verb in which one has no effect refuses it.",
        command.get_subcommands().next().map(|verb| page_name(program, verb)).unwrap_or_default()
    ))]);
    for verb in command.get_subcommands() {
        let mut head = vec![bold(verb.get_name())];
        head.extend(
            verb.get_positionals()
                .filter(|arg| !arg.is_hide_set())
                .map(|arg| roman(format!(" {}", operand_text(arg)))),
        );
        roff.control("TP", []).text(head).text([roman(long_about(verb))]);
    }
}

pub(super) fn write_roff(roff: &Roff, page: &mut Vec<u8>) -> io::Result<()> {
    page.write_all(roff.to_roff().as_bytes())
}

pub(super) fn is_help(arg: &Arg) -> bool {
    matches!(arg.get_id().as_str(), "help" | "help-all")
}
