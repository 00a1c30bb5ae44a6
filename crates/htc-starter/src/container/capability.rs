//! What a starter finds out about the runtimes of its machine before any job: the attributes that a startd puts into its
//! slots.
//!
//! Reference: `printClassAd` of `starter_v61_main.cpp`, `Singularity::canRun` of `singularity.cpp`, `DockerAPI::detect`,
//! `testImageRuns` and `version` of `docker-api.cpp`; recording c24.

use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::knobs::ContainerKnobs;
use super::singularity::test_line;
use super::tool::{Actor, LIMIT, ToolCall, Variables};
use super::version::Version;
use crate::failure::StartFailure;
use htc_base::process::Exit;
use htc_base::quirks::{Quirk, Quirks};
use htc_base::world::World;
use htc_classad::Value;

/// Attributes in the order in which they are printed.
pub type Capabilities = Vec<(&'static str, Value)>;

/// How long the calls around docker's test image may take.
const TEST_LIMIT: Duration = Duration::from_secs(20);

/// What the test programs end with when they could be run.
const WORKED: Exit = Exit::Code(37);

/// The questions, one after the other. Give each answer to [`Probe::next`] until it asks no more.
pub struct Probe<'a> {
    knobs: &'a ContainerKnobs,
    world: &'a dyn World,
    quirks: Quirks,
    /// Our own user namespace, as the kernel numbers it.
    namespace: Option<u64>,
    step: Step,
    contained: bool,
    may_retry: bool,
    sandbox: bool,
    sif: bool,
    version: Version,
    complaint: BString,
    docker_worked: bool,
    found: Capabilities,
    limit: Duration,
    failure: Option<StartFailure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Begin,
    DockerVersion,
    DockerInfo,
    DockerLoad,
    DockerRun,
    DockerRemove,
    DockerVersionAgain,
    SingularityVersion,
    Sandbox,
    Sif,
    Namespace,
    Done,
}

impl<'a> Probe<'a> {
    /// Nothing asked yet.
    pub fn new(
        knobs: &'a ContainerKnobs,
        namespace: Option<u64>,
        quirks: Quirks,
        world: &'a dyn World,
    ) -> Self {
        Probe {
            knobs,
            world,
            quirks,
            namespace,
            step: Step::Begin,
            contained: true,
            may_retry: false,
            sandbox: false,
            sif: false,
            version: Version::default(),
            complaint: BString::default(),
            docker_worked: false,
            found: Capabilities::new(),
            limit: LIMIT,
            failure: None,
        }
    }

    /// What was found out, and the setting at which 25.14 would have ended before it told anything.
    pub fn finish(self) -> (Capabilities, Option<StartFailure>) {
        (self.found, self.failure)
    }

    /// The next question, given how the last one ended (`None`: not at all) and what it wrote.
    pub fn next(&mut self, exit: Option<Exit>, output: &[u8]) -> Option<ToolCall> {
        let success = exit == Some(Exit::Code(0));
        match self.step {
            Step::Begin => self.docker(Step::DockerVersion, &["-v"]).or_else(|| self.begin_singularity()),
            Step::DockerVersion if success && is_docker(output) => self.docker(Step::DockerInfo, &["info"]),
            Step::DockerInfo if success => match self.knobs.flag("DOCKER_PERFORM_TEST") {
                Ok(true) => self.load_test(),
                Ok(false) => self.docker(Step::DockerVersionAgain, &["-v"]),
                Err(failure) => self.failed(failure),
            },
            // Its status is not looked at, only that it says something.
            Step::DockerLoad if !output.is_empty() => self.run_test(),
            Step::DockerRun => {
                self.docker_worked = exit == Some(WORKED);
                let image = self.text("DOCKER_TEST_IMAGE_NAME");
                self.docker_briefly(Step::DockerRemove, &[b"rmi", &image])
            }
            Step::DockerRemove if self.docker_worked => self.docker(Step::DockerVersionAgain, &["-v"]),
            Step::DockerVersionAgain => {
                self.found_docker(success, output);
                self.begin_singularity()
            }
            Step::DockerVersion | Step::DockerInfo | Step::DockerLoad | Step::DockerRemove => {
                self.begin_singularity()
            }
            Step::SingularityVersion if success => {
                self.version = Version::parse(output);
                self.first_try()
            }
            Step::Sandbox | Step::Sif | Step::Namespace => self.tried(exit, output),
            Step::SingularityVersion | Step::Done => {
                self.step = Step::Done;
                None
            }
        }
    }

    fn text(&self, name: &str) -> BString {
        self.knobs.text(name).cloned().unwrap_or_default()
    }

    /// An exception of 25.14, which finds out nothing more then.
    fn failed(&mut self, failure: StartFailure) -> Option<ToolCall> {
        self.failure = Some(failure);
        self.step = Step::Done;
        None
    }

    /// A call of DOCKER, if that is there.
    fn docker(&mut self, step: Step, words: &[&str]) -> Option<ToolCall> {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        self.docker_briefly(step, &words).map(|call| ToolCall { limit: LIMIT, ..call })
    }

