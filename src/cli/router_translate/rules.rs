//! Which transforms are meant: rules files, knobs of the configuration.

use crate::classad::Dialect;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bstr::{BString, ByteSlice};
use clap::Args;

use crate::cli::common::{ConfigOptions, Problem, Session as Program, Status};
use crate::cli::transform_report as report;
use crate::config::{CommandPolicy, Config, MacroSource, Origin, View, Who};
use crate::lint::transforms::Runner;
use crate::os::read_whole;
use crate::quirks::{Quirk, Quirks};
use crate::transform::{Reason, Session, Transform, legacy};
use crate::world::World;

/// Options that name transforms.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct RulesOptions {
    /// Apply the rules of FILE ('-' is standard input); may be repeated
    #[arg(long, short = 'r', value_name = "FILE", num_args = 1)]
    pub rules: Vec<PathBuf>,
    /// Apply JOB_TRANSFORM_<name> of the configuration, or of a rules file before
    #[arg(long, value_name = "NAMES")]
    pub job_transforms: Vec<String>,
    /// Apply JOB_ROUTER_ROUTE_<name> of the configuration, or of a rules file before
    #[arg(long, value_name = "NAMES")]
    pub route: Vec<String>,
    /// Run the commands that rules name ('include command', TRANSFORM from 'prog |')
    #[arg(long, hide_short_help = true)]
    pub exec: bool,
    /// Names of JOB_ROUTER_TRANSFORM_<name>; no option names them.
    #[arg(skip)]
    pub router_transforms: Vec<String>,
}

impl RulesOptions {
    /// Where nothing is named: all that a router's configuration lists, in the order of application.
    pub(super) fn or_whole_router(mut self, view: Option<&View<'_>>) -> Self {
        let Some(view) = view.filter(|_| self.rules.is_empty() && !self.wants_config()) else { return self };
        let list = |knob: &str| {
            let text = view.text(knob).unwrap_or_default();
            text.to_str_lossy().into_owned()
        };
        self.route =
            vec![list("JOB_ROUTER_ROUTE_NAMES")].into_iter().filter(|names| !names.is_empty()).collect();
        if !self.route.is_empty() {
            let knobs = ["JOB_ROUTER_PRE_ROUTE_TRANSFORM_NAMES", "JOB_ROUTER_POST_ROUTE_TRANSFORM_NAMES"];
            self.router_transforms = knobs.map(list).into_iter().filter(|names| !names.is_empty()).collect();
        }
        self
    }

    /// Whether commands are run: only when asked for, as rules may come from anywhere.
    pub(super) fn commands(&self) -> CommandPolicy {
        if self.exec { CommandPolicy::BOUNDED } else { CommandPolicy::Refused }
    }

    /// Whether nothing but job transforms of the configuration is named.
    fn is_schedd(&self) -> bool {
        let others = [&self.route, &self.router_transforms];
        !self.job_transforms.is_empty()
            && self.rules.is_empty()
            && others.iter().all(|names| names.is_empty())
    }

    fn wants_config(&self) -> bool {
        [&self.job_transforms, &self.route, &self.router_transforms].iter().any(|names| !names.is_empty())
    }
}

/// The transforms that were named.
pub(super) struct Loaded {
    /// In order of application, each with who would run it.
    pub transforms: Vec<(Transform, Runner)>,
    /// What stood on standard input behind the rules that were read from there.
    pub stdin: Option<Vec<u8>>,
    /// How many could not be read.
    pub broken: usize,
    /// How many have the old syntax, which the schedd ignores.
    pub ignored: usize,
}

