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
        &expect![[r"
        math.divide: a / b
            version 1, static

          inputs
            a: T = 0  what is divided
            b: T = 1  the divisor

          outputs
            value: T

          types
            T  i32, i64, f32, f64, vec2, vec3, vec4

          Integers truncate towards zero; `integer.divide_floor` and its kin round
          otherwise. An integer divided by zero gives 0, and the least integer divided
          by -1 itself. A float divided by zero is infinite, with the signs multiplied,
          and 0 / 0 is NaN; `math.safe_divide` gives 0 instead.
    "]],
    );
}

#[test]
fn entries_show_choices_and_sockets_of_the_default_settings() {
    check(
        "mix.map_range",
        &expect![[r#"
            mix.map_range: x taken from one range to another
                version 1, static

              Sockets with the default settings:

              inputs
                x: T = 0         the number
                from_min: T = 0  the beginning of the source range
                from_max: T = 1  the end of the source range
                to_min: T = 0    what the beginning becomes
                to_max: T = 1    what the end becomes

              outputs
                value: T

              types
                T  f32, f64, vec2, vec3, vec4

              settings
                interpolation: a choice = linear  the way from one end to the other
                  linear                          a straight line
                  stepped                         as many equal steps as the input `steps` says
                  smoothstep                      eased at both ends, a cubic
                  smootherstep                    eased more, a polynomial of degree 5
                clamp: true or false = true       keep the result inside the target range

              With f = (x - from_min) / (from_max - from_min): to_min * (1 - f) + to_max *
              f. An empty source range gives f = 0. Stepped: f becomes floor(f * (steps +
              1)) / steps, steps being at least 1; there is an input `steps` for it.
              Smoothstep and smootherstep clamp f always, the others if `clamp` is set;
              clamping takes NaN to 0. Off by at most 4e-7 of the sum of the sizes of
              `to_min` and `to_max` where it is linear and clamped.

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
    assert!(entry.contains("text: text  the formula, such as `2 * x + 1`; must be given"));
}
