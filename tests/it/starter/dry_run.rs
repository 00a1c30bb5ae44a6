//! Tests of `htc-starter-run --dry-run`, which shows what would be run for any job, whether it can run on this machine or not.

use crate::support::place::{Place, RunResult, shell};

/// Rehearses a job, and returns the result. The output is lines instead of an ad.
fn rehearsed(place: Place, ad: &str) -> RunResult {
    place.option(&["--dry-run", "--quiet"]).run(ad)
}

/// Returns the only object that `--json` prints.
fn story(run: &RunResult) -> serde_json::Value {
    let rows: serde_json::Value = serde_json::from_str(&run.ad).unwrap();
    rows[0].clone()
}

const DOCKER: &str = "Cmd = \"/bin/work\"\nArguments = \"a b\"\nWantDocker = true\nDockerImage = \"alpine\"";

#[test]
fn dry_run_shows_a_docker_job_without_docker() {
    let run = rehearsed(Place::new().with_recording_hooks().parameter("DOCKER = /no/such/docker"), DOCKER);
    assert_eq!((run.status, run.calls.as_str()), (0, ""), "{}{}", run.ad, run.stderr);
    for part in [
        "call PREPARE_JOB ",
        "the job is run in a docker container: WantDocker",
        "ask /no/such/docker images --format",
        "there is no '/no/such/docker' on this machine",
        "ask /no/such/docker pull -q alpine:latest",
        "ask /no/such/docker create --cpu-shares=100",
        "image alpine:latest",
        " as /tmp",
        "limit cpu shares 100",
        "env BATCH_SYSTEM=HTCondor (inside)",
        "run /no/such/docker start -a HTCJob7_1__PID",
        "ask /no/such/docker rm -f -v HTCJob7_1__PID",
        "call JOB_EXIT ",
    ] {
        assert!(run.ad.contains(part), "{part} in\n{}", run.ad);
    }
    assert!(run.left.is_empty());
}

#[test]
fn a_job_that_a_pool_would_refuse_ends_with_status_1_and_the_reason() {
    let run = rehearsed(Place::new(), &format!("{DOCKER}\nDockerNetworkType = \"lab\""));
    assert_eq!(run.status, 1, "{}{}", run.ad, run.stderr);
    assert!(run.ad.contains("Docker job requested network lab not allowed"), "{}", run.ad);
    let run = rehearsed(Place::new().option(&["--json"]), &format!("{DOCKER}\nDockerNetworkType = \"lab\""));
    let story = story(&run);
    assert_eq!(story["started"], false);
    assert_eq!(
        (&story["refused"]["reason"], &story["refused"]["hold_code"]),
        (&"Unable to Launch Container".into(), &35.into())
    );
    let run = rehearsed(Place::new().parameter("DOCKER ="), DOCKER);
    assert_eq!(run.status, 1, "{}{}", run.ad, run.stderr);
    assert!(run.ad.contains("DOCKER is undefined"), "{}", run.ad);
}

