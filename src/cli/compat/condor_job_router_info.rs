//! `condor_job_router_info`: command line, output and exit statuses of the tool (reference: `job_router_info.cpp`).

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
use crate::cli::common::{ProgramContext, Status, stdout};
use crate::cli::compat::{CommandWord, CommandWords, OptionRule, option_rule};
use crate::config::{ConfigView, MacroSource};
use crate::os::RealWorld;
use crate::quirks::QuirkMode;
use crate::router::route_choice::{UmbrellaConstraint, UmbrellaError};
use crate::router::{
    ChoiceEvent, DEPRECATED_PARAMETERS, NoteSubject, ParameterReadTime, Route, RouteChoice, RouteChooser,
    RouteLoadContext, RouteState, RouteTable, RouterParameters, RoutingState, SourceJob, TranslateError,
    Translator, forget_routing,
};
use crate::runner::configured_world;
use crate::world::World;
use log::{DaemonLog, StepLogger, routes_text, table_text};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RouterInfoOption {
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

const OPTION_RULES: &[OptionRule<RouterInfoOption>] = &[
    option_rule(RouterInfoOption::Help, "help", 1, false),
    option_rule(RouterInfoOption::Version, "version", 1, false),
    option_rule(RouterInfoOption::Debug, "debug", 1, true),
    option_rule(RouterInfoOption::Diagnostic, "diagnostic", 4, true),
    option_rule(RouterInfoOption::Config, "config", 2, false),
    option_rule(RouterInfoOption::MatchJobs, "match-jobs", 2, false),
    option_rule(RouterInfoOption::RouteJobs, "route-jobs", 5, false),
    option_rule(RouterInfoOption::LogSteps, "log-steps", 2, false),
    option_rule(RouterInfoOption::IgnorePriorRouting, "ignore-prior-routing", 2, false),
    option_rule(RouterInfoOption::JobAds, "jobads", 1, false),
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
struct RouterInfoOptions {
    config: bool,
    match_jobs: bool,
    route_jobs: Option<OsString>,
    log_steps: bool,
    diagnostic: bool,
    debug_umbrella: bool,
    ignore_prior_routing: bool,
    job_files: Vec<OsString>,
}

/// Runs the program under the name `condor_job_router_info`.
pub fn run(words: &[OsString], program: &ProgramContext) -> anyhow::Result<Status> {
    let world = RealWorld::new();
    let config = match configuration::load("TOOL", &world, program) {
        Ok(config) => config,
        Err(status) => return Ok(status),
    };
    // The configuration is read before the options, even if the tool then only prints its help.
    let options = match parse_options(words, program) {
        ControlFlow::Continue(options) => options,
        ControlFlow::Break(status) => return Ok(Status::Tool(status)),
    };
    let world = configured_world(world, &config, &mut |_| {});
    let view = config.view(&world);
    let mut log = DaemonLog {
        out: Vec::new(),
        loud: options.diagnostic || options.log_steps,
        silent: !options.diagnostic,
        kept_lines: Vec::new(),
    };
    let status = RouterInfoTool { program, options: &options, world: &world, view: &view }.run(&mut log)?;
    log.flush()?;
    Ok(Status::Tool(status))
}

/// Parses the command line; breaks with the exit status if the tool ends at once.
fn parse_options(words: &[OsString], program: &ProgramContext) -> ControlFlow<u8, RouterInfoOptions> {
    let mut options = RouterInfoOptions::default();
    let mut words = CommandWords::new(OPTION_RULES, words);
    while let Some(word) = words.next() {
        let (id, suffix) = match word {
            CommandWord::Operand(_) => continue,
            CommandWord::Unknown(word) => {
                program.write_stderr(&format!("ERROR: {} is not a valid argument\n", word.to_string_lossy()));
                program.write_stderr(USAGE);
                return ControlFlow::Break(1);
            }
            CommandWord::Option { id, suffix } => (id, suffix),
        };
        let mut value = |name: &str| {
            let next = words.next_value_without_dash().or_else(|| words.next_value_among(&["-", "-2"]));
            let Some(next) = next else {
                program.write_stderr(&format!("-{name} requires an argument\n"));
                return ControlFlow::Break(1);
            };
            ControlFlow::Continue(next.clone())
        };
        match id {
            RouterInfoOption::Help => {
                program.write_stderr(USAGE);
                return ControlFlow::Break(0);
            }
            RouterInfoOption::Version => {
                let mut out = stdout();
                let _ = out.write_all(b"$CondorVersion: 25.14.0 htc-hooks $\n$CondorPlatform: x86_64 $\n");
                return ControlFlow::Break(0);
            }
            RouterInfoOption::Debug => {}
            RouterInfoOption::Diagnostic => {
                options.diagnostic = true;
                let suffix = suffix.unwrap_or_default();
                let mut parts = crate::text::list::split(suffix.as_bytes());
                options.debug_umbrella |= parts.any(|part| b"match".starts_with(part));
            }
            RouterInfoOption::Config => options.config = true,
            RouterInfoOption::MatchJobs => options.match_jobs = true,
            RouterInfoOption::RouteJobs => {
                options.match_jobs = true;
                options.route_jobs = Some(value("route-jobs")?);
            }
            RouterInfoOption::LogSteps => options.log_steps = true,
            RouterInfoOption::IgnorePriorRouting => options.ignore_prior_routing = true,
            RouterInfoOption::JobAds => options.job_files.push(value("jobads")?),
        }
    }
    ControlFlow::Continue(options)
}

/// Target to which routed ads are written (`-route-jobs`).
enum RoutedAdTarget {
    Out,
    Err,
    File(File),
}

/// Exit status of the daemon when it aborts (`EXCEPT`).
const ABORT_STATUS: u8 = 4;

/// Result of building the umbrella constraint of all routes.
enum UmbrellaResult {
    Built(UmbrellaConstraint),
    /// No route accepts jobs.
    NoRoute,
    /// The router aborts, after logging the reason.
    Abort,
}

/// Jobs that get a route, by id. Each has the index of its route.
type CandidateJobs<'j> = BTreeMap<String, (usize, &'j ClassAd)>;

/// Job to submit, and its route.
struct JobSubmission<'a> {
    translator: &'a Translator<'a>,
    route: &'a Route,
    key: &'a str,
    job: &'a ClassAd,
}

