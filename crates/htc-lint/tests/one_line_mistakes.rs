//! Mistakes of one line, each found by its rule, and lines without mistakes, in which nothing is found.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use htc_config::finding::Finding;
use htc_config::{LoadOptions, LookupContext};
use htc_lint::daemons::LintRequest;
use htc_os::RealWorld;

/// Returns the findings in a configuration file of that name.
fn findings(name: &str, text: &str) -> Vec<Finding> {
    let place = tempfile::tempdir().unwrap();
    let files = [place.path().join(name)];
    std::fs::write(&files[0], text).unwrap();
    let (context, options) = (LookupContext::default(), LoadOptions::default());
    let request = LintRequest {
        context: &context,
        options: &options,
        files: &files,
        only_unsupported: false,
        used_by: &[],
        version: htc_config::target_version::TargetVersion::default(),
        redact: false,
        checks_corrections: true,
    };
    request.lint_config(&RealWorld::new()).unwrap().findings
}

/// Returns the names of the rules that find something in a configuration file of that name, except rules about
/// unused names.
fn rules_in_file(name: &str, text: &str) -> Vec<String> {
    let names = findings(name, text).into_iter().map(|finding| finding.rule.name().to_owned());
    names.filter(|name| name != "unused-macro").collect()
}

/// Returns the names of the rules that find something in a whole configuration, except rules about unused names.
fn rules(text: &str) -> Vec<String> {
    rules_in_file("condor_config", text)
}

/// Returns the advice of the first finding.
fn first_advice(text: &str) -> String {
    let found = findings("condor_config", text);
    let advice = found.first().and_then(|finding| finding.fix.as_ref());
    advice.map(ToString::to_string).unwrap_or_default()
}

