//! Blocks of zones: their meaning, their format, and reported problems.

use std::sync::Arc;

use expect_test::{Expect, expect};
use millstream_document::model::{Named, Node, NodeKind};
use millstream_document::save;
use millstream_node::Zone;
use millstream_text::load_text;

use crate::errors::problems;
use crate::{REGISTRY, converted, document, formatted, from_json, limits};

#[expect(clippy::needless_pass_by_value, reason = "callers write the expectation in place")]
fn means(text: &str, expected: Expect) {
    expected.assert_eq(&save(&document(text)));
}

/// Checks that a text is formatted and its document becomes the same text.
fn stays(text: &str) {
    assert_eq!(formatted(text), text);
    assert_eq!(converted(&document(text)), text);
}

/// Three levels, with everything that blocks may have: names, notes, settings, comments, inputs of
/// the zone.
const NESTED: &str = "\
input n: i32 = 3

# before the outer one
outer = repeat rounds(
  points: list<vec2> = [[0.5, 0.3]] \"what is carried\" in m,
  k: f32 = sqrt(2) from 0 to 2 step 0.5,
  count: n,
  while = \"go\",
) -> (points: list<vec2> = all \"all\", go: bool) {
  \"what a round does\"
  # before the middle one
  a = for_each(p: vec2 of points, k: f32 = 2 * k, where = \"near\") -> (middle: vec2, near: bool) {  # beside it
    fall = repeat(x: f32 = (p.x), by: f32 = k, count: 2) -> x: f32 = less {
      less = x - by  # in it
      # its end
    }
    middle = vec2(fall.x, p.y)
    near = fall.x < 3
  }
  all = list.concat([a.middle, points])
  go = list.length(all) < 100
}

output points: list<vec2> = outer.points
";

