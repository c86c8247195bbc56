//! The footprint: the view that is asked for, which nodes read as the context feature `footprint`.

use std::hash::{Hash, Hasher};

use serde_json::{Value as Json, json};

use crate::literal;
use crate::same::Same;
use crate::types::Type;
use crate::value::Value;
use crate::value_type;
use crate::vector::Mat4;

/// A view: where it lies in the scene, how many pixels it has, and which of them are asked for.
///
/// The part asked for may reach beyond the view; a node that blurs asks for more than it gives.
#[derive(Clone, Debug)]
pub struct Footprint {
    /// Takes points of the view, in pixels from its lower left corner, to points of the scene.
    pub transform: Mat4,
    /// Width and height of the view in pixels.
    pub resolution: [i32; 2],
    /// What is asked for, in pixels from the lower left corner of the view: least x and y, and
    /// greatest x and y, which are excluded.
    pub crop: [i32; 4],
}

value_type!(Footprint, "footprint", eq);

impl Footprint {
    /// All of a view of so many pixels, whose pixels are as large as units of the scene.
    pub fn of_size(width: i32, height: i32) -> Self {
        let (width, height) = (width.max(0), height.max(0));
        Self {
            transform: Mat4::default(),
            resolution: [width, height],
            crop: [0, 0, width, height],
        }
    }

    /// The footprint of a JSON object: `resolution`, and if not the usual `transform` and `crop`.
    pub(crate) fn from_json(json: &Json) -> Option<Self> {
        let fields = json.as_object()?;
        if fields.keys().any(|key| !["transform", "resolution", "crop"].contains(&key.as_str())) {
            return None;
        }
        let [width, height] = integers(fields.get("resolution")?)?;
        if width < 0 || height < 0 {
            return None;
        }
        let mut footprint = Self::of_size(width, height);
        if let Some(crop) = fields.get("crop") {
            footprint.crop = integers(crop)?;
        }
        if let Some(transform) = fields.get("transform") {
            footprint.transform = literal::from_json(Type::MAT4, transform).ok()?.get()?;
        }
        Some(footprint)
    }

    /// The footprint as a JSON object with all three fields.
    pub(crate) fn to_json(&self) -> Json {
        let transform = literal::to_json(&Value::from(self.transform));
        json!({ "transform": transform, "resolution": self.resolution, "crop": self.crop })
    }
}

fn integers<const N: usize>(json: &Json) -> Option<[i32; N]> {
    let items = json.as_array()?.iter().map(|item| i32::try_from(item.as_i64()?).ok());
    items.collect::<Option<Vec<i32>>>()?.try_into().ok()
}

impl Default for Footprint {
    /// A view of one pixel.
    fn default() -> Self {
        Self::of_size(1, 1)
    }
}

impl PartialEq for Footprint {
    fn eq(&self, other: &Self) -> bool {
        self.transform.same(&other.transform)
            && self.resolution == other.resolution
            && self.crop == other.crop
    }
}

impl Eq for Footprint {}

impl Hash for Footprint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.transform.feed(state);
        self.resolution.hash(state);
        self.crop.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &Json) -> Option<Footprint> {
        literal::from_json(Type::of::<Footprint>(), json).ok()?.get()
    }

    #[test]
    fn footprints_are_written_as_objects_and_read_back() {
        let mut footprint = Footprint::of_size(640, 480);
        assert_eq!(read(&json!({ "resolution": [640, 480] })), Some(footprint.clone()));
        footprint.crop = [-4, 0, 644, 480];
        footprint.transform.0[12] = 0.1;
        let value = Value::from(footprint.clone());
        assert_eq!(read(&literal::to_json(&value)), Some(footprint.clone()));
        let printed = serde_json::from_str(&value.to_string()).expect("it is JSON");
        assert_eq!(read(&printed), Some(footprint));
    }

    #[test]
    fn literals_that_are_no_footprint_are_refused() {
        for wrong in [
            json!([640, 480]),
            json!({}),
            json!({ "resolution": [640] }),
            json!({ "resolution": [-1, 5] }),
            json!({ "resolution": [1e20, 5] }),
            json!({ "resolution": [4, 4], "crop": [1, 2, 3] }),
            json!({ "resolution": [4, 4], "transform": 1 }),
            json!({ "resolution": [4, 4], "zoom": 2 }),
        ] {
            assert_eq!(read(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn footprints_are_equal_by_bits() {
        let view = || Footprint::of_size(4, 4);
        let mut other = view();
        assert_eq!(view(), other);
        other.transform.0[0] = -0.0;
        let mut zero = view();
        zero.transform.0[0] = 0.0;
        assert_ne!(zero, other);
    }
}
