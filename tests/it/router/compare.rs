//! Tests of `htc-router-translate compare` and `convert`: differences between routers are found, and all reported differences
//! exist.

use htc_hooks::classad::ClassAd;
use htc_hooks::config::{Config, LoadOptions, LookupContext};
use htc_hooks::os::RealWorld;
use htc_hooks::quirks::QuirkMode;
use htc_hooks::router::{RouteLoadContext, RouteTable, RouterParameters};
use htc_hooks::why::coverage::SeededRandom;
use htc_hooks::why::router_comparison::{RouterComparison, RouterSide};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Returns exit status, standard output and standard error of the program in a directory with these files.
fn called(words: &[&str], files: &[(&str, &str)]) -> (i32, String, String) {
    let place = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(place.path().join(name), text).unwrap();
    }
    call(words, place.path())
}

pub(super) fn call(words: &[&str], place: &Path) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_htc-router-translate"))
        .args(words)
        .current_dir(place)
        .env_clear()
        .env("TZ", "UTC")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

pub(super) fn one_route(requirements: &str) -> String {
    format!(
        "JOB_ROUTER_ROUTE_NAMES = R\nJOB_ROUTER_ROUTE_R @=r\nUNIVERSE VANILLA\nREQUIREMENTS {requirements}\n@r\n"
    )
}

/// Returns an equivalent router with another text, so that `compare` must do more than compare texts.
pub(super) fn reworded(text: &str) -> String {
    text.replace("UNIVERSE VANILLA\n", "UNIVERSE VANILLA\nUnused = 1\n")
}

pub(super) fn compared(left: &str, right: &str) -> (i32, String) {
    let words = ["compare", "--no-env", "a", "b", "--generate", "100"];
    let (status, out, stderr) = called(&words, &[("a", left), ("b", right)]);
    (status, out + &stderr)
}

#[test]
fn routers_with_conditions_that_random_jobs_miss_are_distinguished() {
    for (left, right) in [
        ("regexp(\"^usatlas\", Owner)", "false"),
        ("regexp(\"^us(atlas|cms)[0-9]+$\", Owner)", "regexp(\"^us(atlas|cms)[0-9]{2,}$\", Owner)"),
        ("time() - QDate > 3600", "time() - QDate > 7200"),
        (
            "WantX && RequestMemory > 4000 && Group =!= undefined",
            "WantX && RequestMemory > 4001 && Group =!= undefined",
        ),
        (
            "regexp(\"/Role=pilot\", x509) && RequestMemory > 4000",
            "regexp(\"/Role=pilot\", x509) && RequestMemory >= 4000",
        ),
        ("stringListMember(Owner, \"ana,ben\")", "stringListMember(Owner, \"ana,bob\")"),
        ("member(Owner, { \"ana\", \"ben\" })", "member(Owner, { \"ana\" })"),
        ("Owner == \"ana\"", "Owner =?= \"ana\""),
        ("isUndefined(A) || A > 3", "A > 3"),
        ("substr(Owner, 0, 3) == \"lhc\"", "substr(Owner, 0, 3) == \"lhb\""),
        ("RequestMemory / RequestCpus > 2048", "RequestMemory / RequestCpus > 2049"),
        ("split(Owner, \"@\")[1] == \"here\"", "split(Owner, \"@\")[1] == \"there\""),
        ("A == B + 17", "A == B + 18"),
        ("ifThenElse(WantX, Cpus > 4, Cpus > 8)", "ifThenElse(WantX, Cpus > 4, Cpus > 9)"),
    ] {
        let (status, out) = compared(&one_route(left), &one_route(right));
        assert_eq!(status, 1, "{left} and {right}: {out}");
        assert!(out.contains("the routers differ"), "{out}");
        let (status, out) = compared(&one_route(left), &reworded(&one_route(left)));
        assert_eq!(status, 0, "{left}: {out}");
        assert!(
            out.ends_with("jobs; every condition was tested with both outcomes, true and false\n"),
            "{out}"
        );
    }
}

#[test]
fn a_condition_that_no_job_was_found_for_is_named() {
    let text = one_route("regexp(\"^a(?=b)c\", Owner) && Cpus > 1");
    let (status, out) = compared(&text, &reworded(&text));
    assert_eq!(status, 4, "{out}");
    assert!(
        out.contains(
            "a: route R: REQUIREMENTS: `regexp(\"^a(?=b)c\",Owner)`: no job was found for which it is true"
        ),
        "{out}"
    );
    assert!(out.contains("no difference found in ") && out.contains(" no ad was found that makes "), "{out}");
}

