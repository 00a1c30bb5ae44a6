//! Workload: an execution point with two slots and five hooks, and real starters.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::strace::{self, CommandLine, FaultedRun};
use crate::workload::{
    Workload, cgroup_base, events, is_asked_to_end, judge_leftovers, judge_program, make_directories, names,
    write_script,
};

/// Number of jobs in the queue.
const JOBS: usize = 2;

/// Execution point whose hooks move the files of jobs between `queue`, `taken` and `done`.
pub(crate) struct Slots;

impl Workload for Slots {
    fn name(&self) -> &'static str {
        "slots"
    }

    fn prepare(&self, home: &Path) {
        make_directories(home, &["hooks", "execute"], &["queue", "taken", "done", "log", "tmp"]);
        let place = home.display();
        let id = "id=$(sed -n 's/^ClusterId = //p' | head -n 1)\n";
        let back = format!("mv {place}/taken/$id {place}/queue/$id 2>/dev/null\nexit 0\n");
        let script = |name: &str, text: &str| write_script(&home.join("hooks").join(name), text);
        script(
            "fetch",
            &format!(
                "for file in {place}/queue/*; do\n  [ -e \"$file\" ] || exit 0\n  \
                 mv \"$file\" {place}/taken/ 2>/dev/null || continue\n  exec cat {place}/taken/${{file##*/}}\ndone\n"
            ),
        );
        script("reply", &format!("{id}[ \"$1\" = reject ] || exit 0\n{back}"));
        script("evict", &format!("{id}{back}"));
        script("prepare", "cat >/dev/null\necho 'Prepared = true'\n");
        script(
            "exit",
            &format!(
                "{id}if [ \"$1\" = exit ]; then mv {place}/taken/$id {place}/done/$id.$$; exit 0; fi\n{back}"
            ),
        );
        let config = format!(
            "NUM_CPUS = 2\nMEMORY = 1024\nNUM_SLOTS_TYPE_1 = 2\nSLOT_TYPE_1 = 50%\nEXECUTE = {place}/execute\nLOG = {place}/log\n\
             STARTER = {}\nSTARTD_JOB_HOOK_KEYWORD = T\nSTARTER_JOB_HOOK_KEYWORD = T\nT_HOOK_FETCH_WORK = {place}/hooks/fetch\n\
             T_HOOK_REPLY_FETCH = {place}/hooks/reply\nT_HOOK_EVICT_CLAIM = {place}/hooks/evict\n\
             T_HOOK_PREPARE_JOB = {place}/hooks/prepare\nT_HOOK_JOB_EXIT = {place}/hooks/exit\nFetchWorkDelay = 0\n\
             POLLING_INTERVAL = 1\nBASE_CGROUP = {}\n",
            env!("CARGO_BIN_EXE_htc-starter-run"),
            cgroup_base(),
        );
        fs::write(home.join("config"), config).unwrap();
        for number in 1..=JOBS {
            let ad = format!(
                "ClusterId = {number}\nProcId = 0\nCmd = \"/bin/true\"\nOwner = \"nobody\"\nJobUniverse = 5\nIwd = \"/\"\n\
                 RequestCpus = 1\nHookKeyword = \"T\"\n"
            );
            fs::write(home.join("queue").join(number.to_string()), ad).unwrap();
        }
    }

    fn command(&self, home: &Path, quiet: bool) -> CommandLine {
        let line = CommandLine::new(env!("CARGO_BIN_EXE_htc-slot-run"), ["--once", "--config-file"], home)
            .word(home.join("config"))
            .word("--events")
            .word(home.join(if home.join("events").exists() { "events.next" } else { "events" }))
            .variable("CONDOR_IDS", "65534.65534");
        if quiet { line.word("--quiet") } else { line }
    }

    fn judge(&self, home: &Path, run: &FaultedRun, quiet: bool) -> Vec<String> {
        let has_begun = events(&home.join("events")).iter().any(|event| event["event"] == "hook-start");
        let mut violations = judge_program(run, has_begun);
        let waiting = names(&home.join("queue"));
        if run.code() == 0 && !is_asked_to_end(run) && !waiting.is_empty() {
            violations.push(format!("status 0 although jobs are waiting: {waiting:?}"));
        }
        let lost_before = names(&home.join("taken"));
        let next = strace::run(&self.command(home, quiet), home);
        violations.extend(
            judge_program(&next, true).into_iter().map(|violation| format!("next start: {violation}")),
        );
        if !matches!(next.code(), 0 | 1) {
            violations.push(format!("next start: status {}: {}", next.code(), next.stderr));
        }
        let (waiting, lost, done) =
            (names(&home.join("queue")), names(&home.join("taken")), names(&home.join("done")));
        if !waiting.is_empty() {
            violations.push(format!("waiting after the next start: {waiting:?}"));
        }
        for number in 1..=JOBS {
            let ends = done
                .iter()
                .filter(|name| name.split_once('.').is_some_and(|(id, _)| id == number.to_string()));
            let ends = ends.count();
            let is_lost = lost.contains(&number.to_string());
            if ends + usize::from(is_lost) != 1 {
                violations.push(format!("job {number}: {ends} ends, lost: {is_lost}"));
            }
        }
        let printed = format!("{}{}", run.stderr, next.stderr);
        let events: Vec<Value> =
            [events(&home.join("events")), events(&home.join("events.next"))].into_iter().flatten().collect();
        for job in &lost {
            let id = format!("{job}.0");
            let in_print = printed.lines().any(|line| reports_problem(line, &id));
            let in_events = events.iter().any(|event| is_bad_event(event, &id)) || printed.contains("events");
            if !in_print {
                violations.push(format!("job {id} is lost and stderr does not name it"));
            }
            if !in_events {
                violations.push(format!("job {id} is lost and no event names it"));
            }
            if run.code() == 0 && next.code() == 0 && lost_before.contains(job) {
                violations.push(format!("job {id} is lost with status 0"));
            }
        }
        violations.extend(judge_leftovers(home, &["execute", "tmp"]));
        let state = names(&home.join("log/htc-slot-run"));
        if !state.iter().all(|name| name.starts_with("journal") || name.starts_with("unknown.")) {
            violations.push(format!("left in the state directory: {state:?}"));
        }
        violations
    }
}

/// Returns true if a line reports a problem with this job, or with a call of FETCH_WORK, which may have been for any
/// job.
fn reports_problem(line: &str, id: &str) -> bool {
    let is_about = line.contains(id) || line.contains("FETCH_WORK");
    let is_bad = ["warning", "failed", "unknown", "lost", "cannot", "may be left"]
        .iter()
        .any(|word| line.contains(word));
    is_about && is_bad
}

fn is_bad_event(event: &Value, id: &str) -> bool {
    let text = |key: &str| event[key].as_str().unwrap_or_default();
    let is_about = text("job") == id
        || text("reason").contains(id)
        || text("hook") == "FETCH_WORK"
        || text("reason").contains("FETCH_WORK");
    let is_bad = matches!(text("event"), "warning" | "hook-failed")
        || (text("event") == "job" && text("verdict") == "failed");
    is_about && is_bad
}
