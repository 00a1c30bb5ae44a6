//! Tests of the configuration that hooks of every program see: `condor_config_val` in a hook prints the values that its caller
//! has read, whatever directory the caller was started in.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::children::write_executable;

const JOB: &str = "ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\nUser = \"nobody@x\"\n\
                   Iwd = \"/tmp\"\nJobUniverse = 5\nJobStatus = 1\n";

/// Calls of a hook: program and arguments.
const CALLS: [(&str, &[&str]); 9] = [
    (env!("CARGO_BIN_EXE_htc-slot-run"), &["--once", "--quiet"]),
    (env!("CARGO_BIN_EXE_htc-starter-run"), &["--quiet", "--ads", "job.ad"]),
    (env!("CARGO_BIN_EXE_htc-hook-test"), &["fetch", "--quiet"]),
    (env!("CARGO_BIN_EXE_htc-hook-test"), &["prepare", "--quiet", "--ads", "job.ad"]),
    (env!("CARGO_BIN_EXE_htc-hook-test"), &["startd-cron", "--runs", "1", "--quiet"]),
    (env!("CARGO_BIN_EXE_htc-hook-test"), &["run", "suite.toml", "--quiet"]),
    (env!("CARGO_BIN_EXE_htc-router-translate"), &["translate", "--route", "r", "--quiet", "job.ad"]),
    (env!("CARGO_BIN_EXE_htc-router-translate"), &["route", "job.ad"]),
    (env!("CARGO_BIN_EXE_htc-router-translate"), &["run", "--queue", "q", "--once", "--quiet"]),
];

/// Way to specify a configuration, and the value that a hook must find in it.
struct Named {
    options: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
    finds: &'static str,
}

fn lay_out(home: &Path) {
    fs::set_permissions(home, fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["execute", "log", "out", "q"] {
        fs::create_dir(home.join(name)).unwrap();
        fs::set_permissions(home.join(name), fs::Permissions::from_mode(0o777)).unwrap();
    }
    symlink(env!("CARGO_BIN_EXE_htc-config-dump"), home.join("condor_config_val")).unwrap();
    let home_name = home.display();
    // The file is renamed when it is complete, because a startd cron job calls the same hook and may be killed at any time when
    // the program ends.
    let said = format!("{home_name}/out/said");
    let hook = format!(
        "#!/bin/sh\ncat > /dev/null\n\
         echo \"$CONDOR_CONFIG $({home_name}/condor_config_val MARK 2>&1)\" > {said}.$$ && mv {said}.$$ {said}\n"
    );
    write_executable(&home.join("hook"), hook.as_bytes());
    let hooks = ["FETCH_WORK", "PREPARE_JOB", "TRANSLATE_JOB"]
        .map(|name| format!("T_HOOK_{name} = {home_name}/hook\n"))
        .concat();
    let config = format!(
        "MARK = file\nLOG = {home_name}/log\nEXECUTE = {home_name}/execute\nNUM_CPUS = 1\nMEMORY = 1024\n\
         STARTD_JOB_HOOK_KEYWORD = T\nSTARTER_DEFAULT_JOB_HOOK_KEYWORD = T\nJOB_ROUTER_HOOK_KEYWORD = T\n{hooks}\
         STARTD_CRON_JOBLIST = C\nSTARTD_CRON_C_EXECUTABLE = {home_name}/hook\nSTARTD_CRON_C_PERIOD = 1h\n\
         JOB_ROUTER_ROUTE_NAMES = r\nJOB_ROUTER_ROUTE_r @=end\nREQUIREMENTS True\nUNIVERSE vanilla\n@end\n"
    );
    fs::write(home.join("config"), config).unwrap();
    fs::write(home.join("job.ad"), JOB).unwrap();
    let suite = format!("[[case]]\nname = \"c\"\ntype = \"fetch\"\nhook = \"{home_name}/hook\"\n");
    fs::write(home.join("suite.toml"), suite).unwrap();
}

#[test]
fn every_program_passes_the_configuration_path_to_its_hooks() {
    let home = tempfile::tempdir().unwrap();
    lay_out(home.path());
    let text = home.path().display().to_string();
    let named = [
        Named { options: &["--config-file", "config"], environment: &[], finds: "HOME/config file" },
        Named { options: &["--config-file", "HOME/config"], environment: &[], finds: "HOME/config file" },
        Named { options: &[], environment: &[("CONDOR_CONFIG", "HOME/config")], finds: "HOME/config file" },
        Named { options: &[], environment: &[("CONDOR_CONFIG", "config")], finds: "HOME/config file" },
        Named {
            options: &["--config-file", "config"],
            environment: &[("CONDOR_CONFIG", "/nowhere"), ("_CONDOR_MARK", "$(MARK) and environment")],
            finds: "HOME/config file and environment",
        },
        Named {
            options: &["--config-file", "config", "--no-env"],
            environment: &[("_condor_mark", "environment")],
            finds: "HOME/config file",
        },
        Named {
            options: &["--config-file", "config", "--param", "MARK=$(MARK) and option"],
            environment: &[],
            finds: "HOME/config file and option",
        },
        Named {
            options: &["--config-file", "config", "--no-env", "--param", "MARK=$(MARK) and option"],
            environment: &[("_CONDOR_MARK", "environment")],
            finds: "HOME/config file and option",
        },
    ];
    for Named { options, environment, finds } in named {
        for (program, words) in CALLS {
            let replaced = |word: &str| word.replace("HOME", &text);
            let said = home.path().join("out/said");
            let _ = fs::remove_file(&said);
            // A router remembers in its directory which jobs it has tried.
            fs::remove_dir_all(home.path().join("q")).unwrap();
            fs::create_dir(home.path().join("q")).unwrap();
            fs::write(home.path().join("q/1.0.ad"), JOB).unwrap();
            let output = Command::new(program)
                .env_clear()
                .env("PATH", "/usr/bin:/bin")
                .env("CONDOR_IDS", "65534.65534")
                .envs(environment.iter().map(|(name, value)| (name, replaced(value))))
                .current_dir(home.path())
                .args(words)
                .args(options.iter().map(|word| replaced(word)))
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let found = fs::read_to_string(&said).unwrap_or_else(|_| "the hook was not called".into());
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(found.trim_end(), replaced(finds), "{program} {words:?} {options:?}: {told}");
        }
    }
}

#[test]
fn a_hook_finds_no_configuration_if_none_is_named() {
    let home = tempfile::tempdir().unwrap();
    lay_out(home.path());
    for words in [&["prepare", "hook", "--ads", "job.ad"][..], &["fetch", "hook"], &["run", "suite.toml"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_htc-hook-test"))
            .env_clear()
            .args(words)
            .current_dir(home.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let found = fs::read_to_string(home.path().join("out/said")).unwrap();
        assert!(found.starts_with(' '), "{found} {}", String::from_utf8_lossy(&output.stderr));
    }
}
