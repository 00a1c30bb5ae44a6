//! Speed of simulating months: a table with goals, and the growth of the time with slots, days and jobs.
//!
//! `cargo bench --bench simulate`; `HTC_BENCH_ONLY` selects rows by a part of their name, `HTC_BENCH_PLOT`
//! names a file for a plot of the growth (SVG), and `HTC_BENCH_WITH` names another `htc-slot-run` to measure
//! as well.
//!
//! The figures are the processor time of the whole program, which other processes on the machine affect
//! least, and its maximum memory.

#![allow(clippy::print_stdout, reason = "a benchmark reports to people")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run fails")]

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::resource::{UsageWho, getrusage};

const PROGRAM: &str = env!("CARGO_BIN_EXE_htc-slot-run");
/// Maximum processor time of a run in seconds; a longer run is stopped.
const LONGEST: u64 = 600;

/// Size of a simulation.
#[derive(Clone, Copy)]
struct Game {
    name: &'static str,
    slots: u32,
    days: u32,
    jobs: u32,
    desktop: bool,
    /// Goal for its time in seconds.
    goal: Option<f64>,
}

const GOALS: [Game; 3] = [
    Game {
        name: "1,000 slots, 30 days, no jobs",
        slots: 1000,
        days: 30,
        jobs: 0,
        desktop: false,
        goal: Some(1.0),
    },
    Game {
        name: "1,000 slots, 30 days, 1,000,000 jobs",
        slots: 1000,
        days: 30,
        jobs: 1_000_000,
        desktop: false,
        goal: Some(10.0),
    },
    Game {
        name: "UWCS_Desktop, 1,000 slots, 7 days, 100,000 jobs",
        slots: 1000,
        days: 7,
        jobs: 100_000,
        desktop: true,
        goal: Some(20.0),
    },
];

fn main() {
    // `cargo test` runs benchmarks too; then a small simulation is enough to check that it works.
    let testing = !std::env::args().any(|word| word == "--bench");
    let only = std::env::var("HTC_BENCH_ONLY").unwrap_or_default();
    let other = std::env::var("HTC_BENCH_WITH").ok();
    let base = Game { name: "", slots: 100, days: 3, jobs: 3000, desktop: false, goal: None };
    if testing {
        let (seconds, _) = play(PROGRAM, Game { slots: 4, days: 1, jobs: 40, ..base }).unwrap();
        assert!(seconds < 60.0);
        return;
    }
    println!(
        "{:<50} {:>10} {:>10} {:>8}  {}",
        "",
        "PROCESSOR",
        "MEMORY",
        "GOAL",
        other.as_deref().unwrap_or("")
    );
    for game in GOALS.iter().filter(|game| game.name.contains(&only)) {
        let beside = other.as_ref().map_or_else(String::new, |program| told(play(program, *game)));
        let goal = game.goal.map_or_else(String::new, |goal| format!("{goal:.0} s"));
        println!("{:<50} {} {goal:>8}  {beside}", game.name, told(play(PROGRAM, *game)));
    }
    let growths = ["slots", "days", "jobs"].map(|what| (what, growth(what, base)));
    for (what, points) in &growths {
        let line: Vec<String> =
            points.iter().map(|(size, seconds)| format!("{size}: {seconds:.2} s")).collect();
        println!("{:<50} {}", format!("growth with {what}"), line.join(", "));
    }
    if let Some(path) = std::env::var_os("HTC_BENCH_PLOT") {
        fs::write(path, plot(&growths)).unwrap();
    }
}

fn told(took: Option<(f64, u64)>) -> String {
    match took {
        Some((seconds, kib)) => format!("{:>8.2} s {:>7} MB", seconds, kib / 1024),
        None => format!("over {LONGEST} s {:>7}", ""),
    }
}

/// Measures simulations of sizes that double. The number of jobs per slot and day is constant, unless the
/// jobs themselves are what grows.
fn growth(what: &str, base: Game) -> Vec<(u32, f64)> {
    let sizes = (0..5).map(|doubling| 1 << doubling);
    let game = |times: u32| match what {
        "slots" => Game { slots: base.slots * times, jobs: base.jobs * times, ..base },
        "days" => Game { days: base.days * times, jobs: base.jobs * times, ..base },
        _ => Game { jobs: base.jobs * times, ..base },
    };
    sizes.filter_map(|times| Some((times, play(PROGRAM, game(times))?.0))).collect()
}

