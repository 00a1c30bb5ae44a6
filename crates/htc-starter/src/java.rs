//! Jobs of the java universe: the command line of the virtual machine, and what became of a job by the two files that
//! `CondorJavaWrapper` leaves.
//!
//! Reference: `java_proc.cpp`, `java_config.cpp`; recording c23. The wrapper itself is a part of HTCondor
//! (`CondorJavaWrapper.class` in `LIB`, which JAVA_CLASSPATH_DEFAULT names).

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

/// The class that runs the job's.
const WRAPPER_CLASS: &str = "CondorJavaWrapper";

/// The file that the wrapper makes before the job, in the scratch directory.
pub const START_RECORD_FILE: &str = "jvm.start";

/// The file that it writes how the job ended into.
pub const END_RECORD_FILE: &str = "jvm.end";

/// The signal that a job which threw an exception is said to have died of.
const EXCEPTION_SIGNAL: i32 = 15;

/// The command line that runs the job's main class (`JavaProc::StartJob`); the first word is the program.
///
/// # Errors
/// No JAVA, or arguments that cannot be read: nobody is told of these in 25.14.
pub(super) fn java_command(about: &EnvironmentInputs<'_>) -> Result<Vec<BString>, StartFailure> {
    let job = || about.job_context();
    let scratch = about.scratch.as_os_str().as_bytes().as_bstr();
    let not_configured = |why: &str| StartFailure::silent(format!("{why}JavaProc: Java is not configured!"));
    let mut line = match about.settings.java.command_line(&jar_paths(about, scratch)) {
        Some(Ok(line)) => line,
        Some(Err(error)) => {
            let why = format!("java_config: failed to parse extra arguments: {error}; ");
            return Err(not_configured(&why));
        }
        None => return Err(not_configured("")),
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
        argument_list(about.ad, "", about.world).map_err(|error| {
            StartFailure::silent(format!("JavaProc: failed to read job arguments: {error}"))
        })?,
    );
    Ok(line)
}

/// The job's own archives: as they are, or as they lie in the scratch directory.
fn jar_paths(about: &EnvironmentInputs<'_>, scratch: &BStr) -> Vec<BString> {
    let names = about.job_context().string("JarFiles").unwrap_or_default();
    list::split(&names)
        .map(|name| match about.job.transfers_files {
            true => [scratch.as_bytes(), b"/", url::base_name(name)].concat().into(),
            false => name.into(),
        })
        .collect()
}

/// Puts the command line into the job's ad, where hooks and everything after see it (`InsertArgsIntoClassAd`).
pub(super) fn set_command_in_ad(ad: &mut ClassAd, line: &[BString]) {
    let Some((program, words)) = line.split_first() else { return };
    ad.set(attr::CMD, program.clone());
    ad.set(attr::ARGUMENTS_V2, arguments::join_v2_raw(words));
}

/// What the wrapper left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JavaRecords {
    /// Whether it came as far as the job.
    pub started: bool,
    /// What it wrote about the job's end, as far as it wrote anything; `None`: the file is not there.
    pub ended: Option<Vec<u8>>,
}

/// How a java job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JavaEnd {
    /// As its virtual machine did.
    Normal,
    /// By an exception, or it could not be executed: the job's own fault.
    Exception,
    /// By a fault of this machine, for this reason: another one may do better.
    SystemError(&'static str),
}

impl JavaEnd {
    /// How the job ended then: `JobReaper` makes a signal of an exception, and 25.14 a success of what is to be tried again.
    pub(super) fn job_exit(self, exit: Exit) -> Exit {
        match self {
            JavaEnd::Normal => exit,
            JavaEnd::Exception => Exit::Signal { number: EXCEPTION_SIGNAL, core_dumped: false },
            JavaEnd::SystemError(_) => Exit::Code(0),
        }
    }
}

/// The exception of a job as the ad tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct JavaException {
    hierarchy: BString,
    name: BString,
    kind: BString,
}

impl JavaException {
    /// Reads what stands behind the wrapper's first word: the rest of that line, and the line of classes
    /// (`ParseExceptionFile`).
    fn parse(rest: &[u8]) -> Self {
        let mut lines = rest.lines_with_terminator();
        let first = lines.next().unwrap_or_default();
        // Where there is no second line the first one is what is known, its end included (recording c23 010).
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

    /// Puts it into an ad.
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

/// What the end of the virtual machine and the wrapper's files say (`JavaProc::ClassifyExit`).
pub(super) fn classify_exit(exit: Exit, records: &JavaRecords) -> (JavaEnd, JavaException) {
    /// As much of the first word as is read.
    const MAX_WORD_LEN: usize = 10;
    let nothing = JavaException::default();
    if matches!(exit, Exit::Signal { .. }) {
        return (JavaEnd::SystemError("the virtual machine was killed"), nothing);
    }
    if !records.started {
        let why =
            "the virtual machine did not come as far as CondorJavaWrapper, which HTCondor has in its LIB";
        return (JavaEnd::SystemError(why), nothing);
    }
    // Without a word the job called System.exit().
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
        _ => (JavaEnd::SystemError("CondorJavaWrapper told something unknown"), nothing),
    }
}

/// What a machine knows of its java job.
#[derive(Clone, Debug, Default)]
pub(super) struct JavaState {
    /// The virtual machine stands in the job's ad already.
    pub(super) command_set: bool,
    /// The job is to be tried again: the machine failed.
    pub(super) machine_failed: bool,
    pub(super) thrown: JavaException,
}

impl JavaState {
    /// Puts what the job threw into an ad.
    pub(super) fn publish(&self, ad: &mut ClassAd) {
        self.thrown.publish(ad);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> (JavaEnd, JavaException) {
        classify_exit(Exit::Code(1), &JavaRecords { started: true, ended: Some(text.into()) })
    }

    #[test]
    fn an_exception_is_told_by_its_last_class_and_its_last_known_kind() {
        let (end, thrown) =
            told("abnormal\na java.lang.Exception java.lang.RuntimeException x.Mine \nat x\n");
        assert_eq!(end, JavaEnd::Exception);
        assert_eq!(
            (thrown.name.as_bstr(), thrown.kind.as_bstr()),
            ("x.Mine".into(), "java.lang.RuntimeException".into())
        );
        assert!(thrown.hierarchy.ends_with(b"x.Mine "), "{thrown:?}");
        assert_eq!(told("noexec\r\nb c\r\n").1.name, "c");
        let (end, thrown) = told("abnormal\njava.lang.Error x.Worse\n");
        assert!(matches!(end, JavaEnd::SystemError(_)) && thrown.name == "x.Worse");
    }

    #[test]
    fn damaged_records_are_read_as_far_as_they_go() {
        assert_eq!(told("").0, JavaEnd::Normal);
        assert_eq!(told(" \n\t").0, JavaEnd::Normal);
        assert_eq!(told("abnormal").1, JavaException::default());
        assert_eq!(told("abnormal\n").1.hierarchy, "\n");
        assert_eq!(told("abnormal\n\n").1, JavaException::default());
        assert!(matches!(told("normalnormal\n").0, JavaEnd::SystemError(_)));
        assert!(matches!(told("\u{0}normal").0, JavaEnd::SystemError(_)));
        let killed = Exit::Signal { number: 9, core_dumped: false };
        assert!(matches!(classify_exit(killed, &JavaRecords::default()).0, JavaEnd::SystemError(_)));
    }
}
