//! Selection and loading of transforms from rules files and from parameters of the configuration.

use crate::classad::Dialect;
use crate::text::plural::counted;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bstr::{BString, ByteSlice};
use clap::Args;

use crate::cli::common::{ConfigOptions, Problem, ProgramContext, Status};
use crate::cli::transform_report as report;
use crate::config::{CommandPolicy, Config, ConfigView, LookupContext, MacroSource, SettingOrigin};
use crate::lint::daemons::rules_file::{
    IgnoredStatements, MOVE_TRANSFORM, has_rule_statement, is_file_of_ads, sets_router_parameters,
};
use crate::lint::transforms::TransformRunner;
use crate::os::read_at_most;
use crate::quirks::{Quirk, QuirkMode};
use crate::transform::{FailureReason, Transform, TransformSession, route_conversion};
use crate::world::World;

/// Options that name transforms.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct RulesOptions {
    /// Read rules from FILE, or '-' for standard input; may be repeated
    #[arg(long, short = 'r', value_name = "FILE", num_args = 1)]
    pub rules: Vec<PathBuf>,
    /// Use JOB_TRANSFORM_<name> from the configuration or an earlier rules file
    #[arg(long, value_name = "NAMES")]
    pub job_transforms: Vec<String>,
    /// Use JOB_ROUTER_ROUTE_<name> from the configuration or an earlier rules file
    #[arg(long, value_name = "NAMES")]
    pub route: Vec<String>,
    /// Run the commands that rules name ('include command', TRANSFORM from 'prog |')
    #[arg(long, hide_short_help = true)]
    pub exec: bool,
}

impl RulesOptions {
    /// Returns the policy for commands. They are run only with --exec, because rules may come from anywhere.
    pub(super) fn command_policy(&self) -> CommandPolicy {
        if self.exec { CommandPolicy::BOUNDED_RUN } else { CommandPolicy::Refused }
    }

    /// Returns true if all named transforms are job transforms of the configuration.
    fn is_schedd_only(&self) -> bool {
        !self.job_transforms.is_empty() && self.rules.is_empty() && self.route.is_empty()
    }

    /// Returns the daemon whose configuration is read. Job transforms are read as the schedd reads its configuration;
    /// if rules or routes are named too, all are read as the router does.
    pub(super) fn reader(&self) -> LookupContext {
        let subsystem = if self.is_schedd_only() { "SCHEDD" } else { "JOB_ROUTER" };
        LookupContext { subsystem: subsystem.into(), ..LookupContext::default() }
    }

    /// Returns the parameters that hold the named transforms and routes.
    pub(super) fn parameter_names(&self) -> Vec<String> {
        let of_lists = |lists: &[String], prefix: &'static str| -> Vec<String> {
            let names = lists.iter().flat_map(|list| list.split([',', ' ', '\t']));
            names.filter(|name| !name.is_empty()).map(|name| format!("{prefix}{name}")).collect()
        };
        let transforms = of_lists(&self.job_transforms, "JOB_TRANSFORM_");
        [transforms, of_lists(&self.route, "JOB_ROUTER_ROUTE_")].concat()
    }

    /// True if any named rules are parameters of the configuration.
    pub(super) fn needs_config(&self) -> bool {
        [&self.job_transforms, &self.route].iter().any(|names| !names.is_empty())
    }
}

/// Transforms that were loaded.
pub(super) struct LoadedRules {
    /// Transforms in the order in which they are applied, each with the daemon that would apply it.
    pub transforms: Vec<(Transform, TransformRunner)>,
    /// Rest of standard input after rules that were read from standard input, or `None`.
    pub stdin: Option<Vec<u8>>,
    /// Number of transforms that could not be loaded.
    pub broken: usize,
    /// Number of transforms in the old syntax, which the schedd ignores.
    pub ignored: usize,
}

