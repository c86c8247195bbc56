#!/usr/bin/env python3
"""Exports the function part of Blender's node groups, with inputs and Blender's results for them.

Runs inside Blender, or with Blender as a Python module (`pip install bpy`):

    blender --background FILE.blend --python tools/blender_export.py -- --out networks.json.gz
    python tools/blender_export.py FILE.blend --out networks.json.gz --elements 24

`millstream import networks.json.gz -o DIR --verify` reads what this writes. Blender has to be 4.2 or newer.

Every node group is cut into networks of connected function nodes (math, vectors, comparisons, switches, colors,
rotations, matrices). A link from any other node is an input of the network; an output that is used by
another node, or not used at all, is an output. Nodes inside a nested group are exported with that group. Blender evaluates a network as
a geometry nodes modifier that stores its outputs as attributes of a point cloud of vertices.

A socket that takes several links has an entry for each.

Networks with a menu or text as an input, groups whose links form a cycle, and networks that Blender does not
evaluate are left out, with a line each on stderr. The exit code is 1 if a group or network was left out for one of the
latter two reasons, and 2 if there is no group of a given name.

The file: {"blender", "elements", "networks": [{"group", "nodes", "inputs", "outputs"}]}.
  node    {"type", "name", "props", "inputs", "outputs"}, with "mute" if muted and "location" as drawn
  socket  {"id", "type"} and, if it is an input, one of "value", "input": number, "link": [node, output id];
          "muted_link": true with a value where a muted link ends, which counts when a muted node chooses
  input   {"type", "name", "values"}      output  {"node", "id", "type", "values", "sensitive"}
Rotations are quaternions w x y z (Euler angles XYZ where a socket has one), matrices lists of four rows. Numbers
that are not finite are the strings "nan", "inf" and "-inf". "sensitive" lists the elements whose value changes
much when the inputs change by 1e-6: a comparison of those is meaningless.
"""

import argparse
import gzip
import json
import math
import random
import sys

import bpy

FUNCTION_PREFIXES = ("FunctionNode",)
FUNCTION_TYPES = {
    "ShaderNodeMath", "ShaderNodeVectorMath", "ShaderNodeMapRange", "ShaderNodeClamp", "ShaderNodeMix",
    "ShaderNodeMixRGB", "ShaderNodeCombineXYZ", "ShaderNodeSeparateXYZ", "ShaderNodeValue", "ShaderNodeVectorRotate",
    "ShaderNodeFloatCurve", "ShaderNodeRGBCurve", "ShaderNodeVectorCurve", "ShaderNodeValToRGB", "ShaderNodeGamma",
    "ShaderNodeBlackbody", "ShaderNodeTexNoise", "ShaderNodeTexWhiteNoise", "ShaderNodeTexVoronoi",
    "ShaderNodeTexWave", "ShaderNodeTexGradient", "ShaderNodeTexMagic", "ShaderNodeTexChecker", "ShaderNodeTexBrick",
    "ShaderNodeTexGabor", "ShaderNodeRadialTiling",
    "GeometryNodeSwitch", "GeometryNodeIndexSwitch", "GeometryNodeMenuSwitch", "GeometryNodeStringJoin", "GeometryNodeInputIndex",
    "NodeReroute", "NodeEnableOutput", "NodeImplicitConversion",
}
# Nodes on lists that are functions if the items are strings; lists of other items exist only as fields.
LIST_TYPES = {"GeometryNodeListLength", "GeometryNodeListGetItem"}
OLDEST = (4, 2, 0)
ATTRIBUTE_TYPES = {
    "VALUE": "FLOAT", "INT": "INT", "BOOLEAN": "BOOLEAN", "VECTOR": "FLOAT_VECTOR", "RGBA": "FLOAT_COLOR",
    "ROTATION": "QUATERNION", "MATRIX": "FLOAT4X4",
}
# The least integer is left out: Blender crashes when it is divided by -1.
EXTREME_INTEGERS = [0, 1, -1, 2, -2, 3, 31, 32, 33, -31, -32, -33, 255, 46341, -46341, 65536, 1000000007, 2147483647,
                    -2147483647]
