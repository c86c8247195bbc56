//! Filters along y and then along x, in bands of rows whose intermediate results stay in the cache.
//!
//! For each band, a pass along y processes strips of columns: the pixels that it needs, including
//! those beyond the image, are copied into blocks. Its results are transposed, so that a block
//! holds a column of a few rows of the band, and a pass along x processes them. Both passes have
//! the same view of the data: positions along their axis, and [`LANES`] independent numbers at
//! each.

use std::ops::Range;

use millstream_base::footprint::Footprint;
use millstream_base::image::Image;

use crate::crew::{Cancelled, Crew, Pace};
use crate::lanes::{Block, Cell, LANES, pixels_of_block, read_pixels, turn, write_turned};
use crate::region::Edge;
use millstream_base::width::Width;

/// Blocks of columns read together, for longer reads from each row.
const STRIP: usize = 8;

/// A filter along one axis. Positions in the source are relative to the first pixel of the image.
///
/// The inputs of an output and their order must not depend on its neighboring outputs.
pub(crate) trait Pass<T>: Sync {
    /// The source positions that a nonempty range of outputs is computed from.
    fn needs(&self, outputs: Range<usize>) -> Range<i64>;

    /// Computes a range of outputs from the positions that they need, the first of which is
    /// `start`.
    fn run(
        &self,
        width: Width,
        from: &[Block<T>],
        start: i64,
        outputs: Range<usize>,
        to: &mut [Block<T>],
    );

    /// The number of consecutive outputs from which on reading the needed positions pays off.
    fn worthwhile(&self) -> usize;
}

/// The result of a pass along y and one along x, in the requested region of a view.
pub(crate) fn two_passes<T: Cell>(
    image: &Image,
    view: Footprint,
    edges: [Edge; 2],
    passes: [&dyn Pass<T>; 2],
    crew: &Crew<'_>,
) -> Result<Image, Cancelled> {
    let n_channels = image.n_channels();
    let [width, height] = view.size();
    let mut values = crew.memory(width * height * n_channels);
    if !values.is_empty() {
        match n_channels {
            1 => TwoPasses::<T, 1> { image, edges, passes, width, height }.run(&mut values, crew),
            2 => TwoPasses::<T, 2> { image, edges, passes, width, height }.run(&mut values, crew),
            3 => TwoPasses::<T, 3> { image, edges, passes, width, height }.run(&mut values, crew),
            _ => TwoPasses::<T, 4> { image, edges, passes, width, height }.run(&mut values, crew),
        }?;
    }
    Ok(finished(view, n_channels, values))
}

/// The image of values computed for it.
pub(crate) fn finished(view: Footprint, n_channels: usize, values: Vec<f32>) -> Image {
    Image::from_channels(view, n_channels, values).expect("the values were computed for the view")
}

struct TwoPasses<'a, T, const C: usize> {
    image: &'a Image,
    /// Along x and along y.
    edges: [Edge; 2],
    passes: [&'a dyn Pass<T>; 2],
    width: usize,
    height: usize,
}

/// Buffers of one thread.
struct Room<T> {
    /// Input and output of the pass along y, for a strip of columns.
    strip: Vec<Block<T>>,
    strip_out: Vec<Block<T>>,
    /// Transposed results of the pass along y: for each block of rows, the needed columns.
    columns: Vec<Block<T>>,
    /// Input and output of the pass along x, for a block of rows.
    extended: Vec<Block<T>>,
    line: Vec<Block<T>>,
}

impl<T> Room<T> {
    fn new() -> Self {
        Self {
            strip: Vec::new(),
            strip_out: Vec::new(),
            columns: Vec::new(),
            extended: Vec::new(),
            line: Vec::new(),
        }
    }
}

/// The columns that the pass along x needs.
struct Columns {
    /// For each position, the column of the image.
    map: Vec<Option<usize>>,
    /// The columns of the image that are used.
    range: Range<usize>,
    /// The position of the first.
    start: i64,
    /// The positions, relative to the first, that lie within the image.
    plain: Range<usize>,
}

