//! Streams: filter, sort, project and print the ads of a file.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;

use anyhow::Context as _;
use clap::ArgMatches;

use super::ads::Ads;
use super::options::Cli;
use super::results::{PortionOutput, Results};
use super::{ask, operands, output, tool};
use crate::classad::format::list::ListForm;
use crate::classad::stream::{AdError, Form};
use crate::classad::{ClassAd, Context, Dialect, Expr, Value};
use crate::cli::common::{Output, Problem, Session, Status, pipe_ends, threads, work_off};
use crate::os::RealWorld;

/// What is done with the expressions among the operands, for each ad.
pub(super) struct Operand {
    pub(super) text: Vec<u8>,
    pub(super) expr: Expr,
}

/// All that is known before the first ad.
pub(super) struct Work<'a> {
    pub(super) cli: &'a Cli,
    pub(super) constraint: Option<Expr>,
    pub(super) sort: Vec<Expr>,
    pub(super) assigned: ClassAd,
    pub(super) operands: Vec<Operand>,
    pub(super) target: Option<ClassAd>,
    pub(super) form: Option<ListForm>,
    pub(super) only_form_of_input: bool,
}

/// Reads the stream and prints what is wanted of it.
///
/// # Errors
/// Bad expressions, input that cannot be read, and those of standard output.
pub(super) fn run(cli: &Cli, matches: &ArgMatches, session: &Session) -> anyhow::Result<Status> {
    let dialect = ask::dialect(cli);
    let work = Work::new(cli, dialect, session)?;
    let (input, out) = pipe_ends();
    let (read, name) = cli.input.open(input)?;
    // The reader has a buffer of its own.
    let mut ads = Ads::new(read.into_inner(), name, cli, dialect, session);
    let mut results = Results::new(&work, output::columns(cli, matches)?, out);
    let mut odd = Odd::default();
    // What strict reading refuses is told at once, not when the next ads come.
    let threads = if cli.input.strict_input { 1 } else { threads(cli.stream.threads) };
    if threads > 1 && results.are_independent() && ads.detect()? == Form::Long {
        together(ads, threads, &mut results, &mut odd)?;
    } else {
        results.take_all(&mut ads, &mut odd)?;
    }
    let status = results.finish(session)?;
    odd.tell(&work, session);
    Ok(status)
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
    threads: usize,
    results: &mut Results<'_, Output>,
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
    );
    if let Some(failure) = failure {
        return Err(failure);
    }
    whole.with_context(|| errors.problem())?;
    errors.end(read)
}

pub(super) fn form_of_input(form: Form) -> ListForm {
    match form {
        Form::Long => ListForm::Long,
        Form::Json => ListForm::Json,
        Form::JsonLines => ListForm::JsonLines,
        Form::New => ListForm::New,
        Form::NewLines => ListForm::NewLines,
        Form::Xml => ListForm::Xml,
    }
}

/// Ads for which the constraint was neither true nor false nor undefined.
#[derive(Default)]
pub(super) struct Odd {
    count: u64,
    first: Option<(u64, String)>,
}

impl Odd {
    /// Takes in those of a portion that begins behind so many lines.
    fn add(&mut self, portion: Odd, lines: u64) {
        self.count += portion.count;
        self.first = self.first.take().or(portion.first.map(|(line, what)| (lines + line, what)));
    }

    pub(super) fn note(&mut self, value: Option<&Value>, line: u64) {
        let what = match value {
            Some(value) if value.truth().is_some() || value.is_undefined() => return,
            Some(value) => value.type_name(),
            None => "nothing, since its evaluation failed",
        };
        self.count += 1;
        self.first.get_or_insert_with(|| (line, what.to_owned()));
    }

    fn tell(&self, work: &Work<'_>, session: &Session) {
        if let (Some((line, what)), false) = (&self.first, work.cli.output.quiet) {
            let ads = if self.count == 1 { "1 ad".to_owned() } else { format!("{} ads", self.count) };
            session.warn(&format!(
                "the constraint was no truth value for {ads}, which were left out: {what} for that of line {line}"
            ));
        }
    }
}

impl<'a> Work<'a> {
    fn new(cli: &'a Cli, dialect: Dialect, session: &Session) -> anyhow::Result<Self> {
        // Constraints and columns are read as the condor tools read them; a backslash is an ordinary byte.
        let old = Dialect::old_syntax().strict(cli.context.strict);
        let constraint = ask::constraint(old, cli, session)?;
        let sort: anyhow::Result<Vec<Expr>> =
            cli.stream.sort.iter().map(|text| ask::expression("-sort", text, old, cli, session)).collect();
        let mut assigned = ClassAd::new();
        let mut operands = Vec::new();
        for text in &cli.operands {
            match tool::make_ad(text.as_bytes()) {
                Some(ad) => assigned.update(&ad),
                None => operands.push(Operand {
                    text: text.as_bytes().to_vec(),
                    expr: ask::expression("expression", text, dialect, cli, session)?,
                }),
            }
        }
        let target = match cli.context.target_file.last() {
            Some(file) => Some(operands::first_ad(file, cli, session)?),
            None => None,
        };
        if let Some(file) = cli.context.my_file.first() {
            return Err(Problem::usage(format!(
                "each ad of the stream is MY, so '{}' cannot be",
                file.display()
            ))
            .hint("leave --my-file out, or --ads")
            .into());
        }
        let form = output::form(cli);
        let has_columns = !cli.columns.autoformat.is_empty() || !cli.columns.format.is_empty();
        if form.is_some() && has_columns {
            return Err(Problem::usage("columns and whole ads cannot be printed at once")
                .hint("use --attributes A,B to choose attributes of whole ads")
                .into());
        }
        let only_form_of_input =
            form.is_none() && !has_columns && operands.is_empty() && !cli.question.explain;
        Ok(Work { cli, constraint, sort: sort?, assigned, operands, target, form, only_form_of_input })
    }
}

/// A name for messages: what the user would call the ad.
pub(super) fn name_of(ad: &ClassAd, number: usize, world: &RealWorld) -> String {
    let context = Context::new(world).my(ad);
    if let Some(name) = context.string("Name") {
        return name.to_string();
    }
    match (context.int("ClusterId"), context.int("ProcId")) {
        (Some(cluster), Some(process)) => format!("job {cluster}.{process}"),
        _ => format!("ad {number}"),
    }
}
