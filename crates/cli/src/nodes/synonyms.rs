//! The words that people know from other programs, and the node types to which they lead.
//!
//! The rows are data: each holds words or short phrases, separated by commas, and names of node
//! types or of constructs, the best first.

/// Words, with the names to which they lead.
type Row = (&'static str, &'static [&'static str]);

/// The words of other programs, each with the names to which it leads, the best first.
pub(super) fn synonyms() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let rows = TABLES.iter().copied().flatten();
    rows.flat_map(|(words, names)| words.split(", ").map(|word| (word, *names)))
}

/// The words for which there is no node, each with advice.
pub(super) fn absent() -> impl Iterator<Item = (&'static str, &'static str)> {
    ABSENT.iter().flat_map(|(words, advice)| words.split(", ").map(|word| (word, *advice)))
}

const TABLES: &[&[Row]] = &[FLOW, NUMBERS, VECTORS, LISTS, COLORS, IMAGES, TIME, TEXT];

/// Control flow, and the constructs of documents.
const FLOW: &[Row] = &[
    ("if, ternary, conditional, if else", &["control.switch", "control.choose"]),
    (
        "match, index switch, menu switch, select, switch case, case",
        &["control.choose", "control.switch"],
    ),
    ("loop, for loop", &["repeat", "for_each", "list.generate"]),
    ("iterate, while, until, do while, repeat zone", &["repeat"]),
    ("iteration", &["context.iteration", "repeat"]),
    ("foreach, for each, for, for each element", &["for_each", "repeat"]),
    ("map, list map, comprehension", &["for_each", "list.generate", "mix.map_range"]),
    ("filter", &["list.filter", "table.filter", "for_each"]),
    ("reduce, fold, aggregate", &["for_each", "reduce.sum", "list.sum"]),
    ("scan", &["scan.sum", "list.running", "for_each"]),
    ("simulation, solver, simulation zone, particle, physics", &["simulate", "state.integrate"]),
    ("function, subroutine, procedure", &["group", "closure", "math.expression"]),
    ("group", &["group", "table.group"]),
    ("subnet, subgraph, node group, macro, gizmo, component, hda", &["group", "use"]),
    ("lambda, callback, delegate, higher order", &["closure", "call"]),
    ("import, include, library, module", &["use", "group"]),
    ("parameter, argument, property, custom property", &["input", "context.vararg"]),
    ("file, read, load, file in, csv, data", &["input"]),
    ("save, write, export, file out", &["output"]),
    ("recursion, recursive", &["repeat", "state.feedback"]),
    ("wrangle, formula, vop, vex, script, code, eval", &["math.expression", "closure"]),
    ("reroute, identity, null, no op, passthrough", &["control.pass"]),
    ("bypass, mute, muted, disable", &["muted", "control.pass"]),
    ("attribute statistic", &["reduce.mean", "reduce.deviation", "list.mean"]),
    ("accumulate field", &["scan.sum", "list.running", "list.collect"]),
    ("sample index, neighbor value", &["context.with_index", "list.get"]),
    ("capture attribute", &["list.collect", "context.with_index"]),
    ("element id, id, ptnum, elemnum", &["context.index"]),
];

/// Numbers.
const NUMBERS: &[Row] = &[
    ("clamp01", &["mix.clamp"]),
    ("iferror, ifs", &["control.switch"]),
    ("plus", &["math.add"]),
    ("sine", &["math.sin"]),
    ("cosine", &["math.cos"]),
    ("tangent", &["math.tan", "vector.tangents"]),
    ("square root", &["math.sqrt"]),
    ("cube root", &["math.cbrt"]),
    ("round down", &["math.floor", "integer.divide_floor"]),
    ("round up", &["math.ceil", "integer.divide_ceil"]),
    ("inverse", &["math.reciprocal", "mat4.invert", "quat.invert"]),
    ("boolean math, logic, boolean", &["boolean.and", "boolean.or", "boolean.not"]),
    ("minus", &["math.subtract", "math.negate"]),
    ("times", &["math.multiply"]),
    ("pow, exponent", &["math.power", "integer.power", "math.exp"]),
    ("abs", &["math.absolute"]),
    ("max", &["math.maximum", "reduce.maximum", "list.maximum"]),
    ("min", &["math.minimum", "reduce.minimum", "list.minimum"]),
    ("smin, smooth min, polynomial min", &["math.smooth_minimum", "sdf.union"]),
    ("smax, smooth max", &["math.smooth_maximum", "sdf.intersection"]),
    ("mod, modulus, fmod, remainder", &["math.modulo", "math.floored_modulo", "integer.modulo"]),
    ("fract, frac", &["math.fraction"]),
    ("trunc", &["math.truncate", "convert.to_i32"]),
    ("rint, roundeven, round half even", &["math.round_even", "math.round"]),
    ("quantize", &["math.snap", "color.posterize"]),
    ("rsqrt, invsqrt, inversesqrt", &["math.inverse_sqrt"]),
    ("squared", &["math.square", "math.power"]),
    ("log1p", &["math.ln_1p"]),
    ("expm1", &["math.exp_m1"]),
    ("deg, rad2deg, to degrees", &["math.degrees"]),
    ("rad, deg2rad, to radians", &["math.radians"]),
    ("arcsin", &["math.asin"]),
    ("arccos", &["math.acos"]),
    ("arctan", &["math.atan", "math.atan2"]),
    ("arctan2", &["math.atan2"]),
    ("signum, sgn", &["math.sign"]),
    ("triangle wave, sawtooth, square wave, lfo, oscillator", &["math.wave", "math.ping_pong"]),
    ("pingpong", &["math.ping_pong"]),
    ("mad", &["math.fma", "math.multiply_add"]),
    ("clip, saturate, bound, limit", &["mix.clamp", "math.minimum", "math.maximum"]),
    ("lerp, interpolate, blend values", &["mix.mix", "list.interpolate", "quat.slerp"]),
    ("invlerp, unlerp, inverse lerp", &["mix.inverse_mix"]),
    ("remap, fit, efit, fit01, rescale, normalize range, linstep", &["mix.map_range"]),
    ("easing, tween, ease in", &["mix.ease", "mix.smoothstep"]),
    ("isclose, approx, almost equal", &["compare.near"]),
    ("lessthan", &["compare.less"]),
    ("isnan", &["compare.is_nan"]),
    ("isinf", &["compare.is_infinite"]),
    ("popcount, bitcount", &["integer.count_ones"]),
    ("findlsb, ctz", &["integer.trailing_zeros"]),
    ("findmsb, clz", &["integer.log2", "integer.leading_zeros"]),
    ("shl, bit shift, left shift", &["integer.shift_left", "integer.shift_right"]),
    ("shr, right shift", &["integer.shift_right", "integer.shift_right_logical"]),
    ("floatbitstoint, reinterpret, bitcast", &["convert.f32_bits", "convert.f32_from_bits"]),
    ("cast, astype", &["convert.to_f32", "convert.to_i32", "convert.to_bool"]),
    ("int", &["convert.to_i32", "convert.to_i64"]),
    ("double", &["convert.to_f64"]),
    ("rand, random01, drand", &["random.value", "noise.white", "random.integer"]),
    ("random number, random float, random uniform", &["random.value", "random.integer"]),
    ("uniform", &["random.value", "random.integer", "input"]),
    ("randint, random int", &["random.integer"]),
    ("randn, gaussian random, normal distribution", &["random.normal"]),
    ("choice, random choice, weighted choice", &["random.weighted", "list.pick"]),
    ("seed", &["random.hash", "random.value"]),
    ("jitter, scatter", &["random.vector", "random.even", "random.in_box"]),
    ("blue noise, low discrepancy, sobol", &["random.even", "random.halton"]),
    ("billow", &["noise.turbulence"]),
    ("musgrave, fractal noise, octave", &["noise.fbm", "noise.multifractal", "noise.hybrid"]),
    ("voronoi, worley, cellular", &["noise.cell", "noise.cell_edge", "blender.voronoi"]),
    ("curlnoise, divergence free", &["noise.curl"]),
    ("anoise, noise, noise texture", &["noise.perlin", "noise.fbm", "noise.simplex"]),
    ("float curve, chramp, profile, remap curve", &["curve.float", "color.ramp"]),
    ("spline", &["curve.catmull_rom", "curve.b_spline", "curve.bezier"]),
    ("bspline", &["curve.b_spline"]),
    ("equation", &["math.expression"]),
];

/// Vectors, rotations, matrices, shapes and meshes.
const VECTORS: &[Row] = &[
    ("magnitude, norm", &["vector.length", "quat.length", "math.absolute"]),
    ("unit vector, unit", &["vector.normalize"]),
    ("dot product, dotproduct", &["vector.dot", "list.dot", "quat.dot"]),
    ("cross product", &["vector.cross"]),
    ("cross", &["vector.cross", "mix.mix"]),
    ("separate xyz, split xyz", &["vector.separate_vec3", "vector.separate_vec2"]),
    ("combine xyz, make vector, float3, vec3", &["vector.combine_vec3"]),
    ("vec2, float2", &["vector.combine_vec2"]),
    ("vec4, float4", &["vector.combine_vec4"]),
    ("vector math", &["blender.vector", "vector.dot", "vector.length"]),
    ("faceforward", &["vector.faceforward"]),
    ("rotate2d", &["vector.rotate_2d"]),
    ("quaternion", &["quat.combine", "quat.from_axis_angle", "quat.multiply"]),
    ("euler", &["quat.from_euler", "quat.to_euler", "blender.rotate_euler"]),
    ("euler to rotation, euler to quaternion, quaternion from euler", &["quat.from_euler"]),
    ("dihedral, rotation between, from to rotation", &["quat.between"]),
    ("qrotate, rotate vector, rotate point", &["quat.rotate", "vector.rotate"]),
    ("rotate", &["quat.rotate", "vector.rotate", "vector.rotate_2d"]),
    (
        "align euler to vector, align rotation to vector",
        &["blender.align_rotation", "quat.look_at"],
    ),
    ("lookat, aim, point at", &["mat4.look_at", "quat.look_at"]),
    ("matrix", &["mat4.compose", "mat4.combine", "mat4.multiply"]),
    ("inverse matrix, invert matrix, inv", &["mat4.invert"]),
    ("det", &["mat4.determinant"]),
    ("transform point, matmul, mul", &["mat4.transform_point", "mat4.multiply"]),
    ("mat3", &["mat4.combine_3x3", "mat4.part_3x3"]),
    ("trs", &["mat4.compose", "mat4.decompose"]),
    ("camera", &["mat4.look_at", "mat4.perspective", "mat4.orthographic"]),
    ("nearpoint, pcopen, pcfind, knn, kdtree, point cloud, nearest neighbor", &["list.neighbors"]),
    ("sdbox, rounded box, rect, rectangle", &["sdf.box"]),
    ("sdcircle, disc, ellipse", &["sdf.circle", "random.in_disk"]),
    ("roto, shape, signed distance, distance field", &["sdf.polygon", "sdf.circle", "sdf.fill"]),
    ("smooth union", &["sdf.union"]),
    ("stroke", &["sdf.outline", "sdf.line"]),
    ("plane", &["mesh.grid", "sdf.half_plane", "vector.closest_on_plane"]),
    ("uv sphere", &["mesh.sphere"]),
    ("uv, fragcoord, texcoord, texture coordinate", &["context.position", "context.footprint"]),
    ("pos", &["context.position"]),
    ("resolution, iresolution", &["footprint.separate", "context.footprint"]),
    ("fwidth, dfdx, dfdy, derivative", &["footprint.pixel_size", "list.gradient", "noise.slope"]),
];

/// Lists and tables.
const LISTS: &[Row] = &[
    (
        "sumif, sumifs, sum if, countif, count if",
        &["table.group", "list.filter", "list.count_true"],
    ),
    ("xlookup, hlookup", &["table.join", "list.get"]),
    ("reshape", &["list.chunks"]),
    ("nanmean, nansum", &["list.drop_missing", "list.fill", "table.drop_missing"]),
    ("meshgrid", &["mesh.grid", "context.position"]),
    ("stdev, std, stddev, standard deviation", &["list.deviation", "reduce.deviation"]),
    ("var", &["list.variance", "reduce.variance"]),
    ("average, avg", &["list.mean", "reduce.mean", "vector.mean"]),
    ("percentile", &["list.quantile", "reduce.quantile"]),
    ("argmax", &["list.index_of_maximum", "reduce.index_of_maximum"]),
    ("argmin", &["list.index_of_minimum", "reduce.index_of_minimum"]),
    ("argsort", &["list.sort_indices"]),
    ("cumsum, accumulate, prefix sum, running sum, running total", &["scan.sum", "list.running"]),
    ("cumprod", &["scan.product"]),
    ("cummax", &["scan.maximum"]),
    ("cummin", &["scan.minimum"]),
    ("moving average, rolling mean, window", &["list.rolling", "list.smooth"]),
    ("fft, dft, ifft, fourier transform, frequency", &["list.fourier", "list.spectrum"]),
    ("rfft, power spectrum, periodogram", &["list.spectrum", "list.fourier"]),
    ("corrcoef, corr", &["list.correlation"]),
    ("cov", &["list.covariance"]),
    ("linspace, arange, sequence", &["list.range", "list.generate"]),
    ("zero, one, full, fill constant", &["list.repeat", "list.fill"]),
    ("array, vector of values", &["list.of", "list.generate"]),
    ("len, size, count items", &["list.length", "string.length", "table.count"]),
    ("append, push", &["list.append", "table.append"]),
    ("concatenate, extend, hstack", &["list.concat", "table.beside", "string.concat"]),
    ("vstack, append rows", &["table.append", "list.concat"]),
    ("subscript, element at, item, getitem", &["list.get", "list.pick"]),
    ("take, gather, iloc", &["list.pick", "list.get", "table.pick"]),
    ("nonzero, where, np where", &["list.where", "control.switch", "table.filter"]),
    ("diff", &["list.differences"]),
    ("trapz, cumtrapz", &["list.integral"]),
    ("interp, lookup", &["list.interpolate", "list.sample", "color.ramp"]),
    ("resample", &["list.sample", "image.resize", "list.every"]),
    ("searchsorted, bisect, binary search", &["list.search_sorted"]),
    ("bincount", &["list.histogram"]),
    ("roll, cyclic shift", &["list.rotate"]),
    ("tile", &["list.repeat", "pattern.checker"]),
    ("distinct, dedupe", &["list.unique", "table.unique"]),
    ("order by, sortby, sort by", &["list.sort_indices", "table.sort", "for_each"]),
    ("dataframe, zip", &["table.make", "table.beside"]),
    ("groupby, group by", &["table.group", "table.summary"]),
    ("dropna", &["table.drop_missing", "list.drop_missing"]),
    ("fillna, nan to num, coalesce, missing value", &["list.fill", "table.fill"]),
    ("describe", &["table.summary"]),
    ("vlookup, inner join, left join", &["table.join"]),
    ("unpivot", &["table.melt"]),
    ("pivot table", &["table.pivot", "table.group"]),
];

/// Colors.
const COLORS: &[Row] = &[
    ("rgb to hsv, rgb2hsv, hsv to rgb, hsv2rgb, hsv", &["color.convert", "blender.separate_color"]),
    ("rgb to hsl, hsl", &["color.convert", "blender.separate_color"]),
    ("color space, ocio, log2lin, lab, colorspace", &["color.convert"]),
    ("srgb, linear to srgb", &["color.to_srgb", "color.from_srgb"]),
    ("gamma correction", &["color.gamma", "color.to_srgb"]),
    ("tonemap, tone mapping", &["color.tone_map", "image.tone_map"]),
    ("hue", &["color.hue_saturation", "color.convert", "image.hue_saturation"]),
    ("saturation, hue saturation, hsv adjust", &["color.hue_saturation", "image.hue_saturation"]),
    ("grayscale, greyscale, monochrome", &["color.desaturate", "color.luminance"]),
    ("rgb to bw, luma, brightness, lightness", &["color.luminance", "color.brightness_contrast"]),
    ("mix rgb, mixrgb, multiply color, blend mode, screen", &["color.blend", "blender.mix_color"]),
    ("color ramp, colorramp, palette, colormap, color map", &["color.ramp", "blender.color_ramp"]),
    ("gradient texture", &["blender.gradient", "pattern.linear", "pattern.radial"]),
    ("gradient", &["color.ramp", "pattern.linear", "list.gradient"]),
    ("ramp", &["color.ramp", "pattern.linear"]),
    ("grade, color correct, colorcorrect, cdl", &["color.slope_offset_power", "color.levels"]),
    ("lift gamma gain", &["color.slope_offset_power", "color.levels"]),
    ("white balance, color temperature", &["color.adapt", "color.blackbody"]),
    ("aces, filmic, reinhard, hdr", &["color.tone_map", "color.exposure"]),
    ("premult", &["color.premultiply"]),
    ("unpremult", &["color.unpremultiply"]),
    ("opacity, transparency", &["color.separate", "color.composite", "color.premultiply"]),
    ("separate rgb, split rgb, color channel", &["color.separate", "image.separate"]),
    ("combine rgb, make color, rgb", &["color.combine"]),
    ("lut, color curve, rgb curve", &["curve.rgb", "image.curves"]),
    ("negative", &["color.invert", "math.negate"]),
];

/// Images.
const IMAGES: &[Row] = &[
    ("texture, texture2d, image texture, stmap, displace", &["image.sample", "image.from_field"]),
    ("rasterize, render", &["image.from_field"]),
    ("merge, over, alpha over", &["image.over", "color.over", "image.composite"]),
    ("dissolve, crossfade, cross fade", &["image.mix", "image.mask"]),
    ("matte, keymix", &["image.mask", "image.threshold"]),
    ("reformat, scale image, resize image", &["image.resize", "image.transform"]),
    ("flip, flop, mirror", &["image.transform", "list.reverse"]),
    ("translate, move, offset", &["image.transform", "mat4.translation"]),
    ("gaussian blur", &["image.blur"]),
    ("vignette, vignetting, spotlight", &["pattern.radial", "mix.smoothstep", "image.mask"]),
    ("gaussian", &["image.blur", "random.normal"]),
    ("motion blur, directional blur", &["image.blur_directional", "image.blur"]),
    ("unsharp, unsharp mask", &["image.sharpen"]),
    ("erode, dilate, dilate erode, grow", &["image.morphology", "footprint.grow"]),
    ("edge detect, sobel, edge", &["image.edges", "noise.cell_edge"]),
    ("distance transform", &["image.distance"]),
    ("bump, normal from height", &["image.normal_map"]),
    ("binarize", &["image.threshold", "math.step"]),
    ("shuffle", &["list.shuffle", "image.combine", "image.separate"]),
    ("channel", &["image.separate", "image.combine", "color.separate"]),
    ("kernel", &["image.convolve", "list.convolve"]),
    ("convolution", &["image.convolve", "list.convolve"]),
    ("checkerboard, checker texture", &["pattern.checker", "blender.checker"]),
    ("stripe", &["pattern.stripes"]),
    ("wave texture", &["blender.wave", "pattern.stripes"]),
    ("font, text overlay, string to curve", &["sdf.text"]),
    ("bounding box, width, height", &["image.information", "footprint.separate"]),
];

/// Time, and state between frames.
const TIME: &[Row] = &[
    ("edate", &["date.add_months"]),
    ("itime, seconds, scene time", &["context.time", "context.tick"]),
    ("delta time, time step, timestep, dt, elapsed", &["simulate", "state.integrate"]),
    ("fps, frame rate, frame duration", &["simulate", "context.tick", "context.time"]),
    ("frame, current frame, frame number", &["context.tick", "context.time"]),
    ("timer, clock, now, today", &["context.real_time", "context.time", "date.parts"]),
    ("timeoffset, time offset, timeshift", &["time.shift", "context.with_time"]),
    ("framehold, frame hold, timewarp, retime, freeze", &["context.with_time", "time.scale"]),
    ("echo, trail, previous frame, last frame", &["state.delay", "time.shift", "state.feedback"]),
    ("lag, low pass, lowpass, ema", &["state.smooth", "state.damp"]),
    ("spring, follow", &["state.damp", "state.smooth"]),
    ("speed, velocity, integrator", &["state.integrate", "list.gradient"]),
    ("trigger, sample and hold, latch", &["state.hold", "state.counter"]),
    ("memory, state, variable", &["state.feedback", "simulate", "state.hold"]),
    ("keyframe, fcurve, animation curve", &["curve.float", "list.interpolate", "mix.ease"]),
];

/// Strings and dates.
const TEXT: &[Row] = &[
    ("substring, substr, left, right, mid", &["string.slice", "string.between"]),
    ("sprintf, printf, f string, template", &["string.format"]),
    ("tostring, to string, str, value to string", &["string.from_number", "string.format"]),
    ("string to number", &["string.to_number"]),
    ("parse, atoi, atof, parseint, string to value", &["string.to_number", "string.to_integer"]),
    ("strip", &["string.trim"]),
    ("uppercase, toupper", &["string.upper"]),
    ("lowercase, tolower", &["string.lower"]),
    ("capitalize", &["string.title", "string.case"]),
    ("indexof, strpos", &["string.find", "list.index_of"]),
    ("gsub", &["string.regex_replace", "string.replace"]),
    ("regexp, grep", &["string.regex_test", "string.regex_find", "string.regex_replace"]),
    ("glob, wildcard", &["string.matches"]),
    ("levenshtein, fuzzy", &["string.distance"]),
    ("ord", &["string.codes"]),
    ("chr", &["string.from_codes"]),
    ("strftime, format date", &["date.to_text"]),
    ("strptime, parse date", &["date.from_text"]),
    ("weekday, month, day, year", &["date.parts", "date.start_of", "date.add_months"]),
];

/// Words for which there is no node, with what to do instead.
const ABSENT: &[(&str, &str)] = &[
    (
        "extrude, subdivide, subdivision, bevel, boolean mesh, instance, instance on point, geometry",
        "meshes are lists of points and faces; the nodes `mesh.grid`, `mesh.sphere` and \
         `mesh.normals` work on them, and `for_each` on their items",
    ),
    (
        "ambient occlusion, fresnel, bsdf, principled bsdf, shader, raycast, raytrace",
        "nothing is rendered in three dimensions; a picture is a color at each position",
    ),
    (
        "keyer, chroma key, optical flow, tracker, inpaint, denoise",
        "the nodes of the family `image` are the filters; `image.threshold` and `image.mask` make \
         and use masks",
    ),
    (
        "eig, eigenvalue, eigenvector, lstsq, linear system, einsum, outer",
        "matrices have 4 rows and columns; the family `mat4` lists what they do, such as `mat4.svd`",
    ),
    (
        "dict, dictionary, hash map, hashmap, associative array, key value",
        "no type has values by key; tables have columns by name (the family `table`), and \
         `list.index_of` with `list.get` finds a value by an item of another list",
    ),
    (
        "http, url, fetch, socket, osc, midi, database, sql",
        "nodes read nothing but inputs and context; give data with --in NAME=@FILE",
    ),
    (
        "print, debug, breakpoint",
        "`millstream run FILE --stats` shows what ran, and `explain` shows each node",
    ),
    (
        "sleep, async, thread",
        "evaluators use all processors by themselves; `state.delay` delays a value by ticks",
    ),
    (
        "discard, goto, break, continue, return, exception",
        "`repeat` and `for_each` end with their setting `while`; a failing node fails only for its \
         own element",
    ),
    ("audio, wav, mp3", "give samples as a list of numbers, --in NAME=@FILE with a table"),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use millstream::Limits;

    use super::*;
    use crate::nodes::language::construct;

    #[test]
    fn synonyms_are_unique_and_lead_to_what_exists() {
        let engine = crate::library::engine(Limits::default());
        let has_blender = engine.registry().get("blender.noise").is_some();
        let mut known = HashSet::new();
        for (word, names) in synonyms() {
            assert!(known.insert(word), "`{word}` is there twice");
            for name in names {
                let is_absent = name.starts_with("blender.") && !has_blender;
                let is_known = engine.registry().get(name).is_some() || construct(name).is_some();
                assert!(is_known || is_absent, "`{word}` leads to `{name}`");
            }
        }
        for (word, _) in absent() {
            assert!(known.insert(word), "`{word}` is there twice");
        }
    }
}
