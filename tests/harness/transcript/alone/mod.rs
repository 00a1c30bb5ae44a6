//! Replays the recordings in which `condor_starter` was run directly, one small case after the other.
//!
//! Such a scenario has no daemons: `cases.jsonl` lists its cases, and `cases/NAME` contains the input (job
//! ad, lines of configuration, variables, umask, signals) and the result (status, result ad, recorded calls,
//! files, leftovers in EXECUTE). As in the recording, each case gets a separate LOCAL_DIR.

mod asked;
mod case;
mod chirp;
mod compare;
mod layout;
pub mod log;
pub mod pool;
mod slot_ad;

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::accounts::{self, Accounts};
use super::exceptions::Exceptions;
use super::findings::Findings;
use super::not_done::{List, passes};
use super::outcome::NotDone;
use super::subject::Subject;
use super::{Options, Outcome, Result, play, processes, recorded};
use case::{Case, Family};
use layout::{Fixture, Listings};

/// Groups that track jobs are shared by the whole machine, and the first free one shows in a case, so only
/// one case at a time uses them.
static TRACKING_GROUPS: Mutex<()> = Mutex::new(());

/// Returns true if a directory contains such a scenario.
pub fn is_family(directory: &Path) -> bool {
    let by_hand = directory.join("cases.jsonl").is_file() && !directory.join("timeline.txt").exists();
    by_hand || pool::is_one(directory)
}

/// Returns the names of its cases.
pub fn names_of_cases(directory: &Path) -> Result<Vec<String>> {
    Ok(read(directory)?.cases.into_iter().map(|case| case.name).collect())
}

fn read(directory: &Path) -> Result<Family> {
    if pool::is_one(directory) { pool::read(directory) } else { Family::read(directory) }
}

/// Replays its cases, several in parallel, and stores the results.
pub fn replay(directory: &Path, subject: &Subject, options: &Options, outcome: &mut Outcome) -> Result<()> {
    let family = read(directory)?;
    let accounts = Accounts::probe(&mut outcome.left_out);
    if !accounts.own {
        outcome.not_here = Some("its cases need the recorded accounts, which root alone can make".to_owned());
        outcome.counts.calls.skipped += family.cases.iter().map(|case| case.calls.len()).sum::<usize>();
        return Ok(());
    }
    let exceptions = Exceptions::load()?;
    let only = options.case.as_deref();
    let expected = |case: &&Case| only.is_none_or(|only| case.name.starts_with(only));
    let cases: Vec<&Case> = family.cases.iter().filter(expected).collect();
    let list = List::load()?;
    let (next, attempts) = (AtomicUsize::new(0), AtomicUsize::new(1));
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..options.parallel.clamp(1, 8) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let fresh = || Findings::new(&exceptions, subject, accounts.own, None);
                    let once =
                        options.keep || pool::is_one(directory) || list.reason(subject, &case.name).is_some();
                    let mut best: Option<(Result<Option<Kept>>, Findings<'_>)> = None;
                    let mut played = 0;
                    let tracks = case.config.windows(12).any(|window| window == b"TRACKING_GID");
                    let _own_groups = tracks.then(|| TRACKING_GROUPS.lock());
                    // Cases are small, so those that may differ because of timing are repeated separately.
                    while played < if once { 1 } else { options.attempts } {
                        played += 1;
                        let mut findings = fresh();
                        let kept = one(&family, case, &accounts, options, &mut findings);
                        let equal = kept.is_ok() && findings.differences.is_empty();
                        let fewer = best.as_ref().is_none_or(|(run, best)| {
                            run.is_err() || findings.differences.len() < best.differences.len()
                        });
                        if fewer {
                            best = Some((kept, findings));
                        }
                        if equal {
                            break;
                        }
                    }
                    attempts.fetch_max(played, Ordering::Relaxed);
                    if let (Ok(mut done), Some((kept, findings))) = (done.lock(), best) {
                        done.push((case.name.clone(), kept, findings));
                    }
                }
            });
        }
    });
    let without: usize = cases.iter().map(|case| case.without_counterpart).sum();
    outcome.counts.values.skipped += without;
    if without > 0 {
        outcome.left_out.push(format!("{}: {without} logs of shadows in other forms than text", family.name));
    }
    let mut done = done.into_inner().map_err(|_| "a case ended the harness".to_owned())?;
    done.sort_by(|a, b| a.0.cmp(&b.0));
    outcome.attempts = attempts.into_inner();
    if only.is_none() {
        let known: Vec<&str> = family.cases.iter().map(|case| case.name.as_str()).collect();
        outcome.differences.extend(list.unknown(subject, &known));
        outcome.differences.extend(exceptions.unknown(subject, &known));
    }
    for (name, run, mut findings) in done {
        match run {
            Ok(None) => {}
            Ok(Some(Kept(place))) => {
                outcome.left_out.push(format!("{} {name}: kept in {place}", family.name))
            }
            Err(reason) => findings.differ(&name, "harness", None, Some(reason)),
        }
        if let Some(reason) = list.reason(subject, &name) {
            if findings.differences.is_empty() {
                findings.differences.push(passes(&name, reason));
            } else {
                if std::env::var_os("HTC_REPLAY_SAID").is_some() {
                    findings.differences.iter().for_each(|difference| println!("not compared: {difference}"));
                }
                findings.differences.clear();
                findings.counts = findings.counts.skipped();
                outcome.not_done.push(NotDone { reason: reason.to_owned(), case: Some(name) });
            }
        }
        outcome.counts += findings.counts;
        outcome.differences.append(&mut findings.differences);
    }
    Ok(())
}

