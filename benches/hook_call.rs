//! Overhead of a hook call compared with a bare fork, exec, pipe and wait of the same program: `cargo bench
//! --bench hook_call`.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use htc_hooks::hook::HookType;
use htc_hooks::hook_testing::{Case, call_hook};
use htc_hooks::os::Reactor;
use htc_hooks::quirks::QuirkMode;
use htc_hooks::runner::hook_call::HookCall;
use htc_hooks::runner::hook_environment::HookEnvironment;

fn main() {
    divan::main();
}

/// Returns a program that does nothing, so that only the call itself is measured.
fn trivial() -> PathBuf {
    PathBuf::from("/bin/true")
}

#[divan::bench]
fn hook_of_the_library(bencher: divan::Bencher<'_, '_>) {
    let case = Case::new(HookType::PrepareJob);
    let input = case.input(QuirkMode::Manual);
    let own = [("PATH".into(), "/usr/bin:/bin".into())];
    let environment = HookEnvironment::from_daemon(own, QuirkMode::Manual);
    let Ok(mut reactor) = Reactor::new(&[]) else { return };
    let path = trivial().display().to_string();
    bencher.bench_local(|| {
        let hook = HookCall::new(case.hook, path.as_str(), input.clone(), environment.clone());
        let Ok(spec) = hook.child_spec() else { return };
        let _ = divan::black_box(call_hook(&mut reactor, spec, Some(Duration::from_secs(10)), &mut |_| {}));
    });
}

#[divan::bench]
fn bare_process_with_pipes(bencher: divan::Bencher<'_, '_>) {
    let input = Case::new(HookType::PrepareJob).input(QuirkMode::Manual);
    bencher.bench_local(|| {
        let child = Command::new(trivial())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else { return };
        if let Some(mut stdin) = child.stdin.take() {
            let _ = stdin.write_all(&input);
        }
        let mut text = Vec::new();
        if let Some(mut stdout) = child.stdout.take() {
            let _ = stdout.read_to_end(&mut text);
        }
        if let Some(mut stderr) = child.stderr.take() {
            let _ = stderr.read_to_end(&mut text);
        }
        let _ = divan::black_box(child.wait());
    });
}
