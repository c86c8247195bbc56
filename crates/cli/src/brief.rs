//! Values in few words, for people: long values are described instead of written out.

use millstream::diagnostics::counted;
use millstream::values::{Column, Footprint, Image, Kind, Table, Type, Value};

use crate::summary::{range_of, short};
use crate::terminal::visible;

/// Lists of at most this length are printed in full.
pub(crate) const MAX_INLINE: usize = 8;
/// The number of characters of a cell.
const MAX_CELL: usize = 40;
/// The number of characters of a value on a line of its own.
const MAX_LINE: usize = 1000;

/// A value on a line of its own, whose continuation lines start after `indent` characters.
pub(crate) fn line(value: &Value, indent: usize) -> String {
    match value {
        Value::Mat4(matrix) => {
            let rows = matrix.0.as_chunks::<4>().0.iter().map(|row| {
                let row = row.map(|x| Value::F32(x).to_string());
                row.join(", ")
            });
            let rows: Vec<String> = rows.collect();
            format!("[{}]", rows.join(&format!(",\n{:indent$} ", "")))
        }
        _ => match described(value) {
            Some(words) => words,
            None => shortened(visible(&value.to_string()).into_owned(), MAX_LINE),
        },
    }
}

/// A value in a cell of a table.
pub(crate) fn cell(value: &Value) -> String {
    if let Some(words) = described(value) {
        return words;
    }
    let text = visible(&value.to_string()).into_owned();
    // Numbers, vectors and colors are never cut off.
    match value.ty().kind() {
        Kind::Lanes(_, 0..=4) => text,
        _ => shortened(text, MAX_CELL),
    }
}

fn shortened(text: String, most: usize) -> String {
    let n = text.chars().count();
    if n <= most {
        return text;
    }
    format!("{}...", text.chars().take(most - 3).collect::<String>())
}

/// The description of a value that is not written out; `None` for all others.
fn described(value: &Value) -> Option<String> {
    match value {
        Value::List(items) if items.len() > MAX_INLINE => Some(list(items)),
        Value::List(items) => {
            let items: Vec<Value> = items.iter().collect();
            let is_described = items.iter().any(|item| described(item).is_some());
            let cells: Vec<String> = items.iter().filter(|_| is_described).map(cell).collect();
            is_described.then(|| format!("[{}]", cells.join(", ")))
        }
        Value::Opaque(opaque) => {
            let image = opaque.get::<Image>().map(image);
            let table = || opaque.get::<Table>().map(table);
            image.or_else(table).or_else(|| opaque.get::<Footprint>().map(view))
        }
        _ => None,
    }
}

/// For example `list of 5000, from 0 to 1`.
fn list(items: &Column) -> String {
    let n = items.len();
    match items.ty().kind() {
        Kind::Lanes(_, 1) if items.ty() != Type::BOOL => {
            let numbers: Vec<f64> = crate::summary::lanes_of("", items)
                .into_iter()
                .flat_map(|lane| lane.numbers)
                .collect();
            format!("list of {n}{}", span(numbers.iter().copied()))
        }
        _ => format!("list of {n}"),
    }
}

/// The range of numbers, with how many of them are not finite.
fn span(numbers: impl Iterator<Item = f64> + Clone) -> String {
    let n_other = numbers.clone().filter(|x| !x.is_finite()).count();
    let other = if n_other > 0 { format!(", {n_other} not finite") } else { String::new() };
    match range_of(numbers) {
        Some((min, max)) if min == max => format!(", all {}{other}", short(min)),
        Some((min, max)) => match (short(min), short(max)) {
            (min, max) if min == max => format!(", all about {min}{other}"),
            (min, max) => format!(", from {min} to {max}{other}"),
        },
        None => other,
    }
}

