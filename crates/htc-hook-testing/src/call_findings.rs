//! Findings about a hook call that do not depend on the verdict, each with its position in the output and advice.

use bstr::ByteSlice;

use super::call::{CallEnding, CallOutcome, HookExecution};
use super::caller_signal::signals_caller_finding;
use super::case::Case;
use super::decision::Decision;
use super::finding::{Finding, Rule};
use super::output_findings::check_output;
use super::verdict::Verdict;
use htc_base::process::Exit;
use htc_base::text::plural::counted;
use htc_hook::hook_output;
use htc_hook::{HookCaller, HookType};
use htc_os::StdinDelivery;
use htc_slot::FetchDecision;

/// Returns all findings about one call.
pub fn find_problems(case: &Case, outcome: &CallOutcome, verdict: &Verdict) -> Vec<Finding> {
    let mut found = Vec::new();
    match &outcome.ending {
        CallEnding::Refused { reason } => found.push(Finding::new(Rule::BadPath, reason.clone(), "")),
        CallEnding::NotStarted { reason, interpreter, errno } => {
            found.push(not_started_finding(case, reason, interpreter.as_deref(), *errno))
        }
        CallEnding::Ran(ended) => {
            // Findings about the output come first, because they are the most important for the user.
            check_output(case, ended, verdict, &mut found);
            found.extend(unread_input_finding(case, ended));
            found.extend(leftover_process_findings(case, ended));
            found.extend(signals_caller_finding(case, ended));
            found.extend(match ended.exit {
                None => vec![not_ended_finding(case, outcome)],
                Some(exit) => late_finding(case, outcome)
                    .into_iter()
                    .chain(exit_status_finding(case, exit, ended, verdict))
                    .collect(),
            });
            add_stderr_findings(case, &ended.stderr, &mut found);
        }
    }
    if case.hook == HookType::EvictClaim {
        found.push(Finding::new(
            Rule::NeverCalled,
            "HTCondor 25.14 and all versions since 7.0 never call EVICT_CLAIM",
            "do not rely on it to put jobs back into the queue; use JOB_EXIT, or a lease",
        ));
    }
    found
}

/// Returns advice on where to install a program that a hook needs.
fn install_advice(case: &Case, name: &str) -> String {
    let place = match case.hook.caller() {
        HookCaller::Startd | HookCaller::Starter => "on every execution point",
        HookCaller::Shadow | HookCaller::Router => "on the access point",
    };
    format!("install '{name}' {place}, or name another interpreter")
}

fn not_started_finding(case: &Case, reason: &str, interpreter: Option<&str>, errno: Option<i32>) -> Finding {
    match interpreter {
        Some(name) if name.ends_with('\r') => Finding::new(
            Rule::MissingInterpreter,
            reason,
            "convert the file to Unix line endings, for example with: sed -i 's/\\r$//'",
        ),
        Some(name) => Finding::new(Rule::MissingInterpreter, reason, install_advice(case, name)),
        None if errno == Some(nix::libc::ETXTBSY) => Finding::new(
            Rule::BadPath,
            reason,
            "a process has the file open for writing; write a new file and rename it over the old one",
        ),
        None if errno == Some(nix::libc::EACCES) => Finding::new(
            Rule::BadPath,
            reason,
            "the account that runs the hook must be able to execute the file and the program of its first line, and to \
             search the directories above both",
        ),
        None => Finding::new(
            Rule::BadPath,
            reason,
            "the file must be a program or begin with #!, without a byte order mark (BOM), blank or empty line before it",
        ),
    }
}

