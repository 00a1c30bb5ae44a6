//! `condor_job_router_info`: its command line, output and statuses (reference: `job_router_info.cpp`; router.md 12).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;

use bstr::{BString, ByteSlice};
use rustc_hash::FxHashMap;

use crate::classad::format::long;
use crate::classad::{ClassAd, Context};
use crate::cli::common::{Session as Program, Status};
use crate::cli::compat::{Least, Rule, Word, Words};
use crate::config::{Config, LoadOptions, MacroSource, View, Who};
use crate::os::RealWorld;
use crate::quirks::Quirks;
use crate::router::translate::{Part, Stage, Watcher};
use crate::router::{
    Choice, Chooser, Knobs, Looked, Route, RouteState, RouteTable, Translator, limits, route,
};
use crate::transform::{Event, Keyword, Line, Observer, ProblemKind, Transform};
use crate::world::World;

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

const fn rule(id: Id, name: &'static str, letters: usize, suffix: bool) -> Rule<Id> {
    Rule { id, name, least: Least::Letters(letters), suffix }
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

/// Lines longer than this get an empty one in front.
const LONG_LINE: usize = 150;

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
    let options = match read(words, program) {
        Ok(options) => options,
        Err(status) => return Ok(Status::Tool(status)),
    };
    let world = RealWorld::new();
    let who = Who { subsystem: "TOOL".into(), ..Who::default() };
    let config = match Config::load(&world, &who, &LoadOptions::default()) {
        Ok((config, _)) => config,
        Err(error) => {
            program.report(&anyhow::Error::new(error));
            return Ok(Status::Tool(1));
        }
    };
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

fn read(words: &[OsString], program: &Program) -> Result<Options, u8> {
    let mut options = Options::default();
    let mut words = Words::new(RULES, words);
    while let Some(word) = words.next() {
        let (id, suffix) = match word {
            Word::Operand(_) => continue,
            Word::Unknown(word) => {
                program.tell(&format!("ERROR: {} is not a valid argument\n", word.to_string_lossy()));
                program.tell(USAGE);
                return Err(1);
            }
            Word::Option { id, suffix } => (id, suffix),
        };
        let mut value = |name: &str| {
            let next = words.value_without_dash().or_else(|| words.value_among(&["-", "-2"]));
            next.cloned().ok_or_else(|| {
                program.tell(&format!("-{name} requires an argument\n"));
                1u8
            })
        };
        match id {
            Id::Help => {
                program.tell(USAGE);
                return Err(0);
            }
            Id::Version => {
                let mut out = io::stdout();
                let _ = out.write_all(b"$CondorVersion: 25.14.0 htc-hooks $\n$CondorPlatform: x86_64 $\n");
                return Err(0);
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
    Ok(options)
}

/// What the daemon would log, on standard output.
struct Log {
    out: Vec<u8>,
    /// Whether anything of the log is shown at all.
    loud: bool,
    /// Lines are kept back while the configuration is read.
    silent: bool,
    kept: Vec<BString>,
}

impl Log {
    fn line(&mut self, text: &[u8]) {
        if !self.loud {
            return;
        }
        if self.silent {
            self.kept.push(text.into());
            return;
        }
        let mut text = text;
        if let Some(rest) = text.strip_prefix(b"JobRouter") {
            text = rest.strip_prefix(b":").unwrap_or(rest);
            text = text.strip_prefix(b" ").unwrap_or(text);
        }
        if text.len() > LONG_LINE {
            self.out.push(b'\n');
        }
        self.out.extend_from_slice(text);
    }

    fn print(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().write_all(&std::mem::take(&mut self.out))
    }
}

/// Where routed ads go.
enum Sink {
    Out,
    Err,
    File(File),
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
        let knobs = Knobs::load(self.view, &mut |_| {});
        log.line(b"Following source schedd (SCHEDD1): job_router_info\n");
        log.line(b"Destination schedd (SCHEDD2) not configured, using source schedd as destination also\n");
        let mut notes = Vec::new();
        let table =
            RouteTable::load(self.view, &knobs, self.world, Quirks::Reference, &mut |note| notes.push(note));
        notes.iter().filter(|note| !note.text.is_empty()).for_each(|note| log.line(&note.text));
        if knobs.name.is_empty() {
            self.program.tell("ERROR \"JOB_ROUTER_NAME must not be empty\"\n");
            log.flush()?;
            return Ok(4);
        }
        if table.enabled {
            let (name, pool) = &knobs.destination_schedd;
            if !name.is_empty() {
                log.line(format!("Routing jobs to schedd {name} in pool {pool}\n").as_bytes());
            }
            let (name, pool) = &knobs.source_schedd;
            if !name.is_empty() {
                log.line(format!("Routing jobs from schedd {name} in pool {pool}\n").as_bytes());
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
            for (_, job) in &mut jobs {
                for name in ["Managed", "RoutedBy", "StageInStart", "StageInFinish"] {
                    job.remove(name);
                }
                job.set("JobStatus", 1);
            }
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
            let text = format!(
                "\nWARNING: {} are no longer supported. New configuration syntax for the job router is defined using \
                 JOB_ROUTER_ROUTE_NAMES and JOB_ROUTER_ROUTE_<name>.\n",
                knobs.deprecated.join(", ")
            );
            log.print(text.as_bytes());
        }
        Ok(status)
    }

    /// The ads of all files, the first of each id.
    fn jobs(&self) -> io::Result<Vec<(String, ClassAd)>> {
        let mut jobs: Vec<(String, ClassAd)> = Vec::new();
        let mut places: FxHashMap<String, usize> = FxHashMap::default();
        for file in &self.options.job_files {
            let input: Box<dyn Read> = if file == "-" {
                Box::new(io::stdin())
            } else {
                match File::open(file) {
                    Ok(file) => Box::new(file),
                    Err(_) => {
                        let text = format!("Can't open file of job ads: {}\n", file.to_string_lossy());
                        self.program.tell(&text);
                        continue;
                    }
                }
            };
            let mut reader = BufReader::new(input);
            let mut end = false;
            while !end {
                let ad;
                (ad, end) = next_ad(&mut reader)?;
                if ad.is_empty() {
                    continue;
                }
                let context = Context::new(self.world).my(&ad);
                let (Some(cluster), Some(proc)) = (context.int("ClusterId"), context.int("ProcId")) else {
                    self.program
                        .tell("Skipping ad because it doesn't have a ClusterId and/or ProcId attribute\n");
                    continue;
                };
                let key = format!("{}.{}", cluster as i32, proc as i32);
                match places.get(&key) {
                    Some(&at) => jobs[at].1 = ad,
                    None => {
                        places.insert(key.clone(), jobs.len());
                        jobs.push((key, ad));
                    }
                }
            }
        }
        Ok(jobs)
    }

    fn route(
        &self,
        table: &RouteTable,
        knobs: &Knobs,
        jobs: &[(String, ClassAd)],
        log: &mut Log,
    ) -> anyhow::Result<u8> {
        let mut states = vec![RouteState::new(0); table.routes.len()];
        let mut candidates = BTreeMap::new();
        if table.enabled {
            log.line(&table_text(table, &states));
            if let Err(status) = self.find(table, knobs, jobs, &mut states, &mut candidates, log)? {
                return Ok(status);
            }
        }
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
            let route = &table.routes[at];
            match self.submit(&translator, route, &key, job, log, &mut sink)? {
                true => {}
                false => return Ok(4),
            }
        }
        Ok(0)
    }

    /// Finds a route for each job; the inner error is the status of an abort.
    fn find<'j>(
        &self,
        table: &RouteTable,
        knobs: &Knobs,
        jobs: &'j [(String, ClassAd)],
        states: &mut [RouteState],
        candidates: &mut BTreeMap<String, (usize, &'j ClassAd)>,
        log: &mut Log,
    ) -> anyhow::Result<Result<(), u8>> {
        if knobs.max_jobs == 0 {
            return Ok(Ok(()));
        }
        let mut chooser = Chooser::new(table, knobs, None, self.world);
        let umbrella = match chooser.umbrella(states) {
            Ok(Some(umbrella)) => umbrella,
            Ok(None) => {
                log.line(b"JobRouter: no routes can accept more jobs at the moment.\n");
                return Ok(Ok(()));
            }
            Err(error) => {
                log.flush()?;
                self.program.tell(&format!("ERROR \"JobRouter: {error}\"\n"));
                return Ok(Err(4));
            }
        };
        let text = match self.options.debug_umbrella {
            true => [b"debug(", umbrella.text.as_slice(), b")"].concat(),
            false => umbrella.text.to_vec(),
        };
        log.line(&[b"JobRouter: Umbrella constraint: ", text.as_slice(), b"\n"].concat());
        let mut turn = 0;
        for (key, job) in jobs {
            let choice = chooser.choose_logged(&umbrella, job, states, &mut turn, &mut |event| match event {
                Looked::Candidate => {
                    if knobs.max_jobs >= 0 && candidates.len() as i64 >= knobs.max_jobs {
                        return false;
                    }
                    log.line(format!("JobRouter: Checking Job src={key} against all routes\n").as_bytes());
                    true
                }
                Looked::Match(name) => {
                    log.line(&[b"JobRouter: \tRoute Matches: ", name, b"\n"].concat());
                    true
                }
            });
            match choice {
                Choice::NotCandidate => {}
                Choice::Stopped => {
                    let text = format!(
                        "JobRouter: Reached maximum managed jobs ({}).  Skipping further searches for candidate jobs.\n",
                        knobs.max_jobs
                    );
                    log.line(text.as_bytes());
                    return Ok(Ok(()));
                }
                Choice::AllFull => {
                    let text = format!(
                        "JobRouter: all routes are full ({} managed jobs).  Skipping further searches for candidate jobs.\n",
                        candidates.len()
                    );
                    log.line(text.as_bytes());
                    break;
                }
                Choice::NoRoute => {
                    log.line(format!("JobRouter: no route found for src={key}\n").as_bytes());
                }
                Choice::Route(at) => {
                    let name = &table.routes[at].name;
                    let text = format!("JobRouter: Found candidate job src={key},route={name}\n");
                    log.line(text.as_bytes());
                    candidates.insert(key.clone(), (at, job));
                }
            }
        }
        log.line(format!("JobRouter: {} candidate jobs found\n", candidates.len()).as_bytes());
        Ok(Ok(()))
    }

    /// Claims, translates and submits one job; false when the daemon would abort.
    fn submit(
        &self,
        translator: &Translator<'_>,
        route: &Route,
        key: &str,
        job: &ClassAd,
        log: &mut Log,
        sink: &mut Sink,
    ) -> anyhow::Result<bool> {
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
        let (program, complaints) = (self.program, String::new());
        let mut steps = Steps { log, steps: self.options.log_steps, complaints, program };
        let made = match in_place {
            true => translator.apply(route, &mut ad, &mut steps),
            false => translator.copy(route, &source, key, sandboxed, &mut ad, &mut steps),
        };
        if let Err(error) = made {
            let text = error.reference_text(&description, route.name.as_bstr());
            if matches!(error, crate::router::TranslateError::NoUniverse) {
                log.flush()?;
                self.program.tell(&format!("ERROR \"{text}\"\n"));
                return Ok(false);
            }
            log.line(format!("{text}\n").as_bytes());
            if matches!(error, crate::router::TranslateError::Transform { .. }) {
                let text = format!(
                    "JobRouter failure ({description}): failed to apply route ClassAd modifications to target ad.\n"
                );
                log.line(text.as_bytes());
            }
            return Ok(true);
        }
        if in_place {
            log.line(format!("JobRouter ({description}): Done editing job.\n").as_bytes());
            return Ok(true);
        }
        let lent = match route.use_shared_proxy.truth(&source, self.world) {
            true => route
                .shared_proxy
                .value(&source, self.world)
                .and_then(|file| file.as_str().map(BString::from)),
            false => None,
        };
        let copy = lent.as_ref().map(|file| BString::from(format!("{file}.{key}")));
        if let (Some(file), Some(copy)) = (&lent, &copy)
            && let Err(error) = std::fs::copy(file.to_path_lossy(), copy.to_path_lossy())
        {
            let number = error.raw_os_error().unwrap_or(0);
            log.line(format!("stat({file}) failed with errno {number}\n").as_bytes());
            let text = format!("JobRouter failure ({description}): failed to copy {file} to {copy}.\n");
            log.line(text.as_bytes());
            return Ok(true);
        }
        let context = Context::new(self.world).my(&source);
        let Some(owner) = context.string("Owner") else { return Ok(true) };
        let domain = context.string("NTDomain").unwrap_or_default();
        let label = translator.knobs.destination_label();
        let spooled = if sandboxed { " (sandboxed)" } else { "" };
        log.print(format!("submit_job as {owner}@{domain} to {label}{spooled}:\n").as_bytes());
        let mut text = long::print(&ad);
        text.push(b'\n');
        match sink {
            Sink::Out => log.print(&text),
            Sink::Err => self.program.tell(&text.to_str_lossy()),
            Sink::File(file) => file.write_all(&text)?,
        }
        if let Some(copy) = copy {
            let _ = std::fs::remove_file(copy.to_path_lossy());
        }
        let text = format!("JobRouter (src={key},dest=-1.-1,route={}): submitted job\n", route.name);
        log.line(text.as_bytes());
        Ok(true)
    }
}

/// What a line of a file of job ads is to the tool (`CondorQClassAdFileParseHelper::PreParse`).
enum JobLine {
    Attribute,
    Skipped,
    Delimiter,
}

fn job_line(line: &[u8]) -> JobLine {
    let delimits: [&[u8]; 3] = [b"...", b"***", b"-- "];
    if line.is_empty() || delimits.iter().any(|prefix| line.starts_with(prefix)) {
        return JobLine::Delimiter;
    }
    match line.iter().find(|byte| !matches!(byte, b' ' | b'\t')) {
        Some(b'#') => JobLine::Skipped,
        _ => JobLine::Attribute,
    }
}

/// The next ad of a file, and whether the file has ended. A line that is no attribute ends the ad's attributes: what
/// follows is passed over up to the next delimiter or comment.
fn next_ad(reader: &mut dyn BufRead) -> io::Result<(ClassAd, bool)> {
    let mut ad = ClassAd::new();
    let mut broken = false;
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok((ad, true));
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        match job_line(text) {
            JobLine::Delimiter => return Ok((ad, false)),
            JobLine::Skipped => broken = false,
            JobLine::Attribute if broken => {}
            JobLine::Attribute => broken = ad.insert_line(text).is_err(),
        }
    }
}

/// The table of routes as the log shows it.
fn table_text(table: &RouteTable, states: &[RouteState]) -> Vec<u8> {
    let mut text = b"JobRouter: Checking for candidate jobs. routing table is:\n\
        Route Name               Source      Submitted/Max        Idle/Max     Throttle\n"
        .to_vec();
    for (at, route) in table.in_order() {
        let state = &states[at];
        let (name, throttle) = (route.name.to_str_lossy(), limits::throttle_text(state.throttle));
        let line = format!(
            "{name:<24} {name:<11} {:7}/{:7} {:7}/{:7} {:>8}\n",
            state.jobs,
            route.max_jobs,
            state.idle(),
            route.max_idle_jobs,
            throttle.to_str_lossy()
        );
        text.extend_from_slice(line.as_bytes());
    }
    text
}

/// What `-config` prints.
fn routes(table: &RouteTable) -> Vec<u8> {
    let mut out = Vec::new();
    for (kind, transforms) in [("Pre-Route", &table.pre), ("Post-Route", &table.post)] {
        for transform in transforms {
            out.extend_from_slice(format!("{kind} Transform : {}\n", transform.name).as_bytes());
            route::formatted(transform, None, &mut out);
            out.push(b'\n');
        }
    }
    for (number, (_, route)) in table.in_order().enumerate() {
        let Route { name, universe, max_jobs, max_idle_jobs, grid_resource, .. } = route;
        let requirements = route.requirements_text().as_bstr();
        let text = format!(
            "Route {}\nName         : \"{name}\"\nSource       : {name}\nUniverse     : {universe}\n\
             MaxJobs      : {max_jobs}\nMaxIdleJobs  : {max_idle_jobs}\nGridResource : {grid_resource}\n\
             Requirements : {requirements}\n",
            number + 1
        );
        out.extend_from_slice(text.as_bytes());
        route::formatted(&route.transform, Some(*universe), &mut out);
        out.push(b'\n');
    }
    out
}

/// The lines of `-log-steps`.
struct Steps<'a> {
    log: &'a mut Log,
    steps: bool,
    /// What functions said since the last transform ended.
    complaints: String,
    program: &'a Program,
}

impl Watcher for Steps<'_> {
    fn stage(&mut self, part: Part, transform: &Transform, stage: Stage) {
        let name = &transform.name;
        let kind = match part {
            Part::Pre => "pre-route transform",
            Part::Route => "route",
            Part::Post => "post-route transform",
        };
        match stage {
            Stage::Skipped => {
                let text = format!("JobRouter {kind} {name}: does not match job. skipping it.\n");
                self.log.line(text.as_bytes());
            }
            Stage::Begins => {
                if self.steps {
                    self.log.line(format!("\tApplying {kind}: {name}\n").as_bytes());
                }
                if transform.lines().next().is_none() {
                    self.log.line(b"WARNING: Submit file is empty: <Local>\n");
                }
            }
            // The reference says so after each transform, whether or not anything went wrong.
            Stage::Ended => {
                let complaints = std::mem::take(&mut self.complaints);
                self.log.line(format!("ERROR in transform {name} : {complaints}\n").as_bytes());
                if part == Part::Route {
                    self.log.line(format!("ERROR in route {name} : \n").as_bytes());
                }
            }
        }
    }

    fn log(&mut self, text: &str) {
        self.log.line(text.as_bytes());
    }

    fn observer(&mut self) -> &mut dyn Observer {
        self
    }
}

