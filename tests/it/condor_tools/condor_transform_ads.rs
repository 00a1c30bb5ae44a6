//! Cases in which `condor_transform_ads` reads rules, routes and ads in unexpected ways. The expected output
//! was printed by HTCondor 25.14.

use std::fs;

use crate::router::transform_verb::{call, place};

/// Returns standard output and exit status of the tool for `rules` and `ads`.
fn tool(rules: &str, ads: &str, words: &[&str]) -> (String, i32) {
    let place = place(rules, ads);
    fs::write(place.path().join("items.txt"), "x\n").unwrap();
    fs::create_dir(place.path().join("sub")).unwrap();
    fs::create_dir(place.path().join("sub-1")).unwrap();
    fs::write(place.path().join("again"), "include : again\n").unwrap();
    let (status, out, _) = call("condor_transform_ads", words, place.path(), "");
    (out, status)
}

/// Returns the value of X for each iteration, for an ad with the single attribute A, or the exit status after an error.
fn items(statement: &str) -> Result<Vec<String>, i32> {
    let (out, status) =
        tool(&format!("DELETE A\nSET X \"$(Item)\"\n{statement}"), "A = 1\n", &["-rules", "rules", "ads"]);
    let items = out.lines().filter_map(|line| line.strip_prefix("X = ")).map(|item| item.replace('"', ""));
    if status == 1 { Ok(items.collect()) } else { Err(status) }
}

#[test]
fn slices_are_read_as_integers_between_colons() {
    for slice in ["[1]", "[:]", "[]", "[ 1]", "[-2:]", "[1:2:3]", "[::-1]", "[1][2]"] {
        assert_eq!(
            items(&format!("TRANSFORM in {slice} (a b)\n")),
            Ok(vec!["a".into(), "b".into()]),
            "{slice}"
        );
    }
    for slice in ["[1:2:3:4]", "[1 2]", "[ 1 : 2 ]", "[a]", "[1"] {
        assert_eq!(items(&format!("TRANSFORM in {slice} (a b)\n")), Err(255), "{slice}");
    }
    // A slice that nothing follows is an item.
    assert_eq!(items("TRANSFORM in [1:2]\n"), Ok(vec!["[1:2]".into()]));
}

#[test]
fn a_second_parenthesis_opens_a_list_of_lines() {
    assert_eq!(items("TRANSFORM in ((a))\n"), Err(255));
    assert_eq!(items("TRANSFORM in ((a\nb\n)\n"), Ok(vec!["(a".into(), "b".into()]));
    assert_eq!(items("TRANSFORM in ( (a))\n"), Ok(vec!["(a)".into()]));
}

#[test]
fn a_count_is_decimal() {
    assert_eq!(items("TRANSFORM 02 in (a)\n"), Ok(vec!["a".into(), "a".into()]));
    assert_eq!(items("TRANSFORM 0x2\n"), Err(255));
}

#[test]
fn matching_accepts_one_kind_of_file() {
    assert_eq!(items("TRANSFORM matching files any items.txt\n"), Err(255));
    // A name without wildcards must only exist. Directories are sorted including their slash.
    assert_eq!(items("TRANSFORM matching dirs items.txt\n"), Ok(vec!["items.txt".into()]));
    assert_eq!(items("TRANSFORM matching dirs s* items*\n"), Ok(vec!["sub-1/".into(), "sub/".into()]));
    assert_eq!(items("TRANSFORM matching .*\n"), Ok(vec!["../".into(), "./".into()]));
}

#[test]
fn a_transform_statement_within_a_value_still_iterates() {
    // Rules with an iteration are not checked beforehand, so they are accepted, and fail at the first ad.
    let rules = "V @=end\nSET Y 1\nTRANSFORM 2\n@end\nSET X 1\n";
    assert_eq!(tool(rules, "A = 1\n", &["-rules", "rules", "ads"]), (String::new(), 255));
}

#[test]
fn only_blank_lines_end_an_ad() {
    for ads in ["A = 1\n***\nB = 2\n", "***\nA = 1\n", "A = 1\n--\n", "-- Schedd: x\nA = 1\n"] {
        assert_eq!(tool("SET X 1\n", ads, &["-rules", "rules", "ads"]), (String::new(), 0), "{ads}");
    }
}

#[test]
fn steps_go_to_standard_output_and_ads_to_the_file() {
    let words = ["-verbose", "-rules", "rules", "ads", "-out", "result"];
    assert_eq!(tool("SET X 1\n", "A = 1\n", &words), ("SET X to 1\n".into(), 1));
}