EXTREMES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 1e-45, -1e-45, 1e-40, 1e-30, -1e-30, 1e-7, 0.999999,
            100.0, -88.0, -104.0, 710.0, 16777216.0, 8388607.5, 2147483520.0, 2147483648.0, -2147483648.0, 1e10, 1e20,
            -1e20, 1e30, 3.4028235e38, -3.4028235e38, math.inf, -math.inf, math.nan, math.pi]
PERTURBATION = 1e-6
MUCH = 1e-4


def item_type_property(node):
    """The name of the property with the type of the items, which differs between Blender 5.0 and later versions."""
    return "socket_type" if hasattr(node, "socket_type") else "data_type"


def is_function(node):
    """Whether a node only computes values from values."""
    is_list = node.bl_idname in LIST_TYPES and getattr(node, item_type_property(node)) == "STRING"
    if not (node.bl_idname.startswith(FUNCTION_PREFIXES) or node.bl_idname in FUNCTION_TYPES or is_list):
        return False
    # Blender treats a field there as no value at all.
    if node.bl_idname == "NodeEnableOutput" and node.inputs[0].is_linked:
        return False
    known = set(ATTRIBUTE_TYPES) | {"STRING", "MENU", "CUSTOM"}
    sockets = [s for s in list(node.inputs) + list(node.outputs) if s.enabled]
    return all(s.type in known for s in sockets)


def plain(value):
    """A value of a socket or property as JSON."""
    if isinstance(value, (bool, int, str)) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return [plain(item) for item in value]


def curve_points(mapping):
    """The curves of a mapping, with the settings for the interpolation of their points."""
    curves = [[{"at": plain(p.location), "handle": p.handle_type} for p in c.points] for c in mapping.curves]
    facts = {key: plain(getattr(mapping, key)) for key in ("extend", "tone", "black_level", "white_level")}
    facts["clip"] = [mapping.clip_min_x, mapping.clip_min_y, mapping.clip_max_x, mapping.clip_max_y]
    return {"curves": curves, **facts, "use_clip": mapping.use_clip}


def ramp_points(ramp):
    """The stops of a color ramp."""
    stops = [{"at": e.position, "color": plain(e.color)} for e in ramp.elements]
    return {"stops": stops, "mode": ramp.color_mode, "interpolation": ramp.interpolation,
            "hue_interpolation": ramp.hue_interpolation}


def properties(node):
    """The settings of a node that are specific to its type."""
    common = {p.identifier for p in bpy.types.Node.bl_rna.properties}
    props = {}
    for prop in node.bl_rna.properties:
        key = prop.identifier
        if key in common or prop.is_readonly and prop.type not in ("POINTER", "COLLECTION"):
            continue
        value = getattr(node, key)
        if key == "mapping":
            props[key] = curve_points(value)
        elif key == "color_ramp":
            props[key] = ramp_points(value)
        elif key in ("enum_items", "format_items"):
            props[key] = [item.name for item in value]
        elif prop.type in ("BOOLEAN", "INT", "FLOAT", "STRING", "ENUM"):
            props[key] = plain(value)
    if node.bl_idname == "ShaderNodeValue":
        props["value"] = plain(node.outputs[0].default_value)
    return props


def sockets_of(collection):
    """The sockets that are in use for the settings of the node."""
    return [s for s in collection if s.enabled and s.type != "CUSTOM"]


def place(node):
    """The position of a node in the editor; before Blender 4.4 it is relative to the enclosing frame."""
    at = getattr(node, "location_absolute", None)
    if at is None:
        frames = [node]
        while frames[-1].parent:
            frames.append(frames[-1].parent)
        at = [sum(frame.location[axis] for frame in frames) for axis in (0, 1)]
    return [round(x) for x in at]


def starts_somewhere(link):
    """Whether a link comes from a node that computes; reroutes without a source are ignored."""
    while link.from_node.bl_idname == "NodeReroute":
        before = [link for link in link.from_node.inputs[0].links if link.is_valid and not link.is_muted]
        if not before:
            return False
        link = before[0]
    return True


