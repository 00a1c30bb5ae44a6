//! System programs that manage file systems on files, and logical volumes. They are run one at a time.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use super::job_child;
use super::probe::RuntimeProbe;
use htc_base::process::Exit;
use htc_os::RealWorld;
use htc_starter::container::ToolCall;

/// Runs a command, given as the name of a program and its arguments, as [`run`] does.
pub(super) fn run_command(words: &[BString]) -> Result<BString, String> {
    let Some((program, words)) = words.split_first() else { return Ok(BString::default()) };
    run(&program.to_str_lossy(), words.iter().cloned())
}

/// Returns the path of a system program.
pub(super) fn path_of(program: &str, world: &RealWorld) -> Result<PathBuf, String> {
    // These programs are in directories of root's PATH, which the PATH of a service may lack.
    let place = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].iter().map(|place| Path::new(place).join(program));
    let of_system = || place.into_iter().find(|path| path.exists());
    job_child::find_program(&program.into(), world)
        .or_else(of_system)
        .ok_or_else(|| format!("there is no {program}"))
}

/// Runs a program of the system and returns what it printed.
pub(super) fn run(program: &str, words: impl IntoIterator<Item = BString>) -> Result<BString, String> {
    let world = RealWorld::new();
    let path = path_of(program, &world)?;
    let call = ToolCall::for_system_program(BString::from(path.as_os_str().as_bytes()), words);
    match RuntimeProbe::with_own_environment(&world).run_single_query(&call) {
        Ok((Some(Exit::Code(0)), output)) => Ok(output.into()),
        Ok((Some(exit), output)) => Err(format!("{program} {exit}: {}", output.trim().as_bstr())),
        Ok((None, _)) => Err(format!("{program} cannot be executed")),
        Err(error) => Err(format!("{program}: {error}")),
    }
}
