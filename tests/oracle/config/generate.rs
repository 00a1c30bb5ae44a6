//! Random configurations: definitions, references, functions, conditions, bodies of several lines, templates.

use crate::random::Random;

/// Names that configurations define. A value refers only to names before its own, because the reference does not end for
/// most definitions that refer to themselves.
pub(super) const NAMES: [&str; 14] = [
    "TOOL.A",
    "TOOL.B",
    "A",
    "B",
    "C",
    "D_1",
    "E_list",
    "F_path",
    "LONG_NAME",
    "x.y",
    "NUM_CPUS_X",
    "H",
    "J_expr",
    "K",
];

/// Names whose values are compared. The module's `param` does not find `A` if only `TOOL.A` is defined, unlike `param()` of
/// the programs; so the values of `A` and `B` are read through macros that refer to them.
pub(super) const ASKED: [&str; 14] = [
    "TOOL.A",
    "TOOL.B",
    "Q_A",
    "Q_B",
    "C",
    "D_1",
    "E_list",
    "F_path",
    "LONG_NAME",
    "x.y",
    "NUM_CPUS_X",
    "H",
    "J_expr",
    "K",
];

/// Parameters of the reference that configurations set or refer to.
const KNOWN: [&str; 6] = ["LOCAL_DIR", "LOG", "SPOOL", "COLLECTOR_HOST", "START", "MAX_JOBS_RUNNING"];

/// Lines of one configuration that is being made.
pub(super) struct Generator<'r> {
    random: &'r mut Random,
    text: String,
    /// Number of names that the value being made may refer to; `None` for none at all.
    referable: Option<usize>,
}

impl<'r> Generator<'r> {
    /// Returns the text of a configuration.
    pub(super) fn configuration(random: &'r mut Random) -> String {
        let mut generator = Generator { random, text: String::new(), referable: None };
        for _ in 0..3 + generator.random.below(14) {
            generator.statement(0);
        }
        generator.text + "Q_A = $(A)\nQ_B = $(B)\n"
    }

    fn line(&mut self, depth: usize, line: &str) {
        self.text.push_str(&" ".repeat(depth * 2));
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Returns a name to define, or a parameter of the reference.
    fn defined_name(&mut self) -> &'static str {
        if self.random.one_in(8) {
            self.referable = None;
            return KNOWN[self.random.below(KNOWN.len())];
        }
        let at = self.random.below(NAMES.len());
        self.referable = Some(at);
        NAMES[at]
    }

