//! `condor_job_router_info`: its command line, output and statuses (reference: `job_router_info.cpp`).

mod jobs;
mod log;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;

use bstr::{BString, ByteSlice};

use super::configuration;
use crate::classad::format::long;
use crate::classad::{ClassAd, Context};
use crate::cli::common::{Session as Program, Status, stdout};
use crate::cli::compat::{Rule, Word, Words, rule};
use crate::config::{MacroSource, View};
use crate::os::RealWorld;
use crate::quirks::Quirks;
use crate::router::choose::{Umbrella, UmbrellaError};
use crate::router::{
    Choice, Chooser, DEPRECATED, Knobs, Looked, Original, Reading, Rounds, Route, RouteState, RouteTable,
    Subject, TranslateError, Translator, When, forget_routing,
};
use crate::runner::configured_world;
use crate::world::World;
use log::{Log, Steps, routes, table_text};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Id {
    Help,
    Version,
    Debug,
    Diagnostic,
    Config,
    MatchJobs,
    RouteJobs,
    LogSteps,
    IgnorePriorRouting,
    JobAds,
}

const RULES: &[Rule<Id>] = &[
    rule(Id::Help, "help", 1, false),
    rule(Id::Version, "version", 1, false),
    rule(Id::Debug, "debug", 1, true),
    rule(Id::Diagnostic, "diagnostic", 4, true),
    rule(Id::Config, "config", 2, false),
    rule(Id::MatchJobs, "match-jobs", 2, false),
    rule(Id::RouteJobs, "route-jobs", 5, false),
    rule(Id::LogSteps, "log-steps", 2, false),
    rule(Id::IgnorePriorRouting, "ignore-prior-routing", 2, false),
    rule(Id::JobAds, "jobads", 1, false),
];

const USAGE: &str = "Usage: condor_job_router_info [options]
  -config                 print the routes and transforms of the configuration
  -match-jobs             tell which jobs match which route
  -route-jobs <file>      the same, and write the routed ads to a file; - is stdout, -2 is stderr
  -jobads <file>          job ads in the long form; - is stdin
  -ignore-prior-routing   as if no job had been routed before
  -log-steps              tell what each transform does
  -diagnostic[:match]     tell what the router's log would
  -debug                  ignored
  -help, -version
";

#[derive(Default)]
struct Options {
    config: bool,
    match_jobs: bool,
    route_jobs: Option<OsString>,
    log_steps: bool,
    diagnostic: bool,
    debug_umbrella: bool,
    ignore_prior_routing: bool,
    job_files: Vec<OsString>,
}

/// Answers to the name `condor_job_router_info`.
pub fn run(words: &[OsString], program: &Program) -> anyhow::Result<Status> {
    let world = RealWorld::new();
    let config = match configuration::load("TOOL", &world, program) {
        Ok(config) => config,
        Err(status) => return Ok(status),
    };
    // The configuration comes first, whatever is asked.
    let options = match read(words, program) {
        ControlFlow::Continue(options) => options,
        ControlFlow::Break(status) => return Ok(Status::Tool(status)),
    };
    let world = configured_world(world, &config, &mut |_| {});
    let view = config.view(&world);
    let mut log = Log {
        out: Vec::new(),
        loud: options.diagnostic || options.log_steps,
        silent: !options.diagnostic,
        kept: Vec::new(),
    };
    let status = Tool { program, options: &options, world: &world, view: &view }.run(&mut log)?;
    log.flush()?;
    Ok(Status::Tool(status))
}

/// Reads the command line, which may end the tool with a status.
fn read(words: &[OsString], program: &Program) -> ControlFlow<u8, Options> {
    let mut options = Options::default();
    let mut words = Words::new(RULES, words);
    while let Some(word) = words.next() {
        let (id, suffix) = match word {
            Word::Operand(_) => continue,
            Word::Unknown(word) => {
                program.tell(&format!("ERROR: {} is not a valid argument\n", word.to_string_lossy()));
                program.tell(USAGE);
                return ControlFlow::Break(1);
            }
            Word::Option { id, suffix } => (id, suffix),
        };
        let mut value = |name: &str| {
            let next = words.value_without_dash().or_else(|| words.value_among(&["-", "-2"]));
            let Some(next) = next else {
                program.tell(&format!("-{name} requires an argument\n"));
                return ControlFlow::Break(1);
            };
            ControlFlow::Continue(next.clone())
        };
        match id {
            Id::Help => {
                program.tell(USAGE);
                return ControlFlow::Break(0);
            }
            Id::Version => {
                let mut out = stdout();
                let _ = out.write_all(b"$CondorVersion: 25.14.0 htc-hooks $\n$CondorPlatform: x86_64 $\n");
                return ControlFlow::Break(0);
            }
            Id::Debug => {}
            Id::Diagnostic => {
                options.diagnostic = true;
                let suffix = suffix.unwrap_or_default();
                let mut parts = crate::text::list::split(suffix.as_bytes());
                options.debug_umbrella |= parts.any(|part| b"match".starts_with(part));
            }
            Id::Config => options.config = true,
            Id::MatchJobs => options.match_jobs = true,
            Id::RouteJobs => {
                options.match_jobs = true;
                options.route_jobs = Some(value("route-jobs")?);
            }
            Id::LogSteps => options.log_steps = true,
            Id::IgnorePriorRouting => options.ignore_prior_routing = true,
            Id::JobAds => options.job_files.push(value("jobads")?),
        }
    }
    ControlFlow::Continue(options)
}

