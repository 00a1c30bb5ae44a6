//! Options of `condor_q` (reference: condor_q.V6/queue.cpp, `processCommandLineArguments`).

mod implications;

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Read, Write};
use std::os::unix::ffi::OsStrExt;

use bstr::ByteSlice;

use super::condor_q_analysis_options::{
    AnalysisOptions, DETAIL_ALWAYS, DETAIL_BETTER, DETAIL_EACH_CLAUSE, parse_detail,
};
use super::condor_q_formats::{ReportKind, TOTALS};
use super::condor_q_refusal::{OptionRefusal, USAGE};
use super::condor_q_rows::RowModes;
use crate::classad::format::list::ListForm;
use crate::classad::stream::AdForm;
use crate::classad::{AttrName, Dialect, Expr};
use crate::cli::common::{
    Aggregation, FunctionSettings, GroupKey, HeadFoot, PrintFormat, PrintMask, ProgramContext, Status, stdout,
};
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
    /// Columns that follow those of a report.
    AppendedFormat,
    PrintFormat,
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
    Io,
    Dag,
    AutoCluster,
    GroupBy,
    Factory,
    JobSet,
    /// Times of all runs, of the current one, or of the CPU.
    Cumulative,
    Current,
    Cpu,
    /// Schedd to ask.
    Name,
    /// Owner or accounting group.
    Submitter,
    /// All schedds: a file without jobs prints nothing.
    Global,
    Analyze,
    BetterAnalyze,
    ReverseAnalyze,
    Unmatchable,
    SlotAds,
    SlotConstraint,
    Machine,
    UserPriorities,
    NoUserPriorities,
    Verbose,
    /// Known, without an effect on ads of a file.
    Nothing,
    /// The same, with a value.
    NothingWithValue,
    /// Known, but it asks a daemon, reads an event log or tests `condor_q` itself.
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
    option_rule(CondorQOption::Submitter, "submitter", 1, false),
    option_rule(CondorQOption::Constraint, "constraint", 1, false),
    option_rule(CondorQOption::SlotConstraint, "slotconstraint", 5, false),
    option_rule(CondorQOption::SlotConstraint, "mconstraint", 2, false),
    option_rule(CondorQOption::Machine, "machine", 2, false),
    option_rule(CondorQOption::NothingWithValue, "address", 1, false),
    option_rule(CondorQOption::AutoCluster, "autocluster", 2, true),
    option_rule(CondorQOption::GroupBy, "group-by", 2, true),
    option_rule(CondorQOption::Factory, "factory", 4, true),
    option_rule(CondorQOption::JobSet, "jobset", 5, true),
    option_rule(CondorQOption::Attributes, "attributes", 2, false),
    option_rule(CondorQOption::Format, "format", 1, false),
    option_rule(CondorQOption::AppendedFormat, "aaf", 3, true),
    option_rule(CondorQOption::Autoformat, "autoformat", 5, true),
    option_rule(CondorQOption::Autoformat, "af", 2, true),
    option_rule(CondorQOption::PrintFormat, "print-format", 2, true),
    option_rule(CondorQOption::Global, "global", 1, false),
    option_rule(CondorQOption::Nothing, "allusers", 2, false),
    option_rule(CondorQOption::Nothing, "all-users", 2, false),
    option_rule(CondorQOption::NothingWithValue, "schedd-constraint", 5, false),
    option_rule(CondorQOption::Help, "help", 1, false),
    option_rule(CondorQOption::BetterAnalyze, "better-analyze", 2, true),
    option_rule(CondorQOption::BetterAnalyze, "better-analyse", 2, true),
    option_rule(CondorQOption::Analyze, "analyze", 2, true),
    option_rule(CondorQOption::Analyze, "analyse", 2, true),
    option_rule(CondorQOption::ReverseAnalyze, "reverse-analyze", 3, true),
    option_rule(CondorQOption::Unmatchable, "unmatchable", 5, true),
    option_rule(CondorQOption::Unsupported, "dry-run", 3, true),
    option_rule(CondorQOption::Unsupported, "capture-raw-results", 7, true),
    option_rule(CondorQOption::Verbose, "verbose", 4, false),
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
    option_rule(CondorQOption::Io, "io", 2, false),
    option_rule(CondorQOption::Dag, "dag", 2, false),
    option_rule(CondorQOption::Batch, "batch", 2, true),
    option_rule(CondorQOption::Batch, "progress", 3, true),
    option_rule(CondorQOption::NoBatch, "nobatch", 3, false),
    option_rule(CondorQOption::Totals, "totals", 3, false),
    option_rule(CondorQOption::Nothing, "expert", 1, false),
    option_rule(CondorQOption::JobAds, "jobads", 1, true),
    option_rule(CondorQOption::Unsupported, "userlog", 1, false),
    option_rule(CondorQOption::SlotAds, "slotads", 1, true),
    option_rule(CondorQOption::UserPriorities, "userprios", 5, true),
    option_rule(CondorQOption::NoUserPriorities, "nouserprios", 7, true),
    option_rule(CondorQOption::Version, "version", 1, false),
    option_rule(CondorQOption::Nothing, "profile", 4, true),
    option_rule(CondorQOption::Nothing, "stream-results", 2, false),
];