def links_into(socket):
    """The links to a socket, in order; most sockets take one."""
    links = [link for link in socket.links if link.is_valid and not link.is_muted and starts_somewhere(link)]
    return sorted(links, key=lambda link: -link.multi_input_sort_id)


def muted_link_into(socket):
    """The muted link to a socket of a muted node, if it has no other: Blender uses that link."""
    if not socket.node.mute or links_into(socket):
        return None
    return next((link for link in socket.links if link.is_valid and link.is_muted), None)


class Network:
    """Connected function nodes of a node group, in the format of the file."""

    def __init__(self, tree, nodes):
        self.tree, self.nodes = tree, nodes
        self.number = {node.name: i for i, node in enumerate(nodes)}
        self.feeds = {}
        self.inputs = []
        self.muted_links = []
        self.described = [self.describe(node) for node in nodes]
        self.outputs = self.find_outputs()

    def describe(self, node):
        inputs = [entry for socket in sockets_of(node.inputs) for entry in self.describe_input(socket)]
        outputs = [{"id": s.identifier, "type": s.type} for s in sockets_of(node.outputs)]
        found = {"type": node.bl_idname, "name": node.label or node.name, "props": properties(node),
                 "inputs": inputs, "outputs": outputs, "location": place(node)}
        if node.mute:
            found["mute"] = True
        return found

    def describe_input(self, socket):
        """The source of a socket; a socket that takes several has an entry for each."""
        base = {"id": socket.identifier, "type": socket.type}
        links = links_into(socket)
        if links:
            return [{**base, **self.describe_link(socket, link)} for link in links]
        if socket.is_multi_input:
            return []
        found = {**base, "value": plain(getattr(socket, "default_value", None))}
        muted = muted_link_into(socket)
        if muted:
            found["muted_link"] = True
            if muted.from_node.name not in self.number:
                self.muted_links.append((socket.node.name, socket.identifier, muted.from_socket.type))
        return [found]

    def describe_link(self, socket, link):
        source = link.from_socket
        if link.from_node.name in self.number:
            return {"link": [self.number[link.from_node.name], source.identifier]}
        key = (link.from_node.name, source.identifier)
        if key not in self.feeds:
            self.feeds[key] = len(self.inputs)
            self.inputs.append({"type": source.type, "name": source.name, "sockets": []})
        feed = self.feeds[key]
        self.inputs[feed]["sockets"].append((socket.node.name, socket.identifier))
        return {"input": feed}

    def find_outputs(self):
        found = []
        for node in self.nodes:
            for socket in sockets_of(node.outputs):
                users = [link.to_node.name for link in socket.links if link.is_valid]
                leaves = not users or any(name not in self.number for name in users)
                if leaves and socket.type in ATTRIBUTE_TYPES:
                    found.append({"node": self.number[node.name], "id": socket.identifier, "type": socket.type})
        return found

    def computes(self):
        """Whether the network computes anything, instead of only passing values on."""
        return any(node.bl_idname != "NodeReroute" for node in self.nodes)

    def obstacle(self):
        """Why the network cannot be exported, if so: inputs and outputs have to be attributes."""
        strange = sorted({i["type"] for i in self.inputs if i["type"] not in ATTRIBUTE_TYPES})
        if strange:
            names = ["`%s` (%s)" % (i["name"], i["type"]) for i in self.inputs if i["type"] in strange]
            return "an attribute cannot hold what comes in from outside: " + ", ".join(names)
        return None if self.outputs else "nothing that an attribute can hold leaves it"


def circle_of(tree):
    """The names of nodes on cycles of links or between such cycles; none if there is no cycle."""
    before = {node.name: set() for node in tree.nodes}
    for link in tree.links:
        before[link.to_node.name].add(link.from_node.name)
    after = {name: {to for to in before if name in before[to]} for name in before}
    ends = [name for name in before if not before[name] or not after[name]]
    while ends:
        name = ends.pop()
        if name not in before:
            continue
        del before[name], after[name]
        for links in (before, after):
            for other in links:
                if name in links[other]:
                    links[other].discard(name)
                    if not links[other]:
                        ends.append(other)
    return sorted(before)


