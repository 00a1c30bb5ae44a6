//! Applies random rule sets to random ads with `condor_transform_ads` and with our program under that name.
//!
//! `HTC_ORACLE_TRANSFORMS` sets the number of pairs of rules and ad [default: 200], `HTC_ORACLE_SEED` the random seed.
//! Without the real tool in HTC_ORACLE_TOOLS or on PATH nothing is compared, and the test prints a message.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::random::Random;

/// Time limit of a program.
const PATIENCE: Duration = Duration::from_secs(20);
/// Number of ads to which one rule set is applied.
const ADS: usize = 10;

#[test]
fn random_transforms_do_what_the_reference_does() {
    let Some(reference) = super::tool("condor_transform_ads") else {
        println!("skipped: no condor_transform_ads in HTC_ORACLE_TOOLS or on PATH");
        return;
    };
    let pairs: u64 = super::number("HTC_ORACLE_TRANSFORMS").unwrap_or(200);
    let seed = super::number("HTC_ORACLE_SEED").unwrap_or(20_251_114);
    let place = tempfile::tempdir().unwrap();
    let ours = place.path().join("condor_transform_ads");
    symlink(env!("CARGO_BIN_EXE_htc-router-translate"), &ours).unwrap();
    let next = AtomicU64::new(0);
    let differences = Mutex::new(Vec::new());
    let crashed = AtomicU64::new(0);
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (next, differences, crashed) = (&next, &differences, &crashed);
            let sides = Sides::new(place.path().join(format!("w{worker}")), &reference, &ours);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number * ADS as u64 >= pairs || differences.lock().unwrap().len() >= 5 {
                        return;
                    }
                    let mut random = Random::new(seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                    let case = Case::random(&mut random);
                    match sides.compare(&case) {
                        Compared::Same => {}
                        Compared::Crashed => drop(crashed.fetch_add(1, Ordering::Relaxed)),
                        Compared::Different => {
                            let small = sides.shrink(case);
                            differences.lock().unwrap().push(sides.report(&small, number));
                        }
                    }
                }
            });
        }
    });
    let differences = differences.into_inner().unwrap();
    println!(
        "{pairs} pairs compared, the reference crashed or did not end on {} rule sets",
        crashed.into_inner()
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[derive(Clone)]
struct Case {
    rules: Vec<String>,
    ads: Vec<Vec<String>>,
}

enum Compared {
    Same,
    Crashed,
    Different,
}

struct Sides {
    directory: PathBuf,
    reference: PathBuf,
    ours: PathBuf,
}

impl Sides {
    fn new(directory: PathBuf, reference: &Path, ours: &Path) -> Self {
        fs::create_dir_all(&directory).unwrap();
        let config = "RELEASE_DIR = /usr\nLOCAL_DIR = .\nLOG = .\nARCH = X86_64\nOPSYS = LINUX\nKNOB = knob value\nKREF = $(V) $(KNOB)\n";
        fs::write(directory.join("condor_config"), config).unwrap();
        Sides { directory, reference: reference.to_owned(), ours: ours.to_owned() }
    }

    /// Returns the standard output and the status; `None` if it was killed by a signal or did not end,
    /// because the reference expands macros that refer to each other forever.
    fn ask(&self, program: &Path) -> Option<(Vec<u8>, i32)> {
        let mut child = Command::new(program)
            .args(["-rules", "rules", "ads"])
            .current_dir(&self.directory)
            .env_clear()
            .env("CONDOR_CONFIG", "condor_config")
            .env("TZ", "UTC")
            .env("LD_LIBRARY_PATH", std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut output = Vec::new();
            let _ = stdout.read_to_end(&mut output);
            let _ = send.send(output);
        });
        let output = receive.recv_timeout(PATIENCE).ok();
        if output.is_none() {
            child.kill().unwrap();
        }
        let status = child.wait().unwrap();
        match status.signal() {
            Some(_) => None,
            None => output.map(|output| (output, status.code().unwrap_or_default())),
        }
    }

    fn write(&self, case: &Case) {
        fs::write(self.directory.join("rules"), case.rules.join("\n") + "\n").unwrap();
        let ads: Vec<String> = case.ads.iter().map(|ad| ad.join("\n") + "\n").collect();
        fs::write(self.directory.join("ads"), ads.join("\n")).unwrap();
    }

    fn compare(&self, case: &Case) -> Compared {
        self.write(case);
        let Some(reference) = self.ask(&self.reference) else { return Compared::Crashed };
        // Status 4 is a failed assertion of the reference.
        if reference.1 == 4 {
            return Compared::Crashed;
        }
        if self.ask(&self.ours).as_ref() == Some(&reference) { Compared::Same } else { Compared::Different }
    }

    /// Removes everything that is not needed for the difference.
    fn shrink(&self, mut case: Case) -> Case {
        loop {
            let mut smaller = Vec::new();
            for at in 0..case.ads.len() {
                smaller.push(Case { ads: without(&case.ads, at), ..case.clone() });
            }
            for at in 0..case.rules.len() {
                smaller.push(Case { rules: without(&case.rules, at), ..case.clone() });
            }
            for (ad, lines) in case.ads.iter().enumerate() {
                for at in 0..lines.len() {
                    let mut next = case.clone();
                    next.ads[ad] = without(lines, at);
                    smaller.push(next);
                }
            }
            match smaller.into_iter().find(|next| matches!(self.compare(next), Compared::Different)) {
                Some(next) => case = next,
                None => return case,
            }
        }
    }

    fn report(&self, case: &Case, number: u64) -> String {
        self.write(case);
        let side = |program: &Path| match self.ask(program) {
            Some((stdout, status)) => format!("{}(status {status})", String::from_utf8_lossy(&stdout)),
            None => "died by a signal, or did not end".to_owned(),
        };
        let ads: Vec<String> = case.ads.iter().map(|ad| ad.join("\n")).collect();
        format!(
            "case {number}:\n--- rules\n{}\n--- ads\n{}\n--- reference\n{}\n--- ours\n{}\n",
            case.rules.join("\n"),
            ads.join("\n\n"),
            side(&self.reference),
            side(&self.ours)
        )
    }
}

