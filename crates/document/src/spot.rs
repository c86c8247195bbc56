//! The position of a part of a document in the text it was loaded from.

use millstream_base::Span;

/// The position of a part in the text; empty for parts built in code.
///
/// All spots are equal, so the equality of documents does not depend on them.
#[derive(Clone, Copy, Default)]
pub struct Spot {
    start: u32,
    /// The length in bytes; the two highest bits hold the result of loading.
    length: u32,
}

/// A part that could not be read completely.
const UNREADABLE: u32 = 1 << 31;
/// A part with an error.
const WRONG: u32 = 1 << 30;
const LENGTH: u32 = WRONG - 1;

impl Spot {
    /// The spot of these bytes.
    pub fn new(span: Span) -> Self {
        Self { start: span.start, length: (span.end - span.start).min(LENGTH) }
    }

    /// The bytes; empty for parts built in code.
    pub fn span(self) -> Span {
        Span { start: self.start, end: self.start + (self.length & LENGTH) }
    }

    /// This spot, or the other one if this is empty.
    pub(crate) fn or(self, other: Self) -> Self {
        if self.span().is_empty() { other } else { self }
    }

    /// Whether another part is written inside this one.
    pub(crate) fn holds(self, other: Self) -> bool {
        let (outer, inner) = (self.span(), other.span());
        !inner.is_empty() && outer.start <= inner.start && inner.end <= outer.end
    }

    /// The same spot, for a part with an error that could still be read completely.
    pub fn wrong(self) -> Self {
        Self { length: self.length | WRONG, ..self }
    }

    /// The same spot, for a part that could not be read, so that checking it is pointless.
    pub fn unreadable(self) -> Self {
        Self { length: self.length | WRONG | UNREADABLE, ..self }
    }

    /// Whether loading found an error in the part.
    pub(crate) fn is_wrong(self) -> bool {
        self.length & WRONG != 0
    }

    /// Whether the part could not be read completely.
    pub(crate) fn is_unreadable(self) -> bool {
        self.length & UNREADABLE != 0
    }
}

impl From<Span> for Spot {
    fn from(span: Span) -> Self {
        Self::new(span)
    }
}

impl PartialEq for Spot {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Spot {}

impl std::fmt::Debug for Spot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let span = self.span();
        write!(f, "{}..{}", span.start, span.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spot_is_eight_bytes_and_keeps_its_span() {
        assert_eq!(size_of::<Spot>(), 8);
        let spot = Spot::new(Span::new(3, 10)).wrong();
        assert_eq!(
            (spot.span(), spot.is_wrong(), spot.is_unreadable()),
            (Span::new(3, 10), true, false)
        );
        let spot = spot.unreadable();
        assert_eq!(
            (spot.span(), spot.is_wrong(), spot.is_unreadable()),
            (Span::new(3, 10), true, true)
        );
    }
}
