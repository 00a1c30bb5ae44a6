//! Converts a structure to an ad, to JSON and back: `cargo run --example structures --features serde`.

#![allow(clippy::print_stdout, reason = "it is a program")]

use htc_classad::{ClassAd, from_ad, to_ad};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Job {
    owner: String,
    request_cpus: u32,
    request_memory: Option<u64>,
    status: Status,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Status {
    Idle,
    Held { reason: String },
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let status = Status::Held { reason: "no disk".into() };
    let job = Job { owner: "ana".into(), request_cpus: 2, request_memory: None, status };
    let ad = to_ad(&job)?;
    println!("{ad}");
    assert_eq!(from_ad::<Job>(&ad)?, job);

    let text = serde_json::to_string(&ad)?;
    println!("{text}");
    assert_eq!(serde_json::from_str::<ClassAd>(&text)?, ad);

    let idle: Job = from_ad(&ClassAd::parse("Owner = \"bob\"\nRequestCpus = 1 + 1\nStatus = \"Idle\"")?)?;
    println!("{idle:?}");
    match from_ad::<Job>(&ClassAd::parse("Owner = \"bob\"\nRequestCpus = \"many\"")?) {
        Ok(job) => println!("{job:?}"),
        Err(error) => println!("{error}"),
    }
    Ok(())
}
