//! `condor_config_val`: the tool's command line, read as the tool reads it (`config_val.cpp`, `main`).

use std::ffi::OsString;
use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use bstr::{BStr, BString};

use super::answer::{Answer, Output};
use super::request::{Asked, Request};
use crate::cli::common::{Session, Status, stdout};
use crate::cli::compat::{Least, Rule, Word, Words};
use crate::config::defaults::ParameterType;
use crate::config::version::{PLATFORM_LINE, VERSION_LINE};
use crate::config::write_config::Filter;
use crate::os::RealWorld;
use crate::text::caseless;
use crate::world::World;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Id {
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

const fn rule(id: Id, name: &'static str, least: usize) -> Rule<Id> {
    Rule { id, name, least: Least::Letters(least), suffix: false }
}

const fn with_suffix(id: Id, name: &'static str, least: usize) -> Rule<Id> {
    Rule { id, name, least: Least::Letters(least), suffix: true }
}

const RULES: &[Rule<Id>] = &[
    rule(Id::Name, "name", 1),
    rule(Id::Address, "address", 1),
    rule(Id::Pool, "pool", 1),
    rule(Id::LocalName, "local-name", 2),
    rule(Id::Subsystem, "subsystem", 3),
    rule(Id::Owner, "owner", 1),
    rule(Id::Tilde, "tilde", 1),
    rule(Id::Daemon("master"), "master", 2),
    rule(Id::Daemon("schedd"), "schedd", 2),
    rule(Id::Daemon("startd"), "startd", 2),
    rule(Id::Daemon("collector"), "collector", 3),
    rule(Id::Daemon("negotiator"), "negotiator", 3),
    rule(Id::Change, "set", 2),
    rule(Id::Change, "unset", 3),
    rule(Id::Change, "rset", 3),
    rule(Id::Change, "runset", 5),
    rule(Id::Ignored, "mixedcase", 2),
    rule(Id::Ignored, "diagnostic", 4),
    rule(Id::Raw, "raw", 3),
    rule(Id::Default, "default", 3),
    rule(Id::Config, "config", 2),
    rule(Id::Reconfig, "reconfig", 5),
    rule(Id::Ignored, "swap", 4),
    with_suffix(Id::Verbose, "verbose", 1),
    rule(Id::Dump, "dump", 1),
    rule(Id::Trace, "trace", 2),
    with_suffix(Id::Stats, "stats", 4),
    with_suffix(Id::Info, "info", 3),
    rule(Id::Expanded, "expanded", 2),
    with_suffix(Id::Macro, "macro", 3),
    rule(Id::Ignored, "evaluate", 2),
    rule(Id::Used(false), "unused", 4),
    rule(Id::Used(true), "used", 2),
    with_suffix(Id::Summary, "summary", 3),
    with_suffix(Id::WriteConfig, "writeconfig", 3),
    rule(Id::RootConfig, "root-config", 4),
    with_suffix(Id::Ignored, "debug", 2),
    rule(Id::Help, "help", 2),
    rule(Id::Version, "version", 3),
    Rule { id: Id::CheckIf, name: "check-if", least: Least::All, suffix: false },
];

/// The options that may be typed with two dashes, in full.
const LONG: [&[u8]; 4] = [b"--root-config", b"--help", b"--version", b"--check-if"];

/// What a text of the tool's own stderr begins with.
fn usage(tool: &BStr) -> String {
    format!(
        "Usage: {tool} [-subsystem NAME] [-local-name NAME] [-root-config FILE] [-config] \
         [-raw | -default | -verbose] NAME...\n       \
         {tool} -dump [-expanded] [-verbose] [REGEX...]\n       \
         {tool} -summary[:detected] | -writeconfig[:FILTER,...] FILE\n       \
         {tool} -macro[:path] TEXT... | -check-if CONDITION | -trace NAME...\n       \
         {tool} use CATEGORY[:NAME[(ARGUMENTS)]] [-expanded]\n\
         -info NAME... tells what is known of a parameter, without the descriptions of HTCondor's own table.\n\
         Daemons are not asked: -name, -pool, -address, -set, -unset, -rset, -runset and the daemons' names are \
         refused.\n\
         See htc-config-dump --help for lint, JSON, the hooks' table and the story of a value.\n"
    )
}

/// The command line as far as it concerns daemons.
#[derive(Default)]
struct Daemon {
    name: Option<BString>,
    address: bool,
    pool: Option<BString>,
    kind: Option<&'static str>,
    asked: bool,
    change: bool,
}

/// Reads the words one after the other; a wrong one ends it.
struct Reader<'a> {
    tool: BString,
    request: Request,
    daemon: Daemon,
    summary: bool,
    owner: bool,
    tilde: bool,
    output: &'a mut Output,
}

