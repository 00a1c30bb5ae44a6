//! Chance that is the same everywhere and for ever: a scenario with a seed names one course of events, whatever version
//! plays it. That is why the generator stands here and not in a library, which may change its own.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::times;

/// SplitMix64: 64 bits of state, good enough for arrivals and run times, and made from a seed in no time.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice for one purpose: the same `parts` give the same throws.
    pub fn new(parts: &[u64]) -> Self {
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
        for part in parts {
            dice.0 ^= part.wrapping_mul(0xD134_2543_DE82_EF95);
            dice.0 = dice.bits();
        }
        dice
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number from 0 up to, but not, 1.
    pub fn fraction(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number with mean 0 and deviation 1 (Box and Muller).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.fraction()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.fraction()).cos()
    }
}

/// A number that is thrown anew for each job: always the same, or as a distribution says.
#[derive(Clone, Debug, PartialEq)]
pub enum Drawn {
    /// Always this.
    Fixed(f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Each number between two equally.
    Uniform(f64, f64),
    /// Normal with mean and deviation; never below 0.
    Normal(f64, f64),
    /// Log-normal with median and the deviation of its logarithm.
    LogNormal(f64, f64),
    /// One of several, with their weights.
    Any(Vec<(f64, f64)>),
}

impl Drawn {
    /// The next one, of whatever size.
    fn draw(&self, dice: &mut Dice) -> f64 {
        match self {
            Drawn::Fixed(value) => *value,
            Drawn::Exponential(mean) => -mean * (1.0 - dice.fraction()).ln(),
            Drawn::Uniform(from, to) => from + (to - from) * dice.fraction(),
            Drawn::Normal(mean, deviation) => mean + deviation * dice.normal(),
            Drawn::LogNormal(median, sigma) => median * (sigma * dice.normal()).exp(),
            Drawn::Any(values) => {
                let whole: f64 = values.iter().map(|(_, weight)| weight).sum();
                let mut left = dice.fraction() * whole;
                let found = values.iter().find(|(_, weight)| {
                    left -= weight;
                    left < 0.0
                });
                found.or(values.last()).map_or(0.0, |(value, _)| *value)
            }
        }
    }

    /// Whether it is never anything but 0.
    fn is_always_zero(&self) -> bool {
        match self {
            Drawn::Fixed(value) | Drawn::Exponential(value) | Drawn::LogNormal(value, _) => *value == 0.0,
            Drawn::Uniform(one, other) | Drawn::Normal(one, other) => *one == 0.0 && *other == 0.0,
            Drawn::Any(values) => values.iter().all(|(value, _)| *value == 0.0),
        }
    }

    /// Reads `10m`, `exponential 40m`, `uniform 1m 2h`, `normal 1h 10m` or `lognormal 30m 1.5`.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str, unit: Unit) -> Result<Drawn, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let amount = |word: &str| unit.amount(word);
        let drawn = match words.as_slice() {
            ["exponential", mean] => Drawn::Exponential(amount(mean)?),
            ["uniform", from, to] => Drawn::Uniform(amount(from)?, amount(to)?),
            ["normal", mean, deviation] => Drawn::Normal(amount(mean)?, amount(deviation)?),
            ["lognormal", median, sigma] => {
                let sigma: f64 = sigma.parse().map_err(|_| format!("'{sigma}' is no number"))?;
                Drawn::LogNormal(amount(median)?, sigma)
            }
            [one] => Drawn::Fixed(unit.one(one)?),
            _ => {
                return Err(format!(
                    "'{text}' is no {}; expected {}, 'exponential MEAN', 'uniform FROM TO', 'normal MEAN DEVIATION' or \
                     'lognormal MEDIAN SIGMA'",
                    unit.what(),
                    unit.example()
                ));
            }
        };
        match &drawn {
            Drawn::Uniform(from, to) if from > to => {
                Err(format!("'{text}': the first number is the larger one"))
            }
            Drawn::LogNormal(_, sigma) if !(0.0..=20.0).contains(sigma) => {
                Err(format!("'{text}': SIGMA is a number from 0 to 20"))
            }
            _ => Ok(drawn),
        }
    }
}

/// What numbers stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Time,
    /// Pieces.
    Count,
    /// MiB.
    Memory,
    /// KiB.
    Disk,
    /// Priorities, which may be negative.
    Priority,
    /// Load averages.
    Load,
}

/// The highest load average that a scenario may have.
pub const HIGHEST_LOAD: f64 = 1_000_000.0;

