//! Edits of a configuration while the daemons ran.
//!
//! A recording contains the final configuration, and describes its edits in words. The initial configuration
//! and the meaning of the words were taken from the daemon's log and the ads of that recording.

/// Edits of one configuration.
struct Edited {
    /// Title of the recording.
    recording: &'static str,
    /// Lines to append to the final configuration to get the initial one.
    first: &'static str,
    /// The words of the recording, and the lines that were added.
    steps: &'static [(&'static str, &'static str)],
}

const EDITED: &[Edited] = &[Edited {
    recording: "condor_reconfig: hook path, keyword, START, FetchWorkDelay",
    first: "STARTD_JOB_HOOK_KEYWORD = FARM\nFARM_HOOK_FETCH_WORK = @LOCAL_DIR@/hook.d/nosuch\nFetchWorkDelay = 2\n",
    steps: &[
        (
            "FARM_HOOK_FETCH_WORK now names the good hook",
            "FARM_HOOK_FETCH_WORK = @LOCAL_DIR@/hook.d/FARM_HOOK_FETCH_WORK\n",
        ),
        ("keyword OTHER while job 1 runs", "STARTD_JOB_HOOK_KEYWORD = OTHER\n"),
        ("START = False", "START = False\n"),
        ("START = True", "START = True\n"),
        ("FetchWorkDelay = 5", "FetchWorkDelay = 5\n"),
    ],
}];

fn of(recording: &str) -> Option<&'static Edited> {
    EDITED.iter().find(|edited| edited.recording == recording)
}

/// Returns the lines that turn the recorded configuration into the initial one.
pub fn first(recording: &str) -> &'static str {
    of(recording).map_or("", |edited| edited.first)
}

/// Returns the lines added by an edit of the timeline (`condor_config: WORDS`), or `None` if its words are
/// not known.
pub fn added(recording: &str, action: &str) -> Option<&'static str> {
    let words = action.strip_prefix("condor_config: ")?;
    of(recording)?.steps.iter().find(|(known, _)| *known == words).map(|(_, lines)| *lines)
}