/// Runs the tool.
pub(super) fn run(words: &[OsString], _session: &Session) -> anyhow::Result<Status> {
    let mut output = Output::default();
    let tool: BString = std::env::args_os().next().unwrap_or_default().into_vec().into();
    let world = RealWorld::new();
    let code = run_with(&tool, words, &world, &mut output);
    // The tool's warnings come before its answer, and nobody reads them together.
    std::io::stderr().write_all(&output.err)?;
    stdout().write_all(&output.out)?;
    Ok(Status::Tool(code))
}

/// Runs the tool in a world and returns its exit status.
pub(super) fn run_with(tool: &BString, words: &[OsString], world: &dyn World, output: &mut Output) -> u8 {
    let mut reader = Reader {
        tool: tool.clone(),
        request: Request::new(),
        daemon: Daemon::default(),
        summary: false,
        owner: false,
        tilde: false,
        output,
    };
    match reader.read(words, world) {
        Some(code) => code,
        None => reader.answer(world),
    }
}

impl Reader<'_> {
    /// Takes all words; `Some` is the status with which the tool ends at once.
    fn read(&mut self, words: &[OsString], world: &dyn World) -> Option<u8> {
        let mut left = Words::new(RULES, words);
        while let Some(word) = left.next() {
            let (id, suffix) = match word {
                Word::Operand(name) if caseless::eq(name.as_bytes(), b"use") => {
                    match left.value_without_dash() {
                        Some(template) => {
                            self.request.asked.push(Asked::Template(template.as_bytes().into()));
                        }
                        None => {
                            self.output
                                .say("use should be followed by a category or category:option argument");
                            self.request.asked.push(Asked::Template(BString::default()));
                        }
                    }
                    continue;
                }
                Word::Operand(name) => {
                    let name = name.as_bytes();
                    self.request.asked.push(match name.strip_prefix(b"^") {
                        Some(template) if !template.is_empty() => Asked::Template(template.into()),
                        _ => Asked::Name(name.into()),
                    });
                    continue;
                }
                Word::Unknown(word) => return Some(self.invalid(word.as_bytes())),
                Word::Option { id, suffix } => (id, suffix),
            };
            // Two dashes are known to few options only.
            let typed = words.len().checked_sub(left.len() + 1).and_then(|at| words.get(at));
            if let Some(typed) = typed.map(|typed| typed.as_bytes())
                && typed.starts_with(b"--")
                && !LONG.contains(&typed)
            {
                return Some(self.invalid(typed));
            }
            let typed = typed.map(|typed| BString::from(typed.as_bytes())).unwrap_or_default();
            let suffix = suffix.map(|suffix| BString::from(suffix.into_vec()));
            if let ControlFlow::Break(status) = self.option(id, suffix, typed.as_ref(), &mut left) {
                return Some(status);
            }
        }
        self.answer_of_account(world)
    }

    /// What -owner and -tilde answer, and the status.
    fn answer_of_account(&mut self, world: &dyn World) -> Option<u8> {
        if self.owner {
            // Without root's rights the daemons would run as the caller.
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
                    self.output.say("Error: Specified -tilde but can't find condor's home directory");
                    1
                }
            });
        }
        None
    }

    /// One option, which may end the tool with a status.
    fn option(
        &mut self,
        id: Id,
        suffix: Option<BString>,
        typed: &BStr,
        left: &mut Words<'_, Id>,
    ) -> ControlFlow<u8> {
        match id {
            Id::Name => self.daemon.name = Some(value(left, self.output, "name")?),
            Id::Pool => self.daemon.pool = Some(value(left, self.output, "pool")?),
            Id::Address => {
                let address = value(left, self.output, "address")?;
                self.daemon.address = true;
                if !(address.starts_with(b"<") && address.ends_with(b">") && address.contains(&b':')) {
                    self.output.say(format!(
                        "{}: invalid address {address}\nAddress must be of the form \
                         \"<111.222.333.444:555>\n   where 111.222.333.444 is the ip address and 555 is \
                         the port\n   you wish to connect to (the punctuation is important).",
                        self.tool
                    ));
                }
            }
            Id::LocalName => self.request.local_name = value(left, self.output, "local_name")?,
            Id::Subsystem => self.request.subsystem = value(left, self.output, "subsystem")?,
            Id::Owner => self.owner = true,
            Id::Tilde => self.tilde = true,
            Id::Daemon(kind) => {
                self.daemon.asked |= kind == "master";
                self.daemon.kind = Some(kind);
            }
            Id::Change => self.daemon.change = true,
            Id::Ignored => {}
            Id::Raw => self.request.raw = true,
            Id::Default if self.request.verbose => {
                self.output.say("-default cannot be used with -verbose");
                return ControlFlow::Break(self.usage());
            }
            Id::Default => self.request.default = true,
            Id::Config => self.request.sources = true,
            Id::Reconfig => self.request.reconfig = Some(value(left, self.output, "reconfig")?),
            Id::Verbose if self.request.default => {
                self.output.say("-verbose cannot be used with -default");
                return ControlFlow::Break(self.usage());
            }
            Id::Verbose => verbose(&mut self.request, suffix.as_ref().map(|suffix| &suffix[..])),
            Id::Dump => self.request.dump = true,
            Id::Trace => self.request.trace = true,
            Id::Stats => {
                self.request.stats = true;
                let keep = |word: &BString| is_beginning(word, "keep_defaults", 2);
                self.request.keep_defaults |= suffix.as_ref().is_some_and(keep);
            }
            Id::Info => {
                self.request.info = true;
                self.request.verbose = true;
            }
            Id::Expanded => self.request.expanded = true,
            Id::Macro => {
                let path = suffix.as_ref().is_some_and(|word| is_beginning(word, "path", 4));
                self.request.expand_text = Some(self.request.expand_text.unwrap_or(false) || path);
            }
            Id::Used(used) => self.request.used = Some(used),
            Id::Summary if self.request.write.is_some() && !self.summary => {
                self.output.say(format!("{typed} cannot be used with -writeconfig"));
                return ControlFlow::Break(self.usage());
            }
            Id::Summary => {
                let detected = suffix.iter().flat_map(|suffix| options(suffix));
                let detected = detected.filter(|word| is_beginning(word, "detected", 3)).count() > 0;
                self.summary = true;
                self.request.write = Some(("-".into(), Filter { detected, ..Filter::summary() }));
            }
            Id::WriteConfig if self.summary => {
                self.output.say(format!("{typed} cannot be used with -summary"));
                return ControlFlow::Break(self.usage());
            }
            Id::WriteConfig => {
                let file = value(left, self.output, "writeconfig")?;
                self.request.write = Some((file, filter(suffix.as_ref().map(|suffix| &suffix[..]))));
            }
            Id::RootConfig => self.request.root = Some(value(left, self.output, "root-config")?),
            Id::Help => return ControlFlow::Break(self.usage()),
            Id::Version => {
                self.output.out.extend_from_slice(format!("{VERSION_LINE}\n{PLATFORM_LINE}\n").as_bytes());
                return ControlFlow::Break(0);
            }
            Id::CheckIf => self.request.check_if = Some(value(left, self.output, "check-if")?),
        }
        ControlFlow::Continue(())
    }

    fn invalid(&mut self, word: &[u8]) -> u8 {
        self.output.say(format!("{} is not a valid argument", BStr::new(word)));
        self.usage()
    }

    fn usage(&mut self) -> u8 {
        let text = usage(self.tool.as_ref());
        self.output.err.extend_from_slice(text.as_bytes());
        1
    }

    /// Carries the request out, and tells that daemons are not asked where one would be.
    fn answer(&mut self, world: &dyn World) -> u8 {
        let daemon = &self.daemon;
        let other = daemon.kind.is_some_and(|kind| kind != "master");
        let asks = daemon.asked || daemon.name.is_some() || daemon.address || daemon.change || other;
        let mut request = std::mem::take(&mut self.request);
        if self.summary && asks {
            // It would be the daemon's own.
            request.write = None;
        }
        let mut answer = match Answer::load(&request, world, self.output) {
            Ok(answer) => answer,
            Err(code) => return code,
        };
        if let Some(code) = answer.before_daemons(self.output) {
            return code;
        }
        if let Some(name) = &daemon.name {
            let host = name.rsplit(|&b| b == b'@').next().unwrap_or_default();
            self.output.say(format!("{}: unknown host {}", self.tool, BStr::new(host)));
            return 1;
        }
        if daemon.pool.is_some() {
            self.output.say("Error: you must specify -name with -pool");
            return 1;
        }
        if !asks && let Some(code) = answer.whole(self.output) {
            return code;
        }
        let is_query = request.dump || request.stats || self.summary && asks;
        if request.asked.is_empty() && !request.sources && !is_query {
            if request.write.is_some() {
                return 0;
            }
            return self.usage();
        }
        if asks {
            self.output.say(format!(
                "Can't find address for {} 'default' in local pool",
                daemon.kind.unwrap_or("master")
            ));
            self.output.say("Perhaps you need to query another pool.");
            return 1;
        }
        answer.names(self.output)
    }
}

