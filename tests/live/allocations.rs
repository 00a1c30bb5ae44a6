//! Runs `examples/slurm` with the distribution's real Slurm, if it is installed.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the directory of the programs, and a test directory to which the account nobody has access; `None`
/// with a message if something is missing.
fn needs() -> Option<(&'static Path, tempfile::TempDir)> {
    let (Some(slot), Some(_)) =
        (option_env!("CARGO_BIN_EXE_htc-slot-run"), option_env!("CARGO_BIN_EXE_htc-router-translate"))
    else {
        println!("skipped: the programs are not built");
        return None;
    };
    if !crate::queues::has_account() {
        println!("skipped: Slurm runs only under an id that has an account");
        return None;
    }
    for program in ["munged", "slurmctld", "slurmd", "sbatch", "/usr/bin/python3"] {
        let look = format!("PATH=$PATH:/usr/sbin:/sbin command -v {program}");
        if !Command::new("/bin/sh").args(["-c", &look]).output().is_ok_and(|found| found.status.success()) {
            println!("skipped: no {program}");
            return None;
        }
    }
    let place = tempfile::tempdir().unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
    std::fs::set_permissions(place.path(), open).unwrap();
    Some((Path::new(slot).parent().unwrap(), place))
}

fn slurm() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/slurm")
}

/// Returns the output of a command, which must succeed.
fn printed(command: &mut Command) -> String {
    let output = command.env_remove("SLURM_CONF").output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{stdout}{stderr}", output.status);
    stdout.into_owned()
}

/// Runs one of the examples with a separate cluster, and checks that it leaves nothing behind.
fn example(script: &str, words: &[&str], variables: &[(&str, &str)]) -> Option<String> {
    let (programs, place) = needs()?;
    // The blank must not confuse Slurm's commands.
    let place = place.path().join("a directory");
    std::fs::create_dir(&place).unwrap();
    // A umask that excludes the account of hooks and servers must not matter either.
    let mut command = Command::new("sh");
    command.args(["-c", "umask 077; exec \"$@\"", "sh"]).arg(slurm().join(script));
    command.args(words).envs(variables.iter().copied()).env("HTC_PROGRAMS", programs).env("TMPDIR", &place);
    let told = printed(&mut command);
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0, "something is left behind");
    Some(told)
}

/// Runs a shell session with a separate cluster, as the account of hooks: `$slurm` is the example.
fn session(text: &str) -> Option<String> {
    let (programs, place) = needs()?;
    // `gone [JOB]`: Slurm has said that the job, or every job, has ended. A busy controller may give no answer at all.
    let start = "set -eu; \"$slurm/cluster\" start c; trap '\"$slurm/cluster\" stop c' EXIT; \
                 export SLURM_CONF=\"$PWD/c/slurm.conf\"; \
                 gone() { jobs=$(squeue -h ${1:+-j $1}) && [ -z \"$jobs\" ]; }; ";
    let text = format!("{start}{text}");
    let mut command = Command::new("sh");
    if std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0) {
        command = Command::new("setpriv");
        command.args(["--reuid=nobody", "--regid=65534", "--clear-groups", "--", "sh"]);
    }
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    command.args(["-c", &text]).current_dir(place.path()).env("PATH", path).env("slurm", slurm());
    Some(printed(&mut command))
}

#[test]
fn routed_jobs_run_in_slurm_and_return_their_outcome() {
    let Some(output) = example("router/run", &[], &[]) else { return };
    for (number, status) in [(1, 0), (2, 3), (3, 0)] {
        let line = format!("job {number} exited with status {status}, job ");
        assert!(output.lines().any(|found| found.starts_with(&line)), "no {line:?} in\n{output}");
    }
    assert!(output.contains("hello from Slurm"), "{output}");
}

#[test]
fn a_pilot_in_an_allocation_runs_the_jobs_of_a_queue() {
    let Some(output) = example("pilot/run", &["sqlite", "3"], &[]) else { return };
    assert_eq!(output.matches("exited with status 0").count(), 3, "{output}");
}

