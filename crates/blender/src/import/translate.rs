//! The translation of each type of node: one file per family.

mod color;
mod compare;
mod curves;
mod logic;
mod math;
mod matrix;
mod random;
mod rotation;
mod text;
mod texture;
mod values;
mod vector;

use super::error::ImportError;
use super::node::NodeContext;

/// Writes nodes equivalent to this one.
pub(super) fn translate(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let node = cx.node;
    match &*node.ty {
        "ShaderNodeMath" => math::math(cx),
        "ShaderNodeMapRange" => math::map_range(cx),
        "ShaderNodeClamp" => math::clamp(cx),
        "FunctionNodeIntegerMath" => math::integer(cx),
        "FunctionNodeBitMath" => math::bits(cx),
        "FunctionNodeFloatToInt" => math::float_to_integer(cx),
        "ShaderNodeVectorMath" => vector::math(cx),
        "ShaderNodeCombineXYZ" => vector::combine(cx),
        "ShaderNodeSeparateXYZ" => vector::separate(cx),
        "ShaderNodeVectorRotate" => vector::rotate(cx),
        "FunctionNodeBooleanMath" => logic::boolean(cx),
        "GeometryNodeSwitch" => logic::switch(cx),
        "GeometryNodeIndexSwitch" => logic::index_switch(cx),
        "GeometryNodeMenuSwitch" => logic::menu_switch(cx),
        "NodeEnableOutput" => logic::enable(cx),
        "GeometryNodeInputIndex" | "GeometryNodeInputID" => {
            values::index(cx);
            Ok(())
        }
        "FunctionNodeCompare" => compare::compare(cx),
        "ShaderNodeMix" => color::mix(cx),
        "ShaderNodeMixRGB" => color::mix_rgb(cx),
        "ShaderNodeFloatCurve" => curves::float(cx),
        "ShaderNodeVectorCurve" => curves::vector(cx),
        "ShaderNodeRGBCurve" => curves::color(cx),
        "ShaderNodeGamma" => color::gamma(cx),
        "ShaderNodeValToRGB" => color::ramp(cx),
        "ShaderNodeBlackbody" => color::blackbody(cx),
        "FunctionNodeCombineColor" | "ShaderNodeCombineColor" => color::combine(cx),
        "FunctionNodeSeparateColor" | "ShaderNodeSeparateColor" => color::separate(cx),
        "ShaderNodeValue"
        | "ShaderNodeRGB"
        | "NodeReroute"
        | "NodeImplicitConversion"
        | "FunctionNodeInputInt"
        | "FunctionNodeInputBool"
        | "FunctionNodeInputVector"
        | "FunctionNodeInputColor"
        | "FunctionNodeInputRotation"
        | "FunctionNodeInputString"
        | "FunctionNodeInputMenu" => values::value(cx),
        "GeometryNodeStringJoin" | "GeometryNodeListLength" | "GeometryNodeListGetItem" => {
            text::translate(cx)
        }
        ty if ty.contains("String") || ty == "FunctionNodeInputSpecialCharacters" => {
            text::translate(cx)
        }
        "FunctionNodeRandomValue" => random::random_value(cx),
        "FunctionNodeHashValue" => random::hash(cx),
        ty if ty.starts_with("ShaderNodeTex") || ty == "ShaderNodeRadialTiling" => {
            texture::translate(cx)
        }
        ty if ty.contains("Matrix")
            || ty.contains("Transform")
            || ty == "FunctionNodeProjectPoint" =>
        {
            matrix::translate(cx)
        }
        ty if ty.starts_with("FunctionNode") => rotation::translate(cx),
        _ => Err(unknown_node(cx)),
    }
}

/// An error about the type of the node.
fn unknown_node(cx: &NodeContext<'_>) -> ImportError {
    ImportError::UnknownNode { node: cx.label(), ty: cx.node.ty.clone() }
}
