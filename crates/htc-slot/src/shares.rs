//! The value of `SLOT_TYPE_<n>`: which share of the machine a slot gets (`slot_builder.cpp`).

use std::ops::Range;

use super::devices::Constraint;
use htc_base::quirks::{Quirk, Quirks};
use htc_base::text::number::real_prefix;

/// How much of one resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// An equal part of what explicit shares leave.
    Auto,
    /// A part of the machine's total.
    Fraction(f64),
    /// An amount in the resource's own unit: MiB of memory, KiB of swap and disk.
    Amount(f64),
}

/// One custom resource's share.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomShare {
    /// Its name as the machine has it.
    pub tag: String,
    /// How much.
    pub share: Share,
    /// Which instances, where that is said.
    pub constraint: Option<String>,
}

/// What a slot type gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// Whether parts of processors may be given: `min` as the default share.
    pub fractional_cpus: bool,
    /// For what is not named.
    pub default: Share,
    /// Processors.
    pub cpus: Share,
    /// Memory.
    pub memory: Share,
    /// Swap space.
    pub swap: Share,
    /// Disk space.
    pub disk: Share,
    /// Custom resources that are named.
    pub custom: Vec<CustomShare>,
}

/// What is wrong with a share list.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct ShareError {
    /// Where, in bytes of the value.
    pub span: Range<usize>,
    /// What.
    pub kind: ShareErrorKind,
}

/// The ways a share list can be wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ShareErrorKind {
    /// A default share that is an amount, or more than everything.
    #[error("a share for all resources must be auto, min, a percentage up to 100% or a fraction up to 1/1")]
    Default,
    /// No resource has this name.
    #[error("the machine has no resource {0}: expected cpus, memory, swap, disk or a MACHINE_RESOURCE_ name")]
    Unknown(String),
    /// A fraction without a positive divisor.
    #[error("a fraction needs a divisor above 0, such as 1/4")]
    Fraction,
    /// Neither a number nor a word that means a share.
    #[error("expected auto, min, a number, a percentage or a fraction")]
    NotANumber,
    /// Nothing after the equals sign.
    #[error("expected a share after `=`, such as auto, 25%, 1/4 or 2048")]
    Empty,
    /// What stands after the colon is no expression.
    #[error(
        "after the colon an id in double quotes, a number of the list or a condition is expected, such as \
         gpus=1:Capability >= 8"
    )]
    Constraint,
}

impl Default for Shares {
    fn default() -> Self {
        Shares {
            fractional_cpus: false,
            default: Share::Auto,
            cpus: Share::Auto,
            memory: Share::Auto,
            swap: Share::Auto,
            disk: Share::Auto,
            custom: Vec::new(),
        }
    }
}

/// The smallest share: `min`.
const MINIMAL: f64 = 1.0 / 128.0;

/// The built-in resources in the order in which prefixes of their names are tried.
const NAMES: [&str; 6] = ["cpus", "ram", "memory", "swap", "virtualmemory", "disk"];

/// How many factors of 1024 above bytes the unit of a resource stands.
fn unit_of(name: &str) -> Option<usize> {
    match name {
        "ram" | "memory" => Some(2),
        "swap" | "virtualmemory" | "disk" => Some(1),
        _ => None,
    }
}

impl CustomShare {
    /// Reads a share with its constraint.
    fn parse(tag: &str, text: &str, quirks: Quirks) -> Result<Self, ShareErrorKind> {
        let (value, constraint) = match text.split_once(':') {
            Some((_, constraint)) if Constraint::parse(constraint).is_none() => {
                return Err(ShareErrorKind::Constraint);
            }
            Some((value, constraint)) => (value.trim(), Some(constraint.trim().to_owned())),
            None => (text, None),
        };
        Ok(CustomShare { tag: tag.to_owned(), share: value_of(value, None, quirks)?, constraint })
    }
}