#[test]
fn each_mistake_is_found_by_its_rule() {
    for (text, rule) in [
        ("MEMORY = 16GB", "bad-value"),
        ("SCHEDD.MAX_JOBS_RUNNING = lots", "bad-value"),
        ("STARTER_UPDATE_INTERVAL = 5m", "bad-value"),
        ("NUM_SLOTS_TYPE_1 = one\nSLOT_TYPE_1 = 100%", "bad-value"),
        ("SLOT_TYPE_1 = 100%\nSLOT_TYPE_1_PARTITIONABLE = yes", "bad-value"),
        ("GROUP_NAMES = a\nGROUP_QUOTA_a = ten", "bad-value"),
        ("GROUP_NAMES = a\nGROUP_QUOTA_DYNAMIC_a = 1.5", "bad-value"),
        ("MAX_SCHEDD_LOG = 100Megs", "bad-value"),
        ("STARTD_DEBUG = D_FULLDEGUB", "bad-value"),
        ("SEC_DEFAULT_AUTHENTICATION_METHODS = FS, IDTOKNS", "bad-value"),
        ("CONDOR_IDS = condor.condor", "bad-value"),
        ("ENABLE_IPV6 = ture", "bad-value"),
        ("COLLECTOR_PORT = 70000", "bad-value"),
        ("ENABLE_SSH_TO_JOB = enabled", "unknown-attribute"),
        ("START = yes", "unknown-attribute"),
        ("PREEMPT = flase", "unknown-attribute"),
        ("PREEMPT = KeybordIdle < 300", "unknown-attribute"),
        ("START = HasSoft\nHasSoft = True", "unknown-attribute"),
        ("START = KeyboardIdle > StartTime\nStartTime = 900", "unknown-attribute"),
        ("SLOT_TYPE_1_START = TARGET.Ower == \"bob\"\nSLOT_TYPE_1 = 100%", "unknown-attribute"),
        ("START = JobStatus == \"5\"", "always-error"),
        ("RANK = (Owner == \"ann\" * 1000) + ImageSize", "always-error"),
        ("START = ifThenElse(Owner == \"ann\", true)", "always-error"),
        ("START = regexp(\"[\", TARGET.Owner)", "always-error"),
        ("FetchWorkDelay = \"300\"", "always-error"),
        ("START = TARGET.Owner == alice", "unquoted-string"),
        ("PREEMPT = State == \"Claimd\"", "constant-comparison"),
        ("START = \"True\"", "constant-condition"),
        ("SYSTEM_PERIODIC_REMOVE = JobStatus == 5 && JobStatus == 2", "never-true"),
        ("SYSTEM_PERIODIC_REMOVE = TARGET.Memory < 5", "missing-target"),
        ("DEFRAG_WHOLE_MACHINE_EXPR = Cpus = TotalCpus", "bad-expression"),
        ("DAEMON_SHUTDOWN = State == \"Unclaimed\" &&", "bad-expression"),
        ("MEMORY = $INT(DETECTED_MEMORY * 0.9)", "function-fails"),
        ("STARTD_NAME = $SUBSTR(NOSUCH_NAME,1,2)", "function-fails"),
        ("STARTD_NAME = x$CHOICE(5,a,b,c)", "function-fails"),
        ("EXECUTE = /scratch # fast disk", "comment-in-value"),
        ("SPOOL = \"/var/spool/condor\"", "quoted-value"),
        ("EXECUTE = $LOCAL_DIR/execute", "shell-variable"),
        ("LOG = ${LOCAL_DIR}/log", "shell-variable"),
        ("CONDOR_HOST = {{ condor_host }}", "template-mark"),
        ("SPOOL = /var/spool/condor,", "trailing-text"),
        ("EXECUTE = scratch/condor", "relative-path"),
        ("JOB_TRANSFORM_NAMES = T\nJOB_TRANSFORM_T = [ set_Foo = 1; ]", "old-syntax"),
        ("JOB_ROUTER_ROUTE_NAMES = A\nJOB_ROUTER_ROUTE_A @=end\n UNIVERSE VANILLA\n@end", "transform"),
        (
            "JOB_ROUTER_ROUTE_NAMES = A\nJOB_ROUTER_ROUTE_A @=end\n REQUIREMENTS Owner == \"ann\"\n UNIVERSE vanila\n@end",
            "universe",
        ),
        ("A_HOOK_FETCH_WORK = /bin/true\nSTARTD_JOB_HOOK_KEYWORD = A", "no-reply-hook"),
        ("STARTER_JOB_HOOK_KEYWORD = A\nA_HOOK_PREPARE_JOB = ./prepare", "hook-path"),
        ("STARTER_JOB_HOOK_KEYWORD = A\nA_HOOK_PREPARE_JOB = \"/bin/true\"", "hook-path"),
    ] {
        let found = rules(text);
        assert!(found.iter().any(|name| name == rule), "{text}: {found:?}");
    }
}

