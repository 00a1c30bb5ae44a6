//! Tests of `htc-starter-run` with the java universe. They use the java of the machine, if it has a compiler too.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use crate::support::place::Place;

/// Replacement for the class in HTCondor's LIB. It writes the result of the job to the two files that are its first arguments.
const WRAPPER: &str = r#"
import java.io.*;
import java.lang.reflect.*;
public class CondorJavaWrapper {
    static String line(Class<?> type) {
        return (type.getSuperclass() == null ? "" : line(type.getSuperclass())) + type.getName() + " ";
    }
    static void tell(String file, String text) throws IOException {
        try (FileWriter out = new FileWriter(file)) { out.write(text); }
    }
    public static void main(String[] words) throws Exception {
        tell(words[0], "");
        String end = "normal\n";
        try {
            Method main = Class.forName(words[2]).getMethod("main", String[].class);
            String[] own = java.util.Arrays.copyOfRange(words, 3, words.length);
            main.invoke(null, (Object) own);
        } catch (InvocationTargetException thrown) {
            end = "abnormal\n" + line(thrown.getTargetException().getClass()) + "\n";
        } catch (ReflectiveOperationException none) {
            end = "noexec\n" + line(none.getClass()) + "\n";
        }
        tell(words[1], end);
        System.exit(0);
    }
}
"#;

const JOB: &str = r#"
public class Job {
    public static void main(String[] words) throws Exception {
        System.out.println(System.getProperty("chirp.config") + " " + System.getProperty("a") + " " + String.join("|", words));
        if (words.length == 0) throw new java.io.FileNotFoundException("no words");
        if (words[0].equals("exit")) Runtime.getRuntime().halt(7);
        if (words[0].equals("memory")) throw new StackOverflowError();
    }
}
"#;

/// Both classes, compiled once for all tests.
static CLASSES: LazyLock<[(&str, Vec<u8>); 2]> = LazyLock::new(|| {
    let made = tempfile::tempdir().unwrap();
    let mut compiler = Command::new("/usr/bin/javac");
    for (name, text) in [("CondorJavaWrapper.java", WRAPPER), ("Job.java", JOB)] {
        fs::write(made.path().join(name), text).unwrap();
        compiler.arg(name);
    }
    let output = compiler.current_dir(made.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    ["CondorJavaWrapper.class", "Job.class"].map(|name| (name, fs::read(made.path().join(name)).unwrap()))
});

/// Creates a place whose LIB has the wrapper, or returns `None` if java or its compiler is missing.
fn place() -> Option<Place> {
    let there = |name: &str| Path::new("/usr/bin").join(name).exists();
    if !there("java") || !there("javac") {
        println!("skipped: there is no java with a compiler here");
        return None;
    }
    let place = Place::new();
    fs::create_dir(place.path("lib")).unwrap();
    for (name, class) in CLASSES.iter() {
        fs::write(place.path("lib").join(name), class).unwrap();
    }
    let lib = place.path("lib").display().to_string();
    Some(
        place
            .parameter("JAVA = /usr/bin/java")
            .parameter(&format!("LIB = {lib}"))
            .parameter("JAVA_EXTRA_ARGUMENTS = -Xshare:auto"),
    )
}

fn ad(words: &str, more: &str) -> String {
    format!(
        "JobUniverse = 10\nCmd = \"Job.class\"\nOut = \"out\"\nErr = \"err\"\nArguments = \"{words}\"\n\
         StarterUserLog = \"log\"\nJavaVMArguments = \"'-Da=b c'\"\n{more}"
    )
}

#[test]
fn a_java_job_gets_its_arguments_and_the_exit_of_main() {
    let Some(place) = place() else { return };
    let run = place.run(&ad("Job one 'two three'", ""));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let out = fs::read_to_string(place.path("iwd/out")).unwrap();
    assert!(out.ends_with("/scratch/chirp.config b c one|two three\n"), "{out}");
    assert!(run.has("ExitCode = 0") && !run.ad.contains("Exception"), "{}", run.ad);
    let run = place.run(&ad("Job exit", ""));
    assert!(run.has("ExitCode = 7"), "{}", run.ad);
    assert!(run.left.is_empty(), "{:?}", run.left);
}

/// Fake singularity that runs the command after the image.
const SINGULARITY: &str = r#"#!/bin/sh
case "$*" in
--version) echo "apptainer version 1.3.2" ;;
*" test "*) ;;
*) while [ "$1" != /img.sif ]; do shift; done; shift; exec "$@" ;;
esac
"#;

