//! State that docker reports for a container that has ended.
//!
//! Reference: `DockerAPI::inspect` of `docker-api.cpp`, `DockerProc::JobReaper` of `docker_proc.cpp`.

use bstr::{BString, ByteSlice};

use super::docker::DockerNames;
use super::tool::ToolCall;
use htc_base::process::Exit;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::world::World;
use htc_classad::{ClassAd, Context, Dialect};

/// Output format with one attribute per line. Only the error may contain arbitrary text, which docker escapes.
const INSPECT_FORMAT: &str = "ContainerId=\"{{.Id}}\"\nPid={{.State.Pid}}\nName=\"{{.Name}}\"\nRunning={{.State.Running}}\n\
                      ExitCode={{.State.ExitCode}}\nStartedAt=\"{{.State.StartedAt}}\"\n\
                      FinishedAt=\"{{.State.FinishedAt}}\"\nDockerError={{json .State.Error}}\n\
                      OOMKilled=\"{{.State.OOMKilled}}\"";

/// Returns the `inspect` call.
pub fn inspect_state_call(names: &DockerNames) -> ToolCall {
    let words = ["inspect", "--format", INSPECT_FORMAT].map(BString::from);
    names.short_call(words.into_iter().chain([names.container.clone()]))
}

/// State of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerState {
    /// True if the container is running; `None` if docker does not report it.
    pub running: Option<bool>,
    /// Exit code as docker reports it. For a signal, it is 128 plus the number of the signal.
    pub code: Option<i64>,
    /// Reason why docker could not run the container; otherwise empty.
    pub error: BString,
    /// True if the kernel killed the container for its memory usage.
    pub out_of_memory: bool,
}

impl ContainerState {
    /// Parses the output of `inspect`. Returns `None` if the output is incomplete.
    pub fn parse(output: &[u8], world: &dyn World) -> Option<Self> {
        let wanted = INSPECT_FORMAT.lines().count();
        let mut ad = ClassAd::new();
        let mut read = 0;
        for line in output.lines().filter(|line| line.contains(&b'=')) {
            if read < wanted {
                ad.insert_line_with(&replace_inner_quotes(line), Dialect::of_world(world)).ok()?;
            }
            read += 1;
        }
        if read < wanted {
            return None;
        }
        let of = || Context::new(world).my(&ad);
        Some(ContainerState {
            running: of().boolean("Running"),
            code: of().int("ExitCode"),
            error: of().string("DockerError").unwrap_or_default(),
            out_of_memory: of().string("OOMKilled").is_some_and(|killed| killed.starts_with(b"true")),
        })
    }

    /// Converts the exit code of the container to the exit of the job. 25.14 treats 255 as signal 127, which does not
    /// exist (quirk `docker-255-is-success`).
    pub fn job_exit(&self, quirks: QuirkMode) -> Option<Exit> {
        let code = self.code?;
        Some(match code {
            255 if quirks.reproduces(Quirk::Docker255IsSuccess) => Exit::Code(0),
            255 => Exit::Code(255),
            129..=254 => Exit::Signal { number: i32::try_from(code - 128).unwrap_or(0), core_dumped: false },
            _ => Exit::Code((code & 0xff) as u8),
        })
    }
}

/// Replaces double quotes inside a quoted value with single quotes, so that they do not end the value.
fn replace_inner_quotes(line: &[u8]) -> BString {
    let mut line = BString::from(line);
    let Some(first) = line.find_byte(b'"') else { return line };
    let last = line.len() - 1;
    for byte in line.iter_mut().take(last).skip(first + 1).filter(|byte| **byte == b'"') {
        *byte = b'\'';
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_os::RealWorld;

    fn answer(code: i64, error: &str, oom: &str) -> String {
        format!(
            "ContainerId=\"f0\"\nPid=0\nName=\"/C\"\nRunning=false\nExitCode={code}\nStartedAt=\"2026\"\n\
             FinishedAt=\"2026\"\nDockerError={error}\nOOMKilled=\"{oom}\"\n"
        )
    }

    #[test]
    fn exit_codes_above_128_are_signals_but_255_is_an_exit_code() {
        let world = RealWorld::new();
        let exit = |code: i64, quirks: QuirkMode| {
            ContainerState::parse(answer(code, "\"\"", "false").as_bytes(), &world)
                .unwrap()
                .job_exit(quirks)
                .unwrap()
        };
        let signal = |number: i32| Exit::Signal { number, core_dumped: false };
        assert_eq!(exit(0, QuirkMode::Manual), Exit::Code(0));
        assert_eq!(exit(128, QuirkMode::Manual), Exit::Code(128));
        assert_eq!(exit(137, QuirkMode::Manual), signal(9));
        assert_eq!(exit(143, QuirkMode::Manual), signal(15));
        assert_eq!(exit(255, QuirkMode::Manual), Exit::Code(255));
        assert_eq!(exit(255, QuirkMode::Reference), Exit::Code(0));
    }

    #[test]
    fn double_quotes_in_dockers_error_become_single_and_short_output_is_invalid() {
        let world = RealWorld::new();
        let text = answer(127, "\"create failed: \\\"x\\\" not found\"", "true");
        let state = ContainerState::parse(text.as_bytes(), &world).unwrap();
        assert_eq!(state.error, "create failed: \\'x\\' not found");
        assert!(state.out_of_memory);
        assert_eq!(ContainerState::parse(b"Running=false\nExitCode=4\n", &world), None);
    }
}
