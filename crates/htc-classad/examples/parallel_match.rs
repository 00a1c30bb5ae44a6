//! Counts the slots of a file that match a job, on all cores: `cargo run --example parallel_match job.ad slots.ads`.

#![allow(clippy::print_stdout, reason = "it is a program")]

use std::fs;

use htc_classad::{ClassAd, MatchAd, System, stream::AdReader};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (job, slots) = words.next().zip(words.next()).ok_or("usage: parallel_match JOB SLOTS")?;
    let job = ClassAd::parse(fs::read(job)?)?;
    let matching = AdReader::new(fs::File::open(slots)?, None)
        .parallel_filter_map(|slot| MatchAd::new(&System, &job, &slot).symmetric().then_some(slot))?;
    println!("{} slots match", matching.len());
    Ok(())
}