fn without<T: Clone>(items: &[T], at: usize) -> Vec<T> {
    let mut items = items.to_vec();
    items.remove(at);
    items
}

const NAMES: &[&str] = &[
    "A",
    "B",
    "Cmd",
    "Args",
    "Owner",
    "RequestCpus",
    "RequestMemory",
    "MaxHosts",
    "MinHosts",
    "Rank",
    "Foo",
    "foo2",
    "Bar",
    "X1",
    "In",
    "Iwd",
    "Err9",
    "_u",
];
/// Statements with mistakes.
const MISTAKES: &[&str] = &[
    "BOGUS X 1",
    "SET",
    "SET A",
    "SET 1X 1",
    "SET A (",
    "EVALSET A )",
    "COPY A",
    "COPY A 1",
    "RENAME A",
    "RENAME A A",
    "DELETE",
    "DELETE 1",
    "DEFAULT A",
    "EVALMACRO V",
    "EVALMACRO V )",
    "REQUIREMENTS (",
    "REQUIREMENTS",
    "UNIVERSE nope",
    "UNIVERSE 9",
    "endif",
    "else",
    "error : text",
    "SET A, 1",
    "set a = b = c",
    "DELETE /A",
    "V @=x",
];
const MACROS: &[&str] = &["V", "W", "k.x", "tmp", "List", "KNOB", "N"];

impl Case {
    fn random(random: &mut Random) -> Self {
        let rules = rules(random);
        let ads = (0..ADS).map(|_| ad(random)).collect();
        Case { rules, ads }
    }
}

