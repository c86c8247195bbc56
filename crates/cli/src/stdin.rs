//! The standard input, which is read once: as the document, or as data of any number of inputs.
//!
//! It is read by a thread of its own, so that whoever waits for it can give up waiting.

use std::io::{self, Read};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use millstream::Limits;
use millstream_io::{Until, read_stream};

use crate::outcome::{Exit, Stop};

/// What the standard input is called in messages.
pub(crate) const NAME: &str = "standard input";

/// What the standard input was.
enum Content {
    Document,
    Data(Vec<u8>),
}

static CONTENT: OnceLock<Content> = OnceLock::new();

/// The bytes of a document, as far as they come while somebody waits for them.
pub(crate) fn document(limit: u64, until: &Until) -> io::Result<Vec<u8>> {
    // Only that it was read counts from now on.
    let _ = CONTENT.set(Content::Document);
    let mut bytes = Vec::new();
    Waiting::start(until.clone()).take(limit).read_to_end(&mut bytes).map(|_| bytes)
}

/// The bytes of data, read when they are first asked for.
pub(crate) fn data(limits: &Limits, until: &Until) -> Result<&'static [u8], Stop> {
    if CONTENT.get().is_none() {
        let source = Waiting::start(until.clone());
        let bytes = read_stream(NAME, source, limits, until);
        let bytes = bytes.map_err(|error| Stop::data(Exit::Wrong, &error))?;
        // Nobody else sets it: verbs read on one thread.
        let _ = CONTENT.set(Content::Data(bytes));
    }
    match CONTENT.get() {
        Some(Content::Data(bytes)) => Ok(bytes),
        Some(Content::Document) | None => {
            let text = "the standard input is the document, so it cannot be data as well";
            Err(Stop::new(Exit::Usage, text, Some("read one of them from a file".into())))
        }
    }
}

/// Bytes that come from another thread; they end when nobody waits any more.
struct Waiting {
    pieces: Receiver<io::Result<Vec<u8>>>,
    until: Until,
    piece: io::Cursor<Vec<u8>>,
}

impl Waiting {
    fn start(until: Until) -> Self {
        let (sender, pieces) = sync_channel(4);
        // The thread ends with the input, with whoever waits for it, or with the program.
        std::thread::spawn(move || {
            loop {
                let mut piece = vec![0; 1 << 16];
                let read = io::stdin().lock().read(&mut piece).map(|n| {
                    piece.truncate(n);
                    piece
                });
                let is_last = read.as_ref().map_or(true, Vec::is_empty);
                if sender.send(read).is_err() || is_last {
                    return;
                }
            }
        });
        Self { pieces, until, piece: io::Cursor::default() }
    }
}

impl Read for Waiting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.piece.read(buffer)?;
            if n > 0 || buffer.is_empty() {
                return Ok(n);
            }
            match self.pieces.recv_timeout(Duration::from_millis(20)) {
                Ok(piece) => {
                    let piece = piece?;
                    if piece.is_empty() {
                        return Ok(0);
                    }
                    self.piece = io::Cursor::new(piece);
                }
                // Whoever reads asks the same.
                Err(RecvTimeoutError::Timeout) if self.until.ended().is_some() => return Ok(0),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
    }
}