impl Unit {
    fn what(self) -> &'static str {
        match self {
            Unit::Time => "time",
            Unit::Count => "number of pieces",
            Unit::Memory | Unit::Disk => "size",
            Unit::Priority => "priority",
            Unit::Load => "load",
        }
    }

    fn example(self) -> &'static str {
        match self {
            Unit::Time => "seconds or a time such as 10m",
            Unit::Count => "a whole number, not negative",
            Unit::Memory => "MiB or a size such as 2G",
            Unit::Disk => "KiB or a size such as 20G",
            Unit::Priority => "a whole number such as 10 or -5",
            Unit::Load => "a number from 0 to 1000000 such as 0.7",
        }
    }

    /// The smallest and the largest value.
    fn range(self) -> (f64, f64) {
        match self {
            Unit::Time => (0.0, times::LONGEST),
            Unit::Count | Unit::Memory | Unit::Disk => (0.0, 1e15),
            Unit::Priority => (f64::from(i32::MIN), f64::from(i32::MAX)),
            Unit::Load => (0.0, HIGHEST_LOAD),
        }
    }

    /// A value that stands for itself, and is no mean or bound of others.
    fn one(self, word: &str) -> Result<f64, String> {
        let value = self.amount(word)?;
        match matches!(self, Unit::Count | Unit::Priority) && value.fract() != 0.0 {
            true => Err(self.no(word)),
            false => Ok(value),
        }
    }

    fn no(self, word: &str) -> String {
        format!("'{word}' is no {}: expected {}", self.what(), self.example())
    }

    fn amount(self, word: &str) -> Result<f64, String> {
        let fail = || self.no(word);
        let (least, most) = self.range();
        let shift = match self {
            Unit::Time => return times::span(word),
            Unit::Count | Unit::Priority | Unit::Load => {
                return word.parse().ok().filter(|n: &f64| (least..=most).contains(n)).ok_or_else(fail);
            }
            Unit::Memory => 2,
            Unit::Disk => 1,
        };
        let upper = word.to_ascii_uppercase();
        let upper = upper.strip_suffix('B').unwrap_or(&upper);
        let (number, power) = match upper.char_indices().last() {
            Some((at, suffix)) if "KMGTP".contains(suffix) => {
                (&upper[..at], i32::try_from("KMGTP".find(suffix).unwrap_or(0)).unwrap_or(0) + 1 - shift)
            }
            _ => (upper, 0),
        };
        let number: f64 = number.trim().parse().map_err(|_| fail())?;
        Some(number * 1024f64.powi(power)).filter(|n| (least..=most).contains(n)).ok_or_else(fail)
    }
}

/// [`Drawn`] as it stands in a scenario; the number says which [`Unit`].
#[derive(Clone, Debug, PartialEq)]
pub struct Throw<const UNIT: u8>(pub Drawn);

/// A time that is thrown.
pub type Times = Throw<0>;
/// A number of pieces that is thrown.
pub type Counts = Throw<1>;
/// An amount of memory that is thrown.
pub type Memories = Throw<2>;
/// An amount of disk that is thrown.
pub type Disks = Throw<3>;
/// A priority that is thrown.
pub type Priorities = Throw<4>;
/// A load that is thrown.
pub type Loads = Throw<5>;

impl<const UNIT: u8> Throw<UNIT> {
    /// The next one.
    pub fn draw(&self, dice: &mut Dice) -> f64 {
        let (least, most) = Self::unit().range();
        self.0.draw(dice).clamp(least, most)
    }

    /// The next one as a whole number; of a size that is given a part of a unit is one, as for condor_submit.
    pub fn whole(&self, dice: &mut Dice) -> i64 {
        let value = self.draw(dice);
        let is_given = matches!(self.0, Drawn::Fixed(_) | Drawn::Any(_));
        (if is_given { value.ceil() } else { value.round() }) as i64
    }

    /// Whether it is always the same.
    pub fn is_fixed(&self) -> bool {
        matches!(self.0, Drawn::Fixed(_))
    }

    /// Whether it is never anything but 0.
    pub fn is_always_zero(&self) -> bool {
        self.0.is_always_zero()
    }

    /// Always this.
    pub fn fixed(value: f64) -> Self {
        Throw(Drawn::Fixed(value))
    }

    fn unit() -> Unit {
        match UNIT {
            0 => Unit::Time,
            1 => Unit::Count,
            2 => Unit::Memory,
            3 => Unit::Disk,
            4 => Unit::Priority,
            _ => Unit::Load,
        }
    }
}

impl<'de, const UNIT: u8> Deserialize<'de> for Throw<UNIT> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader::<UNIT>)
    }
}

struct Reader<const UNIT: u8>;

/// A word or number of a list.
#[derive(serde::Deserialize)]
#[serde(untagged, expecting = "in a list stand numbers and texts alone")]
enum Word {
    Int(i64),
    Real(f64),
    Text(String),
}

impl Word {
    fn amount(&self, unit: Unit) -> Result<f64, String> {
        match self {
            Word::Int(number) => unit.one(&number.to_string()),
            Word::Real(number) => unit.one(&number.to_string()),
            Word::Text(text) => unit.one(text),
        }
    }
}