/// Returns the lines of a rules file.
pub(crate) fn rules(random: &mut Random) -> Vec<String> {
    // There must be a command outside of conditions; otherwise the file is treated as configuration and
    // the reference crashes.
    let mut rules = vec!["SET First 1".to_owned()];
    if random.one_in(3) {
        rules.push("NAME some rules".into());
    }
    if random.one_in(4) {
        rules.push(format!("REQUIREMENTS {}", expression(random, 2)));
    }
    let count = 1 + random.below(9);
    statements(random, count, &mut rules, 0);
    if random.one_in(7) {
        // `$(V)` and `$(NOPE:1)` give a single run.
        let tail = [
            "2",
            "0",
            "2 V in (x y, z)",
            "V,W from (\na 1\nb 2 c\n)",
            "V from (\na 1\n\n# b\n)",
            "in (p q)",
            "3 W in x y",
            "W in [1:] (a,b,c)",
            "W in [::2] (a,b,c)",
            "V,W in (a b c d)",
            "V from missing",
            "V from condor_config",
            "V matching *",
            "V matching files condor_*",
            "V matching dirs nothing*",
            "from (",
            "V W",
            "x y z",
            "-1",
            "1.5",
            "$(V)",
            "$(NOPE:1)",
        ];
        rules.extend(format!("TRANSFORM {}", random.pick(&tail)).lines().map(str::to_owned));
    }
    rules
}

/// Returns the lines of an ad.
pub(crate) fn ad(random: &mut Random) -> Vec<String> {
    let mut lines = Vec::new();
    for name in NAMES {
        if random.one_in(2) {
            lines.push(format!("{name} = {}", expression(random, 1)));
        }
    }
    if lines.is_empty() {
        lines.push("A = 1".into());
    }
    lines
}

fn statements(random: &mut Random, count: usize, rules: &mut Vec<String>, depth: usize) {
    for _ in 0..count {
        let name = *random.pick(NAMES);
        if random.one_in(40) {
            rules.push((*random.pick(MISTAKES)).to_owned());
        }
        let line = match random.below(24) {
            0..=3 => format!("SET {name} {}", value(random)),
            4 => format!("SET {name} = {}", value(random)),
            5 | 6 => format!("EVALSET {name} {}", value(random)),
            7 => format!("DEFAULT {name} {}", value(random)),
            8 | 9 => format!("EVALMACRO {} {}", random.pick(MACROS), value(random)),
            10 => format!("COPY {name} {}", random.pick(NAMES)),
            11 => format!("RENAME {name} {}", random.pick(NAMES)),
            12 => format!("DELETE {name}"),
            13 => format!("COPY {} {}", pattern(random), template(random)),
            14 => format!("RENAME {} {}", pattern(random), template(random)),
            15 => format!("DELETE {}", pattern(random)),
            16 | 17 => format!("{} = {}", random.pick(MACROS), text(random)),
            18 => format!("{} {} {}", random.pick(MACROS), random.pick(&["+=", "+,=", "+&&="]), text(random)),
            19 => {
                let name = random.pick(MACROS);
                let (first, second) = (text(random), text(random));
                rules.extend([format!("{name} @=end"), first, second]);
                "@end".to_owned()
            }
            20..=22 if depth < 3 => {
                rules.push(format!("if {}", condition(random)));
                let inner = 1 + random.below(3);
                statements(random, inner, rules, depth + 1);
                if random.one_in(3) {
                    rules.push(format!("elif {}", condition(random)));
                    statements(random, 1, rules, depth + 1);
                }
                if random.one_in(2) {
                    rules.push("else".into());
                    statements(random, 1, rules, depth + 1);
                }
                "endif".to_owned()
            }
            _ => random
                .pick(&[
                    "# remark",
                    "",
                    "  SET Blanks   1  ",
                    "set lower \\\n  1 + \\\n 2",
                    "TRANSFORM",
                    "warning : x",
                ])
                .to_string(),
        };
        rules.push(line);
    }
}

