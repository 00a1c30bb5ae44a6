//! Benchmark of `htc-config-dump lint`: processor time and memory for large configurations.
//!
//! `cargo bench --bench lint`. Generators make the configurations (`files.rs`); each row shows the least and the median processor
//! time of the whole program, its largest memory, and the goals. Other work on the machine makes the median larger, and hardly
//! changes the least.

#![allow(clippy::print_stdout, reason = "a benchmark reports to people")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run fails")]

mod files;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::resource::{UsageWho, getrusage};

/// Configuration and goals of one row; `None` for no goal.
struct Row {
    name: &'static str,
    text: String,
    goal_ms: Option<u32>,
    goal_mb: Option<u32>,
}

fn main() {
    // This program runs itself once for each measurement, because the kernel reports the usage of all
    // children together.
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if words.first().is_some_and(|word| word == "measure") {
        return measure(Path::new(&words[1]));
    }
    let is_bench = words.iter().any(|word| word == "--bench");
    let runs = if is_bench { 9 } else { 1 };
    // `cargo test` runs benchmarks, too; small files are enough to check that they work.
    let scale = if is_bench { 1 } else { 100 };
    let row = |name, text, goal_ms, goal_mb| Row { name, text, goal_ms, goal_mb };
    let rows = [
        row("a site's configuration, 10,000 lines", files::site(10_000 / scale), Some(50), None),
        row("a site's configuration, 100,000 lines", files::site(100_000 / scale), None, None),
        row("one family of names, 10,000 lines", files::family(10_000 / scale), Some(50), None),
        row("103,000 settings, 5 MB", files::settings(5_000_000 / scale), None, Some(32)),
        row("20,000 slot types, each made from the one before", files::chain(20_000 / scale), None, None),
    ];
    let place = tempfile::tempdir().unwrap();
    println!("{:<50} {:>9} {:>9} {:>6} {:>9} {:>6}", "lint of", "least ms", "median", "goal", "MB", "goal");
    for Row { name, text, goal_ms, goal_mb } in rows {
        let file = place.path().join("condor_config");
        fs::write(&file, text).unwrap();
        let mut usages: Vec<(f64, f64)> = (0..runs).map(|_| run(&file)).collect();
        usages.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (least, (median, megabytes)) = (usages[0].0, usages[runs / 2]);
        let shown = |goal: Option<u32>| goal.map_or_else(String::new, |goal| goal.to_string());
        let (goal_ms, goal_mb) = (shown(goal_ms), shown(goal_mb));
        println!("{name:<50} {least:>9.1} {median:>9.1} {goal_ms:>6} {megabytes:>9.1} {goal_mb:>6}");
    }
}

/// Returns milliseconds of processor time and megabytes of memory of one run.
fn run(file: &Path) -> (f64, f64) {
    let output = Command::new(std::env::current_exe().unwrap()).arg("measure").arg(file).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut numbers = text.split_whitespace().map(|word| word.parse::<f64>().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

/// Runs lint once, and prints milliseconds of processor time and megabytes of memory.
fn measure(file: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htc-config-dump"));
    command.arg("lint").arg(file).env_clear();
    // Avoids a look-up of the host's name.
    command.env("_CONDOR_NETWORK_HOSTNAME", "bench.example.org");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let milliseconds =
        |time: nix::sys::time::TimeVal| time.tv_sec() as f64 * 1e3 + time.tv_usec() as f64 / 1e3;
    println!(
        "{} {}",
        milliseconds(usage.user_time()) + milliseconds(usage.system_time()),
        usage.max_rss() as f64 / 1024.0
    );
}