#[test]
fn json_holds_command_line_environment_mounts_limits_user_and_hooks() {
    let place = Place::new().with_recording_hooks().option(&["--json"]).parameter(
        "SINGULARITY = /no/such/apptainer\nSINGULARITY_JOB = true\nSINGULARITY_IMAGE_EXPR = \"/img.sif\"\n\
         SINGULARITY_BIND_EXPR = \"/etc /no/such/dir\"\nMOUNT_UNDER_SCRATCH = \"/tmp\"",
    );
    let iwd = place.path("iwd").display().to_string();
    let run = rehearsed(place, &shell("true"));
    assert_eq!(run.status, 0, "{}{}", run.ad, run.stderr);
    let story = story(&run);
    assert_eq!(story["runtime"], "singularity");
    assert_eq!(story["runtime_because"], "SINGULARITY_JOB");
    assert_eq!(story["image"], "/img.sif");
    let hooks: Vec<_> =
        story["hooks"].as_array().unwrap().iter().map(|hook| hook["hook"].as_str().unwrap()).collect();
    assert_eq!((hooks.first(), hooks.last()), (Some(&"UPDATE_JOB_INFO"), Some(&"JOB_EXIT")), "{hooks:?}");
    assert!(hooks.contains(&"PREPARE_JOB"));
    let command: Vec<_> =
        story["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!(command[..6], ["/no/such/apptainer", "-s", "exec", "-S", "/tmp", "-B"]);
    assert_eq!(command[command.len() - 4..], ["/img.sif", "/bin/sh", "-c", "true"]);
    assert_eq!(story["directory"], iwd.as_str());
    assert_eq!(story["environment"]["APPTAINERENV_BATCH_SYSTEM"], "HTCondor");
    assert_eq!(story["missing"], serde_json::json!(["/no/such/apptainer"]));
    let mounts = story["mounts"].to_string();
    assert!(mounts.contains("\"source\":\"/etc\",\"target\":\"/etc\""), "{mounts}");
    assert!(story["passed"].to_string().contains("there is no '/no/such/dir' here"), "{}", story["passed"]);
    assert!(story["limits"].to_string().contains("JOB_RENICE_INCREMENT"), "{}", story["limits"]);
}

/// A slot ad lists the docker networks. Without a slot ad, those of the configuration are used; 25.14 then knows none.
#[test]
fn a_job_without_a_slot_ad_has_the_configured_networks() {
    let job = format!("{DOCKER}\nDockerNetworkType = \"lab\"");
    let run = rehearsed(Place::new().option(&["--explain"]).parameter("DOCKER_NETWORKS = x, lab"), &job);
    let line = "why: --network=lab <- DockerNetworkType, which DOCKER_NETWORKS offers";
    assert!(run.ad.lines().any(|one| one == line), "{}{}", run.ad, run.stderr);
    let reference = ["--explain", "--quirks", "reference"];
    let run = rehearsed(Place::new().option(&reference).parameter("DOCKER_NETWORKS = x, lab"), &job);
    assert!(!run.ad.contains("--network=lab"), "{}{}", run.ad, run.stderr);
}

#[test]
fn explain_shows_the_cause_of_each_word_and_unused_settings() {
    let place = Place::new()
        .option(&["--explain"])
        .parameter("DOCKER_EXTRA_ARGUMENTS = --foo=1\nDOCKER_NETWORKS = x");
    let run = rehearsed(place, DOCKER);
    assert_eq!(run.status, 0, "{}{}", run.ad, run.stderr);
    for line in [
        "why: docker: WantDocker",
        "why: --init <- DOCKER_RUN_UNDER_INIT",
        "why: --foo=1 <- DOCKER_EXTRA_ARGUMENTS",
        "why: alpine:latest <- DockerImage",
        "why: /bin/work <- Cmd",
        "why: 'a' 'b' <- Arguments",
        "why: not used: DOCKER_SHM_SIZE is not set",
        "why: not used: DockerNetworkType the job requests none: the default network of the runtime",
    ] {
        let line = line.replace("'a' 'b'", "a b");
        assert!(run.ad.lines().any(|one| one == line), "{line} in\n{}", run.ad);
    }
}

#[test]
fn a_plain_job_is_shown_with_its_limits() {
    let place = Place::new().parameter("JOB_RENICE_INCREMENT = 7\nSTARTER_RLIMIT_AS = 64");
    let run = rehearsed(place, "Cmd = \"/no/such/program\"\nCoreSize = 5");
    assert_eq!(run.status, 0, "{}{}", run.ad, run.stderr);
    for part in ["run /no/such/program", "nice 7", "limit AddressSpace 67108864 bytes", "limit Core 5 bytes"]
    {
        assert!(run.ad.contains(part), "{part} in\n{}", run.ad);
    }
    assert!(run.ad.contains("there is no '/no/such/program' on this machine"), "{}", run.ad);
}

#[test]
fn directories_that_are_not_mounted_are_reported() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let place = Place::new().parameter("MOUNT_UNDER_SCRATCH = /opt,opt,/nosuch,/etc/hostname,/tmp");
    for options in [&["--dry-run"][..], &[]] {
        let place =
            Place { options: options.iter().map(|word| (*word).to_owned()).collect(), ..place_like(&place) };
        let run = place.run(&shell("exit 0"));
        let all = format!("{}{}", run.ad, run.stderr);
        for (target, reason) in [
            ("opt", "it is not an absolute path"),
            ("/nosuch", "there is no such directory"),
            ("/etc/hostname", "there is no such directory"),
            ("/tmp", "the scratch directory is below it"),
        ] {
            let line = format!("the job sees the machine's own {target} (MOUNT_UNDER_SCRATCH): {reason}");
            assert_eq!(all.matches(&line).count(), 1, "{all}");
        }
        assert!(!all.contains("is its /nosuch"), "{all}");
    }
}

/// Creates another place with the same parameters.
fn place_like(place: &Place) -> Place {
    Place::new().parameter(&place.parameters)
}

#[test]
fn jobs_with_an_encrypted_directory_have_private_temporary_directories() {
    let asked = "EncryptExecuteDirectory = true";
    for (parameter, more) in [("ENCRYPT_EXECUTE_DIRECTORY = true", ""), ("", asked)] {
        let place =
            Place::new().parameter("MOUNT_UNDER_SCRATCH =").parameter(parameter).option(&["--dry-run"]);
        let run = place.run(&format!("{}\n{more}", shell("exit 0")));
        let all = format!("{}{}", run.ad, run.stderr);
        if nix::unistd::geteuid().is_root() {
            assert!(all.contains("is its /var/tmp"), "{all}");
        }
        assert!(!all.contains("<Over>"), "{all}");
    }
}

