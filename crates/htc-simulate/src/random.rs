//! Random numbers that are the same on every platform and in every version, so that a seed always gives the same
//! simulation. The generator is implemented here because the generator of a library may change.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::times::{self, expected_value};

/// SplitMix64 generator: 64 bits of state, good enough for arrivals and run times, and fast to seed.
#[derive(Clone, Debug)]
pub struct RandomGenerator(u64);

impl RandomGenerator {
    /// Creates a generator for one purpose, which `parts` identifies: the same parts give the same numbers.
    pub fn new(parts: &[u64]) -> Self {
        let mut dice = RandomGenerator(0x9E37_79B9_7F4A_7C15);
        for part in parts {
            dice.0 ^= part.wrapping_mul(0xD134_2543_DE82_EF95);
            dice.0 = dice.next_bits();
        }
        dice
    }

    /// Returns the next 64 bits.
    pub fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 (inclusive) to 1 (exclusive).
    pub fn next_fraction(&mut self) -> f64 {
        (self.next_bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a normally distributed number with mean 0 and standard deviation 1 (Box-Muller).
    fn next_normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.next_fraction()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.next_fraction()).cos()
    }
}

/// Distribution of a value that is sampled for each job; may be constant.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueDistribution {
    /// Constant value.
    Fixed(f64),
    /// Exponential distribution with this mean.
    Exponential(f64),
    /// Uniform distribution between two bounds.
    Uniform(f64, f64),
    /// Normal distribution with mean and standard deviation; values below the minimum are clamped.
    Normal(f64, f64),
    /// Log-normal distribution with the median and the standard deviation of the logarithm.
    LogNormal(f64, f64),
    /// Several values with their weights.
    Weighted(Vec<(f64, f64)>),
}

impl ValueDistribution {
    /// Returns the next value, which may be outside of the valid range.
    fn sample(&self, dice: &mut RandomGenerator) -> f64 {
        match self {
            ValueDistribution::Fixed(value) => *value,
            ValueDistribution::Exponential(mean) => -mean * (1.0 - dice.next_fraction()).ln(),
            ValueDistribution::Uniform(from, to) => from + (to - from) * dice.next_fraction(),
            ValueDistribution::Normal(mean, deviation) => mean + deviation * dice.next_normal(),
            ValueDistribution::LogNormal(median, sigma) => median * (sigma * dice.next_normal()).exp(),
            ValueDistribution::Weighted(values) => {
                let whole: f64 = values.iter().map(|(_, weight)| weight).sum();
                let mut left = dice.next_fraction() * whole;
                let found = values.iter().find(|(_, weight)| {
                    left -= weight;
                    left < 0.0
                });
                found.or(values.last()).map_or(0.0, |(value, _)| *value)
            }
        }
    }

    /// Returns true if every value is 0.
    fn is_always_zero(&self) -> bool {
        match self {
            ValueDistribution::Fixed(value)
            | ValueDistribution::Exponential(value)
            | ValueDistribution::LogNormal(value, _) => *value == 0.0,
            ValueDistribution::Uniform(one, other) | ValueDistribution::Normal(one, other) => {
                *one == 0.0 && *other == 0.0
            }
            ValueDistribution::Weighted(values) => values.iter().all(|(value, _)| *value == 0.0),
        }
    }

    /// Parses `10m`, `exponential 40m`, `uniform 1m 2h`, `normal 1h 10m` or `lognormal 30m 1.5`.
    ///
    /// # Errors
    /// Returns a message that says what was expected.
    pub fn parse(text: &str, unit: QuantityUnit) -> Result<ValueDistribution, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let amount = |word: &str| unit.parse_amount(word);
        let drawn = match words.as_slice() {
            ["exponential", mean] => ValueDistribution::Exponential(amount(mean)?),
            ["uniform", from, to] => ValueDistribution::Uniform(amount(from)?, amount(to)?),
            ["normal", mean, deviation] => ValueDistribution::Normal(amount(mean)?, amount(deviation)?),
            ["lognormal", median, sigma] => {
                let sigma: f64 = sigma.parse().map_err(|_| format!("'{sigma}' is not a number"))?;
                ValueDistribution::LogNormal(amount(median)?, sigma)
            }
            [one] => ValueDistribution::Fixed(unit.parse_single(one)?),
            _ => {
                return Err(format!(
                    "'{text}' is not a valid {}; expected {}, 'exponential MEAN', 'uniform FROM TO', 'normal MEAN DEVIATION' or \
                     'lognormal MEDIAN SIGMA'",
                    unit.noun(),
                    unit.example()
                ));
            }
        };
        match &drawn {
            ValueDistribution::Uniform(from, to) if from > to => {
                Err(format!("'{text}': the first number must not be larger than the second"))
            }
            ValueDistribution::LogNormal(_, sigma) if !(0.0..=20.0).contains(sigma) => {
                Err(format!("'{text}': SIGMA must be a number from 0 to 20"))
            }
            _ => Ok(drawn),
        }
    }
}

