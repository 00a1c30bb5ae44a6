//! `--fuzz N`: the same hook with random changes of its ad; what its caller would refuse, crashes and hangs, each with the
//! smallest ad that shows it.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use super::options::{One, Shared};
use crate::classad::{ClassAd, format::long};
use crate::cli::common::{Painter, Progress, Session, Status};
use crate::hook::HookType;
use crate::os::{Reactor, clock};
use crate::process::Exit;
use crate::quirks::Quirks;
use crate::runner::hook_test::fuzz::{Mutation, Random, as_printf, shorten, shrink};
use crate::runner::hook_test::pool::{Job, run_many};
use crate::runner::hook_test::{Case, Ending, Outcome, Place, Setup, Shown, find, verdict};
use crate::world::World;

/// Questions asked of a hook to make an ad smaller.
const MOST_QUESTIONS: usize = 150;

/// How long one ad may take to get smaller: a hook that hangs uses all of its time at every question.
const LONGEST_SHRINK: Duration = Duration::from_secs(60);

/// What a call is filed under; `None`: nothing wrong with it.
type Signature = Option<String>;

fn subject(case: &mut Case) -> &mut ClassAd {
    match case.hook {
        HookType::FetchWork => &mut case.slot,
        HookType::RouterUpdateJobInfo | HookType::JobCleanup => &mut case.routed,
        _ => &mut case.job,
    }
}

