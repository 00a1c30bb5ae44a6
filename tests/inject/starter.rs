//! Workloads: a starter with file transfer in both directions, and one with a stand-in for the container engine.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;

use crate::strace::{self, CommandLine, FaultedRun};
use crate::workload::{
    Workload, account, cgroup_base, judge_leftovers, judge_program, make_directories, names, write_script,
};

/// Kind of job.
pub(crate) enum Starter {
    /// Files, a directory and a URL go in, two files come back.
    Transfer,
    /// A container that a stand-in for docker runs.
    Container,
}

const PLUGIN: &str = r#"[ "$1" = -classad ] && echo 'SupportedMethods = "dbl"
MultipleFileSupport = true' && exit
for file in $(sed 's/.*LocalFileName = "\([^"]*\)".*/\1/' "$2"); do echo fetched > $file; done
echo '[ TransferSuccess = true; TransferUrl = "dbl://ok/u"; TransferProtocol = "dbl"; TransferTotalBytes = 8 ]' > "$4"
"#;

/// Keeps a file `container` while the container exists.
const DOCKER: &str = r#"state=@STATE@
case $1 in
create) : > $state/container; echo f ;;
rm) rm -f $state/container ;;
inspect)
    case $3 in
    *Labels*) [ -e $state/container ] || { echo 'Error: No such object'; exit 1; }; echo True ;;
    *Architecture*) echo amd64 ;;
    *LastTag*) ;;
    *) printf 'ContainerId="f"\nPid=0\nName="/c"\nRunning=false\nExitCode=0\nStartedAt=""\nFinishedAt=""\nDockerError=""\nOOMKilled=""\n' ;;
    esac ;;
start) exit 0 ;;
images) ;;
ps) [ ! -e $state/container ] || echo f ;;
*) echo x ;;
esac
"#;

const TRANSFER_JOB: &str = "Cmd = \"/bin/sh\"\n\
    Arguments = \"-c 'cat a d/x u; echo made > o; echo more > p'\"\nShouldTransferFiles = \"YES\"\n\
    WhenToTransferOutput = \"ON_EXIT\"\nTransferExecutable = false\nStreamOut = false\nStreamErr = false\nOut = \"out\"\n\
    Err = \"err\"\nUserLog = \"log\"\nTransferInput = \"a, d, dbl://ok/u\"\nTransferOutput = \"o, p\"\n";
const CONTAINER_JOB: &str =
    "Cmd = \"/bin/true\"\nArguments = \"a\"\nWantDocker = true\nDockerImage = \"alpine:3\"\n";

/// Returns a command line of the starter with the configuration in `home`.
fn command_line<const N: usize>(words: [&str; N], home: &Path) -> CommandLine {
    CommandLine::new(env!("CARGO_BIN_EXE_htc-starter-run"), words, home)
        .variable("CONDOR_CONFIG", home.join("config"))
}