/// Loads the configuration; without a file and without knobs to look up, a missing one is an empty one.
pub(super) fn load_config(
    options: &ConfigOptions,
    rules: &RulesOptions,
    world: &dyn World,
    program: &Program,
) -> anyhow::Result<Option<Config>> {
    // Job transforms belong to the access point; with rules or routes beside them all are read as by the router.
    let subsystem = if rules.is_schedd() { "SCHEDD" } else { "JOB_ROUTER" };
    let who = Who { subsystem: subsystem.into(), ..Who::default() };
    let load = options.load_options(CommandPolicy::BOUNDED);
    match Config::load(world, &who, &load) {
        Ok((config, warnings)) => {
            warnings.iter().for_each(|warning| program.warn(&warning.to_string()));
            Ok(Some(config))
        }
        Err(error) if options.config_file.is_some() || rules.wants_config() => {
            Err(Problem::of_config(error).into())
        }
        Err(_) => Ok(None),
    }
}

/// Reads the transforms, all of which have to be right.
pub(super) fn load(
    options: &RulesOptions,
    quirks: Quirks,
    view: Option<&View<'_>>,
    world: &dyn World,
    program: &Program,
) -> anyhow::Result<Loaded> {
    let loaded = load_what_can_be(options, quirks, view, world, program)?;
    let broken = loaded.broken;
    if broken > 0 {
        return Err(
            Problem::unreadable(format!("{broken} transform{} could not be loaded", plural(broken))).into()
        );
    }
    Ok(loaded)
}

/// Reads the transforms; what is wrong with others is told.
pub(super) fn load_what_can_be(
    options: &RulesOptions,
    quirks: Quirks,
    view: Option<&View<'_>>,
    world: &dyn World,
    program: &Program,
) -> anyhow::Result<Loaded> {
    let knobs = view.map(|view| view as &dyn MacroSource);
    let session = || Session { commands: options.commands(), ..Session::new(world, knobs) };
    let mut loading = Loading {
        view,
        world,
        program,
        quirks,
        defined: session(),
        loaded: Loaded { transforms: Vec::new(), stdin: None, broken: 0, ignored: 0 },
    };
    for path in &options.rules {
        loading.file(path)?;
    }
    let kinds = [
        (&options.job_transforms, "JOB_TRANSFORM_", Runner::Schedd),
        (&options.route, "JOB_ROUTER_ROUTE_", Runner::Router),
        (&options.router_transforms, "JOB_ROUTER_TRANSFORM_", Runner::Router),
    ];
    for (lists, prefix, runner) in kinds {
        let names = lists.iter().flat_map(|list| list.split([',', ' ', '\t']));
        for name in names.filter(|name| !name.is_empty()) {
            loading.knob(name, prefix, runner)?;
        }
    }
    let mut loaded = loading.loaded;
    if options.wants_config() {
        // A file that was given to define knobs is no transform of its own. What hides behind an include that cannot be
        // had is not known, so the file stays and fails.
        loaded.transforms.retain(|(transform, runner)| {
            if *runner != Runner::Tool {
                return true;
            }
            let checked = session().check(transform, &mut crate::transform::Silent);
            let included =
                checked.failure.is_none_or(|failure| !matches!(failure.reason, Reason::Include(_)));
            checked.commands > 0 || !included
        });
    }
    if loaded.transforms.is_empty() && loaded.broken + loaded.ignored == 0 {
        Err(nothing(view).into())
    } else {
        Ok(loaded)
    }
}

/// There is nothing to apply.
fn nothing(view: Option<&View<'_>>) -> Problem {
    let old = ["JOB_ROUTER_ENTRIES", "JOB_ROUTER_ENTRIES_FILE", "JOB_ROUTER_ENTRIES_CMD"];
    match old.into_iter().find(|knob| view.is_some_and(|view| view.is_defined(knob))) {
        Some(knob) => {
            Problem::usage(format!("{knob} has routes of the old syntax, which nothing loads any more"))
                .hint("write them anew with htc-router-translate convert")
        }
        None => Problem::usage("no transform was named")
            .hint("give --rules FILE, --job-transforms NAMES or --route NAME"),
    }
}

/// Transforms being read.
struct Loading<'a> {
    view: Option<&'a View<'a>>,
    world: &'a dyn World,
    program: &'a Program,
    quirks: Quirks,
    /// Macros of rules files, which may define the knobs that are asked for.
    defined: Session<'a>,
    loaded: Loaded,
}

