//! Ads of a call. They come from files, standard input or built-in samples, and options can change them.

use std::io::IsTerminal;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::options::{AdOptions, HookCallArgs};
use crate::classad::{ClassAd, Expr};
use crate::cli::common::{
    AdStream, ClockOptions, ConfigOptions, Problem, ProgramContext, read_ads, stdin_twice_problem,
};
use crate::hook::HookType;
use crate::hook_testing::{AdChanges, Assignments, Case, SlotAdSource, samples};
use crate::text::Span;
use crate::text::caret::Caret;

/// Sets the ads of a case, and applies the changes that options request. Returns the source of the slot ad, and the changes.
pub(super) fn apply_ads(
    case: &mut Case,
    call_args: &HookCallArgs,
    session: &ProgramContext,
) -> anyhow::Result<(SlotAdSource, AdChanges)> {
    let (ads, hook) = (&call_args.ads, case.hook);
    let mut slot = if ads.slot_ads.is_some() { SlotAdSource::FromUser } else { SlotAdSource::BuiltIn };
    if let Some(kind) = &ads.sample_job {
        case.job = samples::job_ad(kind).ok_or_else(|| unknown_sample("job", kind, samples::job_kinds()))?;
    }
    if let Some(kind) = &ads.sample_slot {
        case.slot =
            samples::slot_ad(kind).ok_or_else(|| unknown_sample("slot", kind, samples::slot_kinds()))?;
        slot = if ads.slot_ads.is_some() { SlotAdSource::FromUser } else { SlotAdSource::Sample };
    }
    if let Some(given_ads) = &call_args.given {
        let mut given_ads = given_ads.iter().cloned();
        let first = given_ads.next().ok_or_else(|| match call_args.selection.is_given() {
            true => Problem::unreadable(format!(
                "{}: no ad was selected (--constraint, --limit)",
                call_args.input.names()
            )),
            false => no_ad_problem(&call_args.input.names()),
        })?;
        match hook {
            HookType::FetchWork => (case.slot, slot) = (first, SlotAdSource::FromUser),
            HookType::RouterUpdateJobInfo | HookType::JobCleanup => case.routed = first,
            _ => case.job = first,
        }
        // These hooks read two ads, so the second ad of the input is used as well.
        match (hook, given_ads.next()) {
            (HookType::JobFinalize, Some(second)) => case.routed = second,
            (HookType::ReplyFetch | HookType::EvictClaim, Some(second)) => {
                (case.slot, slot) = (second, SlotAdSource::FromUser);
            }
            _ => {}
        }
    }
    if let Some(path) = &ads.slot_ads {
        case.slot = read_only_ad(path.clone(), call_args, session)?;
    }
    if matches!(hook, HookType::JobFinalize) && ads.routed_ads.is_none() && ads.sample_job.is_some() {
        case.routed = samples::routed_job_ad(&case.job, &case.route.name);
    }
    if let Some(path) = &ads.routed_ads {
        case.routed = read_only_ad(path.clone(), call_args, session)?;
    }
    let changes = ad_changes(ads)?;
    changes.apply(case);
    Ok((slot, changes))
}

fn unknown_sample(what: &str, kind: &str, kinds: impl Iterator<Item = &'static str>) -> Problem {
    let kinds: Vec<_> = kinds.collect();
    Problem::usage(format!("unknown sample {what}: '{kind}'")).hint(format!("known are {}", kinds.join(", ")))
}

fn no_ad_problem(name: &str) -> Problem {
    let name = if name == "-" { "standard input" } else { name };
    Problem::unreadable(format!("{name}: it has no ad")).hint("--sample-job vanilla uses a built-in job")
}

/// Returns a note that no ad is given and a default ad is used, or `None`. `configured_slot` is the name of the slot of
/// the configuration whose ad is used, if there is one.
pub(super) fn built_in_note(
    hook: HookType,
    call_args: &HookCallArgs,
    configured_slot: Option<&str>,
) -> Option<String> {
    let ads = &call_args.ads;
    let has_slot = ads.sample_slot.is_some() || ads.slot_ads.is_some();
    match hook {
        _ if call_args.given.is_some() => None,
        HookType::FetchWork if has_slot => None,
        HookType::FetchWork => Some(match configured_slot {
            Some(slot) => {
                format!("no slot ad is given: using {slot} of the configuration (see --slot-ads)")
            }
            None => {
                "no slot ad is given: using the built-in slot 'static' (see --sample-slot, --slot-ads)".into()
            }
        }),
        HookType::RouterUpdateJobInfo | HookType::JobCleanup if ads.routed_ads.is_some() => None,
        _ if ads.sample_job.is_some() => None,
        _ => Some("no job ad is given: using the built-in job 'vanilla' (see --sample-job, --ads)".into()),
    }
}