#[test]
fn a_pilot_returns_its_jobs_before_its_allocation_ends() {
    let variables = [("WARNING", "40"), ("JOB_SECONDS", "600")];
    // Slurm may send the signal up to a minute early; here the pilot's own clock is tested.
    let words = ["sqlite", "3", "--time=1", "--ntasks=2", "--signal=B:CONT@1"];
    let Some(output) = example("pilot/run", &words, &variables) else { return };
    assert_eq!(output.matches("pilot: the allocation ends soon: no more jobs\n").count(), 1, "{output}");
    assert_eq!(output.matches("did not finish: evict").count(), 2, "as many as it has slots\n{output}");
    assert_eq!(
        output.lines().filter(|line| line.split_whitespace().nth(1) == Some("new")).count(),
        3,
        "{output}"
    );
}

/// `translate ATTRIBUTE = VALUE...`: the job's number in Slurm, or the hook's reply.
const TRANSLATE: &str = r#"
hooks=$slurm/router/hooks
translate() {
    { echo '[ Name = "r" ]'; echo ------; echo 'ClusterId = 1'; echo 'ProcId = 0'; echo 'Cmd = "/bin/sh"'
      echo "Iwd = \"$PWD\""; for line; do echo "$line"; done; } >ad
    "$hooks/translate_job" <ad 2>&1 | sed -n -e 's/^SlurmJobId = //p' -e /^translate_job:/p
}
"#;

#[test]
fn jobs_are_not_confused_with_each_other() {
    let told = session(&format!(
        r#"{TRANSLATE}
        translate "Arguments = \"-c 'exit 1'\""
        translate "Arguments = \"-c 'exit 2'\""
        sleeps="Arguments = \"-c 'sleep 600'\""
        translate 'QDate = 5' "$sleeps"
        translate 'QDate = 5' "$sleeps"
        scancel 3
        until gone 3; do sleep 0.1; done
        translate 'QDate = 5' "$sleeps"
        translate 'QDate = 5' "$sleeps" 'SlurmJobId = 4'
        translate 'GlobalJobId = "a#1.0#5"' "$sleeps"
        translate 'GlobalJobId = "b#1.0#5"' "$sleeps"
        scancel 4 5 6 7"#
    ));
    let Some(told) = told else { return };
    assert_eq!(told.split_whitespace().collect::<Vec<_>>(), ["1", "2", "3", "3", "4", "5", "6", "7"]);
}

#[test]
fn impossible_jobs_are_refused_and_unstarted_jobs_are_held() {
    let told = session(&format!(
        r#"{TRANSLATE}
        translate 'JobUniverse = 11'
        translate 'Cmd = ""'
        translate 'RequestCpus = "x"'
        translate 'RequestLicenses = 2'
        translate 'WantDocker = true'
        "$hooks/translate_job" <c/slurm.conf 2>&1 || true
        translate 'RequestGpus = 4'
        translate 'RequestCpus = 2 - 1' 'Cmd = "/bin/true"'
        translate 'Iwd = "/nonexistent"' 'Out = "out"'
        translate 'Iwd = "/nonexistent"'
        for job in 2 3; do
            until gone $job; do sleep 0.1; done
            printf 'JobStatus = 1\nSlurmJobId = %s\n' $job | "$hooks/update_job_info" | grep -e ^JobStatus -e ReasonCode
        done"#
    ));
    let Some(told) = told else { return };
    let expected = "\
translate_job: JobUniverse = 11: only jobs of the vanilla universe (5) are submitted to Slurm
translate_job: the job has no Cmd
translate_job: RequestCpus = \"x\": that is not a number
translate_job: requestlicenses = 2: Slurm cannot provide this
translate_job: WantDocker: jobs in containers are not submitted to Slurm
translate_job: standard input has no line '------' between two ads
translate_job: sbatch: error: Invalid generic resource (gres) specification
1
2
3
JobStatus = 5
HoldReasonCode = 6
JobStatus = 5
HoldReasonCode = 6
";
    assert_eq!(told, expected);
}

