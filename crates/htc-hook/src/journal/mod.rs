//! Journal on disk: a program records its next actions in it, so that its successor can recover after the program was
//! killed.
//!
//! This module works on bytes and records; `runner::journal` reads and writes the files. A journal is a file of lines.
//! Each line has the record's length and checksum as hexadecimal digits, each followed by a blank, and the record as
//! one line of JSON. The reader reports and skips a line that is incomplete or was changed after it was written, and
//! reads all other lines. Records contain the data that is needed to find processes and files again, but no secrets:
//! writers omit ClaimIds and tokens.

mod frame;
mod reader;

pub use frame::{JournalEncodeError, encode_record};
pub use reader::{Journal, JournalDamage, JournalFlaw, read_journal};
