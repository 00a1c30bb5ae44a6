//! Tests of the credentials of a job's user: tokens and Kerberos caches in the scratch directory, and those passed to
//! SHADOW_PREPARE_JOB.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::support::place::{Place, read_fifo, shell};

const NEEDS: &str = "ShouldTransferFiles = \"NO\"\nOAuthServicesNeeded = \"scitokens*x\"\nOut = \"out\"";

/// Returns the owner of the credentials: the account of jobs in these tests, which is also the user in the ad.
fn user() -> String {
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).unwrap();
    user.filter(|user| !user.uid.is_root()).map_or_else(|| "nobody".to_owned(), |user| user.name)
}

fn lay(place: &Place, name: &str, mode: u32) -> PathBuf {
    let path = place.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "secret\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

/// Creates a place whose user has a token with this mode.
fn with_token(mode: u32) -> Place {
    let place = Place::new().with_recording_hooks();
    lay(&place, "tokens/nobody/scitokens_x.use", mode);
    let parameter = format!("SEC_CREDENTIAL_DIRECTORY_OAUTH = {}", place.path("tokens").display());
    place.parameter(&parameter)
}

fn of_shadow(mode: u32) -> Place {
    with_token(mode).option(&["--as", "shadow"])
}

/// In `CredDirCreator` (cred_dir.cpp) of 25.14, all accounts can read the directory.
#[test]
fn a_job_has_its_tokens_in_every_role_until_it_ends() {
    let script = "cd $_CONDOR_CREDS; pwd; stat -c %a . *; cat *";
    for (words, ended) in [(vec![], "ExitCode = 0"), (vec!["--as", "shadow"], "JobStatus = 4")] {
        let place = with_token(0o600).option(&words);
        let run = place.run(&format!("{}\n{NEEDS}", shell(script)));
        assert!(run.has(ended) && run.has("ExitCode = 0"), "{}{}", run.ad, run.stderr);
        let out = fs::read_to_string(place.path("iwd/out")).unwrap();
        let (directory, rest) = out.split_once('\n').unwrap();
        assert!(directory.ends_with("/.condor_creds") && rest == "700\n600\nsecret\n", "{out}");
        assert!(run.left.is_empty(), "{:?}", run.left);
    }
}

/// A scratch directory that is kept contains no credentials, even if the job tries to protect them.
#[test]
fn a_kept_scratch_directory_has_no_tokens_even_if_it_was_unreadable() {
    for script in ["exit 0", "chmod 0 $_CONDOR_CREDS", "chmod 0 $_CONDOR_CREDS; chmod 0 $_CONDOR_SCRATCH_DIR"]
    {
        let place = of_shadow(0o600);
        let kept = place.path("kept");
        let place = place.parameter(&format!("STARTER_MOVE_WORKING_DIR_ON_EXIT = {}", kept.display()));
        let run = place.run(&format!("{}\n{NEEDS}", shell(script)));
        assert!(
            kept.join("scratch").exists() && !run.stderr.contains("taken away"),
            "{script}: {}",
            run.stderr
        );
        let closed = script.contains("SCRATCH_DIR");
        let mode = fs::metadata(kept.join("scratch")).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode == 0, closed, "{script}: {mode:o}");
        fs::set_permissions(kept.join("scratch"), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(!kept.join("scratch/.condor_creds").exists(), "{script}: {}", run.stderr);
    }
}

/// As in `CONDOR_getcreds` (NTreceivers.cpp), the shadow holds the job.
#[test]
fn a_job_without_tokens_is_held_or_refused() {
    for (mode, parameter, services, reason) in [
        (0o644, "", "scitokens*x", "other accounts can read or write it"),
        (0o600, "", "other", "No such file"),
        (0o600, "", "../nobody/scitokens", "is not a valid file name"),
        (0o600, "SEC_CREDENTIAL_DIRECTORY_OAUTH =", "scitokens*x", "is not set"),
    ] {
        let needs = NEEDS.replace("scitokens*x", services);
        let place = of_shadow(mode).parameter(parameter);
        let run = place.run(&format!("{}\n{needs}", shell("exit 0")));
        assert!(run.stderr.contains(reason), "{services}: {}", run.stderr);
        assert!(run.has("JobStatus = 5") && run.has("HoldReasonCode = 4"), "{services}: {}", run.ad);
        assert!(run.has("HoldReason = \"Job credentials are not available\""), "{}", run.ad);
        assert!(run.left.is_empty() && !place.path("iwd/out").exists(), "{:?}", run.left);
        let place = with_token(mode).parameter(parameter);
        let run = place.run(&format!("{}\n{needs}", shell("exit 0")));
        assert!(run.status == 1 && run.stderr.contains(reason), "{services}: {}", run.stderr);
        assert!(run.left.is_empty() && !place.path("iwd/out").exists(), "{:?}", run.left);
    }
    let trusting = of_shadow(0o644).parameter("TRUST_CREDENTIAL_DIRECTORY = true");
    assert!(trusting.run(&format!("{}\n{NEEDS}", shell("exit 0"))).has("JobStatus = 4"));
}

/// Waits until a file has changed.
fn until_other(file: &str) -> String {
    format!("until grep -q fresh {file}; do sleep 0.1; done; cat {file}")
}

#[test]
fn tokens_are_refreshed_and_the_job_is_held_if_that_fails() {
    let place = of_shadow(0o600).parameter("SEC_CREDENTIAL_REFRESH = 1");
    let pipe = place.pipe();
    let script = format!("echo > {}; {}", pipe.display(), until_other("$_CONDOR_CREDS/scitokens_x.use"));
    let child = place.start(&format!("{}\n{NEEDS}", shell(&script)));
    read_fifo(&pipe);
    fs::write(place.path("tokens/nobody/scitokens_x.use"), "fresh\n").unwrap();
    let run = place.finish(child);
    assert!(run.has("JobStatus = 4"), "{}{}", run.ad, run.stderr);
    assert_eq!(fs::read_to_string(place.path("iwd/out")).unwrap(), "fresh\n");

    let child =
        place.start(&format!("{}\n{NEEDS}", shell(&format!("echo > {}; exec sleep 600", pipe.display()))));
    read_fifo(&pipe);
    fs::remove_file(place.path("tokens/nobody/scitokens_x.use")).unwrap();
    let run = place.finish(child);
    assert!(run.has("JobStatus = 5") && run.has("HoldReasonCode = 4"), "{}{}", run.ad, run.stderr);
    assert!(run.stderr.contains("cannot be refreshed (SEC_CREDENTIAL_REFRESH)"), "{}", run.stderr);
    assert!(run.left.is_empty(), "{:?}", run.left);
}

/// Tests the quirk `tokens-gone-unrefreshed`. By default the tokens stay, as a unit test checks.
#[test]
fn a_failed_token_refresh_without_a_shadow_is_reported() {
    let place = with_token(0o600).parameter("SEC_CREDENTIAL_REFRESH = 1").option(&["--quirks", "reference"]);
    let pipe = place.pipe();
    let script = format!("echo > {}; while test -e $_CONDOR_CREDS; do sleep 0.1; done", pipe.display());
    let child = place.start(&format!("{}\n{NEEDS}", shell(&script)));
    read_fifo(&pipe);
    fs::remove_file(place.path("tokens/nobody/scitokens_x.use")).unwrap();
    let run = place.finish(child);
    assert!(run.has("ExitCode = 0"), "{}{}", run.ad, run.stderr);
    assert!(run.stderr.contains("cannot be refreshed (SEC_CREDENTIAL_REFRESH)"), "{}", run.stderr);
}

/// Tests `refreshSandboxCredentialsKRB` (jic_shadow.cpp).
#[test]
fn a_kerberos_cache_in_the_scratch_directory_is_refreshed() {
    let parameters = |place: Place| {
        let parameter = format!("SEC_CREDENTIAL_DIRECTORY_KRB = {}", place.path("krb").display());
        place.parameter(&parameter).parameter("SEC_CREDENTIAL_REFRESH = 1").option(&["--as", "shadow"])
    };
    if nix::unistd::User::from_uid(nix::unistd::geteuid()).unwrap().is_none() {
        println!("skipped: a Kerberos cache belongs to an account, and the id that runs the tests has none");
        return;
    }
    let place = parameters(Place::new());
    let source = lay(&place, &format!("krb/{}.cc", user()), 0o600);
    let pipe = place.pipe();
    let cache = "${KRB5CCNAME#FILE:}";
    let script = format!(
        "echo $KRB5CCNAME; stat -c %a {cache}; cat {cache}; echo > {}; {}",
        pipe.display(),
        until_other(cache)
    );
    let ad = "ShouldTransferFiles = \"NO\"\nSendCredential = true\nOut = \"out\"";
    let child = place.start(&format!("{}\n{ad}", shell(&script)));
    read_fifo(&pipe);
    fs::write(&source, "fresh\n").unwrap();
    let run = place.finish(child);
    assert!(run.has("JobStatus = 4"), "{}{}", run.ad, run.stderr);
    let out = fs::read_to_string(place.path("iwd/out")).unwrap();
    let (name, rest) = out.split_once('\n').unwrap();
    assert!(name.starts_with("FILE:/") && name.ends_with(&format!("/scratch/{}.cc", user())), "{out}");
    assert_eq!(rest, "600\nsecret\nfresh\n");
    // In these tests no program creates the cache; in a pool the credmon would.
    let place = parameters(Place::new());
    lay(&place, "krb/other.cc", 0o600);
    let run = place.run(&format!("{}\n{ad}", shell("exit 0")));
    assert!(!run.has("JobStatus = 4") && run.stderr.contains("credmon"), "{}{}", run.ad, run.stderr);
    assert!(run.left.is_empty() && !place.path("iwd/out").exists(), "{:?}", run.left);
    let stderr = Place::new().option(&["--as", "shadow"]).run(&format!("{}\n{ad}", shell("exit 0"))).stderr;
    assert!(stderr.contains("SEC_CREDENTIAL_DIRECTORY_KRB is not set"), "{stderr}");
}

/// Tests `ShadowHookMgr::tryHookPrepareJob`.
#[test]
fn the_shadow_hook_has_the_jobs_credentials_while_it_runs() {
    let place = || {
        let place = of_shadow(0o600).parameter("SHADOW_DEFAULT_JOB_HOOK_KEYWORD = FARM");
        fs::create_dir(place.path("spool")).unwrap();
        let krb = format!("SEC_CREDENTIAL_DIRECTORY_KRB = {}", place.path("krb").display());
        place.parameter(&krb).hook(
            "SHADOW_PREPARE_JOB",
            "echo $_CONDOR_CREDS >> $CALLS; cd $_CONDOR_CREDS; stat -c %a,%n * >> $CALLS; cat * >> $CALLS; exit 0",
        )
    };
    let one = place().parameter("SPOOL = $(LOCAL_DIR)/spool");
    lay(&one, "krb/nobody.cred", 0o600);
    let ad = format!("{}\n{NEEDS}\nSendCredential = true", shell("exit 0"));
    // The hook is called first. The job itself has no cache, so it is not started.
    let run = one.run(&ad);
    let calls = fs::read_to_string(one.path("iwd/calls")).unwrap();
    let spool = one.path("spool").display().to_string();
    let expected = format!(
        "{spool}/7/_condor_creds.cluster7.proc1\n400,nobody.cc\n400,scitokens_x.use\nsecret\nsecret\n"
    );
    assert!(calls.starts_with(&expected), "{calls}{}", run.stderr);
    assert_eq!(fs::read_dir(one.path("spool/7")).unwrap().count(), 0);
    // If the job's credentials are missing, the hook is not called.
    let run = place().parameter("SPOOL = $(LOCAL_DIR)/spool").run(&ad);
    assert!(run.stderr.contains("SHADOW_PREPARE_JOB is not called: no credentials for it"), "{}", run.stderr);
    assert!(run.calls.is_empty() && !run.has("JobStatus = 4"), "{}{}", run.calls, run.ad);
    let run = place().parameter("SPOOL = /dev/null/spool").run(&format!("{}\n{NEEDS}", shell("exit 0")));
    assert!(run.stderr.contains("/dev/null/spool/7/_condor_creds"), "{}", run.stderr);
}

#[test]
fn clean_removes_the_credentials_of_a_killed_shadows_hook() {
    let mut place = of_shadow(0o600)
        .parameter("SHADOW_DEFAULT_JOB_HOOK_KEYWORD = FARM")
        .parameter("SPOOL = $(LOCAL_DIR)/spool")
        .hook("SHADOW_PREPARE_JOB", "echo up > $CALLS.pipe; exec sleep 600");
    let pipe = place.path("iwd/calls.pipe");
    fs::rename(place.pipe(), &pipe).unwrap();
    fs::create_dir_all(place.path("spool/7/_condor_creds.cluster7.proc2")).unwrap();
    let mut child = place.start(&format!("{}\n{NEEDS}", shell("exit 0")));
    assert_eq!(read_fifo(&pipe), "up\n");
    place.options = vec!["--clean".to_owned()];
    let clean = || {
        let output = place.command().output().unwrap();
        let left = fs::read_dir(place.path("spool/7")).unwrap().flatten();
        let mut left: Vec<_> = left.map(|entry| entry.file_name().into_string().unwrap()).collect();
        left.sort();
        (output.status.code(), left, String::from_utf8(output.stderr).unwrap())
    };
    // A hook that runs keeps its credentials, and those of other shadows are not removed.
    let all = [
        "_condor_creds.cluster7.proc1",
        "_condor_creds.cluster7.proc1.htc-lock",
        "_condor_creds.cluster7.proc2",
    ];
    let (status, left, stderr) = clean();
    assert_eq!((status, left), (Some(0), all.map(str::to_owned).to_vec()), "{stderr}");
    child.kill().unwrap();
    child.wait().unwrap();
    let (status, left, stderr) = clean();
    assert_eq!((status, left), (Some(0), vec![all[2].to_owned()]), "{stderr}");
    assert!(stderr.contains("_condor_creds.cluster7.proc1', are removed"), "{stderr}");
}
