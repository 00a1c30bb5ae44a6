//! `simulate`: a scenario is played, and what came of it is printed or drawn.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;

use super::decided::clean;
use super::load::{self, MadeUp};
use super::options::Cli;
use super::simulate_out::{Pictures, Sink, standard_output, unwritten};
use super::simulate_report::report;
use super::simulate_silence::explain_silence;
use super::simulate_slips::slips;
use super::{simulate_compare, simulate_why};
use crate::cli::common::{
    EventsTo, JsonRows, Painter, Problem, Progress, Session, Status, events_to, in_scenario, pipe_ends,
    read_jobs, read_scenario,
};
use crate::config::Config;
use crate::os::RealWorld;
use crate::runner::events::Event as StreamEvent;
use crate::runner::simulate::{Plan, PlanError, Play, Played, Players, Scenario, Simulation, Tell, Workload};
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
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["events", "svg", "html", "compare"])]
    why: Option<String>,
    /// Play it with this configuration as well, and tell what differs
    #[arg(long, value_name = "FILE", conflicts_with_all = ["events", "svg", "html"])]
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
    /// The file of the scenario.
    pub path: PathBuf,
    /// The configurations of all machines, at the start and from an event on, by their numbers.
    pub configs: Vec<Config>,
    /// The knobs of the command line, which stand above those of the scenario.
    pub commanded: Vec<String>,
    /// The jobs, read already, for whoever plays it first.
    jobs: RefCell<Option<Workload>>,
    /// For reading them again: what is odd about them was told.
    silent: Session,
}

