//! The protocol of hooks: types, keywords, path checks, what a caller writes and how it reads an answer.
//!
//! Nothing is run here and nothing decided: what an answer means stands in `slot`, `starter` and `router`.
