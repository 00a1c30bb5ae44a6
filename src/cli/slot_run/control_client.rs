//! Client for requests to a running execution point.

use std::path::PathBuf;

use anyhow::Context;

use super::options::{DrainOptions, ExecutionPointOptions, SlotRunCli, SlotRunVerb};
use super::slot_config;
use super::status;
use crate::classad::format::long;
use crate::cli::common::{
    InputOptions, Problem, ProgramContext, Status, exit_at_deadline, malformed_ad_problem, open_stdio_pipe,
    warn_of_joined_ads, write_to_stdout,
};
use crate::os::RealWorld;
use crate::runner::slot::{
    RefusalKind, SlotControlAnswer, SlotControlRequest, VacateSpeed, default_socket, send_request,
};
use crate::slot::{DrainCompletion, DrainSpeed, ShutdownMode};

/// Request of a verb, its target slot, and the ad that is sent with it.
struct ControlQuery<'a> {
    execution_point: &'a ExecutionPointOptions,
    request: SlotControlRequest,
    ad: Option<&'a InputOptions>,
}

impl<'a> ControlQuery<'a> {
    fn new(execution_point: &'a ExecutionPointOptions, request: SlotControlRequest) -> Self {
        ControlQuery { execution_point, request, ad: None }
    }

    fn with_ad(self, input: &'a InputOptions) -> Self {
        ControlQuery { ad: Some(input), ..self }
    }
}

/// Returns a text about the action that a request has started, or `None` for requests about one slot, whose answers
/// contain this.
fn started_text(verb: &SlotRunVerb) -> Option<&'static str> {
    match verb {
        SlotRunVerb::Drain(_) => {
            Some("the drain has started; 'htc-slot-run status' shows when all jobs have left")
        }
        SlotRunVerb::Undrain(_) => Some("the drain is cancelled; slots accept jobs again"),
        SlotRunVerb::Reconfig(_) => Some("the configuration is being reread"),
        SlotRunVerb::Off(_) => Some("the execution point is stopping"),
        _ => None,
    }
}

