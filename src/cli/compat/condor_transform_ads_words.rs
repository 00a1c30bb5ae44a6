//! The command line of `condor_transform_ads`.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use bstr::{BString, ByteSlice};

use crate::classad::format::list::ListForm;
use crate::classad::stream::Form;
use crate::cli::common::Session as Program;
use crate::cli::compat::{Least, Rule, Word, Words};
use crate::transform::legacy;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Id {
    Verbose,
    Terse,
    Debug,
    Rules,
    JobTransforms,
    JobRoute,
    In,
    Out,
    Long,
    Json,
    Xml,
    UnitTest,
    Testing,
    Help,
    ConvertOldRoutes,
}

const fn rule(id: Id, name: &'static str, letters: usize, suffix: bool) -> Rule<Id> {
    Rule { id, name, least: Least::Letters(letters), suffix }
}

const RULES: &[Rule<Id>] = &[
    rule(Id::Verbose, "verbose", 1, false),
    rule(Id::Terse, "terse", 3, false),
    rule(Id::Debug, "debug", 2, true),
    rule(Id::Rules, "rules", 1, false),
    rule(Id::JobTransforms, "jobtransforms", 4, false),
    rule(Id::JobRoute, "jobroute", 4, false),
    rule(Id::In, "in", 1, true),
    rule(Id::Out, "out", 1, true),
    rule(Id::Long, "long", 1, false),
    rule(Id::Json, "json", 2, false),
    rule(Id::Xml, "xml", 3, false),
    rule(Id::UnitTest, "unit-test", 4, true),
    rule(Id::Testing, "testing", 4, true),
    rule(Id::Help, "help", 1, false),
    rule(Id::ConvertOldRoutes, "convertoldroutes", 4, true),
];

/// A command line, read.
#[derive(Default)]
pub(super) struct Options {
    pub(super) verbose: bool,
    pub(super) silent: bool,
    pub(super) rules: Vec<OsString>,
    pub(super) inputs: Vec<(OsString, Option<Form>)>,
    pub(super) default_form: Option<Form>,
    pub(super) out: Option<OsString>,
    pub(super) out_form: ListForm,
    pub(super) no_sort: bool,
    pub(super) macros: Vec<(BString, BString)>,
    pub(super) convert: Option<legacy::Options>,
    pub(super) convert_file: Option<OsString>,
    pub(super) unit_test: bool,
}

/// What the command line asks for.
pub(super) enum Asked {
    Work(Box<Options>),
    Status(u8),
}

fn usage(program: &Program) -> Asked {
    program.tell(USAGE);
    Asked::Status(1)
}

pub(super) const USAGE: &str = "\
Usage: condor_transform_ads [transforms] [options] [<key>=<value>] <infile> [<infile>]
  transforms, in the order of their application:
    -rules <file>            rules from a file; - is stdin, config://<knob>/<names> the configuration
    -jobtransforms <names>   JOB_TRANSFORM_<name> of the configuration
    -jobroute <names>        JOB_ROUTER_ROUTE_<name> of the configuration
  options:
    -in <infile>             ads to transform; - is stdin
    -out[:<form>,nosort] <outfile>   form: long, json, jsonl, new, newl, xml, auto
    -long, -json, -xml       form of the input
    -verbose                 show each statement as it is executed
    -convertoldroutes[:<n>|:file <file>]   print JOB_ROUTER_ENTRIES as transforms
    -help [rules|convert]
";

const RULES_HELP: &str = "
A rules file holds macro assignments (NAME = value), if/elif/else/endif, include, and commands:
   SET <attr> <expr>          set the expression
   EVALSET <attr> <expr>      set the value the expression has in this ad
   DEFAULT <attr> <expr>      set it unless the attribute is there
   COPY <attr> <newattr>      COPY /<regex>/ <newattrs>
   RENAME <attr> <newattr>    RENAME /<regex>/ <newattrs>
   DELETE <attr>              DELETE /<regex>/
   EVALMACRO <key> <expr>     set a macro to the value the expression has in this ad
   REQUIREMENTS <expr>        apply the transform only to ads for which this is true
   NAME, UNIVERSE             label; universe for the job router
   TRANSFORM [<n>] [<vars>] [in <list> | from <file> | matching <pattern>]
$(key) is replaced by a macro, $(MY.attr) by an attribute of the ad, \\0 to \\9 in new names by groups of the regex.

";

const CONVERT_HELP: &str = "
-convertoldroutes prints the routes of JOB_ROUTER_ENTRIES, with JOB_ROUTER_DEFAULTS merged in, as transforms.
-convertoldroutes:file <file> does so for the output of 'condor_config_val -summary' of another host.

";

