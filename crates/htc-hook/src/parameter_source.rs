//! Interface to the configuration of hooks: keywords, paths and arguments.

use bstr::BString;

/// Configuration as hooks see it: expanded values of parameters.
///
/// Any function from a parameter name to a value implements this trait; tests use such functions.
pub trait ParameterSource {
    /// Returns the value, or `None` if the parameter is undefined or empty. Hooks treat the two cases alike
    /// (`param()`).
    fn get(&self, name: &[u8]) -> Option<BString>;

    /// Returns the place where the parameter is set, such as `file:line`, for messages.
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
    // Treats a value that cannot be expanded as unset, because reading the configuration has already reported the
    // error.
    fn get(&self, name: &[u8]) -> Option<BString> {
        let name = std::str::from_utf8(name).ok()?;
        self.text(name)
    }

    fn origin(&self, name: &[u8]) -> Option<String> {
        let name = std::str::from_utf8(name).ok()?;
        self.raw(name).map(|setting| setting.origin.describe())
    }
}
