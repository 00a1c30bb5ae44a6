//! Does one piece of work several times: `comparison_speed JOBS SLOT read|print|evaluate|match ROUNDS`.
//!
//! Prints a number that depends on the results: attributes read, lines printed, ads for which the constraint is true,
//! matches. `measure.py` compares this number and the time with those of other libraries.

#![allow(clippy::print_stdout, reason = "it is a program")]

use std::fs;
use std::hint::black_box;

use htc_classad::format::long;
use htc_classad::{ClassAd, Context, Expr, MatchAd, System};

const CONSTRAINT: &str = "JobStatus == 2 && RequestCpus > 1 && RequestMemory < 4096 && Owner != \"mallory\" && substr(User, 0, 1) != \"z\"";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [jobs, slot, work, rounds] = words.as_slice() else { return Err("four arguments are needed".into()) };
    let jobs = fs::read_to_string(jobs)?;
    let texts: Vec<&str> = jobs.split("\n\n").collect();
    let (slot, _) = long::parse(fs::read(slot)?);
    let constraint = Expr::parse(CONSTRAINT)?;
    let ads: Vec<ClassAd> =
        if work == "read" { Vec::new() } else { texts.iter().map(|text| long::parse(text).0).collect() };
    let mut result = 0;
    for _ in 0..rounds.parse()? {
        result = black_box(match work.as_str() {
            "read" => texts.iter().map(|text| long::parse(text).0.len()).sum(),
            "print" => ads.iter().map(|ad| memchr::memchr_iter(b'\n', &long::print(ad)).count()).sum(),
            "evaluate" => ads.iter().filter(|ad| Context::new(&System).my(ad).holds(&constraint)).count(),
            _ => ads.iter().filter(|ad| MatchAd::new(&System, ad, &slot).symmetric()).count(),
        });
    }
    println!("{result}");
    Ok(())
}
