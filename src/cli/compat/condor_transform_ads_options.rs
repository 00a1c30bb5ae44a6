//! Command line of `condor_transform_ads`.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use bstr::{BString, ByteSlice};

use crate::classad::format::list::ListForm;
use crate::classad::stream::AdForm;
use crate::cli::common::{ProgramContext, stdout};
use crate::cli::compat::{CommandWord, CommandWords, OptionRule, option_rule};
use crate::transform::route_conversion;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransformAdsOption {
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

const OPTION_RULES: &[OptionRule<TransformAdsOption>] = &[
    option_rule(TransformAdsOption::Verbose, "verbose", 1, false),
    option_rule(TransformAdsOption::Terse, "terse", 3, false),
    option_rule(TransformAdsOption::Debug, "debug", 2, true),
    option_rule(TransformAdsOption::Rules, "rules", 1, false),
    option_rule(TransformAdsOption::JobTransforms, "jobtransforms", 4, false),
    option_rule(TransformAdsOption::JobRoute, "jobroute", 4, false),
    option_rule(TransformAdsOption::In, "in", 1, true),
    option_rule(TransformAdsOption::Out, "out", 1, true),
    option_rule(TransformAdsOption::Long, "long", 1, false),
    option_rule(TransformAdsOption::Json, "json", 2, false),
    option_rule(TransformAdsOption::Xml, "xml", 3, false),
    option_rule(TransformAdsOption::UnitTest, "unit-test", 4, true),
    option_rule(TransformAdsOption::Testing, "testing", 4, true),
    option_rule(TransformAdsOption::Help, "help", 1, false),
    option_rule(TransformAdsOption::ConvertOldRoutes, "convertoldroutes", 4, true),
];

/// Parsed command line.
#[derive(Default)]
pub(super) struct TransformAdsOptions {
    pub(super) verbose: bool,
    pub(super) silent: bool,
    pub(super) rules: Vec<OsString>,
    pub(super) inputs: Vec<(OsString, Option<AdForm>)>,
    pub(super) default_form: Option<AdForm>,
    pub(super) out: Option<OsString>,
    pub(super) out_form: ListForm,
    pub(super) no_sort: bool,
    pub(super) macros: Vec<(BString, BString)>,
    pub(super) convert: Option<route_conversion::ConversionOptions>,
    pub(super) convert_file: Option<OsString>,
    pub(super) unit_test: bool,
}

/// Result of parsing the command line.
pub(super) enum ParsedCommandLine {
    Run(Box<TransformAdsOptions>),
    Status(u8),
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

pub(super) fn parse_options(words: &[OsString], program: &ProgramContext) -> ParsedCommandLine {
    let is_empty = words.is_empty();
    let mut parser = OptionParser {
        options: TransformAdsOptions::default(),
        words: CommandWords::new(OPTION_RULES, words),
        program,
    };
    let result = if is_empty { Err(parser.print_usage()) } else { parser.parse() };
    match result {
        Ok(()) => ParsedCommandLine::Run(Box::new(parser.options)),
        Err(status) => ParsedCommandLine::Status(status),
    }
}

/// Parser of the command line. Its errors are exit statuses of the tool; the message has then already been printed.
struct OptionParser<'a> {
    options: TransformAdsOptions,
    words: CommandWords<'a, TransformAdsOption>,
    program: &'a ProgramContext,
}

impl OptionParser<'_> {
    fn print_usage(&self) -> u8 {
        self.program.write_stderr(USAGE);
        1
    }

    fn refuse(&self, what: &str) -> u8 {
        self.program.write_line(what);
        1
    }

    fn parse(&mut self) -> Result<(), u8> {
        while let Some(word) = self.words.next() {
            match word {
                CommandWord::Operand(word) | CommandWord::Unknown(word) if word.as_bytes() == b"-" => {
                    self.add_input(word)
                }
                CommandWord::Unknown(_) => return Err(self.print_usage()),
                CommandWord::Operand(word) => self.add_operand(word)?,
                CommandWord::Option { id, suffix } => {
                    self.apply_option(id, &suffix.unwrap_or_default().into_vec())?
                }
            }
        }
        Ok(())
    }

    fn add_input(&mut self, file: OsString) {
        self.options.inputs.push((file, self.options.default_form));
    }

    /// Adds a word without a dash: a macro `key=value`, or the name of a file of ads.
    fn add_operand(&mut self, word: OsString) -> Result<(), u8> {
        let Some(at) = memchr::memchr(b'=', word.as_bytes()) else {
            self.add_input(word);
            return Ok(());
        };
        let pair = split_key_value(word.as_bytes(), at).map_err(|name| {
            let word = word.to_string_lossy();
            self.refuse(&format!("invalid name '{name}' in '{word}', use letters, digits, '_', '.' and '/'"))
        })?;
        self.options.macros.push(pair);
        Ok(())
    }

    fn apply_option(&mut self, id: TransformAdsOption, suffix: &[u8]) -> Result<(), u8> {
        match id {
            TransformAdsOption::Verbose => self.options.verbose = true,
            TransformAdsOption::Terse => self.options.verbose = false,
            TransformAdsOption::Debug => {}
            TransformAdsOption::Rules => {
                let file = self.file_value("rules")?;
                self.options.rules.push(file);
            }
            TransformAdsOption::In => {
                // In the reference, `-in:format` has no effect: the parser of formats does not know the word, because it includes
                // the colon.
                let file = self.file_value("in")?;
                self.add_input(file);
            }
            TransformAdsOption::Out => {
                self.options.out = Some(self.file_value("out")?);
                self.options.apply_output_suffix(suffix);
            }
            TransformAdsOption::JobTransforms => {
                self.add_config_rules("jobtransforms", "JOB_TRANSFORM_%s")?
            }
            TransformAdsOption::JobRoute => self.add_config_rules("jobroute", "JOB_ROUTER_ROUTE_%s")?,
            TransformAdsOption::Long => self.set_form(AdForm::Long),
            TransformAdsOption::Json => self.set_form(AdForm::Json),
            TransformAdsOption::Xml => self.set_form(AdForm::Xml),
            TransformAdsOption::UnitTest => self.options.unit_test = true,
            TransformAdsOption::Testing => {
                let mut parts = crate::text::list::split(suffix);
                self.options.silent |= parts.any(|part| part.len() >= 5 && b"nooutput".starts_with(part));
            }
            TransformAdsOption::Help => return Err(self.print_help()),
            TransformAdsOption::ConvertOldRoutes => self.convert_old_routes(suffix)?,
        }
        Ok(())
    }

    /// Returns the file that an option names. `-` means standard input or output.
    fn file_value(&mut self, option: &str) -> Result<OsString, u8> {
        let file = self.words.next_value_or_lone_dash().cloned();
        file.ok_or_else(|| self.refuse(&format!("-{option} requires another argument")))
    }

    /// Adds rules that are parameters of the configuration. `name_pattern` is the pattern of their names.
    fn add_config_rules(&mut self, option: &str, name_pattern: &str) -> Result<(), u8> {
        let Some(names) = self.words.next_value_without_dash() else {
            return Err(self.refuse(&format!("-{option} requires another argument")));
        };
        let mut rules = OsString::from(format!("config://{name_pattern}/"));
        rules.push(names);
        self.options.rules.push(rules);
        Ok(())
    }

    /// Sets the format of all following inputs, and of earlier inputs without a format.
    fn set_form(&mut self, form: AdForm) {
        self.options.default_form = Some(form);
        self.options.inputs.iter_mut().for_each(|(_, known)| *known = known.or(Some(form)));
    }

    fn print_help(&mut self) -> u8 {
        let topic = self.words.next_value().map(|word| word.as_bytes().to_vec()).unwrap_or_default();
        let text = match topic.as_slice() {
            b"rules" => RULES_HELP.to_owned(),
            topic if topic.len() >= 4 && b"convert".starts_with(topic) => format!("{CONVERT_HELP}{USAGE}"),
            _ => USAGE.to_owned(),
        };
        let _ = stdout().write_all(text.as_bytes());
        0
    }

    /// Handles `-convertoldroutes`, whose suffix is a number of bits, or the word `file`; the value of `file` is a configuration
    /// of another host.
    fn convert_old_routes(&mut self, suffix: &[u8]) -> Result<(), u8> {
        let number = atoi(suffix);
        if number == 0 {
            for word in crate::text::list::split(suffix) {
                if word.is_empty() || !b"file".starts_with(word) {
                    let word = word.as_bstr();
                    return Err(
                        self.refuse(&format!("-convertoldroutes:{word}: expected a number or 'file'"))
                    );
                }
                self.options.convert_file = Some(self.file_value("convertoldroutes:file")?);
            }
        }
        self.options.convert = Some(route_conversion::ConversionOptions::from_bits(number.max(1)));
        Ok(())
    }
}

impl TransformAdsOptions {
    fn apply_output_suffix(&mut self, suffix: &[u8]) {
        for word in crate::text::list::split(suffix) {
            if word == b"nosort" {
                self.no_sort = true;
                continue;
            }
            match word {
                // The format of the input is not known when the output is written.
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

/// Splits `key=value`. As in 25.14, the value is the word without its first character, whatever the key is.
fn split_key_value(word: &[u8], equals: usize) -> Result<(BString, BString), BString> {
    let mut name = BString::from(word[..equals].trim());
    if name.get(1) == Some(&b'+') {
        name = BString::from([b"MY.", &name[1..]].concat());
    }
    if !crate::transform::is_macro_name(&name) {
        return Err(name);
    }
    Ok((name, word[1..].trim().into()))
}

/// Returns the number at the start of a text, or 0 if there is none.
fn atoi(text: &[u8]) -> u32 {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    text[..digits].to_str().ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
