//! Tests of `htc-router-translate compare` for whole routers, and of `htc-router-status` under the names of the tools that it
//! replaces.

use crate::support::tool::call;
use std::fs;
use std::process::Command;

const OLD: &str = "JOB_ROUTER_ENTRIES @=e\n[ Name = \"Far Away\"; GridResource = \"batch pbs\"; \
    Requirements = target.WantRoute; set_Tag = \"a\"; MaxJobs = 7; ]\n@e\n";

const NEW: &str = "JOB_ROUTER_ROUTE_NAMES = Far_Away\nJOB_ROUTER_ROUTE_Far_Away @=r\nREQUIREMENTS WantRoute\n\
    GridResource = \"batch pbs\"\nMaxJobs = 7\nSET Tag \"a\"\n@r\n";

pub(super) fn compared(old: &str, new: &str, words: &[&str]) -> (i32, String) {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("a.config"), old).unwrap();
    fs::write(place.path().join("b.config"), new).unwrap();
    fs::write(place.path().join("jobs.ads"), JOBS).unwrap();
    let words: Vec<&str> = ["compare", "a.config", "b.config"].iter().chain(words).copied().collect();
    call(env!("CARGO_BIN_EXE_htc-router-translate"), "htc-router-translate", &words, place.path())
}

pub(super) const JOBS: &str = "ClusterId = 1\nProcId = 0\nJobStatus = 1\nJobUniverse = 5\nOwner = \"ana\"\nWantRoute = true\n\
    Rare = 12345\n";

#[test]
fn a_converted_configuration_routes_like_the_old_one() {
    let (status, out) = compared(OLD, NEW, &["--ads", "jobs.ads", "--generate", "3000"]);
    assert_eq!(status, 0, "{out}");
    assert!(
        out.starts_with("a.config: 1 route Far Away\nb.config: 1 route Far_Away\nRouteName of routed jobs differs: 'Far Away' in a.config is "),
        "{out}"
    );
    assert!(out.ends_with(" jobs; every condition was tested with both outcomes, true and false\n"), "{out}");
}

#[test]
fn the_smallest_job_that_two_routers_treat_differently_is_shown() {
    let (status, out) = compared(OLD, &NEW.replace("SET Tag \"a\"", "SET Tag \"b\""), &[]);
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("\nJobUniverse = ") && out.contains("  route Far_Away\n"), "{out}");
    assert!(out.contains("Tag = \"a\"") && out.contains("Tag = \"b\""), "{out}");
    // A rare condition that a given job meets is found, because other ads are generated from given jobs.
    let rare = NEW.replace("REQUIREMENTS WantRoute", "REQUIREMENTS WantRoute && Rare =!= 12345");
    let (status, out) = compared(OLD, &rare, &["--ads", "jobs.ads", "--generate", "0"]);
    assert_eq!(status, 1, "{out}");
    assert!(
        out.contains("Rare = 12345")
            && out.contains("  not routed: Rare isnt 12345 is not true in route Far_Away\n"),
        "{out}"
    );
    let (status, out) = compared(OLD, &NEW.replace("MaxJobs = 7", "MaxJobs = 8"), &[]);
    assert_eq!(status, 1);
    assert!(out.contains("\nroute Far Away: MaxJobs 7 and 8\n"), "{out}");
}

#[test]
fn routers_that_differ_in_other_parameters_are_different() {
    let hook = |path: &str| format!("JOB_ROUTER_HOOK_KEYWORD = K\nK_HOOK_TRANSLATE_JOB = {path}\n");
    for (left, right, line) in [
        ("", "JOB_ROUTER_HOOK_KEYWORD = K\n", "JOB_ROUTER_HOOK_KEYWORD: (none) and K\n"),
        ("", "JOB_ROUTER_SCHEDD2_NAME = far\n", "JOB_ROUTER_SCHEDD2_NAME: (none) and far\n"),
        ("", "JOB_ROUTER_RELEASE_ON_HOLD = false\n", "JOB_ROUTER_RELEASE_ON_HOLD: true and false\n"),
        (&hook("/a"), &hook("/b"), "K_HOOK_TRANSLATE_JOB: /a and /b\n"),
    ] {
        let (left, right) = (format!("{NEW}{left}"), format!("{NEW}{right}"));
        let (status, out) = compared(&left, &right, &["--generate", "10"]);
        assert_eq!(status, 1, "{out}");
        assert!(out.contains(line), "{line} in {out}");
        assert_eq!(compared(&left, &left, &["--generate", "10"]).0, 0);
    }
    // Two spellings of a path or a keyword count as equal.
    let same = format!("D = /a\n{}", hook("$(D)/h").replace("KEYWORD = K", "KEYWORD = k"));
    let (status, out) =
        compared(&format!("{NEW}{}", hook("/a/h")), &format!("{NEW}{same}"), &["--generate", "10"]);
    assert_eq!(status, 0, "{out}");
    let (_, out) =
        compared(&format!("{NEW}{}", hook("/b/h")), &format!("{NEW}{same}"), &["--generate", "10"]);
    assert!(out.contains("\nK_HOOK_TRANSLATE_JOB: /b/h and /a/h\n"), "{out}");
}