#[test]
fn dry_run_does_not_predict_the_success_of_hooks() {
    let place = Place::new().with_recording_hooks().hook("PREPARE_JOB", "echo called >> $CALLS; exit 3");
    let result = rehearsed(place, &shell("exit 0"));
    assert_eq!((result.status, result.calls.as_str()), (0, ""), "{}{}", result.ad, result.stderr);
    for claim in ["succeeded", "verdict", "exited with status"] {
        assert!(!result.ad.contains(claim), "{claim} in\n{}", result.ad);
    }
    let mut lines = result.ad.lines().skip_while(|line| !line.contains("call PREPARE_JOB "));
    let assumed = lines.nth(1).unwrap_or_default();
    assert!(
        assumed.ends_with("assumed to exit with status 0 and to print nothing; it is not called"),
        "{assumed}"
    );
    let run = result.ad.lines().find(|line| line.contains("run /bin/sh")).unwrap();
    assert!(run.ends_with("(PREPARE_JOB may change this)"), "{run}");
}

/// Only lines that depend on a hook are marked, because hooks are not called.
#[test]
fn values_that_a_hook_may_change_are_marked() {
    let docker =
        rehearsed(Place::new().with_recording_hooks().parameter("DOCKER = /no/such/docker"), DOCKER).ad;
    for begin in
        ["the job is run in", "image alpine", "ask /no/such/docker create", "run /no/such/docker start"]
    {
        let line = docker.lines().find(|line| line.contains(begin)).unwrap();
        assert!(line.ends_with("(PREPARE_JOB may change this)"), "{line}");
    }
    assert!(!docker.lines().any(|line| line.contains("create /") && line.contains("may change")), "{docker}");
    let plain = rehearsed(Place::new(), &shell("exit 0")).ad;
    assert!(!plain.contains("may change this"), "{plain}");
    let hooks = story(&rehearsed(Place::new().with_recording_hooks().option(&["--json"]), &shell("exit 0")));
    assert_eq!(hooks["assumed_hooks"], serde_json::json!(["PREPARE_JOB"]));
    let none = story(&rehearsed(Place::new().option(&["--json"]), &shell("exit 0")));
    assert_eq!(none["assumed_hooks"], serde_json::json!([]));
}

/// `ParseExpression` parses only the expression at the beginning of the value.
#[test]
fn a_limit_of_the_address_space_with_a_unit_is_reported() {
    let told = |value: &str| {
        let place = || Place::new().parameter(&format!("STARTER_RLIMIT_AS = {value}"));
        (rehearsed(place(), &shell("true")).ad, place().run(&shell("true")).stderr)
    };
    let (plan, told_of) = told("100G");
    assert!(plan.contains("limit AddressSpace 104857600 bytes"), "{plan}");
    assert!(
        told_of.contains("STARTER_RLIMIT_AS = 100G: a limit of 100 MiB, as in HTCondor; 'G' is ignored"),
        "{told_of}"
    );
    let (plan, told_of) = told("\"100\"");
    assert!(!plan.contains("AddressSpace"), "{plan}");
    assert!(told_of.contains("is \"100\" and not an integer: there is no limit"), "{told_of}");
    assert!(told("= 1").1.contains("is not a valid expression: there is no limit"));
}

#[test]
fn a_script_before_the_job_is_shown_with_its_path_or_said_not_to_run() {
    let ad = "Cmd = \"/bin/true\"\nPreCmd = \"/bin/echo\"\nPreArguments = \"a b\"\nPostCmd = \"post.sh\"";
    let allowed = Place::new().parameter("STARTER_ALLOW_JOB_PRE_AND_POST_CMD = true");
    let run = rehearsed(allowed, ad);
    assert!(run.ad.contains("run script /bin/echo a b\n"), "{}{}", run.ad, run.stderr);
    assert!(!run.ad.contains("not run"), "{}", run.ad);
    for place in [Place::new(), Place::new().parameter("STARTER_ALLOW_JOB_PRE_AND_POST_CMD = false")] {
        let run = place.option(&["--dry-run"]).run(ad);
        let output = format!("{}{}", run.ad, run.stderr);
        assert!(
            output.contains("PreCmd and PostCmd are not run: STARTER_ALLOW_JOB_PRE_AND_POST_CMD is not true"),
            "{output}"
        );
        assert!(!output.contains("run script"), "{output}");
    }
}
