//! Benchmarks of the configuration: a whole process that looks up one value or dumps all of them, compared
//! with `/bin/true`; loading 10,000 macros in 200 included files; expansion.
//!
//! `cargo bench --bench config`. The programs measured are those of the release build (`cargo build --release
//! --bin htc-config-dump`). Each figure is shown next to its goal.

#![allow(clippy::print_stdout, reason = "a benchmark reports to people")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run fails")]

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use htc_hooks::config::{Config, LoadOptions, LookupContext};
use htc_hooks::os::RealWorld;

/// Returns the median of `runs` runs.
fn median(runs: usize, mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[runs / 2]
}

fn process(program: &Path, words: &[&str], config: &Path) {
    let mut command = Command::new(program);
    command.args(words).env_clear().env("CONDOR_CONFIG", config);
    // Avoids a look-up of the host's name.
    command.env("_CONDOR_NETWORK_HOSTNAME", "bench.example.org");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap();
}

fn main() {
    // `cargo test` runs benchmarks too; then one run is enough to check that they work.
    let is_bench = std::env::args().any(|word| word == "--bench");
    let runs = if is_bench { 200 } else { 1 };
    let place = tempfile::tempdir().unwrap();
    let small = place.path().join("small");
    fs::write(&small, "A = 1\nB = $(A) x\n").unwrap();

    let program = Path::new(env!("CARGO_BIN_EXE_htc-config-dump"));
    let tool = place.path().join("condor_config_val");
    fs::copy(program, &tool).unwrap();
    let nothing = median(runs, || process(Path::new("/bin/true"), &[], &small));
    let lookup = median(runs, || process(&tool, &["A"], &small));
    let dump = median(runs, || process(&tool, &["-dump"], &small));
    let times = |time: Duration| time.as_secs_f64() / nothing.as_secs_f64();
    println!("/bin/true                         {:8.3} ms", nothing.as_secs_f64() * 1e3);
    println!(
        "one value, whole process          {:8.3} ms  {:.2} times /bin/true (wanted: 2; reference: 5.4)",
        lookup.as_secs_f64() * 1e3,
        times(lookup)
    );
    println!(
        "dump of all, whole process        {:8.3} ms  {:.2} times /bin/true (wanted: 2.5; reference: 6.7)",
        dump.as_secs_f64() * 1e3,
        times(dump)
    );

    let mut root = String::new();
    for file in 0..200 {
        let mut text = String::new();
        for n in 0..50 {
            let before = (file * 50 + n + 9_999) % 10_000;
            writeln!(
                text,
                "MACRO_{:05} = value of $(MACRO_{before:05}:none) in \\\n   two lines",
                file * 50 + n
            )
            .unwrap();
        }
        let name = place.path().join(format!("part{file}"));
        fs::write(&name, text).unwrap();
        writeln!(root, "include : {}", name.display()).unwrap();
    }
    let large = place.path().join("large");
    fs::write(&large, root).unwrap();
    let world = RealWorld::new();
    let who = LookupContext { subsystem: "TOOL".into(), local_name: "".into() };
    let options = LoadOptions { file: Some(large), environment: false, ..LoadOptions::default() };
    let load = median(runs.min(50), || {
        black_box(Config::load(&world, &who, &options).unwrap());
    });
    println!("10,000 macros in 200 files        {:8.3} ms  (wanted: under 50)", load.as_secs_f64() * 1e3);
}