#[test]
fn conflicting_output_formats_are_refused() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("jobs"), "ClusterId = 1\nProcId = 0\nRouteName = \"R\"\nOwner = \"ana\"\n")
        .unwrap();
    let status = |words: &[&str]| {
        call(env!("CARGO_BIN_EXE_htc-router-status"), "htc-router-status", words, place.path())
    };
    for words in [
        &["--af", "Owner", "--json", "jobs"][..],
        &["--af", "Owner", "--jsonl", "jobs"],
        &["--af", "Owner", "--long", "jobs"],
        &["--json", "history", "jobs", "--af", "Owner"],
        &["doctor", "jobs", "--af", "Owner"],
        &["doctor", "jobs", "--long"],
    ] {
        assert_eq!(status(words), (2, String::new()), "{words:?}");
    }
    assert_eq!(status(&["history", "--long", "jobs"]).0, 0);
    assert!(status(&["history", "--long", "jobs"]).1.contains("Owner = \"ana\"\n"));
}

pub(super) const LOG: &str = "107 1 CreationTimestamp 1\n\
    101 01.-1 Job Machine\n103 01.-1 Owner \"al\"\n103 01.-1 QDate 86400\n103 01.-1 JobUniverse 5\n\
    103 01.-1 RouteName \"R\"\n103 01.-1 TotalSubmitProcs 3\n\
    101 1.0 Job Machine\n103 1.0 JobStatus 2\n101 1.2 Job Machine\n103 1.2 JobStatus 1\n\
    101 02.-1 Job Machine\n103 02.-1 Owner \"al\"\n103 02.-1 QDate 172800\n103 02.-1 JobUniverse 7\n\
    103 02.-1 RouteName \"S, T\"\n103 02.-1 TotalSubmitProcs 1\n101 2.0 Job Machine\n103 2.0 JobStatus 2\n\
    101 03.-1 Job Machine\n103 03.-1 Owner \"al\"\n103 03.-1 JobUniverse 5\n101 3.0 Job Machine\n103 3.0 JobStatus 5\n";

/// Minimal form of each construct that configurations of compute entrypoints use.
const ENTRYPOINT: &str = r#"JOB_ROUTER_NAME = gate
LONGEST = 60
JOB_ROUTER_SOURCE_JOB_CONSTRAINT = target.JobUniverse =?= 5 || target.JobUniverse =?= 1
JOB_ROUTER_PRE_ROUTE_TRANSFORM_NAMES = First Kept
JOB_ROUTER_POST_ROUTE_TRANSFORM_NAMES = Whole Cores Line Time Held
JOB_ROUTER_TRANSFORM_First @=t
   SET Routed True
   EVALMACRO open unparse(Requirements)=="true"
   if $(open)
      SET Requirements (RequestGpus?:0) >= (TARGET.Gpus?:0)
   endif
   DELETE PeriodicRemove
@t
JOB_ROUTER_TRANSFORM_Kept @=t
   RENAME /^AuthToken.*$/ kept_\0
   COPY /^OnExit.*$/ kept_\0
@t
JOB_ROUTER_TRANSFORM_Whole @=t
   EVALMACRO whole $(MY.WantWhole:False) && $(TargetUniverse)==5
