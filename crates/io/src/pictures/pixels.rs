//! Rows of codes to rows of linear light, and back.
//!
//! Codes have straight alpha, linear light has premultiplied alpha.

use millstream_base::width::Width;

use super::color::{ColorSpace, Tables};
use super::spread::spread;
use super::transfer::{TO_8, TO_16, To8, To16};
use super::{Depth, PictureSpec, Transfer};

/// An integer that stands for a value from 0 to 1.
pub(super) trait Code: Copy + Default + 'static {
    /// The code of 1.
    const TOP: u16;
    /// Finds the nearest code.
    type Encoder;
    fn encoder() -> &'static Self::Encoder;
    fn nearest(encoder: &Self::Encoder, x: f32) -> Self;
    fn index(self) -> usize;
    fn of(code: u32) -> Self;
}

macro_rules! code {
    ($code:ident, $encoder:ident, $of:ident) => {
        impl Code for $code {
            const TOP: u16 = Self::MAX as u16;
            type Encoder = $encoder;

            fn encoder() -> &'static $encoder {
                &$of
            }

            #[inline(always)]
            fn nearest(encoder: &$encoder, x: f32) -> Self {
                encoder.code(x)
            }

            #[inline(always)]
            fn index(self) -> usize {
                self.into()
            }

            #[inline(always)]
            fn of(code: u32) -> Self {
                code as Self
            }
        }
    };
}

code!(u8, To8, TO_8);
code!(u16, To16, TO_16);

/// Converts rows of codes to linear light.
pub(super) struct Decoding {
    tables: Tables,
    matrix: Option<[[f32; 3]; 3]>,
    n_channels: usize,
}

impl Decoding {
    /// The decoding for pixels of `n_channels` codes from 0 to `top`.
    pub(super) fn new(space: &ColorSpace, n_channels: usize, top: u16) -> Self {
        Self { tables: space.tables(top), matrix: space.matrix(), n_channels }
    }

    /// Decodes pixels.
    pub(super) fn row<C: Code>(&self, codes: &[C], row: &mut [f32]) {
        match self.n_channels {
            1 => self.pixels::<C, 1>(codes, row),
            2 => self.pixels::<C, 2>(codes, row),
            3 => self.pixels::<C, 3>(codes, row),
            _ => self.pixels::<C, 4>(codes, row),
        }
        if let Some(matrix) = &self.matrix {
            convert(matrix, self.n_channels, row);
        }
    }

    fn pixels<C: Code, const N: usize>(&self, codes: &[C], row: &mut [f32]) {
        let [red, green, blue] = &self.tables;
        // A slice as long as there are codes, so that no index is out of bounds.
        let red = &red[..=usize::from(C::TOP)];
        let green = &green[..=usize::from(C::TOP)];
        let blue = &blue[..=usize::from(C::TOP)];
        let (pixels, codes) = (row.as_chunks_mut::<N>().0, codes.as_chunks::<N>().0);
        for (pixel, code) in pixels.iter_mut().zip(codes) {
            let alpha = if N.is_multiple_of(2) {
                code[N - 1].index() as f32 / f32::from(C::TOP)
            } else {
                1.0
            };
            pixel[0] = red[code[0].index()] * alpha;
            if N > 2 {
                pixel[1] = green[code[1].index()] * alpha;
                pixel[2] = blue[code[2].index()] * alpha;
            }
            if N.is_multiple_of(2) {
                pixel[N - 1] = alpha;
            }
        }
    }
}

/// Multiplies the colors of pixels by a matrix; gray pixels do not change.
pub(super) fn convert(matrix: &[[f32; 3]; 3], n_channels: usize, row: &mut [f32]) {
    if n_channels < 3 {
        return;
    }
    for pixel in row.chunks_exact_mut(n_channels) {
        let [r, g, b] = [pixel[0], pixel[1], pixel[2]];
        for (value, row) in pixel.iter_mut().zip(matrix) {
            *value = row[0] * r + row[1] * g + row[2] * b;
        }
    }
}

/// Multiplies the other channels of pixels by alpha.
pub(super) fn premultiply(n_channels: usize, row: &mut [f32]) {
    if n_channels.is_multiple_of(2) {
        for pixel in row.chunks_exact_mut(n_channels) {
            let (alpha, others) = pixel.split_last_mut().expect("it has channels");
            for value in others {
                *value *= *alpha;
            }
        }
    }
}

