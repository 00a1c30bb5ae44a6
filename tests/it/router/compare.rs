//! `htc-router-translate compare` and `convert`: differences between routers are found, and the reported
//! differences are true.

use std::fs;
use std::path::Path;
use std::process::Command;

use htc_hooks::classad::ClassAd;
use htc_hooks::config::{Config, LoadOptions, LookupContext};
use htc_hooks::os::RealWorld;
use htc_hooks::quirks::QuirkMode;
use htc_hooks::router::{RouteLoadContext, RouteTable, RouterParameters};
use htc_hooks::time::ClockReading;
use htc_hooks::why::coverage::SeededRandom;
use htc_hooks::why::router_comparison::{RouterComparison, RouterSide};

/// Status, standard output and standard error of the program in a directory with these files.
fn called(words: &[&str], files: &[(&str, &str)]) -> (i32, String, String) {
    let place = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(place.path().join(name), text).unwrap();
    }
    call(words, place.path())
}

fn call(words: &[&str], place: &Path) -> (i32, String, String) {
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

fn one_route(requirements: &str) -> String {
    format!(
        "JOB_ROUTER_ROUTE_NAMES = R\nJOB_ROUTER_ROUTE_R @=r\nUNIVERSE VANILLA\nREQUIREMENTS {requirements}\n@r\n"
    )
}

/// An equivalent router with another text, so that the texts cannot just be compared.
fn reworded(text: &str) -> String {
    text.replace("UNIVERSE VANILLA\n", "UNIVERSE VANILLA\nUnused = 1\n")
}

fn compared(left: &str, right: &str) -> (i32, String) {
    let words = ["compare", "--no-env", "a", "b", "--generate", "100"];
    let (status, out, said) = called(&words, &[("a", left), ("b", right)]);
    (status, out + &said)
}

#[test]
fn routers_whose_conditions_chance_does_not_meet_are_told_apart() {
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
        assert!(out.ends_with("jobs; every condition was made true and false\n"), "{out}");
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
    assert!(out.contains("no difference found in ") && out.contains("could not be reached\n"), "{out}");
}

/// Their parts occur individually in jobs; a condition that depends only on time or random numbers is not met
/// by any job.
#[test]
fn routers_that_differ_where_no_made_up_job_gets_are_never_called_alike() {
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
        assert!(status == 1 || out.contains("could not be reached"), "{out}");
    }
}

#[test]
fn routers_without_a_usable_route_are_not_called_alike() {
    let none = "JOB_ROUTER_MAX_JOBS = 5\n";
    let (status, out) = compared(none, none);
    assert_eq!(status, 4, "{out}");
    assert!(out.contains("a: no route is loaded\nb: no route is loaded\n"), "{out}");
    assert!(out.contains("there is nothing to compare"), "{out}");
    let (status, out) = compared(&one_route("Owner == \"a\""), "");
    assert_eq!(status, 1, "{out}");
    assert!(out.starts_with("a: 1 route R\nb: no route is loaded\n"), "{out}");
    assert!(!out.contains("alike"), "{out}");
    // An additional route that no job gets.
    let more = one_route("Owner == \"a\"").replace("= R\n", "= R S\n")
        + "JOB_ROUTER_ROUTE_S @=s\nREQUIREMENTS false\n@s\n";
    let (status, out) = compared(&one_route("Owner == \"a\""), &more);
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("b: route S: no job gets it, its REQUIREMENTS are false"), "{out}");
    assert!(out.contains("route S: only the second has it") && !out.contains("alike"), "{out}");
}

#[test]
fn routes_of_the_old_syntax_beside_a_list_of_names_are_those_that_it_names() {
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
        out.contains("route C of JOB_ROUTER_ENTRIES is not taken: JOB_ROUTER_ROUTE_NAMES leaves it out"),
        "{out}"
    );
    let (status, out) = compared(old, &new.replace("WantA", "WantD"));
    assert_eq!(status, 1, "{out}");
}

