//! `condor_config_val`: command line of the tool, parsed as in the tool (`config_val.cpp`, `main`).

use std::ffi::OsString;
use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use bstr::{BStr, BString};

use super::config_query::{ConfigQuery, ToolOutput};
use super::config_request::{ConfigRequest, RequestedName};
use crate::cli::common::{ProgramContext, Status, stdout};
use crate::cli::compat::{CommandWord, CommandWords, MinimumLength, OptionRule};
use crate::config::defaults::ParameterType;
use crate::config::version::{PLATFORM_LINE, VERSION_LINE};
use crate::config::write_config::RowFilter;
use crate::os::RealWorld;
use crate::text::caseless;
use crate::world::World;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConfigValOption {
    Name,
    Address,
    Pool,
    LocalName,
    Subsystem,
    Owner,
    Tilde,
    Daemon(&'static str),
    Change,
    Ignored,
    Raw,
    Default,
    Config,
    Reconfig,
    Verbose,
    Dump,
    Trace,
    Stats,
    Info,
    Expanded,
    Macro,
    Used(bool),
    Summary,
    WriteConfig,
    RootConfig,
    Help,
    Version,
    CheckIf,
}

const fn plain_option(id: ConfigValOption, name: &'static str, least: usize) -> OptionRule<ConfigValOption> {
    OptionRule { id, name, least: MinimumLength::Letters(least), suffix: false }
}

const fn option_with_suffix(
    id: ConfigValOption,
    name: &'static str,
    least: usize,
) -> OptionRule<ConfigValOption> {
    OptionRule { id, name, least: MinimumLength::Letters(least), suffix: true }
}

const OPTION_RULES: &[OptionRule<ConfigValOption>] = &[
    plain_option(ConfigValOption::Name, "name", 1),
    plain_option(ConfigValOption::Address, "address", 1),
    plain_option(ConfigValOption::Pool, "pool", 1),
    plain_option(ConfigValOption::LocalName, "local-name", 2),
    plain_option(ConfigValOption::Subsystem, "subsystem", 3),
    plain_option(ConfigValOption::Owner, "owner", 1),
    plain_option(ConfigValOption::Tilde, "tilde", 1),
    plain_option(ConfigValOption::Daemon("master"), "master", 2),
    plain_option(ConfigValOption::Daemon("schedd"), "schedd", 2),
    plain_option(ConfigValOption::Daemon("startd"), "startd", 2),
    plain_option(ConfigValOption::Daemon("collector"), "collector", 3),
    plain_option(ConfigValOption::Daemon("negotiator"), "negotiator", 3),
    plain_option(ConfigValOption::Change, "set", 2),
    plain_option(ConfigValOption::Change, "unset", 3),
    plain_option(ConfigValOption::Change, "rset", 3),
    plain_option(ConfigValOption::Change, "runset", 5),
    plain_option(ConfigValOption::Ignored, "mixedcase", 2),
    plain_option(ConfigValOption::Ignored, "diagnostic", 4),
    plain_option(ConfigValOption::Raw, "raw", 3),
    plain_option(ConfigValOption::Default, "default", 3),
    plain_option(ConfigValOption::Config, "config", 2),
    plain_option(ConfigValOption::Reconfig, "reconfig", 5),
    plain_option(ConfigValOption::Ignored, "swap", 4),
    option_with_suffix(ConfigValOption::Verbose, "verbose", 1),
    plain_option(ConfigValOption::Dump, "dump", 1),
    plain_option(ConfigValOption::Trace, "trace", 2),
    option_with_suffix(ConfigValOption::Stats, "stats", 4),
    option_with_suffix(ConfigValOption::Info, "info", 3),
    plain_option(ConfigValOption::Expanded, "expanded", 2),
    option_with_suffix(ConfigValOption::Macro, "macro", 3),
    plain_option(ConfigValOption::Ignored, "evaluate", 2),
    plain_option(ConfigValOption::Used(false), "unused", 4),
    plain_option(ConfigValOption::Used(true), "used", 2),
    option_with_suffix(ConfigValOption::Summary, "summary", 3),
    option_with_suffix(ConfigValOption::WriteConfig, "writeconfig", 3),
    plain_option(ConfigValOption::RootConfig, "root-config", 4),
    option_with_suffix(ConfigValOption::Ignored, "debug", 2),
    plain_option(ConfigValOption::Help, "help", 2),
    plain_option(ConfigValOption::Version, "version", 3),
    OptionRule { id: ConfigValOption::CheckIf, name: "check-if", least: MinimumLength::All, suffix: false },
];

/// Options that may have two dashes, with their full names.
const TWO_DASH_OPTIONS: [&[u8]; 4] = [b"--root-config", b"--help", b"--version", b"--check-if"];

/// Returns the usage message.
fn usage_text(tool: &BStr) -> String {
    format!(
        "Usage: {tool} [-subsystem NAME] [-local-name NAME] [-root-config FILE] [-config] \
         [-raw | -default | -verbose] NAME...\n       \
         {tool} -dump [-expanded] [-verbose] [REGEX...]\n       \
         {tool} -summary[:detected] | -writeconfig[:FILTER,...] FILE\n       \
         {tool} -macro[:path] TEXT... | -check-if CONDITION | -trace NAME...\n       \
         {tool} use CATEGORY[:NAME[(ARGUMENTS)]] [-expanded]\n\
         -info NAME... prints the properties of a parameter, but not the descriptions of HTCondor's own table.\n\
         No daemon is contacted: -name, -pool, -address, -set, -unset, -rset, -runset and the daemons' names are \
         refused.\n\
         See htc-config-dump --help for lint, JSON, the table of hooks and the origin of a value.\n"
    )
}

/// Options that query or change a running daemon.
#[derive(Default)]
struct DaemonQuery {
    name: Option<BString>,
    address: bool,
    pool: Option<BString>,
    kind: Option<&'static str>,
    asks_master: bool,
    change: bool,
}

/// Parser of the command line. The first invalid word ends the tool.
struct CommandLineReader<'a> {
    tool: BString,
    request: ConfigRequest,
    daemon: DaemonQuery,
    summary: bool,
    owner: bool,
    tilde: bool,
    output: &'a mut ToolOutput,
}

