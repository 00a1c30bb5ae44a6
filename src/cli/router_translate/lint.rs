//! `htc-router-translate lint`: reports mistakes in transform rules and in the configuration of a router.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use clap::Args;

use super::rules::{self, RulesOptions};
use crate::cli::common::{ConfigOptions, FileTexts, OutputOptions, ProgramContext, Status};
use crate::cli::config_dump::lint as config_lint;
use crate::cli::lint::{self, LintOptions, LintReport, count_text, print_explanation};
use crate::config::finding::Finding;
use crate::config::{CommandPolicy, LoadOptions, LookupContext, MacroSource};
use crate::lint::daemons::rules_file::{
    FileLanguage, detect_language, from_transform_findings, lint_rules_file,
};
use crate::lint::transforms as transform_lint;
use crate::os::RealWorld;
use crate::quirks::QuirkMode;
use crate::runner::configured_world;

/// Options of the verb `lint`.
#[derive(Args, Debug)]
pub(super) struct LintArguments {
    #[command(flatten)]
    rules: RulesOptions,
    #[command(flatten)]
    lint: LintOptions,
    #[command(flatten)]
    config: ConfigOptions,
    #[command(flatten)]
    output: OutputOptions,
    /// Rules files, or files of a router's configuration
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Runs the verb `lint`. The exit status is 0 if nothing was found, 1 if something was found, 3 if a transform cannot be loaded.
pub(super) fn run(arguments: &LintArguments, program: &ProgramContext) -> anyhow::Result<Status> {
    if let Some(rule) = arguments.lint.explain {
        return print_explanation(rule, &arguments.lint, &arguments.output);
    }
    // Each file is read once, because a pipe cannot be read again.
    let texts = FileTexts::read(&arguments.files, &RealWorld::new())?;
    if arguments.rules.needs_config() && arguments.rules.rules.is_empty() && arguments.files.is_empty() {
        return lint_parameters(arguments, &texts, program);
    }
    match arguments.config_files(&texts) {
        Some(files) => lint_configuration(arguments, files, &texts, program),
        None => lint_rules(arguments, &texts, program),
    }
}

impl LintArguments {
    /// Returns the files to check as a configuration, or `None` if the command line names rules. An empty list stands
    /// for the default configuration.
    fn config_files(&self, texts: &FileTexts) -> Option<Vec<PathBuf>> {
        if self.rules.needs_config() || !self.rules.rules.is_empty() {
            return None;
        }
        let is_config =
            |file: &Path| texts.get(file).is_some_and(|text| detect_language(text) == FileLanguage::Config);
        let is_configuration = !self.files.is_empty() && self.files.iter().all(|file| is_config(file));
        (self.files.is_empty() || is_configuration).then(|| self.files.clone())
    }
}

/// Checks a configuration as `htc-config-dump lint` does.
fn lint_configuration(
    arguments: &LintArguments,
    files: Vec<PathBuf>,
    texts: &FileTexts,
    program: &ProgramContext,
) -> anyhow::Result<Status> {
    let commands = if arguments.rules.exec { CommandPolicy::BOUNDED_RUN } else { CommandPolicy::Skipped };
    let request = config_lint::LintCommand {
        files,
        job_ad: None,
        here: false,
        parameters: Vec::new(),
        options: LoadOptions {
            keep_texts: true,
            keep_defaults: true,
            ..arguments.config.load_options(commands)
        },
        who: LookupContext { subsystem: "TOOL".into(), ..LookupContext::default() },
        lint: &arguments.lint,
        output: arguments.output,
        redact: false,
    };
    config_lint::run(&request, &texts.world(&RealWorld::new()), program)
}

/// Checks routes and job transforms of the configuration as `htc-config-dump lint` does.
fn lint_parameters(
    arguments: &LintArguments,
    texts: &FileTexts,
    program: &ProgramContext,
) -> anyhow::Result<Status> {
    let request = config_lint::LintCommand {
        files: Vec::new(),
        job_ad: None,
        here: false,
        parameters: arguments.rules.parameter_names(),
        options: LoadOptions {
            keep_texts: true,
            keep_defaults: true,
            ..arguments.config.load_options(CommandPolicy::BOUNDED_RUN)
        },
        who: arguments.rules.reader(),
        lint: &arguments.lint,
        output: arguments.output,
        redact: false,
    };
    config_lint::run(&request, &texts.world(&RealWorld::new()), program)
}

/// Checks the rules that the command line names.
fn lint_rules(
    arguments: &LintArguments,
    texts: &FileTexts,
    program: &ProgramContext,
) -> anyhow::Result<Status> {
    let world = RealWorld::new();
    let config = rules::load_config(&arguments.config, &arguments.rules, &world, program)?;
    let world = match &config {
        Some(config) => configured_world(world, config, &mut |text| program.warn(text)),
        None => world,
    };
    let view = config.as_ref().map(|config| config.view(&world));
    let macros = view.as_ref().map(|view| view as &dyn MacroSource);
    let mut findings: Vec<Finding> = Vec::new();
    let mut read = Vec::new();
    let mut files = arguments.rules.rules.clone();
    files.extend(arguments.files.iter().cloned());
    if !arguments.rules.needs_config() {
        let mut sources: Vec<(Cow<'_, str>, Cow<'_, [u8]>)> = Vec::new();
        for file in &files {
            let text = match texts.get(file) {
                Some(text) => Cow::Borrowed(text),
                None => Cow::Owned(rules::read_rules_file(file)?),
            };
            rules::refuse_other_kinds(&file.to_string_lossy(), &text, false)?;
            let name = if file.as_os_str() == "-" { "<stdin>".into() } else { file.to_string_lossy() };
            findings.extend(lint_rules_file(&name, &text, macros, &world));
            read.push(count_text(text.iter().filter(|&&byte| byte == b'\n').count(), "line"));
            sources.push((name, text));
        }
        let recheck = |corrected: &[(PathBuf, Vec<u8>)]| {
            let text_of = |name: &str, text: &[u8]| -> Vec<u8> {
                let new = corrected.iter().find(|(path, _)| path == Path::new(name));
                new.map_or_else(|| text.to_vec(), |(_, text)| text.clone())
            };
            let found = |(name, text): &(Cow<'_, str>, Cow<'_, [u8]>)| {
                lint_rules_file(name, &text_of(name, text), macros, &world)
            };
            Some(sources.iter().flat_map(found).collect())
        };
        let report = LintReport { findings, read: format!("{} of rules read", read.join(" and ")) };
        return lint::finish(report, &recheck, &arguments.lint, &arguments.output, program);
    }
    let named = RulesOptions { rules: files, ..arguments.rules.clone() };
    let transforms = rules::load_usable(&named, QuirkMode::Manual, view.as_ref(), &world, program)?;
    for (transform, runner) in &transforms.transforms {
        findings.extend(from_transform_findings(&transform_lint::lint(transform, *runner, macros, &world)));
    }
    let read = format!("{} read", count_text(transforms.transforms.len(), "transform"));
    let report = LintReport { findings, read };
    let status = lint::finish(report, &|_| None, &arguments.lint, &arguments.output, program)?;
    Ok(if transforms.broken > 0 { Status::Unreadable } else { status })
}
