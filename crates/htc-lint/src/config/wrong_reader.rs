//! Parameters with the prefix of a daemon that does not read them: `STARTD.MAX_JOBS_RUNNING`.

use bstr::{BStr, ByteSlice};
use htc_base::text::caseless;
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::registry;

use super::lint_subject::LintSubject;
use super::parameter_names::SUBSYSTEMS;

/// Parameters that the code of several daemons reads (condor_utils), in addition to the readers in the
/// registry.
const SHARED_PARAMETERS: [&str; 19] = [
    "ALTERNATE_JOB_SPOOL",
    "DAEMON_LIST",
    "DATA_REUSE_BYTES",
    "DOCKER",
    "DOCKER_DROP_ALL_CAPABILITIES",
    "DOCKER_SHM_SIZE",
    "DOCKER_VOLUMES",
    "ENABLE_STARTD_DAEMON_AD",
    "EXECUTE",
    "IMMUTABLE_JOB_ATTRS",
    "JAVA",
    "JOB_EPOCH_HISTORY",
    "JOB_SPOOL_PERMISSIONS",
    "PROTECTED_JOB_ATTRS",
    "SLOT_WEIGHT",
    "STARTD_CRON_JOBLIST",
    "STARTD_JOB_ATTRS",
    "STARTD_JOB_EXPRS",
    "TRANSFER_QUEUE_USER_EXPR",
];

/// Reports parameters with the prefix of a daemon that does not read them.
pub(super) fn lint(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    for entry in subject.user_written_entries().filter(|entry| entry.name.contains(&b'.')) {
        let Some((prefix, name)) = entry.name.split_once_str(b".") else { continue };
        let known = SUBSYSTEMS.iter().find(|(subsystem, _)| caseless::eq(subsystem.as_bytes(), prefix));
        let Some((subsystem, daemon)) = known.filter(|_| !name.contains(&b'.')) else { continue };
        let Some(parameter) = registry::find(name) else { continue };
        let is_shared = SHARED_PARAMETERS.iter().any(|shared| caseless::eq(shared.as_bytes(), name));
        let is_read = is_shared
            || parameter.daemons.is_empty()
            || parameter.is_read_by(daemon)
            || parameter.has_open_prefix()
            // Readers that are not subsystems, such as tools, are not compared with the prefix.
            || parameter.daemons.split(',').all(|reader| !SUBSYSTEMS.iter().any(|(_, known)| *known == reader));
        let is_advertised =
            subject.known.advertised_attributes().iter().any(|known| caseless::eq(known, name));
        if is_read || is_advertised || is_referred_to(subject, name) {
            continue;
        }
        let readers = parameter.daemons.split(',').collect::<Vec<_>>();
        let shown = readers.join(" and ");
        let message = format!(
            "{} has no effect: the {} does not read {}, which is a parameter of the {shown}",
            entry.name,
            daemon,
            BStr::new(name)
        );
        let right = SUBSYSTEMS.iter().find(|(_, known)| readers.first() == Some(known));
        let fix = match right {
            Some((right, _)) => format!("write {} without prefix, or {right}.{0}", BStr::new(name)),
            None => format!("write {} without the prefix {subsystem}", BStr::new(name)),
        };
        findings.push(subject.make_finding(LintRule::NoEffect, &entry.current, None, message, fix));
    }
}

/// True if a source of the configuration refers to the macro, so that another parameter may use its value.
fn is_referred_to(subject: &LintSubject<'_>, name: &[u8]) -> bool {
    let reference = [b"$(", name].concat();
    let texts = subject.config.set.sources().iter().filter_map(|source| source.text.as_deref());
    texts.filter(|text| caseless::contains(text, &reference)).any(|text| {
        let lower = text.to_ascii_lowercase();
        let reference = reference.to_ascii_lowercase();
        lower.find_iter(&reference).any(|at| {
            lower.get(at + reference.len()).is_none_or(|next| !next.is_ascii_alphanumeric() && *next != b'_')
        })
    })
}
