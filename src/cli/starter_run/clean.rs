//! `--clean`: what starters that were killed have left goes.

use std::io::Write;

use bstr::ByteSlice;

use super::configuration::load;
use super::forms::listed;
use super::options::Cli;
use super::spool::Spool;
use crate::cli::common::{Problem, Session, Status, stdout};
use crate::config::ValueError;
use crate::runner::shadow::clean_credentials;
use crate::runner::starter::{Cleaner, execute};
use crate::starter::container::ContainerKnobs;
use crate::starter::volume_group::VolumeGroup;

/// Removes what starters that were killed have left (`--clean`): 1 where something stays.
pub(super) fn clean(cli: &Cli, session: &Session) -> anyhow::Result<Status> {
    let world = cli.clock.world();
    let config = load(cli, false, &world, session)?;
    let view = config.view(&world);
    let unreadable = |error: ValueError| Problem::unreadable(error.told());
    let knobs = ContainerKnobs::read(&view).map_err(unreadable)?;
    let group = VolumeGroup::read(&view).map_err(unreadable)?;
    let base =
        view.string("BASE_CGROUP").map_err(unreadable)?.map(|setting| setting.value).unwrap_or_default();
    let execute = execute(&view, &std::env::temp_dir(), &world).map_err(unreadable)?;
    let cleaned = Cleaner::new(&knobs, base, group).clean(&execute, None, false, &world);
    Spool::remove_abandoned();
    let ads: Vec<String> =
        cleaned.iter().filter_map(|one| one.ad.as_ref()).map(|ad| format!("{ad}\n")).collect();
    stdout().write_all(&listed(cli.output.format(), ads.iter().map(String::as_bytes)))?;
    for one in &cleaned {
        match one.stays {
            true => session.warn(&one.line),
            false => session.say(&one.line),
        }
    }
    let spool =
        view.string("SPOOL").map_err(unreadable)?.map(|setting| setting.value.to_path_lossy().into_owned());
    let of_hooks = spool.map(|spool| clean_credentials(&spool)).unwrap_or_default();
    for (directory, gone) in &of_hooks {
        let what = format!("the credentials of a SHADOW_PREPARE_JOB, '{}'", directory.display());
        match gone {
            Ok(()) => session.say(&format!("{what}, are removed")),
            Err(error) => session.warn(&format!("{what}, cannot be removed: {error}")),
        }
    }
    let stays = cleaned.iter().any(|one| one.stays) || of_hooks.iter().any(|(_, gone)| gone.is_err());
    Ok(if stays { Status::No } else { Status::Done })
}