    fn docker_briefly(&mut self, step: Step, words: &[&[u8]]) -> Option<ToolCall> {
        let knob = self.knobs.text("DOCKER")?;
        let (mut program, path) = match knob.strip_prefix(b"sudo ") {
            Some(path) => (vec![BString::from("/usr/bin/sudo")], path.trim_start()),
            None => (Vec::new(), knob.as_slice()),
        };
        if self.world.stat(path.to_path_lossy().as_ref()).is_err() {
            return None;
        }
        program.push(path.into());
        self.step = step;
        let call = ToolCall::new(&program, words.iter().copied().map(BString::from), Actor::Starter);
        Some(ToolCall { limit: TEST_LIMIT, ..call })
    }

    fn load_test(&mut self) -> Option<ToolCall> {
        let image = self.text("DOCKER_TEST_IMAGE_PATH");
        if image.is_empty() || self.text("DOCKER_TEST_IMAGE_NAME").is_empty() {
            return self.begin_singularity();
        }
        self.docker_briefly(Step::DockerLoad, &[b"load", b"-i", &image])
    }

    /// The test container. 25.14 takes whatever PATH has as `docker`.
    fn run_test(&mut self) -> Option<ToolCall> {
        let image = self.text("DOCKER_TEST_IMAGE_NAME");
        let words: [&[u8]; 4] = [b"run", b"--rm=true", &image, b"/exit_37"];
        let mut call = self.docker_briefly(Step::DockerRun, &words)?;
        if self.quirks.has(Quirk::DockerTestFromPath) {
            call.argv = [&b"docker"[..]].iter().chain(&words).map(|word| BString::from(*word)).collect();
        }
        Some(call)
    }

    fn found_docker(&mut self, success: bool, output: &[u8]) {
        let mut add = |name, value: Value| self.found.push((name, value));
        add("HasDocker", true.into());
        add("HasDockerURL", true.into());
        add("HasContainer", true.into());
        let version = output.lines().next().unwrap_or_default();
        if success && is_docker(output) {
            add("DockerVersion", version.into());
            if version.contains_str("20.10.4,") {
                add("HasDocker", false.into());
                add("DockerOfflineReason", "Unsupported Docker Version (20.10.4) detected".into());
            }
        }
    }

    fn begin_singularity(&mut self) -> Option<ToolCall> {
        self.step = Step::SingularityVersion;
        let program = self.knobs.text("SINGULARITY").cloned()?;
        if self.world.stat(program.to_path_lossy().as_ref()).is_err() {
            self.step = Step::Done;
            return None;
        }
        Some(ToolCall::new(&[program], ["--version"], Actor::Starter))
    }

    fn first_try(&mut self) -> Option<ToolCall> {
        let (set, _) = self.knobs.pid_namespaces(self.world);
        self.contained = set.unwrap_or(true);
        self.may_retry = set.is_none();
        match self.knobs.number("SINGULARITY_TEST_SANDBOX_TIMEOUT") {
            Ok(seconds) => self.limit = Duration::from_secs(u64::try_from(seconds).unwrap_or(0)),
            Err(failure) => return self.failed(failure),
        }
        Some(self.attempt(Step::Sandbox))
    }

    fn attempt(&mut self, step: Step) -> ToolCall {
        self.step = step;
        let (image, command) = match step {
            Step::Sif => ([self.text("LIBEXEC").as_slice(), b"/exit_37.sif"].concat(), "/exit_37"),
            Step::Namespace => (self.text("SINGULARITY_TEST_SANDBOX").into(), "/get_user_ns"),
            _ => (self.text("SINGULARITY_TEST_SANDBOX").into(), "/exit_37"),
        };
        let contained: &[&str] = if self.contained { &["-C"] } else { &["--contain", "--ipc", "--cleanenv"] };
        let mut words = vec![BString::from("exec")];
        words.extend(contained.iter().map(|word| BString::from(*word)));
        words.extend([BString::from(image), command.into()]);
        ToolCall {
            variables: Variables::These(Vec::new()),
            limit: self.limit,
            ..ToolCall::new(&[self.text("SINGULARITY")], words, Actor::Daemon)
        }
    }

    /// One of the three tries ended. The first one without success is made once more without PID namespaces.
    fn tried(&mut self, exit: Option<Exit>, output: &[u8]) -> Option<ToolCall> {
        let worked = exit == Some(WORKED);
        if !worked {
            let mut lines = output.lines().map(|line| BString::from(test_line(line).trim()));
            if let Some(line) = lines.rfind(|line| !line.is_empty()) {
                self.complaint = line;
            }
        }
        match self.step {
            Step::Sandbox if !worked && self.may_retry => {
                self.may_retry = false;
                self.contained = false;
                Some(self.attempt(Step::Sandbox))
            }
            Step::Sandbox => {
                self.sandbox = worked;
                self.may_retry = false;
                Some(self.attempt(Step::Sif))
            }
            Step::Sif => {
                self.sif = worked;
                Some(self.attempt(Step::Namespace))
            }
            _ => {
                let theirs = output.lines().next().and_then(|line| line.to_str().ok()?.trim().parse().ok());
                if let (true, Some(own)) = (worked, self.namespace) {
                    let differs = theirs.unwrap_or(0u64) != own;
                    self.found.push(("SingularityUserNamespaces", differs.into()));
                }
                self.found_singularity();
                self.step = Step::Done;
                None
            }
        }
    }

