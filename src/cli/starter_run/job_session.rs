//! Session of one job: reads configuration and ad, makes the plan, runs the event loop, and prints the result.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bstr::BString;

use super::super::common::{
    InputWatch, Problem, ProgramContext, Status, finish_events, is_broken_pipe, stderr_outlet,
    stdin_twice_problem, stdout,
};
use super::access_point::AccessPointRunSetup;
use super::ad_list::render_ad_list;
use super::configuration::load;
use super::control_client;
use super::job_ad;
use super::options::{PRIVATE_DIRECTORY_VARIABLE, is_standard_stream, leading_number};
use super::spool::SpoolDirectory;
use super::starter_invocation::{StarterInvocation, keep_unwritten_ad};
use crate::classad::format::long;
use crate::classad::{self, ClassAd, Dialect};
use crate::config::ConfigView;
use crate::job::{JobStatus, attr};
use crate::os::{Reactor, identity};
use crate::process::Exit;
use crate::quirks::QuirkMode;
use crate::runner::configured_world;
use crate::runner::events::EventStream;
use crate::runner::hook_environment::DaemonEnvironment;
use crate::runner::starter::{
    ControlInputs, Plan, RehearsalResult, RehearsalScript, RunRequest, StarterOutcome, TransferHelper,
    condor_ids, handed_over_ad_length, handled_signals, job_note, plan, rehearse, run_starter,
    slot_name_of_log, take_job,
};
use crate::starter::job_info::remove_scratch_paths;
use crate::starter::job_source::{self, AdCompletion};
use crate::starter::unsupported::AccessPointRole;
use crate::starter::{JobOutcome, JobOverrides};
use crate::world::World;

/// Receives the job from htc-slot-run, and returns its private directory, or `None` if htc-slot-run has not started
/// this process.
fn take_over_job() -> anyhow::Result<Option<PathBuf>> {
    let private = std::env::var_os(PRIVATE_DIRECTORY_VARIABLE).map(PathBuf::from);
    if let Some(private) = &private
        && !take_job(private).context("cannot receive the job from the slot runner")?
    {
        return Err(anyhow::anyhow!("the slot runner that sent the job has ended: the job is not run"));
    }
    Ok(private)
}

