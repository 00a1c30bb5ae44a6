//! Tests of the table of calls in the README: each call in the last column of the table is made here, and no
//! other call.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::sync::Arc;

use htc_classad::flatten::FlattenResult;
use htc_classad::format::list::{AttributeOrder, ListForm};
use htc_classad::format::long::PrintOptions;
use htc_classad::format::{json, xml};
use htc_classad::references::ReferenceSpelling;
use htc_classad::stream::{self, Delimiter};
use htc_classad::{
    AttrName, ClassAd, Context, Dialect, Expr, ExprKind, MatchAd, System, Value, flatten, format,
    function_names, is_private, references,
};

const README: &str = include_str!("../README.md");

/// Call in the table of the README, with the code that makes the call, and this code as text.
struct ReadmeCall {
    name: &'static str,
    make: fn(),
    code: &'static str,
}

/// Declares the calls of the table. Each has its text in the table, and code that makes the call and checks
/// the result.
macro_rules! calls {
    ($($name:literal => $code:block)*) => {
        &[$(ReadmeCall { name: $name, make: || $code, code: stringify!($code) }),*]
    };
}

fn new(text: &str) -> ClassAd {
    ClassAd::parse_new(text.as_bytes(), Dialect::new_syntax()).unwrap()
}

fn expr(text: &str) -> Expr {
    Expr::parse(text.as_bytes()).unwrap()
}

/// Returns an ad with the attributes `A = 7`, `B = A + 1` and `S = "ana"`.
fn ad() -> ClassAd {
    new("[ A = 7; B = A + 1; S = \"ana\" ]")
}

