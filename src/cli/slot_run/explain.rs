//! Which slots would take a job, and why the others would not.

use std::io::Write;

use anyhow::Context;
use serde::Serialize;

use super::ads;
use super::load::{self};
use super::options::Cli;
use crate::classad::format::long;
use crate::cli::common::{InputOptions, Problem, Session, Status, pipe_ends};
use crate::runner::slot::at_rest;

/// What one slot would say to one job.
#[derive(Serialize)]
struct Considered {
    slot: String,
    job: String,
    accepted: bool,
    reason: String,
    details: Vec<String>,
}

/// Exit status 0: every job is taken by some slot.
pub(super) fn explain(
    cli: &Cli,
    session: &Session,
    input: &InputOptions,
    names: &[String],
) -> anyhow::Result<Status> {
    let loaded = load::load(cli)?;
    let world = loaded.world.clone();
    load::warn(session, &loaded.warnings);
    let machine = at_rest(loaded.settings, loaded.world);
    let slots = ads::chosen(&machine, names)?;
    let (stdin, mut output) = pipe_ends();
    let (reader, name) = input.open(stdin)?;
    let text = crate::os::read_whole(reader).with_context(|| format!("reading {name}"))?;
    let jobs = split_ads(&text);
    if jobs.is_empty() {
        return Err(Problem::unreadable(format!("{name}: there is no ad")).into());
    }
    let mut all_taken = true;
    let mut offers = Vec::new();
    let as_rows = cli.output.json || cli.output.jsonl;
    for (number, job) in (1..).zip(jobs) {
        let (ad, errors) = long::parse(job);
        if let Some(error) = errors.first() {
            let message = format!("{name}: ad {number}: {error}");
            if input.strict_input {
                return Err(Problem::unreadable(message).into());
            }
            session.warn(&message);
        }
        let mut taken = false;
        for key in &slots {
            let Some(offer) = machine.consider(*key, &ad) else { continue };
            taken |= offer.accepted;
            let slot = machine.slot_id(*key).unwrap_or("?");
            let job = crate::slot::job_id(&ad, &*world);
            if as_rows {
                let crate::slot::Offer { accepted, reason, details } = offer;
                offers.push(Considered { slot: slot.to_owned(), job, accepted, reason, details });
                continue;
            }
            let word = if offer.accepted { "accepts" } else { "refuses" };
            writeln!(output, "{slot} {word} job {job}: {}", offer.reason).context("standard output")?;
            for line in &offer.details {
                writeln!(output, "    {line}").context("standard output")?;
            }
        }
        all_taken &= taken;
    }
    if let Some(text) = cli.output.rows(&offers)? {
        output.write_all(text.as_bytes()).context("standard output")?;
    }
    output.flush().context("standard output")?;
    Ok(if all_taken { Status::Done } else { Status::No })
}

/// Ads in long form with empty lines between them.
fn split_ads(text: &[u8]) -> Vec<&[u8]> {
    let mut ads = Vec::new();
    let mut start = 0;
    let mut at = 0;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if line.trim_ascii().is_empty() {
            ads.push(&text[start..at]);
            start = at + line.len();
        }
        at += line.len();
    }
    ads.push(&text[start..]);
    ads.retain(|ad| !ad.trim_ascii().is_empty());
    ads
}
