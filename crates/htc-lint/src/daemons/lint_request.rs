//! Request to check a configuration, or the ad of a job, with all rules; secrets are masked on request.

use htc_config::lint_rule::LintRule;
use std::path::PathBuf;
use std::sync::Arc;

use super::allow_comments::AllowComments;
use super::repeated_findings::drop_repeated_findings;
use super::{
    LintScope, check_unread_sources, check_user_maps, fatal_error_finding, hooks, load_warnings,
    skipped_branches, target_version, unsupported_here,
};
use crate::config as lint;
use crate::config::LintSubject;
use crate::corrections;
use bstr::BString;
use htc_base::world::{FileTextsWorld, World};
use htc_classad::Dialect;
use htc_config::finding::Finding;
use htc_config::load::LoadAttempt;
use htc_config::redact::{self, KnownSecrets};
use htc_config::source_location::SourceLocation;
use htc_config::target_version::TargetVersion;
use htc_config::{Config, ConfigError, LoadOptions, LookupContext};
use htc_hook::job_ad_lint;

/// Request to check a configuration.
#[derive(Clone, Debug)]
pub struct LintRequest<'a> {
    /// Daemon, or tool, as which the configuration is read.
    pub context: &'a LookupContext,
    /// Options for loading the configuration.
    pub options: &'a LoadOptions,
    /// Files that form the configuration; if empty, the usual configuration and the files that it names are
    /// checked.
    pub files: &'a [PathBuf],
    /// True to report only unsupported settings instead of mistakes.
    pub only_unsupported: bool,
    /// Files outside the configuration that use its parameters: scripts, submit files.
    pub used_by: &'a [PathBuf],
    /// Version of HTCondor for which the configuration is checked.
    pub version: TargetVersion,
    /// True if secrets are masked.
    pub redact: bool,
    /// True to check each certain correction by checking the corrected text, which takes as long as the check itself.
    /// This is not needed if the output neither applies nor prints corrections. [`LintRequest::drop_wrong_corrections`]
    /// can check them later.
    pub checks_corrections: bool,
}

/// Result of a check.
#[derive(Debug, Default)]
pub struct LintResult {
    /// Findings, sorted by place.
    pub findings: Vec<Finding>,
    /// Warnings from loading the configuration.
    pub warnings: Vec<String>,
    /// Number of sources with text.
    pub source_count: usize,
    /// Number of settings in these sources.
    pub setting_count: usize,
    /// True if the files were treated as a part of a configuration.
    pub is_partial: bool,
    /// Number of hooks whose programs are not on this machine. They are not reported, because the files are for another
    /// machine.
    pub absent_programs: usize,
}

