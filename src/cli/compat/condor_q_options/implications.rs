//! Combined effect of the options of `condor_q`: the report, its columns, and contradictions.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use bstr::ByteSlice;

use super::{CondorQOptions, CustomColumns};
use crate::classad::{AttrName, Dialect, Expr, references};
use crate::cli::common::{
    GroupKey, PrintFormat, PrintedSections, ProgramContext, RowSyntax, Status, add_appended_columns,
};
use crate::cli::compat::condor_q_formats::ReportKind;
use crate::cli::compat::condor_q_refusal::OptionRefusal;
use crate::config::Config;
use crate::world::World;

impl CondorQOptions {
    /// Determines the combined effect of the options after all of them are read. Returns the exit status if the options
    /// are refused.
    ///
    /// # Errors
    /// Returns an error if the refusal cannot be printed.
    pub(in crate::cli::compat) fn finish(
        &mut self,
        config: Option<&Config>,
        world: &dyn World,
        session: &ProgramContext,
    ) -> anyhow::Result<Option<Status>> {
        let finished = self.find_implications(config, world);
        self.warnings.drain(..).for_each(|text| session.write_stderr(&text));
        match finished {
            Ok(()) => Ok(None),
            Err(refusal) => refusal.report(session).map(Some),
        }
    }

    /// Returns true if the configuration can change the report.
    pub(in crate::cli::compat) fn needs_config(&self) -> bool {
        self.analysis.is_wanted || (self.long.is_none() && self.report < ReportKind::Custom)
    }

    fn find_implications(&mut self, config: Option<&Config>, world: &dyn World) -> Result<(), OptionRefusal> {
        let switch = |name: &str, default: bool| {
            let setting = config.and_then(|config| config.view(world).boolean(name).ok().flatten());
            setting.map_or(default, |setting| setting.value)
        };
        if self.analysis.unmatchable && !self.analysis.is_wanted {
            let other = if self.is_batch_chosen { Some("-batch") } else { None };
            let other = other.or(self.modes.id_attribute.map(|_| "-autocluster"));
            if let Some(other) = other {
                return Err(OptionRefusal::new(&format!("{other} conflicts with -unmatchable")));
            }
        }
        if !self.columns.is_empty() {
            self.make_columns();
        }
        if self.is_batch_chosen && self.modes.batches && self.has_autoformat {
            return Err(OptionRefusal::new("-batch conflicts with -format and -af"));
        }
        if self.long.is_some() {
            self.head_foot = PrintedSections { summary: self.totals_only, ..PrintedSections::BARE };
        } else {
            self.choose_batches(switch("CONDOR_Q_DASH_BATCH_IS_DEFAULT", true))?;
        }
        if self.is_dry_run {
            self.report_dry_run()?;
        }
        if self.capture.is_some() && (self.analysis.is_wanted || self.long.is_some()) {
            return Err(OptionRefusal::new("-capture-raw-results is supported for tables only"));
        }
        self.has_old_summary = switch("CONDOR_Q_SHOW_OLD_SUMMARY", false);
        self.functions.shows_suspension = switch("REAL_TIME_JOB_SUSPEND_UPDATES", false);
        self.functions.shows_nodes = self.modes.dags;
        self.modes.shows_held = self.is_global;
        self.functions.folds_dags = self.modes.batches && self.modes.folds_dags;
        let can_append = if self.needs_built_in_format() {
            if !self.is_wide_given && (!self.has_console() || !self.appended.is_empty()) {
                self.is_wide = true;
            }
            self.make_report(config, world);
            !self.modes.batches
        } else {
            if let Some((clusters, late)) = self.factory {
                self.all.extend(clusters.then(|| b"ProcId is undefined".to_vec()));
                self.all.extend(late.then(|| b"JobMaterializeDigestFile isnt undefined".to_vec()));
            }
            self.report == ReportKind::Custom && self.is_print_format && !self.is_changed_report
        };
        self.functions.cuts_resources = !self.is_wide;
        self.mask.functions = self.functions;
        self.append_columns(can_append)?;
        self.modes.is_partial |= self.ids.iter().any(|(_, process)| process.is_some());
        Ok(())
    }