#[test]
fn a_java_job_in_a_container_ends_like_any_other() {
    let Some(place) = place() else { return };
    let double = place.path("singularity");
    crate::support::children::write_executable(&double, SINGULARITY.as_bytes());
    let parameters = format!(
        "SINGULARITY = {}\nSINGULARITY_JOB = True\nSINGULARITY_IMAGE_EXPR = \"/img.sif\"\nMOUNT_UNDER_SCRATCH =",
        double.display()
    );
    let place = place.parameter(&parameters);
    let run = place.run(&ad("Job one 'two three'", ""));
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(fs::read_to_string(place.path("iwd/out")).unwrap().ends_with("one|two three\n"));
    let run = place.run(&ad("Job exit", ""));
    assert!(run.has("ExitCode = 7"), "{}\n{}", run.ad, run.stderr);
    let run = place.run(&ad("Job", ""));
    assert!(run.has("ExceptionName = \"java.io.FileNotFoundException\""), "{}\n{}", run.ad, run.stderr);
    assert!(run.left.is_empty(), "{:?}", run.left);
}

#[test]
fn java_exceptions_are_reported_and_system_errors_requeue_the_job() {
    let Some(place) = place() else { return };
    let run = place.run(&ad("Job", ""));
    assert!(run.has("ExceptionName = \"java.io.FileNotFoundException\""), "{}\n{}", run.ad, run.stderr);
    assert!(run.has("ExceptionType = \"java.lang.Exception\"") && run.has("ExitSignal = 15"), "{}", run.ad);
    let run = place.run(&ad("NoSuchClass", ""));
    assert!(run.has("ExceptionName = \"java.lang.ClassNotFoundException\""), "{}", run.ad);
    fs::remove_file(place.path("iwd/log")).unwrap();
    let run = place.run(&ad("Job memory", ""));
    assert!(run.has("ExceptionType = \"java.lang.Error\""), "{}\n{}", run.ad, run.stderr);
    assert!(
        run.stderr.contains("the job is put back into the queue as if it had been evicted"),
        "{}",
        run.stderr
    );
    assert!(fs::read_to_string(place.path("iwd/log")).unwrap().contains("\n004 ("), "event 004");
}

#[test]
fn a_job_without_the_java_wrapper_is_requeued_with_a_hint() {
    let Some(place) = place() else { return };
    fs::remove_file(place.path("lib/CondorJavaWrapper.class")).unwrap();
    let run = place.run(&ad("Job one", ""));
    assert!(run.stderr.contains("did not start CondorJavaWrapper"), "{}", run.stderr);
    assert!(
        run.stderr.contains("java-system-error-as-zero") && run.has("ExitCode = 1"),
        "{}\n{}",
        run.stderr,
        run.ad
    );
}

#[test]
fn records_that_are_links_or_pipes_are_not_read() {
    let Some(place) = place() else { return };
    let double = place.path("hooks/java");
    let script = "#!/bin/sh\nfor word; do case $word in */jvm.start) : > $word;; */jvm.end) mkfifo $word;; esac; done\nexit 3\n";
    crate::support::children::write_executable(&double, script.as_bytes());
    let place = place.parameter(&format!("JAVA = {}", double.display()));
    let run = place.run(&ad("Job one", ""));
    assert!(run.has("ExitCode = 3"), "{}\n{}", run.ad, run.stderr);
    assert!(run.left.is_empty(), "{:?}", run.left);
}

#[test]
fn a_virtual_machine_is_described_and_not_run() {
    let place = Place::new().parameter("VM_GAHP_SERVER = /bin/sh");
    let ad = "JobUniverse = 13\nCmd = \"vm\"\nJobVMType = \"kvm\"\nJobVMMemory = 256\n";
    let run = place.run(ad);
    assert!(
        run.stderr.contains("needs the vm gahp of an execution point; --dry-run describes"),
        "{}",
        run.stderr
    );
    let run = place.option(&["--dry-run"]).run(ad);
    assert!(run.ad.contains("run /bin/sh -f -M 3\n") && run.ad.contains("memory in MB: 256"), "{}", run.ad);
}

#[test]
fn a_grid_job_is_refused_with_the_daemon_that_would_run_it() {
    let run = Place::new().run("JobUniverse = 9\nCmd = \"/bin/true\"\nGridResource = \"batch slurm\"\n");
    assert_ne!(run.status, 0);
    assert!(
        run.stderr.contains("(Grid) is submitted elsewhere by the gridmanager of a schedd"),
        "{}",
        run.stderr
    );
}
