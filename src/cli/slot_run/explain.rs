//! Which slots would take a job, and why the others would not.

use std::io::Write;

use anyhow::Context;
use serde::Serialize;

use super::options::Cli;
use super::{ads, load};
use crate::cli::common::{InputOptions, Problem, Session, Status, pipe_ends, read_ads};
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
    let (_, mut output) = pipe_ends();
    let jobs = read_ads(&input.ads, input.strict_input, usize::MAX, session)?;
    if jobs.is_empty() {
        return Err(Problem::unreadable(format!("{}: there is no ad", input.ads.display())).into());
    }
    let mut all_taken = true;
    let mut offers = Vec::new();
    let as_rows = cli.output.json || cli.output.jsonl;
    for ad in jobs {
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
