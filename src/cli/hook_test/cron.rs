//! `htc-hook-test startd-cron` and `schedd-cron`: runs one cron job, or all that a configuration lists, and shows the resulting
//! ads.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::cron_reporter::CronReporter;
use super::options::SharedOptions;
use super::{call, env_variables, report, screen_report, setup};
use crate::classad::ClassAd;
use crate::classad::format::long;
use crate::cli::common::{
    InputWatch, OptionGroup, Problem, ProgramContext, Status, parse_seconds, read_ads, stdout,
};
use crate::config::{CommandPolicy, Config, LookupContext};
use crate::hook::cron_job::CronManager;
use crate::hook_testing as hook_test;
use crate::hook_testing::{
    CronList, CronPlan, CronSession, DEFAULT_TIMEOUT, SessionPause, StandaloneCronJob, configured_slot_ads,
    merge_published, published_value_findings, sample_slot, samples, unmet_expectations,
};
use crate::os::{RealWorld, identity};
use crate::process::Exit;
use crate::quirks::QuirkMode;
use crate::runner::cron::CronContext;
use crate::slot::cron_ads::convert_usage_for_sending;
use crate::text::control_characters::mask_terminal_controls;
use crate::text::plural::counted;

/// Options of a cron job.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct CronArgs {
    /// Program to run [default: the jobs that the configuration lists]
    #[arg(value_name = "PROGRAM")]
    pub program: Option<PathBuf>,
    /// Arguments of the program
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,
    /// Name the job, or select it in the configuration
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Set PREFIX of the job [default: none]
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub prefix: String,
    /// Set SLOTS of the job, such as 1,2 [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub slots: Vec<i64>,
    /// Set METRICS of the job, such as SUM:GPUs [default: none]
    #[arg(long, value_name = "LIST", default_value = "", hide_default_value = true)]
    pub metrics: String,
    /// Run each job N times, OneShot jobs once [default: 1]
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true)]
    pub runs: u64,
    /// Run jobs by their schedule for SECONDS, on a virtual clock
    #[arg(long = "for", value_name = "SECONDS", value_parser = parse_seconds)]
    pub seconds: Option<Duration>,
    /// Reread the configuration after SECONDS; may be repeated
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, requires = "seconds")]
    pub reconfig: Vec<Duration>,
    /// Read this configuration at --reconfig [default: the same one]
    #[arg(long, value_name = "FILE", requires = "reconfig", hide_short_help = true)]
    pub reconfig_file: Option<PathBuf>,
    /// Start a job in the slot of --job-slot after SECONDS
    ///
    /// Metrics count for the job from then on.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, requires = "seconds", hide_short_help = true)]
    pub job_begins: Option<Duration>,
    /// Start the job of --job-begins in slot N [default: 1]
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, hide_short_help = true)]
    pub job_slot: usize,
    /// Show only the attributes of slot N
    #[arg(long, value_name = "N", value_parser = parse_slot_number)]
    pub slot: Option<i64>,
    /// These are the ads of the slots, or of the schedd. The default is the slots of the configuration, or a built-in ad.
    #[arg(long, value_name = "FILE", help_heading = OptionGroup::Input)]
    pub slot_ads: Option<PathBuf>,
    /// Set a variable of the program's environment; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// Put DIR at the start of the program's PATH; may be repeated
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub path_prepend: Vec<PathBuf>,
    /// Run the program as this account (needs root)
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub user: Option<String>,
    /// Print how each program would be called, and run nothing
    #[arg(long, short = 'i')]
    pub show_input: bool,
    /// Fail unless EXPR is true for every resulting ad; may be repeated
    #[arg(long, value_name = "EXPR")]
    pub expect: Vec<String>,
}

/// Parses the number of a slot, which may be part of its name: `2` or `slot2`.
fn parse_slot_number(text: &str) -> Result<i64, String> {
    let is_name = text.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case("slot"));
    let number = if is_name { &text[4..] } else { text };
    number.parse().map_err(|_| "expected a slot such as 2 or slot2".to_owned())
}

