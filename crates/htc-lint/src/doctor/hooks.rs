//! Checks of accounts and of the programs that the configuration names: hooks, cron jobs, the starter.

use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use nix::unistd::{AccessFlags, eaccess};

use super::check::DoctorCheck;
use super::doctor_input::DoctorInput;
use crate::daemons::configured_keywords;
use htc_base::FixableError;
use htc_base::job::attr;
use htc_base::process::ProcessIdentity;
use htc_base::text::caseless;
use htc_hook::{HookCaller, HookType, path_check};
use htc_os::{identity, interpreter_of};
use htc_runner::slot::backfill_client_ad;

/// Checks the accounts.
pub(super) fn check_accounts(input: &DoctorInput<'_>) -> Vec<DoctorCheck> {
    let world = input.world;
    let root = world.effective_uid() == 0;
    let name = |uid: u32| {
        let account = world.account_by_uid(uid);
        account.map_or_else(|| format!("uid {uid}"), |account| format!("'{}'", account.name))
    };
    let caller = name(world.effective_uid());
    if !root {
        return vec![DoctorCheck::passed(
            "users",
            format!("hooks and jobs run as {caller}, the account that runs this program"),
        )];
    }
    if !identity::can_switch_account() {
        let todo = "run the program with CAP_SETUID and CAP_SETGID, or as an ordinary user";
        return vec![DoctorCheck::noted(
            "users",
            "root cannot change to other accounts here: hooks and jobs run as root",
            todo,
        )];
    }
    let hooks = match &input.account {
        Err(error) => DoctorCheck::failed_with_fix("users", error),
        Ok(account) => match (&account.identity, &account.warning) {
            (_, Some(warning)) => {
                DoctorCheck::noted("users", warning.problem(), warning.fix().unwrap_or_default())
            }
            (Some(identity), None) if identity.uid == 0 => DoctorCheck::failed(
                "users",
                "CONDOR_IDS names root, but hooks do not run as root",
                "set CONDOR_IDS = UID.GID to an ordinary account",
            ),
            (Some(identity), None) => {
                DoctorCheck::passed("users", format!("hooks of the slots run as {}", name(identity.uid)))
            }
            (None, None) => DoctorCheck::passed("users", format!("hooks of the slots run as {caller}")),
        },
    };
    let jobs =
        "jobs and their hooks run as OsUser, User or Owner: each of these needs an account on this machine";
    vec![hooks, DoctorCheck::passed("users", jobs)]
}

/// Returns the account under which the programs of a caller run, or `None` if it is the account of this program or
/// depends on the job.
fn account_for_caller<'a>(input: &'a DoctorInput<'_>, caller: HookCaller) -> Option<&'a ProcessIdentity> {
    match caller {
        HookCaller::Startd => input.account.as_ref().ok()?.identity.as_ref(),
        HookCaller::Starter | HookCaller::Shadow | HookCaller::Router => None,
    }
}

/// Checks that the system can execute a file that the callers accept; returns the reason and the fix
/// otherwise.
fn check_executable(file: &Path, identity: Option<&ProcessIdentity>) -> Result<(), (String, String)> {
    let shown = file.display();
    if file.is_dir() {
        return Err((format!("'{shown}' is a directory"), "write the path of a file in it".to_owned()));
    }
    let access = identity::run_as(identity, || eaccess(file, AccessFlags::X_OK));
    if let Err(error) = access.and_then(|access| access.map_err(std::io::Error::from)) {
        let account =
            identity.map_or_else(|| "this account".to_owned(), |identity| format!("uid {}", identity.uid));
        let todo = "give that account permission to read and execute the file, and to enter all directories above it";
        return Err((format!("{account} cannot execute '{shown}': {error}"), todo.to_owned()));
    }
    let interpreter = interpreter_of(file);
    if let Some(name) = interpreter.filter(|name| !name.to_path_lossy().is_file()) {
        let found = format!("there is no interpreter '{}' for '{shown}'", name.as_bstr());
        let todo = match name.ends_with(b"\r") {
            true => "convert the file to Unix line endings",
            false => "install it, or correct the first line",
        };
        return Err((found, todo.to_owned()));
    }
    // A file that cannot be read cannot be a script either.
    let mut start = [0; 4];
    let read = std::fs::File::open(file).and_then(|mut file| std::io::Read::read(&mut file, &mut start));
    match read {
        Ok(count) if !start[..count].starts_with(b"#!") && !start[..count].starts_with(b"\x7fELF") => {
            let found = format!("'{shown}' is neither a program nor a script that begins with '#!'");
            Err((found, "add a first line such as '#!/bin/sh'".to_owned()))
        }
        _ => Ok(()),
    }
}

/// Checks the hooks of all keywords, as the execution point and starters look them up.
pub(super) fn check_hooks(input: &DoctorInput<'_>) -> Vec<DoctorCheck> {
    let set = configured_keywords(input.config);
    let mut checks = Vec::new();
    for keyword in slot_keywords(input) {
        if !set.iter().any(|known| caseless::eq(known, keyword.as_bytes())) {
            let found = format!("no hook is configured for the keyword '{keyword}'");
            checks.push(DoctorCheck::failed(
                "hooks",
                found,
                format!("set {keyword}_HOOK_FETCH_WORK to a path"),
            ));
        }
    }
    let view = input.config.view(input.world);
    let is_checked = |hook: &HookType| matches!(hook.caller(), HookCaller::Startd | HookCaller::Starter);
    for keyword in &set {
        for hook in HookType::ALL.into_iter().filter(is_checked) {
            let parameter = hook.path_parameter(keyword);
            let parameters: &dyn htc_hook::ParameterSource = &view;
            checks.extend(parameters.get(&parameter).map(|path| check_hook(input, hook, &parameter, &path)));
        }
    }
    checks
}