/// Loads the configuration. If the command line names no configuration file and no parameters are needed, a missing
/// configuration is treated as an empty one.
pub(super) fn load_config(
    options: &ConfigOptions,
    rules: &RulesOptions,
    world: &dyn World,
    program: &ProgramContext,
) -> anyhow::Result<Option<Config>> {
    let who = rules.reader();
    let load = options.load_options(CommandPolicy::BOUNDED_RUN);
    match Config::load(world, &who, &load) {
        Ok((config, warnings)) => {
            warnings.iter().for_each(|warning| program.warn(&warning.to_string()));
            Ok(Some(config))
        }
        Err(error) if options.config_file.is_some() || rules.needs_config() => {
            Err(Problem::from_config_error(error).into())
        }
        Err(_) => Ok(None),
    }
}

/// Loads all transforms; fails if one is invalid.
pub(super) fn load(
    options: &RulesOptions,
    quirks: QuirkMode,
    view: Option<&ConfigView<'_>>,
    world: &dyn World,
    program: &ProgramContext,
) -> anyhow::Result<LoadedRules> {
    let loaded = load_usable(options, quirks, view, world, program)?;
    let broken = loaded.broken;
    if broken > 0 {
        return Err(
            Problem::unreadable(format!("{} could not be loaded", counted(broken, "transform"))).into()
        );
    }
    Ok(loaded)
}

/// Loads the valid transforms, and reports the invalid ones.
pub(super) fn load_usable(
    options: &RulesOptions,
    quirks: QuirkMode,
    view: Option<&ConfigView<'_>>,
    world: &dyn World,
    program: &ProgramContext,
) -> anyhow::Result<LoadedRules> {
    let macros = view.map(|view| view as &dyn MacroSource);
    let session =
        || TransformSession { commands: options.command_policy(), ..TransformSession::new(world, macros) };
    let mut loading = RulesLoader {
        view,
        world,
        program,
        quirks,
        defined: session(),
        takes_parameters: options.needs_config(),
        loaded: LoadedRules { transforms: Vec::new(), stdin: None, broken: 0, ignored: 0 },
    };
    for path in &options.rules {
        loading.load_file(path)?;
    }
    let kinds = [
        (&options.job_transforms, "JOB_TRANSFORM_", TransformRunner::Schedd),
        (&options.route, "JOB_ROUTER_ROUTE_", TransformRunner::Router),
    ];
    for (lists, prefix, runner) in kinds {
        let names = lists.iter().flat_map(|list| list.split([',', ' ', '\t']));
        for name in names.filter(|name| !name.is_empty()) {
            loading.load_param(name, prefix, runner)?;
        }
    }
    let mut loaded = loading.loaded;
    if options.needs_config() {
        // A file that only defines parameters is not a transform. If one of its includes cannot be read, the file is
        // kept, because the include may have commands; it then fails later.
        loaded.transforms.retain(|(transform, runner)| {
            if *runner != TransformRunner::Tool {
                return true;
            }
            let checked = session().check_commands(transform, &mut crate::transform::SilentObserver);
            let included =
                checked.failure.is_none_or(|failure| !matches!(failure.reason, FailureReason::Include(_)));
            checked.commands > 0 || !included
        });
    }
    if loaded.transforms.is_empty() && loaded.broken + loaded.ignored == 0 {
        Err(no_rules_problem(view).into())
    } else {
        Ok(loaded)
    }
}

/// Returns the error for a command line that names no transform.
fn no_rules_problem(view: Option<&ConfigView<'_>>) -> Problem {
    let old = ["JOB_ROUTER_ENTRIES", "JOB_ROUTER_ENTRIES_FILE", "JOB_ROUTER_ENTRIES_CMD"];
    match old.into_iter().find(|parameter| view.is_some_and(|view| view.is_defined(parameter))) {
        Some(parameter) => Problem::usage(format!(
            "{parameter} has routes of the old syntax, which HTCondor 25 no longer loads"
        ))
        .hint("convert them with htc-router-translate convert"),
        None => Problem::usage("no transform is selected")
            .hint("use --rules FILE, --job-transforms NAMES or --route NAME"),
    }
}