impl StarterInvocation<'_> {
    pub(super) fn run(&self, session: &ProgramContext) -> anyhow::Result<Status> {
        self.run_job(session).or_else(|error| {
            if !self.is_daemon() {
                return Err(error);
            }
            // If the job cannot be started, the reference exits with status 1, whatever the reason is.
            session.report(&error);
            Ok(Status::Tool(1))
        })
    }

    fn run_job(&self, session: &ProgramContext) -> anyhow::Result<Status> {
        let cli = self.cli;
        let job = &cli.job;
        self.check_job_ids()?;
        self.check_standard_files()?;
        let private = take_over_job()?;
        let world = cli.clock.world();
        let strict = self.is_daemon();
        let watch = InputWatch::start(cli.events.timeout, session);
        let config = watch.wait_for(|| load(cli, strict, &world, session))?;
        let world = configured_world(world, &config, &mut |text| session.warn(text));
        let view = config.view(&world);
        condor_ids(&view, &world).map_err(|error| Problem::unreadable(error.to_string()))?;
        let overrides = self.attribute_overrides();
        let ad = watch.wait_for(|| self.complete_job_ad(&overrides, &view, session))?;
        let bytes = |text: &Option<OsString>| text.clone().map(|text| BString::from(text.into_vec()));
        let mut stream = self.open_event_stream(session)?;
        let machine_ad =
            watch.wait_for(|| self.machine_ad(private.as_deref(), Dialect::of_world(&world), session))?;
        let role = job.played_as.to_access_point_role();
        let spool =
            (role == AccessPointRole::Shadow && !job.dry_run).then(SpoolDirectory::new).transpose()?;
        let log = self.log_path()?;
        let request = |ad: ClassAd| RunRequest {
            world: &world,
            quirks: self.quirks(),
            environment: DaemonEnvironment::from_program(&world, &cli.config.to_config_choice()),
            ad,
            machine: machine_ad.clone(),
            overrides: overrides.clone(),
            role,
            // `/proc/self/exe` is this program, even if its file is replaced or removed.
            helper: TransferHelper {
                program: "/proc/self/exe".into(),
                argv: ["htc-starter-run", "--carry"].map(BString::from).to_vec(),
            },
            spool: spool.as_ref().map(|spool| spool.path().to_owned()),
            log: log.clone(),
            shell: self.interactive_shell(),
            slot: self.slot_ad(&view),
            event_slot: self.slot.as_ref().map(|slot| slot.to_string_lossy().into_owned()),
            output_ad: bytes(&job.job_output_ad),
            update_ad: bytes(&job.job_update_ad),
            hook_timeout: job.hook_timeout,
            timeout: cli.events.timeout,
            orphan_grace: job.orphan_grace,
            private_directory: private.clone(),
            fallback_execute: std::env::temp_dir(),
            clock_skew_us: cli.clock.now.map_or(0, |now| now - crate::os::clock::now().wall_us),
        };
        // Logs and ads of the job must have the same modes as those of daemons, whatever the umask of the caller is.
        identity::set_umask(0o022);
        let status = if role == AccessPointRole::Absent || job.dry_run {
            match plan(request(ad), &view) {
                Ok(planned) => self.run_or_rehearse(planned, &world, &mut stream, session)?,
                Err(error) => return self.report_refusal(&error, session),
            }
        } else {
            let setup = AccessPointRunSetup {
                view: &view,
                world: &world,
                ad,
                machine: machine_ad.clone(),
                until: job.until.0,
                local: role == AccessPointRole::Schedd,
                spool: spool.as_ref().map(SpoolDirectory::path),
            };
            self.run_job_as_queue_does(setup, &request, &mut stream, session)?
        };
        // htc-slot-run checks the events itself, so it needs only the status of the job.
        Ok(if private.is_some() { status } else { finish_events(stream, status) })
    }

    /// Returns the job ad, with missing attributes taken from the configuration.
    fn complete_job_ad(
        &self,
        overrides: &JobOverrides,
        view: &ConfigView<'_>,
        session: &ProgramContext,
    ) -> anyhow::Result<ClassAd> {
        let world = view.world();
        let dialect = Dialect::of_world(world);
        let mut ad = self.read_job_ad(dialect, session)?;
        let keyword_of_ad = || job_source::job_keyword(&ad, world).map(|word| word.to_string());
        if let Some(keyword) = self.cli.job.job_keyword.clone().or_else(keyword_of_ad) {
            let ids = (overrides.cluster, overrides.proc);
            let universe = classad::Context::new(world).my(&ad).int(attr::JOB_UNIVERSE).is_some();
            let completion = AdCompletion { keyword: &keyword, ids, universe, parameters: view, dialect };
            let skipped_values = job_source::complete_ad(&mut ad, &completion, self.quirks())
                .map_err(|error| Problem::unreadable(error.to_string()))?;
            // If htc-slot-run has started this program, it has already reported these values.
            let reports_values =
                std::env::var_os(PRIVATE_DIRECTORY_VARIABLE).is_none() && !self.cli.output.quiet;
            for value in skipped_values.iter().filter(|_| reports_values) {
                session.warn(&format!("{value}; the job runs without it, as in a pool"));
            }
        }
        Ok(ad)
    }

    /// Runs the planned job or, with --dry-run, prints what the run would do.
    fn run_or_rehearse(
        &self,
        planned: Plan<'_>,
        world: &dyn World,
        stream: &mut EventStream,
        session: &ProgramContext,
    ) -> anyhow::Result<Status> {
        let Plan { machine, context: carrier, warnings, .. } = planned;
        if !self.cli.output.quiet {
            warnings.iter().for_each(|warning| session.warn(warning));
        }
        if self.cli.job.dry_run {
            return self.print_rehearsal(&rehearse(machine, &carrier, &RehearsalScript::default(), world));
        }
        let mut reactor =
            Reactor::new(&handled_signals()).context("cannot set up signal handlers and child processes")?;
        let mut socket = control_client::socket(self.cli.job.control.as_ref(), &mut reactor)?;
        let has_exit_hook = machine.has_exit_hook();
        let mut parent = carrier.parent();
        let control_inputs =
            ControlInputs { control: socket.as_mut(), observer: None, parent: parent.as_mut() };
        let mut finished = run_starter(machine, carrier, world, &mut reactor, stream, control_inputs)
            .context("cannot wait for children")?;
        if let Some(private) = std::env::var_os(PRIVATE_DIRECTORY_VARIABLE).filter(|_| has_exit_hook) {
            // JOB_EXIT has informed the job's queue, so htc-slot-run no longer needs its copy of the job.
            drop(std::fs::remove_file(job_note(Path::new(&private))));
        }
        if let Some(reason) = finished.not_started.as_ref().filter(|_| !self.prints_events()) {
            session.report(&anyhow::anyhow!("the job was not started: {reason}"));
        }
        // The exit status is determined first, because it must show the outcome of the job even if the ad cannot be
        // printed.
        let status = self.exit_status(&finished);
        let status = || self.status_with_result_ad(&finished, status, session);
        match self.print_result_ad(&finished) {
            Ok(()) => status(),
            Err(error) if is_broken_pipe(&error) => status(),
            Err(error) => {
                keep_unwritten_ad(finished.state.take(), finished.outcome.as_deref(), session);
                Err(error.context("cannot write the job's ad to standard output"))
            }
        }
    }

    /// Prints what the run would do, as lines or as one JSON object. The exit status is 0 if the job would be started.
    fn print_rehearsal(&self, rehearsed: &RehearsalResult) -> anyhow::Result<Status> {
        let mut row = serde_json::to_value(&rehearsed.preview)?;
        row["runs"] = rehearsed.preview.started.into();
        row["steps"] = rehearsed.lines.clone().into();
        let lines = || {
            let explanation = if self.cli.job.explain { rehearsed.preview.explanation() } else { Vec::new() };
            let explanation = explanation.into_iter().map(|line| format!("why: {line}"));
            rehearsed.lines.iter().cloned().chain(explanation).map(|line| line + "\n").collect()
        };
        let text: String = self.cli.output.render_json(&[row])?.unwrap_or_else(lines);
        stdout().write_all(text.as_bytes())?;
        Ok(if rehearsed.preview.started { Status::Done } else { Status::No })
    }

    /// Returns the user's shell, for `--interactive`.
    fn interactive_shell(&self) -> Option<BString> {
        let user_shell = || std::env::var_os("SHELL").filter(|shell| Path::new(shell).is_absolute());
        self.cli
            .job
            .interactive
            .then(|| BString::from(user_shell().unwrap_or_else(|| "/bin/sh".into()).into_vec()))
    }

    /// Checks that the parts of the job id are numbers. The daemon accepts any text, and uses the number at the start
    /// of the text.
    fn check_job_ids(&self) -> anyhow::Result<()> {
        let job = &self.cli.job;
        let ids = [
            ("--job-cluster", &job.job_cluster),
            ("--job-proc", &job.job_proc),
            ("--job-subproc", &job.job_subproc),
        ];
        for (name, text) in ids {
            let Some(text) = text.as_ref().filter(|_| !self.is_daemon()) else { continue };
            if !text.parse::<i32>().is_ok_and(|id| id >= 0) {
                let message = format!("{name}: '{text}' is not a number from 0 to {}", i32::MAX);
                return Err(Problem::usage(message).into());
            }
        }
        Ok(())
    }

    fn check_standard_files(&self) -> anyhow::Result<()> {
        let job = &self.cli.job;
        if is_standard_stream(&job.job_stdin) && self.job_ad_path().is_some_and(|path| path == Path::new("-"))
        {
            return Err(Problem::usage("standard input cannot be both the job's and that of its ad")
                .hint("give the ad with --ads FILE")
                .into());
        }
        let is_stdin = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
        let others =
            [("--config-file", &self.cli.config.config_file), ("--slot-ads", &self.cli.job.slot_ads)];
        let other = others.into_iter().find(|(_, path)| is_stdin(path));
        if let (Some((option, _)), true) = (other, is_stdin(&self.job_ad_path())) {
            return Err(stdin_twice_problem("--ads", option).into());
        }
        if is_standard_stream(&job.job_stdout) && is_standard_stream(&job.job_output_ad) {
            let message = "standard output cannot be both the job's and that of its result ad";
            return Err(Problem::usage(message).into());
        }
        if job.interactive && self.job_ad_path().is_some_and(|path| path == Path::new("-")) {
            return Err(Problem::usage("with --interactive, the shell reads standard input")
                .hint("give the job's ad with --ads FILE")
                .into());
        }
        Ok(())
    }

    /// Returns the path of the job ad, or `None` if the job is defined only in the configuration.
    fn job_ad_path(&self) -> Option<PathBuf> {
        let job = &self.cli.job;
        match &job.job_input_ad {
            Some(path) => Some(PathBuf::from(path)),
            None if job.job_keyword.is_some() && !self.ads_given => None,
            None => self.cli.input.paths().into_iter().next(),
        }
    }

    fn read_job_ad(&self, dialect: Dialect, session: &ProgramContext) -> anyhow::Result<ClassAd> {
        if self.cli.input.ads.len() > 1 {
            return Err(Problem::usage("--ads is given more than once; a starter runs one job").into());
        }
        let Some(path) = self.job_ad_path() else { return Ok(ClassAd::new()) };
        let input = job_ad::read_all(&path, session)?;
        let length = std::env::var_os(PRIVATE_DIRECTORY_VARIABLE)
            .and_then(|private| handed_over_ad_length(Path::new(&private)));
        if let Some(length) = length.filter(|length| input.text.len() < *length) {
            let received = input.text.len();
            return Err(anyhow::anyhow!(
                "the slot runner ended after sending {received} of {length} bytes of the job ad: the job is not run"
            ));
        }
        if input.text.is_empty() && self.cli.job.job_keyword.is_some() {
            return Ok(ClassAd::new());
        }
        // 25.14 supports only the long form for `-job-input-ad`.
        let lines_only = self.cli.job.job_input_ad.is_some() && self.is_daemon();
        let skips_lines = self.is_daemon() || self.quirks() == QuirkMode::Reference;
        let rules = job_ad::JobAdRules { lines_only, skips_lines, strict: self.cli.input.strict_input };
        job_ad::read_job_ad(&input, rules, dialect, session)
    }

    fn attribute_overrides(&self) -> JobOverrides {
        let job = &self.cli.job;
        let number = |text: &Option<String>| text.as_ref().map(|text| leading_number(text));
        // Relative names are relative to the current directory. In 25.14 they are relative to Iwd, which may be the
        // scratch directory.
        let current_directory = std::env::current_dir().ok().filter(|_| !self.is_daemon());
        let file = |name: &Option<OsString>| {
            let name = name.clone()?;
            let name = match &current_directory {
                Some(current_directory) if !name.is_empty() && name != "-" => {
                    current_directory.join(name).into_os_string()
                }
                _ => name,
            };
            Some(BString::from(name.into_vec()))
        };
        JobOverrides {
            cluster: number(&job.job_cluster),
            proc: number(&job.job_proc),
            subproc: number(&job.job_subproc),
            files: [file(&job.job_stdin), file(&job.job_stdout), file(&job.job_stderr)],
        }
    }

    fn machine_ad(
        &self,
        private: Option<&Path>,
        dialect: Dialect,
        session: &ProgramContext,
    ) -> anyhow::Result<Option<ClassAd>> {
        if let Some(path) = &self.cli.job.slot_ads {
            return job_ad::read_slot_ad(path, dialect, session).map(Some);
        }
        let Some(text) = private.and_then(|private| std::fs::read(private.join("machine.ad")).ok()) else {
            return Ok(None);
        };
        Ok(Some(long::parse(&text).0))
    }

    fn slot_ad(&self, view: &ConfigView<'_>) -> BString {
        let job = &self.cli.job;
        let slot_name = job.slot_name.clone().map(|name| BString::from(name.into_vec()));
        let name_from_log = || {
            let mut log = view.text("STARTER_LOG").unwrap_or_default();
            if let Some(suffix) = job.append.clone() {
                log.push(b'.');
                log.extend(suffix.into_vec());
            }
            slot_name_of_log(&log, &view.text("STARTD_RESOURCE_PREFIX").unwrap_or_else(|| "slot".into()))
        };
        slot_name.or_else(|| view.text("STARTER_SLOT_NAME")).unwrap_or_else(name_from_log)
    }

    /// Returns true if events are printed to standard error. The daemon prints to its terminal only on request.
    fn prints_events(&self) -> bool {
        let cli = self.cli;
        !self.as_tool || cli.job.termlog || std::env::var_os(PRIVATE_DIRECTORY_VARIABLE).is_some()
    }

    fn open_event_stream(&self, session: &ProgramContext) -> anyhow::Result<EventStream> {
        let cli = self.cli;
        let json = cli.events.open()?;
        let readable = self.prints_events().then(stderr_outlet).flatten();
        let prefix = match &cli.job.header {
            Some(header) => format!("{}: {header} ", session.name()),
            None => format!("{}: ", session.name()),
        };
        let warning_outlet = if self.as_tool { None } else { stderr_outlet() };
        let stream = EventStream::new(&prefix, readable, json)
            .with_loss_reports(warning_outlet)
            .with_errors_only(cli.output.quiet);
        Ok(stream.with_style(cli.lines.line_style(cli.output.color)))
    }

    /// Prints the job ad with its outcome, unless standard output has another use.
    fn print_result_ad(&self, finished: &StarterOutcome) -> anyhow::Result<()> {
        let job = &self.cli.job;
        let mut stdout = stdout();
        match job.job_output_ad.as_deref() {
            Some(path) if path == OsStr::new("-") => stdout.write_all(&finished.result)?,
            Some(_) if self.is_daemon() => {}
            _ if job.job_stdout.as_deref() == Some(OsStr::new("-")) => {}
            // As condor_starter, the program prints no ad unless htc-slot-run requests it.
            None if self.as_tool && std::env::var_os(PRIVATE_DIRECTORY_VARIABLE).is_none() => {}
            _ => {
                let outcome = finished.outcome.as_deref();
                // As condor_starter, the program prints the ad in the starter's own form.
                let changed =
                    outcome.filter(|_| !self.is_daemon()).map(|ad| ad_for_next_program(ad, finished));
                let ads = changed.as_deref().or(outcome);
                stdout.write_all(&render_ad_list(self.cli.output.ad_format(), ads))?;
                // As condor_starter, the program prints only the ad, which htc-slot-run reads.
                if ads.is_some() && !self.as_tool && !self.cli.output.wants_json() {
                    stdout.write_all(b"\n")?;
                }
            }
        }
        stdout.flush()?;
        Ok(())
    }

    fn exit_status(&self, finished: &StarterOutcome) -> Status {
        if self.is_daemon() {
            return Status::Tool(finished.status);
        }
        match finished.standing {
            _ if finished.timed_out => Status::TimedOut,
            JobOutcome::Ran(Exit::Code(0)) if finished.status == 0 => Status::Done,
            JobOutcome::Ran(_) | JobOutcome::NotStarted => Status::No,
        }
    }
}

/// Returns the final ad in a form for other programs: without paths in the scratch directory, and with the JobStatus of a job
/// that has exited. A starter leaves JobStatus to the schedd, which does not exist in a pipeline.
fn ad_for_next_program(text: &[u8], finished: &StarterOutcome) -> Vec<u8> {
    let (mut ad, _) = long::parse(text);
    remove_scratch_paths(&mut ad, &finished.scratch);
    let has_exited = !finished.timed_out
        && matches!(finished.standing, JobOutcome::Ran(_))
        && ad.string("JobState").is_some_and(|state| state == "Exited")
        && ["ExitCode", "ExitSignal"].into_iter().any(|name| ad.contains(name))
        && !["HoldReason", "VacateReason"].into_iter().any(|name| ad.contains(name));
    if has_exited {
        ad.set("JobStatus", JobStatus::COMPLETED);
    }
    long::print(&ad)
}
