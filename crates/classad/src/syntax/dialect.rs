//! How texts are read: the new syntax, that of long ads, that of JSON; in condor mode or in strict mode.

use crate::syntax::mode;

/// How a text is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Condor mode, as all tools and daemons use it; else strict mode (`ClassAdReconfig`, compat_classad.cpp).
    pub(crate) condor: bool,
    /// Strings of long ads, where a backslash is an ordinary byte.
    pub(crate) old_strings: bool,
    /// The lexer of JSON ads.
    pub(crate) json: bool,
}

impl Dialect {
    /// New syntax in the [mode](crate::syntax::mode) that is set.
    pub fn new_syntax() -> Self {
        Dialect { condor: !mode::is_strict(), old_strings: false, json: false }
    }

    /// The values of long ads in the mode that is set.
    pub fn old_syntax() -> Self {
        Dialect { old_strings: true, ..Dialect::new_syntax() }
    }

    /// The values of JSON ads in the mode that is set.
    pub fn json() -> Self {
        Dialect { json: true, ..Dialect::new_syntax() }
    }

    /// The same in strict mode (`STRICT_CLASSAD_EVALUATION = true`), or back in condor mode.
    #[must_use]
    pub const fn strict(mut self, strict: bool) -> Self {
        self.condor = !strict;
        self
    }
}

impl Default for Dialect {
    /// New syntax.
    fn default() -> Self {
        Dialect::new_syntax()
    }
}