/// Parts of these conditions are true in some generated jobs, but not all of them together. No job meets a condition that depends
/// only on time or random numbers.
#[test]
fn a_difference_that_no_generated_job_reaches_is_never_called_equality() {
    for (left, right) in [
        (
            "(regexp(\"^cms\", Owner) && regexp(\"prod$\", Owner)) || JobPrio > 3",
            "(regexp(\"^cms\", Owner) && regexp(\"test$\", Owner)) || JobPrio > 3",
        ),
        (
            "Owner == \"a\" ? (Memory / 7 == 33 && Memory % 7 == 3) : true",
            "Owner == \"a\" ? (Memory / 7 == 33 && Memory % 7 == 4) : true",
        ),
        ("time() < 1900000000", "time() < 2000000000"),
        ("Owner =!= undefined && random() > 0.1", "Owner =!= undefined && random() > 0.05"),
        ("Owner == \"a\" || formatTime() < \"A\"", "Owner == \"a\" || formatTime() < \"B\""),
    ] {
        let (status, out) = compared(&one_route(left), &one_route(right));
        assert!(status == 1 || status == 4, "{status} for {left} and {right}: {out}");
        assert!(status == 1 || out.contains(" no ad was found that makes "), "{out}");
    }
}

#[test]
fn routers_without_a_usable_route_are_not_called_equal() {
    let none = "JOB_ROUTER_MAX_JOBS = 5\n";
    let (status, out) = compared(none, none);
    assert_eq!(status, 4, "{out}");
    assert!(out.contains("a: no route is loaded\nb: no route is loaded\n"), "{out}");
    assert!(out.contains("there is nothing to compare"), "{out}");
    let (status, out) = compared(&one_route("Owner == \"a\""), "");
    assert_eq!(status, 1, "{out}");
    assert!(out.starts_with("a: 1 route R\nb: no route is loaded\n"), "{out}");
    assert!(!out.contains("the routers treat"), "{out}");
    // The additional route gets no job.
    let more = one_route("Owner == \"a\"").replace("= R\n", "= R S\n")
        + "JOB_ROUTER_ROUTE_S @=s\nREQUIREMENTS false\n@s\n";
    let (status, out) = compared(&one_route("Owner == \"a\""), &more);
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("b: route S: no job gets it, because its REQUIREMENTS are false"), "{out}");
    assert!(out.contains("route S: only the second has it") && !out.contains("the routers treat"), "{out}");
}

#[test]
fn with_a_list_of_names_only_listed_old_routes_are_used() {
    let old = "JOB_ROUTER_ROUTE_NAMES = B A\nJOB_ROUTER_ENTRIES @=e\n\
        [ name = \"A\"; TargetUniverse = 5; Requirements = target.WantA ]\n\
        [ name = \"C\"; TargetUniverse = 5; Requirements = target.WantC ]\n@e\n\
        JOB_ROUTER_ROUTE_B @=r\nREQUIREMENTS WantB\nUNIVERSE VANILLA\n@r\n";
    let new = "JOB_ROUTER_ROUTE_NAMES = B A\nJOB_ROUTER_ROUTE_A @=r\nREQUIREMENTS WantA\nUNIVERSE VANILLA\n@r\n\
        JOB_ROUTER_ROUTE_B @=r\nREQUIREMENTS WantB\nUNIVERSE VANILLA\n@r\n";
    let (status, out) = compared(old, new);
    assert_eq!(status, 0, "{out}");
    assert!(out.starts_with("a: 2 routes B, A\nb: 2 routes B, A\n"), "{out}");
    assert!(
        out.contains("route C of JOB_ROUTER_ENTRIES is ignored: it is not in JOB_ROUTER_ROUTE_NAMES"),
        "{out}"
    );
    let (status, out) = compared(old, &new.replace("WantA", "WantD"));
    assert_eq!(status, 1, "{out}");
}

