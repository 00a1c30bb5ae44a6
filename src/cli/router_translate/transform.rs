//! `htc-router-translate transform`: ads in, transformed ads out.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bstr::{BString, ByteSlice};
use clap::Args;

use super::iteration;
use super::rules::{self, Loaded, RulesOptions};
use crate::classad::format::list::{ListForm, ListWriter, Order};
use crate::classad::stream::{AdReader, Form};
use crate::classad::{ClassAd, Context as Eval, Dialect};
use crate::cli::common::{
    ClockOptions, ConfigOptions, Enough, OutputOptions, Problem, QuirksOptions, Session as Program, Sink,
    Status, Until, overwritten, threads,
};
use crate::cli::transform_report::{self as report, Difference};
use crate::config::{Config, MacroSource, View};
use crate::os::RealWorld;
use crate::transform::lint::{self, Severity};
use crate::transform::{Plan, Session, Transform};
use watch::{Note, Watch};

mod together;
mod watch;

/// Options of the verb.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    #[command(flatten)]
    rules: RulesOptions,
    /// Set a macro before each ad, as NAME=VALUE of condor_transform_ads does
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = crate::cli::common::assignment)]
    macros: Vec<(String, String)>,
    /// Read ads from FILE ('-' is standard input, which is read when no file is named)
    #[arg(long, visible_alias = "in", value_name = "FILE")]
    ads: Vec<PathBuf>,
    /// Fail at the first malformed ad instead of reporting it
    #[arg(long)]
    strict_input: bool,
    /// Write the ads to FILE
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Tell on standard error what each statement did to each ad
    #[arg(long)]
    trace: bool,
    /// Tell on standard error what each ad gained, lost and changed
    #[arg(long)]
    diff: bool,
    /// Work with N threads where what is written of an ad depends on no other [default: one a processor]
    #[arg(long, value_name = "N", hide_short_help = true)]
    threads: Option<NonZero<usize>>,
    /// Write XML
    #[arg(long, conflicts_with_all = ["json", "jsonl", "long", "new"], hide_short_help = true)]
    xml: bool,
    /// Write new ClassAds
    #[arg(long, conflicts_with_all = ["json", "jsonl", "long"], hide_short_help = true)]
    new: bool,
    #[command(flatten)]
    config: ConfigOptions,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    clock: ClockOptions,
    #[command(flatten)]
    quirks: QuirksOptions,
    /// Further files of ads
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// So many ads of one are hardly meant.
const MANY_TURNS: u64 = 1_000_000;

/// Carries it out: 0 when every transform of every ad went well, 1 when one failed.
pub(super) fn run(arguments: &Arguments, program: &Program) -> anyhow::Result<Status> {
    arguments.keep_inputs()?;
    let world = arguments.clock.world();
    let config = rules::load_config(&arguments.config, &arguments.rules, &world, program)?;
    let world = arguments.world_of(config.as_ref());
    let view = config.as_ref().map(|config| config.view(&world));
    let mut loaded = rules::load(&arguments.rules, view.as_ref(), &world, program)?;
    refuse_bad_statements(&loaded, &world, program)?;
    let mut transforms: Vec<Transform> =
        loaded.transforms.drain(..).map(|(transform, _)| transform).collect();
    let mut session = arguments.session(&world, view.as_ref());
    let mut observer = Watch::new(arguments, program);
    let plan = iteration::plan(&mut session, &transforms, loaded.stdin.as_mut(), &mut observer)?;
    if let Some(turns) = plan.as_ref().map(Plan::turns).filter(|turns| *turns >= MANY_TURNS) {
        program.warn(&format!("TRANSFORM makes {turns} ads of each"));
    }
    if let Some(items) = plan.as_ref().and_then(Plan::item_file) {
        arguments.keep(Path::new(OsStr::from_bytes(items)))?;
    }
    for included in transforms.iter().flat_map(Transform::included_files) {
        arguments.keep(Path::new(OsStr::from_bytes(&included)))?;
    }
    let written = || match &arguments.out {
        Some(path) => Problem::new(Status::Failed, format!("cannot write '{}'", path.display())),
        None => Problem::new(Status::Failed, "cannot write the output"),
    };
    let out = Sink::open(arguments.out.as_deref()).with_context(written)?;
    let mut run = Run {
        program,
        arguments,
        config: config.as_ref(),
        transforms: &mut transforms,
        plan,
        writer: Out::new(arguments),
        out: BufWriter::with_capacity(256 * 1024, out),
        observer,
        number: 0,
        failed: 0,
        malformed: 0,
    };
    for path in arguments.inputs() {
        run.input(path, &mut session, &mut loaded)?;
    }
    run.writer.finish(&mut run.out).with_context(written)?;
    // What was in the file before is lost only now.
    let out = run.out.into_inner().map_err(io::IntoInnerError::into_error).with_context(written)?;
    out.commit().with_context(written)?;
    if run.failed > 0 && !arguments.output.quiet {
        program.warn(&format!("{} ad{} could not be transformed", run.failed, rules::plural(run.failed)));
    }
    let broken = run.observer.broken;
    if broken > 0 && !arguments.output.quiet {
        program.warn(&format!(
            "{broken} problem{} kept statements from doing what was asked",
            rules::plural(broken)
        ));
    }
    Ok(if run.failed + run.malformed + broken > 0 { Status::No } else { Status::Done })
}

