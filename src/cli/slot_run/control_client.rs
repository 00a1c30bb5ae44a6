//! Speaking to an execution point that runs.

use std::path::PathBuf;

use anyhow::Context;

use super::options::{DrainOptions, ExecutionPointOptions, SlotRunCli, SlotRunVerb};
use super::slot_config;
use super::status;
use crate::cli::common::{
    InputOptions, Problem, ProgramContext, Status, exit_at_deadline, open_stdio_pipe, write_to_stdout,
};
use crate::os::RealWorld;
use crate::runner::slot::{SlotControlAnswer, SlotControlRequest, default_socket, send_request};

/// What a verb asks, of whom, and the ad that goes with it.
struct ControlQuery<'a> {
    of: &'a ExecutionPointOptions,
    request: SlotControlRequest,
    ad: Option<&'a InputOptions>,
}

impl<'a> ControlQuery<'a> {
    fn new(command: &str, of: &'a ExecutionPointOptions, slot: Option<&str>) -> Self {
        let request = SlotControlRequest {
            command: command.to_owned(),
            slot: slot.map(str::to_owned),
            ..SlotControlRequest::default()
        };
        ControlQuery { of, request, ad: None }
    }

    fn with_request(mut self, change: impl FnOnce(&mut SlotControlRequest)) -> Self {
        change(&mut self.request);
        self
    }

    fn with_ad(self, input: &'a InputOptions) -> Self {
        ControlQuery { ad: Some(input), ..self }
    }
}

/// The verbs that are for a running execution point.
pub(super) fn run_control_verb(
    cli: &SlotRunCli,
    verb: &SlotRunVerb,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    exit_at_deadline(cli.end, session, "the time given with --timeout is over before there is an answer");
    let fast = |fast: bool| fast.then(|| "fast".to_owned());
    let question = match verb {
        SlotRunVerb::Status(options) => {
            let slot = options.of.slot.as_deref();
            let ask = || send((cli, session), ControlQuery::new("status", &options.of.of, slot));
            return status::show(cli, options, ask).map(|()| Status::Done);
        }
        SlotRunVerb::Claim(options) => {
            let question =
                ControlQuery::new("claim", &options.of.of, Some(&options.of.slot)).with_request(|request| {
                    request.lease = options.lease;
                    request.preempts.clone_from(&options.preempt);
                    request.schedd.clone_from(&options.schedd);
                });
            return print_claimed_slot(
                (cli, session),
                send((cli, session), question.with_ad(&options.input))?,
            );
        }
        SlotRunVerb::Activate(options) => {
            ControlQuery::new("activate", &options.of.of, Some(&options.of.slot)).with_ad(&options.input)
        }
        SlotRunVerb::Match(options) => ControlQuery::new("match", &options.of, Some(&options.slot)),
        SlotRunVerb::Alive(options) => ControlQuery::new("alive", &options.of, Some(&options.slot)),
        SlotRunVerb::Hold(options) => ControlQuery::new("hold", &options.of.of, Some(&options.of.slot))
            .with_request(|request| request.reason.clone_from(&options.reason)),
        SlotRunVerb::Deactivate(options) => {
            ControlQuery::new("deactivate", &options.of.of, Some(&options.of.slot))
                .with_request(|request| request.how = fast(options.fast))
        }
        SlotRunVerb::ReleaseClaim(options) => {
            ControlQuery::new("release-claim", &options.of.of, Some(&options.of.slot))
                .with_request(|request| request.waiting = options.waiting)
        }
        SlotRunVerb::Suspend(options) => ControlQuery::new("suspend", &options.of, options.slot.as_deref()),
        SlotRunVerb::Continue(options) => ControlQuery::new("continue", &options.of, options.slot.as_deref()),
        SlotRunVerb::Vacate(options) => {
            ControlQuery::new("vacate", &options.of.of, options.of.slot.as_deref())
                .with_request(|request| request.how = fast(options.fast))
        }
        SlotRunVerb::Undrain(options) => ControlQuery::new("undrain", &options.of, None)
            .with_request(|request| request.request_id.clone_from(&options.request_id)),
        SlotRunVerb::Reconfig(of) => ControlQuery::new("reconfig", of, None),
        SlotRunVerb::Off(options) => ControlQuery::new("off", &options.of, None).with_request(|request| {
            // What is graceful is so by itself.
            request.how = options.peaceful.then(|| "peaceful".to_owned()).or(fast(options.fast));
        }),
        SlotRunVerb::Drain(options) => {
            let answer = send((cli, session), drain_request(options))?;
            write_to_stdout(answer.request_id.map_or_else(String::new, |id| format!("{id}\n")))?;
            return Ok(Status::Done);
        }
        SlotRunVerb::Run
        | SlotRunVerb::Ads { .. }
        | SlotRunVerb::Simulate { .. }
        | SlotRunVerb::Doctor
        | SlotRunVerb::Explain { .. } => {
            return Err(Problem::usage("this verb is not for a running execution point").into());
        }
    };
    let answer = send((cli, session), question)?;
    if let Some(note) = &answer.note {
        session.write_line(note);
    }
    Ok(Status::Done)
}

