//! The program that runs jobs: STARTER where somebody names one, else the sibling; and what it says it can do.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use bstr::{BString, ByteSlice};

use super::Cli;
use crate::classad::ClassAd;
use crate::cli::common::Problem;
use crate::config::Config;
use crate::quirks::Quirks;
use crate::runner::slot::StarterProgram;
use crate::world::{Command, World};

/// The sibling program that runs jobs.
const SIBLING: &str = "htc-starter-run";
/// How long another starter may take to say what it can do; 25.14 waits without end.
const PATIENCE: Duration = Duration::from_secs(20);

/// STARTER where a source sets it, else the program beside us.
///
/// # Errors
/// It is missing. 25.14 goes on without one named by STARTER, accepts jobs and loses them, which `--quirks reference` does.
pub(super) fn find(cli: &Cli, config: &Config, world: &dyn World) -> anyhow::Result<StarterProgram> {
    let program = |path: &Path| StarterProgram {
        path: path.to_owned(),
        foreign: path.file_name().is_none_or(|name| name != SIBLING),
    };
    if let Some(path) = &cli.run.starter {
        if !world.may_execute(path) || !path.is_file() {
            let what = if path.is_file() { "cannot be executed" } else { "is no file" };
            return Err(Problem::unreadable(format!("--starter: '{}' {what}", path.display())).into());
        }
        return Ok(program(path));
    }
    if let Some(setting) = config.view(world).string("STARTER").ok().flatten()
        && !setting.origin.is_default()
    {
        let path = setting.value.to_path_lossy();
        if !path.is_file() && cli.quirks.quirks != Quirks::Reference {
            let message = format!("{}: STARTER: there is no file '{}'", setting.origin, path.display());
            return Err(Problem::unreadable(message).into());
        }
        return Ok(program(&path));
    }
    let own = std::env::current_exe().context("cannot find the directory of this program")?;
    let path = own.with_file_name(SIBLING);
    if !path.is_file() {
        let message = format!("'{}', which runs the jobs, is missing", path.display());
        return Err(Problem::unreadable(message)
            .hint("install it beside this program, or set STARTER in the configuration")
            .into());
    }
    Ok(program(&path))
}

/// What a starter that is not ours prints when it is called with `-classad` (`Starter::config`); empty if that cannot be read
/// as an ad, or is nothing. `None` for our own, which is known.
pub(super) fn abilities(starter: &StarterProgram, world: &dyn World) -> Option<ClassAd> {
    if !starter.foreign {
        return None;
    }
    let command = Command {
        argv: vec![BString::from(<[u8]>::from_path(&starter.path)?), "-classad".into()],
        stdin: Vec::new(),
        merge_stderr: false,
        timeout: PATIENCE,
        output_limit: 1 << 20,
    };
    let mut ad = ClassAd::new();
    let Ok(output) = world.run(&command) else { return Some(ad) };
    for line in output.stdout.lines() {
        if ad.insert_line(line).is_err() {
            return Some(ClassAd::new());
        }
    }
    Some(ad)
}