#[test]
fn nothing_is_found_in_good_lines() {
    for text in [
        "MEMORY = 4 * 1024",
        "MEMORY = $(DETECTED_MEMORY) * 8 / 10",
        "USE_PROCD = TRUE",
        "ENABLE_IPV6 = auto",
        "MAX_STARTD_LOG = 10 Mb",
        "START = TARGET.RequestMemory < 2000 && TARGET.Owner != \"guest\"",
        "START = TARGET.WantLongJobs =?= true",
        "STARTD_ATTRS = Site\nSite = \"north\"\nSTART = TARGET.DesiredSite == Site",
        "PREEMPT = (Activity == \"Busy\") && $(ActivityTimer) > 3600",
        "RANK = (TARGET.Owner == \"ann\") * 1000 + TARGET.JobPrio",
        "SYSTEM_PERIODIC_REMOVE = JobStatus == 5 && time() - EnteredCurrentStatus > 3600",
        "SYSTEM_PERIODIC_HOLD_REASON = strcat(\"too much memory: \", string(MemoryUsage))",
        "SLOT_WEIGHT = ifThenElse(Cpus > 4, Cpus, 4)",
        "DEFRAG_RANK = -ExpectedMachineGracefulDrainingBadput",
        "MACHINE_RESOURCE_Licence = 5\nSTART = Licence > 2",
        "JOB_DEFAULT_REQUESTMEMORY = 2GB",
        "CONDOR_ADMIN = root@example.org",
        "ALLOW_WRITE = *.example.org, 10.0.0.0/8",
        "CLAIM_WORKLIFE = 1200",
        "SCHEDD2.MAX_JOBS_RUNNING = 10",
        "STARTD.NIGHT.START = true\nSTARTD.NIGHT.STARTD_LOG = /var/log/night",
        "NFS.HOME_LIMIT = 4",
        "NUM_SLOTS_TYPE_2 = 1\nSLOT_TYPE_2_START = TARGET.Owner == \"ann\"\nSLOT_TYPE_2 = 50%",
        "SUBMIT_ATTRS = Where\nWhere = \"$$(Machine)\"",
        "START = !HasDocker == true && !(TARGET.Owner == \"root\")",
        "START = TARGET.Rack == 3 && TARGET.Dusk",
        "STARTD_CRON_JOBLIST = A\nSTARTD_CRON_A_EXECUTABLE = /bin/true\nSTARTD_CRON_A_PERIOD = 90s\nSTARTD_CRON_A_SLOTS = 1, 2",
        "JOB_TRANSFORM_NAMES = A\nJOB_TRANSFORM_A @=end\n REQUIREMENTS JobUniverse == 5\n SET Rank TARGET.Memory + MY.RequestMemory\n DELETE Foo\n SET PeriodicHold MemoryUsage > RequestMemory\n@end",
    ] {
        assert_eq!(rules(text), Vec::<String>::new(), "{text}");
    }
}

/// The defaults of HTCondor are values of the types that the registry gives them.
#[test]
fn no_default_has_a_wrong_type() {
    let value_rules =
        ["bad-value", "bad-expression", "always-error", "unknown-attribute", "constant-condition"];
    let mut text = String::new();
    for parameter in htc_config::defaults::all() {
        let (name, value) = (parameter.name().to_vec(), parameter.default().into_owned());
        if !value.is_empty() && !value.contains(&b'\n') && !parameter.has_flag("const") {
            let line = [&name[..], b" = ", &value, b"\n"].concat();
            text.push_str(&String::from_utf8_lossy(&line));
        }
    }
    let found: Vec<String> =
        rules(&text).into_iter().filter(|rule| value_rules.contains(&rule.as_str())).collect();
    assert_eq!(found, Vec::<String>::new());
}

/// The startd reads all slot types together, so a mistake may be in their combination.
#[test]
fn slot_types_are_compared_with_each_other() {
    let two = "NUM_SLOTS_TYPE_1 = 1\nNUM_SLOTS_TYPE_2 = 1\n";
    for (text, rule) in [
        (format!("{two}SLOT_TYPE_1 = 60%\nSLOT_TYPE_2 = cpus=60%, memory=10%"), Some("slot-type")),
        (format!("{two}SLOT_TYPE_1 = 60%\nSLOT_TYPE_2 = 60%\nSLOT_TYPE_2_BACKFILL = True"), None),
        (format!("{two}SLOT_TYPE_1 = 60%\nSLOT_TYPE_2 = 40%"), None),
        (format!("{two}NUM_CPUS = 8\nSLOT_TYPE_1 = cpus=6\nSLOT_TYPE_2 = cpus=4"), Some("slot-type")),
        (format!("{two}SLOT_TYPE_1 = cpus=6\nSLOT_TYPE_2 = cpus=4"), None),
        ("SLOT_TYPE_0 = 100%".to_owned(), Some("unknown-parameter")),
        ("NUM_SLOTS_TYPE_12 = 1\nSLOT_TYPE_12 = 50%".to_owned(), Some("unknown-parameter")),
        ("MAX_SLOT_TYPES = 12\nNUM_SLOTS_TYPE_12 = 1\nSLOT_TYPE_12 = 50%".to_owned(), None),
        ("NUM_SLOTS = 4\nNUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1 = 50%".to_owned(), Some("no-effect")),
        ("NUM_SLOTS = 1\nNUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1 = 50%".to_owned(), None),
        ("NUM_SLOTS = -1".to_owned(), Some("no-effect")),
        ("HIBERNATE = \"S9\"\nHIBERNATE_CHECK_INTERVAL = 60".to_owned(), Some("bad-value")),
        ("HIBERNATE = \"RAM\"\nHIBERNATE_CHECK_INTERVAL = 60".to_owned(), None),
        ("HIBERNATE = \"RAM\"".to_owned(), Some("no-effect")),
        ("HIBERNATE = \"NONE\"".to_owned(), None),
        ("NUM_SLOTS = 4".to_owned(), Some("differs-from-manual")),
    ] {
        let found = rules(&format!("{text}\n"));
        match rule {
            Some(rule) => assert!(found.iter().any(|name| name == rule), "{text}: {found:?}"),
            None => assert!(found.is_empty(), "{text}: {found:?}"),
        }
    }
}

