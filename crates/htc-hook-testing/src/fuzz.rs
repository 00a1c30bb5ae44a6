//! Random mutations of ads, and reduction of an ad that makes a hook fail to a smaller one.

use bstr::BString;

use htc_classad::{ClassAd, Expr, Value};

/// Pseudo-random number generator (splitmix64): the same seed gives the same mutations on every machine.
#[derive(Clone, Debug)]
pub struct RandomGenerator(u64);

impl RandomGenerator {
    /// Creates a generator with the given seed.
    pub fn new(seed: u64) -> Self {
        RandomGenerator(seed)
    }

    /// Returns the next 64-bit number.
    pub fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `limit`, or 0 if `limit` is 0.
    pub fn next_below(&mut self, limit: usize) -> usize {
        (self.next_number() % limit.max(1) as u64) as usize
    }
}

/// Change of one attribute of an ad.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutation {
    /// Name of the attribute.
    pub name: BString,
    /// New value, or `None` to remove the attribute.
    pub value: Option<Expr>,
    /// Short description of the change.
    pub description: &'static str,
}

impl Mutation {
    /// Returns a random change of one of the ad's attributes, or `None` if the ad is empty.
    pub fn random(ad: &ClassAd, random: &mut RandomGenerator) -> Option<Mutation> {
        let names = ad.sorted();
        let (name, _) = names.get(random.next_below(names.len()))?;
        let text = |bytes: &[u8]| Some(Expr::literal(Value::Str(bytes.into())));
        let (description, value) = match random.next_below(17) {
            0 => ("missing", None),
            1 => ("undefined", Some(Expr::literal(Value::Undefined))),
            2 => ("error", Some(Expr::literal(Value::Error))),
            3 => ("a number", Some(Expr::literal(7i64))),
            4 => ("a negative number", Some(Expr::literal(-1i64))),
            5 => ("the largest number", Some(Expr::literal(i64::MAX))),
            6 => ("a truth value", Some(Expr::literal(true))),
            7 => ("an empty string", text(b"")),
            8 => ("quotes", text(b"a \"quoted\" 'word' \\ and ` `")),
            9 => ("shell characters", text(b"$(echo x); y | z > /dev/null & * ? {a,b} #")),
            10 => ("an equals sign", text(b"a = b = c")),
            11 => ("twenty kilobytes", text(&[b'x'; 20_000])),
            12 => ("bytes that are not UTF-8", text(b"caf\xe9 \xff\xfe")),
            13 => ("an expression", Expr::parse(b"ifThenElse(1 > 2, \"a\", strcat(\"b\", \"c\"))").ok()),
            14 => ("two lines", text(b"one\ntwo = 2")),
            15 => ("a list", Expr::parse(b"{ 1, \"two\", undefined }").ok()),
            _ => ("blanks around", text(b"  two  words  ")),
        };
        Some(Mutation { name: (*name).to_owned(), value, description })
    }

    /// Applies the change to an ad.
    pub fn apply(&self, ad: &mut ClassAd) {
        match &self.value {
            Some(value) => ad.insert(&self.name, value.clone()),
            None => drop(ad.remove(&self.name)),
        }
    }
}

/// Returns a smaller ad for which `shows` still returns true. Removes attributes in groups of decreasing size, and
/// calls `shows` at most `max_calls` times.
pub fn remove_attributes(ad: &ClassAd, max_calls: usize, shows: &mut dyn FnMut(&ClassAd) -> bool) -> ClassAd {
    let mut best = ad.clone();
    let mut calls = 0;
    let mut size = best.len().div_ceil(2);
    while size > 0 && calls < max_calls {
        let names: Vec<BString> = best.sorted().into_iter().map(|(name, _)| name.to_owned()).collect();
        let mut smaller = false;
        for group in names.chunks(size) {
            if calls >= max_calls {
                break;
            }
            let mut without = best.clone();
            for name in group {
                without.remove(name);
            }
            calls += 1;
            if shows(&without) {
                best = without;
                smaller = true;
            }
        }
        if !smaller || size > best.len() {
            size = if size == 1 { 0 } else { size.div_ceil(2).min(best.len()) };
            if size == 1 && !smaller && best.len() <= 1 {
                break;
            }
        }
    }
    best
}

