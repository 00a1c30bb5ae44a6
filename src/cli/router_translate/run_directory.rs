//! `htc-router-translate run`: runs the router on a directory of job ads.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use bstr::BString;
use clap::Args;

use super::router_setup::RouterSetup;
use crate::cli::common::{
    ConfigOptions, EventTarget, Problem, ProgramContext, QuirksOptions, Status, finish_events,
    parse_event_target, parse_seconds, stderr_outlet,
};
use crate::config::ConfigView;
use crate::config::unsupported::UnsupportedSettings;
use crate::os::RealWorld;
use crate::router::Router;
use crate::runner::configured_world;
use crate::runner::events::{EventStream, RunnerEvent, RunnerEventKind};
use crate::runner::hook_environment::DaemonEnvironment;
use crate::runner::router::{self, RouterOptions, RouterRunError, RoutingFailure, StopConditions};
use crate::text::plural::counted;
use crate::world::World;

/// Options of the verb `run`.
#[derive(Args, Debug)]
pub(super) struct RunDirectoryArguments {
    /// Route the jobs in DIR, which has one ad per file, CLUSTER.PROC.ad, in long format
    #[arg(long, value_name = "DIR")]
    queue: PathBuf,
    /// Write routed jobs to this directory [default: the one of --queue]
    ///
    /// It is the queue of JOB_ROUTER_SCHEDD2_*; it has cluster numbers of its own.
    #[arg(long, value_name = "DIR")]
    copies: Option<PathBuf>,
    /// Polls once, waits for the hooks, and stops.
    #[arg(long)]
    once: bool,
    /// Stops when there has been no job to manage for this long.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    idle_exit: Option<Duration>,
    /// Submit routed jobs with this command
    ///
    /// It reads the ad from standard input and prints CLUSTER.PROC or, like condor_submit, 'N job(s) submitted to
    /// cluster C.'
    #[arg(long, value_name = "COMMAND")]
    submit: Option<String>,
    /// Poll every SECONDS [default: JOB_ROUTER_POLLING_PERIOD]
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    period: Option<Duration>,
    /// The limit also applies to the submit command.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, default_value = "300")]
    hook_timeout: Duration,
    /// Append JSON events to FILE or fd:N
    #[arg(long, value_name = "FILE|fd:N", value_parser = parse_event_target)]
    events: Option<EventTarget>,
    /// Print only results and errors
    #[arg(long, short = 'q')]
    quiet: bool,
    #[command(flatten)]
    config: ConfigOptions,
    #[command(flatten)]
    quirks: QuirksOptions,
}

/// Warns about parameters that are set but unsupported.
fn warn_of_unsupported(arguments: &RunDirectoryArguments, view: &ConfigView<'_>, program: &ProgramContext) {
    for line in UnsupportedSettings::collect(view).warning_lines(view, &["router"]) {
        program.warn(&line);
    }
    const SECOND_QUEUE_PARAMETERS: [&str; 3] =
        ["JOB_ROUTER_SCHEDD2_NAME", "JOB_ROUTER_SCHEDD2_SPOOL", "JOB_ROUTER_SCHEDD2_JOB_QUEUE_LOG"];
    let second = SECOND_QUEUE_PARAMETERS.iter().find(|name| view.is_defined(name));
    if let (Some(name), None, None) = (second, &arguments.copies, &arguments.submit) {
        program.warn(&format!(
            "{name} names a second queue; without '--copies DIR' routed jobs go into '{}' as well",
            arguments.queue.display()
        ));
    }
}

/// Runs the verb `run`.
pub(super) fn run(arguments: &RunDirectoryArguments, program: &ProgramContext) -> anyhow::Result<Status> {
    let world = RealWorld::new();
    let quirks = arguments.quirks.quirks;
    let mut setup = RouterSetup::load(&arguments.config, quirks, &world, program)?;
    if !setup.table.enabled {
        return Err(Problem::unreadable("routing is disabled, see the messages above").into());
    }
    if let Some(period) = arguments.period {
        setup.parameters.polling_period = period;
    }
    let world = configured_world(world, &setup.config, &mut |text| program.warn(text));
    let view = setup.config.view(&world);
    warn_of_unsupported(arguments, &view, program);
    let submit = arguments
        .submit
        .as_ref()
        .map(|command| ["/bin/sh", "-c", command.as_str()].map(BString::from).to_vec());
    let events = arguments.events.as_ref().map(EventTarget::open).transpose()?;
    let prefix = format!("{}: ", program.name());
    let events = RefCell::new(EventStream::new(&prefix, None, events).with_loss_reports(stderr_outlet()));
    let event = |kind: RunnerEventKind| RunnerEvent::new(world.now(), kind);
    let log = |text: &str| {
        events.borrow_mut().report(&event(RunnerEventKind::Log).reason(text));
        if !arguments.quiet {
            program.write_stderr(&format!("{text}\n"));
        }
    };
    let options = RouterOptions {
        view: &view,
        world: &world,
        environment: DaemonEnvironment::from_program(&world, &arguments.config.to_config_choice()),
        quirks,
        hook_limit: Some(arguments.hook_timeout),
        copies_directory: arguments.copies.as_deref(),
        submit_command: submit,
        stop_conditions: StopConditions { once: arguments.once, idle_limit: arguments.idle_exit },
        log: &log,
    };
    let machine = Router::new(setup.parameters, setup.table, quirks, world.now());
    events.borrow_mut().report(&event(RunnerEventKind::Start));
    let ended = router::run(&arguments.queue, machine, &options);
    let stop = event(RunnerEventKind::Stop);
    events.borrow_mut().report(&match &ended {
        Ok(_) => stop,
        Err(error) => stop.reason(error.to_string()),
    });
    let ended = ended.map_err(run_problem)?;
    if arguments.quiet && ended.unused_files > 0 {
        program.warn(&format!(
            "{} of the queue not read: the file of a job must be called CLUSTER.PROC.ad",
            counted(ended.unused_files, "file")
        ));
    }
    let status = match ended.shutdown {
        Some(_) => Status::StaysDown,
        None if arguments.once || arguments.idle_exit.is_some() => {
            match report_failures(&ended.failures, program) {
                Status::Done if ended.unused_files > 0 => Status::No,
                status => status,
            }
        }
        None => Status::Done,
    };
    Ok(finish_events(events.into_inner(), status))
}

/// Reports failures, and returns the exit status.
fn report_failures(failures: &[RoutingFailure], program: &ProgramContext) -> Status {
    /// Maximum number of failures that are reported one by one.
    const MAX_REPORTED_FAILURES: usize = 20;
    for failure in failures.iter().take(MAX_REPORTED_FAILURES) {
        program.warn(&format!("{}: {}", failure.source, failure.reason));
    }
    if let Some(more) = failures.len().checked_sub(MAX_REPORTED_FAILURES).filter(|more| *more > 0) {
        program.warn(&counted(more, "more failure"));
    }
    if failures.is_empty() { Status::Done } else { Status::No }
}

fn run_problem(error: RouterRunError) -> anyhow::Error {
    match error {
        RouterRunError::Directory { path, source } => {
            let problem = Problem::unreadable(format!("cannot use '{}'", path.display()));
            anyhow::Error::new(source).context(problem)
        }
        RouterRunError::Locked(path) => {
            Problem::unreadable(format!("another router is using the directory '{}'", path.display())).into()
        }
        error => error.into(),
    }
}
