//! Distribution of a stream of long ads to several readers, which receive batches of complete ads.

use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

use super::Delimiter;
use super::input_window::InputWindow;

/// Stream whose ads are distributed in batches. Batches are numbered in the order of the stream, so that results
/// can be put in order again.
///
/// ```
/// use htc_classad::stream::{AdReader, AdForm};
/// let text = b"A = 1\n\nA = 2\n";
/// let reader = AdReader::new(&text[..], Some(AdForm::Long));
/// let mut batch_reader = reader.batch_reader();
/// let (batcher, mut read) = (reader.into_batcher(), 0);
/// while let Some(_number) = batcher.next_batch(&mut batch_reader).unwrap() {
///     while let Some(record) = batch_reader.next_record().unwrap() {
///         assert!(record.ad.contains("A"));
///         read += 1;
///     }
/// }
/// assert_eq!(read, 2);
/// ```
#[derive(Debug)]
pub struct AdBatcher<R> {
    state: Mutex<BatcherState<R>>,
}

#[derive(Debug)]
struct BatcherState<R> {
    window: InputWindow<R>,
    delimiter: Delimiter,
    batch_count: u64,
}

/// Reader that accepts batches of a stream.
///
/// ```
/// use htc_classad::stream::{AdBatcher, AdReader, BatchReader};
///
/// /// Counts the batches of a stream.
/// fn batches(batcher: &AdBatcher<&[u8]>, reader: &mut impl BatchReader) -> u64 {
///     let mut last = None;
///     while let Some(number) = batcher.next_batch(reader).unwrap() {
///         last = Some(number);
///         break;
///     }
///     last.map_or(0, |number| number + 1)
/// }
/// let reader = AdReader::new(&b"A = 1\n"[..], None);
/// let mut batch_reader = reader.batch_reader();
/// assert_eq!(batches(&reader.into_batcher(), &mut batch_reader), 1);
/// ```
pub trait BatchReader {
    /// Takes the first `bytes` bytes of a window, which are complete ads, as the next batch.
    #[doc(hidden)]
    fn take_batch<R>(&mut self, bytes: usize, from: &mut InputWindow<R>);
}

impl<R: Read> AdBatcher<R> {
    pub(super) fn new(window: InputWindow<R>, delimiter: Delimiter) -> Self {
        AdBatcher { state: Mutex::new(BatcherState { window, delimiter, batch_count: 0 }) }
    }

    /// Gives the next batch to a reader that has read its previous batch. A batch has as many complete ads as are
    /// available without waiting. Returns the number of the batch, or `None` at the end of the stream.
    ///
    /// # Errors
    /// Fails if reading fails.
    pub fn next_batch(&self, reader: &mut impl BatchReader) -> io::Result<Option<u64>> {
        let mut table = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let BatcherState { window, delimiter, batch_count } = &mut *table;
        let bytes = window.whole_ads_length(delimiter)?;
        if bytes == 0 {
            return Ok(None);
        }
        reader.take_batch(bytes, window);
        *batch_count += 1;
        Ok(Some(*batch_count - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{AdForm, AdReader, AdRecord};

    /// Input that returns a few bytes at a time, like a slow pipe.
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

    fn describe_record(record: &AdRecord, before: u64) -> String {
        let errors: Vec<u64> = record.errors.iter().map(|error| before + error.line).collect();
        format!("{} {} {:?} {errors:?}", before + record.line, record.ad.unparse(), record.banner)
    }

    #[test]
    fn batches_for_several_readers_contain_the_whole_stream() {
        let mut text = String::from("-- Schedd: a\n# c\n\n");
        for number in 0..300 {
            text += &format!("A = {number}\r\nB = \"{}\"\nbad\n", "x".repeat(number));
            text += ["\n", "\n\n \n", "*** Offset = 1\n", "-- Schedd: b\n\n"][number % 4];
        }
        text += "Last = 1";
        for delimiter in [Delimiter::Blank, Delimiter::BlankOrBanner, Delimiter::Prefix(b"***".to_vec())] {
            for (slowness, batch_readers) in [(1, 1), (7, 2), (1000, 3), (1 << 20, 2)] {
                let reader = |text| {
                    AdReader::new(Slow(text, slowness), Some(AdForm::Long)).delimiter(delimiter.clone())
                };
                let (mut single_reader, mut expected) = (reader(text.as_bytes()), Vec::new());
                while let Some(record) = single_reader.next_record().unwrap() {
                    expected.push(describe_record(&record, 0));
                }
                let reader = reader(text.as_bytes());
                let mut batch_readers: Vec<_> = (0..batch_readers).map(|_| reader.batch_reader()).collect();
                let batcher = reader.into_batcher();
                let (mut found, mut before) = (Vec::new(), 0);
                'all: loop {
                    for batch_reader in &mut batch_readers {
                        if batcher.next_batch(batch_reader).unwrap().is_none() {
                            break 'all;
                        }
                        while let Some(record) = batch_reader.next_record().unwrap() {
                            found.push(describe_record(&record, before));
                        }
                        before += batch_reader.lines_read();
                    }
                }
                assert_eq!(found, expected, "{delimiter:?} {slowness}");
            }
        }
    }
}
