//! Tests of strict mode and default mode in the same process: parsing and evaluation in one mode do not
//! affect the other mode.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use bstr::BString;
use htc_classad::stream::{AdReader, AdRecord, Projection};
use htc_classad::{
    AttrName, ClassAd, Context, Dialect, EvalWorld, Expr, LanguageMode, MatchAd, Prefilter, System, Value,
    Zone,
};

/// World with a given language mode.
struct WorldInMode(LanguageMode);

impl EvalWorld for WorldInMode {
    fn epoch(&self) -> i64 {
        1_700_000_000
    }
    fn local_zone(&self, _: i64) -> Zone {
        Zone::utc()
    }
    fn random_bits(&self) -> u64 {
        7
    }
    fn home(&self, _: &[u8]) -> Option<BString> {
        None
    }
    fn language_mode(&self) -> LanguageMode {
        self.0
    }
}

fn modes() -> [WorldInMode; 2] {
    [false, true].map(|strict| WorldInMode(LanguageMode { strict, utc_times: true }))
}

/// Returns results of evaluations, most of which depend on the mode of the world.
fn mode_dependent_results(world: &WorldInMode) -> Vec<String> {
    let dialect = Dialect::new_syntax().mode(world.language_mode());
    let mut left = ClassAd::new();
    left.set("A", 1);
    let mut right = ClassAd::new();
    right.set("B", 2);
    right.insert("Requirements", Expr::parse(b"A == 1").expect("an expression"));
    let context = Context::new(world).my(&left).target(&right);
    let text = b"A = 010\nB = 010 + 0\n\nA = 1\nB = 2\n";
    let mut reader = AdReader::new(&text[..], None).dialect(dialect);
    let whole = reader.next_record().expect("memory").expect("an ad");
    let mut screen = Prefilter::new().strict(world.language_mode().strict);
    let test = screen.add(&Expr::parse(b"B == 2").expect("an expression"));
    vec![
        format!("{:?}", Expr::parse_with(b"010", dialect).ok().and_then(|expr| expr.as_literal())),
        format!("{}", Expr::parse_with(b"strcat(\"a\"; \"b\")", dialect).is_ok()),
        format!("{:?}", context.eval(&Expr::parse(b"eval(\"007\")").expect("an expression"))),
        format!(
            "{:?}",
            Context::new(world).my(&left).eval(&Expr::parse(b"MY.A").expect("an expression")).as_int()
        ),
        format!("{:?}", context.eval(&Expr::parse(b"B").expect("an expression"))),
        format!("{}", MatchAd::new(world, &left, &right).left_matches_right()),
        format!("{} {}", whole.ad.unparse(), whole.errors.len()),
        format!("{:?}", screen.truth(test, &screen.load(&right, htc_classad::AdRole::My))),
        format!("{:?}", context.eval(&Expr::parse(b"A + 1").expect("an expression"))),
    ]
}

#[test]
fn both_modes_can_alternate_and_run_in_two_threads() {
    let [condor, strict] = modes();
    let expected = [mode_dependent_results(&condor), mode_dependent_results(&strict)];
    let differ = expected[0].iter().zip(&expected[1]).filter(|(condor, strict)| condor != strict).count();
    assert_eq!(differ, expected[0].len() - 1, "{expected:#?}");
    assert_eq!(expected[0].last(), expected[1].last());
    let turns = |first: usize| {
        for turn in first..first + 200 {
            assert_eq!(mode_dependent_results(&modes()[turn % 2]), expected[turn % 2]);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| turns(0));
        scope.spawn(|| turns(1));
    });
}

#[test]
fn readers_of_both_modes_can_alternate_and_share_projections() {
    let text = b"A = 010 + 1\nB = f(1; 2)\n\n".repeat(3);
    let mut projection = Projection::default();
    ["A", "B"].into_iter().for_each(|name| projection.add(AttrName::from(name)));
    let mut readers = modes().map(|world| {
        AdReader::new(&text[..], None).dialect(Dialect::new_syntax().mode(world.language_mode()))
    });
    for _ in 0..3 {
        for (reader, expected) in readers.iter_mut().zip([("B", "A"), ("A", "B")]) {
            let mut record = AdRecord::default();
            assert!(reader.next_projected(&mut projection, &mut record).expect("memory"), "an ad");
            for ad in [&record.ad, &reader.whole_ad()] {
                assert!(ad.contains(expected.0) && !ad.contains(expected.1), "{}", ad.unparse());
            }
            assert_eq!(record.errors.len(), 1);
        }
    }
}

#[test]
fn a_time_without_a_zone_is_in_the_zone_of_the_dialect() {
    let text = b"absTime(\"2026-07-01T12:00:00\")";
    let seconds = |dialect: Dialect| match Expr::parse_with(text, dialect).map(|expr| expr.as_literal()) {
        Ok(Some(Value::AbsTime(time))) => time.seconds - i64::from(time.offset),
        other => panic!("{other:?}"),
    };
    let greenwich = 1_782_907_200;
    assert_eq!(
        seconds(Dialect::new_syntax().mode(LanguageMode { utc_times: true, ..LanguageMode::default() })),
        greenwich
    );
    // A text without a zone is local time, whatever the zone of the machine is.
    let (here, zone) = (seconds(Dialect::of_world(&System)), Zone::local(greenwich));
    let hour = if zone.daylight_saving { 3600 } else { 0 };
    assert!((here - greenwich).abs() <= 2 * i64::from(zone.offset).abs() + hour, "{here}");
}
