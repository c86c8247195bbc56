//! Apache Arrow files and streams, with the feature `arrow`.
//!
//! A file (`.arrow`, `.feather`, `.ipc`) is a stream (`.arrows`) with a frame around it; reading
//! finds out which it is. Columns are numbers of any width, truths, text, lists and structs, also
//! compressed and dictionary-encoded. A vector is a fixed-size list of numbers, a struct with the
//! members `x, y, z`, or the columns `p.x, p.y, p.z` (or `p_x`...), as asked for; members of a
//! struct are columns of their own, `struct.member`. Moments and durations are read as seconds,
//! dates as days, decimals as `f64`.
//!
//! A null is NaN in a column of floats, the empty text in one of text, and an error in any other that
//! is asked for. Whole numbers and truths with nulls are `f64` unless a type is asked for, `true` as 1:
//! those beyond 2^53 are rounded. A column of these that may hold nulls is looked at before it is read,
//! unless a Parquet file counts them. A list that is null is an error.
//!
//! Written are vectors as fixed-size lists, text and lists with 64-bit offsets, uncompressed, in
//! batches of 65,536 rows. A note at each column says its type, so that a color reads back as one.
//!
//! What the lengths in a file promise is checked against the bytes that are there before the
//! decoder sees it; a panic of the decoder becomes an error.

use std::io::{Read, Write};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_ipc::{CompressionType, MessageHeader, root_as_message};
use arrow_schema::{Schema, SchemaRef};
use millstream_base::Column;

use crate::builder::Budget;
use crate::encoder::{ColumnSpec, Encoder};
use crate::error::{IoError, Spot};
use crate::format::Format;
use crate::guard::guarded;
use crate::writer::ArrowFraming;

mod blocks;
mod decode;
mod encode;
mod fields;
mod nulls;
mod numbers;

pub(crate) use blocks::ArrowBlocks;
pub(crate) use decode::Decoder;
pub(crate) use encode::{Batcher, schema};

/// Something that gives record batches one after the other.
pub(crate) trait Batches: Send {
    /// The next one.
    fn next(&mut self) -> Result<Option<RecordBatch>, IoError>;
}

const MAGIC: &[u8] = b"ARROW1";
const CONTINUATION: [u8; 4] = [0xff; 4];

/// A message: its header, and the bytes that this speaks of.
type Message = (Vec<u8>, Vec<u8>);

/// The messages of a file or stream.
pub(crate) struct Messages<R> {
    file: String,
    source: R,
    /// Bytes behind the current position.
    left: u64,
    /// Bytes at the end that are no messages.
    tail: u64,
    is_file: bool,
    budget: Budget,
    decoder: StreamDecoder,
    ready: std::collections::VecDeque<RecordBatch>,
    is_done: bool,
}

impl<R: Read + Send> Messages<R> {
    /// Reads the schema; `length` is the number of bytes of the source, `end` its last ten.
    pub(crate) fn open(
        file: &str,
        source: R,
        length: u64,
        end: &[u8],
        budget: &Budget,
    ) -> Result<(Self, SchemaRef), IoError> {
        let mut messages = Self {
            file: file.to_owned(),
            source,
            left: length,
            tail: 0,
            is_file: false,
            budget: budget.clone(),
            decoder: StreamDecoder::new(),
            ready: std::collections::VecDeque::new(),
            is_done: false,
        };
        let mut start = [0; 8];
        if length < 8 {
            return Err(messages.syntax("it is too short to hold anything"));
        }
        messages.fill(&mut start)?;
        if let Some(padding) = start.strip_prefix(MAGIC) {
            let footer = end.strip_suffix(MAGIC).and_then(|rest| rest.first_chunk::<4>());
            let footer = footer.map(|length| i32::from_le_bytes(*length));
            let Some(footer) = footer.and_then(|length| u64::try_from(length).ok()) else {
                return Err(messages.cut("a table of contents at the end"));
            };
            messages.is_file = true;
            messages.tail = footer + 10;
            if messages.tail > messages.left || padding.len() != 2 {
                return Err(messages.cut("the table of contents that it announces"));
            }
            messages.fill(&mut start)?;
            // Some writers fill up to 64 bytes before the first message.
            while start == [0; 8] {
                messages.fill(&mut start)?;
            }
        }
        let message = messages.message(start)?;
        let Some((meta, body)) = message else {
            return Err(messages.syntax("it ends before the names of its columns"));
        };
        let schema = guarded(file, Format::Arrow, || {
            let message = root_as_message(&meta).map_err(|error| error.to_string())?;
            let schema = message.header_as_schema().ok_or("it does not start with a schema")?;
            Ok::<Schema, String>(fb_to_schema(schema))
        })?;
        messages.feed(start, &meta, body)?;
        Ok((messages, schema.into()))
    }

