//! Heat maps: a rectangle for each run of cells of one color, or a picture with a pixel per cell.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plotters::prelude::{DrawingBackend, RGBColor, Rectangle};
use plotters::style::Color;

use super::Cells;
use super::draw::{Context, DRAWS};

/// Colors of cells; runs of equal color are drawn as one rectangle.
pub(super) const N_SHADES: usize = 96;

/// A run of cells of one color in a row.
pub(super) struct Run {
    shade: usize,
    row: usize,
    start: usize,
    end: usize,
}

/// The colors of cells, row by row, the lowest first; `None` for empty cells.
fn shades(cells: &Cells) -> impl Iterator<Item = Option<usize>> + '_ {
    let (min, max) = cells.range().unwrap_or((0.0, 0.0));
    cells.numbers.iter().map(move |number| {
        let share =
            if min < max { (number / 2.0 - min / 2.0) / (max / 2.0 - min / 2.0) } else { 0.5 };
        number.is_finite().then(|| ((share * N_SHADES as f64) as usize).min(N_SHADES - 1))
    })
}

/// The runs of cells that are not empty.
pub(super) fn rectangles(cells: &Cells) -> impl Iterator<Item = Run> + '_ {
    let mut shades = shades(cells).enumerate().peekable();
    let n_columns = cells.n_columns;
    let mut next = move || {
        let (at, shade) = shades.next()?;
        let (row, start) = (at / n_columns, at % n_columns);
        let mut end = start + 1;
        while end < n_columns && shades.next_if(|(_, other)| *other == shade).is_some() {
            end += 1;
        }
        Some((shade, row, start, end))
    };
    std::iter::from_fn(move || {
        loop {
            let (shade, row, start, end) = next()?;
            if let Some(shade) = shade {
                return Some(Run { shade, row, start, end });
            }
        }
    })
}

/// Draws cells as rectangles.
pub(super) fn draw_cells<DB: DrawingBackend>(context: &mut Context<'_, DB>, cells: &Cells) {
    let (n_columns, n_rows) = (cells.n_columns, cells.n_rows());
    let border =
        |(from, to): (f64, f64), i: usize, n: usize| from + (to - from) * i as f64 / n as f64;
    let rectangle = |Run { shade, row, start, end }: Run| {
        let (low, high) = (border(cells.y, row, n_rows), border(cells.y, row + 1, n_rows));
        let (left, right) = (border(cells.x, start, n_columns), border(cells.x, end, n_columns));
        Rectangle::new([(left, low), (right, high)], color_of(shade).filled())
    };
    context.draw_series(rectangles(cells).map(rectangle)).expect(DRAWS);
}

/// The cells as an SVG element: a PNG with a pixel for each, whose edges stay sharp.
pub(super) fn picture_of<DB: DrawingBackend>(context: &Context<'_, DB>, cells: &Cells) -> String {
    let (left, bottom) = context.backend_coord(&(cells.x.0, cells.y.0));
    let (right, top) = context.backend_coord(&(cells.x.1, cells.y.1));
    let (width, height) = (right - left, bottom - top);
    // Old viewers know `optimizeSpeed` and `xlink:href` alone.
    format!(
        "<image x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" \
         preserveAspectRatio=\"none\" \
         style=\"image-rendering:optimizeSpeed;image-rendering:pixelated\" \
         xmlns:xlink=\"http://www.w3.org/1999/xlink\" \
         xlink:href=\"data:image/png;base64,{}\"/>\n",
        STANDARD.encode(png_of(cells))
    )
}