#[test]
fn conditions_in_statements_and_transforms_are_searched_too() {
    let with = |statement: &str, requirements: &str| {
        format!(
            "{}JOB_ROUTER_POST_ROUTE_TRANSFORM_NAMES = T\nJOB_ROUTER_TRANSFORM_T @=t\nREQUIREMENTS {requirements}\nSET T 1\n@t\n",
            one_route("Owner == \"ana\"").replace("@r\n", &format!("lots = 4000\n{statement}\n@r\n"))
        )
    };
    let plain = with("EVALSET Queue ifThenElse(RequestMemory > $(lots), \"big\", \"small\")", "Cpus > 8");
    assert_eq!(compared(&plain, &plain).0, 0);
    for other in [
        plain.replace("4000", "4001"),
        plain.replace("Cpus > 8", "Cpus > 9"),
        with("EVALSET Queue ifThenElse(RequestMemory > 4000, \"big\", \"tiny\")", "Cpus > 8"),
    ] {
        let (status, out) = compared(&plain, &other);
        assert_eq!(status, 1, "{other}{out}");
    }
    let (left, right) = ("if defined MY.A\nSET X 1\nendif", "if defined MY.A\nSET X 2\nendif");
    assert_eq!(compared(&with(left, "Cpus > 8"), &with(right, "Cpus > 8")).0, 1);
    // Random numbers are the same on both sides.
    let chance = one_route("random() < 0.5");
    let (_, out) = compared(&chance, &chance);
    assert!(!out.contains("the routers differ"), "{out}");
}

#[test]
fn rule_sets_that_random_ads_do_not_distinguish_are_distinguished() {
    let compared = |left: &str, right: &str| {
        let words = ["compare", "--no-env", "a.xfm", "b.xfm", "--generate", "100"];
        called(&words, &[("a.xfm", left), ("b.xfm", right), ("condor_config", "")])
    };
    let rules = "REQUIREMENTS regexp(\"^usatlas[0-9]+$\", Owner) && time() - QDate > 3600\n\
        EVALSET M RequestMemory > 4000 && WantX ? 1 : 2\n";
    let (status, out, stderr) = compared(rules, rules);
    assert_eq!((status, stderr.as_str()), (0, ""), "{out}");
    for (from, to) in [("usatlas", "uscms"), ("3600", "3601"), ("4000", "4001"), ("? 1", "? 3")] {
        let (status, out, _) = compared(rules, &rules.replace(from, to));
        assert_eq!(status, 1, "{from} {to}: {out}");
    }
}

/// Returns a condition about one attribute, and the same condition with another literal.
fn atom(name: &str, random: &mut SeededRandom) -> (String, String) {
    let number = 3 + random.number_below(9000);
    let other = number + 1 + random.number_below(3);
    let words = ["ana", "ben", "usatlas", "cms", "/Role=pilot", "x-y"];
    let at = random.number_below(words.len());
    let (word, another) = (words[at], words[(at + 1) % words.len()]);
    let with = |form: &dyn Fn(&str) -> String, a: &str, b: &str| (form(a), form(b));
    let (number, other) = (number.to_string(), other.to_string());
    match random.number_below(10) {
        0 => with(&|n| format!("{name} > {n}"), &number, &other),
        1 => with(&|n| format!("{name} <= {n}"), &number, &other),
        2 => with(&|n| format!("{name} == {n}"), &number, &other),
        3 => with(&|w| format!("{name} == \"{w}\""), word, another),
        4 => with(&|w| format!("{name} =!= \"{w}\""), word, another),
        5 => with(&|w| format!("regexp(\"^{w}[0-9]*$\", {name})"), word, another),
        6 => with(&|n| format!("time() - {name} > {n}"), &number, &other),
        7 => with(&|w| format!("stringListIMember(\"{w}\", {name})"), word, another),
        8 => with(&|w| format!("member({name}, {{ \"{w}\", \"zoe\" }})"), word, another),
        _ => with(&|n| format!("({name} =!= undefined && {name} * 2 + 1 >= {n}0)"), &number, &other),
    }
}

/// Returns the pieces of two conditions, joined by `&&` and `||`, some of them negated. Each attribute occurs once, so that each
/// piece matters for some job.
pub(super) fn condition(prefix: &str, random: &mut SeededRandom) -> Vec<(String, String)> {
    let count = 1 + random.number_below(4);
    let mut pieces = Vec::new();
    for number in 0..count {
        let (one, other) = atom(&format!("{prefix}{number}"), random);
        if number > 0 {
            let sign = [" && ", " || "][random.number_below(2)];
            pieces.push((sign.to_owned(), sign.to_owned()));
        }
        let shell = |text: String| match number % 3 {
            1 => format!("!({text})"),
            _ => text,
        };
        pieces.push((shell(one), shell(other)));
    }
    pieces
}