    fn syntax(&self, reason: &str) -> IoError {
        let spot = Spot::file(&self.file);
        IoError::Syntax { spot, format: Format::Arrow, reason: reason.to_owned() }
    }

    fn cut(&self, expected: &str) -> IoError {
        IoError::Length {
            spot: Spot::file(&self.file),
            expected: expected.to_owned(),
            found: format!("{} bytes", self.left.saturating_sub(self.tail)),
        }
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), IoError> {
        if bytes.len() as u64 + self.tail > self.left {
            return Err(self.cut(&format!("{} bytes", bytes.len())));
        }
        let read = self.source.read_exact(bytes);
        read.map_err(|source| IoError::Read { file: self.file.clone(), source })?;
        self.left -= bytes.len() as u64;
        Ok(())
    }

    /// Reads as many bytes as a length in the file says, if they are there and allowed.
    fn take(&mut self, length: u64, what: &str) -> Result<Vec<u8>, IoError> {
        if length > self.left.saturating_sub(self.tail) {
            return Err(self.cut(&format!("{length} bytes for {what}")));
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        self.budget.check_bytes(length, || Spot::file(&self.file))?;
        let mut bytes = vec![0; length];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// The message behind these bytes, header and body; `None` at the end.
    fn message(&mut self, start: [u8; 8]) -> Result<Option<Message>, IoError> {
        if start[..4] != CONTINUATION {
            return Err(self.syntax("a message does not start as one"));
        }
        let length = u32::from_le_bytes([start[4], start[5], start[6], start[7]]);
        if length == 0 {
            return Ok(None);
        }
        let meta = self.take(u64::from(length), "a message")?;
        let n_body = {
            let message = root_as_message(&meta);
            let message = message.map_err(|error| self.syntax(&error.to_string()))?;
            u64::try_from(message.bodyLength()).map_err(|_| self.syntax("a length is negative"))?
        };
        let body = self.take(n_body, "a batch")?;
        self.check_buffers(&meta, &body)?;
        Ok(Some((meta, body)))
    }

    /// Checks where the buffers of a batch lie, and the decompressed sizes that it promises, for the
    /// decoder allocates them.
    fn check_buffers(&self, meta: &[u8], body: &[u8]) -> Result<(), IoError> {
        let message = root_as_message(meta).map_err(|error| self.syntax(&error.to_string()))?;
        let batch = match message.header_type() {
            MessageHeader::RecordBatch => message.header_as_record_batch(),
            MessageHeader::DictionaryBatch => {
                message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data())
            }
            _ => None,
        };
        let Some(batch) = batch else { return Ok(()) };
        let n_rows = usize::try_from(batch.length());
        let n_rows = n_rows.map_err(|_| self.syntax("a number of rows is negative"))?;
        self.budget.check_rows(n_rows, || Spot::file(&self.file))?;
        let Some(buffers) = batch.buffers() else { return Ok(()) };
        // What a byte of either codec can become at most, roughly; more is a lie.
        let ratio = batch.compression().map(|compression| match compression.codec() {
            CompressionType::LZ4_FRAME => 256,
            _ => 1 << 20,
        });
        let mut total = 0_usize;
        for buffer in buffers {
            let start = usize::try_from(buffer.offset()).ok();
            let end = start.zip(usize::try_from(buffer.length()).ok());
            let end = end.and_then(|(start, length)| start.checked_add(length));
            let Some(bytes) = start.zip(end).and_then(|(start, end)| body.get(start..end)) else {
                return Err(self.syntax("a column lies outside its batch"));
            };
            let Some(ratio) = ratio else { continue };
            let prefix = bytes.first_chunk::<8>();
            let promised = prefix.map_or(0, |prefix| i64::from_le_bytes(*prefix));
            // A negative size marks a buffer that is not compressed.
            let Ok(promised) = usize::try_from(promised) else { continue };
            total = total.saturating_add(promised);
            self.budget.check_bytes(total, || Spot::file(&self.file))?;
            if promised / ratio > bytes.len() {
                let there = bytes.len();
                return Err(self.cut(&format!("{promised} bytes in {there} compressed ones")));
            }
        }
        Ok(())
    }

    fn feed(&mut self, start: [u8; 8], meta: &[u8], body: Vec<u8>) -> Result<(), IoError> {
        let mut head = start.to_vec();
        head.extend_from_slice(meta);
        for bytes in [head, body] {
            let mut buffer = Buffer::from_vec(bytes);
            while !buffer.is_empty() {
                let batch =
                    guarded(&self.file, Format::Arrow, || self.decoder.decode(&mut buffer))?;
                self.ready.extend(batch);
            }
        }
        Ok(())
    }
}

impl<R: Read + Send> Batches for Messages<R> {
    fn next(&mut self) -> Result<Option<RecordBatch>, IoError> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            if self.is_done {
                return Ok(None);
            }
            let mut start = [0; 8];
            start[..4].copy_from_slice(&CONTINUATION);
            let mut message = None;
            if self.left > self.tail {
                self.fill(&mut start)?;
                message = self.message(start)?;
            } else if self.is_file {
                return Err(self.cut("a mark behind the last batch"));
            }
            match message {
                Some((meta, body)) => self.feed(start, &meta, body)?,
                None => {
                    // A batch without a body is given only when something follows it.
                    self.feed(start, &[], Vec::new())?;
                    self.is_done = true;
                }
            }
        }
    }
}

