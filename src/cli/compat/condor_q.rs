//! Called as `condor_q`: the queue tool's output forms for ads of a file, to the byte. There is no schedd to ask
//! (reference: condor_q.V6/queue.cpp). `condor_router_q` answers with them out of a queue log.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;

use super::condor_q_tables::{Columns, RunTime};
use crate::classad::format::list::{ListForm, ListWriter, Order};
use crate::classad::format::long;
use crate::classad::stream::{Delimiter, Form, ReferenceReader};
use crate::classad::{AttrName, ClassAd, Context, Dialect, Expr};
use crate::cli::common::{PrintMask, Session, Status};
use crate::cli::compat::{Least, Rule, Word, Words};
use crate::os::RealWorld;
use crate::world::World;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Id {
    Wide,
    Long,
    Xml,
    Json,
    Limit,
    Constraint,
    Attributes,
    Format,
    Autoformat,
    Help,
    Run,
    Hold,
    Idle,
    JobAds,
    Version,
    /// One line a batch.
    Batch,
    /// One line a job.
    NoBatch,
    /// Counts alone.
    Totals,
    /// Jobs of the grid universe.
    Grid,
    /// Times of all runs, of the present one, or of the CPU.
    Cumulative,
    Current,
    Cpu,
    /// Which schedd is asked.
    Name,
    /// Known, without an effect on ads of a file.
    Nothing,
    /// The same, with a value.
    NothingWithValue,
    /// Known, but it asks for a daemon or for tables that are not made here.
    Unsupported,
}

const fn rule(id: Id, name: &'static str, least: usize, suffix: bool) -> Rule<Id> {
    Rule { id, name, least: Least::Letters(least), suffix }
}

/// In the order of the reference's source, since the first that fits wins.
const RULES: &[Rule<Id>] = &[
    rule(Id::Wide, "wide", 1, true),
    rule(Id::Long, "long", 1, true),
    rule(Id::Xml, "xml", 3, false),
    rule(Id::Json, "json", 2, false),
    rule(Id::Limit, "limit", 3, false),
    rule(Id::NothingWithValue, "pool", 1, false),
    rule(Id::NothingWithValue, "D", 1, false),
    rule(Id::Name, "name", 1, false),
    rule(Id::NothingWithValue, "direct", 1, false),
    rule(Id::NothingWithValue, "submitter", 1, false),
    rule(Id::Constraint, "constraint", 1, false),
    rule(Id::NothingWithValue, "slotconstraint", 5, false),
    rule(Id::NothingWithValue, "mconstraint", 2, false),
    rule(Id::NothingWithValue, "machine", 2, false),
    rule(Id::NothingWithValue, "address", 1, false),
    rule(Id::Unsupported, "autocluster", 2, true),
    rule(Id::Unsupported, "group-by", 2, true),
    rule(Id::Unsupported, "factory", 4, true),
    rule(Id::Unsupported, "jobset", 5, true),
    rule(Id::Attributes, "attributes", 2, false),
    rule(Id::Format, "format", 1, false),
    rule(Id::Unsupported, "aaf", 3, true),
    rule(Id::Autoformat, "autoformat", 5, true),
    rule(Id::Autoformat, "af", 2, true),
    rule(Id::Unsupported, "print-format", 2, true),
    rule(Id::Nothing, "global", 1, false),
    rule(Id::Nothing, "allusers", 2, false),
    rule(Id::Nothing, "all-users", 2, false),
    rule(Id::NothingWithValue, "schedd-constraint", 5, false),
    rule(Id::Help, "help", 1, false),
    rule(Id::Unsupported, "better-analyze", 2, true),
    rule(Id::Unsupported, "better-analyse", 2, true),
    rule(Id::Unsupported, "analyze", 2, true),
    rule(Id::Unsupported, "analyse", 2, true),
    rule(Id::Unsupported, "reverse-analyze", 3, true),
    rule(Id::Unsupported, "unmatchable", 5, true),
    rule(Id::Unsupported, "dry-run", 3, true),
    rule(Id::Unsupported, "capture-raw-results", 7, true),
    rule(Id::Nothing, "verbose", 4, false),
    rule(Id::Run, "run", 1, false),
    rule(Id::Hold, "hold", 2, true),
    rule(Id::Hold, "held", 2, true),
    rule(Id::Unsupported, "hold-codes", 6, true),
    rule(Id::Unsupported, "holdcodes", 5, true),
    rule(Id::Idle, "idle", 3, false),
    rule(Id::Cpu, "cputime", 2, false),
    rule(Id::Current, "currentrun", 3, false),
    rule(Id::Cumulative, "cumulative-time", 3, false),
    rule(Id::Grid, "grid", 2, true),
    rule(Id::Nothing, "debug", 3, true),
    rule(Id::Unsupported, "io", 2, false),
    rule(Id::Unsupported, "dag", 2, false),
    rule(Id::Batch, "batch", 2, true),
    rule(Id::Batch, "progress", 3, true),
    rule(Id::NoBatch, "nobatch", 3, false),
    rule(Id::Totals, "totals", 3, false),
    rule(Id::Nothing, "expert", 1, false),
    rule(Id::JobAds, "jobads", 1, true),
    rule(Id::Unsupported, "userlog", 1, false),
    rule(Id::NothingWithValue, "slotads", 1, true),
    rule(Id::NothingWithValue, "userprios", 5, true),
    rule(Id::Nothing, "nouserprios", 7, true),
    rule(Id::Version, "version", 1, false),
    rule(Id::Nothing, "profile", 4, true),
    rule(Id::Nothing, "stream-results", 2, false),
];

