//! A stream that several threads work off by portions, with the results taken in the order of the stream.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZero;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::enough::Enough;

/// Portions that are worked off before further threads are started: less is done before those would be there.
const ALONE: u64 = 4;

/// How many portions from the one that is taken next may be worked off: a thread that was quicker with a later one leaves it and
/// goes on, so that portions of unlike length keep no processor waiting, and what is left does not grow.
const AHEAD: u64 = 8;

/// How many threads are used: as many as were asked for, else one for each processor that this process may use.
pub fn threads(asked: Option<NonZero<usize>>) -> usize {
    asked.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZero::get)
}

/// Works off a stream with so many threads, each with a hand to which portions are dealt, and a worker. What they make of portions
/// is given to `collect` in the order of the stream, until that says that it has enough; who waits for more of the stream is told so
/// by `enough`.
///
/// # Errors
/// Those of the input.
pub fn work_off<H, T: Send, W: FnMut(&mut H) -> T>(
    threads: usize,
    deal: impl Fn(&mut H) -> io::Result<Option<u64>> + Sync,
    worker: impl Fn() -> (H, W) + Sync,
    mut collect: impl FnMut(T) -> bool + Send,
    enough: &Enough,
) -> io::Result<()> {
    let state = State { next: 0, left: BTreeMap::new(), goes_on: true, error: None, collect: &mut collect };
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
struct Line<'c, C, T> {
    state: Mutex<State<'c, C, T>>,
    moved: Condvar,
    enough: &'c Enough,
}

struct State<'c, C, T> {
    /// The portion whose result is taken next.
    next: u64,
    /// Results of later ones.
    left: BTreeMap<u64, T>,
    goes_on: bool,
    error: Option<io::Error>,
    collect: &'c mut C,
}

impl<C: FnMut(T) -> bool, T> Line<'_, C, T> {
    /// Works off portions up to a number; whether there may be more.
    fn work<H>(
        &self,
        deal: &impl Fn(&mut H) -> io::Result<Option<u64>>,
        hand: &mut H,
        work: &mut impl FnMut(&mut H) -> T,
        end: u64,
    ) -> bool {
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
            self.leave(number, result);
            if number + 1 == end {
                return true;
            }
        }
        false
    }

    /// Takes the result of a portion and those that waited for it, or leaves it until it is its turn.
    fn leave(&self, number: u64, result: T) {
        let mut state = self.state();
        while state.goes_on && number >= state.next + AHEAD {
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.left.insert(number, result);
        while state.goes_on
            && let Some(result) = state.take_next()
        {
            state.goes_on = (state.collect)(result);
        }
        let goes_on = state.goes_on;
        drop(state);
        self.moved.notify_all();
        if !goes_on {
            self.enough.say();
        }
    }
}

impl<C, T> State<'_, C, T> {
    fn take_next(&mut self) -> Option<T> {
        let result = self.left.remove(&self.next)?;
        self.next += 1;
        Some(result)
    }
}

impl<'c, C, T> Line<'c, C, T> {
    fn state(&self) -> MutexGuard<'_, State<'c, C, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the work of all where one of them panics, as nobody would take the results behind its own.
struct Watch<'l, 'c, C, T>(&'l Line<'c, C, T>);

impl<C, T> Drop for Watch<'_, '_, C, T> {
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
    use htc_classad::stream::{AdReader, Form};

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
