//! Assumed output of container runtimes, for a dry run in which no runtime is called.

use bstr::{BString, ByteSlice};

use super::tool::ToolCall;
use htc_base::process::Exit;
use htc_base::world::World;
use htc_classad::{ClassAd, Context};

/// Returns the output that a call would have if everything succeeded, no image were present yet, and the container
/// ended with the exit `job`.
///
/// The version in the output is SingularityVersion of the slot ad. If the attribute is missing, the name of the program
/// determines the version. Symbolic links are resolved first, because Apptainer is often called through a link named
/// `singularity`.
pub fn rehearsed_answer(call: &ToolCall, machine: &ClassAd, job: Exit, world: &dyn World) -> Vec<u8> {
    if call.argv.len() == 1 {
        // The call runs the access point's program that produces docker's credentials.
        return b"{\"auths\": {}}".to_vec();
    }
    let last = |from_end: usize| call.argv.iter().rev().nth(from_end).map_or(&b""[..], |word| word);
    if last(0) == b"--version" && call.argv.len() == 2 {
        let version = Context::new(world).my(machine).string("SingularityVersion");
        return version.map_or_else(|| version_from_program_name(&call.argv[0], world).into(), Vec::from);
    }
    if last(1).starts_with(b"ContainerId=") {
        let code = match job {
            Exit::Code(code) => i32::from(code),
            Exit::Signal { number, .. } => 128 + number,
        };
        return last(1)
            .lines()
            .flat_map(|line| {
                let (name, _) = line.split_once_str("=").unwrap_or((line, b""));
                let value = match name {
                    b"Running" => "false".to_owned(),
                    b"ExitCode" => code.to_string(),
                    b"Pid" => "0".to_owned(),
                    b"OOMKilled" => "\"false\"".to_owned(),
                    _ => "\"\"".to_owned(),
                };
                [name, b"=", value.as_bytes(), b"\n"].concat()
            })
            .collect();
    }
    Vec::new()
}

fn version_from_program_name(program: &BString, world: &dyn World) -> &'static str {
    let path = program.to_path_lossy();
    let real = world.real_path(path.as_ref()).unwrap_or_else(|_| path.into_owned());
    match real.file_name().is_some_and(|name| name.to_string_lossy().starts_with("singularity")) {
        true => "singularity",
        false => "apptainer",
    }
}
