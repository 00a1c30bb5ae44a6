//! Parameters that have no effect because of the value of another one, and limits that contradict each other.

use bstr::ByteSlice;
use htc_base::text::{caseless, similar_names, unqualified_name};
use htc_classad::{Expr, ExprKind, Truth, Value};
use htc_config::Advice;
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;
use htc_config::macro_definition::MacroEntry;

use super::abstract_outcomes::possible_outcomes;
use super::condition_outcomes::OutcomeSet;
use super::expression_parts::reference_name;
use super::lint_subject::LintSubject;
use super::parameter_names::{DAEMON_NAMES, list_items};

/// Parameter that switches others off: nothing reads `dependents` while it is false or 0. A name that ends in `*`
/// stands for all names with that beginning.
struct Switch {
    name: &'static str,
    dependents: &'static [&'static str],
}

const fn new_switch(name: &'static str, dependents: &'static [&'static str]) -> Switch {
    Switch { name, dependents }
}

/// Parameters that switch others off.
const SWITCHES: [Switch; 11] = [
    // matchmaker.cpp, `Matchmaker::matchmakingAlgorithm`.
    new_switch("NEGOTIATOR_CONSIDER_PREEMPTION", &["PREEMPTION_REQUIREMENTS", "PREEMPTION_RANK"]),
    // ResState.cpp, `ResState::eval`.
    new_switch("WANT_SUSPEND", &["SUSPEND", "CONTINUE"]),
    new_switch("WANT_VACATE", &["KILL"]),
    // startd_hibernator, `ResMgr::hibernating`.
    new_switch("HIBERNATE_CHECK_INTERVAL", &["HIBERNATE"]),
    // classadHistory.cpp, `InitJobHistoryFile`.
    new_switch(
        "ENABLE_HISTORY_ROTATION",
        &["MAX_HISTORY_LOG", "MAX_HISTORY_ROTATIONS", "ROTATE_HISTORY_DAILY", "ROTATE_HISTORY_MONTHLY"],
    ),
    new_switch("KEEP_POOL_HISTORY", &["POOL_HISTORY_*"]),
    new_switch("ENABLE_SSH_TO_JOB", &["SSH_TO_JOB_*"]),
    new_switch("ENABLE_CHIRP", &["ENABLE_CHIRP_*", "CHIRP_*"]),
    new_switch(
        "USE_SHARED_PORT",
        &["SHARED_PORT_PORT", "SHARED_PORT_MAX_WORKERS", "COLLECTOR_USES_SHARED_PORT"],
    ),
    new_switch("JOB_START_DELAY", &["JOB_START_COUNT"]),
    new_switch("ENABLE_PERSISTENT_CONFIG", &["PERSISTENT_CONFIG_DIR"]),
];

/// Pairs of parameters, of which the first must not exceed the second, and the consequence if it does.
const LIMITS: [(&str, &str, &str); 11] = [
    ("UPDATE_INTERVAL", "CLASSAD_LIFETIME", "the collector drops each ad before its next update"),
    ("MASTER_UPDATE_INTERVAL", "CLASSAD_LIFETIME", "the collector drops each ad before its next update"),
    ("SCHEDD_INTERVAL", "CLASSAD_LIFETIME", "the collector drops each ad before its next update"),
    ("NEGOTIATOR_UPDATE_INTERVAL", "CLASSAD_LIFETIME", "the collector drops each ad before its next update"),
    (
        "MAX_JOBS_PER_OWNER",
        "MAX_JOBS_SUBMITTED",
        "the limit for each owner is above the limit for all owners",
    ),
    ("MAX_JOBS_RUNNING", "MAX_JOBS_SUBMITTED", "more jobs may run than may be submitted"),
    ("MAX_JOBS_PER_SUBMISSION", "MAX_JOBS_PER_OWNER", "a submission may have more jobs than an owner"),
    ("DAGMAN_MAX_JOBS_IDLE", "DAGMAN_MAX_JOBS_SUBMITTED", "the limit of idle jobs is never reached"),
    ("SCHEDD_MIN_INTERVAL", "SCHEDD_INTERVAL", "the smallest interval is above the usual one"),
    ("RESERVED_MEMORY", "MEMORY", "no memory is left for slots"),
    ("MASTER_BACKOFF_CONSTANT", "MASTER_BACKOFF_CEILING", "the first delay is above the longest"),
];

pub(super) fn lint(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    for switch in &SWITCHES {
        check_switch(subject, switch, findings);
    }
    for (smaller, larger, effect) in LIMITS {
        check_limit(subject, smaller, larger, effect, findings);
    }
    check_suspended(subject, findings);
    check_controllers(subject, findings);
    check_protocols(subject, findings);
}

fn written_entry<'a>(subject: &LintSubject<'a>, name: &str) -> Option<&'a MacroEntry> {
    subject.config.set.find_exact(name.as_bytes()).filter(|entry| entry.current.is_user_written())
}

