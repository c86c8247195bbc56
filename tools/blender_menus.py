#!/usr/bin/env python3
"""Makes a node group for every entry of every menu of Blender's function nodes, and exports the results of Blender.

    python tools/blender_menus.py --out menus.json.gz --elements 24

Needs Blender as a Python module (`pip install bpy`). Sockets that can be linked are inputs of the network; the other
options are those of blender_export.py, and --textures and --alignments, which make nothing else. The tests of the
importer use files made by this program.
"""

import itertools
import sys

import bpy

import blender_export as exporter

# Node type: the settings to try, in all combinations of each line.
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
    "FunctionNodeMatrixDeterminant": [{}], "FunctionNodeMatrixSVD": [{}], "FunctionNodeTransformPoint": [{}], "FunctionNodeTransformDirection": [{}],
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
    "ShaderNodeRadialTiling": [{"normalize": [True, False]}],
    "ShaderNodeGamma": [{}],
    "ShaderNodeBlackbody": [{}],
    "GeometryNodeInputIndex": [{}],
    "NodeEnableOutput": [{"data_type": ["FLOAT", "INT", "BOOLEAN", "VECTOR", "RGBA", "ROTATION", "MATRIX"]}],
    "NodeImplicitConversion": [{"data_type": ["FLOAT", "INT", "BOOLEAN", "VECTOR", "RGBA", "ROTATION", "MATRIX"]}],
    "ShaderNodeValToRGB": [{}],
}
FOR_EXTREMES = tuple("ShaderNode" + name for name in (
    "Math", "VectorMath", "MapRange", "Clamp", "Mix FLOAT", "Mix VECTOR", "Mix RGBA A", "Mix RGBA B", "Mix RGBA D",
    "Mix RGBA M", "Mix RGBA L", "ValToRGB", "CombineXYZ", "SeparateXYZ")) + tuple("FunctionNode" + name for name in (
    "IntegerMath", "BooleanMath", "BitMath", "Compare FLOAT", "Compare INT", "Compare VECTOR", "FloatToInt", "RotateVector",
    "InvertRotation", "CombineColor", "SeparateColor", "TransformPoint", "TransformDirection", "HashValue"))
# Textures: the settings to try, and the number of octaves after the first unless linked.
TEXTURES = [
    ("ShaderNodeTexWhiteNoise", {"noise_dimensions": None}, (None,)),
    ("ShaderNodeTexNoise", {"noise_dimensions": None, "noise_type": None, "normalize": [True]}, (2.4,)),
    ("ShaderNodeTexNoise", {"noise_dimensions": ["1D", "3D"], "noise_type": None, "normalize": [False]}, (None, 2.0)),
    ("ShaderNodeTexVoronoi", {"voronoi_dimensions": None, "feature": None, "normalize": [True, False]}, (0.0,)),
    ("ShaderNodeTexVoronoi", {"voronoi_dimensions": ["2D"], "feature": None, "normalize": [True]}, (None, 2.4)),
    ("ShaderNodeTexVoronoi", {"voronoi_dimensions": ["3D"], "feature": ["F1", "F2", "SMOOTH_F1"],
                              "distance": ["MANHATTAN", "CHEBYCHEV", "MINKOWSKI"]}, (0.0,)),
    ("ShaderNodeTexGabor", {"gabor_type": None}, (None,)),
    ("ShaderNodeTexGradient", {"gradient_type": None}, (None,)),
    ("ShaderNodeTexMagic", {"turbulence_depth": range(11)}, (None,)),
    ("ShaderNodeTexChecker", {}, (None,)),
    ("ShaderNodeTexWave", {"wave_type": ["BANDS"], "bands_direction": None, "wave_profile": ["SIN"]}, (1.5,)),
    ("ShaderNodeTexWave", {"wave_type": ["RINGS"], "rings_direction": None, "wave_profile": ["TRI"]}, (None,)),
    ("ShaderNodeTexWave", {"wave_type": ["BANDS"], "wave_profile": ["SAW"]}, (0.0,)),
    ("ShaderNodeTexBrick", {"offset": [0.3], "offset_frequency": [1, 2, 3], "squash": [1.5], "squash_frequency": [2, 3]},
     (None,)),
]
CONVERTED = ["VALUE", "INT", "BOOLEAN", "VECTOR", "RGBA", "ROTATION", "MATRIX"]
SWITCHED = {"VALUE": "FLOAT"}


