//! Benchmarks of one job from start to end: `cargo bench --bench starter`.
//!
//! The rows are: `/bin/true` compared with `sh -c /bin/true`; with and without a control group; in a
//! container compared with the same calls of the container engine; and file transfer both ways compared with
//! `cp -r`. Programs that are compared run in turn; the figures are medians of processor time and of elapsed
//! time. `HTC_BENCH_BIN` names a directory with other programs, `HTC_BENCH_BYTES` sets the size of the single
//! file [default: 1 GB], and `HTC_BENCH_IMAGE` names an image whose `/bin/true` is run by
//! `examples/containers/docker-by-podman`.

#![allow(clippy::print_stdout, reason = "a benchmark reports to people")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run fails")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};

/// Number of runs of short programs.
const ROUNDS: usize = 31;

/// The account of the jobs if root runs the benchmark.
const NOBODY: u32 = 65534;

/// Times of a run, in seconds.
#[derive(Clone, Copy, Debug)]
struct Took {
    processor: f64,
    elapsed: f64,
}

fn timed(run: &mut dyn FnMut()) -> Took {
    let used = || {
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
        let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
        seconds(usage.user_time()) + seconds(usage.system_time())
    };
    let (before, clock) = (used(), Instant::now());
    run();
    Took { processor: used() - before, elapsed: clock.elapsed().as_secs_f64() }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs both programs in turn, `rounds` times each.
fn by_turns(rounds: usize, ours: &mut dyn FnMut(), other: &mut dyn FnMut()) -> [Took; 2] {
    let mut took = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        took[0].push(timed(ours));
        took[1].push(timed(other));
    }
    took.map(|took| Took {
        processor: median(took.iter().map(|one| one.processor).collect()),
        elapsed: median(took.iter().map(|one| one.elapsed).collect()),
    })
}

fn tell(what: &str, [ours, other]: [Took; 2], goal: &str) {
    println!(
        "| {what} | {:.1} ms | {:.1} ms | {:.2} | {:.1} ms | {:.1} ms | {:.2} | {goal} |",
        ours.processor * 1e3,
        other.processor * 1e3,
        ours.processor / other.processor.max(1e-6),
        ours.elapsed * 1e3,
        other.elapsed * 1e3,
        ours.elapsed / other.elapsed
    );
}

/// A directory for jobs, with a configuration.
struct Place {
    home: tempfile::TempDir,
}