#[test]
fn conditions_in_statements_and_transforms_are_tried_too() {
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
    // Random numbers are the same for both routers.
    let chance = one_route("random() < 0.5");
    let (_, out) = compared(&chance, &chance);
    assert!(!out.contains("the routers differ"), "{out}");
}

#[test]
fn rule_sets_that_chance_does_not_tell_apart_are_told_apart() {
    let compared = |left: &str, right: &str| {
        let words = ["compare", "--no-env", "a.xfm", "b.xfm", "--generate", "100"];
        called(&words, &[("a.xfm", left), ("b.xfm", right), ("condor_config", "")])
    };
    let rules = "REQUIREMENTS regexp(\"^usatlas[0-9]+$\", Owner) && time() - QDate > 3600\n\
        EVALSET M RequestMemory > 4000 && WantX ? 1 : 2\n";
    let (status, out, said) = compared(rules, rules);
    assert_eq!((status, said.as_str()), (0, ""), "{out}");
    for (from, to) in [("usatlas", "uscms"), ("3600", "3601"), ("4000", "4001"), ("? 1", "? 3")] {
        let (status, out, _) = compared(rules, &rules.replace(from, to));
        assert_eq!(status, 1, "{from} {to}: {out}");
    }
}

/// A condition about one attribute, and the same condition with another literal.
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

