//! Tests that types can be sent to other threads and shared between threads, and of matching in several
//! threads.

use std::thread;

use htc_classad::stream::{AdBatcher, AdReader, AdRecord, ReadError, ReferenceReader};
use htc_classad::{
    ClassAd, Context, EvalWorld, Expr, List, MatchAd, Observer, Prefilter, System, UserMaps, Value, regex,
};

/// Compiles only if `T` can be sent to other threads and shared between threads.
fn assert_send_and_sync<T: Send + Sync + ?Sized>() {}

#[test]
fn everything_may_be_sent_and_shared() {
    assert_send_and_sync::<Context<'_>>();
    assert_send_and_sync::<MatchAd<'_>>();
    assert_send_and_sync::<ClassAd>();
    assert_send_and_sync::<Expr>();
    assert_send_and_sync::<Value>();
    assert_send_and_sync::<List>();
    assert_send_and_sync::<Prefilter>();
    assert_send_and_sync::<regex::Regex>();
    assert_send_and_sync::<UserMaps>();
    assert_send_and_sync::<AdReader<std::fs::File>>();
    assert_send_and_sync::<ReferenceReader<std::fs::File>>();
    assert_send_and_sync::<AdBatcher<std::fs::File>>();
    assert_send_and_sync::<AdRecord>();
    assert_send_and_sync::<ReadError>();
    fn assert_sync<T: Sync + ?Sized>() {}
    assert_sync::<dyn EvalWorld>();
    assert_sync::<dyn Observer>();
}

#[test]
fn one_pair_is_matched_by_several_threads() {
    let job: ClassAd =
        "[ RequestCpus = 2; Requirements = TARGET.Cpus >= MY.RequestCpus ]".parse().expect("an ad");
    let slots: Vec<ClassAd> = (0..100).map(|cpus| [("Cpus", cpus)].into_iter().collect()).collect();
    let pairs: Vec<MatchAd<'_>> = slots.iter().map(|slot| MatchAd::new(&System, &job, slot)).collect();
    let count = |pairs: &[MatchAd<'_>]| pairs.iter().filter(|pair| pair.left_requirements() == true).count();
    let found: usize = thread::scope(|scope| {
        let parts: Vec<_> = pairs.chunks(25).map(|part| scope.spawn(move || count(part))).collect();
        parts.into_iter().map(|part| part.join().expect("no panic")).sum()
    });
    assert_eq!(found, 98);
}
