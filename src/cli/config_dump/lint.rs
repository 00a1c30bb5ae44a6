//! `htc-config-dump lint`: reports mistakes in a configuration, in a rules file or in a job ad.

use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use bstr::ByteSlice;

use crate::classad::format::long;
use crate::cli::common::{
    AdErrorReporter, FileTexts, InputReader, OpenInput, OutputOptions, Problem, ProgramContext, Status,
    list_inputs, open_stdio_pipe, path_to_open, wrong_kind_of_record,
};
use crate::cli::lint::{self, LintOptions, LintReport, count_text};
use crate::config::finding::Finding;
use crate::config::lint_rule::LintRule;
use crate::config::{Config, ConfigError, LoadOptions, LookupContext};
use crate::lint::daemons::rules_file::{FileLanguage, detect_language, is_file_of_ads, lint_rules_file};
use crate::lint::daemons::{LintRequest, LintResult};
use crate::text::{caseless, unqualified_name};
use crate::world::{FileKind, FileTextsWorld, World};

/// Request of a `lint` verb.
pub(in crate::cli) struct LintCommand<'a> {
    /// Files to read as the configuration. If empty, the default configuration is read, together with the files that it names.
    pub(in crate::cli) files: Vec<PathBuf>,
    /// Ad of a fetched job, which is checked instead of the configuration, or `None`.
    pub(in crate::cli) job_ad: Option<PathBuf>,
    /// True if settings that these programs do not support are reported, not mistakes.
    pub(in crate::cli) here: bool,
    /// Parameters whose findings are printed; if empty, those of all parameters.
    pub(in crate::cli) parameters: Vec<String>,
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
/// Maximum size of a file of job ads in the long form, in bytes.
const MAX_TEXT_BYTES: u64 = 64 << 20;
/// Number of bytes that are read to determine the format of a file of ads.
const MAX_START_BYTES: u64 = 4096;
/// Number of findings after which no further ads are read.
const MAX_AD_FINDINGS: usize = 10_000;
/// Maximum number of warnings from loading that are printed.
const MAX_WARNINGS: usize = 100;

/// Checks a configuration, rules files or a job ad, and prints the findings.
pub(in crate::cli) fn run(
    request: &LintCommand<'_>,
    world: &dyn World,
    session: &ProgramContext,
) -> anyhow::Result<Status> {
    let all_files = || request.files.iter().chain(&request.job_ad);
    let reads_stdin = all_files().any(|file| file.as_os_str() == "-");
    let is_pipe = |file: &PathBuf| world.stat(file).is_ok_and(|status| status.kind == FileKind::Other);
    let reads_pipe = all_files().any(is_pipe);
    if request.lint.fix && (reads_stdin || reads_pipe || request.redact) {
        let option = match () {
            () if reads_stdin => "'-'",
            () if reads_pipe => "a pipe",
            () => "--redact",
        };
        return Err(Problem::usage(format!("--fix cannot be used with {option}")).into());
    }
    if let (Some(file), false) = (&request.options.file, request.files.is_empty()) {
        let problem = Problem::usage("--config-file cannot be used with FILE");
        let hint =
            format!("'lint --config-file {}' checks this configuration for this machine", file.display());
        return Err(problem.hint(hint).into());
    }
    if request.lint.version.is_some() && (request.job_ad.is_some() || request.here) {
        return Err(Problem::usage("--for cannot be used with --ads or --here").into());
    }
    // Each file is read once, because a pipe cannot be read again.
    let texts = FileTexts::read(&request.files, world)?;
    let world = &texts.world(world);
    refuse_ads(request, &texts)?;
    let mut report = match &request.job_ad {
        Some(file) => lint_job_ads(request, file, world, session)?,
        None => match rules_findings(request, &texts, world)? {
            Some(report) => report,
            None => lint_configs(request, &texts, world, session)?,
        },
    };
    for spot in report.findings.iter_mut().filter_map(|finding| finding.spot.as_mut()) {
        if spot.name == STDIN.0 {
            spot.name = STDIN.1.into();
        }
    }
    let recheck = |corrected: &[(PathBuf, Vec<u8>)]| {
        let world = FileTextsWorld { world, texts: corrected };
        lint_again(request, &world)
    };
    lint::finish(report, &recheck, request.lint, &request.output, session)
}

