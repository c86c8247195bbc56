//! The small fixed-size types made of `f32` lanes: vectors, quaternion, color, matrix.
//!
//! All are plain arrays without padding, so a column of them can be read as lanes.

use bytemuck::{Pod, Zeroable};

macro_rules! lanes {
    ($name:ident, $n:literal, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
        #[repr(transparent)]
        pub struct $name(pub [f32; $n]);

        impl From<[f32; $n]> for $name {
            fn from(lanes: [f32; $n]) -> Self {
                Self(lanes)
            }
        }
    };
}

lanes!(Vec2, 2, "Two components: x, y.");
lanes!(Vec3, 3, "Three components: x, y, z.");
lanes!(Vec4, 4, "Four components: x, y, z, w.");
lanes!(Quat, 4, "A rotation as a quaternion, real part first: w, x, y, z.");
lanes!(
    Color,
    4,
    "Linear light, BT.709 primaries, alpha not premultiplied: red, green, blue, alpha."
);
lanes!(Mat4, 16, "A 4 by 4 matrix in row-major order, applied to column vectors.");

impl Default for Vec2 {
    fn default() -> Self {
        Self([0.0; 2])
    }
}
impl Default for Vec3 {
    fn default() -> Self {
        Self([0.0; 3])
    }
}
impl Default for Vec4 {
    fn default() -> Self {
        Self([0.0; 4])
    }
}
impl Default for Quat {
    /// The identity rotation.
    fn default() -> Self {
        Self([1.0, 0.0, 0.0, 0.0])
    }
}
impl Default for Color {
    /// Opaque black.
    fn default() -> Self {
        Self([0.0, 0.0, 0.0, 1.0])
    }
}
impl Default for Mat4 {
    /// The identity.
    fn default() -> Self {
        let mut lanes = [0.0; 16];
        for i in 0..4 {
            lanes[5 * i] = 1.0;
        }
        Self(lanes)
    }
}