/// Where a running execution point listens: as told, else where one of the same configuration does.
fn socket(cli: &SlotRunCli, of: &ExecutionPointOptions) -> anyhow::Result<PathBuf> {
    if let Some(path) = &of.control {
        return Ok(path.clone());
    }
    let world = RealWorld::new();
    let (config, _) = slot_config::read_config(&cli.config, cli.local_name.as_deref(), &world)?;
    let log = slot_config::param_directory(&config, &world, "LOG").ok_or_else(|| {
        Problem::unreadable("LOG is not defined").hint("set it, or name the socket with --control")
    })?;
    Ok(default_socket(&log, cli.local_name.as_deref()))
}

fn send(
    (cli, session): (&SlotRunCli, &ProgramContext),
    question: ControlQuery<'_>,
) -> anyhow::Result<SlotControlAnswer> {
    let socket = socket(cli, question.of)?;
    let mut request = question.request;
    let ad = match question.ad {
        None => Vec::new(),
        Some(input) => {
            let (reader, name) = input.open(open_stdio_pipe().0, session)?;
            let text = crate::os::read_whole(reader).with_context(|| format!("reading {name}"))?;
            if text.trim_ascii().is_empty() {
                return Err(Problem::unreadable(format!("{name}: there is no ad")).into());
            }
            request.ad_name = Some(name);
            text
        }
    };
    let answer = send_request(&socket, &request, &ad).map_err(|error| {
        Problem::unreadable(format!("no execution point answers at '{}'", socket.display()))
            .caused_by(error)
            .hint(match question.of.control {
                Some(_) => "start it with --control and the same path",
                None => "start it with the same configuration, or name its socket with --control",
            })
    })?;
    match answer.error {
        Some(error) if answer.bad_ad => Err(Problem::unreadable(error).into()),
        Some(error) => Err(Problem::usage(error).into()),
        None => Ok(answer),
    }
}

/// A drain, in the name of whoever asks for it.
fn drain_request(options: &DrainOptions) -> ControlQuery<'_> {
    let how = match (options.quick, options.fast) {
        (true, _) => "quick",
        (_, true) => "fast",
        _ => "graceful",
    };
    let by = || {
        let uid = nix::unistd::geteuid();
        let account = nix::unistd::User::from_uid(uid).ok().flatten();
        format!("by {}", account.map_or_else(|| uid.to_string(), |account| account.name))
    };
    ControlQuery::new("drain", &options.of, None).with_request(|request| {
        request.how = Some(how.to_owned());
        request.reason = Some(options.reason.clone().unwrap_or_else(by));
        let completions = [
            (options.resume, "resume"),
            (options.exit, "exit"),
            (options.restart, "restart"),
            (options.reconfig, "reconfig"),
        ];
        let wanted = completions.into_iter().find(|(wanted, _)| *wanted);
        request.on_completion = wanted.map(|(_, word)| word.to_owned());
        request.check.clone_from(&options.check);
        request.start.clone_from(&options.start);
    })
}

/// The name of the slot that is claimed, or its row as JSON; what the claim waits for, and what of it is not done, is told.
fn print_claimed_slot(
    (cli, session): (&SlotRunCli, &ProgramContext),
    answer: SlotControlAnswer,
) -> anyhow::Result<Status> {
    for told in answer.waits.iter().chain(&answer.note) {
        session.write_line(told);
    }
    let names = || answer.slots.iter().map(|slot| format!("{}\n", slot.slot)).collect();
    write_to_stdout(cli.output.render_json(&answer.slots)?.unwrap_or_else(names))?;
    Ok(Status::Done)
}
