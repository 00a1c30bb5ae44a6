//! Journal on disk of the actions that a program is about to take, so that its successor can recover after a
//! kill.
//!
//! This module works on bytes and records; `runner::journal` reads and writes the files. A journal is a file
//! of lines. Each line has the record's length and checksum as hexadecimal digits, each followed by a blank,
//! and the record as one line of JSON. A line that is incomplete or was changed afterwards is reported and
//! skipped; all other lines are read. Records hold what is needed to find processes and files again, and no
//! secrets: writers leave out ClaimIds and tokens.

mod frame;
mod reader;

pub use frame::{JournalEncodeError, encode_record};
pub use reader::{Journal, JournalDamage, JournalFlaw, read_journal};