/// Returns the number of ads that a hook of this type reads.
pub(super) fn ads_needed_by(hook: HookType) -> usize {
    match hook {
        HookType::JobFinalize | HookType::ReplyFetch | HookType::EvictClaim => 2,
        _ => 1,
    }
}

/// Opens the given ads, or returns `None` if no ads are given.
pub(super) fn open_given_ads<'a>(
    call_args: &HookCallArgs,
    clock: &ClockOptions,
    session: &'a ProgramContext,
) -> anyhow::Result<Option<AdStream<'a>>> {
    let selection = call_args.selection.parse()?;
    let Some(paths) = input_paths(call_args) else { return Ok(None) };
    let stream = AdStream::open(&paths, call_args.input.strict_input, session)?;
    Ok(Some(stream.select(selection, clock.world())))
}

/// Refuses a configuration from standard input if ads are read from standard input because no option names them.
///
/// # Errors
/// Returns an error if both the configuration and ads are read from standard input.
pub(super) fn refuse_stdin_twice(call_args: &HookCallArgs, config: &ConfigOptions) -> Result<(), Problem> {
    let is_stdin = |path: &PathBuf| path.as_path() == Path::new("-");
    let reads_config = config.config_file.as_ref().is_some_and(is_stdin);
    match reads_config && input_paths(call_args).is_some_and(|paths| paths.iter().any(is_stdin)) {
        true => Err(stdin_twice_problem("--config-file", "--ads")),
        false => Ok(()),
    }
}

/// Returns the files to read: those of `--ads`, otherwise standard input if it may contain ads, otherwise `None`.
fn input_paths(call_args: &HookCallArgs) -> Option<Vec<std::path::PathBuf>> {
    let paths = call_args.input.paths();
    if call_args.names_ads {
        return Some(paths);
    }
    let sampled = call_args.ads.sample_job.is_some()
        || call_args.ads.sample_slot.is_some()
        || call_args.ads.slot_ads.is_some();
    let stdin = std::io::stdin();
    let is_device = std::fs::metadata("/proc/self/fd/0")
        .map(|status| status.file_type().is_char_device())
        .unwrap_or(true);
    (!sampled && !stdin.is_terminal() && !is_device).then_some(paths)
}

fn read_only_ad(
    path: PathBuf,
    call_args: &HookCallArgs,
    session: &ProgramContext,
) -> anyhow::Result<ClassAd> {
    let name = path.display().to_string();
    let ads = read_ads(&[path], call_args.input.strict_input, 1, session)?;
    Ok(ads.into_iter().next().ok_or_else(|| no_ad_problem(&name))?)
}

/// Returns the changes of ads that the options request.
fn ad_changes(ads: &AdOptions) -> anyhow::Result<AdChanges> {
    let read = |option: &str, lines: &[String]| -> anyhow::Result<Assignments> {
        lines.iter().map(|line| parse_ad_assignment(option, line)).collect()
    };
    Ok(AdChanges {
        delete: ads.delete.clone(),
        set: read("--set", &ads.set)?,
        set_slot: read("--set-slot", &ads.set_slot)?,
        set_routed: read("--set-routed", &ads.set_routed)?,
    })
}

/// Parses `NAME=EXPR`. The expression must extend to the end of the text.
fn parse_ad_assignment(option: &str, line: &str) -> anyhow::Result<(String, Expr)> {
    let bad = |message: &str, span: Span| {
        let caret = Caret { source: option, text: line.as_bytes(), span };
        anyhow::Error::from(Problem::usage(message).at(&caret))
    };
    let Some((name, value)) = line.split_once('=') else {
        return Err(bad("expected NAME=EXPR", Span::at(line.len())));
    };
    if let Some((message, span)) = find_name_error(name) {
        return Err(bad(message, span));
    }
    let value = Expr::parse(value.as_bytes()).map_err(|error| {
        let at = |offset: u32| name.len() + 1 + offset as usize;
        bad(&error.to_string(), Span::new(at(error.span.start), at(error.span.end)))
    })?;
    Ok((name.trim().to_owned(), value))
}

/// Returns the error in the name before the `=` and its location, or `None` if the name is valid.
fn find_name_error(text: &str) -> Option<(&'static str, Span)> {
    let name = text.trim();
    let start = text.len() - text.trim_start().len();
    let Some(first) = name.chars().next() else {
        return Some(("no name before the `=`", Span::at(0)));
    };
    if first.is_ascii_digit() {
        return Some(("a name does not begin with a digit", Span::at(start)));
    }
    let (offset, odd) = name.char_indices().find(|(_, c)| !(c.is_ascii_alphanumeric() || *c == '_'))?;
    let at = start + offset;
    Some(("a name has letters, digits and `_` only", Span::new(at, at + odd.len_utf8())))
}