def new_tree(name):
    return bpy.data.node_groups.new(name, "GeometryNodeTree")


def exists(kind):
    """Whether this version of Blender has the type of node in geometry nodes."""
    probe = new_tree("probe")
    try:
        probe.nodes.new(kind)
    except RuntimeError:
        return False
    finally:
        bpy.data.node_groups.remove(probe)
    return True


def open_inputs(tree, node):
    """Links every socket of a node to an attribute, so that it becomes an input."""
    for socket in exporter.sockets_of(node.inputs):
        if socket.type in exporter.ATTRIBUTE_TYPES:
            reader = tree.nodes.new("GeometryNodeInputNamedAttribute")
            reader.data_type = exporter.ATTRIBUTE_TYPES[socket.type]
            tree.links.new(next(s for s in reader.outputs if s.enabled and s.name == "Attribute"), socket)


def bend(node):
    """Adds a third stop to ramps."""
    if hasattr(node, "color_ramp"):
        node.color_ramp.elements.new(0.4).color = (0.9, 0.2, 0.1, 0.5)


def menu_entries(kind, lines):
    """The combinations of settings to try for a node type."""
    probe = new_tree("probe")
    node = probe.nodes.new(kind)
    for line in lines:
        # Properties of this version of Blender.
        keys = [key for key in line if key in node.bl_rna.properties]
        choices = [line[key] or [e.identifier for e in node.bl_rna.properties[key].enum_items] for key in keys]
        for values in itertools.product(*choices):
            yield dict(zip(keys, values))
    bpy.data.node_groups.remove(probe)


def make_menus():
    for kind, lines in MENUS.items():
        if not exists(kind):
            continue
        for settings in list(menu_entries(kind, lines)):
            tree = new_tree(" ".join([kind] + [str(value) for value in settings.values()]))
            node = tree.nodes.new(kind)
            for key, value in settings.items():
                setattr(node, key, value)
            bend(node)
            open_inputs(tree, node)


def make_textures():
    for kind, line, details in TEXTURES:
        if not exists(kind):
            continue
        for settings, detail in itertools.product(list(menu_entries(kind, [line])), details):
            tree = new_tree(" ".join([kind] + [str(value) for value in settings.values()] + [str(detail)]))
            node = tree.nodes.new(kind)
            for key, value in settings.items():
                setattr(node, key, value)
            open_inputs(tree, node)
            if detail is None:
                continue
            socket = node.inputs.get("Detail")
            if socket and socket.links:
                tree.links.remove(socket.links[0])
                socket.default_value = detail


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


def make_curves():
    """Curves of every kind of handle, extension and clipping, with peaks, steps and points beyond the table."""
    points = ((0.0, 0.2), (0.15, 0.75), (0.3, 0.75), (0.45, 0.1), (0.8, 0.95), (1.0, 0.6))
    for kind, low in (("ShaderNodeFloatCurve", 0.0), ("ShaderNodeVectorCurve", -1.0), ("ShaderNodeRGBCurve", 0.0)):
        for handle in ("AUTO", "AUTO_CLAMPED", "VECTOR", "MIXED"):
            for extend, clipped in (("HORIZONTAL", True), ("EXTRAPOLATED", True), ("EXTRAPOLATED", False)):
                tree = new_tree("Curve %s %s %s %s" % (kind, handle, extend, clipped))
                node = tree.nodes.new(kind)
                mapping = node.mapping
                mapping.extend, mapping.use_clip = extend, clipped
                for number, curve in enumerate(mapping.curves):
                    draw_curve(curve, handle, number, low, points)
                if kind == "ShaderNodeRGBCurve":
                    mapping.black_level, mapping.white_level = (0.1, 0.0, 0.05), (1.0, 0.9, 1.2)
                mapping.update()
                open_inputs(tree, node)


