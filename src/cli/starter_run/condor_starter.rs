//! Command line of `condor_starter` (`starter_v61_main.cpp`, `daemon_core_main.cpp`).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::super::common::{Problem, ProgramContext, Status, exit_status_of, stdout};
use super::capabilities;
use super::options::{StarterRole, StarterRunCli, is_standard_stream, leading_number};
use super::starter_invocation::StarterInvocation;
use crate::config::version::{PLATFORM_LINE, VERSION_LINE};
use crate::starter::EXCEPTION_STATUS;

/// Runs as the tool `condor_starter`, with the exit statuses of the reference.
pub(super) fn run_as_condor_starter(words: &[OsString], session: &ProgramContext) -> anyhow::Result<Status> {
    // The reference exits with status 1 for any error in the command line.
    let report_error = |error: anyhow::Error| {
        session.report(&error);
        // `EXCEPT` has another exit status.
        Ok(match exit_status_of(&error) {
            Status::Tool(status) => Status::Tool(status),
            _ => Status::Tool(1),
        })
    };
    let (mut cli, _) = match StarterRunCli::parse(&[]) {
        Ok(parsed) => parsed,
        Err(error) => return report_error(error),
    };
    if let [only] = words
        && only.as_bytes().get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"-cla"))
    {
        return capabilities::print_capabilities(&cli, session);
    }
    // The slot name that htc-slot-run passes is used only in events.
    let slot = cli.job.slot_name.take();
    let mut pid_file = None;
    let rest = match take_daemon_options(words, &mut cli, &mut pid_file) {
        Ok(Some(rest)) => rest,
        Ok(None) => {
            let text = format!("{VERSION_LINE}\n{PLATFORM_LINE}\n");
            std::io::Write::write_all(&mut stdout(), text.as_bytes())?;
            return Ok(Status::Done);
        }
        Err(error) => return report_error(error),
    };
    if let Err(error) = parse_starter_options(rest, &mut cli) {
        return report_error(error);
    }
    // The pid file is removed when this function returns.
    let _pid_file = pid_file.and_then(|path| PidFile::write(path, session));
    StarterInvocation { cli: &cli, ads_given: false, as_tool: true, slot }.run(session)
}

/// Parses the options that all daemons have, which come first. The first other word ends them. Returns `None` if the version is
/// requested, even if other words follow.
fn take_daemon_options<'a>(
    mut words: &'a [OsString],
    cli: &mut StarterRunCli,
    pid_file: &mut Option<PathBuf>,
) -> anyhow::Result<Option<&'a [OsString]>> {
    while let Some((word, rest)) = words.split_first() {
        let value = rest.first();
        let text = word.as_bytes();
        let takes_value = match text.get(1) {
            _ if text.first() != Some(&b'-') => return Ok(Some(words)),
            Some(b'a') => {
                cli.job.append = value.cloned();
                true
            }
            Some(b'c') => {
                cli.config.config_file = value.map(Into::into);
                true
            }
            Some(b'l') if text == b"-local-name" => {
                cli.job.local_name = value.map(|name| name.to_string_lossy().into_owned());
                true
            }
            Some(b't') => {
                cli.job.termlog = true;
                false
            }
            Some(b'v') => return Ok(None),
            Some(b'b' | b'f' | b'q') => false,
            Some(b'k') => return Err(refuse_kill_option(value)),
            Some(b'd') if text == b"-d" || text == b"-dynamic" => false,
            Some(b'p') if text.get(2) == Some(&b'i') => {
                *pid_file = value.map(PathBuf::from);
                true
            }
            Some(b'l' | b'p' | b'r') => true,
            Some(b's') if text == b"-sock" => true,
            _ => return Ok(Some(words)),
        };
        if takes_value && value.is_none() {
            return Err(Problem::usage(format!("{} needs another argument", word.display())).into());
        }
        words = if takes_value { rest.get(1..).unwrap_or_default() } else { rest };
    }
    Ok(Some(words))
}

/// Pid file of `-pidfile`, which is removed when the daemon ends (`drop_pid_file`, `clean_files`).
struct PidFile(PathBuf);