impl LintRequest<'_> {
    /// Reads a configuration as far as possible and checks it.
    ///
    /// # Errors
    /// Returns an error if no part of the configuration can be read.
    pub fn lint_config(&self, world: &dyn World) -> Result<LintResult, Box<ConfigError>> {
        self.lint_attempt(&mut self.load(world), world)
    }

    /// Reads a configuration as far as possible.
    pub fn load(&self, world: &dyn World) -> LoadAttempt {
        let mut options = LoadOptions {
            keep_texts: true,
            keep_defaults: true,
            continue_after_errors: true,
            ..self.options.clone()
        };
        if let Some((first, more)) = self.files.split_first() {
            options.file = Some(first.clone());
            options.more_files = more.to_vec();
            options.user_file = false;
        }
        Config::load_partially(world, self.context, &options)
    }

    /// Checks a configuration that [`LintRequest::load`] read. With `redact`, secrets are masked in `attempt`, too,
    /// if there are errors.
    ///
    /// # Errors
    /// Returns an error if no part of the configuration could be read.
    pub fn lint_attempt(
        &self,
        attempt: &mut LoadAttempt,
        world: &dyn World,
    ) -> Result<LintResult, Box<ConfigError>> {
        let mut secrets = KnownSecrets::default();
        if self.redact {
            secrets.learn_from_config(&attempt.config, world);
        }
        if self.redact && (attempt.error.is_some() || !attempt.skipped_errors.is_empty()) {
            redact::redact_attempt(attempt, world);
        }
        if let Some(error) = attempt.error.take_if(|error| error.place.is_none()) {
            return Err(Box::new(error));
        }
        let mut subject = LintSubject::new(&attempt.config, world);
        subject.used_by = self.used_by.to_vec();
        subject.reads_environment = self.options.environment;
        let mut scope = LintScope::from_attempt(attempt, self.files);
        scope.is_isolated |= !self.options.environment;
        subject.is_complete = scope.is_complete;
        // Other files, scripts, and statements that could not be parsed may refer to any name.
        subject.reports_unused_macros = !scope.for_other_machine && attempt.skipped_errors.is_empty();
        let mut findings = match self.only_unsupported {
            true => unsupported_here::unsupported_parameters(&subject),
            false => super::lint(&subject, scope),
        };
        drop_type_findings_of_cron_jobs(&mut findings);
        findings.extend(
            attempt
                .skipped_errors
                .iter()
                .map(|error| fatal_error_finding(&subject, error, "daemons exit here")),
        );
        findings.extend(
            attempt.error.iter().map(|error| fatal_error_finding(&subject, error, "reading stops here")),
        );
        findings.extend(check_unread_sources(&subject, scope));
        if !self.only_unsupported {
            findings.extend(check_user_maps(&subject, scope));
            skipped_branches::lint(attempt, &subject, scope, world, &mut findings);
        }
        let warnings = match self.only_unsupported {
            true => attempt.warnings.iter().collect(),
            false => load_warnings::add_findings(&subject, scope, &attempt.warnings, &mut findings),
        };
        let warnings = warnings.into_iter().map(|warning| match self.redact {
            true => secrets.remove_secrets(&warning.text).to_string(),
            false => warning.to_string(),
        });
        let warnings = warnings.collect();
        drop_repeated_findings(&mut findings);
        target_version::apply(&subject, self.version, &mut findings);
        AllowComments::of_config(&attempt.config).apply(&mut findings);
        if self.checks_corrections {
            self.drop_wrong_corrections(attempt, &mut findings, world);
        }
        for finding in findings.iter_mut().filter(|_| self.redact) {
            finding.value = redact::mask_value(&finding.name, &finding.value).into_owned().into();
            let source = finding.spot.as_ref().map(|spot| attempt.config.set.source(spot.source));
            secrets.redact_finding(finding, source.and_then(|source| source.text.as_deref()));
        }
        lint::sort_findings(&mut findings);
        let absent_programs = match scope.for_other_machine && !self.only_unsupported {
            true => hooks::count_absent_programs(&subject),
            false => 0,
        };
        let is_read = |text: &Option<Arc<[u8]>>| text.as_deref().is_some_and(|text| !text.is_empty());
        let sources = attempt.config.set.sources().iter().filter(|source| is_read(&source.text)).count();
        let settings = subject.user_written_entries().count();
        Ok(LintResult {
            findings,
            warnings,
            source_count: sources,
            setting_count: settings,
            is_partial: scope.is_partial,
            absent_programs,
        })
    }

    /// Keeps only the corrections that a check of the corrected files proves right. The findings must be those of
    /// [`LintRequest::lint_attempt`] without `checks_corrections` and without `redact`.
    pub fn drop_wrong_corrections(&self, attempt: &LoadAttempt, findings: &mut [Finding], world: &dyn World) {
        let sources = &attempt.config.set;
        let text_of = |spot: &SourceLocation| sources.source(spot.source).text.as_deref().map(BString::from);
        let check = |texts: &[(PathBuf, Vec<u8>)]| {
            let root = self.options.root_text.as_ref().and(self.options.file.as_ref());
            let root_text = root.and_then(|root| texts.iter().find(|(path, _)| path == root));
            let options = LoadOptions {
                root_text: root_text
                    .map_or(self.options.root_text.clone(), |(_, text)| Some(text[..].into())),
                ..self.options.clone()
            };
            let world = FileTextsWorld { world, texts };
            let request =
                LintRequest { options: &options, redact: false, checks_corrections: false, ..self.clone() };
            let mut attempt = request.load(&world);
            request.lint_attempt(&mut attempt, &world).ok().map(|result| result.findings)
        };
        corrections::drop_wrong_corrections(findings, &text_of, &check);
    }

    /// Checks the ad of a fetched job.
    pub fn lint_job_ad(&self, name: &str, text: &[u8], world: &dyn World) -> Vec<Finding> {
        let mut findings = match self.only_unsupported {
            true => unsupported_here::unsupported_job_attributes(text, world),
            false => job_ad_lint::lint_job_ad(name, text, Dialect::of_world(world)),
        };
        if self.redact {
            let mut secrets = KnownSecrets::default();
            secrets.learn_from_lines(text);
            findings.iter_mut().for_each(|finding| secrets.redact_finding(finding, None));
        }
        findings
    }
}

