//! `condor_transform_ads`: command line, output and exit statuses of the tool (reference: `transform_ads.cpp`).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BString, ByteSlice};

use super::condor_transform_ads_apply::{FAILED_STATUS, TransformAdsTool};
use super::condor_transform_ads_options::{ParsedCommandLine, USAGE, parse_options};
use super::configuration;
use crate::classad::format::list::{ListForm, ListWriter};
use crate::classad::stream::{AdForm, Delimiter, ReferenceReader};
use crate::classad::{ClassAd, Context, Dialect};
use crate::cli::common::{OutputTarget, Problem, ProgramContext, Status, exit_when_reader_is_gone, stdout};
use crate::cli::transform_report as report;
use crate::config::MacroSource;
use crate::os::{RealWorld, StopFlag, StoppableReader, find_overwritten_input, read_whole, thread_count};
use crate::transform::{IterationPlan, Transform, TransformLoadError, TransformSession, route_conversion};
use crate::world::World;

/// Runs the program under the name `condor_transform_ads`.
pub fn run(words: &[OsString], program: &ProgramContext) -> anyhow::Result<Status> {
    exit_when_reader_is_gone();
    let options = match parse_options(words, program) {
        ParsedCommandLine::Status(status) => return Ok(Status::Tool(status)),
        ParsedCommandLine::Run(options) => *options,
    };
    let world = RealWorld::new();
    let config = match configuration::load("XFORM", &world, program) {
        Ok(config) => config,
        Err(status) => return Ok(status),
    };
    let world = world.with_strict_mode(config.is_strict());
    let view = config.view(&world);
    let tool = TransformAdsTool { program, options: &options, config: &config, world: &world, view: &view };
    tool.run().map(Status::Tool)
}

/// Rules that were loaded from files and the configuration.
#[derive(Default)]
struct LoadedTransforms {
    transforms: Vec<Transform>,
    /// Rest of standard input after rules that were read from standard input, or `None`.
    stdin: Option<Vec<u8>>,
    /// True if a rules file that could not be read has a TRANSFORM with iteration, after which no rules may follow.
    iterates: bool,
    /// True if the last rules file could not be read.
    failed: bool,
}

