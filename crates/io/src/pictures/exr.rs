//! Exr, with the crate `exr`, block by block in both directions.
//!
//! Blocks are compressed and decompressed here, on our own threads, because the threads of the
//! crate abort the program if its decoder panics.

use std::collections::{HashMap, HashSet};

use ::exr::block::chunk::Chunk;
use ::exr::block::writer::ChunksWriter as _;
use ::exr::block::{BlockIndex, UncompressedBlock};
use ::exr::compression::Compression;
use ::exr::error::Error;
use ::exr::math::Vec2;
use ::exr::meta::BlockDescription;
use ::exr::meta::attribute::{ChannelDescription, ChannelList, LineOrder, SampleType, Text};
use ::exr::meta::header::Header;
use half::f16;
use half::slice::HalfFloatSliceExt as _;
use image::metadata::Orientation;

use super::canvas::{Decoded, Reading};
use super::color::{ColorSpace, Curve};
use super::pixels::convert;
use super::rows::{Rows, Stop, UNIT, WriteSeek};
use super::spread::spread;
use super::{Depth, PictureSpec};
use crate::error::IoError;
use crate::format::Stream;
use crate::guard::CONTRADICTION;

/// The bytes of blocks decompressed at once, unless one block is larger.
const BATCH_BYTES: usize = 32 << 20;

pub(super) fn read(
    stream: Box<dyn Stream + '_>,
    reading: &Reading<'_>,
) -> Result<Decoded, IoError> {
    let broken = |error| failure(error, reading);
    let file = ::exr::block::read(stream, false).map_err(broken)?;
    let meta = file.meta_data().clone();
    let mut notes = Vec::new();
    let (layer, channels) = chosen(&meta.headers, &mut notes)
        .ok_or_else(|| reading.unsupported("no layer of flat pixels"))?;
    let header = &meta.headers[layer];
    if header.channels.list.iter().any(|channel| channel.sampling != Vec2(1, 1)) {
        return Err(reading.unsupported("channels of different sizes"));
    }
    let Vec2(width, height) = header.layer_size;
    let mut canvas = reading.canvas(width, height, channels.len())?;
    let size = |of: &BlockIndex| of.pixel_size.area() * header.channels.bytes_per_pixel;
    let largest = header.max_block_pixel_size();
    let largest = largest.0.min(width).saturating_mul(largest.1.min(height));
    let largest = largest.saturating_mul(header.channels.bytes_per_pixel);
    reading.meter.check_bytes(largest, || crate::error::Spot::file(reading.file))?;
    let n_at_once = (BATCH_BYTES / largest.max(1)).clamp(1, 1024);

    let mut chunks = file
        .filter_chunks(false, |_, _, block| block.layer == layer && block.level == Vec2(0, 0))
        .map_err(broken)?;
    let (mut seen, mut n_pixels) = (HashSet::new(), 0);
    loop {
        reading.look()?;
        let some: Vec<Chunk> =
            chunks.by_ref().take(n_at_once).collect::<Result<_, _>>().map_err(broken)?;
        if some.is_empty() {
            break;
        }
        let blocks = spread(some, |chunk| {
            let block = UncompressedBlock::decompress_chunk(chunk, &meta, false)?;
            let at = block.index;
            let is_whole = at.layer == layer && at.level == Vec2(0, 0);
            if !is_whole || block.data.len() != size(&at) {
                return Err(Error::Invalid(CONTRADICTION.into()));
            }
            Ok((at, pixels(&block, &header.channels, &channels)))
        });
        for block in blocks {
            let block = block.unwrap_or_else(|| Err(Error::Invalid(CONTRADICTION.into())));
            let (at, pixels) = block.map_err(broken)?;
            if seen.insert((at.pixel_position.0, at.pixel_position.1)) {
                n_pixels += at.pixel_size.area();
            }
            let length = at.pixel_size.0 * channels.len();
            let start = at.pixel_position.0 * channels.len();
            for (y, pixels) in pixels.chunks_exact(length).enumerate() {
                let row = canvas.row(at.pixel_position.1 + y);
                row[start..start + length].copy_from_slice(pixels);
            }
        }
    }
    if n_pixels != width * height {
        return Err(reading.broken("some of its blocks are missing"));
    }
    let space = space(header, &mut notes);
    if let Some(matrix) = space.matrix() {
        let n = canvas.n_channels;
        convert(&matrix, n, &mut canvas.values);
    }
    let window = header.shared_attributes.display_window;
    if window.size != header.layer_size || window.position != header.own_attributes.layer_position {
        notes.push(format!(
            "its pixels do not match its display window, which is {}x{}",
            window.size.0, window.size.1
        ));
    }
    let is_half = |i: &usize| header.channels.list[*i].sample_type == SampleType::F16;
    let depth = if channels.iter().all(is_half) { Depth::Sixteen } else { Depth::Float };
    Ok(Decoded { canvas, depth, space, orientation: Orientation::NoTransforms, notes })
}

