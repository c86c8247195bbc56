//! Virtual arrays: anything that looks like an array.