pub(super) fn read(words: &[OsString], program: &Program) -> Asked {
    if words.is_empty() {
        return usage(program);
    }
    let mut options = Options::default();
    let mut words = Words::new(RULES, words);
    let missing = |what: &str| {
        program.tell(&format!("{}: -{what} requires another argument\n", program.name()));
        Asked::Status(1)
    };
    while let Some(word) = words.next() {
        let (id, suffix) = match word {
            Word::Operand(word) | Word::Unknown(word) if word.as_bytes() == b"-" => {
                options.inputs.push((word, options.default_form));
                continue;
            }
            Word::Unknown(_) => return usage(program),
            Word::Operand(word) => {
                if let Some(at) = memchr::memchr(b'=', word.as_bytes()) {
                    match key_value(word.as_bytes(), at) {
                        Ok(pair) => options.macros.push(pair),
                        Err(name) => {
                            let text = format!(
                                "{}: invalid name '{name}' in '{}', use letters, digits, '_', '.' and '/'\n",
                                program.name(),
                                word.to_string_lossy()
                            );
                            program.tell(&text);
                            return Asked::Status(1);
                        }
                    }
                } else {
                    options.inputs.push((word, options.default_form));
                }
                continue;
            }
            Word::Option { id, suffix } => (id, suffix.unwrap_or_default().into_vec()),
        };
        match id {
            Id::Verbose => options.verbose = true,
            Id::Terse => options.verbose = false,
            Id::Debug => {}
            Id::Rules | Id::In | Id::Out => {
                let name = ["rules", "in", "out"][usize::from(id == Id::In) + 2 * usize::from(id == Id::Out)];
                let Some(value) = value_or_dash(&mut words) else { return missing(name) };
                match id {
                    Id::Rules => options.rules.push(value),
                    // The reference hands the word with its colon to the parser of forms, which knows no such word.
                    Id::In => options.inputs.push((value, options.default_form)),
                    _ => {
                        options.out = Some(value);
                        options.out_suffix(&suffix);
                    }
                }
            }
            Id::JobTransforms | Id::JobRoute => {
                let (name, knob) = match id {
                    Id::JobTransforms => ("jobtransforms", "JOB_TRANSFORM_%s"),
                    _ => ("jobroute", "JOB_ROUTER_ROUTE_%s"),
                };
                let Some(value) = words.value_without_dash() else { return missing(name) };
                let mut rules = OsString::from(format!("config://{knob}/"));
                rules.push(value);
                options.rules.push(rules);
            }
            Id::Long | Id::Json | Id::Xml => {
                let form = match id {
                    Id::Long => Form::Long,
                    Id::Json => Form::Json,
                    _ => Form::Xml,
                };
                options.default_form = Some(form);
                options.inputs.iter_mut().for_each(|(_, known)| *known = known.or(Some(form)));
            }
            Id::UnitTest => options.unit_test = true,
            Id::Testing => {
                let mut parts = crate::text::list::split(&suffix);
                options.silent |= parts.any(|part| part.len() >= 5 && b"nooutput".starts_with(part));
            }
            Id::Help => {
                let topic = words.value().map(|word| word.as_bytes().to_vec()).unwrap_or_default();
                let text = match topic.as_slice() {
                    b"rules" => RULES_HELP.to_owned(),
                    topic if topic.len() >= 4 && b"convert".starts_with(topic) => {
                        format!("{CONVERT_HELP}{USAGE}")
                    }
                    _ => USAGE.to_owned(),
                };
                let _ = std::io::stdout().write_all(text.as_bytes());
                return Asked::Status(0);
            }
            Id::ConvertOldRoutes => {
                let number = atoi(&suffix);
                let mut bits = if number == 0 { 1 } else { number };
                if number == 0 {
                    for word in crate::text::list::split(&suffix) {
                        if word.is_empty() || !b"file".starts_with(word) {
                            let word = word.as_bstr();
                            program.tell(&format!(
                                "{}: -convertoldroutes:{word}: a number or 'file' is wanted\n",
                                program.name()
                            ));
                            return Asked::Status(1);
                        }
                        bits = 1;
                        let Some(file) = value_or_dash(&mut words) else {
                            return missing("convertoldroutes:file");
                        };
                        options.convert_file = Some(file);
                    }
                }
                options.convert = Some(legacy::Options::from_bits(bits));
            }
        }
    }
    Asked::Work(Box::new(options))
}

fn value_or_dash(words: &mut Words<'_, Id>) -> Option<OsString> {
    words.value_or_lone_dash().cloned()
}

impl Options {
    fn out_suffix(&mut self, suffix: &[u8]) {
        for word in crate::text::list::split(suffix) {
            if word == b"nosort" {
                self.no_sort = true;
                continue;
            }
            match word.to_ascii_lowercase().as_slice() {
                // What the input is never gets as far as the output.
                b"long" | b"auto" => self.out_form = ListForm::Long,
                b"json" => self.out_form = ListForm::Json,
                b"jsonl" => self.out_form = ListForm::JsonLines,
                b"new" => self.out_form = ListForm::New,
                b"newl" => self.out_form = ListForm::NewLines,
                b"xml" => self.out_form = ListForm::Xml,
                _ => {}
            }
        }
    }
}

/// Splits `key=value`. The value of 25.14 is the word without its first character, whatever the key.
fn key_value(word: &[u8], equals: usize) -> Result<(BString, BString), BString> {
    let mut name = BString::from(word[..equals].trim());
    if name.get(1) == Some(&b'+') {
        name = BString::from([b"MY.", &name[1..]].concat());
    }
    if !crate::transform::is_macro_name(&name) {
        return Err(name);
    }
    Ok((name, word[1..].trim().into()))
}

/// The number at the start of a text, 0 without one.
fn atoi(text: &[u8]) -> u32 {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    text[..digits].to_str().ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
