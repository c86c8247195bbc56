//! Facts about all formats together: written files read back, and no bytes make a reader panic.

mod budget;
mod corrupt;
mod picture_color;
mod picture_faults;
mod pictures;
mod round_trip;
mod tables;