/// Returns true if two configurations are found to differ, and the conditions for which no ad was found.
pub(super) fn difference(left: &str, right: &str, world: &RealWorld) -> (bool, Vec<String>) {
    let place = tempfile::tempdir().unwrap();
    let load = |text: &str| {
        let file = place.path().join("config");
        fs::write(&file, text).unwrap();
        let who = LookupContext { subsystem: "JOB_ROUTER".into(), ..LookupContext::default() };
        let options = LoadOptions { file: Some(file), ..LoadOptions::default() };
        Config::load(world, &who, &options).unwrap().0
    };
    let (left, right) = (load(left), load(right));
    let (left, right) = (left.view(world), right.view(world));
    let loaded = [&left, &right].map(|view| {
        let knobs = RouterParameters::load(view, &mut |_| {});
        let table = RouteTable::load(
            RouteLoadContext { view, parameters: &knobs, world, quirks: QuirkMode::Manual },
            &mut |_| {},
        );
        (knobs, table)
    });
    let comparison = RouterComparison::new(
        RouterSide::new("a", &loaded[0].1, &loaded[0].0, &left),
        RouterSide::new("b", &loaded[1].1, &loaded[1].0, &right),
        world,
        QuirkMode::Manual,
    );
    let mut cover = comparison.build_coverage();
    let mut found = false;
    let mut look = |ad: &ClassAd| {
        found |= comparison.find_difference(ad).is_some();
        !found
    };
    cover
        .search(&[], 0, &mut SeededRandom(1), &mut look, &|cover| comparison.add_evaluated_conditions(cover));
    (found, comparison.unreached_parts(&cover))
}

#[test]
fn different_failures_are_a_difference_and_routes_that_always_fail_are_named() {
    let route =
        |token: &str| one_route("true").replace("UNIVERSE", &format!("SendIDTokens = \"{token}\"\nUNIVERSE"));
    let (one, other) = (route("nosuch"), route("neither"));
    let (status, out) = compared(&one, &other);
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("nosuch") && out.contains("neither"), "{out}");
    let (status, out) = compared(&one, &reworded(&one));
    assert_eq!(status, 4, "{out}");
    assert!(
        out.contains(
            "a: route R: no job was found for which it makes a routed job: unknown IDTOKEN nosuch\n"
        ),
        "{out}"
    );
    // For rule sets, the same is reported.
    let files = [("a", "SET A 1\nerror : one\n"), ("b", "SET A 1\nerror : two\n")];
    let (status, out, stderr) = called(&["compare", "--no-env", "a", "b", "--generate", "10"], &files);
    assert_eq!(status, 1, "{out}{stderr}");
}

#[test]
fn routes_with_unusual_names_are_compared_under_their_converted_names() {
    let old = "JOB_ROUTER_ENTRIES @=e\n\
        [ name = \"plain\"; TargetUniverse = 5; Requirements = WantA ]\n\
        [ name = \"中\"; TargetUniverse = 5; Requirements = WantB ]\n\
        [ name = \"日本\"; TargetUniverse = 5; Requirements = WantC ]\n@e\n";
    let (status, new, stderr) = called(&["convert", "--no-env", "--config-file", "a"], &[("a", old)]);
    assert_eq!(status, 0, "{new}");
    assert_eq!(stderr.matches("cannot be a part of a parameter's name").count(), 2, "{stderr}");
    assert!(
        stderr.contains("'中' cannot be a part of a parameter's name: the new name is route2"),
        "{stderr}"
    );
    assert!(new.contains("JOB_ROUTER_ROUTE_route2"), "{new}");
    let (status, out) = compared(old, &new);
    assert_eq!(status, 0, "{out}");
    // Another valid name makes another route.
    let (status, out) =
        compared(&one_route("WantA"), &one_route("WantA").replace("_R ", "_S ").replace("= R", "= S"));
    assert_eq!(status, 1, "{out}");
}

