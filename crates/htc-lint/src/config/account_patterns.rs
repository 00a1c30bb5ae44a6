//! Patterns of accounts that do not match the accounts of the same configuration.

use bstr::{BStr, BString, ByteSlice};
use htc_base::text::{caseless, unqualified_name};
use htc_classad::regex::{Regex, RegexOptions};
use htc_config::finding::Finding;
use htc_config::lint_rule::LintRule;

use super::lint_subject::LintSubject;

/// Parameter with the pattern of the accounts that only jobs use.
const PATTERN: &str = "DEDICATED_EXECUTE_ACCOUNT_REGEXP";

/// Reports accounts of slots that the pattern does not match (`JobInfoCommunicator::checkDedicatedExecuteAccounts`).
pub(super) fn lint(subject: &LintSubject<'_>, findings: &mut Vec<Finding>) {
    let entry = subject.config.set.find_exact(PATTERN.as_bytes());
    let Some(entry) = entry.filter(|entry| entry.current.is_user_written()) else { return };
    let Ok(pattern) = subject.view.expand_raw(&entry.name, entry.raw()) else { return };
    // The whole name must match.
    let whole = [b"^", pattern.trim(), b"$"].concat();
    let Ok(regex) = Regex::compile(&whole, RegexOptions::NONE) else { return };
    let accounts: Vec<(BString, BString)> = subject
        .user_written_entries()
        .filter(|entry| is_slot_account(&entry.name))
        .filter_map(|entry| {
            Some((BString::from(&entry.name), subject.view.expand_raw(&entry.name, entry.raw()).ok()?))
        })
        .filter(|(_, account)| !account.trim().is_empty())
        .collect();
    let is_unmatched = |account: &BString| regex.is_match(account.trim()).is_ok_and(|is_match| !is_match);
    let Some((name, account)) = accounts.iter().find(|(_, account)| is_unmatched(account)) else { return };
    let message = format!(
        "{PATTERN} does not match all of '{}' ({name}): processes that the slot's jobs leave behind are not killed",
        account.trim().as_bstr()
    );
    let digits = account.trim().iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let stem = BStr::new(&account.trim()[..account.trim().len() - digits]);
    let fix = match digits {
        0 => format!("write a regular expression that matches {}", account.trim().as_bstr()),
        _ => format!("write a regular expression, such as {stem}[0-9]+"),
    };
    let place = Some((0, entry.current.raw.len()));
    findings.push(subject.make_finding(LintRule::Contradiction, &entry.current, place, message, fix));
}

/// True for `SLOT1_USER` and `SLOT1_2_USER`.
fn is_slot_account(name: &[u8]) -> bool {
    let Some(rest) = caseless::strip_prefix(unqualified_name(name), b"SLOT") else { return false };
    let Some(end) = rest.len().checked_sub(b"_USER".len()) else { return false };
    end > 0
        && caseless::ends_with(rest, b"_USER")
        && rest[..end].iter().all(|byte| byte.is_ascii_digit() || *byte == b'_')
}
