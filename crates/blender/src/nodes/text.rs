//! Numbers at the start of strings, parsed like in Blender.

use millstream_base::{Type, ValueType};
use millstream_node::{Call, Default, Failure, NodeDef, Registry};
use millstream_nodes::kit::{Cells, function, with_text};

pub(super) fn register(registry: &mut Registry) {
    registry.register(to_float());
    registry.register(to_integer());
}

fn to_float() -> NodeDef {
    NodeDef::new("blender.string_to_float", "Parses a number at the start of a string")
        .details(
            "The number may have a decimal point and an exponent. The result is 0 if the string \
             does not start with a number, or if the number does not fit.",
        )
        .input_or("text", Type::STRING, Default::Zero, "")
        .output("value", Type::F32, "")
        .output("length", Type::I32, "number of characters read")
        .kernel(|_| Ok(function(|call| both(call, |call, i| with_text(call, 0, i, float)))))
}

fn to_integer() -> NodeDef {
    NodeDef::new("blender.string_to_integer", "Parses an integer at the start of a string")
        .details(
            "Digits above 9 are letters. The result is 0 if the string does not start with an \
             integer, if that does not fit, or if the base is outside 2 to 36.",
        )
        .input_or("text", Type::STRING, Default::Zero, "")
        .input_or("base", Type::I32, 10.0, "2 to 36")
        .output("value", Type::I32, "")
        .output("length", Type::I32, "number of characters read")
        .kernel(|_| {
            Ok(function(|call| {
                both(call, |call, i| {
                    let base = call.input::<i32>(1).get(i);
                    with_text(call, 0, i, |text| integer(text, base))
                })
            }))
        })
}

/// Sets the outputs to a value and the number of characters read.
fn both<T: ValueType>(
    call: &mut Call<'_>,
    read: impl Fn(&Call<'_>, usize) -> (T, usize),
) -> Result<(), Failure> {
    let mut values = Cells::<T>::for_output(call, 0);
    values.fill(call, |i| Ok(read(call, i).0))?;
    let mut lengths = Cells::<i32>::for_output(call, 1);
    lengths.fill(call, |i| Ok(i32::try_from(read(call, i).1).unwrap_or(i32::MAX)))?;
    values.put(call);
    lengths.put(call);
    Ok(())
}

fn digits(text: &str) -> usize {
    text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len()
}

fn float(text: &str) -> (f32, usize) {
    let sign = usize::from(text.starts_with('-'));
    let rest = &text[sign..];
    let word = ["infinity", "inf", "nan"];
    let spelled = word
        .iter()
        .find(|word| rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)));
    let mut n = match spelled {
        Some(word) => word.len(),
        None => {
            let whole = digits(rest);
            let part = rest[whole..].strip_prefix('.').map_or(0, |part| digits(part) + 1);
            if whole + part.saturating_sub(1) == 0 {
                return (0.0, 0);
            }
            whole + part
        }
    };
    if let (None, Some(after)) = (spelled, rest[n..].strip_prefix(['e', 'E'])) {
        let sign = usize::from(after.starts_with(['+', '-']));
        let power = digits(&after[sign..]);
        if power > 0 {
            n += 1 + sign + power;
        }
    }
    let length = sign + n;
    match text[..length].parse::<f32>() {
        Ok(x) if x.is_finite() || spelled.is_some() => (x, length),
        _ => (0.0, 0),
    }
}

fn integer(text: &str, base: i32) -> (i32, usize) {
    if !(2..=36).contains(&base) {
        return (0, 0);
    }
    let sign = usize::from(text.starts_with('-'));
    let rest = &text[sign..];
    let n = rest.len() - rest.trim_start_matches(|c: char| c.is_digit(base as u32)).len();
    let length = sign + n;
    i32::from_str_radix(&text[..length], base as u32).map_or((0, 0), |x| (x, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results of Blender 5.2.3 for these strings.
    #[test]
    fn numbers_are_read_up_to_their_end() {
        for (text, number, whole) in [
            ("12.5abc", (12.5, 4), (12, 2)),
            (" 7", (0.0, 0), (0, 0)),
            ("-3e2", (-300.0, 4), (-3, 2)),
            ("abc", (0.0, 0), (0, 0)),
            ("", (0.0, 0), (0, 0)),
            ("0x10", (0.0, 1), (0, 1)),
            ("+5", (0.0, 0), (0, 0)),
            (".5", (0.5, 2), (0, 0)),
            ("inf", (f32::INFINITY, 3), (0, 0)),
            ("99999999999", (99_999_997_952.0, 11), (0, 0)),
            ("1e400", (0.0, 0), (1, 1)),
            ("7.", (7.0, 2), (7, 1)),
        ] {
            assert_eq!((float(text), integer(text, 10)), (number, whole), "{text:?}");
        }
        assert_eq!(integer("ff", 16), (255, 2));
        assert_eq!(integer("-zz", 36), (-1295, 3));
        assert_eq!(integer("7", 99), (0, 0));
    }
}