def draw_curve(curve, handle, number, low, points):
    """Puts points on a curve; the curves of a node have different points."""
    for x, y in points[1:-1 - number % 2]:
        curve.points.new(low + (1 - low) * x, low + (1 - low) * (y if number % 2 == 0 else 1 - y))
    kinds = ("AUTO", "VECTOR", "AUTO_CLAMPED")
    for i, point in enumerate(curve.points):
        point.handle_type = kinds[(i + number) % 3] if handle == "MIXED" else handle
    curve.points[0].location = (low, points[0][1])
    curve.points[-1].location = (1.0 if number != 2 else 1.3, points[-1][1])


TEXTS = ("", "abc", "-12.5 apples", "banana", "  \u00e4\u00f6 x\n", "ff7z")
# Node type: the settings, and the values of sockets by name; some sockets exist only in newer versions.
TEXT_NODES = [
    ("FunctionNodeSliceString", {}, {"Position": (0, -1, 2), "Length": (3, 10, -1)}),
    ("FunctionNodeReplaceString", {}, {"Find": ("an", "", "b"), "Replace": ("_", "")}),
    ("FunctionNodeFindInString", {}, {"Search": ("a", "an", ""), "Mode": ("From Start", "From End")}),
    ("FunctionNodeMatchString", {}, {"Key": ("a", "b", ""), "Operation": ("Starts With", "Ends With", "Contains")}),
    ("FunctionNodeStringToValue", {"data_type": "FLOAT"}, {}),
    ("FunctionNodeStringToValue", {"data_type": "INT"}, {"Base": (10, 16, 2, 99)}),
    ("FunctionNodeReverseString", {}, {}),
    ("FunctionNodeSetStringCase", {}, {"Case": ("Uppercase", "Lowercase")}),
    ("FunctionNodeTrimString", {}, {"Characters": ("", "a-"), "Whitespace": (True, False), "Start": (True, False)}),
    ("FunctionNodeCompare", {"data_type": "STRING", "operation": "NOT_EQUAL"}, {"B": ("abc",)}),
]
FORMATS = ("{}", "{n} and {x:.2f}", "{x:+9.3f}|{n:05d}|{t:>6}", "{{{t:*^7}}}", "{1:e} {0:x}", "{nobody}", "{", "{t:.2} {:} {:b}")
NUMBERS = ((0.0, 0), (-1.25, 1), (2.5, 0), (1234.5678, 3), (1e20, 2), (0.1, -3))


def read_text(tree, output):
    """Turns a text into numbers, which can be outputs."""
    for kind, key in (("FunctionNodeStringLength", "String"), ("FunctionNodeStringToValue", "String"),
                      ("FunctionNodeFindInString", "String")):
        if not exists(kind):
            continue
        node = tree.nodes.new(kind)
        tree.links.new(output, node.inputs[key])
        if kind == "FunctionNodeFindInString":
            node.inputs["Search"].default_value = "a"