impl Loading<'_> {
    fn take(&mut self, transform: anyhow::Result<Transform>, runner: Runner) {
        match transform {
            Ok(transform) => self.loaded.transforms.push((transform, runner)),
            Err(error) => {
                self.program.report(&error);
                self.loaded.broken += 1;
            }
        }
    }

    /// Whether an old-syntax transform is left out, as 25.14 does; reports it either way.
    fn is_ignored(&self, knob: &BString, runner: Runner) -> bool {
        if runner != Runner::Schedd {
            self.program.warn(&format!(
                "{knob} has the old syntax, which 25.14's job router refuses; it is applied here"
            ));
            return false;
        }
        let is_ignored = self.quirks.has(Quirk::OldTransformsIgnored);
        let here = if is_ignored { "so does this run" } else { "it is applied here" };
        self.program.warn(&format!("{knob} has the old syntax, which 25.14's schedd ignores; {here}"));
        is_ignored
    }

    /// A rules file.
    fn file(&mut self, path: &Path) -> anyhow::Result<()> {
        let is_stdin = path.as_os_str() == "-";
        let name = if is_stdin { "<stdin>".into() } else { path.to_string_lossy().into_owned() };
        let mut text = read(path)?;
        let transform = Transform::from_file(&name, &text, Dialect::of(self.world));
        if let Ok(transform) = &transform {
            if is_stdin {
                self.loaded.stdin = Some(text.split_off(transform.envelope.rest.min(text.len())));
            }
            self.defined.check(transform, &mut crate::transform::Silent);
        }
        self.take(transform.map_err(|error| report::load_error(&error, Status::Unreadable)), Runner::Tool);
        Ok(())
    }

    /// The transform of a knob, in the syntax of today or that of old routes.
    fn knob(&mut self, name: &str, prefix: &str, runner: Runner) -> anyhow::Result<()> {
        let knob = BString::from(format!("{prefix}{name}"));
        let own = self.defined.macros.get(&knob).map(<[u8]>::to_vec);
        let is_own = own.is_some();
        let raw = || self.view.and_then(|view| MacroSource::raw(view, &knob).map(|raw| raw.into_owned()));
        let Some(text) = own.or_else(raw) else {
            let hint = format!("htc-config-dump --dump '{prefix}' lists what is");
            self.take(Err(Problem::unreadable(format!("{knob} is not defined")).hint(hint).into()), runner);
            return Ok(());
        };
        let text = text.trim_start();
        let is_old = text.starts_with(b"[");
        if is_old && self.is_ignored(&knob, runner) {
            self.loaded.ignored += 1;
            return Ok(());
        }
        let transform = if is_old {
            let expanded = match self.view {
                Some(view) if !is_own => view.expand_raw(&knob, text)?,
                _ => text.into(),
            };
            legacy::transform_from_knob(name, &expanded, self.world).map_err(|error| {
                anyhow::Error::new(error).context(Problem::unreadable(format!("cannot convert {knob}")))
            })
        } else {
            Transform::from_knob_at(name, &place(&knob, self.view), text, Dialect::of(self.world))
                .map_err(|error| report::load_error(&error, Status::Unreadable))
        };
        self.take(transform, runner);
        Ok(())
    }
}

/// What messages call the text of a knob: its name, and where the configuration sets it.
fn place(knob: &BString, view: Option<&View<'_>>) -> String {
    let origin = view.and_then(|view| view.raw(&knob.to_str_lossy())).map(|setting| setting.origin);
    match origin {
        Some(origin @ Origin { line: Some(_), .. }) => format!("{knob} ({origin})"),
        _ => knob.to_string(),
    }
}

/// The letter that makes more of it.
pub(super) fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// The text of a rules file.
pub(super) fn read(path: &std::path::Path) -> anyhow::Result<Vec<u8>> {
    let problem = || Problem::unreadable(format!("cannot read rules '{}'", path.display()));
    if path.as_os_str() == "-" {
        read_whole(std::io::stdin().lock()).with_context(problem)
    } else {
        std::fs::File::open(path).and_then(read_whole).with_context(problem)
    }
}
