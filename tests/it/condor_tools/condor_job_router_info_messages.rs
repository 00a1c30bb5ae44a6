//! Messages of `condor_job_router_info` about an invalid configuration, compared with 25.14 for the same
//! input.

use std::fs;

use crate::condor_tools::condor_job_router_info::{job, route, router_info};
use crate::support::tool::call;

const ROUTE: [&str; 5] = ["-route-jobs", "-", "-jobads", "jobs", "-log-steps"];

// The expected texts in these tests are those of 25.14 for the same input.

#[test]
fn invalid_numbers_are_logged_when_they_are_read() {
    let config = format!(
        "JOB_ROUTER_IDTOKEN_REFRESH = x\nJOB_ROUTER_MAX_JOBS = 99999999999\nJOB_ROUTER_RELEASE_ON_HOLD = yes\n\
         PERIODIC_EXPR_TIMESLICE = 3\nJOB_ROUTER_POLLING_PERIOD = (\n\
         JOB_ROUTER_DEFAULT_MAX_JOBS_PER_ROUTE = 9999999999\nJOB_ROUTER_DEFAULT_MAX_IDLE_JOBS_PER_ROUTE = q\n\
         JOB_ROUTER_SCHEDD2_NAME = $REAL(q)x\n{}",
        route("REQUIREMENTS true\nMaxIdleJobs = $INT(z)")
    );
    let (status, out) = router_info(&config, "", &["-config", "-diagnostic"]);
    assert_eq!(status, 0);
    let told: Vec<&str> =
        out.lines().filter(|line| !line.is_empty()).take_while(|line| *line != "Route 1").collect();
    let range = "Please set it to an integer in the range -2147483648 to 2147483647";
    let expression = range.replace("an integer in", "an integer expression in");
    let expected = [
        "Following source schedd (SCHEDD1): job_router_info".to_owned(),
        "Destination schedd (SCHEDD2) not configured, using source schedd as destination also".into(),
        format!(
            "ERROR \"Invalid result (not an integer) for JOB_ROUTER_IDTOKEN_REFRESH (x) in condor configuration.  \
             {expression} (default 0).\" at line 2283 in file condor_config.cpp"
        ),
        "route R converted to :".into(),
        "\tNAME R".into(),
        "\tUNIVERSE VANILLA".into(),
        "\tREQUIREMENTS true".into(),
        "\tMaxIdleJobs = $INT(z)".into(),
        format!(
            "ERROR \"JOB_ROUTER_DEFAULT_MAX_JOBS_PER_ROUTE in the condor configuration is out of bounds for an integer \
             (9999999999).  {range} (default 100).\" at line 2283 in file condor_config.cpp"
        ),
        "ERROR \"$INT() macro: z does not evaluate to an integer!\" at line 3605 in file config.cpp".into(),
        format!(
            "ERROR \"Invalid result (not an integer) for JOB_ROUTER_DEFAULT_MAX_IDLE_JOBS_PER_ROUTE (q) in condor \
             configuration.  {expression} (default 50).\" at line 2283 in file condor_config.cpp"
        ),
        "Note: adding new route '[ Name = \"R\"; TargetUniverse = 5 ]'".into(),
        "Routes will be matched in this order: R".into(),
        "ERROR \"JOB_ROUTER_RELEASE_ON_HOLD in the condor configuration  is not a valid boolean (\"yes\").  Please set \
         it to True or False (default is True)\" at line 2659 in file condor_config.cpp"
            .into(),
        format!(
            "ERROR \"JOB_ROUTER_MAX_JOBS in the condor configuration is out of bounds for an integer (99999999999).  \
             {range} (default -1).\" at line 2283 in file condor_config.cpp"
        ),
        "ERROR \"PERIODIC_EXPR_TIMESLICE in the condor configuration is too high (3).  Please set it to a number in \
         the range 0 to 1 (default 0.01).\" at line 2527 in file condor_config.cpp"
            .into(),
        format!(
            "ERROR \"Invalid expression for JOB_ROUTER_POLLING_PERIOD (() in condor configuration.  {expression} \
             (default 10).\" at line 2283 in file condor_config.cpp"
        ),
        "ERROR \"$REAL() macro: q does not evaluate to an real!\" at line 3616 in file config.cpp".into(),
        "Routing jobs to schedd x in pool ".into(),
    ];
    assert_eq!(told, expected);
    // A value out of range is replaced by the nearest limit, an invalid number by the default.
    assert!(out.contains("MaxJobs      : 2147483647\nMaxIdleJobs  : 50\n"), "{out}");
    // Without -diagnostic, none of these messages is printed.
    assert!(!router_info(&config, "", &["-config"]).1.contains("ERROR"));
}