/// Calls `query` with a context whose MY is the ad of [`ad`].
fn query_results<T>(query: impl FnOnce(Context<'_>) -> T) -> T {
    query(Context::new(&System).my(&ad()))
}

/// Returns a job and a slot that match.
fn job_and_slot() -> [ClassAd; 2] {
    [
        new("[ RequestCpus = 2; Rank = TARGET.Cpus; Requirements = TARGET.Cpus >= MY.RequestCpus ]"),
        new("[ Cpus = 4; Requirements = true ]"),
    ]
}

fn names(names: Option<references::AttrNames>) -> Vec<String> {
    names.unwrap().iter().map(ToString::to_string).collect()
}

const CALLS: &[ReadmeCall] = calls! {
    "ClassAd::parse_new(text, dialect)" => {
        let ad = ClassAd::parse_new(b"[ a = 1 ]", Dialect::new_syntax()).unwrap();
        assert_eq!(ad.get("A"), Some(expr("1")));
    }
    "Expr::parse(text)" => { assert_eq!(Expr::parse(b"a+1").unwrap().unparse(), "a + 1"); }
    "Expr::parse_with(text, dialect)" => {
        assert_eq!(Expr::parse_with(b"a+1", Dialect::new_syntax()).unwrap(), expr("a + 1"));
    }
    "format::long::parse(text)" => {
        let (ad, errors) = format::long::parse(b"A = 1\nB = 2\n");
        assert_eq!((ad.len(), errors.len()), (2, 0));
    }
    "stream::AdReader" => {
        let mut ads = stream::AdReader::new(&b"A = 1\n\nA = 2\n"[..], None);
        assert_eq!(ads.next_record().unwrap().unwrap().ad, new("[ A = 1 ]"));
        assert_eq!(ads.next_record().unwrap().unwrap().ad, new("[ A = 2 ]"));
        assert!(ads.next_record().unwrap().is_none());
    }
    "Expr::parse_with(text, Dialect::old_syntax())" => {
        // A backslash is literal in old syntax.
        let path = Expr::parse_with(br#""C:\new""#, Dialect::old_syntax()).unwrap();
        assert_eq!(path.as_literal(), Some(Value::from(r"C:\new")));
    }
    "ad.insert_line(b\"Name = value\")" => {
        let mut ad = ClassAd::new();
        assert_eq!(ad.insert_line(b"Name = 1 + 1").unwrap(), AttrName::from("Name"));
        assert_eq!(ad.get("name"), Some(expr("1 + 1")));
    }
    "stream::ReferenceReader" => {
        let mut ads = stream::ReferenceReader::new(&b"A = 1\n\nA = 2\n"[..], None, Delimiter::BlankOrBanner);
        assert_eq!(ads.next_ad().unwrap(), Some(new("[ A = 1 ]")));
    }
    "format::json::parse" => {
        let ad = format::json::parse(br#"{"A": 1}"#, Dialect::json()).unwrap();
        assert_eq!(ad, new("[ A = 1 ]"));
    }
    "format::xml::parse_prefix" => {
        let text = br#"<c><a n="A"><i>1</i></a></c><c>"#;
        let read = format::xml::parse_prefix(text, Dialect::new_syntax()).unwrap();
        assert_eq!((read.ad, read.used), (new("[ A = 1 ]"), text.len() - 3));
    }
    "ad.insert(name, expr)" => {
        let mut ad = ad();
        ad.insert("a", expr("B * 2"));
        assert_eq!(ad.get("A"), Some(expr("B * 2")));
    }
    "ad.set(name, value)" => {
        let mut ad = ad();
        ad.set("A", "text");
        assert_eq!(ad.get("A"), Some(expr("\"text\"")));
    }
    "ad.get(name)" => { let ad = ad(); assert_eq!((ad.get("b"), ad.get("C")), (Some(expr("A + 1")), None)); }
    "ad.get_own(name)" => {
        let mut ad = ad();
        ad.chain(Some(Arc::new(new("[ C = 1 ]"))));
        assert_eq!((ad.get("C"), ad.get_own("C")), (Some(expr("1")), None));
    }
    "ad.literal(name)" => {
        let ad = ad();
        assert_eq!((ad.literal("A"), ad.literal("B")), (Some(Value::Int(7)), None));
    }
    "ad.string(name)" => { let ad = ad(); assert_eq!((ad.string("S"), ad.string("A")), (Some("ana".into()), None)); }
    "ad.contains(name)" => { let ad = ad(); assert!(ad.contains("a") && !ad.contains("C")); }
    "ad.discard(name)" => { let mut ad = ad(); assert!(ad.discard(b"A") && !ad.contains("A") && !ad.discard(b"A")); }
    "ad.remove(name)" => {
        let mut ad = ad();
        assert_eq!((ad.remove("B"), ad.contains("B")), (Some(expr("A + 1")), false));
    }
    "ad.clear()" => { let mut ad = ad(); ad.clear(); assert_eq!(ad, ClassAd::new()); }
    "ad.copy_within(from, to)" => {
        let mut ad = ad();
        assert!(ad.copy_within(b"S", b"T"));
        assert_eq!((ad.string("T"), ad.string("S")), (Some("ana".into()), Some("ana".into())));
    }
    "ad.rename(from, to)" => {
        let mut ad = ad();
        assert!(ad.rename(b"S", b"T"));
        assert_eq!((ad.string("T"), ad.string("S")), (Some("ana".into()), None));
    }
    "ad.update(&other)" => {
        let mut ad = ad();
        ad.update(&new("[ A = 8; C = 1 ]"));
        assert_eq!(ad, new("[ A = 8; B = A + 1; C = 1; S = \"ana\" ]"));
    }
    "ad.chain(Some(parent))" => {
        let mut ad = ad();
        ad.chain(Some(Arc::new(new("[ C = 1 ]"))));
        assert!(ad.contains("C"));
    }
    "ad.chain(None)" => {
        let mut ad = ad();
        ad.chain(Some(Arc::new(new("[ C = 1 ]"))));
        ad.chain(None);
        assert!(!ad.contains("C"));
    }
    "ad.parent()" => {
        let mut ad = ad();
        assert_eq!(ad.parent(), None);
        let parent = Arc::new(new("[ C = 1 ]"));
        ad.chain(Some(parent.clone()));
        assert_eq!(ad.parent(), Some(&parent));
    }
    "ad.flattened_chain()" => {
        let mut ad = new("[ A = 1 ]");
        ad.chain(Some(Arc::new(new("[ A = 2; C = 3 ]"))));
        let ad = ad.flattened_chain();
        assert_eq!((ad.get_own("A"), ad.get_own("C")), (Some(expr("1")), Some(expr("3"))));
    }
    "ad.len()" => { let ad = ad(); assert_eq!(ad.len(), 3); }
    "ad.iter()" => { let ad = ad(); assert!(ad.iter().any(|(name, value)| name == "B" && value == expr("A + 1"))); }
    "ad.names()" => {
        let ad = ad();
        assert_eq!(ad.names().map(ToString::to_string).collect::<BTreeSet<_>>(), ["A", "B", "S"].map(String::from).into());
    }
    "ad.sorted()" => {
        let ad = new("[ b = 2; C = 3; a = 1 ]");
        assert_eq!(ad.sorted().iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["C", "a", "b"]);
    }
    "==" => {
        assert!(expr("a+1") == expr("a + 1") && new("[ a = 1; b = 2 ]") == new("[ B = 2; A = 1 ]"));
        assert!(!(expr("a") == expr("b")));
    }
    "Expr::literal(value)" => { assert_eq!(Expr::literal("ana"), expr("\"ana\"")); }
    "Expr::attribute(name)" => { assert_eq!(Expr::attribute(b"Owner"), expr("Owner")); }
    "expr.kind()" => {
        let expr = expr("(A > 1)");
        assert!(matches!(expr.kind(), ExprKind::Compare(">", left, _) if left.unparse() == "A"));
    }
    "expr.parts()" => {
        let expr = expr("A > 1");
        assert_eq!(expr.parts().iter().map(Expr::unparse).collect::<Vec<_>>(), ["A", "1"]);
    }
    "expr.as_literal()" => { let expr = expr("7"); assert_eq!(expr.as_literal(), Some(Value::Int(7))); }
    "expr.as_list()" => {
        let expr = expr("{ 1, A }");
        assert_eq!(expr.as_list().unwrap().iter().map(Expr::unparse).collect::<Vec<_>>(), ["1", "A"]);
    }
    "expr.as_attribute()" => {
        let expr = expr("Owner");
        assert_eq!(expr.as_attribute(), Some(AttrName::from("owner")));
    }
    "expr.without_parentheses()" => {
        let expr = expr("((A))");
        assert_eq!(expr.without_parentheses().unparse(), "A");
    }
    "expr.and(&other)" => {
        let other = expr("B");
        let expr = expr("A");
        assert_eq!(expr.and(&other).unparse(), "(A) && (B)");
    }
    "expr.rescope(from, to)" => {
        let expr = expr("LEFT.A + B");
        assert_eq!(expr.rescope(b"left", Some(b"MY")).unparse(), "MY.A + B");
    }
    "context.eval_attr(name)" => { query_results(|context| assert_eq!(context.eval_attr("B"), Value::Int(8))); }
    "context.int(name)" => { query_results(|context| assert_eq!((context.int("B"), context.int("S")), (Some(8), None))); }
    "context.boolean(name)" => { query_results(|context| assert_eq!(context.boolean("A"), Some(true))); }
    "context.real(name)" => { query_results(|context| assert_eq!(context.real("A"), Some(7.0))); }
    "context.string(name)" => { query_results(|context| assert_eq!(context.string("S"), Some("ana".into()))); }
    "context.eval(&expr)" => {
        let expr = expr("A * 2");
        query_results(|context| assert_eq!(context.eval(&expr), Value::Int(14)));
    }
    "context.try_eval(&expr)" => {
        let expr = expr("A * 2");
        query_results(|context| assert_eq!(context.try_eval(&expr), Some(Value::Int(14))));
    }
    "context.holds(&expr)" => {
        let expr = expr("A > 6");
        query_results(|context| assert!(context.holds(&expr)));
    }
    "flatten::flatten(&expr, context)" => {
        let wanted = FlattenResult::Expr(expr("8 + C"));
        let expr = expr("B + C");
        // All parts of the value of B are known.
        query_results(|context| assert_eq!(flatten::flatten(&expr, context), Some(wanted)));
    }
    "flatten::inline(&expr, context)" => {
        let ad = new("[ B = C + 1 ]");
        let expr = expr("B * 2");
        let context = Context::new(&System).my(&ad);
        let Some(FlattenResult::Expr(left)) = flatten::inline(&expr, context) else { panic!("nothing is left") };
        assert!(left.unparse().contains(&b'C') && !left.unparse().contains(&b'B'), "{}", left.unparse());
    }
    "references::external(&expr, context, spelling)" => {
        let expr = expr("A + TARGET.C");
        query_results(|context| assert_eq!(names(references::external(&expr, context, ReferenceSpelling::Full)), ["TARGET.C"]));
    }
    "references::internal(&expr, context)" => {
        let expr = expr("B + TARGET.C");
        query_results(|context| assert_eq!(names(references::internal(&expr, context)), ["A", "B"]));
    }
    "MatchAd::new(&System, &left, &right).symmetric()" => {
        let [left, right] = job_and_slot();
        assert!(MatchAd::new(&System, &left, &right).symmetric());
        assert!(!MatchAd::new(&System, &left, &new("[ Cpus = 1; Requirements = true ]")).symmetric());
    }
    ".left_matches_right()" => {
        let [left, right] = job_and_slot();
        assert!(MatchAd::new(&System, &left, &right).left_matches_right());
    }
    "MatchAd::new(..).left()" => {
        let [left, right] = job_and_slot();
        assert_eq!(MatchAd::new(&System, &left, &right).left().int("RequestCpus"), Some(2));
    }
    ".right()" => {
        let [left, right] = job_and_slot();
        assert_eq!(MatchAd::new(&System, &left, &right).right().int("Cpus"), Some(4));
    }
    ".left_rank()" => {
        let [left, right] = job_and_slot();
        assert_eq!(MatchAd::new(&System, &left, &right).left_rank(), Some(4.0));
    }
    "MatchAd::new(..).symmetric()" => {
        let [left, right] = job_and_slot();
        assert!(MatchAd::new(&System, &right, &left).symmetric());
    }
    "format::long::print(&ad)" => {
        let mut ad = ad();
        ad.set("ClaimId", "secret");
        assert_eq!(format::long::print(&ad), b"A = 7\nB = A + 1\nS = \"ana\"\n");
    }
    "print_with" => {
        let mut ad = new("[ A = 1 ]");
        ad.set("ClaimId", "secret");
        let options = PrintOptions { private: true, ..PrintOptions::default() };
        assert_eq!(format::long::print_with(&ad, &options), b"A = 1\nClaimId = \"secret\"\n");
    }
    "ad.unparse()" => { let ad = new("[ A = 1 + B ]"); assert_eq!(ad.unparse(), "[ A = 1 + B ]"); }
    "expr.unparse()" => { let expr = expr("A+1"); assert_eq!(expr.unparse(), "A + 1"); }
    "expr.unparse_pretty()" => {
        let expr = expr("[ A = 1 ]");
        assert_eq!(expr.unparse_pretty().split(|&byte| byte == b'\n').count(), 4);
    }
    "format::json::push" => {
        let mut out = Vec::new();
        format::json::push(&new("[ A = 1 ]"), json::JsonLayout::OneLine, &mut out);
        assert_eq!(out, b"{\"A\": 1}");
    }
    "format::xml::push" => {
        let mut out = Vec::new();
        format::xml::push(&new("[ A = 1 ]"), xml::XmlLayout::Compact, &mut out);
        assert_eq!(out, b"<c><a n=\"A\"><i>1</i></a></c>");
    }
    "format::list::ListWriter" => {
        let mut list = format::list::ListWriter::new(ListForm::JsonLines, AttributeOrder::Sorted);
        let mut out = Vec::new();
        list.write(&new("[ A = 1 ]"), &mut out).unwrap();
        list.finish(&mut out).unwrap();
        assert_eq!(out, b"{\"A\": 1}\n");
    }
    ".strict(true)" => {
        // A name without a scope is looked up only in MY.
        let [job, slot] = job_and_slot();
        let context = Context::new(&System).my(&job).target(&slot).strict(true);
        assert_eq!(context.eval(&expr("Cpus")), Value::Undefined);
    }
    "Context" => {
        let [job, slot] = job_and_slot();
        let context = Context::new(&System).my(&job).target(&slot).strict(false);
        assert_eq!(context.eval(&expr("Cpus")), Value::Int(4));
    }
    "MatchAd" => {
        let [job, slot] = [new("[ Requirements = Cpus > 2 ]"), new("[ Cpus = 4; Requirements = true ]")];
        let matches = |strict: bool| MatchAd::new(&System, &job, &slot).strict(strict).symmetric();
        assert_eq!((matches(true), matches(false)), (false, true));
    }
    "Dialect" => {
        // Outside of strict mode, semicolons may separate arguments.
        let parsed = |strict: bool| Expr::parse_with(b"strcat(1; 2)", Dialect::new_syntax().strict(strict)).is_ok();
        assert_eq!((parsed(true), parsed(false)), (false, true));
    }
    "Value::from(text).unparse()" => { assert_eq!(Value::from("a\"b").unparse(), r#""a\"b""#); }
    "Expr::parse(text)?.as_literal()" => {
        let text = br#""a\"b""#;
        assert_eq!(Expr::parse(text).unwrap().as_literal(), Some(Value::from("a\"b")));
    }
    "Err" => {
        let Err(error) = Expr::parse(b"A + ") else { panic!("it is not a valid expression") };
        assert_eq!(error.span.start, 4);
    }
    "match" => {
        let literal = match Value::from(7) { Value::Undefined | Value::Error => None, Value::Int(number) => Some(number), _ => None };
        assert_eq!(literal, Some(7));
    }
    "Value" => { assert_eq!(Value::default(), Value::Undefined); }
    "as_int()" => { assert_eq!(Value::from(true).as_int(), Some(1)); }
    "as_real()" => { assert_eq!(Value::from(7).as_real(), Some(7.0)); }
    "as_str()" => { assert_eq!(Value::from("ana").as_str(), Some("ana".into())); }
    "truth()" => { assert_eq!(Value::from(7).truth(), Some(true)); }
    "function_names()" => { assert!(function_names().contains(&"strcat")); }
    "is_private(name)" => { assert!(is_private("claimid") && !is_private("Owner")); }
};

/// Returns the texts in backticks in the last column of the README's table.
fn calls_in_table() -> Vec<&'static str> {
    let (_, rest) = README.split_once("## Coming from C++ or Python").unwrap();
    let rows = rest.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let cells = rows.take_while(|line| line.starts_with('|')).map(|line| line.trim_end_matches([' ', '|']));
    cells.flat_map(|line| line.rsplit('|').next().unwrap().split('`').skip(1).step_by(2)).collect()
}

/// Returns the words of a call without its arguments: for `ad.insert(name, expr)`, the words `ad` and
/// `insert`.
fn call_words(call: &str) -> Vec<&str> {
    let mut depth = 0;
    let outside = |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth > 0 || !(c.is_alphanumeric() || c == '_')
    };
    call.split(outside).filter(|word| !word.is_empty()).collect()
}

#[test]
fn this_test_makes_exactly_the_calls_of_the_table() {
    let table: BTreeSet<&str> = calls_in_table().into_iter().collect();
    let made: BTreeSet<&str> = CALLS.iter().map(|call| call.name).collect();
    assert!(table.len() > 60, "the table is not found");
    assert_eq!(made.difference(&table).collect::<Vec<_>>(), Vec::<&&str>::new(), "not in the table");
    assert_eq!(table.difference(&made).collect::<Vec<_>>(), Vec::<&&str>::new(), "made by no test");
    assert_eq!(CALLS.len(), made.len(), "a call is listed twice");
}

#[test]
fn each_example_makes_the_call_that_it_names() {
    for ReadmeCall { name, code, .. } in CALLS {
        let tokens: BTreeSet<&str> = code.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
        for word in call_words(name) {
            assert!(tokens.contains(word), "{name}: '{word}' is not in {code}");
        }
    }
    assert_eq!(call_words("MatchAd::new(&System, &left).symmetric()"), ["MatchAd", "new", "symmetric"]);
    assert_eq!(call_words("Expr::parse(text)?.as_literal()"), ["Expr", "parse", "as_literal"]);
}

#[test]
fn each_call_has_the_expected_result() {
    CALLS.iter().for_each(|call| (call.make)());
}