/// Runs a verb that sends a request to a running execution point.
pub(super) fn run_control_verb(
    cli: &SlotRunCli,
    verb: &SlotRunVerb,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    exit_at_deadline(cli.end, session, "the time limit (--timeout) expired before an answer arrived");
    let speed = |fast: bool| fast.then_some(VacateSpeed::Fast);
    let query = match verb {
        SlotRunVerb::Status(options) => {
            let execution_point = &options.target.execution_point;
            let request = match cli.output.long {
                true => SlotControlRequest::Ads {},
                false => SlotControlRequest::Status {
                    slot: options.target.slot.clone(),
                    counters: options.openmetrics.is_some(),
                },
            };
            let ask = || send(cli, session, ControlQuery::new(execution_point, request.clone()));
            return status::show(cli, options, session, ask).map(|()| Status::Done);
        }
        SlotRunVerb::Claim(options) => {
            let request = SlotControlRequest::Claim {
                slot: options.target.slot.clone(),
                ad_length: 0,
                ad_name: None,
                lease: options.lease,
                schedd: options.schedd.clone(),
                preempts: options.preempt.clone(),
            };
            let query = ControlQuery::new(&options.target.execution_point, request).with_ad(&options.input);
            return print_claimed_slot(cli, session, send(cli, session, query)?);
        }
        SlotRunVerb::Activate(options) => {
            let slot = options.target.slot.clone();
            let request = SlotControlRequest::Activate { slot, ad_length: 0, ad_name: None };
            ControlQuery::new(&options.target.execution_point, request).with_ad(&options.input)
        }
        SlotRunVerb::Match(options) => ControlQuery::new(
            &options.execution_point,
            SlotControlRequest::Match { slot: options.slot.clone() },
        ),
        SlotRunVerb::Alive(options) => ControlQuery::new(
            &options.execution_point,
            SlotControlRequest::Alive { slot: options.slot.clone() },
        ),
        SlotRunVerb::Hold(options) => {
            let (slot, reason) = (options.target.slot.clone(), options.reason.clone());
            ControlQuery::new(&options.target.execution_point, SlotControlRequest::Hold { slot, reason })
        }
        SlotRunVerb::Deactivate(options) => {
            let (slot, how) = (options.target.slot.clone(), speed(options.fast));
            ControlQuery::new(&options.target.execution_point, SlotControlRequest::Deactivate { slot, how })
        }
        SlotRunVerb::ReleaseClaim(options) => {
            let (slot, waiting) = (options.target.slot.clone(), options.waiting);
            ControlQuery::new(
                &options.target.execution_point,
                SlotControlRequest::ReleaseClaim { slot, waiting },
            )
        }
        SlotRunVerb::Suspend(options) => ControlQuery::new(
            &options.execution_point,
            SlotControlRequest::Suspend { slot: options.slot.clone() },
        ),
        SlotRunVerb::Continue(options) => ControlQuery::new(
            &options.execution_point,
            SlotControlRequest::Continue { slot: options.slot.clone() },
        ),
        SlotRunVerb::Vacate(options) => {
            let (slot, how) = (options.target.slot.clone(), speed(options.fast));
            ControlQuery::new(&options.target.execution_point, SlotControlRequest::Vacate { slot, how })
        }
        SlotRunVerb::Undrain(options) => {
            let request_id = options.request_id.clone();
            ControlQuery::new(&options.execution_point, SlotControlRequest::Undrain { request_id })
        }
        SlotRunVerb::Reconfig(execution_point) => {
            ControlQuery::new(execution_point, SlotControlRequest::Reconfig {})
        }
        SlotRunVerb::Off(options) => {
            let how = match (options.peaceful, options.fast) {
                (true, _) => Some(ShutdownMode::Peaceful),
                (_, true) => Some(ShutdownMode::Fast),
                // Graceful is the default of the execution point.
                _ => None,
            };
            ControlQuery::new(&options.execution_point, SlotControlRequest::Off { how })
        }
        SlotRunVerb::Drain(options) => {
            let answer = send(cli, session, drain_request(options))?;
            if let (Some(text), false) = (started_text(verb), cli.output.quiet) {
                session.write_line(text);
            }
            write_to_stdout(answer.request_id.map_or_else(String::new, |id| format!("{id}\n")))?;
            return Ok(Status::Done);
        }
        SlotRunVerb::Run(_)
        | SlotRunVerb::Ads { .. }
        | SlotRunVerb::Simulate { .. }
        | SlotRunVerb::Doctor(_)
        | SlotRunVerb::Explain { .. } => {
            return Err(Problem::usage("this verb is not for a running execution point").into());
        }
    };
    let answer = send(cli, session, query)?;
    match (&answer.note, started_text(verb)) {
        (Some(note), _) => session.write_line(note),
        (None, Some(text)) if !cli.output.quiet => session.write_line(text),
        (None, _) => {}
    }
    Ok(Status::Done)
}

/// Returns the socket of the running execution point: the socket given with `--control`, otherwise that of an execution
/// point with the same configuration.
fn socket(cli: &SlotRunCli, execution_point: &ExecutionPointOptions) -> anyhow::Result<PathBuf> {
    if let Some(path) = &execution_point.control {
        return Ok(path.clone());
    }
    let world = RealWorld::new();
    let (config, _) = slot_config::read_config(&cli.config, cli.local_name.as_deref(), &world)?;
    let log = slot_config::param_directory(&config, &world, "LOG").ok_or_else(|| {
        Problem::unreadable("LOG is not defined").hint("set it, or name the socket with --control")
    })?;
    Ok(default_socket(&log, cli.local_name.as_deref()))
}

/// Sends a request without an ad to a running execution point, and returns the answer.
///
/// # Errors
/// Fails if no execution point answers, or if it refuses the request.
pub(super) fn ask(
    cli: &SlotRunCli,
    session: &ProgramContext,
    execution_point: &ExecutionPointOptions,
    request: SlotControlRequest,
) -> anyhow::Result<SlotControlAnswer> {
    send(cli, session, ControlQuery::new(execution_point, request))
}

