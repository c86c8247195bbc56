//! Dates in the formats of ISO 8601.

use super::calendar::{
    DAY, LAST_YEAR, Moment, date_of, days_in_month, days_of, first_monday, is_leap,
};
use crate::shape::choices;

choices! {
    /// A format of a moment.
    pub(super) enum Form {
        DateTime = "date_time": "`2024-05-06T07:08:09Z`",
        Date = "date": "`2024-05-06`",
        Time = "time": "`07:08:09`",
        Week = "week": "`2024-W19-1`",
        DayOfYear = "day_of_year": "`2024-127`",
        WeekdayName = "weekday_name": "`Monday`",
        WeekdayShort = "weekday_short": "`Mon`",
        MonthName = "month_name": "`May`, `September`",
        MonthShort = "month_short": "`May`, `Sep`",
    }
}

const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The string of a moment, with `digits` decimals of the seconds.
pub(super) fn written(moment: Moment, form: Form, digits: u32) -> String {
    let one = 10_i64.pow(digits);
    // Up to 2^47 units of up to 9 digits are exact.
    let units = (moment.seconds * one as f64).round_ties_even() as i64;
    let is_timed = matches!(form, Form::DateTime | Form::Time);
    let (days, units) =
        if units == DAY * one && is_timed { (moment.days + 1, 0) } else { (moment.days, units) };
    let (year, month, day) = date_of(days);
    let date = || format!("{}-{month:02}-{day:02}", year_text(year));
    let time = || {
        let (whole, fraction) = (units / one, units % one);
        let (hour, minute, second) = (whole / 3600, whole / 60 % 60, whole % 60);
        let mut text = format!("{hour:02}:{minute:02}:{second:02}");
        if digits > 0 {
            let width = digits as usize;
            text += &format!(".{fraction:0width$}");
        }
        text
    };
    match form {
        Form::DateTime => format!("{}T{}Z", date(), time()),
        Form::Date => date(),
        Form::Time => time(),
        Form::Week => {
            let (year, week) = moment.week();
            format!("{}-W{week:02}-{}", year_text(year), moment.weekday())
        }
        Form::DayOfYear => format!("{}-{:03}", year_text(year), moment.day_of_year()),
        Form::WeekdayName => WEEKDAYS[moment.weekday() as usize - 1].into(),
        Form::WeekdayShort => WEEKDAYS[moment.weekday() as usize - 1][..3].into(),
        Form::MonthName => MONTHS[month as usize - 1].into(),
        Form::MonthShort => MONTHS[month as usize - 1][..3].into(),
    }
}

fn year_text(year: i64) -> String {
    if (0..=9999).contains(&year) { format!("{year:04}") } else { format!("{year:+07}") }
}

/// The seconds since the start of 1970 that a string denotes.
pub(super) fn read(text: &str) -> Option<f64> {
    let mut rest = Rest(text.trim().as_bytes());
    let days = rest.days()?;
    let (whole, fraction) = if rest.0.is_empty() { (0, 0.0) } else { rest.time()? };
    let seconds = (days * DAY + whole) as f64 + fraction;
    (rest.0.is_empty() && Moment::of(seconds).is_some()).then_some(seconds)
}

/// The unread rest of a string.
struct Rest<'t>(&'t [u8]);

impl Rest<'_> {
    fn starts_with(&self, any: &[u8]) -> bool {
        self.0.first().is_some_and(|byte| any.contains(byte))
    }

    fn eat(&mut self, any: &[u8]) -> bool {
        let eats = self.starts_with(any);
        if eats {
            self.0 = &self.0[1..];
        }
        eats
    }

    fn n_digits(&self) -> usize {
        self.0.iter().take_while(|byte| byte.is_ascii_digit()).count()
    }

    /// A number of exactly `n` digits.
    fn number(&mut self, n: usize) -> Option<i64> {
        if self.n_digits() < n {
            return None;
        }
        let (digits, rest) = self.0.split_at(n);
        self.0 = rest;
        Some(digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
    }

    fn number_in(&mut self, n: usize, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
        self.number(n).filter(|number| range.contains(number))
    }

    /// A date, as days since the start of 1970.
    fn days(&mut self) -> Option<i64> {
        let year = if self.starts_with(b"+-") {
            let sign = if self.eat(b"-") { -1 } else { i64::from(self.eat(b"+")) };
            sign * self.number_in(6, 0..=LAST_YEAR)?
        } else {
            self.number(4)?
        };
        let is_spaced = self.eat(b"-");
        if self.eat(b"W") {
            let week = self.number(2)?;
            if is_spaced && !self.eat(b"-") {
                return None;
            }
            let weekday = self.number_in(1, 1..=7)?;
            let monday = first_monday(year) + (week - 1) * 7;
            return (week >= 1 && monday < first_monday(year + 1)).then_some(monday + weekday - 1);
        }
        if self.n_digits() == 3 {
            let last = if is_leap(year) { 366 } else { 365 };
            return Some(days_of(year, 1, 1) + self.number_in(3, 1..=last)? - 1);
        }
        let month = self.number_in(2, 1..=12)?;
        // Without separators, a year and a month alone would be ambiguous.
        let has_day = if is_spaced { self.eat(b"-") } else { true };
        let day = if has_day { self.number_in(2, 1..=days_in_month(year, month))? } else { 1 };
        Some(days_of(year, month, day))
    }

    /// A time and an offset, as whole seconds and a fraction of a second.
    fn time(&mut self) -> Option<(i64, f64)> {
        if !self.eat(b"Tt ") {
            return None;
        }
        let hour = self.number_in(2, 0..=24)?;
        let is_spaced = self.starts_with(b":");
        let next = |rest: &mut Self, last: i64| {
            let goes_on = if is_spaced { rest.eat(b":") } else { rest.n_digits() > 0 };
            if goes_on { rest.number_in(2, 0..=last).map(Some) } else { Some(None) }
        };
        let minute = next(self, 59)?;
        let second = if minute.is_some() { next(self, 60)? } else { None };
        let fraction = if second.is_some() && self.eat(b".,") { self.fraction()? } else { 0.0 };
        let (minute, second) = (minute.unwrap_or(0), second.unwrap_or(0));
        let is_end = hour == 24;
        if (is_end && (minute, second, fraction) != (0, 0, 0.0)) || (second == 60 && minute != 59) {
            return None;
        }
        Some((hour * 3600 + minute * 60 + second - self.offset()?, fraction))
    }

    fn fraction(&mut self) -> Option<f64> {
        let n = self.n_digits();
        let (digits, rest) = self.0.split_at(n);
        self.0 = rest;
        let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.is_empty())?;
        format!("0.{digits}").parse().ok()
    }

    /// The offset from UTC in seconds.
    fn offset(&mut self) -> Option<i64> {
        if self.0.is_empty() || self.eat(b"Zz") {
            return Some(0);
        }
        let sign = if self.eat(b"-") {
            -1
        } else if self.eat(b"+") {
            1
        } else {
            return None;
        };
        let hours = self.number_in(2, 0..=23)?;
        let has_minutes = self.eat(b":") || !self.0.is_empty();
        let minutes = if has_minutes { self.number_in(2, 0..=59)? } else { 0 };
        Some(sign * (hours * 3600 + minutes * 60))
    }
}
