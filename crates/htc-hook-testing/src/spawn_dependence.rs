//! Results of a call that depend on how the hook's process is started. The daemons of 25.14 start hooks with nearly
//! all signals blocked and SIGPIPE ignored (quirk `hooks-spawned-as-daemons`), so such a hook ends differently there.

use bstr::ByteSlice;

use super::call::{CallEnding, CallOutcome, HookExecution};
use super::case::Case;
use super::finding::{Finding, Rule};
use super::verdict::Verdict;
use htc_base::process::Exit;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_runner::hook_call::is_blocked_by_daemon;

/// Maximum number of script lines that a message names.
const MAX_NAMED_LINES: usize = 3;

/// Call that has ended, with the way in which its process was started.
pub(super) struct SpawnDependence<'a> {
    pub(super) case: &'a Case,
    pub(super) outcome: &'a CallOutcome,
    pub(super) quirks: QuirkMode,
}

impl SpawnDependence<'_> {
    /// Returns the result of executing the hook, or `None` if it was not started.
    fn execution(&self) -> Option<&HookExecution> {
        match &self.outcome.ending {
            CallEnding::Ran(ended) => Some(ended),
            CallEnding::NotStarted { .. } | CallEnding::Refused { .. } => None,
        }
    }

    /// Returns true if the process was started as the daemons of 25.14 start it.
    fn is_started_as_daemon(&self) -> bool {
        self.quirks.reproduces(Quirk::HooksSpawnedAsDaemons)
    }

    /// Returns the signal that ended the hook although the daemons of 25.14 block it, or `None`.
    fn fatal_blocked_signal(&self) -> Option<i32> {
        let ended = self.execution().filter(|_| !self.is_started_as_daemon())?;
        let Some(Exit::Signal { number, .. }) = ended.exit else { return None };
        // A signal to the group, or to the caller, is reported as such.
        let is_for_caller = ended.group_signal.or(ended.caller_signal).is_some();
        (!is_for_caller && is_blocked_by_daemon(number, self.case.hook.caller())).then_some(number)
    }

    /// Returns the findings about blocked signals; `script` is the content of the hook's file.
    pub(super) fn findings(&self, script: &[u8]) -> Vec<Finding> {
        let mut found = Vec::new();
        if let Some(number) = self.fatal_blocked_signal() {
            let message = format!(
                "signal {number} ended the hook; HTCondor 25.14 starts hooks with it blocked, so the hook may continue there"
            );
            let advice = "end the hook with exit; --quirks reference calls it as HTCondor 25.14 does";
            found.push(Finding::new(Rule::BlockedSignal, message, advice));
        }
        for number in lines_with_weak_timeout(script).into_iter().take(MAX_NAMED_LINES) {
            let message = format!(
                "line {number} of the hook calls timeout, whose SIGTERM is blocked in the hooks of HTCondor 25.14: the command continues"
            );
            found.push(Finding::new(Rule::BlockedSignal, message, "write timeout -s KILL"));
        }
        found
    }

    /// Adds the quirk to a verdict that depends on it, and its condition to the verdict for the other setting of
    /// `--quirks`.
    pub(super) fn adapt_verdicts(&self, mine: &mut Verdict, other: &mut Verdict) {
        let Some(ended) = self.execution() else { return };
        let is_running = ended.exit.is_none() && !self.is_started_as_daemon();
        if self.fatal_blocked_signal().is_some() {
            // The hook would not have ended here, so nothing is known about its output and exit status.
            *other = mine.clone();
        }
        if is_running || ended.cut || self.fatal_blocked_signal().is_some() {
            mine.quirks.push(Quirk::HooksSpawnedAsDaemons);
        }
        if ended.cut && mine.differs_from(other) {
            let condition = match self.is_started_as_daemon() {
                false => format!(
                    "unless it fails because its output is closed after {} bytes (--quirks reference calls it so)",
                    self.case.output_limit
                ),
                true => {
                    "unless it ends differently when its whole output is read (--quirks none calls it so)"
                        .to_owned()
                }
            };
            other.action = format!("{}, {condition}", other.action);
        }
    }
}

/// Returns the numbers of the lines of a script that call timeout(1) without a signal that cannot be blocked.
fn lines_with_weak_timeout(script: &[u8]) -> Vec<usize> {
    if !script.starts_with(b"#!") {
        return Vec::new();
    }
    let lines = (1..).zip(script.lines());
    lines.filter(|(_, line)| has_weak_timeout(line)).map(|(number, _)| number).collect()
}

/// Returns true if a line calls timeout(1) without `-s KILL` or `-k`, as a shell command or as elements of a list.
fn has_weak_timeout(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    if line.starts_with(b"#") {
        return false;
    }
    line.find_iter("timeout").any(|at| {
        let before = at.checked_sub(1).map_or(b' ', |before| line[before]);
        let is_word_start = b" \t;&|(`'\"/".contains(&before);
        let after = &line[at + "timeout".len()..];
        let words = after.trim_start_with(|c| " \t'\",".contains(c));
        // The first argument is an option or a number of seconds; otherwise, the word has another meaning.
        let is_call = words.len() < after.len()
            && words.first().is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'$'));
        is_word_start && is_call && !sends_kill(words)
    })
}

/// Returns true if the arguments of timeout(1) make it send SIGKILL.
fn sends_kill(arguments: &[u8]) -> bool {
    let is_kill = |signal: &[u8]| matches!(signal, b"9" | b"KILL" | b"SIGKILL");
    let mut is_signal = false;
    for word in arguments.split(|byte| b" \t'\",".contains(byte)).filter(|word| !word.is_empty()) {
        if is_signal {
            if is_kill(word) {
                return true;
            }
            is_signal = false;
            continue;
        }
        let attached = word.strip_prefix(b"--signal=").or_else(|| word.strip_prefix(b"-s"));
        if attached.is_some_and(is_kill) || word.starts_with(b"-k") || word.starts_with(b"--kill-after") {
            return true;
        }
        if !word.starts_with(b"-") {
            return false;
        }
        is_signal = matches!(word, b"-s" | b"--signal");
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_timeout_that_send_sigterm_are_found() {
        for line in [
            "timeout 1 sleep 20",
            "  out=$(timeout 5s curl x)",
            "/usr/bin/timeout --preserve-status 3 x",
            "timeout -s INT 5 x",
            "timeout 5 curl -k x",
            "subprocess.run(['timeout', '1', 'sleep', '20'])",
            "timeout \"$LIMIT\" x",
        ] {
            assert!(has_weak_timeout(line.as_bytes()), "{line}");
        }
        for line in [
            "timeout -s KILL 5 x",
            "timeout --signal=KILL 5 x",
            "timeout -s 9 5 x",
            "timeout -k 1 5 x",
            "subprocess.run(['timeout', '--kill-after=1', '5', 'x'])",
            "# timeout 5 x",
            "subprocess.run(['x'], timeout=5)",
            "curl --timeout 5 x",
            "echo timeout reached",
            "my_timeout 5",
        ] {
            assert!(!has_weak_timeout(line.as_bytes()), "{line}");
        }
        assert_eq!(lines_with_weak_timeout(b"#!/bin/sh\n\ntimeout 1 x\n"), [3]);
        assert!(lines_with_weak_timeout(b"\x7fELF timeout 1 x\n").is_empty());
    }
}
