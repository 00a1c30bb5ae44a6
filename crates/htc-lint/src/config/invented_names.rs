//! Names that HTCondor does not have but that look like its parameters: names from other versions or submit files, or
//! made of the words of a parameter.

use htc_base::text::caseless;
use htc_config::Advice;

/// Invented names, each with the parameter that was probably intended.
const INVENTED_NAMES: [(&str, &str); 33] = [
    ("AUTHENTICATION_METHODS", "SEC_DEFAULT_AUTHENTICATION_METHODS"),
    ("AUTH_METHODS", "SEC_DEFAULT_AUTHENTICATION_METHODS"),
    ("CENTRAL_MANAGER", "CONDOR_HOST"),
    ("CENTRAL_MANAGER_HOST", "CONDOR_HOST"),
    ("COLLECTOR_ADDRESS", "COLLECTOR_HOST"),
    ("CONDOR_CENTRAL_MANAGER", "CONDOR_HOST"),
    ("CONDOR_COLLECTOR_HOST", "COLLECTOR_HOST"),
    ("CONDOR_DAEMON_LIST", "DAEMON_LIST"),
    ("CONDOR_PORT", "COLLECTOR_PORT"),
    ("DAEMONS", "DAEMON_LIST"),
    ("DEFAULT_REQUEST_CPUS", "JOB_DEFAULT_REQUESTCPUS"),
    ("DEFAULT_REQUEST_DISK", "JOB_DEFAULT_REQUESTDISK"),
    ("DEFAULT_REQUEST_MEMORY", "JOB_DEFAULT_REQUESTMEMORY"),
    ("EXECUTE_DIR", "EXECUTE"),
    ("EXECUTE_DIRECTORY", "EXECUTE"),
    ("GPU_DISCOVERY", "GPU_DISCOVERY_EXTRA"),
    ("JOB_ROUTER_ROUTES", "JOB_ROUTER_ROUTE_NAMES"),
    ("LOG_DIR", "LOG"),
    ("LOG_DIRECTORY", "LOG"),
    ("MAX_JOBS_PER_USER", "MAX_JOBS_PER_OWNER"),
    ("MAX_JOB_RETIREMENT_TIME", "MAXJOBRETIREMENTTIME"),
    ("MAX_RUNNING_JOBS", "MAX_JOBS_RUNNING"),
    ("NEGOTIATOR_CYCLE_INTERVAL", "NEGOTIATOR_INTERVAL"),
    ("PASSWORD_DIRECTORY", "SEC_PASSWORD_DIRECTORY"),
    ("POOL_PASSWORD_FILE", "SEC_PASSWORD_FILE"),
    ("SCHEDD_DEBUG_LEVEL", "SCHEDD_DEBUG"),
    ("SCHEDD_MAX_JOBS", "MAX_JOBS_SUBMITTED"),
    ("SCHEDD_MAX_JOBS_RUNNING", "MAX_JOBS_RUNNING"),
    ("SPOOL_DIR", "SPOOL"),
    ("SPOOL_DIRECTORY", "SPOOL"),
    ("STARTD_MEMORY", "MEMORY"),
    ("TOKEN_DIRECTORY", "SEC_TOKEN_DIRECTORY"),
    ("USERLOG_FORMAT_OPTIONS", "DEFAULT_USERLOG_FORMAT_OPTIONS"),
];

/// Returns the correction of an invented name, or `None` for all other names.
pub(super) fn find_intended_parameter(name: &[u8]) -> Option<Advice> {
    let known = INVENTED_NAMES.iter().find(|(invented, _)| caseless::eq(invented.as_bytes(), name));
    if let Some((_, intended)) = known {
        return Some(format!("did you mean {intended}?").into());
    }
    let is_name = |known: &str| caseless::eq(known.as_bytes(), name);
    match () {
        () if ["ENABLE_GPUS", "USE_GPUS", "GPUS_ENABLED"].into_iter().any(is_name) => {
            Some("write 'use FEATURE : GPUs'".into())
        }
        () if ["ENABLE_DOCKER", "DOCKER_ENABLED", "USE_DOCKER"].into_iter().any(is_name) => {
            Some("remove it: the starter finds docker by the parameter DOCKER".into())
        }
        () if ["ENABLE_SINGULARITY", "USE_SINGULARITY", "SINGULARITY_ENABLED"].into_iter().any(is_name) => {
            Some("set SINGULARITY_JOB".into())
        }
        () if ["PARTITIONABLE_SLOT", "PARTITIONABLE_SLOTS"].into_iter().any(is_name) => {
            Some("write 'use FEATURE : PartitionableSlot'".into())
        }
        () => None,
    }
}

/// Commands of submit files that have no meaning in a configuration.
const SUBMIT_COMMANDS: [&str; 14] = [
    "request_cpus",
    "request_memory",
    "request_disk",
    "request_gpus",
    "universe",
    "executable",
    "transfer_input_files",
    "transfer_output_files",
    "should_transfer_files",
    "when_to_transfer_output",
    "accounting_group",
    "concurrency_limits",
    "container_image",
    "docker_image",
];

/// True for a command of submit files.
pub(super) fn is_submit_command(name: &[u8]) -> bool {
    SUBMIT_COMMANDS.iter().any(|command| command.as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parameter_names::is_parameter;

    #[test]
    fn intended_parameters_exist_and_invented_names_do_not() {
        for (invented, meant) in INVENTED_NAMES {
            assert!(is_parameter(meant.as_bytes()), "{meant}");
            assert!(!is_parameter(invented.as_bytes()), "{invented}");
        }
        assert!(SUBMIT_COMMANDS.iter().all(|command| !is_parameter(command.as_bytes())));
    }
}
