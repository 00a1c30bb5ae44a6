//! The machine around a job in a docker container: how it is made, and its end.
//!
//! Reference: `docker_proc.cpp`; what each call looks like is in [`super::container`].

use bstr::{BString, ByteSlice};

use super::action::{Account, Action, File, JobProcess, Notice};
use super::container::{self, ContainerState, DockerNames, docker_fits};
use super::environment::Publication;
use super::event::FamilyUsage;
use super::exception::EXCEPTION;
use super::failure::StartFailure;
use super::kept::asked::Hold;
use super::kept::container::{After, Answer, Attached, Docker, SideCall, Stage};
use super::kept::job_run::{Ended, Process};
use super::kept::phase::Phase;
use super::machine::Starter;
use super::process;
use htc_base::job::{HoldCode, attr};
use htc_base::process::Exit;
use htc_base::quirks::Quirk;
use htc_base::time::Now;
use htc_classad::format::long;
use htc_classad::{ClassAd, Context};
use htc_hook::transfer::url;

/// How often the state of an ended container is asked for, a second apart.
const TRIES: u32 = 20;

/// The words of the job inside of the container.
fn inside(about: &Publication<'_>) -> Result<Vec<BString>, StartFailure> {
    let job = || about.in_job();
    let command = job().string(attr::CMD).unwrap_or_default();
    let sent = job().boolean("TransferExecutable").unwrap_or(true);
    // What was sent lies where the container begins, whatever it was called before.
    let mut words = vec![match about.job.transfers && sent {
        true => [b"./", url::base_name(&command)].concat().into(),
        false => command,
    }];
    words.extend(process::argument_list(about.ad, "", about.world).map_err(|error| {
        StartFailure::silent(format!("Failed to read job arguments from job ad: '{error}'."))
    })?);
    // Something that sleeps as long as a person may work in it.
    if job().boolean("InteractiveJob").unwrap_or(false) {
        words.push("86400".into());
    }
    Ok(words)
}

