//! Options of `condor_q` (reference: condor_q.V6/queue.cpp, `processCommandLineArguments`).

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use bstr::ByteSlice;

use super::condor_q_tables::{JobTableColumns, RunTime};
use crate::classad::format::list::ListForm;
use crate::classad::stream::AdForm;
use crate::classad::{AttrName, Dialect, Expr};
use crate::cli::common::{PrintMask, ProgramContext, Status, stdout};
use crate::cli::compat::{CommandWord, CommandWords, OptionRule, option_rule};
use crate::text::number::integer_prefix;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CondorQOption {
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
    /// One line for each hold code and subcode.
    HoldCodes,
    Idle,
    JobAds,
    Version,
    /// One line per batch.
    Batch,
    /// One line per job.
    NoBatch,
    /// Totals only.
    Totals,
    /// Jobs of the grid universe.
    Grid,
    /// Times of all runs, of the current run, or of the CPU.
    Cumulative,
    Current,
    Cpu,
    /// Name of the schedd.
    Name,
    /// Known, but without effect on ads of a file.
    Nothing,
    /// The same, with a value.
    NothingWithValue,
    /// Known, but it needs a daemon, or a table that is unsupported here.
    Unsupported,
}

/// Options in the order of the reference's source, because the first match is used.
const OPTION_RULES: &[OptionRule<CondorQOption>] = &[
    option_rule(CondorQOption::Wide, "wide", 1, true),
    option_rule(CondorQOption::Long, "long", 1, true),
    option_rule(CondorQOption::Xml, "xml", 3, false),
    option_rule(CondorQOption::Json, "json", 2, false),
    option_rule(CondorQOption::Limit, "limit", 3, false),
    option_rule(CondorQOption::NothingWithValue, "pool", 1, false),
    option_rule(CondorQOption::NothingWithValue, "D", 1, false),
    option_rule(CondorQOption::Name, "name", 1, false),
    option_rule(CondorQOption::NothingWithValue, "direct", 1, false),
    option_rule(CondorQOption::NothingWithValue, "submitter", 1, false),
    option_rule(CondorQOption::Constraint, "constraint", 1, false),
    option_rule(CondorQOption::NothingWithValue, "slotconstraint", 5, false),
    option_rule(CondorQOption::NothingWithValue, "mconstraint", 2, false),
    option_rule(CondorQOption::NothingWithValue, "machine", 2, false),
    option_rule(CondorQOption::NothingWithValue, "address", 1, false),
    option_rule(CondorQOption::Unsupported, "autocluster", 2, true),
    option_rule(CondorQOption::Unsupported, "group-by", 2, true),
    option_rule(CondorQOption::Unsupported, "factory", 4, true),
    option_rule(CondorQOption::Unsupported, "jobset", 5, true),
    option_rule(CondorQOption::Attributes, "attributes", 2, false),
    option_rule(CondorQOption::Format, "format", 1, false),
    option_rule(CondorQOption::Unsupported, "aaf", 3, true),
    option_rule(CondorQOption::Autoformat, "autoformat", 5, true),
    option_rule(CondorQOption::Autoformat, "af", 2, true),
    option_rule(CondorQOption::Unsupported, "print-format", 2, true),
    option_rule(CondorQOption::Nothing, "global", 1, false),
    option_rule(CondorQOption::Nothing, "allusers", 2, false),
    option_rule(CondorQOption::Nothing, "all-users", 2, false),
    option_rule(CondorQOption::NothingWithValue, "schedd-constraint", 5, false),
    option_rule(CondorQOption::Help, "help", 1, false),
    option_rule(CondorQOption::Unsupported, "better-analyze", 2, true),
    option_rule(CondorQOption::Unsupported, "better-analyse", 2, true),
    option_rule(CondorQOption::Unsupported, "analyze", 2, true),
    option_rule(CondorQOption::Unsupported, "analyse", 2, true),
    option_rule(CondorQOption::Unsupported, "reverse-analyze", 3, true),
    option_rule(CondorQOption::Unsupported, "unmatchable", 5, true),
    option_rule(CondorQOption::Unsupported, "dry-run", 3, true),
    option_rule(CondorQOption::Unsupported, "capture-raw-results", 7, true),
    option_rule(CondorQOption::Nothing, "verbose", 4, false),
    option_rule(CondorQOption::Run, "run", 1, false),
    option_rule(CondorQOption::Hold, "hold", 2, true),
    option_rule(CondorQOption::Hold, "held", 2, true),
    option_rule(CondorQOption::HoldCodes, "hold-codes", 6, true),
    option_rule(CondorQOption::HoldCodes, "holdcodes", 5, true),
    option_rule(CondorQOption::Idle, "idle", 3, false),
    option_rule(CondorQOption::Cpu, "cputime", 2, false),
    option_rule(CondorQOption::Current, "currentrun", 3, false),
    option_rule(CondorQOption::Cumulative, "cumulative-time", 3, false),
    option_rule(CondorQOption::Grid, "grid", 2, true),
    option_rule(CondorQOption::Nothing, "debug", 3, true),
    option_rule(CondorQOption::Unsupported, "io", 2, false),
    option_rule(CondorQOption::Unsupported, "dag", 2, false),
    option_rule(CondorQOption::Batch, "batch", 2, true),
    option_rule(CondorQOption::Batch, "progress", 3, true),
    option_rule(CondorQOption::NoBatch, "nobatch", 3, false),
    option_rule(CondorQOption::Totals, "totals", 3, false),
    option_rule(CondorQOption::Nothing, "expert", 1, false),
    option_rule(CondorQOption::JobAds, "jobads", 1, true),
    option_rule(CondorQOption::Unsupported, "userlog", 1, false),
    option_rule(CondorQOption::NothingWithValue, "slotads", 1, true),
    option_rule(CondorQOption::NothingWithValue, "userprios", 5, true),
    option_rule(CondorQOption::Nothing, "nouserprios", 7, true),
    option_rule(CondorQOption::Version, "version", 1, false),
    option_rule(CondorQOption::Nothing, "profile", 4, true),
    option_rule(CondorQOption::Nothing, "stream-results", 2, false),
];

