//! Streams of long ads that several threads transform by portions, which are written and told of in their order.

use std::io::{Empty, Read, Write};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;

use super::options::Arguments;
use super::out::Out;
use super::run::Run;
use super::watch::{Note, Watch};
use crate::classad::stream::AdReader;
use crate::cli::common::{Problem, Session as Program};
use crate::config::Config;
use crate::os::{Enough, SharedMaps, work_off};
use crate::transform::Transform;

/// What became of a portion. Lines and ads are counted from its beginning.
struct Portion {
    text: Vec<u8>,
    notes: Vec<Note>,
    lines: u64,
    number: u64,
    failed: usize,
    malformed: usize,
    broken: usize,
    failure: Option<anyhow::Error>,
}

impl<W: Write + Send> Run<'_, W> {
    /// Transforms all of a stream of long ads.
    pub(super) fn together<R: Read + Send>(
        &mut self,
        reader: AdReader<R>,
        threads: usize,
        enough: &Enough,
    ) -> anyhow::Result<()> {
        let (like, dealer) = (reader.hand(), reader.dealer());
        let parts = Parts {
            program: self.program,
            arguments: self.arguments,
            config: self.config,
            maps: &self.maps.clone(),
        };
        // What a transform remembers is its own.
        let transforms = Mutex::new(vec![self.transforms.to_vec(); threads]);
        let worker = || {
            let mut transforms =
                transforms.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
            (like.hand(), move |ads: &mut _| parts.portion(ads, &mut transforms))
        };
        let problem = Problem::cannot_read(&self.observer.input);
        let (mut failure, mut lines) = (None, 0);
        let whole = work_off(
            threads,
            |hand| dealer.deal(hand),
            worker,
            |portion: Portion| {
                let until = lines + portion.lines;
                failure = self.add(portion, lines).err();
                lines = until;
                failure.is_none()
            },
            enough,
        );
        failure.map_or_else(|| whole.context(problem), Err)
    }

    /// Writes and tells what a portion gave that begins behind so many lines.
    fn add(&mut self, portion: Portion, lines: u64) -> anyhow::Result<()> {
        self.out.write_all(&portion.text).context("cannot write the output")?;
        for note in portion.notes {
            self.observer.add(note, lines, self.number)?;
        }
        self.number += portion.number;
        self.failed += portion.failed;
        self.malformed += portion.malformed;
        self.observer.broken += portion.broken;
        portion.failure.map_or(Ok(()), Err)
    }
}

/// What every thread works with.
#[derive(Clone, Copy)]
struct Parts<'a> {
    program: &'a Program,
    arguments: &'a Arguments,
    config: Option<&'a Config>,
    maps: &'a SharedMaps,
}

impl Parts<'_> {
    fn portion(&self, ads: &mut AdReader<Empty>, transforms: &mut [Transform]) -> Portion {
        let Parts { program, arguments, config, maps } = *self;
        let world = arguments.world_with(config, maps.clone());
        let view = config.map(|config| config.view(&world));
        let mut run = Run {
            program,
            arguments,
            config,
            maps: maps.clone(),
            transforms,
            plan: None,
            writer: Out::new(arguments),
            out: Vec::new(),
            observer: Watch::new(arguments, program).keeping(),
            number: 0,
            failed: 0,
            malformed: 0,
        };
        let failure = run.all(ads, &mut arguments.session(&world, view.as_ref())).err();
        let notes = run.observer.take_notes();
        let (number, failed, malformed, broken) =
            (run.number, run.failed, run.malformed, run.observer.broken);
        Portion { text: run.out, notes, lines: ads.lines(), number, failed, malformed, broken, failure }
    }
}
