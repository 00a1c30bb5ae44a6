//! The ClassAd language: values, expressions, ads, evaluation, matching, and every form ads are written in.

pub mod regex;
