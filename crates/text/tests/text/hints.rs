//! Hints for names and signs, and which texts are JSON.

use expect_test::expect;

use crate::errors::reports;

#[test]
fn names_and_signs_have_hints() {
    for (text, expected) in [
        (
            "2x = 1\n",
            expect![[r#"
            1:1 `2`  text::syntax: a statement does not start with `2x`
                a name with other characters than letters, digits and `_` needs back quotes
        "#]],
        ),
        (
            "input-a = 1\n",
            expect![[r#"
            1:6 `-`  text::syntax: the name of the input is missing before `-`
                a name with such a sign is written in back quotes: `my-name`
        "#]],
        ),
        (
            "input 2: f32\n",
            expect![[r#"
            1:7 `2`  text::syntax: the name of the input is missing before `2`
                a name starts with a letter or `_`; any other is written in back quotes
        "#]],
        ),
        (
            "a = 1\0\n",
            expect![[r#"
            1:6 `\0`  text::syntax: `\0` has no meaning here
                remove this control character
        "#]],
        ),
        (
            "output o: f32 = max(1, b = 2)\n",
            expect![[r#"
            1:24 `b` o text::syntax: `max` is a function of formulas, whose inputs have no names
                write the inputs in their order
        "#]],
        ),
        (
            "output o: f32 = math.lerp(1, 2, 0.5)\n",
            expect![[r#"
            1:17 `math.lerp` o text::unknown_node_type: there is no node type called `math.lerp`
                did you mean `mix.mix`?
        "#]],
        ),
        (
            "output o: f32 = vec.distance([0, 0, 0], [1, 1, 1])\n",
            expect![[r#"
            1:17 `vec.distance` o text::unknown_node_type: there is no node type called `vec.distance`
                did you mean `vector.distance`?
        "#]],
        ),
        (
            "output o: f32 = math.mix(1, 2, 0.5)\n",
            expect![[r#"
            1:17 `math.mix` o text::unknown_node_type: there is no node type called `math.mix`
                did you mean `mix.mix`?
        "#]],
        ),
        (
            "input i: image\noutput o: image = image.gaussian_blur(i)\n",
            expect![[r#"
            2:19 `image.gaussian_blur` o text::unknown_node_type: there is no node type called `image.gaussian_blur`
                did you mean `image.blur`?
        "#]],
        ),
    ] {
        reports(text, expected);
    }
}

#[test]
fn only_a_whole_number_or_string_of_json_is_json() {
    for json in ["{", "[1", "2", " -1.5e3 ", "\"a\"\n", "{}", ""] {
        assert!(!millstream_text::is_text(json.as_bytes()), "{json}");
    }
    for text in ["2x = 1", "-3 = a", "\"a\" = 1", "a", "# 1", "1.5 + 2"] {
        assert!(millstream_text::is_text(text.as_bytes()), "{text}");
    }
}
