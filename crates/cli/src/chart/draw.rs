//! Drawing of charts, the same for SVG and PNG.

use std::ops::Range;
use std::sync::Once;

use millstream::values::Font;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{
    BitMapBackend, Cartesian2d, ChartBuilder, ChartContext, Circle, DrawingArea, DrawingBackend,
    IntoDrawingArea, IntoLogRange, LogCoord, PathElement, RGBColor, Rectangle, SVGBackend,
    TRANSPARENT, Text, WHITE,
};
use plotters::style::{Color, FontStyle, IntoFont, ShapeStyle, TextStyle, register_font};

use super::axis::{Axis, apart, labels};
use super::cells::{N_SHADES, color_of, draw_cells, picture_of, rectangles};
use super::{Bars, COLORS, Cells, Chart, Marks, Series};

/// In pixels: the total width, the height of a single chart and of one among several, the height of
/// the title, and the width of the legend.
const WIDTH: u32 = 900;
const HEIGHT: u32 = 440;
const HEIGHT_OF_SEVERAL: u32 = 320;
const TITLE: u32 = 30;
const LEGEND: u32 = 230;

/// The maximum length of a name in the legend, in characters.
const MAX_NAME: usize = 30;

/// Lines with at most this many points show each of them as a dot.
const MAX_DOTS: usize = 120;

/// The maximum number of rectangles of a heat map in an SVG; one with more is a picture.
const MAX_RECTANGLES: usize = 2000;

const INK: RGBColor = RGBColor(60, 60, 60);

pub(super) const DRAWS: &str = "drawing into memory does not fail";

/// The sizes of drawing elements, in pixels of the picture.
#[derive(Clone, Copy)]
struct Pen {
    /// Pixels of the picture per pixel of the drawing.
    scale: u32,
}

/// A chart that is being drawn.
pub(super) type Context<'c, DB> = ChartContext<'c, DB, Cartesian2d<Coordinate, Coordinate>>;

/// The numbers along an axis; one type, so that drawing is compiled once for all scales.
pub(super) enum Coordinate {
    Linear(RangedCoordf64),
    Log(LogCoord<f64>),
}

impl Coordinate {
    fn of(axis: &Axis, range: &Range<f64>) -> Self {
        if axis.is_log() {
            Self::Log(range.clone().log_scale().into())
        } else {
            Self::Linear(range.clone().into())
        }
    }
}

impl Ranged for Coordinate {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        match self {
            Self::Linear(inner) => inner.map(value, limit),
            Self::Log(inner) => inner.map(value, limit),
        }
    }

    fn key_points<H: KeyPointHint>(&self, hint: H) -> Vec<f64> {
        match self {
            Self::Linear(inner) => inner.key_points(hint),
            Self::Log(inner) => inner.key_points(hint),
        }
    }

    fn range(&self) -> Range<f64> {
        match self {
            Self::Linear(inner) => inner.range(),
            Self::Log(inner) => inner.range(),
        }
    }
}

/// The charts as an SVG document. Heat maps of many cells are pictures in it.
pub(crate) fn svg(title: &str, charts: &[Chart]) -> String {
    let pen = Pen { scale: 1 };
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, pen.size(title, charts)).into_drawing_area();
    let mut pictures = Vec::new();
    pen.draw_all(&area, title, charts, Some(&mut pictures));
    area.present().expect(DRAWS);
    drop(area);
    // The first element is the background, and pictures are drawn below everything else.
    let background = svg.find("/>\n").expect("the background is drawn") + "/>\n".len();
    svg.insert_str(background, &pictures.concat());
    // XML cannot hold control characters, not even escaped.
    svg.replace(|c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r'), "\u{fffd}")
}

/// The charts as a PNG file, at twice the resolution.
pub(crate) fn png(title: &str, charts: &[Chart]) -> Vec<u8> {
    let pen = Pen { scale: 2 };
    let (width, height) = pen.size(title, charts);
    let mut pixels = vec![0; width as usize * height as usize * 3];
    let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
    pen.draw_all(&area, title, charts, None);
    area.present().expect(DRAWS);
    drop(area);
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().expect(DRAWS);
    writer.write_image_data(&pixels).expect(DRAWS);
    writer.finish().expect(DRAWS);
    file
}

