//! Runs random command lines of the condor tools with the real tools and with our programs under their names.
//!
//! `HTC_ORACLE_TOOLS` is the directory of the real tools [default: PATH]; without a tool nothing is compared, and the
//! test prints a message. `HTC_ORACLE_COMMAND_LINES` sets the number of command lines of each test [default: 100],
//! `HTC_ORACLE_SEED` the random seed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::random::Random;
use sides::{Compared, Sides};

mod condor_config_val;
mod condor_q;
mod condor_q_analysis;
mod condor_transform_ads;
mod sides;

/// A command line and the files that it reads.
#[derive(Clone)]
struct Case {
    arguments: Vec<String>,
    /// Names and lines of the files; an empty line ends an ad.
    files: Vec<(String, Vec<String>)>,
    /// Variables besides those that every case has.
    environment: Vec<(String, String)>,
}

/// A tool with its generator of command lines.
struct Tool {
    name: &'static str,
    ours: &'static str,
    /// True if messages on standard error are compared.
    messages: bool,
    generate: fn(&mut Random) -> Case,
}

impl Random {
    /// Returns one of the words.
    fn word<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

/// Number of differences after which a test stops.
const ENOUGH: usize = 40;

fn compare(tool: &Tool) {
    let Some(reference) = crate::tool(tool.name) else {
        println!("skipped: no {} in HTC_ORACLE_TOOLS or on PATH", tool.name);
        return;
    };
    let wanted = crate::number("HTC_ORACLE_COMMAND_LINES").unwrap_or(100);
    let seed = crate::number("HTC_ORACLE_SEED").unwrap_or(20_251_114);
    let place = tempfile::tempdir().unwrap();
    let (next, crashed, differences) = (AtomicU64::new(0), AtomicU64::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for worker in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            let sides = Sides::new(&place.path().join(format!("w{worker}")), tool, &reference);
            let (next, crashed, differences) = (&next, &crashed, &differences);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= wanted || differences.lock().unwrap().len() >= ENOUGH {
                        return;
                    }
                    let case =
                        (tool.generate)(&mut Random::new(seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
                    match sides.compare(&case) {
                        Compared::Same => {}
                        Compared::Crashed => drop(crashed.fetch_add(1, Ordering::Relaxed)),
                        Compared::Different => {
                            let report = sides.report(&sides.shrink(case), number);
                            differences.lock().unwrap().push(report);
                        }
                    }
                }
            });
        }
    });
    let differences = differences.into_inner().unwrap();
    println!(
        "{wanted} command lines of {}, seed {seed}, {} crash the reference: {} differ",
        tool.name,
        crashed.into_inner(),
        differences.len()
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn random_tables_of_condor_q_are_those_of_the_reference() {
    compare(&Tool {
        name: "condor_q",
        ours: env!("CARGO_BIN_EXE_htc-classad-eval"),
        messages: false,
        generate: condor_q::case,
    });
}

#[test]
fn random_analyses_of_condor_q_are_those_of_the_reference() {
    compare(&Tool {
        name: "condor_q",
        ours: env!("CARGO_BIN_EXE_htc-classad-eval"),
        messages: false,
        generate: condor_q_analysis::case,
    });
}

#[test]
fn random_command_lines_of_condor_config_val_print_what_the_reference_prints() {
    compare(&Tool {
        name: "condor_config_val",
        ours: env!("CARGO_BIN_EXE_htc-config-dump"),
        messages: true,
        generate: condor_config_val::case,
    });
}

#[test]
fn random_command_lines_of_condor_transform_ads_print_what_the_reference_prints() {
    compare(&Tool {
        name: "condor_transform_ads",
        ours: env!("CARGO_BIN_EXE_htc-router-translate"),
        messages: false,
        generate: condor_transform_ads::case,
    });
}

/// Returns the options in another order, some of them shortened.
fn shuffled(random: &mut Random, mut options: Vec<Vec<String>>) -> Vec<String> {
    for at in (1..options.len()).rev() {
        options.swap(at, random.below(at + 1));
    }
    for option in &mut options {
        if let Some(name) = option.first_mut()
            && name.starts_with('-')
            && name.is_ascii()
            && random.one_in(8)
        {
            let end = name.find(':').unwrap_or(name.len());
            // `-ver` would be `-version`.
            let kept = if end > 5 { 5 + random.below(end - 4) } else { end };
            *name = format!("{}{}", &name[..kept.min(end)], &name[end..]);
        }
    }
    options.concat()
}

/// Returns the words as strings.
fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