#[test]
fn old_routes_that_are_not_listed_are_not_reported_as_converted() {
    let text = "JOB_ROUTER_ENTRIES = [ name = \"Old\"; TargetUniverse = 5; Requirements = true ]\n\
        JOB_ROUTER_ROUTE_NAMES = R\nJOB_ROUTER_ROUTE_R @=r\nUNIVERSE VANILLA\nREQUIREMENTS WantA\n@r\n";
    let (status, out) = compared(text, text);
    assert_eq!(status, 0, "{out}");
    assert!(out.contains("route Old of JOB_ROUTER_ENTRIES is ignored"), "{out}");
    assert!(!out.contains("are converted here"), "{out}");
}

/// Returns all ads in which each of three attributes has one of a few values.
pub(super) fn universe() -> Vec<ClassAd> {
    let values = ["0", "1", "2", "3", "\"ab\"", "\"abc\"", "\"b\"", "\"cab\"", "\"a\"", "\"x\"", "true", ""];
    let mut ads = Vec::new();
    for number in 0..values.len().pow(3) {
        let mut ad = ClassAd::new();
        let line = "ClusterId = 1\nProcId = 0\nJobStatus = 1\nJobUniverse = 5\nOwner = \"user\"\n";
        line.lines().for_each(|line| drop(ad.insert_line(line.as_bytes()).unwrap()));
        for (at, name) in ["A", "B", "C"].into_iter().enumerate() {
            let value = values[number / values.len().pow(u32::try_from(at).unwrap()) % values.len()];
            if !value.is_empty() {
                ad.insert_line(format!("{name} = {value}").as_bytes()).unwrap();
            }
        }
        ads.push(ad);
    }
    ads
}

const ENTRIES: &str = "JOB_ROUTER_ENTRIES @=e\n\
    [ name = \"A\"; TargetUniverse = 5; Requirements = target.WantA; set_x = 1;\n\
    [ name = \"B\"; TargetUniverse = 5; Requirements = target.WantB; ]\n\
    # a comment\n\
    [ name = \"C\"; TargetUniverse = 5;\n  Requirements = target.WantC = 1; ]\n\
    [ name = \"D\"; TargetUniverse = 5; Requirements = target.WantD; ]\n@e\n";

#[test]
fn a_missing_bracket_is_reported_once_and_other_routes_are_converted() {
    let (status, out, stderr) = called(&["convert", "--no-env", "--config-file", "old"], &[("old", ENTRIES)]);
    assert_eq!(status, 1, "{out}{stderr}");
    assert!(out.ends_with("JOB_ROUTER_ROUTE_NAMES = B D\n"), "{out}");
    assert_eq!(stderr.matches("warning:").count(), 2, "{stderr}");
    assert!(stderr.contains("old:3:1: expected") && stderr.contains("\n    [ name = \"B\""), "{stderr}");
    assert!(
        stderr.contains("old:6:31: ") && stderr.contains("    Requirements = target.WantC = 1; ]\n"),
        "{stderr}"
    );
    let file =
        &ENTRIES["JOB_ROUTER_ENTRIES @=e\n".len()..ENTRIES.len() - "@e\n".len()].replace("# a comment\n", "");
    let files = [("old", "JOB_ROUTER_ENTRIES_FILE = entries\n"), ("entries", file.as_str())];
    let (status, _, stderr) = called(&["convert", "--no-env", "--config-file", "old"], &files);
    assert_eq!(status, 1, "{stderr}");
    assert!(stderr.contains("entries:2:1: expected") && stderr.contains("entries:4:31: "), "{stderr}");
}

#[test]
fn entries_that_end_with_a_newline_or_comment_are_converted_silently() {
    for end in ["\n", "\n\n// done\n", "\n /* done */ \n"] {
        let entries = format!("[ name = \"A\"; TargetUniverse = 5; Requirements = true ]{end}");
        let files = [("old", "JOB_ROUTER_ENTRIES_FILE = entries\n"), ("entries", entries.as_str())];
        let (status, out, stderr) = called(&["convert", "--no-env", "--config-file", "old"], &files);
        assert_eq!((status, stderr.as_str()), (0, ""), "{end:?}{out}");
    }
}

