//! `--classad`: what this starter can do, as a startd asks it.

use std::io::Write;

use anyhow::Context;
use bstr::{BString, ByteSlice};

use super::super::common::{Problem, Session, Status};
use super::configuration::load;
use super::forms::listed;
use super::options::Cli;
use crate::classad::Value;
use crate::config::View;
use crate::runner::hook_environment::DaemonEnvironment;
use crate::runner::starter::{FileTransferKnobs, Probing, condor_identity};
use crate::starter::JavaKnobs;
use crate::starter::container::ContainerKnobs;
use crate::transfer::Plugins;
use crate::world::World;

/// What a starter tells of what it can do (`-classad`): of the reference's list what is true of this one.
pub(super) fn capabilities(cli: &Cli, session: &Session) -> anyhow::Result<Status> {
    let world = cli.clock.world();
    let config = load(cli, false, &world, session)?;
    let view = config.view(&world);
    let flag = |name: &str, usual: bool| match view.boolean(name) {
        Ok(set) => Ok(set.map_or(usual, |setting| setting.value)),
        Err(error) => Err(Problem::unreadable(error.told())),
    };
    let networking = !flag("NO_JOB_NETWORKING", false)?;
    let urls = flag("ENABLE_URL_TRANSFERS", true)?;
    let sshd = view.text("SSH_TO_JOB_SSHD");
    let sshd = sshd.unwrap_or_else(|| "/usr/sbin/sshd".into());
    let has_sshd = world.may_execute(sshd.to_path_lossy().as_ref());
    let mut found = vec![("HasFileTransfer", Value::Bool(true))];
    if urls {
        found.push(("HasJobTransferPlugins", Value::Bool(true)));
    }
    let flags = [
        ("HasJobDeferral", true),
        ("HasTransferInputRemaps", true),
        ("HasSelfCheckpointTransfers", true),
        ("HasOsUser", true),
        ("HasJobNetworking", networking),
        ("HasJICLocalConfig", true),
        ("HasJICLocalStdin", true),
    ];
    found.extend(flags.map(|(name, value)| (name, Value::Bool(value))));
    let knobs = ContainerKnobs::read(&view).map_err(Problem::of_value)?;
    let daemon = if world.effective_uid() == 0 { condor_identity(&view, &world) } else { None };
    let environment = DaemonEnvironment::of_program(&world, &cli.config.choice());
    let probing = Probing::new(&environment, daemon.as_ref(), &world);
    let java_knobs = JavaKnobs::read(&view).map_err(Problem::of_value)?;
    found.extend(probing.java(&java_knobs).context("cannot ask java")?);
    found.push(("HasVM", Value::Bool(false)));
    found.push(("VMOfflineReason", Value::from("virtual machines are only described here, by --dry-run")));
    let asked = probing.capabilities(&knobs, cli.quirks.quirks);
    let (runtimes, failure) = asked.context("cannot ask the runtimes of containers")?;
    if let Some(failure) = failure {
        return Err(Problem::unreadable(failure.reason()).into());
    }
    found.extend(runtimes);
    if urls {
        let methods = plugin_methods(&view, &probing, session, &world)?;
        if !methods.is_empty() {
            found.push(("HasFileTransferPluginMethods", Value::from(methods)));
        }
    }
    let mut text = String::new();
    for (name, value) in found {
        let value = match value {
            Value::Bool(true) => "True".into(),
            Value::Bool(false) => "False".into(),
            other => other.unparse_old(),
        };
        text += &format!("{name} = {value}\n");
    }
    text += &format!("HasSshd = {has_sshd}\n");
    std::io::stdout().write_all(&listed(cli.output.format(), [text.as_bytes()]))?;
    Ok(Status::Tool(0))
}

/// The schemes that the configured transfer plugins know, each asked with `-classad` (`FileTransfer::GetSupportedMethods`).
fn plugin_methods(
    view: &View<'_>,
    probing: &Probing<'_>,
    session: &Session,
    world: &dyn World,
) -> anyhow::Result<BString> {
    let knobs = FileTransferKnobs::read(view, None).map_err(Problem::of_value)?;
    let mut plugins = Plugins::default();
    for path in &knobs.plugins {
        let printed = probing.plugin(path, knobs.ask_limit).context("cannot ask plugins")?;
        let added = printed.and_then(|printed| plugins.add_system(path, &printed, world));
        if let Err(reason) = added {
            session.warn(&format!("the transfer plugin '{path}' is not used: {reason}"));
        }
    }
    Ok(plugins.advertised())
}
