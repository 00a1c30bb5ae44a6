//! Macros that are defined only by a template for policies.

use std::sync::LazyLock;

use bstr::{BString, ByteSlice};
use htc_base::text::caseless;
use htc_config::template;

/// Category and name of the template.
const CATEGORY: &str = "FEATURE";
const TEMPLATE: &str = "POLICY_EXPR_FRAGMENTS";

static MACROS: LazyLock<Vec<BString>> = LazyLock::new(|| {
    let found = template::find(CATEGORY.as_bytes(), TEMPLATE.as_bytes());
    let body = found.map(template::Template::body).unwrap_or_default();
    let names = body.lines().filter_map(|line| line.split_once_str("=")).map(|(name, _)| name.trim());
    names.filter(|name| htc_config::statement::is_valid_name(name)).map(BString::from).collect()
});

/// Returns the name of a macro of the template, spelled as in the template.
pub(super) fn find_policy_macro(name: &[u8]) -> Option<&'static BString> {
    MACROS.iter().find(|known| caseless::eq(known, name))
}

/// Returns the statement that defines these macros.
pub(super) fn use_statement() -> String {
    format!("use {CATEGORY} : {TEMPLATE}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_template_has_its_macros() {
        for name in ["CpuBusy", "keyboardbusy", "MachineBusy", "NonCondorLoadAvg", "ActivationTimer"] {
            assert!(find_policy_macro(name.as_bytes()).is_some(), "{name}: {MACROS:?}");
        }
        assert!(find_policy_macro(b"START").is_none());
    }
}