impl Shares {
    /// Reads a share list. `tags` are the machine's custom resources.
    pub fn parse(text: &str, tags: &[String], quirks: Quirks) -> Result<Shares, ShareError> {
        let mut shares = Shares::default();
        let (mut cpus, mut memory, mut swap, mut disk) = (None, None, None, None);
        for span in items(text) {
            let item = &text[span.clone()];
            let fail = |kind| ShareError { span: span.clone(), kind };
            let Some((name, value)) = item.split_once('=') else {
                shares.default = value_of(item, None, quirks).map_err(fail)?;
                if matches!(shares.default, Share::Amount(number) if number > 0.0)
                    || matches!(shares.default, Share::Fraction(part) if part > 1.0)
                {
                    return Err(fail(ShareErrorKind::Default));
                }
                shares.fractional_cpus = is_minimal(item.trim());
                continue;
            };
            let (name, value) = (name.trim(), value.trim());
            if value.is_empty() {
                return Err(fail(ShareErrorKind::Empty));
            }
            if let Some(tag) = tags.iter().find(|tag| tag.eq_ignore_ascii_case(name)) {
                let custom = CustomShare::parse(tag, value, quirks).map_err(fail)?;
                shares.custom.retain(|custom| custom.tag != *tag);
                shares.custom.push(custom);
                continue;
            }
            let lower = name.to_ascii_lowercase();
            let Some(known) = NAMES.into_iter().find(|known| known.starts_with(&lower)) else {
                let share = value_of(value, None, quirks).map_err(fail)?;
                if matches!(share, Share::Amount(number) if number > 0.0) {
                    return Err(fail(ShareErrorKind::Unknown(name.to_owned())));
                }
                continue;
            };
            let share = value_of(value, unit_of(known), quirks).map_err(fail)?;
            *match known {
                "cpus" => &mut cpus,
                "ram" | "memory" => &mut memory,
                "disk" => &mut disk,
                _ => &mut swap,
            } = Some(share);
        }
        shares.cpus = cpus.unwrap_or(shares.default);
        shares.memory = memory.unwrap_or(shares.default);
        shares.swap = swap.unwrap_or(shares.default);
        shares.disk = disk.unwrap_or(shares.default);
        Ok(shares)
    }

    /// The places of the items of a list.
    pub fn items(text: &str) -> Vec<Range<usize>> {
        items(text)
    }

    /// The items of a list that 25.14 ignores: a part of a resource that the machine does not have; each with the name.
    pub fn ignored(text: &str, tags: &[String]) -> Vec<(Range<usize>, String)> {
        let of = |span: Range<usize>| {
            let (name, value) = text[span.clone()].split_once('=')?;
            let name = name.trim();
            let is_known = NAMES.iter().any(|known| known.starts_with(&name.to_ascii_lowercase()))
                || tags.iter().any(|tag| tag.eq_ignore_ascii_case(name));
            let is_part =
                !matches!(value_of(value, None, Quirks::None), Ok(Share::Amount(number)) if number > 0.0);
            (!is_known && is_part && !value.trim().is_empty()).then(|| (span, name.to_owned()))
        };
        items(text).into_iter().filter_map(of).collect()
    }

    /// Which of a custom resource's devices are wanted.
    pub fn constraint(&self, tag: &str) -> Constraint {
        let own = self.custom.iter().find(|custom| custom.tag == tag);
        let text = own.and_then(|custom| custom.constraint.as_deref());
        text.and_then(Constraint::parse).unwrap_or(Constraint::None)
    }

    /// The share of a custom resource.
    pub fn custom(&self, tag: &str) -> Share {
        self.custom.iter().find(|custom| custom.tag == tag).map_or(self.default, |custom| custom.share)
    }
}

/// The items of a list: newlines separate where there is one, else commas where there is one, else blanks.
fn items(text: &str) -> Vec<Range<usize>> {
    let separators: &[char] = if text.contains('\n') {
        &['\n']
    } else if text.contains(',') {
        &[',']
    } else {
        &[' ', '\t']
    };
    let mut items = Vec::new();
    let mut start = 0;
    for piece in text.split(separators) {
        let trimmed = piece.trim();
        if !trimmed.is_empty() {
            let at = start + (piece.len() - piece.trim_start().len());
            items.push(at..at + trimmed.len());
        }
        start += piece.len() + 1;
    }
    items
}

fn is_minimal(text: &str) -> bool {
    text.eq_ignore_ascii_case("min") || text.eq_ignore_ascii_case("minimal")
}