/// Output of `-help`.
pub(super) const USAGE: &str =
    "Usage: condor_q -jobads[:auto|long|xml|json|new] <file> [restrictions] [output options]
    [restrictions]: <cluster> <cluster>.<proc> <owner> -constraint <expr> -run -hold -hold-codes -idle
    [output options]: -autoformat[:jlhVrTY,tng] <attr>... -af[:...] <attr>... -format <fmt> <attr>
        -long[:<form>] -json -xml -attributes X,Y,... -batch -nobatch -totals -grid[:ec2]
This condor_q reads ads from files; it asks no schedd.
";

/// Kind of table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum QueueTable {
    /// One line per batch.
    #[default]
    Batches,
    /// One line per job.
    Jobs(JobTableColumns),
    /// Totals only.
    Totals,
}

/// Settings of the command line.
#[derive(Default)]
pub(super) struct CondorQOptions {
    pub(super) file: Option<OsString>,
    pub(super) form: Option<AdForm>,
    all: Vec<Vec<u8>>,
    any: Vec<Vec<u8>>,
    /// Jobs, or whole clusters, selected by ID.
    ids: Vec<(i32, Option<i32>)>,
    pub(super) long: Option<ListForm>,
    pub(super) unsorted: bool,
    pub(super) attributes: Vec<AttrName>,
    pub(super) mask: PrintMask,
    custom: bool,
    columns: Vec<CustomColumns>,
    /// Maximum number of jobs.
    pub(super) limit: Option<usize>,
    /// Table selected by name.
    table: Option<QueueTable>,
    /// True for one line per job if no table is selected by name.
    no_batch: bool,
    /// Table that a restriction implies if none is selected by name.
    restricted: Option<JobTableColumns>,
    /// Time that is shown.
    pub(super) time: RunTime,
    time_chosen: bool,
    /// Warnings about ignored options, in the tool's words.
    pub(super) warnings: Vec<String>,
    /// `-wide`: no line is cut, or lines are cut to this number of columns.
    pub(super) wide: Option<Option<i64>>,
    /// True if trailing blanks of rows are removed: `-wide` without a width.
    pub(super) trimmed: bool,
    /// Name of the schedd.
    pub(super) schedd: Option<Vec<u8>>,
}

