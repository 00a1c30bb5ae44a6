//! Types that the value of an expression can have, whatever attributes the ads have, and parts that are
//! always an error.

use bstr::{BString, ByteSlice};
use htc_classad::eval::argument_error;
use htc_classad::{Expr, ExprKind};

use super::argument_types::check_argument_types;
use super::expression_parts::{quoted_literal, reference_name, shorten};
use super::known_attributes::{AttributeType, attribute_type};
use super::type_rules::suggest_undefined;
pub(super) use super::type_set::TypeSet;

/// Kind of a mistake in an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExpressionMistake {
    /// The part is always an error, or undefined.
    AlwaysError,
    /// The comparison is always false or always true.
    AlwaysSame,
    /// An attribute is compared with a string that lacks its quotes.
    MissingQuotes,
}

/// Mistake in a part of an expression.
#[derive(Clone, Debug)]
pub(super) struct ExpressionFault {
    pub(super) mistake: ExpressionMistake,
    /// Subexpression that has the mistake.
    pub(super) part: Expr,
    pub(super) message: String,
    pub(super) fix: Option<String>,
}

/// Reference to an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AttributeReference {
    /// `MY`, `TARGET` or nothing, in upper case.
    pub(super) scope: BString,
    pub(super) name: BString,
}

/// Result of the examination of an expression.
pub(super) struct ExpressionTypes<'a> {
    /// Mistakes, from left to right.
    pub(super) faults: Vec<ExpressionFault>,
    /// References outside of nested ads.
    pub(super) references: Vec<AttributeReference>,
    is_site_attribute: &'a dyn Fn(&[u8]) -> bool,
    depth: usize,
}

/// Functions that return a string.
const TEXT_FUNCTIONS: [&str; 14] = [
    "strcat",
    "substr",
    "toupper",
    "tolower",
    "string",
    "join",
    "formattime",
    "replace",
    "replaceall",
    "regexps",
    "unparse",
    "listtoargs",
    "mergeenvironment",
    "interval",
];

/// Functions that return a truth value.
const BOOLEAN_FUNCTIONS: [&str; 24] = [
    "regexp",
    "regexpmember",
    "stringlistmember",
    "stringlistimember",
    "stringlist_regexpmember",
    "member",
    "identicalmember",
    "anycompare",
    "allcompare",
    "isundefined",
    "iserror",
    "isstring",
    "isinteger",
    "isreal",
    "islist",
    "isclassad",
    "isboolean",
    "isabstime",
    "isreltime",
    "stringlistsubsetmatch",
    "stringlistisubsetmatch",
    "stringlistsintersect",
    "versioneq",
    "versionge",
];

/// Functions that return a number.
const NUMBER_FUNCTIONS: [&str; 14] = [
    "int",
    "real",
    "floor",
    "ceiling",
    "ceil",
    "round",
    "random",
    "time",
    "size",
    "strcmp",
    "stricmp",
    "stringlistsize",
    "pow",
    "countmatches",
];

/// Functions whose arguments are evaluated with other ads.
const CONTEXT_FUNCTIONS: [&str; 4] = ["evalineachcontext", "countmatches", "anycompare", "allcompare"];

/// Maximum depth to which an expression is examined.
const MAX_DEPTH: usize = 120;

impl<'a> ExpressionTypes<'a> {
    /// Examines an expression; `is_site_attribute` is true for attributes that the site sets.
    pub(super) fn examine(expr: &Expr, is_site_attribute: &'a dyn Fn(&[u8]) -> bool) -> (TypeSet, Self) {
        let mut types =
            ExpressionTypes { faults: Vec::new(), references: Vec::new(), is_site_attribute, depth: 0 };
        let set = types.infer(expr);
        (set, types)
    }

    fn add_fault(&mut self, mistake: ExpressionMistake, part: &Expr, message: String, fix: Option<String>) {
        self.faults.push(ExpressionFault { mistake, part: part.clone(), message, fix });
    }