/// Conditions joined by `&&`, `||` and `!`, each with a different attribute, so that each matters for some
/// job.
fn condition(prefix: &str, random: &mut SeededRandom) -> Vec<(String, String)> {
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

#[test]
fn two_random_routers_that_differ_in_one_literal_are_told_apart() {
    let world = RealWorld::new().with_fixed_time(ClockReading::from_epoch(1_795_000_000)).in_utc();
    let mut random = SeededRandom(20_261_122);
    for round in 0..60 {
        let routes: Vec<Vec<(String, String)>> = (0..1 + random.number_below(3))
            .map(|route| condition(&format!("A{route}x"), &mut random))
            .collect();
        let all: usize = routes.iter().map(Vec::len).sum();
        let atoms: Vec<usize> = (0..all)
            .filter(|at| routes.iter().flatten().nth(*at).is_some_and(|(one, other)| one != other))
            .collect();
        let changed = atoms[random.number_below(atoms.len())];
        let text = |change: Option<usize>| {
            let mut at = 0;
            let mut text = String::from(
                "JOB_ROUTER_SOURCE_JOB_CONSTRAINT = WantRoute =?= true\nJOB_ROUTER_ROUTE_NAMES = R0 R1 R2\n",
            );
            for (number, route) in routes.iter().enumerate() {
                let mut requirements = String::new();
                for (one, other) in route {
                    requirements += if Some(at) == change { other } else { one };
                    at += 1;
                }
                text += &format!(
                    "JOB_ROUTER_ROUTE_R{number} @=r\nUNIVERSE VANILLA\nREQUIREMENTS {requirements}\nSET N {number}\n@r\n"
                );
            }
            text
        };
        let (left, right) = (text(None), text(Some(changed)));
        let found = difference(&left, &right, &world);
        assert!(found.0, "round {round}: not told apart:\n{left}\n{right}");
        let found = difference(&left, &left, &world);
        assert!(!found.0, "round {round}: differs from itself:\n{left}");
        assert!(found.1.is_empty(), "round {round}: {:?}\n{left}", found.1);
    }
}

/// Returns true if two configurations are found to differ, and the parts that could not be reached.
fn difference(left: &str, right: &str, world: &RealWorld) -> (bool, Vec<String>) {
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
    cover.search((&[], 0), &mut SeededRandom(1), &mut look, &|cover| {
        comparison.add_evaluated_conditions(cover)
    });
    (found, comparison.unreached_parts(&cover))
}

/// Many literals, long patterns, and patterns that must match together.
#[test]
fn large_conditions_and_patterns_that_hold_together_are_reached() {
    let any =
        |count: usize, form: &dyn Fn(usize) -> String| (0..count).map(form).collect::<Vec<_>>().join(" || ");
    let three = |n: usize| format!("(Owner == \"user{n:03}\" && Group == \"g{n}\" && Mem > {})", n * 7 + 100);
    let users = any(100, &|n| format!("Owner == \"user{n:03}\""));
    let other = |text: &str, from: &str, to: &str| text.replace(from, to);
    for (left, right) in [
        (users.clone(), other(&users, "user099", "user100")),
        (any(30, &three), other(&any(30, &three), "303", "304")),
        (any(45, &|n| format!("regexp(\"^s{n:02}[a-f]+$\", Owner)")), "false".to_owned()),
        ("regexp(\"^cms\", Owner) && regexp(\"prod$\", Owner)".into(), "false".into()),
        (
            "regexp(\"^[a-z]+-\", Owner) && !regexp(\"^(cms|atlas)-\", Owner) && regexp(\"-[0-9]{3}$\", Owner)".into(),
            "regexp(\"^[a-z]+-\", Owner) && !regexp(\"^(cms|atlas)-\", Owner) && regexp(\"-[0-9]{4}$\", Owner)".into(),
        ),
        ("regexp(\"^(ab{20}){30}$\", Owner)".into(), "false".into()),
        ("A > 3 || B".into(), "B || A > 3".into()),
    ] {
        let (status, out) = compared(&one_route(&left), &one_route(&right));
        assert_eq!(status, 1, "{left} and {right}: {out}");
        let (status, out) = compared(&one_route(&left), &reworded(&one_route(&left)));
        assert_eq!(status, 0, "{left}: {out}");
    }
    // Nothing matches it, which is determined quickly.
    let nested = one_route("regexp(\"((a{300}){300}){5}\", Owner)");
    let (status, out) = compared(&nested, &reworded(&nested));
    assert_eq!(status, 4, "{out}");
}

#[test]
fn copies_that_fail_for_different_reasons_differ_and_routes_that_only_fail_are_named() {
    let route =
        |token: &str| one_route("true").replace("UNIVERSE", &format!("SendIDTokens = \"{token}\"\nUNIVERSE"));
    let (one, other) = (route("nosuch"), route("neither"));
    let (status, out) = compared(&one, &other);
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("nosuch") && out.contains("neither"), "{out}");
    let (status, out) = compared(&one, &reworded(&one));
    assert_eq!(status, 4, "{out}");
    assert!(
        out.contains("a: route R: no job was found of which it makes a copy: unknown IDTOKEN nosuch\n"),
        "{out}"
    );
    // The same for rule sets.
    let files = [("a", "SET A 1\nerror : one\n"), ("b", "SET A 1\nerror : two\n")];
    let (status, out, said) = called(&["compare", "--no-env", "a", "b", "--generate", "10"], &files);
    assert_eq!(status, 1, "{out}{said}");
}

#[test]
fn routes_whose_names_no_parameter_can_have_are_those_that_convert_makes_of_them() {
    let old = "JOB_ROUTER_ENTRIES @=e\n\
        [ name = \"plain\"; TargetUniverse = 5; Requirements = WantA ]\n\
        [ name = \"中\"; TargetUniverse = 5; Requirements = WantB ]\n\
        [ name = \"日本\"; TargetUniverse = 5; Requirements = WantC ]\n@e\n";
    let (status, new, said) = called(&["convert", "--no-env", "--config-file", "a"], &[("a", old)]);
    assert_eq!((status, said.as_str()), (0, ""), "{new}");
    assert!(new.contains("JOB_ROUTER_ROUTE_route2"), "{new}");
    let (status, out) = compared(old, &new);
    assert_eq!(status, 0, "{out}");
    // A different valid name is a different route.
    let (status, out) =
        compared(&one_route("WantA"), &one_route("WantA").replace("_R ", "_S ").replace("= R", "= S"));
    assert_eq!(status, 1, "{out}");
}

