//! `condor_transform_ads` with several threads. Each thread transforms portions of a stream; the portions are written in their
//! order.

use std::io::{Empty, Read, Write};
use std::sync::{Mutex, PoisonError};

use super::condor_transform_ads_apply::TransformAdsTool;
use crate::classad::stream::ReferenceReader;
use crate::os::{RealWorld, StopFlag, process_in_parallel};
use crate::transform::Transform;

/// Result of transforming one portion of the stream.
struct TransformedPortion {
    text: Vec<u8>,
    messages: String,
    /// Result of the last ad: an exit status if a transform failed, otherwise `None`.
    last: anyhow::Result<Option<u8>>,
    /// True if reading must stop after this portion.
    is_last: bool,
}

impl TransformAdsTool<'_> {
    /// Transforms the rest of a stream of long ads, and returns the exit status of the last ad.
    pub(super) fn transform_in_parallel<R: Read + Send>(
        &self,
        transforms: &[Transform],
        reader: ReferenceReader<R>,
        enough: &StopFlag,
        threads: usize,
        out: &mut (dyn Write + Send),
    ) -> anyhow::Result<u8> {
        let (batch_reader, batcher) = (reader.batch_reader(), reader.into_batcher());
        // The caller has transformed the first ad successfully.
        let mut status = Ok(1);
        // Each thread has its own copy, because a transform keeps state.
        let transforms = Mutex::new(vec![transforms.to_vec(); threads]);
        let (options, config, program) = (self.options, self.config, self.program);
        let worker = || {
            let transforms =
                transforms.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
            let (world, program) =
                (RealWorld::new().with_strict_mode(config.is_strict()), program.with_kept_messages());
            let work = move |ads: &mut ReferenceReader<Empty>| {
                let view = config.view(&world);
                let tool =
                    TransformAdsTool { program: &program, options, config, world: &world, view: &view };
                tool.transform_portion(ads, &transforms)
            };
            (batch_reader.batch_reader(), work)
        };
        let program = self.program;
        let read_result = process_in_parallel(
            threads,
            |ads| batcher.next_batch(ads),
            worker,
            |portion: TransformedPortion| {
                if !portion.messages.is_empty() {
                    program.write_stderr(&portion.messages);
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
        read_result?;
        status
    }

    fn transform_portion(
        &self,
        ads: &mut ReferenceReader<Empty>,
        transforms: &[Transform],
    ) -> TransformedPortion {
        let (mut session, mut writer) = (self.new_session(), self.new_writer());
        let start = session.macros.mark();
        let (mut text, mut last) = (Vec::new(), Ok(None));
        while let (Ok(Some(mut ad)), Ok(None)) = (ads.next_ad(), &last) {
            last = self.apply_all(transforms, &mut session, &mut ad, &mut writer, &mut text);
            ads.reuse(ad);
            session.macros.rewind(start);
        }
        let is_last = ads.has_failed() || !matches!(last, Ok(None));
        TransformedPortion { text, messages: self.program.take_messages(), last, is_last }
    }
}
