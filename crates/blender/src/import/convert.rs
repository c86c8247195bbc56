//! Implicit conversions between the types of Blender's sockets.

use millstream_document::Link;
use serde_json::json;

use super::dump::Node;
use super::error::ImportError;
use super::kind::Kind;
use super::writer::{Source, Writer};

/// The source converted to another type, with the necessary nodes.
pub(super) fn to_kind(
    writer: &mut Writer,
    source: Source,
    to: Kind,
    node: &Node,
    at: usize,
) -> Result<Source, ImportError> {
    let from = source.kind();
    if from == to {
        return Ok(source);
    }
    converted(writer, source, to).ok_or_else(|| ImportError::Conversion {
        node: node.label(at),
        from: from.name().into(),
        to: to.name().into(),
    })
}

/// The source as another type; `None` if Blender has no such conversion.
pub(super) fn converted(writer: &mut Writer, source: Source, to: Kind) -> Option<Source> {
    use Kind::{Boolean, Color, Int, Matrix, Rotation, Value, Vector};
    let from = source.kind();
    let mut step = |ty: &str, socket: &str, more: Vec<(&str, Vec<Source>)>, kind: Kind| {
        let inputs = std::iter::once((socket, vec![source.clone()])).chain(more).collect();
        let name = writer.node(&format!("to_{}", kind.name()), ty, &[], inputs);
        Source::Link(kind, Link::new(name, "value"))
    };
    let above_zero = || vec![("b", vec![Source::Literal(from, json!(0))])];
    let by = |writer: &mut Writer, between: Kind, source: Source| {
        let between = converted(writer, source, between)?;
        converted(writer, between, to)
    };
    Some(match (from, to) {
        (from, to) if from == to => source,
        (Boolean | Int, Value)
        | (Boolean, Int)
        | (Value | Int | Color, Vector)
        | (Vector, Color) => plain(writer, source, to),
        (Boolean, Vector | Color) | (Int | Boolean, Rotation) | (Int, Color) => {
            return by(writer, Value, source);
        }
        (Value, Int) => step("blender.to_integer", "x", vec![], to),
        (Value | Int, Boolean) => step("compare.greater", "a", above_zero(), to),
        (Value, Color) => {
            let more = vec![("green", vec![source.clone()]), ("blue", vec![source.clone()])];
            step("color.combine", "red", more, to)
        }
        (Vector, Value) => step("blender.average", "vector", vec![], to),
        (Vector, Boolean) => step("blender.is_nonzero", "vector", vec![], to),
        (Color, Value) => step("color.luminance", "color", vec![], to),
        (Vector | Color, Int) | (Color, Boolean) => return by(writer, Value, source),
        (Value, Rotation) => return by(writer, Vector, source),
        (Vector, Rotation) => step("quat.from_euler", "angles", vec![], to),
        (Rotation, Vector) => step("blender.rotation_to_euler", "rotation", vec![], to),
        (Rotation, Matrix) => step("mat4.rotation", "quat", vec![], to),
        (Matrix, Rotation) => step("blender.matrix_to_rotation", "matrix", vec![], to),
        _ => return None,
    })
}

/// Millstream's own conversion, written as a node so that generic sockets get the right type.
fn plain(writer: &mut Writer, source: Source, to: Kind) -> Source {
    let source = writer.linked(source);
    let set = [("to", json!(to.ty().name()))];
    let title = format!("to_{}", to.name());
    let name = writer.node(&title, "convert", &set, vec![("x", vec![source])]);
    Source::Link(to, Link::new(name, "value"))
}