@t
JOB_ROUTER_TRANSFORM_Cores @=t
   if defined MY.xcount
      EVALSET RequestCpus xcount
   else
      EVALMACRO several ($(MY.RequestCpus:0)) > 1
      if $(several)
         # they stay
      else
         EVALSET RequestCpus $(default_xcount:1)
      endif
   endif
   if $(whole)
      SET RequestCpus TARGET.TotalCpus ?: JobCpus
   endif
@t
JOB_ROUTER_TRANSFORM_Line @=t
   REQUIREMENTS BatchQueue is undefined
   if defined MY.queue
      EVALSET BatchQueue MY.queue
   else
      EVALSET BatchQueue "$(default_queue)"
   endif
@t
JOB_ROUTER_TRANSFORM_Time @=t
   if defined MY.maxWallTime
      EVALSET BatchRuntime 60*maxWallTime
   elif defined MY.BatchRuntime
      # it stays
   elif defined default_maxWallTime
      EVALSET BatchRuntime 60*$(default_maxWallTime)
   else
      EVALSET BatchRuntime 60*$(LONGEST:1)
   endif
@t
JOB_ROUTER_TRANSFORM_Held @=t
   REQUIREMENTS least isnt undefined
   SET OnExitHold RemoteWallClockTime < 60*least
   SET OnExitHoldReason "less than $(MY.least) min"
@t
JOB_ROUTER_ROUTE_NAMES = Batch
JOB_ROUTER_ROUTE_Batch @=r
  TargetUniverse = 9
  GridResource = "batch slurm"
  default_queue = short
@r
"#;

/// Returns the routed ad of a job that has these attributes in addition to the usual ones, without the attributes that every
/// routed job gets.
pub(super) fn routed(config: &str, attributes: &str) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("config"), config).unwrap();
    let usual = "ClusterId = 1\nProcId = 0\nJobStatus = 1\nJobUniverse = 5\nOwner = \"ana\"\n";
    fs::write(place.path().join("jobs"), [usual, attributes].concat()).unwrap();
    let words = ["route", "--no-env", "--config-file", "config", "jobs"];
    let program = env!("CARGO_BIN_EXE_htc-router-translate");
    let (status, out) = call(program, "htc-router-translate", &words, place.path());
    assert_eq!(status, 0, "{out}");
    let usual = [
        "JobStatus",
        "Owner",
        "RouteName",
        "RoutedBy",
        "RoutedFromJobId",
        "ExitBySignal",
        "Remote_JobUniverse",
    ];
    let kept = |line: &&str| {
        let name = line.split(" = ").next().unwrap_or_default();
        !line.is_empty() && !usual.contains(&name) && !line.ends_with(" = 0") && !line.ends_with(" = 0.0")
    };
    out.lines().filter(kept).map(str::to_owned).collect()
}

#[test]
fn jobs_are_read_in_the_mode_of_the_configuration() {
    let config =
        "JOB_ROUTER_ROUTE_NAMES = r\nJOB_ROUTER_ROUTE_r @=r\nREQUIREMENTS true\nSET New 010 + Y\n@r\n";
    let made = |config: &str| -> Vec<String> {
        let lines = routed(config, "Given = 010 + Y\n");
        lines.into_iter().filter(|line| line.starts_with("Given") || line.starts_with("New")).collect()
    };
    let strict = format!("STRICT_CLASSAD_EVALUATION = true\n{config}");
    assert_eq!(made(&strict), ["Given = 10 + Y", "New = 10 + Y"]);
}

