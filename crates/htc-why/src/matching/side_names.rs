//! Words for the two sides of a match in sentences.

/// Nouns for the two sides of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SideNames {
    /// Noun for the side that is placed, in the singular.
    pub job: &'static str,
    /// Noun for the side that accepts or refuses it, in the singular.
    pub slot: &'static str,
}

impl SideNames {
    /// Jobs and slots.
    pub const SLOTS: SideNames = SideNames { job: "job", slot: "slot" };
    /// Jobs and routes.
    pub const ROUTES: SideNames = SideNames { job: "job", slot: "route" };
}
