#!/usr/bin/env python3
"""Makes a node group for every entry of every menu of Blender's function nodes, and exports what Blender computes.

    python tools/blender_menus.py --out menus.json.gz --elements 24

Needs Blender as a Python module (`pip install bpy`). Sockets that can be linked are inputs of the network; the other
options are those of blender_export.py. The tests of the importer use a file that this has made.
"""

import itertools
import sys

import bpy

import blender_export as exporter

# Node type: the settings that are tried, all combinations of each line.
MENUS = {
    "ShaderNodeMath": [{"operation": None, "use_clamp": [False]}, {"operation": ["ADD"], "use_clamp": [True]}],
    "ShaderNodeVectorMath": [{"operation": None}],
    "FunctionNodeIntegerMath": [{"operation": None}],
    "FunctionNodeBooleanMath": [{"operation": None}],
    "FunctionNodeBitMath": [{"operation": None}],
    "FunctionNodeCompare": [
        {"data_type": ["FLOAT", "INT"],
         "operation": ["LESS_THAN", "LESS_EQUAL", "GREATER_THAN", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL"]},
        {"data_type": ["VECTOR"], "mode": None,
         "operation": ["LESS_THAN", "LESS_EQUAL", "GREATER_THAN", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL"]},
        {"data_type": ["RGBA"], "operation": ["EQUAL", "NOT_EQUAL", "BRIGHTER", "DARKER"]},
    ],
    "ShaderNodeMix": [
        {"data_type": ["FLOAT", "ROTATION"], "clamp_factor": [True, False]},
        {"data_type": ["VECTOR"], "clamp_factor": [True, False], "factor_mode": None},
        {"data_type": ["RGBA"], "blend_type": None, "clamp_factor": [True]},
        {"data_type": ["RGBA"], "blend_type": ["MIX", "ADD", "BURN"], "clamp_factor": [False], "clamp_result": [True]},
    ],
    "ShaderNodeMixRGB": [{"blend_type": ["MIX", "SCREEN"], "use_clamp": [True, False]}],
    "ShaderNodeMapRange": [{"data_type": None, "interpolation_type": None, "clamp": [True, False]}],
    "ShaderNodeClamp": [{"clamp_type": None}],
    "GeometryNodeSwitch": [{"input_type": ["FLOAT", "INT", "BOOLEAN", "VECTOR", "RGBA", "ROTATION", "MATRIX"]}],
    "GeometryNodeIndexSwitch": [{"data_type": ["FLOAT", "INT", "BOOLEAN", "VECTOR", "RGBA", "ROTATION", "MATRIX"]}],
    "GeometryNodeMenuSwitch": [{"data_type": ["FLOAT", "INT", "VECTOR"]}],
    "ShaderNodeCombineXYZ": [{}], "ShaderNodeSeparateXYZ": [{}],
    "FunctionNodeCombineColor": [{"mode": None}], "FunctionNodeSeparateColor": [{"mode": None}],
    "FunctionNodeCombineMatrix": [{}], "FunctionNodeSeparateMatrix": [{}],
    "FunctionNodeCombineTransform": [{}], "FunctionNodeSeparateTransform": [{}],
    "FunctionNodeMatrixMultiply": [{}], "FunctionNodeInvertMatrix": [{}], "FunctionNodeTransposeMatrix": [{}],
    "FunctionNodeMatrixDeterminant": [{}], "FunctionNodeTransformPoint": [{}], "FunctionNodeTransformDirection": [{}],
    "FunctionNodeProjectPoint": [{}],
    "FunctionNodeFloatToInt": [{"rounding_mode": None}],
    "FunctionNodeRotateEuler": [{"rotation_type": None, "space": None}],
    "FunctionNodeRotateVector": [{}], "FunctionNodeRotateRotation": [{"rotation_space": None}],
    "FunctionNodeInvertRotation": [{}], "FunctionNodeAxesToRotation": [{"primary_axis": None, "secondary_axis": None}],
    "FunctionNodeAxisAngleToRotation": [{}], "FunctionNodeEulerToRotation": [{}], "FunctionNodeQuaternionToRotation": [{}],
    "FunctionNodeRotationToAxisAngle": [{}], "FunctionNodeRotationToEuler": [{}], "FunctionNodeRotationToQuaternion": [{}],
    "FunctionNodeAlignRotationToVector": [{"axis": None, "pivot_axis": None}],
    "FunctionNodeAlignEulerToVector": [{"axis": None, "pivot_axis": None}],
    "ShaderNodeVectorRotate": [{"rotation_type": None, "invert": [True, False]}],
    "FunctionNodeRandomValue": [{"data_type": ["FLOAT", "INT", "BOOLEAN", "FLOAT_VECTOR"]}],
    "FunctionNodeHashValue": [{"data_type": ["FLOAT", "INT", "VECTOR", "RGBA", "ROTATION", "MATRIX"]}],
    "ShaderNodeGamma": [{}],
    "ShaderNodeValToRGB": [{}],
}
CONVERTED = ["VALUE", "INT", "BOOLEAN", "VECTOR", "RGBA", "ROTATION", "MATRIX"]
SWITCHED = {"VALUE": "FLOAT"}


def new_tree(name):
    return bpy.data.node_groups.new(name, "GeometryNodeTree")


def open_inputs(tree, node):
    """Links every socket of a node to an attribute, so that it becomes an input."""
    for socket in exporter.sockets_of(node.inputs):
        if socket.type in exporter.ATTRIBUTE_TYPES:
            reader = tree.nodes.new("GeometryNodeInputNamedAttribute")
            reader.data_type = exporter.ATTRIBUTE_TYPES[socket.type]
            tree.links.new(next(s for s in reader.outputs if s.enabled and s.name == "Attribute"), socket)


def bend(node):
    """Gives ramps a third stop."""
    if hasattr(node, "color_ramp"):
        node.color_ramp.elements.new(0.4).color = (0.9, 0.2, 0.1, 0.5)


def menu_entries(kind, lines):
    """All settings of a node type that are tried."""
    probe = new_tree("probe")
    node = probe.nodes.new(kind)
    for line in lines:
        keys = list(line)
        choices = [line[key] or [e.identifier for e in node.bl_rna.properties[key].enum_items] for key in keys]
        for values in itertools.product(*choices):
            yield dict(zip(keys, values))
    bpy.data.node_groups.remove(probe)


def make_menus():
    for kind, lines in MENUS.items():
        for settings in list(menu_entries(kind, lines)):
            tree = new_tree(" ".join([kind] + [str(value) for value in settings.values()]))
            node = tree.nodes.new(kind)
            for key, value in settings.items():
                setattr(node, key, value)
            bend(node)
            open_inputs(tree, node)


def make_ramps():
    for mode, interpolation in (("RGB", "LINEAR"), ("RGB", "CONSTANT"), ("RGB", "EASE"), ("RGB", "CARDINAL"),
                                ("RGB", "B_SPLINE"), ("HSV", "LINEAR"), ("HSL", "LINEAR")):
        for hue in ("NEAR", "FAR", "CW", "CCW") if mode != "RGB" else ("NEAR",):
            tree = new_tree("Ramp %s %s %s" % (mode, interpolation, hue))
            node = tree.nodes.new("ShaderNodeValToRGB")
            node.color_ramp.color_mode, node.color_ramp.interpolation = mode, interpolation
            node.color_ramp.hue_interpolation = hue
            bend(node)
            open_inputs(tree, node)


def make_conversions():
    """A switch of every type fed from a value of every type that Blender lets in."""
    for source, target in itertools.permutations(CONVERTED, 2):
        tree = new_tree("Convert %s to %s" % (source, target))
        node = tree.nodes.new("GeometryNodeSwitch")
        node.input_type = SWITCHED.get(target, target)
        open_inputs(tree, node)
        reader = tree.nodes.new("GeometryNodeInputNamedAttribute")
        reader.data_type = exporter.ATTRIBUTE_TYPES[source]
        output = next(s for s in reader.outputs if s.enabled and s.name == "Attribute")
        link = tree.links.new(output, next(s for s in node.inputs if s.identifier == "True"))
        node.inputs["Switch"].default_value = True
        tree.links.remove(node.inputs["Switch"].links[0])
        if not link.is_valid:
            bpy.data.node_groups.remove(tree)


def make_muted():
    """Muted nodes give on an input, or zero."""
    for kind in ("ShaderNodeMath", "ShaderNodeVectorMath", "ShaderNodeMix", "GeometryNodeSwitch", "FunctionNodeCompare",
                 "ShaderNodeCombineXYZ", "ShaderNodeSeparateXYZ", "ShaderNodeMapRange", "FunctionNodeFloatToInt"):
        tree = new_tree("Muted " + kind)
        node = tree.nodes.new(kind)
        if kind == "GeometryNodeSwitch":
            node.input_type = "FLOAT"
        open_inputs(tree, node)
        node.mute = True


if __name__ == "__main__":
    ARGS = exporter.arguments()
    make_menus()
    make_ramps()
    make_conversions()
    make_muted()
    DUMP = exporter.export_all(ARGS)
    exporter.write(ARGS.out, DUMP)
    print("exported %d networks to %s" % (len(DUMP["networks"]), ARGS.out), file=sys.stderr)