#[test]
fn an_invalid_configuration_is_reported_before_help() {
    for word in ["-help", "-version", "-nonsense"] {
        assert_eq!(router_info("BROKEN\n", "", &[word]), (1, String::new()), "{word}");
    }
    assert_eq!(router_info("", "", &["-help"]).0, 0);
}

#[test]
fn a_failure_in_an_included_text_is_reported_for_the_include() {
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = place.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let bad = file("bad", "SET A 1\nBOGUS x\n");
    let outer = file("outer", &format!("\n\ninclude : {bad}\n"));
    let open = file("open", "# c\nV @=q\nx\n");
    let empty = file("empty", "");
    for (text, expected) in [
        (
            "include : /nosuch/f".to_owned(),
            "ERROR in transform P : Error \"/nosuch/f\", Line 0, Include Depth 1: can't open file /nosuch/f: No such file or \
             directory\n\nfailure in pre-route transform P: .\n"
                .to_owned(),
        ),
        (
            format!("include : {bad}"),
            format!(
                "ERROR in transform P : Error \"{bad}\", Line 2, Include Depth 1: BOGUS is not a valid transform \
                 keyword\n\n\nfailure in pre-route transform P: .\n"
            ),
        ),
        (
            format!("include : {outer}"),
            format!("ERROR in transform P : Error \"{outer}\", Line 3, Include Depth 1: \n\nfailure"),
        ),
        (
            format!("include : {open}"),
            format!("ERROR in transform P : Error \"{open}\", Line 3, Include Depth 1: \n\nfailure"),
        ),
        (
            "SET B 1\ninclude bogus : x".into(),
            "ERROR in transform P : Error \"<Local>\", Line 2: unexpected keyword(s) 'bogus' after include \n\n".into(),
        ),
        (
            "use $(MY.Owner) : y".into(),
            "ERROR in transform P : Error \"<Local>\", Line 1: at use a:y\n\nfailure in pre-route transform P: .\n".into(),
        ),
        (
            "9-x = 1".into(),
            "ERROR in transform P : Error \"<Local>\", Line 1: Illegal Identifier: <9-x>\n\n".into(),
        ),
        (
            "BOGUS: x".into(),
            "ERROR in transform P : Error \"<Local>\", Line 1: cannot parse: BOGUS: x\n\n".into(),
        ),
        ("include ifexist : /nosuch/f\nSET".into(), ": can't open file /nosuch/f: No such file or directory.\n".into()),
        (
            format!("include : {empty}"),
            format!("WARNING: Submit file is empty: {empty}\nERROR in transform P : \n"),
        ),
    ] {
        let config = format!(
            "{}JOB_ROUTER_PRE_ROUTE_TRANSFORM_NAMES = P\nJOB_ROUTER_TRANSFORM_P @=e\n{text}\n@e\n",
            route("REQUIREMENTS true")
        );
        let (_, out) = router_info(&config, &job("1.0"), &ROUTE);
        assert!(out.contains(&expected), "{text}: {expected} in {out}");
    }
}

#[test]
fn an_ad_in_an_expression_outside_any_ad_has_no_outer_scope() {
    let config = route(
        "REQUIREMENTS [ a = JobUniverse ].a == 5 || true\nEVALSET A [ a = JobUniverse ].a\nEVALSET B { JobUniverse }[0]\n\
         EVALSET C sum({ JobUniverse })\nEVALMACRO D [ a = MY.JobUniverse; b = 3 ].b\nSET D $(D)",
    );
    let (_, out) = router_info(&config, &job("1.0"), &ROUTE);
    for line in ["    SET A to undefined", "    SET B to undefined", "    SET C to 5", "          D = 3"] {
        assert!(out.contains(&format!("{line}\n")), "{line} in {out}");
    }
    let config = format!(
        "{}JOB_ROUTER_PRE_ROUTE_TRANSFORM_NAMES = P\nJOB_ROUTER_TRANSFORM_P @=e\n\
         REQUIREMENTS [ a = JobUniverse ].a == 5\nSET A 1\n@e\n",
        route("REQUIREMENTS true")
    );
    let (_, out) = router_info(&config, &job("1.0"), &ROUTE);
    assert!(out.contains("pre-route transform P: does not match job. skipping it.\n"), "{out}");
}