#[test]
fn old_routes_that_a_list_of_names_leaves_out_are_not_called_converted() {
    let text = "JOB_ROUTER_ENTRIES = [ name = \"Old\"; TargetUniverse = 5; Requirements = true ]\n\
        JOB_ROUTER_ROUTE_NAMES = R\nJOB_ROUTER_ROUTE_R @=r\nUNIVERSE VANILLA\nREQUIREMENTS WantA\n@r\n";
    let (status, out) = compared(text, text);
    assert_eq!(status, 0, "{out}");
    assert!(out.contains("route Old of JOB_ROUTER_ENTRIES is not taken"), "{out}");
    assert!(!out.contains("are converted here"), "{out}");
}

/// A random condition of comparisons and patterns over three attributes.
fn tree(random: &mut SeededRandom, depth: usize) -> String {
    let name = ["A", "B", "C"][random.number_below(3)];
    if depth == 0 || random.number_below(4) == 0 {
        let number = ["0", "1", "2", "3"][random.number_below(4)];
        let word = ["ab", "abc", "b", "cab"][random.number_below(4)];
        let pattern = ["^a", "b$", "ab?c", "^[a-c]+$", "c"][random.number_below(5)];
        return match random.number_below(8) {
            0 => format!("{name} > {number}"),
            1 => format!("{name} <= {number}"),
            2 => format!("{name} == \"{word}\""),
            3 => format!("{name} =!= \"{word}\""),
            4 => format!("isUndefined({name})"),
            5 => format!("{name} =?= {number}"),
            _ => format!("regexp(\"{pattern}\", {name})"),
        };
    }
    let mut part = || tree(random, depth - 1);
    let (one, two, three) = (part(), part(), part());
    match random.number_below(6) {
        0 | 1 => format!("({one} && {two})"),
        2 | 3 => format!("({one} || {two})"),
        4 => format!("!({one})"),
        _ => format!("({one} ? {two} : {three})"),
    }
}