    fn infer(&mut self, expr: &Expr) -> TypeSet {
        if self.depth > MAX_DEPTH {
            return TypeSet::ANY;
        }
        self.depth += 1;
        let set = match expr.kind() {
            ExprKind::Literal(value) => TypeSet::of_value(&value),
            ExprKind::Reference => self.infer_reference(expr),
            ExprKind::Select(base, _) => {
                self.infer(&base);
                TypeSet::ANY
            }
            ExprKind::And(left, right) | ExprKind::Or(left, right) => {
                self.infer_condition(&left);
                self.infer_condition(&right);
                TypeSet::BOOLEAN
            }
            ExprKind::Not(operand) => {
                self.infer_condition(&operand);
                TypeSet::BOOLEAN
            }
            ExprKind::Conditional(condition, first, second) => {
                self.infer_condition(&condition);
                self.infer(&first).or(self.infer(&second))
            }
            ExprKind::Compare(operator, left, right) => self.infer_comparison(expr, operator, &left, &right),
            ExprKind::Call(name, arguments) => self.infer_call(expr, &name, &arguments),
            ExprKind::Other(parts) => self.infer_operation(expr, &parts),
        };
        self.depth -= 1;
        set
    }

    fn infer_reference(&mut self, expr: &Expr) -> TypeSet {
        let reference = parse_reference(expr);
        let name = reference.name.clone();
        if !self.references.contains(&reference) {
            self.references.push(reference);
        }
        if (self.is_site_attribute)(&name) {
            return TypeSet::ANY;
        }
        match attribute_type(&name) {
            Some(AttributeType::Number) => TypeSet::NUMBER,
            Some(AttributeType::Boolean) => TypeSet::BOOLEAN,
            Some(AttributeType::Text) => TypeSet::TEXT,
            None => TypeSet::ANY,
        }
    }

    /// Examines an operand of a logical operator.
    fn infer_condition(&mut self, operand: &Expr) {
        if self.infer(operand).is_only_text() {
            let message = format!(
                "`{}` is a string, which is neither true nor false: the result is an error",
                shorten(operand)
            );
            self.add_fault(ExpressionMistake::AlwaysError, operand, message, None);
        }
    }

    /// Reports `!a == b`, where `!` belongs to `a` alone; returns false if the comparison may be intended.
    fn check_negated_operand(&mut self, whole: &Expr, operator: &str, left: &Expr, right: &Expr) -> bool {
        let ExprKind::Not(operand) = left.kind() else { return false };
        if !left.unparse().trim_start().starts_with(b"!") {
            return false;
        }
        let (references, faults) = (self.references.len(), self.faults.len());
        let sets = [self.infer(&operand), self.infer(right)];
        let is_value = |set: &TypeSet| set.is_only_text() || set.is_only_number();
        if !sets.iter().any(is_value) {
            self.references.truncate(references);
            self.faults.truncate(faults);
            return false;
        }
        let is_error = sets.iter().any(|set| set.is_only_text()) && !matches!(operator, "=?=" | "=!=");
        let mistake = match is_error {
            true => ExpressionMistake::AlwaysError,
            false => ExpressionMistake::AlwaysSame,
        };
        let text = |expr: &Expr| shorten(expr).trim().to_owned();
        let (shown, operand) = (text(whole), text(&operand));
        let outcome = if is_error { ": the result is an error" } else { "" };
        let message = format!("`{shown}`: '!' belongs to {operand} alone, not to the comparison{outcome}");
        let opposite = match operator {
            "==" => Some("!="),
            "!=" => Some("=="),
            "=?=" => Some("=!="),
            "=!=" => Some("=?="),
            _ => None,
        };
        let fix = match opposite {
            Some(opposite) => format!("write {operand} {opposite} {}", text(right)),
            None => format!("write !({operand} {operator} {})", text(right)),
        };
        self.add_fault(mistake, whole, message, Some(fix));
        true
    }

