//! Streams: filter, sort, project and print the ads of a file.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;

use anyhow::Context as _;
use clap::ArgMatches;

use super::ads::Ads;
use super::options::Cli;
use super::results::{PortionOutput, Results};
use super::unknown::{self, Met};
use super::{ask, operands, output, tool};
use crate::classad::format::list::ListForm;
use crate::classad::stream::{AdError, Form};
use crate::classad::{AttrName, ClassAd, Context, Dialect, Expr, Value};
use crate::cli::common::{Enough, JsonRows, Output, Problem, Session, Status, pipe_ends, threads, work_off};
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
    pub(super) count_by: Vec<Expr>,
    /// Names that are looked up in each ad.
    pub(super) asked: Vec<AttrName>,
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

/// What is odd about a stream: ads for which the constraint was neither true nor false nor undefined, names that no ad has.
#[derive(Default)]
pub(super) struct Odd {
    count: u64,
    first: Option<(u64, String)>,
    pub(super) met: Met,
}

impl Odd {
    /// Takes in those of a portion that begins behind so many lines.
    fn add(&mut self, portion: Odd, lines: u64) {
        self.count += portion.count;
        self.met.add(portion.met);
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
        if !work.cli.output.quiet {
            self.met.tell(&work.asked, session);
        }
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
        let count_by: anyhow::Result<Vec<Expr>> = cli
            .stream
            .count_by
            .iter()
            .map(|text| ask::expression("--count-by", text, old, cli, session))
            .collect();
        let count_by = count_by?;
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
        if !count_by.is_empty() && !operands.is_empty() {
            let problem = Problem::usage("values are counted, or expressions evaluated for each ad");
            return Err(problem.hint("leave --count-by or the expressions out").into());
        }
        let (sort, asked) = (sort?, Vec::new());
        Ok(Work {
            cli,
            constraint,
            sort,
            count_by,
            asked,
            assigned,
            operands,
            target,
            form,
            only_form_of_input,
        })
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
