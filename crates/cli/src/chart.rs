//! Line charts as SVG.
//!
//! Colors tell lines apart, and the legend stands beside the drawing.

use std::ops::Range;

use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::{
    ChartBuilder, Circle, IntoDrawingArea, IntoLogRange, LineSeries, PathElement, RGBColor,
    SVGBackend, TRANSPARENT, Text, WHITE,
};
use plotters::style::{Color, IntoFont, ShapeStyle, TextStyle};

/// Pixels: the chart, and the part of it that the legend takes.
const SIZE: (u32, u32) = (900, 440);
const LEGEND: i32 = 230;

const INK: RGBColor = RGBColor(60, 60, 60);

/// Colors that are told apart also by readers who do not see red and green as different.
const COLORS: [RGBColor; 8] = [
    RGBColor(0, 90, 180),
    RGBColor(220, 90, 0),
    RGBColor(0, 150, 115),
    RGBColor(200, 60, 140),
    RGBColor(90, 90, 90),
    RGBColor(190, 150, 0),
    RGBColor(80, 170, 230),
    RGBColor(120, 60, 170),
];

/// Lines over a common axis.
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) lines: Vec<Line>,
}

/// An axis: what it shows, with the unit.
pub(crate) struct Axis {
    pub(crate) label: String,
    /// Whether equal distances are equal ratios. Numbers that are not positive are left out then.
    pub(crate) is_log: bool,
}

/// A line through points, from left to right.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

impl Chart {
    /// The chart as an SVG document; `None` if there is no point to draw.
    pub(crate) fn svg(&self) -> Option<String> {
        let drawn = |&(x, y): &(f64, f64)| self.x.can_show(x) && self.y.can_show(y);
        let lines: Vec<Line> = self
            .lines
            .iter()
            .map(|line| Line {
                name: line.name.clone(),
                points: line.points.iter().copied().filter(drawn).collect(),
            })
            .filter(|line| !line.points.is_empty())
            .collect();
        let points = || lines.iter().flat_map(|line| &line.points);
        let x = self.x.range(points().map(|point| point.0))?;
        let y = self.y.range(points().map(|point| point.1))?;
        Some(match (self.x.is_log, self.y.is_log) {
            (false, false) => self.draw(&lines, x, y),
            (true, false) => self.draw(&lines, x.log_scale(), y),
            (false, true) => self.draw(&lines, x, y.log_scale()),
            (true, true) => self.draw(&lines, x.log_scale(), y.log_scale()),
        })
    }

    fn draw<X, Y>(&self, lines: &[Line], x: X, y: Y) -> String
    where
        X: AsRangedCoord<Value = f64>,
        X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y: AsRangedCoord<Value = f64>,
        Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        const WRITES: &str = "drawing into a string does not fail";
        let text = |size: i32| TextStyle::from(("sans-serif", size).into_font()).color(&INK);
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE).expect(WRITES);
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, text(17))
            .margin(10)
            .margin_right(LEGEND)
            .x_label_area_size(42)
            .y_label_area_size(64)
            .build_cartesian_2d(x, y)
            .expect(WRITES);
        let mut mesh = chart.configure_mesh();
        mesh.x_desc(&self.x.label).y_desc(&self.y.label).axis_desc_style(text(13));
        mesh.label_style(text(12)).light_line_style(TRANSPARENT);
        mesh.bold_line_style(INK.mix(0.15)).axis_style(INK.mix(0.6));
        mesh.x_label_formatter(&|x| number(*x)).y_label_formatter(&|y| number(*y));
        mesh.draw().expect(WRITES);
        for (k, line) in lines.iter().enumerate() {
            let at = || line.points.iter().copied();
            let color = COLORS[k % COLORS.len()];
            chart.draw_series(LineSeries::new(at(), color.stroke_width(2))).expect(WRITES);
            let dots = at().map(|at| Circle::new(at, 3, fill(k)));
            chart.draw_series(dots).expect(WRITES);
            let dots = at().map(|at| Circle::new(at, 3, color.stroke_width(1)));
            chart.draw_series(dots).expect(WRITES);
        }
        drop(chart);
        for (k, line) in lines.iter().enumerate() {
            let (x, y) = (SIZE.0 as i32 - LEGEND + 14, 46 + 19 * k as i32);
            let color = COLORS[k % COLORS.len()];
            let path = PathElement::new([(x, y), (x + 22, y)], color.stroke_width(2));
            area.draw(&path).expect(WRITES);
            area.draw(&Circle::new((x + 11, y), 3, fill(k))).expect(WRITES);
            area.draw(&Circle::new((x + 11, y), 3, color.stroke_width(1))).expect(WRITES);
            area.draw(&Text::new(&*line.name, (x + 28, y - 6), text(12))).expect(WRITES);
        }
        area.present().expect(WRITES);
        drop(area);
        svg
    }
}

