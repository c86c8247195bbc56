//! Outputs as vertices and faces, under the names that mesh viewers know.
//!
//! An output is recognized by its name and type, or by its type alone if no other output has it:
//! the only `vec3` is taken as the positions. All other outputs keep their names.

use std::sync::Arc;

use millstream::evaluate::{Data, OutputAnswer};
use millstream::values::{Type, Value};
use millstream_io::{ColumnSpec, Faces};

use crate::outcome::{Exit, Stop};

/// Output names for faces: the vertex of each corner, as a list of `i32`.
const FACES: [&str; 6] = ["face", "faces", "triangle", "triangles", "indices", "corners"];

/// Output names for the number of corners of each face, where faces are not triangles.
const SIZES: [&str; 4] = ["face_size", "face_sizes", "size", "sizes"];

/// Vertex attributes: the name in files; the types, of which the first identifies the attribute by
/// itself; and the names of outputs.
const ROLES: [(&str, &[Type], &[&str]); 4] = [
    (
        "position",
        &[Type::VEC3],
        &["position", "positions", "point", "points", "vertex", "vertices", "p", "moved"],
    ),
    ("normal", &[Type::VEC3], &["normal", "normals", "n"]),
    ("color", &[Type::COLOR, Type::VEC3], &["color", "colors", "colour", "colours", "rgb", "rgba"]),
    ("texcoord", &[Type::VEC2], &["texcoord", "texcoords", "uv", "uvs", "st"]),
];

/// Renames columns to the names that viewers know.
pub(crate) fn rename(columns: &mut [ColumnSpec]) {
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let mut is_taken = vec![false; columns.len()];
    for (role, types, known) in ROLES {
        let fits = |column: &ColumnSpec| types.contains(&column.ty);
        let named = |name: &&str| names.iter().position(|it| it.eq_ignore_ascii_case(name));
        let mut by_name = known.iter().filter_map(named);
        let found = by_name.find(|i| fits(&columns[*i]) && !is_taken[*i]);
        if let Some(i) = found {
            role.clone_into(&mut columns[i].name);
            is_taken[i] = true;
        }
    }
    for (role, types, _) in ROLES {
        // Positions come before normals, which only a name can identify.
        if role == "normal" || columns.iter().any(|column| column.name == role) {
            continue;
        }
        let free = |i: &usize| !is_taken[*i] && columns[*i].ty == types[0];
        let mut alone = (0..columns.len()).filter(free);
        if let (Some(i), None) = (alone.next(), alone.next()) {
            role.clone_into(&mut columns[i].name);
            is_taken[i] = true;
        }
    }
}

/// Whether an output of this name and type holds faces, or the number of their corners.
pub(crate) fn is_of_faces(name: &str, ty: Type) -> bool {
    let has = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    ty.element() == Some(Type::I32) && (has(&FACES) || has(&SIZES))
}

/// Separates the faces from the other outputs.
pub(crate) fn faces_and_rest<'a>(
    outputs: &[&'a OutputAnswer],
) -> Result<(Option<Arc<Faces>>, Outputs<'a>), Stop> {
    let mut rest: Outputs<'_> = outputs.to_vec();
    let Some((name, corners)) = take(&mut rest, &FACES) else { return Ok((None, rest)) };
    let faces = match take(&mut rest, &SIZES) {
        Some((_, sizes)) => Faces::polygons(corners, sizes),
        None => Faces::triangles(corners),
    };
    let faces = faces.map_err(|text| {
        let help = "give an output `face_sizes`, the number of corners of each face";
        Stop::new(Exit::Failed, format!("`{name}`: {text}"), Some(help.into())).misfit()
    });
    Ok((Some(Arc::new(faces?)), rest))
}

/// Some outputs of an answer.
type Outputs<'a> = Vec<&'a OutputAnswer>;

/// Takes out the output that has one of these names, and returns its integers.
fn take<'a>(outputs: &mut Outputs<'a>, names: &[&str]) -> Option<(&'a str, Vec<i32>)> {
    let numbers = |output: &OutputAnswer| match output.value.as_ref().map(|series| &series.data) {
        Some(Data::One(Value::List(list))) => list.as_slice::<i32>().map(<[i32]>::to_vec),
        _ => None,
    };
    let is_named =
        |output: &OutputAnswer| names.iter().any(|it| output.name.eq_ignore_ascii_case(it));
    let at = outputs.iter().position(|it| is_named(it) && numbers(it).is_some())?;
    let output = outputs.remove(at);
    Some((&output.name, numbers(output)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(columns: &[(&str, Type)]) -> Vec<String> {
        let mut columns: Vec<ColumnSpec> =
            columns.iter().map(|(name, ty)| ColumnSpec::new(name, *ty)).collect();
        rename(&mut columns);
        columns.into_iter().map(|column| column.name).collect()
    }

    #[test]
    fn names_say_more_than_types() {
        let all =
            [("n", Type::VEC3), ("Points", Type::VEC3), ("lift", Type::F32), ("uv", Type::VEC2)];
        assert_eq!(renamed(&all), ["normal", "position", "lift", "texcoord"]);
        let all = [("rgb", Type::VEC3), ("moved", Type::VEC3), ("heat", Type::COLOR)];
        assert_eq!(renamed(&all), ["color", "position", "heat"]);
    }

    #[test]
    fn the_only_output_of_a_type_is_recognized() {
        let all = [("where", Type::VEC3), ("tint", Type::COLOR), ("at", Type::VEC2)];
        assert_eq!(renamed(&all), ["position", "color", "texcoord"]);
        assert_eq!(renamed(&[("a", Type::VEC3), ("b", Type::VEC3)]), ["a", "b"]);
        assert_eq!(renamed(&[("normals", Type::VEC3)]), ["normal"]);
        assert_eq!(renamed(&[("position", Type::F32), ("v", Type::VEC3)]), ["position", "v"]);
    }
}
