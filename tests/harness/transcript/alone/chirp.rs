//! A shadow passes the address of its chirp proxy to the job. Our starter has none (WantIOProxy is ignored),
//! and does not set the variable.

/// The variable.
const VARIABLE: &str = "_CONDOR_CHIRP_CONFIG=";

/// Removes its line from a file that the job wrote.
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

/// Removes the option that sets it from the arguments of a runtime.
pub fn out_of_words(words: &mut Vec<String>) {
    if let Some(at) = words.iter().position(|word| word.starts_with(VARIABLE)) {
        words.drain(at.saturating_sub(1)..=at);
    }
}

/// Removes it from the environment of a runtime, including the copy for the job inside the container.
pub fn out_of_environment(environment: &mut Vec<(String, String)>) {
    let name = VARIABLE.trim_end_matches('=');
    environment.retain(|(variable, _)| !variable.ends_with(name));
}
