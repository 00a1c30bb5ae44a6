//! Installs the programs with their man pages and completions:
//! `cargo run --release --example install -- [--prefix DIR] [--destdir DIR] [--links]`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a separate program")]

mod layout;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Parser;

/// Install the programs, their man pages and completions
#[derive(Parser)]
struct Options {
    /// Installation prefix
    #[arg(long, default_value = "/usr/local")]
    prefix: PathBuf,
    /// Root directory below which the prefix is created, for packages
    #[arg(long)]
    destdir: Option<PathBuf>,
    /// Also create links with the names of the condor tools that the programs can replace (condor_config_val
    /// ...)
    #[arg(long)]
    links: bool,
    /// Use the programs in this directory instead of building them
    #[arg(long)]
    programs: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let programs = match options.programs {
        Some(programs) => programs,
        None => layout::build()?,
    };
    let prefix = options.prefix.strip_prefix("/").unwrap_or(&options.prefix);
    let root = match &options.destdir {
        Some(destdir) => destdir.join(prefix),
        None => options.prefix.clone(),
    };
    let files = layout::install(&programs, &root, options.links)
        .with_context(|| format!("installing into '{}'", root.display()))?;
    eprintln!("install: {} files in '{}'", files.len(), root.display());
    let on_path = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|one| one == options.prefix.join("bin")));
    if options.destdir.is_none() && !on_path {
        eprintln!("install: '{}' is not on your PATH", options.prefix.join("bin").display());
    }
    Ok(())
}