impl<'de, const UNIT: u8> Visitor<'de> for Reader<UNIT> {
    type Value = Throw<UNIT>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, a distribution such as 'exponential 40m', a list of values, or a table of values and weights",
            Throw::<UNIT>::unit().example()
        )
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Drawn::parse(text, Throw::<UNIT>::unit()).map(Throw).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(word) = list.next_element::<Word>()? {
            let value = word.amount(Throw::<UNIT>::unit()).map_err(de::Error::custom)?;
            values.push((value, 1.0));
        }
        match values.is_empty() {
            true => Err(de::Error::custom("expected at least one value")),
            false => Ok(Throw(Drawn::Any(values))),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some((value, weight)) = map.next_entry::<String, f64>()? {
            let value = Throw::<UNIT>::unit().one(&value).map_err(de::Error::custom)?;
            if !(weight > 0.0 && weight.is_finite()) {
                return Err(de::Error::custom("a weight is a number above 0"));
            }
            values.push((value, weight));
        }
        match values.is_empty() {
            true => Err(de::Error::custom("expected at least one value with its weight")),
            false => Ok(Throw(Drawn::Any(values))),
        }
    }
}

/// Names that are thrown: one, a list, or a table of names and weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names(pub Vec<(String, f64)>);

impl Names {
    /// The number of the next one; 0 where there is none.
    pub fn draw(&self, dice: &mut Dice) -> usize {
        let whole: f64 = self.0.iter().map(|(_, weight)| weight).sum();
        let mut left = dice.fraction() * whole;
        let found = self.0.iter().position(|(_, weight)| {
            left -= weight;
            left < 0.0
        });
        found.unwrap_or(self.0.len().saturating_sub(1))
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged, expecting = "expected a name, a list of names, or a table of names and weights")]
        enum Form {
            One(String),
            List(Vec<String>),
            Weights(BTreeMap<String, f64>),
        }
        let names: Vec<(String, f64)> = match Form::deserialize(deserializer)? {
            Form::One(name) => vec![(name, 1.0)],
            Form::List(names) => names.into_iter().map(|name| (name, 1.0)).collect(),
            Form::Weights(names) => names.into_iter().collect(),
        };
        if names.is_empty() {
            return Err(de::Error::custom("expected at least one name"));
        }
        match names.iter().all(|(_, weight)| *weight > 0.0 && weight.is_finite()) {
            true => Ok(Names(names)),
            false => Err(de::Error::custom("a weight is a number above 0")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_names_one_course_for_ever() {
        let mut dice = Dice::new(&[1, 2, 3]);
        assert_eq!([dice.bits(), dice.bits()], {
            let mut again = Dice::new(&[1, 2, 3]);
            [again.bits(), again.bits()]
        });
        assert_ne!(Dice::new(&[1, 2]).bits(), Dice::new(&[2, 1]).bits());
    }

    #[test]
    fn distributions_have_the_means_that_are_asked_for() {
        for (text, mean) in [
            ("exponential 40m", 2400.0),
            ("uniform 10 20", 15.0),
            ("normal 1h 10m", 3600.0),
            ("lognormal 100 0.5", 100.0 * (0.125f64).exp()),
            ("90", 90.0),
        ] {
            let drawn: Times = Throw(Drawn::parse(text, Unit::Time).unwrap());
            let mut dice = Dice::new(&[7]);
            let count = 20_000;
            let sum: f64 = (0..count).map(|_| drawn.draw(&mut dice)).sum();
            let found = sum / f64::from(count);
            assert!((found / mean - 1.0).abs() < 0.03, "{text}: {found}");
        }
    }

    #[test]
    fn sizes_have_their_units() {
        assert_eq!(Drawn::parse("2G", Unit::Memory), Ok(Drawn::Fixed(2048.0)));
        assert_eq!(Drawn::parse("1GB", Unit::Disk), Ok(Drawn::Fixed(1024.0 * 1024.0)));
        assert!(Drawn::parse("much", Unit::Memory).is_err_and(|text| text.contains("2G")));
        assert!(Drawn::parse("uniform 2 1", Unit::Count).is_err());
        assert!(Drawn::parse("0.5", Unit::Count).is_err());
        // Not cut at what is the longest time.
        let large: Disks = Throw(Drawn::parse("10T", Unit::Disk).unwrap());
        assert_eq!(large.whole(&mut Dice::new(&[1])), 10 << 30);
        let part: Memories = Throw(Drawn::parse("512K", Unit::Memory).unwrap());
        assert_eq!(part.whole(&mut Dice::new(&[1])), 1);
    }

    #[test]
    fn priorities_may_be_negative() {
        assert_eq!(Drawn::parse("-5", Unit::Priority), Ok(Drawn::Fixed(-5.0)));
        let drawn: Priorities = Throw(Drawn::parse("uniform -5 5", Unit::Priority).unwrap());
        let mut dice = Dice::new(&[7]);
        let all: Vec<i64> = (0..1000).map(|_| drawn.whole(&mut dice)).collect();
        assert!(all.contains(&-5) && all.contains(&5) && all.iter().all(|it| (-5..=5).contains(it)));
        assert!(Drawn::parse("1.5", Unit::Priority).is_err());
    }
}
