//! Calendar computations (proleptic Gregorian) and C's broken-down time, without the zone data of the system.
//!
//! Years may exceed the range of any clock, because ads may contain any 64-bit number of seconds.

/// Date and time of day, like C's `struct tm` without its zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CivilTime {
    /// Year, not reduced by 1900.
    pub year: i64,
    /// Month, counted from 1.
    pub month: i64,
    /// Day of the month, counted from 1.
    pub day: i64,
    /// Hour, counted from 0.
    pub hour: i64,
    /// Minute, counted from 0.
    pub minute: i64,
    /// Second, counted from 0.
    pub second: i64,
}

/// Number of seconds in a day.
pub const SECONDS_PER_DAY: i64 = 86_400;

impl CivilTime {
    /// Returns the date and time of day at `seconds` since the epoch, in a zone `offset` seconds east of UTC.
    pub fn from_seconds(seconds: i64, offset: i64) -> CivilTime {
        let local = i128::from(seconds) + i128::from(offset);
        let day = i64::try_from(local.div_euclid(i128::from(SECONDS_PER_DAY))).unwrap_or(0);
        let rest = i64::try_from(local.rem_euclid(i128::from(SECONDS_PER_DAY))).unwrap_or(0);
        let (year, month, date) = date_from_days(day);
        CivilTime { year, month, day: date, hour: rest / 3600, minute: rest / 60 % 60, second: rest % 60 }
    }

    /// Returns the seconds since the epoch of this date and time in UTC. Fields that are out of range carry
    /// over to the next field, as in `timegm`.
    pub fn to_seconds(&self) -> i64 {
        let month = self.month - 1;
        let year = self.year + month.div_euclid(12);
        let days = days_to_month_start(year, month.rem_euclid(12) + 1) + (self.day - 1);
        let parts = [(days, SECONDS_PER_DAY), (self.hour, 3600), (self.minute, 60), (self.second, 1)];
        parts.iter().fold(0i64, |sum, (count, unit)| sum.wrapping_add(count.wrapping_mul(*unit)))
    }

    /// Returns the day of the week; Sunday is 0.
    pub fn weekday(&self) -> i64 {
        (days_to_month_start(self.year, self.month) + self.day - 1 + 4).rem_euclid(7)
    }

    /// Returns the day of the year; January 1 is 0.
    pub fn day_of_year(&self) -> i64 {
        days_to_month_start(self.year, self.month) + self.day - 1 - days_to_month_start(self.year, 1)
    }
}

/// Returns true if a year has 366 days.
pub fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Returns the number of days from the epoch to the first of a month (1 to 12).
pub fn days_to_month_start(year: i64, month: i64) -> i64 {
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era.wrapping_mul(146_097).wrapping_add(day_of_era - 719_468)
}

/// Returns the year, month and day of the month of the day that is `days` days after the epoch.
pub fn date_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_inverse() {
        for days in (-800_000..800_000).step_by(37) {
            let civil = CivilTime::from_seconds(days * SECONDS_PER_DAY + 3661, 0);
            assert_eq!(civil.to_seconds(), days * SECONDS_PER_DAY + 3661);
            assert_eq!((civil.hour, civil.minute, civil.second), (1, 1, 1));
        }
    }

    #[test]
    fn parts_out_of_range_carry_over() {
        let civil = |year, month, day| CivilTime { year, month, day, ..CivilTime::default() }.to_seconds();
        assert_eq!(civil(2020, 2, 30), civil(2020, 3, 1));
        assert_eq!(civil(2020, 1, 0), civil(2019, 12, 31));
        assert_eq!(civil(2020, 13, 1), civil(2021, 1, 1));
    }

    #[test]
    fn weekdays_and_days_of_the_year_are_computed() {
        let leap_day = CivilTime { year: 2024, month: 2, day: 29, ..CivilTime::default() };
        assert_eq!((leap_day.weekday(), leap_day.day_of_year()), (4, 59));
    }
}