#[test]
fn requirements_inside_the_umbrella_constraint_refer_to_it() {
    let jobs = format!("Requirements = true\n{}", job("1.0"));
    for (requirements, candidates) in [
        ("Requirements", 0),
        ("TARGET.Requirements", 0),
        ("TARGET.Requirements || true", 1),
        ("true || Requirements", 1),
    ] {
        let (_, out) = router_info(&route(&format!("REQUIREMENTS {requirements}")), &jobs, &ROUTE);
        assert!(out.contains(&format!("\n{candidates} candidate jobs found\n")), "{requirements}: {out}");
    }
}

#[test]
fn blanks_after_requirements_are_kept() {
    let config = "JOB_ROUTER_ROUTE_NAMES = A B\nJOB_ROUTER_ROUTE_A = REQUIREMENTS true \\\n  \\\n\n\
        JOB_ROUTER_ROUTE_B = REQUIREMENTS (A  \\\n  \\\n\n";
    let (_, out) = router_info(config, "", &["-config", "-diagnostic"]);
    assert!(out.contains("\nCONFIGURATION ERROR: invalid REQUIREMENTS : (A  \n"), "{out}");
    assert!(out.contains("\nRequirements : true \n"), "{out}");
}

#[test]
fn strict_evaluation_is_read_from_the_configuration() {
    let text =
        route("REQUIREMENTS true\nEVALSET A 010\nEVALSET B MY.JobUniverse\nEVALSET C strcat(\"a\"; \"b\")");
    let (_, condor) = router_info(&text, &job("1.0"), &ROUTE);
    let strict = format!("STRICT_CLASSAD_EVALUATION = 1 + 1\n{text}");
    let (_, strict) = router_info(&strict, &job("1.0"), &ROUTE);
    let results = |out: &str| -> Vec<String> {
        out.lines().filter(|line| line.starts_with("    SET ")).map(str::to_owned).collect()
    };
    assert_eq!(results(&condor), ["    SET B to 5", "    SET C to ab"]);
    assert_eq!(results(&strict), ["    SET A to 10", "    SET B to undefined"]);
    // The other programs, too, use the evaluation mode of the configuration.
    let place = tempfile::tempdir().unwrap();
    let config = |strict: bool| format!("LOCAL_DIR = .\nSTRICT_CLASSAD_EVALUATION = {strict}\n{text}");
    fs::write(place.path().join("condor_config"), config(true)).unwrap();
    fs::write(place.path().join("other"), config(false)).unwrap();
    fs::write(place.path().join("jobs"), job("1.0")).unwrap();
    let verb = |words: &[&str]| {
        call(env!("CARGO_BIN_EXE_htc-router-translate"), "htc-router-translate", words, place.path())
    };
    let (_, routed) = verb(&["route", "jobs"]);
    assert!(routed.starts_with("A = 10\nB = undefined\n"), "{routed}");
    // `compare` reads each of the two routers in the mode of its own configuration.
    let (status, output) = verb(&["compare", "condor_config", "other", "--ads", "jobs"]);
    assert_eq!(status, 1, "{output}");
    assert!(output.contains("B = undefined") && output.contains("B = 5"), "{output}");
    let (status, _) = verb(&["compare", "condor_config", "condor_config", "--ads", "jobs"]);
    assert_eq!(status, 0);
}

#[test]
fn options_are_accepted_only_where_they_have_an_effect() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("condor_config"), format!("LOCAL_DIR = .\n{}", route("REQUIREMENTS true")))
        .unwrap();
    let verb = |words: &[&str]| {
        call(env!("CARGO_BIN_EXE_htc-router-translate"), "htc-router-translate", words, place.path()).0
    };
    for verb_name in ["update", "finalize", "cleanup", "finish"] {
        assert_eq!(verb(&[verb_name, "--route", "R"]), 2, "{verb_name}");
    }
    for option in ["--dry-run", "--hook-timeout=3"] {
        assert_eq!(verb(&["finish", option]), 2, "{option}");
    }
}