/// The inside of the points of a line: lines beyond the number of colors have hollow ones.
fn fill(line: usize) -> ShapeStyle {
    let color = if line < COLORS.len() { COLORS[line] } else { WHITE };
    color.filled()
}

impl Axis {
    /// An axis on which equal distances are equal ratios.
    pub(crate) fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), is_log: true }
    }

    fn can_show(&self, at: f64) -> bool {
        at.is_finite() && (!self.is_log || at > 0.0)
    }

    /// The range that shows all numbers; `None` without numbers.
    fn range(&self, numbers: impl Iterator<Item = f64>) -> Option<Range<f64>> {
        let (min, max) = numbers.fold(None, |range: Option<(f64, f64)>, x| {
            let (min, max) = range.unwrap_or((x, x));
            Some((min.min(x), max.max(x)))
        })?;
        Some(if self.is_log {
            // Whole powers of ten, unless the numbers are within one of them.
            let (low, high) = (10_f64.powf(min.log10().floor()), 10_f64.powf(max.log10().ceil()));
            if low < high { low..high } else { min / 2.0..max * 2.0 }
        } else {
            let margin = if min < max { (max - min) * 0.04 } else { min.abs().max(1.0) };
            // Amounts start at zero.
            let low = if min >= 0.0 { 0.0 } else { min - margin };
            low..max + margin
        })
    }
}

/// A number as people write it on an axis: `0.05`, `20`, `5k`, `3M`, `2e-6`.
fn number(x: f64) -> String {
    let scaled = |by: f64, unit: &str| format!("{}{unit}", short(x / by));
    match x.abs() {
        0.0 => "0".into(),
        1e-3..1e3 => short(x),
        1e3..1e6 => scaled(1e3, "k"),
        1e6..1e9 => scaled(1e6, "M"),
        _ => format!("{x:e}"),
    }
}

fn short(x: f64) -> String {
    // Rounding errors of the steps of an axis are not shown.
    let rounded = format!("{x:.4}");
    rounded.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(is_log: bool, points: Vec<(f64, f64)>) -> Option<String> {
        let axis = |label: &str| Axis { label: label.into(), is_log };
        let lines = vec![Line { name: "a & b".into(), points }];
        Chart { title: "Title".into(), x: axis("x"), y: axis("y"), lines }.svg()
    }

    #[test]
    fn all_points_are_drawn_and_names_are_escaped() {
        let svg = chart(false, vec![(0.0, 1.0), (1.0, 3.0), (2.0, 2.0)]).expect("there are points");
        // Each point of the line, and the sample in the legend, is a disc and a ring.
        assert_eq!(svg.matches("<circle").count(), 2 * (3 + 1));
        assert!(svg.contains("a &amp; b") && svg.contains("Title"), "{svg}");
    }

    #[test]
    fn points_that_an_axis_cannot_show_are_left_out() {
        let points = vec![(0.0, 1.0), (1.0, f64::NAN), (10.0, 5.0), (100.0, 50.0)];
        let svg = chart(true, points).expect("two points remain");
        assert_eq!(svg.matches("<circle").count(), 2 * (2 + 1));
        assert_eq!(chart(true, vec![(0.0, 0.0)]), None);
        assert_eq!(chart(false, Vec::new()), None);
    }

    #[test]
    fn equal_numbers_have_a_range() {
        assert!(chart(false, vec![(5.0, 0.0), (5.0, 0.0)]).is_some());
        assert!(chart(true, vec![(5.0, 7.0)]).is_some());
    }

    #[test]
    fn numbers_are_short() {
        let told = [0.0, 0.05, 0.1 + 0.2, 20.0, 5000.0, 3e6, 2e-6, -1500.0].map(number);
        assert_eq!(told, ["0", "0.05", "0.3", "20", "5k", "3M", "2e-6", "-1.5k"]);
    }
}
