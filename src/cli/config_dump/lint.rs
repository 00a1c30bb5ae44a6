//! `htc-config-dump lint`: reports mistakes in a configuration, in a rules file or in a job ad.

use std::path::{Path, PathBuf};

use bstr::ByteSlice;

use crate::cli::common::{OutputOptions, Problem, ProgramContext, Status};
use crate::cli::lint::{self, LintOptions, LintReport, count_text};
use crate::config::finding::Finding;
use crate::config::{ConfigError, LoadOptions, LookupContext};
use crate::lint::daemons::rules_file::{FileLanguage, detect_language, is_file_of_ads, lint_rules_file};
use crate::lint::daemons::{LintRequest, LintResult};
use crate::world::World;

/// Request of a `lint` verb.
pub(in crate::cli) struct LintCommand<'a> {
    /// Files to read as the configuration. If empty, the default configuration is read, together with the files that it names.
    pub(in crate::cli) files: Vec<PathBuf>,
    /// Ad of a fetched job, which is checked instead of the configuration, or `None`.
    pub(in crate::cli) job_ad: Option<PathBuf>,
    /// True to report settings that these programs do not support, instead of mistakes.
    pub(in crate::cli) here: bool,
    /// Options for loading the configuration.
    pub(in crate::cli) options: LoadOptions,
    /// Subsystem and local name for which the configuration is read.
    pub(in crate::cli) who: LookupContext,
    /// Options of the verb `lint`.
    pub(in crate::cli) lint: &'a LintOptions,
    /// Output options.
    pub(in crate::cli) output: OutputOptions,
    /// True if passwords and other secrets are masked.
    pub(in crate::cli) redact: bool,
}

/// Path of standard input, and its name in messages.
const STDIN: (&str, &str) = ("/dev/stdin", "<stdin>");
/// Maximum size of a job ad or rules file, in bytes.
const MAX_TEXT_BYTES: u64 = 64 << 20;
/// Maximum number of warnings from loading that are printed.
const MAX_WARNINGS: usize = 100;

/// Checks a configuration, rules files or a job ad, and prints the findings.
pub(in crate::cli) fn run(
    request: &LintCommand<'_>,
    world: &dyn World,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    let reads_stdin = request.files.iter().chain(&request.job_ad).any(|file| file.as_os_str() == "-");
    if request.lint.fix && (reads_stdin || request.redact) {
        let option = if reads_stdin { "'-'" } else { "--redact" };
        return Err(Problem::usage(format!("--fix cannot be used with {option}")).into());
    }
    if request.lint.version.is_some() && (request.job_ad.is_some() || request.here) {
        return Err(Problem::usage("--for cannot be used with --ads or --here").into());
    }
    refuse_ads(request, world)?;
    let mut report = match &request.job_ad {
        Some(file) => lint_job_ad(request, file, world)?,
        None => match rules_findings(request, world)? {
            Some(report) => report,
            None => lint_config(request, world, session)?,
        },
    };
    for spot in report.findings.iter_mut().filter_map(|finding| finding.spot.as_mut()) {
        if spot.name == STDIN.0 {
            spot.name = STDIN.1.into();
        }
    }
    lint::finish(report, request.lint, &request.output, session)
}

/// Refuses files of ads, because each attribute would be reported as an unknown parameter.
fn refuse_ads(request: &LintCommand<'_>, world: &dyn World) -> anyhow::Result<()> {
    for file in request.files.iter().filter(|file| file.as_os_str() != "-" && file.is_file()) {
        let text = world.read_file(file, Some(MAX_TEXT_BYTES)).unwrap_or_default();
        if is_file_of_ads(&text) {
            let name = file.display();
            let problem = Problem::unreadable(format!("'{name}' is a file of ads, not a configuration"));
            let hint = format!("'htc-config-dump lint --ads {name}' checks the ad of a job");
            return Err(problem.hint(hint).into());
        }
    }
    Ok(())
}

fn request_of<'a>(request: &'a LintCommand<'_>, files: &'a [PathBuf]) -> LintRequest<'a> {
    LintRequest {
        context: &request.who,
        options: &request.options,
        files,
        used_by: &request.lint.used_by,
        version: request.lint.version.unwrap_or_default(),
        only_unsupported: request.here,
        redact: request.redact,
    }
}

/// Returns the path to open for a file on the command line.
fn path_of(file: &Path) -> PathBuf {
    if file.as_os_str() == "-" { PathBuf::from(STDIN.0) } else { file.to_owned() }
}

fn lint_job_ad(request: &LintCommand<'_>, file: &Path, world: &dyn World) -> anyhow::Result<LintReport> {
    let name = file.display().to_string();
    let text = world
        .read_file(&path_of(file), Some(MAX_TEXT_BYTES))
        .map_err(|error| Problem::cannot_read(&name).caused_by(error))?;
    let findings = request_of(request, &[]).lint_job_ad(&name, &text, world);
    Ok(LintReport { findings, read: lines_read(&text) })
}

fn lines_read(text: &[u8]) -> String {
    let lines = text.iter().filter(|&&byte| byte == b'\n').count();
    format!("{} read", count_text(lines, "line"))
}

/// Checks files that are all rules files of transforms; returns `None` if a file is not a rules file.
fn rules_findings(request: &LintCommand<'_>, world: &dyn World) -> anyhow::Result<Option<LintReport>> {
    let is_stdin = |file: &PathBuf| file.as_os_str() == "-";
    if request.here || request.files.is_empty() || request.files.iter().any(is_stdin) {
        return Ok(None);
    }
    let (mut findings, mut lines): (Vec<Finding>, usize) = (Vec::new(), 0);
    for file in &request.files {
        let Ok(text) = world.read_file(file, Some(MAX_TEXT_BYTES)) else { return Ok(None) };
        if detect_language(&text) != FileLanguage::Rules {
            return Ok(None);
        }
        findings.extend(lint_rules_file(&file.to_string_lossy(), &text, None, world));
        lines += text.lines().count();
    }
    Ok(Some(LintReport { findings, read: format!("{} of rules read", count_text(lines, "line")) }))
}

fn lint_config(
    request: &LintCommand<'_>,
    world: &dyn World,
    session: &ProgramContext,
) -> anyhow::Result<LintReport> {
    let files: Vec<PathBuf> = request.files.iter().map(|file| path_of(file)).collect();
    let result = request_of(request, &files).lint_config(world).map_err(|error| config_problem(&error))?;
    for warning in result.warnings.iter().take(MAX_WARNINGS) {
        session.warn(warning);
    }
    if result.warnings.len() > MAX_WARNINGS {
        session.warn(&format!("the first {MAX_WARNINGS} of {} warnings are shown", result.warnings.len()));
    }
    let LintResult { findings, source_count, setting_count, is_partial, .. } = result;
    let read =
        format!("{} and {} read", count_text(source_count, "source"), count_text(setting_count, "setting"));
    let partial = if is_partial {
        "; treated as part of a configuration: parameters that other files may set are not reported as missing"
    } else {
        ""
    };
    Ok(LintReport { findings, read: format!("{read}{partial}") })
}

fn config_problem(error: &ConfigError) -> Problem {
    if let Some(problem) = Problem::from_missing_config(error) {
        return problem;
    }
    let said: Vec<String> = error.lines.iter().skip(error.warnings).map(ToString::to_string).collect();
    let problem = Problem::unreadable(said.join("\n"));
    problem.maybe_hint(error.hint.as_deref())
}
