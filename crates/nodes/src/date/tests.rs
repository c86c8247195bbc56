//! Dates checked against Python's `datetime`, and strings in all formats, valid and invalid.

use millstream_base::map::Map;
use millstream_base::{Limits, Mask, Value};
use millstream_node::function::Output;
use millstream_node::{Argument, Call, Data, Kernel};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::calendar::{date_of, days_of};
use crate::cells::testing::{instance, value};

/// All outputs of `date.parts`.
fn parts(seconds: f64) -> Vec<f64> {
    let instance = instance("date.parts", &json!({}), &[], &[]);
    let Kernel::Function(function) = &instance.kernel else { panic!("a function") };
    let mut arguments = vec![Argument::owned(Data::One(Value::F64(seconds)), Map::Each)];
    let mut outputs: Vec<Output> = instance.outputs.iter().map(|_| Output::Wanted(None)).collect();
    let (mask, limits) = (Mask::full(1), Limits::default());
    let mut call = Call::new(&mask, 1, &limits, &mut arguments, &mut outputs);
    function.call(&mut call).expect("it does not fail");
    let number = |output: Output| match output {
        Output::Done(Data::One(Value::I32(x))) => f64::from(x),
        Output::Done(Data::One(Value::F64(x))) => x,
        _ => panic!("a number"),
    };
    outputs.into_iter().map(number).collect()
}

fn on(name: &str, set: &Json, args: Vec<Value>) -> f64 {
    match value(name, set, args).expect("it does not fail") {
        Value::F64(x) => x,
        other => panic!("{other}"),
    }
}

fn read(text: &str) -> f64 {
    on("date.from_text", &json!({}), vec![text.into()])
}

fn text(seconds: f64, form: &str, digits: i32) -> String {
    let set = json!({"form": form, "digits": digits});
    let text = value("date.to_text", &set, vec![Value::F64(seconds)]).expect("it does not fail");
    text.to_string().trim_matches('"').to_owned()
}

fn from_parts(parts: [i32; 5], second: f64) -> f64 {
    let mut args: Vec<Value> = parts.into_iter().map(Value::I32).collect();
    args.push(Value::F64(second));
    on("date.from_parts", &json!({}), args)
}

/// Expected values from `datetime`: `isocalendar`, `timetuple().tm_yday`, `isoformat`.
#[test]
fn dates_are_those_of_python() {
    let cases = [
        (0.0, [1970, 1, 1, 0, 0], 0.0, [4, 1, 1, 1970], "1970-01-01T00:00:00Z"),
        (951_868_799.0, [2000, 2, 29, 23, 59], 59.0, [2, 60, 9, 2000], "2000-02-29T23:59:59Z"),
        (-2_203_891_200.0, [1900, 3, 1, 0, 0], 0.0, [4, 60, 9, 1900], "1900-03-01T00:00:00Z"),
        (-62_135_596_800.0, [1, 1, 1, 0, 0], 0.0, [1, 1, 1, 1], "0001-01-01T00:00:00Z"),
        (
            253_402_300_799.0,
            [9999, 12, 31, 23, 59],
            59.0,
            [5, 365, 52, 9999],
            "9999-12-31T23:59:59Z",
        ),
        (1_735_516_800.0, [2024, 12, 30, 0, 0], 0.0, [1, 365, 1, 2025], "2024-12-30T00:00:00Z"),
        (1_609_675_200.0, [2021, 1, 3, 12, 0], 0.0, [7, 3, 53, 2020], "2021-01-03T12:00:00Z"),
        (-1.0, [1969, 12, 31, 23, 59], 59.0, [3, 365, 1, 1970], "1969-12-31T23:59:59Z"),
        (1_609_372_800.0, [2020, 12, 31, 0, 0], 0.0, [4, 366, 53, 2020], "2020-12-31T00:00:00Z"),
        (-35_338_336_145.0, [850, 3, 4, 11, 30], 55.0, [5, 63, 9, 850], "0850-03-04T11:30:55Z"),
        (211_907_285_355.0, [8685, 1, 27, 14, 49], 15.0, [2, 27, 5, 8685], "8685-01-27T14:49:15Z"),
        (-55_353_062_569.0, [215, 12, 7, 13, 17], 11.0, [4, 341, 49, 215], "0215-12-07T13:17:11Z"),
    ];
    for (seconds, date, second, week, iso) in cases {
        let expected: Vec<f64> =
            date.iter().chain(&week).map(|x| f64::from(*x)).chain([second]).collect();
        assert_eq!(parts(seconds), expected, "{iso}");
        assert_eq!(from_parts(date, second), seconds, "{iso}");
        assert_eq!(text(seconds, "date_time", 0), iso);
        let [name, short] = ["weekday_name", "weekday_short"].map(|form| text(seconds, form, 0));
        let days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
        assert_eq!((name.as_str(), short.as_str()), (days[week[0] as usize - 1], &name[..3]));
        assert!(
            "JanFebMarAprMayJunJulAugSepOctNovDec"[3 * date[1] as usize - 3..].starts_with(&text(
                seconds,
                "month_short",
                0
            ))
        );
        assert_eq!(read(iso), seconds, "{iso}");
        assert_eq!(read(&text(seconds, "week", 0)), seconds - seconds.rem_euclid(86400.0), "{iso}");
        assert_eq!(read(&text(seconds, "day_of_year", 0)), seconds - seconds.rem_euclid(86400.0));
    }
}