/// Returns true if the configuration sets a parameter to `false` or `0`.
fn is_off(subject: &LintSubject<'_>, name: &str) -> bool {
    let Some(entry) = written_entry(subject, name) else { return false };
    let Ok(value) = subject.view.expand_raw(&entry.name, entry.raw()) else { return false };
    let value = value.trim_with(|c| c == '(' || c == ')' || c.is_whitespace());
    caseless::eq(value, b"false") || value == b"0"
}

fn check_switch(subject: &LintSubject<'_>, switch: &Switch, findings: &mut Vec<Finding>) {
    if !is_off(subject, switch.name) {
        return;
    }
    let is_dependent = |name: &[u8]| {
        switch.dependents.iter().any(|dependent| match dependent.strip_suffix('*') {
            Some(start) => caseless::starts_with(name, start.as_bytes()),
            None => caseless::eq(dependent.as_bytes(), name),
        })
    };
    let dependents = subject.user_written_entries().filter(|entry| is_dependent(&entry.name));
    for entry in dependents {
        let Ok(value) = subject.view.expand_raw(&entry.name, entry.raw()) else { continue };
        let value = value.trim();
        let is_trivial =
            value.is_empty() || [&b"true"[..], b"false", b"0"].iter().any(|word| caseless::eq(word, value));
        // Another policy may use the parameter as an attribute or as a macro.
        if is_trivial || is_used_elsewhere(subject, entry) {
            continue;
        }
        let message = format!("{} has no effect, because {} is off", entry.name, switch.name);
        let fix = format!("set {} to another value, or remove {}", switch.name, entry.name);
        findings.push(subject.make_finding(LintRule::NoEffect, &entry.current, None, message, fix));
    }
}

/// True if the configuration sets another parameter whose value contains the name.
fn is_used_elsewhere(subject: &LintSubject<'_>, entry: &MacroEntry) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let name = entry.name.to_ascii_lowercase();
    subject.user_written_entries().filter(|other| !caseless::eq(&other.name, &entry.name)).any(|other| {
        let raw = other.raw().to_ascii_lowercase();
        raw.find_iter(&name).any(|at| {
            let before = at.checked_sub(1).and_then(|before| raw.get(before));
            !is_part(before) && !is_part(raw.get(at + name.len()))
        })
    })
}

fn check_limit(
    subject: &LintSubject<'_>,
    smaller: &str,
    larger: &str,
    effect: &str,
    findings: &mut Vec<Finding>,
) {
    let (Some(first), Some(second)) = (written_entry(subject, smaller), written_entry(subject, larger))
    else {
        return;
    };
    let number = |name: &str| subject.view.int(name).ok().flatten().map(|setting| setting.value);
    let (Some(low), Some(high)) = (number(smaller), number(larger)) else { return };
    if low <= high || high <= 0 {
        return;
    }
    let entry = if larger == "CLASSAD_LIFETIME" { second } else { first };
    let message = format!("{smaller} ({low}) is above {larger} ({high}): {effect}");
    let fix = match larger {
        "CLASSAD_LIFETIME" => format!("write at least {}, or remove it", low.saturating_mul(2)),
        _ => format!("write at most {high}, or raise {larger}"),
    };
    let place = Some((0, entry.current.raw.len()));
    findings.push(subject.make_finding(LintRule::Contradiction, &entry.current, place, message, fix));
}

/// Reports policies that wait for a suspended slot although no slot is ever suspended.
fn check_suspended(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    let parameter = match () {
        () if is_off(subject, "WANT_SUSPEND") => "WANT_SUSPEND",
        () if is_off(subject, "SUSPEND") => "SUSPEND",
        () => return,
    };
    for name in ["PREEMPT", "CONTINUE", "KILL"] {
        let Some(entry) = written_entry(subject, name) else { continue };
        let Ok(value) = subject.view.expand_raw(&entry.name, entry.raw()) else { continue };
        let Ok(expr) = Expr::parse_with(&value, subject.dialect()) else { continue };
        let never = OutcomeSet::of(Truth::False);
        let known = |part: &Expr| is_suspended_activity(part).then_some(never);
        let mut has_test = false;
        super::expression_parts::for_each_part(&expr, &mut |part| has_test |= is_suspended_activity(part));
        if !has_test || possible_outcomes(&expr, &known).contains(Truth::True) {
            continue;
        }
        let message =
            format!("{name} is never true: Activity is never Suspended, because {parameter} is False");
        let fix = format!("set {parameter}, or remove the test for the activity Suspended");
        let place = Some((0, entry.current.raw.len()));
        findings.push(subject.make_finding(LintRule::NeverTrue, &entry.current, place, message, fix));
    }
}

/// True for `Activity == "Suspended"`.
fn is_suspended_activity(part: &Expr) -> bool {
    let ExprKind::Compare("==" | "=?=", left, right) = part.kind() else { return false };
    let is_activity = |side: &Expr| reference_name(side).is_some_and(|name| caseless::eq(&name, b"Activity"));
    let is_word = |side: &Expr| match side.without_parentheses().as_literal() {
        Some(Value::Str(text)) => caseless::eq(text.as_bytes(), b"Suspended"),
        _ => false,
    };
    is_activity(&left) && is_word(&right) || is_activity(&right) && is_word(&left)
}