/// Kind and unit of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantityUnit {
    /// Time in seconds.
    Time,
    /// Number of items.
    Count,
    /// Memory in MiB.
    Memory,
    /// Disk space in KiB.
    Disk,
    /// Priority, which may be negative.
    Priority,
    /// Load average.
    Load,
}

/// Maximum load average in a scenario.
pub const MAX_LOAD: f64 = 1_000_000.0;

impl QuantityUnit {
    fn noun(self) -> &'static str {
        match self {
            QuantityUnit::Time => "time",
            QuantityUnit::Count => "number",
            QuantityUnit::Memory | QuantityUnit::Disk => "size",
            QuantityUnit::Priority => "priority",
            QuantityUnit::Load => "load",
        }
    }

    fn example(self) -> &'static str {
        match self {
            QuantityUnit::Time => "seconds or a time such as 10m",
            QuantityUnit::Count => "a whole number, not negative",
            QuantityUnit::Memory => "MiB or a size such as 2G",
            QuantityUnit::Disk => "KiB or a size such as 20G",
            QuantityUnit::Priority => "a whole number such as 10 or -5",
            QuantityUnit::Load => "a number from 0 to 1000000 such as 0.7",
        }
    }

    /// Returns the minimum and the maximum valid value.
    fn range(self) -> (f64, f64) {
        match self {
            QuantityUnit::Time => (0.0, times::MAX_SPAN_SECONDS),
            QuantityUnit::Count | QuantityUnit::Memory | QuantityUnit::Disk => (0.0, 1e15),
            QuantityUnit::Priority => (f64::from(i32::MIN), f64::from(i32::MAX)),
            QuantityUnit::Load => (0.0, MAX_LOAD),
        }
    }

    /// Parses a value that is not a mean or bound; a count or priority must be an integer.
    fn parse_single(self, word: &str) -> Result<f64, String> {
        let value = self.parse_amount(word)?;
        match matches!(self, QuantityUnit::Count | QuantityUnit::Priority) && value.fract() != 0.0 {
            true => Err(self.invalid_value_message(word)),
            false => Ok(value),
        }
    }

    fn invalid_value_message(self, word: &str) -> String {
        format!("'{word}' is not a valid {}: expected {}", self.noun(), self.example())
    }

    fn parse_amount(self, word: &str) -> Result<f64, String> {
        let fail = || self.invalid_value_message(word);
        let (least, most) = self.range();
        let shift = match self {
            QuantityUnit::Time => return times::parse_span(word),
            QuantityUnit::Count | QuantityUnit::Priority | QuantityUnit::Load => {
                return word.parse().ok().filter(|n: &f64| (least..=most).contains(n)).ok_or_else(fail);
            }
            QuantityUnit::Memory => 2,
            QuantityUnit::Disk => 1,
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

/// [`ValueDistribution`] that is parsed from a scenario. The parameter `UNIT` selects the [`QuantityUnit`].
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioDistribution<const UNIT: u8>(pub ValueDistribution);

/// Distribution of a time.
pub type TimeDistribution = ScenarioDistribution<0>;
/// Distribution of a number of items.
pub type CountDistribution = ScenarioDistribution<1>;
/// Distribution of an amount of memory.
pub type MemoryDistribution = ScenarioDistribution<2>;
/// Distribution of an amount of disk space.
pub type DiskDistribution = ScenarioDistribution<3>;
/// Distribution of a priority.
pub type PriorityDistribution = ScenarioDistribution<4>;
/// Distribution of a load average.
pub type LoadDistribution = ScenarioDistribution<5>;

impl<const UNIT: u8> ScenarioDistribution<UNIT> {
    /// Returns the next value, within the valid range.
    pub fn sample(&self, dice: &mut RandomGenerator) -> f64 {
        let (least, most) = Self::unit().range();
        self.0.sample(dice).clamp(least, most)
    }

    /// Returns the next value as an integer. Constant values and values of a list are rounded up, as condor_submit
    /// does.
    pub fn sample_integer(&self, dice: &mut RandomGenerator) -> i64 {
        let value = self.sample(dice);
        let is_given = matches!(self.0, ValueDistribution::Fixed(_) | ValueDistribution::Weighted(_));
        (if is_given { value.ceil() } else { value.round() }) as i64
    }

    /// Returns true if the value is constant.
    pub fn is_fixed(&self) -> bool {
        matches!(self.0, ValueDistribution::Fixed(_))
    }

    /// Returns true if every value is 0.
    pub fn is_always_zero(&self) -> bool {
        self.0.is_always_zero()
    }

    /// Returns the distribution of a constant value.
    pub fn from_fixed(value: f64) -> Self {
        ScenarioDistribution(ValueDistribution::Fixed(value))
    }

    fn unit() -> QuantityUnit {
        match UNIT {
            0 => QuantityUnit::Time,
            1 => QuantityUnit::Count,
            2 => QuantityUnit::Memory,
            3 => QuantityUnit::Disk,
            4 => QuantityUnit::Priority,
            _ => QuantityUnit::Load,
        }
    }
}

impl<'de, const UNIT: u8> Deserialize<'de> for ScenarioDistribution<UNIT> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DistributionVisitor::<UNIT>)
    }
}