/// Loader of transforms.
struct RulesLoader<'a> {
    view: Option<&'a ConfigView<'a>>,
    world: &'a dyn World,
    program: &'a ProgramContext,
    quirks: QuirkMode,
    /// Macros of the rules files so far, which may define requested parameters.
    defined: TransformSession<'a>,
    /// True if routes or job transforms are requested, which rules files may define.
    takes_parameters: bool,
    loaded: LoadedRules,
}

impl RulesLoader<'_> {
    fn add_transform(&mut self, transform: anyhow::Result<Transform>, runner: TransformRunner) {
        match transform {
            Ok(transform) => self.loaded.transforms.push((transform, runner)),
            Err(error) => {
                self.program.report(&error);
                self.loaded.broken += 1;
            }
        }
    }

    /// Returns true if a transform in the old syntax is skipped, as by 25.14. Prints a warning in any case.
    fn skips_old_syntax(&self, parameter: &BString, runner: TransformRunner) -> bool {
        if runner != TransformRunner::Schedd {
            self.program.warn(&format!(
                "{parameter} has the old syntax, which the job router of HTCondor 25.14 refuses; it is applied here"
            ));
            return false;
        }
        let is_ignored = self.quirks.reproduces(Quirk::OldTransformsIgnored);
        let handling = if is_ignored { "this program also ignores it" } else { "it is applied here" };
        self.program.warn(&format!(
            "{parameter} has the old syntax, which the schedd of HTCondor 25.14 ignores; {handling}"
        ));
        is_ignored
    }

    /// Loads a rules file.
    fn load_file(&mut self, path: &Path) -> anyhow::Result<()> {
        let is_stdin = path.as_os_str() == "-";
        let name = if is_stdin { "<stdin>".into() } else { path.to_string_lossy().into_owned() };
        let mut text = read_rules_file(path)?;
        refuse_other_kinds(&name, &text, self.takes_parameters)?;
        // On standard input, the text after the rules may be ads, so it is not checked.
        let ignored = if is_stdin { None } else { IgnoredStatements::find(&text, self.world) };
        if let Some(ignored) = ignored {
            let place = ignored.first.position(&text);
            let message = ignored.message();
            self.program
                .warn(&format!("{name}:{}:{}: {message}\nhint: {MOVE_TRANSFORM}", place.line, place.column));
        }
        let transform = Transform::from_file(&name, &text, Dialect::of_world(self.world));
        if let Ok(transform) = &transform {
            if is_stdin {
                self.loaded.stdin = Some(text.split_off(transform.envelope.rest_offset.min(text.len())));
            }
            self.defined.check_commands(transform, &mut crate::transform::SilentObserver);
        }
        self.add_transform(
            transform.map_err(|error| report::load_problem(&error, Status::Unreadable)),
            TransformRunner::Tool,
        );
        Ok(())
    }

    /// Loads the transform in a parameter, in the current syntax or in that of old routes.
    fn load_param(&mut self, name: &str, prefix: &str, runner: TransformRunner) -> anyhow::Result<()> {
        let parameter = BString::from(format!("{prefix}{name}"));
        let rules_text = self.defined.macros.get(&parameter).map(<[u8]>::to_vec);
        let is_from_rules = rules_text.is_some();
        let raw =
            || self.view.and_then(|view| MacroSource::raw(view, &parameter).map(|raw| raw.into_owned()));
        let Some(text) = rules_text.or_else(raw) else {
            let hint = format!("htc-config-dump --dump '{prefix}' lists the names that are defined");
            self.add_transform(
                Err(Problem::unreadable(format!("{parameter} is not defined")).hint(hint).into()),
                runner,
            );
            return Ok(());
        };
        let text = text.trim_start();
        let is_old = text.starts_with(b"[");
        if is_old && self.skips_old_syntax(&parameter, runner) {
            self.loaded.ignored += 1;
            return Ok(());
        }
        let transform = if is_old {
            let expanded = match self.view {
                Some(view) if !is_from_rules => view.expand_raw(&parameter, text)?,
                _ => text.into(),
            };
            route_conversion::transform_from_parameter(name, &expanded, self.world).map_err(|error| {
                anyhow::Error::new(error).context(Problem::unreadable(format!("cannot convert {parameter}")))
            })
        } else {
            Transform::from_parameter_at(
                name,
                &param_place(&parameter, self.view),
                text,
                Dialect::of_world(self.world),
            )
            .map_err(|error| report::load_problem(&error, Status::Unreadable))
        };
        self.add_transform(transform, runner);
        Ok(())
    }
}