/// Columns as given by the options.
enum CustomColumns {
    Auto(Vec<u8>, Vec<Vec<u8>>),
    Format(Vec<u8>, Vec<u8>),
}

/// Refusal of a command line: the message, and true if the usage follows it.
pub(super) struct OptionRefusal(String, bool);

impl OptionRefusal {
    fn new(message: &str) -> Self {
        OptionRefusal(message.to_owned(), false)
    }

    fn with_usage(message: &str) -> Self {
        OptionRefusal(message.to_owned(), true)
    }

    /// Prints the message as the tool does.
    fn report(self, session: &ProgramContext) -> anyhow::Result<Status> {
        let OptionRefusal(message, usage) = self;
        // For options that exclude each other, the tool prints the message without `Error:`.
        let lead = if message.starts_with('-') && usage { "" } else { "Error: " };
        session.write_stderr(&format!("{lead}{message}\n"));
        if usage {
            stdout().write_all(USAGE.as_bytes())?;
        }
        Ok(Status::Tool(1))
    }
}

impl CondorQOptions {
    /// Parses the words and prints warnings; returns the status if only help or version was requested, or if
    /// the words are refused.
    pub(super) fn from_words(
        words: &[OsString],
        session: &ProgramContext,
    ) -> anyhow::Result<Result<CondorQOptions, Status>> {
        match CondorQOptions::parse(words) {
            Ok(Ok(options)) => {
                options.warnings.iter().for_each(|text| session.write_stderr(text));
                Ok(Ok(options))
            }
            Ok(Err(text)) => {
                stdout().write_all(text.as_bytes())?;
                Ok(Err(Status::Tool(0)))
            }
            Err(refusal) => refusal.report(session).map(Err),
        }
    }

    /// Parses the words; returns a text to print for `-help` and `-version`.
    fn parse(words: &[OsString]) -> Result<Result<CondorQOptions, String>, OptionRefusal> {
        let mut options = CondorQOptions::default();
        let mut words = CommandWords::new(OPTION_RULES, words);
        while let (name, Some(word)) = (words.next_option_name(), words.next()) {
            match word {
                CommandWord::Option { id: CondorQOption::Unsupported, .. } => {
                    let text =
                        format!("-{} is not carried out where no schedd is asked", name.unwrap_or_default());
                    return Err(OptionRefusal::new(&text));
                }
                CommandWord::Option { id: CondorQOption::Help, .. } => return Ok(Err(USAGE.to_owned())),
                CommandWord::Option { id: CondorQOption::Version, .. } => {
                    return Ok(Err(format!("htc-hooks {} as condor_q\n", env!("CARGO_PKG_VERSION"))));
                }
                CommandWord::Option { id, suffix } => {
                    options.apply_option(id, suffix.as_deref(), &mut words)?
                }
                CommandWord::Operand(word) => options.add_restriction(word.as_bytes()),
                CommandWord::Unknown(word) => {
                    let text = format!("unrecognized argument {}", word.to_string_lossy());
                    return Err(OptionRefusal::with_usage(&text));
                }
            }
        }
        options.make_columns();
        Ok(Ok(options))
    }

