//! `htc-hook-test init`: prints a first suite for a hook.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::common::{Problem, Status, stdout};
use crate::hook_testing::{guess_hook_type, suite_template};

/// Options of `init`.
#[derive(Args, Clone, Debug)]
pub(super) struct InitArgs {
    /// Path of the hook or cron job
    #[arg(value_name = "HOOK")]
    pub hook: PathBuf,
    /// Write cases for this type, such as prepare or startd-cron [default: guessed from the name]
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
}

/// Prints a first suite for a hook.
pub(super) fn print_first_suite(args: &InitArgs) -> anyhow::Result<Status> {
    let name = args.hook.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let Some(kind) = args.kind.as_deref().or_else(|| guess_hook_type(&name)) else {
        let message = format!("cannot tell the hook type from the name '{}'", args.hook.display());
        return Err(Problem::usage(message).hint("give the type, for example --type prepare").into());
    };
    let hook_path = args.hook.display().to_string();
    let text = suite_template(kind, &hook_path, &path_from_suite(&args.hook))
        .ok_or_else(|| Problem::usage(format!("unknown hook type '{kind}'")))?;
    stdout().write_all(text.as_bytes())?;
    Ok(Status::Done)
}

/// Returns the path of the hook relative to the directory of the suite. The suite is in the directory of the file to
/// which standard output is redirected, otherwise in the current directory.
fn path_from_suite(hook: &Path) -> String {
    let absolute_path = std::path::absolute(hook).unwrap_or_else(|_| hook.to_owned());
    let output_file = std::fs::read_link("/proc/self/fd/1").ok().filter(|path| path.is_file());
    let suite_directory = output_file
        .as_deref()
        .and_then(Path::parent)
        .map(Path::to_owned)
        .or_else(|| std::env::current_dir().ok());
    let Some(suite_directory) = suite_directory else { return absolute_path.display().to_string() };
    let (mut from, mut to) = (suite_directory.components().peekable(), absolute_path.components().peekable());
    while from.peek().is_some() && from.peek() == to.peek() {
        from.next();
        to.next();
    }
    let up = from.map(|_| std::path::Component::ParentDir);
    up.chain(to).collect::<PathBuf>().display().to_string()
}
