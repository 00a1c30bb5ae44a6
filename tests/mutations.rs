//! Mutated input: each parser gets valid texts in which bytes, lines and pieces were changed, cut, doubled, exchanged and
//! moved. It must not panic, and must answer within seconds.
//!
//! Each parser has a quarter of a second in a run of the tests. `MUTATION_SECONDS=60 MUTATION_SEED=7 cargo test --test mutations`
//! takes a minute each. A failure prints its seed and input.

#![allow(clippy::print_stdout, reason = "how many inputs were tried")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use bstr::ByteSlice;
use htc_hooks::classad::stream::AdReader;
use htc_hooks::classad::{Dialect, Expr};
use htc_hooks::config::{Config, LoadOptions, LookupContext};
use htc_hooks::hook::cron_output::CronOutput;
use htc_hooks::hook::hook_output::{parse_ad_prefix, parse_token_lines};
use htc_hooks::hook_testing::record::read_records;
use htc_hooks::hook_testing::suite::read_suites;
use htc_hooks::journal::{encode_record, read_journal};
use htc_hooks::os::RealWorld;
use htc_hooks::process::Exit;
use htc_hooks::queue::{HistoryReader, QueueLogReader};
use htc_hooks::quirks::QuirkMode;
use htc_hooks::runner::slot::SlotControlRequest;
use htc_hooks::simulate::Scenario;
use htc_hooks::slot::{JournalRecord, open_records};
use htc_hooks::starter::LeftoverRecord;
use htc_hooks::transfer::{PluginCall, PluginExit, Remaps};
use htc_hooks::transform::Transform;
use htc_hooks::user_log::EventReader;

#[path = "it/support/dice.rs"]
mod dice;
use dice::Dice;

/// Time after which an answer counts as missing. Inputs have a few kilobytes; the machine may be busy.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Maximum length of an input in bytes.
const MAX_LENGTH: usize = 16 << 10;

/// Bytes that mean something in one of the languages.
const SPECIAL: &[u8] = b"\0\n\r\t \"'\\$()[]{}<>=;,:.&#@|/*-+0129eE\x1b\x7f\x80\xc3\xff";

/// Returns a changed copy of one of the texts.
fn mutate(texts: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let pick = |dice: &mut Dice, length: usize| dice.next(length.max(1) as u64) as usize;
    let mut text = texts[pick(dice, texts.len())].clone();
    for _ in 0..=dice.next(4) {
        let at = pick(dice, text.len());
        let end = (at + 1 + pick(dice, 40)).min(text.len());
        match dice.next(9) {
            0 if !text.is_empty() => text[at] = dice.next(256) as u8,
            1 if !text.is_empty() => text[at] = SPECIAL[pick(dice, SPECIAL.len())],
            2 => text.insert(at, SPECIAL[pick(dice, SPECIAL.len())]),
            3 => drop(text.drain(at..end)),
            4 => text.truncate(at),
            5 => {
                let piece = text[at..end].to_vec();
                let times = 1 + pick(dice, 50);
                text.splice(at..at, piece.repeat(times));
            }
            6 => {
                let other = &texts[pick(dice, texts.len())];
                let from = pick(dice, other.len());
                let to = (from + 1 + pick(dice, 200)).min(other.len());
                text.splice(at..at, other[from..to].iter().copied());
            }
            7 => {
                let mut lines: Vec<&[u8]> = text.lines_with_terminator().collect();
                if !lines.is_empty() {
                    let (one, other) = (pick(dice, lines.len()), pick(dice, lines.len()));
                    lines.swap(one, other);
                    text = lines.concat();
                }
            }
            _ => {
                let number =
                    ["0", "-1", "9223372036854775807", "18446744073709551616", "1e999", "4294967296"];
                let number = number[pick(dice, number.len())];
                text.splice(at..at, number.bytes());
            }
        }
    }
    text.truncate(MAX_LENGTH);
    text
}

