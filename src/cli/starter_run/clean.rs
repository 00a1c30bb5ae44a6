//! `--clean`: removes files and processes of killed starters.

use std::io::Write;

use bstr::ByteSlice;

use super::ad_list::render_ad_list;
use super::configuration::load;
use super::options::StarterRunCli;
use super::spool::SpoolDirectory;
use crate::cli::common::{Problem, ProgramContext, Status, stdout};
use crate::config::ValueError;
use crate::runner::shadow::remove_abandoned_credentials;
use crate::runner::starter::{ExecuteCleaner, read_execute_directory};
use crate::starter::container::ContainerParameters;
use crate::starter::volume_group::VolumeGroup;

/// Removes files and processes of killed starters (`--clean`). The exit status is 1 if something could not be removed.
pub(super) fn clean(cli: &StarterRunCli, session: &ProgramContext) -> anyhow::Result<Status> {
    let world = cli.clock.world();
    let config = load(cli, false, &world, session)?;
    let view = config.view(&world);
    let unreadable = |error: ValueError| Problem::unreadable(error.user_message());
    let parameters = ContainerParameters::read(&view).map_err(unreadable)?;
    let group = VolumeGroup::read(&view).map_err(unreadable)?;
    let base =
        view.string("BASE_CGROUP").map_err(unreadable)?.map(|setting| setting.value).unwrap_or_default();
    let execute = read_execute_directory(&view, &std::env::temp_dir(), &world).map_err(unreadable)?;
    let cleaned = ExecuteCleaner::new(&parameters, base, group).clean(&execute, None, false, &world);
    SpoolDirectory::remove_abandoned();
    let ads: Vec<String> =
        cleaned.iter().filter_map(|entry| entry.ad.as_ref()).map(|ad| format!("{ad}\n\n")).collect();
    stdout().write_all(&render_ad_list(cli.output.ad_format(), ads.iter().map(String::as_bytes)))?;
    for entry in &cleaned {
        match entry.remains {
            true => session.warn(&entry.line),
            false => session.write_line(&entry.line),
        }
    }
    let spool =
        view.string("SPOOL").map_err(unreadable)?.map(|setting| setting.value.to_path_lossy().into_owned());
    let removals = spool.map(|spool| remove_abandoned_credentials(&spool)).unwrap_or_default();
    for (directory, result) in &removals {
        let what = format!("the abandoned credentials for SHADOW_PREPARE_JOB, '{}'", directory.display());
        match result {
            Ok(()) => session.write_line(&format!("{what}, are removed")),
            Err(error) => session.warn(&format!("{what}, cannot be removed: {error}")),
        }
    }
    let something_remains =
        cleaned.iter().any(|entry| entry.remains) || removals.iter().any(|(_, result)| result.is_err());
    Ok(if something_remains { Status::No } else { Status::Done })
}