#[test]
fn a_universe_written_as_a_word_is_reported() {
    let entries = "JOB_ROUTER_ENTRIES = [ name = \"A\"; TargetUniverse = 5; Requirements = target.Universe is vanilla ]\n";
    let (status, _, stderr) = called(&["convert", "--no-env", "--config-file", "old"], &[("old", entries)]);
    assert_eq!(status, 0, "{stderr}");
    assert!(
        stderr.contains("vanilla is the name of an attribute") && stderr.contains("JobUniverse == 5"),
        "{stderr}"
    );
    let (status, out, _) =
        called(&["lint", "--no-env", "--config-file", "new"], &[("new", &one_route("Universe is vanilla"))]);
    assert_eq!(status, 1, "{out}");
    assert_eq!(out.matches("[universe]").count(), 2, "{out}");
}

#[test]
fn target_in_a_macro_that_controls_the_router_is_reported() {
    let text = one_route("true").replace(
        "@r\n",
        "JobShouldBeSandboxed = regexp(\"/Role=pilot\", TARGET.x509UserProxyFirstFQAN)\nEditJobInPlace = A +\n@r\n",
    );
    let (status, out, _) = called(&["lint", "--no-env", "--config-file", "new"], &[("new", &text)]);
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("TARGET. is undefined in JobShouldBeSandboxed") && out.contains("[scope]"), "{out}");
    assert!(out.contains("EditJobInPlace is not a valid expression"), "{out}");
}

#[test]
fn lint_reports_errors_of_all_transforms_even_if_one_is_invalid() {
    let text = "JOB_ROUTER_ROUTE_NAMES = A B C\nJOB_ROUTER_ROUTE_A @=r\nREQUIREMENTS Owner ==\n@r\n\
        JOB_ROUTER_ROUTE_C @=r\nREQUIREMENTS TARGET.Owner == \"a\"\nSETT X 1\n@r\n";
    let (status, out, stderr) = called(&["lint", "--no-env", "--config-file", "new"], &[("new", text)]);
    assert_eq!(status, 1, "{out}{stderr}");
    assert!(out.contains("[transform]") && out.contains("[named-not-defined]"), "{out}");
    assert!(out.contains("[scope]") && out.contains("SETT"), "{out}");
}

#[test]
fn routes_of_the_old_syntax_alone_are_sent_to_convert() {
    let text = "JOB_ROUTER_ENTRIES = [ name = \"a\"; TargetUniverse = 5; ]\n";
    let (status, out, stderr) = called(&["lint", "--no-env", "--config-file", "old"], &[("old", text)]);
    assert_eq!(status, 1, "{stderr}");
    assert!(out.contains("[old-syntax]") && out.contains("htc-router-translate convert"), "{out}");
}

/// No job can distinguish these two routers, which have many routes with many clauses. Common parts are tested only once, and the
/// program reports this.
#[test]
#[ignore = "takes 5 to 30 s of processor time: `.ci/full combinations`"]
fn common_parts_of_large_routers_are_not_searched_repeatedly() {
    let clause = |route: usize, at: usize| match at % 3 {
        0 => format!("Memory_{at} > {}", 1000 + route * 10 + at),
        1 => format!("regexp(\"^u{route}_[a-z]+\", Owner_{at})"),
        _ => format!("Group_{at} == \"g{route}\""),
    };
    let router = |more: &str| {
        let names: Vec<String> = (0..50).map(|route| format!("R{route}")).collect();
        let routes = names.iter().enumerate().map(|(route, name)| {
            let clauses: Vec<String> = (0..20).map(|at| clause(route, at)).collect();
            let more = if route == 49 { more } else { "" };
            format!(
                "JOB_ROUTER_ROUTE_{name} @=r\nUNIVERSE VANILLA\nREQUIREMENTS {}\n{more}@r\n",
                clauses.join(" && ")
            )
        });
        format!("JOB_ROUTER_ROUTE_NAMES = {}\n{}", names.join(" "), routes.collect::<String>())
    };
    let (plain, more) = (router(""), router("Unused = 1\n"));
    let (status, output) = compared(&plain, &more);
    assert_eq!(status, 0, "{output}");
    assert!(
        output.contains(
            "every condition was tested with both outcomes, true and false, except 49 that have the same effect in both"
        ),
        "{output}"
    );
    // One different constant in the last route is found.
    let (status, output) = compared(&plain, &more.replacen("Memory_0 > 1490", "Memory_0 > 1491", 1));
    assert_eq!(status, 1, "{output}");
    assert!(output.contains("Memory_0 = 1491\n"), "{output}");
}

