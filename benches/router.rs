//! Benchmark of 1,000 routes and 100,000 jobs on one core, with the prefilter and with a plain loop; and of
//! reading a queue log.
//!
//! `cargo bench --bench router`; `HTC_BENCH_JOBS` sets the number of jobs, `HTC_BENCH_CLUSTERS` the length of
//! the log.

#![allow(clippy::print_stdout, reason = "a benchmark reports to people")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run fails")]

use std::fmt::Write;
use std::time::{Duration, Instant};

use htc_hooks::classad::{ClassAd, Context};
use htc_hooks::config::{Config, LoadOptions, LookupContext};
use htc_hooks::os::RealWorld;
use htc_hooks::queue::QueueLogReader;
use htc_hooks::quirks::QuirkMode;
use htc_hooks::router::{
    RouteChoice, RouteChooser, RouteLoadContext, RouteState, RouteTable, RouterParameters, RoutingState,
};
use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};

const ROUTES: u32 = 1000;

/// Pseudorandom numbers that are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn config() -> Config {
    let mut text = String::from("JOB_ROUTER_NAME = r\nJOB_ROUTER_SOURCE_JOB_CONSTRAINT = WantRoute\n");
    text.push_str("JOB_ROUTER_DEFAULT_MAX_JOBS_PER_ROUTE = 10000000\n");
    text.push_str("JOB_ROUTER_DEFAULT_MAX_IDLE_JOBS_PER_ROUTE = 10000000\nJOB_ROUTER_ROUTE_NAMES =");
    (0..ROUTES).for_each(|route| write!(text, " R{route}").unwrap());
    for route in 0..ROUTES {
        let (memory, site, prio) = (route * 3, route % 50, route % 10);
        write!(
            text,
            "\nJOB_ROUTER_ROUTE_R{route} @=r\nUNIVERSE vanilla\nREQUIREMENTS Owner == \"user{route}\" && RequestMemory > \
             {memory} && (Site =?= \"s{site}\" || Prio >= {prio})\n@r\n"
        )
        .unwrap();
    }
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("config");
    std::fs::write(&file, text).unwrap();
    let who = LookupContext { subsystem: "JOB_ROUTER".into(), ..LookupContext::default() };
    let options = LoadOptions { file: Some(file), environment: false, ..LoadOptions::default() };
    Config::load(&RealWorld::new(), &who, &options).unwrap().0
}

fn jobs(count: u32) -> Vec<ClassAd> {
    let mut numbers = Numbers(7);
    (0..count)
        .map(|job| {
            let mut ad = ClassAd::new();
            ad.set("ClusterId", i64::from(job) + 1);
            ad.set("ProcId", 0);
            ad.set("JobStatus", 1);
            ad.set("WantRoute", true);
            ad.set("Owner", format!("user{}", numbers.below(1200)).as_str());
            ad.set("RequestMemory", numbers.below(8000) as i64);
            ad.set("Site", format!("s{}", numbers.below(60)).as_str());
            ad.set("Prio", numbers.below(12) as i64);
            ad
        })
        .collect()
}

fn main() {
    // `cargo test` runs benchmarks too; then a few jobs are enough to check that both ways agree.
    let testing = !std::env::args().any(|word| word == "--bench");
    let wanted = std::env::var("HTC_BENCH_JOBS").ok().and_then(|text| text.parse().ok());
    let count: u32 = wanted.unwrap_or(if testing { 200 } else { 100_000 });
    let world = RealWorld::new();
    let config = config();
    let view = config.view(&world);
    let knobs = RouterParameters::load(&view, &mut |_| {});
    let table = RouteTable::load(
        RouteLoadContext { view: &view, parameters: &knobs, world: &world, quirks: QuirkMode::Manual },
        &mut |_| {},
    );
    let jobs = jobs(count);
    let mut states = vec![RouteState::new(0); table.routes.len()];

    let start = Instant::now();
    let mut chooser = RouteChooser::new(&table, &knobs, None, &world);
    let umbrella = chooser.build_umbrella(&states).unwrap().unwrap();
    let mut turn = 0;
    let mut choose = |job| {
        chooser.choose(&umbrella, job, RoutingState { route_states: &mut states, choices_made: &mut turn })
    };
    let chosen: Vec<RouteChoice> = jobs.iter().map(&mut choose).collect();
    let screened = start.elapsed();
    let routed = chosen.iter().filter(|choice| matches!(choice, RouteChoice::Route(_))).count();
    println!("{ROUTES} routes x {count} jobs: {screened:.2?}, {routed} routed");

    // The plain loop over a part of the jobs: requirements are evaluated until one is true.
    let part = (count as usize / 50).max(100).min(jobs.len());
    let start = Instant::now();
    for (job, chosen) in jobs.iter().zip(&chosen).take(part) {
        let context = Context::new(&world).my(job);
        let wants = |expr| context.holds(expr);
        let found = table.routes_in_order().find(|(_, route)| route.requirements().is_none_or(wants));
        let expected = match chosen {
            RouteChoice::Route(at) => Some(*at),
            _ => None,
        };
        assert_eq!(found.map(|(at, _)| at), expected);
    }
    let plain = start.elapsed();
    let whole = plain.mul_f64(f64::from(count) / part as f64);
    println!("plain loop: {plain:.2?} for {part} jobs, {whole:.2?} for all");

    queue_log(testing);
}

/// Reads a log of many clusters (`HTC_BENCH_CLUSTERS`; 1,400,000 make one gigabyte), of which a thousand
/// exist at a time. The log is generated in pieces, and only the reading is timed.
fn queue_log(testing: bool) {
    let wanted = std::env::var("HTC_BENCH_CLUSTERS").ok().and_then(|text| text.parse().ok());
    let clusters: u32 = wanted.unwrap_or(if testing { 100 } else { 200_000 });
    let processor = || Duration::from(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).unwrap());
    let mut reader = QueueLogReader::new();
    let (mut bytes, mut wall, mut used) = (0, Duration::ZERO, Duration::ZERO);
    let mut log = String::from("107 1 CreationTimestamp 1\n");
    for cluster in 1..=clusters {
        write!(log, "105 \n101 0{cluster}.-1 Job Machine\n101 {cluster}.0 Job Machine\n103 0{cluster}.-1 Cmd \"/bin/sh\"\n")
            .unwrap();
        for step in 0..12 {
            write!(
                log,
                "103 {cluster}.0 JobStatus {}\n103 {cluster}.0 ImageSize {}\n",
                step % 6,
                step * 1024
            )
            .unwrap();
        }
        log.push_str("106 \n");
        if cluster > 1000 {
            write!(log, "102 {}.0\n102 0{}.-1\n", cluster - 1000, cluster - 1000).unwrap();
        }
        if log.len() > 1 << 20 || cluster == clusters {
            let (start, before) = (Instant::now(), processor());
            reader.feed(log.as_bytes());
            (wall, used, bytes) = (wall + start.elapsed(), used + (processor() - before), bytes + log.len());
            log.clear();
        }
    }
    let rate = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    let most = getrusage(UsageWho::RUSAGE_SELF).unwrap().max_rss() / 1024;
    println!(
        "queue log: {} MB in {wall:.2?}, {:.0} MB/s; {used:.2?} of processor time, {:.0} MB/s; {} ads live, {most} MiB at most",
        bytes / 1_000_000,
        rate(wall),
        rate(used),
        reader.record_count()
    );
}
