//! The charts of a table, chosen by the shape of its columns.
//!
//! - Numbers over moments become lines. So do numbers over elements or items, unless neighbors are
//!   as different as any two of them. Then the order carries no information, and a histogram is
//!   drawn instead.
//! - Vectors over elements or items become points in a plane, with the third component as color.
//! - Numbers over moments and elements, lists of equal length and images become heat maps.
//!
//! Numbers with the same unit share a chart.

use millstream::evaluate::Data;
use millstream::values::{Column, Image, Type, Value};
use millstream::{Answer, Mask};

use crate::chart::{
    Axis, Bars, Cells, Chart, MAX_SHOWN, Marks, Scale, Series, cells_of_points, thin, thin_grid,
};
use crate::summary::{Lane, lanes_of, lanes_without, range};
use crate::tables::Table;

use super::over::{Over, Places};
use super::{Kind, is_drawable, with_unit};

/// The maximum number of lines for the rows of a grid.
const MAX_ROWS: usize = 8;

/// Shorter series are always drawn as lines.
const LEAST_JUDGED: usize = 100;

/// The maximum number of bars.
const MAX_BARS: usize = 60;

/// A chart and its description.
pub(super) struct Drawn {
    pub(super) chart: Chart,
    pub(super) about: String,
    /// The numbers of each lane that are not drawn, such as `y (2 failed)`.
    pub(super) lacks: Vec<String>,
}

impl Drawn {
    fn of(lanes: &[Lane], chart: Chart, about: String) -> Self {
        let lacks = lanes.iter().filter_map(|it| Some(format!("{} ({})", it.name, it.lacks()?)));
        Self { chart, about, lacks: lacks.collect() }
    }
}

/// An output: its name, its values, and the rows without one.
type Named<'a> = (&'a str, &'a Column, &'a Mask);

/// Lanes of one unit that are drawn in the same way.
struct Group<'a> {
    kind: Kind,
    unit: Option<&'a str>,
    lanes: Vec<Lane>,
}

/// The charts of a table, and the names of the outputs that they show.
pub(super) fn charts_of<'a>(
    table: &Table<'_>,
    over: &Over,
    wanted: Option<Kind>,
    unit: &impl Fn(&str) -> Option<&'a str>,
) -> (Vec<Drawn>, Vec<String>) {
    if table.n_rows == 0 {
        return (Vec::new(), Vec::new());
    }
    let mut shown: Vec<String> = Vec::new();
    let mut all = Vec::new();
    let mut groups: Vec<Group<'_>> = Vec::new();
    let columns = table.columns.iter().zip(&table.missing);
    let columns: Vec<Named<'_>> = columns.map(|((name, it), gaps)| (*name, it, gaps)).collect();
    let own = own_axis(&columns, over, unit);
    let rows = own.as_ref().map_or(&over.rows, |(_, places)| places);
    shown.extend(own.iter().map(|_| columns[0].0.to_owned()));
    let columns = &columns[usize::from(own.is_some())..];
    // What equals the axis is drawn only if nothing else is.
    let is_axis = |lane: &Lane| wanted.is_none_or(|kind| kind == Kind::Lines) && rows.is(lane);
    let is_other = |(name, column, gaps): &Named<'_>| {
        let lanes = || lanes_without(name, column, gaps);
        column.ty().element().is_some() || lanes().iter().any(|lane| !is_axis(lane))
    };
    let has_others = columns.iter().any(is_other);
    for (name, column, gaps) in columns {
        let unit = unit(name);
        let n_charts = all.len();
        let is_listed = over.inner.is_some() || column.ty().element().is_some();
        if is_listed || is_drawable(name, column) {
            shown.push((*name).to_owned());
        }
        if let Some(inner) = &over.inner {
            for lane in lanes_without(name, column, gaps) {
                all.extend(of_grid(&lane, unit, inner, &over.rows, wanted));
            }
        } else if let Some(element) = column.ty().element() {
            all.extend(of_lists((name, column, gaps), element, unit, rows, wanted));
            if all.len() == n_charts {
                shown.pop();
            }
        } else if is_drawable(name, column) {
            let mut lanes = lanes_without(name, column, gaps);
            let is_place = [Type::VEC2, Type::VEC3].contains(&column.ty());
            let is_scatter = match wanted {
                None => is_place && !over.is_time && table.n_rows > 1,
                Some(kind) => is_place && kind == Kind::Scatter,
            };
            if is_scatter {
                all.push(of_points(name, unit, &lanes));
                continue;
            }
            lanes.retain(|lane| !has_others || !is_axis(lane));
            for lane in lanes {
                let kind = wanted.unwrap_or_else(|| {
                    let is_plain = !over.is_time && rows.is_plain();
                    if is_plain && is_unordered(&lane.numbers) {
                        Kind::Histogram
                    } else {
                        Kind::Lines
                    }
                });
                match groups.iter_mut().find(|group| group.kind == kind && group.unit == unit) {
                    Some(group) => group.lanes.push(lane),
                    None => groups.push(Group { kind, unit, lanes: vec![lane] }),
                }
            }
        }
    }
    all.extend(groups.into_iter().map(|group| group.draw(rows)));
    (all, shown)
}

