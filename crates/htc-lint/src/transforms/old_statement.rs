//! Statements of the old route syntax (`set_NAME = value`).

use bstr::{BStr, ByteSlice};

use htc_base::text::caseless;
use htc_transform::CommandKeyword;

/// Returns keyword and attribute of the name of an old route's statement, or `None` if it is not one.
pub(super) fn split_old_statement(name: &[u8]) -> Option<(CommandKeyword, &BStr)> {
    let prefixes = [
        ("eval_set_", CommandKeyword::EvalSet),
        ("set_", CommandKeyword::Set),
        ("copy_", CommandKeyword::Copy),
        ("delete_", CommandKeyword::Delete),
    ];
    prefixes.into_iter().find_map(|(prefix, keyword)| {
        let attribute = name.get(prefix.len()..).filter(|attribute| !attribute.is_empty())?;
        let is_old = caseless::starts_with(name, prefix.as_bytes()) && !attribute.contains(&b'$');
        is_old.then(|| (keyword, attribute.as_bstr()))
    })
}
