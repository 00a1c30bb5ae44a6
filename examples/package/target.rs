//! The systems for which packages are created, and the build of the programs for them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use clap::ValueEnum;

use crate::layout;

/// Oldest C library that packaged programs may need: that of Enterprise Linux 8.
pub(crate) const OLDEST_GLIBC: Version = Version(2, 28);

/// Processor architecture of a package
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Arch {
    #[value(name = "x86_64")]
    X86_64,
    #[value(name = "aarch64")]
    Aarch64,
}

/// C library of the programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Libc {
    /// The shared C library of the system
    Glibc,
    /// musl, linked statically
    Musl,
}

/// Version of the C library, `2.28`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Version(pub(crate) u32, pub(crate) u32);

/// System for which programs are built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    pub(crate) arch: Arch,
    pub(crate) libc: Libc,
}

impl Arch {
    /// Returns the architecture that this program was compiled for, or `None` if no package is made for it.
    pub(crate) fn of_this_machine() -> Option<Self> {
        Self::value_variants().iter().copied().find(|arch| arch.name() == std::env::consts::ARCH)
    }

    /// Returns the name that the kernel, rpm and Rust use.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// Returns the name that Debian and container images use.
    pub(crate) fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl Target {
    /// Returns the name of the target for Rust. The names of archives contain it, so that `cargo binstall` finds them.
    pub(crate) fn triple(self) -> String {
        let libc = match self.libc {
            Libc::Glibc => "gnu",
            Libc::Musl => "musl",
        };
        format!("{}-unknown-linux-{libc}", self.arch.name())
    }

    /// Builds the programs with zig's compiler and linker, which have the symbols of every version of the C library, and
    /// returns their directory.
    pub(crate) fn build(self) -> anyhow::Result<PathBuf> {
        self.check_standard_library()?;
        let target = match self.libc {
            Libc::Glibc => format!("{}.{OLDEST_GLIBC}", self.triple()),
            Libc::Musl => self.triple(),
        };
        let result = Command::new("cargo-zigbuild")
            .args(["zigbuild", "--release", "--bins", "--locked", "--target", &target])
            .arg("--message-format=json-render-diagnostics")
            .current_dir(layout::source())
            .stderr(Stdio::inherit())
            .output();
        let output = match result {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(
                "cargo-zigbuild is not on PATH\nhint: python3 -m venv zig && zig/bin/pip install cargo-zigbuild ziglang && \
                 PATH=$PWD/zig/bin:$PATH; or --native, for systems with this machine's C library"
            ),
            other => other.context("cargo-zigbuild")?,
        };
        ensure!(output.status.success(), "the build for {target} failed");
        layout::directory_of_programs(&output.stdout)
    }

    /// Returns an error if the compiler has no standard library for the target. Without this check, the build of each
    /// dependency would print one.
    fn check_standard_library(self) -> anyhow::Result<()> {
        let triple = self.triple();
        let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let output = Command::new(compiler)
            .args(["--print", "target-libdir", "--target", &triple])
            .current_dir(layout::source())
            .output()
            .context("rustc")?;
        let directory = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let has_library = std::fs::read_dir(Path::new(&directory)).is_ok_and(|entries| {
            entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
        });
        ensure!(
            output.status.success() && has_library,
            "the Rust compiler has no standard library for {triple}\nhint: rustup target add {triple}"
        );
        Ok(())
    }
}