    /// Applies one option with its values.
    fn apply_option(
        &mut self,
        id: CondorQOption,
        suffix: Option<&OsStr>,
        words: &mut CommandWords<'_, CondorQOption>,
    ) -> Result<(), OptionRefusal> {
        let mut value = |what: &str| match words.next_value() {
            Some(value) => Ok(value.as_bytes().to_vec()),
            None => Err(OptionRefusal::new(what)),
        };
        match id {
            CondorQOption::Wide => {
                self.wide = Some(
                    suffix
                        .map(|columns| integer_prefix(columns.as_bytes()).map_or(0, |(columns, _)| columns)),
                );
                self.trimmed = suffix.is_none();
            }
            // The last three were handled before.
            CondorQOption::Nothing
            | CondorQOption::Help
            | CondorQOption::Version
            | CondorQOption::Unsupported => {}
            CondorQOption::NothingWithValue => drop(value("an option requires another parameter")?),
            CondorQOption::Long => self.set_long(suffix),
            CondorQOption::Xml => self.set_form(ListForm::Xml)?,
            CondorQOption::Json => self.set_form(ListForm::Json)?,
            CondorQOption::Limit => {
                let text = value("-limit requires the max number of results as an argument.")?;
                self.limit = Some(parse_limit(&text)?);
            }
            CondorQOption::Name => {
                self.schedd = Some(value("-name requires the name of a schedd as an argument.")?)
            }
            CondorQOption::Batch => self.table = Some(QueueTable::Batches),
            CondorQOption::NoBatch => {
                self.no_batch = true;
                self.table = self.table.filter(|table| *table != QueueTable::Batches);
            }
            CondorQOption::Totals => self.table = Some(QueueTable::Totals),
            CondorQOption::Grid => self.select_grid(suffix),
            CondorQOption::Cpu => self.time = RunTime::Cpu,
            CondorQOption::Current => self.choose_time("-currentrun", "-cumulative-time")?,
            CondorQOption::Cumulative => {
                self.choose_time("-cumulative-time", "-currentrun")?;
                if self.time == RunTime::Current {
                    self.time = RunTime::Cumulative;
                }
            }
            CondorQOption::Constraint => self.all.push(value("-constraint requires another parameter")?),
            CondorQOption::Attributes => {
                let list = value("-attributes requires a list of attributes to show")?;
                self.attributes.extend(crate::text::list::split(&list).map(AttrName::from));
            }
            CondorQOption::Format => {
                let what = "-format requires format and attribute parameters";
                self.columns.push(CustomColumns::Format(value(what)?, value(what)?));
            }
            CondorQOption::Autoformat => self.add_autoformat(suffix, words)?,
            CondorQOption::Run => {
                self.restrict_to(
                    JobTableColumns::Running,
                    "JobStatus == 2 || JobStatus == 6 || JobStatus == 7",
                )?;
            }
            CondorQOption::Hold => self.select_held(JobTableColumns::Held, suffix)?,
            CondorQOption::HoldCodes
                if matches!(self.restricted, Some(JobTableColumns::Running | JobTableColumns::Idle)) =>
            {
                return Err(OptionRefusal::with_usage("-hold-codes incompatible with -idle or -run"));
            }
            CondorQOption::HoldCodes => self.select_held(JobTableColumns::HoldCodes, suffix)?,
            CondorQOption::Idle => self.restrict_to(JobTableColumns::Idle, "JobStatus==1")?,
            CondorQOption::JobAds => {
                self.file = Some(OsStr::from_bytes(&value("-jobads requires a filename")?).to_owned());
                self.form = suffix.map_or(self.form, parse_form);
            }
        }
        Ok(())
    }

    fn set_form(&mut self, form: ListForm) -> Result<(), OptionRefusal> {
        let other = if form == ListForm::Xml { ListForm::Json } else { ListForm::Xml };
        if self.long.replace(form) == Some(other) { Err(conflicting_forms()) } else { Ok(()) }
    }

    /// Selects the jobs of the grid universe, or only those of EC2.
    fn select_grid(&mut self, suffix: Option<&OsStr>) {
        let is_ec2 = suffix.is_some_and(|suffix| suffix == "ec2");
        self.table =
            Some(QueueTable::Jobs(if is_ec2 { JobTableColumns::GridEc2 } else { JobTableColumns::Grid }));
        self.all.push(b"JobUniverse == 9".to_vec());
    }

    /// Records that the kind of time was chosen; refuses a second choice.
    fn choose_time(&mut self, one: &str, other: &str) -> Result<(), OptionRefusal> {
        match std::mem::replace(&mut self.time_chosen, true) {
            true => Err(OptionRefusal::new(&format!("{one} can't be used with {other}"))),
            false => Ok(()),
        }
    }

    /// Adds columns up to the next option; a lone dash ends them.
    fn add_autoformat(
        &mut self,
        letters: Option<&OsStr>,
        words: &mut CommandWords<'_, CondorQOption>,
    ) -> Result<(), OptionRefusal> {
        let mut columns = Vec::new();
        while let Some(word) = words.next_value_without_dash() {
            columns.push(word.as_bytes().to_vec());
        }
        if columns.is_empty() {
            return Err(OptionRefusal::new("-autoformat requires at least one attribute parameter"));
        }
        words.next_value_among(&["-"]);
        let letters = letters.map(|letters| letters.as_bytes().to_vec()).unwrap_or_default();
        self.columns.push(CustomColumns::Auto(letters, columns));
        Ok(())
    }