#[test]
fn entrypoint_configurations_do_what_their_comments_say() {
    let plain = routed(ENTRYPOINT, "Requirements = true\nPeriodicRemove = false\nRequestCpus = 1\n");
    assert_eq!(
        plain,
        [
            "BatchQueue = \"short\"",
            "BatchRuntime = 3600",
            "GridResource = \"batch slurm\"",
            "JobUniverse = 9",
            "RequestCpus = 1",
            "Requirements = (RequestGpus ?: 0) >= (TARGET.Gpus ?: 0)",
            "Routed = true",
        ]
    );
    let rich = "Requirements = Disk > 1\nRequestCpus = 4\nqueue = \"long\"\nmaxWallTime = 3\nleast = 2\n\
        AuthTokenId = \"x\"\nOnExitHold = false\nWantWhole = true\n";
    assert_eq!(
        routed(ENTRYPOINT, rich),
        [
            "BatchQueue = \"long\"",
            "BatchRuntime = 180",
            "GridResource = \"batch slurm\"",
            "JobUniverse = 9",
            "OnExitHold = RemoteWallClockTime < 60 * least",
            "OnExitHoldReason = \"less than 2 min\"",
            "RequestCpus = 4",
            "Requirements = Disk > 1",
            "Routed = true",
            "WantWhole = true",
            "kept_AuthTokenId = \"x\"",
            "kept_OnExitHold = false",
            "least = 2",
            "maxWallTime = 3",
            "queue = \"long\"",
        ]
    );
    // The same transforms are used with a route into the site's own pool.
    let pool =
        ENTRYPOINT.replace("TargetUniverse = 9\n  GridResource = \"batch slurm\"", "TargetUniverse = 5");
    let whole = routed(&pool, "WantWhole = true\nxcount = 8\n");
    assert!(whole.contains(&"RequestCpus = TARGET.TotalCpus ?: JobCpus".to_owned()), "{whole:?}");
    assert!(whole.contains(&"JobUniverse = 5".to_owned()), "{whole:?}");
}

/// Each kind of line in the manual's chapter about the job router, in the current syntax.
const TAUGHT: &str = r#"JOB_ROUTER_SOURCE_JOB_CONSTRAINT = WantIt
JOB_ROUTER_DEFAULT_MAX_JOBS_PER_ROUTE = 200
JOB_ROUTER_DEFAULT_MAX_IDLE_JOBS_PER_ROUTE = 10
JOB_ROUTER_PRE_ROUTE_TRANSFORM_NAMES = Always
JOB_ROUTER_TRANSFORM_Always @=t
   # gone when held
   SET PeriodicRemove JobStatus == 5 || \
                      (JobStatus == 1 && (time() - QDate) > 6)
   DELETE WantIt
   SET Requirements = true
@t
JOB_ROUTER_ROUTE_NAMES = Near Far
JOB_ROUTER_ROUTE_Near @=r
  GridResource = "batch slurm"
@r
JOB_ROUTER_ROUTE_Far @=r
  MaxIdleJobs = 20
  GridResource = "condor far cm"
  SET remote_jobuniverse = 5
@r
"#;

#[test]
fn routes_from_the_manual_work() {
    let job = "WantIt = true\nQDate = 3\n";
    let near = [
        "GridResource = \"batch slurm\"",
        "JobUniverse = 9",
        "PeriodicRemove = JobStatus == 5 || (JobStatus == 1 && (time() - QDate) > 6)",
        "Requirements = true",
    ];
    assert_eq!(routed(TAUGHT, job), near);
    let far = routed(&TAUGHT.replace("NAMES = Near Far", "NAMES = Far"), job);
    // The route overrides an attribute that the default translation has set: Remote_JobUniverse.
    assert_eq!(far[0], "GridResource = \"condor far cm\"");
    // The line in the manual has an extra parenthesis. The statement then has no effect, and the job is routed without it.
    let slip = TAUGHT.replace("> 6)", "> 6))");
    assert_eq!(routed(&slip, job), [near[0], near[1], near[3]]);
}

#[test]
fn old_syntax_from_the_manual_has_the_effect_of_the_new_syntax() {
    let old = r#"JOB_ROUTER_SOURCE_JOB_CONSTRAINT = WantIt
JOB_ROUTER_DEFAULTS @=d
[ requirements = target.WantIt is true;
  MaxIdleJobs = 10; MaxJobs = 200;
  delete_WantIt = true; set_requirements = true;
  set_PeriodicRemove = JobStatus == 5 || (JobStatus == 1 && (time() - QDate) > 6); ]
@d
JOB_ROUTER_ENTRIES @=e
[ GridResource = "batch slurm"; name = "Near"; ]
[ name = "Far"; GridResource = "condor far cm"; set_remote_jobuniverse = 5; MaxIdleJobs = 20;
  requirements = target.WantIt is true && Cpus > 4 ]
@e
"#;
    let new = TAUGHT
        .replace("  MaxIdleJobs = 20\n", "  MaxIdleJobs = 20\n  REQUIREMENTS WantIt is true && Cpus > 4\n")
        .replace(
            "@=r\n  GridResource = \"batch",
            "@=r\n  REQUIREMENTS WantIt is true\n  GridResource = \"batch",
        );
    let (status, out) = compared(old, &new, &["--ads", "jobs.ads", "--generate", "3000"]);
    // The first route accepts all jobs that meet the requirements of the second one.
    assert_eq!(status, 4, "{out}");
    assert!(
        out.contains("route Far: no job was found that gets this route\n")
            && out.contains("no difference found"),
        "{out}"
    );
}

