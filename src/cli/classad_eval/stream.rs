//! Streams: filter, sort, project and print the ads of a file.

use std::io::Read;

use anyhow::Context as _;
use clap::ArgMatches;

use super::ads::Ads;
use super::odd::Odd;
use super::options::Cli;
use super::results::{PortionOutput, Results};
use super::work::Work;
use super::{ask, output, unknown};
use crate::classad::stream::{AdError, Form};
use crate::cli::common::{JsonRows, Output, Session, Status, pipe_ends, stop_without_reader};
use crate::os::{Enough, threads, work_off};

/// Reads the stream and prints what is wanted of it.
///
/// # Errors
/// Bad expressions, input that cannot be read, and those of standard output.
pub(super) fn run(cli: &Cli, matches: &ArgMatches, session: &Session) -> anyhow::Result<Status> {
    if !cli.question.exit_status {
        stop_without_reader();
    }
    let dialect = ask::dialect(cli);
    let mut work = Work::new(cli, dialect, session)?;
    let columns = output::columns(cli, matches)?;
    work.asked = unknown::asked(&work, &columns.expressions().cloned().collect::<Vec<_>>());
    let (input, out) = pipe_ends();
    let enough = input.enough();
    let (read, name) = cli.input.open(input, session)?;
    // The reader has a buffer of its own.
    let mut ads = Ads::new(read.into_inner(), name, cli, dialect, session);
    let mut results = Results::new(&work, columns, JsonRows::new(out, are_values(&work)));
    let mut odd = Odd::default();
    let threads = threads(cli.stream.threads);
    if threads > 1 && results.are_independent() && ads.detect()? == Form::Long {
        together(ads, (threads, &enough), &mut results, &mut odd)?;
    } else {
        results.take_all(&mut ads, &mut odd)?;
    }
    let status = results.finish(session)?;
    results.out.end()?;
    odd.tell(&work, session);
    Ok(status)
}

/// Whether what is printed are values of JSON in one array, not ads, whose writer makes one itself.
fn are_values(work: &Work<'_>) -> bool {
    let cli = work.cli;
    cli.output.json && !cli.stream.count && (!work.operands.is_empty() || cli.question.explain)
}

/// What a thread made of a portion of the stream. Lines and numbers of ads are counted from its beginning.
struct Portion {
    output: PortionOutput,
    odd: Odd,
    errors: Vec<AdError>,
    lines: u64,
    read: u64,
    failure: Option<anyhow::Error>,
}

/// Works off a stream of long ads with several threads.
fn together<R: Read + Send>(
    ads: Ads<'_, R>,
    (threads, enough): (usize, &Enough),
    results: &mut Results<'_, JsonRows<Output>>,
    odd: &mut Odd,
) -> anyhow::Result<()> {
    let (like, dealer, mut errors) = ads.deal();
    let mut failure = None;
    let (mut lines, mut read) = (0, 0);
    let (work, mask) = (results.work, results.mask.clone());
    let worker = || {
        let mut results = Results::new(work, mask.clone(), Vec::new());
        let take = move |ads: &mut Ads<'_, _>| {
            let mut odd = Odd::default();
            let failure = results.take_all(ads, &mut odd).err();
            let (errors, read, lines) = ads.portion();
            Portion { output: results.portion(), odd, errors, lines, read, failure }
        };
        (like.hand(), take)
    };
    let mut collect = |mut portion: Portion| -> anyhow::Result<()> {
        results.add(&portion.output)?;
        odd.add(portion.odd, lines);
        portion.errors.iter_mut().for_each(|error| error.line += lines);
        errors.tell(&portion.errors)?;
        (lines, read) = (lines + portion.lines, read + portion.read);
        portion.failure.map_or(Ok(()), Err)
    };
    let whole = work_off(
        threads,
        |ads| dealer.deal(&mut ads.reader),
        worker,
        |portion| {
            failure = collect(portion).err();
            failure.is_none()
        },
        enough,
    );
    if let Some(failure) = failure {
        return Err(failure);
    }
    whole.with_context(|| errors.problem())?;
    errors.end(read)
}
