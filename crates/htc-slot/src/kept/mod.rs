//! What the machine keeps between two events, of each slot and of all of them: plain data, and what they can say of themselves.
//! They know neither slots nor the machine.

pub(super) mod alarm;
pub(super) mod backfill;
pub(super) mod benchmarks;
pub(super) mod claim;
pub(super) mod conflict;
pub(super) mod drain;
pub(super) mod fetching;
pub(super) mod grid;
pub(super) mod latch;
pub(super) mod lazy;
pub(super) mod load;
pub(super) mod power;
pub(super) mod rest;
