//! Makes what differs from run to run equal: pids in paths, blanks in lists.

/// `.../dir_123/scratch` becomes `.../dir_PID/scratch`, wherever it stands; so do the recordings' own placeholders.
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

/// Without blanks: lists of numbers are written `[1, 2]` and `[1,2]`.
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