fn number_of(variable: &str) -> Option<f64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Calls a parser with mutated texts until the time has passed.
fn try_mutations(name: &str, texts: &[&[u8]], mut parse: impl FnMut(&[u8])) {
    let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.to_vec()).collect();
    texts.iter().for_each(|text| parse(text));
    let seed = number_of("MUTATION_SEED").unwrap_or(1.0) as u64;
    let end = Instant::now() + Duration::from_secs_f64(number_of("MUTATION_SECONDS").unwrap_or(0.25));
    let mut dice = Dice(seed);
    let mut inputs = 0_u64;
    while Instant::now() < end {
        let text = mutate(&texts, &mut dice);
        let begin = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| parse(&text)));
        let shown = text.escape_ascii().to_string();
        assert!(result.is_ok(), "{name}, seed {seed}: a panic with {shown}");
        assert!(begin.elapsed() < TIME_LIMIT, "{name}, seed {seed}: {:?} with {shown}", begin.elapsed());
        inputs += 1;
    }
    println!("{name}: seed {seed}: {inputs} inputs");
}

/// Returns the files below a directory of the test data with this extension, of moderate size.
fn samples(directory: &str, extension: &str) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut waiting = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(directory)];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|it| it == extension) {
                found.extend(fs::read(&path).ok().filter(|text| text.len() < MAX_LENGTH));
            }
        }
    }
    found.sort();
    found.truncate(40);
    assert!(!found.is_empty(), "{directory} has no *.{extension}");
    found
}

fn slices(texts: &[Vec<u8>]) -> Vec<&[u8]> {
    texts.iter().map(Vec::as_slice).collect()
}

const LONG: &[u8] =
    b"ClusterId = 1\nProcId = 0\nCmd = \"/bin/true\"\nRequirements = TARGET.Memory >= ifThenElse(x, 1, {2, [a = 3]}[0])\n\n\
      Owner = \"ana \\\"b\\\\\"\n";
const JSON: &[u8] = b"[{\"A\": 1, \"B\": \"\\/Expr(a + b)\\/\", \"C\": [1, {\"D\": null}], \"E\": 1.5e3, \"F\": \"\\u00e9\"}]";
const XML: &[u8] = b"<?xml version=\"1.0\"?>\n<!DOCTYPE classads SYSTEM \"classads.dtd\">\n<classads>\n<c>\n<a n=\"A\"><i>1</i></a>\n\
      <a n=\"B\"><s>x &amp; y</s></a>\n<a n=\"C\"><l><b v=\"t\"/><un/></l></a>\n<a n=\"D\"><e>a + 1</e></a>\n</c>\n</classads>\n";
const NEW: &[u8] = b"[ A = 1; B = \"x\"; C = { 1, [ D = A ] }; 'odd name' = a ?: b ]";

#[test]
fn ads_in_each_form() {
    try_mutations("ads", &[LONG, JSON, XML, NEW], |text| {
        let mut reader = AdReader::new(Cursor::new(text), None);
        while let Ok(Some(_)) = reader.next_record() {}
    });
}

#[test]
fn expressions() {
    let texts: [&[u8]; 3] = [
        b"a.b[1] =?= {1, 2}[x] && !regexp(\"a+\", s, \"i\")",
        b"x ? y : z ?: -1.5e3 >>> 2",
        b"[a = 1].a is undefined",
    ];
    try_mutations("expressions", &texts, |text| {
        if let Ok(expr) = Expr::parse(text) {
            drop(expr.to_string());
        }
    });
}

const CONFIG: &[u8] = b"A = $(B:1) $INT(C) $F(/x/y.z) $RANDOM_CHOICE(1,2)\nB = x\\\n  y\nuse ROLE : Personal\nif defined A\n C = 1+2\n\
      elif version >= 8.1\n C = 2\nelse\n C = 3\nendif\nD @=end\n text $(A)\n@end\nSTART.A = $ENV(HOME) $STRING(A) $SUBSTR(B,1,2)\n\
      JOB_ROUTER_ROUTE_R @=r\n  UNIVERSE vanilla\n  SET a $(MY.b)\n@r\nJOB_ROUTER_ROUTE_NAMES = R\n";

