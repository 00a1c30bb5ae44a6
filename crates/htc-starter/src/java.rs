//! Jobs of the java universe: the command line of the Java virtual machine, and the outcome of the job
//! according to the two files that `CondorJavaWrapper` writes.
//!
//! Reference: `java_proc.cpp`, `java_config.cpp`. The wrapper itself is part of HTCondor
//! (`CondorJavaWrapper.class` in `LIB`, named by JAVA_CLASSPATH_DEFAULT).

use std::os::unix::ffi::OsStrExt;

use bstr::{BStr, BString, ByteSlice};

use super::environment::EnvironmentInputs;
use super::process::argument_list;
use super::start_failure::StartFailure;
use htc_base::job::attr;
use htc_base::process::Exit;
use htc_base::text::{arguments, list};
use htc_classad::ClassAd;
use htc_hook::transfer::url;

/// Java class that runs the job's main class.
const WRAPPER_CLASS: &str = "CondorJavaWrapper";

/// File in the scratch directory that the wrapper creates before it runs the job.
pub const START_RECORD_FILE: &str = "jvm.start";

/// File in which the wrapper records how the job ended.
pub const END_RECORD_FILE: &str = "jvm.end";

/// Signal reported for a job that threw an exception.
const EXCEPTION_SIGNAL: i32 = 15;

/// Returns the command line that runs the job's main class (`JavaProc::StartJob`); the first element is the
/// program.
///
/// # Errors
/// Returns an error if JAVA is not set or the arguments are invalid; 25.14 does not report these errors to anyone.
pub(super) fn java_command(inputs: &EnvironmentInputs<'_>) -> Result<Vec<BString>, StartFailure> {
    let job = || inputs.job_context();
    let scratch = inputs.scratch.as_os_str().as_bytes().as_bstr();
    let not_configured = |why: &str| StartFailure::silent(format!("{why}JavaProc: Java is not configured!"));
    let mut line = match inputs.settings.java.command_line(&jar_paths(inputs, scratch)) {
        Ok(Some(line)) => line,
        Err(error) => {
            let why = format!("java_config: failed to parse extra arguments: {error}; ");
            return Err(not_configured(&why));
        }
        Ok(None) => return Err(not_configured("")),
    };
    line.push(format!("-Dchirp.config={scratch}/chirp.config").into());
    line.extend(match (job().string("JavaVMArguments"), job().string("JavaVMArgs")) {
        (Some(text), _) => arguments::parse_v2_raw(&text)
            .map_err(|error| StartFailure::silent(format!("JavaProc: failed to parse JVM args: {error}")))?,
        (None, Some(text)) => arguments::parse_v1_raw(&text),
        (None, None) => Vec::new(),
    });
    line.push(WRAPPER_CLASS.into());
    line.extend([START_RECORD_FILE, END_RECORD_FILE].map(|name| BString::from(format!("{scratch}/{name}"))));
    line.extend(
        argument_list(inputs.ad, "", inputs.world).map_err(|error| {
            StartFailure::silent(format!("JavaProc: failed to read job arguments: {error}"))
        })?,
    );
    Ok(line)
}

/// Returns the paths of the job's JAR files. If files are transferred, the paths are in the scratch directory.
fn jar_paths(inputs: &EnvironmentInputs<'_>, scratch: &BStr) -> Vec<BString> {
    let names = inputs.job_context().string("JarFiles").unwrap_or_default();
    list::split(&names)
        .map(|name| match inputs.job.transfers_files {
            true => [scratch.as_bytes(), b"/", url::base_name(name)].concat().into(),
            false => name.into(),
        })
        .collect()
}

/// Sets the command line in the job ad, so that hooks and later steps see it (`InsertArgsIntoClassAd`).
pub(super) fn set_command_in_ad(ad: &mut ClassAd, line: &[BString]) {
    let Some((program, words)) = line.split_first() else { return };
    ad.set(attr::CMD, program.clone());
    ad.set(attr::ARGUMENTS_V2, arguments::join_v2_raw(words));
}

/// Records that the wrapper left in the scratch directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JavaRecords {
    /// True if the wrapper reached the job.
    pub started: bool,
    /// Content of the end record, or `None` if the file does not exist.
    pub ended: Option<Vec<u8>>,
}

/// Outcome of a Java job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JavaEnd {
    /// The job ended with the exit of its virtual machine.
    Normal,
    /// The job threw an exception or could not be executed, which is the job's own fault.
    Exception,
    /// This machine failed, for this reason; the job may succeed on another one.
    SystemError(&'static str),
}

impl JavaEnd {
    /// Returns the exit of the job: `JobReaper` turns an exception into a signal, and 25.14 turns a system
    /// error into success.
    pub(super) fn job_exit(self, exit: Exit) -> Exit {
        match self {
            JavaEnd::Normal => exit,
            JavaEnd::Exception => Exit::Signal { number: EXCEPTION_SIGNAL, core_dumped: false },
            JavaEnd::SystemError(_) => Exit::Code(0),
        }
    }
}

/// Exception of a job, as published in the ad.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct JavaException {
    hierarchy: BString,
    name: BString,
    kind: BString,
}