/// Refuses a requested parameter that the configuration does not set.
fn refuse_absent_parameters(
    request: &LintCommand<'_>,
    config: &Config,
    world: &dyn World,
) -> anyhow::Result<()> {
    let view = config.view(world);
    let Some(name) = request.parameters.iter().find(|name| !view.is_defined(name)) else { return Ok(()) };
    let old_routes = OLD_ROUTES.into_iter().find(|old| view.is_defined(old));
    let hint = match old_routes.filter(|_| name.starts_with(ROUTE_PREFIX)) {
        Some(old) => format!(
            "{old} has routes of the old syntax, which HTCondor 25 no longer loads; convert them with htc-router-translate convert"
        ),
        None => {
            let prefix = if name.starts_with(ROUTE_PREFIX) { ROUTE_PREFIX } else { "JOB_TRANSFORM_" };
            format!("htc-config-dump --dump '{prefix}' lists the names that are defined")
        }
    };
    Err(Problem::unreadable(format!("{name} is not defined")).hint(hint).into())
}

const ROUTE_PREFIX: &str = "JOB_ROUTER_ROUTE_";

/// Parameters with routes of the old syntax.
const OLD_ROUTES: [&str; 3] = ["JOB_ROUTER_ENTRIES", "JOB_ROUTER_ENTRIES_FILE", "JOB_ROUTER_ENTRIES_CMD"];

/// Keeps the findings about the requested parameters, and those about statements at which daemons stop.
fn keep_requested(request: &LintCommand<'_>, findings: &mut Vec<Finding>) {
    if request.parameters.is_empty() {
        return;
    }
    findings.retain(|finding| {
        let name = unqualified_name(&finding.name);
        finding.rule == LintRule::Syntax
            || request.parameters.iter().any(|wanted| caseless::eq(wanted.as_bytes(), name))
    });
}

/// Checks configurations or rules files again after their contents have changed. Returns `None` for a job ad, or if a
/// file can no longer be read.
fn lint_again(request: &LintCommand<'_>, world: &dyn World) -> Option<Vec<Finding>> {
    if request.job_ad.is_some() {
        return None;
    }
    let texts = FileTexts::read(&request.files, world).ok()?;
    if let Some(report) = rules_findings(request, &texts, world).ok()? {
        return Some(report.findings);
    }
    let mut findings = Vec::new();
    for files in group_files(&request.files, &texts).ok()? {
        let files: Vec<PathBuf> = files.iter().map(|file| path_to_open(file)).collect();
        findings.extend(request_of(request, &files).lint_config(world).ok()?.findings);
    }
    keep_requested(request, &mut findings);
    Some(findings)
}

/// Refuses directories and files in other languages. In a file of ads, for example, each attribute would be reported as
/// an unknown parameter.
fn refuse_ads(request: &LintCommand<'_>, texts: &FileTexts) -> anyhow::Result<()> {
    for file in &request.files {
        if file.is_dir() {
            let name = file.display();
            let problem = Problem::unreadable(format!("'{name}' is a directory, not a configuration file"));
            return Err(problem.hint(format!("'lint {name}/*' checks its files")).into());
        }
        if texts.get(file).is_some_and(is_toml) {
            let problem =
                Problem::unreadable(format!("'{}' is a TOML file, not a configuration", file.display()));
            let hint = "htc-slot-run simulate reads scenarios, and htc-hook-test run reads suites; both report mistakes in them";
            return Err(problem.hint(hint).into());
        }
        if texts.get(file).is_some_and(is_file_of_ads) {
            let name = file.display();
            let problem = Problem::unreadable(format!("'{name}' is a file of ads, not a configuration"));
            let hint = format!("'htc-config-dump lint --ads {name}' checks the ad of a job");
            return Err(problem.hint(hint).into());
        }
    }
    Ok(())
}

/// Returns true if a text is a TOML file: it has a header such as `[[jobs]]`, which no configuration has.
fn is_toml(text: &[u8]) -> bool {
    let is_table = |line: &[u8]| {
        let line = line.trim();
        let name = line.strip_prefix(b"[[").and_then(|rest| rest.strip_suffix(b"]]"));
        name.is_some_and(|name| {
            !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
        })
    };
    text.lines().any(is_table)
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
        checks_corrections: request.lint.uses_corrections(&request.output),
    }
}