/// Returns an ad with shorter strings for which `shows` still returns true. Truncates each string by bisection, and
/// calls `shows` at most `max_calls` times for all strings together.
pub fn shorten_strings(ad: &ClassAd, max_calls: usize, shows: &mut dyn FnMut(&ClassAd) -> bool) -> ClassAd {
    let mut best = ad.clone();
    let mut calls = 0;
    let names: Vec<BString> = ad.sorted().into_iter().map(|(name, _)| name.to_owned()).collect();
    for name in names {
        let Some(Value::Str(text)) = ad.literal(&name) else { continue };
        let text: &[u8] = text.as_ref();
        // Bisection: `shows` is true for `text[..enough]`, and assumed to be false for `text[..too_short]`.
        let (mut too_short, mut enough) = (0, text.len());
        while enough - too_short > 1 && calls < max_calls {
            let middle = too_short + (enough - too_short) / 2;
            let mut shorter = best.clone();
            shorter.insert(&name, Expr::literal(Value::Str(text[..middle].into())));
            calls += 1;
            if shows(&shorter) {
                (best, enough) = (shorter, middle);
            } else {
                too_short = middle;
            }
        }
    }
    best
}

/// Minimum number of equal bytes in a row that are written as a command that prints them, instead of literally.
const MIN_COMPRESSED_RUN: usize = 100;

/// Returns a `printf` command that prints the given bytes in any POSIX shell.
pub fn to_printf_command(text: &[u8]) -> String {
    let mut out = String::from("printf '");
    let mut arguments = String::new();
    let mut rest = text;
    while let Some(&byte) = rest.first() {
        let run = rest.iter().take_while(|next| **next == byte).count();
        if run >= MIN_COMPRESSED_RUN && byte.is_ascii_alphanumeric() {
            out.push_str("%s");
            arguments.push_str(&format!(" \"$(printf %{run}s | tr ' ' {})\"", char::from(byte)));
            rest = &rest[run..];
            continue;
        }
        rest = &rest[1..];
        match byte {
            b'\n' => out.push_str("\\n"),
            b'\'' => out.push_str("'\\''"),
            b'\\' => out.push_str("\\\\"),
            b'%' => out.push_str("%%"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\{byte:03o}")),
        }
    }
    out.push('\'');
    out + &arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ad(count: usize) -> ClassAd {
        let mut ad = ClassAd::new();
        for number in 0..count {
            ad.set(format!("A{number}"), number as i64);
        }
        ad
    }

    #[test]
    fn an_ad_shrinks_to_the_relevant_attributes() {
        let small = remove_attributes(&ad(40), 500, &mut |ad| ad.contains("A7") && ad.contains("A31"));
        assert_eq!(small.len(), 2);
        let none = remove_attributes(&ad(5), 500, &mut |_| true);
        assert!(none.is_empty());
    }

    #[test]
    fn strings_shrink_to_the_relevant_length() {
        let mut long = ad(2);
        long.set("Text", "x".repeat(20_000).as_str());
        let length = |ad: &ClassAd| match ad.literal("Text") {
            Some(Value::Str(text)) => text.len(),
            _ => 0,
        };
        assert_eq!(length(&shorten_strings(&long, 100, &mut |ad| length(ad) >= 777)), 777);
        let text = to_printf_command(format!("A = \"{}\"\n", "x".repeat(777)).as_bytes());
        assert_eq!(text, "printf 'A = \"%s\"\\n' \"$(printf %777s | tr ' ' x)\"");
    }

    #[test]
    fn the_same_seed_gives_the_same_changes() {
        let changes = |seed| {
            let mut random = RandomGenerator::new(seed);
            (0..20).filter_map(|_| Mutation::random(&ad(9), &mut random)).collect::<Vec<_>>()
        };
        assert_eq!(changes(1), changes(1));
        assert_ne!(changes(1), changes(2));
    }

    #[test]
    fn a_shell_command_can_print_any_bytes() {
        assert_eq!(
            to_printf_command(b"A = \"it's 5%\\\xff\"\n"),
            "printf 'A = \"it'\\''s 5%%\\\\\\377\"\\n'"
        );
    }
}
