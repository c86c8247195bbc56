//! Which fields form which columns.

use super::*;

fn plan(names: &[&str], wanted: Wanted<'_>) -> Result<Vec<Target>, IoError> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let is_number = |_: usize| true;
    Fields { is_number: &is_number, ..Fields::new("t.csv", &names, &Naming::PARTS) }.plan(wanted)
}

fn one(otherwise: &str, ty: Type) -> Wanted<'_> {
    Wanted::One(ColumnChoice { column: None, otherwise, ty: Some(ty) })
}

#[test]
fn adjacent_components_form_a_vector_whose_type_follows_from_their_order() {
    let names = ["t", "p.x", "p.y", "p.z", "q.w", "q.x", "q.y", "q.z", "v.x", "v.y", "v.z", "v.w"];
    let targets = plan(&names, Wanted::All).expect("plans");
    let types: Vec<_> = targets.iter().map(|t| (t.name.as_str(), t.ty)).collect();
    assert_eq!(
        types,
        [("t", None), ("p", Some(Type::VEC3)), ("q", Some(Type::QUAT)), ("v", Some(Type::VEC4))]
    );
}

#[test]
fn a_wanted_vector_finds_its_components_in_any_order() {
    let columns = [("p".to_owned(), Some(Type::VEC3))].into_iter().collect();
    let targets = plan(&["p_z", "p_y", "p_x"], Wanted::Named(&columns)).expect("plans");
    assert_eq!(targets[0].fields, [2, 1, 0]);
}

#[test]
fn a_missing_component_is_named() {
    let columns = [("p".to_owned(), Some(Type::VEC3))].into_iter().collect();
    let error = plan(&["p.x", "p.y"], Wanted::Named(&columns)).expect_err("lacks z");
    assert_eq!(error.to_string(), "`t.csv` has no column `p.z`");
}

#[test]
fn without_a_name_the_input_the_only_column_or_bare_components_are_used() {
    let fields = |names: &[&str], wanted| plan(names, wanted).expect("plans")[0].fields.clone();
    assert_eq!(fields(&["b", "a"], one("a", Type::F32)), [1]);
    assert_eq!(fields(&["b"], one("a", Type::F32)), [0]);
    assert_eq!(fields(&["p.x", "p.y"], one("a", Type::VEC2)), [0, 1]);
    assert_eq!(fields(&["id", "x", "y", "z"], one("a", Type::VEC3)), [1, 2, 3]);
    assert!(matches!(plan(&["b", "c"], one("a", Type::F32)), Err(IoError::ChooseColumn { .. })));
}

#[test]
fn a_vector_of_another_type_is_named() {
    let error = plan(&["a.x", "a.y", "a.z"], one("a", Type::F32)).expect_err("is a vec3");
    assert_eq!(error.to_string(), "`t.csv` column `a` holds vec3 and cannot be read as f32");
}

#[test]
fn a_file_without_columns_is_reported() {
    let Err(IoError::MissingColumn { hint, .. }) = plan(&[], one("a", Type::F32)) else {
        panic!("there is nothing to choose from")
    };
    assert!(hint.contains("no columns"), "{hint}");
}