def networks_of(tree):
    """The networks of a node group, in the order of its nodes."""
    nodes = [node for node in tree.nodes if is_function(node)]
    root = {node.name: node.name for node in nodes}

    def find(name):
        while root[name] != name:
            name = root[name]
        return name

    for link in tree.links:
        if link.is_valid and link.from_node.name in root and link.to_node.name in root:
            root[find(link.from_node.name)] = find(link.to_node.name)
    members = {}
    for node in nodes:
        members.setdefault(find(node.name), []).append(node)
    found = [Network(tree, part) for part in members.values()]
    return [network for network in found if network.computes()]


def extreme_value(kind, rng):
    """A value for an input that is often huge, tiny or not finite."""
    if kind == "BOOLEAN":
        return rng.random() < 0.5
    if kind == "INT":
        return rng.choice(EXTREME_INTEGERS) if rng.random() < 0.8 else rng.randint(-10, 10)
    if kind == "VALUE":
        return rng.choice(EXTREMES) if rng.random() < 0.7 else rng.uniform(-3, 3)
    if kind in ("VECTOR", "RGBA"):
        return [extreme_value("VALUE", rng) for _ in range(3 if kind == "VECTOR" else 4)]
    return random_value(kind, rng, True)


def random_value(kind, rng, special):
    """A value for an input; with `special`, often one at which operations behave differently."""
    if kind == "BOOLEAN":
        return rng.random() < 0.5
    if kind == "INT":
        return rng.randint(-3, 5) if not special or rng.random() < 0.7 else rng.choice([0, 7, -12, 100])
    if kind == "VALUE":
        if special and rng.random() < 0.4:
            return rng.choice([0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 3.0, -3.0, 12.5])
        return rng.uniform(-2, 2)
    if kind == "VECTOR":
        if special and rng.random() < 0.1:
            return [0.0, 0.0, 0.0]
        return [random_value("VALUE", rng, special) for _ in range(3)]
    if kind == "RGBA":
        if special and rng.random() < 0.2:
            return [rng.choice([0.0, 0.5, 1.0]) for _ in range(3)] + [1.0]
        return [rng.random() for _ in range(4)]
    if kind == "ROTATION":
        if special and rng.random() < 0.1:
            return [1.0, 0.0, 0.0, 0.0]
        quaternion = [rng.gauss(0, 1) for _ in range(4)]
        length = math.sqrt(sum(x * x for x in quaternion))
        if special and rng.random() < 0.1:
            length *= rng.uniform(0.3, 3)
        return [x / length for x in quaternion]
    if special and rng.random() < 0.4:
        return [[rng.choice([0.0, 1.0, -1.0, rng.uniform(-2, 2)]) for _ in range(4)] for _ in range(4)]
    return random_transform(rng, special)


def random_transform(rng, special):
    """A matrix without shear, sometimes a reflection."""
    w, x, y, z = random_value("ROTATION", rng, special)
    rotation = [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]
    scale = [rng.uniform(0.2, 2) for _ in range(3)]
    if special and rng.random() < 0.3:
        scale[rng.randrange(3)] *= -1
    rows = [[a * s for a, s in zip(row, scale)] + [rng.uniform(-2, 2)] for row in rotation]
    return rows + [[0.0, 0.0, 0.0, 1.0]]


def moved(value):
    """The value with a small change."""
    if isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value + PERTURBATION * max(1.0, abs(value))
    return [moved(item) for item in value]


def in_single(value):
    """The value after being stored as an attribute."""
    import struct
    if isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return struct.unpack("f", struct.pack("f", value))[0]
    return [in_single(item) for item in value]


def set_attribute(mesh, name, kind, values):
    """Makes a column of these values, all at once: values set one by one are clamped to the range of sliders."""
    attribute = mesh.attributes.new(name, ATTRIBUTE_TYPES[kind], "POINT")
    if kind == "MATRIX":
        # Column by column.
        values = [[x for column in zip(*value) for x in column] for value in values]
    if kind in ("VECTOR", "RGBA", "ROTATION", "MATRIX"):
        values = [x for value in values for x in value]
    attribute.data.foreach_set({"VECTOR": "vector", "RGBA": "color"}.get(kind, "value"), values)


