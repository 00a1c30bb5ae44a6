//! Search for ads that make each part of each condition true and not true, and comparison of two transforms
//! or two routers.

pub mod coverage;
pub mod router_comparison;
pub mod transform_comparison;
