//! The maximum over discs.

use millstream_base::footprint::Footprint;
use millstream_base::image::Image;

use crate::crew::fresh;
use crate::crew::{Cancelled, Crew, Pace};
use crate::lanes::Cell;
use crate::passes::finished;
use crate::rank::Rank;
use crate::region::Edge;
use crate::rows::Rows;
use millstream_base::width::{OverVectors, Width};

/// Channels of a row computed at a time; those of a few rows stay in the cache.
const TILE: usize = 1024;

/// A disc as a stack of horizontal windows.
pub(super) struct Disc {
    /// Half the lengths of the windows, shortest first, each with the offsets in y of the windows
    /// of that length.
    windows: Vec<(usize, Vec<i64>)>,
    /// The maximum offsets in x and y.
    reach: [usize; 2],
}

impl Disc {
    /// A disc, by the square of its radius, without the offsets in x and y above `cut`.
    pub(super) fn new(squared: u64, cut: [usize; 2]) -> Self {
        let mut windows: Vec<(usize, Vec<i64>)> = Vec::new();
        for dy in (0..=cut[1] as u64).rev() {
            let half = (squared - dy * dy).isqrt();
            let half = usize::try_from(half).unwrap_or(usize::MAX).min(cut[0]);
            let same = windows.last().is_some_and(|(last, _)| *last == half);
            if !same {
                windows.push((half, Vec::new()));
            }
            let (_, rows) = windows.last_mut().expect("a window was appended");
            rows.push(dy as i64);
            if dy > 0 {
                rows.push(-(dy as i64));
            }
        }
        let widest = windows.last().map_or(0, |(half, _)| *half);
        Self { windows, reach: [widest, cut[1]] }
    }

    /// The maximum over the disc around each pixel.
    pub(super) fn maximum<const REVERSED: bool>(
        &self,
        image: &Image,
        edge: Edge,
        view: Footprint,
        crew: &Crew<'_>,
    ) -> Result<Image, Cancelled> {
        let n_channels = image.n_channels();
        let [width, height] = view.size();
        let stride = width * n_channels;
        let mut values = fresh(stride * height);
        let source = Rows::new(image, edge);
        let n_band = (4 * self.reach[1]).clamp(16, 256);
        let bands = values.chunks_mut((n_band * stride).max(1)).enumerate().collect();
        let [x, y] = [0, 1].map(|axis| i64::from(view.crop[axis]));
        // Tiles are much wider than the margins they need.
        let n_tile = (TILE / n_channels).max(4 * self.reach[0]).min(width.max(1));
        crew.each(bands, Room::<REVERSED>::default, |(band, out), room, pace| {
            let rows = Band { first: y + (band * n_band) as i64, n: out.len() / stride };
            for start in (0..width).step_by(n_tile) {
                let n = n_tile.min(width - start);
                let tile = Tile { source: &source, x: x + start as i64, n, n_channels };
                self.tile(&tile, &rows, room, crew.width(), pace)?;
                let n = n * n_channels;
                for (out, ranks) in out.chunks_mut(stride).zip(room.out.chunks(n)) {
                    let out = &mut out[start * n_channels..][..n];
                    out.iter_mut().zip(ranks).for_each(|(to, from)| *to = from.write());
                }
            }
            Ok(())
        })?;
        Ok(finished(view, n_channels, values))
    }

    /// Fills the `out` buffer of the room with the ranks of a tile.
    fn tile<const REVERSED: bool>(
        &self,
        tile: &Tile<'_>,
        band: &Band,
        room: &mut Room<REVERSED>,
        width: Width,
        pace: &mut Pace<'_>,
    ) -> Result<(), Cancelled> {
        let n = tile.n * tile.n_channels;
        let [reach_x, reach_y] = self.reach.map(|reach| reach as i64);
        room.out.clear();
        room.out.resize(band.n * n, Rank::LOWEST);
        for row in band.first - reach_y..band.first + band.n as i64 + reach_y {
            let columns = tile.x - reach_x..tile.x + tile.n as i64 + reach_x;
            tile.source.read(row, columns, &mut room.row);
            pace.work(room.row.len() + n * self.windows.len())?;
            width.run_vectors(Scatter {
                disc: self,
                row: &mut room.row,
                n_channels: tile.n_channels,
                at: row - band.first,
                n_rows: band.n,
                out: &mut room.out,
            });
        }
        Ok(())
    }
}

/// A band of rows of the result.
struct Band {
    /// The position of the first row.
    first: i64,
    n: usize,
}

/// A tile of columns of the result.
struct Tile<'a> {
    source: &'a Rows<'a>,
    /// The position of the first column.
    x: i64,
    n: usize,
    n_channels: usize,
}

#[derive(Default)]
struct Room<const REVERSED: bool> {
    row: Vec<Rank<REVERSED>>,
    out: Vec<Rank<REVERSED>>,
}

/// A row of the source, which contributes to the rows of the result around it.
struct Scatter<'a, const REVERSED: bool> {
    disc: &'a Disc,
    row: &'a mut [Rank<REVERSED>],
    n_channels: usize,
    /// The index of the row relative to the first one of the result.
    at: i64,
    n_rows: usize,
    out: &'a mut [Rank<REVERSED>],
}

impl<const REVERSED: bool> OverVectors for Scatter<'_, REVERSED> {
    #[inline(always)]
    fn run<S: fearless_simd::Simd>(self, _: S) {
        let n = self.out.len() / self.n_rows.max(1);
        let reach = self.disc.reach[0];
        // Each number of the row is the maximum over a window of this length that starts there.
        let mut length = 1;
        for (half, rows) in &self.disc.windows {
            while length < 2 * half + 1 {
                let step = length.min(2 * half + 1 - length);
                lengthen(self.row, step * self.n_channels);
                length += step;
            }
            let windows = &self.row[(reach - half) * self.n_channels..][..n];
            for dy in rows {
                let Ok(row) = usize::try_from(self.at + dy) else { continue };
                if row < self.n_rows {
                    let out = &mut self.out[row * n..][..n];
                    for (to, from) in out.iter_mut().zip(windows) {
                        to.0 = to.0.max(from.0);
                    }
                }
            }
        }
    }
}

/// Replaces each number by the maximum of it and the one `step` later.
#[inline(always)]
fn lengthen<const REVERSED: bool>(row: &mut [Rank<REVERSED>], step: usize) {
    /// Numbers that are read before any of them is written.
    const CHUNK: usize = 64;
    let n = row.len().saturating_sub(step);
    let mut at = 0;
    while at + CHUNK <= n {
        let mut maximum = [0; CHUNK];
        for (i, to) in maximum.iter_mut().enumerate() {
            *to = row[at + i].0.max(row[at + step + i].0);
        }
        for (to, from) in row[at..at + CHUNK].iter_mut().zip(maximum) {
            to.0 = from;
        }
        at += CHUNK;
    }
    for i in at..n {
        row[i].0 = row[i].0.max(row[i + step].0);
    }
}
