//! State machine steps for the image of a docker container: registry credentials, the check that the image is
//! present, and pulling it.
//!
//! Reference: `docker_proc.cpp`, `docker-api.cpp`; the calls are built in [`super::container`].

use bstr::ByteSlice;

use super::action::{StarterAction, StarterNotice};
use super::container::{self, DockerImage, DockerNames, ImagePruning, parse_last_tagged};
use super::start_failure::StartFailure;
use super::state::container::{ContainerStage, DockerProgress, ImageStage, ToolAnswer};
use super::state::phase::StarterPhase;
use super::state_machine::Starter;
use htc_base::job::HoldCode;
use htc_base::process::Exit;
use htc_base::time::ClockReading;
use htc_classad::ClassAd;

impl Starter<'_> {
    /// Starts a docker job: fetches credentials if needed, then checks if the image is present.
    pub(super) fn start_docker_job(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        let names = match self.with_container_inputs(now, DockerNames::from_inputs) {
            Some(Ok(names)) => names,
            Some(Err(failure)) => return self.on_container_failed(now, failure, out),
            None => return,
        };
        let sends = names.config.is_some();
        self.container.docker = DockerProgress::NamesOnly(names);
        match sends {
            true => self.request_docker_credentials(now, out),
            false => self.list_docker_images(false, out),
        }
    }

    fn list_docker_images(&mut self, again: bool, out: &mut Vec<StarterAction>) {
        if let Some(call) = self.container.docker_names().map(container::list_images_call) {
            self.call_runtime(ContainerStage::Image(ImageStage::List { again }), call, out);
        }
    }

    /// Fetches the credentials from the access point. If there is no access point, 25.14 passes docker an empty
    /// configuration.
    fn request_docker_credentials(&mut self, now: ClockReading, out: &mut Vec<StarterAction>) {
        if self.setup.transfer.is_none() {
            let text =
                "DockerSendCredentials needs the job's access point (--as shadow): docker has no credentials";
            out.push(StarterAction::Report(StarterNotice::Warning(text.to_owned())));
            return self.write_docker_config(container::docker_config_from_ad(&ClassAd::new()), out);
        }
        match self.with_container_inputs(now, container::producer_call) {
            Some(Ok(call)) => self.call_runtime(ContainerStage::Image(ImageStage::Credentials), call, out),
            Some(Err(failure)) => self.on_container_failed(now, failure, out),
            None => {}
        }
    }

    fn write_docker_config(&mut self, config: Vec<u8>, out: &mut Vec<StarterAction>) {
        self.phase = StarterPhase::Container;
        self.container.stage = ContainerStage::Config;
        out.push(StarterAction::DockerConfig(Some(config)));
    }

    /// Continues after docker's configuration was written. If it could not be written, the job is not started.
    pub(super) fn on_docker_config_written(
        &mut self,
        now: ClockReading,
        failure: Option<String>,
        out: &mut Vec<StarterAction>,
    ) {
        match failure {
            _ if self.container.stage != ContainerStage::Config => {}
            _ if self.shutdown_requests.has_any() => self.finish_all_jobs(now, out),
            None => self.list_docker_images(false, out),
            Some(why) => {
                let text = format!("Cannot write docker creds: {why}");
                self.on_container_failed(now, StartFailure::silent(text), out);
            }
        }
    }

    /// Tags an image whose pull completed after the end of the job was requested, so that the image is later removed
    /// like our other images.
    pub(super) fn remember_pulled_image(
        &mut self,
        was: &ContainerStage,
        answer: ToolAnswer<'_>,
        out: &mut Vec<StarterAction>,
    ) {
        let pulled = *was == ContainerStage::Image(ImageStage::Pull) && answer.is_success();
        if let Some(tag) = self.container.docker_names().filter(|_| pulled).map(DockerNames::tag_call) {
            self.call_in_background(tag, out);
        }
    }

    pub(super) fn on_image_call_ended(
        &mut self,
        now: ClockReading,
        stage: ImageStage,
        answer: ToolAnswer<'_>,
        out: &mut Vec<StarterAction>,
    ) {
        let Some(names) = self.container.docker_names().cloned() else { return };
        let ToolAnswer { exit, output, errors } = answer;
        match stage {
            ImageStage::Credentials => {
                match container::config_from_producer(exit, output, &self.world_at(now)) {
                    Ok(config) => self.write_docker_config(config, out),
                    Err(failure) => self.on_container_failed(now, failure, out),
                }
            }
            ImageStage::List { .. } if exit.is_none() => {
                let text = format!("DOCKER cannot be executed: {}", errors.as_bstr());
                self.on_container_failed(now, StartFailure::silent(text), out);
            }
            ImageStage::List { again } => {
                let images = container::parse_images(output);
                let call = container::last_tagged_call(&names, &images);
                self.call_runtime(ContainerStage::Image(ImageStage::Tags { again, images }), call, out);
            }
            ImageStage::Tags { again, mut images } => {
                parse_last_tagged(output, &mut images);
                self.on_images_listed(now, &names, again, &images, out);
            }
            ImageStage::Prune { pruning, is_new } => self.prune_images(now, pruning, is_new, answer, out),
            ImageStage::Pull if answer.is_success() => self.create_docker_container(now, true, out),
            ImageStage::Pull => {
                let complaint = errors.replace("\n", "");
                let text = [b"Cannot pull image ", names.image.as_slice(), b" ", &complaint].concat();
                self.report_hang_quirk("the starter ends", out);
                let failure = StartFailure::new(text, HoldCode::InvalidDockerImage.number(), 0);
                self.on_container_failed(now, failure, out);
            }
        }
    }

    /// Handles the list of images. Uses the job's image if it is present; otherwise lists the images once more, then
    /// pulls the image.
    fn on_images_listed(
        &mut self,
        now: ClockReading,
        names: &DockerNames,
        again: bool,
        images: &[DockerImage],
        out: &mut Vec<StarterAction>,
    ) {
        let is_there = |name: &[u8]| images.iter().any(|image| image.name == name);
        let limit = self.setup.settings.containers.integer("DOCKER_IMAGE_CACHE_SIZE");
        match (names.fault.clone(), limit) {
            (Some(failure), _) => self.on_container_failed(now, failure, out),
            _ if !again && is_there(&names.own_image) => self.create_docker_container(now, false, out),
            (None, Err(failure)) => self.on_container_failed(now, failure, out),
            (None, Ok(limit)) if again => {
                let pruning = ImagePruning::plan_pruning(images, &names.image, limit);
                let is_new = names.own_image != names.image && !is_there(&names.image);
                let nothing = ToolAnswer { exit: Some(Exit::Code(0)), output: b"", errors: b"" };
                self.prune_images(now, pruning, is_new, nothing, out);
            }
            (None, Ok(_)) => self.list_docker_images(true, out),
        }
    }

    /// Removes images until there is room for one more, then pulls the job's image.
    fn prune_images(
        &mut self,
        now: ClockReading,
        mut pruning: ImagePruning,
        is_new: bool,
        answer: ToolAnswer<'_>,
        out: &mut Vec<StarterAction>,
    ) {
        let Some(names) = self.container.docker_names().cloned() else { return };
        if let Some(call) = pruning.next_call(&names, answer.output, answer.is_success()) {
            return self.call_runtime(
                ContainerStage::Image(ImageStage::Prune { pruning, is_new }),
                call,
                out,
            );
        }
        if is_new {
            let (image, own) = (names.image.clone(), names.own_image.clone());
            out.push(StarterAction::RememberPull { image, own });
        }
        if let Some(call) = self.with_container_inputs(now, |inputs| names.pull_call(inputs)) {
            self.call_runtime(ContainerStage::Image(ImageStage::Pull), call, out);
        }
    }
}
