//! Dates: seconds since the start of 1970 in UTC, as numbers with which graphs compute.
//!
//! The calendar is the proleptic Gregorian calendar, with a year 0 before the year 1; a day has
//! 86400 seconds, as in Unix time. There are no time zones except offsets in strings, and nothing
//! reads a clock or a file, so the same document gives the same bits everywhere.

mod calendar;
mod text;

use std::sync::Arc;

use millstream_base::{Type, ValueType};
use millstream_node::{Call, Default, Failure, NodeDef, Registry};

use crate::cells::{Cells, function};
use crate::each::each;
use calendar::{DAY, Moment, days_in_month, days_of};

/// Adds the nodes of this family.
pub fn register(registry: &mut Registry) {
    registry.register(from_parts());
    registry.register(parts());
    registry.register(from_text());
    registry.register(to_text());
    registry.register(add_months());
    registry.register(start_of());
}

const SECONDS: &str = "seconds since the start of 1970, UTC";

const CALENDAR: &str = "The calendar is Gregorian, also before 1582, with a year 0. Years range \
    from -999999 to 999999, and every day has 86400 seconds.";

fn on_seconds(name: &'static str, summary: &'static str) -> NodeDef {
    NodeDef::new(name, summary).input_or("seconds", Type::F64, 0.0, SECONDS)
}

fn from_parts() -> NodeDef {
    let inputs = [
        ("year", 1970.0, ""),
        ("month", 1.0, "1 to 12"),
        ("day", 1.0, "1 to 31"),
        ("hour", 0.0, "0 to 23"),
        ("minute", 0.0, "0 to 59"),
    ];
    let def = NodeDef::new("date.from_parts", "A point in time from year, month, day and time").details(format!(
        "Values outside their range carry over: month 13 is January of the next year, day 0 is the \
         last day of the previous month, hour -1 is the last hour of the previous day. NaN outside \
         the supported years. {CALENDAR}"
    ));
    inputs
        .iter()
        .fold(def, |def, (name, default, about)| def.input_or(*name, Type::I32, *default, *about))
        .input_or("second", Type::F64, 0.0, "may have a fraction")
        .output("value", Type::F64, SECONDS)
        .function(each::<(i32, i32, i32, i32, i32, f64), _>(
            |(year, month, day, hour, minute, second)| {
                let [year, month, day, hour, minute] =
                    [year, month, day, hour, minute].map(i64::from);
                let months = year * 12 + month - 1;
                let first = days_of(months.div_euclid(12), months.rem_euclid(12) + 1, 1);
                let whole = (first + day - 1) * DAY + hour * 3600 + minute * 60;
                let seconds = whole as f64 + second;
                if Moment::of(seconds).is_some() { seconds } else { f64::NAN }
            },
        ))
}

/// The integer parts of a moment, in the order of the outputs.
const PARTS: [(&str, &str); 9] = [
    ("year", ""),
    ("month", "1 to 12"),
    ("day", "1 to 31"),
    ("hour", "0 to 23"),
    ("minute", "0 to 59"),
    ("weekday", "1 for Monday to 7 for Sunday"),
    ("day_of_year", "1 to 366"),
    ("week", "1 to 53, by ISO 8601: the first week is the one with January 4"),
    ("week_year", "year to which the week belongs"),
];

fn parts() -> NodeDef {
    let def = on_seconds("date.parts", "Year, month, day, time and week of a point in time").details(format!(
        "For NaN and outside the supported years all parts are 0 and `second` is NaN. {CALENDAR}"
    ));
    PARTS
        .iter()
        .fold(def, |def, (name, about)| def.output(*name, Type::I32, *about))
        .output("second", Type::F64, "0 to 60, with a fraction; less than 60")
        .function(|call: &mut Call<'_>| {
            for k in 0..PARTS.len() {
                part(call, k, 0, |moment| moment.parts()[k] as i32)?;
            }
            part(call, PARTS.len(), f64::NAN, Moment::second)
        })
}

/// Sets an output to a part of each moment, if the output is used.
fn part<R: ValueType + Copy>(
    call: &mut Call<'_>,
    output: usize,
    otherwise: R,
    of: impl Fn(&Moment) -> R,
) -> Result<(), Failure> {
    if !call.wants(output) {
        return Ok(());
    }
    let mut cells = Cells::<R>::for_output(call, output);
    cells.fill(call, |i| {
        Ok(Moment::of(call.input::<f64>(0).get(i)).map_or(otherwise, |moment| of(&moment)))
    })?;
    cells.put(call);
    Ok(())
}