#[test]
fn all_forms_of_texts_are_read() {
    let midnight = 1_714_953_600.0;
    for (text, seconds) in [
        ("2024-05-06", midnight),
        (" 20240506\n", midnight),
        ("2024-05", 1_714_521_600.0),
        ("2024-127", midnight),
        ("2024127", midnight),
        ("2024-W19-1", midnight),
        ("2024W191", midnight),
        ("+002024-05-06", midnight),
        ("2024-05-06T07", midnight + 25_200.0),
        ("2024-05-06t07:08z", midnight + 25_680.0),
        ("2024-05-06 07:08:09", midnight + 25_689.0),
        ("20240506T070809Z", midnight + 25_689.0),
        ("2024-05-06T07:08:09.25", midnight + 25_689.25),
        ("2024-05-06T07:08:09,125+00", midnight + 25_689.125),
        ("2024-05-06T07:08:09+02:00", midnight + 18_489.0),
        ("2024-05-06T07:08:09-0530", midnight + 45_489.0),
        ("2024-05-06T24:00", midnight + 86_400.0),
        ("2016-12-31T23:59:60Z", 1_483_228_800.0),
        ("0000-02-29", -62_162_121_600.0),
        ("-000001-12-31", -62_167_305_600.0),
    ] {
        assert_eq!(read(text), seconds, "{text}");
    }
    for text in [
        "",
        "2024",
        "202405",
        "2024-5-6",
        "2024-13-01",
        "2023-02-29",
        "2024-04-31",
        "2024-00-10",
        "2023-366",
        "2024-W54-1",
        "2024-W00-1",
        "2021-W53-1",
        "2024-W19-8",
        "2024-W19",
        "2024-W191",
        "2024-05-06T",
        "2024-05-06T25",
        "2024-05-06T24:01",
        "2024-05-06T07:60",
        "2024-05-06T07:08:61",
        "2024-05-06T07:08:60",
        "2024-05-06T07:08:09.",
        "2024-05-06T07:0809",
        "2024-05-06T07:08:09+2",
        "2024-05-06T07:08:09+24:00",
        "2024-05-06Z",
        "2024-05-06T07:08 09",
        "12024-05-06",
        "-0001-01-01",
        "٢٠٢٤-05-06",
        "2024-05-06T07:08:09ZZ",
        "now",
    ] {
        assert!(read(text).is_nan(), "{text}");
    }
}