/// The first output, if it ascends, as the axis of the others, unless there is a better axis.
fn own_axis<'a>(
    columns: &[Named<'_>],
    over: &Over,
    unit: &impl Fn(&str) -> Option<&'a str>,
) -> Option<(usize, Places)> {
    if !over.rows.is_plain() || over.inner.is_some() || columns.len() < 2 {
        return None;
    }
    let (name, column, gaps) = columns[0];
    let mut lanes = lanes_without(name, column, gaps);
    let lane = lanes.pop().filter(|_| lanes.is_empty())?;
    let others = columns[1..].iter().any(|(name, column, _)| is_drawable(name, column));
    let places = Places::of_lane(with_unit(name, unit(name)), &lane).filter(|_| others)?;
    Some((0, places))
}

/// The channels of an image over the scene that it covers.
pub(super) fn of_image(
    name: &str,
    image: &Image,
    unit: Option<&str>,
    wanted: Option<Kind>,
) -> Vec<Drawn> {
    let (x, y) = Places::of_view(image.view());
    let lanes = lanes_of(name, image.pixels());
    lanes.iter().filter_map(|lane| of_grid(lane, unit, &x, &y, wanted)).collect()
}

/// Charts of single numbers, side by side.
pub(super) fn of_singles<'a>(
    answer: &Answer,
    unit: &impl Fn(&str) -> Option<&'a str>,
) -> Option<Drawn> {
    let mut lanes = Vec::new();
    for output in &answer.outputs {
        if let Some(Data::One(value)) = output.value.as_ref().map(|series| &series.data) {
            let with =
                |lane: Lane| Lane { name: with_unit(&lane.name, unit(&output.name)), ..lane };
            lanes.extend(lanes_of(&output.name, &Column::filled(value, 1)).into_iter().map(with));
        }
    }
    let names = names(&lanes);
    let series = |(k, lane): (usize, &Lane)| Series {
        name: lane.name.clone(),
        points: vec![(k as f64, lane.numbers[0])],
    };
    let series: Vec<Series> = lanes.iter().enumerate().map(series).collect();
    let (x, y) = (axis("output", Scale::Values), axis("", Scale::Values));
    let chart = Chart { title: String::new(), x, y, marks: Marks::Lines(series) };
    (!names.is_empty()).then(|| Drawn::of(&lanes, chart, format!("single values of {names}")))
}

fn axis(label: impl Into<String>, scale: Scale) -> Axis {
    Axis { label: label.into(), scale }
}