impl TransformAdsTool<'_> {
    fn run(self) -> anyhow::Result<u8> {
        if let Some(options) = &self.options.convert {
            let mut out = Vec::new();
            let status = self.convert(*options, &mut out);
            stdout().write_all(&out)?;
            return Ok(status);
        }
        if self.options.unit_test {
            self.print_line(
                "-unit-test looks into the reference's own file reader; there is nothing to test here",
            );
            return Ok(0);
        }
        if self.options.rules.is_empty() {
            self.print_line("no transform rules specified, give -rules, -jobtransforms or -jobroute");
            self.program.write_stderr(USAGE);
            return Ok(1);
        }
        let mut loaded = match self.load() {
            Ok(loaded) => loaded,
            Err(status) => return Ok(status),
        };
        if loaded.failed {
            self.print_line("the last rules file could not be read");
            return Ok(255);
        }
        if self.options.inputs.is_empty() {
            self.print_line("no input file specified, nothing to transform; '-' is standard input");
            return Ok(1);
        }
        self.transform(&mut loaded)
    }

    fn load(&self) -> Result<LoadedTransforms, u8> {
        let mut loaded = LoadedTransforms::default();
        let mut checking = TransformSession::new(self.world, Some(self.view));
        for rules in &self.options.rules {
            let iterates = loaded.transforms.last().is_some_and(|last| last.envelope.iteration.is_some());
            if iterates || loaded.iterates {
                self.print_line(&format!(
                    "'{}' follows a transform that iterates, which must be the last",
                    rules.to_string_lossy()
                ));
                return Err(1);
            }
            if let Some(parameters) = rules.as_bytes().strip_prefix(b"config://") {
                self.load_from_config(parameters, &checking, &mut loaded);
            } else {
                self.load_file(rules, &mut loaded)?;
            }
            let Some(last) = loaded.transforms.last() else { continue };
            if last.envelope.iteration.is_some() {
                continue;
            }
            let checked = checking.check_commands(last, &mut report::StderrObserver::new(self.program));
            if let Some(failure) = &checked.failure {
                let problem = report::problem_from_failure(failure, Status::Tool(255));
                self.program.report(&problem.context(format!("invalid rules file {}", last.name)));
            }
            if checked.commands == 0 {
                loaded.transforms.pop();
            }
        }
        Ok(loaded)
    }

    fn load_file(&self, rules: &OsStr, loaded: &mut LoadedTransforms) -> Result<(), u8> {
        let stdin = rules.as_bytes() == b"-";
        let name = if stdin { "<stdin>".into() } else { rules.to_string_lossy() };
        let read = if stdin {
            match loaded.stdin.take() {
                Some(rest) => Ok(rest),
                None => read_whole(io::stdin().lock()),
            }
        } else {
            File::open(rules).and_then(read_whole)
        };
        let mut text = match read {
            Ok(text) => text,
            Err(error) => {
                self.print_line(&format!("cannot open rules file '{name}': {error}"));
                return Err(255);
            }
        };
        loaded.failed = false;
        match Transform::from_file(&name, &text, Dialect::of_world(self.world)) {
            Ok(transform) => {
                if stdin {
                    loaded.stdin = Some(text.split_off(transform.envelope.rest_offset.min(text.len())));
                }
                loaded.transforms.push(transform);
            }
            Err(error) => {
                loaded.failed = true;
                let TransformLoadError::Requirements { iterates, .. } = &error;
                loaded.iterates = *iterates;
                self.program.report(&report::load_problem(&error, Status::Tool(255)));
            }
        }
        Ok(())
    }

    /// Loads rules from `PARAMETER[/NAMES]`, which are parameters in earlier rules files or in the configuration. Unknown
    /// parameters are skipped.
    fn load_from_config(
        &self,
        parameters: &[u8],
        checking: &TransformSession<'_>,
        loaded: &mut LoadedTransforms,
    ) {
        let (pattern, names) = match memchr::memchr(b'/', parameters) {
            Some(slash) => (&parameters[..slash], &parameters[slash + 1..]),
            None => (parameters, &b""[..]),
        };
        let mut names: Vec<&[u8]> = crate::text::list::split(names).collect();
        if names.is_empty() {
            names.push(b"_");
        }
        for name in names {
            let parameter = BString::from(pattern.replacen(b"%s", name, 1));
            let xform_name = [&b"XFORM."[..], &parameter].concat();
            let known = checking
                .macros
                .get(&xform_name)
                .or_else(|| checking.macros.get(&parameter))
                .map(<[u8]>::to_vec);
            // An empty parameter is treated as missing, but an empty macro of a rules file is not.
            let parameter_text = || MacroSource::raw(self.view, &parameter).filter(|raw| !raw.is_empty());
            let Some(text) = known.or_else(|| parameter_text().map(|raw| raw.into_owned())) else { continue };
            let text = text.trim_start().to_vec();
            let name = name.to_str_lossy();
            let transform = if text.starts_with(b"[") {
                // As in the tool, a route in the old syntax is read again from the configuration, with its macros expanded.
                let text = parameter_text().and_then(|raw| self.view.expand_raw(&parameter, &raw).ok());
                route_conversion::transform_from_parameter(&name, &text.unwrap_or_default(), self.world)
                    .map_err(|error| error.to_string())
            } else {
                Transform::from_parameter(&name, &text, Dialect::of_world(self.world))
                    .map_err(|error| error.to_string())
            };
            match transform {
                Ok(transform) => loaded.transforms.push(transform),
                Err(error) => self.print_line(&format!("{parameter}: {error}, ignored")),
            }
        }
    }

    fn transform(&self, loaded: &mut LoadedTransforms) -> anyhow::Result<u8> {
        let included: Vec<BString> = loaded.transforms.iter().flat_map(Transform::included_files).collect();
        let ads = self.options.inputs.iter().map(|(name, _)| name.as_os_str());
        let rules = self.options.rules.iter().map(OsString::as_os_str);
        let included = included.iter().map(|name| OsStr::from_bytes(name));
        if self.would_overwrite_input(ads.chain(rules).chain(included)) {
            return Ok(1);
        }
        let name = self.output_path();
        let out = match OutputTarget::open(name) {
            Ok(out) => out,
            Err(error) => {
                let name = name.unwrap_or(Path::new("-")).display();
                self.print_line(&format!("cannot open output file '{name}': {error}"));
                return Ok(1);
            }
        };
        let mut run = TransformAdsRun {
            tool: self,
            session: self.new_session(),
            plan: None,
            writer: self.new_writer(),
            out: io::BufWriter::with_capacity(256 * 1024, out),
            opened: false,
        };
        if let Some(items) = run.make_plan(loaded)
            && self.would_overwrite_input([OsStr::from_bytes(&items)])
        {
            return Ok(1);
        }
        let mut status = 0;
        for (name, form) in &self.options.inputs {
            if self.options.verbose {
                self.program
                    .write_stderr(&format!("# Applying transforms to ads from {}\n", name.to_string_lossy()));
            }
            status = run.transform_input(name, *form, loaded)?;
        }
        run.writer.finish(&mut run.out)?;
        run.out.flush()?;
        let out = run.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        // If no file of ads could be opened, the output file keeps its old content.
        if run.opened {
            out.commit()?;
        }
        Ok(status)
    }

    /// Returns true, after printing a message, if the output would overwrite an input. The reference truncates the file and then
    /// finds no ads in it.
    fn would_overwrite_input<'p>(&self, inputs: impl IntoIterator<Item = &'p OsStr>) -> bool {
        let Some(out) = self.output_path() else { return false };
        let Some(input) = find_overwritten_input(out, inputs.into_iter().map(Path::new)) else {
            return false;
        };
        let (out, input) = (out.display(), input.display());
        self.print_line(&format!("output file '{out}' is the input '{input}', which would be lost"));
        true
    }
}

