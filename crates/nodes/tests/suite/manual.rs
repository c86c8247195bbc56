//! Manual entries.

use expect_test::{Expect, expect};
use millstream_nodes::manual;

fn check(name: &str, expected: &Expect) {
    let registry = millstream_nodes::registry();
    expected.assert_eq(&manual::entry(registry.get(name).unwrap()));
}

#[test]
fn entries_show_types_defaults_and_edges() {
    check(
        "math.divide",
        &expect![[r#"
            math.divide: a / b
                version 1, static

              inputs
                a: T = 0  dividend
                b: T = 1  divisor

              outputs
                value: T

              types
                T  i32, i64, f32, f64, vec2, vec3, vec4

              Integers truncate toward zero; `integer.divide_floor` and related nodes round
              differently. An integer divided by zero gives 0; the least integer divided by
              -1 gives itself. A float divided by zero is infinite, with the product of the
              signs, and 0 / 0 is NaN; `math.safe_divide` gives 0 instead.
        "#]],
    );
}

#[test]
fn entries_show_choices_and_sockets_of_the_default_settings() {
    check(
        "mix.map_range",
        &expect![[r#"
            mix.map_range: Maps x from one range to another
                version 1, static

              Sockets with the default settings:

              inputs
                x: T = 0         number to map
                from_min: T = 0  start of the source range
                from_max: T = 1  end of the source range
                to_min: T = 0    start of the target range
                to_max: T = 1    end of the target range

              outputs
                value: T

              types
                T  f32, f64, vec2, vec3, vec4

              settings
                interpolation: a choice = linear  shape of the curve between the ends
                  linear                          a straight line
                  stepped                         equal steps, whose number is the input `steps`
                  smoothstep                      eased at both ends by a cubic polynomial
                  smootherstep                    eased more strongly by a polynomial of degree 5
                clamp: true or false = true       clamp the result to the target range

              With f = (x - from_min) / (from_max - from_min) the result is to_min * (1 - f)
              + to_max * f. An empty source range gives f = 0. `stepped` adds an input
              `steps`, which is at least 1, and replaces f by floor(f * (steps + 1)) /
              steps. `smoothstep` and `smootherstep` always clamp f, the others only if
              `clamp` is set; clamping turns NaN into 0. For the clamped linear mapping the
              error is at most 4e-7 times |to_min| + |to_max|.

              Source: f * f * (3 - 2 * f); f * f * f * (f * (f * 6 - 15) + 10) of Perlin,
              "Improving Noise", 2002.
        "#]],
    );
}

#[test]
fn entries_without_default_settings_say_so() {
    let registry = millstream_nodes::registry();
    let entry = manual::entry(registry.get("math.expression").unwrap());
    assert!(entry.contains("The sockets depend on the settings."));
    assert!(entry.contains("text: text  formula, such as `2 * x + 1`; required"));
}