/// One share. `unit` is given for amounts that may have a suffix of bytes.
fn value_of(text: &str, unit: Option<usize>, quirks: Quirks) -> Result<Share, ShareErrorKind> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("auto") || text.eq_ignore_ascii_case("automatic") {
        return Ok(Share::Auto);
    }
    if is_minimal(text) {
        return Ok(Share::Fraction(MINIMAL));
    }
    if let Some((number, _)) = text.split_once('%') {
        return Ok(Share::Fraction(number_of(number, quirks)?.0 / 100.0));
    }
    if let Some((above, below)) = text.split_once('/') {
        let (above, below) = (number_of(above, quirks)?.0, number_of(below, quirks)?.0);
        return match below > 0.0 {
            true => Ok(Share::Fraction(above / below)),
            false => zero_or(ShareErrorKind::Fraction, quirks).map(Share::Amount),
        };
    }
    let (number, rest) = number_of(text, quirks)?;
    if number < 0.0 {
        // The reference keeps fractions as negative numbers: -1 is everything.
        return Ok(Share::Fraction(-number));
    }
    let steps = match (unit, rest.trim_start().chars().next().map(|c| c.to_ascii_uppercase())) {
        (Some(unit), Some(suffix)) => {
            let power = "KMGTP".find(suffix).map_or(0, |at| at + 1);
            power.saturating_sub(unit)
        }
        _ => 0,
    };
    Ok(Share::Amount(number * 1024f64.powi(i32::try_from(steps).unwrap_or(0))))
}

/// What is no number counts as 0 in 25.14.
fn zero_or(wrong: ShareErrorKind, quirks: Quirks) -> Result<f64, ShareErrorKind> {
    match quirks.has(Quirk::ShareNotANumber) {
        true => Ok(0.0),
        false => Err(wrong),
    }
}

/// The number a text begins with, and what follows it.
fn number_of(text: &str, quirks: Quirks) -> Result<(f64, &str), ShareErrorKind> {
    let text = text.trim();
    match real_prefix(text.as_bytes()).filter(|(number, _)| number.is_finite()) {
        Some((number, end)) => Ok((number, &text[end..])),
        None => Ok((zero_or(ShareErrorKind::NotANumber, quirks)?, text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Shares, ShareError> {
        Shares::parse(text, &["Licenses".into()], Quirks::None)
    }

    #[test]
    fn names_are_prefixes_and_separators_are_the_strongest_there_is() {
        let shares = parse("cpus = 1, mem=1/4").unwrap_or_default();
        assert_eq!((shares.cpus, shares.memory), (Share::Amount(1.0), Share::Fraction(0.25)));
        assert_eq!(shares.disk, Share::Auto);
        let shares = parse("c=2 r=2048K s=1% d=1g v=3M").unwrap_or_default();
        assert_eq!((shares.cpus, shares.memory), (Share::Amount(2.0), Share::Amount(2048.0)));
        assert_eq!(shares.swap, Share::Amount(3072.0));
        assert_eq!(shares.disk, Share::Amount(1024.0 * 1024.0));
        let shares = parse("25%\nlicenses=3:foo == 1").unwrap_or_default();
        assert_eq!(shares.cpus, Share::Fraction(0.25));
        assert_eq!(shares.custom("Licenses"), Share::Amount(3.0));
    }

    #[test]
    fn min_alone_shares_out_parts_of_processors() {
        assert!(parse("min").is_ok_and(|shares| shares.fractional_cpus));
        assert!(parse("cpus=min").is_ok_and(|shares| !shares.fractional_cpus));
    }

    #[test]
    fn numbers_have_every_spelling_that_strtod_reads() {
        let shares = parse("cpus=0x2, mem=1e3, disk=1.5e1G, licenses=0x2").unwrap_or_default();
        assert_eq!((shares.cpus, shares.memory), (Share::Amount(2.0), Share::Amount(1000.0)));
        assert_eq!(shares.disk, Share::Amount(15.0 * 1024.0 * 1024.0));
        assert_eq!(shares.custom("Licenses"), Share::Amount(2.0));
        let shares = parse("cpus=-1, mem=-.5, disk=1e1%").unwrap_or_default();
        assert_eq!((shares.cpus, shares.memory), (Share::Fraction(1.0), Share::Fraction(0.5)));
        assert_eq!(shares.disk, Share::Fraction(0.1));
    }

    #[test]
    fn errors_point_at_the_item() {
        let error = parse("cpus=1, foo=2").err();
        assert_eq!(error.map(|error| error.span), Some(8..13));
        assert_eq!(parse("gpus=100%").map(|shares| shares.cpus), Ok(Share::Auto));
        assert!(matches!(parse("cpus=abc"), Err(ShareError { kind: ShareErrorKind::NotANumber, .. })));
        let reference = Shares::parse("cpus=abc", &[], Quirks::Reference);
        assert_eq!(reference.map(|shares| shares.cpus), Ok(Share::Amount(0.0)));
        assert!(parse("150%").is_err() && parse("3").is_err() && parse("cpus=").is_err());
    }
}