/// Returns the processor time in seconds and the maximum memory in KiB, or `None` if the run took too long.
fn play(program: &str, game: Game) -> Option<(f64, u64)> {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
    let policy = if game.desktop { "use POLICY : UWCS_Desktop\n" } else { "" };
    write("c", &format!("NETWORK_INTERFACE = 127.0.0.1\nDISK = 1000000000\n{policy}"));
    write("s", &scenario(game));
    measured(program, place.path())
}

fn scenario(game: Game) -> String {
    let Game { slots, days, jobs, desktop, .. } = game;
    let (count, cpus) = if desktop { (slots.div_ceil(4), 4) } else { (1, slots) };
    let mut text = format!(
        "start = 2026-11-02 00:00:00\nlength = '{days}d'\n[[machine]]\nname = 'node'\ncount = {count}\ncpus = {cpus}\n\
         memory = '{}M'\nslots = {cpus}\n",
        cpus * 2000
    );
    if desktop {
        text += "[[keyboard]]\nhours = '08:30-17:30'\ndays = 'Mon-Fri'\nbusy = 'exponential 20m'\naway = 'exponential 30m'\n";
    }
    let kinds = if jobs == 0 { 0 } else { 20 };
    for kind in 0..kinds {
        let _ = write!(
            text,
            "[[jobs]]\nname = 'kind{kind}'\ncount = {}\nwithin = '{}h'\nruns = 'exponential 40m'\ncpus = 1\nmemory = {}\n",
            jobs / kinds,
            days * 24 - 12,
            100 + kind
        );
    }
    text
}

fn measured(program: &str, place: &Path) -> Option<(f64, u64)> {
    let mut command = Command::new("/bin/sh");
    // The shell, whose own time is negligible, limits the processor time of the program.
    command
        .args(["-c", "ulimit -t \"$1\"; exec \"$2\" simulate --quiet --no-env --config-file c s", "sh"])
        .args([&LONGEST.to_string(), program])
        .current_dir(place)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .stdout(fs::File::create(place.join("out")).unwrap());
    let mut child = command.spawn().unwrap();
    let before = of_children();
    let ended = child.wait().unwrap();
    let after = of_children();
    ended.success().then_some((after.0 - before.0, after.1))
}

/// Returns the processor time of all children that have ended, and the maximum memory of any of them in KiB.
fn of_children() -> (f64, u64) {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    (seconds(usage.user_time()) + seconds(usage.system_time()), u64::try_from(usage.max_rss()).unwrap_or(0))
}

/// Plots time against size, both on a logarithmic scale: linear growth is a straight line of slope 1.
fn plot(growths: &[(&str, Vec<(u32, f64)>); 3]) -> String {
    let colours = ["#2f6fab", "#b3472f", "#3d8f4f"];
    let mut text = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"520\" height=\"400\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"520\" height=\"400\" fill=\"white\"/>\n\
         <text x=\"60\" y=\"20\">processor time, in times of the smallest (both axes in doublings; dashed: linear)</text>\n",
    );
    let at = |size: f64, times: f64| (60.0 + size.log2() * 90.0, 350.0 - times.max(0.5).log2() * 70.0);
    for doubling in 0..5 {
        let (x, y) = at(f64::from(1 << doubling), f64::from(1 << doubling));
        let _ = writeln!(text, "<text x=\"{x}\" y=\"370\" text-anchor=\"middle\">{}x</text>", 1 << doubling);
        let _ = writeln!(text, "<text x=\"50\" y=\"{y}\" text-anchor=\"end\">{}x</text>", 1 << doubling);
    }
    let ((x1, y1), (x2, y2)) = (at(1.0, 1.0), at(16.0, 16.0));
    let _ = writeln!(text, "<path d=\"M {x1} {y1} L {x2} {y2}\" stroke=\"#999\" stroke-dasharray=\"5 4\"/>");
    for (number, ((what, points), colour)) in growths.iter().zip(colours).enumerate() {
        let first = points.first().map_or(1.0, |(_, seconds)| seconds.max(0.001));
        let places = points.iter().map(|(size, seconds)| at(f64::from(*size), seconds / first));
        let line: Vec<String> = places.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            text,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n\
             <text x=\"80\" y=\"{}\" fill=\"{colour}\">{what}</text>",
            line.join(" "),
            60 + 18 * number
        );
    }
    text + "</svg>\n"
}
