//! Large views, evaluated strip by strip.
//!
//! A strip has the width of the picture and is pulled by the encoder. It is evaluated in tiles: the
//! filters of a graph read beyond their tile, so the memory for its images depends on the size of a
//! tile and their reach, whatever the size of the picture.

use std::ops::Range;
use std::path::Path;

use millstream::evaluate::EvalError;
use millstream::values::Image;
use millstream::{Answer, Footprint, Request};

use super::name_of;
use crate::outcome::{Exit, Stop};
use crate::request::refused;
use crate::run::report_failures;
use crate::tables::Coordinates;

/// The most pixels of a strip, unless one row has more.
const STRIP: usize = 1 << 20;

/// The most rows of a strip.
const ROWS: usize = 256;

/// The most columns of a tile.
const COLUMNS: usize = 2048;

/// Whether a view of this many pixels is evaluated in strips.
pub(super) fn is_large(n_pixels: usize) -> bool {
    n_pixels > 2 * STRIP
}

/// The strips of a picture.
pub(super) struct Strips<'a, E> {
    /// Evaluates a request for a part of the view.
    pub(super) evaluate: E,
    pub(super) request: &'a Request,
    pub(super) view: &'a Footprint,
    pub(super) output: &'a str,
    pub(super) path: &'a Path,
}

/// The values of a few rows of a picture, the uppermost first.
pub(super) struct Strip {
    pub(super) rows: Range<usize>,
    pub(super) n_channels: usize,
    pub(super) values: Vec<f32>,
}

/// What the first tile of a picture shows.
pub(super) enum First {
    /// The requested pixels.
    Strip(Strip),
    /// An image with a size of its own, whatever the view is.
    Own(Image),
}

impl<E: FnMut(&Request) -> Result<Answer, EvalError>> Strips<'_, E> {
    /// The first strip.
    pub(super) fn first(&mut self) -> Result<First, Stop> {
        let rows = self.rows_from(0);
        let columns = 0..COLUMNS.min(self.view.size()[0]);
        let part = self.part(&rows, &columns);
        let image = self.tile(&part)?;
        if *image.view() == part {
            self.strip(rows, Some(image)).map(First::Strip)
        } else {
            Ok(First::Own(image))
        }
    }

    /// The strip whose uppermost row is this one, counted from the top of the picture.
    pub(super) fn strip_from(&mut self, row: usize) -> Result<Strip, Stop> {
        self.strip(self.rows_from(row), None)
    }

    fn rows_from(&self, row: usize) -> Range<usize> {
        let [width, height] = self.view.size();
        let n = (STRIP / width.max(1)).clamp(1, ROWS);
        row..height.min(row + n)
    }

    /// The strip of some rows, of which the leftmost tile may be known.
    fn strip(&mut self, rows: Range<usize>, mut known: Option<Image>) -> Result<Strip, Stop> {
        let width = self.view.size()[0];
        let (mut n, mut values) = (0, Vec::new());
        for start in (0..width).step_by(COLUMNS) {
            let columns = start..width.min(start + COLUMNS);
            let image = match known.take() {
                Some(image) => image,
                None => self.tile(&self.part(&rows, &columns))?,
            };
            if start == 0 {
                n = image.n_channels();
                values.resize(rows.len() * width * n, 0.0);
            }
            if [image.width(), image.height(), image.n_channels()] != [columns.len(), rows.len(), n]
            {
                let text =
                    format!("the parts of `{}` differ in their size or channels", self.output);
                let help =
                    "this is a fault of Millstream; a smaller picture is computed in one piece";
                return Err(Stop::new(Exit::Failed, text, Some(help.into())));
            }
            for row in 0..rows.len() {
                let to = &mut values[(row * width + start) * n..][..columns.len() * n];
                to.copy_from_slice(image.row_from_top(row));
            }
        }
        Ok(Strip { rows, n_channels: n, values })
    }

    /// The view with these rows, counted from the top, and columns requested.
    fn part(&self, rows: &Range<usize>, columns: &Range<usize>) -> Footprint {
        let [left, _, _, upper] = self.view.crop;
        let at = |n: usize| i32::try_from(n).expect("a crop consists of i32");
        let [right, lower] = [left + at(columns.end), upper - at(rows.end)];
        self.view.with_crop([left + at(columns.start), lower, right, upper - at(rows.start)])
    }

    /// The image of a part of the view.
    fn tile(&mut self, part: &Footprint) -> Result<Image, Stop> {
        let request = self.request.clone().view(part.clone());
        let answer: Answer = (self.evaluate)(&request).map_err(|error| refused(&error))?;
        report_failures(&answer, &Coordinates::default());
        match answer.value::<Image>(self.output) {
            Some(image) if answer.failures.is_empty() => Ok(image),
            _ => {
                let text = format!("{} was not written", name_of(self.path));
                Err(Stop::new(Exit::Failed, text, None))
            }
        }
    }
}
