//! Commands and signals sent to the jobs of a pool, as listed in the README of the recording.

/// A command sent to a job, or a signal sent to its processes.
pub struct Asked {
    /// Seconds since the recording began.
    pub at: f64,
    /// The word of `--ask`, or the signal.
    pub word: &'static str,
    /// The cluster, or the beginning of the job's name.
    of: String,
    reason: Option<String>,
    subcode: Option<String>,
}

/// The recorder held a job for this reason to end one that would be restarted forever.
const BY_RECORDER: &str = "held by the harness";

impl Asked {
    /// Returns true if it was sent to this job.
    pub fn is_of(&self, cluster: &str, name: &str) -> bool {
        self.of == cluster || name.strip_prefix(self.of.as_str()).is_some_and(|rest| rest.starts_with('-'))
    }

    /// Returns the arguments of `--ask`, as condor's tools send them for an ordinary user; or the name of a
    /// signal.
    pub fn words(&self) -> String {
        if self.word.starts_with("SIG") {
            return self.word.to_owned();
        }
        if self.word == "kill" {
            return "kill the job".to_owned();
        }
        let (default, code) = match self.word {
            "hold" => (Some("via condor_hold"), "\t--code\t1"),
            "remove" => (Some("via condor_rm"), ""),
            _ => (None, ""),
        };
        let reason =
            self.reason.as_deref().or(default).map_or(String::new(), |text| format!("\t--reason\t{text}"));
        let subcode = self.subcode.as_ref().map_or(String::new(), |number| format!("\t--subcode\t{number}"));
        format!("ask {}{reason}{code}{subcode}", self.word)
    }

    /// Returns true if it ends the job or its run.
    pub fn ends(&self) -> bool {
        !matches!(self.word, "suspend" | "continue" | "release")
    }
}

/// Parses all of them that reached the job: `- 6.137 run condor_hold 1` and the result of that command, `-
/// 7.470 SIGKILL to the job of l4`.
pub fn all(readme: &str) -> Vec<Asked> {
    let lines: Vec<&str> = readme.lines().filter_map(|line| line.strip_prefix("- ")).collect();
    let told =
        lines.windows(2).filter(|pair| pair[1].contains(" returned 0:")).filter_map(|pair| by_tool(pair[0]));
    told.chain(lines.iter().filter_map(|line| by_signal(line))).collect()
}

fn by_tool(line: &str) -> Option<Asked> {
    let (at, rest) = line.split_once(" run condor_")?;
    let (rest, reason) = match rest.split_once(" -reason ") {
        Some((rest, reason)) => (rest, Some(reason)),
        None => (rest, None),
    };
    let (reason, subcode) = match reason.and_then(|reason| reason.split_once(" -subcode ")) {
        Some((reason, subcode)) => (Some(reason), Some(subcode)),
        None => (reason, None),
    };
    if reason.is_some_and(|reason| reason.starts_with(BY_RECORDER)) {
        return None;
    }
    let (tool, rest) = rest.split_once(' ')?;
    let (fast, of) = match rest.strip_prefix("-fast ") {
        Some(of) => (true, of),
        None => (false, rest),
    };
    let word = match (tool, fast) {
        ("hold", _) => "hold",
        ("rm", _) => "remove",
        ("release", _) => "release",
        ("suspend", _) => "suspend",
        ("continue", _) => "continue",
        ("vacate_job", false) => "soft",
        ("vacate_job", true) => "hard",
        _ => return None,
    };
    Some(Asked {
        at: at.parse().ok()?,
        word,
        of: of.to_owned(),
        reason: reason.map(str::to_owned),
        subcode: subcode.map(str::to_owned),
    })
}

/// Parses a signal to the job, or a signal to the starter that does not kill it.
fn by_signal(line: &str) -> Option<Asked> {
    let (at, rest) = line.split_once(' ')?;
    let (signal, rest) = rest.split_once(" to the ")?;
    let (whom, rest) = rest.split_once(" of ")?;
    let word = match (signal, whom) {
        ("SIGTERM", "starter") => "SIGTERM",
        ("SIGQUIT", "starter") => "SIGQUIT",
        ("SIGKILL", "job") => "kill",
        _ => return None,
    };
    let of = rest.split(' ').next()?.to_owned();
    Some(Asked { at: at.parse().ok()?, word, of, reason: None, subcode: None })
}