/// What the command line asks for.
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
    /// Columns of the summary.
    pub(super) summary: PrintMask,
    pub(super) head_foot: HeadFoot,
    pub(super) group_by: Vec<GroupKey>,
    pub(super) has_standard_summary: bool,
    pub(super) has_old_summary: bool,
    pub(super) report: ReportKind,
    /// True if an option has changed the report without replacing it, such as `-cputime`.
    is_changed_report: bool,
    has_autoformat: bool,
    columns: Vec<CustomColumns>,
    appended: Vec<(Vec<u8>, Vec<Vec<u8>>)>,
    /// How many jobs are wanted.
    pub(super) limit: Option<usize>,
    pub(super) modes: RowModes,
    /// True if `-batch` or `-nobatch` is given.
    is_batch_chosen: bool,
    is_run: bool,
    is_idle: bool,
    /// Held jobs; true for one line per code.
    pub(super) held: Option<bool>,
    factory: Option<(bool, bool)>,
    is_job_set: bool,
    pub(super) totals_only: bool,
    /// True if all schedds are asked.
    pub(super) is_global: bool,
    functions: FunctionSettings,
    is_time_chosen: bool,
    uses_own_formats: bool,
    /// What was passed over, as the tool says it.
    pub(super) warnings: Vec<String>,
    is_wide_given: bool,
    /// True if lines are as long as they are, without blanks at the end of rows.
    pub(super) is_wide: bool,
    given_width: Option<i64>,
    /// True if built-in columns of ids and names grow.
    pub(super) is_standard: bool,
    pub(super) name_width: usize,
    pub(super) most_name_width: usize,
    /// The schedd that is asked.
    pub(super) schedd: Option<Vec<u8>>,
    pub(super) analysis: AnalysisOptions,
    pub(super) verbose: bool,
}

impl Default for CondorQOptions {
    fn default() -> Self {
        CondorQOptions {
            file: None,
            form: None,
            all: Vec::new(),
            any: Vec::new(),
            ids: Vec::new(),
            long: None,
            unsorted: false,
            attributes: Vec::new(),
            mask: PrintMask::default(),
            summary: PrintMask::default(),
            head_foot: HeadFoot::STANDARD,
            group_by: Vec::new(),
            has_standard_summary: false,
            has_old_summary: false,
            report: ReportKind::Unset,
            is_changed_report: false,
            has_autoformat: false,
            columns: Vec::new(),
            appended: Vec::new(),
            limit: None,
            modes: RowModes::default(),
            is_batch_chosen: false,
            is_run: false,
            is_idle: false,
            held: None,
            factory: None,
            is_job_set: false,
            totals_only: false,
            is_global: false,
            functions: FunctionSettings::default(),
            is_time_chosen: false,
            uses_own_formats: true,
            warnings: Vec::new(),
            is_wide_given: false,
            is_wide: false,
            given_width: None,
            is_standard: false,
            name_width: 14,
            most_name_width: 14,
            schedd: None,
            analysis: AnalysisOptions::default(),
            verbose: false,
        }
    }
}

/// Columns as given by the options.
enum CustomColumns {
    Auto(Vec<u8>, Vec<Vec<u8>>),
    Format(Vec<u8>, Vec<u8>),
}

