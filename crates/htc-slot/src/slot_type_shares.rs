//! Parser of `SLOT_TYPE_<n>`, the resource shares of a slot (`slot_builder.cpp`).

use std::ops::Range;

use super::devices::DeviceConstraint;
use htc_base::quirks::{Quirk, QuirkMode};
use htc_base::text::number::real_prefix;

/// Share of one resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ResourceShare {
    /// Equal part of what is left after explicit shares.
    Auto,
    /// Fraction of the machine's total.
    Fraction(f64),
    /// Amount in the unit of the resource: MiB of memory, KiB of swap and disk.
    Amount(f64),
}

/// Share of one custom resource.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomResourceShare {
    /// Name of the resource, spelled as in the machine's resources.
    pub tag: String,
    /// Share of the resource that each slot gets.
    pub share: ResourceShare,
    /// Constraint on the devices, or `None`.
    pub constraint: Option<String>,
}

/// Shares of a slot type.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotTypeShares {
    /// True if fractions of processors may be assigned, because the default share is `min`.
    pub fractional_cpus: bool,
    /// Share of each resource that is not in the list.
    pub default: ResourceShare,
    /// Share of the processors.
    pub cpus: ResourceShare,
    /// Share of the memory.
    pub memory: ResourceShare,
    /// Share of the swap space.
    pub swap: ResourceShare,
    /// Share of the disk space.
    pub disk: ResourceShare,
    /// Shares of the custom resources that are in the list.
    pub custom: Vec<CustomResourceShare>,
}

/// Syntax error in a share list.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct ShareListError {
    /// Byte range of the error in the value of the parameter.
    pub span: Range<usize>,
    /// Kind of error.
    pub kind: ShareListErrorKind,
}

/// Kinds of errors in a share list.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ShareListErrorKind {
    /// The default share is an amount, or more than 100 %.
    #[error("a share for all resources must be auto, min, a percentage up to 100% or a fraction up to 1/1")]
    Default,
    /// The machine has no resource of this name.
    #[error("the machine has no resource {0}: expected cpus, memory, swap, disk or a MACHINE_RESOURCE_ name")]
    Unknown(String),
    /// The divisor of a fraction is not a positive number.
    #[error("a fraction needs a divisor above 0, such as 1/4")]
    Fraction,
    /// The share is neither a number nor a keyword.
    #[error("expected auto, min, a number, a percentage or a fraction")]
    NotANumber,
    /// There is no share after the equals sign.
    #[error("expected a share after `=`, such as auto, 25%, 1/4 or 2048")]
    Empty,
    /// The text after the colon is not a valid expression.
    #[error(
        "expected an id in double quotes, the index of a device or a condition after the colon, such as \
         gpus=1:Capability >= 8"
    )]
    Constraint,
}

impl Default for SlotTypeShares {
    fn default() -> Self {
        SlotTypeShares {
            fractional_cpus: false,
            default: ResourceShare::Auto,
            cpus: ResourceShare::Auto,
            memory: ResourceShare::Auto,
            swap: ResourceShare::Auto,
            disk: ResourceShare::Auto,
            custom: Vec::new(),
        }
    }
}

/// Smallest share of a resource: value of the keyword `min`.
const MINIMAL_SHARE: f64 = 1.0 / 128.0;

/// Built-in resources, in the order in which an abbreviated name is compared with them.
const BUILT_IN_RESOURCES: [&str; 6] = ["cpus", "ram", "memory", "swap", "virtualmemory", "disk"];

/// Returns the exponent `n` of a resource's unit, which is 1024^n bytes, or `None` if amounts have no unit of bytes.
fn unit_power_of_1024(name: &str) -> Option<usize> {
    match name {
        "ram" | "memory" => Some(2),
        "swap" | "virtualmemory" | "disk" => Some(1),
        _ => None,
    }
}

impl CustomResourceShare {
    /// Parses a share, which may be followed by a constraint.
    fn parse(tag: &str, text: &str, quirks: QuirkMode) -> Result<Self, ShareListErrorKind> {
        let (value, constraint) = match text.split_once(':') {
            Some((_, constraint)) if DeviceConstraint::parse(constraint).is_none() => {
                return Err(ShareListErrorKind::Constraint);
            }
            Some((value, constraint)) => (value.trim(), Some(constraint.trim().to_owned())),
            None => (text, None),
        };
        Ok(CustomResourceShare { tag: tag.to_owned(), share: parse_share(value, None, quirks)?, constraint })
    }
}