    fn infer_comparison(&mut self, whole: &Expr, operator: &str, left: &Expr, right: &Expr) -> TypeSet {
        if self.check_negated_operand(whole, operator, left, right) {
            return TypeSet::BOOLEAN;
        }
        let sets = [self.infer(left), self.infer(right)];
        let is_identity = matches!(operator, "=?=" | "=!=");
        let are_incompatible = sets[0].is_only_text() && sets[1].is_only_number_or_boolean()
            || sets[1].is_only_text() && sets[0].is_only_number_or_boolean();
        if are_incompatible {
            let quoted = [left, right].into_iter().find_map(quoted_literal);
            let attribute = [left, right].into_iter().find_map(reference_name);
            let number = attribute
                .zip(quoted.as_ref())
                .and_then(|(name, text)| number_of_word(&name, text.as_bytes()));
            let fix = match (number, quoted) {
                (Some(number), _) => Some(format!("write {number}")),
                // Any other word without quotes would be an attribute that nothing defines.
                (None, Some(text)) if is_number_or_truth(&text) => {
                    Some(format!("write {text} without quotes"))
                }
                (None, Some(_)) => Some("compare it with a number".to_owned()),
                (None, None) => None,
            };
            let (mistake, outcome) = match operator {
                "=?=" => (ExpressionMistake::AlwaysSame, "always false"),
                "=!=" => (ExpressionMistake::AlwaysSame, "always true"),
                _ => (ExpressionMistake::AlwaysError, "an error"),
            };
            let message = format!("`{}` compares a number with a string: {outcome}", shorten(whole));
            self.add_fault(mistake, whole, message, fix);
        } else if !is_identity && (sets[0] == TypeSet::LIST || sets[1] == TypeSet::LIST) {
            let message = format!("`{}` compares a list: the result is an error", shorten(whole));
            self.add_fault(ExpressionMistake::AlwaysError, whole, message, None);
        } else if let Some(number) = self.quoted_number(operator, left, right) {
            let message =
                format!("`{}` compares with a string, which is an error for a number", shorten(whole));
            let fix = Some(format!("write {number} without quotes"));
            self.add_fault(ExpressionMistake::AlwaysError, whole, message, fix);
        } else {
            self.check_missing_quotes(left, right);
            self.check_missing_quotes(right, left);
        }
        TypeSet::BOOLEAN
    }