impl JavaException {
    /// Parses the text after the first word of the end record: the rest of that line, and the line with the class
    /// hierarchy (`ParseExceptionFile`).
    fn parse(rest: &[u8]) -> Self {
        let mut lines = rest.lines_with_terminator();
        let first = lines.next().unwrap_or_default();
        // If the second line is missing, the first line including its newline is used as the class hierarchy.
        let Some(classes) = lines.next() else {
            return JavaException { hierarchy: first.into(), ..JavaException::default() };
        };
        let hierarchy = classes.strip_suffix(b"\n").unwrap_or(classes);
        let hierarchy = hierarchy.strip_suffix(b"\r").unwrap_or(hierarchy);
        let is_kind = |name: &&[u8]| {
            matches!(
                *name,
                b"java.lang.Error"
                    | b"java.lang.LinkageError"
                    | b"java.lang.Exception"
                    | b"java.lang.RuntimeException"
            )
        };
        let names = || hierarchy.fields_with(|blank| matches!(blank, ' ' | '\t' | '\n'));
        JavaException {
            hierarchy: hierarchy.into(),
            name: names().last().unwrap_or_default().into(),
            kind: names().filter(is_kind).last().unwrap_or_default().into(),
        }
    }

    /// Adds the exception to an ad.
    pub(super) fn publish(&self, ad: &mut ClassAd) {
        let all = [
            ("ExceptionHierarchy", &self.hierarchy),
            ("ExceptionName", &self.name),
            ("ExceptionType", &self.kind),
        ];
        for (name, text) in all.into_iter().filter(|(_, text)| !text.is_empty()) {
            ad.set(name, text.clone());
        }
    }
}

/// Determines the outcome from the exit of the virtual machine and the wrapper's files (`JavaProc::ClassifyExit`).
pub(super) fn classify_exit(exit: Exit, records: &JavaRecords) -> (JavaEnd, JavaException) {
    /// Maximum number of bytes that are read of the first word.
    const MAX_WORD_LEN: usize = 10;
    let nothing = JavaException::default();
    if matches!(exit, Exit::Signal { .. }) {
        return (JavaEnd::SystemError("the virtual machine was killed"), nothing);
    }
    if !records.started {
        let why = "the virtual machine did not start CondorJavaWrapper, which is in HTCondor's LIB";
        return (JavaEnd::SystemError(why), nothing);
    }
    // The end record is missing if the job called System.exit().
    let Some(text) = &records.ended else { return (JavaEnd::Normal, nothing) };
    let text = text.trim_start();
    let end = text
        .iter()
        .take(MAX_WORD_LEN)
        .position(u8::is_ascii_whitespace)
        .unwrap_or(text.len().min(MAX_WORD_LEN));
    let (word, rest) = text.split_at(end);
    match word {
        b"" | b"normal" => (JavaEnd::Normal, nothing),
        b"abnormal" => match JavaException::parse(rest) {
            thrown if thrown.kind == "java.lang.Error" => {
                (JavaEnd::SystemError("the job threw a java.lang.Error"), thrown)
            }
            thrown => (JavaEnd::Exception, thrown),
        },
        b"noexec" => (JavaEnd::Exception, JavaException::parse(rest)),
        _ => (JavaEnd::SystemError("CondorJavaWrapper printed an unknown status"), nothing),
    }
}

/// State of a Java job.
#[derive(Clone, Debug, Default)]
pub(super) struct JavaState {
    /// True once the command in the job ad is the virtual machine.
    pub(super) command_set: bool,
    /// True if the machine failed and the job is to be run again.
    pub(super) machine_failed: bool,
    pub(super) thrown: JavaException,
}

impl JavaState {
    /// Adds the exception that the job threw to an ad.
    pub(super) fn publish(&self, ad: &mut ClassAd) {
        self.thrown.publish(ad);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classify(text: &str) -> (JavaEnd, JavaException) {
        classify_exit(Exit::Code(1), &JavaRecords { started: true, ended: Some(text.into()) })
    }

    #[test]
    fn an_exception_is_described_by_its_last_class_and_last_known_kind() {
        let (end, thrown) =
            classify("abnormal\na java.lang.Exception java.lang.RuntimeException x.Mine \nat x\n");
        assert_eq!(end, JavaEnd::Exception);
        assert_eq!(
            (thrown.name.as_bstr(), thrown.kind.as_bstr()),
            ("x.Mine".into(), "java.lang.RuntimeException".into())
        );
        assert!(thrown.hierarchy.ends_with(b"x.Mine "), "{thrown:?}");
        assert_eq!(classify("noexec\r\nb c\r\n").1.name, "c");
        let (end, thrown) = classify("abnormal\njava.lang.Error x.Worse\n");
        assert!(matches!(end, JavaEnd::SystemError(_)) && thrown.name == "x.Worse");
    }

    #[test]
    fn damaged_records_are_read_partly() {
        assert_eq!(classify("").0, JavaEnd::Normal);
        assert_eq!(classify(" \n\t").0, JavaEnd::Normal);
        assert_eq!(classify("abnormal").1, JavaException::default());
        assert_eq!(classify("abnormal\n").1.hierarchy, "\n");
        assert_eq!(classify("abnormal\n\n").1, JavaException::default());
        assert!(matches!(classify("normalnormal\n").0, JavaEnd::SystemError(_)));
        assert!(matches!(classify("\u{0}normal").0, JavaEnd::SystemError(_)));
        let killed = Exit::Signal { number: 9, core_dumped: false };
        assert!(matches!(classify_exit(killed, &JavaRecords::default()).0, JavaEnd::SystemError(_)));
    }
}
