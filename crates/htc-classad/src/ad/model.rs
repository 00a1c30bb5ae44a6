//! Ads against a plain map: whatever is done to an ad, it holds, prints and reads back what such a map would.
//!
//! A small run is part of the tests; `PROPTEST_CASES=25000 cargo test -p htc-classad --lib ad::model` does a million things to ads.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::ClassAd;
use crate::read::format::{json, long, xml};
use crate::syntax::{Dialect, Expr};

/// Things that are done in each case: 40 where none fails.
const STEPS: std::ops::Range<usize> = 1..80;

/// Few names, so that they meet; the spellings of one are different ones.
const FEW: [&str; 9] = ["A", "a", "B", "b", "C", "Name", "NAME", "Long_Name_1", "D"];

/// Values as long ads have them: what needs a parser and what does not, texts that are shorter, longer and as long.
const VALUES: [&str; 21] = [
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

/// Something that is done to the first ad; the second is there to be taken from.
#[derive(Clone, Debug)]
enum Step {
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

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&FEW[..])
}

/// The value as a text; some are long, so that texts are moved together soon.
fn value() -> impl Strategy<Value = String> {
    let known = prop::sample::select(&VALUES[..]).prop_map(str::to_owned);
    prop_oneof![9 => known, 1 => (0_usize..1500).prop_map(|length| format!("\"{}\"", "t".repeat(length)))]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (name(), value()).prop_map(|(name, value)| Step::Insert(name, value)),
        8 => (name(), value()).prop_map(|(name, value)| Step::InsertLine(name, value)),
        8 => (name(), value()).prop_map(|(name, value)| Step::Set(name, value)),
        3 => name().prop_map(Step::Remove),
        3 => name().prop_map(Step::Discard),
        4 => (name(), name()).prop_map(|(from, to)| Step::Rename(from, to)),
        6 => (name(), name()).prop_map(|(from, to)| Step::Copy(from, to)),
        2 => Just(Step::Update),
        1 => any::<bool>().prop_map(Step::Chain),
        1 => Just(Step::Flatten),
        2 => Just(Step::Clone),
        3 => Just(Step::Swap),
        1 => Just(Step::Clear),
    ]
}

/// The spelling and the value of each attribute by its name in small letters.
type Map = BTreeMap<String, (String, String)>;

/// What an ad is to be.
#[derive(Clone, Debug, Default)]
struct Model {
    own: Map,
    parents: Vec<Map>,
}

impl Model {
    fn set(&mut self, name: &str, value: &str) {
        let entry = self.own.entry(name.to_ascii_lowercase());
        entry.or_insert_with(|| (name.to_owned(), String::new())).1 = value.to_owned();
    }

    fn get(&self, name: &str) -> Option<String> {
        let key = name.to_ascii_lowercase();
        let found = self.own.get(&key).or_else(|| self.parents.iter().find_map(|map| map.get(&key)));
        found.map(|(_, value)| value.clone())
    }

    /// The value, if the ad itself has one; what the parents have is hidden.
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

    fn flattened(&self) -> Model {
        let mut own = self.own.clone();
        for (key, attribute) in self.parents.iter().flatten() {
            own.entry(key.clone()).or_insert_with(|| attribute.clone());
        }
        Model { own, parents: Vec::new() }
    }

    /// The ad with nothing behind it.
    fn made(&self) -> ClassAd {
        let mut ad = ClassAd::new();
        for (spelling, value) in self.own.values() {
            ad.insert(spelling, expr(value));
        }
        ad
    }

    fn lines(&self) -> String {
        let mut lines: Vec<_> = self.own.values().collect();
        lines.sort_unstable();
        lines.into_iter().map(|(name, value)| format!("{name} = {value}\n")).collect()
    }
}

fn expr(value: &str) -> Expr {
    Expr::parse_with(value.as_bytes(), Dialect::old_syntax()).expect("a value of the list")
}