/// Checks the job ads of an input of ads: a file in any form, compressed or not, a queue log, a history, standard
/// input, or a directory of these.
fn lint_job_ads(
    request: &LintCommand<'_>,
    input: &Path,
    world: &dyn World,
    session: &ProgramContext,
) -> anyhow::Result<LintReport> {
    let lint = request_of(request, &[]);
    let (mut findings, mut lines, mut ads): (Vec<Finding>, usize, usize) = (Vec::new(), 0, 0);
    let mut has_long_ads = false;
    let input_path = input;
    for file in list_inputs(&[input], session)? {
        let input = OpenInput::open(&file, open_stdio_pipe().0)?;
        let name = file.display().to_string();
        let mut reader = input.into_ads(session)?;
        let mut text = Vec::new();
        let read_more = |reader: &mut InputReader, text: &mut Vec<u8>, limit: u64| {
            reader.take(limit).read_to_end(text).map_err(|error| Problem::cannot_read(&name).caused_by(error))
        };
        // Findings must refer to lines of the input, so the long form is checked as text. Other forms are checked ad by
        // ad.
        read_more(&mut reader, &mut text, MAX_START_BYTES)?;
        let is_long = !matches!(text.trim_ascii_start().first(), Some(b'[' | b'{' | b'<'));
        if is_long && session.input_form().is_none() {
            let limit = MAX_TEXT_BYTES + 1 - text.len() as u64;
            read_more(&mut reader, &mut text, limit)?;
            if text.len() as u64 > MAX_TEXT_BYTES {
                return Err(Problem::cannot_read(&name).caused_by("it is larger than 64 MiB").into());
            }
            refuse_other_kind(&text, &name, session)?;
            if text.trim_ascii().is_empty() {
                continue;
            }
            has_long_ads = true;
            for part in split_long_ads(&text) {
                let found = lint.lint_job_ad(&name, &text[part.bytes], world);
                findings.extend(found.into_iter().map(|finding| finding.with_lines_added(part.lines_before)));
            }
            lines += text.iter().filter(|&&byte| byte == b'\n').count();
            continue;
        }
        let mut errors = AdErrorReporter::new(name.clone(), session);
        let mut records = session.ad_reader(std::io::Cursor::new(text).chain(reader));
        while findings.len() < MAX_AD_FINDINGS
            && let Some(record) =
                records.next_record().map_err(|error| Problem::cannot_read(&name).caused_by(error))?
        {
            errors.report(&record)?;
            ads += 1;
            let found = lint.lint_job_ad(&name, &long::print(&record.ad), world);
            // The line numbers would be those of the converted ad, not those of the user's file.
            findings.extend(found.into_iter().map(|finding| Finding { spot: None, ..finding }));
        }
        errors.end();
    }
    if findings.len() >= MAX_AD_FINDINGS && ads > 0 {
        session.warn(&format!(
            "the ads after the first {} were not checked",
            count_text(MAX_AD_FINDINGS, "finding")
        ));
    }
    if ads == 0 && !has_long_ads {
        return Err(Problem::unreadable(format!("{}: no ad found", input_path.display())).into());
    }
    let read = match (lines, ads) {
        (_, 0) => format!("{} read", count_text(lines, "line")),
        (0, _) => format!("{} read", count_text(ads, "ad")),
        _ => format!("{} and {} read", count_text(lines, "line"), count_text(ads, "ad")),
    };
    Ok(LintReport { findings, read })
}

/// Refuses a text in the long form if its first ad shows that it is probably not a file of ads.
fn refuse_other_kind(text: &[u8], name: &str, session: &ProgramContext) -> anyhow::Result<()> {
    let first =
        session.ad_reader(text).next_record().map_err(|error| Problem::cannot_read(name).caused_by(error))?;
    let problem = first.and_then(|record| wrong_kind_of_record(name, &record, true));
    problem.map_or(Ok(()), |problem| Err(problem.into()))
}

/// Part of a text that is one ad in the long form.
#[derive(Debug, PartialEq)]
struct LongAdPart {
    bytes: Range<usize>,
    /// Number of lines before the ad.
    lines_before: u32,
}