fn send(
    cli: &SlotRunCli,
    session: &ProgramContext,
    query: ControlQuery<'_>,
) -> anyhow::Result<SlotControlAnswer> {
    let socket = socket(cli, query.execution_point)?;
    let mut request = query.request;
    let ad = match query.ad {
        None => Vec::new(),
        Some(input) => {
            let (reader, name) = input.open(open_stdio_pipe().0, session)?;
            let mut text = crate::os::read_whole(reader).with_context(|| format!("reading {name}"))?;
            if input.from.is_some() {
                text = job_in_long_form(
                    &text,
                    &name,
                    &session.with_input(input.from, input.strict_input, cli.quirks.quirks),
                )?;
            }
            if text.trim_ascii().is_empty() {
                return Err(Problem::unreadable(format!("{name}: no ad found")).into());
            }
            warn_of_joined_ads(&text, &name, session);
            if let SlotControlRequest::Claim { ad_name, .. } | SlotControlRequest::Activate { ad_name, .. } =
                &mut request
            {
                *ad_name = Some(name);
            }
            text
        }
    };
    let answer = send_request(&socket, &request, &ad).map_err(|error| {
        Problem::unreadable(format!("no execution point answers on '{}'", socket.display()))
            .caused_by(error)
            .hint(match query.execution_point.control {
                Some(_) => "start it with --control and the same path",
                None => "start it with the same configuration, or name its socket with --control",
            })
    })?;
    let Some(error) = answer.error else { return Ok(answer) };
    let status = match answer.refusal {
        RefusalKind::Request => Status::Usage,
        RefusalKind::Input => Status::Unreadable,
        RefusalKind::State => Status::No,
    };
    Err(Problem::new(status, error).into())
}

/// Converts the only ad in a text from the format of `--from` to the long form, which the execution point expects.
fn job_in_long_form(text: &[u8], name: &str, session: &ProgramContext) -> anyhow::Result<Vec<u8>> {
    let mut reader = session.ad_reader(text);
    let mut next = || reader.next_record().map_err(|error| Problem::cannot_read(name).caused_by(error));
    let Some(first) = next()? else { return Ok(Vec::new()) };
    if let Some(error) = first.errors.iter().find(|error| !error.is_warning) {
        return Err(malformed_ad_problem(error, name).into());
    }
    match next()? {
        None => Ok(long::print(&first.ad)),
        Some(_) => {
            Err(Problem::unreadable(format!("{name}: more than one ad; a claim is for one job")).into())
        }
    }
}

/// Returns the request that starts a drain, with the name of the user.
fn drain_request(options: &DrainOptions) -> ControlQuery<'_> {
    let how = match (options.quick, options.fast) {
        (true, _) => DrainSpeed::Quick,
        (_, true) => DrainSpeed::Fast,
        _ => DrainSpeed::Graceful,
    };
    let by = || {
        let uid = nix::unistd::geteuid();
        let account = nix::unistd::User::from_uid(uid).ok().flatten();
        format!("by {}", account.map_or_else(|| uid.to_string(), |account| account.name))
    };
    let completions = [
        (options.resume, DrainCompletion::Resume),
        (options.exit, DrainCompletion::Exit),
        (options.restart, DrainCompletion::Restart),
        (options.reconfig, DrainCompletion::Reconfigure),
    ];
    let wanted = completions.into_iter().find(|(wanted, _)| *wanted);
    let request = SlotControlRequest::Drain {
        how: Some(how),
        reason: Some(options.reason.clone().unwrap_or_else(by)),
        on_completion: wanted.map_or(DrainCompletion::Nothing, |(_, completion)| completion),
        check: options.check.clone(),
        start: options.start.clone(),
    };
    ControlQuery::new(&options.execution_point, request)
}

/// Prints the name of the claimed slot, or its row as JSON. Also prints messages about the end of another claim for
/// which the claim waits, and about unsupported requests.
fn print_claimed_slot(
    cli: &SlotRunCli,
    session: &ProgramContext,
    answer: SlotControlAnswer,
) -> anyhow::Result<Status> {
    for message in answer.waits.iter().chain(&answer.note) {
        session.write_line(message);
    }
    let names = || answer.slots.iter().map(|slot| format!("{}\n", slot.slot)).collect();
    write_to_stdout(cli.output.render_json(&answer.slots)?.unwrap_or_else(names))?;
    Ok(Status::Done)
}