/// A file of a LOCAL_CONFIG_DIR may need what other files define.
#[test]
fn names_that_other_files_may_define_are_accepted_in_a_partial_file() {
    for text in [
        "START = Scheduler =?= $(DedicatedScheduler)\n",
        "HIBERNATE = ifThenElse($(ShouldHibernate), \"RAM\", \"NONE\")\nShouldHibernate = $(IsIdle) && $(IsNight)\n",
        "NUM_CPUS = $(SITE_CPUS)\n",
        "GROUP_QUOTA_group_physics = 20\n",
        "COLLECTOR_HOST = $(SITE_POOL:$(SITE_HOST):$(SITE_PORT))\n",
        "SLOT_TYPE_1 = cpus=1, actuator=6\n",
    ] {
        assert!(rules_in_file("10-site.conf", text).is_empty(), "{text}");
        assert!(!rules(text).is_empty(), "{text}");
    }
    for text in ["START = Scheduler =?= \n", "NUM_CPUS = four\n", "SLOT_TYPE_1 = gpu=1\n"] {
        assert!(!rules_in_file("10-site.conf", text).is_empty(), "{text}");
    }
}

/// A word that is the whole value of a string attribute, or an operator with nothing after it.
#[test]
fn unintended_values_of_transforms_are_found() {
    let transform = |line: &str| format!("JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a @=end\n{line}\n@end\n");
    for (line, is_found) in [
        ("SET AccountingGroup group_cms", true),
        ("SET AccountingGroup Cms", true),
        ("SET AccountingGroup \"group_cms\"", false),
        ("SET AccountingGroup SiteGroup\nDEFAULT SiteGroup \"cms\"", false),
        ("EVALSET X $(MY.Foo) +", true),
        ("SET X $(MY.Foo) + 1", false),
    ] {
        assert_eq!(!rules(&transform(line)).is_empty(), is_found, "{line}");
    }
}

#[test]
fn operators_of_other_languages_are_replaced() {
    for (value, advice) in [
        ("TARGET.X === true", "write =="),
        ("TARGET.X !== true", "write !="),
        ("TARGET.X <> 5", "write !="),
        ("TARGET.X = 5", "write =="),
        ("TARGET.X and TARGET.Y", "write &&"),
        ("TARGET.X OR TARGET.Y", "write ||"),
        ("not TARGET.X", "write ! instead of not"),
    ] {
        assert_eq!(first_advice(&format!("START = {value}\n")), advice, "{value}");
    }
    let found = findings("condor_config", "START = TARGET.X === true\n");
    let replacement = found[0].replacement.as_ref().unwrap();
    assert_eq!((replacement.span.start, replacement.span.end), (17, 20));
}

#[test]
fn advice_about_numbers_keeps_the_number() {
    for (value, advice) in
        [("10,000", "write 10000"), ("5m", "write a plain number, without 'm'"), ("7;", "write 7")]
    {
        let found = first_advice(&format!("MAX_JOBS_RUNNING = {value}\n"));
        assert!(found.ends_with(advice), "{value}: {found}");
    }
}

