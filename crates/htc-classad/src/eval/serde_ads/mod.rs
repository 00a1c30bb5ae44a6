//! Conversion between ads and Rust structures with serde (feature `serde`).
//!
//! Field names are attribute names and are compared case-insensitively; with `#[serde(rename_all = "PascalCase")]`,
//! fields have the spelling that is usual in ads. Values are evaluated in their ad, so `Memory = Cpus * 1024` gives a
//! number. An undefined or missing attribute is `None` for an `Option` field, and an error for a field of any other
//! type. Every error names its attribute.
//!
//! ```
//! # #[cfg(feature = "serde")] {
//! use htc_classad::{ClassAd, from_ad, to_ad};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! #[serde(rename_all = "PascalCase")]
//! struct Job {
//!     owner: String,
//!     request_cpus: u32,
//!     request_memory: Option<u64>,
//! }
//!
//! let mut ad = ClassAd::new();
//! ad.set("Owner", "ana");
//! ad.insert_line(b"RequestCpus = 1 + 1").unwrap();
//! let job: Job = from_ad(&ad).unwrap();
//! assert_eq!(job, Job { owner: "ana".into(), request_cpus: 2, request_memory: None });
//! assert_eq!(to_ad(&job).unwrap().unparse(), "[ Owner = \"ana\"; RequestCpus = 2 ]");
//!
//! ad.set("RequestCpus", "many");
//! let error = from_ad::<Job>(&ad).unwrap_err();
//! assert_eq!(error.to_string(), "attribute 'RequestCpus': invalid type: string \"many\", expected u32");
//! # }
//! ```

mod ads_as_data;
mod deserialize;
mod error;
mod serialize;

pub use deserialize::from_ad;
pub use error::FieldError;
pub use serialize::to_ad;
