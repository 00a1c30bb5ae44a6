//! A stream that several threads work off by portions, with the results taken in the order of the stream.

use std::io;
use std::num::NonZero;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::Enough;

/// Portions that are worked off before further threads are started: less is done before those would be there.
const ALONE: u64 = 4;

/// How many threads are used: as many as were asked for, else one for each processor that this process may use.
pub(crate) fn threads(asked: Option<NonZero<usize>>) -> usize {
    asked.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZero::get)
}

/// Works off a stream with so many threads, each with a hand to which portions are dealt, and a worker. What they make of portions
/// is given to `collect` in the order of the stream, until that says that it has enough; who waits for more of the stream is told so
/// by `enough`.
///
/// # Errors
/// Those of the input.
pub(crate) fn work_off<H, T, W: FnMut(&mut H) -> T>(
    threads: usize,
    deal: impl Fn(&mut H) -> io::Result<Option<u64>> + Sync,
    worker: impl Fn() -> (H, W) + Sync,
    mut collect: impl FnMut(T) -> bool + Send,
    enough: &Enough,
) -> io::Result<()> {
    let state = State { next: 0, goes_on: true, error: None, collect: &mut collect };
    let line = Line { state: Mutex::new(state), moved: Condvar::new(), enough };
    let (mut hand, mut work) = worker();
    if line.work(&deal, &mut hand, &mut work, ALONE) {
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| {
                    let (mut hand, mut work) = worker();
                    line.work(&deal, &mut hand, &mut work, u64::MAX)
                });
            }
            line.work(&deal, &mut hand, &mut work, u64::MAX);
        });
    }
    line.state.into_inner().unwrap_or_else(PoisonError::into_inner).error.map_or(Ok(()), Err)
}

/// Where results wait until those before them are taken.
struct Line<'c, C> {
    state: Mutex<State<'c, C>>,
    moved: Condvar,
    enough: &'c Enough,
}

struct State<'c, C> {
    /// The portion whose result is taken next.
    next: u64,
    goes_on: bool,
    error: Option<io::Error>,
    collect: &'c mut C,
}

impl<C> Line<'_, C> {
    /// Works off portions up to a number; whether there may be more.
    fn work<H, T>(
        &self,
        deal: &impl Fn(&mut H) -> io::Result<Option<u64>>,
        hand: &mut H,
        work: &mut impl FnMut(&mut H) -> T,
        end: u64,
    ) -> bool
    where
        C: FnMut(T) -> bool,
    {
        let _watch = Watch(self);
        while self.state().goes_on {
            let number = match deal(hand) {
                Ok(Some(number)) => number,
                Ok(None) => return false,
                Err(error) => {
                    self.state().error.get_or_insert(error);
                    return false;
                }
            };
            let result = work(hand);
            let mut state = self.state();
            while state.goes_on && state.next != number {
                state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.goes_on {
                state.next += 1;
                state.goes_on = (state.collect)(result);
            }
            let goes_on = state.goes_on;
            drop(state);
            self.moved.notify_all();
            if !goes_on {
                self.enough.say();
            }
            if number + 1 == end {
                return true;
            }
        }
        false
    }
}

impl<'c, C> Line<'c, C> {
    fn state(&self) -> MutexGuard<'_, State<'c, C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the work of all where one of them panics, as nobody would take the results behind its own.
struct Watch<'l, 'c, C>(&'l Line<'c, C>);

impl<C> Drop for Watch<'_, '_, C> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state().goes_on = false;
            self.0.moved.notify_all();
            self.0.enough.say();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classad::stream::{AdReader, Form};

    #[test]
    fn results_come_in_the_order_of_the_stream_however_many_work() {
        let text: String = (0..400_000).map(|number| format!("A = {number}\n\n")).collect();
        for threads in [1, 2, 7] {
            let reader = AdReader::new(text.as_bytes(), Some(Form::Long));
            let (like, dealer) = (reader.hand(), reader.dealer());
            let mut all = Vec::new();
            let worker = || {
                let work = |hand: &mut AdReader<io::Empty>| {
                    let mut found = Vec::new();
                    while let Some(record) = hand.next_ad().unwrap() {
                        found.push(record.ad.literal("a").and_then(|value| value.as_int()).unwrap());
                    }
                    found
                };
                (like.hand(), work)
            };
            work_off(
                threads,
                |hand| dealer.deal(hand),
                worker,
                |found: Vec<i64>| {
                    all.extend(found);
                    all.len() < 50_000
                },
                &Enough::new(),
            )
            .unwrap();
            assert!(all.len() >= 50_000 && all.len() < 400_000, "{}", all.len());
            assert!((0..).zip(&all).all(|(number, found)| number == *found));
        }
    }
}