#[test]
fn configurations_and_the_values_in_them() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("condor_config");
    let world = RealWorld::new();
    let daemon = LookupContext { subsystem: "STARTD".into(), local_name: "".into() };
    try_mutations("configurations", &[CONFIG], |text| {
        fs::write(&file, text).unwrap();
        let options = LoadOptions {
            file: Some(file.clone()),
            environment: false,
            user_file: false,
            ..LoadOptions::default()
        };
        if let Ok((config, _)) = Config::load(&world, &daemon, &options) {
            let view = config.view(&world);
            for name in ["A", "B", "C", "D", "START.A", "START"] {
                drop((view.string(name), view.int(name), view.boolean(name)));
            }
        }
    });
}

#[test]
fn transforms() {
    let rules: &[u8] = b"NAME x\nREQUIREMENTS a > 1\nSET b \"c\"\nEVALSET d $(MY.e) + 1\nCOPY /(.*)/ X\\1\nif $(x)\n DELETE f\nendif\n\
        x = $INT(y)\nTRANSFORM 3 x, y in (a b, c d)\n";
    try_mutations("transforms", &[rules], |text| {
        if let Ok(transform) = Transform::from_file("rules", text, Dialect::old_syntax()) {
            assert!(transform.statements().count() <= text.len());
        }
    });
}

#[test]
fn event_logs_histories_and_queue_logs() {
    let log: &[u8] = b"000 (007.000.000) 2026-01-02 03:04:05 Job submitted from host: <1.2.3.4:9618>\n...\n\
        005 (007.000.000) 2026-01-02 03:04:06 Job terminated.\n\t(1) Normal termination (return value 0)\n\
        \t\tUsr 0 00:00:00, Sys 0 00:00:00  -  Run Remote Usage\n\t0  -  Run Bytes Sent By Job\n\tPartitionable Resources : Usage Request Allocated\n\
        \t   Cpus                 :     0.5        1         1\n...\n";
    try_mutations("event logs", &[log], |text| {
        assert!(EventReader::new(Cursor::new(text)).count() <= text.len() + 1);
    });
    let history: &[u8] =
        b"ClusterId = 1\nProcId = 0\n*** Offset = 0 ClusterId = 1 ProcId = 0 Owner = \"a\" CompletionDate = 5\nA = 1\n*** \n";
    try_mutations("histories", &[history], |text| {
        for record in HistoryReader::new(Cursor::new(text)).flatten() {
            drop(record.to_ad());
        }
    });
    let queue: &[u8] =
        b"107 1 CreationTimestamp 1\n101 07.-1 Job Machine\n101 7.0 Job Machine\n103 7.0 ProcId 0\n105\n\
        103 7.0 Args \"x\"\n104 7.0 Args\n106\n102 7.0\n";
    try_mutations("queue logs", &[queue], |text| {
        let mut log = QueueLogReader::new();
        log.feed(text);
        drop(log.into_queue().job_ids());
    });
}

#[test]
fn scenarios() {
    let texts = samples("tests/data", "toml");
    let mut texts: Vec<Vec<u8>> =
        texts.into_iter().filter(|text| text.contains_str("[[job")).take(10).collect();
    texts.push(b"seed = 1\nfor = \"1d\"\n[[jobs]]\ncount = 3\nevery = \"1h\"\nruns = \"10m\"\nad = { RequestCpus = 1 }\n".to_vec());
    try_mutations("scenarios", &slices(&texts), |text| {
        if let Ok(text) = text.to_str() {
            drop(Scenario::parse(text));
        }
    });
}

#[test]
fn suites() {
    let suite: &[u8] = b"[defaults]\ntype = \"prepare\"\nsample_job = \"vanilla\"\nfiles = { \"hook\" = \"#!/bin/sh\" }\nhook = \"${DIR}/hook\"\n\
        [[case]]\nname = \"a ${N}\"\neach = [{ N = \"1\" }, { N = \"2\" }]\nset = { RequestCpus = \"${N}\" }\nwords = [\"x\"]\n\
        expect = { verdict = \"held\", code = 19, result = [\"A == 1\"] }\n";
    try_mutations("suites", &[suite], |text| {
        let text = text.to_vec();
        drop(read_suites(Path::new("suite.toml"), &mut |_| Ok(Box::new(Cursor::new(text.clone())))));
    });
}