impl Observer for Steps<'_> {
    fn wants_steps(&self) -> bool {
        self.steps
    }

    fn wants_reason(&self, _: &Line) -> bool {
        false
    }

    fn event(&mut self, _: &Line, event: Event<'_>) {
        if let Event::Problem(problem) = &event {
            match &problem.kind {
                ProblemKind::Function(text) => {
                    // The tool prints the message without what the library says around it.
                    let bare = text
                        .strip_prefix("ERROR \"")
                        .and_then(|text| text.rsplit_once('"'))
                        .map(|(text, _)| text);
                    self.complaints.push_str(bare.unwrap_or(text));
                }
                // The tool takes a match that was given up for none, without a word.
                ProblemKind::MatchLimit { .. } => {}
                kind => self.program.tell(&format!("ERROR: {kind}\n")),
            }
        }
        if !self.steps {
            return;
        }
        match event {
            Event::Command { keyword, attribute, text } => {
                let name = keyword.name().as_bytes();
                match keyword {
                    Keyword::Delete => self.log.print(&[name, b" ", attribute, b"\n"].concat()),
                    _ => self.log.print(&[name, b" ", attribute, b" to ", text, b"\n"].concat()),
                }
            }
            Event::Evaluated { keyword: Keyword::EvalMacro, attribute, text } => {
                self.log.print(&[b"          ", attribute, b" = ", text, b"\n"].concat());
            }
            Event::Evaluated { attribute, text, .. } => {
                self.log.print(&[b"    SET ", attribute, b" to ", text, b"\n"].concat());
            }
            _ => {}
        }
    }
}
