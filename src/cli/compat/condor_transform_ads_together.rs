//! `condor_transform_ads` with several threads: each transforms portions of a stream, which are written in its order.

use std::io::{Empty, Read, Write};
use std::sync::{Mutex, PoisonError};

use super::condor_transform_ads_apply::Tool;
use crate::classad::stream::ReferenceReader;
use crate::os::{Enough, RealWorld, work_off};
use crate::transform::Transform;

/// What became of a portion.
struct Portion {
    text: Vec<u8>,
    told: String,
    /// How the last ad went: the status where it failed.
    last: anyhow::Result<Option<u8>>,
    /// Nothing behind it is read.
    is_last: bool,
}

impl Tool<'_> {
    /// Transforms what is left of a stream of long ads; the status of the last ad.
    pub(super) fn together<R: Read + Send>(
        &self,
        transforms: &[Transform],
        (reader, enough): (ReferenceReader<R>, &Enough),
        threads: usize,
        out: &mut (dyn Write + Send),
    ) -> anyhow::Result<u8> {
        let (like, dealer) = (reader.hand(), reader.dealer());
        // The first ad went well.
        let mut status = Ok(1);
        // What a transform remembers is its own.
        let transforms = Mutex::new(vec![transforms.to_vec(); threads]);
        let (options, config, program) = (self.options, self.config, self.program);
        let worker = || {
            let transforms =
                transforms.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
            let (world, program) = (RealWorld::new().strict(config.is_strict()), program.keeping());
            let work = move |ads: &mut ReferenceReader<Empty>| {
                let view = config.view(&world);
                let tool = Tool { program: &program, options, config, world: &world, view: &view };
                tool.portion(ads, &transforms)
            };
            (like.hand(), work)
        };
        let program = self.program;
        let read = work_off(
            threads,
            |ads| dealer.deal(ads),
            worker,
            |portion: Portion| {
                if !portion.told.is_empty() {
                    program.tell(&portion.told);
                }
                let written = out.write_all(&portion.text);
                status = match (written, portion.last) {
                    (Err(error), _) => Err(error.into()),
                    (Ok(()), Err(error)) => Err(error),
                    (Ok(()), Ok(failed)) => Ok(failed.unwrap_or(1)),
                };
                status.is_ok() && !portion.is_last
            },
            enough,
        );
        read?;
        status
    }

    fn portion(&self, ads: &mut ReferenceReader<Empty>, transforms: &[Transform]) -> Portion {
        let (mut session, mut writer) = (self.session(), self.writer());
        let start = session.macros.mark();
        let (mut text, mut last) = (Vec::new(), Ok(None));
        while let (Ok(Some(mut ad)), Ok(None)) = (ads.next_ad(), &last) {
            last = self.apply_all(transforms, &mut session, &mut ad, (&mut writer, &mut text));
            ads.reuse(ad);
            session.macros.rewind(start);
        }
        let is_last = ads.has_failed() || !matches!(last, Ok(None));
        Portion { text, told: self.program.take(), last, is_last }
    }
}