#[test]
fn recordings() {
    let place = tempfile::tempdir().unwrap();
    let record = place.path().join("hooks/001");
    fs::create_dir_all(&record).unwrap();
    let meta: &[u8] = b"{\"hook\": \"FETCH_WORK\", \"argv\": [\"/h\"], \"duration\": 0.5, \"exit\": 0, \"cwd\": \"/\", \"time\": 1.5}";
    try_mutations("recordings", &[meta, LONG], |text| {
        for name in ["meta.json", "stdin", "stdout", "env"] {
            fs::write(record.join(name), text).unwrap();
        }
        drop(read_records(place.path()));
    });
}

#[test]
fn journals_and_state_files() {
    let accepted = JournalRecord::Accepted {
        accepted: 1,
        slot: "slot1".into(),
        job: "1.0".into(),
        ad: "/log/job.1.ad".into(),
    };
    let ended = JournalRecord::HookEnds { run: 7 };
    let pull = LeftoverRecord::Pull { image: "a:1".into(), own: "b".into() };
    let journal = [encode_record(&accepted).unwrap(), encode_record(&ended).unwrap()].concat();
    let state = encode_record(&pull).unwrap();
    try_mutations("journals", &[&journal, &state], |text| {
        drop(open_records(read_journal::<JournalRecord>(text).records));
        drop(read_journal::<LeftoverRecord>(text));
    });
}

#[test]
fn requests_at_the_control_socket() {
    let texts: [&[u8]; 3] = [
        b"{\"command\": \"drain\", \"how\": \"fast\", \"reason\": \"x\"}",
        b"{\"command\": \"claim\", \"slot\": \"slot1\", \"ad_length\": 5, \"lease\": 3, \"preempts\": [\"slot1_1\"]}",
        b"{\"command\": \"status\"}",
    ];
    try_mutations("requests", &texts, |text| drop(SlotControlRequest::parse(text)));
}

#[test]
fn output_of_hooks_and_cron_jobs() {
    try_mutations("hook output", &[LONG, b"HookStatusCode = 190\nA = 1\n"], |text| {
        drop(parse_token_lines(text, Dialect::old_syntax()));
        drop(parse_ad_prefix(text, Dialect::old_syntax()));
    });
    let cron: &[u8] = b"A = 1\nB = \"x\"\n- update:true\nSlotMergeConstraint = true\nUptime = 5\n-SlotId 1\n";
    let world = RealWorld::new();
    try_mutations("cron output", &[cron], |text| {
        let mut output = CronOutput::new(b"P_", QuirkMode::Manual);
        output.begin_run();
        let blocks = output.push_output(text).into_iter().chain(output.finish_run());
        for block in blocks.collect::<Vec<_>>() {
            drop(
                block.to_ad(b"P_", htc_hooks::os::clock::now()).0.map(|ad| block.publish_target(&ad, &world)),
            );
        }
    });
}

#[test]
fn answers_of_transfer_plugins_and_remaps() {
    let answer: &[u8] = b"[ TransferSuccess = true; TransferUrl = \"dbl://x\"; TransferProtocol = \"dbl\"; TransferTotalBytes = 8 ]\n\
        [ TransferSuccess = false; TransferError = \"no\"; TransferRetryable = true ]\n";
    let call = PluginCall {
        program: "/p".into(),
        of_job: false,
        name: "P".into(),
        arguments: Vec::new(),
        infile: None,
        outfile: Some("/o".into()),
        files: Vec::new(),
    };
    let world = RealWorld::new();
    try_mutations("plugin answers", &[answer], |text| {
        for code in [0, 1] {
            drop(call.interpret_exit(
                &PluginExit::Exited(Exit::Code(code)),
                Some(text),
                QuirkMode::Manual,
                &world,
            ));
        }
    });
    try_mutations("remaps", &[b"a = b; c\\=d = http://x/y; e=f"], |text| drop(Remaps::parse(text)));
}
