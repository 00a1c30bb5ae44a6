//! `simulate`: a scenario is played, and what came of it is printed or drawn.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;

use super::load::{self, MadeUp};
use super::options::Cli;
use super::simulate_report::report;
use super::{simulate_compare, simulate_picture, simulate_why};
use crate::cli::common::{EventsTo, Painter, Problem, Progress, Session, Status, events_to, pipe_ends};
use crate::config::Config;
use crate::os::RealWorld;
use crate::runner::events::Event as Told;
use crate::runner::simulate::scenario::LARGEST;
use crate::runner::simulate::{
    Plan, PlanError, Play, Played, Scenario, Simulation, Tell, Workload, WorkloadError,
};
use crate::text::Span;
use crate::text::caret::Caret;
use crate::world::World;

/// Options of the verb.
#[derive(Args, Debug, Default)]
pub(super) struct Arguments {
    /// The scenario, in TOML: htc-scenario(5)
    #[arg(value_name = "SCENARIO")]
    scenario: Option<PathBuf>,
    /// Write a scenario with comments to begin with, to SCENARIO or to standard output
    #[arg(long)]
    init: bool,
    /// Tell all that happens, line by line, instead of a summary; or as JSON to FILE
    #[arg(
        long,
        value_name = "FILE|fd:N",
        value_parser = events_to,
        num_args = 0..=1,
        default_missing_value = "-"
    )]
    events: Option<EventsTo>,
    /// Draw a timeline of all slots
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write one page with timeline, states, changes and summary
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Tell what became of a job (CLUSTER.PROC), or what decided about a slot (SLOT@TIME, such as slot1@2h)
    #[arg(long, value_name = "WHAT")]
    why: Option<String>,
    /// Play it with this configuration as well, and tell what differs
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Begin chance with this number in place of the scenario's seed
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Look at every slot in every poll, as the daemon does: slow, and the same
    #[arg(long, hide_short_help = true)]
    every_poll: bool,
}

impl Arguments {
    /// The scenario and where events go: the word behind `--events` may have been meant as the scenario.
    fn sorted(&self) -> anyhow::Result<(&Path, Option<&EventsTo>)> {
        const OUT: &EventsTo = &EventsTo::Descriptor(1);
        match (&self.scenario, &self.events) {
            (Some(path), Some(EventsTo::File(file))) if file == Path::new("-") => Ok((path, Some(OUT))),
            (Some(path), events) => Ok((path, events.as_ref())),
            (None, Some(EventsTo::File(file))) if file != Path::new("-") => Ok((file, Some(OUT))),
            (None, _) => Err(Problem::usage("simulate: no scenario is given")
                .hint("'htc-slot-run simulate --init scenario.toml' writes one to begin with")
                .into()),
        }
    }
}

/// What a simulation is played with.
pub(super) struct Ready {
    pub scenario: Scenario,
    pub plan: Plan,
    /// Where files that the scenario names are looked for.
    pub directory: PathBuf,
    /// The configuration of the first machine.
    pub config: Option<Config>,
    /// The jobs, read already, for whoever plays it first.
    jobs: RefCell<Option<Workload>>,
}

pub(super) fn simulate(cli: &Cli, session: &Session, arguments: &Arguments) -> anyhow::Result<Status> {
    if arguments.init {
        return init(arguments);
    }
    let (path, events) = arguments.sorted()?;
    let ready = prepare(cli, session, arguments, path, None)?;
    let play = Play { every_poll: arguments.every_poll };
    if let Some(what) = &arguments.why {
        return simulate_why::why(cli, &ready, play, what);
    }
    if let Some(file) = &arguments.compare {
        let other = prepare(cli, session, arguments, path, Some(file))?;
        return simulate_compare::compare(cli, (&ready, &other), play);
    }
    match events {
        Some(EventsTo::Descriptor(1)) => stream(cli, &ready, play),
        _ => {
            let mut outlet = events.map(EventsTo::open).transpose()?;
            let mut tell = |_: f64, event: &Told| {
                if let (Some(outlet), Ok(mut line)) = (&mut outlet, serde_json::to_vec(event)) {
                    line.push(b'\n');
                    let _ = outlet.write(line);
                }
            };
            let tells = events.is_some();
            let keep = Keep { timeline: arguments.svg.is_some() || arguments.html.is_some(), fates: false };
            let tell: Option<Tell<'_>> = if tells { Some(&mut tell) } else { None };
            let played = play_through(cli, &ready, (play, keep), tell)?;
            draw(arguments, &played)?;
            let (_, mut output) = pipe_ends();
            let text = match cli.output.rows(std::slice::from_ref(&played.summary))? {
                Some(text) => text,
                None => report(&played.summary, Painter::stdout(cli.output.color)),
            };
            output.write_all(text.as_bytes()).context("standard output")?;
            output.flush().map(|()| Status::Done).context("standard output")
        }
    }
}