#[test]
fn fractions_are_rounded_and_carried() {
    assert_eq!(text(1_000_000_000.3, "time", 1), "01:46:40.3");
    assert_eq!(text(0.123_456_789, "time", 9), "00:00:00.123456789");
    assert_eq!(text(86_399.96, "date_time", 1), "1970-01-02T00:00:00.0Z");
    assert_eq!(text(86_399.96, "time", 1), "00:00:00.0");
    assert_eq!(text(86_399.96, "date", 1), "1970-01-01");
    assert_eq!(text(-0.25, "date_time", 2), "1969-12-31T23:59:59.75Z");
    assert_eq!(text(-1e-13, "date_time", 0), "1970-01-01T00:00:00Z");
    assert_eq!(text(253_402_300_800.0, "date", 0), "+010000-01-01");
    assert_eq!(text(-62_167_219_201.0, "date", 0), "-000001-12-31");
    assert_eq!(text(f64::NAN, "date", 0), "");
    assert_eq!(text(20_718.0 * 86400.0, "month_name", 0), "September");
    assert_eq!(text(f64::NAN, "month_name", 0), "");
    assert_eq!(text(4e13, "date", 0), "");
    let nothing = parts(f64::INFINITY);
    assert!(nothing[..9].iter().all(|x| *x == 0.0) && nothing[9].is_nan());
}

#[test]
fn months_are_added_and_starts_found() {
    let later = |from: &str, months: i32| {
        let seconds =
            on("date.add_months", &json!({}), vec![Value::F64(read(from)), Value::I32(months)]);
        text(seconds, "date_time", 0)
    };
    assert_eq!(later("2024-01-31T12:00", 1), "2024-02-29T12:00:00Z");
    assert_eq!(later("2023-01-31T12:00", 1), "2023-02-28T12:00:00Z");
    assert_eq!(later("2024-02-29", 12), "2025-02-28T00:00:00Z");
    assert_eq!(later("2024-02-29", -48), "2020-02-29T00:00:00Z");
    assert_eq!(later("2024-01-15", -1), "2023-12-15T00:00:00Z");
    assert_eq!(later("2024-01-15", i32::MAX), "");
    let start = |unit: &str| {
        let set = json!({ "unit": unit });
        let seconds = read("2024-05-08T07:08:09.5");
        text(on("date.start_of", &set, vec![Value::F64(seconds)]), "date_time", 1)
    };
    for (unit, expected) in [
        ("year", "2024-01-01T00:00:00.0Z"),
        ("quarter", "2024-04-01T00:00:00.0Z"),
        ("month", "2024-05-01T00:00:00.0Z"),
        ("week", "2024-05-06T00:00:00.0Z"),
        ("day", "2024-05-08T00:00:00.0Z"),
        ("hour", "2024-05-08T07:00:00.0Z"),
        ("minute", "2024-05-08T07:08:00.0Z"),
        ("second", "2024-05-08T07:08:09.0Z"),
    ] {
        assert_eq!(start(unit), expected, "{unit}");
    }
    assert_eq!(
        text(from_parts([2024, 13, 0, -1, 90], 0.5), "date_time", 1),
        "2024-12-31T00:30:00.5Z"
    );
    assert!(from_parts([i32::MAX, 1, 1, 0, 0], 0.0).is_nan());
    assert!(from_parts([2024, 1, 1, 0, 0], f64::NAN).is_nan());
}

proptest! {
    #[test]
    fn days_and_dates_are_one_to_one(days in -365_000_000..365_000_000_i64) {
        let (year, month, day) = date_of(days);
        prop_assert_eq!(days_of(year, month, day), days);
        let (next_year, next_month, next_day) = date_of(days + 1);
        prop_assert!((next_year, next_month, next_day) > (year, month, day));
    }

    #[test]
    fn parts_and_texts_make_the_moment(seconds in -3.1e13..3.1e13_f64, small in -1e6..1e6_f64) {
        for seconds in [seconds, small] {
            let found = parts(seconds);
            let whole = [0, 1, 2, 3, 4].map(|k| found[k] as i32);
            // Only fractions finer than those of the seconds of a day are lost: half of 2^-36.
            let again = from_parts(whole, found[9]);
            prop_assert!((again - seconds).abs() <= 2.0_f64.powi(-36), "{}", seconds);
            // Written digits are accurate to half of the last one, and are read as accurately as
            // possible.
            let again = read(&text(seconds, "date_time", 6));
            let most = 0.5e-6 + 2.0_f64.powi(-36) + 2.0 * seconds.abs() * f64::EPSILON;
            prop_assert!((again - seconds).abs() <= most, "{}", seconds);
        }
    }

    #[test]
    fn any_text_is_read_as_a_number_or_refused(text in "[0-9TWZ:+. -]{0,24}") {
        let seconds = read(&text);
        prop_assert!(seconds.is_nan() || seconds.abs() < 3.2e13);
    }
}
