//! Tests of completion as users see it, with real shells on a pseudo-terminal.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Shell on its own terminal, which script(1) creates.
struct Typed {
    child: Child,
    screen: Arc<Mutex<String>>,
}

fn is_there(program: &str) -> bool {
    let there = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|directory| directory.join(program).is_file()));
    if !there {
        println!("skipped: '{program}' is missing");
    }
    there
}

fn programs() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_htc-hook-test")).parent().unwrap().to_owned()
}

fn completions(shell: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("completions").join(shell)
}

impl Typed {
    fn new(shell: &str, home: &Path) -> Self {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs().display());
        let mut child = Command::new("script")
            .args(["-qfec", shell, "/dev/null"])
            .current_dir(home)
            .env_clear()
            .env("PATH", path)
            .env("HOME", home)
            .env("TERM", "dumb")
            .env("CONDOR_CONFIG", home.join("condor_config"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let screen = Arc::new(Mutex::new(String::new()));
        let (mut output, seen) = (child.stdout.take().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut block = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut block) {
                seen.lock().unwrap().push_str(&String::from_utf8_lossy(&block[..length]));
            }
        });
        Typed { child, screen }
    }

    fn enter(&mut self, keys: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(keys.as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    /// Waits until the text appears on the screen.
    fn wait(&self, text: &str) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen.lock().unwrap().clone();
            if screen.contains(text) {
                return screen;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "'{text}' is not seen in:\n{screen}");
            std::thread::yield_now();
        }
    }

    /// Types a line and a tab, makes the shell print the completed line, and returns it.
    fn completed(&mut self, number: usize, line: &str) -> String {
        // The control characters move to the beginning of the line, insert `echo`, and move to the end.
        self.enter(&format!("{line}\t\x01echo \"<{number}\" \x05 \">{number}\"\r"));
        let screen = self.wait(&format!(">{number}\r"));
        let screen = screen.rsplit_once(&format!("<{number} ")).unwrap().1;
        screen.split_once(&format!(" >{number}\r")).unwrap().0.trim().to_owned()
    }
}

impl Drop for Typed {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const LINES: [(&str, &str); 7] = [
    ("htc-hook-test prepare --sample-j", "htc-hook-test prepare --sample-job"),
    ("htc-hook-test prepare --sample-job gri", "htc-hook-test prepare --sample-job grid"),
    ("htc-slot-run drain --qui", "htc-slot-run drain --qui"),
    ("htc-slot-run drain --quir", "htc-slot-run drain --quirks"),
    ("htc-slot-run --quirks ref", "htc-slot-run --quirks reference"),
    ("htc-config-dump UPDATE_INTERV", "htc-config-dump UPDATE_INTERVAL"),
    ("htc-slot-run ads slo", "htc-slot-run ads slot1"),
];

/// Creates a home directory whose configuration has one slot.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let text = "NUM_CPUS = 1\nMEMORY = 1024\nEXECUTE = /tmp\nLOG = $(CONFIG_ROOT)/log\n";
    std::fs::write(home.path().join("condor_config"), text).unwrap();
    home
}

fn types_the_rest(mut typed: Typed) {
    for (number, (line, expected)) in LINES.into_iter().enumerate() {
        assert_eq!(typed.completed(number, line), expected, "{line}");
    }
}

#[test]
fn bash_completes_after_verbs_and_values() {
    if !is_there("bash") || !is_there("script") {
        return;
    }
    let home = home();
    let mut typed = Typed::new("bash --norc --noprofile -i", home.path());
    for program in ["htc-hook-test", "htc-slot-run", "htc-config-dump"] {
        typed.enter(&format!(". {}\r", completions("bash").join(program).display()));
    }
    // bash treats the equals sign as a separate word.
    let line = "htc-hook-test prepare --sample-job=gri";
    assert_eq!(typed.completed(90, line), "htc-hook-test prepare --sample-job=grid");
    types_the_rest(typed);
}

#[test]
fn zsh_completes_after_verbs_and_values() {
    if !is_there("zsh") || !is_there("script") {
        return;
    }
    let home = home();
    let mut typed = Typed::new("zsh -f -i", home.path());
    let functions = completions("zsh");
    typed.enter(&format!(
        "fpath=({} $fpath); autoload -U compinit; compinit -u -D; unsetopt auto_menu\r",
        functions.display()
    ));
    types_the_rest(typed);
}

#[test]
fn fish_completes_after_verbs_and_values() {
    if !is_there("fish") || !is_there("script") {
        return;
    }
    let home = home();
    let mut typed = Typed::new("fish --no-config -i", home.path());
    for program in ["htc-hook-test", "htc-slot-run", "htc-config-dump"] {
        typed.enter(&format!("source {}.fish\r", completions("fish").join(program).display()));
    }
    types_the_rest(typed);
}