impl Arguments {
    /// What transforms are applied with.
    /// The world that is asked for, in the mode of the configuration.
    fn world_of(&self, config: Option<&Config>) -> RealWorld {
        self.clock.world().strict(config.is_some_and(Config::is_strict))
    }

    fn session<'w>(&self, world: &'w RealWorld, view: Option<&'w View<'w>>) -> Session<'w> {
        let mut session = Session::new(world, view.map(|view| view as &dyn MacroSource));
        session.quirks = self.quirks.quirks;
        session.commands = self.rules.commands();
        for (name, value) in &self.macros {
            session.macros.set(name.as_bytes(), value.as_str());
        }
        session.macros.commit();
        session
    }

    /// The files of ads.
    fn inputs(&self) -> Vec<&Path> {
        let mut inputs: Vec<&Path> = self.ads.iter().chain(&self.files).map(PathBuf::as_path).collect();
        if inputs.is_empty() {
            inputs.push(Path::new("-"));
        }
        inputs
    }

    /// Refuses to write onto what is to be read.
    fn keep_inputs(&self) -> Result<(), Problem> {
        let inputs = self.inputs();
        inputs
            .into_iter()
            .chain(self.rules.rules.iter().map(PathBuf::as_path))
            .try_for_each(|path| self.keep(path))
    }

    fn keep(&self, input: &Path) -> Result<(), Problem> {
        let Some(out) = &self.out else { return Ok(()) };
        match overwritten(out, [input]) {
            None => Ok(()),
            Some(input) => {
                let input =
                    if input.as_os_str() == "-" { "<stdin>".into() } else { input.display().to_string() };
                let message = format!("--out '{}' would overwrite the input '{input}'", out.display());
                Err(Problem::usage(message).hint("write to another file and rename it afterwards"))
            }
        }
    }
}

/// Tells every statement that can never work; one that stands in no `if` ends the run before the first ad. Then those
/// that do nothing are told too, so that one run shows all that is to be corrected.
fn refuse_bad_statements(loaded: &Loaded, world: &RealWorld, program: &Program) -> anyhow::Result<()> {
    let mut fatal = 0;
    let mut findings = Vec::new();
    for (transform, runner) in &loaded.transforms {
        let found = lint::without_effect(transform, *runner, world);
        fatal += found.iter().filter(|finding| finding.is_fatal()).count();
        findings.extend(found);
    }
    let mut told = findings.iter().filter(|finding| fatal > 0 || finding.severity == Severity::Error);
    for finding in told.by_ref().take(MOST_STATEMENTS) {
        program.report(&report::finding(finding, Status::Unreadable));
    }
    // A file that holds no rules at all has a mistake in each line.
    let rest = told.count();
    if rest > 0 {
        program.warn(&format!("{rest} more statements are wrong; lint tells all of them"));
    }
    if fatal > 0 {
        let message =
            format!("{fatal} statement{} would fail for every ad, nothing was done", rules::plural(fatal));
        return Err(Problem::unreadable(message).into());
    }
    Ok(())
}

struct Run<'a, W> {
    program: &'a Program,
    arguments: &'a Arguments,
    config: Option<&'a Config>,
    transforms: &'a mut [Transform],
    plan: Option<Plan>,
    writer: Out,
    out: W,
    observer: Watch<'a>,
    number: u64,
    failed: usize,
    malformed: usize,
}

