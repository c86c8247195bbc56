//! Images as JSON objects.

use serde_json::{Value as Json, json};

use crate::footprint::Footprint;
use crate::value::Value;
use crate::value::image::{Image, PIXEL_TYPES};

impl Image {
    /// The image of a JSON object with the `pixels`, row by row from the lower edge, their `type`,
    /// and the `view` whose requested region they cover.
    pub(crate) fn from_json(json: &Json) -> Option<Self> {
        let fields = json.as_object()?;
        if fields.keys().any(|key| !["view", "type", "pixels"].contains(&key.as_str())) {
            return None;
        }
        let name = fields.get("type")?.as_str()?;
        let ty = PIXEL_TYPES.into_iter().find(|ty| ty.name() == name)?;
        let view = Footprint::from_json(fields.get("view")?)?;
        match super::from_json(ty.list()?, fields.get("pixels")?).ok()? {
            Value::List(pixels) => Self::new(view, pixels),
            _ => None,
        }
    }

    /// The image as a JSON object with all pixels.
    pub(crate) fn to_json(&self) -> Json {
        let pixels = super::to_json(&Value::List(self.pixels().clone()));
        json!({ "view": self.view().to_json(), "type": self.pixels().ty().name(), "pixels": pixels })
    }

    /// The size of the image as a JSON object, for display.
    pub(crate) fn to_plain_json(&self) -> Json {
        json!({ "width": self.width(), "height": self.height(), "channels": self.n_channels() })
    }
}

/// The notation of an image.
pub(crate) const FORM: &str = "an object with the `view`, the `type` of the pixels (f32, vec2, \
                               vec3 or color) and the `pixels`, row by row from the lower edge";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::literal;
    use crate::value::types::Type;

    #[test]
    fn images_are_written_as_objects_and_read_back() {
        for n in 1..=4 {
            let values = (0..6 * n).map(|i| i as f32 / 7.0).collect();
            let view = Footprint::of_size(9, 9).with_crop([1, 2, 4, 4]);
            let image = Image::from_channels(view, n, values).expect("it fits");
            let json = literal::to_json(&Value::from(image.clone()));
            let read = literal::from_json(Type::of::<Image>(), &json).expect("it is an image");
            assert_eq!(read.get::<Image>(), Some(image));
        }
        let short = json!({ "view": { "resolution": [2, 2] }, "type": "f32", "pixels": [1, 2, 3] });
        assert!(literal::from_json(Type::of::<Image>(), &short).is_err());
    }
}
