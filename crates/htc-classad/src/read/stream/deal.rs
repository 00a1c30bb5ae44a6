//! One stream of long ads for several readers at once, each of which is dealt portions of whole ads.

use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

use super::Delimiter;
use super::block::Window;

/// A stream that is dealt out. Portions are numbered in the order in which they stand in the stream, so that results can be put
/// together again.
///
/// ```
/// use htc_classad::stream::{AdReader, Form};
/// let text = b"A = 1\n\nA = 2\n";
/// let reader = AdReader::new(&text[..], Some(Form::Long));
/// let mut hand = reader.hand();
/// let (dealer, mut read) = (reader.dealer(), 0);
/// while let Some(_number) = dealer.deal(&mut hand).unwrap() {
///     while let Some(record) = hand.next_ad().unwrap() {
///         assert!(record.ad.contains("A"));
///         read += 1;
///     }
/// }
/// assert_eq!(read, 2);
/// ```
#[derive(Debug)]
pub struct Dealer<R> {
    table: Mutex<Table<R>>,
}

#[derive(Debug)]
struct Table<R> {
    window: Window<R>,
    delimiter: Delimiter,
    dealt: u64,
}

/// A reader that can be dealt portions of a stream.
pub trait Hand {
    /// Takes the first bytes of a window, which are whole ads.
    #[doc(hidden)]
    fn take<R>(&mut self, bytes: usize, from: &mut Window<R>);
}

impl<R: Read> Dealer<R> {
    pub(super) fn new(window: Window<R>, delimiter: Delimiter) -> Self {
        Dealer { table: Mutex::new(Table { window, delimiter, dealt: 0 }) }
    }

    /// Deals whole ads, as many as are there without waiting for more, to a reader that has read all it had; their number, or
    /// none at the end of the stream.
    ///
    /// # Errors
    /// Those of the input.
    pub fn deal(&self, hand: &mut impl Hand) -> io::Result<Option<u64>> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let Table { window, delimiter, dealt } = &mut *table;
        let bytes = window.whole_ads(delimiter)?;
        if bytes == 0 {
            return Ok(None);
        }
        hand.take(bytes, window);
        *dealt += 1;
        Ok(Some(*dealt - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{AdReader, AdRecord, Form};

    /// Gives a few bytes at a time, as a slow pipe does.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(to.len()).min(self.0.len());
            let (now, later) = self.0.split_at(length);
            to[..length].copy_from_slice(now);
            self.0 = later;
            Ok(length)
        }
    }

    fn told(record: &AdRecord, before: u64) -> String {
        let errors: Vec<u64> = record.errors.iter().map(|error| before + error.line).collect();
        format!("{} {} {:?} {errors:?}", before + record.line, record.ad.unparse(), record.banner)
    }

    #[test]
    fn what_is_dealt_to_several_is_what_one_reads() {
        let mut text = String::from("-- Schedd: a\n# c\n\n");
        for number in 0..300 {
            text += &format!("A = {number}\r\nB = \"{}\"\nbad\n", "x".repeat(number));
            text += ["\n", "\n\n \n", "*** Offset = 1\n", "-- Schedd: b\n\n"][number % 4];
        }
        text += "Last = 1";
        for delimiter in [Delimiter::Blank, Delimiter::BlankOrBanner, Delimiter::Prefix(b"***".to_vec())] {
            for (slowness, hands) in [(1, 1), (7, 2), (1000, 3), (1 << 20, 2)] {
                let reader =
                    |text| AdReader::new(Slow(text, slowness), Some(Form::Long)).delimiter(delimiter.clone());
                let (mut alone, mut whole) = (reader(text.as_bytes()), Vec::new());
                while let Some(record) = alone.next_ad().unwrap() {
                    whole.push(told(&record, 0));
                }
                let reader = reader(text.as_bytes());
                let mut hands: Vec<_> = (0..hands).map(|_| reader.hand()).collect();
                let dealer = reader.dealer();
                let (mut dealt, mut before) = (Vec::new(), 0);
                'all: loop {
                    for hand in &mut hands {
                        if dealer.deal(hand).unwrap().is_none() {
                            break 'all;
                        }
                        while let Some(record) = hand.next_ad().unwrap() {
                            dealt.push(told(&record, before));
                        }
                        before += hand.lines();
                    }
                }
                assert_eq!(dealt, whole, "{delimiter:?} {slowness}");
            }
        }
    }
}