impl<W: Write + Send> Run<'_, W> {
    fn input(&mut self, path: &Path, session: &mut Session<'_>, loaded: &mut Loaded) -> anyhow::Result<()> {
        let stdin = path == Path::new("-");
        let shown = if stdin { "<stdin>".to_owned() } else { path.display().to_string() };
        let enough = Enough::new();
        let read: Box<dyn Read + Send> = match (stdin, loaded.stdin.take()) {
            (true, Some(rest)) => Box::new(io::Cursor::new(rest)),
            (true, None) => Box::new(Until::new(io::stdin(), &enough)),
            (false, kept) => {
                loaded.stdin = kept;
                let problem = || Problem::unreadable(format!("cannot read '{shown}'"));
                Box::new(Until::new(File::open(path).with_context(problem)?, &enough))
            }
        };
        // The reader has a buffer of its own.
        let mut reader =
            AdReader::new(read, None).exact(self.arguments.strict_input).dialect(Dialect::of(session.world));
        let problem = || Problem::unreadable(format!("cannot read '{shown}'"));
        let threads = threads(self.arguments.threads);
        self.observer.input = shown.clone();
        if threads > 1 && self.is_independent() && reader.detect().with_context(problem)? == Form::Long {
            return self.together(reader, threads, &enough);
        }
        self.all(&mut reader, session)
    }

    /// Whether what is written and told of an ad depends on no other ad, so that several threads may work.
    fn is_independent(&self) -> bool {
        let Arguments { trace, diff, xml, new, output, clock, .. } = self.arguments;
        // Random numbers from a seed follow one another.
        let one_by_one = !(*trace || *diff || *xml || *new || output.json) && clock.seed.is_none();
        one_by_one && self.plan.is_none() && self.transforms.iter().all(Transform::includes_nothing)
    }

    /// Transforms the ads of a stream.
    fn all<R: Read>(&mut self, reader: &mut AdReader<R>, session: &mut Session<'_>) -> anyhow::Result<()> {
        let problem = Problem::unreadable(format!("cannot read '{}'", self.observer.input));
        loop {
            let record = match reader.next_ad() {
                Ok(Some(record)) => record,
                Ok(None) => return Ok(()),
                Err(error) => return Err(error).context(problem),
            };
            self.malformed += record.errors.len();
            let is_refused = self.arguments.strict_input && !record.errors.is_empty();
            for error in record.errors {
                self.observer.note(Note::Malformed(error))?;
            }
            // Whoever keeps the notes tells why.
            if is_refused {
                return Ok(());
            }
            self.number += 1;
            let mut ad = record.ad;
            self.ad(&mut ad, session)?;
            reader.reuse(ad);
        }
    }

    fn ad(&mut self, ad: &mut ClassAd, session: &mut Session<'_>) -> anyhow::Result<()> {
        match self.plan.take() {
            None => self.apply(ad, session)?,
            Some(plan) => {
                let mut result = Ok(());
                session.each_turn(&plan, |session| {
                    result = self.apply(&mut ad.clone(), session);
                    result.is_ok()
                });
                self.plan = Some(plan);
                result?;
            }
        }
        Ok(())
    }

    /// All transforms on one ad. What fails is told and the ad left out, as a job would not be routed or submitted.
    fn apply(&mut self, ad: &mut ClassAd, session: &mut Session<'_>) -> anyhow::Result<()> {
        let start = session.macros.mark();
        let before = self.arguments.diff.then(|| ad.clone());
        let mut applied = Vec::new();
        let mut failure = None;
        for transform in &*self.transforms {
            if !session.matches(transform, ad) {
                self.observer.skipped(transform, &Eval::new(session.world).my(ad));
                continue;
            }
            self.observer.begins(transform);
            applied.push(&transform.name);
            if let Err(error) = session.apply(transform, ad, &mut self.observer) {
                failure = Some(error);
                break;
            }
        }
        session.macros.rewind(start);
        if let Some(failure) = &failure {
            self.failed += 1;
            self.observer.failed(failure, self.number)?;
        }
        let difference = before.map(|before| Difference::between(&before, ad));
        if !self.writer.is_record() {
            self.observer.tell(self.number, difference.as_ref());
        }
        if failure.is_none() {
            let told = self.observer.take_steps();
            let written = self.writer.write(ad, &applied, told, difference, &mut self.out);
            written.context("cannot write the output")?;
        }
        Ok(())
    }
}

/// How many wrong statements are told before the first ad.
const MOST_STATEMENTS: usize = 100;

/// Writes what came out: ads in one of the four forms, or records of an ad with its story.
enum Out {
    Ads(ListWriter),
    Records { array: bool, count: usize },
}

impl Out {
    fn new(arguments: &Arguments) -> Self {
        let output = &arguments.output;
        if (arguments.trace || arguments.diff) && (output.json || output.jsonl) {
            return Out::Records { array: output.json, count: 0 };
        }
        let form = if output.json {
            ListForm::Json
        } else if output.jsonl {
            ListForm::JsonLines
        } else if arguments.xml {
            ListForm::Xml
        } else if arguments.new {
            ListForm::New
        } else {
            ListForm::Long
        };
        Out::Ads(ListWriter::new(form, Order::Sorted))
    }

    fn is_record(&self) -> bool {
        matches!(self, Out::Records { .. })
    }

    fn write(
        &mut self,
        ad: &ClassAd,
        applied: &[&BString],
        trace: Option<Vec<serde_json::Value>>,
        difference: Option<Difference>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match self {
            Out::Ads(writer) => writer.write(ad, out).map(drop),
            Out::Records { array, count } => {
                let separator: &[u8] = match (*array, *count) {
                    (true, 0) => b"[\n",
                    (true, _) => b",\n",
                    _ => b"",
                };
                *count += 1;
                out.write_all(separator)?;
                let names: Vec<_> = applied.iter().map(|name| name.to_str_lossy()).collect();
                out.write_all(b"{\"ad\":")?;
                out.write_all(&report::json_line(ad))?;
                write!(out, ",\"transforms\":{}", serde_json::json!(names))?;
                if let Some(trace) = trace {
                    write!(out, ",\"trace\":{}", serde_json::Value::Array(trace))?;
                }
                if let Some(difference) = difference {
                    write!(out, ",\"diff\":{}", difference.to_json())?;
                }
                out.write_all(if *array { b"}" } else { b"}\n" })
            }
        }
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Out::Ads(writer) => writer.finish(out),
            Out::Records { array: true, count: 0 } => out.write_all(b"[]\n"),
            Out::Records { array: true, .. } => out.write_all(b"\n]\n"),
            Out::Records { .. } => Ok(()),
        }
    }
}