impl CondorQOptions {
    /// Parses the words and prints warnings; returns the status if only help or version was requested, or if
    /// the words are refused.
    pub(super) fn from_words(
        words: &[OsString],
        session: &ProgramContext,
    ) -> anyhow::Result<Result<CondorQOptions, Status>> {
        match CondorQOptions::parse(words) {
            Ok(Ok(options)) => Ok(Ok(options)),
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
                        format!("-{} is not supported here: files of ads are read", name.unwrap_or_default());
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
            CondorQOption::Wide => self.set_wide(suffix),
            // Those of the last three are answered before.
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
            CondorQOption::Submitter => {
                let name = value("-submitter requires the name of a user.")?;
                let name = name.strip_prefix(b"nice-user.").unwrap_or(&name);
                let owner = "(AcctGroup is undefined ? Owner : AcctGroup)";
                self.any.push(equality(owner, name));
            }
            CondorQOption::Constraint => {
                self.all.push(value("-constraint requires another parameter")?);
                self.modes.is_partial = true;
            }
            CondorQOption::Attributes => {
                let list = value("-attributes requires a list of attributes to show")?;
                self.attributes.extend(crate::text::list::split(&list).map(AttrName::from));
                self.is_changed_report = true;
            }
            CondorQOption::Format => {
                let what = "-format requires format and attribute parameters";
                self.columns.push(CustomColumns::Format(value(what)?, value(what)?));
                self.set_report(ReportKind::Custom);
                self.has_autoformat = true;
            }
            CondorQOption::Autoformat => self.add_autoformat(suffix, words)?,
            CondorQOption::AppendedFormat => {
                let columns = read_columns(words, "-aaf")?;
                self.appended.push((suffix.map(OsStr::as_bytes).unwrap_or_default().to_vec(), columns));
            }
            CondorQOption::PrintFormat => self.add_print_format(words)?,
            CondorQOption::JobAds => {
                self.file = Some(OsStr::from_bytes(&value("-jobads requires a filename")?).to_owned());
                self.form = suffix.map_or(self.form, parse_form);
            }
            CondorQOption::SlotAds => {
                let file = OsStr::from_bytes(&value("-slotads requires a filename")?).to_owned();
                self.analysis.slots = Some((file, suffix.and_then(parse_form)));
            }
            CondorQOption::SlotConstraint => {
                self.analysis.slot_constraint = Some(value("-mconstraint requires another parameter")?);
            }
            CondorQOption::Machine => {
                self.analysis.machine = Some(value("-machine requires another parameter")?);
            }
            CondorQOption::UserPriorities => {
                let file = OsStr::from_bytes(&value("-userprios requires a filename argument")?).to_owned();
                (self.analysis.priority_file, self.analysis.priorities) = (Some(file), true);
            }
            other => self.apply_report_option(other, suffix)?,
        }
        Ok(())
    }

