//! How texts are read: the new syntax, that of long ads, that of JSON; in condor mode or in strict mode.

use crate::eval_world::{EvalWorld, LanguageMode, Zone};

/// How a text is to be read. It goes with the text to whoever reads it; nothing is set anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Condor mode or strict mode, and the zone of times.
    pub(crate) mode: LanguageMode,
    /// Strings of long ads, where a backslash is an ordinary byte.
    pub(crate) old_strings: bool,
    /// The lexer of JSON ads.
    pub(crate) json: bool,
}

impl Dialect {
    /// New syntax in condor mode; times without a zone are those of the machine.
    pub const fn new_syntax() -> Self {
        Dialect { mode: LanguageMode { strict: false, utc_times: false }, old_strings: false, json: false }
    }

    /// New syntax as a world has it: `Dialect::of(&world)`.
    pub fn of_world(world: &dyn EvalWorld) -> Self {
        Dialect::new_syntax().mode(world.mode())
    }

    /// The values of long ads, otherwise as [`Dialect::new_syntax`].
    pub const fn old_syntax() -> Self {
        Dialect { old_strings: true, ..Dialect::new_syntax() }
    }

    /// The values of JSON ads, otherwise as [`Dialect::new_syntax`].
    pub const fn json() -> Self {
        Dialect { json: true, ..Dialect::new_syntax() }
    }

    /// The same as a [world](crate::EvalWorld::mode) has it.
    #[must_use]
    pub const fn mode(mut self, mode: LanguageMode) -> Self {
        self.mode = mode;
        self
    }

    /// The same in strict mode (`STRICT_CLASSAD_EVALUATION = true`), or back in condor mode.
    #[must_use]
    pub const fn strict(mut self, strict: bool) -> Self {
        self.mode.strict = strict;
        self
    }

    /// That of the values of long ads in the same mode.
    #[must_use]
    pub const fn old(self) -> Self {
        Dialect { old_strings: true, json: false, ..self }
    }

    /// The zone of times that name none: for a moment, seconds east of Greenwich and whether daylight saving is in force.
    pub(crate) fn local_time(self, seconds: i64) -> (i32, bool) {
        if self.mode.utc_times {
            return (0, false);
        }
        let zone = Zone::local(seconds);
        (zone.offset, zone.daylight_saving)
    }
}

impl Default for Dialect {
    /// New syntax.
    fn default() -> Self {
        Dialect::new_syntax()
    }
}