/// The value of an option.
fn value(left: &mut Words<'_, Id>, output: &mut Output, name: &str) -> ControlFlow<u8, BString> {
    let Some(value) = left.value() else {
        output.say(format!("-{name} requires an argument"));
        return ControlFlow::Break(1);
    };
    ControlFlow::Continue(BString::from(value.as_bytes()))
}

/// The words behind a colon, parted by commas and colons.
fn options(suffix: &[u8]) -> impl Iterator<Item = &[u8]> {
    suffix.split(|b| b",:".contains(b)).map(|word| word.trim_ascii()).filter(|word| !word.is_empty())
}

/// Whether a word is a beginning of `name` of at least so many letters.
fn is_beginning(word: &[u8], name: &str, least: usize) -> bool {
    word.len() >= least && name.as_bytes().starts_with(word)
}

fn verbose(request: &mut Request, suffix: Option<&[u8]>) {
    request.verbose = true;
    for word in suffix.into_iter().flat_map(options) {
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
            word if is_beginning(word, "usage", 2) => request.use_counts = true,
            word if is_beginning(word, "type", 2) => typed(None),
            _ => {}
        }
    }
}

fn filter(suffix: Option<&[u8]>) -> Filter {
    let Some(suffix) = suffix else {
        return Filter { matches_default: true, comment_matches: true, ..Filter::default() };
    };
    let mut filter = Filter::default();
    let mut comment = false;
    for word in options(suffix) {
        let is = |name: &str, least: usize| is_beginning(word, name, least);
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
