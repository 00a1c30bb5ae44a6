//! Detection of a machine's container runtimes before any job runs: the attributes that a startd adds to its slots.
//!
//! Reference: `printClassAd` of `starter_v61_main.cpp`, `Singularity::canRun` of `singularity.cpp`,
//! `DockerAPI::detect`, `testImageRuns` and `version` of `docker-api.cpp`.

use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::parameters::ContainerParameters;
use super::singularity::first_error_line;
use super::tool::{DEFAULT_TIMEOUT, ToolAccount, ToolCall, ToolEnvironment};
use super::version::RuntimeVersion;
use crate::start_failure::StartFailure;
use htc_base::process::Exit;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::world::World;
use htc_classad::Value;

/// Attributes about the runtimes, in the order in which they are printed.
pub type Capabilities = Vec<(&'static str, Value)>;

/// Time limit for the calls that use docker's test image.
const TEST_IMAGE_TIMEOUT: Duration = Duration::from_secs(20);

/// Exit of a test program that could be run.
const TEST_SUCCESS_EXIT: Exit = Exit::Code(37);

/// Sequence of calls that detects the runtimes. The caller passes the result of each call to
/// [`CapabilityProbe::next_call`], until the method returns `None`.
pub struct CapabilityProbe<'a> {
    parameters: &'a ContainerParameters,
    world: &'a dyn World,
    quirks: QuirkMode,
    /// Inode number of this process's user namespace.
    namespace: Option<u64>,
    step: ProbeStep,
    contained: bool,
    may_retry: bool,
    sandbox: bool,
    sif: bool,
    version: RuntimeVersion,
    complaint: BString,
    docker_worked: bool,
    found: Capabilities,
    limit: Duration,
    failure: Option<StartFailure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProbeStep {
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

impl<'a> CapabilityProbe<'a> {
    /// Creates a probe that has made no calls yet.
    pub fn new(
        parameters: &'a ContainerParameters,
        namespace: Option<u64>,
        quirks: QuirkMode,
        world: &'a dyn World,
    ) -> Self {
        CapabilityProbe {
            parameters,
            world,
            quirks,
            namespace,
            step: ProbeStep::Begin,
            contained: true,
            may_retry: false,
            sandbox: false,
            sif: false,
            version: RuntimeVersion::default(),
            complaint: BString::default(),
            docker_worked: false,
            found: Capabilities::new(),
            limit: DEFAULT_TIMEOUT,
            failure: None,
        }
    }

    /// Returns the capabilities. If 25.14 would have exited because of an invalid parameter without printing any
    /// capability, also returns this failure.
    pub fn into_capabilities(self) -> (Capabilities, Option<StartFailure>) {
        (self.found, self.failure)
    }

    /// Returns the next call, or `None` if the probe is complete. `exit` and `output` are the result of the previous
    /// call; `exit` is `None` if the call could not be run.
    pub fn next_call(&mut self, exit: Option<Exit>, output: &[u8]) -> Option<ToolCall> {
        let success = exit == Some(Exit::Code(0));
        match self.step {
            ProbeStep::Begin => self
                .docker_call(ProbeStep::DockerVersion, &["-v"])
                .or_else(|| self.query_singularity_version()),
            ProbeStep::DockerVersion if success && is_docker_version(output) => {
                self.docker_call(ProbeStep::DockerInfo, &["info"])
            }
            ProbeStep::DockerInfo if success => match self.parameters.boolean("DOCKER_PERFORM_TEST") {
                Ok(true) => self.load_test_image(),
                Ok(false) => self.docker_call(ProbeStep::DockerVersionAgain, &["-v"]),
                Err(failure) => self.stop_with_failure(failure),
            },
            // Any output means that docker has loaded the image; 25.14 ignores the exit status.
            ProbeStep::DockerLoad if !output.is_empty() => self.run_test_container(),
            ProbeStep::DockerRun => {
                self.docker_worked = exit == Some(TEST_SUCCESS_EXIT);
                let image = self.text_parameter("DOCKER_TEST_IMAGE_NAME");
                self.docker_test_call(ProbeStep::DockerRemove, &[b"rmi", &image])
            }
            ProbeStep::DockerRemove if self.docker_worked => {
                self.docker_call(ProbeStep::DockerVersionAgain, &["-v"])
            }
            ProbeStep::DockerVersionAgain => {
                self.record_docker(success, output);
                self.query_singularity_version()
            }
            ProbeStep::DockerVersion
            | ProbeStep::DockerInfo
            | ProbeStep::DockerLoad
            | ProbeStep::DockerRemove => self.query_singularity_version(),
            ProbeStep::SingularityVersion if success => {
                self.version = RuntimeVersion::parse(output);
                self.begin_singularity_tests()
            }
            ProbeStep::Sandbox | ProbeStep::Sif | ProbeStep::Namespace => {
                self.on_singularity_test_ended(exit, output)
            }
            ProbeStep::SingularityVersion | ProbeStep::Done => {
                self.step = ProbeStep::Done;
                None
            }
        }
    }

    fn text_parameter(&self, name: &str) -> BString {
        self.parameters.text(name).cloned().unwrap_or_default()
    }

    /// Ends the probe, as 25.14 does after an exception.
    fn stop_with_failure(&mut self, failure: StartFailure) -> Option<ToolCall> {
        self.failure = Some(failure);
        self.step = ProbeStep::Done;
        None
    }

    /// Returns a call of the program in DOCKER, or `None` if the program does not exist.
    fn docker_call(&mut self, step: ProbeStep, words: &[&str]) -> Option<ToolCall> {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        self.docker_test_call(step, &words).map(|call| ToolCall { limit: DEFAULT_TIMEOUT, ..call })
    }

    fn docker_test_call(&mut self, step: ProbeStep, words: &[&[u8]]) -> Option<ToolCall> {
        let parameter = self.parameters.text("DOCKER")?;
        let (mut program, path) = match parameter.strip_prefix(b"sudo ") {
            Some(path) => (vec![BString::from("/usr/bin/sudo")], path.trim_start()),
            None => (Vec::new(), parameter.as_slice()),
        };
        if self.world.stat(path.to_path_lossy().as_ref()).is_err() {
            return None;
        }
        program.push(path.into());
        self.step = step;
        let call = ToolCall::new(&program, words.iter().copied().map(BString::from), ToolAccount::Starter);
        Some(ToolCall { limit: TEST_IMAGE_TIMEOUT, ..call })
    }

    fn load_test_image(&mut self) -> Option<ToolCall> {
        let image = self.text_parameter("DOCKER_TEST_IMAGE_PATH");
        if image.is_empty() || self.text_parameter("DOCKER_TEST_IMAGE_NAME").is_empty() {
            return self.query_singularity_version();
        }
        self.docker_test_call(ProbeStep::DockerLoad, &[b"load", b"-i", &image])
    }

    /// Starts the test container. 25.14 runs the `docker` that is found in PATH.
    fn run_test_container(&mut self) -> Option<ToolCall> {
        let image = self.text_parameter("DOCKER_TEST_IMAGE_NAME");
        let words: [&[u8]; 4] = [b"run", b"--rm=true", &image, b"/exit_37"];
        let mut call = self.docker_test_call(ProbeStep::DockerRun, &words)?;
        if self.quirks.reproduces(Quirk::DockerTestFromPath) {
            call.argv = [&b"docker"[..]].iter().chain(&words).map(|word| BString::from(*word)).collect();
        }
        Some(call)
    }

    fn record_docker(&mut self, success: bool, output: &[u8]) {
        let mut add = |name, value: Value| self.found.push((name, value));
        add("HasDocker", true.into());
        add("HasDockerURL", true.into());
        add("HasContainer", true.into());
        let version = output.lines().next().unwrap_or_default();
        if success && is_docker_version(output) {
            add("DockerVersion", version.into());
            if version.contains_str("20.10.4,") {
                add("HasDocker", false.into());
                add("DockerOfflineReason", "Unsupported Docker Version (20.10.4) detected".into());
            }
        }
    }

    fn query_singularity_version(&mut self) -> Option<ToolCall> {
        self.step = ProbeStep::SingularityVersion;
        let program = self.parameters.text("SINGULARITY").cloned()?;
        if self.world.stat(program.to_path_lossy().as_ref()).is_err() {
            self.step = ProbeStep::Done;
            return None;
        }
        Some(ToolCall::new(&[program], ["--version"], ToolAccount::Starter))
    }

    fn begin_singularity_tests(&mut self) -> Option<ToolCall> {
        let (set, _) = self.parameters.pid_namespaces(self.world);
        self.contained = set.unwrap_or(true);
        self.may_retry = set.is_none();
        match self.parameters.integer("SINGULARITY_TEST_SANDBOX_TIMEOUT") {
            Ok(seconds) => self.limit = Duration::from_secs(u64::try_from(seconds).unwrap_or(0)),
            Err(failure) => return self.stop_with_failure(failure),
        }
        Some(self.singularity_test_call(ProbeStep::Sandbox))
    }

    fn singularity_test_call(&mut self, step: ProbeStep) -> ToolCall {
        self.step = step;
        let (image, command) = match step {
            ProbeStep::Sif => {
                ([self.text_parameter("LIBEXEC").as_slice(), b"/exit_37.sif"].concat(), "/exit_37")
            }
            ProbeStep::Namespace => (self.text_parameter("SINGULARITY_TEST_SANDBOX").into(), "/get_user_ns"),
            _ => (self.text_parameter("SINGULARITY_TEST_SANDBOX").into(), "/exit_37"),
        };
        let contained: &[&str] = if self.contained { &["-C"] } else { &["--contain", "--ipc", "--cleanenv"] };
        let mut words = vec![BString::from("exec")];
        words.extend(contained.iter().map(|word| BString::from(*word)));
        words.extend([BString::from(image), command.into()]);
        ToolCall {
            environment: ToolEnvironment::Explicit(Vec::new()),
            limit: self.limit,
            ..ToolCall::new(&[self.text_parameter("SINGULARITY")], words, ToolAccount::Daemon)
        }
    }

    /// Records the result of a Singularity test. If the first test fails, it is repeated once without PID
    /// namespaces.
    fn on_singularity_test_ended(&mut self, exit: Option<Exit>, output: &[u8]) -> Option<ToolCall> {
        let worked = exit == Some(TEST_SUCCESS_EXIT);
        if !worked {
            let mut lines = output.lines().map(|line| BString::from(first_error_line(line).trim()));
            if let Some(line) = lines.rfind(|line| !line.is_empty()) {
                self.complaint = line;
            }
        }
        match self.step {
            ProbeStep::Sandbox if !worked && self.may_retry => {
                self.may_retry = false;
                self.contained = false;
                Some(self.singularity_test_call(ProbeStep::Sandbox))
            }
            ProbeStep::Sandbox => {
                self.sandbox = worked;
                self.may_retry = false;
                Some(self.singularity_test_call(ProbeStep::Sif))
            }
            ProbeStep::Sif => {
                self.sif = worked;
                Some(self.singularity_test_call(ProbeStep::Namespace))
            }
            _ => {
                let container_namespace =
                    output.lines().next().and_then(|line| line.to_str().ok()?.trim().parse().ok());
                if let (true, Some(own)) = (worked, self.namespace) {
                    let differs = container_namespace.unwrap_or(0u64) != own;
                    self.found.push(("SingularityUserNamespaces", differs.into()));
                }
                self.record_singularity();
                self.step = ProbeStep::Done;
                None
            }
        }
    }

    fn record_singularity(&mut self) {
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
        add("SingularityVersion", self.version.first_line().into());
    }
}

/// Returns true if `docker -v` printed one line of plausible length, and not the version of another program named
/// `docker`.
fn is_docker_version(output: &[u8]) -> bool {
    let mut lines = output.lines();
    let first = lines.next().unwrap_or_default();
    lines.next().is_none() && (16..=1024).contains(&first.len()) && !output.contains_str("Jansens")
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_os::RealWorld;

    /// Runs a probe to its end. `answer` returns the exit code and the output for the arguments of a call.
    fn play(
        parameters: &ContainerParameters,
        answer: impl Fn(&[BString]) -> (u8, &'static str),
    ) -> (Vec<String>, Vec<String>) {
        let world = RealWorld::new();
        let mut probe = CapabilityProbe::new(parameters, Some(7), QuirkMode::Manual, &world);
        let mut calls = Vec::new();
        let (mut exit, mut output) = (None, "");
        while let Some(call) = probe.next_call(exit, output.as_bytes()) {
            let (code, text) = answer(&call.argv);
            calls.push(call.argv[1..].iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
            (exit, output) = (Some(Exit::Code(code)), text);
        }
        let (found, failure) = probe.into_capabilities();
        assert_eq!(failure, None);
        (calls, found.iter().map(|(name, value)| format!("{name} = {}", value.unparse())).collect())
    }

    fn parameters() -> ContainerParameters {
        ContainerParameters::default()
            .with("LIBEXEC", "/le")
            .with("SINGULARITY_TEST_SANDBOX", "/le/box")
            .with("SINGULARITY", "/bin/sh")
    }

    #[test]
    fn a_sandbox_test_is_repeated_without_a_pid_namespace() {
        let (calls, found) = play(&parameters(), |argv| match argv.last().unwrap().as_slice() {
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
        assert_eq!(calls, expected);
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
    fn docker_is_not_available_if_its_test_container_fails() {
        let parameters = ContainerParameters::default()
            .with("DOCKER", "/bin/sh")
            .with("DOCKER_TEST_IMAGE_NAME", "t")
            .with("DOCKER_TEST_IMAGE_PATH", "/le/t");
        let run = |status: u8| {
            play(&parameters, move |argv| match argv[1].as_slice() {
                b"run" => (status, ""),
                b"-v" => (0, "Docker version 26.1.4, build 5650f9b\n"),
                _ => (0, "x\n"),
            })
        };
        let (calls, found) = run(1);
        assert_eq!(calls, ["-v", "info", "load -i /le/t", "run --rm=true t /exit_37", "rmi t"]);
        assert!(found.is_empty());
        let (_, found) = run(37);
        let version = "DockerVersion = \"Docker version 26.1.4, build 5650f9b\"";
        assert_eq!(found, ["HasDocker = true", "HasDockerURL = true", "HasContainer = true", version]);
    }
}
