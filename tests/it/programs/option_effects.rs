//! Tests of options that have no effect together with others: they are refused with a message that names the reason.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::manual_files::manual_directory;

fn run(directory: &Path, line: &str) -> (Option<i32>, String, String) {
    let mut words = line.split(' ');
    let program = Path::new(env!("CARGO_BIN_EXE_htc-slot-run")).with_file_name(words.next().unwrap());
    let output = Command::new(program)
        .args(words)
        .current_dir(directory)
        .env("CONDOR_CONFIG", "ONLY_ENV")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn an_option_of_classad_eval_without_effect_is_refused() {
    let place = manual_directory();
    for (words, message) in [
        (
            "--ads jobs.ads --count --sort Owner",
            "--sort has no effect with --count: only the number of results",
        ),
        ("--ads jobs.ads --count --af Owner", "--af has no effect with --count"),
        ("--ads jobs.ads --count --json", "--json has no effect with --count"),
        ("--ads jobs.ads --count --explain", "--explain has no effect with --count"),
        ("--ads jobs.ads --count Owner", "an expression has no effect with --count"),
        ("--ads jobs.ads --sum RequestMemory --limit 1", "--limit has no effect without --count-by"),
        ("--ads jobs.ads --sum RequestMemory --split-by Owner d", "--split-by has no effect with a table"),
        ("--ads jobs.ads --split-by Owner d Owner", "an expression has no effect with --split-by"),
        ("--ads jobs.ads --split-by Owner d --reverse", "--reverse has no effect without --sort"),
        ("--ads jobs.ads --split-by Owner d --rank", "--rank has no effect without --match"),
        ("--ads jobs.ads --count-by Owner --summary", "--summary has no effect without --match"),
        ("--ads jobs.ads --undefined x", "--undefined has no effect without columns"),
        ("--ads jobs.ads --af Owner --attributes Owner", "--attributes has no effect with columns"),
        ("--ads jobs.ads Owner -f %s Owner", "--format has no effect with expressions"),
        ("--ads jobs.ads --xml Owner", "--xml has no effect with expressions"),
        ("--ads jobs.ads -c true --explain --long", "--long has no effect with --explain"),
        ("--ads jobs.ads --parse Owner", "--parse has no effect for a stream of ads"),
        ("--ads jobs.ads --refs", "--refs has no effect for a stream of ads"),
        ("--ads jobs.ads --target-file slot.ad", "--target-file has no effect without an expression"),
        ("--ads jobs.ads --strict", "--strict has no effect without an expression"),
        (
            "--ads jobs.ads --match slot.ad Owner",
            "an expression or an assignment has no effect with --match: --af prints",
        ),
        ("--ads jobs.ads --match slot.ad --my-file job.ad", "--my-file has no effect with --match"),
        ("--ads jobs.ads --match slot.ad --sort Owner", "--sort has no effect with --match without columns"),
        ("--ads jobs.ads --match slot.ad --unique", "--unique has no effect with --match"),
        ("--ads jobs.ads --match slot.ad --xml", "--xml has no effect with --match"),
        ("--ads jobs.ads --match slot.ad --af Owner --json", "--json has no effect with columns"),
        ("--ads jobs.ads --match slot.ad --count --rank", "--rank has no effect with --count"),
        ("--ads jobs.ads --match slot.ad --explain --af Owner", "--af has no effect with --explain"),
        ("--parse --exit-status 1", "--exit-status has no effect with --parse"),
        ("--refs --target-file slot.ad Owner", "--target-file has no effect with --refs"),
        ("--xml 1+1", "--xml has no effect without a stream of ads"),
        ("--undefined x 1+1", "--undefined has no effect without a stream of ads"),
        ("--strict-input 1+1", "--strict-input has no effect without a file of ads"),
        ("--ads jobs.ads --long --json", "cannot be used with"),
    ] {
        let (status, out, err) = run(place.path(), &format!("htc-classad-eval {words}"));
        assert!(
            status == Some(2) && out.is_empty() && err.contains(message),
            "{words}: {status:?} {out}{err}"
        );
    }
    for words in [
        "--ads jobs.ads --count --limit 1",
        "--ads jobs.ads --count --unique --af Owner",
        "--ads jobs.ads --count -e true",
        "--ads jobs.ads --count-by Owner --limit 1 --undefined x",
        "--ads jobs.ads -c TARGET.Memory>0 --target-file slot.ad --strict",
        "--ads jobs.ads --match slot.ad --af Owner --sort Owner --limit 1",
        "--refs --my-file job.ad Owner",
        "--strict-input --my-file job.ad Owner",
        "--ads jobs.ads Extra=1 --af Owner Extra",
        "--ads jobs.ads Extra=1 -c Extra==1 --count",
    ] {
        let (status, _, err) = run(place.path(), &format!("htc-classad-eval {words}"));
        assert!(status == Some(0), "{words}: {status:?} {err}");
    }
}

#[test]
fn an_option_of_the_starter_without_effect_is_refused() {
    let place = manual_directory();
    for mode in ["--classad", "--clean", "--events-of job.log", "--control socket --ask status"] {
        for option in
            ["--events events.json", "--timestamps always", "--as shadow", "--ads job.ad", "--header x"]
        {
            let (status, out, err) = run(place.path(), &format!("htc-starter-run {mode} {option}"));
            let name = option.split(' ').next().unwrap();
            let message = format!("{name} has no effect with ");
            assert!(
                status == Some(2)
                    && out.is_empty()
                    && err.contains(&message)
                    && err.contains("no job is run"),
                "{mode} {option}: {status:?} {out}{err}"
            );
        }
    }
}

/// Pairs are sorted before the limit is applied.
#[test]
fn sorted_pairs_are_limited_after_sorting() {
    let place = manual_directory();
    let ads: String =
        [3, 1, 2].map(|id| format!("ClusterId = {id}\nProcId = 0\nRequirements = true\n\n")).concat();
    std::fs::write(place.path().join("unsorted.ads"), ads).unwrap();
    std::fs::write(place.path().join("any.ad"), "Name = \"s\"\nRequirements = true\n").unwrap();
    let words = "--ads unsorted.ads --match any.ad --af ClusterId --sort ClusterId --limit 2";
    let (status, out, err) = run(place.path(), &format!("htc-classad-eval {words}"));
    assert_eq!((status, out.as_str()), (Some(0), "1\n2\n"), "{err}");
    let format = "SELECT\n  ClusterId AS ID\nWHERE ClusterId > 1\nGROUP BY ClusterId\nSUMMARY NONE\n";
    std::fs::write(place.path().join("ids.cpf"), format).unwrap();
    let words = "--ads unsorted.ads --match any.ad --print-format ids.cpf";
    let (_, out, err) = run(place.path(), &format!("htc-classad-eval {words}"));
    let ids: Vec<&str> = out.split_whitespace().filter(|word| word.parse::<u32>().is_ok()).collect();
    assert_eq!(ids, ["2", "3"], "{out}{err}");
}
