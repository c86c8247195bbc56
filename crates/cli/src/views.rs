//! `--view NAME=SPEC` and `--in NAME@VIEW=VALUE`: several views at once, and inputs that differ by
//! view.

use millstream::values::{Column, Type, Value};
use millstream::{Footprint, Given, Limits, Program, RequestAxis};
use millstream_io::Budget;

use crate::given::{Assignment, given};
use crate::outcome::{Exit, Message, Stop};
use crate::request::unknown;

/// A view with its name.
#[derive(Clone, Debug)]
pub(crate) struct NamedView {
    pub(crate) name: String,
    pub(crate) view: Footprint,
}

/// Parses `NAME=WxH+X+Y*SCALE`.
pub(crate) fn named(text: &str) -> Result<NamedView, String> {
    let wrong = "write a name and a view: left=640x480, or left=640x480+100+50*0.5";
    let (name, spec) = text.split_once('=').ok_or(wrong)?;
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(format!("`{name}` is not a view name; use letters, digits, _ and -"));
    }
    Ok(NamedView { name: name.into(), view: view(spec)? })
}

/// Parses a view: its width and height in pixels, optionally the scene coordinates of its lower
/// left corner (default 0), and the size of a pixel in the scene (default 1): `640x480+100-50*0.5`.
pub(crate) fn view(text: &str) -> Result<Footprint, String> {
    let wrong = "write the width and the height in pixels, such as 640x480; a position and the \
                 size of a pixel may follow, 640x480+100-50*0.5";
    let (rest, scale) = match text.split_once('*') {
        Some((rest, scale)) => (rest, number(scale)?),
        None => (text, 1.0),
    };
    if scale <= 0.0 {
        return Err("the size of a pixel must be greater than 0".into());
    }
    let (size, place) = match rest.find(['+', '-']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let pixels = |text: &str| text.parse::<i32>().ok().filter(|n| *n > 0);
    let sides = size.split_once('x');
    let is_large = |side: &str| {
        let is_number = !side.is_empty() && side.bytes().all(|digit| digit.is_ascii_digit());
        is_number && side.parse::<i32>().is_err()
    };
    if sides.is_some_and(|(w, h)| is_large(w) || is_large(h)) {
        return Err(format!("a view of {size} is too large: write at most {} pixels", i32::MAX));
    }
    let size = sides.and_then(|(w, h)| Some((pixels(w)?, pixels(h)?)));
    let (width, height) = size.ok_or(wrong)?;
    let [x, y] = if place.is_empty() {
        [0.0, 0.0]
    } else {
        // The sign of y is the last one that does not follow an exponent.
        let signs = place.char_indices().filter(|(_, c)| matches!(c, '+' | '-'));
        let is_exponent = |at: usize| at > 0 && matches!(place.as_bytes()[at - 1], b'e' | b'E');
        let at = signs.map(|(at, _)| at).rfind(|at| *at > 0 && !is_exponent(*at));
        let (x, y) = place.split_at(at.ok_or(wrong)?);
        [number(x)?, number(y)?]
    };
    let mut view = Footprint::of_size(width, height);
    let m = &mut view.transform.0;
    (m[0], m[5], m[3], m[7]) = (scale, scale, x, y);
    Ok(view)
}

fn number(text: &str) -> Result<f32, String> {
    let number: f32 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if number.is_finite() { Ok(number) } else { Err(format!("`{text}` is not finite")) }
}

/// Refuses views of the same name.
pub(crate) fn refuse_repeated(views: &[NamedView]) -> Result<(), Stop> {
    for (i, view) in views.iter().enumerate() {
        if views[..i].iter().any(|other| other.name == view.name) {
            let text = format!("the view name `{}` is used twice", view.name);
            return Err(Stop::new(Exit::Usage, text, Some("give each view its own name".into())));
        }
    }
    Ok(())
}

/// The values of inputs that differ by view, collected from the command line.
#[derive(Default)]
pub(crate) struct ByView<'a> {
    inputs: Vec<(&'a str, Type, Vec<Option<Value>>)>,
}

impl<'a> ByView<'a> {
    /// Takes the value of an input for one view.
    pub(crate) fn take(
        &mut self,
        (at, view): (Assignment<'a>, &str),
        ty: Type,
        views: &[NamedView],
        limits: &Limits,
        until: &Budget,
    ) -> Result<(), Stop> {
        let Some(position) = views.iter().position(|known| known.name == view) else {
            let known = views.iter().map(|view| &*view.name);
            let mut message = unknown("there is no view", view, known);
            if views.is_empty() {
                message.help = Some(format!("declare the views first: --view {view}=640x480"));
            }
            return Err(Stop::all(Exit::Usage, vec![message]));
        };
        let Given::One(value) = given(at, ty, limits, until)? else {
            let text =
                format!("`{}` takes a single value for the view `{view}`, not a column", at.name);
            return Err(Stop::new(Exit::Usage, text, Some("give a value for each view".into())));
        };
        let known = self.inputs.iter().position(|(name, ..)| *name == at.name);
        let entry = known.unwrap_or_else(|| {
            self.inputs.push((at.name, ty, vec![None; views.len()]));
            self.inputs.len() - 1
        });
        if self.inputs[entry].2[position].replace(value).is_some() {
            let text = format!("`{}@{view}` is given twice", at.name);
            return Err(Stop::new(Exit::Usage, text, None));
        }
        Ok(())
    }

    /// The columns, with a value for each view: its own, else the one in `otherwise`, else the
    /// default of the input. If views are no axis, the values for the only one.
    pub(crate) fn given(
        self,
        program: &Program,
        otherwise: &mut Vec<(&'a str, Given)>,
        views: &[NamedView],
        is_axis: bool,
    ) -> Result<Vec<(&'a str, Given)>, Stop> {
        let mut columns = Vec::new();
        for (name, ty, values) in self.inputs {
            let plain = otherwise.iter().position(|(known, _)| *known == name);
            let plain = plain.map(|at| otherwise.remove(at).1);
            let input = program.inputs().iter().find(|input| &*input.name == name);
            let rest = match plain {
                Some(Given::One(value)) => Some(value),
                Some(_) => {
                    let text = format!("`{name}` has both a column and a value for a view");
                    return Err(Stop::new(Exit::Usage, text, Some("give only one of them".into())));
                }
                None => input.and_then(|input| input.default.clone()),
            };
            let lacking = |(i, value): (usize, Option<Value>)| {
                value.or_else(|| rest.clone()).ok_or_else(|| {
                    let text = format!("`{name}` has no value for the view `{}`", views[i].name);
                    let help = format!("give --in {name}@{}=VALUE", views[i].name);
                    Stop::all(Exit::Usage, vec![Message { text, help: Some(help) }])
                })
            };
            let values: Vec<Value> =
                values.into_iter().enumerate().map(lacking).collect::<Result<_, _>>()?;
            let column: Column =
                ty.collect(&mut values.into_iter()).expect("literals have the input's type");
            let given = if is_axis {
                Given::Along(RequestAxis::View, column)
            } else {
                Given::One(column.get(0))
            };
            columns.push((name, given));
        }
        Ok(columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_has_a_size_and_optionally_a_position_and_a_scale() {
        let at = |text: &str| {
            let view = view(text).expect("a view");
            (view.resolution, [3, 7, 0, 5].map(|i| view.transform.0[i]))
        };
        assert_eq!(at("640x480"), ([640, 480], [0., 0., 1., 1.]));
        assert_eq!(at("4x3+100-50*0.5"), ([4, 3], [100., -50., 0.5, 0.5]));
        assert_eq!(at("4x3-1e+2+2e-1"), ([4, 3], [-100., 0.2, 1., 1.]));
        assert_eq!(at("4x3*2"), ([4, 3], [0., 0., 2., 2.]));
        for wrong in ["", "4", "0x3", "4x3+1", "4x3*0", "4x3*-1", "4x3+a+b", "4x3+1+nan"] {
            assert!(view(wrong).is_err(), "{wrong}");
        }
        for large in ["99999999999x3", "3x2147483648+1+1"] {
            assert!(view(large).is_err_and(|told| told.contains("too large")), "{large}");
        }
    }

    #[test]
    fn names_of_views_are_plain() {
        assert_eq!(named("left=4x3").map(|it| it.name), Ok("left".into()));
        assert!(named("4x3").is_err() && named("a b=4x3").is_err() && named("=4x3").is_err());
    }
}
