//! Streams: filter, sort, project and print the ads of a file.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;

use anyhow::Context as _;
use clap::ArgMatches;
use rustc_hash::FxBuildHasher;

use super::options::Cli;
use super::{ask, explanation, operands, output, tool};
use crate::classad::format::list::{ListForm, ListWriter};
use crate::classad::stream::{AdReader, AdRecord, Form, Skim};
use crate::classad::{ClassAd, Context, Dialect, Expr, Value};
use crate::cli::common::{Output, PrintMask, Problem, Row, Session, Status, pipe_ends};
use crate::os::RealWorld;

/// Errors of a stream that are told one by one; of the rest only the number.
const MOST_MESSAGES: u64 = 20;

/// A stream of ads whose errors are told as they come.
pub(super) struct Ads<'a, R> {
    reader: AdReader<R>,
    name: String,
    session: &'a Session,
    strict: bool,
    errors: u64,
    read: u64,
}

impl<'a, R: Read> Ads<'a, R> {
    pub(super) fn new(read: R, name: String, cli: &Cli, dialect: Dialect, session: &'a Session) -> Self {
        let reader = AdReader::new(read, cli.stream.from).dialect(dialect);
        let strict = cli.input.strict_input;
        Ads { reader: reader.exact(strict), name, session, strict, errors: 0, read: 0 }
    }

    /// The next ad that has anything in it.
    pub(super) fn next(&mut self) -> anyhow::Result<Option<AdRecord>> {
        loop {
            let problem = || Problem::unreadable(format!("cannot read '{}'", self.name));
            let Some(record) = self.reader.next_ad().with_context(problem)? else { return self.end() };
            self.tell(&record)?;
            if !record.ad.is_empty() {
                self.read += 1;
                return Ok(Some(record));
            }
        }
    }

    /// The next ad with what is wanted of it, if the ads are long ones; else the whole ad.
    pub(super) fn next_part(
        &mut self,
        skim: &mut Skim,
        mut used: AdRecord,
    ) -> anyhow::Result<Option<AdRecord>> {
        loop {
            let problem = || Problem::unreadable(format!("cannot read '{}'", self.name));
            if self.reader.detect().with_context(problem)? != Form::Long {
                return self.next();
            }
            let Some(record) = self.reader.next_part(skim, used).with_context(problem)? else {
                return self.end();
            };
            self.tell(&record)?;
            // An ad of which nothing is wanted counts, one that is all errors does not.
            if record.errors.is_empty() || !self.reader.whole().is_empty() {
                self.read += 1;
                return Ok(Some(record));
            }
            used = record;
        }
    }

    /// The whole of the ad that was read in part.
    fn whole(&self) -> ClassAd {
        self.reader.whole()
    }

    fn tell(&mut self, record: &AdRecord) -> anyhow::Result<()> {
        for error in &record.errors {
            if self.strict {
                let problem = Problem::unreadable(error.message.clone()).at_line(&error.caret(&self.name));
                return Err(match error.help {
                    Some(help) => problem.hint(help),
                    None => problem,
                }
                .into());
            }
            self.errors += 1;
            if self.errors <= MOST_MESSAGES {
                let help = error.help.map(|help| format!("\n    hint: {help}")).unwrap_or_default();
                let text = error.caret(&self.name).render(&error.message);
                self.session.warn(&format!("skipped: {text}{help}"));
            }
        }
        Ok(())
    }

    fn end(&mut self) -> anyhow::Result<Option<AdRecord>> {
        if self.errors > MOST_MESSAGES {
            self.session.warn(&format!("{}: {} errors in all", self.name, self.errors));
        }
        if self.errors > 0 && self.read == 0 {
            return Err(Problem::unreadable(format!("no ad could be read from {}", self.name))
                .hint("the forms are long, json, jsonl, xml, new; name one with --from")
                .into());
        }
        self.errors = 0;
        Ok(None)
    }

    /// The form of the input.
    pub(super) fn form(&self) -> Form {
        self.reader.form()
    }
}

/// What is done with the expressions among the operands, for each ad.
struct Operand {
    text: Vec<u8>,
    expr: Expr,
}

/// All that is known before the first ad.
struct Work<'a> {
    cli: &'a Cli,
    world: &'a RealWorld,
    constraint: Option<Expr>,
    sort: Vec<Expr>,
    assigned: ClassAd,
    operands: Vec<Operand>,
    target: Option<ClassAd>,
    form: Option<ListForm>,
    only_form_of_input: bool,
}