    fn found_singularity(&mut self) {
        let (sandbox, sif, contained) = (self.sandbox, self.sif, self.contained);
        let mut add = |name, value: Value| self.found.push((name, value));
        if sandbox || sif {
            for name in ["HasSingularity", "HasContainer", "HasDockerURL"] {
                add(name, true.into());
            }
            if sandbox {
                add("HasSandboxImage", true.into());
            }
            if sif {
                add("HasSIF", true.into());
            }
            add("HasPidNamespaces", contained.into());
        } else {
            add("HasSingularity", false.into());
            let mut reason = BString::from("Both SIF and Sandbox tests on startup failed");
            if !self.complaint.is_empty() {
                reason.extend_from_slice(b" : ");
                reason.extend_from_slice(&self.complaint);
            }
            add("SingularityOfflineReason", reason.into());
        }
        add("SingularityVersion", self.version.line().into());
    }
}

/// Whether `docker -v` speaks as docker does: one line of a sensible length, and not another program of that name.
fn is_docker(output: &[u8]) -> bool {
    let mut lines = output.lines();
    let first = lines.next().unwrap_or_default();
    lines.next().is_none() && (16..=1024).contains(&first.len()) && !output.contains_str("Jansens")
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_os::RealWorld;

    /// Plays the questions against answers by the last word of each call.
    fn play(
        knobs: &ContainerKnobs,
        answer: impl Fn(&[BString]) -> (u8, &'static str),
    ) -> (Vec<String>, Vec<String>) {
        let world = RealWorld::new();
        let mut probe = Probe::new(knobs, Some(7), Quirks::None, &world);
        let mut asked = Vec::new();
        let (mut exit, mut output) = (None, "");
        while let Some(call) = probe.next(exit, output.as_bytes()) {
            let (code, text) = answer(&call.argv);
            asked.push(call.argv[1..].iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
            (exit, output) = (Some(Exit::Code(code)), text);
        }
        let (found, failure) = probe.finish();
        assert_eq!(failure, None);
        (asked, found.iter().map(|(name, value)| format!("{name} = {}", value.unparse())).collect())
    }

    fn knobs() -> ContainerKnobs {
        ContainerKnobs::default()
            .with("LIBEXEC", "/le")
            .with("SINGULARITY_TEST_SANDBOX", "/le/box")
            .with("SINGULARITY", "/bin/sh")
    }

    #[test]
    fn a_sandbox_that_needs_no_pid_namespace_is_tried_again_without() {
        let (asked, found) = play(&knobs(), |argv| match argv.last().unwrap().as_slice() {
            b"--version" => (0, "apptainer version 1.3.2\n"),
            b"/get_user_ns" => (37, "7\n"),
            _ if argv.iter().any(|word| word == "-C") => (255, "FATAL: no\n"),
            _ if argv.iter().any(|word| word == "/le/exit_37.sif") => (255, "FATAL: no loop\n"),
            _ => (37, ""),
        });
        let expected = [
            "--version",
            "exec -C /le/box /exit_37",
            "exec --contain --ipc --cleanenv /le/box /exit_37",
            "exec --contain --ipc --cleanenv /le/exit_37.sif /exit_37",
            "exec --contain --ipc --cleanenv /le/box /get_user_ns",
        ];
        assert_eq!(asked, expected);
        let expected = [
            "SingularityUserNamespaces = false",
            "HasSingularity = true",
            "HasContainer = true",
            "HasDockerURL = true",
            "HasSandboxImage = true",
            "HasPidNamespaces = false",
            "SingularityVersion = \"apptainer version 1.3.2\"",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_docker_whose_test_container_does_not_run_is_none() {
        let knobs = ContainerKnobs::default()
            .with("DOCKER", "/bin/sh")
            .with("DOCKER_TEST_IMAGE_NAME", "t")
            .with("DOCKER_TEST_IMAGE_PATH", "/le/t");
        let run = |status: u8| {
            play(&knobs, move |argv| match argv[1].as_slice() {
                b"run" => (status, ""),
                b"-v" => (0, "Docker version 26.1.4, build 5650f9b\n"),
                _ => (0, "x\n"),
            })
        };
        let (asked, found) = run(1);
        assert_eq!(asked, ["-v", "info", "load -i /le/t", "run --rm=true t /exit_37", "rmi t"]);
        assert!(found.is_empty());
        let (_, found) = run(37);
        let version = "DockerVersion = \"Docker version 26.1.4, build 5650f9b\"";
        assert_eq!(found, ["HasDocker = true", "HasDockerURL = true", "HasContainer = true", version]);
    }
}
