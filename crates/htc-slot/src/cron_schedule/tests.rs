//! Tests of cron schedules: schedules measured with 25.14, and further cases.

use super::*;
use std::collections::BTreeMap;

fn job(name: &str, mode: CronMode, period: i64, change: impl Fn(&mut CronJob)) -> CronJob {
    let mut job = CronJob::new(name.as_bytes(), b"/x");
    (job.mode, job.period) = (mode, period);
    change(&mut job);
    job
}

/// Cron manager whose programs run for a fixed time. Its clock counts tenths of a second.
struct ManagerSimulation {
    schedule: CronSchedule,
    takes: BTreeMap<&'static str, u64>,
    ends: Vec<(u64, CronRunId)>,
    starts: Vec<(u64, String)>,
    signals: Vec<(u64, String, i32)>,
    fails: bool,
    at: u64,
}

impl ManagerSimulation {
    fn new(quirks: QuirkMode, takes: &[(&'static str, u64)]) -> Self {
        ManagerSimulation {
            schedule: CronSchedule::new(quirks),
            takes: takes.iter().copied().collect(),
            ends: Vec::new(),
            starts: Vec::new(),
            signals: Vec::new(),
            fails: false,
            at: 0,
        }
    }

    fn now(&self) -> ClockReading {
        ClockReading { wall_us: 0, monotonic_us: self.at * 100_000 }
    }

    fn step(&mut self, event: CronEvent) {
        let mut events = vec![event];
        while !events.is_empty() {
            let actions = self.schedule.step(self.now(), events.remove(0), &|job| job.name != "WAITS");
            for action in actions {
                match action {
                    CronAction::Start { run, .. } if self.fails => events.push(CronEvent::StartFailed(run)),
                    CronAction::Start { name, run } => {
                        let takes = self.takes.get(name.to_string().as_str()).copied().unwrap_or(0);
                        self.ends.push((self.at + takes, run));
                        self.starts.push((self.at, name.to_string()));
                    }
                    CronAction::Signal { run, signal } => {
                        let name = self.schedule.job_of(run).map_or("?".into(), |job| job.name.to_string());
                        self.signals.push((self.at, name.clone(), signal));
                        // Jobs named STUBBORN ignore SIGTERM, and all jobs ignore SIGHUP.
                        if signal == SIGKILL || (signal == SIGTERM && name != "STUBBORN") {
                            self.ends.iter_mut().filter(|end| end.1 == run).for_each(|end| end.0 = self.at);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// Advances the clock by tenths of a second.
    fn advance(&mut self, tenths: u64) {
        let until = self.at + tenths;
        loop {
            self.ends.sort();
            let end = self.ends.first().map(|end| end.0);
            let wake = self.schedule.next_wake().map(|tick| tick.0.div_ceil(100_000));
            let Some(next) = end.into_iter().chain(wake).min().filter(|next| *next <= until) else { break };
            self.at = self.at.max(next);
            if end.is_some_and(|end| end <= self.at) {
                let run = self.ends.remove(0).1;
                self.step(CronEvent::Ended(run));
            } else {
                self.step(CronEvent::Tick);
            }
        }
        self.at = until;
    }

    fn configure(&mut self, jobs: &[CronJob], max_load: f64) {
        self.step(CronEvent::Configured { jobs: jobs.to_vec(), max_load });
    }

    fn start_times(&self, name: &str) -> Vec<u64> {
        self.starts.iter().filter(|start| start.1 == name).map(|start| start.0).collect()
    }
}

/// Compares with a measurement of 25.14: jobs and run times, in tenths of a second.
#[test]
fn every_mode_runs_when_it_did_in_the_recording() {
    let none = |_: &mut CronJob| {};
    let jobs = [
        job("PER", CronMode::Periodic, 3, none),
        job("SLOW", CronMode::Periodic, 2, none),
        job("SLOWK", CronMode::Periodic, 2, |job| job.kill = true),
        job("SHOT", CronMode::OneShot, 0, none),
        job("SHOTR", CronMode::OneShot, 0, |job| job.rerun = true),
        job("WFE", CronMode::WaitForExit, 2, none),
        job("DEM", CronMode::OnDemand, 0, none),
    ];
    let mut simulation =
        ManagerSimulation::new(QuirkMode::Reference, &[("SLOW", 70), ("SLOWK", 70), ("WFE", 10)]);
    simulation.configure(&jobs, 10.0);
    simulation.advance(149);
    assert_eq!(simulation.start_times("PER"), [0, 30, 60, 90, 120]);
    assert_eq!(simulation.start_times("SLOW"), [0, 80], "the first tick after the end");
    assert_eq!(
        simulation.start_times("SLOWK"),
        [0, 20, 40, 60, 80, 100, 120, 140],
        "ends and starts at each tick"
    );
    assert!(simulation.signals.iter().all(|(_, name, signal)| name == "SLOWK" && *signal == SIGTERM));
    assert_eq!(simulation.start_times("WFE"), [0, 30, 60, 90, 120]);
    assert_eq!((simulation.start_times("SHOT"), simulation.start_times("DEM")), (vec![0], vec![]));
    simulation.configure(&jobs, 10.0);
    assert_eq!((simulation.start_times("SHOTR"), simulation.start_times("SHOT")), (vec![0, 149], vec![0]));
    // After a change of the list, jobs that are not in it are killed and removed. PER keeps its old period, as in 25.14.
    simulation.advance(11);
    let changed = [job("PER", CronMode::Periodic, 1, none), job("NEWJOB", CronMode::OneShot, 0, none)];
    simulation.starts.clear();
    simulation.signals.clear();
    simulation.advance(15);
    simulation.configure(&changed, 10.0);
    assert_eq!(simulation.schedule.jobs().count(), 2);
    assert!(simulation.signals.iter().any(|(_, _, signal)| *signal == SIGKILL), "{:?}", simulation.signals);
    assert_eq!(simulation.start_times("NEWJOB"), [175]);
    simulation.advance(70);
    assert_eq!(simulation.start_times("PER"), [175, 205, 235]);
}

#[test]
fn a_new_period_applies_from_the_reconfig() {
    let mut simulation = ManagerSimulation::new(QuirkMode::Manual, &[]);
    simulation.configure(&[job("PER", CronMode::Periodic, 3, |_| {})], 1.0);
    simulation.advance(45);
    simulation.configure(&[job("PER", CronMode::Periodic, 1, |_| {})], 1.0);
    simulation.advance(20);
    assert_eq!(simulation.start_times("PER"), [0, 30, 45, 55, 65]);
    simulation.configure(&[job("PER", CronMode::Periodic, 5, |_| {})], 1.0);
    simulation.advance(60);
    assert_eq!(simulation.start_times("PER")[5..], [115], "the job waits for the rest of the new period");
}

/// Jobs A, B and C with load 0.1 run for 3 s each, with period 2 s and MAX_JOB_LOAD 0.2. D with load 0.5 never starts.
#[test]
fn the_load_limit_allows_two_jobs_at_a_time_as_recorded() {
    let heavy = |load: f64| move |job: &mut CronJob| job.load = load;
    let jobs: Vec<CronJob> = [("A", 0.1), ("B", 0.1), ("C", 0.1), ("D", 0.5)]
        .map(|(name, load)| job(name, CronMode::Periodic, 2, heavy(load)))
        .into();
    let mut simulation = ManagerSimulation::new(QuirkMode::Reference, &[("A", 31), ("B", 31), ("C", 31)]);
    simulation.configure(&jobs, 0.2);
    simulation.advance(125);
    assert_eq!(
        (
            simulation.start_times("A"),
            simulation.start_times("B"),
            simulation.start_times("C"),
            simulation.start_times("D")
        ),
        (vec![0, 40, 80, 124], vec![0, 62, 111], vec![31, 93], vec![])
    );
}

#[test]
fn a_job_that_ignores_the_signal_is_killed_a_second_later() {
    let mut simulation = ManagerSimulation::new(QuirkMode::Manual, &[("STUBBORN", 1000)]);
    simulation.configure(&[job("STUBBORN", CronMode::Periodic, 2, |job| job.kill = true)], 1.0);
    simulation.advance(35);
    let expected = [(20, "STUBBORN".to_owned(), SIGTERM), (30, "STUBBORN".to_owned(), SIGKILL)];
    assert_eq!(simulation.signals, expected);
    assert_eq!(simulation.start_times("STUBBORN"), [0, 30], "started again at once");
    simulation.step(CronEvent::ShutDown { fast: false });
    assert_eq!(simulation.signals.last().unwrap().2, SIGTERM);
    simulation.advance(100);
    assert_eq!(simulation.start_times("STUBBORN").len(), 2, "nothing starts any more");
}

#[test]
fn reconfig_sends_sighup_after_the_first_output_and_starts_rerun_jobs() {
    let again = |job: &mut CronJob| job.rerun = true;
    let jobs = [
        job("HUP", CronMode::WaitForExit, 0, |job| job.reconfig = true),
        job("AGAIN", CronMode::OneShot, 0, again),
    ];
    for (quirks, expected) in [(QuirkMode::Manual, vec![0, 50]), (QuirkMode::Reference, vec![0, 20])] {
        let mut simulation = ManagerSimulation::new(quirks, &[("HUP", 1000), ("AGAIN", 50)]);
        simulation.configure(&jobs, 1.0);
        simulation.advance(10);
        simulation.configure(&[jobs[0].clone()], 1.0);
        assert!(simulation.signals.iter().all(|signal| signal.2 != SIGHUP), "nothing printed yet");
        simulation = ManagerSimulation::new(quirks, &[("HUP", 1000), ("AGAIN", 50)]);
        simulation.configure(&jobs, 1.0);
        let run = simulation.ends[0].1;
        simulation.step(CronEvent::Published(run));
        simulation.advance(20);
        simulation.configure(&jobs, 1.0);
        assert_eq!(simulation.signals, [(20, "HUP".to_owned(), SIGHUP)]);
        simulation.advance(60);
        assert_eq!(simulation.start_times("AGAIN"), expected, "{quirks:?}");
    }
}

#[test]
fn only_the_reference_gives_up_after_a_failed_start() {
    for (quirks, wakes) in [(QuirkMode::Manual, true), (QuirkMode::Reference, false)] {
        let mut simulation = ManagerSimulation::new(quirks, &[]);
        simulation.fails = true;
        let jobs = [job("WFE", CronMode::WaitForExit, 2, |_| {}), job("SHOT", CronMode::OneShot, 0, |_| {})];
        simulation.configure(&jobs, 1.0);
        assert_eq!(simulation.schedule.next_wake().is_some(), wakes);
        simulation.fails = false;
        simulation.advance(20);
        assert_eq!(simulation.start_times("WFE").len(), usize::from(wakes));
        simulation.configure(&jobs, 1.0);
        assert_eq!(simulation.start_times("SHOT").len(), usize::from(wakes));
    }
}

#[test]
fn a_job_with_an_untrue_condition_stays_ready() {
    let mut schedule = CronSchedule::new(QuirkMode::Manual);
    let jobs = vec![job("WAITS", CronMode::Periodic, 5, |_| {})];
    let configured = CronEvent::Configured { jobs, max_load: 1.0 };
    let actions = schedule.step(ClockReading::from_epoch(0), configured, &|_| false);
    assert_eq!(actions, [CronAction::Note(CronNote::Waiting { name: "WAITS".into(), for_load: false })]);
    let started = schedule.step(ClockReading::from_epoch(1), CronEvent::ConditionsChanged, &|_| true);
    assert!(matches!(&started[..], [CronAction::Start { .. }]));
}