#[test]
fn a_plain_name_replaces_one_that_ends_with_a_nul_byte() {
    let words = ["-verbose", "-rules", "rules", "ads"];
    let expected = "SET X to 1\nSET X to 2\nA = 1\nX = 2\n\n";
    assert_eq!(tool("SET X, 1\nSET X 2\n", "A = 1\n", &words), (expected.into(), 1));
    // `SET X, 1` without another statement truncates the ad.
    assert_eq!(tool("SET X, 1\n", "A = 1\n", &words[1..]), ("A = 1\nX".into(), 1));
}

#[test]
fn a_number_sign_alone_is_not_a_command() {
    let words = ["-rules", "rules", "ads"];
    for rules in ["SET X 1\n  # text", "SET X 1\n  #", "\"#\" text\nSET X 1\n"] {
        assert_eq!(tool(rules, "A = 1\n", &words), ("A = 1\nX = 1\n\n".into(), 1), "{rules}");
    }
    assert_eq!(tool("SET X 1\n  #text", "A = 1\n", &words), (String::new(), 255));
}

#[test]
fn automatic_output_is_long() {
    let words = ["-rules", "rules", "ads", "-out:auto", "-"];
    assert_eq!(tool("SET X 1\n", "[\n{\n\"A\": 1\n}\n]\n", &words), ("A = 1\nX = 1\n\n".into(), 1));
}

#[test]
fn each_kind_of_failure_has_its_exit_status() {
    let words = ["-rules", "rules", "ads"];
    assert_eq!(tool("SET X 1\ninclude : again\n", "A = 1\n", &words), (String::new(), 254));
    assert_eq!(tool("SET X 1\nerror 5 : no\n", "A = 1\n", &words), (String::new(), 255));
}

/// Returns standard output and exit status of the tool with a configuration.
fn configured(config: &str, words: &[&str]) -> (String, i32) {
    let place = place("JOB_TRANSFORM_Old = [ set_Z = 1 ]\n", "A = 1\n");
    fs::write(place.path().join("condor_config"), config).unwrap();
    let (status, out, _) = call("condor_transform_ads", words, place.path(), "");
    (out, status)
}

#[test]
fn an_old_route_in_a_parameter_is_expanded() {
    let config = "N = 42\nJOB_TRANSFORM_Old = [ set_X = $(N) ]\n";
    let expected = ("A = 1\nX = 42\n\n".to_owned(), 1);
    assert_eq!(configured(config, &["-jobtransforms", "Old", "ads"]), expected);
    // Names that rules define as well are read from the configuration.
    assert_eq!(configured(config, &["-rules", "rules", "-jobtransforms", "Old", "ads"]), expected);
    let own = place("SET X 1\n", "A = 1\n");
    fs::write(own.path().join("condor_config"), config).unwrap();
    let words = ["transform", "--config-file", "condor_config", "--job-transforms", "Old", "ads"];
    let (status, out, stderr) = call("htc-router-translate", &words, own.path(), "");
    assert_eq!((status, out.as_str()), (0, "A = 1\nX = 42\n\n"), "{stderr}");
}

#[test]
fn an_empty_parameter_is_not_a_transform() {
    // The tool checks the last transform that exists. If it has no reachable command, it is treated as configuration.
    let config = "JOB_TRANSFORM_A = SET X 1\nJOB_TRANSFORM_B @=end\nif version > 8\nSET Y 1\nendif\n@end\n\
                  JOB_TRANSFORM_C =\n";
    let words = ["-jobtransforms", "A,B,C", "ads"];
    assert_eq!(configured(config, &words), ("A = 1\nX = 1\n\n".into(), 1));
}

#[test]
fn routes_after_an_invalid_entry_are_converted() {
    let routes = |text: &str| configured(&format!("JOB_ROUTER_ENTRIES = {text}\n"), &["-convertoldroutes"]).0;
    let titles = |text: &str| routes(text).matches("#####\n").count();
    // The parser also skips the character after a word, a number or a single operator.
    assert_eq!(titles("x[ Name = \"K\" ]"), 4);
    assert_eq!(titles("x [ Name = \"K\" ]"), 2);
    assert_eq!(titles("[ a.b = 1 ]"), 4);
    assert_eq!(titles("[ Name = \"K\" ] \"s\"  [ Name = \"L\" ]"), 5);
    let expected = "\n##### JOB_ROUTER_ENTRIES [1] #####\nNAME K\n# autoconversion of route 'K' from old route syntax\n\
                    V = text\n# copy_* rules\nCOPY A \n";
    assert_eq!(routes("[ Name = \"K\"; V = (\"text\"); copy_A = \"\" ]"), expected);
}

