//! Runs many cases in parallel on all cores. A case that panics or does not end fails, and does not affect
//! other cases.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use super::{Case, Disagreement, Verdict};

/// Time limit of a case. The case itself kills a program at this limit. Code in this process cannot be
/// killed, so its worker is abandoned and another one replaces it.
pub const LIMIT: Duration = Duration::from_secs(10);

/// Stack size of a program's main thread.
const STACK: usize = 8 << 20;

enum Report {
    Begun(usize),
    Ended(usize, Verdict),
}

/// Returns the verdicts, in the order of the cases.
pub fn check_cases(cases: Vec<Box<dyn Case>>) -> Vec<(String, Verdict)> {
    let cases: Arc<[Box<dyn Case>]> = cases.into();
    let next = Arc::new(AtomicUsize::new(0));
    let (sender, reports) = channel();
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(cases.len());
    for _ in 0..workers {
        start(&cases, &next, &sender);
    }
    let verdicts = collect(&cases, &reports, || start(&cases, &next, &sender));
    cases.iter().zip(verdicts).map(|(case, verdict)| (case.id().to_owned(), verdict)).collect()
}

fn start(cases: &Arc<[Box<dyn Case>]>, next: &Arc<AtomicUsize>, sender: &Sender<Report>) {
    let (cases, next, sender) = (Arc::clone(cases), Arc::clone(next), sender.clone());
    let work = move || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(index) else { break };
            if sender.send(Report::Begun(index)).is_err() {
                break;
            }
            let verdict =
                catch_unwind(AssertUnwindSafe(|| case.check())).unwrap_or_else(|_| failed("panicked"));
            if sender.send(Report::Ended(index, verdict)).is_err() {
                break;
            }
        }
    };
    if Builder::new().stack_size(STACK).spawn(work).is_err() {
        println!("no more threads: the rest takes longer");
    }
}

fn collect(cases: &[Box<dyn Case>], reports: &Receiver<Report>, replace: impl Fn()) -> Vec<Verdict> {
    let mut verdicts: Vec<Option<Verdict>> = vec![None; cases.len()];
    let mut left = cases.len();
    let mut running: HashMap<usize, Instant> = HashMap::new();
    while left > 0 {
        match reports.recv_timeout(Duration::from_secs(1)) {
            Ok(Report::Begun(index)) => drop(running.insert(index, Instant::now())),
            Ok(Report::Ended(index, verdict)) => {
                running.remove(&index);
                if verdicts[index].is_none() {
                    verdicts[index] = Some(verdict);
                    left -= 1;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        // The limit of a program expires first.
        let hung: Vec<usize> = running
            .iter()
            .filter(|(_, since)| since.elapsed() > LIMIT * 2)
            .map(|(index, _)| *index)
            .collect();
        for index in hung {
            running.remove(&index);
            verdicts[index] = Some(failed("hangs"));
            left -= 1;
            replace();
        }
    }
    verdicts.into_iter().map(|verdict| verdict.unwrap_or_else(|| failed("not run"))).collect()
}

fn failed(what: &str) -> Verdict {
    Verdict::Failed(Disagreement {
        what: what.to_owned(),
        input: String::new(),
        expected: String::new(),
        got: String::new(),
        stderr: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counted(String, fn());

    impl Case for Counted {
        fn id(&self) -> &str {
            &self.0
        }
        fn check(&self) -> Verdict {
            (self.1)();
            Verdict::Passed
        }
    }

    #[test]
    fn a_case_that_panics_fails_alone() {
        let mut cases: Vec<Box<dyn Case>> = Vec::new();
        for number in 0..50 {
            cases.push(Box::new(Counted(
                number.to_string(),
                if number == 7 { || panic!("seven") } else { || {} },
            )));
        }
        let verdicts = check_cases(cases);
        for (number, (id, verdict)) in verdicts.iter().enumerate() {
            assert_eq!(*id, number.to_string());
            assert_eq!(*verdict == Verdict::Passed, number != 7);
        }
    }
}