/// Where routed ads go.
enum Sink {
    Out,
    Err,
    File(File),
}

/// Jobs that get a route, by their ids, with the place of the route.
type Candidates<'j> = BTreeMap<String, (usize, &'j ClassAd)>;

/// A job that is submitted by a route.
struct Submission<'a> {
    translator: &'a Translator<'a>,
    route: &'a Route,
    key: &'a str,
    job: &'a ClassAd,
}

struct Tool<'a> {
    program: &'a Program,
    options: &'a Options,
    world: &'a dyn World,
    view: &'a View<'a>,
}

impl Tool<'_> {
    fn run(&self, log: &mut Log) -> anyhow::Result<u8> {
        let options = self.options;
        let mut complaints = Vec::new();
        let knobs = Knobs::load(self.view, &mut |complaint| complaints.push(complaint));
        let complain = |when: When, log: &mut Log| {
            let now = complaints.iter().filter(|complaint| complaint.when == when);
            now.for_each(|complaint| log.error(complaint.line.as_bytes()));
        };
        complain(When::First, log);
        log.line(b"Following source schedd (SCHEDD1): job_router_info\n");
        log.line(b"Destination schedd (SCHEDD2) not configured, using source schedd as destination also\n");
        complain(When::BeforeRoutes, log);
        let table = self.table(&knobs, log);
        // With routing disabled the router reads no further than its routes.
        if table.enabled {
            complain(When::AfterRoutes, log);
            if knobs.name.is_empty() {
                self.program.tell("ERROR \"JOB_ROUTER_NAME must not be empty\"\n");
                log.flush()?;
                return Ok(4);
            }
            for (way, (name, pool)) in [("to", &knobs.destination_schedd), ("from", &knobs.source_schedd)] {
                if !name.is_empty() {
                    log.line(format!("Routing jobs {way} schedd {name} in pool {pool}\n").as_bytes());
                }
            }
        }
        log.silent = false;
        if !table.enabled {
            for line in std::mem::take(&mut log.kept) {
                self.program.tell(&line.to_str_lossy());
            }
            self.program.tell("JobRouter is disabled.\n");
        }
        if options.config {
            log.print(b"\n\n");
            log.print(&routes(&table));
        }
        let mut jobs = self.jobs()?;
        if options.ignore_prior_routing {
            jobs.iter_mut().for_each(|(_, job)| forget_routing(job));
        }
        let mut status = 0;
        if options.match_jobs {
            log.print(b"\nMatching jobs against routes to find candidate jobs.\n");
            if jobs.is_empty() {
                log.print(b"There are no jobs to match\n");
            } else {
                status = self.route(&table, &knobs, &jobs, log)?;
            }
        }
        if status == 0 && !knobs.deprecated.is_empty() {
            self.warn_of_deprecated(&knobs, log);
        }
        Ok(status)
    }

    /// The routing table, with what the router says of it.
    fn table(&self, knobs: &Knobs, log: &mut Log) -> RouteTable {
        let mut notes = Vec::new();
        let table = RouteTable::load(
            Reading { view: self.view, knobs, world: self.world, quirks: Quirks::Reference },
            &mut |note| notes.push(note),
        );
        for note in notes.iter().filter(|note| !note.text.is_empty()) {
            match note.subject {
                Subject::Complaint(_) | Subject::Error => log.error(&note.text),
                _ => log.line(&note.text),
            }
        }
        table
    }

    fn warn_of_deprecated(&self, knobs: &Knobs, log: &mut Log) {
        for name in DEPRECATED {
            let _ = self.view.string(name);
        }
        self.view.take_messages().iter().for_each(|message| log.error(format!("{message}\n").as_bytes()));
        let text = format!(
            "\nWARNING: {} are no longer supported. New configuration syntax for the job router is defined using \
             JOB_ROUTER_ROUTE_NAMES and JOB_ROUTER_ROUTE_<name>.\n",
            knobs.deprecated.join(", ")
        );
        log.print(text.as_bytes());
    }

    fn route(
        &self,
        table: &RouteTable,
        knobs: &Knobs,
        jobs: &[(String, ClassAd)],
        log: &mut Log,
    ) -> anyhow::Result<u8> {
        let candidates = match table.enabled {
            true => match self.find((table, knobs), jobs, log)? {
                Ok(candidates) => candidates,
                Err(status) => return Ok(status),
            },
            false => BTreeMap::new(),
        };
        let Some(file) = &self.options.route_jobs else { return Ok(0) };
        let mut sink = match file.as_bytes() {
            [b'-', b'2', ..] => Sink::Err,
            [b'-', ..] => Sink::Out,
            _ => match File::create(file) {
                Ok(file) => Sink::File(file),
                Err(_) => {
                    self.program.tell(&format!("could not open {}\n", file.to_string_lossy()));
                    return Ok(1);
                }
            },
        };
        let config: &dyn MacroSource = self.view;
        let translator =
            Translator { table, knobs, config: Some(config), world: self.world, quirks: Quirks::Reference };
        for (key, (at, job)) in candidates {
            let submission = Submission { translator: &translator, route: &table.routes[at], key: &key, job };
            if !self.submit(&submission, log, &mut sink)? {
                return Ok(4);
            }
        }
        Ok(0)
    }

    /// The umbrella constraint, told in the log; none where no route accepts jobs.
    fn umbrella(
        &self,
        chooser: &Chooser<'_>,
        states: &[RouteState],
        log: &mut Log,
    ) -> anyhow::Result<Result<Option<Umbrella>, u8>> {
        let umbrella = chooser.umbrella(states);
        let text = match &umbrella {
            Ok(Some(Umbrella { text, .. })) | Err(UmbrellaError(text)) => text.clone(),
            Ok(None) => {
                log.line(b"JobRouter: no routes can accept more jobs at the moment.\n");
                return Ok(Ok(None));
            }
        };
        let text = match self.options.debug_umbrella {
            true => [b"debug(", &text[..], b")"].concat(),
            false => text.into(),
        };
        log.line(&[b"JobRouter: Umbrella constraint: ", &text[..], b"\n"].concat());
        if umbrella.is_err() {
            log.flush()?;
            let error = UmbrellaError(text.into());
            self.program.tell(&format!("ERROR \"JobRouter: {error}\"\n"));
        }
        Ok(umbrella.map_err(|_| 4))
    }

    /// Finds a route for each job; the inner error is the status of an abort.
    fn find<'j>(
        &self,
        (table, knobs): (&RouteTable, &Knobs),
        jobs: &'j [(String, ClassAd)],
        log: &mut Log,
    ) -> anyhow::Result<Result<Candidates<'j>, u8>> {
        let mut states = vec![RouteState::new(0); table.routes.len()];
        let mut candidates = BTreeMap::new();
        log.line(&table_text(table, &states));
        if knobs.max_jobs == 0 {
            return Ok(Ok(candidates));
        }
        let mut chooser = Chooser::new(table, knobs, None, self.world);
        let umbrella = match self.umbrella(&chooser, &states, log)? {
            Ok(Some(umbrella)) => umbrella,
            Ok(None) => return Ok(Ok(candidates)),
            Err(status) => return Ok(Err(status)),
        };
        let mut turn = 0;
        for (key, job) in jobs {
            let is_full = knobs.max_jobs >= 0 && candidates.len() as i64 >= knobs.max_jobs;
            let rounds = Rounds { states: &mut states, turn: &mut turn };
            let choice = chooser
                .choose_logged(&umbrella, job, rounds, &mut |event| tell_looked(&event, (key, is_full), log));
            let skips = "Skipping further searches for candidate jobs.";
            let text = match choice {
                Choice::NotCandidate => continue,
                Choice::Stopped => format!("Reached maximum managed jobs ({}).  {skips}", knobs.max_jobs),
                Choice::AllFull => {
                    format!("all routes are full ({} managed jobs).  {skips}", candidates.len())
                }
                Choice::NoRoute => format!("no route found for src={key}"),
                Choice::Route(at) => {
                    candidates.insert(key.clone(), (at, job));
                    format!("Found candidate job src={key},route={}", table.routes[at].name)
                }
            };
            log.line(format!("JobRouter: {text}\n").as_bytes());
            match choice {
                Choice::Stopped => return Ok(Ok(candidates)),
                Choice::AllFull => break,
                _ => {}
            }
        }
        log.line(format!("JobRouter: {} candidate jobs found\n", candidates.len()).as_bytes());
        Ok(Ok(candidates))
    }

    /// Claims, translates and submits one job; false when the daemon would abort.
    fn submit(&self, submission: &Submission<'_>, log: &mut Log, sink: &mut Sink) -> anyhow::Result<bool> {
        let Submission { translator, route, key, job } = *submission;
        let description = format!("src={key},route={}", route.name);
        let mut source = job.clone();
        let in_place = route.edit_job_in_place.truth(job, self.world);
        let sandboxed = route.job_should_be_sandboxed.truth(job, self.world);
        if !in_place {
            source.set("Managed", "External");
            source.set("ManagedManager", translator.knobs.name.clone());
            log.line(format!("JobRouter ({description}): claimed job\n").as_bytes());
        }
        let mut ad = source.clone();
        let mut steps = Steps {
            log,
            steps: self.options.log_steps,
            complaint: String::new(),
            lines: Vec::new(),
            program: self.program,
        };
        let made = match in_place {
            true => translator.apply(route, &mut ad, &mut steps),
            false => translator.copy(route, &Original { ad: &source, key, sandboxed }, &mut ad, &mut steps),
        };
        if let Err(error) = made {
            return self.not_routed(&error, &description, route, log);
        }
        if in_place {
            log.line(format!("JobRouter ({description}): Done editing job.\n").as_bytes());
            return Ok(true);
        }
        let Ok(lent) = lend(route.lent_proxy(&source, self.world), (key, &description), log) else {
            return Ok(true);
        };
        let context = Context::new(self.world).my(&source);
        let Some(owner) = context.string("Owner") else { return Ok(true) };
        let domain = context.string("NTDomain").unwrap_or_default();
        let label = translator.knobs.destination_label();
        let spooled = if sandboxed { " (sandboxed)" } else { "" };
        log.print(format!("submit_job as {owner}@{domain} to {label}{spooled}:\n").as_bytes());
        self.write(&ad, log, sink)?;
        if let Some(copy) = lent {
            let _ = std::fs::remove_file(copy.to_path_lossy());
        }
        let text = format!("JobRouter (src={key},dest=-1.-1,route={}): submitted job\n", route.name);
        log.line(text.as_bytes());
        Ok(true)
    }

    /// Tells why there is no copy of a job; false when the daemon would abort.
    fn not_routed(
        &self,
        error: &TranslateError,
        description: &str,
        route: &Route,
        log: &mut Log,
    ) -> anyhow::Result<bool> {
        let text = error.reference_text(description, route.name.as_bstr());
        if matches!(error, TranslateError::NoUniverse) {
            log.flush()?;
            self.program.tell(&format!("ERROR \"{text}\"\n"));
            return Ok(false);
        }
        log.line(format!("{text}\n").as_bytes());
        if matches!(error, TranslateError::Transform { .. }) {
            let what = "failed to apply route ClassAd modifications to target ad";
            log.line(format!("JobRouter failure ({description}): {what}.\n").as_bytes());
        }
        Ok(true)
    }

    /// Writes a routed ad where `-route-jobs` wants it.
    fn write(&self, ad: &ClassAd, log: &mut Log, sink: &mut Sink) -> io::Result<()> {
        let mut text = long::print(ad);
        text.push(b'\n');
        match sink {
            Sink::Out => log.print(&text),
            Sink::Err => self.program.tell(&text.to_str_lossy()),
            Sink::File(file) => file.write_all(&text)?,
        }
        Ok(())
    }
}

