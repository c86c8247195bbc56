//! The messages of Arrow files and streams: their lengths are checked, then they are decoded.

use std::collections::VecDeque;
use std::io::{Read as _, Seek as _, SeekFrom};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{CompressionType, MessageHeader, root_as_message};
use arrow_schema::{Schema, SchemaRef};

use super::ARROW;
use super::decode::Decoder;
use super::rows::{BatchBlocks, Batches};
use crate::error::{IoError, Spot};
use crate::format::{Blocks, Source, Stream};
use crate::guard::guarded;
use crate::meter::Meter;
use crate::options::Wanted;

const MAGIC: &[u8] = b"ARROW1";
const CONTINUATION: [u8; 4] = [0xff; 4];

/// A message: its header and its body.
type Message = (Vec<u8>, Vec<u8>);

/// Opens a file or stream; it is read once beforehand if nulls determine types.
pub(super) fn open<'a>(
    source: &Source<'a>,
    wanted: Wanted<'_>,
    meter: &Meter,
) -> Result<Box<dyn Blocks + 'a>, IoError> {
    let (mut messages, schema) = Messages::open(source, meter)?;
    let mut decoder = Decoder::new(&source.file, &schema, wanted, meter)?;
    let mut unsure = decoder.unsure();
    if unsure.is_open() {
        unsure.look(&mut messages, &|| meter.look(|| Spot::file(&source.file)))?;
        decoder.widen(&unsure);
        messages = Messages::open(source, meter)?.0;
    }
    Ok(Box::new(BatchBlocks::new(&source.file, decoder, messages, None, meter)))
}

/// The messages of a file or stream.
struct Messages<'a> {
    file: String,
    source: Box<dyn Stream + 'a>,
    /// Bytes after the current position.
    left: u64,
    /// Bytes at the end that are not messages.
    tail: u64,
    is_file: bool,
    meter: Meter,
    decoder: StreamDecoder,
    ready: VecDeque<RecordBatch>,
    is_done: bool,
}

impl<'a> Messages<'a> {
    /// Opens a source and reads the schema.
    fn open(source: &Source<'a>, meter: &Meter) -> Result<(Self, SchemaRef), IoError> {
        let failed = IoError::reading(&source.file);
        let mut stream = source.open()?;
        let length = stream.seek(SeekFrom::End(0)).map_err(&failed)?;
        let mut end = vec![0; length.min(10) as usize];
        stream.seek(SeekFrom::End(-(end.len() as i64))).map_err(&failed)?;
        stream.read_exact(&mut end).map_err(&failed)?;
        stream.rewind().map_err(&failed)?;
        let mut messages = Self {
            file: source.file.clone(),
            source: stream,
            left: length,
            tail: 0,
            is_file: false,
            meter: meter.clone(),
            decoder: StreamDecoder::new(),
            ready: VecDeque::new(),
            is_done: false,
        };
        let mut start = [0; 8];
        if length < 8 {
            return Err(messages.syntax("it is too short to contain anything"));
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
                return Err(messages.cut("the announced table of contents"));
            }
            messages.fill(&mut start)?;
            // Some writers pad to 64 bytes before the first message.
            while start == [0; 8] {
                messages.fill(&mut start)?;
            }
        }
        let message = messages.message(start)?;
        let Some((meta, body)) = message else {
            return Err(messages.syntax("it ends before the names of its columns"));
        };
        let schema = guarded(&messages.file, &ARROW, || {
            let message = root_as_message(&meta).map_err(|error| error.to_string())?;
            let schema = message.header_as_schema().ok_or("it does not start with a schema")?;
            Ok::<Schema, String>(fb_to_schema(schema))
        })?;
        messages.feed(start, &meta, body)?;
        Ok((messages, schema.into()))
    }

    fn syntax(&self, reason: &str) -> IoError {
        ARROW.syntax(Spot::file(&self.file), reason)
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
        self.source.read_exact(bytes).map_err(IoError::reading(&self.file))?;
        self.left -= bytes.len() as u64;
        Ok(())
    }

    /// Reads as many bytes as a length in the file says, if they are available and allowed.
    fn take(&mut self, length: u64, what: &str) -> Result<Vec<u8>, IoError> {
        if length > self.left.saturating_sub(self.tail) {
            return Err(self.cut(&format!("{length} bytes for {what}")));
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        self.meter.check_bytes(length, || Spot::file(&self.file))?;
        let mut bytes = vec![0; length];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// The message that starts with these bytes, header and body; `None` at the end.
    fn message(&mut self, start: [u8; 8]) -> Result<Option<Message>, IoError> {
        if start[..4] != CONTINUATION {
            return Err(self.syntax("a message does not start like one"));
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

    /// Checks that the buffers of a batch lie within it, and checks the decompressed sizes in the
    /// file, because the decoder allocates that much.
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
        self.meter.check_rows(n_rows, || Spot::file(&self.file))?;
        let Some(buffers) = batch.buffers() else { return Ok(()) };
        // A rough upper bound of the bytes that one byte of either codec can expand to.
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
            // A negative size marks an uncompressed buffer.
            let Ok(promised) = usize::try_from(promised) else { continue };
            total = total.saturating_add(promised);
            self.meter.check_bytes(total, || Spot::file(&self.file))?;
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
                let batch = guarded(&self.file, &ARROW, || self.decoder.decode(&mut buffer))?;
                self.ready.extend(batch);
            }
        }
        Ok(())
    }
}

impl Batches for Messages<'_> {
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
                return Err(self.cut("a mark after the last batch"));
            }
            match message {
                Some((meta, body)) => self.feed(start, &meta, body)?,
                None => {
                    // A batch without a body is only delivered once something follows it.
                    self.feed(start, &[], Vec::new())?;
                    self.is_done = true;
                }
            }
        }
    }
}
