//! Environment variables to which configurations refer as if they were parameters.

use bstr::BStr;

/// Variables that login shells, systemd and batch systems set, and that are not parameters.
const ENVIRONMENT_VARIABLES: [&str; 19] = [
    "CUDA_VISIBLE_DEVICES",
    "HOME",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "KRB5CCNAME",
    "LANG",
    "LD_LIBRARY_PATH",
    "LOGNAME",
    "NO_PROXY",
    "PATH",
    "PWD",
    "PYTHONPATH",
    "SHELL",
    "TEMP",
    "TMP",
    "TMPDIR",
    "USER",
    "X509_USER_PROXY",
    "XDG_RUNTIME_DIR",
];

/// Returns the reference to the environment variable that a name probably stands for, if no parameter has the name:
/// `HOME`, `ENV_HOME`.
pub(super) fn environment_reference(name: &[u8]) -> Option<String> {
    let variable = match name.strip_prefix(b"ENV_") {
        Some(rest) if !rest.is_empty() => rest,
        _ => name,
    };
    let is_variable =
        variable.len() < name.len() || ENVIRONMENT_VARIABLES.iter().any(|known| known.as_bytes() == variable);
    is_variable.then(|| format!("$ENV({})", BStr::new(variable)))
}
