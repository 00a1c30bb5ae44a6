//! Tests that generated structures are unchanged after conversion to ads and back, and generated ads after
//! conversion to JSON text and back.

#![cfg(feature = "serde")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Debug;

use htc_classad::{ClassAd, Expr, List, Value, from_ad, to_ad};
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Structure with fields of all kinds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Record {
    truth: bool,
    small: i8,
    large: i64,
    unsigned: u32,
    single: f32,
    double: f64,
    letter: char,
    text: String,
    unit: (),
    marker: Marker,
    option: Option<String>,
    list: Vec<Option<i32>>,
    tuple: (u8, String),
    array: [u16; 3],
    newtype: Seconds,
    by_name: BTreeMap<String, Option<i64>>,
    by_number: BTreeMap<u64, String>,
    by_truth: BTreeMap<bool, ()>,
    by_state: BTreeMap<State, u8>,
    shape: Shape,
    tagged: Tagged,
    adjacent: Adjacent,
    loose: Loose,
    nested: Option<Box<Record>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Marker;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Seconds(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum State {
    Idle,
    Running,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Empty,
    Number(i32),
    Maybe(Option<i32>),
    Unit(()),
    Pair(i32, String),
    Named { width: u8, name: Option<String> },
    Inner(Box<Shape>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "Kind", deny_unknown_fields)]
enum Tagged {
    Empty,
    Named { width: u8 },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "Kind", content = "Content")]
enum Adjacent {
    Empty,
    Number(i32),
    Named { width: u8 },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Loose {
    Number(i32),
    Text(String),
    Named { width: u8 },
}

fn any_text() -> impl Strategy<Value = String> {
    "[^\0]{0,12}"
}

/// Generates keys, no two of which differ only in case.
fn any_key() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z][a-z0-9_]{0,5}", "[a-z =.'\"\\\\\n]{1,6}"]
}

fn any_shape() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        Just(Shape::Empty),
        any::<i32>().prop_map(Shape::Number),
        any::<Option<i32>>().prop_map(Shape::Maybe),
        Just(Shape::Unit(())),
        (any::<i32>(), any_text()).prop_map(|(number, text)| Shape::Pair(number, text)),
        (any::<u8>(), prop::option::of(any_text())).prop_map(|(width, name)| Shape::Named { width, name }),
    ];
    leaf.prop_recursive(4, 8, 1, |inner| inner.prop_map(|shape| Shape::Inner(Box::new(shape))))
}

fn any_enums() -> impl Strategy<Value = (Tagged, Adjacent, Loose)> {
    (
        prop_oneof![Just(Tagged::Empty), any::<u8>().prop_map(|width| Tagged::Named { width })],
        prop_oneof![
            Just(Adjacent::Empty),
            any::<i32>().prop_map(Adjacent::Number),
            any::<u8>().prop_map(|width| Adjacent::Named { width })
        ],
        prop_oneof![
            any::<i32>().prop_map(Loose::Number),
            any_text().prop_map(Loose::Text),
            any::<u8>().prop_map(|width| Loose::Named { width })
        ],
    )
}

