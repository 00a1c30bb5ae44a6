//! Sleep states of a machine (`hibernator.cpp`).

/// Sleep state of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SleepState {
    /// S1: standby.
    S1,
    /// S2: deeper standby.
    S2,
    /// S3: suspend to memory.
    S3,
    /// S4: suspend to disk.
    S4,
    /// S5: off.
    S5,
}

impl SleepState {
    /// All states with their names, the lightest sleep first.
    const ALL: [(SleepState, &'static str, &'static [&'static str]); 5] = [
        (SleepState::S1, "S1", &["1", "standby", "sleep"]),
        (SleepState::S2, "S2", &["2"]),
        (SleepState::S3, "S3", &["3", "ram", "mem", "suspend"]),
        (SleepState::S4, "S4", &["4", "disk", "hibernate"]),
        (SleepState::S5, "S5", &["5", "shutdown", "off"]),
    ];

    /// Returns the state that has this name, ignoring case, or `None`.
    pub fn from_name(text: &str) -> Option<Self> {
        let is = |name: &str| name.eq_ignore_ascii_case(text);
        let found =
            Self::ALL.iter().find(|(_, name, others)| is(name) || others.iter().any(|other| is(other)));
        found.map(|(state, ..)| *state)
    }

    /// Returns the name of the state in ads.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Returns the number of the state, from 1 (S1).
    pub fn level(self) -> i64 {
        self as i64 + 1
    }
}

/// Sleep states and methods of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SleepSupport {
    /// Supported states.
    pub supported: Vec<SleepState>,
    /// Detection method, published as HibernationMethod, or `None`.
    pub method: Option<String>,
}

impl SleepSupport {
    /// Returns support for every sleep state, for a simulated machine.
    pub fn all_states() -> Self {
        SleepSupport { supported: SleepState::ALL.iter().map(|(state, ..)| *state).collect(), method: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_states_have_several_names() {
        for (text, level) in [("RAM", 3), ("4", 4), ("standby", 1), ("s2", 2), ("Off", 5)] {
            assert_eq!(SleepState::from_name(text).map(SleepState::level), Some(level), "{text}");
        }
        for text in ["NONE", "0", "", "S6", "deep"] {
            assert_eq!(SleepState::from_name(text), None, "{text}");
        }
        assert_eq!(SleepState::S4.name(), "S4");
    }
}
