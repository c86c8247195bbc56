//! Explanations of small documents.