/// Ads in which each of three attributes has each of some values.
fn universe() -> Vec<ClassAd> {
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

/// Compares with an exhaustive test of a small universe of jobs: it determines which values a condition can
/// have and which jobs distinguish two conditions. `compare` must not report a reachable case as unreachable,
/// or two conditions as equal that differ for some job.
#[test]
fn what_compare_says_of_random_conditions_is_what_trying_all_jobs_says() {
    let rounds: usize = std::env::var("COMPARE_CASES").map_or(9, |text| text.parse().unwrap());
    let world = RealWorld::new().with_fixed_time(ClockReading::from_epoch(1_795_000_000)).in_utc();
    let ads = universe();
    let mut random = SeededRandom(20_261_122);
    let mut apart = 0;
    for round in 0..rounds {
        let (one, two) = (tree(&mut random, 3), tree(&mut random, 3));
        // Two unrelated conditions, or two that are nearly equal.
        let two = match round % 3 {
            0 => two,
            1 => format!("{one} && ({two} || {one})"),
            _ => format!("{one} && !({two} && C == 3 && B == \"abc\")"),
        };
        let truths = [&one, &two].map(|text| {
            let expr = htc_hooks::classad::Expr::parse(text.as_bytes()).unwrap();
            let truth = |ad: &ClassAd| {
                htc_hooks::classad::Context::new(&world).my(ad).without_enclosing_ad().eval(&expr).truth()
                    == Some(true)
            };
            ads.iter().map(truth).collect::<Vec<bool>>()
        });
        let (found, unreached) = difference(&one_route(&one), &one_route(&two), &world);
        let differ = truths[0] != truths[1];
        assert!(!differ || found, "round {round}: not told apart ({unreached:?}):\n{one}\n{two}");
        apart += usize::from(differ);
        let (found, unreached) = difference(&one_route(&one), &one_route(&one), &world);
        assert!(!found, "{one}");
        let whole = unreached.iter().filter(|line| line.contains("REQUIREMENTS: no job was found"));
        for line in whole {
            let wanted = !line.ends_with("for which it is anything but true");
            assert!(!truths[0].contains(&wanted), "round {round}: {line}\n{one}");
        }
    }
    assert!(apart * 4 > rounds, "{apart} of {rounds} differ");
}

const ENTRIES: &str = "JOB_ROUTER_ENTRIES @=e\n\
    [ name = \"A\"; TargetUniverse = 5; Requirements = target.WantA; set_x = 1;\n\
    [ name = \"B\"; TargetUniverse = 5; Requirements = target.WantB; ]\n\
    # a comment\n\
    [ name = \"C\"; TargetUniverse = 5;\n  Requirements = target.WantC = 1; ]\n\
    [ name = \"D\"; TargetUniverse = 5; Requirements = target.WantD; ]\n@e\n";

#[test]
fn a_missing_bracket_is_told_once_with_its_place_and_the_other_routes_are_converted() {
    let (status, out, said) = called(&["convert", "--no-env", "--config-file", "old"], &[("old", ENTRIES)]);
    assert_eq!(status, 1, "{out}{said}");
    assert!(out.ends_with("JOB_ROUTER_ROUTE_NAMES = B D\n"), "{out}");
    assert_eq!(said.matches("warning:").count(), 2, "{said}");
    assert!(said.contains("old:3:1: expected") && said.contains("\n    [ name = \"B\""), "{said}");
    assert!(
        said.contains("old:6:31: ") && said.contains("    Requirements = target.WantC = 1; ]\n"),
        "{said}"
    );
    let file =
        &ENTRIES["JOB_ROUTER_ENTRIES @=e\n".len()..ENTRIES.len() - "@e\n".len()].replace("# a comment\n", "");
    let files = [("old", "JOB_ROUTER_ENTRIES_FILE = entries\n"), ("entries", file.as_str())];
    let (status, _, said) = called(&["convert", "--no-env", "--config-file", "old"], &files);
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("entries:2:1: expected") && said.contains("entries:4:31: "), "{said}");
}

#[test]
fn entries_that_end_in_a_newline_or_a_comment_are_converted_without_a_complaint() {
    for end in ["\n", "\n\n// done\n", "\n /* done */ \n"] {
        let entries = format!("[ name = \"A\"; TargetUniverse = 5; Requirements = true ]{end}");
        let files = [("old", "JOB_ROUTER_ENTRIES_FILE = entries\n"), ("entries", entries.as_str())];
        let (status, out, said) = called(&["convert", "--no-env", "--config-file", "old"], &files);
        assert_eq!((status, said.as_str()), (0, ""), "{end:?}{out}");
    }
}

#[test]
fn a_universe_that_is_written_as_a_word_is_pointed_out() {
    let entries = "JOB_ROUTER_ENTRIES = [ name = \"A\"; TargetUniverse = 5; Requirements = target.Universe is vanilla ]\n";
    let (status, _, said) = called(&["convert", "--no-env", "--config-file", "old"], &[("old", entries)]);
    assert_eq!(status, 0, "{said}");
    assert!(
        said.contains("vanilla is the name of an attribute") && said.contains("JobUniverse == 5"),
        "{said}"
    );
    let (status, out, _) =
        called(&["lint", "--no-env", "--config-file", "new"], &[("new", &one_route("Universe is vanilla"))]);
    assert_eq!(status, 1, "{out}");
    assert_eq!(out.matches("[universe]").count(), 2, "{out}");
}

