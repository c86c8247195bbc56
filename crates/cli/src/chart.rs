//! Charts as SVG or PNG: lines, points, histograms and heat maps, one below the other.
//!
//! Series differ by color; the legend stands beside the drawing.

mod axis;
mod cells;
mod draw;
mod thin;

use plotters::prelude::RGBColor;

pub(crate) use axis::{Axis, Scale};
pub(crate) use draw::{png, svg};
pub(crate) use thin::{MAX_SHOWN, cells_of_points, thin, thin_grid};

/// Colors that readers with red-green color blindness can tell apart.
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

/// Marks in a coordinate system.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) marks: Marks,
}

/// The kinds of marks.
#[derive(Clone, Debug)]
pub(crate) enum Marks {
    /// Lines through points in order. A point that the axes cannot show leaves a gap.
    Lines(Vec<Series>),
    /// Points.
    Points(Vec<Series>),
    /// Bars, one set per series.
    Bars(Vec<Bars>),
    /// Colored cells.
    Cells(Cells),
}

/// Named points; an unnamed or only series has no legend entry.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Adjacent bars of equal width.
#[derive(Clone, Debug)]
pub(crate) struct Bars {
    pub(crate) name: String,
    pub(crate) start: f64,
    pub(crate) width: f64,
    pub(crate) counts: Vec<usize>,
}

/// A grid of numbers shown as colors.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    /// The quantity, with its unit.
    pub(crate) label: String,
    pub(crate) n_columns: usize,
    /// Row by row, the lowest first. A number that is not finite leaves its cell empty.
    pub(crate) numbers: Vec<f64>,
    /// The outer edges of the first and last column, and of the first and last row.
    pub(crate) x: (f64, f64),
    pub(crate) y: (f64, f64),
}

impl Cells {
    fn n_rows(&self) -> usize {
        self.numbers.len() / self.n_columns.max(1)
    }

    /// The least and the greatest number.
    fn range(&self) -> Option<(f64, f64)> {
        axis::extent(self.numbers.iter().copied())
    }
}

impl Chart {
    /// The chart as a complete SVG document; `None` if there is nothing to draw.
    pub(crate) fn svg(&self) -> Option<String> {
        self.is_drawn().then(|| svg("", std::slice::from_ref(self)))
    }

    /// Whether the axes can show anything.
    pub(crate) fn is_drawn(&self) -> bool {
        match &self.marks {
            Marks::Lines(all) | Marks::Points(all) => {
                all.iter().any(|series| series.points.iter().any(|at| self.can_show(at)))
            }
            Marks::Bars(all) => all.iter().any(|bars| bars.counts.iter().any(|n| *n > 0)),
            Marks::Cells(cells) => cells.range().is_some(),
        }
    }

    /// The names and labels.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let names: Vec<&str> = match &self.marks {
            Marks::Lines(all) | Marks::Points(all) => all.iter().map(|it| &*it.name).collect(),
            Marks::Bars(all) => all.iter().map(|it| &*it.name).collect(),
            Marks::Cells(cells) => vec![&cells.label],
        };
        [&*self.title, &self.x.label, &self.y.label].into_iter().chain(names)
    }

    fn can_show(&self, (x, y): &(f64, f64)) -> bool {
        self.x.can_show(*x) && self.y.can_show(*y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(scale: Scale, points: Vec<(f64, f64)>) -> Chart {
        let axis = |label: &str| Axis { label: label.into(), scale };
        let marks = Marks::Lines(vec![Series { name: "a & \u{1}b".into(), points }]);
        Chart { title: "Title".into(), x: axis("x"), y: axis("y"), marks }
    }

    #[test]
    fn all_points_are_drawn_and_names_are_escaped() {
        let chart = lines(Scale::Values, vec![(0.0, 1.0), (1.0, 3.0), (2.0, 2.0)]);
        let svg = chart.svg().expect("there are points");
        // Each point of the line, and the legend sample, is a disc and a ring.
        assert_eq!(svg.matches("<circle").count(), 2 * (3 + 1));
        assert!(svg.contains("a &amp; \u{fffd}b") && svg.contains("Title"), "{svg}");
    }

    #[test]
    fn points_that_an_axis_cannot_show_are_left_out() {
        let points = vec![(0.0, 1.0), (1.0, f64::NAN), (10.0, 5.0), (100.0, 50.0)];
        let svg = lines(Scale::Log, points).svg().expect("two points remain");
        assert_eq!(svg.matches("<circle").count(), 2 * (2 + 1));
        assert_eq!(lines(Scale::Log, vec![(0.0, 0.0)]).svg(), None);
        assert_eq!(lines(Scale::Values, vec![(0.0, f64::INFINITY)]).svg(), None);
        assert_eq!(lines(Scale::Tight, Vec::new()).svg(), None);
    }

    #[test]
    fn any_numbers_have_axes_with_few_ticks() {
        let huge = f64::MAX;
        for numbers in [
            [5.0, 5.0],
            [0.0, -0.0],
            [-huge, huge],
            [-1e300, 1e300],
            [1e17, 1e17 + 16.0],
            [1.0, 1.0 + f64::EPSILON],
            [0.0, 5e-324],
            [-1e-300, 1e-300],
        ] {
            for scale in [Scale::Values, Scale::Tight] {
                let chart = lines(scale, numbers.map(|x| (x, x)).to_vec());
                let svg = chart.svg();
                assert_eq!(svg.is_none(), numbers == [-huge, huge], "{numbers:?}");
                let svg = svg.unwrap_or_default();
                assert!(svg.matches("<text").count() < 60, "{numbers:?} {svg}");
            }
        }
        assert!(lines(Scale::Log, vec![(5.0, 7.0)]).svg().is_some());
    }

    #[test]
    fn a_picture_is_a_png_of_the_same_charts() {
        let chart = lines(Scale::Values, vec![(0.0, 1.0), (1.0, 3.0), (2.0, 2.0)]);
        let one = png("Run", std::slice::from_ref(&chart));
        let two = png("Run", &[chart.clone(), chart]);
        assert!(one.starts_with(b"\x89PNG\r\n\x1a\n") && one.len() < two.len());
    }

    #[test]
    fn cells_of_one_color_are_drawn_at_once() {
        let cells = |numbers: Vec<f64>| {
            let axis = |label: &str| Axis { label: label.into(), scale: Scale::Tight };
            let cells = Cells {
                label: "z in m".into(),
                n_columns: 4,
                numbers,
                x: (0.0, 4.0),
                y: (0.0, 2.0),
            };
            let marks = Marks::Cells(cells);
            Chart { title: String::new(), x: axis("x"), y: axis("y"), marks }.svg()
        };
        let rects = |svg: Option<String>| svg.unwrap_or_default().matches("<rect").count();
        let same = rects(cells(vec![1.0; 8]));
        let mixed = rects(cells(vec![0.0, 1.0, 0.0, f64::NAN, 0.0, 0.0, 0.0, 0.0]));
        assert_eq!(mixed, same + 2, "three runs and a gap, and one run");
        assert_eq!(cells(vec![f64::NAN; 8]), None);
    }
}
