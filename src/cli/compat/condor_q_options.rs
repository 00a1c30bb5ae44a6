//! Options of `condor_q` (reference: condor_q.V6/queue.cpp, `processCommandLineArguments`).

mod implications;
mod restrictions;

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Read, Write};
use std::os::unix::ffi::OsStrExt;

use bstr::ByteSlice;

use super::condor_q_analysis_options::{
    AnalysisOptions, DETAIL_ALWAYS, DETAIL_BETTER, DETAIL_EACH_CLAUSE, parse_detail,
};
use super::condor_q_formats::{ReportKind, TOTALS};
use super::condor_q_option_rules::{CondorQOption, OPTION_RULES};
use super::condor_q_refusal::{OptionRefusal, USAGE};
use super::condor_q_rows::RowModes;
use crate::classad::AttrName;
use crate::classad::format::list::ListForm;
use crate::classad::stream::AdForm;
use crate::cli::common::{
    Aggregation, FunctionSettings, GroupKey, PrintFormat, PrintMask, PrintedSections, ProgramContext, Status,
    stdout, terminal_width,
};
use crate::cli::compat::{CommandWord, CommandWords};
use crate::text::number::integer_prefix;

/// Request of the command line.
pub(super) struct CondorQOptions {
    pub(super) file: Option<OsString>,
    pub(super) form: Option<AdForm>,
    /// Event log of the jobs.
    pub(super) user_log: Option<OsString>,
    /// File that receives the ads of a table as they were read.
    pub(super) capture: Option<OsString>,
    is_dry_run: bool,
    /// True if jobs are to be printed as they arrive (`-stream-results`).
    is_streamed: bool,
    all: Vec<Vec<u8>>,
    any: Vec<Vec<u8>>,
    /// Jobs, or whole clusters, selected by ID.
    pub(super) ids: Vec<(i32, Option<i32>)>,
    pub(super) long: Option<ListForm>,
    pub(super) unsorted: bool,
    pub(super) attributes: Vec<AttrName>,
    pub(super) mask: PrintMask,
    /// Columns of the summary.
    pub(super) summary: PrintMask,
    pub(super) head_foot: PrintedSections,
    pub(super) group_by: Vec<GroupKey>,
    pub(super) has_standard_summary: bool,
    pub(super) has_old_summary: bool,
    pub(super) report: ReportKind,
    /// True if an option has changed the report without replacing it, such as `-cputime`.
    is_changed_report: bool,
    has_autoformat: bool,
    /// True if the last option for columns is `-print-format`.
    is_print_format: bool,
    columns: Vec<CustomColumns>,
    appended: Vec<(Vec<u8>, Vec<Vec<u8>>)>,
    /// Maximum number of jobs.
    pub(super) limit: Option<usize>,
    pub(super) modes: RowModes,
    /// True if `-batch` or `-nobatch` is given.
    is_batch_chosen: bool,
    is_run: bool,
    is_idle: bool,
    /// Report of held jobs; true for one line per hold code.
    pub(super) held: Option<bool>,
    factory: Option<(bool, bool)>,
    is_job_set: bool,
    pub(super) totals_only: bool,
    /// True if all schedds are queried.
    pub(super) is_global: bool,
    functions: FunctionSettings,
    is_time_chosen: bool,
    uses_own_formats: bool,
    /// Messages about ignored arguments, with the wording of the tool.
    pub(super) warnings: Vec<String>,
    is_wide_given: bool,
    /// True if lines are not cut, and have no blanks at their ends.
    pub(super) is_wide: bool,
    given_width: Option<i64>,
    /// True if built-in columns of ids and names grow.
    pub(super) is_standard: bool,
    pub(super) name_width: usize,
    pub(super) most_name_width: usize,
    /// The schedd that is queried.
    pub(super) schedd: Option<Vec<u8>>,
    pub(super) analysis: AnalysisOptions,
    pub(super) verbose: bool,
}

