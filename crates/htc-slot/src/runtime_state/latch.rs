//! Latched attributes (STARTD_LATCH_EXPRS).

use htc_classad::AttrName;

/// Latched attribute.
#[derive(Clone, Debug)]
pub(crate) struct Latch {
    pub name: AttrName,
    /// Names of the published attributes: its value, and the time of its last change.
    pub published_names: [AttrName; 2],
    /// Last value of the latch, or `None` if it was not a number.
    pub value: Option<i64>,
    /// Time when it last changed, in epoch seconds, or `None` before the first change.
    pub changed_at: Option<i64>,
}

/// Returns the names under which a latch publishes its value and the time of its last change.
pub(crate) fn published_names(name: &AttrName) -> [AttrName; 2] {
    ["Value", "Time"].map(|what| AttrName::from(format!("{name}{what}").as_str()))
}