/// The scenario that `--init` writes.
pub(super) const FIRST: &str = include_str!("scenario.toml");

fn init(arguments: &Arguments) -> anyhow::Result<Status> {
    match &arguments.scenario {
        None => {
            let (_, mut output) = pipe_ends();
            output.write_all(FIRST.as_bytes()).context("standard output")?;
            output.flush().context("standard output")?;
        }
        Some(path) => {
            let fail = || Problem::new(Status::Failed, format!("cannot write '{}'", path.display()));
            let mut file = File::create_new(path).with_context(fail)?;
            file.write_all(FIRST.as_bytes()).with_context(fail)?;
        }
    }
    Ok(Status::Done)
}

/// Reads the scenario, and the configuration for each of its machines; `config` in place of the one that is given.
pub(super) fn prepare(
    cli: &Cli,
    session: &Session,
    arguments: &Arguments,
    path: &Path,
    config: Option<&Path>,
) -> anyhow::Result<Ready> {
    let scenario = read(path, arguments.seed)?;
    let world = RealWorld::new();
    let mut told: Vec<String> = Vec::new();
    let mut failed = None;
    let mut config_of_first = None;
    let mut configure = |knobs: &_, disk: Option<i64>| {
        let loaded = load::load_made_up(cli, &MadeUp { file: config, knobs, disk });
        match loaded {
            Ok(loaded) => {
                config_of_first.get_or_insert(loaded.config);
                // That hooks are missing does not matter: none is run.
                let of_hooks = |warning: &String| !warning.contains("_HOOK_") && !told.contains(warning);
                let new: Vec<String> = loaded.warnings.into_iter().filter(of_hooks).collect();
                told.extend(new);
                Ok(loaded.settings)
            }
            Err(error) => {
                let text = format!("{error:#}");
                failed = Some(error);
                Err(text)
            }
        }
    };
    let plan = Plan::new(&scenario, &world, &mut configure);
    if let Some(error) = failed {
        return Err(error);
    }
    load::warn(session, &told);
    let name = path.display();
    let plan = plan.map_err(|error| match error {
        PlanError::Configuration(text) => Problem::unreadable(text),
        PlanError::Event { .. } => Problem::unreadable(format!("{name}: {error}")),
    })?;
    let directory = path.parent().unwrap_or(Path::new("")).to_owned();
    let mut ready = Ready { scenario, plan, directory, config: config_of_first, jobs: RefCell::new(None) };
    let jobs = workload(&ready, &world)?;
    // What jobs' ads may ask of slots has to be there.
    ready.plan.know_jobs(jobs.bases());
    ready.jobs = RefCell::new(Some(jobs));
    Ok(ready)
}

fn read(path: &Path, seed: Option<u64>) -> anyhow::Result<Scenario> {
    let cannot = || Problem::unreadable(format!("cannot read '{}'", path.display()));
    let mut text = String::new();
    let file = File::open(path).with_context(cannot)?;
    file.take(LARGEST + 1).read_to_string(&mut text).with_context(cannot)?;
    if text.len() as u64 > LARGEST {
        let cause = io::Error::other(format!("a scenario has at most {} MiB", LARGEST >> 20));
        return Err(cannot().caused_by(cause).into());
    }
    let mut scenario = Scenario::read(&text).map_err(|error| {
        let problem = Problem::unreadable(error.message.clone());
        let name = path.display().to_string();
        let span = Span::new(error.span.start, error.span.end);
        let problem = problem.at(&Caret { source: &name, text: text.as_bytes(), span });
        match error.hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        }
    })?;
    if let Some(seed) = seed {
        scenario.seed = seed;
    }
    Ok(scenario)
}