#[test]
fn a_job_that_is_removed_or_held_is_cancelled_in_slurm() {
    let told = session(
        r#"
        mkdir r r/queue r/log r/spool
        cp -R "$slurm/router/condor_config" "$slurm/router/slurm_job.py" "$slurm/router/hooks" r
        owner=$(id -un)
        for number in 1 2; do
            printf '%s\n' "ClusterId = $number" 'ProcId = 0' 'QDate = 1' "Owner = \"$owner\"" "User = \"$owner@localhost\"" \
                'JobUniverse = 5' 'JobStatus = 1' 'WantSlurm = true' 'Cmd = "/bin/sleep"' 'Arguments = "600"' 'Iwd = "/"' \
                >r/queue/$number.0.ad
        done
        htc-router-translate run --config-file r/condor_config --queue r/queue --period 1 >said 2>&1 &
        router=$!
        until [ "$(squeue -h | wc -l)" = 2 ]; do sleep 0.1; done
        until gone; do
            sed -i 's/^JobStatus = .*/JobStatus = 3/' r/queue/1.0.ad 2>/dev/null || :
            sed -i 's/^JobStatus = .*/JobStatus = 5/' r/queue/2.0.ad 2>/dev/null || :
            sleep 0.5
        done
        kill $router
        wait $router || :
        squeue -h -t all -o '%T'
        "#,
    );
    let Some(told) = told else { return };
    assert_eq!(told, "CANCELLED\nCANCELLED\n");
}

#[test]
fn only_a_stopped_cluster_is_started_again() {
    let told = session(
        r#"
        "$slurm/cluster" start c 2>&1 | sed 's/.* is already running;.*/already running/'
        first=$(cat c/short)
        "$slurm/cluster" stop c
        [ ! -e "$first" ] && "$slurm/cluster" start c && sinfo -h -o %a
        mkdir -m 555 other
        "$slurm/cluster" start other 2>&1 | grep -o 'cannot be written to'"#,
    );
    let Some(told) = told else { return };
    assert_eq!(told, "already running\nup\ncannot be written to\n");
}

/// The job status that UPDATE_JOB_INFO prints for each state that Slurm shows. A stand-in for scontrol shows them, because a
/// flag such as SIGNALING is there only for a moment.
#[test]
fn temporary_slurm_flags_do_not_end_a_job() {
    let python = Path::new("/usr/bin/python3");
    if !python.exists() {
        println!("skipped: no {}", python.display());
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let scontrol = place.path().join("scontrol");
    let shown = "#!/bin/sh\necho \"JobId=7 JobName=j JobState=$STATE Reason=None ExitCode=0:0\"\n";
    std::fs::write(&scontrol, shown).unwrap();
    std::fs::set_permissions(&scontrol, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", place.path().display(), std::env::var("PATH").unwrap_or_default());
    let statuses = [
        ("PENDING", "1"),
        ("REQUEUED", "1"),
        ("RUNNING", "2"),
        ("SIGNALING", "2"),
        ("RESIZING", "2"),
        ("COMPLETING", "2"),
        ("A_FLAG_OF_NEXT_YEAR", "2"),
        ("COMPLETED", "4"),
        ("CANCELLED", "5"),
        ("TIMEOUT", "5"),
    ];
    for (state, status) in statuses {
        let mut command = Command::new("sh");
        command.args(["-c", "printf 'JobStatus = 2\\nSlurmJobId = 7\\n' | \"$0\""]);
        command.arg(slurm().join("router/hooks/update_job_info")).env("PATH", &path).env("STATE", state);
        let told = printed(&mut command);
        assert!(told.lines().any(|line| line == format!("JobStatus = {status}")), "{state}: {told}");
    }
}
