//! The ads of a call: from files, standard input, or built in; changed by options.

use std::io::IsTerminal;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use super::options::{AdOptions, One};
use crate::classad::ClassAd;
use crate::cli::common::{AdStream, Problem, Session, read_ads};
use crate::hook::HookType;
use crate::runner::hook_test::{Case, samples};
use crate::text::Span;
use crate::text::caret::Caret;

/// Puts the ads into a case. Says whether the slot is a built-in one, whose policy is that of the configuration.
pub(super) fn take(case: &mut Case, one: &One, session: &Session) -> anyhow::Result<bool> {
    let (ads, hook) = (&one.ads, case.hook);
    let mut built_in = ads.slot_ads.is_none();
    if let Some(kind) = &ads.sample_job {
        case.job = samples::job(kind).ok_or_else(|| unknown("job", kind, samples::job_kinds()))?;
    }
    if let Some(kind) = &ads.sample_slot {
        case.slot = samples::slot(kind).ok_or_else(|| unknown("slot", kind, samples::slot_kinds()))?;
    }
    if let Some(given) = &one.given {
        let mut given = given.iter().cloned();
        let first = given.next().ok_or_else(|| nothing(&one.input.ads))?;
        match hook {
            HookType::FetchWork => (case.slot, built_in) = (first, false),
            HookType::RouterUpdateJobInfo | HookType::JobCleanup => case.routed = first,
            _ => case.job = first,
        }
        // What these hooks read themselves has two ads, and so has what we print of them.
        match (hook, given.next()) {
            (HookType::JobFinalize, Some(second)) => case.routed = second,
            (HookType::ReplyFetch | HookType::EvictClaim, Some(second)) => {
                (case.slot, built_in) = (second, false);
            }
            _ => {}
        }
    }
    if let Some(path) = &ads.slot_ads {
        case.slot = only(path, one, session)?;
    }
    if matches!(hook, HookType::JobFinalize) && ads.routed_ads.is_none() && ads.sample_job.is_some() {
        case.routed = samples::routed(&case.job, &case.route.name);
    }
    if let Some(path) = &ads.routed_ads {
        case.routed = only(path, one, session)?;
    }
    change(case, ads)?;
    Ok(built_in)
}

/// Whether an option says what an attribute of the slot is to be.
pub(super) fn slot_has(ads: &AdOptions, hook: HookType, name: &str) -> bool {
    let is = |text: &str| text.split('=').next().is_some_and(|left| left.trim().eq_ignore_ascii_case(name));
    let of_subject = ads.set.iter().chain(&ads.delete).filter(|_| hook == HookType::FetchWork);
    of_subject.chain(&ads.set_slot).any(|text| is(text))
}

fn unknown(what: &str, kind: &str, kinds: impl Iterator<Item = &'static str>) -> Problem {
    let kinds: Vec<_> = kinds.collect();
    Problem::usage(format!("there is no sample {what} '{kind}'"))
        .hint(format!("known are {}", kinds.join(", ")))
}

fn nothing(name: &Path) -> Problem {
    let name = if name == Path::new("-") { "standard input".to_owned() } else { name.display().to_string() };
    Problem::unreadable(format!("{name}: there is no ad in it"))
        .hint("--sample-job vanilla uses a built-in job")
}

/// How many ads a hook of this type reads itself.
pub(super) fn read_by(hook: HookType) -> usize {
    match hook {
        HookType::JobFinalize | HookType::ReplyFetch | HookType::EvictClaim => 2,
        _ => 1,
    }
}

/// The ads that are given, where any are.
pub(super) fn given<'a>(one: &One, session: &'a Session) -> anyhow::Result<Option<AdStream<'a>>> {
    let input = input(one)?;
    input.map(|path| AdStream::open(&path, one.input.strict_input, session)).transpose()
}

/// Where ads are read from: `--ads`, else standard input when something may come from there.
fn input(one: &One) -> anyhow::Result<Option<std::path::PathBuf>> {
    let path = &one.input.ads;
    if path != Path::new("-") {
        return Ok(Some(path.clone()));
    }
    let sampled = one.ads.sample_job.is_some() || one.ads.sample_slot.is_some() || one.ads.slot_ads.is_some();
    let stdin = std::io::stdin();
    let is_device = std::fs::metadata("/proc/self/fd/0")
        .map(|status| status.file_type().is_char_device())
        .unwrap_or(true);
    Ok((!sampled && !stdin.is_terminal() && !is_device).then(|| path.clone()))
}

fn only(path: &Path, one: &One, session: &Session) -> anyhow::Result<ClassAd> {
    let ads = read_ads(path, one.input.strict_input, 1, session)?;
    Ok(ads.into_iter().next().ok_or_else(|| nothing(path))?)
}

/// Puts the slot of a configuration in the place of a built-in one. Options change it as they have changed that.
pub(super) fn put_slot(case: &mut Case, slot: ClassAd, ads: &AdOptions) -> anyhow::Result<()> {
    case.slot = slot;
    let of_subject = case.hook == HookType::FetchWork;
    for name in ads.delete.iter().filter(|_| of_subject) {
        case.slot.remove(name);
    }
    for line in ads.set.iter().filter(|_| of_subject) {
        set(&mut case.slot, "--set", line)?;
    }
    for line in &ads.set_slot {
        set(&mut case.slot, "--set-slot", line)?;
    }
    Ok(())
}

fn change(case: &mut Case, ads: &AdOptions) -> anyhow::Result<()> {
    let subject = match case.hook {
        HookType::FetchWork => &mut case.slot,
        HookType::RouterUpdateJobInfo | HookType::JobCleanup => &mut case.routed,
        _ => &mut case.job,
    };
    for name in &ads.delete {
        subject.remove(name);
    }
    for line in &ads.set {
        set(subject, "--set", line)?;
    }
    for line in &ads.set_slot {
        set(&mut case.slot, "--set-slot", line)?;
    }
    for line in &ads.set_routed {
        set(&mut case.routed, "--set-routed", line)?;
    }
    Ok(())
}

/// Sets `NAME=EXPR`, as an option gives it; all of the text must be used.
fn set(ad: &mut ClassAd, option: &str, line: &str) -> anyhow::Result<()> {
    let bad = |message: &str, span: Span| {
        let caret = Caret { source: option, text: line.as_bytes(), span };
        anyhow::Error::from(Problem::usage(message).at(&caret))
    };
    let Some((name, value)) = line.split_once('=') else {
        return Err(bad("expected NAME=EXPR", Span::at(line.len())));
    };
    let start = name.len() + 1;
    if let Some((message, span)) = bad_name(name) {
        return Err(bad(message, span));
    }
    match crate::classad::Expr::parse(value.as_bytes()) {
        Ok(value) => ad.insert(name.trim(), value),
        Err(error) => {
            let at = |offset: u32| start + offset as usize;
            return Err(bad(&error.to_string(), Span::new(at(error.span.start), at(error.span.end))));
        }
    }
    Ok(())
}

/// What is wrong with the name in front of the `=`, if it is none that an expression could refer to, and where.
fn bad_name(text: &str) -> Option<(&'static str, Span)> {
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
