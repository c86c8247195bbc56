//! Keys: hashes of the content that determines a result.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;

use millstream_base::Value;
use millstream_node::Data;

use crate::codec;

/// Raised when keys or the encoding of results change their meaning.
pub(crate) const FORMAT: u32 = 7;

/// The first half of a BLAKE3 hash. Results with the same key have the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub [u8; 16]);

impl Key {
    /// The key of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hash = KeyHasher::new("bytes");
        hash.bytes(bytes);
        hash.key()
    }

    /// The size of a file, and the key of its content.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn of_file(path: &Path) -> io::Result<(u64, Self)> {
        let mut hash = KeyHasher::new("file");
        let n_before = hash.0.count();
        hash.0.update_reader(File::open(path)?)?;
        Ok((hash.0.count() - n_before, hash.key()))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Collects the content of a key. Each part includes its length, so that different lists of parts
/// never look the same.
#[derive(Clone)]
pub(crate) struct KeyHasher(blake3::Hasher);

impl KeyHasher {
    /// Starts a key of this kind.
    pub(crate) fn new(kind: &str) -> Self {
        let mut hash = Self(blake3::Hasher::new());
        hash.text(kind);
        hash
    }

    pub(crate) fn number(&mut self, n: u64) {
        self.0.update(&n.to_le_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn add(&mut self, key: Key) {
        self.0.update(&key.0);
    }

    /// Adds the bits of a value; `false` if its type has no encoding.
    pub(crate) fn value(&mut self, value: &Value) -> bool {
        let mut bytes = Vec::new();
        let is_encoded = codec::value(value, &mut bytes);
        self.bytes(&bytes);
        is_encoded
    }

    /// Adds the bits of a value or of all entries of a column, as [`value`](Self::value).
    pub(crate) fn data(&mut self, data: &Data) -> bool {
        let mut bytes = Vec::new();
        let is_encoded = codec::data(data, &mut bytes);
        self.bytes(&bytes);
        is_encoded
    }

    pub(crate) fn key(&self) -> Key {
        let mut key = [0; 16];
        key.copy_from_slice(&self.0.finalize().as_bytes()[..16]);
        Key(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_delimited() {
        let key = |parts: &[&str]| {
            let mut hash = KeyHasher::new("test");
            for part in parts {
                hash.text(part);
            }
            hash.key()
        };
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_ne!(key(&["ab"]), key(&["ab", ""]));
        assert_eq!(key(&["ab", "c"]), key(&["ab", "c"]));
        assert_eq!(key(&["a"]).to_string().len(), 32);
    }

    #[test]
    fn values_are_hashed_by_their_bits() {
        let key = |value: Value| {
            let mut hash = KeyHasher::new("test");
            assert!(hash.value(&value));
            hash.key()
        };
        assert_ne!(key(Value::F32(0.0)), key(Value::F32(-0.0)));
        assert_ne!(key(Value::F32(1.0)), key(Value::F64(1.0)));
        assert_ne!(key(Value::I32(1)), key(Value::F32(f32::from_bits(1))));
        assert_eq!(key(Value::F32(2.0)), key(Value::F32(2.0)));
    }
}
