//! Sets of types that the value of an expression can have.

use htc_classad::Value;

/// Set of types of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TypeSet(u8);

impl TypeSet {
    /// Integers and reals.
    pub(super) const NUMBER: TypeSet = TypeSet(1);
    pub(super) const BOOLEAN: TypeSet = TypeSet(2);
    pub(super) const TEXT: TypeSet = TypeSet(4);
    pub(super) const LIST: TypeSet = TypeSet(8);
    /// Times and ads.
    pub(super) const OTHER: TypeSet = TypeSet(16);
    pub(super) const ANY: TypeSet = TypeSet(31);
    /// The empty set: the value is undefined or an error.
    pub(super) const NONE: TypeSet = TypeSet(0);

    /// Returns the union of two sets.
    pub(super) const fn or(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 | other.0)
    }

    /// True if the value is a string, undefined or an error.
    pub(super) fn is_only_text(self) -> bool {
        self == TypeSet::TEXT
    }

    /// True if the two sets have no type in common and this set is not empty.
    pub(super) fn excludes(self, other: TypeSet) -> bool {
        self.0 != 0 && self.0 & other.0 == 0
    }

    /// Returns the types as text for messages: `a string or a list`.
    pub(super) fn describe(self) -> String {
        const NAMES: [(TypeSet, &str); 5] = [
            (TypeSet::NUMBER, "a number"),
            (TypeSet::BOOLEAN, "a truth value"),
            (TypeSet::TEXT, "a string"),
            (TypeSet::LIST, "a list"),
            (TypeSet::OTHER, "a time or an ad"),
        ];
        let included = NAMES.iter().filter(|(set, _)| self.0 & set.0 != 0);
        included.map(|(_, name)| *name).collect::<Vec<_>>().join(" or ")
    }

    /// True if the value is a number, undefined or an error.
    pub(super) fn is_only_number(self) -> bool {
        self == TypeSet::NUMBER
    }

    /// True if the value is a number, a truth value, undefined or an error.
    pub(super) fn is_only_number_or_boolean(self) -> bool {
        self.0 != 0 && self.0 & !(TypeSet::NUMBER.0 | TypeSet::BOOLEAN.0) == 0
    }

    /// Returns the type of a value; undefined and errors have none.
    pub(super) fn of_value(value: &Value) -> TypeSet {
        match value {
            Value::Int(_) | Value::Real(_) => TypeSet::NUMBER,
            Value::Bool(_) => TypeSet::BOOLEAN,
            Value::Str(_) => TypeSet::TEXT,
            Value::List(_) => TypeSet::LIST,
            Value::Undefined | Value::Error => TypeSet::NONE,
            _ => TypeSet::OTHER,
        }
    }
}
