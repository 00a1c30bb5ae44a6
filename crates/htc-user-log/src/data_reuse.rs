//! Events of the directory of reusable files (DATA_REUSE_DIRECTORY), about reserved space and files, with one
//! line per attribute.
//!
//! Reference: `ReserveSpaceEvent`, `ReleaseSpaceEvent`, `FileCompleteEvent`, `FileUsedEvent`,
//! `FileRemovedEvent`.

use bstr::BString;

use super::EventKind;
use htc_base::text::number;
use htc_classad::ClassAd;

/// Line of an event: its label, the name of its attribute, and true if the value is a number.
type ReuseLine = (&'static str, &'static str, bool);

const BYTES_LINE: ReuseLine = ("Bytes", "Size", true);
const CHECKSUM_LINE: ReuseLine = ("Checksum Value", "Checksum", false);
const CHECKSUM_TYPE_LINE: ReuseLine = ("Checksum Type", "ChecksumType", false);
const TAG_LINE: ReuseLine = ("Tag", "Tag", false);
const RESERVATION_LINE: ReuseLine = ("Reservation UUID", "UUID", false);

/// Event about reserved space or a reusable file, with one value for each line that this kind of event has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataReuseEvent {
    kind: EventKind,
    values: Vec<BString>,
}

impl DataReuseEvent {
    fn expected_lines(kind: EventKind) -> Option<&'static [ReuseLine]> {
        Some(match kind {
            EventKind::ReserveSpace => &[
                ("Bytes reserved", "ReservedSpace", true),
                ("Reservation Expiration", "ExpirationTime", true),
                RESERVATION_LINE,
                TAG_LINE,
            ],
            EventKind::ReleaseSpace => &[RESERVATION_LINE],
            EventKind::FileComplete => {
                &[BYTES_LINE, CHECKSUM_LINE, CHECKSUM_TYPE_LINE, ("UUID", "UUID", false)]
            }
            EventKind::FileUsed => &[CHECKSUM_LINE, CHECKSUM_TYPE_LINE, TAG_LINE],
            EventKind::FileRemoved => &[BYTES_LINE, CHECKSUM_LINE, CHECKSUM_TYPE_LINE, TAG_LINE],
            _ => return None,
        })
    }

    /// Returns the number of the event.
    pub fn event_number(&self) -> u16 {
        self.kind.number()
    }

    /// Parses an event from its lines. The first line contains the text after the time and must be empty. Returns
    /// `None` if the lines do not match the event's kind.
    pub(super) fn parse(number: u16, lines: &[BString]) -> Option<Self> {
        let kind = EventKind::from_number(number)?;
        let wanted = Self::expected_lines(kind)?;
        let (first, lines) = lines.split_first()?;
        if !first.is_empty() || lines.len() != wanted.len() {
            return None;
        }
        let value = |(line, (label, _, is_number)): (&BString, &ReuseLine)| {
            let value = line.strip_prefix(b"\t")?.strip_prefix(label.as_bytes())?.strip_prefix(b": ")?;
            let whole = |text: &[u8]| number::integer_prefix(text).is_some_and(|(_, end)| end == text.len());
            (!is_number || whole(value)).then(|| BString::from(value))
        };
        let values = lines.iter().zip(wanted).map(value).collect::<Option<_>>()?;
        Some(DataReuseEvent { kind, values })
    }

    pub(super) fn append_to(&self, out: &mut Vec<u8>) {
        out.push(b'\n');
        for ((label, ..), value) in Self::expected_lines(self.kind).into_iter().flatten().zip(&self.values) {
            out.extend_from_slice(format!("\t{label}: ").as_bytes());
            out.extend_from_slice(value);
            out.push(b'\n');
        }
    }

    pub(super) fn add_to_ad(&self, ad: &mut ClassAd) {
        for ((_, name, is_number), value) in
            Self::expected_lines(self.kind).into_iter().flatten().zip(&self.values)
        {
            match number::integer_prefix(value).filter(|_| *is_number) {
                Some((number, _)) => ad.set(*name, number),
                None => ad.set(*name, value.clone()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{EventReader, FormatOptions};

    #[test]
    fn events_of_reused_files_are_read_and_written_again() {
        let text = "041 (007.000.000) 2026-11-21 00:47:08 \n\tBytes reserved: 4096\n\tReservation Expiration: 1795000000\n\
                    \tReservation UUID: u-1\n\tTag: alice\n...\n\
                    044 (007.000.000) 2026-11-21 00:47:09 \n\tChecksum Value: ab\n\tChecksum Type: sha256\n\tTag: alice\n...\n";
        let events: Vec<_> = EventReader::new(text.as_bytes()).map(Result::unwrap).collect();
        let options = FormatOptions::parse(b"ISO_DATE");
        let again: Vec<u8> = events.iter().flat_map(|event| event.to_text(options)).collect();
        assert_eq!(String::from_utf8(again).unwrap(), text);
        let ad = events[0].to_ad();
        assert_eq!(ad.string("MyType").unwrap(), "ReserveSpaceEvent");
        assert_eq!(ad.get("ReservedSpace").unwrap().unparse(), "4096");
        assert_eq!(events[1].to_ad().string("Checksum").unwrap(), "ab");
    }

    #[test]
    fn a_damaged_event_keeps_its_lines() {
        let text = "041 (007.000.000) 2026-11-21 00:47:08 \n\tBytes reserved: many\n...\n";
        let event = EventReader::new(text.as_bytes()).next().unwrap().unwrap();
        assert!(event.to_ad().string("Info").unwrap().contains(&b'y'));
    }
}