/// Reports input that the hook did not read.
fn unread_input_finding(case: &Case, ended: &HookExecution) -> Option<Finding> {
    let StdinDelivery { offered, unread, .. } = ended.stdin;
    // A hook that ended with an exception, or because a program was missing, had no chance to read its input.
    let died = ended.stderr.find("Traceback (most recent call last):").is_some()
        || matches!(ended.exit, Some(Exit::Code(126 | 127) | Exit::Signal { .. }));
    if unread == 0 || ended.exit.is_none() || died {
        return None;
    }
    let message = if unread == offered {
        format!("none of {} of standard input were read", counted(offered, "byte"))
    } else {
        format!("{unread} of {} of standard input were not read", counted(offered, "byte"))
    };
    let todo = match (case.hook.caller(), case.hook) {
        (HookCaller::Starter, _) => "harmless to the caller; the job ad is also in the file $_CONDOR_JOB_AD",
        (_, HookType::FetchWork) => "harmless to the caller, but the hook has not read the slot ad",
        (HookCaller::Startd | HookCaller::Shadow | HookCaller::Router, _) => {
            "harmless to the caller, but the hook has not read the job ad"
        }
    };
    Some(Finding::new(Rule::InputNotRead, message, todo))
}

/// Reports processes that are running after the hook has ended. Processes that were killed together with the hook at
/// its time limit are not reported.
fn leftover_process_findings(case: &Case, ended: &HookExecution) -> impl Iterator<Item = Finding> {
    let fate = match case.hook.caller() {
        HookCaller::Startd | HookCaller::Router if !case.hook.is_output_read() => {
            "it is killed as soon as the hook has ended"
        }
        HookCaller::Startd | HookCaller::Router => "it is killed before the output is used",
        HookCaller::Starter => "it runs until the starter ends, and what it writes is lost",
        HookCaller::Shadow => "it keeps running, and what it writes is lost",
    };
    ended.left_behind.iter().filter(|_| ended.exit.is_some()).map(move |left| {
        let name = left.command.as_bstr();
        let holds = match (left.holds_stdout, left.holds_stderr) {
            (true, _) => ", and holds the hook's standard output open",
            (false, true) => ", and holds the hook's standard error open",
            _ => "",
        };
        Finding::new(
            Rule::LeftBehind,
            format!("process {} ({name}) is left behind{holds}: {fate}", left.pid),
            "wait for the processes that the hook starts; start a service elsewhere",
        )
    })
}

fn not_ended_finding(case: &Case, outcome: &CallOutcome) -> Finding {
    let caller = case.hook.caller().name();
    let message = match case.caller_waits {
        Some(limit) if outcome.took >= limit => {
            format!("the {caller} waits {} s for it and then continues", limit.as_secs_f64())
        }
        Some(limit) => {
            let seconds = outcome.took.as_secs_f64();
            let waits = limit.as_secs_f64();
            format!("the hook has not ended within {seconds:.1} s; the {caller} waits {waits} s for it")
        }
        None if case.hook.is_waited_for() => {
            format!("the hook has not ended, and the {caller} waits for it without a limit")
        }
        None => "the hook has not ended; the caller does not wait for it, but such processes accumulate"
            .to_owned(),
    };
    // Daemons of 25.14 start hooks with SIGTERM blocked, so that timeout(1) needs another signal.
    Finding::new(
        Rule::RanTooLong,
        message,
        "limit the run time of every command in the hook, for example with: timeout -s KILL 60",
    )
}

/// Reports a hook that ended after the timeout of its caller.
fn late_finding(case: &Case, outcome: &CallOutcome) -> Option<Finding> {
    let limit = case.caller_waits.filter(|limit| outcome.took > *limit)?;
    let (took, waits) = (outcome.took.as_secs_f64(), limit.as_secs_f64());
    let message = format!("the hook took {took:.1} s; its caller waits {waits} s");
    Some(Finding::new(Rule::RanTooLong, message, "make it faster, or raise the parameter of the time limit"))
}

/// Returns true if the caller of a hook ignores its exit status, and the hook cannot report a failure in another way.
fn ignores_exit_status(hook: HookType) -> bool {
    matches!(hook, HookType::ReplyFetch | HookType::EvictClaim | HookType::UpdateJobInfo | HookType::JobExit)
}