impl Workload for Starter {
    fn name(&self) -> &'static str {
        match self {
            Starter::Transfer => "transfer",
            Starter::Container => "container",
        }
    }

    fn prepare(&self, home: &Path) {
        make_directories(home, &["hooks", "execute", "log"], &["calls", "iwd", "iwd/d", "state", "tmp"]);
        let place = home.display();
        let mut config = format!(
            "LOCAL_DIR = {place}\nEXECUTE = {place}/execute\nLOG = {place}/log\nCONDOR_IDS = 0.0\n\
             STARTER_DEFAULT_JOB_HOOK_KEYWORD = FARM\nBASE_CGROUP = {}\n",
            cgroup_base()
        );
        for (name, text) in [
            ("PREPARE_JOB", "cat >/dev/null; : > @CALLS@/prepare.$$\n"),
            ("UPDATE_JOB_INFO", "cat >/dev/null\n"),
            ("JOB_EXIT", "cat >/dev/null; : > @CALLS@/exit.$$\n"),
        ] {
            let path = home.join("hooks").join(name);
            write_script(&path, &text.replace("@CALLS@", &home.join("calls").to_string_lossy()));
            config += &format!("FARM_HOOK_{name} = {}\n", path.display());
        }
        match self {
            Starter::Transfer => {
                write_script(&home.join("hooks/plugin"), PLUGIN);
                config += &format!("FILETRANSFER_PLUGINS = {place}/hooks/plugin\n");
            }
            Starter::Container => {
                write_script(
                    &home.join("hooks/docker"),
                    &DOCKER.replace("@STATE@", &format!("{place}/state")),
                );
                config += &format!("DOCKER = {place}/hooks/docker\n");
            }
        }
        fs::write(home.join("config"), config).unwrap();
        for (name, text) in [("iwd/a", "alpha\n"), ("iwd/d/x", "deep\n")] {
            fs::write(home.join(name), text).unwrap();
        }
        if nix::unistd::geteuid().is_root() {
            for name in ["iwd", "iwd/a", "iwd/d", "iwd/d/x"] {
                chown(home.join(name), Some(65534), Some(65534)).unwrap();
            }
        }
        let kind = match self {
            Starter::Transfer => TRANSFER_JOB,
            Starter::Container => CONTAINER_JOB,
        };
        let ad = format!(
            "ClusterId = 7\nProcId = 1\nUser = \"{}@example.org\"\nOwner = \"{0}\"\nIwd = \"{place}/iwd\"\nJobUniverse = 5\n{kind}",
            account()
        );
        fs::write(home.join("job.ad"), ad).unwrap();
    }

    fn command(&self, home: &Path, quiet: bool) -> CommandLine {
        let line = command_line(["--events", "events", "--ads", "job.ad"], home);
        let line = match self {
            Starter::Transfer => line.word("--as").word("shadow"),
            Starter::Container => line,
        };
        if quiet { line.word("--quiet") } else { line }
    }

    fn has_helpers(&self) -> bool {
        matches!(self, Starter::Transfer)
    }

    fn judge(&self, home: &Path, run: &FaultedRun, quiet: bool) -> Vec<String> {
        let calls = names(&home.join("calls"));
        let mut violations = judge_program(run, !calls.is_empty());
        let count = |name: &str| calls.iter().filter(|call| call.starts_with(name)).count();
        let is_killed = run.code() > 128;
        if count("prepare") > 1 || count("exit") > 1 {
            violations.push(format!("hooks were called twice: {calls:?}"));
        }
        if count("prepare") == 1
            && count("exit") == 0
            && !is_killed
            && !run.hit_another
            && !run.stderr.contains("JOB_EXIT")
        {
            violations.push(format!("JOB_EXIT was not called, and nothing says so: {}", run.stderr));
        }
        // If a hook, a plugin or the job itself was hit, its results may be wrong.
        if run.code() == 0 {
            violations
                .extend((!run.hit_another).then(|| self.judge_success(home, run)).into_iter().flatten());
        } else if !is_killed
            && !run.hit_another
            && run.stderr.trim().is_empty()
            && !run.stdout.contains("HoldReason")
        {
            violations.push(format!("status {} without a message", run.code()));
        }
        let cleaned = strace::run(&command_line(["--clean"], home), home);
        if is_killed && cleaned.code() > 1 {
            violations.push(format!("--clean: status {}: {}", cleaned.code(), cleaned.stderr));
        }
        let next = strace::run(&self.command(home, quiet), home);
        if next.code() != 0 {
            violations.push(format!("next start: status {}: {}", next.code(), next.stderr));
        }
        violations.extend(judge_leftovers(home, &["execute", "tmp"]));
        if home.join("state/container").exists() {
            violations.push("the container is left".to_owned());
        }
        violations
    }
}

impl Starter {
    /// Checks the results of a run that has ended with status 0.
    fn judge_success(&self, home: &Path, run: &FaultedRun) -> Vec<String> {
        let mut violations = Vec::new();
        if !run.stdout.lines().any(|line| line == "ExitCode = 0") {
            violations.push(format!("status 0 without ExitCode = 0: {}", run.stdout));
        }
        let files: &[(&str, &str)] = match self {
            Starter::Transfer => &[("out", "alpha\ndeep\nfetched\n"), ("o", "made\n"), ("p", "more\n")],
            Starter::Container => &[],
        };
        for (name, text) in files {
            let got = fs::read_to_string(home.join("iwd").join(name)).unwrap_or_default();
            if got != *text {
                violations.push(format!("status 0, and {name} has {got:?}"));
            }
        }
        violations
    }
}
