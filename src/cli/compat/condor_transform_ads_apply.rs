//! `condor_transform_ads` at one ad: all transforms are applied to it, and it is written.

use std::io::Write;
use std::path::Path;

use bstr::{BStr, BString};

use super::condor_transform_ads_words::Options;
use crate::classad::ClassAd;
use crate::classad::format::list::{ListWriter, Order};
use crate::cli::common::{Session as Program, Status, stdout};
use crate::cli::transform_report::{self as report, Verbose};
use crate::config::{Config, View};
use crate::quirks::Quirks;
use crate::transform::{Session, Transform};
use crate::world::World;

/// The tool with its command line and what that refers to.
pub(super) struct Tool<'a> {
    pub(super) program: &'a Program,
    pub(super) options: &'a Options,
    pub(super) config: &'a Config,
    pub(super) world: &'a dyn World,
    pub(super) view: &'a View<'a>,
}

impl Tool<'_> {
    /// Says something in the name of the tool.
    pub(super) fn tell(&self, text: &str) {
        self.program.say(text);
    }

    /// The file that `-out` names.
    pub(super) fn out(&self) -> Option<&Path> {
        self.options.out.as_deref().filter(|name| *name != "-").map(Path::new)
    }

    pub(super) fn writer(&self) -> ListWriter {
        let order = if self.options.no_sort { Order::Internal } else { Order::Sorted };
        ListWriter::new(self.options.out_form, order)
    }

    pub(super) fn session(&self) -> Session<'_> {
        let mut session = Session::new(self.world, Some(self.view));
        session.quirks = Quirks::Reference;
        for (name, value) in &self.options.macros {
            session.macros.set(name, value.clone());
        }
        session.macros.commit();
        session
    }

    /// Applies all transforms to one ad and writes it; the status of the last one that failed, which does not keep the next from
    /// being applied.
    pub(super) fn apply_all(
        &self,
        transforms: &[Transform],
        session: &mut Session<'_>,
        ad: &mut ClassAd,
        (writer, out): (&mut ListWriter, &mut dyn Write),
    ) -> anyhow::Result<Option<u8>> {
        let mut failed = None;
        let mut observer = Verbose::new(self.program, self.options.verbose);
        for transform in transforms {
            let applies = session.matches(transform, ad);
            if self.options.verbose {
                let skipped = if applies { "" } else { "Skipped" };
                self.program.tell(&format!("#   Transform {} {skipped}\n", transform.name));
            }
            if !applies {
                continue;
            }
            if let Err(failure) = session.apply(transform, ad, &mut observer) {
                let status = if failure.reason.is_too_deep() { TOO_DEEP } else { FAILED };
                self.program.report(&report::failure(&failure, Status::Tool(status)));
                failed = Some(status);
            }
        }
        let steps = observer.take();
        match self.out() {
            // The steps go to standard output, wherever the ads go.
            Some(_) => stdout().write_all(&steps)?,
            None => out.write_all(&steps)?,
        }
        if failed.is_none() && !self.options.silent {
            if !self.options.no_sort {
                drop_shadowed(ad);
            }
            let text = writer.text(ad);
            // The reference prints up to a NUL byte, which `SET X, 1` makes.
            let end = memchr::memchr(0, text).unwrap_or(text.len());
            out.write_all(&text[..end])?;
        }
        Ok(failed)
    }
}

/// The status of a transform that failed.
pub(super) const FAILED: u8 = 255;

/// The status where includes are nested too deep: the number of that mistake passes through to the end.
const TOO_DEEP: u8 = 254;

/// Takes out the attributes whose name up to the NUL byte that `SET X, 1` makes is another one's: the reference sorts names as
/// C strings and keeps one of each.
fn drop_shadowed(ad: &mut ClassAd) {
    let is_shadowed = |name: &&BStr| name.strip_suffix(b"\0").is_some_and(|plain| ad.contains(plain));
    let shadowed: Vec<BString> = ad.names().filter(is_shadowed).map(BString::from).collect();
    for name in shadowed {
        ad.remove(&name);
    }
}