impl PidFile {
    /// Writes the pid file. If this fails, prints a warning.
    fn write(path: PathBuf, session: &ProgramContext) -> Option<Self> {
        match std::fs::write(&path, format!("{}\n", std::process::id())) {
            Ok(()) => Some(PidFile(path)),
            Err(error) => {
                session.warn(&format!("cannot write the pid file '{}' (-pidfile): {error}", path.display()));
                None
            }
        }
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

/// Returns the error for `-kill FILE`. HTCondor 25.14 ends the daemon whose process id is in the file; this program never ends a
/// process because of a file's content.
fn refuse_kill_option(file: Option<&OsString>) -> anyhow::Error {
    let Some(file) = file else { return Problem::usage("-kill needs another argument").into() };
    match std::fs::File::open(file) {
        Err(error) => {
            let message = format!("can't open pid file {} for reading: {error}", file.display());
            Problem::usage(message).into()
        }
        Ok(_) => {
            let message = format!("-kill {}: this program does not stop other daemons", file.display());
            Problem::usage(message).hint("use kill(1) with the number in that file").into()
        }
    }
}

/// Names of the options that start with `-job-`, in the order in which they are tried. Any prefix of a name is accepted.
const JOB_OPTION_NAMES: &[&str] = &[
    "-job-cluster",
    "-job-keyword",
    "-job-input-ad",
    "-job-output-ad",
    "-job-update-ad",
    "-job-proc",
    "-job-subproc",
    "-job-stdin",
    "-job-stdout",
    "-job-stderr",
];

fn parse_starter_options(words: &[OsString], cli: &mut StarterRunCli) -> anyhow::Result<()> {
    let mut words = words.iter();
    let mut shadow = None;
    let mut has_arguments = false;
    while let Some(word) = words.next() {
        has_arguments = true;
        let text = word.as_bytes();
        if !text.starts_with(b"-") {
            shadow = Some(word);
            continue;
        }
        let starts = |name: &str| name.as_bytes().starts_with(text);
        let mut value = |name: &str| -> anyhow::Result<&OsString> {
            let missing = || Problem::usage(format!("option '{name}' needs a value"));
            words.next().ok_or_else(|| missing().into())
        };
        if starts("-header") {
            cli.job.header = Some(value("-header")?.to_string_lossy().into_owned());
        } else if starts("-gridshell") {
            // In 25.14, this option is left over from the support for Globus: no scratch directory is created, nothing
            // is removed, and the job's file is made executable.
            let message = "-gridshell: HTCondor 25.14 would run the job in the current directory and leave that as it is; \
                           this program creates a separate directory for each job";
            return Err(Problem::usage(message).hint("remove the word, and set Iwd").into());
        } else if starts("-schedd-addr") {
            let address = value("-schedd-addr")?.clone();
            if !is_address(address.as_bytes()) {
                return Err(Problem::new(
                    Status::Tool(EXCEPTION_STATUS),
                    "schedd_addr not specified with valid address",
                )
                .into());
            }
            // This option starts a starter of the local universe, and this program acts as its schedd.
            cli.job.played_as = StarterRole::Local;
        } else if text.len() >= 4 && starts("-slot-name") {
            cli.job.slot_name = Some(value("-slot-name")?.clone());
        } else {
            let name = find_job_option(word)?;
            let option_value = value(name)?.clone();
            set_job_option(cli, name, option_value)?;
        }
    }
    check_option_conflicts(cli, shadow, has_arguments)
}

/// Returns true if a text has the form of a daemon's address: `<host:port>`, which may include parameters (`is_valid_sinful`).
fn is_address(text: &[u8]) -> bool {
    let inner = text.strip_prefix(b"<").and_then(|text| text.strip_suffix(b">"));
    let Some(inner) = inner else { return false };
    let place = inner.split(|byte| *byte == b'?').next().unwrap_or(inner);
    let Some(colon) = place.iter().rposition(|byte| *byte == b':') else { return false };
    let port = &place[colon + 1..];
    colon > 0 && !port.is_empty() && port.iter().all(u8::is_ascii_digit)
}

fn find_job_option(word: &OsStr) -> anyhow::Result<&'static str> {
    let text = word.as_bytes();
    let invalid = || Problem::usage(format!("option '{}' is not known", word.display()));
    if !b"-job-".starts_with(&text[..text.len().min(5)]) {
        return Err(invalid().into());
    }
    if text.len() < 6 {
        return Err(Problem::usage(format!("option '{}' is ambiguous", word.display())).into());
    }
    let option_name = JOB_OPTION_NAMES.iter().find(|name| name.as_bytes().starts_with(text));
    option_name.copied().ok_or_else(|| invalid().into())
}

fn set_job_option(cli: &mut StarterRunCli, name: &str, value: OsString) -> anyhow::Result<()> {
    let job = &mut cli.job;
    let text = || value.to_string_lossy().into_owned();
    let number = |slot: &mut Option<String>| -> anyhow::Result<()> {
        let text = text();
        if text.trim_start().starts_with('-') && leading_number(&text) < 0 {
            return Err(Problem::usage(format!("{name}: '{text}' is negative")).into());
        }
        *slot = Some(text);
        Ok(())
    };
    match name {
        "-job-cluster" => number(&mut job.job_cluster)?,
        "-job-proc" => number(&mut job.job_proc)?,
        "-job-subproc" => number(&mut job.job_subproc)?,
        "-job-keyword" => job.job_keyword = Some(text()),
        "-job-input-ad" => job.job_input_ad = Some(value),
        "-job-output-ad" => job.job_output_ad = Some(value),
        "-job-update-ad" => job.job_update_ad = Some(value),
        "-job-stdin" => job.job_stdin = Some(value),
        "-job-stdout" => job.job_stdout = Some(value),
        _ => job.job_stderr = Some(value),
    }
    Ok(())
}

/// Refuses options that cannot be combined.
fn check_option_conflicts(
    cli: &StarterRunCli,
    shadow: Option<&OsString>,
    has_arguments: bool,
) -> anyhow::Result<()> {
    let job = &cli.job;
    let problem = match shadow {
        _ if is_standard_stream(&job.job_stdin) && is_standard_stream(&job.job_input_ad) => {
            "standard input cannot be both the job's (-job-stdin) and that of its ad (-job-input-ad)"
                .to_owned()
        }
        _ if is_standard_stream(&job.job_stdout) && is_standard_stream(&job.job_output_ad) => {
            "standard output cannot be both the job's (-job-stdout) and that of its result (-job-output-ad)"
                .to_owned()
        }
        Some(_) if job.job_input_ad.is_some() || job.job_keyword.is_some() => {
            "a shadow's host cannot be combined with -job-input-ad or -job-keyword".to_owned()
        }
        Some(host) => {
            format!("connections to a shadow ('{}') are unsupported: use -job-input-ad", host.display())
        }
        None if !has_arguments => "nothing to do: use -job-input-ad FILE".to_owned(),
        None if job.job_input_ad.is_none() && job.job_keyword.is_none() => {
            "neither -job-input-ad nor -job-keyword says where the job's ad is".to_owned()
        }
        None => return Ok(()),
    };
    Err(Problem::usage(problem).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<StarterRunCli, String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let mut cli = StarterRunCli::parse(&[]).unwrap().0;
        let rest = take_daemon_options(&words, &mut cli, &mut None).map_err(|error| error.to_string())?;
        parse_starter_options(rest.ok_or("a version")?, &mut cli).map_err(|error| error.to_string())?;
        Ok(cli)
    }

    #[test]
    fn options_of_the_startd_are_accepted() {
        let cli = parse(&["-f", "-a", "slot1_2", "-job-input-ad", "-"]).unwrap();
        assert_eq!(cli.job.append, Some("slot1_2".into()));
        assert_eq!(cli.job.job_input_ad, Some("-".into()));
        let cli =
            parse(&["-f", "-header", "(x)", "-slot-name", "slot7_3", "-job-i", "a", "-job-o", "b"]).unwrap();
        assert_eq!(cli.job.slot_name, Some("slot7_3".into()));
        assert_eq!(cli.job.job_output_ad, Some("b".into()));
        let cli = parse(&["-job-i", "a", "-job-s", "3"]).unwrap();
        assert_eq!(cli.job.job_subproc, Some("3".to_owned()));
    }

    #[test]
    fn options_of_a_schedd_start_a_local_universe_starter() {
        let words = [
            "-f",
            "-job-cluster",
            "1",
            "-job-proc",
            "0",
            "-job-input-ad",
            "-",
            "-schedd-addr",
            "<10.0.0.1:9618?x=1>",
        ];
        assert_eq!(parse(&words).unwrap().job.played_as, StarterRole::Local);
        for address in ["10.0.0.1:9618", "<10.0.0.1>", "<:9618>", "<host:>", "<host:x>", ""] {
            assert!(parse(&["-job-input-ad", "-", "-schedd-addr", address]).is_err(), "{address}");
        }
    }

    #[test]
    fn invalid_options_are_refused() {
        for words in [
            &["-f"][..],
            &["-job-input-ad", "-", "-job-nonsense", "x"],
            &["-job-input-ad", "-", "-job-stdin", "-"],
            &["-job-input-ad", "a", "-job-stdout", "-", "-job-output-ad", "-"],
            &["-job-input-ad", "-", "some.host"],
            &["some.host"],
            &["-job-input-ad"],
            &["-job-", "x"],
            &["-job-input-ad", "a", "-job-cluster", "-4"],
            &["-x"],
            &["-pidfile"],
            &["-k", "/nosuch"],
            &["-f", "-v", "-job-input-ad", "-"],
        ] {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }
}
