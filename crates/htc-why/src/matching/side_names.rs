//! Words for the two sides of a match in sentences.

/// Nouns for the two sides of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SideNames {
    /// Singular noun for the side that is placed in slots or routes.
    pub job: &'static str,
    /// Singular noun for the side that accepts or refuses it.
    pub slot: &'static str,
}

impl SideNames {
    /// Nouns for a match of jobs and slots.
    pub const SLOTS: SideNames = SideNames { job: "job", slot: "slot" };
    /// Nouns for a match of jobs and routes.
    pub const ROUTES: SideNames = SideNames { job: "job", slot: "route" };
}