/// Reports an exit status that is ignored or has an unexpected effect.
fn exit_status_finding(case: &Case, exit: Exit, ended: &HookExecution, verdict: &Verdict) -> Option<Finding> {
    if exit.is_success() {
        return None;
    }
    let printed = hook_output::output_lines(&ended.stdout).next().is_some();
    Some(match case.hook {
        HookType::FetchWork => {
            let is_used = printed && verdict.decision != Decision::Fetch(FetchDecision::BadOutput);
            let but = if is_used { ": the output is used anyway" } else { "" };
            Finding::new(
                Rule::StatusIgnored,
                format!("the hook {exit}, which the startd ignores{but}"),
                "to report a failure print nothing",
            )
        }
        hook if ignores_exit_status(hook) => Finding::new(
            Rule::StatusIgnored,
            format!("the hook {exit}, which the {} ignores", case.hook.caller().name()),
            "a failure here must be handled by the hook itself",
        ),
        HookType::PrepareJob | HookType::PrepareJobBeforeTransfer | HookType::ShadowPrepareJob
            if verdict.good && matches!(exit, Exit::Code(_)) =>
        {
            Finding::new(
                Rule::StatusCode,
                format!("the hook {exit}, but its HookStatusCode = 0 overrules that: the job continues"),
                "do not print HookStatusCode if the exit status should be used",
            )
        }
        _ if printed && !matches!(exit, Exit::Signal { .. }) && case.hook.caller() == HookCaller::Router => {
            Finding::new(
                Rule::AnswerDiscarded,
                format!("the hook {exit}: the router drops its output"),
                "exit with 0 if the output should be used",
            )
        }
        _ => return None,
    })
}

/// Reports problems with the environment that a script reports on standard error.
fn add_stderr_findings(case: &Case, stderr: &[u8], found: &mut Vec<Finding>) {
    add_exception_finding(case, stderr, found);
    for line in stderr.lines() {
        let line = line.to_str_lossy();
        if let Some(name) = parse_missing_variable(&line) {
            if !found.iter().any(|other| other.rule == Rule::MissingVariable && other.message.contains(&name))
            {
                found.push(Finding::new(
                    Rule::MissingVariable,
                    format!("the caller does not pass the variable {name}"),
                    "hooks get the daemon's environment, not that of a login shell; see --show-input",
                ));
            }
        } else if let Some(name) = parse_missing_interpreter(&line) {
            let advice = if name.contains('\r') {
                "convert the file to Unix line endings, for example with: sed -i 's/\\r$//'".to_owned()
            } else if name.contains(' ') {
                "the whole rest of the first line is treated as one name; write #!/usr/bin/env -S".to_owned()
            } else {
                install_advice(case, &name)
            };
            found.push(Finding::new(
                Rule::MissingInterpreter,
                format!("env does not find the interpreter '{}'", name.escape_debug()),
                advice,
            ));
        } else if let Some(name) = parse_missing_command(&line) {
            found.push(Finding::new(
                Rule::MissingCommand,
                format!("the command '{name}' is not found"),
                match name.as_str() {
                    "source" => "`source` works only in bash: begin the hook with #!/bin/bash, or write `.`"
                        .to_owned(),
                    _ if name.contains('/') => "the file does not exist on this machine".to_owned(),
                    _ => "use its full path, or set PATH in the hook".to_owned(),
                },
            ));
        }
    }
}

/// Reports the exception that ended a Python program. For a KeyError, reports the missing attribute.
fn add_exception_finding(case: &Case, stderr: &[u8], found: &mut Vec<Finding>) {
    let Some(at) = stderr.find("Traceback (most recent call last):") else { return };
    let last = stderr[at..].lines().skip(1).find(|line| !line.is_empty() && !line[0].is_ascii_whitespace());
    let Some(last) = last.map(|line| line.to_str_lossy().into_owned()) else { return };
    if parse_missing_variable(&last).is_some() {
        return;
    }
    let Some(name) = last.strip_prefix("KeyError: ").map(|name| name.trim_matches(['\'', '"'])) else {
        let advice = match ignores_exit_status(case.hook) {
            true => "catch it and handle it in the hook, because nothing reads the exit status",
            false => "catch it, and report with the exit status what should happen to the job",
        };
        found.push(Finding::new(Rule::Exception, format!("it died with an exception: {last}"), advice));
        return;
    };
    let spelled = case
        .subject()
        .sorted()
        .into_iter()
        .find(|(known, _)| htc_base::text::caseless::eq(known, name.as_bytes()))
        .map(|(known, _)| known.to_string());
    found.push(match spelled {
        Some(spelled) if spelled != name => Finding::new(
            Rule::MissingAttribute,
            format!("it looks for {name}, but the ad has {spelled}"),
            "attribute names are case-insensitive: ignore case when you look them up",
        ),
        _ => Finding::new(
            Rule::MissingAttribute,
            format!("the hook needs {name}, which the job ad lacks"),
            "an ad may lack any attribute; handle that case",
        ),
    });
}