/// Splits a text into ads in the long form. The starter reads a whole file as one ad, so an empty line begins a new ad
/// only if an attribute that identifies a job occurs both before and after it.
fn split_long_ads(text: &[u8]) -> Vec<LongAdPart> {
    let mut ads = Vec::new();
    let (mut ad_start, mut part_start) = ((0, 0), (0, 0));
    let (mut in_ad, mut in_part) = (AdIdentity::default(), AdIdentity::default());
    let mut offset = 0;
    for (number, line) in (0..).zip(text.lines_with_terminator()) {
        if line.trim_ascii().is_empty() {
            in_ad.add(std::mem::take(&mut in_part));
            part_start = (offset + line.len(), number + 1);
        } else {
            in_part.add_line(line);
            if in_part.overlaps(in_ad) {
                ads.push(LongAdPart { bytes: ad_start.0..part_start.0, lines_before: ad_start.1 });
                (ad_start, in_ad) = (part_start, AdIdentity::default());
            }
        }
        offset += line.len();
    }
    ads.push(LongAdPart { bytes: ad_start.0..text.len(), lines_before: ad_start.1 });
    ads
}

/// Set of the identifying attributes that an ad or a part of it has.
#[derive(Clone, Copy, Debug, Default)]
struct AdIdentity([bool; IDENTIFYING_ATTRIBUTES.len()]);

const IDENTIFYING_ATTRIBUTES: [&[u8]; 3] = [b"ClusterId", b"ProcId", b"Cmd"];

impl AdIdentity {
    fn add_line(&mut self, line: &[u8]) {
        let name = line.split(|byte| *byte == b'=').next().unwrap_or_default().trim_ascii();
        for (is_set, attribute) in self.0.iter_mut().zip(IDENTIFYING_ATTRIBUTES) {
            *is_set |= name.eq_ignore_ascii_case(attribute);
        }
    }

    fn add(&mut self, other: AdIdentity) {
        self.0.iter_mut().zip(other.0).for_each(|(is_set, other)| *is_set |= other);
    }

    fn overlaps(self, other: AdIdentity) -> bool {
        self.0.iter().zip(other.0).any(|(one, other)| *one && other)
    }
}

/// Checks files that are all rules files of transforms; returns `None` if a file is not a rules file.
fn rules_findings(
    request: &LintCommand<'_>,
    texts: &FileTexts,
    world: &dyn World,
) -> anyhow::Result<Option<LintReport>> {
    if request.here || request.files.is_empty() {
        return Ok(None);
    }
    let (mut findings, mut lines): (Vec<Finding>, usize) = (Vec::new(), 0);
    for file in &request.files {
        let Some(text) = texts.get(file) else { return Ok(None) };
        if detect_language(text) != FileLanguage::Rules {
            return Ok(None);
        }
        let name = if file.as_os_str() == "-" { STDIN.1.into() } else { file.to_string_lossy() };
        findings.extend(lint_rules_file(&name, text, None, world));
        lines += text.lines().count();
    }
    Ok(Some(LintReport { findings, read: format!("{} of rules read", count_text(lines, "line")) }))
}

/// Checks each configuration that the command line names.
fn lint_configs(
    request: &LintCommand<'_>,
    texts: &FileTexts,
    world: &dyn World,
    session: &ProgramContext,
) -> anyhow::Result<LintReport> {
    let groups = group_files(&request.files, texts)?;
    let mut reports = groups.iter().map(|files| lint_config(request, files, world, session));
    let Some(mut report) = reports.next().transpose()? else {
        return Err(Problem::usage("no configuration is given").into());
    };
    if groups.len() > 1 && !request.output.quiet {
        session.write_line(&format!(
            "{} are checked, because each file sets LOCAL_CONFIG_DIR or LOCAL_CONFIG_FILE",
            count_text(groups.len(), "configuration")
        ));
    }
    for more in reports {
        let more = more?;
        report.findings.extend(more.findings);
        report.read = format!("{}; {}", report.read, more.read);
    }
    Ok(report)
}