/// For example `image of 640x480, 4 channels, from 0 to 1.5`; the view follows if it is more than a
/// size.
fn image(image: &Image) -> String {
    let size = format!("{}x{}", image.width(), image.height());
    let channels = counted(image.n_channels() as u64, "channel");
    let numbers = image.channels().iter().map(|x| f64::from(*x));
    let place = match view(image.view()) {
        view if view == size => String::new(),
        view => format!(", view {view}"),
    };
    format!("image of {size}, {channels}{}{place}", span(numbers))
}

/// For example `table of 500 rows: a, b`.
fn table(table: &Table) -> String {
    let rows = counted(table.n_rows() as u64, "row");
    let names: Vec<&str> = table.columns().iter().map(|(name, _)| &**name).collect();
    let names = visible(&names.join(", ")).into_owned();
    let colon = if names.is_empty() { "" } else { ": " };
    format!("table of {rows}{colon}{}", shortened(names, MAX_CELL))
}

/// A view in the notation of `--size`; what this cannot express is added in words.
pub(crate) fn view(view: &Footprint) -> String {
    let m = &view.transform.0;
    let [width, height] = view.resolution;
    let mut text = format!("{width}x{height}");
    if m[3] != 0.0 || m[7] != 0.0 {
        text += &format!("{:+}{:+}", m[3], m[7]);
    }
    let plain = [[m[0], 0.0, 0.0], [0.0, m[0], 0.0]];
    if [[m[0], m[1], m[2]], [m[4], m[5], m[6]]] != plain {
        text += &format!(" with axes ({}, {}) and ({}, {})", m[0], m[4], m[1], m[5]);
    } else if m[0] != 1.0 {
        text += &format!("*{}", m[0]);
    }
    if view.crop != [0, 0, width, height] {
        let [left, lower, right, upper] = view.crop;
        text += &format!(", its pixels {left},{lower} to {right},{upper}");
    }
    text
}

#[cfg(test)]
mod tests {
    use millstream::values::{Mat4, Quat};

    use super::*;

    #[test]
    fn views_are_written_as_they_are_given() {
        for text in ["640x480", "640x480+100-50", "8x4*0.5", "8x4-1.5+2*0.25", "1x1+0-2"] {
            assert_eq!(view(&crate::views::view(text).expect("a view")), text);
        }
        let mut turned = Footprint::of_size(8, 4).with_crop([1, 0, 8, 4]);
        turned.transform.0[1] = -1.0;
        let told = "8x4 with axes (1, 0) and (-1, 1), its pixels 1,0 to 8,4";
        assert_eq!(view(&turned), told);
    }

    #[test]
    fn long_values_are_described() {
        let numbers = |n: usize| Column::from((0..n).map(|i| i as f32).collect::<Vec<_>>());
        let nested = Type::F32.list().expect("lists nest");
        let nested = nested.collect(&mut [2, 9].map(|n| Value::List(numbers(n))).into_iter());
        let nested = nested.expect("they have the type");
        let image = Image::from_channels(Footprint::of_size(3, 2), 1, vec![0.5; 6]).expect("fits");
        for (value, told) in [
            (Value::List(numbers(3)), "[0.0, 1.0, 2.0]"),
            (Value::List(numbers(9)), "list of 9, from 0 to 8"),
            (Value::List(nested), "[[0.0, 1.0], list of 9, from 0 to 8]"),
            (Value::from(Footprint::of_size(3, 2)), "3x2"),
            (Value::from(image), "image of 3x2, 1 channel, all 0.5"),
        ] {
            assert_eq!((line(&value, 0), cell(&value)), (told.into(), told.into()));
        }
        let quat = Value::from(Quat([0.493_730_07; 4]));
        assert!(!cell(&quat).contains("..."), "{}", cell(&quat));
        let lines = line(&Value::from(Mat4::default()), 4);
        assert_eq!(lines.lines().count(), 4, "{lines}");
        assert!(lines.lines().skip(1).all(|line| line.starts_with("     0.0")), "{lines}");
        assert!(cell(&Value::from("x".repeat(99).as_str())).ends_with("..."));
    }
}