/// What is wrong with a call that was not wrong with the unchanged ad.
fn signature(setup: &Setup, case: &Case, outcome: &Outcome, usual: &[&'static str]) -> Signature {
    let judged = verdict(case, outcome, &setup.path, &*setup.world, setup.quirks);
    if let Ending::Ran(ended) = &outcome.ending {
        match ended.exit {
            None => return Some("hangs".to_owned()),
            Some(Exit::Signal { number, .. }) => return Some(format!("dies of signal {number}")),
            Some(_) => {}
        }
    }
    let mut rules: Vec<&str> = find(case, outcome, &judged)
        .iter()
        .filter(|finding| !finding.rule.is_note())
        .map(|finding| finding.rule.word())
        .filter(|rule| !usual.contains(rule))
        .collect();
    rules.sort_unstable();
    rules.dedup();
    if !judged.good {
        let reason: String = judged.reason.chars().take(90).collect();
        let how = if rules.is_empty() { reason } else { rules.join(", ") };
        return Some(format!("{}: {how}", judged.decision));
    }
    (!rules.is_empty()).then(|| rules.join(", "))
}

pub(super) fn run(
    setup: &mut Setup,
    reactor: &mut Reactor,
    times: u32,
    baseline: &Shown,
    (cli, one): (&Shared, &One),
    session: &Session,
) -> anyhow::Result<Status> {
    let seed = cli.clock.seed.unwrap_or_else(|| setup.world.random());
    let usual: Vec<&'static str> = baseline.findings.iter().map(|finding| finding.rule.word()).collect();
    // Trouble that the unchanged ad makes as well is not the change's.
    let always = signature(setup, &baseline.case, &baseline.outcome, &usual);
    let mut random = Random::new(seed);
    let original = setup.case.clone();
    let mut number = 0;
    let mut found: BTreeMap<String, (Case, Vec<Mutation>, u32)> = BTreeMap::new();
    let progress = Progress::new("calls", Some(times.into()), cli.output.quiet);
    let parallel = std::thread::available_parallelism().map_or(4, |count| count.get());
    let shared = std::cell::RefCell::new(&mut *setup);
    let interrupted = run_many(
        reactor,
        parallel,
        &mut || {
            if number >= times {
                return None;
            }
            number += 1;
            let mut case = original.clone();
            let mut mutations = Vec::new();
            for _ in 0..=random.below(3) {
                let ad = subject(&mut case);
                if let Some(mutation) = Mutation::of(ad, &mut random) {
                    mutation.apply(ad);
                    mutations.push(mutation);
                }
            }
            let mut setup = shared.borrow_mut();
            setup.case = case;
            let place = setup.place().ok()?;
            let mut spec = setup.child(&place, setup.environment(&place)).ok()?;
            spec.stdio[2] = crate::process::Stdio::Capture { limit: 64 * 1024 };
            let tag: (Case, Vec<Mutation>, Place) = (setup.case.clone(), mutations, place);
            Some(Job { tag, spec, patience: setup.patience })
        },
        &mut |(case, mutations, _place), outcome| {
            progress.advance(1);
            let setup = shared.borrow();
            let what =
                signature(&setup, &case, &outcome, &usual).filter(|what| Some(what) != always.as_ref());
            if let Some(what) = what {
                found.entry(what).and_modify(|entry| entry.2 += 1).or_insert((case, mutations, 1));
            }
        },
    )?;
    drop(progress);
    if let Some(number) = interrupted {
        return Ok(Status::Relayed(Exit::Signal { number, core_dumped: false }));
    }
    let painter = Painter::stderr(cli.output.color);
    let mut listed = Vec::new();
    for (what, (case, mutations, count)) in &found {
        let words: Vec<String> =
            mutations.iter().map(|one| format!("{} is {}", one.name, one.what)).collect();
        session.tell(&format!("{} ({count} of {times}): {what}\n", painter.warn("found")));
        session.tell(&format!("  first seen when {}\n", words.join(", ")));
        let mut smallest = case.clone();
        let ad = subject(&mut smallest).clone();
        let until = clock::tick().plus(LONGEST_SHRINK);
        let mut interrupted = None;
        let mut shows = |ad: &ClassAd| {
            // Nothing can be read of an empty ad.
            if ad.is_empty() || interrupted.is_some() || clock::tick() >= until {
                return false;
            }
            let mut asked = case.clone();
            *subject(&mut asked) = ad.clone();
            match again(setup, reactor, &asked) {
                Ok(Ok(outcome)) => signature(setup, &asked, &outcome, &usual).as_ref() == Some(what),
                Ok(Err(signal)) => {
                    interrupted = Some(signal);
                    false
                }
                Err(_) => false,
            }
        };
        let small = shrink(&ad, MOST_QUESTIONS, &mut shows);
        let small = shorten(&small, MOST_QUESTIONS, &mut shows);
        if clock::tick() >= until {
            let seconds = LONGEST_SHRINK.as_secs();
            session.tell(&format!("  after {seconds} s it was not made smaller any more\n"));
        }
        session.tell(&format!("  smallest ad, {} attributes:\n", small.len()));
        let text = long::print(&small);
        let hook = original.hook.word();
        let options = options(&original, setup, cli, one);
        let command = format!("{} | htc-hook-test {hook}{options}", as_printf(&text));
        session.tell(&format!("  {command}\n"));
        listed.push(serde_json::json!({
            "what": what,
            "calls": count,
            "first": words,
            "ad": String::from_utf8_lossy(&text),
            "command": command,
        }));
        if let Some(number) = interrupted {
            return Ok(Status::Relayed(Exit::Signal { number, core_dumped: false }));
        }
    }
    setup.case = original;
    if let Some(always) = &always {
        session.tell(&format!("with the unchanged ad as well, and not counted: {always}\n"));
    }
    let all = serde_json::json!({ "calls": times, "seed": seed, "found": listed });
    if let Some(text) = cli.output.rows(&[all])? {
        std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())?;
    }
    session.tell(&format!("{times} calls with seed {seed}: {} kinds of trouble\n", found.len()));
    Ok(if found.is_empty() { Status::Done } else { Status::No })
}