def get_attribute(mesh, name, kind):
    data = mesh.attributes[name].data
    if kind == "VECTOR":
        return [list(item.vector) for item in data]
    if kind == "RGBA":
        return [list(item.color) for item in data]
    if kind == "ROTATION":
        return [list(item.value) for item in data]
    if kind == "MATRIX":
        return [[list(row) for row in item.value] for item in data]
    return [item.value for item in data]


def evaluator_tree(network):
    """A copy of the group that stores the outputs of the network as attributes."""
    tree = network.tree.copy()
    for node in list(tree.nodes):
        if node.name not in network.number:
            tree.nodes.remove(node)
    for item in list(tree.interface.items_tree):
        tree.interface.remove(item)
    tree.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    for number, entry in enumerate(network.inputs):
        reader = tree.nodes.new("GeometryNodeInputNamedAttribute")
        reader.data_type = ATTRIBUTE_TYPES[entry["type"]]
        reader.inputs[0].default_value = "in_%d" % number
        output = next(s for s in reader.outputs if s.enabled and s.name == "Attribute")
        for node, identifier in entry["sockets"]:
            socket = next(s for s in tree.nodes[node].inputs if s.identifier == identifier)
            tree.links.new(output, socket)
    for node, identifier, kind in network.muted_links:
        # Another source than before; only its existence matters.
        start = tree.nodes.new("GeometryNodeInputNamedAttribute")
        start.data_type = ATTRIBUTE_TYPES.get(kind, "FLOAT")
        output = next(s for s in start.outputs if s.enabled and s.name == "Attribute")
        socket = next(s for s in tree.nodes[node].inputs if s.identifier == identifier)
        tree.links.new(output, socket).is_muted = True
    geometry = tree.nodes.new("NodeGroupInput").outputs[0]
    for number, entry in enumerate(network.outputs):
        store = tree.nodes.new("GeometryNodeStoreNamedAttribute")
        store.data_type, store.domain = ATTRIBUTE_TYPES[entry["type"]], "POINT"
        sockets = [s for s in store.inputs if s.enabled]
        next(s for s in sockets if s.name == "Name").default_value = "out_%d" % number
        node = tree.nodes[network.nodes[entry["node"]].name]
        source = next(s for s in node.outputs if s.identifier == entry["id"])
        tree.links.new(source, next(s for s in sockets if s.name == "Value"))
        tree.links.new(geometry, next(s for s in sockets if s.name == "Geometry"))
        geometry = store.outputs[0]
    tree.links.new(geometry, tree.nodes.new("NodeGroupOutput").inputs[0])
    return tree


def evaluate(network, tree, inputs, n_elements):
    """The results of Blender for these columns."""
    mesh = bpy.data.meshes.new("export")
    mesh.from_pydata([(0.0, 0.0, 0.0)] * n_elements, [], [])
    for number, (entry, values) in enumerate(zip(network.inputs, inputs)):
        set_attribute(mesh, "in_%d" % number, entry["type"], values)
    thing = bpy.data.objects.new("export", mesh)
    bpy.context.scene.collection.objects.link(thing)
    thing.modifiers.new("export", "NODES").node_group = tree
    evaluated = thing.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh()
    results = [get_attribute(evaluated, "out_%d" % i, entry["type"]) for i, entry in enumerate(network.outputs)]
    bpy.data.objects.remove(thing)
    bpy.data.meshes.remove(mesh)
    return results


def numbers(value):
    if isinstance(value, (list, tuple)):
        return [x for item in value for x in numbers(item)]
    return [float(value)]


def moves_much(a, b):
    for x, y in zip(numbers(a), numbers(b)):
        if math.isnan(x) and math.isnan(y) or x == y:
            continue
        if not abs(x - y) <= MUCH * max(1.0, abs(x)):
            return True
    return False


