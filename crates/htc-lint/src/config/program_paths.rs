//! Programs that are set with arguments, which become part of the path.

use std::ops::Range;

use bstr::ByteSlice;
use htc_base::text::caseless;
use htc_config::registry::RegisteredParameter;

use super::parameter_names::DAEMON_NAMES;

/// Parameters with the path of one program (`os_proc.cpp`, `java_config.cpp`), each with advice about its arguments.
const PROGRAMS: [(&str, &str); 5] = [
    ("USER_JOB_WRAPPER", "the wrapper gets the command of the job as its arguments"),
    ("JAVA", "write the arguments in JAVA_EXTRA_ARGUMENTS"),
    ("DOCKER", "write a wrapper script that passes the arguments"),
    ("SINGULARITY", "write the arguments in SINGULARITY_EXTRA_ARGUMENTS"),
    ("MAIL", "write a wrapper script that passes the arguments"),
];

/// Finds arguments after the path of a program; returns their place and the correction.
pub(super) fn find_arguments(name: &[u8], raw: &[u8]) -> Option<(Range<usize>, String)> {
    let program = PROGRAMS.iter().find(|(program, _)| caseless::eq(program.as_bytes(), name));
    let daemon = DAEMON_NAMES.iter().find(|daemon| caseless::eq(daemon.as_bytes(), name));
    if program.is_none() && daemon.is_none() {
        return None;
    }
    let is_path = raw.starts_with(b"/") || raw.starts_with(b"$(");
    let blank = raw.find_byteset(b" \t").filter(|_| is_path)?;
    let at = blank + raw[blank..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let is_argument =
        raw[at..].starts_with(b"-") || raw[at..].starts_with(b"$") || raw[at..].starts_with(b"\"$");
    let fix = match (program, daemon) {
        (Some((_, fix)), _) => (*fix).to_owned(),
        (None, Some(daemon)) => format!("write the arguments in {daemon}_ARGS"),
        (None, None) => return None,
    };
    is_argument.then_some((at..raw.len(), fix))
}

/// Finds the first plugin of a list that has no directory.
pub(super) fn find_relative_item(
    raw: &[u8],
    parameter: Option<&RegisteredParameter>,
) -> Option<Range<usize>> {
    parameter.filter(|found| found.name == "FILETRANSFER_PLUGINS")?;
    let mut at = 0;
    raw.split(|byte| *byte == b',').find_map(|item| {
        let start = at + (item.len() - item.trim_start().len());
        at += item.len() + 1;
        let text = item.trim();
        let is_relative = text.first().is_some_and(u8::is_ascii_alphanumeric) && !text.contains(&b':');
        is_relative.then(|| start..start + text.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_follow_the_path_of_a_program() {
        let found = |name: &str, raw: &str| {
            find_arguments(name.as_bytes(), raw.as_bytes()).map(|(place, _)| raw[place].to_owned())
        };
        assert_eq!(found("USER_JOB_WRAPPER", "/usr/local/bin/wrap.sh $@").as_deref(), Some("$@"));
        assert_eq!(found("STARTER", "$(SBIN)/condor_starter -f").as_deref(), Some("-f"));
        assert_eq!(found("STARTER", "C:\\Program Files\\starter"), None);
        assert_eq!(found("LOG", "/var/log -f"), None);
    }
}