/// What `-help` prints.
pub(super) const USAGE: &str =
    "Usage: condor_q -jobads[:auto|long|xml|json|new] <file> [restrictions] [output options]
    [restrictions]: <cluster> <cluster>.<proc> <owner> -constraint <expr> -run -hold -idle
    [output options]: -autoformat[:jlhVrTY,tng] <attr>... -af[:...] <attr>... -format <fmt> <attr>
        -long[:<form>] -json -xml -attributes X,Y,...
This condor_q reads ads from files; it asks no schedd.
";

/// Which table is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Table {
    /// One line a batch.
    #[default]
    Batches,
    /// One line a job.
    Jobs(Columns),
    /// Counts alone.
    Totals,
}

/// What the command line asks for.
#[derive(Default)]
pub(super) struct Wish {
    file: Option<OsString>,
    form: Option<Form>,
    all: Vec<Vec<u8>>,
    any: Vec<Vec<u8>>,
    long: Option<ListForm>,
    unsorted: bool,
    attributes: Vec<AttrName>,
    mask: PrintMask,
    custom: bool,
    columns: Vec<Custom>,
    /// How many jobs are wanted.
    pub(super) limit: Option<usize>,
    /// The table that an option asks for by name.
    table: Option<Table>,
    /// One line a job: whatever is not asked for by name.
    no_batch: bool,
    /// What restrictions ask for, where no table is asked for by name.
    restricted: Option<Columns>,
    /// What is shown as time.
    pub(super) time: RunTime,
    time_chosen: bool,
    /// What was passed over, as the tool says it.
    pub(super) warnings: Vec<String>,
    /// Whether nothing is to be cut for a terminal.
    pub(super) wide: bool,
    /// The schedd that is asked.
    pub(super) schedd: Option<Vec<u8>>,
}

/// Columns as they were asked for.
enum Custom {
    Auto(Vec<u8>, Vec<Vec<u8>>),
    Format(Vec<u8>, Vec<u8>),
}

/// Why the command line cannot be carried out: a message, and whether the usage follows it.
pub(super) struct Refusal(String, bool);

/// Works as `condor_q` does on a file of ads.
///
/// # Errors
/// Those of standard output.
pub fn run(words: &[OsString], session: &Session) -> anyhow::Result<Status> {
    let mut wish = match Wish::read(words) {
        Ok(Ok(wish)) => wish,
        Ok(Err(text)) => {
            io::stdout().write_all(text.as_bytes())?;
            return Ok(Status::Tool(0));
        }
        Err(refusal) => return refusal.tell(session),
    };
    wish.warnings.iter().for_each(|text| session.tell(text));
    let Some(file) = wish.file.take() else {
        session.tell("Error: there is no queue here\nhint: name a file of ads with -jobads\n");
        return Ok(Status::Tool(1));
    };
    if wish.is_table() {
        session.tell(
            "Error: the tables of condor_q are not made here\nhint: use -af, -format, -long, -json or -xml\n",
        );
        return Ok(Status::Tool(1));
    }
    let read: Box<dyn Read> = if file == "-" {
        Box::new(io::stdin())
    } else {
        match File::open(&file) {
            Ok(file) => Box::new(file),
            Err(_) => {
                session.tell(&format!("Can't open file of ClassAds: {}\n", file.to_string_lossy()));
                return Ok(Status::Tool(1));
            }
        }
    };
    let world = RealWorld::new();
    let constraint = wish.constraint(session);
    let mut out = BufWriter::new(io::stdout().lock());
    let mut jobs = Jobs::default();
    let mut reader = ReferenceReader::new(read, wish.form, Delimiter::Queue);
    // What cannot be read ends the list without a word, as it does in the reference.
    while let Ok(Some(ad)) = reader.next_ad() {
        if !holds(constraint.as_ref(), &ad, &world) {
            reader.reuse(ad);
        } else if !jobs.add(ad, &world) {
            session.tell("Error: Two results with the same ID.\n");
        }
    }
    wish.print_jobs(&jobs, &world, &mut out, session)?;
    out.flush()?;
    Ok(Status::Tool(0))
}