/// Does a step to the ad and to what it is to be.
fn take(step: &Step, ads: &mut [(ClassAd, Model); 2]) {
    let [(ad, model), (other, other_model)] = ads;
    match step {
        Step::Insert(name, value) => {
            ad.insert(name, expr(value));
            model.set(name, value);
        }
        Step::InsertLine(name, value) => {
            ad.insert_line(format!("{name} = {value}").as_bytes()).expect("a line");
            model.set(name, value);
        }
        Step::Set(name, value) => {
            match expr(value).as_literal() {
                Some(literal) => ad.set(name, literal),
                None => ad.insert(name, expr(value)),
            }
            model.set(name, value);
        }
        Step::Remove(name) => {
            let removed = ad.remove(name);
            assert_eq!(removed, model.remove(name).map(|value| expr(&value)));
        }
        Step::Discard(name) => {
            assert_eq!(ad.discard(name.as_bytes()), model.remove(name).is_some());
        }
        Step::Rename(from, to) => {
            assert_eq!(ad.rename(from.as_bytes(), to.as_bytes()), model.rename(from, to));
        }
        Step::Copy(from, to) => {
            assert_eq!(ad.copy_within(from.as_bytes(), to.as_bytes()), model.copy(from, to));
        }
        Step::Update => {
            ad.update(other);
            for (name, value) in other_model.own.values() {
                model.set(name, value);
            }
        }
        Step::Chain(true) => {
            ad.chain(Some(Arc::new(other.clone())));
            let parents = [std::slice::from_ref(&other_model.own), &other_model.parents];
            model.parents = parents.concat();
        }
        Step::Chain(false) => {
            ad.chain(None);
            model.parents.clear();
        }
        Step::Flatten => {
            *ad = ad.flattened_chain();
            *model = model.flattened();
        }
        Step::Clone => {
            *other = ad.clone();
            *other_model = model.clone();
        }
        Step::Swap => ads.swap(0, 1),
        Step::Clear => {
            ad.clear();
            *model = Model::default();
        }
    }
}

/// Holds an ad against what it is to be: each attribute, and all of it in every form, printed and read again.
fn check(ad: &ClassAd, model: &Model) {
    assert_eq!((ad.len(), ad.iter().len()), (model.own.len(), model.own.len()));
    for name in FEW {
        let value = model.get(name);
        assert_eq!(
            ad.get(name).map(|expr| expr.unparse()),
            value.map(|value| expr(&value).unparse()),
            "{name}"
        );
        assert_eq!(ad.contains(name), model.get(name).is_some(), "{name}");
    }
    let own = long::PrintOptions { own_only: true, ..long::PrintOptions::default() };
    let text = long::print_with(ad, &own);
    assert_eq!(String::from_utf8_lossy(&text), model.lines());
    assert_eq!(String::from_utf8_lossy(&long::print(ad)), model.flattened().lines());
    let made = model.made();
    let (read, errors) = long::parse(&text);
    assert_eq!(errors, []);
    assert_eq!(read, made);
    assert_eq!(ad.unparse(), made.unparse());
    assert_eq!(ClassAd::parse_new(&ad.unparse(), Dialect::new_syntax()).expect("the new form"), made);
    for layout in [json::Layout::OneLine, json::Layout::Indented] {
        let printed = |ad: &ClassAd| {
            let mut out = Vec::new();
            json::push(ad, layout, &mut out);
            out
        };
        let text = printed(&ad.flattened_chain());
        assert_eq!(
            String::from_utf8_lossy(&text),
            String::from_utf8_lossy(&printed(&model.flattened().made()))
        );
        assert_eq!(json::parse(&text, Dialect::json()).expect("JSON"), model.flattened().made());
    }
    let printed = |ad: &ClassAd| {
        let mut out = Vec::new();
        xml::push(ad, xml::Layout::Spaced, &mut out);
        out
    };
    let text = printed(&ad.flattened_chain());
    assert_eq!(String::from_utf8_lossy(&text), String::from_utf8_lossy(&printed(&model.flattened().made())));
    let read = xml::parse_prefix(&text, Dialect::new_syntax()).expect("XML");
    assert_eq!(read.ad, model.flattened().made());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_ad_is_what_a_plain_map_is(steps in prop::collection::vec(step(), STEPS)) {
        let mut ads = <[(ClassAd, Model); 2]>::default();
        for step in &steps {
            take(step, &mut ads);
            check(&ads[0].0, &ads[0].1);
        }
        check(&ads[1].0, &ads[1].1);
    }

    #[test]
    fn a_large_ad_is_what_a_plain_map_is(steps in prop::collection::vec(step(), STEPS)) {
        let mut ads = <[(ClassAd, Model); 2]>::default();
        // So many that an index finds them.
        for number in 0..90 {
            take(&Step::InsertLine("Name", String::from("\"text\"")), &mut ads);
            let name = format!("Name{number}");
            assert!(ads[0].0.rename(b"Name", name.as_bytes()) && ads[0].1.rename("Name", &name));
        }
        for step in &steps {
            take(step, &mut ads);
        }
        check(&ads[0].0, &ads[0].1);
        check(&ads[1].0, &ads[1].1);
    }
}
