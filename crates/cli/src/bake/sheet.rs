//! The contact sheet: thumbnails of some frames side by side.

use std::path::Path;

use millstream::Footprint;
use millstream::values::Image;

use crate::outcome::Stop;
use crate::picture::PictureTarget;
use crate::terminal::eprint;

/// The name of the file.
pub(super) const NAME: &str = "sheet.png";

/// The maximum number of thumbnails.
const MAX_THUMBNAILS: usize = 20;

/// Thumbnails per row.
const IN_ROW: usize = 5;

/// The maximum width and height of a thumbnail in pixels.
const SIDE: usize = 256;

/// Pixels between thumbnails.
const GAP: usize = 4;

/// The brightness of the gaps.
const GRAY: f32 = 0.05;

pub(super) struct Sheet {
    /// The positions of the frames on the sheet.
    positions: Vec<usize>,
    frames: Vec<i64>,
    pictures: Vec<Small>,
}

/// A thumbnail in red, green and blue, from its upper left corner.
struct Small {
    position: usize,
    width: usize,
    height: usize,
    pixels: Vec<[f32; 3]>,
}

impl Sheet {
    /// A sheet of evenly spaced frames, including the first and the last.
    pub(super) fn new(frames: &[i64]) -> Self {
        let n = frames.len();
        let shown = n.min(MAX_THUMBNAILS);
        let positions: Vec<usize> =
            (0..shown).map(|i| if shown == 1 { 0 } else { i * (n - 1) / (shown - 1) }).collect();
        let frames = positions.iter().map(|position| frames[*position]).collect();
        Self { positions, frames, pictures: Vec::new() }
    }

    /// Whether a frame is on the sheet.
    pub(super) fn shows(&self, position: usize) -> bool {
        self.positions.binary_search(&position).is_ok()
    }

    /// Adds the picture of a frame if it is on the sheet.
    pub(super) fn push(&mut self, position: usize, image: &Image) {
        if self.shows(position) && image.width() > 0 && image.height() > 0 {
            self.pictures.push(small(position, image));
        }
    }

    /// Writes the sheet and returns its file name.
    pub(super) fn write(self, folder: &Path) -> Result<Option<String>, Stop> {
        let Some(first) = self.pictures.first() else { return Ok(None) };
        let n = self.pictures.len();
        let (in_row, n_rows) = (n.min(IN_ROW), n.div_ceil(IN_ROW));
        let [cell_w, cell_h] = [first.width + GAP, first.height + GAP];
        let [width, height] = [in_row * cell_w + GAP, n_rows * cell_h + GAP];
        let mut values = vec![GRAY; width * height * 3];
        for (i, picture) in self.pictures.iter().enumerate() {
            let [left, top] = [i % IN_ROW * cell_w + GAP, i / IN_ROW * cell_h + GAP];
            for y in 0..picture.height.min(first.height) {
                for x in 0..picture.width.min(first.width) {
                    // Rows of images start at the lower edge.
                    let at = ((height - 1 - top - y) * width + left + x) * 3;
                    let pixel = picture.pixels[y * picture.width + x];
                    values[at..at + 3].copy_from_slice(&pixel);
                }
            }
        }
        let view = Footprint::of_size(width as i32, height as i32);
        let sheet =
            Image::from_channels(view, 3, values).expect("the buffer has one pixel per position");
        let path = folder.join(NAME);
        let target = PictureTarget::of(&path, None).expect("the extension is that of a picture");
        target.write_image(&path, &sheet)?;
        let frame = |picture: &Small| {
            let at = self.positions.iter().position(|position| *position == picture.position);
            self.frames[at.expect("only frames on the sheet have thumbnails")].to_string()
        };
        let frames: Vec<String> = self.pictures.iter().map(frame).collect();
        eprint(&format!("{NAME} shows the frames {}\n", frames.join(", ")));
        Ok(Some(NAME.to_owned()))
    }
}

/// Averages squares of pixels; transparent parts turn black.
fn small(position: usize, image: &Image) -> Small {
    let by = image.width().max(image.height()).div_ceil(SIDE).max(1);
    let [width, height] = [image.width() / by, image.height() / by].map(|n| n.max(1));
    let n = image.n_channels();
    let mut pixels = vec![[0.0_f32; 3]; width * height];
    for (y, row) in pixels.chunks_exact_mut(width).enumerate() {
        let rows = (y * by..image.height().min((y + 1) * by)).map(|y| image.row_from_top(y));
        for from in rows {
            for (x, pixel) in row.iter_mut().enumerate() {
                for channels in from.chunks_exact(n).skip(x * by).take(by) {
                    let rgb = if n < 3 { [channels[0]; 3] } else { [0, 1, 2].map(|i| channels[i]) };
                    (0..3).for_each(|i| pixel[i] += rgb[i]);
                }
            }
        }
    }
    let scale = 1.0 / (by.min(image.width()) * by.min(image.height())) as f32;
    pixels.iter_mut().flatten().for_each(|channel| *channel *= scale);
    Small { position, width, height, pixels }
}
