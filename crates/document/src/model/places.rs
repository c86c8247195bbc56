//! The places of the parts of a setting's string in the document.

use millstream_base::Span;
use serde_json::Value as Json;

use super::Setting;

impl Setting {
    /// The bytes of the document that hold this range of the string; `None` if they are not known.
    pub(crate) fn part(&self, start: usize, end: usize) -> Option<Span> {
        let Json::String(text) = &self.json else { return None };
        let span = self.spot.span();
        if let Some(places) = &self.places.parts {
            return part_of_places(places, span, start, end);
        }
        if span.len() == text.len() {
            // The string stands there without quotes.
            let end = (span.start as usize + end.max(start + 1)).min(span.end as usize);
            return Some(Span::new((span.start as usize + start).min(end.saturating_sub(1)), end));
        }
        let plain = text.chars().all(|c| c != '"' && c != '\\' && !c.is_control());
        if !plain || span.is_empty() || end > text.len() {
            return None;
        }
        // The spot ends with the closing quote.
        let first = (span.end as usize).checked_sub(1 + text.len())?;
        // Something missing at the end is marked at the closing quote.
        Some(Span::new(first + start, first + end.max(start + 1)))
    }
}

/// The bytes of the document that hold this range of a string whose parts are at these places.
fn part_of_places(places: &[(u32, u32)], span: Span, start: usize, end: usize) -> Option<Span> {
    let at = |byte: usize| {
        let part = places.partition_point(|(text, _)| *text as usize <= byte).checked_sub(1)?;
        let (text, document) = places[part];
        Some(document as usize + byte - text as usize)
    };
    let last = (span.end as usize).saturating_sub(1);
    let first = at(start)?.min(last);
    let end = at(end.saturating_sub(1).max(start))? + 1;
    Some(Span::new(first, end.clamp(first + 1, (last + 1).max(first + 1))))
}