/// Writes batches.
pub(crate) struct ArrowEncoder {
    framing: ArrowFraming,
    state: Option<(Writer, Batcher)>,
}

enum Writer {
    File(FileWriter<Vec<u8>>),
    Stream(StreamWriter<Vec<u8>>),
}

impl Writer {
    fn write(&mut self, batch: &RecordBatch) -> std::io::Result<()> {
        let written = match self {
            Self::File(writer) => writer.write(batch),
            Self::Stream(writer) => writer.write(batch),
        };
        written.map_err(std::io::Error::other)
    }

    fn finish(&mut self) -> std::io::Result<()> {
        let finished = match self {
            Self::File(writer) => writer.finish(),
            Self::Stream(writer) => writer.finish(),
        };
        finished.map_err(std::io::Error::other)
    }

    /// Hands on what was written so far.
    fn drain(&mut self, out: &mut dyn Write) -> std::io::Result<()> {
        let bytes = match self {
            Self::File(writer) => writer.get_mut(),
            Self::Stream(writer) => writer.get_mut(),
        };
        out.write_all(bytes)?;
        bytes.clear();
        Ok(())
    }
}

impl ArrowEncoder {
    pub(crate) fn new(framing: ArrowFraming) -> Self {
        Self { framing, state: None }
    }
}

/// What [`Encoder::begin`] is called for.
pub(crate) const BEGUN: &str = "a writer begins before it writes";

impl Encoder for ArrowEncoder {
    fn begin(
        &mut self,
        file: &str,
        columns: &[ColumnSpec],
        out: &mut dyn Write,
    ) -> Result<(), IoError> {
        let schema = schema(file, Format::Arrow, columns)?;
        let failed = |source| IoError::Write { file: file.to_owned(), source };
        let writer = match self.framing {
            ArrowFraming::File => FileWriter::try_new(Vec::new(), &schema).map(Writer::File),
            ArrowFraming::Stream => StreamWriter::try_new(Vec::new(), &schema).map(Writer::Stream),
        };
        let mut writer = writer.map_err(|error| failed(std::io::Error::other(error)))?;
        writer.drain(out).map_err(failed)?;
        self.state = Some((writer, Batcher::new(schema)));
        Ok(())
    }

    fn rows(&mut self, file: &str, block: &[Column], out: &mut dyn Write) -> Result<(), IoError> {
        let (writer, batcher) = self.state.as_mut().expect(BEGUN);
        let mut write = || {
            for batch in batcher.push(block).map_err(std::io::Error::other)? {
                writer.write(&batch)?;
                writer.drain(out)?;
            }
            Ok(())
        };
        write().map_err(|source| IoError::Write { file: file.to_owned(), source })
    }

    fn end(&mut self, out: &mut dyn Write) -> std::io::Result<()> {
        let (writer, batcher) = self.state.as_mut().expect(BEGUN);
        if let Some(batch) = batcher.finish().map_err(std::io::Error::other)? {
            writer.write(&batch)?;
        }
        writer.finish()?;
        writer.drain(out)
    }
}

#[cfg(test)]
mod tests;
