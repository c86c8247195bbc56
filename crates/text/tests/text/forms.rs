//! The meaning of the text form, and the appearance of documents in it.

use expect_test::{Expect, expect};
use millstream_base::Type;
use millstream_document::save;
use millstream_node::NodeDef;
use millstream_text::load_text;

use crate::{converted, document, formatted, from_json, limits};

#[expect(clippy::needless_pass_by_value, reason = "callers write the expectation in place")]
fn means(text: &str, expected: Expect) {
    expected.assert_eq(&save(&document(text)));
}

#[expect(clippy::needless_pass_by_value, reason = "callers write the expectation in place")]
fn looks(json: &str, expected: Expect) {
    expected.assert_eq(&converted(&from_json(json)));
}

#[expect(clippy::needless_pass_by_value, reason = "callers write the expectation in place")]
fn is_laid_out(text: &str, expected: Expect) {
    let once = formatted(text);
    expected.assert_eq(&once);
    assert_eq!(formatted(&once), once);
}

const HERON: &str = "\
name \"Triangle area (Heron)\"

input a: vec3 = [0, 0, 0] \"first corner\" in m
input b: vec3 = [1, 0, 0] \"second corner\" in m
input c: vec3 = [0, 1, 0] \"third corner\" in m

ab = vector.distance(a, b)
ac = vector.distance(a, c)
bc = vector.distance(b, c)
s = (ab + ac + bc) / 2
output area: f32 = sqrt(product(s, x: ab, y: ac, z: bc)) in m2

group product(s: f32, x: f32, y: f32, z: f32) -> value: f32 {
  value = s * (s - x) * (s - y) * (s - z)
}
";

