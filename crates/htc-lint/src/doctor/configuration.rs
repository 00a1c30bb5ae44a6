//! Findings of lint as checks of the doctor.

use htc_config::finding::Finding;
use htc_config::lint_rule::{LintRule, LintSeverity};
use htc_config::registry;

use super::check::DoctorCheck;

/// Subject of these checks.
const SUBJECT: &str = "configuration";

/// Maximum number of errors that are shown one by one.
const MAX_ERRORS: usize = 20;

/// Converts the findings of lint in an execution point's configuration to checks. Each error in a parameter that the
/// startd or the starter reads is a failed check; all other findings are one note.
pub fn configuration_checks(findings: &[Finding]) -> Vec<DoctorCheck> {
    // Other checks of the doctor report hooks and cron jobs, using the same code.
    let is_checked_elsewhere = |rule| matches!(rule, LintRule::HookRefused | LintRule::CronJob);
    let is_shown = |finding: &&Finding| {
        finding.rule.severity() != LintSeverity::Note && !is_checked_elsewhere(finding.rule)
    };
    let (errors, others): (Vec<&Finding>, Vec<&Finding>) =
        findings.iter().filter(is_shown).partition(|finding| stops_execution_point(finding));
    let mut checks: Vec<DoctorCheck> = errors
        .iter()
        .take(MAX_ERRORS)
        .map(|finding| {
            let todo = finding.fix.as_ref().map_or_else(|| "correct it".to_owned(), ToString::to_string);
            DoctorCheck::failed(SUBJECT, describe(finding), todo)
        })
        .collect();
    let left = others.len() + errors.len().saturating_sub(MAX_ERRORS);
    if let Some(first) = others.first().or(errors.get(MAX_ERRORS)) {
        let plural = if left == 1 { "" } else { "s" };
        let found = format!("lint has {left} finding{plural}, the first is {}", describe(first));
        checks.push(DoctorCheck::noted(SUBJECT, found, "run htc-config-dump lint to see all findings"));
    }
    if checks.is_empty() {
        checks.push(DoctorCheck::passed(SUBJECT, "execution point and starters can read it"));
    }
    checks
}

/// True if a mistake may make a startd or starter exit or lose jobs.
fn stops_execution_point(finding: &Finding) -> bool {
    let is_read = registry::find(&finding.name)
        .is_none_or(|parameter| ["startd", "starter"].iter().any(|daemon| parameter.is_read_by(daemon)));
    finding.rule.severity() == LintSeverity::Error && is_read
}

/// Formats a finding as `FILE:LINE: MESSAGE [RULE]`.
fn describe(finding: &Finding) -> String {
    match &finding.spot {
        Some(spot) => format!("{}:{}: {} [{}]", spot.name, spot.line, finding.message, finding.rule),
        None => format!("{} [{}]", finding.message, finding.rule),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::CheckStatus;
    use htc_config::{LoadOptions, LookupContext};
    use htc_os::RealWorld;

    fn check_statuses(text: &str) -> Vec<CheckStatus> {
        let place = tempfile::tempdir().unwrap();
        let files = [place.path().join("condor_config")];
        std::fs::write(&files[0], text).unwrap();
        let request = crate::daemons::LintRequest {
            context: &LookupContext::default(),
            options: &LoadOptions::default(),
            files: &files,
            only_unsupported: false,
            used_by: &[],
            version: htc_config::target_version::TargetVersion::default(),
            redact: false,
            checks_corrections: false,
        };
        let findings = request.lint_config(&RealWorld::new()).unwrap().findings;
        configuration_checks(&findings).into_iter().map(|check| check.standing).collect()
    }

    #[test]
    fn doctor_does_not_approve_what_lint_reports() {
        assert_eq!(check_statuses("NUM_CPUS = 4\n"), [CheckStatus::Good]);
        assert_eq!(check_statuses("MEMORY = $INT(DETECTED_MEMORY * 0.8)\n"), [CheckStatus::Fails]);
        assert_eq!(check_statuses("POLLING_INTERVAL = five\nSTART = True &&\n"), [CheckStatus::Fails; 2]);
        // A startd does not read the first; the second is a warning.
        assert_eq!(check_statuses("NEGOTIATOR_CYCLE_DELAY = often\nSTRT = True\n"), [CheckStatus::Note]);
    }
}