impl Refusal {
    /// Says why, as the tool does.
    pub(super) fn tell(self, session: &Session) -> anyhow::Result<Status> {
        let Refusal(message, usage) = self;
        // Of options that contradict each other the tool speaks at once.
        let lead = if message.starts_with('-') && usage { "" } else { "Error: " };
        session.tell(&format!("{lead}{message}\n"));
        if usage {
            io::stdout().write_all(USAGE.as_bytes())?;
        }
        Ok(Status::Tool(1))
    }
}

/// Whether the reference keeps an ad: an evaluation that fails keeps it, a value that is no truth does not.
pub(super) fn holds(constraint: Option<&Expr>, ad: &ClassAd, world: &dyn World) -> bool {
    let Some(constraint) = constraint else { return true };
    Context::new(world).my(ad).try_eval(constraint).is_none_or(|value| value.truth() == Some(true))
}

impl Wish {
    /// Reads the words; a text is to be printed instead for `-help` and `-version`.
    pub(super) fn read(words: &[OsString]) -> Result<Result<Wish, String>, Refusal> {
        let mut wish = Wish::default();
        let mut words = Words::new(RULES, words);
        while let Some(word) = words.next() {
            let (id, suffix) = match word {
                Word::Option { id, suffix } => (id, suffix),
                Word::Unknown(word) => {
                    return Err(Refusal(format!("unrecognized argument {}", word.to_string_lossy()), true));
                }
                Word::Operand(word) => {
                    wish.restrict(word.as_bytes());
                    continue;
                }
            };
            let mut value = |what: &str| {
                words
                    .value()
                    .map(|value| value.as_bytes().to_vec())
                    .ok_or_else(|| Refusal(what.to_owned(), false))
            };
            match id {
                Id::Wide => wish.wide = true,
                Id::Nothing => {}
                Id::NothingWithValue => {
                    value("an option requires another parameter")?;
                }
                Id::Help => return Ok(Err(USAGE.to_owned())),
                Id::Version => {
                    return Ok(Err(format!("htc-hooks {} as condor_q\n", env!("CARGO_PKG_VERSION"))));
                }
                Id::Unsupported => {
                    return Err(Refusal(
                        "this option is not carried out where no schedd is asked".to_owned(),
                        false,
                    ));
                }
                Id::Long => wish.set_long(suffix.as_deref()),
                Id::Xml if wish.long == Some(ListForm::Json) => return Err(both()),
                Id::Json if wish.long == Some(ListForm::Xml) => return Err(both()),
                Id::Xml => wish.long = Some(ListForm::Xml),
                Id::Json => wish.long = Some(ListForm::Json),
                Id::Limit => {
                    let text = value("-limit requires the max number of results as an argument.")?;
                    wish.limit = Some(limit(&text)?);
                }
                Id::Name => wish.schedd = Some(value("-name requires the name of a schedd as an argument.")?),
                Id::Batch => wish.table = Some(Table::Batches),
                Id::NoBatch => {
                    wish.no_batch = true;
                    wish.table = wish.table.filter(|table| *table != Table::Batches);
                }
                Id::Totals => wish.table = Some(Table::Totals),
                Id::Grid => {
                    if suffix.is_some_and(|suffix| suffix == "ec2") {
                        return Err(Refusal("-grid:ec2 is not carried out here".to_owned(), false));
                    }
                    wish.table = Some(Table::Jobs(Columns::Grid));
                    wish.all.push(b"JobUniverse == 9".to_vec());
                }
                Id::Cpu => wish.time = RunTime::Cpu,
                Id::Current | Id::Cumulative if wish.time_chosen => {
                    let (one, other) = match id {
                        Id::Current => ("-currentrun", "-cumulative-time"),
                        _ => ("-cumulative-time", "-currentrun"),
                    };
                    return Err(Refusal(format!("{one} can't be used with {other}"), false));
                }
                Id::Current => wish.time_chosen = true,
                Id::Cumulative => {
                    wish.time_chosen = true;
                    if wish.time == RunTime::Current {
                        wish.time = RunTime::Cumulative;
                    }
                }
                Id::Constraint => wish.all.push(value("-constraint requires another parameter")?),
                Id::Attributes => {
                    let list = value("-attributes requires a list of attributes to show")?;
                    let names = crate::text::list::split(&list);
                    wish.attributes.extend(names.map(AttrName::from));
                }
                Id::Format => {
                    let what = "-format requires format and attribute parameters";
                    let columns = Custom::Format(value(what)?, value(what)?);
                    wish.columns.push(columns);
                }
                Id::Autoformat => {
                    let mut columns = Vec::new();
                    while let Some(word) = words.value_without_dash() {
                        columns.push(word.as_bytes().to_vec());
                    }
                    if columns.is_empty() {
                        let what = "-autoformat requires at least one attribute parameter";
                        return Err(Refusal(what.to_owned(), false));
                    }
                    words.value_among(&["-"]);
                    let letters = suffix.map(|suffix| suffix.as_bytes().to_vec()).unwrap_or_default();
                    wish.columns.push(Custom::Auto(letters, columns));
                }
                Id::Run => {
                    wish.all.push(b"JobStatus == 2 || JobStatus == 6 || JobStatus == 7".to_vec());
                    wish.restrict_to(Columns::Running)?;
                }
                Id::Hold => {
                    wish.all.push(b"JobStatus==5".to_vec());
                    wish.restrict_to(Columns::Held)?;
                    wish.restrict_codes(suffix.as_deref());
                }
                Id::Idle => {
                    wish.all.push(b"JobStatus==1".to_vec());
                    wish.restrict_to(Columns::Idle)?;
                }
                Id::JobAds => {
                    wish.file = Some(OsStr::from_bytes(&value("-jobads requires a filename")?).to_owned());
                    if let Some(suffix) = suffix {
                        wish.form = form_of(&suffix);
                    }
                }
            }
        }
        wish.make_columns();
        Ok(Ok(wish))
    }

