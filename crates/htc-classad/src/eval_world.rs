//! What an evaluation may ask of the world around it, behind one trait: the clock, the local zone, chance and accounts.
//!
//! [`System`] is the machine this runs on. Tests, simulations and programs that let time stand still bring their own.

use std::hash::{BuildHasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use bstr::{BString, ByteSlice};

use crate::user_map::UserMaps;

/// The world around an evaluation.
pub trait EvalWorld {
    /// Whole seconds since the epoch: `time()`, `CurrentTime`.
    fn epoch(&self) -> i64;

    /// The local zone at a point of time, in seconds since the epoch.
    fn local_zone(&self, epoch: i64) -> Zone;

    /// The next 64 random bits: `random()`.
    fn random_bits(&self) -> u64;

    /// The home directory of the account of that name: `userHome()`.
    fn home(&self, user: &[u8]) -> Option<BString>;

    /// The maps of users that `userMap()` asks; none without a configuration.
    fn user_maps(&self) -> Option<&UserMaps> {
        None
    }

    /// How expressions are read and evaluated.
    fn mode(&self) -> LanguageMode {
        LanguageMode::default()
    }
}

/// What a configuration and the machine decide about the reading and evaluating of expressions. The reference has it as a switch of
/// the whole process (`ClassAdReconfig`, compat_classad.cpp); here it belongs to the world that is handed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LanguageMode {
    /// Strict mode (`STRICT_CLASSAD_EVALUATION = true`), or condor mode, as all tools and daemons use it.
    pub strict: bool,
    /// A time in a text that names no zone, `absTime("2026-07-01T12:00:00")`, is one of Greenwich; else of the machine's zone (TZ), as
    /// it is for the reference.
    pub utc_times: bool,
}

/// The offset of local time at some moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Seconds east of Greenwich.
    pub offset: i32,
    /// Abbreviation, such as `CET`.
    pub abbreviation: String,
    /// Whether daylight saving is in force.
    pub daylight_saving: bool,
}

impl Zone {
    /// That of Greenwich.
    pub fn utc() -> Self {
        Zone { offset: 0, abbreviation: "UTC".into(), daylight_saving: false }
    }

    /// That of TZ, or of the machine.
    pub fn local(epoch: i64) -> Self {
        let Ok(timestamp) = jiff::Timestamp::from_second(epoch) else { return Zone::utc() };
        let zone = jiff::tz::TimeZone::system();
        let info = zone.to_offset_info(timestamp);
        Zone {
            offset: info.offset().seconds(),
            abbreviation: info.abbreviation().to_owned(),
            daylight_saving: info.dst().is_dst(),
        }
    }
}

/// The machine this runs on, in condor mode.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl EvalWorld for System {
    fn epoch(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs());
        since.map_or(0, |seconds| i64::try_from(seconds).unwrap_or(i64::MAX))
    }

    fn local_zone(&self, epoch: i64) -> Zone {
        Zone::local(epoch)
    }

    fn random_bits(&self) -> u64 {
        // Each of these has other keys.
        RandomState::new().hash_one(())
    }

    /// As `/etc/passwd` has it; no other directory of accounts is asked.
    fn home(&self, user: &[u8]) -> Option<BString> {
        let accounts = std::fs::read("/etc/passwd").ok()?;
        let mut fields = accounts.lines().map(|line| line.split_str(":"));
        let mut account = fields.find_map(|mut fields| (fields.next()? == user).then_some(fields))?;
        account.nth(4).map(BString::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_answers() {
        assert!(System.epoch() > 1_700_000_000);
        assert!(System.random_bits() != System.random_bits());
        assert_eq!(System.home(b"no such account"), None);
        assert!(System.home(b"root").is_none_or(|home| home.starts_with(b"/")));
    }
}