/// Reports daemons whose controlling daemon is not in DAEMON_LIST, so that the master exits
/// (`masterDaemon.cpp`, `daemon::SetupController`).
fn check_controllers(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    check_controller_names(subject, findings);
    if written_entry(subject, "DAEMON_LIST").is_none() {
        return;
    }
    let listed = list_items(&subject.view, "DAEMON_LIST");
    let is_listed =
        |name: &[u8]| listed.iter().any(|word| caseless::eq(word.trim_start_with(|c| c == '+'), name));
    for entry in subject.user_written_entries() {
        let controlled = caseless::strip_prefix(&entry.name, b"MASTER_")
            .and_then(|rest| rest.len().checked_sub(b"_CONTROLLER".len()).map(|end| (rest, end)))
            .filter(|(rest, end)| *end > 0 && caseless::ends_with(rest, b"_CONTROLLER"))
            .map(|(rest, end)| &rest[..end]);
        let Some(controlled) = controlled else { continue };
        let Ok(controller) = subject.view.expand_raw(&entry.name, entry.raw()) else { continue };
        let controller = controller.trim();
        let is_misspelled = misspelled_daemon(subject, controller).is_some();
        if controller.is_empty() || is_listed(controller) || !is_listed(controlled) || is_misspelled {
            continue;
        }
        let message = format!(
            "{0} controls {1}, but DAEMON_LIST does not contain {0}: the master exits with an error",
            controller.as_bstr(),
            controlled.as_bstr()
        );
        let fix = format!("add {} to DAEMON_LIST", controller.as_bstr());
        let place = Some((0, entry.current.raw.len()));
        findings.push(subject.make_finding(LintRule::Contradiction, &entry.current, place, message, fix));
    }
    for (daemon, needed) in [("HAD", "HAD_LIST"), ("REPLICATION", "REPLICATION_LIST")] {
        let Some(list) = written_entry(subject, "DAEMON_LIST").filter(|_| is_listed(daemon.as_bytes()))
        else {
            continue;
        };
        if subject.view.text(needed).is_some_and(|value| !value.is_empty()) {
            continue;
        }
        let message =
            format!("{daemon} is in DAEMON_LIST, but {needed} is not set: the daemon exits with an error");
        let fix = format!("set {needed}");
        findings.push(subject.make_finding(LintRule::NamedNotDefined, &list.current, None, message, fix));
    }
    if let Some(entry) = written_entry(subject, "HAD_USE_REPLICATION")
        && subject.view.flag("HAD_USE_REPLICATION", false)
        && !is_listed(b"REPLICATION")
    {
        let message = "HAD_USE_REPLICATION is true, but DAEMON_LIST does not contain REPLICATION".to_owned();
        let fix = "add REPLICATION to DAEMON_LIST";
        findings.push(subject.make_finding(LintRule::Contradiction, &entry.current, None, message, fix));
    }
}

/// Returns the daemon whose name is misspelled, or `None` if the name is not a misspelled daemon name.
fn misspelled_daemon(subject: &LintSubject<'_>, name: &[u8]) -> Option<&'static [u8]> {
    let known = || DAEMON_NAMES.iter().map(|known| known.as_bytes());
    let is_daemon = known().any(|known| caseless::eq(known, name));
    let is_unknown = !is_daemon && !name.is_empty() && subject.view.raw_bytes(name).is_none();
    is_unknown.then(|| similar_names::nearest(name, known())).flatten()
}

/// Reports controllers whose names are misspelled names of daemons.
fn check_controller_names(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    let entries = subject.user_written_entries().filter(|entry| {
        let name = unqualified_name(&entry.name);
        caseless::starts_with(name, b"MASTER_") && caseless::ends_with(name, b"_CONTROLLER")
    });
    for entry in entries {
        let Ok(controller) = subject.view.expand_raw(&entry.name, entry.raw()) else { continue };
        let controller = controller.trim();
        let Some(near) = misspelled_daemon(subject, controller) else { continue };
        let message = format!("{}: there is no daemon {}", entry.name, controller.as_bstr());
        let (place, fix) = (Some((0, entry.current.raw.len())), Advice::DidYouMean(near.into()));
        let finding = subject.make_finding(LintRule::BadValue, &entry.current, place, message, fix);
        findings.push(finding.replaced_by(near.as_bstr().to_string()));
    }
}

/// Reports a configuration that disables both IPv4 and IPv6.
fn check_protocols(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    let Some(entry) = written_entry(subject, "ENABLE_IPV6").filter(|_| is_off(subject, "ENABLE_IPV6")) else {
        return;
    };
    if is_off(subject, "ENABLE_IPV4") {
        let message = "ENABLE_IPV4 and ENABLE_IPV6 are both false: daemons exit with an error".to_owned();
        let fix = "enable one of them";
        findings.push(subject.make_finding(LintRule::Contradiction, &entry.current, None, message, fix));
    }
}