#[test]
fn routers_with_equal_text_but_different_macros_differ() {
    let text = one_route("true").replace("UNIVERSE", "SET Site \"$(SITE)\"\nUNIVERSE");
    let [left, right] = ["near", "far"].map(|site| format!("SITE = {site}\n{text}"));
    let (status, out) = compared(&left, &right);
    assert_eq!(status, 1, "{out}");
    assert_eq!(compared(&left, &left).0, 0);
}

#[test]
fn convert_chooses_between_two_routes_of_a_name_as_old_routers_did() {
    let old = |second: &str| {
        format!(
            "JOB_ROUTER_ENTRIES @=e\n[ name = \"A\"; GridResource = \"x\"; Requirements = true; set_V = 1; ]\n\
             [ name = \"a\"; GridResource = \"x\"; Requirements = true; set_V = 2; {second} ]\n@e\n"
        )
    };
    let cases = [
        ("", ("2", "a"), "JOB_ROUTER_ENTRIES [2]: route a replaces JOB_ROUTER_ENTRIES [1]"),
        ("OverrideRoutingEntry = true;", ("2", "a"), ""),
        ("OverrideRoutingEntry = false;", ("1", "A"), "OverrideRoutingEntry is false: it is left out"),
    ];
    for (second, (value, name), told) in cases {
        let old = old(second);
        let files = [("a", old.as_str())];
        let (status, new, stderr) = called(&["convert", "--no-env", "--config-file", "a"], &files);
        assert_eq!(status, 0, "{stderr}");
        assert!(stderr.contains(told) && stderr.is_empty() == told.is_empty(), "{second}: {stderr}");
        assert!(new.ends_with(&format!("JOB_ROUTER_ROUTE_NAMES = {name}\n")), "{second}: {new}");
        assert!(new.contains(&format!("SET V {value}\n")), "{second}: {new}");
        let (status, out) = compared(&old, &new);
        assert_eq!(status, 0, "{second}: {out}");
        let (_, rows, _) = called(&["convert", "--json", "--no-env", "--config-file", "a"], &files);
        assert_eq!(rows.matches("SET V ").count(), 1, "{second}: {rows}");
    }
}

#[test]
fn a_converted_router_with_renamed_routes_is_equal() {
    // Sorted by name, the blank comes before the digit, and the replaced line after it.
    let old = "JOB_ROUTER_ENTRIES @=e\n\
        [ name = \"Site A\"; GridResource = \"condor a b\"; Requirements = target.WantA; ]\n\
        [ name = \"Site1\"; GridResource = \"condor a b\"; Requirements = Owner == \"ann\"; ]\n\
        [ name = \"\"; TargetUniverse = 5; Requirements = Owner == \"bob\" ]\n\
        [ name = \"Alpha\"; TargetUniverse = 5; Requirements = regexp(\"x\", Cmd) ]\n@e\n";
    let (_, new, _) = called(&["convert", "--no-env", "--config-file", "a"], &[("a", old)]);
    let (status, out) = compared(old, &new);
    assert_eq!(status, 0, "{out}");
    assert!(out.contains("the order of names differs in b: a job for which the REQUIREMENTS"), "{out}");
}

#[test]
fn impossible_jobs_are_not_a_difference_and_real_ones_have_a_reason() {
    let routes = |first: &str| {
        format!(
            "JOB_ROUTER_ROUTE_NAMES = {first} M\nJOB_ROUTER_ROUTE_{first} @=r\nUNIVERSE VANILLA\n\
             REQUIREMENTS Owner == \"ann\"\nSET RouteName \"x\"\n@r\n\
             JOB_ROUTER_ROUTE_M @=r\nUNIVERSE VANILLA\nREQUIREMENTS WantB\n@r\n"
        )
    };
    // Comparing a number with a string is an error if this part is evaluated first; if it is evaluated last, it has no effect.
    let (status, out) = compared(&routes("A"), &routes("Z"));
    assert!(!out.contains("Owner = 0"), "{status} {out}");
    let (status, out) = compared(&one_route("Owner == \"ann\""), &one_route("Owner == \"bob\""));
    assert_eq!(status, 1, "{out}");
    let reason = |owner: &str| format!("  not routed: Owner == \"{owner}\" is not true in route R\n");
    assert!(out.contains(&reason("ann")) || out.contains(&reason("bob")), "{out}");
}