fn parse_missing_variable(line: &str) -> Option<String> {
    let word = |text: &str| {
        let name: String =
            text.chars().rev().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let name: String = name.chars().rev().collect();
        (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then_some(name)
    };
    for shell in [": unbound variable", ": parameter not set", ": parameter null or not set"] {
        if let Some((before, _)) = line.split_once(shell) {
            return word(before);
        }
    }
    if let Some(rest) = line.trim().strip_prefix("KeyError: '") {
        let name = rest.trim_end_matches('\'');
        let upper = name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        return (upper && !name.is_empty()).then(|| name.to_owned());
    }
    let (_, rest) = line.split_once("Use of uninitialized value $ENV{")?;
    Some(rest.split('}').next()?.trim_matches(['"', '\'']).to_owned())
}

/// Returns the interpreter that `env` cannot find, according to its error message, or `None`. The first line of such
/// a hook is `#!/usr/bin/env NAME`. The messages of coreutils and busybox are recognized.
fn parse_missing_interpreter(line: &str) -> Option<String> {
    let (program, rest) = line.split_once(": ")?;
    let rest = rest.strip_suffix(": No such file or directory")?;
    let name = rest.strip_prefix("can't execute ").unwrap_or(rest);
    // GNU env quotes the name for a shell, such as 'python3'$'\r'.
    let name = name.replace("'$'\\r'", "\r").replace("''", "");
    let name = name.trim_matches(['\'', '\u{2018}', '\u{2019}', '`']);
    let is_env = program.rsplit('/').next() == Some("env");
    (is_env && !name.is_empty()).then(|| name.to_owned())
}

fn parse_missing_command(line: &str) -> Option<String> {
    let before = line.strip_suffix(": command not found").or_else(|| line.strip_suffix(": not found"))?;
    let name = before.rsplit(": ").next()?;
    (!name.is_empty() && !name.contains(' ')).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_base::quirks::QuirkMode;
    use htc_os::RealWorld;
    use std::time::Duration;

    /// Returns the findings about a call of `/hook` with this output.
    fn find_in_call(hook: HookType, stdout: &str, stderr: &str, code: u8) -> Vec<Finding> {
        let case = Case::new(hook);
        let ended = HookExecution {
            exit: Some(Exit::Code(code)),
            stdout: stdout.into(),
            stderr: stderr.into(),
            ..HookExecution::default()
        };
        let outcome = CallOutcome { ending: CallEnding::Ran(ended), took: Duration::from_millis(5) };
        let world = RealWorld::new();
        let verdict = super::super::judge_call(&case, &outcome, b"/hook", &world, QuirkMode::Manual);
        find_problems(&case, &outcome, &verdict)
    }

    /// Returns the rule of each finding about a call, with the part of the output that it points at.
    fn rules(hook: HookType, stdout: &str, stderr: &str, code: u8) -> Vec<(&'static str, String)> {
        find_in_call(hook, stdout, stderr, code)
            .into_iter()
            .map(|finding| {
                let text = finding.place.map(|place| place.slice(stdout.as_bytes()).to_vec());
                (finding.rule.word(), String::from_utf8(text.unwrap_or_default()).unwrap())
            })
            .collect()
    }

    #[test]
    fn locations_point_at_the_error() {
        let found = rules(HookType::PrepareJob, "A = 1 junk\nIwd = \"/x\"\n# note\nB = 2\n", "", 0);
        assert_eq!(
            found,
            [("bad-line", "# note".into()), ("text-after-value", "junk".into()), ("too-late", "Iwd".into())]
        );
        let found = rules(HookType::PrepareJob, "HookStatusMessage = \"one\ntwo\"\n", "", 0);
        assert_eq!(found[0].0, "newline-in-string");
        let found = rules(HookType::PrepareJob, "HookStatusCode = -1\nA = 1\na = 2\n", "", 0);
        assert_eq!(found.iter().map(|one| one.0).collect::<Vec<_>>(), ["status-code", "printed-twice"]);
    }

    #[test]
    fn a_second_job_after_an_empty_line_is_one_finding() {
        let job = |owner: &str| format!("Cmd = \"/bin/{owner}\"\nOwner = \"{owner}\"\nJobUniverse = 5\n");
        let two = format!("{}\n{}", job("ann"), job("bob"));
        let found = rules(HookType::FetchWork, &two, "", 0);
        let of_output: Vec<_> = found.iter().filter(|one| one.0 != "input-not-read").collect();
        assert_eq!(of_output, [&("second-job", "Cmd".to_owned())]);
        let same = format!("{}\n", job("ann"));
        assert!(!rules(HookType::FetchWork, &same, "", 0).iter().any(|one| one.0 == "second-job"));
    }

    #[test]
    fn values_that_need_quotes_or_another_unit_have_their_text() {
        let advice = |hook: HookType, stdout: &str| -> Vec<String> {
            find_in_call(hook, stdout, "", 0).into_iter().map(|finding| finding.advice).collect()
        };
        for (line, expected) in [
            ("RequestMemory = 2 GB\n", "in MiB: print RequestMemory = 2048"),
            ("RequestDisk = 1GB\n", "in KiB: print RequestDisk = 1048576"),
            ("Scratch = /x/y\n", "quote it: Scratch = \"/x/y\""),
            ("export SCRATCH=/x\n", "quote it: SCRATCH = \"/x\""),
            ("JobUniverse = vanilla\n", "JobUniverse must be a number: print JobUniverse = 5"),
            ("JobUniverse = spark\n", "JobUniverse must be a number: print JobUniverse = 5 for vanilla"),
        ] {
            let found = advice(HookType::PrepareJob, line);
            assert!(found.iter().any(|advice| advice == expected), "{line}: {found:?}");
        }
    }

    #[test]
    fn ignored_exit_statuses_are_reported() {
        assert_eq!(rules(HookType::JobExit, "", "", 3), [("status-ignored", String::new())]);
        assert_eq!(rules(HookType::UpdateJobInfo, "", "", 3), [("status-ignored", String::new())]);
        assert_eq!(rules(HookType::TranslateJob, "JobUniverse = 5\n", "", 1)[0].0, "answer-discarded");
        assert_eq!(rules(HookType::JobCleanup, "done\n", "", 0), [("ignored-output", "done".into())]);
    }

    #[test]
    fn exceptions_are_reported_with_the_missing_attribute() {
        let died = |last: &str| {
            format!("noise\nTraceback (most recent call last):\n  File \"h\", line 3\n    x\n{last}\n")
        };
        let word = |last: &str| rules(HookType::PrepareJob, "", &died(last), 1)[0].0;
        assert_eq!(word("KeyError: 'RemoteHost'"), "missing-attribute");
        assert_eq!(word("KeyError: 'cmd'"), "missing-attribute");
        assert_eq!(word("KeyError: 'X509_USER_PROXY'"), "missing-variable");
        assert_eq!(word("ValueError: not enough values to unpack"), "exception");
        assert!(rules(HookType::PrepareJob, "", "Traceback (most recent call last):\n", 0).is_empty());
    }

    #[test]
    fn an_expression_replaced_by_its_value_is_reported() {
        let found = rules(
            HookType::PrepareJob,
            "Requirements = true\nRank = 1.0\nRequestDisk = RequestMemory\n",
            "",
            0,
        );
        assert_eq!(found, [("frozen-expression", "Requirements".into())]);
    }

    #[test]
    fn attributes_that_the_queue_refuses_or_nothing_reads_are_reported() {
        let update = |stdout: &str| rules(HookType::RouterUpdateJobInfo, stdout, "", 0);
        assert_eq!(update("Note = 1\nJobUniverse = 5\n"), [("refused-attribute", "JobUniverse".into())]);
        assert_eq!(update("Note = 1\nOsUser = \"ana\"\n"), []);
        let prepare = rules(HookType::PrepareJob, "Note = 1\nClaimId = \"a\"\n", "", 0);
        assert_eq!(prepare, [("ignored-output", "ClaimId".into())]);
    }

    fn findings(hook: HookType, stdout: &[u8], code: u8) -> Vec<Finding> {
        let case = Case::new(hook);
        let ended =
            HookExecution { exit: Some(Exit::Code(code)), stdout: stdout.into(), ..HookExecution::default() };
        let outcome = CallOutcome { ending: CallEnding::Ran(ended), took: Duration::from_millis(5) };
        let verdict =
            super::super::judge_call(&case, &outcome, b"/hook", &RealWorld::new(), QuirkMode::Manual);
        find_problems(&case, &outcome, &verdict)
    }

    #[test]
    fn output_that_ends_in_a_string_is_not_reported_as_continued() {
        for text in
            [&b"A = 1\nCmd = \"/bin/ec"[..], b"A = 1\nCmd = \"/bin/ec\0ho\"\nB = 2\n", b"Cmd = \"x\n\n"]
        {
            let found = findings(HookType::PrepareJob, text, 0);
            let bad = found.iter().find(|one| one.rule == Rule::BadLine).unwrap();
            assert!(
                bad.message.starts_with("a string has no closing quote: this line and all"),
                "{}",
                bad.message
            );
            assert!(!found.iter().any(|one| one.rule == Rule::NewlineInString), "{found:?}");
        }
    }

    #[test]
    fn an_invisible_byte_order_mark_is_reported() {
        let found = findings(HookType::PrepareJob, "\u{feff}Memory = 17\n".as_bytes(), 0);
        assert!(found[0].message.contains("byte order mark"), "{found:?}");
        assert!(found[0].advice.contains("without BOM"), "{found:?}");
        let advice = |text: &str| findings(HookType::PrepareJob, text.as_bytes(), 0).pop().unwrap().advice;
        assert!(advice("[ A = 1; B = 2 ]\n").contains("without brackets"));
        assert!(advice("{ \"A\": 1 }\n").contains("JSON"));
    }

    #[test]
    fn an_image_without_effect_is_reported() {
        let message_about = |text: &str| {
            let found = findings(HookType::PrepareJob, text.as_bytes(), 0);
            found
                .into_iter()
                .find(|one| one.message.contains("in a container if only"))
                .map(|one| one.message)
        };
        let image = "ContainerImage = \"/cvmfs/x\"\nWantContainer = true\n";
        let message = message_about(image).unwrap();
        assert!(
            message.starts_with(
                "the job does not run in a container if only ContainerImage and WantContainer are set"
            ),
            "{message}"
        );
        for more in ["WantSandboxImage = true", "WantSIF = Arch == \"X86_64\"", "WantDocker = true"] {
            assert_eq!(message_about(&format!("{image}{more}\n")), None, "{more}");
        }
        assert!(message_about("DockerImage = \"debian\"\nWantDocker = false\n").is_some());
        assert_eq!(message_about("Memory = 1\n"), None);
    }

    #[test]
    fn dropped_output_of_a_failed_fetch_is_not_reported_as_used() {
        let message = |text: &str| {
            let found = findings(HookType::FetchWork, text.as_bytes(), 3);
            found.into_iter().find(|one| one.rule == Rule::StatusIgnored).unwrap().message
        };
        assert!(message("Cmd = \"/bin/true\"\n").ends_with("the output is used anyway"));
        assert!(message("Cmd = \"/bin/true\"\nnonsense\n").ends_with("which the startd ignores"));
        let code = findings(HookType::FetchWork, b"Cmd = \"/bin/true\"\nHookStatusCode = 7\n", 0);
        let code = code.into_iter().find(|one| one.rule == Rule::StatusCode).unwrap();
        assert_eq!(code.advice, "to report a failure print nothing");
    }

    #[test]
    fn a_failing_hook_is_not_reported_as_successful() {
        let message = |code| {
            let case = Case::new(HookType::PrepareJob);
            let ended = HookExecution {
                exit: Some(Exit::Code(code)),
                stdout: b"oops\n".into(),
                ..HookExecution::default()
            };
            let outcome = CallOutcome { ending: CallEnding::Ran(ended), took: Duration::from_millis(5) };
            let verdict =
                super::super::judge_call(&case, &outcome, b"/hook", &RealWorld::new(), QuirkMode::Manual);
            find_problems(&case, &outcome, &verdict)[0].message.clone()
        };
        assert!(message(0).ends_with("and the hook still succeeds"), "{}", message(0));
        assert!(message(1).ends_with("all lines after it are ignored"), "{}", message(1));
    }

    #[test]
    fn an_interpreter_that_env_does_not_find_is_named() {
        for (line, name) in [
            ("env: 'python2': No such file or directory", "python2"),
            ("/usr/bin/env: \u{2018}python2\u{2019}: No such file or directory", "python2"),
            ("env: can't execute 'python2': No such file or directory", "python2"),
            ("/usr/bin/env: 'python3 -u': No such file or directory", "python3 -u"),
            ("/usr/bin/env: 'python3'$'\\r': No such file or directory", "python3\r"),
        ] {
            assert_eq!(parse_missing_interpreter(line).as_deref(), Some(name), "{line}");
        }
        assert_eq!(parse_missing_interpreter("cat: x: No such file or directory"), None);
        let found = rules(HookType::PrepareJob, "", "env: 'python2': No such file or directory\n", 127);
        assert_eq!(found[0].0, "missing-interpreter");
    }

    #[test]
    fn advice_depends_on_what_is_missing() {
        let advice = |hook, stderr: &str| {
            let found = find_in_call(hook, "", stderr, 127);
            found.into_iter().find(|one| one.rule.word().starts_with("missing")).unwrap().advice
        };
        assert!(advice(HookType::PrepareJob, "h: 3: source: not found\n").contains("#!/bin/bash"));
        assert!(advice(HookType::PrepareJob, "h: 3: jq: not found\n").contains("full path"));
        assert!(!advice(HookType::PrepareJob, "h: 3: /x/jq: not found\n").contains("full path"));
        let missing = "env: 'python2': No such file or directory\n";
        assert!(advice(HookType::PrepareJob, missing).contains("on every execution point"));
        assert!(advice(HookType::TranslateJob, missing).contains("on the access point"));
    }

    #[test]
    fn a_status_that_the_output_overrides_is_reported() {
        let found = rules(HookType::PrepareJob, "HookStatusCode = 0\n", "", 3);
        assert_eq!(found, [("status-code", String::new())]);
        assert!(rules(HookType::PrepareJob, "HookStatusCode = 0\n", "", 0).is_empty());
    }

    #[test]
    fn missing_variables_and_commands_are_recognized_in_error_messages() {
        for (line, name) in [
            ("./h: line 3: SITE_NAME: unbound variable", "SITE_NAME"),
            ("./h: 3: SITE: parameter not set", "SITE"),
            ("KeyError: 'X509_USER_PROXY'", "X509_USER_PROXY"),
        ] {
            assert_eq!(parse_missing_variable(line).as_deref(), Some(name));
        }
        assert_eq!(parse_missing_variable("KeyError: 'Cmd'"), None);
        assert_eq!(parse_missing_command("./h: line 2: jq: command not found").as_deref(), Some("jq"));
        assert_eq!(parse_missing_command("/bin/sh: 1: nosuch: not found").as_deref(), Some("nosuch"));
    }
}
