//! Where keywords, paths and arguments of hooks are configured, reduced to what this room needs of it.

use bstr::BString;

/// Configuration as hooks see it: the expanded value of a knob.
///
/// Any function from a name to a value will do; tests use one.
pub trait ParameterSource {
    /// The value; `None` when the knob is undefined or empty, which is the same to all hooks (`param()`).
    fn get(&self, name: &[u8]) -> Option<BString>;

    /// Where it is set, such as `file:line`, for messages.
    fn origin(&self, _name: &[u8]) -> Option<String> {
        None
    }
}

impl<F: Fn(&[u8]) -> Option<BString>> ParameterSource for F {
    fn get(&self, name: &[u8]) -> Option<BString> {
        self(name).filter(|value| !value.is_empty())
    }
}

impl ParameterSource for htc_config::ConfigView<'_> {
    // A value that cannot be expanded is none; the configuration has said so when it was read.
    fn get(&self, name: &[u8]) -> Option<BString> {
        let name = std::str::from_utf8(name).ok()?;
        self.text(name)
    }

    fn origin(&self, name: &[u8]) -> Option<String> {
        let name = std::str::from_utf8(name).ok()?;
        self.raw(name).map(|setting| setting.origin.to_string())
    }
}
