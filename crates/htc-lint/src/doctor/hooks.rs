//! Accounts, and the programs that the configuration names: hooks, cron jobs, the starter.

use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use nix::unistd::{AccessFlags, eaccess};

use super::check::{Check, failing};
use super::patient::Patient;
use crate::daemons::keywords;
use htc_base::job::attr;
use htc_base::process::Identity;
use htc_base::text::caseless;
use htc_hook::{Caller, HookType, path_check};
use htc_os::{identity, interpreter_of};
use htc_runner::slot::client_of_backfill;

/// Who runs what.
pub(super) fn users(patient: &Patient<'_>) -> Vec<Check> {
    let world = patient.world;
    let root = world.effective_uid() == 0;
    let name = |uid: u32| {
        let account = world.account_by_uid(uid);
        account.map_or_else(|| format!("uid {uid}"), |account| format!("'{}'", account.name))
    };
    let caller = name(world.effective_uid());
    if !root {
        return vec![Check::good("users", format!("hooks and jobs run as {caller}, who calls this program"))];
    }
    if !identity::may_switch() {
        let todo = "give it CAP_SETUID and CAP_SETGID, or call it as an ordinary user";
        return vec![Check::note(
            "users",
            "root may not change accounts here: hooks and jobs run as root",
            todo,
        )];
    }
    let hooks = match &patient.account {
        Err(reason) => failing("users", reason),
        Ok(account) => match (&account.identity, &account.warning) {
            (_, Some(warning)) => match warning.split_once("; ") {
                Some((found, todo)) => Check::note("users", found, todo),
                None => Check::note("users", warning.as_str(), ""),
            },
            (Some(identity), None) if identity.uid == 0 => Check::fails(
                "users",
                "CONDOR_IDS is root's: hooks do not run as root",
                "set CONDOR_IDS = UID.GID to an ordinary account",
            ),
            (Some(identity), None) => {
                Check::good("users", format!("hooks of the slots run as {}", name(identity.uid)))
            }
            (None, None) => Check::good("users", format!("hooks of the slots run as {caller}")),
        },
    };
    let jobs = "jobs, with their hooks, run as their OsUser, User or Owner: each needs an account here";
    vec![hooks, Check::good("users", jobs)]
}

/// The account that a program of ours is run by; nothing where it stays our own, or is known with the job only.
fn runs_as<'a>(patient: &'a Patient<'_>, caller: Caller) -> Option<&'a Identity> {
    match caller {
        Caller::Startd => patient.account.as_ref().ok()?.identity.as_ref(),
        Caller::Starter | Caller::Shadow | Caller::Router => None,
    }
}

/// Whether the system would execute a file that the callers take; why not, with what to do.
fn executes(file: &Path, identity: Option<&Identity>) -> Result<(), (String, String)> {
    let shown = file.display();
    if file.is_dir() {
        return Err((format!("'{shown}' is a directory"), "name the file".to_owned()));
    }
    let access = identity::acting_as(identity, || eaccess(file, AccessFlags::X_OK));
    if let Err(error) = access.and_then(|access| access.map_err(std::io::Error::from)) {
        let who = identity.map_or_else(|| "we".to_owned(), |identity| format!("uid {}", identity.uid));
        let todo = "let that account read and execute the file, and search all directories above it";
        return Err((format!("{who} cannot execute '{shown}': {error}"), todo.to_owned()));
    }
    let interpreter = interpreter_of(file);
    if let Some(name) = interpreter.filter(|name| !name.to_path_lossy().is_file()) {
        let found = format!("there is no interpreter '{}' for '{shown}'", name.as_bstr());
        let todo = match name.ends_with(b"\r") {
            true => "convert the file to Unix line ends",
            false => "install it, or correct the first line",
        };
        return Err((found, todo.to_owned()));
    }
    // What cannot be read cannot be a script either.
    let mut start = [0; 4];
    let read = std::fs::File::open(file).and_then(|mut file| std::io::Read::read(&mut file, &mut start));
    match read {
        Ok(count) if !start[..count].starts_with(b"#!") && !start[..count].starts_with(b"\x7fELF") => {
            let found = format!("'{shown}' is neither a program nor a script that begins with '#!'");
            Err((found, "begin it with a line such as '#!/bin/sh'".to_owned()))
        }
        _ => Ok(()),
    }
}

/// The hooks of all keywords that are set, as the execution point and starters look for them.
pub(super) fn hooks(patient: &Patient<'_>) -> Vec<Check> {
    let set = keywords(patient.config);
    let mut checks = Vec::new();
    for keyword in used_keywords(patient) {
        if !set.iter().any(|known| caseless::eq(known, keyword.as_bytes())) {
            let found = format!("no hook at all is configured for the keyword '{keyword}'");
            checks.push(Check::fails("hooks", found, format!("set {keyword}_HOOK_FETCH_WORK to a path")));
        }
    }
    let view = patient.config.view(patient.world);
    let of_ours = |hook: &HookType| matches!(hook.caller(), Caller::Startd | Caller::Starter);
    for keyword in &set {
        for hook in HookType::ALL.into_iter().filter(of_ours) {
            let knob = hook.knob(keyword);
            let knobs: &dyn htc_hook::Knobs = &view;
            checks.extend(knobs.get(&knob).map(|path| of_hook(patient, hook, (&knob, &path))));
        }
    }
    checks
}

