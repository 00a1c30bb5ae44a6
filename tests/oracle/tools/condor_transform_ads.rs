//! Command lines of `condor_transform_ads`: forms of input and output, several rules, macros, mistakes.

use super::{Case, shuffled, words};
use crate::random::Random;
use crate::transform::{ad, rules};

pub(super) fn case(random: &mut Random) -> Case {
    let mut options = Vec::new();
    let mut files = vec![(
        "condor_config".to_owned(),
        words(&[
            "RELEASE_DIR = /usr",
            "LOCAL_DIR = .",
            "LOG = .",
            "ARCH = X86_64",
            "OPSYS = LINUX",
            "KNOB = knob value",
            "KREF = $(V) $(KNOB)",
            "JOB_TRANSFORM_NAMES = one",
            "JOB_TRANSFORM_one @=end",
            "SET One 1",
            "@end",
            "JOB_TRANSFORM_two @=end",
            "REQUIREMENTS A =!= undefined",
            "EVALSET Two A",
            "@end",
            "JOB_ROUTER_ROUTE_r1 @=end",
            "UNIVERSE VANILLA",
            "SET Routed true",
            "@end",
        ]),
    )];
    for number in 0..1 + random.below(2) {
        let file = format!("rules{number}");
        options.push(words(&["-rules", &file]));
        files.push((file, rules(random)));
    }
    for number in 0..1 + random.below(2) {
        let file = format!("ads{number}");
        let (form, text) = ads(random);
        options.push(match form {
            Some(form) => vec![format!("-in:{form}"), file.clone()],
            None if random.one_in(3) => words(&["-in", &file]),
            None => vec![file.clone()],
        });
        files.push((file, text));
    }
    for _ in 0..random.below(3) {
        options.push(match random.below(13) {
            0..=2 => vec![
                format!(
                    "-out:{}",
                    random.pick(&[
                        "json",
                        "jsonl",
                        "new",
                        "newl",
                        "xml",
                        "long",
                        "auto",
                        "nosort",
                        "json,nosort",
                        "long,nosort",
                        "bogus",
                        "xml,nosort"
                    ])
                ),
                (random.word(&["-", "-", "made"])).to_owned(),
            ],
            3 => words(&["-out", random.word(&["-", "made"])]),
            4 => vec![(random.word(&["-long", "-json", "-xml"])).to_owned()],
            5 => vec![(random.word(&["-terse", "-verbose"])).to_owned()],
            6 | 7 => vec![format!(
                "{}={}",
                random.pick(&["V", "W", "K", "k.x", "tmp", "bad name"]),
                random.pick(&["1", "a b", "", "x=y", "$(KNOB)"])
            )],
            8 => words(&["-jobtransforms", random.word(&["one", "two", "one,two"])]),
            9 => words(&["-jobroute", "r1"]),
            10 => vec!["-testing:nooutput".to_owned()],
            11 => vec![(random.word(&["-bogus", "missing", "-rules", "-out", "-in"])).to_owned()],
            _ => vec!["-convertoldroutes".to_owned()],
        });
    }
    Case { arguments: shuffled(random, options), files, environment: Vec::new() }
}

/// Returns ads in a form that the option names.
fn ads(random: &mut Random) -> (Option<&'static str>, Vec<String>) {
    match random.below(8) {
        0 => {
            let text = "[\n{ \"A\": 1, \"B\": \"two\", \"C\": \"/Expr(A + 1)/\" },\n{ \"A\": 2.5, \"D\": [1, {\"x\": null}] }\n]";
            (Some("json"), text.lines().map(str::to_owned).collect())
        }
        1 => (
            Some("new"),
            words(&[
                "{",
                "[ A = 1; B = \"two\"; C = A + 1 ],",
                "[ A = 2.5; D = { 1,[ x = undefined ] } ]",
                "}",
            ]),
        ),
        2 => {
            let text = "<?xml version=\"1.0\"?>\n<!DOCTYPE classads SYSTEM \"classads.dtd\">\n<classads>\n<c>\n<a n=\"A\"><i>1</i></a>\n<a n=\"B\"><s>two</s></a>\n</c>\n<c>\n<a n=\"C\"><e>A + 1</e></a>\n</c>\n</classads>";
            (Some("xml"), text.lines().map(str::to_owned).collect())
        }
        _ => {
            let mut lines = Vec::new();
            for _ in 0..1 + random.below(3) {
                lines.extend(ad(random));
                lines.push(String::new());
            }
            (*random.pick(&[None, None, None, Some("long"), Some("auto")]), lines)
        }
    }
}
