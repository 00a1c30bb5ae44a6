//! Tests of `htc-router-translate lint`: each mistake is reported with its location and a hint, and correct rules have no
//! findings.

use crate::router::transform_verb::{ADS, call, place};

/// Returns the findings: rule, line and column of each.
fn findings(rules: &str) -> Vec<(String, u64, u64)> {
    let place = place(rules, ADS);
    let (status, out, stderr) = call("htc-router-translate", &["lint", "--jsonl", "rules"], place.path(), "");
    let found: Vec<_> = out
        .lines()
        .map(|line| {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(!record["fix"].as_str().unwrap().is_empty(), "{line}");
            let number = |key: &str| record[key].as_u64().unwrap();
            assert!(number("end_column") > number("column"), "{line}");
            (record["rule"].as_str().unwrap().to_owned(), number("line"), number("column"))
        })
        .collect();
    assert_eq!(status, i32::from(!found.is_empty()), "{stderr}");
    found
}

#[test]
fn each_mistake_is_found_at_its_location() {
    for (rules, rule, line, column) in [
        ("SET A 1\nSET A 2\n", "dead", 1, 5),
        ("SET A 1\nDEFAULT A 2\n", "dead", 2, 9),
        ("SET A 1\nDELETE A\n", "dead", 1, 5),
        ("if false\n  SET A 1\nendif\n", "dead", 2, 3),
        ("error : stop\nSET A 1\n", "dead", 2, 1),
        ("REQUIREMENTS A\nREQUIREMENTS B\nSET C 1\n", "dead", 1, 1),
        ("NAME a\nSET C 1\nNAME b\n", "dead", 1, 1),
        ("V = 1\nV = 2\nSET A $(V)\n", "dead", 1, 1),
        ("V = 1\nSET A 1\n", "unused", 1, 1),
        ("SET A $(V)\n", "undefined", 1, 7),
        ("SET A $(V)\nV = 1\n", "undefined", 1, 7),
        ("REQUIREMENTS false\nSET A 1\n", "never", 1, 14),
        ("REQUIREMENTS A == 1 && A == 2\nSET A 1\n", "never", 1, 14),
        ("REQUIREMENTS A > 5 && 3 > A\nSET A 1\n", "never", 1, 14),
        ("SET A $( V )\n", "reference", 1, 7),
        ("SET A $(V\n", "reference", 1, 7),
        ("SET A \"open\n", "quotes", 1, 7),
        ("SET A \"$(MY.B)\n", "quotes", 1, 7),
        ("SET A 'b'\n", "quotes", 1, 7),
        ("SET A \"b\" \"c\"\n", "expression", 1, 11),
        ("SET A /bin/true\n", "expression", 1, 7),
        ("EVALSET A 1 2\n", "rest-ignored", 1, 13),
        ("EVALSET A TARGET.B\n", "scope", 1, 11),
        ("EVALSET A strcta(\"a\")\n", "trap", 1, 11),
        ("COPY /(/ B\n", "regex", 1, 6),
        ("COPY /^A(.*)$/g B\\1\n", "regex", 1, 6),
        ("COPY /^A(.*)$/ B\\2\n", "regex", 1, 17),
        ("COPY /^A.*$/ B\\1\n", "regex", 1, 15),
        ("DELETE /A\n", "command", 1, 7),
        ("COPY /A/ B-\\0\n", "new-name", 1, 10),
        ("RENAME A \"B\"\n", "new-name", 1, 10),
        ("SETT A 1\n", "command", 1, 1),
        ("TRANSFORM 2\nSET A 1\n", "dead", 2, 1),
        ("SET A 1\nTRANSFORM 2 in (\np\n)\n# x\n\nSET B 1\n", "dead", 7, 1),
        ("SET B 1\nTRANSFORM 1\nSET A 1\n", "dead", 3, 1),
        ("EVALSET X RequestMemroy * 2\n", "unknown-attribute", 1, 11),
        ("SET X RequestMemroy * 2\n", "unknown-attribute", 1, 7),
        ("SET Y $(MY.RequestMemroy)\n", "unknown-attribute", 1, 12),
        ("SET Y $INT(MY.RequestMemroy)\n", "unknown-attribute", 1, 15),
        ("EVALMACRO M request_memory\nSET Y $(M)\n", "unknown-attribute", 1, 13),
        ("if\nSET A 1\nendif\n", "if", 1, 1),
        ("if word\nSET A 1\nendif\n", "if", 1, 1),
        ("if A == 1\nSET A 1\nendif\n", "complex-if", 1, 1),
        ("if true\nSET A 1\n", "if", 1, 1),
        ("SET A, 1\n", "trailing", 1, 6),
        ("SET = 1\nSET B 1\n", "statement-assigned", 1, 1),
        ("REQUIREMENTS : true\nSET B 1\n", "statement", 1, 1),
        ("+A = 1\nSET B 1\n", "plus-attribute", 1, 1),
        ("SET A B + 1\nSET C $INT(MY.A)\n", "function-ad", 2, 7),
        ("SET A 1\nTRANSFORM 3 x inn (a b)\n", "transform", 2, 11),
        ("SET A 1\nTRANSFORM 3 x in (\n", "transform", 2, 11),
        ("SET A 1\nTRANSFORM 3 x in (a b\n", "transform", 2, 11),
        ("SET A 1\nTRANSFORM abc def\n", "transform", 2, 11),
        ("SET A 1\nTRANSFORM -1\n", "transform", 2, 11),
        ("SET A 1\nTRANSFORM from\n", "transform", 2, 11),
    ] {
        assert_eq!(findings(rules), [(rule.to_owned(), line, column)], "{rules}");
    }
}