impl Place {
    fn new(knobs: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let place = Place { home };
        for name in ["execute", "iwd"] {
            fs::create_dir(place.path(name)).unwrap();
        }
        give(&place.path("iwd"));
        let local = place.home.path().display();
        let text = format!("LOCAL_DIR = {local}\nEXECUTE = {local}/execute\nCONDOR_IDS = 0.0\n{knobs}\n");
        fs::write(place.path("config"), text).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Runs one job to its end.
    fn run(&self, words: &[&str], ad: &str) {
        let built = Path::new(env!("CARGO_BIN_EXE_htc-starter-run")).parent().unwrap();
        let built = std::env::var_os("HTC_BENCH_BIN").map_or(built.to_owned(), PathBuf::from);
        let mut child = Command::new(built.join("htc-starter-run"))
            .args(["--quiet", "--config-file"])
            .arg(self.path("config"))
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let iwd = self.path("iwd");
        let ad = format!("User = \"nobody@x\"\nClusterId = 1\nProcId = 0\nIwd = \"{}\"\n{ad}", iwd.display());
        child.stdin.take().unwrap().write_all(ad.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
    }
}

fn give(path: &Path) {
    if nix::unistd::geteuid().is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

fn run(program: &str, words: &[&str]) {
    assert!(Command::new(program).args(words).stdout(Stdio::null()).status().unwrap().success(), "{program}");
}

const TRUE: &str = "Cmd = \"/bin/true\"\n";

/// Measures a job alone, and then the cost of a control group.
fn short() {
    let bare = Place::new("BASE_CGROUP =\nMOUNT_UNDER_SCRATCH =");
    let took = by_turns(ROUNDS, &mut || bare.run(&[], TRUE), &mut || run("sh", &["-c", "/bin/true"]));
    tell("`/bin/true` without hooks, in times of `sh -c /bin/true`", took, "3");
    let group = format!("htc-bench-{}", std::process::id());
    let grouped = Place::new(&format!("BASE_CGROUP = {group}\nMOUNT_UNDER_SCRATCH ="));
    let took = by_turns(ROUNDS, &mut || grouped.run(&[], TRUE), &mut || bare.run(&[], TRUE));
    tell("with a control group, in times of without", took, "1.3");
    for top in fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten() {
        drop(fs::remove_dir(top.path().join(&group)));
    }
}

/// Measures transfer of files to the job and back, compared with two copies by `cp -r`.
fn files(what: &str, make: &dyn Fn(&Path)) {
    let place = Place::new("BASE_CGROUP =\nMOUNT_UNDER_SCRATCH =");
    let (iwd, copy) = (place.path("iwd"), place.path("copy"));
    fs::create_dir(iwd.join("in")).unwrap();
    make(&iwd.join("in"));
    give(&iwd.join("in"));
    let text = |path: &Path| path.display().to_string();
    let ad = "Cmd = \"/bin/mv\"\nArguments = \"in out\"\nTransferExecutable = false\nShouldTransferFiles = \"YES\"\n\
              WhenToTransferOutput = \"ON_EXIT\"\nTransferInput = \"in\"\nTransferOutput = \"out\"\n";
    let took = by_turns(
        3,
        &mut || {
            place.run(&["--as", "shadow"], ad);
            fs::remove_dir_all(iwd.join("out")).unwrap();
        },
        &mut || {
            run("cp", &["-r", &text(&iwd.join("in")), &text(&copy)]);
            run("cp", &["-r", &text(&copy), &text(&iwd.join("back"))]);
            fs::remove_dir_all(&copy).unwrap();
            fs::remove_dir_all(iwd.join("back")).unwrap();
        },
    );
    tell(what, took, "1.2");
}

/// Returns the calls of the container engine for one job, word by word, as recorded by a wrapper script.
fn engine_calls(docker: &str, ad: &str) -> Vec<Vec<String>> {
    let place = Place::new("");
    let (between, calls) = (place.path("between"), place.path("calls"));
    let text =
        format!("#!/bin/sh\nprintf '%s\\0' $# \"$@\" >>'{}'\nexec '{docker}' \"$@\"\n", calls.display());
    fs::write(&between, text).unwrap();
    fs::set_permissions(&between, fs::Permissions::from_mode(0o755)).unwrap();
    let knob = format!("DOCKER = {}\n", between.display());
    fs::File::options().append(true).open(place.path("config")).unwrap().write_all(knob.as_bytes()).unwrap();
    // The first run also queries the engine and registers the image; the second run is like all later ones.
    place.run(&[], ad);
    fs::remove_file(&calls).unwrap();
    place.run(&[], ad);
    let text = fs::read_to_string(&calls).unwrap();
    let mut words = text.split_terminator('\0').map(str::to_owned);
    let mut found = Vec::new();
    while let Some(count) = words.next() {
        found.push(words.by_ref().take(count.parse().unwrap()).collect());
    }
    found
}

/// Makes the same calls directly, with the directories that they mount.
fn by_hand(docker: &str, calls: &[Vec<String>]) {
    for words in calls {
        let mounted = words.windows(2).filter(|pair| pair[0] == "--volume");
        mounted.for_each(|pair| fs::create_dir_all(pair[1].split(':').next().unwrap()).unwrap());
        run(docker, &words.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

fn contained(image: &str) {
    let docker = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/containers/docker-by-podman");
    let place = Place::new(&format!("DOCKER = {docker}"));
    let ad = format!("{TRUE}WantDocker = true\nDockerImage = \"{image}\"\n");
    let calls = engine_calls(docker, &ad);
    let took = by_turns(9, &mut || place.run(&[], &ad), &mut || by_hand(docker, &calls));
    let more = (took[0].elapsed - took[1].elapsed) * 1e3;
    tell(&format!("in a container, {more:.0} ms more than its {} calls by hand", calls.len()), took, "20 ms");
}

fn main() {
    let bytes = std::env::var("HTC_BENCH_BYTES").ok().and_then(|text| text.parse().ok());
    let bytes: u64 = bytes.unwrap_or(1_000_000_000);
    println!("| what | processor time | other | times | elapsed | other | times | goal |");
    println!("|---|---|---|---|---|---|---|---|");
    short();
    files("one large file there and back, in times of `cp -r`", &|directory| {
        let block = vec![b'x'; 1 << 20];
        let mut file = fs::File::create(directory.join("large")).unwrap();
        (0..bytes >> 20).for_each(|_| file.write_all(&block).unwrap());
    });
    files("10,000 small files, the same", &|directory| {
        (0..10_000).for_each(|number| fs::write(directory.join(number.to_string()), "some text\n").unwrap());
    });
    match std::env::var("HTC_BENCH_IMAGE") {
        Ok(image) => contained(&image),
        Err(_) => println!("(no container: HTC_BENCH_IMAGE names no image)"),
    }
}
