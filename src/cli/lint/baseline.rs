//! `--baseline`: findings of an old configuration that are not reported again.
//!
//! A file has one JSON object per finding with rule, parameter and value. It does not contain lines and file names, so
//! that a finding remains known if its statement moves.

use std::fs::File;
use std::io;
use std::path::Path;

use bstr::ByteSlice;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::file_problem::file_problem;
use crate::cli::common::{Problem, write_report_file};
use crate::config::finding::Finding;
use crate::config::lint_rule::LintRule;
use crate::config::redact;
use crate::os::read_at_most;

/// Maximum size of a baseline in bytes.
const MAX_BASELINE_BYTES: u64 = 64 << 20;

/// One known finding.
#[derive(Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownFinding {
    rule: String,
    parameter: String,
    value: String,
}

/// Returns the parameter and the value of a finding. If it is not about a parameter, the value is the text of its line.
/// Secrets are masked.
pub(super) fn subject(finding: &Finding) -> (String, String) {
    let value = match (&finding.spot, finding.name.is_empty()) {
        (Some(spot), true) => spot.text.trim(),
        _ => finding.value.trim(),
    };
    let value = redact::mask_value(&finding.name, value);
    (finding.name.to_str_lossy().into_owned(), value.to_str_lossy().into_owned())
}

fn known_finding(finding: &Finding) -> KnownFinding {
    let (parameter, value) = subject(finding);
    KnownFinding { rule: finding.rule.name().to_owned(), parameter, value }
}

/// Writes findings to a file, and returns their number.
pub(super) fn write(path: &Path, findings: &[Finding]) -> anyhow::Result<usize> {
    let mut text = String::new();
    let mut count = 0;
    for finding in findings.iter().filter(|finding| finding.rule != LintRule::Elsewhere) {
        text.push_str(&serde_json::to_string(&known_finding(finding))?);
        text.push('\n');
        count += 1;
    }
    write_report_file(path, text.as_bytes())?;
    Ok(count)
}

/// Numbers of the findings of a baseline.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BaselineCounts {
    /// Number of findings that were removed from the report.
    pub(super) known: usize,
    /// Number of findings of the baseline that were not found again.
    pub(super) gone: usize,
}

/// Removes the findings that a file lists. A finding that the file lists N times is removed at most N times. `selects`
/// returns true for the rules that were checked.
pub(super) fn remove_known(
    path: &Path,
    findings: &mut Vec<Finding>,
    selects: impl Fn(LintRule) -> bool,
) -> anyhow::Result<BaselineCounts> {
    let read =
        || String::from_utf8(read_at_most(File::open(path)?, MAX_BASELINE_BYTES)?).map_err(io::Error::other);
    let text = read().map_err(|error| file_problem("read", path, error))?;
    let mut known: FxHashMap<KnownFinding, usize> = FxHashMap::default();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let finding: KnownFinding = serde_json::from_str(line).map_err(|error| {
            let place = format!("{}:{number}: not a finding of a baseline", path.display());
            Problem::unreadable(place).caused_by(error).hint("--write-baseline FILE writes a new one")
        })?;
        *known.entry(finding).or_default() += 1;
    }
    let before = findings.len();
    findings.retain(|finding| match known.get_mut(&known_finding(finding)) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    });
    let is_checked = |known: &KnownFinding| LintRule::from_name(&known.rule).is_none_or(&selects);
    let gone = known.iter().filter(|(known, _)| is_checked(known)).map(|(_, count)| count).sum();
    Ok(BaselineCounts { known: before - findings.len(), gone })
}