fn failure(error: Error, reading: &Reading<'_>) -> IoError {
    match error {
        Error::Io(error) => reading.io(error),
        Error::NotSupported(what) => reading.refused(what),
        Error::Invalid(what) if what == "reference to missing bytes" => reading.cut_off(),
        error => reading.broken(error),
    }
}

/// The layer to use as the picture, and the position of its channels in image order.
///
/// Color channels are `R`, `G`, `B`, gray is `Y`, alpha is `A`; layer names may precede them. Every
/// other channel is a gray picture of its own, the first of which is used.
fn chosen(headers: &[Header], notes: &mut Vec<String>) -> Option<(usize, Vec<usize>)> {
    let flat = || headers.iter().enumerate().filter(|(_, header)| !header.deep);
    let full = |(layer, header): (usize, &Header)| {
        let names: Vec<String> =
            header.channels.list.iter().map(|channel| channel.name.to_string()).collect();
        let places: HashMap<&str, usize> =
            names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
        // Channels without a layer name come first.
        let prefixes = names.iter().map(|name| &name[..name.rfind('.').map_or(0, |dot| dot + 1)]);
        std::iter::once("").chain(prefixes).find_map(|prefix| {
            let place = |of: &str| places.get(format!("{prefix}{of}").as_str()).copied();
            let colors: Option<Vec<usize>> = ["R", "G", "B"].into_iter().map(place).collect();
            let mut channels = colors.or_else(|| Some(vec![place("Y")?]))?;
            channels.extend(place("A"));
            Some((layer, channels))
        })
    };
    let found = flat().find_map(full).or_else(|| {
        let (layer, _) = flat().find(|(_, header)| !header.channels.list.is_empty())?;
        Some((layer, vec![0]))
    });
    let (layer, channels) = found?;
    let left: Vec<String> = headers
        .iter()
        .enumerate()
        .flat_map(|(i, header)| {
            let of = header.own_attributes.layer_name.as_ref().map(|name| format!("{name}."));
            let of = of.filter(|_| i != layer).unwrap_or_default();
            let list = header.channels.list.iter().enumerate();
            let left = list.filter(|(j, _)| i != layer || !channels.contains(j));
            left.map(|(_, channel)| format!("{of}{}", channel.name)).collect::<Vec<_>>()
        })
        .collect();
    if channels.len() == 1 {
        let name = headers[layer].channels.list[channels[0]].name.to_string();
        if name != "Y" {
            notes.push(format!("the channel `{name}` was read as gray"));
        }
    }
    if !left.is_empty() {
        let shown = left.iter().take(8).map(String::as_str).collect::<Vec<_>>().join(", ");
        let rest = if left.len() > 8 { ", ..." } else { "" };
        notes.push(format!("the channels {shown}{rest} were left out"));
    }
    Some((layer, channels))
}

/// The color space: linear light, with BT.709 primaries unless the file states others.
fn space(header: &Header, notes: &mut Vec<String>) -> ColorSpace {
    let Some(stated) = header.shared_attributes.chromaticities else {
        return ColorSpace::linear();
    };
    let primaries = [stated.red, stated.green, stated.blue, stated.white];
    let primaries = primaries.map(|Vec2(x, y)| [f64::from(x), f64::from(y)]);
    match ColorSpace::of_primaries("primaries of its own", Curve::Linear, primaries) {
        Some(space) if space.matrix().is_none() => ColorSpace::linear(),
        Some(space) => space,
        None => {
            notes.push("its primaries do not span a color space; BT.709 was used instead".into());
            ColorSpace::linear()
        }
    }
}

