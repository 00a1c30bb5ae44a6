//! Dialects: new syntax, the syntax of long ads, the syntax of JSON ads; each with or without strict mode.

use crate::eval_world::{EvalWorld, LanguageMode, Zone};

/// Dialect in which a text is parsed. It is passed to each parser; nothing is global.
///
/// ```
/// use htc_classad::{Dialect, Expr};
/// // The same text is a tab and a letter in new syntax, and a backslash and two letters in a long ad.
/// let text = r#""\tx""#;
/// let length = |dialect| Expr::parse_with(text, dialect).unwrap().as_literal().unwrap().as_str().unwrap().len();
/// assert_eq!((length(Dialect::new_syntax()), length(Dialect::old_syntax())), (2, 3));
/// ```
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
    ///
    /// ```
    /// use htc_classad::{Dialect, Expr};
    /// assert_eq!(Expr::parse_with("a + 1", Dialect::new_syntax()), Expr::parse("a + 1"));
    /// assert_eq!(Dialect::new_syntax(), Dialect::default());
    /// ```
    pub const fn new_syntax() -> Self {
        Dialect {
            mode: LanguageMode { strict: false, utc_times: false },
            old_strings: false,
            json: false,
            json_utf8: false,
        }
    }

    /// Returns new syntax in the mode of a world.
    ///
    /// ```
    /// use htc_classad::{Dialect, System};
    /// assert_eq!(Dialect::of_world(&System), Dialect::new_syntax());
    /// ```
    pub fn of_world(world: &dyn EvalWorld) -> Self {
        Dialect::new_syntax().mode(world.language_mode())
    }

    /// Returns the dialect of the values of long ads, otherwise like [`Dialect::new_syntax`].
    ///
    /// ```
    /// use htc_classad::{ClassAd, Dialect};
    /// let mut ad = ClassAd::new();
    /// ad.insert_line_with(r#"Path = "C:\tmp""#, Dialect::old_syntax()).unwrap();
    /// assert_eq!(ad.string("Path").unwrap(), r"C:\tmp");
    /// ```
    pub const fn old_syntax() -> Self {
        Dialect { old_strings: true, ..Dialect::new_syntax() }
    }

    /// Returns the dialect of the values of JSON ads, otherwise like [`Dialect::new_syntax`].
    ///
    /// ```
    /// use htc_classad::{Dialect, format::json};
    /// let ad = json::parse(r#"{"Cpus": 4}"#, Dialect::json()).unwrap();
    /// assert_eq!(ad["Cpus"].to_string(), "4");
    /// ```
    pub const fn json() -> Self {
        Dialect { json: true, ..Dialect::new_syntax() }
    }

    /// Returns this dialect with `\u` in JSON strings as UTF-8 (`true`), or as the bytes that the reference makes of it.
    ///
    /// ```
    /// use htc_classad::{Dialect, format::json};
    /// let ad = json::parse(r#"{"Name": "J\u00fcrgen"}"#, Dialect::json().json_utf8(true)).unwrap();
    /// assert_eq!(ad.string("Name").unwrap(), "Jürgen");
    /// ```
    #[must_use]
    pub const fn json_utf8(mut self, utf8: bool) -> Self {
        self.json_utf8 = utf8;
        self
    }

    /// Returns this dialect with the [mode](crate::EvalWorld::language_mode) of a world.
    ///
    /// ```
    /// use htc_classad::{Dialect, LanguageMode};
    /// let mode = LanguageMode { strict: true, utc_times: true };
    /// assert_eq!(Dialect::new_syntax().mode(mode), Dialect::new_syntax().mode(mode).strict(true));
    /// ```
    #[must_use]
    pub const fn mode(mut self, mode: LanguageMode) -> Self {
        self.mode = mode;
        self
    }

    /// Returns this dialect with strict mode (`STRICT_CLASSAD_EVALUATION = true`) on or off.
    ///
    /// ```
    /// use htc_classad::{Dialect, Expr};
    /// let text = "a && b";
    /// let strict = Expr::parse_with(text, Dialect::new_syntax().strict(true)).unwrap();
    /// assert_eq!(strict, Expr::parse(text).unwrap());
    /// ```
    #[must_use]
    pub const fn strict(mut self, strict: bool) -> Self {
        self.mode.strict = strict;
        self
    }

    /// Returns the dialect of the values of long ads in the same mode.
    ///
    /// ```
    /// use htc_classad::Dialect;
    /// assert_eq!(Dialect::new_syntax().strict(true).old(), Dialect::old_syntax().strict(true));
    /// ```
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