fn names(lanes: &[Lane]) -> String {
    lanes.iter().map(|lane| lane.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Whether neighbors differ as much as any two numbers. The von Neumann ratio is 2 on average for
/// numbers in random order, and near 0 for a smooth curve.
fn is_unordered(numbers: &[f64]) -> bool {
    let finite: Vec<f64> = numbers.iter().copied().filter(|x| x.abs() < 1e100).collect();
    if finite.len() < LEAST_JUDGED {
        return false;
    }
    let mean = finite.iter().map(|x| x / finite.len() as f64).sum::<f64>();
    let spread: f64 = finite.iter().map(|x| (x - mean).powi(2)).sum();
    let steps: f64 = finite.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    spread > 0.0 && steps / spread > 1.5
}

impl Group<'_> {
    fn draw(self, rows: &Places) -> Drawn {
        let about = names(&self.lanes);
        match self.kind {
            Kind::Histogram => self.histogram(),
            Kind::HeatMap => {
                let label = with_unit(&about, self.unit);
                let n_lanes = self.lanes.len();
                let numbers = self.lanes.iter().flat_map(|lane| &lane.numbers).copied().collect();
                let y = Places::numbered("output", n_lanes);
                heat_map(label, (&self.lanes, numbers), rows, &y, &about)
            }
            Kind::Scatter if self.lanes.len() > 1 => self.first_and_others(),
            Kind::Lines | Kind::Scatter => {
                let is_lines = self.kind == Kind::Lines;
                let y = axis(self.y_label(), Scale::Values);
                let kind = if is_lines { "lines of" } else { "points of" };
                let about = format!("{kind} {about} over {}", rows.label);
                let is_alone = self.lanes.len() == 1;
                let series = |lane: &Lane| Series {
                    points: thin(|i| rows.at(i), &lane.numbers),
                    name: if is_alone { String::new() } else { lane.name.clone() },
                };
                let series = self.lanes.iter().map(series).collect();
                let marks = if is_lines { Marks::Lines(series) } else { Marks::Points(series) };
                let x = axis(rows.label.as_str(), Scale::Tight);
                Drawn::of(&self.lanes, Chart { title: String::new(), x, y, marks }, about)
            }
        }
    }

    fn y_label(&self) -> String {
        match &self.lanes[..] {
            [lane] => with_unit(&lane.name, self.unit),
            _ => with_unit("", self.unit),
        }
    }

    fn histogram(self) -> Drawn {
        let about = format!("histogram of {}", names(&self.lanes));
        let label = self.y_label();
        let all: Vec<f64> = self.lanes.iter().flat_map(|lane| &lane.numbers).copied().collect();
        let (start, width, n_bars) = bars_over(&all);
        let is_alone = self.lanes.len() == 1;
        let bars = |lane: &Lane| {
            let mut counts = vec![0; n_bars];
            for x in lane.numbers.iter().filter(|x| x.is_finite()) {
                let bar = ((x - start) / width) as usize;
                counts[bar.min(n_bars - 1)] += 1;
            }
            let name = if is_alone { String::new() } else { lane.name.clone() };
            Bars { name, start, width, counts }
        };
        let marks = Marks::Bars(self.lanes.iter().map(bars).collect());
        let (x, y) = (axis(label, Scale::Tight), axis("number of elements", Scale::Values));
        Drawn::of(&self.lanes, Chart { title: String::new(), x, y, marks }, about)
    }

    /// The first lane on one axis and the others on the other.
    fn first_and_others(self) -> Drawn {
        let (first, others) = self.lanes.split_first().expect("there are two");
        let about = format!("points of {} over {}", names(others), first.name);
        let y_label = match others {
            [lane] => with_unit(&lane.name, self.unit),
            _ => with_unit("", self.unit),
        };
        let (x, y) = (with_unit(&first.name, self.unit), axis(y_label, Scale::Values));
        let x = axis(x, Scale::Values);
        let pairs = |lane: &Lane| -> Vec<(f64, f64)> {
            first.numbers.iter().copied().zip(lane.numbers.iter().copied()).collect()
        };
        if let [lane] = others {
            let chart = scatter(pairs(lane), None, x, y);
            return Drawn::of(&self.lanes, chart, about);
        }
        // Of too many points in several lanes, an even selection is drawn.
        let step = (first.numbers.len() * others.len()).div_ceil(MAX_SHOWN).max(1);
        let series = |lane: &Lane| Series {
            name: lane.name.clone(),
            points: pairs(lane).into_iter().step_by(step).collect(),
        };
        let marks = Marks::Points(others.iter().map(series).collect());
        Drawn::of(&self.lanes, Chart { title: String::new(), x, y, marks }, about)
    }
}

/// The start, the width and the number of the bars for some numbers.
fn bars_over(all: &[f64]) -> (f64, f64, usize) {
    let Some((min, max)) = range(all).filter(|(min, max)| max - min < 1e300) else {
        return (0.0, 1.0, 1);
    };
    let finite = || all.iter().filter(|x| x.is_finite());
    if max - min < MAX_BARS as f64 && max.abs() < 1e15 && finite().all(|x| x.fract() == 0.0) {
        return (min - 0.5, 1.0, (max - min) as usize + 1);
    }
    if max - min <= max.abs().max(min.abs()) * 1e-9 {
        let width = if max == 0.0 { 1.0 } else { max.abs() * 0.1 };
        return (min - width / 2.0, width, 1);
    }
    let n = ((finite().count() as f64).sqrt().ceil() as usize).clamp(5, MAX_BARS);
    (min, (max - min) / n as f64, n)
}

/// Vectors as points, with the third component as color.
fn of_points(name: &str, unit: Option<&str>, lanes: &[Lane]) -> Drawn {
    let points: Vec<(f64, f64)> =
        lanes[0].numbers.iter().copied().zip(lanes[1].numbers.iter().copied()).collect();
    let label = |k: usize| with_unit(&lanes[k].name, unit);
    let (x, y) = (axis(label(0), Scale::Values), axis(label(1), Scale::Values));
    let third = lanes.get(2).map(|lane| (lane.numbers.as_slice(), label(2)));
    // A single color needs no legend.
    let third = third.filter(|(numbers, _)| range(numbers).is_some_and(|(min, max)| min < max));
    Drawn::of(lanes, scatter(points, third, x, y), format!("points of {name}"))
}

/// Points, or the number of points in each cell if there are many; with a third coordinate, its
/// mean per cell.
fn scatter(points: Vec<(f64, f64)>, third: Option<(&[f64], String)>, x: Axis, y: Axis) -> Chart {
    let is_counted = points.len() > MAX_SHOWN || third.is_some() && points.len() > 1;
    let numbers = third.as_ref().map(|(numbers, _)| *numbers);
    let cells = if is_counted { cells_of_points(&points, numbers) } else { None };
    let marks = match cells {
        Some(cells) => {
            let label = third.map_or(cells.label.clone(), |(_, label)| label);
            Marks::Cells(Cells { label, ..cells })
        }
        None => Marks::Points(vec![Series { name: String::new(), points }]),
    };
    Chart { title: String::new(), x, y, marks }
}

/// Lists of equal length, one below the other, with gaps for missing ones; nothing if the lengths
/// differ.
fn of_lists(
    (name, column, gaps): Named<'_>,
    element: Type,
    unit: Option<&str>,
    rows: &Places,
    wanted: Option<Kind>,
) -> Vec<Drawn> {
    let mut items = Vec::new();
    let mut n_items = None;
    for (row, value) in column.iter().enumerate() {
        let Value::List(list) = value else { return Vec::new() };
        if gaps.contains(row) {
            items.push(None);
            continue;
        }
        if *n_items.get_or_insert(list.len()) != list.len() {
            return Vec::new();
        }
        items.push(Some(list));
    }
    let Some(n) = n_items.filter(|n| *n > 0) else { return Vec::new() };
    let inner = Places::numbered("item", n);
    let mut all: Vec<Lane> = lanes_of(name, &Column::empty(element));
    for list in &items {
        let Some(list) = list else {
            for lane in &mut all {
                lane.numbers.extend(std::iter::repeat_n(f64::NAN, n));
                lane.n_failed += n;
            }
            continue;
        };
        for (lane, more) in all.iter_mut().zip(lanes_of(name, list)) {
            lane.numbers.extend(more.numbers);
        }
    }
    all.iter().filter_map(|lane| of_grid(lane, unit, &inner, rows, wanted)).collect()
}

/// A lane over two axes.
fn of_grid(
    lane: &Lane,
    unit: Option<&str>,
    inner: &Places,
    outer: &Places,
    wanted: Option<Kind>,
) -> Option<Drawn> {
    if lane.numbers.len() != inner.n * outer.n || lane.numbers.is_empty() {
        return None;
    }
    match wanted {
        None | Some(Kind::HeatMap) => {
            let label = with_unit(&lane.name, unit);
            let lanes = std::slice::from_ref(lane);
            Some(heat_map(label, (lanes, lane.numbers.clone()), inner, outer, &lane.name))
        }
        Some(Kind::Histogram) => {
            let lane = lane.clone();
            Some(Group { kind: Kind::Histogram, unit, lanes: vec![lane] }.histogram())
        }
        Some(kind) => {
            let step = outer.n.div_ceil(MAX_ROWS).max(1);
            let series = |row: usize| Series {
                name: format!("{}: {}", outer.label, crate::summary::short(outer.at(row))),
                points: thin(|i| inner.at(i), &lane.numbers[row * inner.n..(row + 1) * inner.n]),
            };
            let series: Vec<Series> = (0..outer.n).step_by(step).map(series).collect();
            let (is_lines, kind) =
                (kind == Kind::Lines, if kind == Kind::Lines { "lines" } else { "points" });
            let marks = if is_lines { Marks::Lines(series) } else { Marks::Points(series) };
            let x = axis(inner.label.as_str(), Scale::Tight);
            let y = axis(with_unit(&lane.name, unit), Scale::Values);
            let about = format!("{kind} of {} over {}", lane.name, inner.label);
            let chart = Chart { title: String::new(), x, y, marks };
            Some(Drawn::of(std::slice::from_ref(lane), chart, about))
        }
    }
}

/// A heat map of a grid, whose rows are the positions of `y`.
fn heat_map(
    label: String,
    (lanes, numbers): (&[Lane], Vec<f64>),
    x: &Places,
    y: &Places,
    name: &str,
) -> Drawn {
    let (x, y) = (x.evenly(), y.evenly());
    let (numbers, n_columns) = thin_grid(numbers, x.n);
    let cells = Cells { label, n_columns, numbers, x: x.borders(), y: y.borders() };
    let about = format!("heat map of {name} over {} and {}", x.label, y.label);
    let (x, y) = (axis(x.label, Scale::Tight), axis(y.label, Scale::Tight));
    let chart = Chart { title: String::new(), x, y, marks: Marks::Cells(cells) };
    Drawn::of(lanes, chart, about)
}