#[test]
fn target_in_a_macro_that_steers_the_router_is_pointed_out() {
    let text = one_route("true").replace(
        "@r\n",
        "JobShouldBeSandboxed = regexp(\"/Role=pilot\", TARGET.x509UserProxyFirstFQAN)\nEditJobInPlace = A +\n@r\n",
    );
    let (status, out, _) = called(&["lint", "--no-env", "--config-file", "new"], &[("new", &text)]);
    assert_eq!(status, 1, "{out}");
    assert!(out.contains("TARGET. is undefined in JobShouldBeSandboxed") && out.contains("[scope]"), "{out}");
    assert!(out.contains("EditJobInPlace is no expression"), "{out}");
}

#[test]
fn lint_lists_what_is_wrong_with_all_transforms_whatever_one_of_them_is() {
    let text = "JOB_ROUTER_ROUTE_NAMES = A B C\nJOB_ROUTER_ROUTE_A @=r\nREQUIREMENTS Owner ==\n@r\n\
        JOB_ROUTER_ROUTE_C @=r\nREQUIREMENTS TARGET.Owner == \"a\"\nSETT X 1\n@r\n";
    let (status, out, said) = called(&["lint", "--no-env", "--config-file", "new"], &[("new", text)]);
    assert_eq!(status, 1, "{out}{said}");
    assert!(out.contains("[transform]") && out.contains("[named-not-defined]"), "{out}");
    assert!(out.contains("[scope]") && out.contains("SETT"), "{out}");
}

#[test]
fn routes_of_the_old_syntax_alone_are_sent_to_convert() {
    let text = "JOB_ROUTER_ENTRIES = [ name = \"a\"; TargetUniverse = 5; ]\n";
    let (status, out, said) = called(&["lint", "--no-env", "--config-file", "old"], &[("old", text)]);
    assert_eq!(status, 1, "{said}");
    assert!(out.contains("[old-syntax]") && out.contains("htc-router-translate convert"), "{out}");
}

/// Two routers of many routes with many clauses that no job can distinguish: common parts are not tested
/// repeatedly, and this is reported.
#[test]
fn what_large_routers_have_in_common_is_not_tried_over_and_over() {
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
    let (status, said) = compared(&plain, &more);
    assert_eq!(status, 0, "{said}");
    assert!(
        said.contains(
            "every condition was made true and false but 49 that both have, which lead to the same in both"
        ),
        "{said}"
    );
    // A single different constant in the last route is found.
    let (status, said) = compared(&plain, &more.replacen("Memory_0 > 1490", "Memory_0 > 1491", 1));
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("Memory_0 = 1491\n"), "{said}");
}

/// The value of an attribute of an old route.
fn old_value(random: &mut SeededRandom) -> String {
    const VALUES: [&str; 16] = [
        "\"osg\"",
        "\"two words\"",
        "\" blanks \"",
        "\"\"",
        "\"a\\nb\"",
        "\"say \\\"hi\\\"\"",
        "\"ends in \\\\\"",
        "5",
        "-2.5",
        "true",
        "undefined",
        "{ 1,\"b\" }",
        "RequestMemory * 2",
        "ifThenElse(WantX, \"big\", \"small\")",
        "target.Owner",
        "strcat(Name, \"-\", queue)",
    ];
    VALUES[random.number_below(VALUES.len())].to_owned()
}

