//! Images placed on the pixels of another view.