struct RouterInfoTool<'a> {
    program: &'a ProgramContext,
    options: &'a RouterInfoOptions,
    world: &'a dyn World,
    view: &'a ConfigView<'a>,
}

impl RouterInfoTool<'_> {
    fn run(&self, log: &mut DaemonLog) -> anyhow::Result<u8> {
        let options = self.options;
        let mut complaints = Vec::new();
        let parameters = RouterParameters::load(self.view, &mut |complaint| complaints.push(complaint));
        let complain = |when: ParameterReadTime, log: &mut DaemonLog| {
            let now = complaints.iter().filter(|complaint| complaint.read_time == when);
            now.for_each(|complaint| log.write_error(complaint.log_line.as_bytes()));
        };
        complain(ParameterReadTime::AtStart, log);
        log.write_line(b"Following source schedd (SCHEDD1): job_router_info\n");
        log.write_line(
            b"Destination schedd (SCHEDD2) not configured, using source schedd as destination also\n",
        );
        complain(ParameterReadTime::BeforeRoutes, log);
        let table = self.load_table(&parameters, log);
        // If routing is disabled, the router reads the routes and does nothing else.
        if table.enabled {
            complain(ParameterReadTime::AfterRoutes, log);
            if parameters.name.is_empty() {
                self.program.write_stderr("ERROR \"JOB_ROUTER_NAME must not be empty\"\n");
                log.flush()?;
                return Ok(ABORT_STATUS);
            }
            for (way, (name, pool)) in
                [("to", &parameters.destination_schedd), ("from", &parameters.source_schedd)]
            {
                if !name.is_empty() {
                    log.write_line(format!("Routing jobs {way} schedd {name} in pool {pool}\n").as_bytes());
                }
            }
        }
        log.silent = false;
        if !table.enabled {
            for line in std::mem::take(&mut log.kept_lines) {
                self.program.write_stderr(&line.to_str_lossy());
            }
            self.program.write_stderr("JobRouter is disabled.\n");
        }
        if options.config {
            log.print(b"\n\n");
            log.print(&routes_text(&table));
        }
        let mut jobs = self.read_jobs()?;
        if options.ignore_prior_routing {
            jobs.iter_mut().for_each(|(_, job)| forget_routing(job));
        }
        let mut status = 0;
        if options.match_jobs {
            log.print(b"\nMatching jobs against routes to find candidate jobs.\n");
            if jobs.is_empty() {
                log.print(b"There are no jobs to match\n");
            } else {
                status = self.route_jobs(&table, &parameters, &jobs, log)?;
            }
        }
        if status == 0 && !parameters.deprecated_parameters.is_empty() {
            self.warn_of_deprecated(&parameters, log);
        }
        Ok(status)
    }

    /// Returns the routing table, and logs the messages that the router logs about it.
    fn load_table(&self, parameters: &RouterParameters, log: &mut DaemonLog) -> RouteTable {
        let mut notes = Vec::new();
        let table = RouteTable::load(
            RouteLoadContext { view: self.view, parameters, world: self.world, quirks: QuirkMode::Reference },
            &mut |note| notes.push(note),
        );
        for note in notes.iter().filter(|note| !note.text.is_empty()) {
            match note.subject {
                NoteSubject::InvalidValue(_) | NoteSubject::InvalidMacro(_) | NoteSubject::Error => {
                    log.write_error(&note.text)
                }
                _ => log.write_line(&note.text),
            }
        }
        table
    }

    fn warn_of_deprecated(&self, parameters: &RouterParameters, log: &mut DaemonLog) {
        for name in DEPRECATED_PARAMETERS {
            let _ = self.view.string(name);
        }
        self.view
            .take_messages()
            .iter()
            .for_each(|message| log.write_error(format!("{message}\n").as_bytes()));
        let text = format!(
            "\nWARNING: {} are no longer supported. New configuration syntax for the job router is defined using \
             JOB_ROUTER_ROUTE_NAMES and JOB_ROUTER_ROUTE_<name>.\n",
            parameters.deprecated_parameters.join(", ")
        );
        log.print(text.as_bytes());
    }

    fn route_jobs(
        &self,
        table: &RouteTable,
        parameters: &RouterParameters,
        jobs: &[(String, ClassAd)],
        log: &mut DaemonLog,
    ) -> anyhow::Result<u8> {
        let candidates = match table.enabled {
            true => match self.find_routes(table, parameters, jobs, log)? {
                Some(candidates) => candidates,
                None => return Ok(ABORT_STATUS),
            },
            false => BTreeMap::new(),
        };
        let Some(file) = &self.options.route_jobs else { return Ok(0) };
        let mut sink = match file.as_bytes() {
            [b'-', b'2', ..] => RoutedAdTarget::Err,
            [b'-', ..] => RoutedAdTarget::Out,
            _ => match File::create(file) {
                Ok(file) => RoutedAdTarget::File(file),
                Err(_) => {
                    self.program.write_stderr(&format!("could not open {}\n", file.to_string_lossy()));
                    return Ok(1);
                }
            },
        };
        let config: &dyn MacroSource = self.view;
        let translator = Translator {
            table,
            parameters,
            config: Some(config),
            world: self.world,
            quirks: QuirkMode::Reference,
        };
        for (key, (at, job)) in candidates {
            let submission =
                JobSubmission { translator: &translator, route: &table.routes[at], key: &key, job };
            if !self.submit(&submission, log, &mut sink)? {
                return Ok(ABORT_STATUS);
            }
        }
        Ok(0)
    }

    /// Builds the umbrella constraint of all routes, and logs it.
    fn make_umbrella(
        &self,
        chooser: &RouteChooser<'_>,
        states: &[RouteState],
        log: &mut DaemonLog,
    ) -> anyhow::Result<UmbrellaResult> {
        let umbrella = chooser.build_umbrella(states);
        let text = match &umbrella {
            Ok(Some(UmbrellaConstraint { text, .. })) | Err(UmbrellaError(text)) => text.clone(),
            Ok(None) => {
                log.write_line(b"JobRouter: no routes can accept more jobs at the moment.\n");
                return Ok(UmbrellaResult::NoRoute);
            }
        };
        let text = match self.options.debug_umbrella {
            true => [b"debug(", &text[..], b")"].concat(),
            false => text.into(),
        };
        log.write_line(&[b"JobRouter: Umbrella constraint: ", &text[..], b"\n"].concat());
        if umbrella.is_err() {
            log.flush()?;
            let error = UmbrellaError(text.into());
            self.program.write_stderr(&format!("ERROR \"JobRouter: {error}\"\n"));
        }
        Ok(match umbrella {
            Ok(Some(umbrella)) => UmbrellaResult::Built(umbrella),
            Ok(None) => UmbrellaResult::NoRoute,
            Err(_) => UmbrellaResult::Abort,
        })
    }

    /// Finds a route for each job. Returns `None` if the router aborts.
    fn find_routes<'j>(
        &self,
        table: &RouteTable,
        parameters: &RouterParameters,
        jobs: &'j [(String, ClassAd)],
        log: &mut DaemonLog,
    ) -> anyhow::Result<Option<CandidateJobs<'j>>> {
        let mut states = vec![RouteState::new(0); table.routes.len()];
        let mut candidates = BTreeMap::new();
        log.write_line(&table_text(table, &states));
        if parameters.max_jobs == 0 {
            return Ok(Some(candidates));
        }
        let mut chooser = RouteChooser::new(table, parameters, None, self.world);
        let umbrella = match self.make_umbrella(&chooser, &states, log)? {
            UmbrellaResult::Built(umbrella) => umbrella,
            UmbrellaResult::NoRoute => return Ok(Some(candidates)),
            UmbrellaResult::Abort => return Ok(None),
        };
        let mut turn = 0;
        for (key, job) in jobs {
            let is_full = parameters.max_jobs >= 0 && candidates.len() as i64 >= parameters.max_jobs;
            let rounds = RoutingState { route_states: &mut states, choices_made: &mut turn };
            let choice = chooser.choose_with_events(&umbrella, job, rounds, &mut |event| {
                log_search_event(&event, key, is_full, log)
            });
            let skips = "Skipping further searches for candidate jobs.";
            let text = match choice {
                RouteChoice::NotCandidate => continue,
                RouteChoice::Stopped => {
                    format!("Reached maximum managed jobs ({}).  {skips}", parameters.max_jobs)
                }
                RouteChoice::AllFull => {
                    format!("all routes are full ({} managed jobs).  {skips}", candidates.len())
                }
                RouteChoice::NoRoute => format!("no route found for src={key}"),
                RouteChoice::Route(at) => {
                    candidates.insert(key.clone(), (at, job));
                    format!("Found candidate job src={key},route={}", table.routes[at].name)
                }
            };
            log.write_line(format!("JobRouter: {text}\n").as_bytes());
            match choice {
                RouteChoice::Stopped => return Ok(Some(candidates)),
                RouteChoice::AllFull => break,
                _ => {}
            }
        }
        log.write_line(format!("JobRouter: {} candidate jobs found\n", candidates.len()).as_bytes());
        Ok(Some(candidates))
    }

    /// Claims, transforms and submits one job. Returns false if the daemon would abort.
    fn submit(
        &self,
        submission: &JobSubmission<'_>,
        log: &mut DaemonLog,
        sink: &mut RoutedAdTarget,
    ) -> anyhow::Result<bool> {
        let JobSubmission { translator, route, key, job } = *submission;
        let description = format!("src={key},route={}", route.name);
        let mut source = job.clone();
        let in_place = route.edit_job_in_place.is_true(job, self.world);
        let sandboxed = route.job_should_be_sandboxed.is_true(job, self.world);
        if !in_place {
            source.set("Managed", "External");
            source.set("ManagedManager", translator.parameters.name.clone());
            log.write_line(format!("JobRouter ({description}): claimed job\n").as_bytes());
        }
        let mut ad = source.clone();
        let mut steps = StepLogger {
            log,
            steps: self.options.log_steps,
            complaint: String::new(),
            lines: Vec::new(),
            program: self.program,
        };
        let result = match in_place {
            true => translator.apply_transforms(route, &mut ad, &mut steps),
            false => translator.make_copy(
                route,
                &SourceJob { ad: &source, id: key, is_sandboxed: sandboxed },
                &mut ad,
                &mut steps,
            ),
        };
        if let Err(error) = result {
            return self.report_not_routed(&error, &description, route, log);
        }
        if in_place {
            log.write_line(format!("JobRouter ({description}): Done editing job.\n").as_bytes());
            return Ok(true);
        }
        let Ok(lent) = copy_lent_proxy(route.lent_proxy(&source, self.world), key, &description, log) else {
            return Ok(true);
        };
        let context = Context::new(self.world).my(&source);
        let Some(owner) = context.string("Owner") else { return Ok(true) };
        let domain = context.string("NTDomain").unwrap_or_default();
        let label = translator.parameters.destination_label();
        let spooled = if sandboxed { " (sandboxed)" } else { "" };
        log.print(format!("submit_job as {owner}@{domain} to {label}{spooled}:\n").as_bytes());
        self.write_ad(&ad, log, sink)?;
        if let Some(copy) = lent {
            let _ = std::fs::remove_file(copy.to_path_lossy());
        }
        let text = format!("JobRouter (src={key},dest=-1.-1,route={}): submitted job\n", route.name);
        log.write_line(text.as_bytes());
        Ok(true)
    }

    /// Logs why a job was not copied. Returns false if the daemon would abort.
    fn report_not_routed(
        &self,
        error: &TranslateError,
        description: &str,
        route: &Route,
        log: &mut DaemonLog,
    ) -> anyhow::Result<bool> {
        let text = error.reference_text(description, route.name.as_bstr());
        if matches!(error, TranslateError::NoUniverse) {
            log.flush()?;
            self.program.write_stderr(&format!("ERROR \"{text}\"\n"));
            return Ok(false);
        }
        log.write_line(format!("{text}\n").as_bytes());
        if matches!(error, TranslateError::Transform { .. }) {
            let what = "failed to apply route ClassAd modifications to target ad";
            log.write_line(format!("JobRouter failure ({description}): {what}.\n").as_bytes());
        }
        Ok(true)
    }

    /// Writes a routed ad to its target (`-route-jobs`).
    fn write_ad(&self, ad: &ClassAd, log: &mut DaemonLog, sink: &mut RoutedAdTarget) -> io::Result<()> {
        let mut text = long::print(ad);
        text.push(b'\n');
        match sink {
            RoutedAdTarget::Out => log.print(&text),
            RoutedAdTarget::Err => self.program.write_stderr(&text.to_str_lossy()),
            RoutedAdTarget::File(file) => file.write_all(&text)?,
        }
        Ok(())
    }
}

