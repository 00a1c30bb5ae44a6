//! Tests of `htc-slot-run simulate`.

pub(crate) mod asked;
pub(crate) mod books;
pub(crate) mod figures;
pub(crate) mod meant;
pub(crate) mod scenarios;