impl SlotTypeShares {
    /// Parses a share list. `tags` are the machine's custom resources.
    pub fn parse(text: &str, tags: &[String], quirks: QuirkMode) -> Result<SlotTypeShares, ShareListError> {
        let mut shares = SlotTypeShares::default();
        let (mut cpus, mut memory, mut swap, mut disk) = (None, None, None, None);
        for span in split_items(text) {
            let item = &text[span.clone()];
            let fail = |kind| ShareListError { span: span.clone(), kind };
            let Some((name, value)) = item.split_once('=') else {
                shares.default = parse_share(item, None, quirks).map_err(fail)?;
                if matches!(shares.default, ResourceShare::Amount(number) if number > 0.0)
                    || matches!(shares.default, ResourceShare::Fraction(part) if part > 1.0)
                {
                    return Err(fail(ShareListErrorKind::Default));
                }
                shares.fractional_cpus = is_minimal(item.trim());
                continue;
            };
            let (name, value) = (name.trim(), value.trim());
            if value.is_empty() {
                return Err(fail(ShareListErrorKind::Empty));
            }
            if let Some(tag) = tags.iter().find(|tag| tag.eq_ignore_ascii_case(name)) {
                let custom = CustomResourceShare::parse(tag, value, quirks).map_err(fail)?;
                shares.custom.retain(|custom| custom.tag != *tag);
                shares.custom.push(custom);
                continue;
            }
            let lower = name.to_ascii_lowercase();
            let Some(known) = BUILT_IN_RESOURCES.into_iter().find(|known| known.starts_with(&lower)) else {
                let share = parse_share(value, None, quirks).map_err(fail)?;
                if matches!(share, ResourceShare::Amount(number) if number > 0.0) {
                    return Err(fail(ShareListErrorKind::Unknown(name.to_owned())));
                }
                continue;
            };
            let share = parse_share(value, unit_power_of_1024(known), quirks).map_err(fail)?;
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

    /// Returns the byte ranges of a list's items.
    pub fn item_spans(text: &str) -> Vec<Range<usize>> {
        split_items(text)
    }

    /// Returns the items that 25.14 ignores because the machine does not have the resource, each with the resource's name.
    pub fn ignored_items(text: &str, tags: &[String]) -> Vec<(Range<usize>, String)> {
        let of = |span: Range<usize>| {
            let (name, value) = text[span.clone()].split_once('=')?;
            let name = name.trim();
            let is_known =
                BUILT_IN_RESOURCES.iter().any(|known| known.starts_with(&name.to_ascii_lowercase()))
                    || tags.iter().any(|tag| tag.eq_ignore_ascii_case(name));
            let is_part = !matches!(parse_share(value, None, QuirkMode::Manual), Ok(ResourceShare::Amount(number)) if number > 0.0);
            (!is_known && is_part && !value.trim().is_empty()).then(|| (span, name.to_owned()))
        };
        split_items(text).into_iter().filter_map(of).collect()
    }

    /// Returns the constraint on the devices of a custom resource.
    pub fn device_constraint(&self, tag: &str) -> DeviceConstraint {
        let own = self.custom.iter().find(|custom| custom.tag == tag);
        let text = own.and_then(|custom| custom.constraint.as_deref());
        text.and_then(DeviceConstraint::parse).unwrap_or(DeviceConstraint::None)
    }

    /// Returns the share of a custom resource.
    pub fn custom_share(&self, tag: &str) -> ResourceShare {
        self.custom.iter().find(|custom| custom.tag == tag).map_or(self.default, |custom| custom.share)
    }
}

/// Splits a list into items: at newlines if it contains one, else at commas if it contains one, else at blanks.
fn split_items(text: &str) -> Vec<Range<usize>> {
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

/// Parses one share. `unit` is set if an amount of the resource may have a byte suffix.
fn parse_share(
    text: &str,
    unit: Option<usize>,
    quirks: QuirkMode,
) -> Result<ResourceShare, ShareListErrorKind> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("auto") || text.eq_ignore_ascii_case("automatic") {
        return Ok(ResourceShare::Auto);
    }
    if is_minimal(text) {
        return Ok(ResourceShare::Fraction(MINIMAL_SHARE));
    }
    if let Some((number, _)) = text.split_once('%') {
        return Ok(ResourceShare::Fraction(parse_leading_number(number, quirks)?.0 / 100.0));
    }
    if let Some((above, below)) = text.split_once('/') {
        let (above, below) = (parse_leading_number(above, quirks)?.0, parse_leading_number(below, quirks)?.0);
        return match below > 0.0 {
            true => Ok(ResourceShare::Fraction(above / below)),
            false => zero_or_error(ShareListErrorKind::Fraction, quirks).map(ResourceShare::Amount),
        };
    }
    let (number, rest) = parse_leading_number(text, quirks)?;
    if number < 0.0 {
        // The reference stores fractions as negative numbers: -1 is the whole resource.
        return Ok(ResourceShare::Fraction(-number));
    }
    let steps = match (unit, rest.trim_start().chars().next().map(|c| c.to_ascii_uppercase())) {
        (Some(unit), Some(suffix)) => {
            let power = "KMGTP".find(suffix).map_or(0, |at| at + 1);
            power.saturating_sub(unit)
        }
        _ => 0,
    };
    Ok(ResourceShare::Amount(number * 1024f64.powi(i32::try_from(steps).unwrap_or(0))))
}

/// Returns 0 for an invalid number if 25.14 does so (see `quirks`), otherwise the error.
fn zero_or_error(wrong: ShareListErrorKind, quirks: QuirkMode) -> Result<f64, ShareListErrorKind> {
    match quirks.reproduces(Quirk::ShareNotANumber) {
        true => Ok(0.0),
        false => Err(wrong),
    }
}

/// Parses the number at the start of a text, and returns it with the rest of the text.
fn parse_leading_number(text: &str, quirks: QuirkMode) -> Result<(f64, &str), ShareListErrorKind> {
    let text = text.trim();
    match real_prefix(text.as_bytes()).filter(|(number, _)| number.is_finite()) {
        Some((number, end)) => Ok((number, &text[end..])),
        None => Ok((zero_or_error(ShareListErrorKind::NotANumber, quirks)?, text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SlotTypeShares, ShareListError> {
        SlotTypeShares::parse(text, &["Licenses".into()], QuirkMode::Manual)
    }

    #[test]
    fn resource_names_may_be_prefixes_and_the_strongest_separator_applies() {
        let shares = parse("cpus = 1, mem=1/4").unwrap_or_default();
        assert_eq!((shares.cpus, shares.memory), (ResourceShare::Amount(1.0), ResourceShare::Fraction(0.25)));
        assert_eq!(shares.disk, ResourceShare::Auto);
        let shares = parse("c=2 r=2048K s=1% d=1g v=3M").unwrap_or_default();
        assert_eq!((shares.cpus, shares.memory), (ResourceShare::Amount(2.0), ResourceShare::Amount(2048.0)));
        assert_eq!(shares.swap, ResourceShare::Amount(3072.0));
        assert_eq!(shares.disk, ResourceShare::Amount(1024.0 * 1024.0));
        let shares = parse("25%\nlicenses=3:foo == 1").unwrap_or_default();
        assert_eq!(shares.cpus, ResourceShare::Fraction(0.25));
        assert_eq!(shares.custom_share("Licenses"), ResourceShare::Amount(3.0));
    }

    #[test]
    fn only_min_divides_processors_into_fractions() {
        assert!(parse("min").is_ok_and(|shares| shares.fractional_cpus));
        assert!(parse("cpus=min").is_ok_and(|shares| !shares.fractional_cpus));
    }

    #[test]
    fn every_number_that_strtod_reads_is_accepted() {
        let shares = parse("cpus=0x2, mem=1e3, disk=1.5e1G, licenses=0x2").unwrap_or_default();
        assert_eq!((shares.cpus, shares.memory), (ResourceShare::Amount(2.0), ResourceShare::Amount(1000.0)));
        assert_eq!(shares.disk, ResourceShare::Amount(15.0 * 1024.0 * 1024.0));
        assert_eq!(shares.custom_share("Licenses"), ResourceShare::Amount(2.0));
        let shares = parse("cpus=-1, mem=-.5, disk=1e1%").unwrap_or_default();
        assert_eq!(
            (shares.cpus, shares.memory),
            (ResourceShare::Fraction(1.0), ResourceShare::Fraction(0.5))
        );
        assert_eq!(shares.disk, ResourceShare::Fraction(0.1));
    }

    #[test]
    fn errors_point_at_the_item() {
        let error = parse("cpus=1, foo=2").err();
        assert_eq!(error.map(|error| error.span), Some(8..13));
        assert_eq!(parse("gpus=100%").map(|shares| shares.cpus), Ok(ResourceShare::Auto));
        assert!(matches!(
            parse("cpus=abc"),
            Err(ShareListError { kind: ShareListErrorKind::NotANumber, .. })
        ));
        let reference = SlotTypeShares::parse("cpus=abc", &[], QuirkMode::Reference);
        assert_eq!(reference.map(|shares| shares.cpus), Ok(ResourceShare::Amount(0.0)));
        assert!(parse("150%").is_err() && parse("3").is_err() && parse("cpus=").is_err());
    }
}