/// A result that waits for its place: sort keys, then what is to be printed.
enum Item {
    Ad(Box<ClassAd>),
    Row(Row),
    Text(Vec<u8>),
}

/// What became of the ads.
struct Results<'a> {
    work: &'a Work<'a>,
    mask: PrintMask,
    writer: Option<ListWriter>,
    out: Output,
    text: Vec<u8>,
    seen: HashSet<u128, FxBuildHasher>,
    waiting: Vec<(Vec<Value>, Item)>,
    count: u64,
    last: Option<Option<Value>>,
}

/// Reads the stream and prints what is wanted of it.
///
/// # Errors
/// Bad expressions, input that cannot be read, and those of standard output.
pub(super) fn run(cli: &Cli, matches: &ArgMatches, session: &Session) -> anyhow::Result<Status> {
    let world = cli.clock.world();
    let dialect = ask::dialect(cli);
    let work = Work::new(cli, &world, dialect, session)?;
    let (input, out) = pipe_ends();
    let (read, name) = cli.input.open(input)?;
    // The reader has a buffer of its own.
    let mut ads = Ads::new(read.into_inner(), name, cli, dialect, session);
    let mask = output::columns(cli, matches)?;
    let mut results = Results {
        writer: None,
        mask,
        work: &work,
        out,
        text: Vec::new(),
        seen: HashSet::default(),
        waiting: Vec::new(),
        count: 0,
        last: None,
    };
    if let Some(form) = work.form {
        results.writer = Some(output::writer(cli, form));
    }
    let mut odd = Odd::default();
    // Whole ads are made of those alone that pass the constraint and are printed as such.
    let mut skim = results.skim();
    let wants_whole = results.wants_whole();
    let mut used = AdRecord::default();
    while !results.is_full() {
        let next = match &mut skim {
            Some(skim) => ads.next_part(skim, std::mem::take(&mut used))?,
            None => ads.next()?,
        };
        let Some(mut record) = next else { break };
        if skim.as_ref().is_some_and(Skim::is_open) {
            skim = None;
        }
        if !work.assigned.is_empty() {
            record.ad.update(&work.assigned);
        }
        if results.writer.is_none() && work.only_form_of_input {
            results.writer = Some(output::writer(cli, form_of_input(ads.form())));
        }
        let mut context = Context::new(&world).my(&record.ad).strict(cli.context.strict);
        if let Some(target) = &work.target {
            context = context.target(target);
        }
        let value = work.constraint.as_ref().map(|constraint| context.try_eval(constraint));
        if let Some(value) = &value {
            odd.note(value.as_ref(), record.line);
        }
        if value.is_none_or(|value| value.and_then(|value| value.truth()) == Some(true)) {
            if wants_whole && skim.is_some() && ads.form() == Form::Long {
                let ad = ads.whole();
                let context = Context::new(&world).my(&ad).strict(cli.context.strict);
                results.take(&ad, &context)?;
            } else {
                results.take(&record.ad, &context)?;
            }
        }
        used = record;
    }
    let status = results.finish(session)?;
    odd.tell(&work, session);
    Ok(status)
}