    /// One option without a value that selects a report.
    fn apply_report_option(
        &mut self,
        id: CondorQOption,
        suffix: Option<&OsStr>,
    ) -> Result<(), OptionRefusal> {
        match id {
            CondorQOption::Batch => self.select_batches(suffix),
            CondorQOption::NoBatch => {
                (self.modes.batches, self.is_batch_chosen) = (false, true);
                if self.report == ReportKind::Batches {
                    self.report = ReportKind::Unset;
                }
            }
            CondorQOption::Totals => {
                self.set_report(ReportKind::Totals);
                self.totals_only = true;
                self.read_format(TOTALS);
            }
            CondorQOption::Grid => {
                let is_ec2 = suffix.is_some_and(|suffix| suffix == "ec2");
                self.set_report(if is_ec2 { ReportKind::GridEc2 } else { ReportKind::Grid });
                self.all.push(b"JobUniverse == 9".to_vec());
            }
            CondorQOption::Io => self.set_report(ReportKind::Io),
            CondorQOption::Dag => self.modes.dags = true,
            CondorQOption::AutoCluster => self.modes.id_attribute = Some("AutoClusterId"),
            CondorQOption::GroupBy => self.modes.id_attribute = Some("Id"),
            CondorQOption::Factory => self.factory = Some(parse_factory(suffix)?),
            CondorQOption::JobSet => self.is_job_set = true,
            CondorQOption::Cpu => (self.functions.shows_cpu, self.is_changed_report) = (true, true),
            CondorQOption::Current => self.choose_time("-currentrun", "-cumulative-time")?,
            CondorQOption::Cumulative => {
                self.choose_time("-cumulative-time", "-currentrun")?;
                self.functions.adds_runs = true;
            }
            CondorQOption::Run => {
                self.restrict("JobStatus == 2 || JobStatus == 6 || JobStatus == 7");
                self.is_run = true;
                self.refuse_other_states(self.held.is_some() || self.is_idle, OTHER_STATES)?;
            }
            CondorQOption::Idle => {
                self.restrict("JobStatus == 1");
                self.is_idle = true;
                self.refuse_other_states(self.is_run || self.held.is_some(), OTHER_STATES)?;
            }
            CondorQOption::Hold => {
                self.restrict("JobStatus==5");
                self.held = Some(false);
                self.refuse_other_states(self.is_run || self.is_idle, OTHER_STATES)?;
                self.restrict_hold_codes(suffix);
            }
            CondorQOption::HoldCodes => {
                self.restrict("JobStatus==5");
                self.held = Some(true);
                let what = "-hold-codes incompatible with -idle or -run";
                self.refuse_other_states(self.is_run || self.is_idle, what)?;
                self.restrict_hold_codes(suffix);
            }
            CondorQOption::Global => self.is_global = true,
            CondorQOption::Verbose => self.verbose = true,
            CondorQOption::Unmatchable => self.analysis.unmatchable = true,
            CondorQOption::NoUserPriorities => self.analysis.priorities = false,
            CondorQOption::Analyze | CondorQOption::BetterAnalyze => {
                self.set_report(ReportKind::Analysis);
                self.analysis.is_wanted = true;
                if id == CondorQOption::BetterAnalyze {
                    self.analysis.details |= DETAIL_BETTER | DETAIL_EACH_CLAUSE | DETAIL_ALWAYS;
                }
                self.analysis.read_qualifiers(suffix.map(OsStr::as_bytes).unwrap_or_default())?;
            }
            CondorQOption::ReverseAnalyze => {
                self.set_report(ReportKind::Analysis);
                let analysis = &mut self.analysis;
                (analysis.is_wanted, analysis.reverse, analysis.priorities) = (true, true, false);
                if let Some(suffix) = suffix {
                    analysis.details |= parse_detail(suffix.as_bytes(), analysis.details);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn set_report(&mut self, report: ReportKind) {
        (self.report, self.is_changed_report) = (report, false);
    }

    fn restrict(&mut self, constraint: &str) {
        self.all.push(constraint.as_bytes().to_vec());
        self.modes.is_partial = true;
    }

    fn refuse_other_states(&self, has_other: bool, what: &str) -> Result<(), OptionRefusal> {
        if has_other { Err(OptionRefusal::conflict(what)) } else { Ok(()) }
    }

    fn set_wide(&mut self, suffix: Option<&OsStr>) {
        (self.is_wide_given, self.is_wide) = (true, suffix.is_none());
        if let Some(columns) = suffix {
            self.given_width = Some(integer_prefix(columns.as_bytes()).map_or(0, |(columns, _)| columns));
        }
    }

    /// Returns the width of lines: that of `-wide`, or of the terminal.
    pub(super) fn display_width(&self) -> i64 {
        self.given_width.filter(|columns| *columns > 0).unwrap_or(80)
    }

    /// Returns true if standard output is a terminal, whose lines are cut.
    fn has_console(&self) -> bool {
        std::io::stdout().is_terminal()
    }

    fn select_batches(&mut self, suffix: Option<&OsStr>) {
        (self.modes.batches, self.is_batch_chosen) = (true, true);
        let options = suffix.map(OsStr::as_bytes).unwrap_or_default();
        for option in options.split(|byte| b",:".contains(byte)).map(ByteSlice::trim) {
            match option.first() {
                Some(b'0'..=b'9') => {
                    let bits = integer_prefix(option).map_or(0, |(bits, _)| bits);
                    self.modes.batches = bits != 0;
                    self.modes.folds_dags = bits & 2 != 0;
                    self.modes.guesses_totals = bits & 0x10 != 0;
                }
                Some(character) => {
                    // The letters name a text of OR by their places: `b` is a blank, `z` a zero.
                    let at = b"b?*.-_#z".iter().position(|known| known == character);
                    self.modes.zero_character = at.map(|at| b" ?*.-_#0"[at]).or(self.modes.zero_character);
                }
                None => {}
            }
        }
        if self.report < ReportKind::Custom {
            self.set_report(ReportKind::Batches);
        }
    }

    fn set_form(&mut self, form: ListForm) -> Result<(), OptionRefusal> {
        let other = if form == ListForm::Xml { ListForm::Json } else { ListForm::Xml };
        if self.long.replace(form) == Some(other) { Err(conflicting_forms()) } else { Ok(()) }
    }

    /// Which runs the time shown is of, said once.
    fn choose_time(&mut self, one: &str, other: &str) -> Result<(), OptionRefusal> {
        match std::mem::replace(&mut self.is_time_chosen, true) {
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
        let columns = read_columns(words, "-autoformat")?;
        let letters = letters.map(|letters| letters.as_bytes().to_vec()).unwrap_or_default();
        self.columns.push(CustomColumns::Auto(letters, columns));
        self.set_report(ReportKind::Custom);
        self.has_autoformat = true;
        Ok(())
    }

    /// Reads the file of `-print-format`.
    fn add_print_format(&mut self, words: &mut CommandWords<'_, CondorQOption>) -> Result<(), OptionRefusal> {
        let Some(file) = words.next_value_or_lone_dash() else {
            return Err(OptionRefusal::new("-print-format requires a filename argument"));
        };
        if file == "!" {
            self.uses_own_formats = false;
            return Ok(());
        }
        self.set_report(ReportKind::Custom);
        if !self.is_wide && (self.is_wide_given || self.has_console()) {
            self.mask.set_overall_width(usize::try_from(self.display_width() - 1).ok());
        }
        let mut text = Vec::new();
        let read = match file == "-" {
            true => std::io::stdin().read_to_end(&mut text).map(|_| text),
            false => std::fs::read(file),
        };
        let name = file.to_string_lossy();
        let Ok(text) = read else {
            self.warnings.push(format!("Can't open select file: {name}\n"));
            return Err(self.refuse_format(&name));
        };
        match self.read_format_lines(PrintFormat::file_lines(&text)) {
            true => Ok(()),
            false => Err(self.refuse_format(&name)),
        }
    }

    fn refuse_format(&mut self, name: &str) -> OptionRefusal {
        let before = std::mem::take(&mut self.warnings).concat();
        OptionRefusal { text: format!("{before}Error: invalid select file {name}\n"), has_usage: false }
    }

    fn read_format(&mut self, text: &str) -> bool {
        self.read_format_lines(text.lines().map(|line| line.as_bytes().to_vec()).collect())
    }

    /// Adds the columns of a print format and takes over what else it says (`set_print_mask_from_stream`).
    fn read_format_lines(&mut self, lines: Vec<Vec<u8>>) -> bool {
        let Some(format) = PrintFormat::parse(lines, std::mem::take(&mut self.mask)) else { return false };
        self.mask = format.mask;
        if format.summary.column_count() > 0 {
            self.summary = format.summary;
        }
        self.head_foot = format.head_foot;
        self.group_by.extend(format.group_by);
        if let Some(condition) = format.condition {
            self.all.push(condition);
        }
        match format.aggregation {
            Aggregation::Unique => self.modes.id_attribute = Some("Id"),
            Aggregation::AutoCluster => self.modes.id_attribute = Some("AutoClusterId"),
            Aggregation::None => {
                self.has_standard_summary |= format.head_foot.summary && !format.head_foot.custom;
            }
        }
        if !format.messages.is_empty() {
            self.warnings.push(format.messages);
        }
        true
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

    /// A word without a dash: a job, a cluster or an owner.
    fn add_restriction(&mut self, word: &[u8]) {
        match parse_job_id(word) {
            Some(id) => self.ids.push(id),
            None => self.any.push(equality("Owner", word)),
        }
    }

    /// Returns the restrictions of which one must be true. A list of batches for a DAG includes its jobs.
    fn any_restrictions(&self) -> Vec<Vec<u8>> {
        let mut any = self.any.clone();
        let batches = self.modes.dags || self.modes.batches;
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

    /// The whole constraint. One that does not parse keeps all ads of a file.
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

const OTHER_STATES: &str = "-run and -hold/held or -idle are incompatible";

/// Parses the suffix of `-factory`: cluster ads, jobs that are made late.
fn parse_factory(suffix: Option<&OsStr>) -> Result<(bool, bool), OptionRefusal> {
    let (mut clusters, mut late) = (false, false);
    for word in crate::text::list::split(suffix.map(OsStr::as_bytes).unwrap_or_default()) {
        match () {
            () if b"clusters_only".starts_with(word) => clusters = true,
            () if b"late_materialize".starts_with(word) => late = true,
            () => {
                let word = word.to_str_lossy();
                return Err(OptionRefusal::new(&format!("unknown option {word} for -factory")));
            }
        }
    }
    Ok(if clusters || late { (clusters, late) } else { (true, true) })
}

/// Returns the condition that an expression is a string, as it is written in old ads, where a backslash is an ordinary byte.
fn equality(expr: &str, text: &[u8]) -> Vec<u8> {
    [expr.as_bytes(), b"==\"", &text.replace("\"", "\\\"")[..], b"\""].concat()
}

/// Reads words up to the next option; a lone dash ends them.
fn read_columns(
    words: &mut CommandWords<'_, CondorQOption>,
    option: &str,
) -> Result<Vec<Vec<u8>>, OptionRefusal> {
    let mut columns = Vec::new();
    while let Some(word) = words.next_value_without_dash() {
        columns.push(word.as_bytes().to_vec());
    }
    if columns.is_empty() {
        return Err(OptionRefusal::new(&format!("{option} requires at least one attribute parameter")));
    }
    words.next_value_among(&["-"]);
    Ok(columns)
}