/// Checks a configured hook.
fn check_hook(input: &DoctorInput<'_>, hook: HookType, parameter: &BString, path: &BString) -> DoctorCheck {
    // The execution point's working directory is LOG, a starter's is the job's directory.
    let is_startd = hook.caller() == HookCaller::Startd;
    let whole = match &input.log {
        Some(log) if is_startd => absolute_hook_path(log, path),
        _ => path.clone(),
    };
    if !is_startd && !path.starts_with(b"/") {
        let found = format!(
            "{parameter}: '{path}' is relative to the scratch directory of each job: jobs of this keyword do not start"
        );
        return DoctorCheck::failed("hooks", found, "write an absolute path");
    }
    if let Err(refusal) = path_check::check_path(input.world, &whole) {
        let effect = match is_startd {
            true => "the hook is treated as not configured",
            false => "jobs of this keyword do not start",
        };
        let found = format!(
            "{parameter}: hook path '{}' refused: {}: {effect}",
            refusal.path.as_bstr(),
            refusal.problem()
        );
        let todo = refusal.fix().unwrap_or_else(|| "write the path of an existing file".to_owned());
        return DoctorCheck::failed("hooks", found, todo);
    }
    match check_executable(&whole.to_path_lossy(), account_for_caller(input, hook.caller())) {
        Ok(()) => DoctorCheck::passed("hooks", format!("{parameter}: '{path}'")),
        Err((found, todo)) => DoctorCheck::failed("hooks", format!("{parameter}: {found}"), todo),
    }
}

fn absolute_hook_path(directory: &Path, path: &BString) -> BString {
    use std::os::unix::ffi::OsStrExt;
    match path.starts_with(b"/") {
        true => path.clone(),
        false => [directory.as_os_str().as_bytes(), b"/", &path[..]].concat().into(),
    }
}

/// Returns the keywords of the slots.
fn slot_keywords(input: &DoctorInput<'_>) -> Vec<String> {
    let slots = input.settings.slots.iter();
    let all = slots.flat_map(|slot| {
        let child_hooks = slot.child_hooks.iter().map(|(_, hooks)| hooks);
        slot.hooks.iter().chain(&slot.default_child_hooks).chain(child_hooks)
    });
    let mut keywords: Vec<String> = all.map(|hooks| hooks.keyword.clone()).collect();
    keywords.sort();
    keywords.dedup();
    keywords
}

/// Checks the starter and the programs of cron jobs. A startd does not check them before it starts them.
pub(super) fn check_cron_jobs(input: &DoctorInput<'_>) -> Vec<DoctorCheck> {
    let starter = &input.starter.path;
    let mut checks = vec![match check_executable(starter, None) {
        Ok(()) => DoctorCheck::passed("starter", format!("'{}'", starter.display())),
        Err((found, _)) => DoctorCheck::failed("starter", found, "set STARTER, or install htc-starter-run"),
    }];
    for job in &input.settings.cron.jobs {
        let path: PathBuf = job.executable.to_path_lossy().into_owned();
        checks.push(match check_executable(&path, account_for_caller(input, HookCaller::Startd)) {
            Ok(()) => DoctorCheck::passed("cron", format!("{}: '{}'", job.name, path.display())),
            Err((found, todo)) => DoctorCheck::failed("cron", format!("{}: {found}", job.name), todo),
        });
    }
    checks
}

/// Checks the backfill client, whose job a starter reads from the configuration.
pub(super) fn check_backfill(input: &DoctorInput<'_>) -> Option<DoctorCheck> {
    let view = input.config.view(input.world);
    let is_wanted = match input.settings.backfill {
        Some(backfill) => !backfill.dead_client.as_reference,
        None => {
            let is_boinc = |system: String| system.eq_ignore_ascii_case("BOINC");
            let enabled = view.boolean("ENABLE_BACKFILL").ok().flatten();
            enabled.is_some_and(|setting| setting.value)
                && input.parameter_text("BACKFILL_SYSTEM").is_some_and(is_boinc)
        }
    };
    if !is_wanted {
        return None;
    }
    let (ad, left_out) = match backfill_client_ad(input.config, input.world) {
        Ok(client) => client,
        Err(error) => return Some(DoctorCheck::failed_with_fix("backfill", &error)),
    };
    let path: PathBuf = ad.string(attr::CMD).unwrap_or_default().to_path_lossy().into_owned();
    Some(match (check_executable(&path, None), left_out.first()) {
        (Ok(()), Some(value)) => DoctorCheck::noted(
            "backfill",
            value.to_string(),
            "correct it: the client runs without this setting, as in a pool",
        ),
        (Ok(()), None) => DoctorCheck::passed("backfill", format!("'{}'", path.display())),
        (Err((found, todo)), _) => DoctorCheck::failed("backfill", found, todo),
    })
}