#[test]
fn whatever_convert_writes_is_loaded_without_a_complaint_and_routes_as_the_original() {
    const NAMES: [&str; 20] = [
        "queue",
        "Queue",
        "if",
        "else",
        "universe",
        "transform",
        "SET",
        "copy",
        "use",
        "include",
        "warning",
        "osg",
        "maxMemory",
        "MaxJobs",
        "EditJobInPlace",
        "JobShouldBeSandboxed",
        "GridResource",
        "'a b'",
        "xcount",
        "InputRSL",
    ];
    const PREFIXES: [&str; 4] = ["set_", "eval_set_", "copy_", "delete_"];
    const ATTRIBUTES: [&str; 6] =
        ["remote_queue", "RequestMemory", "OnExitHold", "Requirements", "Env", "x509"];
    let mut random = SeededRandom(77);
    for round in 0..25 {
        let mut text = String::from("JOB_ROUTER_ENTRIES @=e\n");
        for route in 0..1 + random.number_below(3) {
            text += &format!(
                "[ name = \"R{route}\"; TargetUniverse = 5;\n  Requirements = target.W{route} && target.M{route} > 3;\n"
            );
            for _ in 0..random.number_below(6) {
                let name = NAMES[random.number_below(NAMES.len())];
                // Only a plain value is used here, because it is visible to the evaluation of a statement in
                // 25.14.
                text += &format!("  {name} = {};\n", old_value(&mut random));
            }
            for _ in 0..random.number_below(5) {
                let (prefix, name) = (PREFIXES[random.number_below(4)], ATTRIBUTES[random.number_below(6)]);
                let value = if prefix == "copy_" { "\"old_value\"".into() } else { old_value(&mut random) };
                text += &format!("  {prefix}{name} = {value};\n");
            }
            text += "]\n";
        }
        text += "@e\n";
        let place = tempfile::tempdir().unwrap();
        let place = place.path();
        fs::write(place.join("old"), &text).unwrap();
        let (status, new, said) = call(&["convert", "--no-env", "--config-file", "old"], place);
        // A name with a blank cannot be written in a statement, which is reported.
        let odd = text.contains("'a b'");
        assert_eq!(status, i32::from(odd), "round {round}\n{text}{new}{said}");
        assert!(said.lines().all(|line| line.contains("'a b' is left out")), "round {round}\n{text}{said}");
        fs::write(place.join("new"), &new).unwrap();
        fs::write(place.join("none"), "").unwrap();
        let (status, out, said) = call(&["match", "--no-env", "--config-file", "new", "none"], place);
        assert_eq!((status, said.as_str()), (0, ""), "round {round}\n{text}{new}{out}");
        let (status, out, said) = call(&["compare", "--no-env", "old", "new", "--generate", "50"], place);
        assert_ne!(status, 1, "round {round}\n{text}{new}{out}{said}");
    }
}

#[test]
fn a_router_is_never_taken_to_differ_from_itself_whatever_it_asks() {
    let clause = |at: usize| {
        format!("(Attr{at}A == \"v{at}\" && regexp(\"^a(?=b)c{at}$\", Attr{at}B) && Attr{at}C > {at})")
    };
    let many: Vec<String> = (0..150).map(clause).collect();
    let text = one_route(&many.join(" || "));
    let commented = text.replace("UNIVERSE", "# a comment\nUNIVERSE");
    for other in [&text, &commented] {
        let (status, out) = compared(&text, other);
        assert_eq!(status, 0, "{out}");
        assert!(out.ends_with("the two say the same: no job can make a difference\n"), "{out}");
    }
    // A common part need not be reached if other parts differ.
    let other = "JOB_ROUTER_ROUTE_S @=s\nUNIVERSE VANILLA\nREQUIREMENTS WantS is true\n@s\n";
    let two = |first: &str, text: &str| format!("{text}{other}JOB_ROUTER_ROUTE_NAMES = {first}\n");
    let never = one_route("regexp(\"^a(?=b)c\", Owner) && Cpus > 1");
    let (status, out) =
        compared(&two("R S", &never), &two("R S", &never).replace("WantS is true", "WantS =?= true"));
    assert_eq!(status, 0, "{out}");
    let (status, out) =
        compared(&two("R S", &never), &two("R S", &never).replace("WantS is true", "WantS =?= 1"));
    assert_eq!(status, 1, "{out}");
}

#[test]
fn routers_that_say_the_same_of_macros_with_other_values_differ() {
    let text = one_route("true").replace("UNIVERSE", "SET Site \"$(SITE)\"\nUNIVERSE");
    let [left, right] = ["near", "far"].map(|site| format!("SITE = {site}\n{text}"));
    let (status, out) = compared(&left, &right);
    assert_eq!(status, 1, "{out}");
    assert_eq!(compared(&left, &left).0, 0);
}