/// Iteration of the last transform (TRANSFORM with several items).
enum IterationState {
    Once,
    Plan(IterationPlan),
    Broken,
}

struct TransformAdsRun<'a> {
    tool: &'a TransformAdsTool<'a>,
    session: TransformSession<'a>,
    plan: Option<IterationState>,
    writer: ListWriter,
    out: io::BufWriter<OutputTarget>,
    /// True if at least one input could be opened.
    opened: bool,
}

/// Opens an input. If rules were read from standard input, `-` is the text after them.
fn open_input<'e>(
    name: &OsStr,
    loaded: &mut LoadedTransforms,
    enough: &'e StopFlag,
) -> io::Result<Box<dyn Read + Send + 'e>> {
    Ok(match loaded.stdin.take_if(|_| name == "-") {
        Some(rest) => Box::new(io::Cursor::new(rest)),
        None if name == "-" => Box::new(StoppableReader::new(io::stdin(), enough)),
        None => Box::new(StoppableReader::new(File::open(name)?, enough)),
    })
}

impl TransformAdsRun<'_> {
    /// Transforms the ads of one input, and returns the exit status.
    fn transform_input(
        &mut self,
        name: &OsStr,
        form: Option<AdForm>,
        loaded: &mut LoadedTransforms,
    ) -> anyhow::Result<u8> {
        let display_name = name.to_string_lossy();
        let stop_flag = StopFlag::new();
        let input = match open_input(name, loaded, &stop_flag) {
            Ok(input) => input,
            Err(error) => {
                self.tool.print_line(&format!("cannot open file of ads '{display_name}': {error}"));
                return Ok(0);
            }
        };
        self.opened = true;
        let mut reader =
            ReferenceReader::new(input, form, Delimiter::Blank).dialect(Dialect::of_world(self.tool.world));
        let threads = if self.can_run_in_parallel(loaded) { thread_count(None) } else { 1 };
        let start = self.session.macros.mark();
        let mut status = 0;
        let mut number = 0;
        while let Some(mut ad) = reader.next_ad()? {
            number += 1;
            if self.tool.options.verbose {
                let identity = identity(&ad, number, self.tool.world);
                self.tool.program.write_stderr(&format!("#   {identity}\n"));
            }
            if loaded.transforms.is_empty() {
                let message = "no transform is left: rules without any command are treated as configuration";
                return Err(Problem::unreadable(message).hint("move a command out of its 'if', or use -jobtransforms to name a transform that the file defines").into());
            }
            let failed = self.transform_ad(&mut ad, loaded)?;
            reader.reuse(ad);
            self.session.macros.rewind(start);
            status = failed.unwrap_or(1);
            if failed.is_some() {
                break;
            }
            if number == 1 && threads > 1 && reader.form() == Some(AdForm::Long) && !reader.would_abort() {
                let (transforms, out) = (&loaded.transforms, &mut self.out);
                return self.tool.transform_in_parallel(transforms, reader, &stop_flag, threads, out);
            }
        }
        if reader.would_abort() {
            let message =
                format!("'{display_name}' starts like an ad in brackets, but its first line is not one");
            return Err(Problem::unreadable(message)
                .hint("put '[' and ']' or '{' and '}' of a list on lines of their own")
                .into());
        }
        Ok(status)
    }

    /// Returns true if the output for an ad does not depend on other ads, so that several threads can be used.
    fn can_run_in_parallel(&self, loaded: &LoadedTransforms) -> bool {
        let one_by_one = match self.tool.options.out_form {
            ListForm::Long | ListForm::JsonLines | ListForm::NewLines => true,
            ListForm::Json | ListForm::New | ListForm::Xml => false,
        };
        // A TRANSFORM without iteration sets macros that other threads do not have, so `plan` must be `None`.
        one_by_one
            && self.plan.is_none()
            && !self.tool.options.verbose
            && loaded.transforms.iter().all(Transform::has_no_includes)
    }

    /// Plans the iteration of the last transform. Returns the name of the file with its items, or `None`.
    fn make_plan(&mut self, loaded: &mut LoadedTransforms) -> Option<BString> {
        let last = loaded.transforms.last().filter(|last| last.envelope.iteration.is_some())?;
        // As in the reference, a new macro table has the built-in macros, but not those of the command line.
        self.session.macros = crate::transform::MacroTable::default();
        let world = self.tool.world;
        let mut read_items = |path: Option<&Path>| match path {
            Some(path) => world.read_file(path, None),
            None => read_whole(io::stdin().lock()),
        };
        let command = |text: &[u8]| {
            let result =
                crate::config::command::run_command(text, crate::config::CommandPolicy::BOUNDED_RUN, world);
            result.map(|(output, _)| output).ok()
        };
        let mut observer = report::StderrObserver::new(self.tool.program);
        let mut items = None;
        self.plan = Some(match self.session.plan_iteration(last, &mut observer, &mut read_items, &command) {
            Ok(None) => IterationState::Once,
            Ok(Some(plan)) => {
                if let Some(rest) = &mut loaded.stdin {
                    rest.drain(..plan.consumed.min(rest.len()));
                }
                items = plan.item_file().map(BString::from);
                IterationState::Plan(plan)
            }
            Err(error) => {
                self.tool.print_line(&error.to_string());
                IterationState::Broken
            }
        });
        items
    }

    /// Transforms one ad; returns the exit status if a transform failed.
    fn transform_ad(&mut self, ad: &mut ClassAd, loaded: &LoadedTransforms) -> anyhow::Result<Option<u8>> {
        match self.plan.take() {
            Some(IterationState::Broken) => {
                self.plan = Some(IterationState::Broken);
                Ok(Some(FAILED_STATUS))
            }
            Some(IterationState::Plan(plan)) => {
                let (tool, writer, out) = (self.tool, &mut self.writer, &mut self.out);
                let mut result = Ok(None);
                self.session.run_for_each_item(&plan, |session| {
                    let mut copy = ad.clone();
                    result = tool.apply_all(&loaded.transforms, session, &mut copy, writer, out);
                    matches!(result, Ok(None))
                });
                self.plan = Some(IterationState::Plan(plan));
                result
            }
            other => {
                self.plan = other;
                let (writer, out) = (&mut self.writer, &mut self.out);
                self.tool.apply_all(&loaded.transforms, &mut self.session, ad, writer, out)
            }
        }
    }
}

fn identity(ad: &ClassAd, number: u32, world: &dyn World) -> String {
    let context = Context::new(world).my(ad);
    if let Some(name) = context.string(b"Name") {
        return name.to_string();
    }
    match (context.int(b"ClusterId"), context.int(b"ProcId")) {
        (Some(cluster), Some(proc)) => format!("Job {cluster}.{proc}"),
        _ => format!("Ad {number}"),
    }
}