/// The pixels of a block, row by row from the top, channels side by side.
fn pixels(block: &UncompressedBlock, list: &ChannelList, channels: &[usize]) -> Vec<f32> {
    let (n, top) = (channels.len(), block.index.pixel_position.1);
    let length = block.index.pixel_size.0 * n;
    let mut pixels = vec![0.0; length * block.index.pixel_size.1];
    let mut halves = (Vec::new(), Vec::new());
    for line in block.lines(list) {
        let at = line.location;
        let Some(channel) = channels.iter().position(|place| *place == at.channel) else {
            continue;
        };
        let row = &mut pixels[(at.position.1 - top) * length..][..length];
        let places = row.iter_mut().skip(channel).step_by(n);
        match list.list[at.channel].sample_type {
            SampleType::F32 => {
                let values = line.value.as_chunks().0.iter();
                places.zip(values).for_each(|(to, bytes)| *to = f32::from_ne_bytes(*bytes));
            }
            SampleType::F16 => {
                let (short, long) = &mut halves;
                short.clear();
                let values = line.value.as_chunks().0.iter();
                short.extend(values.map(|bytes| f16::from_ne_bytes(*bytes)));
                long.resize(short.len(), 0.0);
                short.convert_to_f32_slice(long);
                places.zip(long).for_each(|(to, value)| *to = *value);
            }
            SampleType::U32 => {
                let values = line.value.as_chunks().0.iter();
                places.zip(values).for_each(|(to, bytes)| *to = u32::from_ne_bytes(*bytes) as f32);
            }
        }
    }
    pixels
}

/// The number of values of several blocks, which are compressed at the same time.
const PULLED: usize = 2 << 20;

pub(super) fn write(
    out: &mut dyn WriteSeek,
    spec: &PictureSpec,
    rows: &mut Rows<'_>,
) -> Result<(), Stop> {
    let (depth, _) = spec.settled()?;
    rows.pull_at_once(PULLED);
    let ty = if depth == Depth::Sixteen { SampleType::F16 } else { SampleType::F32 };
    // Channels in the order of their names, each with its position in a pixel.
    let order: &[(&str, usize)] = match spec.n_channels {
        1 => &[("Y", 0)],
        2 => &[("A", 1), ("Y", 0)],
        3 => &[("B", 2), ("G", 1), ("R", 0)],
        _ => &[("A", 3), ("B", 2), ("G", 1), ("R", 0)],
    };
    let channel = |name: &str| ChannelDescription::named(Text::from(name), ty);
    let channels = ChannelList::new(order.iter().map(|(name, _)| channel(name)).collect());
    let header = Header::new(Text::from("main"), (spec.width, spec.height), channels.list)
        .with_encoding(Compression::PIZ, BlockDescription::ScanLines, LineOrder::Increasing);
    let mut stopped = None;
    let written = ::exr::block::write(out, [header].into_iter().collect(), true, |meta, chunks| {
        let mut y = 0;
        while let Some(values) = rows.next().map_err(|stop| {
            stopped = Some(stop);
            Error::Aborted
        })? {
            let length = spec.width * spec.n_channels;
            let blocks = values.chunks(UNIT * length).enumerate();
            let starts = blocks.map(|(i, block)| (y + i * UNIT, block)).collect();
            let compressed = spread(starts, |(y, block)| {
                let index = BlockIndex {
                    layer: 0,
                    pixel_position: Vec2(0, y),
                    pixel_size: Vec2(spec.width, block.len() / length),
                    level: Vec2(0, 0),
                };
                let data = planes(block, length, order, ty);
                UncompressedBlock { index, data }.compress_to_chunk(&meta.headers)
            });
            for (i, chunk) in compressed.into_iter().enumerate() {
                let chunk = chunk.ok_or(Error::Invalid(CONTRADICTION.into()))??;
                chunks.write_chunk(y / UNIT + i, chunk)?;
            }
            y += values.len() / length;
        }
        Ok(())
    });
    match (written, stopped) {
        (_, Some(stop)) => Err(stop),
        (Ok(()), None) => Ok(()),
        (Err(Error::Io(error)), None) => Err(Stop::Io(error)),
        (Err(error), None) => Err(Stop::other(error)),
    }
}

/// The bytes of some rows: for each row, the values of one channel after those of another.
fn planes(rows: &[f32], length: usize, order: &[(&str, usize)], ty: SampleType) -> Vec<u8> {
    let n = order.len();
    let mut bytes = Vec::with_capacity(rows.len() * ty.bytes_per_sample());
    let mut plane = Vec::new();
    for row in rows.chunks_exact(length) {
        for (_, place) in order {
            plane.clear();
            plane.extend(row.chunks_exact(n).map(|pixel| pixel[*place]));
            if ty == SampleType::F16 {
                let mut halves = vec![f16::ZERO; plane.len()];
                halves.convert_from_f32_slice(&plane);
                bytes.extend_from_slice(bytemuck::cast_slice(halves.reinterpret_cast()));
            } else {
                bytes.extend_from_slice(bytemuck::cast_slice(&plane));
            }
        }
    }
    bytes
}
