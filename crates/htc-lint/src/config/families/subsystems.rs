//! Parameters whose names begin with the name of a subsystem. Reports those that the subsystem does not read, and those
//! in which the subsystem is missing.

use bstr::{BStr, ByteSlice};
use htc_base::text::caseless;
use htc_config::Advice;
use htc_config::registry;

use crate::config::name_status::{NameStatus, UnreadReason};
use crate::config::parameter_names::{DAEMON_NAMES, SUBSYSTEMS};

/// Parameters `<SUBSYSTEM>_<END>` that only some subsystems read.
struct SubsystemFamily {
    /// End of the names, after the subsystem and `_`.
    end: &'static str,
    /// Subsystems that read the parameter, or an empty list if all do. The first one is suggested.
    readers: &'static [&'static str],
}

/// Sources: `HookClientMgr::initialize`, `Resource::getHookKeyword`, `reconfig_user_maps`, `CronJobMgr::Initialize`.
const FAMILIES: [SubsystemFamily; 8] = [
    SubsystemFamily { end: "DEFAULT_JOB_HOOK_KEYWORD", readers: &["STARTER", "SHADOW"] },
    SubsystemFamily { end: "JOB_HOOK_KEYWORD", readers: &["STARTER", "STARTD", "SHADOW"] },
    SubsystemFamily { end: "CLASSAD_USER_MAP_NAMES", readers: &[] },
    SubsystemFamily { end: "CRON_JOBLIST", readers: CRON_MANAGERS },
    SubsystemFamily { end: "CRON_MAX_JOB_LOAD", readers: CRON_MANAGERS },
    SubsystemFamily { end: "CRON_LOG_NON_ZERO_EXIT", readers: CRON_MANAGERS },
    SubsystemFamily { end: "CRON_CONFIG_VAL", readers: CRON_MANAGERS },
    SubsystemFamily { end: "CRON_AUTOPUBLISH", readers: &["STARTD"] },
];

const CRON_MANAGERS: &[&str] = &["STARTD", "SCHEDD"];

/// Classifies a parameter of these families, if its subsystem is missing or does not read it.
pub(super) fn classify_subsystem_parameter(name: &[u8]) -> Option<NameStatus> {
    if caseless::eq(name, b"HOOK_KEYWORD") {
        let fix = "write STARTD_JOB_HOOK_KEYWORD for fetch hooks, STARTER_JOB_HOOK_KEYWORD for those of jobs";
        return UnreadReason::never_read_status("the name of a subsystem is missing", fix);
    }
    FAMILIES.iter().find_map(|SubsystemFamily { end, readers }| {
        let start =
            name.len().checked_sub(end.len()).filter(|_| caseless::ends_with(name, end.as_bytes()))?;
        let (cause, subsystem) = match name[..start].strip_suffix(b"_") {
            // `_JOB_HOOK_KEYWORD` and the like.
            None if start > 0 => return None,
            None => ("the name of a subsystem is missing".to_owned(), None),
            Some(subsystem) => {
                let is_daemon = DAEMON_NAMES.iter().any(|known| caseless::eq(known.as_bytes(), subsystem));
                let is_read = readers.is_empty()
                    || readers.iter().any(|known| caseless::eq(known.as_bytes(), subsystem));
                // The name of another prefix may be that of a slot.
                if is_read || !is_daemon {
                    return None;
                }
                (format!("the {} does not read it", daemon_name(subsystem)), Some(subsystem))
            }
        };
        let is_router = subsystem.is_some_and(|subsystem| caseless::eq(subsystem, b"JOB_ROUTER"));
        let fix = if is_router && *end == "JOB_HOOK_KEYWORD" {
            Advice::DidYouMean("JOB_ROUTER_HOOK_KEYWORD".into())
        } else {
            suggest_members(end, readers, subsystem)
        };
        UnreadReason::never_read_status(cause, fix)
    })
}

/// Returns the members of a family to use in place of one that nothing reads.
fn suggest_members(end: &str, readers: &[&str], subsystem: Option<&[u8]>) -> Advice {
    match readers {
        [] => format!("write SCHEDD_{end} for the schedd, NEGOTIATOR_{end} for the negotiator").into(),
        [only] => Advice::DidYouMean(format!("{only}_{end}").into()),
        [first, ..] if subsystem.is_some_and(|subsystem| caseless::eq(subsystem, b"STARTD")) => {
            format!("write {first}_{end}, or STARTD_JOB_HOOK_KEYWORD for fetch hooks").into()
        }
        [rest @ .., last] => {
            let rest: Vec<String> = rest.iter().map(|reader| format!("{reader}_{end}")).collect();
            format!("write {} or {last}_{end}", rest.join(", ")).into()
        }
    }
}