pub(super) fn simulate(cli: &Cli, session: &Session, arguments: &Arguments) -> anyhow::Result<Status> {
    if arguments.init {
        cli.output.is_text("--init")?;
        return init(arguments);
    }
    let (path, events) = arguments.sorted()?;
    let files = (arguments.svg.as_deref(), arguments.html.as_deref());
    let pictures = Pictures::to(files, (cli.end, session))?;
    let is_told = matches!(events, Some(EventsTo::Descriptor(1)));
    pictures.have_standard_output(is_told, cli.output.json || cli.output.jsonl)?;
    let ready = prepare(cli, session, arguments, path, None)?;
    let play = Play { every_poll: arguments.every_poll };
    if let Some(what) = &arguments.why {
        return simulate_why::why(cli, &ready, play, what);
    }
    if let Some(file) = &arguments.compare {
        let other = prepare(cli, session, arguments, path, Some(file))?;
        return simulate_compare::compare(cli, (&ready, &other), file, play);
    }
    pictures.open()?;
    if is_told {
        return stream(cli, &ready, play, &pictures);
    }
    let mut sink = events.map(|to| Sink::open(to, cli.end)).transpose()?;
    let mut tell = |_: f64, event: &StreamEvent| {
        if let Some(sink) = &mut sink {
            sink.write(event);
        }
    };
    let tell: Option<Tell<'_>> = if events.is_some() { Some(&mut tell) } else { None };
    let mut played = play_through(cli, &ready, (play, pictures.are_wanted()), (tell, &|| true))?;
    explain_silence(&ready, &mut played);
    if !pictures.take_standard_output() {
        let (_, mut output) = pipe_ends();
        let text = match cli.output.rows(std::slice::from_ref(&played.summary))? {
            Some(text) => text,
            None => report(&played.summary, Painter::stdout(cli.output.color)),
        };
        output.write_all(text.as_bytes()).context("standard output")?;
        output.flush().context("standard output")?;
    }
    // What is known is told, whatever cannot be written.
    pictures.draw(&played)?;
    sink.map_or(Ok(()), Sink::end)?;
    Ok(Status::Done)
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
    let silent = session.keeping();
    // What is odd about the scenario and its jobs is told once.
    let of_scenario = if config.is_some() { &silent } else { session };
    let scenario = read_scenario(path, arguments.seed, Players::Slots, of_scenario)?;
    let world = RealWorld::new();
    let mut told: Vec<String> = Vec::new();
    let mut failed = None;
    let mut configs = Vec::new();
    let mut numbers: BTreeMap<BTreeMap<String, String>, usize> = BTreeMap::new();
    let mut configure = |knobs: &BTreeMap<String, String>, disk: Option<i64>| {
        let set_at = |name: &str, value: &str| line_of_knob((&scenario, path), name, value);
        let loaded = load::load_made_up(cli, &MadeUp { file: config, knobs, disk, set_at: &set_at });
        match loaded {
            Ok(loaded) => {
                // Of machines whose sizes are thrown one configuration is kept: where a knob was set is the same for all.
                let mut alike = BTreeMap::clone(knobs);
                alike.remove("MEMORY");
                let number = *numbers.entry(alike).or_insert_with(|| {
                    configs.push(loaded.config);
                    configs.len() - 1
                });
                // That hooks are missing does not matter: none is run.
                let of_hooks = |warning: &String| !warning.contains("_HOOK_") && !told.contains(warning);
                let new: Vec<String> = loaded.warnings.into_iter().filter(of_hooks).collect();
                told.extend(new);
                Ok((loaded.settings, number))
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
    let of = (&scenario, path);
    let plan = plan.map_err(|error| match &error {
        PlanError::Configuration(text) => Problem::unreadable(text.clone()),
        PlanError::Event { number, key, .. } => {
            in_scenario(error.to_string(), of, ("event", number.saturating_sub(1), key))
        }
        PlanError::Nobody { what, index, .. } => {
            in_scenario(error.to_string(), of, (what, *index, "machines"))
        }
    })?;
    load::warn(of_scenario, &plan.notes(&scenario));
    if let Some(config) = configs.first() {
        let mut slips = slips(config, (&scenario, path), &world);
        slips.retain(|slip| !told.contains(slip));
        load::warn(session, &slips);
    }
    let commanded = cli.config.set_knob.iter().map(|(name, _)| name.clone()).collect();
    let path = path.to_owned();
    let mut ready =
        Ready { scenario, plan, path, configs, commanded, jobs: RefCell::new(None), silent: silent.clone() };
    let jobs = workload(&ready, &world, of_scenario)?;
    // What jobs' ads may ask of slots has to be there.
    ready.plan.know_jobs(jobs.bases());
    ready.jobs = RefCell::new(Some(jobs));
    Ok(ready)
}

/// The file and line of the scenario where a knob has this value.
pub(super) fn line_of_knob(
    (scenario, path): (&Scenario, &Path),
    name: &str,
    value: &str,
) -> Option<(String, usize)> {
    let place = scenario.place_of_knob(name, value)?;
    let above = scenario.text().get(..place.start)?;
    Some((path.display().to_string(), 1 + above.matches('\n').count()))
}

/// The jobs of a scenario.
fn workload(ready: &Ready, world: &dyn World, session: &Session) -> anyhow::Result<Workload> {
    if let Some(jobs) = ready.jobs.take() {
        return Ok(jobs);
    }
    let asked = ready.plan.asked_of_jobs();
    read_jobs((&ready.scenario, &ready.path), ready.plan.start, (asked.as_ref(), world), session)
}

/// How much of the time passes between two looks at the clock.
const SLICES: u64 = 500;
/// Work that is longer shows how far it is.
const PATIENCE: Duration = Duration::from_secs(1);

/// A scenario as it begins.
pub(super) fn simulation(ready: &Ready, play: Play) -> anyhow::Result<Simulation<'_>> {
    let world: Rc<dyn World> = Rc::new(RealWorld::new().seeded(1));
    let workload = workload(ready, &*world, &ready.silent)?;
    Ok(Simulation::new(&ready.scenario, &ready.plan, workload, world, play))
}

/// Plays it to its end, or as long as somebody listens; with a timeline if it is to be drawn.
fn play_through<'a>(
    cli: &Cli,
    ready: &'a Ready,
    (play, draws): (Play, bool),
    (tell, goes_on): (Option<Tell<'a>>, &dyn Fn() -> bool),
) -> anyhow::Result<Played> {
    let mut simulation = simulation(ready, play)?;
    if let Some(tell) = tell {
        simulation = simulation.telling(tell);
    }
    if draws {
        simulation = simulation.drawing();
    }
    play_side_by_side(cli, std::slice::from_mut(&mut simulation), &mut |_| goes_on())?;
    Ok(simulation.finish())
}

/// Plays simulations of one length to their ends, with a line of progress once it takes long; now and then they are looked at, by
/// whom they go on for.
pub(super) fn play_side_by_side<'a>(
    cli: &Cli,
    simulations: &mut [Simulation<'a>],
    look: &mut dyn FnMut(&mut [Simulation<'a>]) -> bool,
) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut progress: Option<Progress> = None;
    simulations.iter_mut().for_each(Simulation::begin);
    for slice in 1..=SLICES {
        let mut more = false;
        for simulation in &mut *simulations {
            let until = (simulation.length() / SLICES).saturating_mul(slice);
            more |= simulation.advance(until, false);
        }
        if !look(simulations) {
            return Ok(());
        }
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
        if cli.events.timeout.is_some_and(|limit| began.elapsed() >= limit) {
            let played = slice * 100 / SLICES;
            let text = format!("the time given with --timeout is over: {played} % of the scenario is played");
            return Err(Problem::new(Status::TimedOut, text).into());
        }
    }
    for simulation in &mut *simulations {
        simulation.advance(u64::MAX, true);
    }
    look(simulations);
    Ok(())
}

/// Tells all that happens on standard output.
fn stream(cli: &Cli, ready: &Ready, play: Play, pictures: &Pictures) -> anyhow::Result<Status> {
    let output = standard_output(cli.end)?;
    let mut output = JsonRows::new(output, cli.output.json);
    let failed = RefCell::new(None);
    let json = cli.output.json || cli.output.jsonl;
    let mut tell = |at: f64, event: &StreamEvent| {
        let line = match json {
            true => serde_json::to_string(event).unwrap_or_default(),
            false => format!("{at:+10.3} {}", clean(&event.readable())),
        };
        if failed.borrow().is_none() {
            *failed.borrow_mut() = writeln!(output, "{line}").err();
        }
    };
    // Nothing is left to do for a reader who has seen enough.
    let goes_on = || pictures.are_wanted() || failed.borrow().is_none();
    let played = play_through(cli, ready, (play, pictures.are_wanted()), (Some(&mut tell), &goes_on))?;
    pictures.draw(&played)?;
    match failed.take().map_or_else(|| output.end(), Err) {
        Err(error) if error.kind() == ErrorKind::TimedOut => Err(unwritten(error, "standard output")),
        ended => ended.map(|()| Status::Done).context("standard output"),
    }
}