    /// Whether one of the tool's tables is asked for: neither a form of ads nor columns.
    pub(super) fn is_table(&self) -> bool {
        self.long.is_none() && !self.custom
    }

    /// Prints jobs of a queue that the constraint keeps, as many as are wanted, as ads or in columns.
    ///
    /// # Errors
    /// Those of writing.
    pub(super) fn print<'a>(
        &mut self,
        ads: impl Iterator<Item = &'a ClassAd>,
        world: &dyn World,
        out: &mut dyn Write,
        session: &Session,
    ) -> io::Result<()> {
        let mut jobs = Jobs::default();
        for ad in ads.take(self.limit.unwrap_or(usize::MAX)) {
            jobs.add(ad.clone(), world);
        }
        self.print_jobs(&jobs, world, out, session)
    }

    fn print_jobs(
        &mut self,
        jobs: &Jobs,
        world: &dyn World,
        out: &mut dyn Write,
        session: &Session,
    ) -> io::Result<()> {
        match self.long {
            Some(form) => self.print_long(form, jobs, out),
            None => self.print_columns(jobs, world, out, session),
        }
    }

    /// Running, held or idle jobs, and no two of them.
    fn restrict_to(&mut self, columns: Columns) -> Result<(), Refusal> {
        let other = self.restricted.replace(columns).is_some_and(|former| former != columns);
        let text = "-run and -hold/held or -idle are incompatible";
        if other { Err(Refusal(text.to_owned(), true)) } else { Ok(()) }
    }

    /// The codes of `-hold:CODE,CODE/SUBCODE`.
    fn restrict_codes(&mut self, suffix: Option<&OsStr>) {
        let mut codes: Vec<String> = Vec::new();
        for word in crate::text::list::split(suffix.map(OsStr::as_bytes).unwrap_or_default()) {
            let Some((code, used)) = crate::text::number::integer_prefix(word) else {
                let word = String::from_utf8_lossy(word);
                self.warnings
                    .push(format!("Warning \"{word}\" is not a hold code and/or subcode. ignoring\n"));
                continue;
            };
            let subcode = word[used..].strip_prefix(b"/").and_then(crate::text::number::integer_prefix);
            codes.push(match subcode.filter(|(subcode, _)| *subcode >= 0) {
                Some((subcode, _)) => format!("(HoldReasonCode=={code} && HoldReasonSubCode=={subcode})"),
                None => format!("HoldReasonCode=={code}"),
            });
        }
        if !codes.is_empty() {
            self.all.push(codes.join(" || ").into_bytes());
        }
    }

    /// The table that is printed where no form of ads and no columns are asked for.
    pub(super) fn table(&self) -> Table {
        match (self.table, self.restricted) {
            (Some(table), _) => table,
            (None, Some(columns)) => Table::Jobs(columns),
            (None, None) if self.no_batch => Table::Jobs(Columns::Any),
            (None, None) => Table::Batches,
        }
    }

    /// A word without a dash: a job, a cluster or an owner.
    fn restrict(&mut self, word: &[u8]) {
        let text = String::from_utf8_lossy(word);
        let (cluster, process) = text.split_once('.').unwrap_or((&text, ""));
        let constraint = match (cluster.parse::<u32>(), process.parse::<u32>()) {
            (Ok(cluster), Ok(process)) => format!("ClusterId == {cluster} && ProcId == {process}"),
            (Ok(cluster), Err(_)) if process.is_empty() => format!("ClusterId == {cluster}"),
            _ => {
                self.any.push([b"Owner == \"", word, b"\""].concat());
                return;
            }
        };
        self.any.push(constraint.into_bytes());
    }

    fn set_long(&mut self, suffix: Option<&OsStr>) {
        self.long.get_or_insert(ListForm::Long);
        for option in crate::text::list::split(suffix.map(OsStr::as_bytes).unwrap_or_default()) {
            match option {
                b"nosort" => self.unsorted = true,
                b"long" => self.long = Some(ListForm::Long),
                b"json" => self.long = Some(ListForm::Json),
                b"jsonl" => self.long = Some(ListForm::JsonLines),
                b"new" => self.long = Some(ListForm::New),
                b"newl" => self.long = Some(ListForm::NewLines),
                b"xml" => self.long = Some(ListForm::Xml),
                _ => {}
            }
        }
    }

    /// Columns up to the first that is no expression; nothing is said about that.
    fn make_columns(&mut self) {
        self.custom = !self.columns.is_empty();
        for columns in std::mem::take(&mut self.columns) {
            let made = match &columns {
                Custom::Auto(letters, words) => {
                    self.mask.autoformat(letters, words.iter().map(Vec::as_slice))
                }
                Custom::Format(format, attribute) => self.mask.format(format, attribute),
            };
            if made.is_err() {
                break;
            }
        }
        if self.long.is_some() && self.custom {
            // The columns become the projection.
            let names = self.mask.expressions().flat_map(crate::classad::references::projection);
            self.attributes.extend(names);
            self.attributes.extend(["ClusterId", "ProcId"].map(AttrName::from));
        }
    }

    /// The whole constraint. One that does not parse keeps all ads of a file.
    fn constraint(&self, session: &Session) -> Option<Expr> {
        self.constraint_or_error(session).unwrap_or_default()
    }

    /// The same; a schedd is not asked with one that does not parse.
    ///
    /// # Errors
    /// It does not parse; that has been said.
    pub(super) fn constraint_or_error(&self, session: &Session) -> Result<Option<Expr>, ()> {
        let join = |constraints: &[Vec<u8>], with: &[u8]| -> Vec<u8> {
            let each: Vec<Vec<u8>> =
                constraints.iter().map(|text| [b"(", &text[..], b")"].concat()).collect();
            [b"( ", &each.join(with)[..], b" )"].concat()
        };
        let mut parts = Vec::new();
        if !self.all.is_empty() {
            parts.push(join(&self.all, b" && "));
        }
        if !self.any.is_empty() {
            parts.push(join(&self.any, b" || "));
        }
        if parts.is_empty() {
            return Ok(None);
        }
        let text = parts.join(&b" && "[..]);
        Expr::parse_with(&text, Dialect::old_syntax()).map(Some).map_err(|_| {
            session.tell(&format!("Invalid constraint: {}\n", String::from_utf8_lossy(&text)));
        })
    }

    fn print_long(&self, form: ListForm, jobs: &Jobs, out: &mut dyn Write) -> io::Result<()> {
        if self.unsorted && form == ListForm::Long && !self.attributes.is_empty() {
            return self.print_unsorted(jobs, out);
        }
        let order = if self.unsorted { Order::Internal } else { Order::Sorted };
        let mut writer = ListWriter::new(form, order);
        if !self.attributes.is_empty() {
            writer = writer.only(self.attributes.iter().cloned());
        }
        for ad in jobs.by_id.values() {
            writer.write(ad, out)?;
        }
        writer.finish(out)
    }

    /// A projection that is not sorted has the order of the ads themselves, and secrets.
    fn print_unsorted(&self, jobs: &Jobs, out: &mut dyn Write) -> io::Result<()> {
        let options = long::PrintOptions {
            order: long::Order::Ad,
            private: true,
            only: Some(self.attributes.clone()),
            ..long::PrintOptions::default()
        };
        for ad in jobs.by_id.values() {
            let text = long::print_with(ad, &options);
            if !text.is_empty() {
                out.write_all(&text)?;
                out.write_all(b"\n")?;
            }
        }
        Ok(())
    }

    /// Everything is rendered before the first line, since headings are as wide as the widest value.
    fn print_columns(
        &mut self,
        jobs: &Jobs,
        world: &dyn World,
        out: &mut dyn Write,
        session: &Session,
    ) -> io::Result<()> {
        let mut rows = BTreeMap::new();
        let mut cluster = 0;
        for ad in jobs.by_id.values() {
            if self.mask.is_empty() {
                break;
            }
            let context = Context::new(world).my(ad);
            // Where an ad has no cluster the reference goes on with that of the ad before.
            cluster = context.int("ClusterId").map_or(cluster, |cluster| cluster as i32);
            let mut process = context.int("ProcId").map_or(-1, |process| process as i32);
            if let (None, Some(set)) = (context.int("ClusterId"), context.int("JobSetId")) {
                cluster = 0;
                process = if ad.contains("ProcId") { process } else { set as i32 };
            }
            match rows.entry(key(cluster, process)) {
                std::collections::btree_map::Entry::Vacant(entry) => {
                    entry.insert(self.mask.render(ad, &context));
                }
                std::collections::btree_map::Entry::Occupied(_) => {
                    session.tell("Error: Two results with the same ID.\n");
                }
            }
        }
        let mut text = Vec::new();
        if self.mask.has_headings() {
            self.mask.display_headings(&mut text);
        }
        for row in rows.values() {
            self.mask.display(row, world, &mut text);
            if text.len() > 1 << 16 {
                out.write_all(&text)?;
                text.clear();
            }
        }
        out.write_all(&text)
    }
}