/// Registers the font that text is drawn and measured with.
fn have_font() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let known = register_font("sans-serif", FontStyle::Normal, Font::BUILT_IN);
        assert!(known.is_ok(), "the built-in font is valid");
    });
}

impl Pen {
    fn px(self, n: u32) -> u32 {
        n * self.scale
    }

    fn at(self, n: i32) -> i32 {
        n * self.scale as i32
    }

    fn text(self, size: u32) -> TextStyle<'static> {
        TextStyle::from(("sans-serif", self.px(size)).into_font()).color(&INK)
    }

    fn heights(charts: &[Chart]) -> u32 {
        if charts.len() == 1 { HEIGHT } else { HEIGHT_OF_SEVERAL }
    }

    fn size(self, title: &str, charts: &[Chart]) -> (u32, u32) {
        let above = if title.is_empty() { 0 } else { TITLE };
        let height = above + Self::heights(charts) * charts.len() as u32;
        (self.px(WIDTH), self.px(height))
    }

    fn draw_all<DB: DrawingBackend>(
        self,
        area: &DrawingArea<DB, Shift>,
        title: &str,
        charts: &[Chart],
        mut pictures: Option<&mut Vec<String>>,
    ) {
        have_font();
        area.fill(&WHITE).expect(DRAWS);
        let mut below = area.clone();
        if !title.is_empty() {
            let (head, rest) = area.split_vertically(self.px(TITLE));
            let at = (self.at(12), self.at(10));
            head.draw(&Text::new(cut(title, 90), at, self.text(17))).expect(DRAWS);
            below = rest;
        }
        for chart in charts {
            let (this, rest) = below.split_vertically(self.px(Self::heights(charts)));
            self.draw(&this, chart, pictures.as_deref_mut());
            below = rest;
        }
    }

    /// Draws a chart. `pictures` takes heat maps of many cells, as elements of an SVG.
    fn draw<DB: DrawingBackend>(
        self,
        area: &DrawingArea<DB, Shift>,
        chart: &Chart,
        pictures: Option<&mut Vec<String>>,
    ) {
        let Some((x, y)) = ranges(chart) else { return };
        let mut builder = ChartBuilder::on(area);
        builder.margin(self.px(10)).margin_right(self.px(if has_legend(chart) {
            LEGEND
        } else {
            24
        }));
        if !chart.title.is_empty() {
            builder.caption(&chart.title, self.text(17));
        }
        builder.x_label_area_size(self.px(42)).y_label_area_size(self.px(64));
        let coordinates =
            [(&chart.x, &x), (&chart.y, &y)].map(|(axis, range)| Coordinate::of(axis, range));
        let [x_coordinate, y_coordinate] = coordinates;
        let mut context = builder.build_cartesian_2d(x_coordinate, y_coordinate).expect(DRAWS);
        // Cells are drawn below the grid.
        if let Marks::Cells(cells) = &chart.marks {
            match pictures {
                Some(pictures) if rectangles(cells).nth(MAX_RECTANGLES).is_some() => {
                    pictures.push(picture_of(&context, cells));
                }
                Some(_) | None => draw_cells(&mut context, cells),
            }
        }
        let (x_label, y_label) = (labels(&x), labels(&y));
        let (x_label, y_label) = (|x: &f64| x_label(*x), |y: &f64| y_label(*y));
        let mut mesh = context.configure_mesh();
        mesh.x_desc(&chart.x.label).y_desc(&chart.y.label).axis_desc_style(self.text(13));
        mesh.label_style(self.text(12)).light_line_style(TRANSPARENT);
        mesh.bold_line_style(INK.mix(0.15).stroke_width(self.scale));
        mesh.axis_style(INK.mix(0.6).stroke_width(self.scale));
        mesh.x_label_formatter(&x_label).y_label_formatter(&y_label);
        mesh.draw().expect(DRAWS);
        match &chart.marks {
            Marks::Lines(all) => self.lines(&mut context, chart, all),
            Marks::Points(all) => self.points(&mut context, chart, all),
            Marks::Bars(all) => self.bars(&mut context, all),
            Marks::Cells(_) => {}
        }
        drop(context);
        if has_legend(chart) {
            self.legend(area, chart);
        }
    }

    fn lines<DB: DrawingBackend>(
        self,
        context: &mut Context<'_, DB>,
        chart: &Chart,
        all: &[Series],
    ) {
        let n_points: usize = all.iter().map(|series| series.points.len()).sum();
        for (k, series) in all.iter().enumerate() {
            let style = COLORS[k % COLORS.len()].stroke_width(self.px(2));
            for part in series.points.split(|at| !chart.can_show(at)) {
                // In pixels, the miter of a sharp bend would be a peak that is not in the data, so each
                // segment is drawn by itself.
                let n_joined = if self.scale == 1 { part.len() } else { 2 };
                if part.len() > 1 {
                    let paths = part.windows(n_joined);
                    let paths = paths.map(|points| PathElement::new(points.to_vec(), style));
                    context.draw_series(paths).expect(DRAWS);
                }
                if n_points <= MAX_DOTS || part.len() == 1 {
                    let size = if n_points <= MAX_DOTS { 3 } else { 1 };
                    self.dots(context, part, size, k);
                }
            }
        }
    }

    /// Draws a disc and a ring for each point.
    fn dots<DB: DrawingBackend>(
        self,
        context: &mut Context<'_, DB>,
        points: &[(f64, f64)],
        size: u32,
        k: usize,
    ) {
        let size = self.px(size);
        let ring = COLORS[k % COLORS.len()].stroke_width(self.scale);
        let dots = points.iter().map(|at| Circle::new(*at, size, fill(k)));
        context.draw_series(dots).expect(DRAWS);
        let rings = points.iter().map(|at| Circle::new(*at, size, ring));
        context.draw_series(rings).expect(DRAWS);
    }

    fn points<DB: DrawingBackend>(
        self,
        context: &mut Context<'_, DB>,
        chart: &Chart,
        all: &[Series],
    ) {
        for (k, series) in all.iter().enumerate() {
            let style = COLORS[k % COLORS.len()].mix(0.6).filled();
            let shown = series.points.iter().filter(|at| chart.can_show(at));
            let points = shown.map(|at| Circle::new(*at, self.px(2), style));
            context.draw_series(points).expect(DRAWS);
        }
    }

    fn bars<DB: DrawingBackend>(self, context: &mut Context<'_, DB>, all: &[Bars]) {
        let strength = if all.len() == 1 { 0.8 } else { 0.45 };
        for (k, bars) in all.iter().enumerate() {
            let color = COLORS[k % COLORS.len()];
            let counts = bars.counts.iter().enumerate().filter(|(_, n)| **n > 0);
            let corners = counts.map(|(i, n)| {
                let left = bars.start + bars.width * i as f64;
                [(left, 0.0), (bars.start + bars.width * (i + 1) as f64, *n as f64)]
            });
            let corners: Vec<_> = corners.collect();
            let filled = corners.iter().map(|at| Rectangle::new(*at, color.mix(strength).filled()));
            context.draw_series(filled).expect(DRAWS);
            let border = color.stroke_width(self.scale);
            let borders = corners.iter().map(|at| Rectangle::new(*at, border));
            context.draw_series(borders).expect(DRAWS);
        }
    }

    fn legend<DB: DrawingBackend>(self, area: &DrawingArea<DB, Shift>, chart: &Chart) {
        let left = area.dim_in_pixel().0 as i32 - self.at(LEGEND as i32) + self.at(14);
        if let Marks::Cells(cells) = &chart.marks {
            self.shades(area, cells, left);
            return;
        }
        for (k, name) in names(&chart.marks).iter().enumerate() {
            let y = self.at(46 + 19 * k as i32);
            let color = COLORS[k % COLORS.len()];
            let (right, middle) = (left + self.at(22), (left + self.at(11), y));
            if let Marks::Lines(_) = &chart.marks {
                let path =
                    PathElement::new([(left, y), (right, y)], color.stroke_width(self.px(2)));
                area.draw(&path).expect(DRAWS);
            }
            let size = self.px(3);
            area.draw(&Circle::new(middle, size, fill(k))).expect(DRAWS);
            area.draw(&Circle::new(middle, size, color.stroke_width(self.scale))).expect(DRAWS);
            let at = (left + self.at(28), y - self.at(6));
            area.draw(&Text::new(cut(name, MAX_NAME), at, self.text(12))).expect(DRAWS);
        }
    }

    /// Draws the legend of the color scale.
    fn shades<DB: DrawingBackend>(self, area: &DrawingArea<DB, Shift>, cells: &Cells, left: i32) {
        let Some((min, max)) = cells.range() else { return };
        let height = area.dim_in_pixel().1 as i32;
        let (top, bottom) = (self.at(64), height - self.at(56));
        let name = Text::new(cut(&cells.label, MAX_NAME), (left, top - self.at(24)), self.text(12));
        area.draw(&name).expect(DRAWS);
        let y_of = |k: usize| bottom - (bottom - top) * k as i32 / N_SHADES as i32;
        for k in 0..N_SHADES {
            let corners = [(left, y_of(k + 1)), (left + self.at(16), y_of(k))];
            area.draw(&Rectangle::new(corners, color_of(k).filled())).expect(DRAWS);
        }
        let (low, high) = apart(min, max);
        let label = labels(&(low..high));
        for (number, y) in [(min, bottom), (max, top)] {
            let at = (left + self.at(22), y - self.at(6));
            area.draw(&Text::new(label(number), at, self.text(12))).expect(DRAWS);
            if min == max {
                break;
            }
        }
    }
}