/// A PNG with a pixel for each cell, the highest row first; empty cells are transparent.
fn png_of(cells: &Cells) -> Vec<u8> {
    const EMPTY: usize = N_SHADES;
    let colors = (0..N_SHADES).map(color_of).chain([RGBColor(255, 255, 255)]);
    let palette: Vec<u8> = colors.flat_map(|RGBColor(r, g, b)| [r, g, b]).collect();
    let mut opacity = vec![255; N_SHADES + 1];
    opacity[EMPTY] = 0;
    let shades: Vec<u8> = shades(cells).map(|shade| shade.unwrap_or(EMPTY) as u8).collect();
    let pixels: Vec<u8> = shades.rchunks(cells.n_columns).flatten().copied().collect();
    let mut file = Vec::new();
    let size = (cells.n_columns as u32, cells.n_rows() as u32);
    let mut encoder = png::Encoder::new(&mut file, size.0, size.1);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(palette);
    encoder.set_trns(opacity);
    let mut writer = encoder.write_header().expect(DRAWS);
    writer.write_image_data(&pixels).expect(DRAWS);
    writer.finish().expect(DRAWS);
    file
}

/// From dark to light, perceptually uniform and legible without color (after `viridis`).
pub(super) fn color_of(shade: usize) -> RGBColor {
    const STOPS: [[f64; 3]; 5] = [
        [68.0, 1.0, 84.0],
        [59.0, 82.0, 139.0],
        [33.0, 145.0, 140.0],
        [94.0, 201.0, 98.0],
        [253.0, 231.0, 37.0],
    ];
    let at = shade as f64 / (N_SHADES - 1) as f64 * (STOPS.len() - 1) as f64;
    let i = (at as usize).min(STOPS.len() - 2);
    let part = at - i as f64;
    let [r, g, b] = [0, 1, 2].map(|c| (STOPS[i][c] + (STOPS[i + 1][c] - STOPS[i][c]) * part) as u8);
    RGBColor(r, g, b)
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Chart, Marks, Scale};
    use super::*;

    /// A heat map of these cells in SVG.
    fn svg_of(cells: Cells) -> String {
        let axis = |label: &str| Axis { label: label.into(), scale: Scale::Tight };
        let marks = Marks::Cells(cells);
        let chart = Chart { title: String::new(), x: axis("x"), y: axis("y"), marks };
        chart.svg().expect("a cell has a number")
    }

    fn noise(n_columns: usize, n_rows: usize) -> Cells {
        let number = |i: usize| {
            let number = (i.wrapping_mul(0x9E37_79B9) >> 7) % 1000;
            if number < 100 { f64::NAN } else { number as f64 }
        };
        let numbers = (0..n_columns * n_rows).map(number).collect();
        Cells { label: String::new(), n_columns, numbers, x: (2.0, 4.0), y: (-1.0, 1.0) }
    }

    #[test]
    fn many_cells_are_one_picture_with_the_colors_of_the_rectangles() {
        let cells = noise(240, 140);
        let svg = svg_of(cells.clone());
        assert!(svg.len() < 100_000, "{}", svg.len());
        let (_, data) = svg.split_once("data:image/png;base64,").expect("there is a picture");
        let data = STANDARD.decode(&data[..data.find('"').expect("it ends")]).expect("base64");
        let mut decoder = png::Decoder::new(std::io::Cursor::new(data));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().expect("a PNG");
        let mut pixels = vec![0; reader.output_buffer_size().expect("it is small")];
        let info = reader.next_frame(&mut pixels).expect("a PNG");
        assert_eq!((info.width, info.height, info.color_type), (240, 140, png::ColorType::Rgba));
        let mut expected = vec![[255, 255, 255, 0]; 240 * 140];
        for Run { shade, row, start, end } in rectangles(&cells) {
            let RGBColor(r, g, b) = color_of(shade);
            expected[(139 - row) * 240..][start..end].fill([r, g, b, 255]);
        }
        assert_eq!(pixels, expected.concat());
        // The picture is behind the grid, and in front of the background.
        let place = |text: &str| svg.find(text).expect("it is drawn");
        assert!(place("<rect") < place("<image") && place("<image") < place("<line"));
    }

    #[test]
    fn few_cells_stay_rectangles() {
        let svg = svg_of(noise(40, 40));
        assert!(!svg.contains("<image") && svg.matches("<rect").count() > 1000);
    }
}