    /// Returns the digits of a string literal that is compared (`<`, `<=`, `>`, `>=`) with an HTCondor attribute that
    /// is not a string.
    fn quoted_number(&self, operator: &str, left: &Expr, right: &Expr) -> Option<String> {
        let (attribute, literal) = match (reference_name(left), reference_name(right)) {
            (Some(name), None) => (name, right),
            (None, Some(name)) => (name, left),
            _ => return None,
        };
        let is_candidate = matches!(operator, "<" | "<=" | ">" | ">=")
            && super::known_attributes::is_exact_attribute(&attribute)
            && attribute_type(&attribute) != Some(AttributeType::Text)
            && !attribute.to_ascii_lowercase().contains_str("version")
            && !(self.is_site_attribute)(&attribute);
        quoted_literal(literal)
            .filter(|text| is_candidate && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// Reports `Arch == X86_64`: a name that nothing defines in place of a string.
    fn check_missing_quotes(&mut self, known: &Expr, other: &Expr) {
        let (Some(name), Some(known)) = (other.as_attribute(), reference_name(known)) else { return };
        let name = name.as_bytes();
        if let Some(number) = number_of_word(&known, name) {
            let name = name.to_str_lossy();
            let message = format!(
                "{name} is the name of an attribute that nothing defines, not one of the values of {known}"
            );
            let fix = Some(format!("write {number}"));
            self.add_fault(ExpressionMistake::MissingQuotes, other, message, fix);
            return;
        }
        let is_text =
            attribute_type(&known) == Some(AttributeType::Text) && !(self.is_site_attribute)(&known);
        let is_free = suggest_undefined(name).is_none()
            && !super::known_attributes::is_known_attribute(name)
            && super::known_attributes::nearest_attribute(name).is_none()
            && !(self.is_site_attribute)(name);
        if is_text && is_free {
            let name = name.to_str_lossy();
            let message = format!("{name} is the name of an attribute that nothing defines, not a string");
            let fix = Some(format!("write \"{name}\""));
            self.add_fault(ExpressionMistake::MissingQuotes, other, message, fix);
        }
    }

    fn infer_call(&mut self, whole: &Expr, name: &BString, arguments: &[Expr]) -> TypeSet {
        let lower = name.to_ascii_lowercase();
        let is = |names: &[&str]| names.iter().any(|known| known.as_bytes() == lower);
        let before = (self.references.len(), self.faults.len());
        let sets: Vec<TypeSet> = arguments.iter().map(|argument| self.infer(argument)).collect();
        if is(&CONTEXT_FUNCTIONS) {
            // Names in these arguments refer to other ads.
            self.references.truncate(before.0);
            self.faults.truncate(before.1);
        }
        let first = arguments.first().and_then(Expr::as_literal);
        if let Some(problem) = argument_error(name, arguments.len(), first.as_ref()) {
            self.add_fault(
                ExpressionMistake::AlwaysError,
                whole,
                format!("{problem}: the result is an error"),
                None,
            );
            return TypeSet::NONE;
        }
        if let Some(order) = swapped_arguments(&lower, arguments) {
            let message = format!("`{}` has its arguments in the wrong order", shorten(whole));
            self.add_fault(ExpressionMistake::AlwaysSame, whole, message, Some(order.to_owned()));
        } else if let Some(list) = self.unquoted_list(&lower, arguments) {
            let message = format!("{list}: names of attributes that nothing defines, not a list in a string");
            let fix = Some(format!("write \"{list}\""));
            self.add_fault(ExpressionMistake::MissingQuotes, &arguments[1], message, fix);
        } else if let Some((problem, fix)) = check_argument_types(name, arguments, &sets) {
            let message = format!("`{}` is an error: {problem}", shorten(whole));
            self.add_fault(ExpressionMistake::AlwaysError, whole, message, fix);
            return TypeSet::NONE;
        }
        match () {
            () if is(&TEXT_FUNCTIONS) => TypeSet::TEXT,
            () if is(&BOOLEAN_FUNCTIONS) => TypeSet::BOOLEAN,
            () if is(&NUMBER_FUNCTIONS) => TypeSet::NUMBER,
            () => TypeSet::ANY,
        }
    }

    /// Returns the unquoted list in `stringListMember(Owner, ann, bob)`, if nothing defines its words as attributes.
    fn unquoted_list(&self, function: &[u8], arguments: &[Expr]) -> Option<String> {
        let (_, list) = arguments.split_first()?;
        let is_list = matches!(function, b"stringlistmember" | b"stringlistimember") && !list.is_empty();
        let words: Option<Vec<String>> =
            list.iter().filter(|_| is_list).map(|word| self.undefined_name(word)).collect();
        words.filter(|words| !words.is_empty()).map(|words| words.join(", "))
    }

    /// Returns the name in a reference without a scope, if HTCondor has no attribute with this or a similar name and
    /// the site has no attribute with this name.
    fn undefined_name(&self, expr: &Expr) -> Option<String> {
        let name = expr.as_attribute()?;
        let name = name.as_bytes();
        let is_free = suggest_undefined(name).is_none()
            && !name.contains(&b'.')
            && !super::known_attributes::is_known_attribute(name)
            && super::known_attributes::nearest_attribute(name).is_none()
            && !(self.is_site_attribute)(name);
        is_free.then(|| name.to_str_lossy().into_owned())
    }

    fn infer_operation(&mut self, whole: &Expr, parts: &[Expr]) -> TypeSet {
        let Some(operator) = whole.operator() else {
            // Names in a nested ad may refer to that ad.
            let (references, is_list) =
                (self.references.len(), whole.without_parentheses().as_list().is_some());
            for part in parts {
                self.infer(part);
            }
            if !is_list {
                self.references.truncate(references);
                return TypeSet::OTHER;
            }
            return TypeSet::LIST;
        };
        let sets: Vec<TypeSet> = parts.iter().map(|part| self.infer(part)).collect();
        if let Some(logical) = logical_operator(operator)
            && sets.contains(&TypeSet::BOOLEAN)
        {
            let message = format!(
                "`{}`: '{operator}' joins bits of integers, not conditions: the result is an error",
                shorten(whole)
            );
            self.add_fault(ExpressionMistake::AlwaysError, whole, message, Some(format!("write {logical}")));
            return TypeSet::NONE;
        }
        match operator {
            "?:" => sets.into_iter().fold(TypeSet::NONE, TypeSet::or),
            "[]" => TypeSet::ANY,
            _ => {
                let text = parts.iter().zip(&sets).find(|(_, set)| set.is_only_text()).map(|(part, _)| part);
                let Some(text) = text else {
                    // The difference of two absolute times is a relative time, and that of two numbers is a
                    // number.
                    let is_number = sets.iter().all(|set| set.is_only_number_or_boolean());
                    return if is_number { TypeSet::NUMBER } else { TypeSet::NUMBER.or(TypeSet::OTHER) };
                };
                let message =
                    format!("`{}` calculates with a string: the result is an error", shorten(whole));
                let fix = match quoted_literal(text) {
                    Some(number) if number.trim().parse::<f64>().is_ok() => {
                        format!("write {number} without quotes")
                    }
                    Some(_) if parts.len() == 2 => {
                        format!("put the comparison in parentheses: '{operator}' binds more tightly than it")
                    }
                    _ => "use strcat() to join strings".to_owned(),
                };
                self.add_fault(ExpressionMistake::AlwaysError, whole, message, Some(fix));
                TypeSet::NONE
            }
        }
    }
}

/// True for the text of a number, `true` or `false`.
fn is_number_or_truth(text: &str) -> bool {
    text.parse::<f64>().is_ok() || ["true", "false"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Returns the right order of two arguments that were certainly swapped: a list in place of an item, or an attribute in
/// place of a pattern.
fn swapped_arguments(function: &[u8], arguments: &[Expr]) -> Option<&'static str> {
    let [first, second, ..] = arguments else { return None };
    let text = quoted_literal(first);
    let is_list_text = text.as_ref().is_some_and(|text| {
        // A single item may have blanks, but the name of an account has none.
        text.contains(',') || text.trim().contains(' ') && is_account(second)
    });
    let is_list = first.without_parentheses().as_list().is_some();
    let pattern = quoted_literal(second);
    let is_pattern = pattern.is_some_and(|text| text.contains(['^', '$', '*', '[', '|']));
    match function {
        b"stringlistmember" | b"stringlistimember" if is_list_text && second.is_reference() => {
            Some("write the item first, then the list")
        }
        b"member" | b"identicalmember"
            if is_list && (second.is_reference() || quoted_literal(second).is_some()) =>
        {
            Some("write the item first, then the list")
        }
        b"regexp" if first.is_reference() && is_pattern => Some("write the pattern first, then the text"),
        _ => None,
    }
}

/// True for the attributes with the name of an account, a group or a host, which are never lists.
fn is_account(expr: &Expr) -> bool {
    const NAMES: [&str; 7] =
        ["Owner", "User", "RemoteOwner", "RemoteUser", "AcctGroup", "AccountingGroup", "Machine"];
    let name = reference_name(expr);
    name.is_some_and(|name| NAMES.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes())))
}

/// Returns the logical operator that was probably intended instead of a bitwise operator.
fn logical_operator(operator: &str) -> Option<&'static str> {
    match operator {
        "|" => Some("||"),
        "&" => Some("&&"),
        _ => None,
    }
}