/// Returns the name of a parameter for messages, with the place where the configuration sets it.
fn param_place(parameter: &BString, view: Option<&ConfigView<'_>>) -> String {
    let origin = view.and_then(|view| view.raw(&parameter.to_str_lossy())).map(|setting| setting.origin);
    match origin {
        Some(origin @ SettingOrigin { line: Some(_), .. }) => format!("{parameter} ({origin})"),
        _ => parameter.to_string(),
    }
}

/// Refuses files that have no effect as rules: files of ads and, unless `may_set_parameters`, configurations of a
/// router.
///
/// # Errors
/// Returns an error that names the kind of the file.
pub(super) fn refuse_other_kinds(name: &str, text: &[u8], may_set_parameters: bool) -> anyhow::Result<()> {
    if let Some(line) = text.lines().position(|line| line.contains(&0)) {
        let message = format!("{name}:{}: a NUL byte: this is not a rules file", line + 1);
        return Err(Problem::unreadable(message).into());
    }
    if statement_lines(text).count() > MAX_STATEMENTS {
        let message = format!("'{name}' has too many statements: the limit is {MAX_STATEMENTS}");
        return Err(Problem::unreadable(message).into());
    }
    if has_rule_statement(text) {
        return Ok(());
    }
    let (kind, hint) = match text.trim_start().first() {
        _ if is_file_of_ads(text) => ("ads", "ads are arguments without an option, or read with --ads"),
        Some(b'{' | b'<') => {
            ("ads in JSON or XML", "ads are arguments without an option, or read with --ads")
        }
        _ if !may_set_parameters && sets_router_parameters(text) => (
            "the configuration of a router",
            "use --config-file FILE with --route NAME or --job-transforms NAME",
        ),
        _ => return Ok(()),
    };
    Err(Problem::unreadable(format!("'{name}' is not a rules file: it contains {kind}")).hint(hint).into())
}

/// Maximum number of statements of a rules file. A parsed statement needs about one kilobyte.
const MAX_STATEMENTS: usize = 100_000;

/// Returns the lines before TRANSFORM that are neither empty nor comments.
fn statement_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_end = |line: &&[u8]| {
        line.get(..9).is_some_and(|word| word.eq_ignore_ascii_case(b"transform"))
            && line.get(9).is_none_or(u8::is_ascii_whitespace)
    };
    let lines = text.lines().map(|line| line.trim_start()).take_while(move |line| !is_end(line));
    lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"))
}

/// Maximum size of a rules file in bytes.
const MAX_RULES_BYTES: u64 = 64 << 20;

/// Reads the text of a rules file.
pub(super) fn read_rules_file(path: &std::path::Path) -> anyhow::Result<Vec<u8>> {
    let problem = || Problem::unreadable(format!("cannot read rules '{}'", path.display()));
    if path.as_os_str() == "-" {
        read_at_most(std::io::stdin().lock(), MAX_RULES_BYTES).with_context(problem)
    } else {
        std::fs::File::open(path).and_then(|file| read_at_most(file, MAX_RULES_BYTES)).with_context(problem)
    }
}
