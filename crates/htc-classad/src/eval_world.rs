//! Inputs of an evaluation other than ads: the clock, the local time zone, random numbers and user accounts.
//!
//! [`System`] is the local machine. Tests, simulations and programs that fix the time implement [`EvalWorld`]
//! themselves.

use std::hash::{BuildHasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use bstr::{BString, ByteSlice};

use crate::user_map::UserMaps;

/// Source of the clock, time zone, random numbers and accounts for evaluations. Several threads may use the same
/// source.
///
/// ```
/// use bstr::BString;
/// use htc_classad::{ClassAd, Context, EvalWorld, Expr, Value, Zone};
///
/// /// A world in which it is always the same second.
/// struct StoppedClock;
/// impl EvalWorld for StoppedClock {
///     fn epoch(&self) -> i64 { 1_700_000_000 }
///     fn local_zone(&self, _epoch: i64) -> Zone { Zone::utc() }
///     fn random_bits(&self) -> u64 { 4 }
///     fn home(&self, _user: &[u8]) -> Option<BString> { None }
/// }
/// let value = Context::new(&StoppedClock).eval(&Expr::parse("time() - 1699999000").unwrap());
/// assert_eq!(value, Value::Int(1000));
/// ```
pub trait EvalWorld: Sync {
    /// Returns the current time in whole seconds since the epoch, for `time()` and `CurrentTime`.
    fn epoch(&self) -> i64;

    /// Returns the local time zone at a time given in seconds since the epoch.
    fn local_zone(&self, epoch: i64) -> Zone;

    /// Returns the next 64 random bits, for `random()`.
    fn random_bits(&self) -> u64;

    /// Returns the home directory of an account, for `userHome()`, or `None` if it is unknown.
    fn home(&self, user: &[u8]) -> Option<BString>;

    /// Returns the user maps for `userMap()`, or `None` if no configuration was read.
    fn user_maps(&self) -> Option<&UserMaps> {
        None
    }

    /// Returns the mode in which expressions are parsed and evaluated.
    fn language_mode(&self) -> LanguageMode {
        LanguageMode::default()
    }
}

/// Settings for parsing and evaluating expressions, which depend on the configuration and the machine. In the
/// reference they are global variables (`ClassAdReconfig`, compat_classad.cpp); here they belong to the world that is
/// passed to each evaluation.
///
/// ```
/// use htc_classad::{Dialect, Expr, LanguageMode};
/// let mode = LanguageMode { utc_times: true, ..LanguageMode::default() };
/// let expr = Expr::parse_with("absTime(\"1970-01-02T00:00:00\")", Dialect::new_syntax().mode(mode)).unwrap();
/// assert!(!mode.strict && expr.to_string().contains("1970-01-02"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LanguageMode {
    /// True for strict mode (`STRICT_CLASSAD_EVALUATION = true`); false for the default mode of all HTCondor tools
    /// and daemons.
    pub strict: bool,
    /// True to read a time without a zone, as in `absTime("2026-07-01T12:00:00")`, as UTC; false to read it as local
    /// time of the machine (TZ), as the reference does.
    pub utc_times: bool,
}

/// Local time zone at one point in time.
///
/// ```
/// use htc_classad::Zone;
/// let summer = Zone { offset: 7200, abbreviation: "CEST".into(), daylight_saving: true };
/// assert_ne!(summer, Zone::utc());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Seconds east of UTC.
    pub offset: i32,
    /// Abbreviation, such as `CET`.
    pub abbreviation: String,
    /// True if daylight saving time is in effect.
    pub daylight_saving: bool,
}

impl Zone {
    /// Returns the zone of UTC.
    ///
    /// ```
    /// use htc_classad::Zone;
    /// assert_eq!((Zone::utc().offset, Zone::utc().abbreviation.as_str()), (0, "UTC"));
    /// ```
    pub fn utc() -> Self {
        Zone { offset: 0, abbreviation: "UTC".into(), daylight_saving: false }
    }

    /// Returns the local zone (from TZ or the machine's setting) at a time in seconds since the epoch.
    ///
    /// ```
    /// use htc_classad::{EvalWorld, System, Zone};
    /// assert_eq!(Zone::local(0), System.local_zone(0));
    /// ```
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

/// The local machine, with HTCondor's default language mode.
///
/// ```
/// use htc_classad::{Context, EvalWorld, Expr, System};
/// let before = System.epoch();
/// let time = Context::new(&System).eval(&Expr::parse("time()").unwrap());
/// assert!(time.as_int().is_some_and(|time| time >= before));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl EvalWorld for System {
    /// Returns the current time, or 0 in a WebAssembly module without a system clock, such as in a browser.
    fn epoch(&self) -> i64 {
        if cfg!(all(target_family = "wasm", target_os = "unknown")) {
            return 0;
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs());
        since.map_or(0, |seconds| i64::try_from(seconds).unwrap_or(i64::MAX))
    }

    fn local_zone(&self, epoch: i64) -> Zone {
        Zone::local(epoch)
    }

    fn random_bits(&self) -> u64 {
        // Each `RandomState` has different random keys.
        RandomState::new().hash_one(())
    }

    /// Looks up the account in `/etc/passwd` only; no other account database is used.
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
    fn the_system_world_has_values_of_this_machine() {
        assert!(System.epoch() > 1_700_000_000);
        assert!(System.random_bits() != System.random_bits());
        assert_eq!(System.home(b"no such account"), None);
        assert!(System.home(b"root").is_none_or(|home| home.starts_with(b"/")));
    }
}
