//! What docker's images of jobs take on the disk, asked as time passes (`compute_for_update` of `ResAttributes.cpp`,
//! `imageCacheUsed` of `docker-api.cpp`).
//!
//! 25.14 waits for docker meanwhile, here nobody does. It asks for the times of tags too, of which nothing is made.

use std::time::Duration;

use super::live::Live;
use crate::os::{ChildId, Whom, clock};
use crate::process::{ChildSpec, Exit, Session, Stdio};
use crate::runner::starter::tool_path;
use crate::slot::Event;
use crate::starter::container::{all_images_call, cached_mib, docker_words, parse_images};
use crate::time::Tick;

/// How long docker may take (`default_timeout`).
const PATIENCE: Duration = Duration::from_secs(120);
/// How much of its answer is read, in bytes.
const OUTPUT_LIMIT: usize = 1 << 20;

/// When docker was asked, and the call under way.
pub(super) struct ImageCache {
    /// When it was asked last. At first when the slots began: 25.14 asks for the first time an interval later.
    asked: Tick,
    /// The call, and when it is given up.
    running: Option<(ChildId, Tick)>,
}

impl ImageCache {
    pub(super) fn new() -> Self {
        ImageCache { asked: clock::tick(), running: None }
    }
}

impl Live<'_> {
    /// When the image cache is to be looked at next.
    pub(super) fn image_cache_wakes(&self) -> Option<Tick> {
        match self.image_cache.running {
            Some((_, until)) => Some(until),
            None => {
                self.machine.image_cache_settings().interval.map(|every| self.image_cache.asked.plus(every))
            }
        }
    }

    /// Asks docker, or gives a call up that takes too long.
    pub(super) fn look_at_image_cache(&mut self) {
        let now = clock::tick();
        if self.image_cache_wakes().is_none_or(|wake| wake > now) {
            return;
        }
        if let Some((child, _)) = self.image_cache.running {
            self.image_cache.running = Some((child, now.plus(PATIENCE)));
            return self.reactor.kill(child, nix::libc::SIGKILL, Whom::Family);
        }
        self.image_cache.asked = now;
        match self.call_docker() {
            Some(child) => self.image_cache.running = Some((child, now.plus(PATIENCE))),
            // As in 25.14: where docker is not, its images take nothing.
            None => self.step(Event::ImageCache(0)),
        }
    }

    fn call_docker(&mut self) -> Option<ChildId> {
        let words = docker_words(&self.machine.image_cache_settings().docker)?;
        let call = all_images_call(&words);
        let program = tool_path(call.argv.first()?, &*self.options.world)?;
        let spec = ChildSpec {
            argv: call.argv,
            env: self.environment().entries(),
            stdio: [Stdio::Null, Stdio::Capture { limit: OUTPUT_LIMIT }, Stdio::Null],
            session: Session::Own,
            reads_on: true,
            ..ChildSpec::new(program)
        };
        self.reactor.spawn(spec).ok()
    }

    /// Takes the answer of docker; whether the child was that call.
    pub(super) fn image_cache_told(&mut self, child: ChildId, exit: Exit, output: &[u8]) -> bool {
        if self.image_cache.running.is_none_or(|(running, _)| running != child) {
            return false;
        }
        self.image_cache.running = None;
        // What was killed has said nothing.
        let images = match exit {
            Exit::Code(_) => parse_images(output),
            Exit::Signal { .. } => Vec::new(),
        };
        self.step(Event::ImageCache(cached_mib(&images)));
        true
    }
}