    fn select_held(&mut self, columns: JobTableColumns, codes: Option<&OsStr>) -> Result<(), OptionRefusal> {
        self.restrict_to(columns, "JobStatus==5")?;
        self.restrict_hold_codes(codes);
        Ok(())
    }

    /// Returns true if a table is requested rather than ads or columns.
    pub(super) fn is_table(&self) -> bool {
        self.long.is_none() && !self.custom
    }

    /// Restricts the list to running, held or idle jobs, but not to two of them.
    fn restrict_to(&mut self, columns: JobTableColumns, constraint: &str) -> Result<(), OptionRefusal> {
        self.all.push(constraint.as_bytes().to_vec());
        let is_held = |columns| matches!(columns, JobTableColumns::Held | JobTableColumns::HoldCodes);
        let differ = |former| former != columns && !(is_held(former) && is_held(columns));
        let other = self.restricted.replace(columns).is_some_and(differ);
        match other {
            true => Err(OptionRefusal::with_usage("-run and -hold/held or -idle are incompatible")),
            false => Ok(()),
        }
    }

    /// Parses the codes of `-hold:CODE,CODE/SUBCODE`.
    fn restrict_hold_codes(&mut self, suffix: Option<&OsStr>) {
        let mut codes: Vec<String> = Vec::new();
        for word in crate::text::list::split(suffix.map(OsStr::as_bytes).unwrap_or_default()) {
            let Some((code, used)) = integer_prefix(word) else {
                let word = String::from_utf8_lossy(word);
                self.warnings
                    .push(format!("Warning \"{word}\" is not a hold code and/or subcode. ignoring\n"));
                continue;
            };
            let subcode = word[used..].strip_prefix(b"/").and_then(integer_prefix);
            codes.push(match subcode.filter(|(subcode, _)| *subcode >= 0) {
                Some((subcode, _)) => format!("(HoldReasonCode=={code} && HoldReasonSubCode=={subcode})"),
                None => format!("HoldReasonCode=={code}"),
            });
        }
        if !codes.is_empty() {
            self.all.push(codes.join(" || ").into_bytes());
        }
    }

    /// Returns the table that is printed if neither ads nor columns are requested.
    pub(super) fn table(&self) -> QueueTable {
        match (self.table, self.restricted) {
            (Some(table), _) => table,
            (None, Some(columns)) => QueueTable::Jobs(columns),
            (None, None) if self.no_batch => QueueTable::Jobs(JobTableColumns::Standard),
            (None, None) => QueueTable::Batches,
        }
    }

    /// Adds a word without a dash: a job, a cluster or an owner.
    fn add_restriction(&mut self, word: &[u8]) {
        match parse_job_id(word) {
            Some(id) => self.ids.push(id),
            // Quoted as a string in old syntax, where a backslash is an ordinary byte.
            None => self.any.push([b"Owner == \"", &word.replace("\"", "\\\"")[..], b"\""].concat()),
        }
    }

