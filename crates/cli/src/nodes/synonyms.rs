//! The words of other programs for which there is no node.

/// The words for which there is no node, each with advice.
pub(super) fn absent() -> impl Iterator<Item = (&'static str, &'static str)> {
    ABSENT.iter().flat_map(|(words, advice)| words.split(", ").map(|word| (word, *advice)))
}

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

    use millstream::{Limits, synonyms};

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