fn value(random: &mut Random) -> String {
    match random.below(8) {
        0..=3 => expression(random, 2),
        4 => format!("\"{}\"", text(random).replace('"', "")),
        5 => format!("$({}) + 1", random.pick(MACROS)),
        6 => match random.one_in(4) {
            true => "{ 1, [ a = 1; b = { [ c = 2 ] } ], { [] } }".to_owned(),
            false => format!("$(MY.{}:5)", random.pick(NAMES)),
        },
        _ => text(random),
    }
}

fn text(random: &mut Random) -> String {
    let name = random.pick(NAMES);
    let name2 = random.pick(MACROS);
    match random.below(16) {
        0 => "word".into(),
        1 => "1".into(),
        2 => "a, b, c".into(),
        3 => format!("$({name2})"),
        4 => format!("$({name2}:dflt)x"),
        5 => format!("$(MY.{name})"),
        6 => format!("$(my.{name}:none)"),
        7 => format!("$INT({name2})"),
        8 => format!("$REAL({name2},%.3f)"),
        9 => format!("$STRING({name2})"),
        10 => format!("$EVAL({name2})"),
        11 => format!("$SUBSTR({name2},1,3)"),
        12 => format!("$CHOICE(1,{name2})"),
        13 => format!("$Fn(MY.{name})"),
        14 => format!("$(Iterating)$(Step)$(Row) $({name2}$(N))"),
        _ => format!("$$({name}) $(DOLLAR)x"),
    }
}

fn condition(random: &mut Random) -> String {
    match random.below(9) {
        0 => "true".into(),
        1 => "0".into(),
        2 => format!("defined MY.{}", random.pick(NAMES)),
        3 => format!("! defined {}", random.pick(MACROS)),
        4 => format!("$({})", random.pick(MACROS)),
        5 => "version >= 9.0".into(),
        6 => format!("$(MY.{})", random.pick(NAMES)),
        7 => format!("{} == 1", random.pick(NAMES)),
        _ => format!("defined {}", random.pick(MACROS)),
    }
}

fn pattern(random: &mut Random) -> String {
    let body = random.pick(&[
        "^Max(.+)$",
        "(o)(x)?",
        "[0-9]$",
        "^.{1,2}$",
        "Request(Cpus|Memory)",
        "a|b",
        "^(R)(e)?(x)?",
        "(",
        "^_",
    ]);
    let flags = random.pick(&["", "i", "g", "U", "m", "x"]);
    format!("/{body}/{flags}")
}

fn template(random: &mut Random) -> &'static str {
    const ALL: &[&str] = &["New\\1", "\\0_copy", "X\\2", "Same", "$(V)\\1", "1bad", "A\\9"];
    ALL[random.below(ALL.len())]
}

fn expression(random: &mut Random, depth: usize) -> String {
    if depth > 0 && random.one_in(2) {
        let left = expression(random, depth - 1);
        let right = expression(random, depth - 1);
        let operator = random.pick(&["+", "-", "*", "==", "=?=", "<", "&&", "||", "!=", "=!=", "/"]);
        return match random.below(5) {
            0 => format!("({left} {operator} {right})"),
            1 => format!("ifThenElse({left}, {right}, 7)"),
            2 => format!("strcat({left},\"-\",{right})"),
            3 => format!("{left} ? {right} : 1e-2"),
            _ => format!("{left} {operator} {right}"),
        };
    }
    match random.below(14) {
        0 | 1 => random.below(3).to_string(),
        2 => "2.50".into(),
        3 => "\"a b\"".into(),
        4 => "\"UPPER\"".into(),
        5 => "true".into(),
        6 => "undefined".into(),
        7 => "{ 1,\"x\",A }".into(),
        8 => "[ p = 1; q = A ]".into(),
        9 => format!("MY.{}", random.pick(NAMES)),
        10 => format!("TARGET.{}", random.pick(NAMES)),
        11 => "size(\"abc\")".into(),
        _ => (*random.pick(NAMES)).to_string(),
    }
}
