//! Normalizes values that differ from run to run: pids in paths, blanks in lists.

/// Replaces `.../dir_123/scratch` by `.../dir_PID/scratch` anywhere in a text, and likewise the recordings'
/// own placeholders.
pub fn scratch(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("dir_") {
        let (before, after) = rest.split_at(at + 4);
        out += before;
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let word = if after.starts_with("PPID") { 4 } else { digits };
        if word > 0 {
            out += "PID";
        }
        rest = &after[word..];
    }
    out + rest
}

/// Normalizes an environment variable. Markers of the process family have pids in their names, and there is
/// one for each daemon in the hierarchy.
pub fn variable(name: &str, value: &str) -> (String, String) {
    match name.strip_prefix("_CONDOR_ANCESTOR_") {
        Some(_) => ("_CONDOR_ANCESTOR_PID".to_owned(), "a mark".to_owned()),
        None => (name.to_owned(), scratch(value)),
    }
}

/// Normalizes an argument: the container's name and its environment contain the starter's pid as well.
pub fn word(text: &str) -> String {
    let plain = scratch(text);
    if plain.starts_with("CONDOR_STARTER_PID=") {
        return "CONDOR_STARTER_PID=PID".to_owned();
    }
    match plain.rsplit_once("_PID") {
        Some((name, pid)) if name.starts_with("HTCJob") && pid.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{name}_PID")
        }
        _ => plain,
    }
}

/// Normalizes a file that a job or a log wrote: times, addresses and process ids become placeholders.
pub fn file(text: &str) -> String {
    const MARK: &str = "_CONDOR_ANCESTOR_";
    let mut out = String::with_capacity(text.len());
    for line in scratch(text).lines() {
        // There is one for each daemon in the hierarchy.
        if line.starts_with(MARK) {
            out += if out.ends_with(MARK) { "" } else { MARK };
            continue;
        }
        out += if out.ends_with(MARK) { "\n" } else { "" };
        out += &words(line);
        out.push('\n');
    }
    out
}

/// Returns a line of `ls -l` without the parts that depend on the file system and the length of paths: links,
/// sizes, times.
fn listed(line: &str) -> Option<String> {
    if line.starts_with("total ") {
        return Some("total".to_owned());
    }
    let fields: Vec<&str> = line.split_whitespace().collect();
    let is_mode = |text: &str| text.len() == 10 && text.bytes().all(|byte| b"-dlpsrwxtTS".contains(&byte));
    let (mode, links) = (fields.first().filter(|mode| is_mode(mode))?, fields.get(1)?);
    links.parse::<u32>().ok()?;
    let (user, group, name) = (fields.get(2)?, fields.get(3)?, fields.get(5..)?);
    let links = if mode.starts_with('d') { "n" } else { links };
    let after_time = |field: &&&str| !field.contains(':') && !field.bytes().all(|byte| byte.is_ascii_digit());
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let name: Vec<&str> =
        name.iter().filter(after_time).filter(|field| !months.contains(*field)).copied().collect();
    Some(format!("{mode} {links} {user} {group} {}", name.join(" ")))
}

/// Normalizes one line of such a file.
fn words(line: &str) -> String {
    if let Some(list) = line.strip_prefix("Cpus_allowed_list:\t") {
        let all = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let all = all
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:\t"))
            .unwrap_or("0-3")
            .to_owned();
        // The recordings were made on a machine with four processors.
        return format!("Cpus_allowed_list: {}", if list == all || list == "0-3" { "all" } else { list });
    }
    if let Some(mounts) = line.strip_prefix("mounts: ") {
        // The machine's mounts come before those of the job.
        let of_job = |mount: &&str| mount.contains("@LOCAL_DIR@") || mount.contains("/dev/shm /dev/shm");
        return mounts
            .split(';')
            .filter(of_job)
            .map(|mount| mount.rsplit_once(' ').map_or(mount, |(mount, _)| mount))
            .collect::<Vec<_>>()
            .join(";");
    }
    if let Some(word) = ["processes: ", "net: ", "cgroup: "].iter().find(|word| line.starts_with(**word)) {
        return (*word).to_owned();
    }
    if let Some(listed) = listed(line) {
        return listed;
    }
    if line.starts_with("CONDOR_STARTER_PID=") {
        return word(line);
    }
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let shape = |word: &str, mark: char, count: usize| {
        let parts: Vec<&str> = word.split(['.', 'Z']).next().unwrap_or_default().split(mark).collect();
        parts.len() == count && parts.iter().all(|part| is_number(part))
    };
    let mut pid = false;
    let plain = |word: &str| match word {
        _ if std::mem::replace(&mut pid, matches!(word, "pid" | "ppid")) && is_number(word) => {
            "PID".to_owned()
        }
        _ if word.starts_with('<')
            && word.contains(':')
            && word[1..].starts_with(|c: char| c.is_ascii_digit()) =>
        {
            "<ADDRESS>".to_owned()
        }
        // Seconds since the epoch.
        _ if word.len() == 10 && word.starts_with("17") && is_number(word) => "EPOCH".to_owned(),
        _ if shape(word, '-', 3) || shape(word, '/', 2) => "DATE".to_owned(),
        _ if shape(word, ':', 3) => "TIME".to_owned(),
        _ if word.split_once('T').is_some_and(|(date, time)| shape(date, '-', 3) && shape(time, ':', 3)) => {
            "DATETIME".to_owned()
        }
        _ if word.starts_with("n=\"EventTime\"><s>") => "EVENTTIME".to_owned(),
        _ if word.starts_with("n=\"ExecuteHost\"><s>&lt;") => "EXECUTEHOST".to_owned(),
        _ => word.to_owned(),
    };
    line.split(' ').map(plain).collect::<Vec<_>>().join(" ")
}

/// Removes blanks: lists of numbers are written `[1, 2]` or `[1,2]`.
pub fn list(text: &str) -> String {
    if text.starts_with('[') { text.replace(' ', "") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pids_in_scratch_paths_are_placeholders() {
        assert_eq!(scratch("/e/dir_12/scratch:/e/dir_PPID/x dir_a"), "/e/dir_PID/scratch:/e/dir_PID/x dir_a");
    }
}
