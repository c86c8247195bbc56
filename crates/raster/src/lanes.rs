//! Blocks of numbers computed side by side.
//!
//! A filter along an axis treats every row or column alike, so a block holds one position along the
//! axis for as many whole pixels across it as fit.

/// Numbers in a block: a multiple of every vector length.
pub(crate) const LANES: usize = 32;

/// A block, aligned for vectors.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Block<T>(pub(crate) [T; LANES]);

/// A number in a block, converted from a channel of a pixel.
pub(crate) trait Cell: Copy + Default + Send + Sync {
    /// Converts a channel.
    fn read(channel: f32) -> Self;
    /// Converts channels.
    #[inline(always)]
    fn read_all(channels: [f32; LANES]) -> [Self; LANES] {
        channels.map(Self::read)
    }
    /// Appends the numbers of channels.
    #[inline]
    fn append(channels: &[f32], to: &mut Vec<Self>) {
        to.extend(channels.iter().map(|channel| Self::read(*channel)));
    }
    /// Converts back to a channel.
    fn write(self) -> f32;
}

impl Cell for f32 {
    #[inline(always)]
    fn read(channel: f32) -> Self {
        channel
    }

    #[inline(always)]
    fn read_all(channels: [f32; LANES]) -> [Self; LANES] {
        channels
    }

    #[inline]
    fn append(channels: &[f32], to: &mut Vec<Self>) {
        to.extend_from_slice(channels);
    }

    #[inline(always)]
    fn write(self) -> f32 {
        self
    }
}

impl<T: Cell> Default for Block<T> {
    fn default() -> Self {
        Self([T::default(); LANES])
    }
}

/// How many pixels of `C` channels a block holds.
pub(crate) const fn pixels_of_block<const C: usize>() -> usize {
    LANES / C
}

/// Reads pixels of a row into a block, as many as there are or fit.
#[inline(always)]
pub(crate) fn read_pixels<T: Cell, const C: usize>(row: &[f32], block: &mut Block<T>) {
    if let Some(whole) = row.first_chunk::<LANES>() {
        // If pixels do not fill a block, its last numbers are unused.
        block.0 = T::read_all(*whole);
    } else {
        let n = LANES / C * C;
        block.0[..n].iter_mut().zip(row).for_each(|(to, from)| *to = T::read(*from));
    }
}

/// Transposes blocks of pixels: pixel `p` of block `b` becomes pixel `b` of block `p`.
#[inline(always)]
pub(crate) fn turn<T: Cell, const C: usize>(from: &[Block<T>], to: &mut [Block<T>]) {
    let n = pixels_of_block::<C>();
    for (p, to) in to.iter_mut().take(n).enumerate() {
        let pixels = to.0.as_chunks_mut::<C>().0;
        for (pixel, from) in pixels.iter_mut().zip(from) {
            *pixel = from.0.as_chunks::<C>().0[p];
        }
    }
}

/// Writes blocks, each of which holds one pixel of each row, to rows of an image.
///
/// `rows` begins with the first pixel of the first row; rows are `stride` channels apart.
#[inline(always)]
pub(crate) fn write_turned<T: Cell, const C: usize>(
    from: &[Block<T>],
    n_rows: usize,
    rows: &mut [f32],
    stride: usize,
) {
    for b in 0..n_rows {
        let row = &mut rows[b * stride..][..from.len() * C];
        for (pixel, from) in row.as_chunks_mut::<C>().0.iter_mut().zip(from) {
            for (to, from) in pixel.iter_mut().zip(from.0.as_chunks::<C>().0[b]) {
                *to = from.write();
            }
        }
    }
}