fn any_record() -> impl Strategy<Value = Record> {
    let plain = (
        any::<(bool, i8, i64, u32, f32, f64, char)>(),
        (any_text(), prop::option::of(any_text()), any::<Vec<Option<i32>>>(), (any::<u8>(), any_text())),
        (any::<[u16; 3]>(), any::<u32>()),
    );
    let maps = (
        prop::collection::btree_map(any_key(), any::<Option<i64>>(), 0..4),
        prop::collection::btree_map(any::<u64>(), any_text(), 0..4),
        prop::collection::btree_map(any::<bool>(), Just(()), 0..3),
        prop::collection::btree_map(prop_oneof![Just(State::Idle), Just(State::Running)], any::<u8>(), 0..3),
    );
    let leaf = (plain, maps, any_shape(), any_enums()).prop_map(
        |((numbers, texts, (array, seconds)), maps, shape, (tagged, adjacent, loose))| Record {
            truth: numbers.0,
            small: numbers.1,
            large: numbers.2,
            unsigned: numbers.3,
            single: numbers.4,
            double: numbers.5,
            // A NUL byte is rejected with an error that names the attribute; another test checks this.
            letter: if numbers.6 == '\0' { 'x' } else { numbers.6 },
            text: texts.0,
            unit: (),
            marker: Marker,
            option: texts.1,
            list: texts.2,
            tuple: texts.3,
            array,
            newtype: Seconds(seconds),
            by_name: maps.0,
            // Integers in ads have a sign, so the largest unsigned keys do not fit.
            by_number: maps.1.into_iter().map(|(key, text)| (key >> 1, text)).collect(),
            by_truth: maps.2,
            by_state: maps.3,
            shape,
            tagged,
            adjacent,
            loose,
            nested: None,
        },
    );
    let leaf = leaf.boxed();
    (leaf.clone(), prop::option::of(leaf))
        .prop_map(|(outer, inner)| Record { nested: inner.map(Box::new), ..outer })
}

fn round_trip<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) -> Result<(), TestCaseError> {
    let ad = to_ad(value).map_err(|error| TestCaseError::fail(format!("{error}: {value:?}")))?;
    let back = from_ad::<T>(&ad).map_err(|error| TestCaseError::fail(format!("{error}: {ad}")))?;
    prop_assert_eq!(&back, value);
    // The ad is also unchanged after it was printed and parsed.
    let reparsed = ClassAd::parse_new(ad.unparse(), Default::default()).unwrap();
    prop_assert_eq!(reparsed.len(), ad.len());
    Ok(())
}