/// The nearest code of a value, clamped to 0 to 1; 0 for NaN.
#[inline(always)]
fn plain<C: Code>(x: f32) -> C {
    let x = if x > 0.0 { x } else { 0.0 };
    let x = if x < 1.0 { x } else { 1.0 };
    // The product is exact in this precision.
    C::of((f64::from(x) * f64::from(C::TOP) + 0.5) as u32)
}

/// Appends the codes of pixels, with straight alpha.
pub(super) fn encode<C: Code>(
    row: &[f32],
    n_channels: usize,
    transfer: Transfer,
    codes: &mut Vec<C>,
) {
    let start = codes.len();
    codes.resize(start + row.len(), C::default());
    let codes = &mut codes[start..];
    let width = Width::widest();
    match transfer {
        Transfer::Srgb => {
            let encoder = C::encoder();
            width.run(
                #[inline(always)]
                || {
                    straight(
                        row,
                        n_channels,
                        codes,
                        #[inline(always)]
                        |x| C::nearest(encoder, x),
                    );
                },
            );
        }
        Transfer::Linear => width.run(
            #[inline(always)]
            || straight(row, n_channels, codes, plain),
        ),
    }
}

#[inline(always)]
fn straight<C: Code>(row: &[f32], n: usize, codes: &mut [C], of: impl Fn(f32) -> C) {
    match n {
        2 => with_alpha::<C, 2>(row, codes, of),
        4 => with_alpha::<C, 4>(row, codes, of),
        _ => codes.iter_mut().zip(row).for_each(|(code, x)| *code = of(*x)),
    }
}

#[inline(always)]
fn with_alpha<C: Code, const N: usize>(row: &[f32], codes: &mut [C], of: impl Fn(f32) -> C) {
    for (code, pixel) in codes.as_chunks_mut::<N>().0.iter_mut().zip(row.as_chunks::<N>().0) {
        let alpha = pixel[N - 1];
        // An invisible color has no code.
        let by = if alpha > 0.0 { 1.0 / alpha } else { 0.0 };
        for i in 0..N - 1 {
            code[i] = of(pixel[i] * by);
        }
        code[N - 1] = plain(alpha);
    }
}

/// The number of values that one thread converts at once.
const PIECE: usize = 1 << 16;

/// The bytes of the codes of rows, in pieces of whole rows; 16-bit words are converted by
/// `of_word`.
pub(super) fn encoded(
    rows: &[f32],
    spec: &PictureSpec,
    (depth, transfer): (Depth, Transfer),
    of_word: fn(u16) -> [u8; 2],
) -> impl Iterator<Item = Vec<u8>> + use<> {
    let (n, length) = (spec.n_channels, spec.width * spec.n_channels);
    let pieces = rows.chunks((PIECE / length).max(1) * length).collect();
    let encoded = spread(pieces, |rows| {
        let mut bytes = Vec::new();
        encode_here(std::iter::once(rows), n, (depth, transfer), of_word, &mut bytes);
        bytes
    });
    encoded.into_iter().map(|bytes| bytes.expect("making codes does not panic"))
}

/// Replaces `bytes` by those of the codes of rows, made by this thread.
pub(super) fn encode_here<'r>(
    rows: impl Iterator<Item = &'r [f32]>,
    n_channels: usize,
    (depth, transfer): (Depth, Transfer),
    of_word: fn(u16) -> [u8; 2],
    bytes: &mut Vec<u8>,
) {
    bytes.clear();
    let mut words = Vec::new();
    for rows in rows {
        if depth == Depth::Eight {
            encode(rows, n_channels, transfer, bytes);
        } else {
            words.clear();
            encode(rows, n_channels, transfer, &mut words);
            bytes.extend(words.iter().flat_map(|word| of_word(*word)));
        }
    }
}

/// Removes alpha from pixels that are opaque to 8 bits.
///
/// # Errors
/// If one is not, with its index and its alpha.
pub(super) fn without_alpha(row: &[f32], n_channels: usize) -> Result<Vec<f32>, (usize, f32)> {
    let mut rest = Vec::with_capacity(row.len() / n_channels * (n_channels - 1));
    for (i, pixel) in row.chunks_exact(n_channels).enumerate() {
        let (alpha, others) = pixel.split_last().expect("it has channels");
        if plain::<u8>(*alpha) != u8::MAX {
            return Err((i, *alpha));
        }
        rest.extend(others.iter().map(|value| value / alpha));
    }
    Ok(rest)
}