/// Classifies `SCHEDD_MAX_JOBS_RUNNING`: a parameter after the name of a subsystem and `_`. HTCondor separates them by
/// a dot. `is_read` returns true for the names of parameters.
pub(in crate::config) fn classify_prefixed_parameter(
    name: &[u8],
    is_read: &dyn Fn(&[u8]) -> bool,
) -> Option<NameStatus> {
    SUBSYSTEMS.iter().find_map(|(subsystem, daemon)| {
        let rest = caseless::strip_prefix(name, subsystem.as_bytes())?.strip_prefix(b"_")?;
        let parameter = registry::find(rest);
        let is_policy = parameter.is_some_and(|parameter| parameter.value_type.is_expression());
        // A site may use a subsystem and one other word as the name of its own macro, such as SCHEDD_BIN.
        if !is_policy && !rest.contains(&b'_') || !is_read(rest) {
            return None;
        }
        let rest = BStr::new(rest);
        let is_reader =
            parameter.is_none_or(|parameter| parameter.daemons.is_empty() || parameter.is_read_by(daemon));
        let cause = "a dot, not '_', separates the subsystem from the parameter";
        let level =
            caseless::strip_prefix(rest, b"ALLOW_").or_else(|| caseless::strip_prefix(rest, b"DENY_"));
        match (level, is_reader) {
            (Some(_), _) => UnreadReason::never_read_status(
                "the subsystem is the last part of the name of an access list",
                Advice::DidYouMean(format!("{rest}_{subsystem}").into()),
            ),
            (None, true) => UnreadReason::never_read_status(
                cause,
                format!("write {subsystem}.{rest} for the {daemon} alone, or {rest}"),
            ),
            (None, false) => UnreadReason::never_read_status(
                format!("the {daemon} does not read {rest}"),
                Advice::DidYouMean(rest.to_owned()),
            ),
        }
    })
}

/// Returns the name of a subsystem's daemon in lower case, for messages.
fn daemon_name(subsystem: &[u8]) -> String {
    let known = SUBSYSTEMS.iter().find(|(known, _)| caseless::eq(known.as_bytes(), subsystem));
    known.map_or_else(|| subsystem.to_str_lossy().into_owned(), |(_, daemon)| (*daemon).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fix(status: Option<NameStatus>) -> Option<String> {
        match status? {
            NameStatus::Unread(reason) => Some(reason.fix.to_string()),
            NameStatus::Read | NameStatus::SiteOwn => None,
        }
    }

    #[test]
    fn a_member_that_no_daemon_reads_has_a_suggestion() {
        for (name, expected) in [
            ("STARTD_DEFAULT_JOB_HOOK_KEYWORD", "STARTER_DEFAULT_JOB_HOOK_KEYWORD"),
            ("SCHEDD_JOB_HOOK_KEYWORD", "STARTER_JOB_HOOK_KEYWORD"),
            ("JOB_ROUTER_JOB_HOOK_KEYWORD", "JOB_ROUTER_HOOK_KEYWORD"),
            ("classad_user_map_names", "SCHEDD_CLASSAD_USER_MAP_NAMES"),
            ("CRON_JOBLIST", "STARTD_CRON_JOBLIST"),
            ("MASTER_CRON_AUTOPUBLISH", "STARTD_CRON_AUTOPUBLISH"),
        ] {
            let found = fix(classify_subsystem_parameter(name.as_bytes())).unwrap_or_default();
            assert!(found.contains(expected), "{name}: {found}");
        }
        for name in [
            "STARTER_DEFAULT_JOB_HOOK_KEYWORD",
            "STARTD_JOB_HOOK_KEYWORD",
            "SLOT1_JOB_HOOK_KEYWORD",
            "COLLECTOR_CLASSAD_USER_MAP_NAMES",
            "SCHEDD_CRON_JOBLIST",
        ] {
            assert_eq!(classify_subsystem_parameter(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn a_parameter_after_a_subsystem_needs_a_dot() {
        let known = |name: &[u8]| {
            ["NUM_CPUS", "START", "BIN", "ALLOW_WRITE"].iter().any(|one| one.as_bytes() == name)
        };
        let found = |name: &str| fix(classify_prefixed_parameter(name.as_bytes(), &known));
        assert!(found("STARTD_NUM_CPUS").is_some_and(|fix| fix.contains("STARTD.NUM_CPUS")));
        assert!(found("SCHEDD_NUM_CPUS").is_some_and(|fix| fix.contains("NUM_CPUS")));
        assert!(found("STARTD_START").is_some());
        assert!(found("COLLECTOR_ALLOW_WRITE").is_some_and(|fix| fix.contains("ALLOW_WRITE_COLLECTOR")));
        assert_eq!(found("SCHEDD_BIN"), None);
        assert_eq!(found("STARTD_NAME"), None);
    }
}