def make_texts():
    """Every node on texts, with literal texts: Blender has no columns of texts."""
    for kind, settings, sockets in TEXT_NODES:
        if not exists(kind):
            continue
        for number, (text, *values) in enumerate(itertools.product(TEXTS, *sockets.values())):
            tree = new_tree("Text %s %s %d" % (kind, " ".join(settings.values()), number))
            node = tree.nodes.new(kind)
            for key, value in settings.items():
                setattr(node, key, value)
            enabled = {socket.name: socket for socket in node.inputs if socket.enabled}
            enabled.get("String", enabled.get("A")).default_value = text
            for key, value in zip(sockets, values):
                if key in enabled:
                    enabled[key].default_value = value
            for output in [o for o in node.outputs if o.type == "STRING"]:
                read_text(tree, output)
    make_splits()
    for number, decimals in NUMBERS:
        tree = new_tree("Text of %r %r" % (number, decimals))
        for kind, value in (("FLOAT", number), ("INT", int(number) if abs(number) < 1e9 else -7)):
            node = tree.nodes.new("FunctionNodeValueToString")
            if hasattr(node, "data_type"):
                node.data_type = kind
            enabled = {socket.name: socket for socket in node.inputs if socket.enabled}
            enabled["Value"].default_value = value
            for key, extra in (("Decimals", decimals), ("Base", 2 + abs(value)), ("Padding", 2 * decimals)):
                if key in enabled:
                    enabled[key].default_value = int(extra)
            read_text(tree, node.outputs[0])
    for text in FORMATS if exists("FunctionNodeFormatString") else ():
        make_format(text)


def make_splits():
    """Parts of texts by number, and their count."""
    if not exists("FunctionNodeSplitString"):
        return
    for text, separator, number in itertools.product(("a,bb,ccc", "", ",,x,"), (",", "", "bb"), (-1, 0, 1, 3, 9)):
        tree = new_tree("Text split %r %r %d" % (text, separator, number))
        node = tree.nodes.new("FunctionNodeSplitString")
        node.inputs["String"].default_value, node.inputs["Separator"].default_value = text, separator
        length, item = tree.nodes.new("GeometryNodeListLength"), tree.nodes.new("GeometryNodeListGetItem")
        for reader in (length, item):
            setattr(reader, exporter.item_type_property(reader), "STRING")
        for reader in (length, item):
            tree.links.new(node.outputs[0], next(s for s in reader.inputs if s.enabled))
        next(s for s in item.inputs if s.enabled and s.name == "Index").default_value = number
        read_text(tree, next(s for s in item.outputs if s.enabled))


def make_format(text):
    """A format with three values, and its result joined with itself."""
    tree = new_tree("Text format %s" % text)
    node = tree.nodes.new("FunctionNodeFormatString")
    node.inputs["Format"].default_value = text
    for name, kind, value in (("n", "INT", 42), ("x", "FLOAT", -3.14159), ("t", "STRING", "banana")):
        node.format_items.new(kind, name)
        node.inputs[name].default_value = value
    join = tree.nodes.new("GeometryNodeStringJoin")
    join.inputs["Delimiter"].default_value = "ab"
    special = tree.nodes.new("FunctionNodeInputSpecialCharacters")
    for output in (node.outputs[0], special.outputs[0], node.outputs[0]):
        tree.links.new(output, join.inputs["Strings"])
    read_text(tree, join.outputs[0])


def make_linked_flags():
    """Trimming by flags that differ from element to element."""
    if not exists("FunctionNodeTrimString"):
        return
    for number, flags in enumerate((("Whitespace",), ("Start",), ("Whitespace", "Start", "End"))):
        tree = new_tree("Linked flags %d" % number)
        node = tree.nodes.new("FunctionNodeTrimString")
        node.inputs["String"].default_value, node.inputs["Characters"].default_value = "  --a b-- ", "-"
        for name in flags:
            reader = tree.nodes.new("GeometryNodeInputNamedAttribute")
            reader.data_type = "BOOLEAN"
            output = next(s for s in reader.outputs if s.enabled and s.name == "Attribute")
            tree.links.new(output, node.inputs[name])
        read_text(tree, node.outputs[0])