    /// Returns a name to refer to.
    fn name(&mut self) -> &'static str {
        match self.referable {
            Some(count @ 1..) if !self.random.one_in(6) => NAMES[self.random.below(count)],
            _ => KNOWN[self.random.below(KNOWN.len())],
        }
    }

    fn statement(&mut self, depth: usize) {
        match self.random.below(14) {
            0 if depth < 3 => self.condition(depth),
            1 => self.body(depth),
            2 => self.line(depth, "# a comment \\"),
            3 => {
                let name = self.defined_name();
                let added = self.value();
                self.line(depth, &format!("{name} = $({name}) {added}"));
            }
            4 => {
                let (name, first, second) = (self.defined_name(), self.value(), self.value());
                self.line(depth, &format!("{name} = {first}, \\"));
                if self.random.one_in(20) {
                    self.line(0, "# within a continued line");
                }
                self.line(0, &format!("   {second}"));
            }
            5 => {
                let template = *self.random.pick(&[
                    "use ROLE : Submit",
                    "use POLICY : Always_Run_Jobs",
                    "use FEATURE : GPUs",
                    "use SECURITY : HOST_BASED",
                    "use POLICY : LIMIT_JOB_RUNTIMES(3600)",
                    "use FEATURE : StartdCronOneShot(ONE, /bin/true)",
                    "use role:execute",
                ]);
                self.line(depth, template);
            }
            6 => self.line(depth, ""),
            _ => {
                let (name, value) = (self.defined_name(), self.value());
                let blanks = *self.random.pick(&[" = ", "=", "  =   ", "\t= "]);
                let end = *self.random.pick(&["", "", "", "  ", "\t"]);
                self.line(depth, &format!("{name}{blanks}{value}{end}"));
            }
        }
    }

    fn condition(&mut self, depth: usize) {
        let condition = self.random.below(8);
        self.referable = Some(NAMES.len());
        let name = self.name();
        let condition = match condition {
            0 => format!("defined {name}"),
            1 => format!("! defined {name}"),
            2 => "version >= 24.0".to_owned(),
            3 => "version < 9.1".to_owned(),
            4 => "true".to_owned(),
            5 => "0".to_owned(),
            6 => format!("$({name}:false)"),
            _ => format!("defined $({name})"),
        };
        self.line(depth, &format!("if {condition}"));
        self.statement(depth + 1);
        if self.random.one_in(3) {
            let other = *self.random.pick(&["elif defined A", "elif no", "elif version > 8"]);
            self.line(depth, other);
            self.statement(depth + 1);
        }
        if self.random.one_in(2) {
            self.line(depth, "else");
            self.statement(depth + 1);
        }
        self.line(depth, "endif");
    }

    fn body(&mut self, depth: usize) {
        let (name, end) = (self.defined_name(), *self.random.pick(&["end", "text", "e1"]));
        self.line(depth, &format!("{name} @={end}"));
        for _ in 0..self.random.below(4) {
            let line = match self.random.below(4) {
                0 => "# kept or not".to_owned(),
                1 => format!("X = {} \\", self.value()),
                _ => self.value(),
            };
            self.line(depth, &line);
        }
        self.line(0, &format!("@{end}"));
    }

    fn value(&mut self) -> String {
        let parts = 1 + self.random.below(3);
        let between = *self.random.pick(&[" ", "", ", ", "/"]);
        (0..parts).map(|_| self.part(0)).collect::<Vec<_>>().join(between)
    }

    fn part(&mut self, depth: usize) -> String {
        if depth > 2 || self.referable.is_none() {
            return self.word();
        }
        let name = self.name();
        match self.random.below(26) {
            0..=5 => format!("$({name})"),
            6 => format!("$({name}:{})", self.part(depth + 1)),
            7 => format!("$(NOT_THERE:{})", self.part(depth + 1)),
            8 => "$(NOT_THERE)".to_owned(),
            9 => format!("$INT({name})"),
            10 => format!("$INT({name},%0{}d)", self.random.below(9)),
            11 => format!("$REAL({name})"),
            12 => format!("$REAL({name},%.{}f)", self.random.below(5)),
            13 => format!("$STRING({name})"),
            14 => format!("$EVAL({name})"),
            15 => format!("$CHOICE({},a,b,c)", self.random.below(5)),
            16 => format!("$CHOICE({name},E_list)"),
            17 => format!("$SUBSTR({name},{})", self.random.below(6)),
            18 => format!("$SUBSTR({name},{},-{})", self.random.below(4), self.random.below(4)),
            19 => {
                let kind = *self
                    .random
                    .pick(&["p", "n", "x", "d", "pn", "nx", "dw", "q", "a", "b", "u", "pnx", "dq"]);
                format!("$F{kind}({name})")
            }
            20 => format!("$DIRNAME({name})"),
            21 => format!("$BASENAME({name})"),
            22 => format!("$ENV({})", self.random.pick(&["TZ", "NOT_THERE", "NOT_THERE:word"])),
            23 => "$(DOLLAR)(A)".to_owned(),
            24 => format!("$$({name})"),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> String {
        let words = [
            "7",
            "-3",
            "2.5",
            "1e3",
            "true",
            "False",
            "/a/b.c/d.tar.gz",
            "word",
            "\"quoted text\"",
            "a,b;c",
            "(A + 1)",
            "A + B",
            "10 * 60",
            "$",
            "$(",
            ")",
            "x=y",
            "host.example.org:9618",
            "'single'",
            "&& A",
            "100 MB",
            "%d",
            "\\",
            "@",
            "{1, 2}",
            "stringListMember(\"a\", E_list)",
            "",
        ];
        (*self.random.pick(&words)).to_owned()
    }
}