pub(super) fn run(
    cli: &SharedOptions,
    manager: CronManager,
    args: &CronArgs,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    let world = cli.clock.world();
    let expectations = call::parse_expectations(&args.expect)?;
    let watch = InputWatch::start(cli.events.timeout, session);
    let lists = CronListSource { cli, manager, args, world: &world, session };
    let config = watch.wait_for(|| lists.read_config())?;
    let CronSlots { ads: mut slots, note } = watch.wait_for(|| lists.read_slots(config.as_ref()))?;
    let list = watch.wait_for(|| lists.read(config.as_ref()))?;
    let before = slots.clone();
    let plan = cron_plan(args, cli.events.timeout);
    let reporter = CronReporter::new(cli, &plan, session);
    let (surroundings, _log) = make_surroundings(cli, manager, cli.quirks.quirks, args, &world)?;
    let mut reactor = call::program_reactor()?;
    let mut cron_session = CronSession::new(plan, surroundings, &before, &world, &mut reactor);
    if args.show_input {
        for job in &list.jobs {
            session.write_stderr(&format!("{} ({}):\n", job.name, job.mode.name()));
            session.write_stderr(&screen_report::render_call(&cron_session.child_spec(job)));
        }
        return Ok(Status::Done);
    }
    let mut report = |cron_session: &CronSession<'_>, event: &_| reporter.report_event(cron_session, event);
    // The user did not name these ads, so their use is reported even with --quiet.
    note.iter().for_each(|note| session.write_line(note));
    cron_session.configure(list, &mut report);
    loop {
        match cron_session.run(&mut report)? {
            SessionPause::Reconfig => {
                reporter.report_reconfig(&cron_session);
                cron_session.configure(lists.reread()?, &mut report);
            }
            SessionPause::Ended(Some(number)) => {
                return Ok(Status::Relayed(Exit::Signal { number, core_dumped: false }));
            }
            SessionPause::Ended(None) => break,
        }
    }
    lists.merge_output(&cron_session, &mut slots);
    print_ads(cli, &slots)?;
    let pairs = slots.iter().zip(&before);
    let failed: Vec<_> =
        pairs.flat_map(|(slot, before)| unmet_expectations(&expectations, slot, before, &world)).collect();
    failed.iter().for_each(|failure| session.write_line(&format!("expected {failure}")));
    Ok(match cron_session.has_failures() || !failed.is_empty() {
        _ if cron_session.has_timed_out() => Status::TimedOut,
        true => Status::No,
        false => Status::Done,
    })
}

/// Returns the plan of the cron session that the command line requests.
fn cron_plan(args: &CronArgs, time_limit: Option<Duration>) -> CronPlan {
    CronPlan {
        runs: args.runs,
        seconds: args.seconds,
        reconfig: args.reconfig.clone(),
        job_begins: args.job_begins.map(|at| (at, args.job_slot)),
        patience: time_limit.unwrap_or(DEFAULT_TIMEOUT),
        time_limit,
    }
}

/// Returns the settings that the daemon gives to programs, and their directory, which is removed when dropped.
fn make_surroundings(
    cli: &SharedOptions,
    manager: CronManager,
    quirks: QuirkMode,
    args: &CronArgs,
    world: &RealWorld,
) -> anyhow::Result<(CronContext, tempfile::TempDir)> {
    let daemon = identity::account_by_uid(identity::effective_uid());
    // As in the reference, cron jobs do not get the session keys of the daemons.
    let mut environment =
        hook_test::caller_environment(world, &cli.config.to_config_choice(), QuirkMode::Manual);
    hook_test::set_variables(
        &mut environment,
        &env_variables::parse_variables(&args.env)?,
        &args.path_prepend,
    );
    let account = setup::find_account(args.user.as_deref())?;
    let switches = args.user.is_some() && account != daemon;
    let identity = account.as_ref().filter(|_| switches).map(identity::identity_of_account);
    Ok(hook_test::cron_surroundings(manager, environment, identity, quirks)?)
}

/// Ads of the slots, or of the schedd.
struct CronSlots {
    ads: Vec<ClassAd>,
    /// Note about ads that the user did not name, or `None`.
    note: Option<String>,
}

/// Prints the resulting ads.
fn print_ads(cli: &SharedOptions, slots: &[ClassAd]) -> anyhow::Result<()> {
    let ads: Vec<serde_json::Value> = slots.iter().map(report::ad_to_json).collect();
    let out = match cli.output.render_json(&ads)? {
        Some(text) => text.into_bytes(),
        None => slots.iter().flat_map(|slot| [long::print(slot), b"\n".to_vec()].concat()).collect(),
    };
    Ok(stdout().write_all(&out)?)
}

