//! `htc-router-translate run`: the router's whole life over a directory of job ads.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;
use clap::Args;

use super::router::Setup;
use crate::cli::common::{
    ConfigOptions, EventsTo, Problem, QuirksOptions, Session as Program, Status, events_to, seconds,
    standard_error, with_events,
};
use crate::config::View;
use crate::config::not_done::NotDone;
use crate::os::RealWorld;
use crate::router::Router;
use crate::runner::configured_world;
use crate::runner::events::{Event, EventStream, Kind};
use crate::runner::hook_environment::DaemonEnvironment;
use crate::runner::router::{self, Failure, Options, RunError, Until};
use crate::world::World;

/// Options of the verb.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// The directory: one job a file, CLUSTER.PROC.ad, in the long form
    #[arg(long, value_name = "DIR")]
    queue: PathBuf,
    /// Put copies into this directory, with cluster numbers of its own: the queue that JOB_ROUTER_SCHEDD2_* names
    #[arg(long, value_name = "DIR")]
    copies: Option<PathBuf>,
    /// Poll once, wait for the hooks it called, and end
    #[arg(long)]
    once: bool,
    /// End when nothing is left to be managed
    #[arg(long)]
    idle_exit: bool,
    /// Submit copies through this command; it reads the ad and prints CLUSTER.PROC or, as condor_submit does,
    /// 'N job(s) submitted to cluster C.'
    #[arg(long, value_name = "COMMAND")]
    submit: Option<String>,
    /// Poll this often in place of JOB_ROUTER_POLLING_PERIOD
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    period: Option<Duration>,
    /// Kill a hook or a submit command that takes longer
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "300")]
    hook_limit: Duration,
    /// Write JSON events to FILE or fd:N
    #[arg(long, value_name = "FILE|fd:N", value_parser = events_to)]
    events: Option<EventsTo>,
    /// Say nothing of what happens
    #[arg(long, short = 'q')]
    quiet: bool,
    #[command(flatten)]
    config: ConfigOptions,
    #[command(flatten)]
    quirks: QuirksOptions,
}

/// Says what is configured and will not be done.
fn warn(arguments: &Arguments, view: &View<'_>, program: &Program) {
    for line in NotDone::of(view).lines(view, &["router"]) {
        program.warn(&line);
    }
    const SECOND: [&str; 3] =
        ["JOB_ROUTER_SCHEDD2_NAME", "JOB_ROUTER_SCHEDD2_SPOOL", "JOB_ROUTER_SCHEDD2_JOB_QUEUE_LOG"];
    let second = SECOND.iter().find(|name| view.is_defined(name));
    if let (Some(name), None, None) = (second, &arguments.copies, &arguments.submit) {
        program.warn(&format!(
            "{name} names a second queue: without '--copies DIR' copies go into '{}' too",
            arguments.queue.display()
        ));
    }
}

/// Carries it out.
pub(super) fn run(arguments: &Arguments, program: &Program) -> anyhow::Result<Status> {
    let world = RealWorld::new();
    let quirks = arguments.quirks.quirks;
    let mut setup = Setup::load(&arguments.config, quirks, &world, program)?;
    if !setup.table.enabled {
        return Err(Problem::unreadable("routing is disabled, see the messages above").into());
    }
    if let Some(period) = arguments.period {
        setup.knobs.polling_period = period;
    }
    let world = configured_world(world, &setup.config, &mut |text| program.warn(text));
    let view = setup.config.view(&world);
    warn(arguments, &view, program);
    let submit = arguments
        .submit
        .as_ref()
        .map(|command| ["/bin/sh", "-c", command.as_str()].map(BString::from).to_vec());
    let events = arguments.events.as_ref().map(EventsTo::open).transpose()?;
    let prefix = format!("{}: ", program.name());
    let events = RefCell::new(EventStream::new(&prefix, None, events).complaining(standard_error()));
    let event = |kind: Kind| Event::new(world.now(), kind);
    let log = |text: &str| {
        events.borrow_mut().tell(&event(Kind::Log).reason(text));
        if !arguments.quiet {
            program.tell(&format!("{text}\n"));
        }
    };
    let options = Options {
        view: &view,
        world: &world,
        environment: DaemonEnvironment::of_program(&world, &arguments.config.choice()),
        quirks,
        hook_limit: Some(arguments.hook_limit),
        copies: arguments.copies.as_deref(),
        submit,
        until: Until { once: arguments.once, idle: arguments.idle_exit },
        log: &log,
    };
    let machine = Router::new(setup.knobs, setup.table, quirks, world.now());
    events.borrow_mut().tell(&event(Kind::Start));
    let ended = router::run(&arguments.queue, machine, &options);
    let stop = event(Kind::Stop);
    events.borrow_mut().tell(&match &ended {
        Ok(_) => stop,
        Err(error) => stop.reason(error.to_string()),
    });
    let ended = ended.map_err(problem)?;
    let status = match ended.shutdown {
        Some(_) => Status::Tool(router::SHUTDOWN_STATUS),
        None if arguments.once || arguments.idle_exit => report(&ended.failures, program),
        None => Status::Done,
    };
    Ok(with_events(events.into_inner(), status))
}

/// Reports what could not be done, whatever else is to be said; the status that follows.
fn report(failures: &[Failure], program: &Program) -> Status {
    /// With more only their number is reported.
    const MOST: usize = 20;
    for failure in failures.iter().take(MOST) {
        program.warn(&format!("{}: {}", failure.source, failure.reason));
    }
    if let Some(more) = failures.len().checked_sub(MOST).filter(|more| *more > 0) {
        program.warn(&format!("{more} more failures"));
    }
    if failures.is_empty() { Status::Done } else { Status::No }
}

fn problem(error: RunError) -> anyhow::Error {
    match error {
        RunError::Directory { path, source } => {
            let problem = Problem::unreadable(format!("cannot use '{}'", path.display()));
            anyhow::Error::new(source).context(problem)
        }
        RunError::Locked(path) => {
            Problem::unreadable(format!("another router works in '{}'", path.display())).into()
        }
        error => error.into(),
    }
}