def make_linked_menus():
    """Menus that a switch passes on to other nodes."""
    for kind, key in (("FunctionNodeSetStringCase", "Case"), ("FunctionNodeFindInString", "Mode"),
                      ("FunctionNodeMatchString", "Operation")):
        if not exists(kind):
            continue
        tree = new_tree("Linked menu %s" % kind)
        chooser = tree.nodes.new("GeometryNodeSwitch")
        chooser.input_type = "MENU"
        node = tree.nodes.new(kind)
        tree.links.new(chooser.outputs[0], node.inputs[key])
        node.inputs["String"].default_value = "Banana"
        for name in ("Search", "Key"):
            if name in node.inputs:
                node.inputs[name].default_value = "a"
        entries = {"Case": ("Lowercase", "Uppercase"), "Mode": ("From End", "From Start")}
        for name, entry in zip(("False", "True"), entries.get(key, ("Ends With", "Starts With"))):
            next(s for s in chooser.inputs if s.enabled and s.name == name).default_value = entry
        open_inputs(tree, chooser)
        for output in [o for o in node.outputs if o.type == "STRING"]:
            read_text(tree, output)
    for kind, key in (("GeometryNodeSwitch", "input_type"), ("GeometryNodeIndexSwitch", "data_type")):
        tree = new_tree("Linked menu %s" % kind)
        chooser = tree.nodes.new(kind)
        setattr(chooser, key, "MENU")
        node = tree.nodes.new("GeometryNodeMenuSwitch")
        node.data_type = "FLOAT"
        node.enum_items.new("C")
        tree.links.new(chooser.outputs[0], node.inputs["Menu"])
        for socket, entry in zip([s for s in chooser.inputs if s.enabled and s.type == "MENU"], ("C", "A")):
            socket.default_value = entry
        open_inputs(tree, chooser)
        open_inputs(tree, node)


def make_conversions():
    """A switch of every type with a value of every type that Blender accepts."""
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
    """Muted nodes pass an input on, preferably a linked one, or give zero."""
    kinds = list(MENUS) + ["ShaderNodeFloatCurve", "ShaderNodeVectorCurve", "ShaderNodeRGBCurve", "FunctionNodeInputColor"]
    kinds += sorted({kind for kind, _, _ in TEXTURES})
    for kind, number in itertools.product(filter(exists, kinds), range(3)):
        tree = new_tree("Muted %s %d" % (kind, number))
        node = tree.nodes.new(kind)
        if kind == "GeometryNodeSwitch":
            node.input_type = "FLOAT"
        open_inputs(tree, node)
        if number > 0:
            for socket in [s for s in node.inputs if s.links][number - 1::2]:
                tree.links.remove(socket.links[0])
        node.mute = True


def make_alignments():
    """Alignments of Euler angles about a fixed axis, of which one socket is linked: half turns and gimbal lock."""
    for axis, pivot, linked in itertools.product("XYZ", "XYZ", ("Rotation", "Vector")):
        if axis == pivot:
            continue
        tree = new_tree("Align %s about %s by %s" % (axis, pivot, linked))
        node = tree.nodes.new("FunctionNodeAlignEulerToVector")
        node.axis, node.pivot_axis = axis, pivot
        open_inputs(tree, node)
        for socket in node.inputs:
            if socket.is_linked and socket.name != linked:
                tree.links.remove(socket.links[0])


if __name__ == "__main__":
    ONLY = {"--textures": make_textures, "--alignments": make_alignments}
    ASKED = [argument for argument in sys.argv if argument in ONLY]
    sys.argv = [argument for argument in sys.argv if argument not in ONLY]
    ARGS = exporter.arguments()
    for argument in ASKED:
        ONLY[argument]()
    if not ASKED:
        make_menus()
    if ARGS.extremes:
        # Only operations that are exact enough to agree at the ends of the range.
        for TREE in [t for t in bpy.data.node_groups if not t.name.startswith(FOR_EXTREMES)]:
            bpy.data.node_groups.remove(TREE)
    elif not ASKED:
        make_ramps()
        make_curves()
        make_texts()
        make_linked_flags()
        make_linked_menus()
        make_conversions()
        make_muted()
    PROBLEMS = []
    DUMP = exporter.export_all(ARGS, PROBLEMS)
    exporter.write(ARGS.out, DUMP)
    print("".join("error: %s\n" % problem for problem in PROBLEMS), end="", file=sys.stderr)
    print("exported %d networks to %s" % (len(DUMP["networks"]), ARGS.out), file=sys.stderr)
