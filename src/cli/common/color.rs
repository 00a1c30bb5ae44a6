//! Colours. By default they are used only on a terminal, and not if NO_COLOR is set; the user can turn them on or off.

use std::fmt::{self, Display};
use std::io::IsTerminal;

/// Choice of coloured output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum StyleChoice {
    /// On a terminal, unless NO_COLOR is set or TERM is `dumb`.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Painter that encloses text in escape sequences, or leaves it unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Painter {
    on: bool,
}

impl Painter {
    /// Creates a painter that leaves text unchanged.
    pub fn plain() -> Self {
        Painter { on: false }
    }

    /// Creates the painter for standard output.
    pub fn stdout(when: StyleChoice) -> Self {
        Painter { on: should_style(when, std::io::stdout().is_terminal(), env_var) }
    }

    /// Creates the painter for standard error.
    pub fn stderr(when: StyleChoice) -> Self {
        Painter { on: should_style(when, std::io::stderr().is_terminal(), env_var) }
    }

    /// True if the painter colours text.
    pub fn is_enabled(self) -> bool {
        self.on
    }

    /// Emphasises a text.
    pub fn bold<T: Display>(self, text: T) -> StyledText<T> {
        self.paint("1", text)
    }

    /// Colours a text as a success.
    pub fn good<T: Display>(self, text: T) -> StyledText<T> {
        self.paint("32", text)
    }

    /// Colours a text as an error.
    pub fn bad<T: Display>(self, text: T) -> StyledText<T> {
        self.paint("31", text)
    }

    /// Colours a text as a warning.
    pub fn warn<T: Display>(self, text: T) -> StyledText<T> {
        self.paint("33", text)
    }

    /// Dims a text that is less important.
    pub fn dim<T: Display>(self, text: T) -> StyledText<T> {
        self.paint("2", text)
    }

    fn paint<T: Display>(self, code: &'static str, text: T) -> StyledText<T> {
        StyledText { code: self.on.then_some(code), text }
    }
}

/// Text with its colour. The width and alignment of a format apply to the text only.
#[derive(Clone, Copy, Debug)]
pub struct StyledText<T> {
    code: Option<&'static str>,
    text: T,
}

impl<T: Display> Display for StyledText<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => {
                write!(f, "\x1b[{code}m")?;
                self.text.fmt(f)?;
                f.write_str("\x1b[0m")
            }
            None => self.text.fmt(f),
        }
    }
}

fn env_var(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

fn should_style(when: StyleChoice, terminal: bool, env: impl Fn(&str) -> Option<String>) -> bool {
    match when {
        StyleChoice::Always => true,
        StyleChoice::Never => false,
        StyleChoice::Auto => {
            // According to https://no-color.org, NO_COLOR is used if it is set and not empty.
            let refused = env("NO_COLOR").is_some_and(|value| !value.is_empty());
            terminal && !refused && env("TERM").is_some_and(|term| term != "dumb")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_needs_a_capable_terminal_and_no_refusal_by_the_user() {
        let env = |no_color: &'static str, term: &'static str| {
            move |name: &str| match name {
                "NO_COLOR" => Some(no_color.to_owned()),
                "TERM" => Some(term.to_owned()),
                _ => None,
            }
        };
        assert!(should_style(StyleChoice::Auto, true, env("", "xterm")));
        assert!(!should_style(StyleChoice::Auto, true, env("1", "xterm")));
        assert!(!should_style(StyleChoice::Auto, true, env("", "dumb")));
        assert!(!should_style(StyleChoice::Auto, false, env("", "xterm")));
        assert!(should_style(StyleChoice::Always, false, env("1", "dumb")));
        assert!(!should_style(StyleChoice::Never, true, env("", "xterm")));
    }

    #[test]
    fn padding_ignores_escape_sequences() {
        assert_eq!(format!("{:<4}|", Painter::plain().bad("ab")), "ab  |");
        assert_eq!(format!("{:<4}|", Painter { on: true }.bad("ab")), "\x1b[31mab  \x1b[0m|");
    }
}