/// The router matches an empty ad with each job, so that the job is TARGET.
#[test]
fn the_job_is_target_in_the_constraint_of_the_router() {
    let lint = |text: &str| rules(&format!("JOB_ROUTER_SOURCE_JOB_CONSTRAINT = {text}\n"));
    assert!(lint("target.JobUniverse =?= 5").is_empty());
    assert!(lint("JobUniverse =?= 5").is_empty());
    assert_eq!(lint("MY.JobUniverse =?= 5"), ["missing-target"]);
}

/// The router reads its limits only from macros of a route.
#[test]
fn settings_of_routes_are_macros() {
    let route = |line: &str| {
        format!(
            "JOB_ROUTER_ROUTE_NAMES = A\nJOB_ROUTER_ROUTE_A @=end\nUNIVERSE VANILLA\nREQUIREMENTS WantGrid\n{line}\n@end\n"
        )
    };
    for (line, advice) in [
        ("MaxIdleJob = 10", "did you mean MaxIdleJobs?"),
        ("MaxIdleJob 10", "write 'MaxIdleJobs = 10'"),
        ("SET MaxIdleJob 10", "write 'MaxIdleJobs = 10'"),
        ("SET MaxJobs 10", "write 'MaxJobs = 10'"),
        ("set_MaxIdleJobs = 10", "write 'MaxIdleJobs = 10'"),
        ("set_MaxMemory = 10", "write 'SET MaxMemory 10'"),
    ] {
        assert_eq!(first_advice(&route(line)), advice, "{line}");
    }
    assert!(rules(&route("MaxIdleJobs = 10\nSET MaxHosts 2\nSET GridResource \"batch slurm\"")).is_empty());
}

/// Statements after a TRANSFORM with arguments are ignored, in a parameter too.
#[test]
fn statements_after_transform_are_dead() {
    let transform = |text: &str| format!("JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a @=end\n{text}\n@end\n");
    assert_eq!(rules(&transform("SET A 1\nTRANSFORM 2\n# remark\nSET B 2")), ["dead"]);
    let found = findings("condor_config", &transform("SET A 1\nTRANSFORM 2\n# remark\nSET B 2"));
    assert_eq!(found[0].spot.as_ref().map(|spot| spot.line), Some(6));
    for text in ["SET A 1\nTRANSFORM 2", "SET A 1\nTRANSFORM\nSET B 2", "SET A 1\nTRANSFORM 2\n# remark"] {
        assert!(rules(&transform(text)).is_empty(), "{text}");
    }
}

/// The mistakes after a TRANSFORM take effect as soon as it is moved to the end.
#[test]
fn statements_after_transform_in_a_parameter_are_checked() {
    let found = |name: &str, text: &str| -> Vec<String> {
        let text = format!("{name}_NAMES = a\n{name}_a @=end\nUNIVERSE VANILLA\n{text}\n@end\n");
        let found = findings("condor_config", &text).into_iter();
        let place = |finding: &Finding| finding.spot.as_ref().map_or(0, |spot| spot.line);
        found.map(|finding| format!("{}:{}", place(&finding), finding.rule)).collect()
    };
    for name in ["JOB_TRANSFORM", "JOB_ROUTER_TRANSFORM"] {
        let checked =
            found(name, "A = 1\nSET B $(A)\nTRANSFORM 2\nSETT C 1\nSET D 1 +\nREQUIREMENTS Owner = 1");
        let checked: Vec<_> =
            checked.iter().filter(|it| !it.starts_with("1:") && !it.starts_with("2:")).collect();
        let expected = ["7:command", "7:dead", "8:expression", "9:transform"];
        assert_eq!(checked, expected, "{name}");
    }
    // A second TRANSFORM is not a statement.
    let two = "SET A 1\nTRANSFORM 2\nSET B 1\nTRANSFORM 3\nSET C 1 +";
    assert_eq!(found("JOB_TRANSFORM", two), ["6:dead", "8:expression"]);
}