fn from_text() -> NodeDef {
    NodeDef::new("date.from_text", "Parses a date and time from a string")
        .details(format!(
            "The string is in a format of ISO 8601: `2024-05-06`, `20240506`, `2024-05`, \
             `2024-127` (day of the year), `2024-W19-1` (week and weekday) or `+012024-05-06`; \
             optionally followed by `T` or a space and a time, `07:08`, `07:08:09`, `070809`, \
             `07:08:09.25` or `07`; optionally followed by `Z` or an offset, `+02:00`, `-0530` or \
             `+02`, which is subtracted. Without an offset the time is UTC. `24:00` is the end of \
             a day, `23:59:60` the start of the next one. White space around the string is \
             ignored. {CALENDAR}"
        ))
        .input_or("text", Type::STRING, Default::Zero, "")
        .output(
            "value",
            Type::F64,
            "seconds since the start of 1970, UTC; NaN if the string is not valid",
        )
        .output("valid", Type::BOOL, "whether the string is a valid date")
        .kernel(|_| {
            Ok(function(|call| {
                let read = |call: &Call<'_>, i: usize| {
                    call.input::<Arc<str>>(0).with(i, |text| text::read(text))
                };
                let mut cells = Cells::<f64>::for_output(call, 0);
                cells.fill(call, |i| Ok(read(call, i).unwrap_or(f64::NAN)))?;
                cells.put(call);
                if call.wants(1) {
                    let mut cells = Cells::<bool>::for_output(call, 1);
                    cells.fill(call, |i| Ok(read(call, i).is_some()))?;
                    cells.put(call);
                }
                Ok(())
            }))
        })
}

fn to_text() -> NodeDef {
    on_seconds("date.to_text", "Writes a point in time as text")
        .details(format!(
            "The string is in a format of ISO 8601. The fraction of a second is rounded to the \
             given number of digits, which may carry into the next day. Years outside 0 to 9999 \
             have a sign and six digits. Names are English. Empty for NaN and outside the \
             supported years. For other formats see `date.parts` and `string.format`. {CALENDAR}"
        ))
        .choice("form", text::Form::ALL, "date_time", "format of the string")
        .integer("digits", (0, 9), 0, "number of digits of the fraction of a second")
        .output("value", Type::STRING, "")
        .kernel(|parts| {
            let form = text::Form::named(parts.settings.text("form"));
            let digits = parts.settings.integer("digits") as u32;
            Ok(function(each::<(f64,), _>(move |(seconds,)| -> Arc<str> {
                let moment = Moment::of(seconds);
                moment.map_or_else(String::new, |moment| text::written(moment, form, digits)).into()
            })))
        })
}

fn add_months() -> NodeDef {
    on_seconds("date.add_months", "Adds months to a point in time")
        .details(format!(
            "The result is on the same day of the month at the same time, or on the last day if \
             the month is shorter: a month after January 31 is February 28 or 29. A year is 12 \
             months; to add days or shorter units, add seconds. NaN outside the supported years. \
             {CALENDAR}"
        ))
        .input_or("months", Type::I32, 1.0, "number of months to add; may be negative")
        .output("value", Type::F64, SECONDS)
        .function(each::<(f64, i32), _>(|(seconds, months)| {
            let Some(moment) = Moment::of(seconds) else { return f64::NAN };
            let (year, month, day) = moment.date();
            let months = year * 12 + month - 1 + i64::from(months);
            let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
            let day = day.min(days_in_month(year, month));
            let later = moment.on(days_of(year, month, day));
            if Moment::of(later).is_some() { later } else { f64::NAN }
        }))
}

const UNITS: &[(&str, &str)] = &[
    ("year", "January 1"),
    ("quarter", "the first day of January, April, July or October"),
    ("month", "the first day of the month"),
    ("week", "Monday"),
    ("day", ""),
    ("hour", ""),
    ("minute", ""),
    ("second", ""),
];

fn start_of() -> NodeDef {
    on_seconds(
        "date.start_of",
        "The start of the year, month, week, day or hour of a point in \
                                 time",
    )
    .details(format!(
        "Useful for grouping by date, as with `table.group`. NaN outside the supported years. \
             {CALENDAR}"
    ))
    .choice("unit", UNITS, "day", "unit whose start is returned")
    .output("value", Type::F64, SECONDS)
    .kernel(|parts| {
        let unit = parts.settings.text("unit").to_owned();
        Ok(function(each::<(f64,), _>(move |(seconds,)| {
            let Some(moment) = Moment::of(seconds) else { return f64::NAN };
            let (year, month, day) = moment.date();
            let start = match &*unit {
                "year" => days_of(year, 1, 1) * DAY,
                "quarter" => days_of(year, (month - 1) / 3 * 3 + 1, 1) * DAY,
                "month" => days_of(year, month, 1) * DAY,
                "week" => (days_of(year, month, day) - moment.weekday() + 1) * DAY,
                "hour" => moment.unix_seconds() - moment.unix_seconds().rem_euclid(3600),
                "minute" => moment.unix_seconds() - moment.unix_seconds().rem_euclid(60),
                "second" => moment.unix_seconds(),
                _ => days_of(year, month, day) * DAY,
            };
            start as f64
        })))
    })
}

#[cfg(test)]
mod tests;
