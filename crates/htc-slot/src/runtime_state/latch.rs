//! Latched attributes (STARTD_LATCH_EXPRS).

use htc_classad::AttrName;

/// Latched attribute.
#[derive(Clone, Debug)]
pub(crate) struct Latch {
    pub name: AttrName,
    /// Names of the two published attributes: for the value, and for the time of its last change.
    pub published_names: [AttrName; 2],
    /// Last value of the latched attribute, or `None` if it was not a number.
    pub value: Option<i64>,
    /// Time when the value last changed, in epoch seconds, or `None` if it never has.
    pub changed_at: Option<i64>,
}

/// Returns the names under which a latch publishes its value and the time of its last change.
pub(crate) fn published_names(name: &AttrName) -> [AttrName; 2] {
    ["Value", "Time"].map(|what| AttrName::from(format!("{name}{what}").as_str()))
}