/// The ranges of the axes; `None` if there is nothing to draw.
fn ranges(chart: &Chart) -> Option<(Range<f64>, Range<f64>)> {
    if !chart.is_drawn() {
        return None;
    }
    match &chart.marks {
        Marks::Lines(all) | Marks::Points(all) => {
            let points = || all.iter().flat_map(|s| &s.points).filter(|at| chart.can_show(at));
            let x = chart.x.range(points().map(|at| at.0))?;
            Some((x, chart.y.range(points().map(|at| at.1))?))
        }
        Marks::Bars(all) => {
            let ends =
                |bars: &Bars| [bars.start, bars.start + bars.width * bars.counts.len() as f64];
            let most = all.iter().flat_map(|bars| &bars.counts).max()?;
            let x = chart.x.range(all.iter().flat_map(ends))?;
            Some((x, 0.0..*most as f64 * 1.04))
        }
        Marks::Cells(cells) => Some((cells.x.0..cells.x.1, cells.y.0..cells.y.1)),
    }
}

fn names(marks: &Marks) -> Vec<&str> {
    match marks {
        Marks::Lines(all) | Marks::Points(all) => all.iter().map(|it| it.name.as_str()).collect(),
        Marks::Bars(all) => all.iter().map(|it| it.name.as_str()).collect(),
        Marks::Cells(cells) => vec![cells.label.as_str()],
    }
}

fn has_legend(chart: &Chart) -> bool {
    names(&chart.marks).iter().any(|name| !name.is_empty())
}

/// Truncates a text to this many characters.
fn cut(text: &str, n_most: usize) -> String {
    if text.chars().count() <= n_most {
        return text.to_owned();
    }
    text.chars().take(n_most - 1).chain(['…']).collect()
}

/// The fill of the points of a line: lines beyond the number of colors have hollow points.
fn fill(line: usize) -> ShapeStyle {
    let color = if line < COLORS.len() { COLORS[line] } else { WHITE };
    color.filled()
}
