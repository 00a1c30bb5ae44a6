//! Man pages, generated from a program's clap definition and its texts.

use std::io;

use clap::{Arg, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};

use super::Status;
use super::man_verbs::{self, MAN_DATE, is_help, write_roff};
use super::program::Program;

/// Returns the man page of a program in troff.
///
/// # Errors
/// Never fails: the output is a `Vec`.
pub fn man_page(program: &Program) -> io::Result<Vec<u8>> {
    // The man page includes options that the short help hides.
    let command = (program.command)().mut_args(|arg| arg.hide_short_help(false));
    let mut page = Vec::new();
    let man = Man::new(command.clone())
        .title(program.name.to_uppercase())
        .date(MAN_DATE)
        .source(format!("htc-hooks {}", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    let mut roff = Roff::default();
    roff.control("SH", ["SYNOPSIS"]);
    roff.text(man_verbs::synopsis(program.name, &command));
    write_roff(&roff, &mut page)?;

    let mut roff = Roff::default();
    roff.control("SH", ["DESCRIPTION"]);
    push_paragraphs(&mut roff, program.manual.description);
    write_roff(&roff, &mut page)?;

    man.render_options_section(&mut page)?;

    let mut roff = Roff::default();
    match man_verbs::verbs_have_pages(&command) {
        true => man_verbs::push_verb_list(&mut roff, program, &command),
        false => push_verbs(&mut roff, &command),
    }
    push_examples(&mut roff, program);
    push_terms(&mut roff, "EXIT STATUS", Status::MANUAL_TABLE);
    push_environment(&mut roff, program);
    if !program.manual.files.is_empty() {
        push_terms(&mut roff, "FILES", program.manual.files);
    }
    roff.control("SH", ["DIFFERENCES"]);
    push_paragraphs(&mut roff, program.manual.differences);
    write_roff(&roff, &mut page)?;
    Ok(man_verbs::wrap_long_lines(&page))
}

/// Adds paragraphs to a section, without a paragraph macro directly after the heading, about which `mandoc` warns.
fn push_paragraphs(roff: &mut Roff, texts: &[&str]) {
    for (number, text) in texts.iter().enumerate() {
        if number > 0 {
            roff.control("PP", []);
        }
        roff.text([roman(*text)]);
    }
}

fn push_terms(roff: &mut Roff, heading: &str, terms: &[(&str, &str)]) {
    roff.control("SH", [heading]);
    for (term, meaning) in terms {
        roff.control("TP", []).text([bold(*term)]).text([roman(*meaning)]);
    }
}

fn push_verbs(roff: &mut Roff, command: &Command) {
    if !command.has_subcommands() {
        return;
    }
    roff.control("SH", ["VERBS"]);
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let mut head: Vec<Inline> = vec![bold(verb.get_name())];
        for operand in verb.get_positionals() {
            head.push(roman(format!(" {operand}")));
        }
        let about = verb.get_long_about().or_else(|| verb.get_about());
        roff.control("TP", []).text(head);
        roff.text([roman(about.map(ToString::to_string).unwrap_or_default())]);
        let own = |arg: &&Arg| !arg.is_positional() && !arg.is_hide_set() && !is_help(arg);
        for option in verb.get_arguments().filter(own) {
            let help = option.get_long_help().or_else(|| option.get_help());
            roff.control("RS", []).control("TP", []).text([bold(option_spelling(option))]);
            roff.text([roman(help.map(ToString::to_string).unwrap_or_default())]).control("RE", []);
        }
    }
}

fn option_spelling(arg: &Arg) -> String {
    let names = [arg.get_short().map(|c| format!("-{c}")), arg.get_long().map(|long| format!("--{long}"))];
    let mut text = names.into_iter().flatten().collect::<Vec<_>>().join(", ");
    if arg.get_action().takes_values() {
        for name in arg.get_value_names().unwrap_or_default() {
            text.push_str(&format!(" {name}"));
        }
    }
    text
}

fn push_examples(roff: &mut Roff, program: &Program) {
    roff.control("SH", ["EXAMPLES"]);
    for example in program.manual.examples {
        roff.control("TP", []).text([bold(example.line)]).text([roman(example.what)]);
    }
}

fn push_environment(roff: &mut Roff, program: &Program) {
    const COMMON_VARIABLES: &[(&str, &str)] = &[
        ("CONDOR_CONFIG", "Configuration file, or ONLY_ENV for none"),
        ("_CONDOR_NAME", "Value of the parameter NAME; the case of NAME does not matter"),
        ("NO_COLOR", "If set and not empty, no colours are used, except with --color always"),
    ];
    let all: Vec<_> = program.manual.environment.iter().chain(COMMON_VARIABLES).copied().collect();
    push_terms(roff, "ENVIRONMENT", &all);
}