#[test]
fn valid_rules_have_no_findings() {
    for rules in [
        "NAME good\nREQUIREMENTS A >= 1 && A < 5 || B =?= undefined\nV = 2\nSET A $(V)\nEVALSET B A + 1\n",
        "SET A 1\nif defined MY.B\n  SET A 2\nendif\n",
        "SET A 1\nSET B A\nSET A 2\n",
        "SET A 1\nCOPY B A\n",
        "V = 1\nif defined MY.B\n  V = 2\nendif\nSET A $(V)\n",
        "V = 1\nSET A $(V)\nV = 2\nSET B $(V)\n",
        "V = 1\nV = $(V) + 1\nSET A $(V)\n",
        "V = a\nV += b\nSET A \"$(V)\"\n",
        "COPY /^Request(.+)$/ Original\\1\nRENAME /^Old(.)(.*)$/ New\\2\\1_\\0\nDELETE /^Tmp/\n",
        "EVALSET A strcat(\"a\\\\\", \"b\")\n",
        "SET A \"end\\\\\"\n",
        "SET A \"say \\\"x\\\"\"\n",
        "SET A $INT(MY.RequestCpus)\n",
        "SET A 2\nSET B $INT(MY.A)\n",
        "if version >= 9.0\n SET A 1\nelse\n SET A 2\nendif\n",
        "SET A \"$(Item)\"\nTRANSFORM from (\n one\n two\n)\n",
        "SET A \"$(Item)\"\nTRANSFORM 2 from /no/such/file\n",
        "DEFAULT A 1\nSET B A * $(MY.C:5)\n",
    ] {
        assert_eq!(findings(rules), [], "{rules}");
    }
}

/// Like `condor_transform_ads`, lint reads a file only up to TRANSFORM.
#[test]
fn statements_after_transform_are_warned_of_and_checked() {
    let text = "SET A 1\nTRANSFORM 1\nSETTT B 2\nREQUIREMENTS false\n";
    let found = findings(text);
    let rules: Vec<(&str, u64)> = found.iter().map(|(rule, line, _)| (rule.as_str(), *line)).collect();
    assert!([("dead", 3), ("command", 3), ("never", 4)].iter().all(|it| rules.contains(it)), "{rules:?}");
    let place = place("TRANSFORM 2\nSET A 1\n", ADS);
    let (status, _, stderr) =
        call("htc-router-translate", &["transform", "--rules", "rules", "ads"], place.path(), "");
    let warning =
        "rules:2:1: the statements from here on are never executed: the TRANSFORM on line 1 ends the rules";
    assert!(status == 0 && stderr.contains(warning), "{stderr}");
}