/// Runs the tool `condor_config_val`.
pub(super) fn run(words: &[OsString], _session: &ProgramContext) -> anyhow::Result<Status> {
    let mut output = ToolOutput::default();
    let tool: BString = std::env::args_os().next().unwrap_or_default().into_vec().into();
    let world = RealWorld::new();
    let code = run_with(&tool, words, &world, &mut output);
    // The tool prints warnings before its output.
    std::io::stderr().write_all(&output.err)?;
    stdout().write_all(&output.out)?;
    Ok(Status::Tool(code))
}

/// Runs the tool in the given world, and returns its exit status.
pub(super) fn run_with(tool: &BString, words: &[OsString], world: &dyn World, output: &mut ToolOutput) -> u8 {
    let mut reader = CommandLineReader {
        tool: tool.clone(),
        request: ConfigRequest::new(),
        daemon: DaemonQuery::default(),
        summary: false,
        owner: false,
        tilde: false,
        output,
    };
    match reader.parse_arguments(words, world) {
        Some(code) => code,
        None => reader.execute(world),
    }
}

impl CommandLineReader<'_> {
    /// Parses all arguments; returns the exit status if the tool exits immediately.
    fn parse_arguments(&mut self, words: &[OsString], world: &dyn World) -> Option<u8> {
        let mut remaining = CommandWords::new(OPTION_RULES, words);
        while let Some(word) = remaining.next() {
            let (id, suffix) = match word {
                CommandWord::Operand(name) if caseless::eq(name.as_bytes(), b"use") => {
                    match remaining.next_value_without_dash() {
                        Some(template) => {
                            self.request.requested.push(RequestedName::Template(template.as_bytes().into()));
                        }
                        None => {
                            self.output.write_err_line(
                                "use should be followed by a category or category:option argument",
                            );
                            self.request.requested.push(RequestedName::Template(BString::default()));
                        }
                    }
                    continue;
                }
                CommandWord::Operand(name) => {
                    let name = name.as_bytes();
                    self.request.requested.push(match name.strip_prefix(b"^") {
                        Some(template) if !template.is_empty() => RequestedName::Template(template.into()),
                        _ => RequestedName::Name(name.into()),
                    });
                    continue;
                }
                CommandWord::Unknown(word) => return Some(self.refuse_word(word.as_bytes())),
                CommandWord::Option { id, suffix } => (id, suffix),
            };
            // Only the options in `TWO_DASH_OPTIONS` may have two dashes.
            let typed = words.len().checked_sub(remaining.len() + 1).and_then(|at| words.get(at));
            if let Some(typed) = typed.map(|typed| typed.as_bytes())
                && typed.starts_with(b"--")
                && !TWO_DASH_OPTIONS.contains(&typed)
            {
                return Some(self.refuse_word(typed));
            }
            let typed = typed.map(|typed| BString::from(typed.as_bytes())).unwrap_or_default();
            let suffix = suffix.map(|suffix| BString::from(suffix.into_vec()));
            if let ControlFlow::Break(status) = self.apply_option(id, suffix, typed.as_ref(), &mut remaining)
            {
                return Some(status);
            }
        }
        self.print_account(world)
    }

    /// Prints the answer to -owner or -tilde, and returns the exit status; `None` if neither option is given.
    fn print_account(&mut self, world: &dyn World) -> Option<u8> {
        if self.owner {
            // If the caller is not root, daemons started by the caller would run as the caller.
            let uid = world.effective_uid();
            let account = if uid == 0 { world.account_by_name(b"root") } else { world.account_by_uid(uid) };
            let name = account.map_or_else(|| uid.to_string().into(), |account| account.name);
            self.output.out.extend_from_slice(&[&name[..], b"\n"].concat());
            return Some(0);
        }
        if self.tilde {
            return Some(match world.account_by_name(b"condor") {
                Some(condor) => {
                    self.output.out.extend_from_slice(&[&condor.home[..], b"\n"].concat());
                    0
                }
                None => {
                    self.output
                        .write_err_line("Error: Specified -tilde but can't find condor's home directory");
                    1
                }
            });
        }
        None
    }

    /// Applies one option; returns the exit status if the tool ends at once.
    fn apply_option(
        &mut self,
        id: ConfigValOption,
        suffix: Option<BString>,
        typed: &BStr,
        remaining: &mut CommandWords<'_, ConfigValOption>,
    ) -> ControlFlow<u8> {
        match id {
            ConfigValOption::Name => self.daemon.name = Some(option_value(remaining, self.output, "name")?),
            ConfigValOption::Pool => self.daemon.pool = Some(option_value(remaining, self.output, "pool")?),
            ConfigValOption::Address => {
                let address = option_value(remaining, self.output, "address")?;
                self.daemon.address = true;
                if !(address.starts_with(b"<") && address.ends_with(b">") && address.contains(&b':')) {
                    self.output.write_err_line(format!(
                        "{}: invalid address {address}\nAddress must be of the form \
                         \"<111.222.333.444:555>\n   where 111.222.333.444 is the ip address and 555 is \
                         the port\n   you wish to connect to (the punctuation is important).",
                        self.tool
                    ));
                }
            }
            ConfigValOption::LocalName => {
                self.request.local_name = option_value(remaining, self.output, "local_name")?
            }
            ConfigValOption::Subsystem => {
                self.request.subsystem = option_value(remaining, self.output, "subsystem")?
            }
            ConfigValOption::Owner => self.owner = true,
            ConfigValOption::Tilde => self.tilde = true,
            ConfigValOption::Daemon(kind) => {
                self.daemon.asks_master |= kind == "master";
                self.daemon.kind = Some(kind);
            }
            ConfigValOption::Change => self.daemon.change = true,
            ConfigValOption::Ignored => {}
            ConfigValOption::Raw => self.request.raw = true,
            ConfigValOption::Default if self.request.verbose => {
                self.output.write_err_line("-default cannot be used with -verbose");
                return ControlFlow::Break(self.print_usage());
            }
            ConfigValOption::Default => self.request.default = true,
            ConfigValOption::Config => self.request.sources = true,
            ConfigValOption::Reconfig => {
                self.request.reconfig = Some(option_value(remaining, self.output, "reconfig")?)
            }
            ConfigValOption::Verbose if self.request.default => {
                self.output.write_err_line("-verbose cannot be used with -default");
                return ControlFlow::Break(self.print_usage());
            }
            ConfigValOption::Verbose => {
                apply_verbose_suffix(&mut self.request, suffix.as_ref().map(|suffix| &suffix[..]))
            }
            ConfigValOption::Dump => self.request.dump = true,
            ConfigValOption::Trace => self.request.trace = true,
            ConfigValOption::Stats => {
                self.request.stats = true;
                let keep = |word: &BString| is_abbreviation(word, "keep_defaults", 2);
                self.request.keep_defaults |= suffix.as_ref().is_some_and(keep);
            }
            ConfigValOption::Info => {
                self.request.info = true;
                self.request.verbose = true;
            }
            ConfigValOption::Expanded => self.request.expanded = true,
            ConfigValOption::Macro => {
                let path = suffix.as_ref().is_some_and(|word| is_abbreviation(word, "path", 4));
                self.request.expand_text = Some(self.request.expand_text.unwrap_or(false) || path);
            }
            ConfigValOption::Used(used) => self.request.used = Some(used),
            ConfigValOption::Summary if self.request.write.is_some() && !self.summary => {
                self.output.write_err_line(format!("{typed} cannot be used with -writeconfig"));
                return ControlFlow::Break(self.print_usage());
            }
            ConfigValOption::Summary => {
                let detected = suffix.iter().flat_map(|suffix| suffix_words(suffix));
                let detected = detected.filter(|word| is_abbreviation(word, "detected", 3)).count() > 0;
                self.summary = true;
                self.request.write = Some(("-".into(), RowFilter { detected, ..RowFilter::for_summary() }));
            }
            ConfigValOption::WriteConfig if self.summary => {
                self.output.write_err_line(format!("{typed} cannot be used with -summary"));
                return ControlFlow::Break(self.print_usage());
            }
            ConfigValOption::WriteConfig => {
                let file = option_value(remaining, self.output, "writeconfig")?;
                self.request.write =
                    Some((file, parse_write_filter(suffix.as_ref().map(|suffix| &suffix[..]))));
            }
            ConfigValOption::RootConfig => {
                self.request.root = Some(option_value(remaining, self.output, "root-config")?)
            }
            ConfigValOption::Help => return ControlFlow::Break(self.print_usage()),
            ConfigValOption::Version => {
                self.output.out.extend_from_slice(format!("{VERSION_LINE}\n{PLATFORM_LINE}\n").as_bytes());
                return ControlFlow::Break(0);
            }
            ConfigValOption::CheckIf => {
                self.request.check_if = Some(option_value(remaining, self.output, "check-if")?)
            }
        }
        ControlFlow::Continue(())
    }

    fn refuse_word(&mut self, word: &[u8]) -> u8 {
        self.output.write_err_line(format!("{} is not a valid argument", BStr::new(word)));
        self.print_usage()
    }

    fn print_usage(&mut self) -> u8 {
        let text = usage_text(self.tool.as_ref());
        self.output.err.extend_from_slice(text.as_bytes());
        1
    }

    /// Executes the request. If the request is for a running daemon, reports that this is unsupported.
    fn execute(&mut self, world: &dyn World) -> u8 {
        let daemon = &self.daemon;
        let other = daemon.kind.is_some_and(|kind| kind != "master");
        let asks = daemon.asks_master || daemon.name.is_some() || daemon.address || daemon.change || other;
        let mut request = std::mem::take(&mut self.request);
        if self.summary && asks {
            // In the tool, `-writeconfig` would write the configuration of the queried daemon.
            request.write = None;
        }
        let mut answer = match ConfigQuery::load(&request, world, self.output) {
            Ok(answer) => answer,
            Err(code) => return code,
        };
        if let Some(code) = answer.run_before_daemons(self.output) {
            return code;
        }
        if let Some(name) = &daemon.name {
            let host = name.rsplit(|&b| b == b'@').next().unwrap_or_default();
            self.output.write_err_line(format!("{}: unknown host {}", self.tool, BStr::new(host)));
            return 1;
        }
        if daemon.pool.is_some() {
            self.output.write_err_line("Error: you must specify -name with -pool");
            return 1;
        }
        if !asks && let Some(code) = answer.run_dump_or_stats(self.output) {
            return code;
        }
        let is_query = request.dump || request.stats || self.summary && asks;
        if request.requested.is_empty() && !request.sources && !is_query {
            if request.write.is_some() {
                return 0;
            }
            return self.print_usage();
        }
        if asks {
            self.output.write_err_line(format!(
                "Can't find address for {} 'default' in local pool",
                daemon.kind.unwrap_or("master")
            ));
            self.output.write_err_line("Perhaps you need to query another pool.");
            return 1;
        }
        answer.print_names(self.output)
    }
}