impl Default for CondorQOptions {
    fn default() -> Self {
        CondorQOptions {
            file: None,
            form: None,
            user_log: None,
            capture: None,
            is_dry_run: false,
            is_streamed: false,
            all: Vec::new(),
            any: Vec::new(),
            ids: Vec::new(),
            long: None,
            unsorted: false,
            attributes: Vec::new(),
            mask: PrintMask::default(),
            summary: PrintMask::default(),
            head_foot: PrintedSections::STANDARD,
            group_by: Vec::new(),
            has_standard_summary: false,
            has_old_summary: false,
            report: ReportKind::Unset,
            is_changed_report: false,
            has_autoformat: false,
            is_print_format: false,
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

/// Columns that the options request.
enum CustomColumns {
    Auto(Vec<u8>, Vec<Vec<u8>>),
    Format(Vec<u8>, Vec<u8>),
}

/// Action that a command line requests.
enum CommandLine {
    Report(Box<CondorQOptions>),
    /// `-help` or `-version`: a text is printed.
    Print(String),
}

/// Options of a report, or the status of a command line that requests none.
pub(super) enum ParsedOptions {
    Report(Box<CondorQOptions>),
    /// Help or version was printed, or the arguments were refused.
    Finished(Status),
}

impl CondorQOptions {
    /// Parses the words and prints what they request at once.
    pub(super) fn from_words(words: &[OsString], session: &ProgramContext) -> anyhow::Result<ParsedOptions> {
        match CondorQOptions::parse(words) {
            Ok(CommandLine::Report(options)) => Ok(ParsedOptions::Report(options)),
            Ok(CommandLine::Print(text)) => {
                stdout().write_all(text.as_bytes())?;
                Ok(ParsedOptions::Finished(Status::Tool(0)))
            }
            Err(refusal) => refusal.report(session).map(ParsedOptions::Finished),
        }
    }

    /// Parses the words.
    fn parse(words: &[OsString]) -> Result<CommandLine, OptionRefusal> {
        let mut options = CondorQOptions::default();
        let mut words = CommandWords::new(OPTION_RULES, words);
        while let Some(word) = words.next() {
            match word {
                CommandWord::Option { id: CondorQOption::Help, .. } => {
                    return Ok(CommandLine::Print(USAGE.to_owned()));
                }
                CommandWord::Option { id: CondorQOption::Version, .. } => {
                    let text = format!("htc-hooks {} as condor_q\n", env!("CARGO_PKG_VERSION"));
                    return Ok(CommandLine::Print(text));
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
        Ok(CommandLine::Report(Box::new(options)))
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
            // The caller handles the last two.
            CondorQOption::Nothing | CondorQOption::Help | CondorQOption::Version => {}
            CondorQOption::UserLog => {
                let file = value("-userlog requires a filename")?;
                self.user_log = Some(OsStr::from_bytes(&file).to_owned());
            }
            CondorQOption::DryRun => self.is_dry_run = true,
            CondorQOption::CaptureRawResults => {
                let file = suffix.filter(|file| !file.is_empty()).unwrap_or(OsStr::new("-"));
                self.capture = Some(file.to_owned());
            }
            CondorQOption::SchedulerConstraint => {
                value("-schedd-constraint requires a constraint argument")?;
                self.is_global = true;
            }
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
                let owner = "(AccountingGroup is undefined ? Owner : AccountingGroup)";
                self.any.push(Self::string_condition(owner, name));
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
                (self.has_autoformat, self.is_print_format) = (true, false);
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

    /// Applies an option without a value that selects a report.
    fn apply_report_option(
        &mut self,
        id: CondorQOption,
        suffix: Option<&OsStr>,
    ) -> Result<(), OptionRefusal> {
        match id {
            CondorQOption::Batch => {
                self.select_batches(suffix);
                self.refuse_streamed_lists("-batch", self.is_streamed)?;
            }
            CondorQOption::StreamResults => {
                self.is_streamed = true;
                let lists = self.modes.dags || self.report == ReportKind::Batches;
                self.refuse_streamed_lists("-dag or -batch", lists)?;
            }
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
            CondorQOption::Dag => {
                self.modes.dags = true;
                self.refuse_streamed_lists("-dag", self.is_streamed)?;
            }
            CondorQOption::AutoCluster => self.modes.id_attribute = Some("AutoClusterId"),
            CondorQOption::GroupBy => self.modes.id_attribute = Some("Id"),
            CondorQOption::Factory => self.restrict_factories(suffix)?,
            CondorQOption::JobSet => self.is_job_set = true,
            CondorQOption::Cpu => (self.functions.shows_cpu, self.is_changed_report) = (true, true),
            CondorQOption::Current => self.choose_time("-currentrun", "-cumulative-time")?,
            CondorQOption::Cumulative => {
                self.choose_time("-cumulative-time", "-currentrun")?;
                self.functions.adds_runs = true;
            }
            CondorQOption::Run => {
                self.add_constraint("JobStatus == 2 || JobStatus == 6 || JobStatus == 7");
                self.is_run = true;
                self.refuse_other_states(self.held.is_some() || self.is_idle, OTHER_STATES)?;
            }
            CondorQOption::Idle => {
                self.add_constraint("JobStatus == 1");
                self.is_idle = true;
                self.refuse_other_states(self.is_run || self.held.is_some(), OTHER_STATES)?;
            }
            CondorQOption::Hold => {
                self.add_constraint("JobStatus==5");
                self.held = Some(false);
                self.refuse_other_states(self.is_run || self.is_idle, OTHER_STATES)?;
                self.restrict_hold_codes(suffix);
            }
            CondorQOption::HoldCodes => {
                self.add_constraint("JobStatus==5");
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
                analysis.check_details()?;
            }
            _ => {}
        }
        Ok(())
    }

    fn set_report(&mut self, report: ReportKind) {
        (self.report, self.is_changed_report) = (report, false);
    }

    fn add_constraint(&mut self, constraint: &str) {
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

    /// Returns the width of lines: that of `-wide`, or of the terminal (`getDisplayWidth`).
    pub(super) fn display_width(&self) -> i64 {
        let of_terminal = || terminal_width().map(i64::from);
        self.given_width.filter(|columns| *columns > 0).or_else(of_terminal).unwrap_or(80)
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
                    // The letters select a text for OR by position: `b` is a blank, `z` a zero.
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

    /// Records an option that selects the time to show. A second such option is an error.
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
        (self.has_autoformat, self.is_print_format) = (true, false);
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
        self.is_print_format = true;
        if !self.is_wide && (self.is_wide_given || self.has_console()) {
            self.mask.set_overall_width(usize::try_from(self.display_width() - 1).ok());
        }
        let mut text = Vec::new();
        let content = match file == "-" {
            true => std::io::stdin().read_to_end(&mut text).map(|_| text),
            false => std::fs::read(file),
        };
        let name = file.to_string_lossy();
        let Ok(text) = content else {
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

    /// Adds the columns of a print format, and applies its other settings (`set_print_mask_from_stream`).
    fn read_format_lines(&mut self, lines: Vec<Vec<u8>>) -> bool {
        let first = self.mask.column_count();
        let Some(format) = PrintFormat::parse(lines, std::mem::take(&mut self.mask)) else { return false };
        self.mask = format.mask;
        self.add_projection(first, &format.group_by);
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
                self.add_job_attributes(format.head_foot.summary);
                self.has_standard_summary |= format.head_foot.summary && !format.head_foot.custom;
            }
        }
        if !format.messages.is_empty() {
            self.warnings.push(format.messages);
        }
        true
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
