//! Reading knobs with their warnings and errors collected in one place.

use std::cell::RefCell;
use std::fmt::Display;

use bstr::{BStr, BString, ByteSlice};

use htc_base::quirks::{Quirk, QuirkMode};
use htc_classad::{Dialect, Expr};
use htc_config::{ConfigView, Setting, ValueError};

/// Why no slots can be made of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigureError {
    /// The value of a knob is of no use.
    #[error("{name}: {problem}")]
    Parameter {
        /// The knob as looked up.
        name: String,
        /// What is wrong, and what would be right.
        problem: String,
        /// File and line where it was set, or how else it came to be; the line with a caret where there is a place to
        /// point at.
        origin: Option<String>,
        /// The value with a caret below the place, where there is one.
        excerpt: Option<String>,
    },
    /// The machine cannot be shared out as the slot types ask for.
    #[error("{0}")]
    Layout(String),
}

/// A view on the configuration for one slot, or for all.
pub(super) struct SlotParameters<'a> {
    view: ConfigView<'a>,
    warnings: &'a RefCell<Vec<String>>,
    quirks: QuirkMode,
}

impl<'a> SlotParameters<'a> {
    pub(super) fn new(view: ConfigView<'a>, warnings: &'a RefCell<Vec<String>>, quirks: QuirkMode) -> Self {
        SlotParameters { view, warnings, quirks }
    }

    /// The values themselves.
    pub(super) fn view(&self) -> &ConfigView<'a> {
        &self.view
    }

    /// Which behaviour is wanted where 25.14 and its manual differ.
    pub(super) fn quirks(&self) -> QuirkMode {
        self.quirks
    }

    /// Whether 25.14's own behaviour is wanted.
    pub(super) fn reproduces(&self, quirk: Quirk) -> bool {
        self.quirks.reproduces(quirk)
    }

    /// What the configuration is evaluated in.
    pub(super) fn world(&self) -> &'a dyn htc_base::world::World {
        self.view.world()
    }

    /// How values are read that are expressions: a backslash in a string stands for itself, as in long ads (`ParseClassAdRvalExpr`).
    pub(super) fn dialect(&self) -> Dialect {
        Dialect::of_world(self.world()).old()
    }

    pub(super) fn warn(&self, text: impl Into<String>) {
        let text = text.into();
        let mut warnings = self.warnings.borrow_mut();
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    /// The expanded value; an empty one counts as not defined.
    pub(super) fn text(&self, name: &str) -> Option<BString> {
        self.text_or_empty(name).filter(|text| !text.is_empty())
    }

    /// The expanded value; an empty one is `Some`.
    pub(super) fn text_or_empty(&self, name: &str) -> Option<BString> {
        match self.view.string(name) {
            Ok(Some(setting)) => Some(BString::from(setting.value.trim())),
            Ok(None) => self.view.raw(name).map(|_| BString::default()),
            Err(error) => {
                self.warn(format!("{name}: {error}"));
                None
            }
        }
    }

    pub(super) fn string(&self, name: &str) -> Option<String> {
        self.text(name).map(|text| BStr::new(&text).to_string())
    }

    /// Whether somebody has set a knob: it has not its default.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.view.string(name).ok().flatten().is_some_and(|setting| setting.origin.source != "<Default>")
    }

    /// Where the value of a knob was set.
    pub(super) fn origin(&self, name: &str) -> Option<String> {
        self.view.string(name).ok().flatten().map(|setting| setting.origin.to_string())
    }

    pub(super) fn int(&self, name: &str, default: i64) -> i64 {
        self.value_or_default(self.view.int(name), default)
    }

    fn value_or_default<T: Display>(&self, read: Result<Option<Setting<T>>, ValueError>, default: T) -> T {
        match read {
            Ok(setting) => setting.map_or(default, |setting| setting.value),
            Err(error) => {
                let error = error.to_string();
                let error = error.trim_end_matches('.');
                self.warn(format!("{error}. A startd ends with it; here {default} is used"));
                default
            }
        }
    }

    /// A number that is 0 or more.
    pub(super) fn non_negative_int(&self, name: &str, default: u32) -> u64 {
        let number = self.int(name, default.into());
        u64::try_from(number).unwrap_or_else(|_| {
            self.warn(format!("{name} = {number} is below 0. A startd ends with it; here 0 is used"));
            0
        })
    }

    /// The number a knob is set to; nothing when it is not defined.
    pub(super) fn int_if_set(&self, name: &str) -> Result<Option<i64>, ConfigureError> {
        match self.view.int(name) {
            Ok(setting) => Ok(setting.map(|setting| setting.value)),
            Err(error) => Err(self.parameter_error(name, error.to_string())),
        }
    }

    pub(super) fn boolean(&self, name: &str, default: bool) -> bool {
        self.value_or_default(self.view.boolean(name), default)
    }

    /// The words of a list: blanks and commas separate.
    pub(super) fn words(&self, name: &str) -> Vec<String> {
        let text = self.string(name).unwrap_or_default();
        let separator = |c: char| c == ',' || c.is_ascii_whitespace();
        text.split(separator).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    /// A knob as an expression. One that does not parse counts as not defined, with a warning.
    pub(super) fn expr_or_warn(&self, name: &str) -> Option<Expr> {
        self.parse_expr(name).unwrap_or_else(|error| {
            self.warn(format!("{error}; the knob is ignored"));
            None
        })
    }

    /// A knob as an expression that must parse.
    pub(super) fn parse_expr(&self, name: &str) -> Result<Option<Expr>, ConfigureError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match Expr::parse_with(&text, self.dialect()) {
            Ok(expr) => Ok(Some(expr)),
            Err(error) => Err(ConfigureError::Parameter {
                name: name.to_owned(),
                problem: error.to_string(),
                origin: self.origin(name),
                excerpt: Some(error.render(&text)),
            }),
        }
    }

    /// An error about a knob, with the place it was set at.
    pub(super) fn parameter_error(&self, name: &str, problem: impl Into<String>) -> ConfigureError {
        ConfigureError::Parameter {
            name: name.to_owned(),
            problem: problem.into(),
            origin: self.origin(name),
            excerpt: None,
        }
    }
}
