//! Description of a hook's process for recordings: descriptors, identity, directory and signal masks.

use serde_json::{Map, Value, json};

use htc_base::process::{ChildSpec, SessionMode, Stdio};
use htc_os::identity;

/// Returns the recorded facts about a process other than its arguments, environment and streams. Properties that
/// `spec` does not set are those of this program.
pub fn describe_process(spec: &ChildSpec) -> Map<String, Value> {
    let identity = spec.identity.as_ref();
    let uid = identity.map_or_else(identity::effective_uid, |one| one.uid);
    let gid = identity.map_or_else(|| nix::unistd::getegid().as_raw(), |one| one.gid);
    let groups: Vec<u32> = match identity {
        Some(identity) => identity.groups.clone(),
        None => {
            nix::unistd::getgroups().unwrap_or_default().into_iter().map(|group| group.as_raw()).collect()
        }
    };
    let cwd = spec.cwd.clone().or_else(|| std::env::current_dir().ok());
    let blocked = spec.blocked_signals.iter().fold(0u64, |mask, number| {
        let bit = u32::try_from(*number).ok().and_then(|number| number.checked_sub(1));
        mask | bit.and_then(|bit| 1u64.checked_shl(bit)).unwrap_or(0)
    });
    let (group, session) = match spec.session {
        SessionMode::NewSession => ("own", "own"),
        SessionMode::ForegroundGroup | SessionMode::NewGroup => ("own", "parent"),
        SessionMode::Inherit | SessionMode::JoinGroup(_) => ("parent", "parent"),
    };
    let ignored = if spec.ignore_sigpipe { "1000" } else { "0" };
    let all = json!({
        "fds": spec.stdio.iter().enumerate().filter_map(|(number, stdio)| describe_descriptor(number, stdio)).collect::<Vec<_>>(),
        "pgid": group,
        "sid": session,
        "uid": [uid, uid, uid],
        "gid": [gid, gid, gid],
        "groups": groups,
        "umask": format!("{:04o}", spec.umask),
        "cwd": cwd.map(|cwd| cwd.to_string_lossy().into_owned()),
        "nice": spec.nice,
        "SigBlk": format!("{blocked:x}"),
        "SigIgn": ignored,
    });
    match all {
        Value::Object(all) => all,
        _ => Map::new(),
    }
}

/// Describes an open descriptor, or returns `None` if the descriptor is closed.
fn describe_descriptor(number: usize, stdio: &Stdio) -> Option<Value> {
    let target = match stdio {
        Stdio::Closed => return None,
        Stdio::Null => "/dev/null".to_owned(),
        Stdio::File { path, .. } => path.to_string_lossy().into_owned(),
        Stdio::Inherit | Stdio::Descriptor(_) => "inherited".to_owned(),
        _ => "pipe".to_owned(),
    };
    Some(json!({ "fd": number, "flags": if number == 0 { "r" } else { "w" }, "target": target }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_worded_as_in_recordings() {
        let mut spec = ChildSpec::new("/bin/true");
        spec.stdio = [Stdio::Closed, Stdio::Capture { limit: 1 }, Stdio::Null];
        spec.session = SessionMode::NewSession;
        spec.umask = 0o22;
        spec.blocked_signals = vec![1, 15];
        spec.ignore_sigpipe = true;
        let facts = describe_process(&spec);
        let text = |name: &str| facts[name].to_string();
        assert_eq!(
            text("fds"),
            r#"[{"fd":1,"flags":"w","target":"pipe"},{"fd":2,"flags":"w","target":"/dev/null"}]"#
        );
        assert_eq!((text("sid"), text("umask")), ("\"own\"".to_owned(), "\"0022\"".to_owned()));
        assert_eq!((text("SigBlk"), text("SigIgn")), ("\"4001\"".to_owned(), "\"1000\"".to_owned()));
    }
}
