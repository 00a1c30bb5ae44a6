//! The machine around the image of a docker container: what docker logs in to registries with, whether the image is there, and that
//! it comes.
//!
//! Reference: `docker_proc.cpp`, `docker-api.cpp`; what each call looks like is in [`super::container`].

use bstr::ByteSlice;

use super::action::{Action, Notice};
use super::container::{self, DockerNames, Image, Pruning, parse_tags};
use super::failure::StartFailure;
use super::kept::container::{Answer, Docker, ImageStage, Stage};
use super::kept::phase::Phase;
use super::machine::Starter;
use htc_base::job::HoldCode;
use htc_base::process::Exit;
use htc_base::time::Now;
use htc_classad::ClassAd;

impl Starter<'_> {
    /// A job for docker: whether its image is there.
    pub(super) fn start_docker(&mut self, now: Now, out: &mut Vec<Action>) {
        let names = match self.with_inputs(now, DockerNames::find) {
            Some(Ok(names)) => names,
            Some(Err(failure)) => return self.container_failed(now, failure, out),
            None => return,
        };
        let sends = names.config.is_some();
        self.container.docker = Docker::Named(names);
        match sends {
            true => self.ask_for_credentials(now, out),
            false => self.ask_for_images(false, out),
        }
    }

    fn ask_for_images(&mut self, again: bool, out: &mut Vec<Action>) {
        if let Some(call) = self.container.names().map(container::images_call) {
            self.ask(Stage::Image(ImageStage::List { again }), call, out);
        }
    }

    /// Only an access point has credentials; without one 25.14 gives docker an empty configuration.
    fn ask_for_credentials(&mut self, now: Now, out: &mut Vec<Action>) {
        if self.setup.moves.is_none() {
            let text =
                "DockerSendCredentials needs the job's access point (--as shadow): docker has no credentials";
            out.push(Action::Tell(Notice::Warning(text.to_owned())));
            return self.lay_config(container::config(&ClassAd::new()), out);
        }
        match self.with_inputs(now, container::producer_call) {
            Some(Ok(call)) => self.ask(Stage::Image(ImageStage::Credentials), call, out),
            Some(Err(failure)) => self.container_failed(now, failure, out),
            None => {}
        }
    }

    fn lay_config(&mut self, config: Vec<u8>, out: &mut Vec<Action>) {
        self.phase = Phase::Container;
        self.container.stage = Stage::Config;
        out.push(Action::DockerConfig(Some(config)));
    }

    /// Docker's configuration is there, or cannot be.
    pub(super) fn config_laid(&mut self, now: Now, failure: Option<String>, out: &mut Vec<Action>) {
        match failure {
            _ if self.container.stage != Stage::Config => {}
            _ if self.asked.any() => self.all_jobs_done(now, out),
            None => self.ask_for_images(false, out),
            Some(why) => {
                let text = format!("Cannot write docker creds: {why}");
                self.container_failed(now, StartFailure::silent(text), out);
            }
        }
    }

    /// The end was asked for while an image was pulled: one that is there all the same is ours, and goes with the others.
    pub(super) fn note_pulled(&mut self, was: &Stage, answer: Answer<'_>, out: &mut Vec<Action>) {
        let pulled = *was == Stage::Image(ImageStage::Pull) && answer.is_success();
        if let Some(tag) = self.container.names().filter(|_| pulled).map(DockerNames::tag) {
            self.side_call(tag, out);
        }
    }

    pub(super) fn image_answered(
        &mut self,
        now: Now,
        asked: ImageStage,
        answer: Answer<'_>,
        out: &mut Vec<Action>,
    ) {
        let Some(names) = self.container.names().cloned() else { return };
        let Answer { exit, output, errors } = answer;
        match asked {
            ImageStage::Credentials => match container::config_of(exit, output, &self.frozen(now)) {
                Ok(config) => self.lay_config(config, out),
                Err(failure) => self.container_failed(now, failure, out),
            },
            ImageStage::List { .. } if exit.is_none() => {
                let text = format!("DOCKER cannot be executed: {}", errors.as_bstr());
                self.container_failed(now, StartFailure::silent(text), out);
            }
            ImageStage::List { again } => {
                let images = container::parse_images(output);
                let call = container::tags_call(&names, &images);
                self.ask(Stage::Image(ImageStage::Tags { again, images }), call, out);
            }
            ImageStage::Tags { again, mut images } => {
                parse_tags(output, &mut images);
                self.images_known(now, &names, (again, &images), out);
            }
            ImageStage::Prune { pruning, is_new } => self.prune(now, (pruning, is_new), answer, out),
            ImageStage::Pull if answer.is_success() => self.launch(now, true, out),
            ImageStage::Pull => {
                let complaint = errors.replace("\n", "");
                let text = [b"Cannot pull image ", names.image.as_slice(), b" ", &complaint].concat();
                self.tell_of_hang("the starter ends", out);
                let failure = StartFailure::new(text, HoldCode::InvalidDockerImage.number(), 0);
                self.container_failed(now, failure, out);
            }
        }
    }

    /// Docker's images are known: the job's is there, is looked for once more, or is pulled.
    fn images_known(
        &mut self,
        now: Now,
        names: &DockerNames,
        (again, images): (bool, &[Image]),
        out: &mut Vec<Action>,
    ) {
        let is_there = |name: &[u8]| images.iter().any(|image| image.name == name);
        let limit = self.setup.settings.containers.number("DOCKER_IMAGE_CACHE_SIZE");
        match (names.fault.clone(), limit) {
            (Some(failure), _) => self.container_failed(now, failure, out),
            _ if !again && is_there(&names.own) => self.launch(now, false, out),
            (None, Err(failure)) => self.container_failed(now, failure, out),
            (None, Ok(limit)) if again => {
                let pruning = Pruning::plan(images, &names.image, limit);
                let is_new = names.own != names.image && !is_there(&names.image);
                let nothing = Answer { exit: Some(Exit::Code(0)), output: b"", errors: b"" };
                self.prune(now, (pruning, is_new), nothing, out);
            }
            (None, Ok(_)) => self.ask_for_images(true, out),
        }
    }

    /// Makes room for one more image, then pulls it.
    fn prune(
        &mut self,
        now: Now,
        (mut pruning, is_new): (Pruning, bool),
        answer: Answer<'_>,
        out: &mut Vec<Action>,
    ) {
        let Some(names) = self.container.names().cloned() else { return };
        if let Some(call) = pruning.next(&names, answer.output, answer.is_success()) {
            return self.ask(Stage::Image(ImageStage::Prune { pruning, is_new }), call, out);
        }
        if is_new {
            let (image, own) = (names.image.clone(), names.own.clone());
            out.push(Action::Pulling { image, own });
        }
        if let Some(call) = self.with_inputs(now, |inputs| names.pull(inputs)) {
            self.ask(Stage::Image(ImageStage::Pull), call, out);
        }
    }
}