/// What else the command line needs to make the same call.
fn options(case: &Case, setup: &Setup, cli: &Shared, one: &One) -> String {
    let (ads, call) = (&one.ads, &one.call);
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut add = |words_of: &[&[u8]]| words.extend(words_of.iter().map(|word| word.to_vec()));
    if one.hook.is_some() {
        add(&[&setup.path]);
        case.words(setup.quirks).iter().for_each(|word| add(&[word]));
    }
    let path = |path: &std::path::Path| {
        std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).into_os_string().into_vec()
    };
    let subject_is_slot = case.hook == HookType::FetchWork;
    let subject_is_routed = matches!(case.hook, HookType::RouterUpdateJobInfo | HookType::JobCleanup);
    if let Some(file) = ads.slot_ads.as_ref().filter(|_| !subject_is_slot) {
        add(&[b"--slot-ads", &path(file)]);
    }
    if let Some(kind) = ads.sample_slot.as_ref().filter(|_| !subject_is_slot) {
        add(&[b"--sample-slot", kind.as_bytes()]);
    }
    if let Some(file) = ads.routed_ads.as_ref().filter(|_| !subject_is_routed) {
        add(&[b"--routed-ads", &path(file)]);
    }
    for (option, lines) in [("--set-slot", &ads.set_slot), ("--set-routed", &ads.set_routed)] {
        lines.iter().for_each(|line| add(&[option.as_bytes(), line.as_bytes()]));
    }
    // With ads from elsewhere standard input is read only when it is named.
    if !subject_is_slot && (ads.slot_ads.is_some() || ads.sample_slot.is_some()) {
        add(&[b"--ads", b"/dev/stdin"]);
    }
    if let Some(file) = &cli.config.config_file {
        add(&[b"--config-file", &path(file)]);
    }
    for (name, value) in &cli.config.set_knob {
        add(&[b"--set-knob", format!("{name}={value}").as_bytes()]);
    }
    for (option, value) in [
        ("--keyword", &call.keyword),
        ("--route", &call.route),
        ("--grid-resource", &call.grid_resource),
        ("--protocol", &call.protocol),
        ("--claim-id", &call.claim_id),
        ("--user", &call.user),
    ] {
        value.iter().for_each(|value| add(&[option.as_bytes(), value.as_bytes()]));
    }
    if call.slot != "slot1" {
        add(&[b"--slot", call.slot.as_bytes()]);
    }
    if let Some(number) = call.slot_type {
        add(&[b"--slot-type", number.to_string().as_bytes()]);
    }
    if let Some(number) = call.target_universe {
        add(&[b"--target-universe", number.to_string().as_bytes()]);
    }
    call.env.iter().for_each(|pair| add(&[b"--env", pair.as_bytes()]));
    call.path_prepend.iter().for_each(|directory| add(&[b"--path-prepend", &path(directory)]));
    for (option, given) in [
        ("--shadow", call.shadow),
        ("--edit-in-place", call.edit_in_place),
        ("--before-job", call.before_job),
        ("--ignore-path-check", call.ignore_path_check),
    ] {
        if given {
            add(&[option.as_bytes()]);
        }
    }
    if let Some(limit) = cli.events.timeout {
        add(&[b"--timeout", limit.as_secs_f64().to_string().as_bytes()]);
    }
    if setup.quirks == Quirks::Reference {
        add(&[b"--quirks", b"reference"]);
    }
    words.iter().map(|word| format!(" {}", quoted(word))).collect()
}

/// A word as a shell reads it.
fn quoted(word: &[u8]) -> String {
    let text = String::from_utf8_lossy(word);
    let plain = word.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_./=:,+".contains(byte));
    if plain && !word.is_empty() { text.into_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// One more call with other ads; the signal that interrupted it, if one did.
fn again(setup: &mut Setup, reactor: &mut Reactor, case: &Case) -> anyhow::Result<Result<Outcome, i32>> {
    setup.case = case.clone();
    let place = setup.place().map_err(super::one::problem)?;
    let spec = setup.child(&place, setup.environment(&place)).map_err(super::one::problem)?;
    Ok(crate::runner::hook_test::call(reactor, spec, Some(setup.patience), &mut |_| {})?)
}