/// What is to be said of a hook that is configured.
fn of_hook(patient: &Patient<'_>, hook: HookType, (knob, path): (&BString, &BString)) -> Check {
    // The execution point works in LOG, a starter in the job's directory.
    let startd = hook.caller() == Caller::Startd;
    let whole = match &patient.log {
        Some(log) if startd => in_directory(log, path),
        _ => path.clone(),
    };
    if !startd && !path.starts_with(b"/") {
        let found = format!(
            "{knob}: '{path}' is looked for in the directory of each job: jobs of this keyword do not start"
        );
        return Check::fails("hooks", found, "name it from / on");
    }
    if let Err(refusal) = path_check::check(patient.world, &whole) {
        let then = match startd {
            true => "the hook counts as not configured",
            false => "jobs of this keyword do not start",
        };
        let mut check = failing("hooks", &format!("{knob}: {refusal}"));
        check.found = format!("{}: {then}", check.found);
        if check.todo.is_empty() {
            check.todo = "name a file that is there".to_owned();
        }
        return check;
    }
    match executes(&whole.to_path_lossy(), runs_as(patient, hook.caller())) {
        Ok(()) => Check::good("hooks", format!("{knob}: '{path}'")),
        Err((found, todo)) => Check::fails("hooks", format!("{knob}: {found}"), todo),
    }
}

fn in_directory(directory: &Path, path: &BString) -> BString {
    use std::os::unix::ffi::OsStrExt;
    match path.starts_with(b"/") {
        true => path.clone(),
        false => [directory.as_os_str().as_bytes(), b"/", &path[..]].concat().into(),
    }
}

/// The keywords that slots have.
fn used_keywords(patient: &Patient<'_>) -> Vec<String> {
    let slots = patient.settings.slots.iter();
    let all = slots.flat_map(|slot| {
        let of_children = slot.child_hooks.iter().map(|(_, hooks)| hooks);
        slot.hooks.iter().chain(&slot.child_default).chain(of_children)
    });
    let mut keywords: Vec<String> = all.map(|hooks| hooks.keyword.clone()).collect();
    keywords.sort();
    keywords.dedup();
    keywords
}

/// The starter and the programs of cron jobs, of which the daemon makes no tests.
pub(super) fn cron(patient: &Patient<'_>) -> Vec<Check> {
    let starter = &patient.starter.path;
    let mut checks = vec![match executes(starter, None) {
        Ok(()) => Check::good("starter", format!("'{}'", starter.display())),
        Err((found, _)) => Check::fails("starter", found, "set STARTER, or install htc-starter-run"),
    }];
    for job in &patient.settings.cron.jobs {
        let path: PathBuf = job.executable.to_path_lossy().into_owned();
        checks.push(match executes(&path, runs_as(patient, Caller::Startd)) {
            Ok(()) => Check::good("cron", format!("{}: '{}'", job.name, path.display())),
            Err((found, todo)) => Check::fails("cron", format!("{}: {found}", job.name), todo),
        });
    }
    checks
}

/// The client of backfill, whose job a starter takes from the configuration.
pub(super) fn backfill(patient: &Patient<'_>) -> Option<Check> {
    let view = patient.config.view(patient.world);
    let is_wanted = match patient.settings.backfill {
        Some(backfill) => !backfill.dead.as_reference,
        None => {
            let is_boinc = |system: String| system.eq_ignore_ascii_case("BOINC");
            let enabled = view.boolean("ENABLE_BACKFILL").ok().flatten();
            enabled.is_some_and(|setting| setting.value)
                && patient.text("BACKFILL_SYSTEM").is_some_and(is_boinc)
        }
    };
    if !is_wanted {
        return None;
    }
    let (ad, left_out) = match client_of_backfill(patient.config, patient.world) {
        Ok(client) => client,
        Err(error) => return Some(failing("backfill", &error.to_string())),
    };
    let path: PathBuf = ad.string(attr::CMD).unwrap_or_default().to_path_lossy().into_owned();
    Some(match (executes(&path, None), left_out.first()) {
        (Ok(()), Some(value)) => {
            Check::note("backfill", value.to_string(), "correct it: the client runs without it, as in a pool")
        }
        (Ok(()), None) => Check::good("backfill", format!("'{}'", path.display())),
        (Err((found, todo)), _) => Check::fails("backfill", found, todo),
    })
}