/// Returns the number that a word such as HELD or VANILLA stands for as the value of an attribute.
pub(super) fn number_of_word(attribute: &[u8], word: &[u8]) -> Option<i64> {
    const JOB_STATES: [(&str, i64); 7] = [
        ("IDLE", 1),
        ("RUNNING", 2),
        ("REMOVED", 3),
        ("COMPLETED", 4),
        ("HELD", 5),
        ("TRANSFERRING_OUTPUT", 6),
        ("SUSPENDED", 7),
    ];
    let is = |name: &str| attribute.eq_ignore_ascii_case(name.as_bytes());
    let is_word = |known: &str| word.eq_ignore_ascii_case(known.as_bytes());
    match () {
        () if is("JobStatus") || is("LastJobStatus") => {
            JOB_STATES.iter().find(|(state, _)| is_word(state)).map(|(_, number)| *number)
        }
        () if is("JobUniverse") => htc_base::job::Universe::from_name(word).map(|universe| universe.number()),
        () => None,
    }
}

fn parse_reference(expr: &Expr) -> AttributeReference {
    let text = expr.without_parentheses().unparse();
    let (scope, name) = match text.rfind_byte(b'.') {
        Some(dot) => (text[..dot].to_ascii_uppercase(), text[dot + 1..].to_owned()),
        None => (Vec::new(), text.to_vec()),
    };
    AttributeReference { scope: scope.into(), name: name.trim_with(|c| c == '\'').into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        let expr = Expr::parse(text.as_bytes()).unwrap();
        let (_, types) = ExpressionTypes::examine(&expr, &|name| name == b"MySite");
        types.faults.into_iter().map(|fault| fault.message).collect()
    }

    #[test]
    fn comparisons_that_are_always_an_error_are_found() {
        for wrong in [
            "JobStatus == \"5\"",
            "TARGET.RequestMemory > \"2000\"",
            "Owner == 5",
            "(Owner == \"ann\" * 1000) + ImageSize",
            "ifThenElse(Owner == \"ann\", true)",
            "regexp(\"[\", Owner)",
            "Arch == X86_64",
            "Owner && true",
            "JobStatus =?= \"5\"",
            "Memory + \"5\" > 3",
            "time() - EnteredCurrentActivity > \"3600\"",
            "!TARGET.Owner == \"root\"",
            "!Foo =?= \"root\"",
            "!JobStatus == 5",
            "!RequestMemory > 5",
        ] {
            assert_eq!(messages(wrong).len(), 1, "{wrong}: {:?}", messages(wrong));
        }
    }

    #[test]
    fn expressions_that_can_have_a_value_are_not_reported() {
        for good in [
            "JobStatus == 5 && Owner == \"ann\"",
            "RemoteOwner =?= undefined",
            "(time() - EnteredCurrentStatus) > 3600",
            "Owner == MySite",
            "Foo == \"5\" || Foo == 5",
            "HasDocker == 1",
            "ifThenElse(isUndefined(X), \"a\", X) == Owner",
            "member(Owner, {\"a\", \"b\"})",
            "stringListMember(Owner, \"a,b\")",
            "evalInEachContext(Capability > 7, AvailableGPUs)",
            "-Memory < 0",
            "quantize(RequestMemory, {128})",
            "!HasDocker == true",
            "!Foo == Bar",
            "!(Owner == \"ann\")",
            "(!Foo) == 5",
            "(Owner == \"ann\") * 1000",
            "Cpus =?= TotalCpus",
        ] {
            assert_eq!(messages(good), Vec::<String>::new(), "{good}");
        }
    }
}