/// Attributes that the transform sets itself, and those of a site, are not mistakes.
#[test]
fn only_misspelled_attributes_are_reported_in_values() {
    let transform = |text: &str| format!("JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a @=end\n{text}\n@end\n");
    for (text, is_found) in [
        ("EVALSET X RequestMemroy * 2", true),
        ("SET X strcat(\"a\", Onwer)", true),
        ("SET X \"$(MY.Onwer)\"", true),
        ("if defined MY.Onwer\nSET X 1\nendif", false),
        ("SET RequestMemroy 5\nEVALSET X RequestMemroy * 2", false),
        ("COPY RequestMemory RequestMemroy\nSET X $(MY.RequestMemroy)", false),
        ("EVALSET X SiteRack + MY.WantPizza", false),
        ("SET X $(MY.SiteRack)", false),
        ("EVALSET X RequestMemory * 2", false),
    ] {
        assert_eq!(rules(&transform(text)) == ["unknown-attribute"], is_found, "{text}");
    }
}

/// Macros in REQUIREMENTS are an error of the route, and the reason is given.
#[test]
fn macros_in_requirements_are_explained() {
    let route = "JOB_ROUTER_ROUTE_NAMES = a\nJOB_ROUTER_ROUTE_a @=end\nREQUIREMENTS RequestCpus <= $(MAXC:4)\nUNIVERSE VANILLA\n@end\n";
    assert!(
        first_advice(route).starts_with("HTCondor does not expand macros in REQUIREMENTS"),
        "{}",
        first_advice(route)
    );
}

/// Findings about the universe of a route are at its UNIVERSE statement.
#[test]
fn findings_about_the_universe_name_its_line() {
    for (universe, line) in [("UNIVERSE grid", 5), ("UNIVERSE 77", 5), ("UNIVERSE vanila", 5)] {
        let route = format!(
            "JOB_ROUTER_ROUTE_NAMES = a\nJOB_ROUTER_ROUTE_a @=end\nREQUIREMENTS WantGrid\n# remark\n{universe}\nSET A 1\n@end\n"
        );
        let found = findings("condor_config", &route);
        let found =
            found.iter().find(|it| it.rule.name() == "universe").unwrap_or_else(|| panic!("{universe}"));
        assert_eq!(found.spot.as_ref().map(|spot| spot.line), Some(line), "{universe}");
    }
}

/// A job that the hook has removed from its queue is lost; a hook that offers it again loses none.
#[test]
fn a_fetch_hook_without_reply_says_when_a_job_is_lost() {
    let text = "STARTD_JOB_HOOK_KEYWORD = FARM\nFARM_HOOK_FETCH_WORK = /usr/libexec/fetch\n";
    let found = findings("condor_config", text);
    assert_eq!(found.len(), 1, "{found:?}");
    let (message, advice) = (&found[0].message, first_advice(text));
    assert!(message.contains("START is not true for it"), "{message}");
    assert!(message.contains("is lost if the hook does not offer it again"), "{message}");
    assert!(advice.contains("when its argument is 'reject'") && advice.contains("htc: allow"), "{advice}");
}

/// The finding has the place of the macro, and the severity of what the daemon does with the value.
#[test]
fn an_error_because_of_an_undefined_macro_remains_an_error() {
    assert_eq!(rules("WEIGHT = 2\nRANK = $(WEIGTH) * 2"), ["bad-expression"]);
    assert_eq!(rules("START = $(STRAT_EXPR)\nSTART_EXPR = true"), ["misspelled-reference"]);
}

/// Lines after a condition that is never true are skipped without a message.
#[test]
fn conditions_with_undefined_macros_have_a_note() {
    for (text, advice) in [
        ("if $(IS_EXECUTE_NODE)\nSTART = true\nendif", "set IS_EXECUTE_NODE before"),
        ("if ! $(IS_EXECUTE_NODE)\nSTART = true\nendif", "set IS_EXECUTE_NODE before"),
        ("if false\nelif $(IS_AP)\nSTART = true\nendif", "set IS_AP before"),
        ("if defined $(FOO)\nSTART = true\nendif", "write 'defined FOO'"),
        ("if ! defined $(FOO)\nSTART = true\nendif", "write 'defined FOO'"),
    ] {
        assert_eq!(rules(text), ["undefined-condition"], "{text}");
        assert!(first_advice(text).contains(advice), "{text}: {}", first_advice(text));
    }
    for good in [
        "IS_EXECUTE_NODE = true\nif $(IS_EXECUTE_NODE)\nSTART = true\nendif",
        "if $(IS_EXECUTE_NODE:false)\nSTART = true\nendif",
        "if defined FOO\nSTART = true\nendif",
        "if defined $(NUM_CPUS)\nSTART = true\nendif",
    ] {
        assert_eq!(rules(good), Vec::<String>::new(), "{good}");
    }
}

