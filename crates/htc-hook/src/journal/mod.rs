//! Records on disk of what a program is about to do, so that whoever comes after a kill knows what was under way.
//!
//! Bytes in, records out; `runner::journal` reads and writes the files. A journal is a file of lines: length and checksum of
//! a record in hexadecimal digits, a blank each, and the record as one line of JSON. A line that was not written to its end, or
//! was changed afterwards, is told and passed over; all others are still read. Records hold what is needed to find
//! things again, and no secrets: their writers leave ClaimIds and tokens out.

mod frame;
mod reader;

pub use frame::{JournalEncodeError, encode_record};
pub use reader::{Journal, JournalDamage, JournalFlaw, read_journal};