#[test]
fn a_block_is_a_group_and_the_zone_that_uses_it() {
    means(
        "xs = list.generate(1, count: 3)\n\
         all = for_each(x: f32 of xs, sum: f32 = 0, by = \"sum\") -> (sum: f32 = next) {\n  next = sum + x\n}\n\
         output sum: f32 = all.sum\n",
        expect![[r#"
            {
              "millstream": 2,
              "outputs": {
                "sum": { "type": "f32", "from": "all.sum" }
              },
              "nodes": {
                "xs": { "type": "list.generate", "in": { "item": 1, "count": 3 } },
                "all": {
                  "type": "for_each",
                  "group": "all",
                  "set": { "items": ["x"], "by": "sum" },
                  "in": { "x": { "from": "xs.value" }, "sum": 0 }
                }
              },
              "groups": {
                "all": {
                  "inputs": {
                    "x": { "type": "f32" },
                    "sum": { "type": "f32" }
                  },
                  "outputs": {
                    "sum": { "type": "f32", "from": "next.value" }
                  },
                  "nodes": {
                    "next": {
                      "type": "math.expression",
                      "set": { "text": "sum + x" },
                      "in": { "sum": { "input": "sum" }, "x": { "input": "x" } }
                    }
                  }
                }
              }
            }
        "#]],
    );
}

#[test]
fn blocks_nest() {
    stays(NESTED);
    let document = document(NESTED);
    let names: Vec<&str> = document.groups.keys().map(|name| &**name).collect();
    assert_eq!(names, ["rounds", "rounds_a", "rounds_a_fall"]);
    let zone = |nodes: &Named<Node>, name: &str| match &nodes[name].kind {
        NodeKind::Zone(zone, group) => (*zone, group.to_string()),
        kind => panic!("{kind:?}"),
    };
    assert_eq!(zone(&document.nodes, "outer"), (Zone::Repeat, "rounds".into()));
    let inside = &document.groups["rounds"].nodes;
    assert_eq!(zone(inside, "a"), (Zone::ForEach, "rounds_a".into()));
    let inside = &document.groups["rounds_a"].nodes;
    assert_eq!(zone(inside, "fall"), (Zone::Repeat, "rounds_a_fall".into()));
    assert_eq!(problems(NESTED), "");
}

#[test]
fn blocks_nest_to_a_limit() {
    let nested = |n: usize| {
        let mut text = String::new();
        for depth in 0..n {
            text.push_str(&format!("{}n = repeat(count: 1) {{\n", "  ".repeat(depth)));
        }
        for depth in (0..n).rev() {
            text.push_str(&format!("{}}}\n", "  ".repeat(depth)));
        }
        text
    };
    stays(&nested(40));
    expect!["41:102 `{`  text::syntax: blocks nest deeper than 40 levels"]
        .assert_eq(problems(&nested(41)).lines().next().unwrap_or_default());
    assert!(problems(&nested(10_000)).len() < 10_000_000);
    // Names do not grow with the depth beyond the limit, whether blocks are closed or not.
    for text in [nested(3_000), "a = repeat(x: f32 = b) -> x: f32 {\n".repeat(3_000)] {
        let read = load_text(text.as_bytes(), &REGISTRY, &limits()).document.expect("it is known");
        assert_eq!(read.groups.len(), 3_000);
        let longest = read.groups.keys().map(|name| name.len()).max();
        assert!(longest.is_some_and(|n| n < 200), "{longest:?}");
    }
}

#[test]
fn groups_that_are_no_blocks_stay_groups() {
    let block = "r = repeat(x: f32 = 1, count: 3) -> x: f32 = y {\n  y = 2 * x\n}\n";
    stays(block);
    let json = save(&document(block));
    let is_block = |json: &str| !converted(&from_json(json)).contains("group");
    assert!(is_block(&json));
    // Another node uses it.
    let twice = json.replace(
        "\"nodes\": {\n    \"r\"",
        "\"nodes\": { \"s\": { \"type\": \"group\", \"group\": \"r\" },\n \"r\"",
    );
    assert!(!is_block(&twice), "{twice}");
    // Its input has a default.
    let default = json
        .replace("\"x\": { \"type\": \"f32\" }", "\"x\": { \"type\": \"f32\", \"default\": 2 }");
    assert!(default != json && !is_block(&default));
    // The node does not give the input.
    let less = json.replace("\"x\": 1, ", "");
    assert!(less != json && !is_block(&less));
    // It has comments of its own.
    let view = json.trim_end().strip_suffix('}').expect("it is an object");
    let comment = r#", "view": { "comments": [{ "before": ["groups", "r"], "text": ["c"] }] } }"#;
    let comment = format!("{}{comment}", view.trim_end());
    assert!(converted(&from_json(&comment)).contains("# c\ngroup r("));
    // Its position is one that blocks cannot express.
    let text = format!("{block}{}", block.replace("r =", "s ="));
    let mut moved = document(&text);
    let groups = ["s", "r"].map(|name| (Arc::from(name), moved.groups[name].clone()));
    moved.groups = groups.into_iter().collect();
    assert!(converted(&moved).contains("group r("));
    // It uses itself.
    let own = "x = 1\n\ngroup g(a: f32) -> value: f32 {\n  value = repeat g(a, count: 1)\n}\n";
    assert!(converted(&document(own)).contains("repeat g(a, count: 1)"));
}

#[test]
fn the_group_of_a_block_takes_no_name_from_calls() {
    let text =
        "sqrt = repeat(x: f32 = 1, count: 3) -> x: f32 = y {\n  y = sqrt(x)\n}\nz = sqrt(sqrt.x)\n";
    stays(text);
    assert!(document(text).nodes["z"].kind == NodeKind::Type("math.sqrt".into()));
    // Names that are taken get a number.
    let text = "r = repeat(count: 1) {\n}\n\ngroup r() {\n}\n";
    let document = document(text);
    assert!(document.groups.contains_key("r_2"));
    assert!(converted(&document).starts_with("r = repeat r_2(count: 1) {\n"));
}

#[test]
fn words_of_zones_stay_names() {
    for text in [
        "x = repeat(1)\n\ngroup repeat(x: f32) -> value: f32 {\n  value = 2 * x\n}\n",
        "x = muted repeat(1)\n\ngroup repeat(x: f32) -> value: f32 {\n  value = 2 * x\n}\n",
        "simulate = 1\nof = `simulate` + 1\n",
        "x = for_each(of: `input` of xs, k: node = 1) -> y: f32 {\n  y = of\n}\n",
        "x = simulate g(0, of: input of)\n\ngroup g(a: f32 = 1, of: f32) {\n}\n",
        "x = muted repeat(x: f32 = 1, count: 2) -> x: f32 {\n  x = 2 * x\n}\n",
        "x = repeat `a b`(`c d`: `e f` = 1, count: 2) -> `c d`: `e f` {\n  `c d` = 2\n}\n",
    ] {
        stays(text);
    }
}

#[test]
fn long_first_lines_are_broken() {
    let text = "n=repeat(a:f32=1,b:list<vec3> = list.generate(vec3(1, 2, 3), count: 100000),c:f32=3,count:12,while=\"go\")->go:bool {go=a<b.x}";
    expect![[r#"
        n = repeat(
          a: f32 = 1,
          b: list<vec3> = list.generate(vec3(1, 2, 3), count: 100000),
          c: f32 = 3,
          count: 12,
          while = "go",
        ) -> go: bool {
          go = a < b.x
        }
    "#]]
    .assert_eq(&formatted(text));
    stays(&formatted(text));
}

#[test]
fn comments_at_the_end_of_a_block_stay() {
    let text = "r = repeat(count: 1) {\n  # inside\n}  # after\n";
    assert_eq!(formatted(text), text);
    expect![[r#"
        r = repeat(count: 1) {
          # inside
          # after
        }
    "#]]
    .assert_eq(&converted(&document(text)));
}

#[test]
fn problems_of_blocks_have_their_place() {
    expect![[r#"
        4:11 `k` a text::outside_of_block: `k` is outside of this block, which sees only its own inputs and nodes
            give it to the block: `k: f32 = k` in its first line, with the type it has
        6:31 `y: f32 = k` b text::outside_of_block: `k` is outside of this block, which sees only its own inputs and nodes
            give it to the block: `k: f32 = k` in its first line, with the type it has
        8:19 `of`  text::syntax: a repeat has no items
            write `=`; `for_each` takes the items of lists
        11:12 `x`  text::syntax: an input of a block has a name and a type
            write it as `x: f32 = ...`
        14:12 `x: k`  text::syntax: a repeat has no input called `x`
            an input of the block has a type: `x: f32 = ...`
        17:33 `\n`  text::syntax: `->` or `{` is missing before the end of the line
            the nodes of a block follow its inputs and outputs, between `{` and `}`
        18:23 `=`  text::syntax: an expression cannot contain the block of a zone
            give it a line of its own: `name = repeat(...) -> ... {`
        20:1 `}`  text::syntax: this `}` closes nothing
            remove it, or add the first line of the group
        21:21 `,`  text::syntax: a value, a name or a call is missing before `,`
        22:10 `\n`  text::syntax: a value, a name or a call is missing before the end of the line
            a statement ends with its line; inside parentheses it continues on the next one
        24:24 `x: f32 = 2` i text::duplicate: input `x` is defined twice
            the first counts; remove or rename the other
        24:24 `x: f32 = 2` i text::duplicate: input `x` is defined twice
            the first counts; remove or rename the other
        25:3 `input`  text::syntax: `input` has no meaning in a group
            write inputs in the first line: `group name(x: f32)`
        26:7 `k` i text::outside_of_block: `k` is outside of this block, which sees only its own inputs and nodes
            give it to the block: `k: f32 = k` in its first line, with the type it has
        28:28 `items = [\"x\"]` j text::duplicate: setting `items` is defined twice
            the first counts; remove or rename the other
        31:1 `k = repeat lib/g(x: f32 = 1, count: 2) -> x: f32 {`  text::bad_name: a group cannot be called `lib/g`: it contains a `/`
            choose another name
        34:23 `=`  text::syntax: `=` is given twice
            remove one of them
        40:1 `n = repeat h(x: f32 = 1, count: 2) -> x: f32 {`  text::duplicate: group `h` is defined twice
            the first counts; remove or rename the other
        43:1 `o = repeat(x: f32 = 1) -> x: f32 {` o.count check::missing_input: input `count` of `repeat` is missing
            link it or write an integer
        43:27 `x: f32` o check::unknown_node: `x.value`: there is no node called `x`
            write a link to an input as `input x`
        46:44 `{`  text::not_closed: this `{` is not closed
            add a `}`
    "#]].assert_eq(&problems(
        "input xs: list<f32>\n\
         input k: f32\n\
         a = for_each(x: f32 of xs) -> y: f32 {\n  y = x + k\n}\n\
         b = for_each(x: f32 of xs) -> y: f32 = k {\n}\n\
         c = repeat(x: f32 of xs, count: 2) -> x: f32 {\n  x = 1\n}\n\
         d = repeat(x, count: 2) -> x: f32 {\n  x = 1\n}\n\
         e = repeat(x: k, count: 2) -> x: f32 {\n  x = 1\n}\n\
         f = repeat(x: f32 = 1, count: 2)\n\
         g = 1 + repeat(x: f32 = 1, count: 2) -> x: f32 {\n  x = 1\n}\n\
         h = repeat(x: f32 = , count: 2) -> x: f32 {\n  x = 1 +\n}\n\
         i = repeat(x: f32 = 1, x: f32 = 2, count: 2) -> x: f32 {\n  input k: f32\n  x = k\n}\n\
         j = for_each(x: f32 of xs, items = [\"x\"]) -> y: f32 {\n  y = x\n}\n\
         k = repeat lib/g(x: f32 = 1, count: 2) -> x: f32 {\n  x = 2\n}\n\
         l = repeat(x: f32 = 1 = 2, count: 2) -> x: f32 {\n  x = 2\n}\n\
         m = repeat h(x: f32 = 1, count: 2) -> x: f32 {\n  x = 2 * x\n}\n\
         n = repeat h(x: f32 = 1, count: 2) -> x: f32 {\n  x = 3 * x\n}\n\
         o = repeat(x: f32 = 1) -> x: f32 {\n  y = 3 * x\n}\n\
         p = repeat(x: f32 = 1, count: 3) -> x: f32 {\n  x = 3 * x\n",
    ));
}

#[test]
fn groups_above_a_block_stay_there() {
    stays(
        "\
input n: i32 = 3

group soft(x: f32) -> value: f32 {
  value = half(x) + 1
}

# halves
group half(x: f32) -> value: f32 {
  r = repeat(x: f32 = x, count: 2) -> x: f32 = y {
    y = x / 2
  }
  value = r.x * 2
}

# rounds
w = repeat(x: f32 = 1, count: n) -> x: f32 = y {
  y = soft(x)
}

group last(x: f32) -> value: f32 {
  value = half(x)
}

v = for_each(x: f32 of [1, 2]) -> x: f32 = y {
  y = last(x)
}

output o: f32 = w.x
output p: list<f32> = v.x
",
    );
}

#[test]
fn a_group_that_may_be_a_block_itself_is_not_written_above_another() {
    // The groups are in the order b, a, and the zones in the order a, b.
    let text = "\
u = repeat a(1, count: 2)
v = repeat(x: f32 = 1, count: 2) -> x: f32 = y {
  y = x + 1
}

group a(x: f32) -> x: f32 = y {
  y = x * 2
}
";
    stays(text);
}
