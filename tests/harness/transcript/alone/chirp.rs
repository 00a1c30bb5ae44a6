//! A shadow's job is told where its chirp proxy listens. There is none here (WantIOProxy is told to do nothing), nor the variable.

/// The variable.
const VARIABLE: &str = "_CONDOR_CHIRP_CONFIG=";

/// A file that the job wrote, without its line.
pub fn out_of_file(content: Vec<u8>) -> Vec<u8> {
    let is_it = |line: &&[u8]| line.starts_with(VARIABLE.as_bytes());
    match content.split_inclusive(|byte| *byte == b'\n').any(|line| is_it(&line)) {
        true => content
            .split_inclusive(|byte| *byte == b'\n')
            .filter(|line| !is_it(line))
            .flatten()
            .copied()
            .collect(),
        false => content,
    }
}

/// Words of a runtime, without the option that sets it.
pub fn out_of_words(words: &mut Vec<String>) {
    if let Some(at) = words.iter().position(|word| word.starts_with(VARIABLE)) {
        words.drain(at.saturating_sub(1)..=at);
    }
}

/// The environment of a runtime, without what is for the job inside and outside.
pub fn out_of_environment(environment: &mut Vec<(String, String)>) {
    let name = VARIABLE.trim_end_matches('=');
    environment.retain(|(variable, _)| !variable.ends_with(name));
}