/// Logs a step of the search for a route. Returns false if the router accepts no more jobs.
fn log_search_event(event: &ChoiceEvent<'_>, key: &str, is_full: bool, log: &mut DaemonLog) -> bool {
    match event {
        ChoiceEvent::Candidate if is_full => return false,
        ChoiceEvent::Candidate => {
            log.write_line(format!("JobRouter: Checking Job src={key} against all routes\n").as_bytes());
        }
        ChoiceEvent::Match(name) => log.write_line(&[b"JobRouter: \tRoute Matches: ", *name, b"\n"].concat()),
    }
    true
}

/// Copies the proxy that a route lends to a job. A failure is logged.
fn copy_lent_proxy(
    file: Option<BString>,
    key: &str,
    description: &str,
    log: &mut DaemonLog,
) -> Result<Option<BString>, ()> {
    let Some(file) = file else { return Ok(None) };
    let copy = BString::from(format!("{file}.{key}"));
    let Err(error) = std::fs::copy(file.to_path_lossy(), copy.to_path_lossy()) else {
        return Ok(Some(copy));
    };
    let number = error.raw_os_error().unwrap_or(0);
    log.write_line(format!("stat({file}) failed with errno {number}\n").as_bytes());
    let text = format!("JobRouter failure ({description}): failed to copy {file} to {copy}.\n");
    log.write_line(text.as_bytes());
    Err(())
}
