//! Command lines of `condor_config_val` with random configurations.

use super::{Case, words};
use crate::random::Random;

/// Names that configurations define. A value refers only to names before its own, because the reference does not end
/// for most definitions that refer to themselves.
const NAMES: [&str; 12] =
    ["Alpha", "Bravo", "m.n", "Delta", "E_1", "Fox", "FlagT", "Golf", "q/r", "Jul", "Kilo", "Uni"];

/// Parameters of the reference that configurations set or refer to.
const KNOWN: [&str; 9] = [
    "LOCAL_DIR",
    "LOG",
    "SPOOL",
    "COLLECTOR_HOST",
    "START",
    "MAX_JOBS_RUNNING",
    "NUM_CPUS",
    "UPDATE_INTERVAL",
    "SCHEDD_DEBUG",
];

const PREFIXES: [&str; 5] = ["TOOL.", "SCHEDD.", "STARTD.", "ln.", "SCHEDD.ln."];

pub(super) fn case(random: &mut Random) -> Case {
    let mut files = Files { random, all: Vec::new() };
    files.configuration("condor_config", 0);
    let Files { all, .. } = files;
    let arguments = arguments(random);
    let mut environment = vec![("_CONDOR_NETWORK_HOSTNAME".to_owned(), "node.example.org".to_owned())];
    for name in ["_CONDOR_Alpha", "_CONDOR_START", "_condor_Kilo", "EV1", "_CONDOR_SCHEDD.Fox"] {
        if random.one_in(12) {
            let value = random.word(&["from env", "", "$(Alpha)x", "7", "true"]);
            // Alpha may not refer to itself.
            let value = if name.ends_with("Alpha") { "from env" } else { value };
            environment.push((name.to_owned(), value.to_owned()));
        }
    }
    Case { arguments, files: all, environment }
}

fn name(random: &mut Random) -> String {
    let name = match random.below(8) {
        0 => (random.word(&KNOWN)).to_owned(),
        1 => "Undef1".to_owned(),
        _ => (random.word(&NAMES)).to_owned(),
    };
    match random.below(9) {
        0 => name.to_uppercase(),
        1 => name.to_lowercase(),
        2 => format!("{}{name}", random.pick(&PREFIXES)),
        _ => name,
    }
}

/// Returns the words of a command line. Options that contact a daemon are left out.
fn arguments(random: &mut Random) -> Vec<String> {
    let mut all = Vec::new();
    for _ in 0..random.below(3) {
        match random.below(12) {
            0 | 1 => all
                .extend(words(&["-subsystem", random.word(&["SCHEDD", "STARTD", "tool", "MASTER", "NOPE"])])),
            2 | 3 => all.extend(words(&["-local-name", random.word(&["ln", "slot_a", "x"])])),
            4 | 5 => all.push((random.word(&["-v", "-verbose", "-verb"])).to_owned()),
            6 => all.push((random.word(&["-raw", "-expand", "-expanded", "-exp"])).to_owned()),
            7 => all.push((random.word(&["-default", "-def"])).to_owned()),
            8 => all.push((random.word(&["-mixedcase", "-mix"])).to_owned()),
            9 => all.push((random.word(&["-evaluate", "-ev"])).to_owned()),
            10 => all.push(
                (random.word(&["-trace", "-tr", "-used", "-unused", "-root-config", "-config", "-bogus"]))
                    .to_owned(),
            ),
            _ => all.push(format!(
                "-verbose:{}",
                random.pick(&[
                    "use", "usage", "terse", "type", "int", "bool", "double", "long", "strings", "both"
                ])
            )),
        }
    }
    match random.below(16) {
        0..=4 => {
            all.push((random.word(&["-dump", "-dump", "-du"])).to_owned());
            // Without a pattern a few parameters depend on how the reference was built, and on chance.
            for _ in 0..1 + random.below(3) {
                let pattern = random.word(&[
                    "^(Alpha|Bravo|Delta|Fox|Kilo)$",
                    "^[A-B]",
                    "ALPHA|fox|jul",
                    "^SCHEDD",
                    "^m.n",
                    "(",
                    "Nope",
                    "^(E_1|Golf|q/r|Uni)$",
                ]);
                all.push(pattern.to_owned());
            }
            if random.one_in(4) {
                all.push((random.word(&["-v", "-raw", "-expand", "-evaluate", "-default"])).to_owned());
            }
        }
        5 | 6 => all.push((random.word(&["-summary", "-sum", "-summary:detected", "-summary:x"])).to_owned()),
        7 => {
            let form = random.word(&[
                "",
                ":source",
                ":sort",
                ":only",
                ":source,sort",
                ":comment",
                ":detected",
                ":environment",
                ":duplicate",
                ":matches_default",
                ":upgrade",
                ":file",
            ]);
            all.push(format!("-writeconfig{form}"));
            all.push((random.word(&["-", "-", "written"])).to_owned());
        }
        8 | 9 => {
            all.push((random.word(&["-macro", "-mac", "-macro:path"])).to_owned());
            for _ in 0..1 + random.below(2) {
                let text = value(random, NAMES.len());
                all.push(text);
            }
        }
        10 => {
            all.push("-check-if".to_owned());
            all.push(condition(random, NAMES.len()));
        }
        11 => all.extend(words(&[
            "use",
            random.word(&[
                "ROLE:Submit",
                "FEATURE",
                "POLICY:Hold_If_Memory_Exceeded",
                "NOPE",
                "ROLE:x",
                "feature:gpus",
            ]),
        ])),
        _ => {}
    }
    for _ in 0..random.below(4) {
        all.push(name(random));
    }
    if random.one_in(20) {
        all.push((random.word(&["-", "--", "-subsystem", "-local-name", "-v", "-raw"])).to_owned());
    }
    all
}