/// Tells what was seen on the way to a route; false when no more jobs are wanted.
fn tell_looked(event: &Looked<'_>, (key, is_full): (&str, bool), log: &mut Log) -> bool {
    match event {
        Looked::Candidate if is_full => return false,
        Looked::Candidate => {
            log.line(format!("JobRouter: Checking Job src={key} against all routes\n").as_bytes());
        }
        Looked::Match(name) => log.line(&[b"JobRouter: \tRoute Matches: ", *name, b"\n"].concat()),
    }
    true
}

/// Makes a copy of a proxy that a job is lent, and tells why it cannot be made.
fn lend(
    file: Option<BString>,
    (key, description): (&str, &str),
    log: &mut Log,
) -> Result<Option<BString>, ()> {
    let Some(file) = file else { return Ok(None) };
    let copy = BString::from(format!("{file}.{key}"));
    let Err(error) = std::fs::copy(file.to_path_lossy(), copy.to_path_lossy()) else {
        return Ok(Some(copy));
    };
    let number = error.raw_os_error().unwrap_or(0);
    log.line(format!("stat({file}) failed with errno {number}\n").as_bytes());
    let text = format!("JobRouter failure ({description}): failed to copy {file} to {copy}.\n");
    log.line(text.as_bytes());
    Err(())
}
