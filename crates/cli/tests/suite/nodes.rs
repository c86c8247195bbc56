//! `millstream nodes`, help and version.

use expect_test::{expect, expect_file};

use crate::{code, document, expect_seen, file, json, millstream, seen};

#[test]
fn node_types_are_listed_by_family() {
    let all = seen(&["nodes"]);
    assert!(all.contains("\nmath\n  math.abs"), "{all}");
    let family = seen(&["nodes", "boolean"]);
    assert!(family.starts_with("boolean\n  boolean.and"), "{family}");
    assert!(!family.contains("math"));
}

#[test]
fn a_node_type_has_a_manual_entry() {
    expect_seen(
        &["nodes", "math.sqrt"],
        expect![[r#"
        math.sqrt: The square root
            version 1, static

          inputs
            x: T = 0  number

          outputs
            value: T

          types
            T  f32, f64, vec2, vec3, vec4

          Correctly rounded. NaN for negative numbers; -0 for -0.
    "#]],
    );
    expect_seen(
        &["nodes", "maths.sqrt"],
        expect![[r#"
        exit code 2
        stderr:
        error: there is no node type or family called `maths.sqrt`
          help: did you mean `math.sqrt`?
    "#]],
    );
    expect_seen(
        &["nodes", "qqqqqqqq"],
        expect![[r#"
            exit code 2
            stderr:
            error: there is no node type or family called `qqqqqqqq`
              help: families: blender, boolean, color, compare, context, control, convert, curve, date, footprint, image, integer, list, mat4, math, mesh, mix, noise, pattern, quat, random, reduce, scan, sdf, state, string, table, time, vector
        "#]],
    );
}

#[test]
fn node_types_are_available_to_programs() {
    let all = json(&["nodes", "--format", "json"]);
    assert!(all.as_array().is_some_and(|all| all.len() > 100));
    let sqrt = json(&["nodes", "math.sqrt", "--format", "json"]);
    assert_eq!(
        (&sqrt["name"], &sqrt["outputs"][0]["name"]),
        (&"math.sqrt".into(), &"value".into())
    );
}

#[test]
fn every_verb_has_help_with_examples() {
    for args in [
        &["--help"][..],
        &["run", "--help"],
        &["check", "--help"],
        &["explain", "--help"],
        &["nodes", "--help"],
    ] {
        let text = seen(args);
        assert!(text.contains("Examples:\n  millstream "), "{text}");
        assert_eq!(code(args), Some(0));
    }
    assert_eq!(seen(&["--version"]), format!("millstream {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_family_is_suggested_too() {
    for (name, near) in [("mathx", "math"), ("math.", "math"), ("math.sqr", "math.sqrt")] {
        assert!(seen(&["nodes", name]).contains(&format!("did you mean `{near}`?")), "{name}");
    }
}

#[test]
fn the_same_name_in_another_family_is_suggested_before_spelling() {
    let text = "input x: f32\na = math.clamp(x)\noutput y: f32 = math.clamp(x: x)\n";
    let node = r#"{ "type": "math.clamp", "in": { "x": { "input": "x" } } }"#;
    for told in [
        seen(&["nodes", "math.clamp"]),
        seen(&["check", &file("clamp.mill", text)]),
        seen(&["check", &document("clamp.mill.json", "f32", node, "f32")]),
    ] {
        assert!(told.contains("did you mean `mix.clamp`?"), "{told}");
        assert!(!told.contains("math.clamp`?") && !told.contains("blender"), "{told}");
    }
    let program = millstream::Engine::new().load(text.as_bytes()).expect_err("no such node");
    assert!(program.to_string().contains("did you mean `mix.clamp`?"), "{program}");
}

#[test]
fn nodes_are_found_by_words() {
    expect_seen(
        &["nodes", "math", "--search", "root"],
        expect![[r#"
            math.root       The root of x of a given degree
            math.cbrt       The cube root
            math.safe_sqrt  The square root, or 0 for negative numbers
            math.sqrt       The square root
        "#]],
    );
    let perlin = json(&["nodes", "--search", "smooth", "noise", "--format", "json"]);
    assert_eq!(perlin[0]["name"], "noise.perlin");
    let many = seen(&["nodes", "--search", "number"]);
    assert_eq!(many.lines().count(), 21, "{many}");
    assert!(many.contains(" more; another word narrows the search"), "{many}");
    let ring = seen(&["nodes", "--from", "examples/lib", "--search", "ring"]);
    assert!(ring.starts_with("water/ring  "), "{ring}");
    expect_seen(
        &["nodes", "--search", "perlim"],
        expect![[r#"
            exit code 2
            stderr:
            error: nothing matches `perlim`
              help: did you mean `perlin`? It finds `noise.perlin`, `noise.slope`, `blender.noise`
        "#]],
    );
    let told = |words: &[&str]| {
        let ran = millstream(&[&["nodes", "--search"], words].concat());
        String::from_utf8_lossy(&ran.stderr).into_owned()
    };
    let smooth = told(&["smoth"]);
    assert!(smooth.contains("did you mean `smooth`? It finds `"), "{smooth}");
    let both = told(&["grdient", "trubulence"]);
    assert!(both.contains("did you mean `gradient turbulence`? It finds `"), "{both}");
    assert!(both.contains("`list.gradient`, `noise.turbulence`"), "{both}");
    assert!(told(&["xyzzyxy"]).contains("try other words"));
    assert_eq!(code(&["nodes", "--search", "?!"]), Some(2));
    assert_eq!(code(&["nodes", "--search"]), Some(2));
}

#[test]
fn words_of_other_programs_find_the_nodes() {
    for (word, name) in [
        ("lerp", "mix.mix"),
        ("unlerp", "mix.inverse_mix"),
        ("clip", "mix.clamp"),
        ("ternary", "control.switch"),
        ("rsqrt", "math.inverse_sqrt"),
        ("argmax", "reduce.index_of_maximum"),
        ("magnitude", "vector.length"),
        ("worley", "noise.cell"),
        ("grayscale", "color.desaturate"),
        ("substring", "string.slice"),
        ("remap", "mix.map_range"),
    ] {
        let found = seen(&["nodes", "--search", word]);
        let first: Vec<&str> = found.lines().take(6).collect();
        let is_it = |line: &&str| line.split_whitespace().next() == Some(name);
        assert!(first.iter().any(is_it), "{word}: {found}");
    }
}

#[test]
#[cfg(feature = "blender")]
fn the_checked_in_manual_is_fresh() {
    // `UPDATE_EXPECT=1 cargo test -p millstream-cli the_checked_in_manual` writes the file.
    let engine = millstream::Engine::new().with_library(millstream_blender::register);
    let manual = millstream::register::manual::document(engine.registry());
    expect_file!["../../../../docs/nodes.md"].assert_eq(&manual);
}
