//! Processing of a stream in batches by several threads. The results are collected in the order of the
//! stream.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZero;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::stop_flag::StopFlag;

/// Number of batches that are processed before more threads are started, because a short stream would end
/// before the threads are ready.
const SINGLE_THREADED_BATCHES: u64 = 4;

/// Maximum number of batches that a thread may be ahead of the batch whose result is collected next. A thread
/// that finishes a batch early stores its result and continues with another batch. All processors therefore
/// stay busy although batches differ in length, and the number of stored results stays limited.
const MAX_BATCHES_AHEAD: u64 = 8;

/// Returns the requested number of threads, or the number of processors available to this process if `requested` is
/// `None`.
pub fn thread_count(requested: Option<NonZero<usize>>) -> usize {
    requested.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZero::get)
}

/// Processes a stream with `threads` threads. `worker` creates a batch reader and a function for each thread; `next_batch`
/// fills the batch reader with the next batch, and the function processes the batch. The results are passed to
/// `collect` in the order of the stream until `collect` returns false; the flag `stop` is then set, which cancels
/// blocked reads.
///
/// # Errors
/// Returns an error of reading the input.
pub fn process_in_parallel<H, T: Send, W: FnMut(&mut H) -> T>(
    threads: usize,
    next_batch: impl Fn(&mut H) -> io::Result<Option<u64>> + Sync,
    worker: impl Fn() -> (H, W) + Sync,
    mut collect: impl FnMut(T) -> bool + Send,
    stop: &StopFlag,
) -> io::Result<()> {
    let state = ResultQueueState {
        next_batch: 0,
        waiting_results: BTreeMap::new(),
        is_running: true,
        error: None,
        collect: &mut collect,
    };
    let queue = ResultQueue { state: Mutex::new(state), progressed: Condvar::new(), stop_flag: stop };
    let (mut batch_reader, mut work) = worker();
    if queue.process_batches(&next_batch, &mut batch_reader, &mut work, SINGLE_THREADED_BATCHES) {
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| {
                    let (mut batch_reader, mut work) = worker();
                    queue.process_batches(&next_batch, &mut batch_reader, &mut work, u64::MAX)
                });
            }
            queue.process_batches(&next_batch, &mut batch_reader, &mut work, u64::MAX);
        });
    }
    queue.state.into_inner().unwrap_or_else(PoisonError::into_inner).error.map_or(Ok(()), Err)
}

/// Queue of results that cannot be collected yet, because an earlier batch is still being processed.
struct ResultQueue<'c, C, T> {
    state: Mutex<ResultQueueState<'c, C, T>>,
    progressed: Condvar,
    stop_flag: &'c StopFlag,
}

struct ResultQueueState<'c, C, T> {
    /// Number of the batch whose result is collected next.
    next_batch: u64,
    /// Results of batches after `next_batch`, by number.
    waiting_results: BTreeMap<u64, T>,
    is_running: bool,
    error: Option<io::Error>,
    collect: &'c mut C,
}

impl<C: FnMut(T) -> bool, T> ResultQueue<'_, C, T> {
    /// Processes batches up to a number of batches. Returns true if the stream may contain more.
    fn process_batches<H>(
        &self,
        next_batch: &impl Fn(&mut H) -> io::Result<Option<u64>>,
        batch_reader: &mut H,
        work: &mut impl FnMut(&mut H) -> T,
        end: u64,
    ) -> bool {
        let _watch = PanicGuard(self);
        while self.lock_state().is_running {
            let number = match next_batch(batch_reader) {
                Ok(Some(number)) => number,
                Ok(None) => return false,
                Err(error) => {
                    self.lock_state().error.get_or_insert(error);
                    return false;
                }
            };
            let result = work(batch_reader);
            self.deliver_result(number, result);
            if number + 1 == end {
                return true;
            }
        }
        false
    }

    /// Passes the result of a batch to `collect`, followed by the stored results of the next batches; or
    /// stores the result if an earlier result is missing.
    fn deliver_result(&self, number: u64, result: T) {
        let mut state = self.lock_state();
        while state.is_running && number >= state.next_batch + MAX_BATCHES_AHEAD {
            state = self.progressed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting_results.insert(number, result);
        while state.is_running
            && let Some(result) = state.take_next_result()
        {
            state.is_running = (state.collect)(result);
        }
        let is_running = state.is_running;
        drop(state);
        self.progressed.notify_all();
        if !is_running {
            self.stop_flag.set();
        }
    }
}

impl<C, T> ResultQueueState<'_, C, T> {
    fn take_next_result(&mut self) -> Option<T> {
        let result = self.waiting_results.remove(&self.next_batch)?;
        self.next_batch += 1;
        Some(result)
    }
}

impl<'c, C, T> ResultQueue<'c, C, T> {
    fn lock_state(&self) -> MutexGuard<'_, ResultQueueState<'c, C, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Guard that stops all threads if one of them panics, because the results after the batch of that thread
/// could never be collected.
struct PanicGuard<'l, 'c, C, T>(&'l ResultQueue<'c, C, T>);

impl<C, T> Drop for PanicGuard<'_, '_, C, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock_state().is_running = false;
            self.0.progressed.notify_all();
            self.0.stop_flag.set();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htc_classad::stream::{AdForm, AdReader};

    #[test]
    fn results_are_in_the_order_of_the_stream_for_any_number_of_threads() {
        let text: String = (0..400_000).map(|number| format!("A = {number}\n\n")).collect();
        for threads in [1, 2, 7] {
            let reader = AdReader::new(text.as_bytes(), Some(AdForm::Long));
            let (prototype, batcher) = (reader.batch_reader(), reader.into_batcher());
            let mut all = Vec::new();
            let worker = || {
                let work = |batch_reader: &mut AdReader<io::Empty>| {
                    let mut found = Vec::new();
                    while let Some(record) = batch_reader.next_record().unwrap() {
                        found.push(record.ad.literal("a").and_then(|value| value.as_int()).unwrap());
                    }
                    found
                };
                (prototype.batch_reader(), work)
            };
            process_in_parallel(
                threads,
                |batch_reader| batcher.next_batch(batch_reader),
                worker,
                |found: Vec<i64>| {
                    all.extend(found);
                    all.len() < 50_000
                },
                &StopFlag::new(),
            )
            .unwrap();
            assert!(all.len() >= 50_000 && all.len() < 400_000, "{}", all.len());
            assert!((0..).zip(&all).all(|(number, found)| number == *found));
        }
    }
}
