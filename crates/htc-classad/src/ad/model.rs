//! Tests that compare ads with a simple model: after any operations, an ad has, prints and reads back the same
//! attributes as the model.
//!
//! The regular tests include a short run; `PROPTEST_CASES=25000 cargo test -p htc-classad --lib ad::model` runs a
//! million operations.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::ClassAd;
use crate::ad_io::format::{json, long, xml};
use crate::syntax::{Dialect, Expr};

/// Number of operations in each test case, 40 on average.
const STEP_COUNT: std::ops::Range<usize> = 1..80;

/// Names of attributes: only a few, so that operations affect the same attributes; some names differ only in case.
const ATTRIBUTE_NAMES: [&str; 9] = ["A", "a", "B", "b", "C", "Name", "NAME", "Long_Name_1", "D"];

/// Values as in long ads. Some values need the parser; strings have different and equal lengths.
const VALUE_TEXTS: [&str; 21] = [
    "1",
    "-7",
    "2.5",
    "true",
    "false",
    "undefined",
    "error",
    "\"\"",
    "\"x\"",
    "\"y\"",
    "\"yz\"",
    "\"hello\"",
    "\"say \\\"x\\\"\"",
    "\"\\\"\"",
    "\"back\\slash\"",
    "\" = \"",
    "a + 1",
    "{ 1,\"x\" }",
    "[ b = \"x\" ]",
    "B =?= undefined",
    "strcat(Name,\"hello\")",
];