/// Directory of a case that is kept.
struct Kept(String);

/// Replays one case.
fn one(
    family: &Family,
    case: &Case,
    accounts: &Accounts,
    options: &Options,
    findings: &mut Findings<'_>,
) -> Result<Option<Kept>> {
    let fixture = Fixture::lay(family, case, accounts)?;
    let before = fixture.listing()?;
    let programs = fixture.stage.top().join("programs");
    let starter = fixture.stage.release.join("sbin/condor_starter");
    let own = fixture.stage.release.join("sbin/htc-starter-run");
    let libexec = fixture.stage.release.join("libexec");
    std::fs::create_dir_all(&programs)
        .and_then(|()| std::os::unix::fs::symlink(programs.join("htc-starter-run"), &starter))
        .and_then(|()| std::os::unix::fs::symlink(programs.join("htc-starter-run"), &own))
        .and_then(|()| std::fs::create_dir_all(&libexec))
        .and_then(|()| {
            std::os::unix::fs::symlink(programs.join("htc-starter-run"), libexec.join("condor_pid_ns_init"))
        })
        .map_err(|error| format!("{}: {error}", starter.display()))?;
    // For processes outside of its namespace.
    std::os::unix::fs::symlink(&options.programs, fixture.stage.top().join("programs.real"))
        .map_err(|error| format!("programs.real: {error}"))?;
    let program = if case.in_iwd { own } else { starter };
    // The directories for temporary files were empty during the recording, and jobs list them.
    let mut command = Command::new(fixture.stage.apart());
    command.arg(fixture.stage.top()).args([accounts::HOST, case.umask.as_deref().unwrap_or("0022")]);
    command.args([&options.programs, &programs, &program]);
    command.env_clear().envs(family.environment());
    command.env("CONDOR_CONFIG", fixture.stage.local.join("condor_config"));
    let played = play::run_case(
        command,
        &fixture.stage,
        &case.run_now(),
        &fixture.iwd(),
        &fixture.stage.local.join("case"),
    )?;
    let ended_by_itself = played.exit.starts_with("exited");
    if played.exit.starts_with("signalled") {
        // Processes that it left continue to their end; the result is checked after that.
        fixture.wait_for_orphans();
    }
    // A starter that was killed cannot clean up, so its job is ended here.
    let left = processes::end_leftovers(fixture.stage.top());
    if ended_by_itself && !left.is_empty() {
        findings.differ(&case.name, "left running", None, Some(left.join(", ")));
    }
    let calls = recorded::read(&fixture.stage)?;
    let listings = Listings { before, after: fixture.listing()? };
    compare::compare(case, &fixture, &listings, &played, &calls, findings);
    if options.keep {
        return Ok(Some(Kept(fixture.stage.keep().display().to_string())));
    }
    Ok(None)
}