impl Starter<'_> {
    /// The container is planned and made. Failures before event 001 are the starter's, those after it the container's; by
    /// hand 25.14 waits for ever after both, if it had to pull the image.
    pub(super) fn launch(&mut self, now: Now, pulled: bool, out: &mut Vec<Action>) {
        let Some(names) = self.container.names().cloned() else { return };
        let own = self.setup.own_environment.clone();
        let prepared = self.with_inputs(now, |inputs| {
            let words = inside(inputs.about)?;
            let mut environment = inputs.about.job_environment(&own)?;
            if pulled {
                // The job is among the starter's by then, without a process.
                environment.set("_CONDOR_JOB_PIDS", "-1");
            }
            Ok((words, environment))
        });
        let (words, environment) = match prepared {
            Some(Ok(prepared)) => prepared,
            Some(Err(failure)) => return self.launch_failed(now, pulled, failure, out),
            None => return,
        };
        out.push(Action::Remember { container: names.container.clone() });
        let planned = self.with_inputs(now, |inputs| {
            let plan = container::create(inputs, &names, &words, environment)?;
            let call = names.create_call(&plan, inputs);
            Ok((plan, call, process::standard_files(inputs.about)))
        });
        let (plan, call, files) = match planned {
            Some(Ok(planned)) => planned,
            Some(Err(failure)) => {
                self.announce(out);
                return self.launch_failed(now, pulled, failure, out);
            }
            None => return,
        };
        for path in &plan.directories {
            out.push(Action::MakeDirectory { path: path.clone(), mode: 0o1777 });
        }
        self.announce(out);
        out.push(Action::Tell(Notice::Contained(Box::new(plan.clone()))));
        self.container.plan = Some(Box::new(plan));
        self.container.process = Some(Box::new(self.docker_process(&names, files)));
        self.container.docker = Docker::Made(names);
        self.ask(Stage::Create, call, out);
    }

    /// The process that stands for the job while it runs.
    fn docker_process(&self, names: &DockerNames, files: [super::StandardFile; 3]) -> JobProcess {
        let process =
            JobProcess { cwd: "/".into(), files, account: Account::Daemon, ..JobProcess::default() };
        process::instead(process, names.start(), &self.setup.scratch)
    }

    fn launch_failed(&mut self, now: Now, pulled: bool, failure: StartFailure, out: &mut Vec<Action>) {
        let names = self.container.names().filter(|_| failure.exception && pulled);
        if let Some(names) = names.filter(|_| self.has(Quirk::StarterExceptions)) {
            // The job is among the starter's by then: it is killed, and JOB_EXIT is not called.
            let kill = names.kill(9);
            self.closing.status = EXCEPTION;
            self.asked.end_fast();
            out.push(Action::Tell(Notice::NotStarted { reason: failure.reason() }));
            self.report(failure, out);
            return self.ask(Stage::Remove(After::RemoveScratch), kill, out);
        }
        if !pulled || failure.exception {
            return self.container_failed(now, failure, out);
        }
        self.tell_of_hang("the starter ends", out);
        out.push(Action::Tell(Notice::Warning(failure.reason())));
        let failure =
            StartFailure::new("Unable to Launch Container", HoldCode::InvalidDockerImage.number(), 0);
        self.container_failed(now, failure, out);
    }

    /// `docker create` ended.
    pub(super) fn created(&mut self, now: Now, answer: Answer<'_>, out: &mut Vec<Action>) {
        let Some(names) = self.container.names().cloned() else { return };
        if names.config.is_some() {
            out.push(Action::DockerConfig(None));
        }
        match answer.is_success() {
            true => self.ask(Stage::Tag, names.tag(), out),
            false => self.create_failed(now, answer, out),
        }
    }

    pub(super) fn open_docker_files(&mut self, out: &mut Vec<Action>) {
        self.container.stage = Stage::OpenFiles;
        let files = self.container.process.as_ref().map(|process| process.files.clone());
        out.extend(files.map(Action::OpenFiles));
    }

    /// `docker create` failed; for 25.14 that is how the job ended, which a shadow that holds it does not hear any more.
    fn create_failed(&mut self, now: Now, Answer { exit, errors, .. }: Answer<'_>, out: &mut Vec<Action>) {
        let text = errors[..errors.len().min(511)].replace("\n", " ");
        let failure = StartFailure::new(text, HoldCode::InvalidDockerImage.number(), 0);
        if let Some(exit) = exit
            && self.has_by_hand(Quirk::DockerCreateStatus, "the failure is reported", out)
        {
            self.run.process = Some(Process::new(0, now));
            self.hold_by_shadow(failure, out);
            return self.docker_job_ended(now, (exit, FamilyUsage::default()), out);
        }
        self.container_failed(now, failure, out);
    }

    /// A hold as 25.14 has it: a shadow is told, and nobody where there is none (`JICLocal::holdJob`).
    fn hold_by_shadow(&mut self, failure: StartFailure, out: &mut Vec<Action>) {
        if self.setup.moves.is_some() {
            self.asked.hold = Hold::Told;
            self.report(failure, out);
        }
    }

    /// By hand 25.14 waits for ever after a failure to start; what is done instead is told.
    pub(super) fn tell_of_hang(&self, instead: &str, out: &mut Vec<Action>) {
        self.tell_quirk_by_hand(Quirk::DockerStartHangs, instead, out);
    }

    pub(super) fn docker_files_opened(
        &mut self,
        now: Now,
        mut failures: Vec<StartFailure>,
        out: &mut Vec<Action>,
    ) {
        let Some(names) = self.container.names().cloned() else { return };
        if failures.is_empty() {
            return self.ask(Stage::Architecture, names.architecture(), out);
        }
        // The first ends it.
        failures.truncate(1);
        self.evicts_unstarted(now);
        self.side_call(names.kill(9), out);
        for failure in failures {
            self.container_failed(now, failure, out);
        }
    }

    /// Whether a container that could not be started counts as a job that ran and was evicted.
    fn evicts_unstarted(&mut self, now: Now) -> bool {
        let counts = self.has(Quirk::DockerFailureIsEviction);
        if counts {
            self.run.process = self.run.alive().or_else(|| Some(Process::new(0, now)));
            self.run.evicted = true;
        }
        counts
    }

    pub(super) fn architecture_known(&mut self, now: Now, output: &[u8], out: &mut Vec<Action>) {
        let skips = self.with_inputs(now, |inputs| inputs.flag("DOCKER_SKIP_IMAGE_ARCH_CHECK"));
        match skips {
            Some(Err(failure)) => self.container_failed(now, failure, out),
            Some(Ok(false)) if !docker_fits(output) => {
                let machine = output.lines().next().unwrap_or_default().trim().as_bstr();
                let text = format!(
                    "DockerProc::StartJob(): Image Architecture {machine} not compatible with this machine."
                );
                self.tell_of_hang("the failure is reported", out);
                let failure = StartFailure::new(text, HoldCode::InvalidDockerImage.number(), 0);
                self.container_failed(now, failure, out);
            }
            _ => self.start_contained(now, out),
        }
    }

    /// The ports of the container's services: in updates from now on, and behind the job's ad in its file.
    pub(super) fn services_known(&mut self, ports: ClassAd, out: &mut Vec<Action>) {
        if self.phase != Phase::Running || !self.container.is_docker() {
            return;
        }
        let mut bytes = long::print(&self.ad);
        bytes.extend(long::print(&ports));
        self.container.services = ports;
        out.push(Action::WriteFile(File { name: ".job.ad", bytes }));
    }

    /// What stood for the job ended: docker is asked how the container did.
    pub(super) fn docker_ended(&mut self, exit: Exit, usage: FamilyUsage, out: &mut Vec<Action>) {
        let Some(names) = self.container.names().cloned() else { return };
        self.stop_looking();
        self.container.services = container::no_host_ports(&self.ad, self.setup.world);
        let attached = Attached { exit, usage };
        self.ask(Stage::State { tries: 0, attached }, container::state_call(&names), out);
    }

    /// Time to look once more.
    pub(super) fn look_again(&mut self, out: &mut Vec<Action>) {
        let call = self.container.names().map(container::state_call);
        if let (Stage::Wait { tries, attached, .. }, Some(call)) = (&self.container.stage, call) {
            let (tries, attached) = (*tries, *attached);
            self.ask(Stage::State { tries, attached }, call, out);
        }
    }

    pub(super) fn state_known(
        &mut self,
        now: Now,
        output: &[u8],
        (tries, attached): (u32, Attached),
        out: &mut Vec<Action>,
    ) {
        let state = ContainerState::parse(output, &self.frozen(now));
        let ended = state.as_ref().is_some_and(|state| state.running == Some(false));
        let tries = tries + 1;
        if !ended && tries < TRIES && !self.asked.is_fast() {
            let until = now.tick().plus(std::time::Duration::from_secs(1));
            self.container.stage = Stage::Wait { tries, until, attached };
            return;
        }
        let Some(state) = state else {
            self.run.process = None;
            if self.fatal(now, ("Cannot inspect exited container", Quirk::DockerEndsSilent), out)
                && let Some(names) = self.container.names().cloned()
            {
                self.ask(Stage::Remove(After::RemoveScratch), names.remove(), out);
            }
            return;
        };
        let exit = state.exit(self.setup.quirks).filter(|_| ended).unwrap_or(attached.exit);
        if ended && state.out_of_memory {
            return self.out_of_memory(now, (exit, attached.usage), out);
        }
        if ended && !state.error.is_empty() {
            return self.docker_could_not(now, &state, out);
        }
        self.docker_job_ended(now, (exit, attached.usage), out);
    }

    /// The job ended as docker says.
    fn docker_job_ended(&mut self, now: Now, (exit, usage): (Exit, FamilyUsage), out: &mut Vec<Action>) {
        self.container.stage = Stage::Idle;
        self.phase = Phase::Running;
        self.job_ended(Ended { at: now, exit, core: false }, usage, None, out);
    }

    /// The job used up the memory of its container: it is held. By hand 25.14 ends without a word.
    fn out_of_memory(&mut self, now: Now, ended: (Exit, FamilyUsage), out: &mut Vec<Action>) {
        let memory = Context::new(&self.frozen(now)).my(&self.machine).int(attr::MEMORY).unwrap_or(0);
        let text = format!("Docker job has gone over memory limit of {memory} Mb");
        out.push(Action::Tell(Notice::Warning(text.clone())));
        let failure = StartFailure::new(text, HoldCode::JobOutOfResources.number(), 102);
        if self.has(Quirk::DockerEndsSilent) {
            self.run.process = None;
            self.hold_by_shadow(failure, out);
            if let Some(names) = self.container.names().cloned() {
                self.ask(Stage::Remove(After::RemoveScratch), names.remove(), out);
            }
            return;
        }
        self.asked.hold = Hold::Told;
        self.report(failure, out);
        self.docker_job_ended(now, ended, out);
    }

    /// Docker could not run the job at all: most likely its command is not in the image.
    fn docker_could_not(&mut self, now: Now, state: &ContainerState, out: &mut Vec<Action>) {
        let text = format!("Error running docker job: {}", state.error);
        let Some(names) = self.container.names().cloned() else { return };
        self.container.stage = Stage::Idle;
        if self.evicts_unstarted(now) {
            // It is killed twice although it is gone, and counts as evicted.
            out.push(Action::Tell(Notice::NotStarted { reason: text.clone() }));
            self.hold_by_shadow(StartFailure::new(text, HoldCode::FailedToCreateProcess.number(), 0), out);
            let signal = super::ending::kill_signal(&self.ad, attr::HOLD_KILL_SIG, &self.frozen(now));
            self.side_call(names.remove(), out);
            self.side_call(names.kill(signal.unwrap_or(super::ending::SIGTERM)), out);
            self.side_call(names.kill(9), out);
            self.asked.end_fast();
            return self.all_jobs_done(now, out);
        }
        self.run.process = None;
        let failure = StartFailure::new(text, HoldCode::FailedToCreateProcess.number(), 0);
        self.container_failed(now, failure, out);
    }

    /// A call whose answer decides nothing.
    pub(super) fn side_call(&mut self, call: super::container::ToolCall, out: &mut Vec<Action>) {
        self.container.sides.push_back(call);
        if self.container.side.is_none() {
            self.next_side_call(out);
        }
    }

    fn next_side_call(&mut self, out: &mut Vec<Action>) {
        self.container.side = None;
        if let Some(call) = self.container.sides.pop_front() {
            let id = self.calls.new_id();
            let pauses = call.argv.iter().any(|word| word == "pause");
            self.container.side = Some(SideCall { id, pauses });
            out.push(Action::RunTool(id, Box::new(call)));
        } else if let Some(waiting) = self.container.waiting.take() {
            // Only who waits in the container's phase is called: whoever has left it meanwhile has no use for the answer.
            let (stage, call) = *waiting;
            if self.phase == Phase::Container {
                self.ask(stage, call, out);
            }
        }
    }

    /// The answer of such a call. Where docker cannot even be asked to end the job, what stands for it is killed.
    pub(super) fn side_call_ended(&mut self, answer: Answer<'_>, out: &mut Vec<Action>) {
        let pauses = self.container.side.is_some_and(|side| side.pauses);
        if !answer.is_success() && pauses && self.run.suspended {
            let reason = "docker does not pause the container: the job goes on".to_owned();
            out.push(Action::Tell(Notice::Warning(reason)));
            if !self.has(Quirk::DockerPauseAssumed) {
                self.run.suspended = false;
                out.push(Action::Tell(Notice::JobSuspended(false)));
            }
        }
        self.next_side_call(out);
        if !answer.is_success() && self.asked.is_fast() && self.phase == Phase::Running {
            out.push(Action::KillFamily);
        }
    }

    /// Removes the container, if there is one; true when what was to come has to wait for that.
    pub(super) fn unload(&mut self, after: After, out: &mut Vec<Action>) -> bool {
        let Some(names) = self.container.names().cloned() else { return false };
        if matches!(self.container.stage, Stage::LastState(_) | Stage::Remove(_)) {
            return true;
        }
        let call = container::state_call(&names);
        let was = std::mem::replace(&mut self.container.docker, Docker::Named(names));
        let made = matches!(was, Docker::Made(_));
        if made {
            self.ask(Stage::LastState(after), call, out);
        }
        made
    }

    /// What docker says of the container before it is removed.
    pub(super) fn last_state_known(&mut self, now: Now, output: &[u8], after: After, out: &mut Vec<Action>) {
        let Some(names) = self.container.names().cloned() else { return };
        let state = ContainerState::parse(output, &self.frozen(now));
        // What is not known to have ended stays, for 25.14.
        let ended = state.is_some_and(|state| state.running == Some(false));
        match ended || !self.has(Quirk::DockerUnknownStays) {
            true => self.ask(Stage::Remove(after), names.remove(), out),
            false => self.unloaded(now, after, out),
        }
    }

    /// The container is removed, or could not be.
    pub(super) fn removed(&mut self, now: Now, answer: Answer<'_>, after: After, out: &mut Vec<Action>) {
        let Some(names) = self.container.names() else { return };
        if !answer.is_success() {
            // Whatever it says, the job has ended as it did (recordings c21 042, 043).
            let (name, why) = (&names.container, answer.output.trim().as_bstr());
            let way = format!("'docker rm -f -v {name}' does it");
            let text = format!("the container '{name}' could not be removed: {why}; {way}");
            out.push(Action::Tell(Notice::Warning(text)));
        }
        self.unloaded(now, after, out);
    }

    fn unloaded(&mut self, now: Now, after: After, out: &mut Vec<Action>) {
        self.container.stage = Stage::Idle;
        self.container.docker = Docker::None;
        match after {
            After::CleanUp => self.clean_up(now, out),
            After::RemoveScratch => self.remove_scratch(out),
        }
    }
}