struct Files<'r> {
    random: &'r mut Random,
    all: Vec<(String, Vec<String>)>,
}

impl Files<'_> {
    fn configuration(&mut self, file: &str, depth: usize) {
        let mut lines = Vec::new();
        for _ in 0..2 + self.random.below(12) {
            self.statement(&mut lines, depth, 0);
        }
        self.all.insert(0, (file.to_owned(), lines));
    }

    fn statement(&mut self, lines: &mut Vec<String>, depth: usize, nesting: usize) {
        let random = &mut *self.random;
        let at = random.below(NAMES.len());
        let mut defined = NAMES[at].to_owned();
        let mut known = at;
        if random.one_in(9) {
            defined = (random.word(&KNOWN)).to_owned();
            known = 0;
        }
        match random.below(12) {
            0 => defined = format!("{}{defined}", random.pick(&PREFIXES)),
            1 => defined = defined.to_uppercase(),
            _ => {}
        }
        match random.below(22) {
            0 | 1 if nesting < 3 => {
                lines.push(format!("if {}", condition(random, NAMES.len())));
                self.statement(lines, depth, nesting + 1);
                if self.random.one_in(3) {
                    lines.push(format!("elif {}", condition(self.random, NAMES.len())));
                    self.statement(lines, depth, nesting + 1);
                }
                if self.random.one_in(2) {
                    lines.push("else".to_owned());
                    self.statement(lines, depth, nesting + 1);
                }
                lines.push("endif".to_owned());
            }
            2 => {
                let end = random.word(&["end", "x y", "E1"]);
                lines.push(format!("{defined} @={end}"));
                for _ in 0..random.below(4) {
                    let text = value(random, known);
                    lines.push(match random.below(5) {
                        0 => "# c".to_owned(),
                        1 => format!("  {text} \\"),
                        2 => String::new(),
                        _ => text,
                    });
                }
                lines.push(format!("@{end}"));
            }
            3 => {
                lines.push(format!("{defined} = {} \\", value(random, known)));
                lines.push(format!("  {}", value(random, known)));
            }
            4 => lines.push(format!("{defined} = $({defined}) {}", value(random, known))),
            5 => {
                let operator = random.word(&["+=", "+,=", "+&&=", "+|=", "+*=", "+;="]);
                lines.push(format!("{defined} {operator} {}", value(random, known)));
            }
            6 => lines.push(
                (random.word(&[
                    "use ROLE : Submit",
                    "use ROLE : Execute, Submit",
                    "use POLICY : Always_Run_Jobs",
                    "use FEATURE : GPUs",
                    "use SECURITY : HOST_BASED",
                    "use POLICY : LIMIT_JOB_RUNTIMES(3600)",
                    "use FEATURE : StartdCronOneShot(ONE, /bin/true)",
                    "use POLICY : PREEMPT_IF(x, 2, three)",
                    "use role:execute",
                    "use ROLE : Nope",
                    "@use FEATURE : PartitionableSlot(1, 50%)",
                    "use feature: policy_expr_fragments",
                ]))
                .to_string(),
            ),
            7 if depth < 2 => {
                let file = format!("i{}.conf", self.all.len());
                let form = random.word(&[
                    "include : @DIR@/",
                    "include : ",
                    "@include : @DIR@/",
                    "include ifexist : @DIR@/",
                    "include ifexist : @DIR@/none",
                    "include : $(CONFIG_ROOT)/",
                    "LOCAL_CONFIG_FILE = @DIR@/",
                    "REQUIRE_LOCAL_CONFIG_FILE = false\nLOCAL_CONFIG_FILE = @DIR@/none, @DIR@/",
                ]);
                lines.extend(format!("{form}{file}").lines().map(str::to_owned));
                self.configuration(&file, depth + 1);
            }
            8 => lines.push(
                (random.word(&[
                    "# comment \\",
                    "",
                    "#",
                    "  # x",
                    "warning : some text",
                    "warning : $(Alpha)",
                ]))
                .to_owned(),
            ),
            9 if random.one_in(6) => lines.push(
                (random.word(&[
                    "error : some text",
                    "no statement",
                    "[head]",
                    "= 5",
                    "else",
                    "endif",
                    "Bad Name = 1",
                    "if",
                    "use nothing",
                    "include : @DIR@/missing",
                    "a:b",
                ]))
                .to_string(),
            ),
            _ => {
                let blanks = random.word(&[" = ", "=", "  =   ", "\t= "]);
                let end = random.word(&["", "", "", "  ", "\t", "\r"]);
                lines.push(format!("{defined}{blanks}{}{end}", value(random, known)));
            }
        }
    }
}

