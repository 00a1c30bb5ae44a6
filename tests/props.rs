//! Checks that no input panics, hangs or overflows the stack: random and very large texts are passed to every
//! reader, printer and the evaluator.
//!
//! `PROPTEST_CASES=1000000 cargo test --release --test props` runs millions of them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use htc_hooks::classad::flatten;
use htc_hooks::classad::format::{json, long, new_syntax, xml};
use htc_hooks::classad::references::{self, ReferenceSpelling};
use htc_hooks::classad::stream::{AdForm, AdReader, Delimiter, ReferenceReader};
use htc_hooks::classad::{ClassAd, Context, Dialect, Expr, MatchAd, Value, explain, function_names};
use htc_hooks::os::RealWorld;
use proptest::prelude::*;

/// Generates pieces of expressions.
fn piece() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "a",
        "b",
        "MY",
        "TARGET",
        "x1",
        "'odd'",
        "self",
        "parent",
        "root",
        "true",
        "undefined",
        "error",
        "is",
        "isnt",
        "1",
        "0",
        "-1",
        "2.5",
        "1e308",
        "9223372036854775807",
        "\"s\"",
        "\"\\n\\\"\"",
        "\"",
        "'",
        "\\",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ",",
        ";",
        ".",
        "=",
        "==",
        "=?=",
        "=!=",
        "!",
        "!=",
        "&&",
        "||",
        "&",
        "|",
        "^",
        "~",
        "+",
        "-",
        "*",
        "/",
        "%",
        "<",
        "<=",
        "<<",
        ">>",
        ">>>",
        "?",
        ":",
        "?:",
        "//",
        "/*",
        "*/",
        " ",
        "\n",
        "absTime(\"",
        "relTime(",
        "a = ",
        "[a = 1; b = a]",
        "{1, a}",
        "é",
        "\u{0}",
    ])
    .prop_map(String::from);
    let call = prop::sample::select(function_names()).prop_map(|name| format!("{name}("));
    prop_oneof![6 => fixed, 2 => call, 1 => ".{0,6}"]
}

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..24).prop_map(|pieces| pieces.concat())
}

/// Generates valid expressions.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        prop::sample::select(vec![
            "a",
            "b",
            "c",
            "MY.a",
            "TARGET.b",
            "1",
            "0",
            "2.5",
            "\"x,y\"",
            "true",
            "undefined",
            "error"
        ])
        .prop_map(String::from),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| if number.is_finite() {
            format!("{number:e}").replace("e", ".0e").replace(".0e", "e")
        } else {
            String::from("1.5")
        }),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            (
                inner.clone(),
                prop::sample::select(vec![
                    "+", "-", "*", "/", "%", "&&", "||", "==", "=?=", "<", ">>", "?:", "|"
                ]),
                inner.clone()
            )
                .prop_map(|(left, op, right)| format!("({left} {op} {right})")),
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("{{{}}}", items.join(","))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[a = {a}; d = {b}]")),
            (inner.clone(), prop::sample::select(vec!["a", "b", "d"]))
                .prop_map(|(base, name)| format!("({base}).{name}")),
            (inner.clone(), inner.clone()).prop_map(|(base, index)| format!("({base})[{index}]")),
            (prop::sample::select(function_names()), prop::collection::vec(inner, 0..4))
                .prop_map(|(name, arguments)| format!("{name}({})", arguments.join(","))),
        ]
    })
    // The text of a time literal must be a valid time.
    .prop_filter("no expression", |text| Expr::parse(text.as_bytes()).is_ok())
}

/// Calls all operations on an expression.
fn exercise(expr: &Expr, my: &ClassAd, target: &ClassAd) {
    let world = RealWorld::new();
    let text = expr.unparse();
    let _ = (expr.unparse_old(), expr.unparse_pretty(), expr.unparse_parenthesised(), expr.as_literal());
    // As in the reference, infinity and NaN do not compare equal to themselves.
    let has_infinite = [&b"INF"[..], b"NaN"].iter().any(|word| text.windows(3).any(|part| part == *word));
    assert!(has_infinite || expr == &expr.clone(), "{text}");
    let alone = Context::new(&world).my(my).eval(expr);
    let matched = Context::new(&world).my(my).target(target).try_eval(expr);
    let strict = Context::new(&world).my(my).target(target).strict(true).try_eval(expr);
    for value in [Some(alone.clone()), matched, strict].into_iter().flatten() {
        let _ = (value.unparse(), Expr::literal(value.clone()).unparse_old());
    }
    // `holds` agrees with the truth of the value, except for expressions with time or random numbers.
    let chance =
        ["ime", "andom"].iter().any(|word| text.windows(word.len()).any(|part| part == word.as_bytes()));
    if !chance {
        assert_eq!(Context::new(&world).my(my).holds(expr), alone.truth() == Some(true), "{text}");
        let traced = explain::trace(&Context::new(&world).my(my), expr);
        assert_eq!(traced.value.unwrap_or(Value::Error).unparse(), alone.unparse(), "{text}");
    }
    let _ = references::mentioned_attributes(expr);
    let context = Context::new(&world).my(my);
    let _ = references::external(expr, context, ReferenceSpelling::Full);
    let _ = references::internal(expr, context);
    let _ = flatten::flatten(expr, context);
    let _ = flatten::inline(expr, context);
}

