//! Ads that `condor_q` reads from files.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;

use crate::classad::stream::{AdForm, Delimiter, Projection, ReferenceReader};
use crate::classad::{ClassAd, Context, Expr};
use crate::cli::common::{OpenInput, ProgramContext, open_stdio_pipe};
use crate::world::World;

/// Opens a file of ads, which may be compressed, or standard input.
pub(super) fn open_ads(file: &OsStr, session: &ProgramContext) -> Option<Box<dyn Read>> {
    if file == "-" {
        return Some(Box::new(io::stdin()));
    }
    // The reference prints nothing for a compressed file.
    match OpenInput::open_raw(Path::new(file), open_stdio_pipe().0) {
        Ok(input) => Some(input.into_exact_reader()),
        Err(_) => {
            session.write_stderr(&format!("Can't open file of ClassAds: {}\n", file.to_string_lossy()));
            None
        }
    }
}

/// Ads of a file. With a projection, only some of their attributes are read.
pub(super) struct AdSource {
    reader: ReferenceReader<Box<dyn Read>>,
    projection: Option<Projection>,
}

impl AdSource {
    /// Creates a source of jobs.
    pub(super) fn of_jobs(read: Box<dyn Read>, form: Option<AdForm>, projection: Option<Projection>) -> Self {
        AdSource { reader: ReferenceReader::new(read, form, Delimiter::Queue), projection }
    }

    /// Creates a source of whole ads that are separated by blank lines.
    pub(super) fn of_slots(read: Box<dyn Read>, form: Option<AdForm>) -> Self {
        AdSource { reader: ReferenceReader::new(read, form, Delimiter::Blank), projection: None }
    }

    /// Calls a function with each ad that a constraint keeps. An ad that cannot be read ends the list without a
    /// message, as in the reference.
    pub(super) fn for_each(
        &mut self,
        constraint: Option<&Expr>,
        world: &dyn World,
        mut add: impl FnMut(ClassAd),
    ) {
        let mut ad = ClassAd::new();
        while self.read_next(&mut ad) {
            if keeps_ad(constraint, &ad, world) {
                add(std::mem::take(&mut ad));
            } else {
                self.reuse(&mut ad);
            }
        }
    }

    /// Reads the next ad. Returns false at the end, or if the ad cannot be read.
    pub(super) fn read_next(&mut self, ad: &mut ClassAd) -> bool {
        let result = match &mut self.projection {
            Some(projection) => self.reader.next_projected(projection, ad),
            None => self.reader.next_ad().map(|next| next.map(|next| *ad = next).is_some()),
        };
        matches!(result, Ok(true))
    }

    /// Takes back an ad that is no longer needed, to reuse its memory.
    pub(super) fn reuse(&mut self, ad: &mut ClassAd) {
        if self.projection.is_none() {
            self.reader.reuse(std::mem::take(ad));
        }
    }
}

/// Returns true if the reference keeps an ad: the constraint is true, or its evaluation fails.
pub(super) fn keeps_ad(constraint: Option<&Expr>, ad: &ClassAd, world: &dyn World) -> bool {
    let Some(constraint) = constraint else { return true };
    Context::new(world).my(ad).try_eval(constraint).is_none_or(|value| value.truth() == Some(true))
}
