//! `condor_transform_ads` for one ad: applies all transforms and writes the result.

use std::io::Write;
use std::path::Path;

use bstr::{BStr, BString};

use super::condor_transform_ads_options::TransformAdsOptions;
use crate::classad::ClassAd;
use crate::classad::format::list::{AttributeOrder, ListWriter};
use crate::cli::common::{ProgramContext, Status, stdout};
use crate::cli::transform_report::{self as report, VerboseObserver};
use crate::config::{Config, ConfigView};
use crate::quirks::QuirkMode;
use crate::transform::{Transform, TransformSession};
use crate::world::World;

/// The tool `condor_transform_ads` with its command line and configuration.
pub(super) struct TransformAdsTool<'a> {
    pub(super) program: &'a ProgramContext,
    pub(super) options: &'a TransformAdsOptions,
    pub(super) config: &'a Config,
    pub(super) world: &'a dyn World,
    pub(super) view: &'a ConfigView<'a>,
}

impl TransformAdsTool<'_> {
    /// Prints a line that begins with the name of the tool.
    pub(super) fn print_line(&self, text: &str) {
        self.program.write_line(text);
    }

    /// Returns the file of `-out`, or `None` for standard output.
    pub(super) fn output_path(&self) -> Option<&Path> {
        self.options.out.as_deref().filter(|name| *name != "-").map(Path::new)
    }

    pub(super) fn new_writer(&self) -> ListWriter {
        let order = if self.options.no_sort { AttributeOrder::Internal } else { AttributeOrder::Sorted };
        ListWriter::new(self.options.out_form, order)
    }

    pub(super) fn new_session(&self) -> TransformSession<'_> {
        let mut session = TransformSession::new(self.world, Some(self.view));
        session.quirks = QuirkMode::Reference;
        for (name, value) in &self.options.macros {
            session.macros.set(name, value.clone());
        }
        session.macros.commit();
        session
    }

    /// Applies all transforms to one ad, and writes the ad. After a failure, later transforms are still applied. Returns the exit
    /// status of the last transform that failed.
    pub(super) fn apply_all(
        &self,
        transforms: &[Transform],
        session: &mut TransformSession<'_>,
        ad: &mut ClassAd,
        writer: &mut ListWriter,
        out: &mut dyn Write,
    ) -> anyhow::Result<Option<u8>> {
        let mut failed = None;
        let mut observer = VerboseObserver::new(self.program, self.options.verbose);
        for transform in transforms {
            let applies = session.meets_requirements(transform, ad);
            if self.options.verbose {
                let skipped = if applies { "" } else { "Skipped" };
                self.program.write_stderr(&format!("#   Transform {} {skipped}\n", transform.name));
            }
            if !applies {
                continue;
            }
            if let Err(failure) = session.apply(transform, ad, &mut observer) {
                let status = if failure.reason.is_too_deep() { TOO_DEEP_STATUS } else { FAILED_STATUS };
                self.program.report(&report::problem_from_failure(&failure, Status::Tool(status)));
                failed = Some(status);
            }
        }
        let steps = observer.take_lines();
        match self.output_path() {
            // Steps go to standard output, even if the ads go to a file.
            Some(_) => stdout().write_all(&steps)?,
            None => out.write_all(&steps)?,
        }
        if failed.is_none() && !self.options.silent {
            if !self.options.no_sort {
                drop_shadowed(ad);
            }
            let text = writer.render_next(ad);
            // The reference prints an ad only up to a NUL byte, which `SET X, 1` creates.
            let end = memchr::memchr(0, text).unwrap_or(text.len());
            out.write_all(&text[..end])?;
        }
        Ok(failed)
    }
}

/// Exit status after a failed transform.
pub(super) const FAILED_STATUS: u8 = 255;

/// Exit status if includes are nested too deeply. It is the number of this error.
const TOO_DEEP_STATUS: u8 = 254;

/// Removes each attribute whose name, up to the NUL byte that `SET X, 1` creates, equals another name. The reference sorts names
/// as C strings and keeps only one of equal names.
fn drop_shadowed(ad: &mut ClassAd) {
    let is_shadowed = |name: &&BStr| name.strip_suffix(b"\0").is_some_and(|plain| ad.contains(plain));
    let shadowed: Vec<BString> = ad.names().filter(is_shadowed).map(BString::from).collect();
    for name in shadowed {
        ad.remove(&name);
    }
}
