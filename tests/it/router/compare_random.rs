//! Tests with random conditions in routers: `compare` finds what differs, and nothing else.

use htc_hooks::classad::ClassAd;
use htc_hooks::os::RealWorld;
use htc_hooks::time::ClockReading;
use htc_hooks::why::coverage::SeededRandom;
use std::fs;

use super::compare::{call, compared, condition, difference, one_route, reworded, universe};

#[test]
#[ignore = "takes 5 to 30 s of processor time: `.ci/full combinations`"]
fn two_random_routers_that_differ_in_one_literal_are_distinguished() {
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
        assert!(found.0, "round {round}: not distinguished:\n{left}\n{right}");
        let found = difference(&left, &left, &world);
        assert!(!found.0, "round {round}: differs from itself:\n{left}");
        assert!(found.1.is_empty(), "round {round}: {:?}\n{left}", found.1);
    }
}

/// Conditions with many literals, long patterns, and several patterns that must match together can be met.
#[test]
#[ignore = "takes 5 to 30 s of processor time: `.ci/full combinations`"]
fn large_and_combined_conditions_are_reached_by_random_jobs() {
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
    // No string of the permitted length matches this pattern, which must be determined quickly.
    let nested = one_route("regexp(\"((a{300}){300}){5}\", Owner)");
    let (status, out) = compared(&nested, &reworded(&nested));
    assert_eq!(status, 4, "{out}");
}

/// Returns a random condition of comparisons and patterns about three attributes.
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

/// Compares the results with an exhaustive test of all jobs in a small universe, which shows which values a condition can have
/// and which jobs distinguish two conditions. `compare` must not report a reachable case as unreachable, or two conditions as
/// equal that differ for some job.
#[test]
fn compare_agrees_with_trying_all_jobs_on_random_conditions() {
    let rounds: usize = std::env::var("COMPARE_CASES").map_or(3, |text| text.parse().unwrap());
    let world = RealWorld::new().with_fixed_time(ClockReading::from_epoch(1_795_000_000)).in_utc();
    let ads = universe();
    let mut random = SeededRandom(20_261_122);
    let mut apart = 0;
    for round in 0..rounds {
        let (one, two) = (tree(&mut random, 3), tree(&mut random, 3));
        // The two conditions are unrelated, or nearly equal.
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
        assert!(!differ || found, "round {round}: not distinguished ({unreached:?}):\n{one}\n{two}");
        apart += usize::from(differ);
        let (found, unreached) = difference(&one_route(&one), &one_route(&one), &world);
        assert!(!found, "{one}");
        let whole = unreached.iter().filter(|line| line.contains("REQUIREMENTS: no job was found"));
        for line in whole {
            let expected = !line.ends_with("for which it is anything but true");
            assert!(!truths[0].contains(&expected), "round {round}: {line}\n{one}");
        }
    }
    assert!(apart * 4 > rounds, "{apart} of {rounds} differ");
}

/// Returns a random value for an attribute of an old route.
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
fn convert_output_loads_silently_and_routes_like_the_original() {
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
                // Only a plain value is used, because the evaluation of a statement in 25.14 can refer to it.
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
        let (status, new, stderr) = call(&["convert", "--no-env", "--config-file", "old"], place);
        // A name with a blank cannot be written in a statement, which is reported.
        let odd = text.contains("'a b'");
        assert_eq!(status, i32::from(odd), "round {round}\n{text}{new}{stderr}");
        // A limit that is not a number is reported as well; the old route has the same limit.
        // So is a scope that is undefined in both.
        let is_expected = |line: &str| {
            ["'a b' is left out", "is not an integer; ", ". is undefined "]
                .iter()
                .any(|text| line.contains(text))
        };
        assert!(stderr.lines().all(is_expected), "round {round}\n{text}{stderr}");
        // The new route has the same invalid limit, so its use is reported as well.
        let has_odd_limit = stderr.contains("is not an integer; ");
        fs::write(place.join("new"), &new).unwrap();
        fs::write(place.join("none"), "").unwrap();
        let (status, out, stderr) = call(&["match", "--no-env", "--config-file", "new", "none"], place);
        assert!(
            status == 0 && (has_odd_limit || stderr.is_empty()),
            "round {round}\n{text}{new}{out}{stderr}"
        );
        let (status, out, stderr) = call(&["compare", "--no-env", "old", "new", "--generate", "50"], place);
        assert_ne!(status, 1, "round {round}\n{text}{new}{out}{stderr}");
    }
}

#[test]
fn a_router_never_differs_from_itself() {
    let clause = |at: usize| {
        format!("(Attr{at}A == \"v{at}\" && regexp(\"^a(?=b)c{at}$\", Attr{at}B) && Attr{at}C > {at})")
    };
    let many: Vec<String> = (0..150).map(clause).collect();
    let text = one_route(&many.join(" || "));
    let commented = text.replace("UNIVERSE", "# a comment\nUNIVERSE");
    for other in [&text, &commented] {
        let (status, out) = compared(&text, other);
        assert_eq!(status, 0, "{out}");
        assert!(out.ends_with("the two have the same effect for every job\n"), "{out}");
    }
    // A common part may remain unreached if other parts differ.
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
