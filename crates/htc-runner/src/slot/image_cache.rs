//! What docker's images of jobs take on the disk, asked as time passes (`compute_for_update` of `ResAttributes.cpp`,
//! `imageCacheUsed` of `docker-api.cpp`).
//!
//! 25.14 waits for docker meanwhile, here nobody does. It asks for the times of tags too, of which nothing is made.

use std::time::Duration;

use crate::hook_environment::HookEnvironment;
use crate::starter::tool_path;
use htc_base::process::{ChildSpec, Exit, Session, Stdio};
use htc_base::time::Tick;
use htc_base::world::World;
use htc_os::{ChildId, Reactor, Whom, clock};
use htc_slot::{Event, ImageCacheSettings};
use htc_starter::container::{all_images_call, cached_mib, docker_words, parse_images};

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

    /// When it is to be looked at next.
    pub(super) fn wakes(&self, settings: &ImageCacheSettings) -> Option<Tick> {
        match self.running {
            Some((_, until)) => Some(until),
            None => settings.interval.map(|every| self.asked.plus(every)),
        }
    }

    /// Asks docker where it is time to, or gives a call up that takes too long; what is known at once. `environment` is what docker inherits.
    pub(super) fn look(
        &mut self,
        settings: &ImageCacheSettings,
        environment: impl FnOnce() -> HookEnvironment,
        (reactor, world): (&mut Reactor, &dyn World),
    ) -> Option<Event> {
        let now = clock::tick();
        self.wakes(settings).filter(|wake| *wake <= now)?;
        if let Some((child, until)) = &mut self.running {
            *until = now.plus(PATIENCE);
            reactor.kill(*child, nix::libc::SIGKILL, Whom::Family);
            return None;
        }
        self.asked = now;
        let spec = docker_call(settings, environment, world);
        match spec.and_then(|spec| reactor.spawn(spec).ok()) {
            Some(child) => {
                self.running = Some((child, now.plus(PATIENCE)));
                None
            }
            // As in 25.14: where docker is not, its images take nothing.
            None => Some(Event::ImageCache(0)),
        }
    }

    /// Takes the answer of docker, if the child was that call.
    pub(super) fn told(&mut self, child: ChildId, exit: Exit, output: &[u8]) -> Option<Event> {
        self.running.take_if(|(running, _)| *running == child)?;
        // What was killed has said nothing.
        let images = match exit {
            Exit::Code(_) => parse_images(output),
            Exit::Signal { .. } => Vec::new(),
        };
        Some(Event::ImageCache(cached_mib(&images)))
    }
}

fn docker_call(
    settings: &ImageCacheSettings,
    environment: impl FnOnce() -> HookEnvironment,
    world: &dyn World,
) -> Option<ChildSpec> {
    let call = all_images_call(&docker_words(&settings.docker)?);
    let program = tool_path(call.argv.first()?, world)?;
    Some(ChildSpec {
        argv: call.argv,
        env: environment().entries(),
        stdio: [Stdio::Null, Stdio::Capture { limit: OUTPUT_LIMIT }, Stdio::Null],
        session: Session::Own,
        reads_on: true,
        ..ChildSpec::new(program)
    })
}
