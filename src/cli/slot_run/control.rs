//! Speaking to an execution point that runs.

use std::path::PathBuf;

use anyhow::Context;

use super::load;
use super::options::{Cli, DrainOptions, Verb, Whole};
use super::status;
use crate::cli::common::{InputOptions, Problem, Session, Status, patience, pipe_ends, print_out};
use crate::os::RealWorld;
use crate::runner::slot::{Answer, Request, ask, default_socket};

/// What a verb asks, of whom, and the ad that goes with it.
struct Question<'a> {
    of: &'a Whole,
    request: Request,
    ad: Option<&'a InputOptions>,
}

impl<'a> Question<'a> {
    fn new(command: &str, of: &'a Whole, slot: Option<&str>) -> Self {
        let request =
            Request { command: command.to_owned(), slot: slot.map(str::to_owned), ..Request::default() };
        Question { of, request, ad: None }
    }

    fn with(mut self, change: impl FnOnce(&mut Request)) -> Self {
        change(&mut self.request);
        self
    }

    fn with_ad(self, input: &'a InputOptions) -> Self {
        Question { ad: Some(input), ..self }
    }
}

/// The verbs that are for a running execution point.
pub(super) fn control(cli: &Cli, verb: &Verb, session: &Session) -> anyhow::Result<Status> {
    patience(cli.end, session, "the time given with --timeout is over before there is an answer");
    let fast = |fast: bool| fast.then(|| "fast".to_owned());
    let question = match verb {
        Verb::Status(options) => {
            let slot = options.of.slot.as_deref();
            let ask = || send((cli, session), Question::new("status", &options.of.of, slot));
            return status::show(cli, options, ask).map(|()| Status::Done);
        }
        Verb::Claim(options) => {
            let question = Question::new("claim", &options.of.of, Some(&options.of.slot)).with(|request| {
                request.lease = options.lease;
                request.preempts.clone_from(&options.preempt);
                request.schedd.clone_from(&options.schedd);
            });
            return claimed((cli, session), send((cli, session), question.with_ad(&options.input))?);
        }
        Verb::Activate(options) => {
            Question::new("activate", &options.of.of, Some(&options.of.slot)).with_ad(&options.input)
        }
        Verb::Match(options) => Question::new("match", &options.of, Some(&options.slot)),
        Verb::Alive(options) => Question::new("alive", &options.of, Some(&options.slot)),
        Verb::Hold(options) => Question::new("hold", &options.of.of, Some(&options.of.slot))
            .with(|request| request.reason.clone_from(&options.reason)),
        Verb::Deactivate(options) => Question::new("deactivate", &options.of.of, Some(&options.of.slot))
            .with(|request| request.how = fast(options.fast)),
        Verb::ReleaseClaim(options) => Question::new("release-claim", &options.of.of, Some(&options.of.slot))
            .with(|request| request.waiting = options.waiting),
        Verb::Suspend(options) => Question::new("suspend", &options.of, options.slot.as_deref()),
        Verb::Continue(options) => Question::new("continue", &options.of, options.slot.as_deref()),
        Verb::Vacate(options) => Question::new("vacate", &options.of.of, options.of.slot.as_deref())
            .with(|request| request.how = fast(options.fast)),
        Verb::Undrain(options) => Question::new("undrain", &options.of, None)
            .with(|request| request.request_id.clone_from(&options.request_id)),
        Verb::Reconfig(of) => Question::new("reconfig", of, None),
        Verb::Off(options) => Question::new("off", &options.of, None).with(|request| {
            // What is graceful is so by itself.
            request.how = options.peaceful.then(|| "peaceful".to_owned()).or(fast(options.fast));
        }),
        Verb::Drain(options) => {
            let answer = send((cli, session), drain(options))?;
            print_out(answer.request_id.map_or_else(String::new, |id| format!("{id}\n")))?;
            return Ok(Status::Done);
        }
        Verb::Run | Verb::Ads { .. } | Verb::Simulate { .. } | Verb::Doctor | Verb::Explain { .. } => {
            return Err(Problem::usage("this verb is not for a running execution point").into());
        }
    };
    let answer = send((cli, session), question)?;
    if let Some(note) = &answer.note {
        session.say(note);
    }
    Ok(Status::Done)
}

/// Where a running execution point listens: as told, else where one of the same configuration does.
fn socket(cli: &Cli, of: &Whole) -> anyhow::Result<PathBuf> {
    if let Some(path) = &of.control {
        return Ok(path.clone());
    }
    let world = RealWorld::new();
    let (config, _) = load::read(&cli.config, cli.local_name.as_deref(), &world)?;
    let log = load::directory(&config, &world, "LOG").ok_or_else(|| {
        Problem::unreadable("LOG is not defined").hint("set it, or name the socket with --control")
    })?;
    Ok(default_socket(&log, cli.local_name.as_deref()))
}

fn send((cli, session): (&Cli, &Session), question: Question<'_>) -> anyhow::Result<Answer> {
    let socket = socket(cli, question.of)?;
    let mut request = question.request;
    let ad = match question.ad {
        None => Vec::new(),
        Some(input) => {
            let (reader, name) = input.open(pipe_ends().0, session)?;
            let text = crate::os::read_whole(reader).with_context(|| format!("reading {name}"))?;
            if text.trim_ascii().is_empty() {
                return Err(Problem::unreadable(format!("{name}: there is no ad")).into());
            }
            request.ad_name = Some(name);
            text
        }
    };
    let answer = ask(&socket, &request, &ad).map_err(|error| {
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
fn drain(options: &DrainOptions) -> Question<'_> {
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
    Question::new("drain", &options.of, None).with(|request| {
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
fn claimed((cli, session): (&Cli, &Session), answer: Answer) -> anyhow::Result<Status> {
    for told in answer.waits.iter().chain(&answer.note) {
        session.say(told);
    }
    let names = || answer.slots.iter().map(|slot| format!("{}\n", slot.slot)).collect();
    print_out(cli.output.rows(&answer.slots)?.unwrap_or_else(names))?;
    Ok(Status::Done)
}
