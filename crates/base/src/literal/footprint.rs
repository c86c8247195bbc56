//! Footprints as JSON objects.

use serde_json::{Value as Json, json};

use crate::footprint::Footprint;
use crate::value::Value;
use crate::value::types::Type;

impl Footprint {
    /// The footprint of a JSON object with `resolution` and optionally `transform` and `crop`.
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
            footprint.transform = super::from_json(Type::MAT4, transform).ok()?.get()?;
        }
        Some(footprint)
    }

    /// The footprint as a JSON object with all three fields.
    pub(crate) fn to_json(&self) -> Json {
        let transform = super::to_json(&Value::from(self.transform));
        json!({ "transform": transform, "resolution": self.resolution, "crop": self.crop })
    }
}

fn integers<const N: usize>(json: &Json) -> Option<[i32; N]> {
    let items = json.as_array()?.iter().map(|item| i32::try_from(item.as_i64()?).ok());
    items.collect::<Option<Vec<i32>>>()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::literal;

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
    fn literals_that_are_not_footprints_are_refused() {
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
}