impl<T: Cell, const C: usize> TwoPasses<'_, T, C> {
    fn run(&self, values: &mut [f32], crew: &Crew<'_>) -> Result<(), Cancelled> {
        let [along_x, along_y] = self.passes;
        let n_pixels = pixels_of_block::<C>();
        let columns = self.columns(along_x.needs(0..self.width));
        let max = self.height.div_ceil(crew.threads()).max(16);
        let height = along_y.worthwhile().clamp(16, max).next_multiple_of(n_pixels);
        let bands: Vec<(usize, &mut [f32])> =
            values.chunks_mut(height * self.width * C).enumerate().collect();
        crew.each(bands, Room::new, |(band, out), room, pace| {
            let start = band * height;
            let rows = start..self.height.min(start + height);
            self.along_y(rows.clone(), &columns, room, crew.width(), pace)?;
            self.along_x(rows.len(), &columns, room, out, crew.width(), pace)
        })
    }

    fn columns(&self, positions: Range<i64>) -> Columns {
        let n = self.image.width();
        let (first, after) = (positions.start, positions.end);
        let map: Vec<Option<usize>> = positions.map(|at| self.edges[0].index(at, n)).collect();
        let inside = first.max(0)..after.min(n as i64);
        let start = map.iter().flatten().min().map_or(0, |first| *first);
        let end = map.iter().flatten().max().map_or(start, |last| last + 1);
        let plain = if inside.is_empty() {
            0..0
        } else {
            (inside.start - first) as usize..(inside.end - first) as usize
        };
        Columns { map, range: start..end, start: first, plain }
    }

    /// Fills `columns` of the room, for rows of the result.
    fn along_y(
        &self,
        rows: Range<usize>,
        columns: &Columns,
        room: &mut Room<T>,
        width: Width,
        pace: &mut Pace<'_>,
    ) -> Result<(), Cancelled> {
        let (pass, n_pixels) = (self.passes[1], pixels_of_block::<C>());
        let channels = self.image.channels();
        let (stride, n_rows) = (self.image.width() * C, self.image.height());
        let needs = pass.needs(rows.clone());
        let sources: Vec<Option<usize>> =
            needs.clone().map(|at| self.edges[1].index(at, n_rows)).collect();
        let n_sources = sources.len();
        let n_columns = columns.range.len().next_multiple_of(n_pixels);
        room.strip.resize(STRIP * n_sources, Block::default());
        room.strip_out.resize(rows.len(), Block::default());
        room.columns.resize(n_columns * rows.len().div_ceil(n_pixels), Block::default());
        for wide in (0..columns.range.len()).step_by(STRIP * n_pixels) {
            pace.work(STRIP * n_sources * LANES)?;
            let strips = (columns.range.len() - wide).div_ceil(n_pixels).min(STRIP);
            let column = columns.range.start + wide;
            for (i, row) in sources.iter().enumerate() {
                let Some(row) = row else {
                    for strip in 0..strips {
                        room.strip[strip * n_sources + i] = Block([T::read(0.0); LANES]);
                    }
                    continue;
                };
                let row = &channels[row * stride..][column * C..stride];
                for strip in 0..strips {
                    let row = &row[strip * n_pixels * C..];
                    read_pixels::<T, C>(row, &mut room.strip[strip * n_sources + i]);
                }
            }
            for strip in 0..strips {
                let from = &room.strip[strip * n_sources..][..n_sources];
                pass.run(width, from, needs.start, rows.clone(), &mut room.strip_out);
                let at = wide + strip * n_pixels;
                for (plane, rows) in room.strip_out.chunks(n_pixels).enumerate() {
                    turn::<T, C>(rows, &mut room.columns[plane * n_columns + at..][..n_pixels]);
                }
            }
        }
        Ok(())
    }

    /// Computes rows of the result from `columns` of the room.
    fn along_x(
        &self,
        n_rows: usize,
        columns: &Columns,
        room: &mut Room<T>,
        out: &mut [f32],
        width: Width,
        pace: &mut Pace<'_>,
    ) -> Result<(), Cancelled> {
        let n_pixels = pixels_of_block::<C>();
        let n_columns = columns.range.len().next_multiple_of(n_pixels);
        let stride = self.width * C;
        room.line.resize(self.width, Block::default());
        for plane in 0..n_rows.div_ceil(n_pixels) {
            pace.work((columns.map.len() + self.width) * LANES)?;
            let blocks = &room.columns[plane * n_columns..][..columns.range.len()];
            let from = if columns.plain.len() == columns.map.len() {
                blocks
            } else {
                let zero = Block([T::read(0.0); LANES]);
                let at = |column: &Option<usize>| {
                    column.map_or(zero, |column| blocks[column - columns.range.start])
                };
                room.extended.clear();
                room.extended.extend(columns.map[..columns.plain.start].iter().map(at));
                let plain = &columns.map[columns.plain.clone()];
                if let Some(first) = plain.first().copied().flatten() {
                    let first = first - columns.range.start;
                    room.extended.extend_from_slice(&blocks[first..first + plain.len()]);
                }
                room.extended.extend(columns.map[columns.plain.end..].iter().map(at));
                &room.extended
            };
            self.passes[0].run(width, from, columns.start, 0..self.width, &mut room.line);
            let first = plane * n_pixels;
            let n_rows = n_pixels.min(n_rows - first);
            for (strip, blocks) in room.line.chunks(n_pixels).enumerate() {
                let at = first * stride + strip * n_pixels * C;
                write_turned::<T, C>(blocks, n_rows, &mut out[at..], stride);
            }
        }
        Ok(())
    }
}
