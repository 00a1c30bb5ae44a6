//! Random expressions and ads, mostly well-typed so that evaluation does not fail at once.

use htc_hooks::classad::function_names;

use super::{Kind, Question};
use crate::random::Random;

/// Omitted functions: their values change from call to call, or depend on the machine.
const LEFT_OUT: [&str; 9] = [
    "time",
    "currentTime",
    "dayTime",
    "timeZoneOffset",
    "random",
    "userHome",
    "userMap",
    "debug",
    "formatTime",
];

const NAMES: [&str; 14] =
    ["a", "b", "c", "d", "n", "l", "s", "t", "Memory", "Requirements", "Rank", "x", "y", "A"];

pub(crate) struct Generator {
    random: Random,
    functions: Vec<&'static str>,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        let functions = function_names().into_iter().filter(|name| !LEFT_OUT.contains(name)).collect();
        Generator { random: Random::new(seed), functions }
    }

    pub(crate) fn question(&mut self) -> Question {
        let kind = match self.random.below(20) {
            0 => Kind::Print,
            1 => Kind::Match,
            2 => Kind::Flatten,
            3 => Kind::Refs,
            _ => Kind::Eval,
        };
        let my = self.ad(6);
        let with_target = match kind {
            Kind::Match => true,
            Kind::Eval => self.random.below(2) == 0,
            _ => false,
        };
        let target = with_target.then(|| self.ad(6));
        let mut text = self.expression(5);
        if self.random.one_in(25) {
            text = self.damaged(text);
        }
        Question { kind, my, target, text }
    }

    fn ad(&mut self, most: usize) -> String {
        let mut ad = String::from("[");
        for _ in 0..self.random.below(most + 1) {
            let name = if self.random.one_in(40) { "'odd name'" } else { *self.random.pick(&NAMES) };
            let depth = self.random.below(4);
            ad += &format!("{name} = {}; ", self.expression(depth));
        }
        ad + "]"
    }

    /// Returns a text with a byte removed, doubled or replaced, to test where parsing stops.
    fn damaged(&mut self, text: String) -> String {
        let mut bytes = text.into_bytes();
        if bytes.is_empty() {
            return String::new();
        }
        let at = self.random.below(bytes.len());
        match self.random.below(3) {
            0 => {
                bytes.remove(at);
            }
            1 => bytes.insert(at, bytes[at]),
            _ => bytes[at] = *self.random.pick(b"\"'\\(){}[]=!?:.,;+-*/%<>&|^~0189eExX_ \n#@$`"),
        }
        String::from_utf8(bytes).unwrap_or_default()
    }

    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf();
        }
        let inner = depth - 1;
        match self.random.below(30) {
            0..=3 => self.leaf(),
            4..=12 => {
                let op = *self.random.pick(&[
                    "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "=?=", "=!=", "is", "isnt",
                    "&&", "||", "&&", "||", "&", "|", "^", "<<", ">>", ">>>", "?:",
                ]);
                let blank = if self.random.one_in(8) { "" } else { " " };
                // Operators that are words need blanks.
                let blank = if op.starts_with('i') { " " } else { blank };
                format!("{}{blank}{op}{blank}{}", self.expression(inner), self.expression(inner))
            }
            13 | 14 => {
                let op = *self.random.pick(&["-", "+", "!", "~", "- ", "!!"]);
                format!("{op}{}", self.expression(inner))
            }
            15 | 16 => format!("({})", self.expression(inner)),
            17 => format!(
                "{} ? {} : {}",
                self.expression(inner),
                self.expression(inner),
                self.expression(inner)
            ),
            18 | 19 => {
                let base = *self
                    .random
                    .pick(&["MY", "TARGET", "n", "self", "parent", "root", "t", "other", "l", "my"]);
                format!("{base}.{}", self.name())
            }
            20 => format!("{}[{}]", self.postfix(inner), self.expression(inner.min(1))),
            21 => format!("{{{}}}", self.some(inner, 4)),
            22 => self.nested_ad(inner),
            23 => format!("{}.{}", self.nested_ad(inner), self.name()),
            24 => format!("{{{}}}.{}", self.some(inner, 3), self.name()),
            _ => self.call(inner),
        }
    }

    fn postfix(&mut self, depth: usize) -> String {
        match self.random.below(4) {
            0 => self.name(),
            1 => format!("{{{}}}", self.some(depth, 4)),
            2 => self.nested_ad(depth),
            _ => format!("({})", self.expression(depth)),
        }
    }

    fn nested_ad(&mut self, depth: usize) -> String {
        let mut ad = String::from("[");
        for _ in 0..self.random.below(3) + 1 {
            let name = *self.random.pick(&NAMES);
            ad += &format!("{name} = {}; ", self.expression(depth.min(2)));
        }
        ad + "]"
    }

    fn some(&mut self, depth: usize, most: usize) -> String {
        let count = self.random.below(most);
        (0..count).map(|_| self.expression(depth)).collect::<Vec<_>>().join(",")
    }

    fn name(&mut self) -> String {
        (*self.random.pick(&NAMES)).to_string()
    }

    fn leaf(&mut self) -> String {
        match self.random.below(14) {
            0..=3 => self.name(),
            4 | 5 => self.random.below(12).to_string(),
            6 => (*self.random.pick(&[
                "0",
                "-1",
                "1.5",
                "-0.0",
                "0.1",
                "1e20",
                "9223372036854775807",
                "-9223372036854775808",
                "64",
                "9999999999999999999",
                "1e-5",
                "3.0",
                "2147483648",
            ]))
            .to_string(),
            7 | 8 => self.string(),
            9 => (*self.random.pick(&["true", "false"])).to_string(),
            10 => (*self.random.pick(&["undefined", "error"])).to_string(),
            11 => (*self.random.pick(&[
                "absTime(\"2020-01-02T03:04:05Z\")",
                "absTime(86400)",
                "relTime(90)",
                "relTime(-3600.5)",
                "relTime(\"1+02:03:04\")",
                "absTime(\"2020-06-30T23:59:59+0200\")",
            ]))
            .to_string(),
            12 => format!("TARGET.{}", self.name()),
            _ => format!("MY.{}", self.name()),
        }
    }

    fn string(&mut self) -> String {
        const TEXTS: [&str; 24] = [
            "",
            "a",
            "A",
            "abc",
            "a,b,c",
            "a, b ,c",
            "1,2,3",
            "10",
            "1.5",
            "-3",
            "true",
            "x y  z",
            "A=1;B=2",
            "A='b c' D=e",
            "^a.*",
            "(b)|(c)",
            "9.0.1",
            "10.0.0",
            "a@b",
            "i",
            "<=",
            "MY.a + 1",
            "\\\\1-\\\\0",
            "it's \\\"q\\\" \\n",
        ];
        format!("\"{}\"", self.random.pick(&TEXTS))
    }

    fn call(&mut self, depth: usize) -> String {
        let name = *self.random.pick(&self.functions.clone());
        let lower = name.to_ascii_lowercase();
        let list = |this: &mut Self| format!("{{{}}}", this.some(depth.min(1), 5));
        let arguments: Vec<String> = if self.random.one_in(6) {
            (0..self.random.below(4)).map(|_| self.expression(depth)).collect()
        } else if lower.starts_with("stringlist") || lower.starts_with("string_list") {
            match lower.as_str() {
                "stringlistsize" | "stringlistsum" | "stringlistavg" | "stringlistmin" | "stringlistmax" => {
                    vec![self.string()]
                }
                _ => vec![self.string(), self.string()],
            }
        } else {
            match lower.as_str() {
                "member" | "identicalmember" => vec![self.expression(depth), list(self)],
                "sum" | "avg" | "min" | "max" => vec![list(self)],
                "anycompare" | "allcompare" => {
                    let op = *self.random.pick(&["<", "<=", "==", "!=", ">=", ">", "is", "isnt"]);
                    vec![format!("\"{op}\""), list(self), self.expression(depth)]
                }
                "evalineachcontext" | "countmatches" => {
                    let ads: Vec<String> =
                        (0..self.random.below(3)).map(|_| self.nested_ad(depth.min(1))).collect();
                    vec![self.expression(depth.min(2)), format!("{{{}}}", ads.join(","))]
                }
                "regexp" | "regexps" | "replace" | "replaceall" => {
                    let mut arguments = vec![self.string(), self.string()];
                    if lower != "regexp" {
                        arguments.push(self.string());
                    }
                    if self.random.one_in(3) {
                        arguments.push(String::from("\"i\""));
                    }
                    arguments
                }
                "regexpmember" => vec![self.string(), list(self)],
                "substr" => {
                    let (from, length) = (self.random.below(8), self.random.below(8));
                    vec![self.string(), format!("{}", from as i64 - 3), format!("{}", length as i64 - 3)]
                }
                "ifthenelse" => {
                    vec![self.expression(depth), self.expression(depth), self.expression(depth)]
                }
                "unparse" | "unresolved" => vec![self.name()],
                "listtoargs" => vec![format!("{{{},{}}}", self.string(), self.string())],
                "strcmp" | "stricmp" | "versioncmp" | "versionlt" | "versionle" | "versiongt"
                | "versionge" | "versioneq" | "pow" | "quantize" | "split" => {
                    vec![self.expression(depth.min(1)), self.expression(depth.min(1))]
                }
                "strcat" | "join" | "mergeenvironment" => {
                    (0..self.random.below(4)).map(|_| self.expression(depth.min(2))).collect()
                }
                _ => vec![self.expression(depth)],
            }
        };
        format!("{name}({})", arguments.join(if self.random.one_in(3) { ", " } else { "," }))
    }
}
