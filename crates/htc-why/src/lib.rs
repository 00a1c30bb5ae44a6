//! Reasons: ads that make each part of each condition true and not true, and whether two transforms or two routers do the same.

pub mod coverage;
pub mod router_comparison;
pub mod transform_comparison;
