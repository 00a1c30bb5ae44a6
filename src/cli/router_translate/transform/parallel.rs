//! Transformation of streams of long ads by several threads. Each thread transforms portions of the stream; output and
//! messages have the order of the stream.

use std::io::{Empty, Read, Write};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;

use super::options::TransformArguments;
use super::run::AdTransformer;
use super::transform_output::TransformOutput;
use super::transform_reporter::{TransformNote, TransformReporter};
use crate::classad::stream::AdReader;
use crate::cli::common::{AdSelection, OutputFindings, Problem, ProgramContext};
use crate::config::Config;
use crate::os::{SharedUserMaps, StopFlag, process_in_parallel};
use crate::transform::Transform;

/// Result of transforming a portion. Lines and ads are counted from its beginning.
struct TransformPortion {
    text: Vec<u8>,
    notes: Vec<TransformNote>,
    found: OutputFindings,
    written: u64,
    lines: u64,
    number: u64,
    failed: usize,
    undecided: usize,
    malformed: usize,
    wrong_kind: Option<(usize, Problem)>,
    broken: usize,
    failure: Option<anyhow::Error>,
}

impl<W: Write + Send> AdTransformer<'_, W> {
    /// Transforms all ads of a stream of long ads.
    pub(super) fn transform_in_parallel<R: Read + Send>(
        &mut self,
        reader: AdReader<R>,
        threads: usize,
        stop_flag: &StopFlag,
    ) -> anyhow::Result<()> {
        let (prototype, batcher) = (reader.batch_reader(), reader.into_batcher());
        let input = self.observer.input.clone();
        let parts = WorkerInputs {
            input: &input,
            program: self.program,
            arguments: self.arguments,
            config: self.config,
            maps: &self.maps.clone(),
        };
        // Each thread has its own copy, because a transform keeps state.
        let transforms = Mutex::new(vec![self.transforms.to_vec(); threads]);
        let worker = || {
            let mut transforms =
                transforms.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
            (prototype.batch_reader(), move |ads: &mut _| parts.transform_portion(ads, &mut transforms))
        };
        let problem = Problem::cannot_read(&self.observer.input);
        let (mut failure, mut lines) = (None, 0);
        let result = process_in_parallel(
            threads,
            |batch_reader| batcher.next_batch(batch_reader),
            worker,
            |portion: TransformPortion| {
                let end = lines + portion.lines;
                failure = self.add_portion(portion, lines).err();
                lines = end;
                failure.is_none()
            },
            stop_flag,
        );
        failure.map_or_else(|| result.context(problem), Err)
    }

    /// Writes the output and messages of a portion that begins after `lines` lines.
    fn add_portion(&mut self, portion: TransformPortion, lines: u64) -> anyhow::Result<()> {
        if let (0, Some((count, problem))) = (self.number, portion.wrong_kind) {
            for note in portion.notes.into_iter().take(count) {
                self.observer.add_notes(note, lines, self.number)?;
            }
            return Err(problem.into());
        }
        self.out.write_all(&portion.text).context("cannot write the output")?;
        for note in portion.notes {
            self.observer.add_notes(note, lines, self.number)?;
        }
        self.found.add_part(portion.found, self.written);
        self.written += portion.written;
        self.number += portion.number;
        self.failed += portion.failed;
        self.undecided += portion.undecided;
        self.malformed += portion.malformed;
        self.observer.broken += portion.broken;
        portion.failure.map_or(Ok(()), Err)
    }
}

/// Inputs that all threads share.
#[derive(Clone, Copy)]
struct WorkerInputs<'a> {
    /// Name of the input in messages.
    input: &'a str,
    program: &'a ProgramContext,
    arguments: &'a TransformArguments,
    config: Option<&'a Config>,
    maps: &'a SharedUserMaps,
}

impl WorkerInputs<'_> {
    fn transform_portion(&self, ads: &mut AdReader<Empty>, transforms: &mut [Transform]) -> TransformPortion {
        let WorkerInputs { input, program, arguments, config, maps } = *self;
        let world = arguments.make_thread_world(config, maps.clone());
        let view = config.map(|config| config.view(&world));
        let mut run = AdTransformer {
            program,
            arguments,
            config,
            maps: maps.clone(),
            transforms,
            plan: None,
            selection: AdSelection::all(),
            waiting: Vec::new(),
            writer: TransformOutput::new(arguments),
            out: Vec::new(),
            observer: TransformReporter::new(arguments, program).with_kept_notes(),
            number: 0,
            failed: 0,
            undecided: 0,
            malformed: 0,
            wrong_kind: None,
            found: OutputFindings::default(),
            written: 0,
        };
        run.observer.input = input.to_owned();
        let failure = run.transform_all(ads, &mut arguments.new_session(&world, view.as_ref())).err();
        let notes = run.observer.take_notes();
        let (number, failed, malformed, broken) =
            (run.number, run.failed, run.malformed, run.observer.broken);
        let undecided = run.undecided;
        let (found, written) = (run.writer.findings(), run.writer.ads_written());
        TransformPortion {
            found,
            written,
            text: run.out,
            notes,
            lines: ads.lines_read(),
            number,
            failed,
            undecided,
            malformed,
            wrong_kind: run.wrong_kind,
            broken,
            failure,
        }
    }
}