#[test]
fn several_threads_write_the_same_as_one() {
    let ad = |number: u32| format!("A = {number}\nOwner = \"o{number}\"\n\n");
    let written = |number: u32| format!("A = {number}\nB = 1{number}\nC = 1\nOld = \"o{number}\"\n\n");
    let rules = "m = 1$(MY.A)\nSET B $(m)\nEVALSET C $(MY.Then:1)\nRENAME Owner Old\n";
    let (ads, all): (String, String) = ((0..30_000).map(ad).collect(), (0..30_000).map(written).collect());
    let odd = ads.replace("A = 25000\n", "A = 25000\nThen = \"+\"\n");
    let without =
        all.replace("B = 125000\nC = 1\nOld = \"o25000\"", "B = 125000\nOld = \"o25000\"\nThen = \"+\"");
    // After an invalid line, no more ads are read.
    let bad = ads.replace("A = 25000\n", "bad\n");
    let before = &all[..all.find("A = 25000\n").unwrap()];
    for (ads, expected, told) in [(&ads, &all[..], ""), (&odd, &without, "EVALSET C"), (&bad, before, "")] {
        let place = place(rules, ads);
        let (status, out, err) = call("condor_transform_ads", &["-rules", "rules", "ads"], place.path(), "");
        assert!(out == expected, "{} bytes", out.len());
        assert!(status == 1 && err.contains(told) && err.is_empty() == told.is_empty(), "{status} {err}");
    }
}

#[test]
fn no_rules_may_follow_a_transform_that_iterates_even_if_it_is_unreadable() {
    let run = |first: &str| {
        let place = place(first, "A = 1\n");
        fs::write(place.path().join("second"), "SET B 1\n").unwrap();
        let words = ["-rules", "rules", "-rules", "second", "ads"];
        let (status, out, _) = call("condor_transform_ads", &words, place.path(), "");
        (status, out)
    };
    assert_eq!(run("REQUIREMENTS (\nSET Z 1\nTRANSFORM 2\n"), (1, String::new()));
    // Rules without an iteration may be followed by other rules.
    assert!(run("REQUIREMENTS (\nSET Z 1\nTRANSFORM 1\n").1.contains("B = 1\n"));
}

#[test]
fn iterating_is_0_if_transform_does_not_iterate() {
    for (arguments, expected) in [("$INT(KN)", "0"), ("$(NONE)", "0"), ("$(NONE:1)", "0"), ("2", "1")] {
        let rules = format!("KN = abc\nSET It \"$(Iterating)\"\nTRANSFORM {arguments}\n");
        let (out, _) = tool(&rules, "A = 1\n", &["-rules", "rules", "ads"]);
        assert!(out.contains(&format!("It = \"{expected}\"\n")), "{arguments}: {out}");
    }
}

#[test]
fn a_transform_with_a_count_of_one_sets_its_macros_for_every_ad() {
    let ads = "A = 1\n\nA = 2\n\nA = 3\n";
    let shown = |out: &str| {
        out.lines().filter(|line| line.starts_with("B = ")).map(str::to_owned).collect::<Vec<_>>()
    };
    for (statement, expected) in [
        ("TRANSFORM $(V)", "B = \"0-0-0\""),
        ("TRANSFORM $(V:1)", "B = \"0-0-0\""),
        ("TRANSFORM 1", "B = \"-0-\""),
    ] {
        let rules = format!("SET B \"$(Step)-$(Iterating)-$(Row)\"\n{statement}\n");
        let (out, status) = tool(&rules, ads, &["-rules", "rules", "ads"]);
        assert_eq!((shown(&out), status), (vec![expected.to_owned(); 3], 1), "{statement}");
        let place = place(&rules, ads);
        let (_, out, _) =
            call("htc-router-translate", &["transform", "--rules", "rules", "ads"], place.path(), "");
        assert_eq!(shown(&out), vec![expected.to_owned(); 3], "{statement}");
    }
}

#[test]
fn ads_in_a_list_value_of_a_macro_are_printed_as_lines() {
    // After the expansion, the value of W is not an expression.
    for list in
        ["{1, [a = 1; b = [c = 2]], {[]}}", "{1 + [a = 1; b = [c = 2]].a}", "{size([a = 1]) > 0 || true}"]
    {
        let rules = format!("EVALMACRO V {list}\nSET X \"y\"\nSET W $(V)\n");
        let (out, status) = tool(&rules, "A = 1\n", &["-rules", "rules", "ads"]);
        assert_eq!((out.trim_end(), status), ("A = 1\nX = \"y\"", 1), "{list}");
    }
}

#[test]
fn forms_of_the_output_are_written_in_lower_case() {
    let out = |form: &str| tool("SET B 2\n", "A = 1\n", &["-rules", "rules", form, "-", "ads"]).0;
    assert_eq!(out("-out:XML"), "A = 1\nB = 2\n\n");
    assert_eq!(out("-out:json,XML"), "[\n{\n  \"A\": 1,\n  \"B\": 2\n}\n]\n");
}