fn any_expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        any_text().prop_map(Expr::literal),
        any::<i64>().prop_map(Expr::literal),
        // serde_json does not read numbers with more digits exactly.
        any::<i32>().prop_map(|number| Expr::literal(f64::from(number) / 8.0)),
        prop::sample::select(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY][..]).prop_map(Expr::literal),
        any::<bool>().prop_map(Expr::literal),
        Just(Expr::literal(Value::Undefined)),
        Just(Expr::literal(Value::Error)),
        prop::sample::select(
            &["a + b", "/Expr(x)/", "TARGET.Cpus >= 2 && \"x\\\"y\" != z", "f(1,{ 2 })"][..]
        )
        .prop_map(|text| Expr::parse(text).unwrap_or_else(|_| Expr::literal(text))),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| Expr::literal(List::new(items))),
            prop::collection::btree_map(any_key(), inner, 0..4).prop_map(|fields| {
                let mut ad = ClassAd::new();
                fields.into_iter().for_each(|(name, expr)| ad.insert(name, expr));
                Expr::literal(ad)
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn structures_survive_a_round_trip_through_ads(record in any_record()) {
        round_trip(&record)?;
    }

    #[test]
    fn enums_survive_a_round_trip_through_ads(shapes in prop::collection::btree_map(any_key(), any_shape(), 0..4)) {
        round_trip(&shapes)?;
    }

    #[test]
    fn ads_survive_a_round_trip_through_json(fields in prop::collection::btree_map(any_key(), any_expr(), 0..6)) {
        let mut ad = ClassAd::new();
        fields.into_iter().for_each(|(name, expr)| ad.insert(name, expr));
        let text = serde_json::to_string(&ad).unwrap();
        let back: ClassAd = serde_json::from_str(&text).unwrap();
        // NaN is not equal to itself, so printed texts are compared.
        prop_assert_eq!(back.unparse(), ad.unparse(), "{}", text);
        let value = serde_json::to_value(&ad).unwrap();
        prop_assert_eq!(serde_json::from_value::<ClassAd>(value).unwrap().unparse(), ad.unparse());
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Strict {
    owner: String,
    cpus: Option<u8>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Lenient {
    owner: String,
}

#[test]
fn an_unknown_field_is_refused_if_the_structure_requires_it() {
    let ad: ClassAd = "[ OWNER = \"ana\"; cpus = 2; Extra = error ]".parse().unwrap();
    let error = from_ad::<Strict>(&ad).unwrap_err();
    assert_eq!(error.attribute().as_deref(), Some("Extra"));
    assert!(error.message().starts_with("unknown field `Extra`, expected `Owner` or `Cpus`"), "{error}");
    // An attribute that no field of the structure needs is not evaluated.
    assert_eq!(from_ad::<Lenient>(&ad).unwrap(), Lenient { owner: "ana".into() });
    let ad: ClassAd = "[ OWNER = \"ana\"; cpus = 2 ]".parse().unwrap();
    assert_eq!(from_ad::<Strict>(&ad).unwrap(), Strict { owner: "ana".into(), cpus: Some(2) });
}

#[test]
fn an_unknown_field_of_the_chained_parent_or_of_a_nested_ad_is_refused_too() {
    let mut ad: ClassAd = "[ Owner = \"ana\" ]".parse().unwrap();
    ad.chain(Some(std::sync::Arc::new("[ Extra = 1 ]".parse().unwrap())));
    assert!(from_ad::<Strict>(&ad).is_err());
    let outer: ClassAd = "[ Inner = [ Owner = \"ana\"; Extra = 1 ] ]".parse().unwrap();
    let error = from_ad::<BTreeMap<String, Strict>>(&outer).unwrap_err();
    assert_eq!(error.attribute().as_deref(), Some("Inner.Extra"));
}

#[test]
fn types_that_no_ad_can_hold_are_refused_by_name() {
    fn refused(value: impl Serialize) -> String {
        to_ad(&value).unwrap_err().to_string()
    }
    assert_eq!(
        refused(BTreeMap::from([("a", u64::MAX)])),
        "attribute 'a': 18446744073709551615 exceeds the largest integer of ClassAds"
    );
    assert!(refused(BTreeMap::from([("a", i128::MIN)])).contains("is less than the smallest integer"));
    assert_eq!(
        refused(BTreeMap::from([("a", "x\0y")])),
        "attribute 'a': a string of an ad cannot contain a NUL byte"
    );
    assert_eq!(
        refused(BTreeMap::from([("A", 1), ("a", 2)])),
        "attribute 'a': another name differs from it only in case"
    );
    assert_eq!(refused(BTreeMap::from([("", 1)])), "an attribute has an empty name");
    assert!(refused(BTreeMap::from([(Some(1), 1), (None, 2)])).contains("the key of a map"));
    assert_eq!(
        refused(State::Idle),
        "only a structure or a map can become an ad, not a value of type string"
    );
}

#[test]
fn variants_of_ads_are_found_case_insensitively() {
    let ad: ClassAd = "[ NAMED = [ WIDTH = 1 + 1 ] ]".parse().unwrap();
    assert_eq!(from_ad::<Shape>(&ad).unwrap(), Shape::Named { width: 2, name: None });
    let ad = to_ad(&Shape::Pair(1, "x".into())).unwrap();
    assert_eq!(ad.to_string(), "[ Pair = { 1,\"x\" } ]");
    assert_eq!(from_ad::<Shape>(&ad).unwrap(), Shape::Pair(1, "x".into()));
}

#[test]
fn deep_data_neither_overflows_the_stack_nor_is_lost() {
    let mut expr = Expr::literal(1);
    for _ in 0..400 {
        expr = Expr::literal(List::new([expr]));
    }
    let mut ad = ClassAd::new();
    ad.insert("A", expr.clone());
    let error = from_ad::<BTreeMap<String, serde_json::Value>>(&ad).unwrap_err();
    assert!(error.to_string().contains("nested too deeply"), "{error}");
    // Deeply nested parts are written as text, which may be as deep as the parser allows.
    let text = serde_json::to_string(&ad).unwrap();
    assert!(text.contains("/Expr({ { ") && text.len() < 3000, "{text}");
}
