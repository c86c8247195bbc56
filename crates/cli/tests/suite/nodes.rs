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
              help: families: blender, boolean, color, compare, context, control, convert, curve, date, footprint, image, integer, language, list, mat4, math, mesh, mix, noise, pattern, quat, random, reduce, scan, sdf, state, string, table, time, vector
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
fn commands_in_a_help_stay_on_one_line() {
    for verb in [&[][..], &["run"], &["bake"]] {
        let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_millstream"));
        let output = program.args(verb).arg("--help").env("COLUMNS", "60").output();
        let text = String::from_utf8(output.expect("it runs").stdout).expect("it is UTF-8");
        assert_eq!(text, text.replace('\u{a0}', " "));
        let wide = program.env("COLUMNS", "100").output().expect("it runs").stdout;
        let wide = String::from_utf8(wide).expect("it is UTF-8");
        let commands = wide.lines().filter(|line| line.starts_with("  millstream "));
        assert!(commands.clone().any(|line| line.len() > 60), "{wide}");
        for command in commands {
            assert!(text.lines().any(|line| line == command), "{command}: {text}");
        }
    }
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
              help: did you mean `perlin`? It finds `noise.perlin`, `noise.slope`, `math.expression`
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
    assert!(both.contains("`color.ramp`, `pattern.linear`, `list.gradient`"), "{both}");
    assert!(told(&["xyzzyxy"]).contains("try other words"));
    assert_eq!(code(&["nodes", "--search", "?!"]), Some(2));
    expect_seen(
        &["nodes", "math.sqrt", "--search", "root"],
        expect![[r#"
            exit code 2
            stderr:
            error: --search has nothing to find in the node type `math.sqrt`
              help: search in its family, `math`, or leave out --search
        "#]],
    );
    assert_eq!(code(&["nodes", "--search"]), Some(2));
}

/// The first names that a search finds.
fn first_three(word: &str) -> Vec<String> {
    let found = seen(&["nodes", "--search", word]);
    let names = found.lines().filter_map(|line| line.split_whitespace().next());
    names.take(3).map(str::to_owned).collect()
}

#[test]
fn words_of_other_programs_find_the_nodes() {
    for (words, name) in [
        ("lerp", "mix.mix"),
        ("unlerp", "mix.inverse_mix"),
        ("clip, saturate", "mix.clamp"),
        ("ternary, if", "control.switch"),
        ("index switch", "control.choose"),
        ("rsqrt, inversesqrt", "math.inverse_sqrt"),
        ("argmax", "list.index_of_maximum"),
        ("magnitude, norm", "vector.length"),
        ("worley, voronoi texture", "noise.cell"),
        ("grayscale", "color.desaturate"),
        ("substring", "string.slice"),
        ("remap, fit, map range", "mix.map_range"),
        ("fft, Fourier transform", "list.fourier"),
        ("stdev, std, standard deviation", "list.deviation"),
        ("cumsum, accumulate field, prefix sum", "scan.sum"),
        ("loop, iterate, while, for loop, repeat zone", "repeat"),
        ("map, filter, reduce, foreach, for each element, for loop", "for_each"),
        ("solver, simulation zone", "simulate"),
        ("lambda, callback", "closure"),
        ("subnet, node group, function", "group"),
        ("import, library", "use"),
        ("rgb to hsv, hsv2rgb, ocio", "color.convert"),
        ("color ramp, gradient", "color.ramp"),
        ("mix rgb, blend mode", "color.blend"),
        ("separate xyz", "vector.separate_vec3"),
        ("noise, anoise", "noise.perlin"),
        ("chramp, float curve", "curve.float"),
        ("wrangle", "math.expression"),
        ("nearpoints, nearest neighbor", "list.neighbors"),
        ("lag, ema", "state.smooth"),
        ("lfo", "math.wave"),
        ("timeshift, time offset", "time.shift"),
        ("frame hold, retime", "context.with_time"),
        ("grade", "color.slope_offset_power"),
        ("merge, alpha over", "image.over"),
        ("reformat", "image.resize"),
        ("erode", "image.morphology"),
        ("stmap, texture2D", "image.sample"),
        ("linspace, arange", "list.range"),
        ("argsort", "list.sort_indices"),
        ("np.where", "list.where"),
        ("trapz", "list.integral"),
        ("nan_to_num", "list.fill"),
        ("groupby", "table.group"),
        ("gl_FragCoord, uv", "context.position"),
        ("iTime", "context.time"),
        ("fract", "math.fraction"),
        ("mod, remainder", "math.modulo"),
        ("smin", "math.smooth_minimum"),
        ("sprintf", "string.format"),
        ("vignette", "pattern.radial"),
        ("square root", "math.sqrt"),
        ("the sum of a list", "list.sum"),
    ] {
        for word in words.split(", ") {
            let found = first_three(word);
            assert!(found.iter().any(|found| found == name), "{word}: {found:?}");
        }
    }
    expect_seen(
        &["nodes", "--search", "subdivision"],
        expect![[r#"
            exit code 2
            stderr:
            error: no node matches `subdivision`
              help: meshes are lists of points and faces; the nodes `mesh.grid`, `mesh.sphere` and `mesh.normals` work on them, and `for_each` on their items
        "#]],
    );
    for word in ["dict", "dictionary", "hash map"] {
        let text = seen(&["nodes", "--search", word]);
        assert!(text.contains("`list.index_of` with `list.get`"), "{text}");
    }
    assert!(seen(&["nodes", "argsort"]).contains("did you mean `list.sort_indices`?"));
}

#[test]
fn constructs_of_documents_have_entries() {
    let listed = seen(&["nodes", "language"]);
    for name in ["repeat", "for_each", "simulate", "closure", "call", "group", "use", "input"] {
        assert!(listed.contains(&format!("\n  {name} ")), "{listed}");
        let entry = seen(&["nodes", name]);
        assert!(entry.starts_with(&format!("{name}: ")), "{entry}");
        assert!(entry.contains("\n  See docs/"), "{entry}");
        let json = json(&["nodes", name, "--format", "json"]);
        assert_eq!(json["family"], "language", "{json}");
        assert!(json["page"].as_str().is_some_and(|page| page.starts_with("docs/")), "{json}");
    }
    // Tools take the whole list for that of the types that nodes can have.
    let all = json(&["nodes", "--format", "json"]);
    let has =
        |name: &str| all.as_array().is_some_and(|all| all.iter().any(|it| it["name"] == name));
    assert!(has("repeat") && has("closure") && !has("group") && !has("input"));
}

#[test]
#[cfg(feature = "blender")]
fn the_checked_in_manual_is_fresh() {
    // `UPDATE_EXPECT=1 cargo test -p millstream-cli the_checked_in_manual` writes the file.
    let engine = millstream::Engine::new().with_library(millstream_blender::register);
    let manual = millstream::register::manual::document(engine.registry());
    expect_file!["../../../../docs/nodes.md"].assert_eq(&manual);
}

#[test]
fn documents_of_a_library_that_use_each_other_in_a_cycle_are_reported() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("cyclic_library");
    std::fs::create_dir_all(&folder).expect("the directory for tests can be written");
    let user = |of: &str| {
        format!("use {of} = \"{of}.mill\"\ngroup g() -> v: f32 {{\n  v = {of}/g().v\n}}\n")
    };
    let fine = "group g() -> v: f32 {\n  v = 1 + 2\n}\n";
    let files = [("a", user("b")), ("b", user("a")), ("c", user("d")), ("d", fine.to_owned())];
    for (name, text) in files {
        std::fs::write(folder.join(format!("{name}.mill")), text).expect("writable");
    }
    let told = seen(&["nodes", "--from", &folder.display().to_string()]);
    assert_eq!(told.matches("used::cycle").count(), 2, "{told}");
    assert!(told.contains("a.mill:1:1: error[used::cycle]"), "{told}");
    assert!(told.contains("  c/g") && told.contains("  d/g") && !told.contains("  a/g"), "{told}");
}

#[test]
fn the_manual_of_groups_says_how_their_setting_is_written() {
    let told = seen(&["nodes", "group"]);
    assert!(told.contains("memo = \"whole\"") && told.contains("\"set\": { \"memo\""), "{told}");
}