#[test]
fn heron_is_as_short_as_it_reads() {
    means(
        HERON,
        expect![[r#"
        {
          "millstream": 2,
          "name": "Triangle area (Heron)",
          "inputs": {
            "a": { "type": "vec3", "default": [0, 0, 0], "about": "first corner", "unit": "m" },
            "b": { "type": "vec3", "default": [1, 0, 0], "about": "second corner", "unit": "m" },
            "c": { "type": "vec3", "default": [0, 1, 0], "about": "third corner", "unit": "m" }
          },
          "outputs": {
            "area": { "type": "f32", "from": "area.value", "unit": "m2" }
          },
          "nodes": {
            "ab": { "type": "vector.distance", "in": { "a": { "input": "a" }, "b": { "input": "b" } } },
            "ac": { "type": "vector.distance", "in": { "a": { "input": "a" }, "b": { "input": "c" } } },
            "bc": { "type": "vector.distance", "in": { "a": { "input": "b" }, "b": { "input": "c" } } },
            "s": {
              "type": "math.expression",
              "set": { "text": "(ab + ac + bc) / 2" },
              "in": {
                "ab": { "from": "ab.value" },
                "ac": { "from": "ac.value" },
                "bc": { "from": "bc.value" }
              }
            },
            "area_x": {
              "type": "group",
              "group": "product",
              "in": {
                "s": { "from": "s.value" },
                "x": { "from": "ab.value" },
                "y": { "from": "ac.value" },
                "z": { "from": "bc.value" }
              }
            },
            "area": { "type": "math.sqrt", "in": { "x": { "from": "area_x.value" } } }
          },
          "groups": {
            "product": {
              "inputs": {
                "s": { "type": "f32" },
                "x": { "type": "f32" },
                "y": { "type": "f32" },
                "z": { "type": "f32" }
              },
              "outputs": {
                "value": { "type": "f32", "from": "value.value" }
              },
              "nodes": {
                "value": {
                  "type": "math.expression",
                  "set": { "text": "s * (s - x) * (s - y) * (s - z)" },
                  "in": {
                    "s": { "input": "s" },
                    "x": { "input": "x" },
                    "y": { "input": "y" },
                    "z": { "input": "z" }
                  }
                }
              }
            }
          }
        }
    "#]],
    );
    assert_eq!(converted(&document(HERON)), HERON);
    assert_eq!(formatted(HERON), HERON);
}

#[test]
fn calls_in_calls_and_formulas_become_nodes() {
    means(
        "input p: vec3\n\
         a = vector.length(p - 2 * p)\n\
         b = 2 * half(a) + half(half(a)) + noise.perlin(p, seed: 3) + pi\n\
         c = string.join([a, b, half(b), 1])\n\
         output d: f32 = vector.to_polar([1, 2]).angle\n\
         group half(x: f32) -> value: f32 { value = x / 2 }\n",
        expect![[r#"
            {
              "millstream": 2,
              "inputs": {
                "p": { "type": "vec3" }
              },
              "outputs": {
                "d": { "type": "f32", "from": "d.angle" }
              },
              "nodes": {
                "a_vector": {
                  "type": "math.expression",
                  "set": { "text": "p - 2 * p" },
                  "in": { "p": { "input": "p" } }
                },
                "a": { "type": "vector.length", "in": { "vector": { "from": "a_vector.value" } } },
                "b_1": { "type": "group", "group": "half", "in": { "x": { "from": "a.value" } } },
                "b_2_x": { "type": "group", "group": "half", "in": { "x": { "from": "a.value" } } },
                "b_2": { "type": "group", "group": "half", "in": { "x": { "from": "b_2_x.value" } } },
                "b": {
                  "type": "math.expression",
                  "set": { "text": "2 * b_1 + b_2 + noise.perlin(p, seed: 3) + pi" },
                  "in": {
                    "b_1": { "from": "b_1.value" },
                    "b_2": { "from": "b_2.value" },
                    "p": { "input": "p" }
                  }
                },
                "c_list_3": { "type": "group", "group": "half", "in": { "x": { "from": "b.value" } } },
                "c": {
                  "type": "string.join",
                  "in": {
                    "list": [
                      { "from": "a.value" },
                      { "from": "b.value" },
                      { "from": "c_list_3.value" },
                      { "value": 1 }
                    ]
                  }
                },
                "d": { "type": "vector.to_polar", "in": { "vector": [1, 2] } }
              },
              "groups": {
                "half": {
                  "inputs": {
                    "x": { "type": "f32" }
                  },
                  "outputs": {
                    "value": { "type": "f32", "from": "value.value" }
                  },
                  "nodes": {
                    "value": {
                      "type": "math.expression",
                      "set": { "text": "x / 2" },
                      "in": { "x": { "input": "x" } }
                    }
                  }
                }
              }
            }
        "#]],
    );
}

#[test]
fn names_mean_inputs_first_and_outputs_after_a_point() {
    means(
        "input c: vec2\n\
         input e: f32\n\
         c = vector.separate_vec2(c)\n\
         a = c.x * c.y + e\n\
         b = a.x\n\
         d = c.value + input c + node c.x + `pi` + pi\n",
        expect![[r#"
            {
              "millstream": 2,
              "inputs": {
                "c": { "type": "vec2" },
                "e": { "type": "f32" }
              },
              "nodes": {
                "c": { "type": "vector.separate_vec2", "in": { "vector": { "input": "c" } } },
                "a": {
                  "type": "math.expression",
                  "set": { "text": "c_x * c_y + e_2" },
                  "in": { "c_x": { "from": "c.x" }, "c_y": { "from": "c.y" }, "e_2": { "input": "e" } }
                },
                "b": {
                  "type": "math.expression",
                  "set": { "text": "a.x" },
                  "in": { "a": { "from": "a.value" } }
                },
                "d": {
                  "type": "math.expression",
                  "set": { "text": "c.value + c + c_x + pi_2 + pi" },
                  "in": { "c": { "input": "c" }, "c_x": { "from": "c.x" }, "pi_2": { "from": "pi.value" } }
                }
              }
            }
        "#]],
    );
}

#[test]
fn everything_that_json_holds_has_a_place() {
    looks(
        r#"{ "$schema": "s.json", "millstream": 1, "name": "All \"parts\"", "fps": 12.5, "start_frame": -3,
          "use": { "water": "lib/water.mill.json", "my lib": "b" },
          "lock": { "water": { "format": 2, "hash": "sha256:00" } },
          "inputs": { "x": { "type": "list<f32>", "default": [1, 2], "min": 0, "max": 1e30, "step": 0.5, "unit": "m/s", "about": "an input" },
            "s": { "type": "string", "default": "é\n" }, "odd type": { "type": "a b", "default": null } },
          "outputs": { "y": { "type": "f32", "from": "n.other", "about": "o", "unit": "%" }, "x": { "type": "list<f32>", "input": "x" },
            "z": { "type": "f32", "from": "missing.value" } },
          "nodes": {
            "n": { "type": "math.add", "version": 3, "muted": true, "in": { "b": 2, "a": { "from": "w.height" } } },
            "w": { "type": "group", "group": "water/ring", "in": { "age": { "value": { "a": [1] } } } },
            "g": { "type": "group", "group": "gone", "in": {} },
            "r": { "type": "repeat", "group": "a group", "set": { "while": "go" }, "in": { "count": 3 } },
            "a b": { "type": "list.first", "in": { "list": [{ "input": "x" }, { "value": 2 }, { "from": "n.value" }] } },
            "v": { "type": "list.first", "in": { "list": [{ "value": 2 }] } },
            "e1": { "type": "math.expression", "set": { "text": "(x + y) / 2" }, "in": { "x": { "from": "n.value" }, "y": 3 } },
            "e2": { "type": "math.expression", "set": { "text": "n+1" }, "in": { "n": { "from": "n.value" } } },
            "e3": { "type": "math.expression", "set": { "text": "clamp(n, 0, 1)" }, "in": { "n": { "from": "n.value" } } },
            "e4": { "type": "math.expression", "set": { "text": "2" } },
            "pi": { "type": "context.index", "set": { "level": 1 } },
            "e5": { "type": "math.expression", "set": { "text": "pi * 2" } },
            "odd": { "type": "odd type" } },
          "groups": { "a group": { "about": "what it does", "inputs": { "count": { "type": "i32" } },
              "outputs": { "go": { "type": "bool", "from": "p.value" }, "count": { "type": "i32", "input": "count" } },
              "nodes": { "p": { "type": "compare.less", "in": { "a": { "input": "count" }, "b": 2 } } } },
            "empty": {} },
          "view": { "nodes": { "n": { "at": [1.50, 2e3] } }, "zoom": 1 } }"#,
        expect![[r#"
            schema "s.json"
            millstream 1
            name "All \"parts\""
            fps 12.5
            start_frame -3

            use water = "lib/water.mill.json"
            use `my lib` = "b"
            lock water = 2 "sha256:00"

            input x: list<f32> = [1, 2] from 0 to 1e+30 step 0.5 "an input" in "m/s"
            input s: string = "é\n"
            input `odd type`: `a b` = null

            n = muted add@3(b: 2, a: w.height)
            w = water/ring(age: { "a": [1] })
            g = group gone()
            r = repeat `a group`(count: i32 = 3, while = "go") -> (go: bool = p, count: i32 = count) {
              "what it does"
              p = compare.less(count, 2)
            }
            `a b` = list.first([x, 2, n])
            v = list.first(several [2])
            e1 = (x + y) / 2 where x: n, y: 3
            e2 = math.expression(n, text = "n+1")
            e3 = clamp(n, 0, 1)
            e4 = 2
            pi = context.index(level = 1)
            e5 = math.expression(text = "pi * 2")
            odd = `odd type`()

            output y: f32 = node n.other "o" in "%"
            output x: list<f32> = x
            output z: f32 = missing

            group empty() {
            }

            view {
              "nodes": { "n": { "at": [1.50, 2e3] } },
              "zoom": 1
            }
        "#]],
    );
}

#[test]
fn long_calls_and_groups_get_a_line_for_each_argument() {
    is_laid_out(
        "input   position:vec2=[0,0]\n\n\n\n# how far\nfirst=water_ring( position ,center:[2,0],age:position.x+position.y,speed:1.5,length:0.5,strength:0.25) # beside\n\
         group water_ring(position: vec2 = [0, 0] \"a point of the surface\" in m, center: vec2 = [0, 0] \"the place of the stone\" in m) -> height: f32 {\n\n\n   \"what it is\"\n height=position.x\n   # at the end\n }\n# last\n",
        expect![[r#"
            input position: vec2 = [0, 0]

            # how far
            first = water_ring(
              position,
              center: [2, 0],
              age: position.x + position.y,
              speed: 1.5,
              length: 0.5,
              strength: 0.25,
            )  # beside

            group water_ring(
              position: vec2 = [0, 0] "a point of the surface" in m,
              center: vec2 = [0, 0] "the place of the stone" in m,
            ) -> height: f32 {
              "what it is"
              height = position.x
              # at the end
            }

            # last
        "#]],
    );
}

#[test]
fn comments_go_to_json_and_back() {
    let text = "# a title\n#\n# and more\nname \"n\" # beside the name\n\n# an input\ninput x: f32 = 1\n\n\
                y = 2 * x # doubled\noutput y: f32\n\n# a group\ngroup g(x: f32) -> value: f32 {\n  # inside\n  value = x\n  \
                # the end of it\n}\n\n# the end\n";
    let document = document(text);
    let json = save(&document);
    expect![[r#"
        {
          "millstream": 2,
          "name": "n",
          "inputs": {
            "x": { "type": "f32", "default": 1 }
          },
          "outputs": {
            "y": { "type": "f32", "from": "y.value" }
          },
          "nodes": {
            "y": { "type": "math.expression", "set": { "text": "2 * x" }, "in": { "x": { "input": "x" } } }
          },
          "groups": {
            "g": {
              "inputs": {
                "x": { "type": "f32" }
              },
              "outputs": {
                "value": { "type": "f32", "from": "value.value" }
              },
              "nodes": {
                "value": {
                  "type": "math.expression",
                  "set": { "text": "x" },
                  "in": { "x": { "input": "x" } }
                }
              }
            }
          },
          "view": {
            "comments": [
              { "before": ["name"], "text": ["a title", "", "and more"] },
              { "beside": ["name"], "text": "beside the name" },
              { "before": ["inputs", "x"], "text": ["an input"] },
              { "beside": ["nodes", "y"], "text": "doubled" },
              { "before": ["groups", "g"], "text": ["a group"] },
              { "before": ["groups", "g", "nodes", "value"], "text": ["inside"] },
              { "end": ["groups", "g"], "text": ["the end of it"] },
              { "end": [], "text": ["the end"] }
            ]
          }
        }
    "#]].assert_eq(&json);
    let again = from_json(&json);
    expect![[r##"
        # a title
        #
        # and more
        name "n"  # beside the name

        # an input
        input x: f32 = 1

        y = 2 * x  # doubled

        output y: f32

        # a group
        group g(x: f32) -> value: f32 {
          # inside
          value = x
          # the end of it
        }

        # the end
    "##]]
    .assert_eq(&converted(&again));
}

#[test]
fn comments_join_view_data_and_stale_ones_stay_in_it() {
    let json = r#"{ "millstream": 2, "nodes": { "n": { "type": "context.index" } },
        "view": { "a": 1, "comments": [
            { "before": ["nodes", "gone"], "text": ["stale"] },
            { "before": ["nodes", "n"], "text": ["here"] }] } }"#;
    let text = converted(&from_json(json));
    expect![[r##"
        # here
        n = context.index()

        view {
          "a": 1,
          "comments": [{ "before": ["nodes", "gone"], "text": ["stale"] }]
        }
    "##]]
    .assert_eq(&text);
    let more = text.replace("# here", "# here\n# and more");
    assert!(save(&document(&more)).contains(r#""text": ["here", "and more"]"#));
}

#[test]
fn a_division_that_looks_like_a_path_keeps_its_comment_once() {
    let text = "use water = \"w.mill\"\nw = water/r#ing(x)\n";
    assert_eq!(formatted(text), "use water = \"w.mill\"\nw = water / r  # ing(x)\n");
}

#[test]
fn tabs_carriage_returns_and_a_byte_order_mark_are_read() {
    let plain =
        "input x: f32\ny = f(\n  x: x,\n)\ngroup f(x: f32) -> value: f32 {\n  value = 2 * x\n}\n";
    let odd = format!("\u{feff}{}", plain.replace("  ", "\t").replace('\n', "\r\n"));
    assert_eq!(document(&odd), document(plain));
    assert_eq!(formatted(&odd), formatted(plain));
}

#[test]
fn a_text_means_the_same_whatever_other_libraries_hold() {
    let text = "x = clamp(2, 0, 1)\ny = sqrt(x)\nz = perlin(y)\n";
    let mut more = millstream_nodes::registry();
    for name in ["other.clamp", "other.sqrt", "other.perlin"] {
        let def = NodeDef::new(name, "").input("x", Type::F32, "").output("value", Type::F32, "");
        more.register(def.lanewise(|_, x| x[0]));
    }
    let loaded = load_text(text.as_bytes(), &more, &limits());
    assert_eq!(loaded.document, Some(document(text)));
}

#[test]
fn a_document_may_be_used_above_the_line_that_names_it() {
    let use_line = "use water = \"lib/water.mill.json\"\n";
    let call = "w = water/ring(age: 1)\n";
    let read = |text: &str| {
        let loaded = load_text(text.as_bytes(), &crate::REGISTRY, &limits());
        assert!(!loaded.problems.has_errors(), "{}", loaded.problems);
        save(&loaded.document.expect("it can be read"))
    };
    let (above, below) = (format!("{use_line}{call}"), format!("{call}{use_line}"));
    assert_eq!(read(&above), read(&below));
    // Without such a line it is a quotient.
    assert!(!read("water = 2\nring = 3\nw = water / (ring)\n").contains("group"));
}

#[test]
fn used_documents_may_be_called_like_values() {
    for name in ["true", "false", "null", "input", "pi"] {
        let text = format!("use `{name}` = \"lib.mill\"\n\nn = `{name}`/f()\n");
        let written = converted(&document(&text));
        assert_eq!(document(&written), document(&text), "{written}");
    }
}

#[test]
fn lists_of_values_are_literals_however_they_are_written() {
    let with = |list: &str| {
        document(&format!(
            "a = list.of({list})\nb = vector.length({list})\noutput c: vec3 = {list}\n"
        ))
    };
    let plain = converted(&with("[0.5, -1.0, 2]"));
    for list in [
        "[0.5, # c\n -1.0, 2]",
        "[0.5, -1.0, 2 # c\n]",
        "[0.5, -1.0, 2,]",
        "[.5, -1., 2]",
        "[\n0.5,\n- 1.0, 2]",
    ] {
        let found = converted(&with(list));
        let lines = found.lines().filter(|line| !line.starts_with('#'));
        let without_comments = lines.collect::<Vec<_>>().join("\n") + "\n";
        assert_eq!(without_comments, plain, "{list}");
    }
    let nested = |list: &str| converted(&document(&format!("a = list.of({list})\n")));
    assert_eq!(nested("[[1, 2,], [.5], [ ]]"), nested("[[1, 2], [0.5], []]"));
    assert!(nested("[[1, 2], [3, 4],]").contains("list.of([[1, 2], [3, 4]])"));
}

#[test]
fn a_literal_has_the_type_of_its_output() {
    let text = "\
output i: i32 = -5
output l: i64 = 9007199254740993
output d: f64 = 0.1 \"exactly\" in m
output v: vec3 = [1, 2, 3]
output s: string = \"text\"
output o: list<i32> = [1000.0, 2]
output f: f32 = 5
output t: bool = true
y = l + 1
output w: i64 = y

group fixed() -> value: i64 = 7 {
}
";
    expect![[r#"
        output i: i32 = -5
        output l: i64 = 9007199254740993
        output d: f64 = 0.1 "exactly" in m
        output v: vec3 = [1, 2, 3]
        output s: string = "text"
        output o: list<i32> = [1000.0, 2]
        output f: f32 = 5
        output t: bool = true
        y = l + 1

        output w: i64 = y

        group fixed() -> value: i64 {
          value = node convert(7, to = "i64")
        }
    "#]]
    .assert_eq(&converted(&document(text)));
    means(
        "output a: i32 = 1e3\noutput b: f32 = 2\noutput c: bool = true\noutput d: i32 = +7\n\
         output e: i32 = (5)\noutput f: i32 = (true)\noutput g: vec2 = (1)\n",
        expect![[r#"
            {
              "millstream": 2,
              "outputs": {
                "a": { "type": "i32", "from": "a.value" },
                "b": { "type": "f32", "from": "b.value" },
                "c": { "type": "bool", "from": "c.value" },
                "d": { "type": "i32", "from": "d.value" },
                "e": { "type": "i32", "from": "e.value" },
                "f": { "type": "i32", "from": "f.value" },
                "g": { "type": "vec2", "from": "g.value" }
              },
              "nodes": {
                "a": { "type": "convert", "set": { "to": "i32" }, "in": { "x": 1000.0 } },
                "b": { "type": "math.expression", "set": { "text": "2" } },
                "c": { "type": "math.expression", "set": { "text": "true" } },
                "d": { "type": "convert", "set": { "to": "i32" }, "in": { "x": 7 } },
                "e": { "type": "math.expression", "set": { "text": "5" } },
                "f": { "type": "math.expression", "set": { "text": "true" } },
                "g": { "type": "math.expression", "set": { "text": "1" } }
              }
            }
        "#]],
    );
}

#[test]
fn a_group_with_one_output_means_its_value() {
    const GROUPS: &str = "group g(x: f32) -> v: f32 {\n  v = x * 2\n}\n\
        group p(x: f32) -> at: vec3 {\n  at = vec3(x, 0, 0)\n}\n";
    let bare = "input x: f32\na = g(x)\nb = muted g(x: g(a))\noutput a: f32\noutput o: f32 = 1 + g(x)\n\
        output q: f32 = g(x)\noutput r: f32 = sqrt(g(x))\noutput s: f32 = a + a * p(x).y\n\
        output t: f32 = a\noutput u: f32 = p(x).x\n";
    let named = "input x: f32\na = g(x)\nb = muted g(x: g(a.v).v)\noutput a: f32 = a.v\n\
        output o: f32 = 1 + g(x).v\noutput q: f32 = g(x).v\noutput r: f32 = sqrt(g(x).v)\n\
        output s: f32 = a.v + a.v * p(x).at.y\noutput t: f32 = a.v\noutput u: f32 = p(x).at.x\n";
    let of = |text: &str| document(&[text, GROUPS].concat());
    assert_eq!(of(bare), of(named));
    let written = converted(&of(bare));
    assert!(written.contains("output q: f32 = g(x)\n"), "{written}");
    // Links to an output that the group lacks stay wrong.
    let wrong = save(&of(bare)).replace("\"a.v\"", "\"a.value\"");
    let written = converted(&from_json(&wrong));
    assert!(written.contains("output t: f32 = node a.value\n"), "{written}");
}