/// Groups the files of the command line into configurations: all files are one configuration, unless each of them is the main file of a
/// configuration, that is, names the other files of the configuration.
///
/// # Errors
/// Returns an error if some, but not all files are main files of a configuration.
fn group_files(files: &[PathBuf], texts: &FileTexts) -> anyhow::Result<Vec<Vec<PathBuf>>> {
    const SOURCE_PARAMETERS: [&str; 2] = ["LOCAL_CONFIG_DIR", "LOCAL_CONFIG_FILE"];
    let sets =
        |file: &Path, parameter: &str| texts.get(file).is_some_and(|text| sets_parameter(text, parameter));
    for parameter in SOURCE_PARAMETERS {
        let mut setting = files.iter().filter(|file| sets(file, parameter));
        let (Some(first), Some(second)) = (setting.next(), setting.next()) else { continue };
        let is_main = |file: &PathBuf| SOURCE_PARAMETERS.iter().any(|parameter| sets(file, parameter));
        if files.iter().all(is_main) {
            return Ok(files.iter().map(|file| vec![file.clone()]).collect());
        }
        let message = format!(
            "'{}' is the main file of another configuration: it sets {parameter}, and so does '{}'",
            second.display(),
            first.display()
        );
        return Err(Problem::usage(message).hint("check each configuration separately").into());
    }
    Ok(vec![files.to_vec()])
}

/// Returns true if a statement of a configuration file sets the parameter.
fn sets_parameter(text: &[u8], parameter: &str) -> bool {
    text.lines().any(|line| {
        let name = line.split(|byte| *byte == b'=').next().unwrap_or_default();
        name.len() < line.len() && name.trim().eq_ignore_ascii_case(parameter.as_bytes())
    })
}

fn lint_config(
    request: &LintCommand<'_>,
    files: &[PathBuf],
    world: &dyn World,
    session: &ProgramContext,
) -> anyhow::Result<LintReport> {
    let files: Vec<PathBuf> = files.iter().map(|file| path_to_open(file)).collect();
    let lint = request_of(request, &files);
    let mut attempt = lint.load(world);
    refuse_absent_parameters(request, &attempt.config, world)?;
    let result = lint.lint_attempt(&mut attempt, world).map_err(|error| config_problem(&error))?;
    for warning in result.warnings.iter().take(MAX_WARNINGS) {
        session.warn(warning);
    }
    if result.warnings.len() > MAX_WARNINGS {
        session.warn(&format!("the first {MAX_WARNINGS} of {} warnings are shown", result.warnings.len()));
    }
    let LintResult { mut findings, source_count, setting_count, is_partial, absent_programs, .. } = result;
    if !request.parameters.is_empty() {
        keep_requested(request, &mut findings);
        let read = format!("{} read", count_text(request.parameters.len(), "transform"));
        return Ok(LintReport { findings, read });
    }
    let read =
        format!("{} and {} read", count_text(source_count, "source"), count_text(setting_count, "setting"));
    let partial = if is_partial {
        "; treated as part of a configuration: parameters that other files may set are not reported as missing"
    } else {
        ""
    };
    let absent = match absent_programs {
        0 => String::new(),
        count => format!(
            "; {} not on this machine {} not reported (--config-file FILE checks FILE for this machine)",
            count_text(count, "hook"),
            if count == 1 { "is" } else { "are" }
        ),
    };
    Ok(LintReport { findings, read: format!("{read}{partial}{absent}") })
}

fn config_problem(error: &ConfigError) -> Problem {
    if let Some(problem) = Problem::from_missing_config(error) {
        return problem;
    }
    let lines: Vec<String> = error.lines.iter().skip(error.warnings).map(ToString::to_string).collect();
    let problem = Problem::unreadable(lines.join("\n"));
    problem.maybe_hint(error.hint.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_line_begins_an_ad_only_if_the_job_is_identified_again() {
        let split = |text: &str| -> Vec<(String, u32)> {
            let parts = split_long_ads(text.as_bytes()).into_iter();
            parts.map(|part| (text[part.bytes].to_owned(), part.lines_before)).collect()
        };
        let (one, two) = ("ClusterId = 1\nCmd = \"a\"\n\n", "Owner = \"x\"\ncmd=\"b\"\n");
        assert_eq!(split(&format!("{one}{two}")), [(one.to_owned(), 0), (two.to_owned(), 3)]);
        let parts = "ClusterId = 1\n\nCmd = \"a\"\n";
        assert_eq!(split(parts), [(parts.to_owned(), 0)]);
        assert_eq!(split("ClusterId = 1\nClusterId = 2\n").len(), 1, "not separated");
        assert_eq!(split("").len(), 1);
        assert_eq!(
            split(&format!("{parts}\n{parts}\n\n{one}")).iter().map(|ad| ad.1).collect::<Vec<_>>(),
            [0, 4, 9]
        );
    }
}