fn both() -> Refusal {
    Refusal("Cannot print as both XML and JSON".to_owned(), false)
}

fn form_of(suffix: &OsStr) -> Option<Form> {
    suffix.to_str().and_then(Form::from_name)
}

/// How many jobs are wanted. Ads of a file are never limited, but the number must be one.
fn limit(text: &[u8]) -> Result<usize, Refusal> {
    let shown = String::from_utf8_lossy(text);
    match crate::text::number::integer_prefix(text) {
        Some((limit @ 1.., used)) if used == text.len() && limit <= i64::from(i32::MAX) => Ok(limit as usize),
        Some((limit, used)) if used == text.len() => {
            Err(Refusal(format!("{limit} is not a valid for -limit."), false))
        }
        None if text.is_empty() => Err(Refusal("0 is not a valid for -limit.".to_owned(), false)),
        _ => Err(Refusal(format!("Unable to convert ({shown}) to a number for -limit."), false)),
    }
}

/// Cluster and process as the reference keeps them together: one integer of 64 bits.
fn key(cluster: i32, process: i32) -> i64 {
    i64::from(cluster) << 32 | i64::from(process as u32)
}

/// The jobs of a file by their ids. Of two with the same id the first counts.
#[derive(Default)]
struct Jobs {
    by_id: BTreeMap<i64, ClassAd>,
    number: i32,
}

impl Jobs {
    fn add(&mut self, ad: ClassAd, world: &dyn World) -> bool {
        let context = Context::new(world).my(&ad);
        let number = self.number;
        self.number += 1;
        let (cluster, mut process) = match (context.int("ClusterId"), context.int("JobSetId")) {
            (Some(cluster), _) => (cluster as i32, number),
            (None, Some(set)) => (0, set as i32),
            (None, None) => (i32::MAX, number),
        };
        if let Some(own) = context.int("ProcId") {
            process = own as i32;
        }
        let id = key(cluster, process);
        if self.by_id.contains_key(&id) {
            return false;
        }
        self.by_id.insert(id, ad);
        true
    }
}