fn read_all(text: &[u8]) {
    for dialect in
        [Dialect::new_syntax(), Dialect::old_syntax(), Dialect::json(), Dialect::new_syntax().strict(true)]
    {
        match Expr::parse_with(text, dialect) {
            Ok(expr) => drop(expr.unparse()),
            Err(error) => drop(error.render(text)),
        }
        let _ = Expr::parse_prefix(text, dialect);
        let _ = new_syntax::parse_prefix(text, dialect);
    }
    let _ = json::parse(text, Dialect::json());
    let _ = xml::parse_prefix(text, Dialect::new_syntax());
    let (ad, errors) = long::parse(text);
    for error in errors {
        drop(error.render(text));
    }
    let _ = (long::print(&ad), ad.unparse());
    for form in [
        None,
        Some(AdForm::Long),
        Some(AdForm::Xml),
        Some(AdForm::Json),
        Some(AdForm::New),
        Some(AdForm::JsonLines),
        Some(AdForm::NewLines),
    ] {
        let mut reader = AdReader::new(text, form);
        let mut count = 0;
        while let Ok(Some(_)) = reader.next_record() {
            count += 1;
            assert!(count <= text.len() + 2, "the reader makes ads out of nothing: {form:?}");
        }
        let mut reader = ReferenceReader::new(text, form, Delimiter::Blank);
        let mut count = 0;
        while let Ok(Some(_)) = reader.next_ad() {
            count += 1;
            assert!(count <= text.len() + 2, "the reference's reader makes ads out of nothing: {form:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_all(&bytes);
    }

    #[test]
    fn any_pieces_can_be_read(text in soup()) {
        read_all(text.as_bytes());
    }

    #[test]
    fn every_parsed_expression_can_be_evaluated(text in soup(), mine in soup(), theirs in soup()) {
        if let Ok(expr) = Expr::parse(text.as_bytes()) {
            let mut my = ClassAd::new();
            let mut target = ClassAd::new();
            let _ = my.insert_line(format!("a = {mine}").as_bytes());
            let _ = target.insert_line(format!("b = {theirs}").as_bytes());
            exercise(&expr, &my, &target);
        }
    }

    #[test]
    fn evaluation_of_any_expression_ends(text in expression(), a in expression(), b in expression(), requirements in expression()) {
        let expr = Expr::parse(text.as_bytes()).unwrap();
        let mut my = ClassAd::new();
        my.insert_line(format!("a = {a}").as_bytes()).unwrap();
        my.insert_line(format!("Requirements = {requirements}").as_bytes()).unwrap();
        let mut target = ClassAd::new();
        target.insert_line(format!("b = {b}").as_bytes()).unwrap();
        target.insert_line(format!("Requirements = {text}").as_bytes()).unwrap();
        let mut chained = ClassAd::new();
        chained.set("c", 5);
        chained.chain(Some(Arc::new(my.clone())));
        exercise(&expr, &chained, &target);
        let world = RealWorld::new();
        let pair = MatchAd::new(&world, &my, &target);
        let _ = (pair.symmetric(), pair.left_rank(), pair.right_rank());
    }

    #[test]
    fn every_format_preserves_an_ad(values in prop::collection::vec(expression(), 1..5)) {
        let mut ad = ClassAd::new();
        for (at, value) in values.iter().enumerate() {
            ad.insert(format!("Attr{at}"), Expr::parse(value.as_bytes()).unwrap());
        }
        let (read, errors) = long::parse(&long::print(&ad));
        prop_assert!(errors.is_empty(), "{errors:?}");
        prop_assert_eq!(long::print(&read), long::print(&ad));
        let mut out = Vec::new();
        json::push(&ad, json::JsonLayout::OneLine, &mut out);
        let mut twice = Vec::new();
        json::push(&json::parse(&out, Dialect::json()).unwrap(), json::JsonLayout::OneLine, &mut twice);
        prop_assert_eq!(String::from_utf8_lossy(&twice), String::from_utf8_lossy(&out));
        let again = ClassAd::parse_new(&ad.unparse(), Dialect::new_syntax()).unwrap();
        prop_assert_eq!(again.unparse(), ad.unparse());
    }
}

/// Runs a function on a thread with the default stack size, and checks that it ends within a minute.
fn within_a_minute(run: impl FnOnce() + Send + 'static) {
    let start = Instant::now();
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
    assert!(start.elapsed() < Duration::from_secs(60), "took {:?}", start.elapsed());
}

#[test]
fn deep_nesting_is_refused() {
    within_a_minute(|| {
        for (open, close) in [
            ("(", ")"),
            ("{", "}"),
            ("[a=", "]"),
            ("f(", ")"),
            ("-", ""),
            ("!", ""),
            ("a[", "]"),
            ("a?", ":b"),
            ("a?:", ""),
        ] {
            for depth in [160, 600, 200_000] {
                let text = format!("{}1{}", open.repeat(depth), close.repeat(depth));
                read_all(text.as_bytes());
                read_all(format!("[x = {text}]").as_bytes());
                read_all(format!("x = {text}\n").as_bytes());
            }
        }
        for depth in [600, 200_000] {
            read_all("{\"a\":".repeat(depth).as_bytes());
            read_all(format!("{{\"a\":{}1{}}}", "[".repeat(depth), "]".repeat(depth)).as_bytes());
            read_all("<c><a n=\"a\">".repeat(depth).as_bytes());
            read_all(format!("<c><a n=\"a\">{}", "<l>".repeat(depth)).as_bytes());
        }
    });
}

#[test]
fn a_sum_of_a_million_terms_is_parsed_printed_copied_compared_and_dropped() {
    within_a_minute(|| {
        let text = format!("1{}", "+1".repeat(1_000_000));
        let expr = Expr::parse(text.as_bytes()).unwrap();
        assert_eq!(expr.unparse().len(), 1 + 4 * 1_000_000);
        assert_eq!(expr, Expr::parse(text.as_bytes()).unwrap());
        let mut ad = ClassAd::new();
        ad.insert("a", expr.and(&expr));
        exercise(&expr, &ad, &ad);
        assert_eq!(
            explain::conjuncts(&Expr::parse(format!("a{}", "&&a".repeat(100_000)).as_bytes()).unwrap()).len(),
            100_001
        );
        let chain = Expr::parse(format!("a{}", ".a".repeat(100_000)).as_bytes()).unwrap();
        exercise(&chain, &ad, &ad);
    });
}

#[test]
fn calls_nested_through_attributes_do_not_overflow_the_stack() {
    within_a_minute(|| {
        let mut ad = ClassAd::new();
        for level in 0..400 {
            let text = format!("{}a{}{}", "ifThenElse(true,".repeat(60), level + 1, ",1)".repeat(60));
            ad.insert(format!("a{level}"), Expr::parse(text.as_bytes()).unwrap());
        }
        exercise(&Expr::parse(b"a0").unwrap(), &ad, &ad);
        for text in [
            "[x = self[\"x\"]].x",
            "[x = evalInEachContext(x,{self})].x",
            "[x = countMatches(x,{self})].x",
            "eval(a)",
        ] {
            ad.set("a", text);
            exercise(&Expr::parse(text.as_bytes()).unwrap(), &ad, &ad);
        }
    });
}

#[test]
fn endless_growth_is_stopped() {
    within_a_minute(|| {
        let world = RealWorld::new();
        let mut ad = ClassAd::new();
        ad.set("a0", "x".repeat(1000));
        for level in 1..60 {
            ad.insert_line(format!("a{level} = strcat(a{0}, a{0})", level - 1).as_bytes()).unwrap();
        }
        assert_eq!(Context::new(&world).my(&ad).eval_attr("a59"), Value::Error);
        let bomb = Expr::parse(b"regexp(\"(a*)*b\", strcat(s,s,s,s))").unwrap();
        ad.set("s", "a".repeat(1000));
        let _ = Context::new(&world).my(&ad).eval(&bomb);
    });
}

#[test]
fn huge_texts_lists_and_ads_are_read() {
    within_a_minute(|| {
        let huge = "y".repeat(100_000_000);
        let mut ad = ClassAd::new();
        ad.insert_line(format!("a = \"{huge}\"").as_bytes()).unwrap();
        assert_eq!(ad.string("a").unwrap().len(), huge.len());
        let world = RealWorld::new();
        assert_eq!(
            Context::new(&world).my(&ad).eval(&Expr::parse(b"size(a)").unwrap()),
            Value::Int(100_000_000)
        );
        let json = format!("{{\"a\": \"{huge}\"}}");
        assert_eq!(
            json::parse(json.as_bytes(), Dialect::json()).unwrap().string("a").unwrap().len(),
            huge.len()
        );
        let list = format!("{{{}}}", "1,".repeat(999_999) + "1");
        let expr = Expr::parse(list.as_bytes()).unwrap();
        ad.insert("l", expr);
        assert_eq!(
            Context::new(&world).my(&ad).eval(&Expr::parse(b"sum(l)").unwrap()),
            Value::Int(1_000_000)
        );
        let mut many = String::from("[");
        for at in 0..100_000 {
            many += &format!("n{at}={at};");
        }
        let many = ClassAd::parse_new(format!("{many}]").as_bytes(), Dialect::new_syntax()).unwrap();
        assert_eq!(Context::new(&world).my(&many).int("n99999"), Some(99_999));
    });
}
