//! Attributes that an administrator adds to slot ads: STARTD_ATTRS and similar lists (`Resource::publish_static`).

use bstr::BString;

use super::parameters::SlotParameters;
use htc_base::quirks::Quirk;
use htc_classad::{ClassAd, Expr};

/// Publishes STARTD_ATTRS and similar lists in `ad`. `id` is the slot's id string; a dynamic slot has the attributes of its
/// parent.
pub(super) fn publish_slot_attributes(
    parameters: &SlotParameters<'_>,
    global: &SlotParameters<'_>,
    id: &str,
    ad: &mut ClassAd,
) {
    // First come the global lists, which are the same for all slots (`config_fill_ad`). STARTD_EXPRS is the old name of
    // STARTD_ATTRS.
    for name in ["STARTD_ATTRS", "STARTD_EXPRS", "SYSTEM_STARTD_ATTRS"]
        .into_iter()
        .flat_map(|list| global.words(list))
    {
        insert_parsed(global, &name, global.text(&name).as_ref(), ad);
    }
    // Next come attributes with values for this slot. The list of the slot's type replaces the global list.
    let id = id.split('_').next().unwrap_or(id);
    let mut names = parameters.words("STARTD_ATTRS");
    if !parameters.reproduces(Quirk::TypeAttrsHideSlotValues) {
        names.extend(global.words("STARTD_ATTRS"));
    }
    names.extend(parameters.words(&format!("{id}_STARTD_ATTRS")));
    let lists = ["STARTD_LATCH_EXPRS", "SYSTEM_STARTD_ATTRS", "SYSTEM_STARTD_LATCH_EXPRS"];
    names.extend(lists.into_iter().flat_map(|list| parameters.words(list)));
    for name in names {
        let own = parameters.text(&format!("{id}_{name}"));
        match own.or_else(|| parameters.text_or_empty(&name)) {
            Some(text) if text.is_empty() => drop(ad.remove(&name)),
            Some(text) => insert_parsed(parameters, &name, Some(&text), ad),
            None => {}
        }
    }
}

fn insert_parsed(parameters: &SlotParameters<'_>, name: &str, text: Option<&BString>, ad: &mut ClassAd) {
    let Some(text) = text else { return };
    match Expr::parse_with(text, parameters.dialect()) {
        Ok(expr) => ad.insert(name, expr),
        Err(error) => parameters.warn(format!(
            "the attribute {name} of the slots is not a valid expression: {error}; did you forget to quote a string?"
        )),
    }
}