/// The jobs of a scenario.
pub(super) fn workload(ready: &Ready, world: &dyn World) -> anyhow::Result<Workload> {
    if let Some(jobs) = ready.jobs.take() {
        return Ok(jobs);
    }
    let asked = ready.plan.asked_of_jobs();
    let mut open = |path: &Path| -> io::Result<Box<dyn BufRead>> {
        let file = File::open(ready.directory.join(path))?;
        if file.metadata()?.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok(Box::new(BufReader::with_capacity(1 << 18, file)))
    };
    Workload::new(&ready.scenario, ready.plan.start, asked.as_ref(), world, &mut open).map_err(|error| {
        let text = error.to_string();
        match error {
            WorkloadError::File { source, .. } => Problem::unreadable(text).caused_by(source).into(),
            WorkloadError::Line { .. } | WorkloadError::Content { .. } => Problem::unreadable(text).into(),
        }
    })
}

/// How much of the time passes between two looks at the clock.
const SLICES: u64 = 500;
/// Work that is longer shows how far it is.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is kept beside the counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Keep {
    pub timeline: bool,
    pub fates: bool,
}

/// Writes the pictures that were asked for.
fn draw(arguments: &Arguments, played: &Played) -> anyhow::Result<()> {
    let Some(timeline) = &played.timeline else { return Ok(()) };
    let write = |path: &Path, text: String| {
        std::fs::write(path, text)
            .with_context(|| Problem::new(Status::Failed, format!("cannot write '{}'", path.display())))
    };
    if let Some(path) = &arguments.svg {
        write(path, simulate_picture::svg(timeline, &played.rows, &played.summary))?;
    }
    if let Some(path) = &arguments.html {
        write(path, simulate_picture::page(timeline, &played.rows, &played.summary))?;
    }
    Ok(())
}

/// Plays it to its end, with a line of progress once it takes long.
pub(super) fn play_through(
    cli: &Cli,
    ready: &Ready,
    (play, keep): (Play, Keep),
    tell: Option<Tell<'_>>,
) -> anyhow::Result<Played> {
    let world: Rc<dyn World> = Rc::new(RealWorld::new().seeded(1));
    let workload = workload(ready, &*world)?;
    let mut simulation = Simulation::new(&ready.scenario, &ready.plan, workload, world, play);
    if let Some(tell) = tell {
        simulation = simulation.telling(tell);
    }
    if keep.timeline {
        simulation = simulation.drawing();
    }
    if keep.fates {
        simulation = simulation.remembering();
    }
    let began = Instant::now();
    let mut progress: Option<Progress> = None;
    simulation.begin();
    let length = (ready.scenario.length.0 * 1e6) as u64;
    for slice in 1..=SLICES {
        let more = simulation.advance((length / SLICES).saturating_mul(slice), slice == SLICES);
        if let Some(progress) = &progress {
            progress.advance(1);
        } else if began.elapsed() > PATIENCE && more {
            let bar = Progress::new("simulating", Some(SLICES), cli.output.quiet);
            bar.advance(slice);
            progress = Some(bar);
        }
        if !more {
            break;
        }
    }
    simulation.advance(u64::MAX, true);
    Ok(simulation.finish())
}

/// Tells all that happens on standard output.
fn stream(cli: &Cli, ready: &Ready, play: Play) -> anyhow::Result<Status> {
    let (_, mut output) = pipe_ends();
    let mut failed = None;
    let json = cli.output.json || cli.output.jsonl;
    let mut tell = |at: f64, event: &Told| {
        let line = match json {
            true => serde_json::to_string(event).unwrap_or_default(),
            false => format!("{at:+10.3} {}", event.readable()),
        };
        if let Err(error) = writeln!(output, "{line}") {
            failed.get_or_insert(error);
        }
    };
    play_through(cli, ready, (play, Keep::default()), Some(&mut tell))?;
    match failed {
        Some(error) => Err(error).context("standard output"),
        None => Ok(output.flush().map(|()| Status::Done).context("standard output")?),
    }
}