    /// Reports the mode as `-dry-run` does, which has no other effect on ads of a file.
    fn report_dry_run(&mut self) -> Result<(), OptionRefusal> {
        if self.has_autoformat || !self.appended.is_empty() {
            // The reference prints its internal numbers of each column.
            return Err(OptionRefusal::new("-dry-run is not supported with -af, -aaf or -format"));
        }
        let long = if self.long.is_some() { "-long" } else { "" };
        self.warnings.push(format!("\ncondor_q {} {long}\n", self.report.mode_name()));
        Ok(())
    }

    fn needs_built_in_format(&self) -> bool {
        self.long.is_none() && self.report < ReportKind::Custom
    }

    /// Lists batches unless another report is requested.
    fn choose_batches(&mut self, is_default: bool) -> Result<(), OptionRefusal> {
        let is_default = is_default && !self.analysis.unmatchable;
        if !self.is_batch_chosen && self.modes.id_attribute.is_none() && self.held.is_none() {
            let can_list = matches!(self.report, ReportKind::Unset | ReportKind::Jobs | ReportKind::Dag);
            let others = self.factory.is_some() || self.is_run || self.is_idle || self.is_job_set;
            if can_list && !others {
                self.modes.batches = is_default;
            }
        }
        if self.modes.id_attribute.is_some() && (self.modes.batches || self.is_job_set) {
            if self.is_batch_chosen {
                let option = match (self.modes.id_attribute, self.is_job_set) {
                    (Some("Id"), _) => "-group-by",
                    (_, true) => "-jobset",
                    _ => "-autocluster",
                };
                return Err(OptionRefusal::new(&format!("-batch conflicts with {option}")));
            }
            self.modes.batches = false;
        }
        Ok(())
    }

    /// Makes the columns of a built-in report (`initOutputMask`).
    fn make_report(&mut self, config: Option<&Config>, world: &dyn World) {
        let mut is_wide = self.is_wide;
        if self.report == ReportKind::Unset {
            self.report = match (self.modes.id_attribute, self.held) {
                (Some("AutoClusterId"), _) => ReportKind::AutoClusters,
                _ if self.is_job_set => ReportKind::JobSets,
                (_, Some(codes)) => {
                    is_wide = true;
                    if codes { ReportKind::HoldCodes } else { ReportKind::Held }
                }
                _ if self.modes.batches => ReportKind::Batches,
                _ if self.modes.dags => ReportKind::Dag,
                _ if self.is_run => ReportKind::Running,
                _ if self.is_idle => ReportKind::Idle,
                _ if self.factory.is_some() => ReportKind::Factory,
                _ => ReportKind::Jobs,
            };
        }
        if self.uses_own_formats && self.read_configured_format(config, world) {
            return;
        }
        let Some(mut format) = self.report.format().map(str::to_owned) else { return };
        if self.functions.shows_cpu {
            format = format.replacen("RUN_TIME", "CPU_TIME", 1);
        }
        self.is_standard = self.report < ReportKind::Totals && !self.is_changed_report;
        if !is_wide {
            let columns = self.display_width();
            self.mask.set_overall_width(usize::try_from(columns - 1).ok());
            self.most_name_width = usize::try_from(14 + columns - 80).unwrap_or(0);
            if self.modes.dags {
                self.most_name_width += 3;
                self.name_width = 17;
            }
        }
        self.read_format(&format);
    }

    /// Reads the print format that the configuration names for the report; false if there is none.
    fn read_configured_format(&mut self, config: Option<&Config>, world: &dyn World) -> bool {
        let name = self.report.parameter();
        let Some(file) = config.and_then(|config| config.view(world).text(&name)) else { return false };
        let Ok(text) = std::fs::read(OsStr::from_bytes(&file)) else { return false };
        self.read_format_lines(PrintFormat::file_lines(&text))
    }

