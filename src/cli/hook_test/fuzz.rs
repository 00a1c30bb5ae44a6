//! `--fuzz N`: the same hook with random changes of its ad; what its caller would refuse, crashes and hangs, each with the
//! smallest ad that shows it.

use std::io::Write as _;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use super::options::{AdOptions, CallOptions, One, Shared};
use crate::classad::format::long;
use crate::cli::common::{Painter, Progress, Session, Status, stdout};
use crate::hook::HookType;
use crate::hook_testing::fuzz::{Random, as_printf};
use crate::hook_testing::fuzz_search::{LONGEST_SHRINK, Search};
use crate::hook_testing::{Case, Setup, Shown};
use crate::os::Reactor;
use crate::process::Exit;
use crate::quirks::Quirks;
use crate::world::World;

pub(super) fn run(
    setup: &mut Setup,
    reactor: &mut Reactor,
    (times, baseline): (u32, &Shown),
    (cli, one): (&Shared, &One),
    session: &Session,
) -> anyhow::Result<Status> {
    let interrupted = |number| Ok(Status::Relayed(Exit::Signal { number, core_dumped: false }));
    let seed = cli.clock.seed.unwrap_or_else(|| setup.world.random());
    let mut search = Search::new(setup, baseline);
    let progress = Progress::new("calls", Some(times.into()), cli.output.quiet);
    let signal = search.calls(reactor, (times, &mut Random::new(seed)), &|| progress.advance(1))?;
    drop(progress);
    if let Some(signal) = signal {
        return interrupted(signal);
    }
    let painter = Painter::stderr(cli.output.color);
    let mut listed = Vec::new();
    for (what, trouble) in search.found.clone() {
        let words: Vec<String> =
            trouble.mutations.iter().map(|one| format!("{} is {}", one.name, one.what)).collect();
        session.tell(&format!("{} ({} of {times}): {what}\n", painter.warn("found"), trouble.calls));
        session.tell(&format!("  first seen when {}\n", words.join(", ")));
        let small = search.smallest(reactor, &what, &trouble.case);
        if small.out_of_time {
            let seconds = LONGEST_SHRINK.as_secs();
            session.tell(&format!("  after {seconds} s it was not made smaller any more\n"));
        }
        session.tell(&format!("  smallest ad, {} attributes:\n", small.ad.len()));
        let text = long::print(&small.ad);
        let setup = search.setup();
        let hook = setup.case.hook.word();
        let options = options(&setup.case, setup, cli, one);
        let command = format!("{} | htc-hook-test {hook}{options}", as_printf(&text));
        session.tell(&format!("  {command}\n"));
        listed.push(serde_json::json!({
            "what": what,
            "calls": trouble.calls,
            "first": words,
            "ad": String::from_utf8_lossy(&text),
            "command": command,
        }));
        if let Some(signal) = small.interrupted {
            return interrupted(signal);
        }
    }
    if let Some(always) = &search.always {
        session.tell(&format!("with the unchanged ad as well, and not counted: {always}\n"));
    }
    let kinds = listed.len();
    let all = serde_json::json!({ "calls": times, "seed": seed, "found": listed });
    if let Some(text) = cli.output.rows(&[all])? {
        stdout().write_all(text.as_bytes())?;
    }
    session.tell(&format!("{times} calls with seed {seed}: {kinds} kinds of trouble\n"));
    Ok(if kinds == 0 { Status::Done } else { Status::No })
}

/// What else the command line needs to make the same call.
fn options(case: &Case, setup: &Setup, cli: &Shared, one: &One) -> String {
    let mut words = Words::default();
    if one.hook.is_some() {
        words.add(&[&setup.path]);
        case.words(setup.quirks).iter().for_each(|word| words.add(&[word]));
    }
    words.add_ads(case.hook, &one.ads);
    if let Some(file) = &cli.config.config_file {
        words.add(&[b"--config-file", &absolute(file)]);
    }
    for (name, value) in &cli.config.set_knob {
        words.add(&[b"--set-knob", format!("{name}={value}").as_bytes()]);
    }
    words.add_call(&one.call);
    if let Some(limit) = cli.events.timeout {
        words.add(&[b"--timeout", limit.as_secs_f64().to_string().as_bytes()]);
    }
    if setup.quirks == Quirks::Reference {
        words.add(&[b"--quirks", b"reference"]);
    }
    words.0.iter().map(|word| format!(" {}", quoted(word))).collect()
}

/// Words of a command line.
#[derive(Default)]
struct Words(Vec<Vec<u8>>);

impl Words {
    fn add(&mut self, words: &[&[u8]]) {
        self.0.extend(words.iter().map(|word| word.to_vec()));
    }

    /// Where ads come from that are not changed, and options that change them.
    fn add_ads(&mut self, hook: HookType, ads: &AdOptions) {
        let subject_is_slot = hook == HookType::FetchWork;
        let subject_is_routed = matches!(hook, HookType::RouterUpdateJobInfo | HookType::JobCleanup);
        if let Some(file) = ads.slot_ads.as_ref().filter(|_| !subject_is_slot) {
            self.add(&[b"--slot-ads", &absolute(file)]);
        }
        if let Some(kind) = ads.sample_slot.as_ref().filter(|_| !subject_is_slot) {
            self.add(&[b"--sample-slot", kind.as_bytes()]);
        }
        if let Some(file) = ads.routed_ads.as_ref().filter(|_| !subject_is_routed) {
            self.add(&[b"--routed-ads", &absolute(file)]);
        }
        for (option, lines) in [("--set-slot", &ads.set_slot), ("--set-routed", &ads.set_routed)] {
            lines.iter().for_each(|line| self.add(&[option.as_bytes(), line.as_bytes()]));
        }
        // With ads from elsewhere standard input is read only when it is named.
        if !subject_is_slot && (ads.slot_ads.is_some() || ads.sample_slot.is_some()) {
            self.add(&[b"--ads", b"/dev/stdin"]);
        }
    }

    /// What the caller is said to know.
    fn add_call(&mut self, call: &CallOptions) {
        for (option, value) in [
            ("--keyword", &call.keyword),
            ("--route", &call.route),
            ("--grid-resource", &call.grid_resource),
            ("--protocol", &call.protocol),
            ("--claim-id", &call.claim_id),
            ("--user", &call.user),
        ] {
            value.iter().for_each(|value| self.add(&[option.as_bytes(), value.as_bytes()]));
        }
        if call.slot != "slot1" {
            self.add(&[b"--slot", call.slot.as_bytes()]);
        }
        if let Some(number) = call.slot_type {
            self.add(&[b"--slot-type", number.to_string().as_bytes()]);
        }
        if let Some(number) = call.target_universe {
            self.add(&[b"--target-universe", number.to_string().as_bytes()]);
        }
        call.env.iter().for_each(|pair| self.add(&[b"--env", pair.as_bytes()]));
        call.path_prepend.iter().for_each(|directory| self.add(&[b"--path-prepend", &absolute(directory)]));
        for (option, given) in [
            ("--shadow", call.shadow),
            ("--edit-in-place", call.edit_in_place),
            ("--before-job", call.before_job),
            ("--ignore-path-check", call.ignore_path_check),
        ] {
            if given {
                self.add(&[option.as_bytes()]);
            }
        }
    }
}

fn absolute(path: &Path) -> Vec<u8> {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).into_os_string().into_vec()
}

/// A word as a shell reads it.
fn quoted(word: &[u8]) -> String {
    let text = String::from_utf8_lossy(word);
    let plain = word.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_./=:,+".contains(byte));
    if plain && !word.is_empty() { text.into_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
