//! Days and dates.

/// Seconds of a day.
pub(super) const DAY: i64 = 86_400;

/// The last year; the first one is its negative.
pub(super) const LAST_YEAR: i64 = 999_999;

/// The days from the start of 1970 to a date, with month and day in range.
///
/// Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", 2013. Years start in March,
/// so that the leap day is their last day.
pub(super) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of a date, from its number of days since the start of 1970; the same source.
pub(super) fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

pub(super) fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

pub(super) fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// 1 for Monday to 7 for Sunday; the first day of 1970 was a Thursday.
pub(super) fn weekday_of(days: i64) -> i64 {
    (days + 3).rem_euclid(7) + 1
}

/// The Monday on which the first week of a year starts, which is the week with January 4.
pub(super) fn first_monday(year: i64) -> i64 {
    let fourth = days_of(year, 1, 4);
    fourth - weekday_of(fourth) + 1
}

/// A day and a time on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moment {
    /// Days since the start of 1970.
    pub(super) days: i64,
    /// Seconds since midnight, less than those of a day.
    pub(super) seconds: f64,
}

impl Moment {
    /// The moment that many seconds after the start of 1970; `None` for NaN and outside the
    /// supported years.
    pub(super) fn of(seconds: f64) -> Option<Self> {
        // Slightly beyond the last year; integers up to there are exact.
        if seconds.is_nan() || seconds.abs() > 3.2e13 {
            return None;
        }
        let mut days = (seconds / DAY as f64).floor() as i64;
        let mut rest = seconds - (days * DAY) as f64;
        if rest < 0.0 {
            days -= 1;
            rest += DAY as f64;
        } else if rest >= DAY as f64 {
            days += 1;
            rest -= DAY as f64;
        }
        // A time just before midnight may round to midnight.
        let seconds = rest.min((DAY as f64).next_down());
        let (year, ..) = date_of(days);
        (year.abs() <= LAST_YEAR).then_some(Self { days, seconds })
    }

    /// Year, month and day.
    pub(super) fn date(&self) -> (i64, i64, i64) {
        date_of(self.days)
    }

    pub(super) fn weekday(&self) -> i64 {
        weekday_of(self.days)
    }

    /// The year and number of the week.
    pub(super) fn week(&self) -> (i64, i64) {
        // The year of a week is the year of its Thursday.
        let (year, ..) = date_of(self.days - self.weekday() + 4);
        (year, (self.days - first_monday(year)) / 7 + 1)
    }

    pub(super) fn day_of_year(&self) -> i64 {
        self.days - days_of(self.date().0, 1, 1) + 1
    }

    /// Seconds since the start of 1970, without their fraction.
    pub(super) fn unix_seconds(&self) -> i64 {
        self.days * DAY + self.seconds as i64
    }

    /// Seconds since the start of 1970 at the same time on another day.
    pub(super) fn on(&self, days: i64) -> f64 {
        (days * DAY) as f64 + self.seconds
    }

    /// Seconds of the minute, with their fraction.
    pub(super) fn second(&self) -> f64 {
        self.seconds - (self.seconds as i64 / 60 * 60) as f64
    }

    /// The integer parts in the order of the outputs of `date.parts`.
    pub(super) fn parts(&self) -> [i64; 9] {
        let (year, month, day) = self.date();
        let of_day = self.seconds as i64;
        let (week_year, week) = self.week();
        let (weekday, day_of_year) = (self.weekday(), self.day_of_year());
        [year, month, day, of_day / 3600, of_day / 60 % 60, weekday, day_of_year, week, week_year]
    }
}