struct DistributionVisitor<const UNIT: u8>;

/// Word or number in a list.
#[derive(serde::Deserialize)]
#[serde(untagged, expecting = "a list may contain only numbers and strings")]
enum ListValue {
    Int(i64),
    Real(f64),
    Text(String),
}

impl ListValue {
    fn parse_amount(&self, unit: QuantityUnit) -> Result<f64, String> {
        match self {
            ListValue::Int(number) => unit.parse_single(&number.to_string()),
            ListValue::Real(number) => unit.parse_single(&number.to_string()),
            ListValue::Text(text) => unit.parse_single(text),
        }
    }
}

impl<'de, const UNIT: u8> Visitor<'de> for DistributionVisitor<UNIT> {
    type Value = ScenarioDistribution<UNIT>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, a distribution such as 'exponential 40m', a list of values, or a table of values and weights",
            ScenarioDistribution::<UNIT>::unit().example()
        )
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        ValueDistribution::parse(text, ScenarioDistribution::<UNIT>::unit())
            .map(ScenarioDistribution)
            .map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(word) = list.next_element::<ListValue>()? {
            let value = word.parse_amount(ScenarioDistribution::<UNIT>::unit()).map_err(de::Error::custom)?;
            values.push((value, 1.0));
        }
        match values.is_empty() {
            true => Err(expected_value("at least one value")),
            false => Ok(ScenarioDistribution(ValueDistribution::Weighted(values))),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some((value, weight)) = map.next_entry::<String, f64>()? {
            let value =
                ScenarioDistribution::<UNIT>::unit().parse_single(&value).map_err(de::Error::custom)?;
            if !(weight > 0.0 && weight.is_finite()) {
                return Err(de::Error::custom("a weight must be a number above 0"));
            }
            values.push((value, weight));
        }
        match values.is_empty() {
            true => Err(expected_value("at least one value with its weight")),
            false => Ok(ScenarioDistribution(ValueDistribution::Weighted(values))),
        }
    }
}

/// Distribution of a name: one name, a list of names, or a table of names with weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeightedNames(pub Vec<(String, f64)>);

impl WeightedNames {
    /// Returns the index of the next name, or 0 if there are no names.
    pub fn sample_index(&self, dice: &mut RandomGenerator) -> usize {
        let whole: f64 = self.0.iter().map(|(_, weight)| weight).sum();
        let mut left = dice.next_fraction() * whole;
        let found = self.0.iter().position(|(_, weight)| {
            left -= weight;
            left < 0.0
        });
        found.unwrap_or(self.0.len().saturating_sub(1))
    }
}