#[test]
fn convert_decides_as_routers_did_which_of_two_routes_of_a_name_counts() {
    let old = |second: &str| {
        format!(
            "JOB_ROUTER_ENTRIES @=e\n[ name = \"A\"; GridResource = \"x\"; Requirements = true; set_V = 1; ]\n\
             [ name = \"a\"; GridResource = \"x\"; Requirements = true; set_V = 2; {second} ]\n@e\n"
        )
    };
    let cases = [
        ("", ("2", "a"), "JOB_ROUTER_ENTRIES [2]: route a takes the place of JOB_ROUTER_ENTRIES [1]"),
        ("OverrideRoutingEntry = true;", ("2", "a"), ""),
        ("OverrideRoutingEntry = false;", ("1", "A"), "OverrideRoutingEntry is false: left out"),
    ];
    for (second, (value, name), told) in cases {
        let old = old(second);
        let files = [("a", old.as_str())];
        let (status, new, said) = called(&["convert", "--no-env", "--config-file", "a"], &files);
        assert_eq!(status, 0, "{said}");
        assert!(said.contains(told) && said.is_empty() == told.is_empty(), "{second}: {said}");
        assert!(new.ends_with(&format!("JOB_ROUTER_ROUTE_NAMES = {name}\n")), "{second}: {new}");
        assert!(new.contains(&format!("SET V {value}\n")), "{second}: {new}");
        let (status, out) = compared(&old, &new);
        assert_eq!(status, 0, "{second}: {out}");
        let (_, rows, _) = called(&["convert", "--json", "--no-env", "--config-file", "a"], &files);
        assert_eq!(rows.matches("SET V ").count(), 1, "{second}: {rows}");
    }
}

#[test]
fn a_converted_router_with_renamed_routes_is_found_the_same() {
    // In the order of names the blank comes before the digit, and the replaced line after it.
    let old = "JOB_ROUTER_ENTRIES @=e\n\
        [ name = \"Site A\"; GridResource = \"condor a b\"; Requirements = target.WantA; ]\n\
        [ name = \"Site1\"; GridResource = \"condor a b\"; Requirements = Owner == \"ann\"; ]\n\
        [ name = \"\"; TargetUniverse = 5; Requirements = Owner == \"bob\" ]\n\
        [ name = \"Alpha\"; TargetUniverse = 5; Requirements = regexp(\"x\", Cmd) ]\n@e\n";
    let (_, new, _) = called(&["convert", "--no-env", "--config-file", "a"], &[("a", old)]);
    let (status, out) = compared(old, &new);
    assert_eq!(status, 0, "{out}");
    assert!(out.contains("the order of names is another in b: a job for which the REQUIREMENTS"), "{out}");
}

#[test]
fn jobs_that_no_queue_holds_are_not_called_a_difference_and_others_get_the_reason() {
    let routes = |first: &str| {
        format!(
            "JOB_ROUTER_ROUTE_NAMES = {first} M\nJOB_ROUTER_ROUTE_{first} @=r\nUNIVERSE VANILLA\n\
             REQUIREMENTS Owner == \"ann\"\nSET RouteName \"x\"\n@r\n\
             JOB_ROUTER_ROUTE_M @=r\nUNIVERSE VANILLA\nREQUIREMENTS WantB\n@r\n"
        )
    };
    // If it is evaluated first, the comparison of a number with a string is an error; if it is evaluated
    // last, it does not matter.
    let (status, out) = compared(&routes("A"), &routes("Z"));
    assert!(!out.contains("Owner = 0"), "{status} {out}");
    let (status, out) = compared(&one_route("Owner == \"ann\""), &one_route("Owner == \"bob\""));
    assert_eq!(status, 1, "{out}");
    let reason = |owner: &str| format!("  not routed: Owner == \"{owner}\" is not true in route R\n");
    assert!(out.contains(&reason("ann")) || out.contains(&reason("bob")), "{out}");
}
