//! Documents from what other programs wrote.

pub mod blender;