/// Operation on the first of two ads. The second ad is only a source of attributes.
#[derive(Clone, Debug)]
enum AdOperation {
    Insert(&'static str, String),
    InsertLine(&'static str, String),
    Set(&'static str, String),
    Remove(&'static str),
    Discard(&'static str),
    Rename(&'static str, &'static str),
    Copy(&'static str, &'static str),
    Update,
    Chain(bool),
    Flatten,
    Clone,
    Swap,
    Clear,
}

fn any_name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&ATTRIBUTE_NAMES[..])
}

/// Generates the text of a value. Some texts are long, so that the ad soon compacts its text.
fn any_value() -> impl Strategy<Value = String> {
    let known = prop::sample::select(&VALUE_TEXTS[..]).prop_map(str::to_owned);
    prop_oneof![9 => known, 1 => (0_usize..1500).prop_map(|length| format!("\"{}\"", "t".repeat(length)))]
}

fn any_operation() -> impl Strategy<Value = AdOperation> {
    prop_oneof![
        4 => (any_name(), any_value()).prop_map(|(name, value)| AdOperation::Insert(name, value)),
        8 => (any_name(), any_value()).prop_map(|(name, value)| AdOperation::InsertLine(name, value)),
        8 => (any_name(), any_value()).prop_map(|(name, value)| AdOperation::Set(name, value)),
        3 => any_name().prop_map(AdOperation::Remove),
        3 => any_name().prop_map(AdOperation::Discard),
        4 => (any_name(), any_name()).prop_map(|(from, to)| AdOperation::Rename(from, to)),
        6 => (any_name(), any_name()).prop_map(|(from, to)| AdOperation::Copy(from, to)),
        2 => Just(AdOperation::Update),
        1 => any::<bool>().prop_map(AdOperation::Chain),
        1 => Just(AdOperation::Flatten),
        2 => Just(AdOperation::Clone),
        3 => Just(AdOperation::Swap),
        1 => Just(AdOperation::Clear),
    ]
}

/// Attributes of a model: spelling and value by the name in lower case.
type AttributeMap = BTreeMap<String, (String, String)>;

/// Expected contents of an ad.
#[derive(Clone, Debug, Default)]
struct AdModel {
    own: AttributeMap,
    parents: Vec<AttributeMap>,
}

impl AdModel {
    fn set(&mut self, name: &str, value: &str) {
        let entry = self.own.entry(name.to_ascii_lowercase());
        entry.or_insert_with(|| (name.to_owned(), String::new())).1 = value.to_owned();
    }

    fn get(&self, name: &str) -> Option<String> {
        let key = name.to_ascii_lowercase();
        let found = self.own.get(&key).or_else(|| self.parents.iter().find_map(|map| map.get(&key)));
        found.map(|(_, value)| value.clone())
    }

    /// Removes an attribute and returns its own value. If a parent has the attribute, it is hidden.
    fn remove(&mut self, name: &str) -> Option<String> {
        let key = name.to_ascii_lowercase();
        let removed = self.own.remove(&key).map(|(_, value)| value);
        if self.parents.iter().any(|map| map.contains_key(&key)) {
            self.set(name, "undefined");
        }
        removed
    }

    fn rename(&mut self, from: &str, to: &str) -> bool {
        let Some(value) = self.remove(from) else { return false };
        self.set(to, &value);
        true
    }

    fn copy(&mut self, from: &str, to: &str) -> bool {
        let Some(value) = self.get(from) else { return false };
        self.set(to, &value);
        true
    }

    fn flattened(&self) -> AdModel {
        let mut own = self.own.clone();
        for (key, attribute) in self.parents.iter().flatten() {
            own.entry(key.clone()).or_insert_with(|| attribute.clone());
        }
        AdModel { own, parents: Vec::new() }
    }

    /// Converts the model to an ad without a chained parent.
    fn to_ad(&self) -> ClassAd {
        let mut ad = ClassAd::new();
        for (spelling, value) in self.own.values() {
            ad.insert(spelling, parse_expr(value));
        }
        ad
    }

    fn to_lines(&self) -> String {
        let mut lines: Vec<_> = self.own.values().collect();
        lines.sort_unstable();
        lines.into_iter().map(|(name, value)| format!("{name} = {value}\n")).collect()
    }
}

fn parse_expr(value: &str) -> Expr {
    Expr::parse_with(value.as_bytes(), Dialect::old_syntax()).expect("a value of the list")
}

/// Applies an operation to the ads and to their models.
fn apply_operation(step: &AdOperation, ads: &mut [(ClassAd, AdModel); 2]) {
    let [(ad, model), (other, other_model)] = ads;
    match step {
        AdOperation::Insert(name, value) => {
            ad.insert(name, parse_expr(value));
            model.set(name, value);
        }
        AdOperation::InsertLine(name, value) => {
            ad.insert_line(format!("{name} = {value}").as_bytes()).expect("a line");
            model.set(name, value);
        }
        AdOperation::Set(name, value) => {
            match parse_expr(value).as_literal() {
                Some(literal) => ad.set(name, literal),
                None => ad.insert(name, parse_expr(value)),
            }
            model.set(name, value);
        }
        AdOperation::Remove(name) => {
            let removed = ad.remove(name);
            assert_eq!(removed, model.remove(name).map(|value| parse_expr(&value)));
        }
        AdOperation::Discard(name) => {
            assert_eq!(ad.discard(name.as_bytes()), model.remove(name).is_some());
        }
        AdOperation::Rename(from, to) => {
            assert_eq!(ad.rename(from.as_bytes(), to.as_bytes()), model.rename(from, to));
        }
        AdOperation::Copy(from, to) => {
            assert_eq!(ad.copy_within(from.as_bytes(), to.as_bytes()), model.copy(from, to));
        }
        AdOperation::Update => {
            ad.update(other);
            for (name, value) in other_model.own.values() {
                model.set(name, value);
            }
        }
        AdOperation::Chain(true) => {
            ad.chain(Some(Arc::new(other.clone())));
            let parents = [std::slice::from_ref(&other_model.own), &other_model.parents];
            model.parents = parents.concat();
        }
        AdOperation::Chain(false) => {
            ad.chain(None);
            model.parents.clear();
        }
        AdOperation::Flatten => {
            *ad = ad.flattened_chain();
            *model = model.flattened();
        }
        AdOperation::Clone => {
            *other = ad.clone();
            *other_model = model.clone();
        }
        AdOperation::Swap => ads.swap(0, 1),
        AdOperation::Clear => {
            ad.clear();
            *model = AdModel::default();
        }
    }
}

/// Compares an ad with its model: each attribute, and the ad after it was printed in each syntax and read back.
fn check_ad(ad: &ClassAd, model: &AdModel) {
    assert_eq!((ad.len(), ad.iter().len()), (model.own.len(), model.own.len()));
    for name in ATTRIBUTE_NAMES {
        let value = model.get(name);
        assert_eq!(
            ad.get(name).map(|expr| expr.unparse()),
            value.map(|value| parse_expr(&value).unparse()),
            "{name}"
        );
        assert_eq!(ad.contains(name), model.get(name).is_some(), "{name}");
    }
    let own = long::PrintOptions { own_only: true, ..long::PrintOptions::default() };
    let text = long::print_with(ad, &own);
    assert_eq!(String::from_utf8_lossy(&text), model.to_lines());
    assert_eq!(String::from_utf8_lossy(&long::print(ad)), model.flattened().to_lines());
    let made = model.to_ad();
    let (read, errors) = long::parse(&text);
    assert_eq!(errors, []);
    assert_eq!(read, made);
    assert_eq!(ad.unparse(), made.unparse());
    assert_eq!(ClassAd::parse_new(&ad.unparse(), Dialect::new_syntax()).expect("the new form"), made);
    for layout in [json::JsonLayout::OneLine, json::JsonLayout::Indented] {
        let printed = |ad: &ClassAd| {
            let mut out = Vec::new();
            json::push(ad, layout, &mut out);
            out
        };
        let text = printed(&ad.flattened_chain());
        assert_eq!(
            String::from_utf8_lossy(&text),
            String::from_utf8_lossy(&printed(&model.flattened().to_ad()))
        );
        assert_eq!(json::parse(&text, Dialect::json()).expect("JSON"), model.flattened().to_ad());
    }
    let printed = |ad: &ClassAd| {
        let mut out = Vec::new();
        xml::push(ad, xml::XmlLayout::Spaced, &mut out);
        out
    };
    let text = printed(&ad.flattened_chain());
    assert_eq!(String::from_utf8_lossy(&text), String::from_utf8_lossy(&printed(&model.flattened().to_ad())));
    let read = xml::parse_prefix(&text, Dialect::new_syntax()).expect("XML");
    assert_eq!(read.ad, model.flattened().to_ad());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn operations_on_an_ad_agree_with_a_plain_map(steps in prop::collection::vec(any_operation(), STEP_COUNT)) {
        let mut ads = <[(ClassAd, AdModel); 2]>::default();
        for step in &steps {
            apply_operation(step, &mut ads);
            check_ad(&ads[0].0, &ads[0].1);
        }
        check_ad(&ads[1].0, &ads[1].1);
    }

    #[test]
    fn operations_on_a_large_ad_agree_with_a_plain_map(steps in prop::collection::vec(any_operation(), STEP_COUNT)) {
        let mut ads = <[(ClassAd, AdModel); 2]>::default();
        // More attributes than [`INDEX_THRESHOLD`], so that the ad uses its index.
        for number in 0..90 {
            apply_operation(&AdOperation::InsertLine("Name", String::from("\"text\"")), &mut ads);
            let name = format!("Name{number}");
            assert!(ads[0].0.rename(b"Name", name.as_bytes()) && ads[0].1.rename("Name", &name));
        }
        for step in &steps {
            apply_operation(step, &mut ads);
        }
        check_ad(&ads[0].0, &ads[0].1);
        check_ad(&ads[1].0, &ads[1].1);
    }
}