/// A number of days or hours that is compared with seconds.
#[test]
fn small_numbers_of_time_have_a_note() {
    for text in [
        "SYSTEM_PERIODIC_REMOVE = time() - EnteredCurrentStatus > 7",
        "SYSTEM_PERIODIC_REMOVE = JobStatus == 5 && (time() - EnteredCurrentStatus) > 14",
        "SYSTEM_PERIODIC_HOLD = time() - JobStartDate >= 48",
        "SYSTEM_PERIODIC_HOLD = RemoteWallClockTime > 72",
        "SYSTEM_PERIODIC_HOLD = CumulativeSuspensionTime + 0 > 3 || RemoteWallClockTime > 24",
    ] {
        assert_eq!(rules(text), ["suspicious-unit"], "{text}");
    }
    for good in [
        "SYSTEM_PERIODIC_REMOVE = time() - EnteredCurrentStatus > 60",
        "SYSTEM_PERIODIC_REMOVE = time() - EnteredCurrentStatus > 7 * 24 * 3600",
        "SYSTEM_PERIODIC_HOLD = RemoteWallClockTime > 90",
        "SYSTEM_PERIODIC_HOLD = RemoteWallClockTime > 0",
        "SYSTEM_PERIODIC_HOLD = RemoteWallClockTime < 72",
        "SYSTEM_PERIODIC_HOLD = NumJobStarts > 7",
    ] {
        assert_eq!(rules(good), Vec::<String>::new(), "{good}");
    }
}

#[test]
fn long_expressions_have_a_note() {
    let clauses = |count: usize| format!("START = {}false", "Owner == \"ann\" || ".repeat(count));
    assert_eq!(rules(&clauses(1100)), Vec::<String>::new());
    assert_eq!(rules(&clauses(1200)), ["not-checked"]);
    // The syntax of a long condition is still checked.
    assert_eq!(rules(&format!("{})", clauses(1200))), ["bad-expression"]);
}

/// The doctor has a note about the same settings.
#[test]
fn slots_of_a_kind_that_the_manual_does_not_name_have_a_note() {
    assert_eq!(rules("NUM_SLOTS = 4"), ["differs-from-manual"]);
    for text in [
        "NUM_SLOTS = 4\nSLOT_TYPE_0_PARTITIONABLE = True",
        "NUM_SLOTS = 0",
        "NUM_SLOTS = 2\nNUM_SLOTS_TYPE_1 = 2\nSLOT_TYPE_1 = 50%",
    ] {
        assert!(rules(text).is_empty(), "{text}: {:?}", rules(text));
    }
    assert!(rules_in_file("50-slots.conf", "NUM_SLOTS = 4").is_empty());
}

#[test]
fn a_backslash_before_a_blank_swallows_the_next_statement() {
    for text in [
        "HISTORY = /x \\ \nNUM_CPUS = 4",
        "HISTORY = /x\\\n# why\\\nNUM_CPUS = 4",
        "A = b \\\n  c \\\n  NUM_CPUS = 4",
    ] {
        assert!(rules(text).contains(&"trailing-text".to_owned()), "{text}: {:?}", rules(text));
    }
    let good = "START = Owner == \"ann\" || \\\n  MEMORY == 4\nSTARTD_ENVIRONMENT = \"A=1 \\\n  LOG=/x\"\nX = $(START) \\\n  && Y = 4";
    assert!(!rules(good).contains(&"trailing-text".to_owned()), "{:?}", rules(good));
}