/// Drops findings about the type of a parameter of a cron job if another finding says what happens to the job.
fn drop_type_findings_of_cron_jobs(findings: &mut Vec<Finding>) {
    let cron_jobs = findings.iter().filter(|finding| finding.rule == LintRule::CronJob);
    let reported: Vec<_> = cron_jobs.map(|finding| finding.name.clone()).collect();
    findings.retain(|finding| finding.rule != LintRule::BadValue || !reported.contains(&finding.name));
    // Of the findings about an invalid condition, the one about its syntax is kept, because it has the place of the
    // mistake.
    let expressions = findings.iter().filter(|finding| finding.rule == LintRule::BadExpression);
    let invalid: Vec<_> = expressions.map(|finding| finding.name.clone()).collect();
    findings.retain(|finding| finding.rule != LintRule::CronJob || !invalid.contains(&finding.name));
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_os::RealWorld;

    fn lint_text(text: &str, redact: bool) -> LintResult {
        let place = tempfile::tempdir().unwrap();
        let files = [place.path().join("condor_config")];
        std::fs::write(&files[0], text).unwrap();
        let (who, options) = (LookupContext::default(), LoadOptions::default());
        let wanted = LintRequest {
            context: &who,
            options: &options,
            files: &files,
            used_by: &[],
            version: TargetVersion::default(),
            only_unsupported: false,
            redact,
            checks_corrections: true,
        };
        wanted.lint_config(&RealWorld::new()).unwrap()
    }

    #[test]
    fn an_unreadable_part_is_reported_in_its_line_and_the_rest_is_checked() {
        let found = lint_text("A = 1\nthis is no statement\nSTARTD_JOB_HOOK_KEYWORDS = X\n", false);
        let rules: Vec<_> = found
            .findings
            .iter()
            .map(|finding| (finding.rule, finding.spot.as_ref().map_or(0, |spot| spot.line)))
            .collect();
        assert!(rules.contains(&(LintRule::Syntax, 2)), "{rules:?}");
        assert!(rules.iter().any(|(_, line)| *line == 3), "{rules:?}");
        assert_eq!((found.source_count, found.setting_count), (1, 2));
    }

    #[test]
    fn no_finding_contains_a_secret() {
        let text = "SEC_PASSWORD = hunter2hunter2\nhunter2hunter2 is no statement\n";
        let shown = |redact| {
            format!(
                "{:?}",
                lint_text(text, redact)
                    .findings
                    .iter()
                    .map(|finding| {
                        (finding.message.clone(), finding.spot.as_ref().map(|spot| spot.text.clone()))
                    })
                    .collect::<Vec<_>>()
            )
        };
        assert!(shown(false).contains("hunter2"));
        assert!(!shown(true).contains("hunter2hunter2 is"), "{}", shown(true));
    }
}