impl<'de> Deserialize<'de> for WeightedNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged)]
        enum NamesForm {
            One(String),
            List(Vec<String>),
            Weights(BTreeMap<String, f64>),
        }
        let names: Vec<(String, f64)> = match NamesForm::deserialize(deserializer).map_err(|_| {
            expected_value::<D::Error>("a name, a list of names, or a table of names and weights")
        })? {
            NamesForm::One(name) => vec![(name, 1.0)],
            NamesForm::List(names) => names.into_iter().map(|name| (name, 1.0)).collect(),
            NamesForm::Weights(names) => names.into_iter().collect(),
        };
        if names.is_empty() {
            return Err(expected_value("at least one name"));
        }
        match names.iter().all(|(_, weight)| *weight > 0.0 && weight.is_finite()) {
            true => Ok(WeightedNames(names)),
            false => Err(de::Error::custom("a weight must be a number above 0")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_course() {
        let mut dice = RandomGenerator::new(&[1, 2, 3]);
        assert_eq!([dice.next_bits(), dice.next_bits()], {
            let mut again = RandomGenerator::new(&[1, 2, 3]);
            [again.next_bits(), again.next_bits()]
        });
        assert_ne!(RandomGenerator::new(&[1, 2]).next_bits(), RandomGenerator::new(&[2, 1]).next_bits());
    }

    #[test]
    fn distributions_have_the_requested_means() {
        for (text, mean) in [
            ("exponential 40m", 2400.0),
            ("uniform 10 20", 15.0),
            ("normal 1h 10m", 3600.0),
            ("lognormal 100 0.5", 100.0 * (0.125f64).exp()),
            ("90", 90.0),
        ] {
            let drawn: TimeDistribution =
                ScenarioDistribution(ValueDistribution::parse(text, QuantityUnit::Time).unwrap());
            let mut dice = RandomGenerator::new(&[7]);
            let count = 20_000;
            let sum: f64 = (0..count).map(|_| drawn.sample(&mut dice)).sum();
            let found = sum / f64::from(count);
            assert!((found / mean - 1.0).abs() < 0.03, "{text}: {found}");
        }
    }

    #[test]
    fn sizes_have_their_units() {
        assert_eq!(
            ValueDistribution::parse("2G", QuantityUnit::Memory),
            Ok(ValueDistribution::Fixed(2048.0))
        );
        assert_eq!(
            ValueDistribution::parse("1GB", QuantityUnit::Disk),
            Ok(ValueDistribution::Fixed(1024.0 * 1024.0))
        );
        assert!(
            ValueDistribution::parse("much", QuantityUnit::Memory).is_err_and(|text| text.contains("2G"))
        );
        assert!(ValueDistribution::parse("uniform 2 1", QuantityUnit::Count).is_err());
        assert!(ValueDistribution::parse("0.5", QuantityUnit::Count).is_err());
        // A disk size is not limited to the number of seconds in the longest time span.
        let large: DiskDistribution =
            ScenarioDistribution(ValueDistribution::parse("10T", QuantityUnit::Disk).unwrap());
        assert_eq!(large.sample_integer(&mut RandomGenerator::new(&[1])), 10 << 30);
        let part: MemoryDistribution =
            ScenarioDistribution(ValueDistribution::parse("512K", QuantityUnit::Memory).unwrap());
        assert_eq!(part.sample_integer(&mut RandomGenerator::new(&[1])), 1);
    }

    #[test]
    fn priorities_may_be_negative() {
        assert_eq!(
            ValueDistribution::parse("-5", QuantityUnit::Priority),
            Ok(ValueDistribution::Fixed(-5.0))
        );
        let drawn: PriorityDistribution =
            ScenarioDistribution(ValueDistribution::parse("uniform -5 5", QuantityUnit::Priority).unwrap());
        let mut dice = RandomGenerator::new(&[7]);
        let all: Vec<i64> = (0..1000).map(|_| drawn.sample_integer(&mut dice)).collect();
        assert!(all.contains(&-5) && all.contains(&5) && all.iter().all(|it| (-5..=5).contains(it)));
        assert!(ValueDistribution::parse("1.5", QuantityUnit::Priority).is_err());
    }
}
