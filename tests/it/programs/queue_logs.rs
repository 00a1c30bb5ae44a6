//! Tests of queue logs as files and as pipes.

use std::process::Command;

const STATUS: &str = env!("CARGO_BIN_EXE_htc-router-status");

/// From a file only some attributes of the jobs are read, from a pipe all of them. Expressions refer to attributes that come
/// before and after them.
#[test]
fn a_queue_log_has_the_same_rows_as_a_file_and_as_a_pipe() {
    let home = tempfile::tempdir().unwrap();
    let mut log =
        String::from("107 1 CreationTimestamp 17\n101 01.-1 Job Machine\n103 01.-1 Owner \"ann\"\n");
    for (process, more) in [
        (0, "103 1.0 JobStatus Real\n103 1.0 Real 4\n103 1.0 LeaveJobInQueue Other == 3\n"),
        (1, "103 1.1 Real 4\n103 1.1 JobStatus Real + 0\n103 1.1 LeaveJobInQueue false\n"),
        (2, "103 1.2 JobStatus eval(Text)\n103 1.2 Text \"2\"\n"),
        (3, "103 1.3 JobStatus 1\n103 1.3 Bad 1 +\n"),
    ] {
        log += &format!(
            "105 \n101 1.{process} Job Machine\n103 1.{process} ClusterId 1\n103 1.{process} ProcId {process}\n\
             103 1.{process} RouteName \"R\"\n103 1.{process} RoutedBy \"x\"\n{more}106 \n"
        );
    }
    log += "101 2.0 Job Machine\n103 2.0 Managed \"External\"\n103 2.0 JobStatus 1\n101 3.0 Job Machine\n103 3.0 A 1\n";
    std::fs::write(home.path().join("job_queue.log"), &log).unwrap();
    for words in
        ["queue", "queue --json", "queue --af Owner JobStatus", "queue --long", "doctor", "queue --by route"]
    {
        let ask = |line: String| {
            let output = Command::new("sh")
                .args(["-c", &line])
                .env("CONDOR_CONFIG", "ONLY_ENV")
                .env("HTC_NOW", "1700000000")
                .current_dir(home.path())
                .output()
                .unwrap();
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            let warnings = text(output.stderr).matches("value of 1.3").count();
            (output.status.code(), text(output.stdout), warnings)
        };
        let (verb, options) = words.split_once(' ').unwrap_or((words, ""));
        let of_file = ask(format!("{STATUS} {verb} job_queue.log {options}"));
        let of_pipe = ask(format!("cat job_queue.log | {STATUS} {verb} - {options}"));
        assert_eq!(of_file, of_pipe, "{words}");
        assert_eq!(of_file.2, 1, "{words}: each bad record is reported once");
        if words == "queue" {
            let states: Vec<&str> = ["finished", "finalized", "running", "idle", "claimed"]
                .into_iter()
                .filter(|state| of_file.1.contains(state))
                .collect();
            assert_eq!(states.len(), 5, "{}", of_file.1);
        }
    }
}