    /// Adds the columns of `-aaf` (`parse_append_format_args`).
    fn append_columns(&mut self, can_append: bool) -> Result<(), OptionRefusal> {
        if self.appended.is_empty() {
            return Ok(());
        }
        if !can_append {
            return Err(OptionRefusal::new(match self.modes.batches {
                true => {
                    "-aaf cannot be used with -batch mode output (the default), did you intend to use -af ?"
                }
                false => "output formatting options conflict with -aaf options",
            }));
        }
        if let Some(last) = self.mask.columns_mut().last_mut()
            && last.width == 0
            && !last.flags.grows
        {
            last.width = 3;
            (last.flags.left, last.flags.grows, last.flags.is_cut) = (true, true, false);
        }
        let first = self.mask.column_count();
        for (letters, words) in std::mem::take(&mut self.appended) {
            let (format, rest): (&[u8], _) = match letters.first() {
                Some(b'T') => (b"%T", &letters[1..]),
                Some(b'V') => (b"%V", &letters[1..]),
                Some(b'Y') => (b"%Y", &letters[1..]),
                Some(b'r') => (b"%r", &letters[1..]),
                _ => (b"%v", &letters[..]),
            };
            if !rest.is_empty() {
                return Err(OptionRefusal::new(&format!(
                    "{} is invalid -aaf format qualifier. only one of V,r,T, or Y is permitted.",
                    rest.to_str_lossy()
                )));
            }
            let syntax = RowSyntax { headings: self.mask.has_headings(), cuts: false, format };
            if !add_appended_columns(&mut self.mask, syntax, words.iter().map(Vec::as_slice)) {
                return Ok(());
            }
        }
        self.attributes.extend(self.mask.attributes_from(first));
        Ok(())
    }

    /// Adds the attributes of the columns from the given position on, and of the keys, to those that `-long` prints.
    pub(super) fn add_projection(&mut self, first: usize, keys: &[GroupKey]) {
        self.attributes.extend(self.mask.attributes_from(first));
        for GroupKey(key) in keys {
            let key = Expr::parse_with(key, Dialect::old_syntax());
            self.attributes.extend(key.iter().flat_map(references::projection));
        }
    }

    /// Adds the attributes of each job that a print format always needs.
    pub(super) fn add_job_attributes(&mut self, has_summary: bool) {
        let of_summary: &[&str] = if has_summary { &["JobStatus", "JobUniverse"] } else { &[] };
        let of_set = self.is_job_set.then_some("JobSetId");
        let names = ["ClusterId", "ProcId"].iter().chain(of_summary).copied().chain(of_set);
        self.attributes.extend(names.map(AttrName::from));
    }

    /// Adds the columns up to the first one that is not a valid expression. No message is printed.
    fn make_columns(&mut self) {
        self.has_standard_summary = false;
        let mask = if self.totals_only { &mut self.summary } else { &mut self.mask };
        for columns in std::mem::take(&mut self.columns) {
            let result = match &columns {
                CustomColumns::Auto(letters, words) => {
                    mask.add_autoformat(letters, words.iter().map(Vec::as_slice))
                }
                CustomColumns::Format(format, attribute) => mask.add_format(format, attribute),
            };
            if result.is_err() {
                break;
            }
        }
        if self.totals_only {
            let header = self.mask.has_headings();
            self.head_foot = PrintedSections { title: false, header, summary: true, custom: true };
            return;
        }
        self.head_foot = PrintedSections { header: self.mask.has_headings(), ..PrintedSections::BARE };
        if self.long.is_some() {
            // The columns become the projection.
            let names = self.mask.expressions().flat_map(crate::classad::references::projection);
            self.attributes.extend(names);
            self.attributes.extend(["ClusterId", "ProcId"].map(AttrName::from));
        }
    }
}
