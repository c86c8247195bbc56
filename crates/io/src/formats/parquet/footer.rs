//! Checks of the footer before the decoder reads it.
//!
//! The footer is a structure in Thrift's compact protocol. The decoder allocates as many elements
//! as a list claims, and follows the schema tree to its full depth. So lengths are checked here
//! against the bytes available, and the depth against a limit.

use std::io::Read as _;

use parquet::file::reader::ChunkReader;

use super::PARQUET;
use crate::error::{IoError, Spot};

/// The maximum nesting of structures and schemas.
const MAX_DEPTH: usize = 64;

pub(super) const STRUCT: u8 = 12;

/// The field of the footer that holds the elements of the schema.
const SCHEMA: i32 = 2;
/// The field of a schema element that says how many of the following ones are its members.
const N_CHILDREN: i32 = 5;

/// Checks the length and the footer of a file.
pub(super) fn check(file: &str, source: &impl ChunkReader) -> Result<(), IoError> {
    let syntax = |reason| PARQUET.syntax(Spot::file(file), reason);
    let length = source.len();
    let read = |start: u64, n: usize| {
        let mut bytes = Vec::new();
        let read = source.get_read(start).map_err(std::io::Error::other);
        read.and_then(|from| from.take(n as u64).read_to_end(&mut bytes))
            .map_err(IoError::reading(file))?;
        Ok::<_, IoError>(bytes)
    };
    if length < 12 {
        return Err(syntax("it is too short to contain anything"));
    }
    let end = read(length - 8, 8)?;
    let Some((n, b"PAR1")) = end.split_first_chunk::<4>() else {
        let reason = "it does not end with PAR1; it is cut off, encrypted or another format";
        return Err(syntax(reason));
    };
    let n = u32::from_le_bytes(*n);
    if u64::from(n) > length - 12 {
        return Err(IoError::Length {
            spot: Spot::file(file),
            expected: format!("a footer of {n} bytes"),
            found: format!("{length} bytes in all"),
        });
    }
    let footer = read(length - 8 - u64::from(n), n as usize)?;
    let mut walk = Walk::new(&footer);
    walk.structure(0, true).ok_or_else(|| syntax("its footer claims more than it contains"))?;
    if depth_of(&walk.children) > MAX_DEPTH {
        return Err(syntax("its columns are nested too deeply"));
    }
    Ok(())
}

/// The depth of a tree given, in order, by the number of children of each node.
fn depth_of(children: &[u64]) -> usize {
    let mut open: Vec<u64> = Vec::new();
    let mut deepest = 0;
    for n in children {
        while open.last() == Some(&0) {
            open.pop();
        }
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        open.push(*n);
        deepest = deepest.max(open.len());
    }
    deepest
}

/// A walk over the bytes of a structure that records only the schema tree.
pub(super) struct Walk<'a> {
    rest: &'a [u8],
    children: Vec<u64>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, children: Vec::new() }
    }

    /// The number of bytes not walked over yet.
    pub(super) fn n_left(&self) -> usize {
        self.rest.len()
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn skip(&mut self, n: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(n).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    pub(super) fn zigzag(&mut self) -> Option<i64> {
        let raw = self.varint()?;
        Some((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    /// The number and type of the field after this one; type 0 marks the end of the structure.
    pub(super) fn field(&mut self, before: i32) -> Option<(i32, u8)> {
        let head = self.byte()?;
        if matches!(head & 0xf, 0) {
            return (head == 0).then_some((before, 0));
        }
        let id = match head >> 4 {
            0 => i32::try_from(self.zigzag()?).ok()?,
            delta => before.checked_add(i32::from(delta))?,
        };
        Some((id, head & 0xf))
    }

    /// Walks over the fields of a structure; `is_footer` for the outermost.
    fn structure(&mut self, depth: usize, is_footer: bool) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut id = 0_i32;
        while let (next, kind @ 1..) = self.field(id)? {
            id = next;
            if is_footer && id == SCHEMA && kind == 9 {
                self.schema(depth)?;
            } else {
                self.value(kind, depth, false)?;
            }
        }
        Some(())
    }

    /// Walks over the list of the elements of the schema.
    fn schema(&mut self, depth: usize) -> Option<()> {
        let (kind, n) = self.list_head()?;
        for _ in 0..n {
            if kind != STRUCT {
                return None;
            }
            let at = self.children.len();
            self.children.push(0);
            let mut id = 0_i32;
            while let (next, kind @ 1..) = self.field(id)? {
                id = next;
                if id == N_CHILDREN && kind == 5 {
                    self.children[at] = u64::try_from(self.zigzag()?).ok()?;
                } else {
                    self.value(kind, depth + 1, false)?;
                }
            }
        }
        Some(())
    }

    fn list_head(&mut self) -> Option<(u8, u64)> {
        let head = self.byte()?;
        let n = match head >> 4 {
            15 => self.varint()?,
            n => u64::from(n),
        };
        // Each element takes at least one byte.
        (n <= self.rest.len() as u64).then_some((head & 0xf, n))
    }

    pub(super) fn value(&mut self, kind: u8, depth: usize, is_element: bool) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match kind {
            // A boolean is part of the field header, but a byte in a list.
            1 | 2 => self.skip(u64::from(is_element)),
            3 => self.skip(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.skip(8),
            8 => {
                let n = self.varint()?;
                self.skip(n)
            }
            9 | 10 => {
                let (kind, n) = self.list_head()?;
                (0..n).try_for_each(|_| self.value(kind, depth + 1, true))
            }
            11 => {
                let n = self.varint()?;
                if n == 0 {
                    return Some(());
                }
                let kinds = self.byte()?;
                (0..n).try_for_each(|_| {
                    self.value(kinds >> 4, depth + 1, true)?;
                    self.value(kinds & 0xf, depth + 1, true)
                })
            }
            STRUCT => self.structure(depth + 1, false),
            _ => None,
        }
    }
}
