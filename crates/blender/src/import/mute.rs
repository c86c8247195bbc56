//! Muted nodes: each output passes on the input whose type fits best, or zero.

use super::dump::{Feed, Release};
use super::error::ImportError;
use super::kind::Kind;
use super::node::NodeContext;
use super::writer::Source;

/// Whether a muted node may pass this socket on; `first` is the first item of the node.
fn is_passed(release: Release, node: &str, socket: &str, first: Option<&str>) -> bool {
    match socket {
        _ if node == "ShaderNodeRadialTiling" => false,
        "Enable" | "Switch" | "Index" | "Menu" | "Factor_Float" | "Factor_Vector" => false,
        "Factor" => node != "ShaderNodeFloatCurve",
        "Fac" => node == "ShaderNodeValToRGB",
        // Only the first arm of a switch is passed on.
        "True" => node != "GeometryNodeSwitch" || release < ALL_ARMS_BEFORE,
        "Color1" | "Color2" => true,
        _ if node == "GeometryNodeIndexSwitch" || node == "GeometryNodeMenuSwitch" => {
            release < ALL_ARMS_BEFORE || Some(socket) == first
        }
        _ => {
            matches!(node, "ShaderNodeTexWhiteNoise" | "ShaderNodeTexGabor")
                || !node.starts_with("ShaderNodeTex")
        }
    }
}

/// Before this release any arm of a switch was passed on, preferably a linked one.
const ALL_ARMS_BEFORE: Release = Release(4, 5);

/// Makes the outputs of a muted node.
pub(super) fn pass(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    // Only the first output of a menu switch passes an input on.
    let is_menu = cx.node.ty == "GeometryNodeMenuSwitch";
    // Removed items leave gaps in the numbering.
    let sockets = cx.node.inputs.iter();
    let first = sockets.map(|socket| &*socket.id).find(|id| id.starts_with("Item_"));
    for (at, output) in cx.node.outputs.iter().enumerate() {
        let Some(to) = Kind::of_socket(&output.kind) else { continue };
        let mut best: Option<(u32, bool, Source)> = None;
        for (socket, source) in cx.sockets() {
            let Some(source) = source else { continue };
            let from = Kind::of_socket(&socket.kind).map_or(0, |from| suits(from, to));
            if from == 0
                || (is_menu && at > 0)
                || !is_passed(cx.release, &cx.node.ty, &socket.id, first)
            {
                continue;
            }
            let is_linked = socket.has_muted_link || !matches!(socket.feed, Feed::Value(_));
            let is_better = match &best {
                None => true,
                Some((suited, linked, _)) => from > *suited || (is_linked && !linked),
            };
            if is_better {
                best = Some((from, is_linked, source.clone()));
            }
        }
        let source = match best {
            Some((_, _, source)) => cx.as_kind(source, to)?,
            None => Source::Literal(to, to.missing()),
        };
        cx.give_exactly(&output.id, source);
    }
    Ok(())
}

/// A rank of how well an input fits an output; 0 if it does not fit.
fn suits(from: Kind, to: Kind) -> u32 {
    use Kind::{Boolean, Color, Int, Rotation, Value, Vector};
    match (from, to) {
        (Value, Value) | (Int, Int) | (Boolean, Boolean) => 5,
        (Color, Color) | (Vector, Vector) | (Int, Value | Boolean) | (Value, Int) => 4,
        (Value, Color | Vector | Boolean) | (Boolean, Value | Int) => 3,
        (Int, Color | Vector) | (Color, Value | Int | Boolean) => 2,
        (Boolean, Color | Vector) | (Vector, Value | Int | Boolean) | (Value, Rotation) => 1,
        (Vector, Rotation) => 2,
        (Rotation, Rotation) => 3,
        (from, to) => u32::from(from == to),
    }
}
