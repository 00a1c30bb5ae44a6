//! Dialects of the ClassAd language: new syntax, the syntax of values in long ads, and the syntax of values in JSON ads,
//! each with or without strict mode.

use crate::eval_world::{EvalWorld, LanguageMode, Zone};

/// Dialect in which a text is parsed. It is passed to each parser; there is no global setting.
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
    /// Mode of the language: strict or not, and the zone for times that are written without a zone.
    pub(crate) mode: LanguageMode,
    /// True if strings have the syntax of long ads, in which a backslash is an ordinary byte.
    pub(crate) old_strings: bool,
    /// True to use the lexer for JSON ads.
    pub(crate) json: bool,
    /// True to decode `\u` in JSON strings to UTF-8, as JSON defines it; false to decode it to the bytes that the
    /// reference produces.
    pub(crate) json_utf8: bool,
}

impl Dialect {
    /// Returns new syntax without strict mode. Times without a zone are in the machine's zone.
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

    /// Returns new syntax in the language mode of a world.
    ///
    /// ```
    /// use htc_classad::{Dialect, System};
    /// assert_eq!(Dialect::of_world(&System), Dialect::new_syntax());
    /// ```
    pub fn of_world(world: &dyn EvalWorld) -> Self {
        Dialect::new_syntax().mode(world.language_mode())
    }

    /// Returns the dialect of values in long ads, in the same mode as [`Dialect::new_syntax`].
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

    /// Returns the dialect of values in JSON ads, in the same mode as [`Dialect::new_syntax`].
    ///
    /// ```
    /// use htc_classad::{Dialect, format::json};
    /// let ad = json::parse(r#"{"Cpus": 4}"#, Dialect::json()).unwrap();
    /// assert_eq!(ad["Cpus"].to_string(), "4");
    /// ```
    pub const fn json() -> Self {
        Dialect { json: true, ..Dialect::new_syntax() }
    }

    /// Returns this dialect with `\u` in JSON strings decoded to UTF-8 (`true`), or to the bytes that the reference
    /// produces (`false`).
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

    /// Returns this dialect in another language mode, such as the [mode of a world](crate::EvalWorld::language_mode).
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

    /// Returns the dialect of values in long ads, in the mode of this dialect.
    ///
    /// ```
    /// use htc_classad::Dialect;
    /// assert_eq!(Dialect::new_syntax().strict(true).old(), Dialect::old_syntax().strict(true));
    /// ```
    #[must_use]
    pub const fn old(self) -> Self {
        Dialect { old_strings: true, json: false, ..self }
    }

    /// Returns the offset of the zone for times without a zone at `seconds`, in seconds east of UTC. The second value is
    /// true if daylight saving time is in effect.
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