#[test]
fn lint_of_a_configuration_checks_all_routes_and_transforms() {
    let place = tempfile::tempdir().unwrap();
    let lint = |config: &str| {
        fs::write(place.path().join("config"), config).unwrap();
        let words = ["lint", "--no-env", "--config-file", "config"];
        call(env!("CARGO_BIN_EXE_htc-router-translate"), "htc-router-translate", &words, place.path())
    };
    let (status, out) = lint(TAUGHT);
    assert_eq!(status, 0, "{out}");
    let (status, out) = lint(&TAUGHT.replace("> 6)", "> 6))").replace("SET remote", "SETT remote"));
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("[unbalanced]") && out.contains("SETT"), "{out}");
}

#[test]
fn frequent_findings_are_counted_and_rare_ones_are_shown() {
    let place = tempfile::tempdir().unwrap();
    let bad: String = (0..1000).map(|line| format!("bad line {line}\n")).collect();
    fs::write(place.path().join("rules"), format!("{bad}SET T foo(1)\nTRANSFORM\n")).unwrap();
    let program = env!("CARGO_BIN_EXE_htc-router-translate");
    let (status, out) = call(program, "htc-router-translate", &["lint", "rules"], place.path());
    assert_eq!((status, out.matches("[command]\n    bad").count()), (1, 100), "{out}");
    assert!(out.contains("rules:1001:7: warning: there is no function foo"), "{out}");
    assert!(out.contains("\nrules: 900 more findings [command]; --json prints all of them\n"), "{out}");
    let (_, all) = call(program, "htc-router-translate", &["lint", "--jsonl", "rules"], place.path());
    assert_eq!(all.matches("\"command\"").count(), 1000);
}

#[test]
fn lint_finds_misleading_expressions() {
    let place = tempfile::tempdir().unwrap();
    let rules = "REQUIREMENTS Owner == 'ana' && regexpp(\"a\", Owner)\nSET T Owner == 'bob'\nEVALSET W foo(1)\n\
                 SET Good Owner == \"bob\" && size(Owner) > 1\nTRANSFORM\n";
    fs::write(place.path().join("rules"), rules).unwrap();
    let program = env!("CARGO_BIN_EXE_htc-router-translate");
    let (status, out) = call(program, "htc-router-translate", &["lint", "rules"], place.path());
    assert_eq!(status, 1, "{out}");
    let places: Vec<&str> = out.lines().filter(|line| line.ends_with("[trap]")).collect();
    let expected = [
        "rules:1:23: warning: 'ana' is the name of an attribute, not a string [trap]",
        "rules:1:32: warning: there is no function regexpp: the call is an error [trap]",
        "rules:2:16: warning: 'bob' is the name of an attribute, not a string [trap]",
        "rules:3:11: warning: there is no function foo: the call is an error [trap]",
    ];
    assert_eq!(places, expected, "{out}");
}

#[test]
fn running_and_held_are_refused_together_and_an_invalid_code_is_named() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    fs::write(place.join("job_queue.log"), LOG).unwrap();
    fs::write(place.join("condor_config"), format!("SPOOL = {}\n", place.display())).unwrap();
    let told = |words: &[&str]| {
        let (status, _) = call(env!("CARGO_BIN_EXE_htc-router-status"), "condor_router_q", words, place);
        let output = Command::new(place.join("condor_router_q"))
            .args(words)
            .env("CONDOR_CONFIG", place.join("condor_config"))
            .output()
            .unwrap();
        (status, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let refusal = (1, "-run and -hold/held or -idle are incompatible\n".to_owned());
    assert_eq!(told(&["-run", "-hold"]), refusal);
    assert_eq!(told(&["-run", "-nobatch", "-idle"]), refusal);
    let warning = "Warning \"x\" is not a hold code and/or subcode. ignoring\n";
    assert_eq!(told(&["-hold:3/1,x"]), (0, warning.to_owned()));
}
