//! An attribute that is watched (STARTD_LATCH_EXPRS).

use htc_classad::AttrName;

/// One watched attribute.
#[derive(Clone, Debug)]
pub(crate) struct Latch {
    pub name: AttrName,
    /// What is published of it: its value, and when that changed.
    pub published_names: [AttrName; 2],
    /// Its last value; `None` when it was no number.
    pub value: Option<i64>,
    /// When that changed, in seconds since the epoch; `None` before the first change.
    pub changed_at: Option<i64>,
}

/// The names under which a watched attribute publishes its value, and when that changed.
pub(crate) fn published_names(name: &AttrName) -> [AttrName; 2] {
    ["Value", "Time"].map(|what| AttrName::from(format!("{name}{what}").as_str()))
}
