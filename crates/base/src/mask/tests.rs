//! Facts about masks, checked against sorted sets.