/// Returns the next word as the value of an option.
fn option_value(
    remaining: &mut CommandWords<'_, ConfigValOption>,
    output: &mut ToolOutput,
    name: &str,
) -> ControlFlow<u8, BString> {
    let Some(value) = remaining.next_value() else {
        output.write_err_line(format!("-{name} requires an argument"));
        return ControlFlow::Break(1);
    };
    ControlFlow::Continue(BString::from(value.as_bytes()))
}

/// Returns the words in the suffix of an option, which are separated by commas and colons.
fn suffix_words(suffix: &[u8]) -> impl Iterator<Item = &[u8]> {
    suffix.split(|b| b",:".contains(b)).map(|word| word.trim_ascii()).filter(|word| !word.is_empty())
}

/// Returns true if a word is a prefix of `name` with at least `least` letters.
fn is_abbreviation(word: &[u8], name: &str, least: usize) -> bool {
    word.len() >= least && name.as_bytes().starts_with(word)
}

fn apply_verbose_suffix(request: &mut ConfigRequest, suffix: Option<&[u8]>) {
    request.verbose = true;
    for word in suffix.into_iter().flat_map(suffix_words) {
        let mut typed = |kind: Option<ParameterType>| {
            request.both = true;
            request.types = true;
            if kind.is_some() {
                request.as_type = kind;
            }
        };
        match word {
            b"use" => request.use_counts = true,
            b"strings" => request.strings = true,
            b"both" => request.both = true,
            b"terse" => request.verbose = false,
            b"int" => typed(Some(ParameterType::Int)),
            b"bool" => typed(Some(ParameterType::Bool)),
            b"double" => typed(Some(ParameterType::Double)),
            b"long" => typed(Some(ParameterType::Long)),
            word if is_abbreviation(word, "usage", 2) => request.use_counts = true,
            word if is_abbreviation(word, "type", 2) => typed(None),
            _ => {}
        }
    }
}

fn parse_write_filter(suffix: Option<&[u8]>) -> RowFilter {
    let Some(suffix) = suffix else {
        return RowFilter { matches_default: true, comment_matches: true, ..RowFilter::default() };
    };
    let mut filter = RowFilter::default();
    let mut comment = false;
    for word in suffix_words(suffix) {
        let is = |name: &str, least: usize| is_abbreviation(word, name, least);
        match () {
            () if is("comment", 3) => comment = true,
            () if is("default", 3) => {
                filter.defaults = true;
                filter.comment_defaults = comment;
            }
            () if is("matches_default", 5) => {
                filter.matches_default = true;
                filter.comment_matches = comment;
            }
            () if is("detected", 3) => {
                filter.detected = true;
                filter.comment_detected = comment;
            }
            () if is("environment", 3) => {
                filter.environment = true;
                filter.comment_environment = comment;
            }
            () if word == b"only" => filter.only = true,
            () if word == b"file" => filter.only = false,
            () if is("duplicate", 3) => filter.duplicates = true,
            () if is("source", 3) => filter.source = true,
            () if is("sort", 3) => filter.sort = true,
            () if is("upgrade", 3) => filter.upgrade = true,
            () => {}
        }
    }
    filter
}
