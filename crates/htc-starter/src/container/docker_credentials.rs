//! Registry credentials for docker (DockerSendCredentials): a program of the access point (DOCKER_PAT_PRODUCER) creates
//! the credentials, and `docker pull` and `docker create` read them from docker's configuration (DOCKER_CONFIG).
//!
//! Reference: `DockerProc::StartJob` of `docker_proc.cpp`, `CONDOR_get_docker_creds` of `NTreceivers.cpp`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::{BString, ByteSlice};

use super::inputs::ContainerInputs;
use super::tool::{ToolAccount, ToolCall, ToolEnvironment};
use crate::start_failure::StartFailure;
use htc_base::job::HoldCode;
use htc_base::process::Exit;
use htc_base::world::World;
use htc_classad::format::json::{self, JsonLayout};
use htc_classad::{ClassAd, Context, Dialect};

/// Time limit of the program in DOCKER_PAT_PRODUCER.
const PRODUCER_TIMEOUT: Duration = Duration::from_secs(120);

/// Returns the directory of docker's configuration. The directory is next to the job's directory, where the job cannot
/// write. 25.14 creates it in /tmp.
pub fn docker_config_directory(slot_directory: &Path) -> PathBuf {
    let mut path = slot_directory.as_os_str().to_owned();
    path.push(".docker");
    path.into()
}

/// Returns true if the job asks for docker's registry credentials (DockerSendCredentials).
pub(crate) fn wants_docker_credentials(job: &ClassAd, world: &dyn World) -> bool {
    Context::new(world).my(job).boolean("DockerSendCredentials").unwrap_or(false)
}

fn credentials_failure(text: impl Into<BString>) -> StartFailure {
    StartFailure::new(text, HoldCode::InvalidDockerImage.number(), 0)
}

/// Returns the call of the program in DOCKER_PAT_PRODUCER.
///
/// # Errors
/// Returns an error if DOCKER_PAT_PRODUCER is not set.
pub(crate) fn producer_call(inputs: &ContainerInputs<'_>) -> Result<ToolCall, StartFailure> {
    let program = inputs.parameters().text("DOCKER_PAT_PRODUCER").filter(|program| !program.is_empty());
    let program = program
        .ok_or_else(|| credentials_failure("No DOCKER_PAT_PRODUCER configured on the access point"))?;
    let path = inputs.job_inputs.world.env("PATH".as_ref()).unwrap_or_default();
    let mut variables = vec![environment_entry("PATH", path.as_encoded_bytes())];
    variables.extend(inputs.job_inputs.home.map(|home| environment_entry("HOME", home)));
    Ok(ToolCall {
        limit: PRODUCER_TIMEOUT,
        environment: ToolEnvironment::Explicit(variables),
        errors: Some(inputs.job_inputs.scratch.join(".docker_stderror")),
        directory: Some("/".into()),
        ..ToolCall::new(std::slice::from_ref(program), [""; 0], ToolAccount::Daemon)
    })
}

fn environment_entry(name: &str, value: &[u8]) -> BString {
    [name.as_bytes(), b"=", value].concat().into()
}

/// Converts the output of the program in DOCKER_PAT_PRODUCER to docker's configuration.
///
/// # Errors
/// Returns an error if the program failed or did not print an ad.
pub(crate) fn config_from_producer(
    exit: Option<Exit>,
    output: &[u8],
    world: &dyn World,
) -> Result<Vec<u8>, StartFailure> {
    let ad = json::parse(output.trim(), Dialect::json()).unwrap_or_default();
    let error_message = || Context::new(world).my(&ad).string("HTCondorError");
    match exit {
        Some(Exit::Code(0)) if ad.is_empty() => {
            Err(credentials_failure("Cannot parse json emitted by docker pat producer"))
        }
        Some(Exit::Code(0)) => error_message()
            .map_or_else(|| Ok(docker_config_from_ad(&ad)), |text| Err(credentials_failure(text))),
        _ => Err(credentials_failure(
            error_message().unwrap_or_else(|| "Cannot parse output of docker pat producer".into()),
        )),
    }
}

/// Converts an ad with credentials to docker's configuration. An empty ad gives an empty configuration.
pub(crate) fn docker_config_from_ad(ad: &ClassAd) -> Vec<u8> {
    let mut text = Vec::new();
    json::push(ad, JsonLayout::Indented, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_os::RealWorld;

    #[test]
    fn producer_output_becomes_dockers_configuration_or_a_hold_reason() {
        let world = RealWorld::new();
        let of =
            |code: u8, output: &str| config_from_producer(Some(Exit::Code(code)), output.as_bytes(), &world);
        let text = of(0, "{\"auths\": {\"r.example\": {\"auth\": \"c2VjcmV0\"}}}\n").unwrap();
        let read: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(read["auths"]["r.example"]["auth"], "c2VjcmV0");
        for (code, output, why) in [
            (0, "", "Cannot parse json emitted by docker pat producer"),
            (0, "no json", "Cannot parse json emitted by docker pat producer"),
            (0, "{\"HTCondorError\": \"no such user\"}", "no such user"),
            (1, "{\"HTCondorError\": \"expired\"}", "expired"),
            (1, "", "Cannot parse output of docker pat producer"),
        ] {
            let failure = of(code, output).unwrap_err();
            assert_eq!((failure.text.to_string().as_str(), failure.code), (why, 35), "{output}");
        }
    }
}