def export(network, args, rng):
    """The network in the format of the file."""
    n = args.elements
    value = extreme_value if args.extremes else lambda kind, rng: random_value(kind, rng, args.special)
    columns = [[in_single(value(i["type"], rng)) for _ in range(n)] for i in network.inputs]
    tree = evaluator_tree(network)
    results = evaluate(network, tree, columns, n)
    nearby = evaluate(network, tree, [[moved(v) for v in values] for values in columns], n)
    bpy.data.node_groups.remove(tree)
    outputs = []
    for entry, values, others in zip(network.outputs, results, nearby):
        sensitive = [] if args.compare_all else [i for i, (a, b) in enumerate(zip(values, others)) if moves_much(a, b)]
        outputs.append({**entry, "values": plain(values), **({"sensitive": sensitive} if sensitive else {})})
    inputs = [{"type": i["type"], "name": i["name"], "values": plain(values)}
              for i, values in zip(network.inputs, columns)]
    return {"group": network.tree.name, "nodes": network.described, "inputs": inputs, "outputs": outputs}


def chosen_groups(names):
    """The node groups of these names, or all groups; ends the program if a name is unknown."""
    trees = {t.name: t for t in bpy.data.node_groups if t.bl_idname == "GeometryNodeTree"}
    for name in names or ():
        if name not in trees:
            known = ", ".join("`%s`" % other for other in trees) or "none"
            kind = "no geometry node group" if name in bpy.data.node_groups else "no node group"
            print("there is %s called `%s`; there are: %s" % (kind, name, known), file=sys.stderr)
            sys.exit(2)
    return [tree for name, tree in trees.items() if not names or name in names]


def export_all(args, problems=None):
    """All networks of the loaded node groups; failures are appended to the problems."""
    rng = random.Random(args.seed)
    problems = [] if problems is None else problems
    exported = []
    for tree in chosen_groups(args.group):
        circle = circle_of(tree)
        if circle:
            problems.append("`%s` is left out: links form a circle: %s" % (tree.name, ", ".join(circle)))
            continue
        for network in networks_of(tree):
            nodes = ", ".join(sorted(network.number))
            obstacle = network.obstacle()
            if obstacle:
                print("`%s`: left out (%s): %s" % (tree.name, nodes, obstacle), file=sys.stderr)
                continue
            try:
                exported.append(export(network, args, rng))
            except (KeyError, RuntimeError) as error:
                problems.append("`%s`: left out (%s): Blender computes nothing: %s" % (tree.name, nodes, error))
    return {"blender": bpy.app.version_string, "elements": args.elements, "networks": exported}


def write(path, dump):
    text = json.dumps(dump, allow_nan=False, separators=(",", ":")) + "\n"
    if path.endswith(".gz"):
        # Without a timestamp, so that equal networks give equal files.
        with open(path, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            packed.write(text.encode())
    else:
        with open(path, "w") as file:
            file.write(text)


def arguments():
    argv = sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else sys.argv[1:]
    parser = argparse.ArgumentParser(description="Exports the function part of Blender's node groups.")
    parser.add_argument("blend", nargs="?", help="a .blend file to open first")
    parser.add_argument("--out", required=True, help="the .json or .json.gz file to write")
    parser.add_argument("--elements", type=int, default=12, help="values per input")
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs")
    parser.add_argument("--group", action="append", help="only this node group; may be given several times")
    parser.add_argument("--special", action="store_true", help="often use values such as 0, 1 and -1")
    parser.add_argument("--extremes", action="store_true", help="often use values that are huge, tiny or not finite")
    parser.add_argument("--compare-all", action="store_true", help="list no elements as sensitive")
    return parser.parse_args(argv)


if __name__ == "__main__":
    ARGS = arguments()
    if bpy.app.version < OLDEST:
        sys.exit("Blender %s is too old: 4.2 or newer is needed" % bpy.app.version_string)
    if ARGS.blend:
        bpy.ops.wm.open_mainfile(filepath=ARGS.blend)
    PROBLEMS = []
    DUMP = export_all(ARGS, PROBLEMS)
    write(ARGS.out, DUMP)
    print("exported %d networks to %s" % (len(DUMP["networks"]), ARGS.out))
    for PROBLEM in PROBLEMS:
        print("error: " + PROBLEM, file=sys.stderr)
    sys.exit(1 if PROBLEMS else 0)