fn condition(random: &mut Random, known: usize) -> String {
    let name = NAMES[random.below(known)];
    match random.below(14) {
        0 => format!("defined {name}"),
        1 => format!("! defined {name}"),
        2 => "version >= 24.0".to_owned(),
        3 => format!(
            "version {} {}",
            random.pick(&["<", "==", ">", "!=", "<="]),
            random.pick(&["9.1", "25.14.0", "8.1.6", "x"])
        ),
        4 => "true".to_owned(),
        5 => "0".to_owned(),
        6 => format!("$({name}:false)"),
        7 => format!("defined $({name})"),
        8 => "! yes".to_owned(),
        9 => "defined use ROLE:Submit".to_owned(),
        10 => format!("$({name})"),
        11 => (random.word(&["0.5", "undefined", "1 == 1", "", "True && false", "no", "!"])).to_owned(),
        12 => "defined".to_owned(),
        _ => "$(FlagT:1)".to_owned(),
    }
}

/// Returns a value that refers only to the first `known` names.
fn value(random: &mut Random, known: usize) -> String {
    let between = random.word(&[" ", "", ", ", "/"]);
    (0..random.below(4)).map(|_| part(random, known, 0)).collect::<Vec<_>>().join(between)
}

fn part(random: &mut Random, known: usize, depth: usize) -> String {
    if known == 0 || depth > 2 {
        return word(random);
    }
    let name = NAMES[random.below(known)];
    match random.below(28) {
        0..=4 => format!("$({name})"),
        5 => format!("$({name}:{})", part(random, known, depth + 1)),
        6 => format!("$(Undef1:{})", part(random, known, depth + 1)),
        7 => "$(Undef1)".to_owned(),
        8 => format!("$INT({name})"),
        9 => format!("$INT({},%0{}d)", random.pick(&["5", "2+3", "7.6", name]), random.below(9)),
        10 => format!("$REAL({name})"),
        11 => format!("$REAL(2.25,%.{}f)", random.below(5)),
        12 => format!("$STRING({name})"),
        13 => format!("$EVAL({name})"),
        14 => format!("$CHOICE({},a,b,c)", random.below(5)),
        15 => format!("$CHOICE(1,{name})"),
        16 => format!("$SUBSTR({name},{})", random.below(6)),
        17 => format!("$SUBSTR({name},{},-{})", random.below(4), random.below(4)),
        18 => {
            // Not dd: the reference reads before the start of a path with fewer directories.
            let letters =
                random.word(&["p", "n", "x", "d", "pn", "nx", "q", "a", "b", "u", "pnx", "dq", "f", ""]);
            format!("$F{letters}({name})")
        }
        19 => format!("$DIRNAME({name})"),
        20 => format!("$BASENAME({name})"),
        21 => format!("$ENV({})", random.pick(&["TZ", "EV2", "EV2:none", "EV1"])),
        22 => "$(DOLLAR)(x)".to_owned(),
        23 => format!("$$({name})"),
        24 => format!("$RANDOM_CHOICE({})", random.pick(&["solo", "x"])),
        _ => word(random),
    }
}

fn word(random: &mut Random) -> String {
    (random.word(&[
        "7",
        "-3",
        "2.5",
        "1e3",
        "true",
        "False",
        "/a/b.c/d.tar.gz",
        "word",
        "\"quoted text\"",
        "a,b;c",
        "(A + 1)",
        "1+1",
        "10 * 60",
        "$",
        "$(",
        ")",
        "x=y",
        "host.example.org:9618",
        "'single'",
        "&& A",
        "#hash",
        "%d",
        "~user",
        "@",
        "{1, 2}",
        "*.txt",
        "?",
        "",
        "ünï",
        "[l]",
        "<z>",
        "p:q",
    ]))
    .to_string()
}