    /// Returns the restrictions of which one must be true. A list of batches for a DAG includes its jobs.
    fn any_restrictions(&self) -> Vec<Vec<u8>> {
        let mut any = self.any.clone();
        let batches = self.is_table() && self.table() == QueueTable::Batches;
        for (cluster, process) in &self.ids {
            any.push(match process {
                Some(process) => format!("ClusterId == {cluster} && ProcId == {process}").into(),
                None => format!("ClusterId == {cluster}").into(),
            });
            if batches && process.is_none_or(|process| process < 1) {
                any.push(format!("DAGManJobId == {cluster}").into());
                // Guarded, because in the reference it is an error without a batch, which loses jobs of the
                // IDs after it.
                any.push(
                    format!("(JobBatchId isnt undefined && int(split(JobBatchId, \".\")[0]) == {cluster})")
                        .into(),
                );
            }
        }
        any
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

    /// Adds columns up to the first one that is not a valid expression; no error is reported.
    fn make_columns(&mut self) {
        self.custom = !self.columns.is_empty();
        for columns in std::mem::take(&mut self.columns) {
            let made = match &columns {
                CustomColumns::Auto(letters, words) => {
                    self.mask.add_autoformat(letters, words.iter().map(Vec::as_slice))
                }
                CustomColumns::Format(format, attribute) => self.mask.add_format(format, attribute),
            };
            if made.is_err() {
                break;
            }
        }
        if self.long.is_some() && self.custom {
            // The attributes of the columns become the projection.
            let names = self.mask.expressions().flat_map(crate::classad::references::projection);
            self.attributes.extend(names);
            self.attributes.extend(["ClusterId", "ProcId"].map(AttrName::from));
        }
    }

    /// Returns the whole constraint, or `None` if it does not parse, so that all ads of a file are kept.
    pub(super) fn constraint(&self, session: &ProgramContext) -> Option<Expr> {
        self.constraint_or_error(session).unwrap_or_default()
    }

    /// Returns the whole constraint; a queue is not queried with one that does not parse.
    ///
    /// # Errors
    /// Returns an error if it does not parse, after reporting it.
    pub(super) fn constraint_or_error(&self, session: &ProgramContext) -> Result<Option<Expr>, ()> {
        let join = |constraints: &[Vec<u8>], with: &[u8]| -> Vec<u8> {
            let each: Vec<Vec<u8>> =
                constraints.iter().map(|text| [b"(", &text[..], b")"].concat()).collect();
            [b"( ", &each.join(with)[..], b" )"].concat()
        };
        let mut parts = Vec::new();
        if !self.all.is_empty() {
            parts.push(join(&self.all, b" && "));
        }
        let any = self.any_restrictions();
        if !any.is_empty() {
            parts.push(join(&any, b" || "));
        }
        if parts.is_empty() {
            return Ok(None);
        }
        let text = parts.join(&b" && "[..]);
        Expr::parse_with(&text, Dialect::old_syntax()).map(Some).map_err(|_| {
            session.write_stderr(&format!("Invalid constraint: {}\n", String::from_utf8_lossy(&text)));
        })
    }
}

/// Returns the ID of a job, or of a whole cluster (`7`, `7.`, `7.-1`), or `None` if the word is not an ID
/// (proc_id.cpp, `StrIsProcId`).
fn parse_job_id(word: &[u8]) -> Option<(i32, Option<i32>)> {
    let (cluster, used) = integer_prefix(word)?;
    let cluster = i32::try_from(cluster).ok().filter(|cluster| *cluster >= 0)?;
    match word[used..].strip_prefix(b".") {
        None => (used == word.len()).then_some((cluster, None)),
        Some(b"") => Some((cluster, None)),
        Some(process) => {
            let digits = process.strip_prefix(b"-").unwrap_or(process);
            let (number, used) = integer_prefix(digits).filter(|_| digits[0].is_ascii_digit())?;
            let number = i32::try_from(number).ok().filter(|_| used == digits.len())?;
            Some((cluster, Some(number).filter(|_| digits.len() == process.len())))
        }
    }
}

fn conflicting_forms() -> OptionRefusal {
    OptionRefusal::new("Cannot print as both XML and JSON")
}

fn parse_form(suffix: &OsStr) -> Option<AdForm> {
    suffix.to_str().and_then(AdForm::from_name)
}

/// Parses the maximum number of jobs. Ads of a file are never limited, but the number must be valid.
fn parse_limit(text: &[u8]) -> Result<usize, OptionRefusal> {
    let shown = String::from_utf8_lossy(text);
    match integer_prefix(text) {
        Some((limit @ 1.., used)) if used == text.len() && limit <= i64::from(i32::MAX) => Ok(limit as usize),
        Some((limit, used)) if used == text.len() => {
            Err(OptionRefusal::new(&format!("{limit} is not a valid for -limit.")))
        }
        None if text.is_empty() => Err(OptionRefusal::new("0 is not a valid for -limit.")),
        _ => Err(OptionRefusal::new(&format!("Unable to convert ({shown}) to a number for -limit."))),
    }
}