/// Reduces an internal ad to the ad that is sent, and reports the attributes that are not sent.
fn reduce_to_advertised(
    slot: &mut ClassAd,
    running: i64,
    quiet: bool,
    world: &RealWorld,
    session: &ProgramContext,
) {
    let policy: Vec<String> = slot.sorted().into_iter().map(|(name, _)| name.to_string()).collect();
    convert_usage_for_sending(slot, running, false, world);
    let gone: Vec<String> = policy.into_iter().filter(|name| !slot.contains(name)).collect();
    if !gone.is_empty() && !quiet {
        session.write_stderr(&format!("seen by policy only, not sent: {}\n", gone.join(", ")));
    }
}

/// Source of the list of jobs: the command line, or the configuration.
struct CronListSource<'a> {
    cli: &'a SharedOptions,
    manager: CronManager,
    args: &'a CronArgs,
    world: &'a RealWorld,
    session: &'a ProgramContext,
}

impl CronListSource<'_> {
    /// Reads the configuration if the command line names a configuration, or does not name a program.
    fn read_config(&self) -> anyhow::Result<Option<Config>> {
        let choice = &self.cli.config;
        let is_needed =
            self.args.program.is_none() || choice.config_file.is_some() || !choice.param.is_empty();
        is_needed.then(|| self.load_config(None)).transpose()
    }

    /// Reads the configuration. `file`, if given, replaces that of the command line.
    fn load_config(&self, file: Option<&Path>) -> anyhow::Result<Config> {
        let subsystem = match self.manager {
            CronManager::Startd | CronManager::Benchmarks => "STARTD",
            CronManager::Schedd => "SCHEDD",
        };
        let context = LookupContext { subsystem: subsystem.into(), local_name: "".into() };
        let mut options = self.cli.config.load_options(CommandPolicy::BOUNDED_RUN);
        if let Some(file) = file {
            options.file = Some(file.to_owned());
        }
        let (config, _) = Config::load(self.world, &context, &options).map_err(Problem::from_config_error)?;
        Ok(config)
    }

    /// Reads the ads of the slots or of the schedd. They are the ads that the command line names, or else those of the
    /// slots of the configuration, or else a built-in ad.
    fn read_slots(&self, config: Option<&Config>) -> anyhow::Result<CronSlots> {
        let CronListSource { manager, args, session, .. } = *self;
        if manager == CronManager::Schedd && args.slot.is_some() {
            return Err(Problem::usage("a schedd has no slots: --slot is for startd-cron").into());
        }
        if let Some(path) = &args.slot_ads {
            let ads = read_ads(std::slice::from_ref(path), false, usize::MAX, session)?;
            return Ok(CronSlots { ads: self.select_slots(ads)?, note: None });
        }
        if let (Some(config), true) = (config, manager != CronManager::Schedd) {
            let configured_slots = self.configured_slots(config);
            if !configured_slots.is_empty() {
                let names: Vec<String> = configured_slots.iter().map(|(name, _)| name.clone()).collect();
                let ads = self
                    .select_slots(configured_slots.into_iter().map(|(_, ad)| ad).collect())
                    .map_err(|_| {
                        let number = args.slot.unwrap_or_default();
                        Problem::usage(format!("the configuration has no slot {number}"))
                            .hint(format!("its slots are: {}", names.join(", ")))
                    })?;
                let slot_text = match ads.as_slice() {
                    [_] => args.slot.map_or_else(|| names.join(", "), |number| format!("slot {number}")),
                    ads => format!("the {}", counted(ads.len() as u64, "slot")),
                };
                let note =
                    format!("no slot ad is given: using {slot_text} of the configuration (see --slot-ads)");
                return Ok(CronSlots { ads, note: Some(note) });
            }
        }
        let (kind, ad) = match manager {
            CronManager::Schedd => ("schedd", samples::schedd_ad()),
            CronManager::Startd | CronManager::Benchmarks => ("slot", sample_slot(args.slot.unwrap_or(1))),
        };
        let name = ad.string("Name").unwrap_or_default();
        let note = format!("no {kind} ad is given: using the built-in {kind} '{name}' (see --slot-ads)");
        Ok(CronSlots { ads: vec![ad], note: Some(note) })
    }

    /// Returns the names and ads of the slots that the configuration defines on this machine.
    fn configured_slots(&self, config: &Config) -> Vec<(String, ClassAd)> {
        let CronListSource { cli, world, session, .. } = *self;
        let choice = cli.config.to_config_choice();
        configured_slot_ads(config, &choice, world.clone(), cli.quirks.quirks, &mut |line| session.warn(line))
    }

    /// Returns the ads of the slot of `--slot`, or all ads without the option.
    fn select_slots(&self, mut ads: Vec<ClassAd>) -> anyhow::Result<Vec<ClassAd>> {
        if let Some(number) = self.args.slot {
            ads.retain(|slot| slot.literal("SlotID").and_then(|value| value.as_int()) == Some(number));
            if ads.is_empty() {
                return Err(Problem::unreadable(format!("there is no ad of slot {number}")).into());
            }
        }
        Ok(ads)
    }

    /// Reads the list of jobs.
    fn read(&self, config: Option<&Config>) -> anyhow::Result<CronList> {
        match (&self.args.program, config) {
            (Some(program), config) => {
                self.refuse_job_name(program, config)?;
                self.single_job(program)
            }
            (None, Some(config)) => self.configured_jobs(config),
            (None, None) => self.configured_jobs(&self.load_config(None)?),
        }
    }

    /// Reads the list of jobs again for `--reconfig`.
    fn reread(&self) -> anyhow::Result<CronList> {
        match &self.args.program {
            Some(program) => self.single_job(program),
            None => self.configured_jobs(&self.load_config(self.args.reconfig_file.as_deref())?),
        }
    }

    /// Refuses a missing program if the configuration of the command line has a job with its name.
    fn refuse_job_name(&self, program: &Path, config: Option<&Config>) -> anyhow::Result<()> {
        let Some(name) = program.to_str().filter(|name| !name.contains('/') && !program.exists()) else {
            return Ok(());
        };
        let Some(config) = config.filter(|_| self.cli.config.config_file.is_some()) else {
            return Ok(());
        };
        let listed = self.configured_jobs(config)?;
        match listed.jobs.iter().find(|job| job.name.to_string().eq_ignore_ascii_case(name)) {
            Some(job) => {
                Err(Problem::usage(format!("'{name}' is a job of the configuration, not a program"))
                    .hint(format!("--name {} runs this job", job.name))
                    .into())
            }
            None => Ok(()),
        }
    }

    /// Returns the job that the command line names.
    fn single_job(&self, program: &Path) -> anyhow::Result<CronList> {
        let args = self.args;
        let single = StandaloneCronJob {
            name: args.name.clone(),
            words: args.words.clone(),
            prefix: args.prefix.clone(),
            slots: args.slots.clone(),
            metrics: args.metrics.clone(),
            mode: None,
            periodic: args.seconds.is_some(),
        };
        single.to_cron_list(program).map_err(|warning| Problem::usage(format!("--metrics: {warning}")).into())
    }

    /// Reads the jobs of the configuration.
    fn configured_jobs(&self, config: &Config) -> anyhow::Result<CronList> {
        let CronListSource { cli, manager, args, world, session } = *self;
        let view = config.view(world);
        let list = CronList::from_config(manager, &view, args.name.as_deref(), cli.quirks.quirks);
        let (list, messages) = list.map_err(Problem::unreadable)?;
        for message in messages {
            match message {
                Ok(odd) => session.warn(&odd),
                Err(skipped) => session.report(&Problem::unreadable(skipped.to_string()).into()),
            }
        }
        Ok(list)
    }

    /// Merges the output of the jobs into the ads, and reports to which slots it applies.
    fn merge_output(&self, cron_session: &CronSession<'_>, slots: &mut [ClassAd]) {
        let CronListSource { cli, manager, world, session, .. } = *self;
        let run_seconds = i64::try_from(cron_session.elapsed().as_secs()).unwrap_or(i64::MAX);
        if let Some(first) = slots.first() {
            for found in published_value_findings(cron_session.published_ads(), first) {
                let message = mask_terminal_controls(&found.message);
                let advice = mask_terminal_controls(&found.advice);
                let rule = found.rule.word();
                session.write_stderr(&format!("  warning {rule}: {message}\n    hint: {advice}\n"));
            }
        }
        for slot in slots {
            let parts = merge_published(cron_session.published_ads(), manager, slot, world);
            if !cli.output.quiet {
                let slot_name = slot.string("Name").map_or("slot".into(), ToString::to_string);
                for part in parts {
                    let word = if part.is_merged { "merged into" } else { "not for" };
                    session.write_stderr(&format!("{}: {word} {slot_name} ({})\n", part.name, part.rule));
                }
            }
            if manager == CronManager::Startd {
                reduce_to_advertised(slot, run_seconds.max(1), cli.output.quiet, world, session);
            }
        }
    }
}