fn form_of_input(form: Form) -> ListForm {
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
struct Odd {
    count: u64,
    first: Option<(u64, String)>,
}

impl Odd {
    fn note(&mut self, value: Option<&Value>, line: u64) {
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
    fn new(cli: &'a Cli, world: &'a RealWorld, dialect: Dialect, session: &Session) -> anyhow::Result<Self> {
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
        Ok(Work { cli, world, constraint, sort: sort?, assigned, operands, target, form, only_form_of_input })
    }
}

impl Results<'_> {
    /// What is wanted of each ad, where that can be told beforehand.
    fn skim(&self) -> Option<Skim> {
        let work = self.work;
        if work.target.is_some() || !work.assigned.is_empty() || work.cli.question.explain {
            return None;
        }
        // Without a constraint whole ads are wanted anyway.
        if self.wants_whole() && work.constraint.is_none() {
            return None;
        }
        let exprs = work.constraint.iter().chain(&work.sort).chain(self.mask.expressions());
        let mut skim = Skim::of(exprs.chain(work.operands.iter().map(|operand| &operand.expr)))?;
        ["ClusterId", "ProcId", "JobId"].into_iter().for_each(|name| skim.want(name.into()));
        Some(skim)
    }

    /// Whether ads are printed as such.
    fn wants_whole(&self) -> bool {
        let work = self.work;
        let counts = work.cli.stream.count && !work.cli.stream.unique;
        self.mask.is_empty() && work.operands.is_empty() && !counts
    }

    /// Whether no further ad can change the result.
    fn is_full(&self) -> bool {
        let limit = self.work.cli.stream.limit;
        self.work.sort.is_empty() && limit.is_some_and(|limit| self.count >= limit)
    }

    fn take(&mut self, ad: &ClassAd, context: &Context<'_>) -> anyhow::Result<()> {
        let cli = self.work.cli;
        self.text.clear();
        let item = if cli.question.explain {
            self.explain(context)?;
            Item::Text(std::mem::take(&mut self.text))
        } else if !self.work.operands.is_empty() {
            for operand in &self.work.operands {
                let value = context.try_eval(&operand.expr);
                operands::print_value(value.as_ref(), cli, &mut self.text)?;
                self.last = Some(value);
            }
            Item::Text(std::mem::take(&mut self.text))
        } else if !self.wants_whole() && self.mask.is_empty() {
            Item::Text(Vec::new())
        } else if self.mask.is_empty() && self.work.sort.is_empty() && !cli.stream.unique {
            self.last = Some(Some(Value::Bool(true)));
            self.count += 1;
            if let Some(writer) = &mut self.writer {
                writer.write(ad, &mut self.out)?;
            }
            return Ok(());
        } else if self.mask.is_empty() {
            Item::Ad(Box::new(ad.clone()))
        } else {
            let row = self.mask.render(ad, context);
            if let Some(column) = row.cut() {
                return Err(Problem::usage(format!(
                    "the number {} does not fit the format '{}', which has 32 bits",
                    column.1, column.0
                ))
                .hint("use %lld")
                .into());
            }
            Item::Row(row)
        };
        if !cli.question.explain && self.work.operands.is_empty() {
            self.last = Some(Some(Value::Bool(true)));
        }
        if cli.stream.unique && !self.is_new(&item) {
            return Ok(());
        }
        if cli.stream.count && self.work.sort.is_empty() {
            self.count += 1;
            return Ok(());
        }
        if self.work.sort.is_empty() && !self.mask.has_headings() {
            self.count += 1;
            return self.print(&item);
        }
        if self.work.sort.is_empty() {
            self.count += 1;
        }
        let keys = self.work.sort.iter().map(|key| context.eval(key)).collect();
        self.waiting.push((keys, item));
        Ok(())
    }

    fn explain(&mut self, context: &Context<'_>) -> anyhow::Result<()> {
        let cli = self.work.cli;
        let constraint = self.work.constraint.iter().map(|expr| (None, expr));
        let operands = self.work.operands.iter().map(|operand| (Some(&operand.text), &operand.expr));
        let all: Vec<_> = operands.collect();
        let all = if all.is_empty() { constraint.collect() } else { all };
        if all.is_empty() {
            return Err(Problem::usage("there is nothing to explain")
                .hint("give an expression, or --match FILE for the Requirements of pairs")
                .into());
        }
        for (_, expr) in all {
            let mut text = std::mem::take(&mut self.text);
            self.last = Some(explanation::print(context, expr, cli, &mut text)?);
            self.text = text;
        }
        Ok(())
    }

    /// Whether a result like this has not been seen. What is printed is compared, by a hash of 128 bits.
    fn is_new(&mut self, item: &Item) -> bool {
        let mut text = Vec::new();
        match item {
            Item::Text(item) => text.extend_from_slice(item),
            Item::Row(row) => self.mask.display(row, self.work.world, &mut text),
            Item::Ad(ad) => {
                let names = output::attributes(self.work.cli);
                let options = crate::classad::format::long::PrintOptions {
                    only: (!names.is_empty()).then_some(names),
                    ..Default::default()
                };
                crate::classad::format::long::push(ad, &options, &mut text);
            }
        }
        self.seen.insert(hash(&text))
    }

    fn print(&mut self, item: &Item) -> anyhow::Result<()> {
        match item {
            Item::Text(text) => self.out.write_all(text)?,
            Item::Row(row) => {
                let mut text = std::mem::take(&mut self.text);
                text.clear();
                self.mask.display(row, self.work.world, &mut text);
                self.out.write_all(&text)?;
                self.text = text;
            }
            Item::Ad(ad) => {
                if let Some(writer) = &mut self.writer {
                    writer.write(ad, &mut self.out)?;
                }
            }
        }
        Ok(())
    }

    fn finish(mut self, session: &Session) -> anyhow::Result<Status> {
        let cli = self.work.cli;
        let mut waiting = std::mem::take(&mut self.waiting);
        if !self.work.sort.is_empty() {
            waiting.sort_by(|a, b| compare_keys(&a.0, &b.0));
            let limit = cli.stream.limit.and_then(|limit| usize::try_from(limit).ok());
            waiting.truncate(limit.unwrap_or(usize::MAX));
            self.count = waiting.len() as u64;
        }
        if cli.stream.count {
            writeln!(self.out, "{}", self.count)?;
        } else {
            if self.mask.has_headings() {
                let mut text = Vec::new();
                self.mask.display_headings(&mut text);
                self.out.write_all(&text)?;
            }
            for (_, item) in &waiting {
                self.print(item)?;
            }
            if let Some(writer) = &mut self.writer {
                writer.finish(&mut self.out)?;
            }
        }
        self.out.flush()?;
        if let Some((number, name)) = self.writer.as_ref().and_then(ListWriter::misread) {
            session.warn(&format!(
                "'{name}' of ad {number} of the output reads back as something else: the long form cannot say it\n    \
                 hint: -json, -new and -xml can"
            ));
        }
        Ok(match (cli.question.exit_status, &self.last) {
            (false, _) => Status::Done,
            (true, None) => Status::No,
            (true, Some(value)) => ask::status(value.as_ref(), session),
        })
    }
}

fn hash(text: &[u8]) -> u128 {
    use std::hash::Hasher;
    let mut one = rustc_hash::FxHasher::default();
    one.write(text);
    // FNV-1a beside it: two functions of different kinds make an accident impossible in practice.
    let mut two = 0xcbf2_9ce4_8422_2325u64;
    for byte in text {
        two = (two ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    u128::from(one.finish()) << 64 | u128::from(two)
}

/// The order of sorted results: numbers before strings before times, all of them before lists and ads, and what is
/// undefined or an error last. Equal ones keep the order of the input.
pub(super) fn compare_keys(a: &[Value], b: &[Value]) -> std::cmp::Ordering {
    let class = |value: &Value| match value {
        Value::Bool(_) | Value::Int(_) | Value::Real(_) => 0,
        Value::Str(_) => 1,
        Value::AbsTime(_) => 2,
        Value::RelTime(_) => 3,
        Value::List(_) | Value::Ad(_) => 4,
        Value::Undefined => 5,
        Value::Error => 6,
    };
    a.iter()
        .zip(b)
        .map(|(a, b)| {
            class(a).cmp(&class(b)).then_with(|| match (a, b) {
                (Value::Int(a), Value::Int(b)) => a.cmp(b),
                (Value::Str(a), Value::Str(b)) => crate::text::caseless::cmp(a, b).then_with(|| a.cmp(b)),
                (Value::AbsTime(a), Value::AbsTime(b)) => a.seconds.cmp(&b.seconds),
                (Value::RelTime(a), Value::RelTime(b)) => a.total_cmp(b),
                (a, b) => match (a.as_real(), b.as_real()) {
                    (Some(a), Some(b)) => a.total_cmp(&b),
                    _ => std::cmp::Ordering::Equal,
                },
            })
        })
        .find(|order| order.is_ne())
        .unwrap_or(std::cmp::Ordering::Equal)
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

/// Opens a second stream.
pub(super) fn open<'a>(
    path: &OsStr,
    cli: &Cli,
    dialect: Dialect,
    session: &'a Session,
) -> anyhow::Result<Ads<'a, Box<dyn Read>>> {
    let name = path.to_string_lossy().into_owned();
    let read: Box<dyn Read> = if path.as_bytes() == b"-" {
        Box::new(io::stdin())
    } else {
        let problem = || Problem::unreadable(format!("cannot read '{name}'"));
        let file = std::fs::File::open(path).with_context(problem)?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(problem().caused_by(io::Error::from(io::ErrorKind::IsADirectory)).into());
        }
        Box::new(file)
    };
    Ok(Ads::new(read, name, cli, dialect, session))
}
