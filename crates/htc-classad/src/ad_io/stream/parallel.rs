//! Processing of a stream of ads by several threads.

use std::io::Read;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::{AdBatcher, AdForm, AdReader, ReadError};
use crate::ad::ClassAd;

/// Results for the ads of one batch.
struct BatchResults<T> {
    number: u64,
    /// Number of lines of the batch.
    lines: u64,
    results: Vec<T>,
    /// Error that ended the batch, or `None`. Its line numbers count from the beginning of the batch.
    error: Option<ReadError>,
}

impl<R: Read + Send> AdReader<R> {
    /// Calls a function for each ad and returns its results in the order of the stream, without those that are
    /// `None`. Ads in the long form are processed on all cores.
    ///
    /// ```
    /// use htc_classad::{ClassAd, MatchAd, System, stream::AdReader};
    /// let slots = b"Cpus = 1\nRequirements = true\n\nCpus = 4\nRequirements = true\n";
    /// let job: ClassAd = "[ RequestCpus = 2; Requirements = TARGET.Cpus >= MY.RequestCpus ]".parse()?;
    /// let matching = AdReader::new(&slots[..], None).parallel_filter_map(|slot| {
    ///     MatchAd::new(&System, &job, &slot).symmetric().then_some(slot)
    /// })?;
    /// assert_eq!(matching.len(), 1);
    /// assert_eq!(matching[0]["Cpus"].to_string(), "4");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails with the first ad of the stream that cannot be read completely, or if reading fails.
    pub fn parallel_filter_map<T: Send>(
        mut self,
        map: impl Fn(ClassAd) -> Option<T> + Sync,
    ) -> Result<Vec<T>, ReadError> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        if self.detect()? != AdForm::Long || threads == 1 {
            return self.filter_map(|ad| ad.map(&map).transpose()).collect();
        }
        let readers: Vec<_> = (0..threads).map(|_| self.batch_reader()).collect();
        let (batcher, stop) = (self.into_batcher(), AtomicBool::new(false));
        let (batcher, stop, map) = (&batcher, &stop, &map);
        let batches = thread::scope(|scope| {
            let spawn = |reader| scope.spawn(move || process_batches(batcher, reader, stop, map));
            let parts: Vec<_> = readers.into_iter().map(spawn).collect();
            let join = |part: thread::ScopedJoinHandle<'_, _>| match part.join() {
                Ok(batches) => batches,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            parts.into_iter().flat_map(join).collect()
        });
        join_batches(batches)
    }
}

/// Processes batches until the end of the stream or until any thread finds an error.
fn process_batches<R: Read, T>(
    batcher: &AdBatcher<R>,
    mut reader: AdReader<std::io::Empty>,
    stop: &AtomicBool,
    map: &(impl Fn(ClassAd) -> Option<T> + Sync),
) -> Vec<BatchResults<T>> {
    let mut batches = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let number = match batcher.next_batch(&mut reader) {
            Ok(Some(number)) => number,
            Ok(None) => break,
            Err(error) => {
                stop.store(true, Ordering::Relaxed);
                let error = Some(ReadError::Io(error));
                batches.push(BatchResults { number: u64::MAX, lines: 0, results: Vec::new(), error });
                break;
            }
        };
        let mut results = Vec::new();
        let mut error = None;
        for ad in &mut reader {
            match ad {
                Ok(ad) => results.extend(map(ad)),
                Err(first) => {
                    error = Some(first);
                    stop.store(true, Ordering::Relaxed);
                    break;
                }
            }
        }
        let ended = error.is_some();
        batches.push(BatchResults { number, lines: reader.lines_read(), results, error });
        if ended {
            break;
        }
    }
    batches
}

/// Returns the results of all batches in the order of the stream, or the first error. All batches before a batch
/// with an error are complete, because batches are given out in order and each is processed.
fn join_batches<T>(mut batches: Vec<BatchResults<T>>) -> Result<Vec<T>, ReadError> {
    batches.sort_unstable_by_key(|batch| batch.number);
    let mut results = Vec::with_capacity(batches.iter().map(|batch| batch.results.len()).sum());
    let mut lines = 0;
    for batch in batches {
        if let Some(error) = batch.error {
            return Err(error.with_lines_added(lines));
        }
        lines += batch.lines;
        results.extend(batch.results);
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text of a file with ads of different sizes.
    fn many_ads(count: usize) -> String {
        (0..count).map(|number| format!("A = {number}\nB = \"{}\"\n\n", "x".repeat(number % 400))).collect()
    }

    #[test]
    fn results_are_in_the_order_of_the_stream() {
        let text = many_ads(5000);
        for form in [None, Some(AdForm::Long)] {
            let numbers = AdReader::new(text.as_bytes(), form)
                .parallel_filter_map(|ad| {
                    i64::try_from(ad.literal("A")?).ok().filter(|number| number % 3 == 0)
                })
                .unwrap();
            assert!(numbers.iter().copied().eq((0..5000).step_by(3)));
        }
        let json = AdReader::new(&b"{\"A\": 1}\n{\"A\": 2}\n"[..], None).parallel_filter_map(Some).unwrap();
        assert_eq!(json.len(), 2);
    }

    #[test]
    fn the_first_error_of_the_stream_is_returned_with_its_line() {
        let mut text = many_ads(5000);
        let before = text.lines().count() as u64;
        text += "A = 1\nbad\n\n";
        text += &many_ads(100);
        text += "A =\n";
        let error = AdReader::new(text.as_bytes(), None).parallel_filter_map(Some).unwrap_err();
        assert_eq!(error.ad_errors()[0].line, before + 2);
        assert_eq!(
            error.to_string(),
            format!("line {}, column 1: no `=` in the line; write `Name = value`", before + 2)
        );
    }

    #[test]
    fn an_error_of_the_stream_ends_it() {
        struct Broken(usize);
        impl Read for Broken {
            fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
                self.0 += 1;
                if self.0 > 3 {
                    return Err(std::io::ErrorKind::BrokenPipe.into());
                }
                to[..7].copy_from_slice(b"A = 1\n\n");
                Ok(7)
            }
        }
        let error = AdReader::new(Broken(0), Some(AdForm::Long)).parallel_filter_map(Some).unwrap_err();
        assert!(matches!(error, ReadError::Io(_)), "{error}");
        let results: Vec<_> = AdReader::new(Broken(0), Some(AdForm::Long)).collect();
        assert!(matches!(results.last(), Some(Err(ReadError::Io(_)))) && results.len() < 5);
    }
}
