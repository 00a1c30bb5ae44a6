//! Access to parameters. Warnings and errors are collected while parameters are read.

use std::cell::RefCell;

use bstr::{BStr, BString, ByteSlice};

use htc_base::quirks::{Quirk, QuirkMode};
use htc_classad::{Dialect, Expr};
use htc_config::{ConfigView, Setting, ValueError};

/// Reason why slots cannot be created from a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigureError {
    /// The value of a parameter is not valid.
    #[error("{name}: {problem}")]
    Parameter {
        /// Name under which the parameter was looked up.
        name: String,
        /// The error, and what value would be valid.
        problem: String,
        /// Location of the setting, such as its file and line, or `None` if unknown.
        origin: Option<String>,
        /// The value with a caret below the error, or `None`.
        excerpt: Option<String>,
    },
    /// The machine cannot be divided as the slot types require.
    #[error("{0}")]
    Layout(String),
}

/// Warning about a hook of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookWarning {
    /// The path of a hook was refused.
    RefusedPath(String),
    /// The slot has a hook keyword, but no FETCH_WORK hook.
    NoFetchHook(String),
}

impl HookWarning {
    /// Returns the text of the warning.
    pub fn text(&self) -> &str {
        match self {
            HookWarning::RefusedPath(text) | HookWarning::NoFetchHook(text) => text,
        }
    }
}

/// Problems found while parameters are read.
#[derive(Debug, Default)]
pub(super) struct ParameterProblems {
    /// Warnings, one sentence each.
    pub(super) warnings: Vec<String>,
    /// Warnings about hooks; `warnings` contains them too.
    pub(super) hook_warnings: Vec<HookWarning>,
    /// Error for the first value that makes a startd exit.
    fatal: Option<ConfigureError>,
}

impl ParameterProblems {
    /// Returns the warnings.
    ///
    /// # Errors
    /// Fails if a value was read that makes a startd exit.
    pub(super) fn into_warnings(self) -> Result<Vec<String>, ConfigureError> {
        self.fatal.map_or(Ok(self.warnings), Err)
    }
}

/// View of the configuration for one slot, or for the whole execution point.
pub(super) struct SlotParameters<'a> {
    view: ConfigView<'a>,
    problems: &'a RefCell<ParameterProblems>,
    quirks: QuirkMode,
}

impl<'a> SlotParameters<'a> {
    pub(super) fn new(
        view: ConfigView<'a>,
        problems: &'a RefCell<ParameterProblems>,
        quirks: QuirkMode,
    ) -> Self {
        SlotParameters { view, problems, quirks }
    }

    /// Returns the configuration view.
    pub(super) fn view(&self) -> &ConfigView<'a> {
        &self.view
    }

    /// Returns the behaviour to use where 25.14 and its manual differ.
    pub(super) fn quirks(&self) -> QuirkMode {
        self.quirks
    }

    /// True if 25.14's behaviour is to be used instead of the manual's.
    pub(super) fn reproduces(&self, quirk: Quirk) -> bool {
        self.quirks.reproduces(quirk)
    }

    /// Returns the world in which the configuration is evaluated.
    pub(super) fn world(&self) -> &'a dyn htc_base::world::World {
        self.view.world()
    }

    /// Returns the dialect in which expressions in values are parsed: a backslash in a string is literal, as in long ads
    /// (`ParseClassAdRvalExpr`).
    pub(super) fn dialect(&self) -> Dialect {
        Dialect::of_world(self.world()).old()
    }

    /// Records a warning about a hook.
    pub(super) fn warn_about_hook(&self, warning: HookWarning) {
        self.warn(warning.text());
        self.problems.borrow_mut().hook_warnings.push(warning);
    }

    pub(super) fn warn(&self, text: impl Into<String>) {
        let text = text.into();
        let warnings = &mut self.problems.borrow_mut().warnings;
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    /// Records a value that makes a startd exit (`param_integer`, `param_boolean`). The caller continues with a
    /// default, so that all settings are checked before the error is returned.
    fn refuse(&self, name: &str, problem: String) {
        let error = self.parameter_error(name, problem);
        self.problems.borrow_mut().fatal.get_or_insert(error);
    }

    /// Returns the expanded value of a parameter; an empty value is treated as not defined.
    pub(super) fn text(&self, name: &str) -> Option<BString> {
        self.text_or_empty(name).filter(|text| !text.is_empty())
    }

    /// Returns the expanded value of a parameter; an empty value is `Some`.
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

    /// True if the parameter is set explicitly; false if it only has a default.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.view.string(name).ok().flatten().is_some_and(|setting| setting.origin.source != "<Default>")
    }

    /// Returns where the parameter was set, or `None`.
    pub(super) fn origin(&self, name: &str) -> Option<String> {
        self.view.string(name).ok().flatten().map(|setting| setting.origin.to_string())
    }

    pub(super) fn int(&self, name: &str, default: i64) -> i64 {
        self.value_or_refuse(name, self.view.int(name), default)
    }

    fn value_or_refuse<T>(&self, name: &str, read: Result<Option<Setting<T>>, ValueError>, default: T) -> T {
        match read {
            Ok(setting) => setting.map_or(default, |setting| setting.value),
            Err(error) => {
                self.refuse(name, error.to_string());
                default
            }
        }
    }

    /// Reads a number that must not be negative.
    pub(super) fn non_negative_int(&self, name: &str, default: u32) -> u64 {
        let number = self.int(name, default.into());
        u64::try_from(number).unwrap_or_else(|_| {
            self.refuse(name, format!("{number} is less than 0"));
            0
        })
    }

    /// Returns the integer value of a parameter, or `None` if it is not defined.
    pub(super) fn int_if_set(&self, name: &str) -> Result<Option<i64>, ConfigureError> {
        match self.view.int(name) {
            Ok(setting) => Ok(setting.map(|setting| setting.value)),
            Err(error) => Err(self.parameter_error(name, error.to_string())),
        }
    }

    pub(super) fn boolean(&self, name: &str, default: bool) -> bool {
        self.value_or_refuse(name, self.view.boolean(name), default)
    }

    /// Returns the words of a list, separated by blanks and commas.
    pub(super) fn words(&self, name: &str) -> Vec<String> {
        let text = self.string(name).unwrap_or_default();
        let separator = |c: char| c == ',' || c.is_ascii_whitespace();
        text.split(separator).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    /// Returns a parameter as an expression. If it does not parse, warns and returns `None`.
    pub(super) fn expr_or_warn(&self, name: &str) -> Option<Expr> {
        self.parse_expr(name).unwrap_or_else(|error| {
            self.warn(format!("{error}; the parameter is ignored"));
            None
        })
    }

    /// Returns a parameter as an expression, or `None` if it is not defined. Fails if it does not parse.
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

    /// Returns an error about a parameter, with its origin.
    pub(super) fn parameter_error(&self, name: &str, problem: impl Into<String>) -> ConfigureError {
        ConfigureError::Parameter {
            name: name.to_owned(),
            problem: problem.into(),
            origin: self.origin(name),
            excerpt: None,
        }
    }
}
