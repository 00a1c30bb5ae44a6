//! Dialects: new syntax, the syntax of long ads, the syntax of JSON ads; each with or without strict mode.

use crate::eval_world::{EvalWorld, LanguageMode, Zone};

/// Dialect in which a text is parsed. It is passed to each parser; nothing is global.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Strict mode or not, and the zone of times.
    pub(crate) mode: LanguageMode,
    /// True for the strings of long ads, in which a backslash is an ordinary byte.
    pub(crate) old_strings: bool,
    /// True for the lexer of JSON ads.
    pub(crate) json: bool,
    /// True if `\u` in JSON strings is UTF-8, as JSON defines it; the reference makes other bytes of it.
    pub(crate) json_utf8: bool,
}

impl Dialect {
    /// Returns new syntax without strict mode; times without a zone are in the machine's zone.
    pub const fn new_syntax() -> Self {
        Dialect {
            mode: LanguageMode { strict: false, utc_times: false },
            old_strings: false,
            json: false,
            json_utf8: false,
        }
    }

    /// Returns new syntax in the mode of a world.
    pub fn of_world(world: &dyn EvalWorld) -> Self {
        Dialect::new_syntax().mode(world.mode())
    }

    /// Returns the dialect of the values of long ads, otherwise like [`Dialect::new_syntax`].
    pub const fn old_syntax() -> Self {
        Dialect { old_strings: true, ..Dialect::new_syntax() }
    }

    /// Returns the dialect of the values of JSON ads, otherwise like [`Dialect::new_syntax`].
    pub const fn json() -> Self {
        Dialect { json: true, ..Dialect::new_syntax() }
    }

    /// Returns this dialect with `\u` in JSON strings as UTF-8 (`true`), or as the bytes that the reference makes of it.
    #[must_use]
    pub const fn json_utf8(mut self, utf8: bool) -> Self {
        self.json_utf8 = utf8;
        self
    }

    /// Returns this dialect with the [mode](crate::EvalWorld::mode) of a world.
    #[must_use]
    pub const fn mode(mut self, mode: LanguageMode) -> Self {
        self.mode = mode;
        self
    }

    /// Returns this dialect with strict mode (`STRICT_CLASSAD_EVALUATION = true`) on or off.
    #[must_use]
    pub const fn strict(mut self, strict: bool) -> Self {
        self.mode.strict = strict;
        self
    }

    /// Returns the dialect of the values of long ads in the same mode.
    #[must_use]
    pub const fn old(self) -> Self {
        Dialect { old_strings: true, json: false, ..self }
    }

    /// Returns the offset in seconds east of UTC that applies at `seconds` to times without a zone, and true if
    /// daylight saving time is in effect.
    pub(crate) fn local_time(self, seconds: i64) -> (i32, bool) {
        if self.mode.utc_times {
            return (0, false);
        }
        let zone = Zone::local(seconds);
        (zone.offset, zone.daylight_saving)
    }
}

impl Default for Dialect {
    /// Returns new syntax.
    fn default() -> Self {
        Dialect::new_syntax()
    }
}
