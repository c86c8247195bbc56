//! Parts of the texts of formulas, which know their places in the document.

use std::ops::Range;

use millstream_base::Span;
use millstream_base::literal::formula_number;
use serde_json::Value as Json;

use crate::model::{Places, Setting};
use crate::spot::Spot;

/// The text of a setting, with its place in the document.
#[derive(Clone, Copy)]
pub(super) struct Source<'s> {
    pub(super) setting: &'s Setting,
    pub(super) text: &'s str,
    /// The place of the first byte, if the document contains the text verbatim.
    first: Option<u32>,
}

impl<'s> Source<'s> {
    pub(super) fn of(setting: &'s Setting) -> Option<Self> {
        let text = setting.json.as_str()?;
        let place = setting.part(0, 1).filter(|_| setting.places.parts.is_none());
        Some(Self { setting, text, first: place.map(|span| span.start) })
    }

    /// The place of some bytes.
    fn place_of(&self, bytes: &Range<usize>) -> Option<Span> {
        let end = bytes.end.max(bytes.start + 1);
        match self.first {
            Some(first) => Some(Span::new(first as usize + bytes.start, first as usize + end)),
            None => {
                self.setting.places.parts.as_ref()?;
                self.setting.part(bytes.start, end)
            }
        }
    }

    /// The place of some bytes, or that of the setting.
    pub(super) fn spot_of(&self, bytes: &Range<usize>) -> Spot {
        Spot::new(self.place_of(bytes).unwrap_or_else(|| self.setting.spot.span()))
    }
}

/// A text made of parts of another, which knows their places in the document.
pub(super) struct Piece<'s> {
    source: Source<'s>,
    text: String,
    parts: Vec<(u32, u32)>,
}

impl<'s> Piece<'s> {
    pub(super) fn of(source: Source<'s>) -> Self {
        Self { source, text: String::new(), parts: Vec::new() }
    }

    /// Appends bytes of the source.
    pub(super) fn copy(&mut self, bytes: Range<usize>) {
        let parts = self.source.setting.places.parts.as_deref().unwrap_or_default();
        let after = parts.partition_point(|(byte, _)| *byte as usize <= bytes.start);
        let inner = parts[after..].iter().map(|(byte, _)| *byte as usize);
        let starts = std::iter::once(bytes.start).chain(inner.take_while(|byte| *byte < bytes.end));
        for start in starts {
            let at = self.text.len() + start - bytes.start;
            let place = self.source.place_of(&(start..start + 1));
            self.parts.extend(place.map(|span| (at as u32, span.start)));
        }
        self.text.push_str(&self.source.text[bytes]);
    }

    /// Appends a name in place of what starts at a byte of the source.
    pub(super) fn insert(&mut self, name: &str, byte: usize) {
        let place = self.source.place_of(&(byte..byte + 1));
        self.parts.extend(place.map(|span| (self.text.len() as u32, span.start)));
        self.text.push_str(name);
    }

    /// The setting with this text.
    pub(super) fn setting(self, spot: Spot) -> Setting {
        let parts = (!self.parts.is_empty()).then(|| self.parts.into());
        let places = Places { parts, is_quoted: true };
        Setting { json: Json::from(self.text), spot, places }
    }
}

/// A JSON value, or a number as formulas write it.
pub(super) fn literal(text: &str) -> Option<Json> {
    // JSON has no plus sign, but reads whole numbers exactly.
    let whole = || text.strip_prefix('+').filter(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
    let json = serde_json::from_str(text).ok();
    let json = json.or_else(|| serde_json::from_str(whole()?).ok());
    json.or_else(|| formula_number(text).map(Json::from))
}
