//! Streams that can be read only once, such as standard input and named pipes. A stream is either
//! the document, or data for any number of inputs.
//!
//! A thread opens and reads each stream, so that the reader can stop waiting.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use millstream::Limits;
use millstream_io::{Budget, read_stream};

use crate::outcome::{Exit, Stop};

/// The path of standard input.
const STDIN: &str = "-";

/// The use of a stream; its bytes are kept until the program ends.
#[derive(Clone, Copy)]
enum Content {
    Document,
    Data(&'static [u8]),
}

static READ: Mutex<Option<HashMap<PathBuf, Content>>> = Mutex::new(None);

/// Whether a path stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new(STDIN)
}

/// Whether a path leads to a stream.
pub(crate) fn is_piped(path: &Path) -> bool {
    is_stdin(path) || path.metadata().is_ok_and(|data| !data.is_file() && !data.is_dir())
}

/// The name of a file or stream in messages.
pub(crate) fn name_of(path: &Path) -> String {
    if is_stdin(path) { "standard input".into() } else { path.display().to_string() }
}

fn content_of(path: &Path) -> Option<Content> {
    READ.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(path).copied()
}

fn keep(path: &Path, content: Content) {
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    read.get_or_insert_default().insert(path.to_owned(), content);
}

/// The bytes of a document that arrive in time.
pub(crate) fn document(path: &Path, limit: u64, until: &Budget) -> io::Result<Vec<u8>> {
    // From now on it only matters that the stream has been read.
    keep(path, Content::Document);
    let mut bytes = Vec::new();
    Waiting::start(path, until.clone()).take(limit).read_to_end(&mut bytes).map(|_| bytes)
}

/// The bytes of data, read on first use.
pub(crate) fn data(path: &Path, limits: &Limits, until: &Budget) -> Result<&'static [u8], Stop> {
    match content_of(path) {
        Some(Content::Data(bytes)) => Ok(bytes),
        Some(Content::Document) => {
            let name = name_of(path);
            let shown = if is_stdin(path) { name.clone() } else { format!("`{name}`") };
            let text = format!("{shown} holds the document, so it cannot hold data as well");
            Err(Stop::new(Exit::Usage, text, Some("read one of them from a file".into())))
        }
        None => {
            let source = Waiting::start(path, until.clone());
            let bytes = read_stream(&name_of(path), source, limits, until);
            let bytes = bytes.map_err(|error| Stop::data(Exit::Wrong, &error))?.leak();
            keep(path, Content::Data(bytes));
            Ok(bytes)
        }
    }
}

/// A reader of bytes from another thread that stops at the deadline or on Ctrl-C.
struct Waiting {
    pieces: Receiver<io::Result<Vec<u8>>>,
    until: Budget,
    piece: io::Cursor<Vec<u8>>,
}

impl Waiting {
    fn start(path: &Path, until: Budget) -> Self {
        let (sender, pieces) = sync_channel(4);
        let path = path.to_owned();
        // The thread ends with its input, its receiver, or the program.
        std::thread::spawn(move || {
            let opened: io::Result<Box<dyn Read>> = if is_stdin(&path) {
                Ok(Box::new(io::stdin().lock()))
            } else {
                // Opening a pipe blocks until there is a writer.
                File::open(&path).map(|file| Box::new(file) as Box<dyn Read>)
            };
            let mut source = match opened {
                Ok(source) => source,
                Err(error) => {
                    // Sending fails only if the receiver is gone.
                    let _ = sender.send(Err(error));
                    return;
                }
            };
            loop {
                let mut piece = vec![0; 1 << 16];
                let read = source.read(&mut piece).map(|n| {
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
                // The caller checks the same condition.
                Err(RecvTimeoutError::Timeout) if self.until.ended().is_some() => return Ok(0),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
    }
}
