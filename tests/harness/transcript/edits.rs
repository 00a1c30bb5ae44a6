//! Edits of a configuration while the daemons ran.
//!
//! A recording keeps the configuration as it was at the end, and names its edits in words. What it was before, and what the
//! words mean, is seen in the daemon's log and in the ads of that recording.

/// What was done to one configuration.
struct Edited {
    /// Title of the recording.
    recording: &'static str,
    /// Put behind the configuration of the end to have that of the beginning.
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

/// What makes the recorded configuration that of the beginning.
pub fn first(recording: &str) -> &'static str {
    of(recording).map_or("", |edited| edited.first)
}

/// What an edit of the timeline (`condor_config: WORDS`) adds; nothing when its words are not known.
pub fn added(recording: &str, action: &str) -> Option<&'static str> {
    let words = action.strip_prefix("condor_config: ")?;
    of(recording)?.steps.iter().find(|(known, _)| *known == words).map(|(_, lines)| *lines)
}
