//! `run --plot`: charts whose kind follows the shape of the outputs.

use crate::{code, file, millstream, new_file, seen};

/// Runs with a plot, and returns the standard error output and the picture.
fn drawn(name: &str, args: &[&str]) -> (String, String) {
    let path = new_file(name);
    let shown = path.display().to_string();
    let output = millstream(&[&["run"], args, &["--plot", &shown]].concat());
    let told = String::from_utf8(output.stderr).expect("messages are UTF-8");
    (told.replace(&shown, "FILE"), std::fs::read_to_string(&path).unwrap_or_default())
}

fn shapes(name: &str) -> String {
    file(
        name,
        r#"name "Shapes"
i = context.index()
time = context.time()
output r: f32 = random.normal(id: i) in mm
output s: f32 = sin(i / 100) in m
output p: vec2 = random.in_disk(id: i)
output c: f32 = cos(time)
output w: f32 = sin(i / 100 - time) in m
output word: string = string.from_integer(i)
output root: f32 = sqrt(-1 - i)
"#,
    )
}

#[test]
fn the_kind_follows_the_shape() {
    let graph = shapes("plot_kinds.mill");
    for (out, args, kind) in [
        ("r", &["--count", "500"][..], "histogram of r"),
        ("s", &["--count", "500"], "lines of s over index"),
        ("p", &["--count", "500"], "points of p"),
        ("c", &["--time", "0..6:0.1"], "lines of c over time in s"),
        ("c", &["--frame", "0..48"], "lines of c over frame"),
        ("w", &["--count", "50", "--time", "0..6:0.1"], "heat map of w over index and time in s"),
    ] {
        let (told, svg) = drawn("kind.svg", &[&[&*graph, "--out", out], args].concat());
        assert_eq!(told, format!("drew FILE: {kind}\n"));
        assert!(svg.starts_with("<svg") && svg.contains("Shapes"), "{svg}");
    }
    for kind in ["lines", "scatter", "histogram", "heat-map"] {
        let args = [&*graph, "--out", "r", "--out", "s", "--count", "500", "--plot-kind", kind];
        let (told, svg) = drawn("forced.svg", &args);
        let shown = kind.replace('-', " ").replace("scatter", "points");
        assert!(told.contains(&format!("{shown} of ")) && svg.starts_with("<svg"), "{told}");
    }
}

#[test]
fn axes_have_units_and_an_ascending_input_is_one() {
    let data = file("years.csv", "year,x\n1990,1\n1991,4\n1993,2\n");
    let graph = file(
        "years.mill",
        "input year: i32 in a\ninput x: f32 in m\noutput twice: f32 = x * 2 in m\n",
    );
    let (year, x) = (format!("year=@{data}"), format!("x=@{data}"));
    let (told, svg) = drawn("years.svg", &[&graph, "--in", &year, "--in", &x]);
    assert_eq!(told, "drew FILE: lines of twice over year in a\n");
    for text in ["year in a", "twice in m", "1991"] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    // Three points, each a disc and a ring.
    assert_eq!(svg.matches("<circle").count(), 6);
}

#[test]
fn large_runs_make_small_pictures() {
    let graph = shapes("plot_large.mill");
    for (out, kind) in [("r", "lines"), ("s", "lines"), ("p", "scatter"), ("r", "histogram")] {
        let args = [&*graph, "--out", out, "--count", "1000000", "--plot-kind", kind];
        let (_, svg) = drawn("large.svg", &args);
        assert!((1000..1_500_000).contains(&svg.len()), "{out} {kind} {}", svg.len());
    }
}

#[test]
fn single_values_and_one_point_are_drawn() {
    let graph = file("one.mill", "input x: f32 = 2 in m\noutput y: f32 = x * 2 in m\n");
    let (told, svg) = drawn("one.svg", &[&graph]);
    assert_eq!(told, "drew FILE: single values of y in m\n");
    assert!(svg.contains("<circle"), "{svg}");
    let graph = shapes("plot_one.mill");
    let (told, svg) = drawn("one_of_one.svg", &[&graph, "--out", "s", "--count", "1"]);
    assert_eq!(told, "drew FILE: lines of s over index\n");
    assert!(svg.contains("<circle"), "{svg}");
}

#[test]
fn a_png_is_written_as_well() {
    let path = new_file("wave.png");
    let shown = path.display().to_string();
    let graph = shapes("plot_png.mill");
    assert_eq!(code(&["run", &graph, "--out", "s", "--count", "90", "--plot", &shown]), Some(0));
    let bytes = std::fs::read(&path).expect("it was written");
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"));
    // Width and height are in the first chunk: 1800, and twice 440 plus 30.
    assert_eq!(bytes[16..24], [0, 0, 7, 8, 0, 0, 3, 172]);
}

#[test]
fn outputs_that_cannot_be_drawn_are_reported() {
    let graph = shapes("plot_nothing.mill");
    let of = |args: &[&str]| {
        let (told, svg) = drawn("nothing.svg", &[&[&*graph], args].concat());
        assert_eq!(svg, "");
        told
    };
    let words = of(&["--out", "word", "--count", "3"]);
    assert!(words.starts_with("error: there is nothing to plot: no output holds num"), "{words}");
    let none = of(&["--out", "root", "--count", "3"]);
    assert!(none.contains("no output holds a finite number\n"), "{none}");
    let empty = of(&["--out", "s", "--count", "0"]);
    assert!(empty.contains("nothing to plot"), "{empty}");
    let run =
        |more: &[&str]| seen(&[&["run", &*graph, "--out", "s", "--count", "3"][..], more].concat());
    assert!(run(&["--plot", "x.pdf"]).starts_with("exit code 2\n"));
    assert!(run(&["--plot-kind", "lines"]).starts_with("exit code 2\n"));
    let single = file("plot_single.mill", "output k: f32 = 3\n");
    let (told, svg) = drawn("single.svg", &[&single, "--plot-kind", "histogram"]);
    assert_eq!(svg, "");
    assert!(told.contains("--plot-kind has no effect: every output is a single value"), "{told}");
    let nowhere = run(&["--plot", "/nowhere/x.svg"]);
    assert!(nowhere.contains("cannot write `/nowhere/x.svg`"), "{nowhere}");
    let own = file("own.svg", "i = context.index()\noutput y: f32 = sin(i)\n");
    let refused = seen(&["run", &own, "--count", "3", "--plot", &own]);
    assert!(refused.contains("is an input of this run and is not overwritten"), "{refused}");
}

#[test]
fn what_equals_the_axis_is_drawn_too() {
    let data = file("axis.csv", "t\n1\n2\n3\n");
    let given = format!("t=@{data}");
    let plotted = |name: &str, outputs: &str| {
        let graph = file(name, &format!("input t: f32\n{outputs}"));
        drawn("axis.svg", &[&graph, "--in", &given]).0
    };
    let same = "output v: f32 = t\n";
    assert_eq!(plotted("axis_alone.mill", same), "drew FILE: lines of v over t\n");
    let both = "output v: f32 = t\noutput w: f32 = t * t\n";
    assert_eq!(plotted("axis_both.mill", both), "drew FILE: lines of w over t\n");
    let points = "output v: vec2 = vec2(t, t * t)\n";
    assert_eq!(plotted("axis_points.mill", points), "drew FILE: points of v\n");
    let left = "output w: f32 = t * t\noutput k: f32 = 3\n";
    assert_eq!(
        plotted("axis_left.mill", left),
        "drew FILE: lines of w over t\nnot drawn: k; choose outputs of one shape with --out\n"
    );
}

#[test]
fn fields_and_images_are_heat_maps_over_the_scene() {
    let graph = file(
        "plot_fields.mill",
        "p = context.position()\n\
         output z: f32 = p.x - 2 * p.y in m\n\
         output side: bool = p.x > 3\n\
         output both: image = image.from_field(color(p.x, p.y, 0))\n\
         output still: f32 = 7\n",
    );
    let size = ["--size", "8x4+2-1*0.5"];
    let (told, svg) = drawn("field.svg", &[&[&*graph, "--out", "z"][..], &size].concat());
    assert_eq!(told, "drew FILE: heat map of z over x and y\n");
    assert!(svg.contains("z in m"), "{svg}");
    // The whole of x from 2 to 6 and of y from -1 to 1 is covered.
    for tick in ["2", "6", "-1", "1"] {
        assert!(svg.lines().any(|line| line.trim() == tick), "{tick} {svg}");
    }
    let (told, _) = drawn("fields.svg", &[&[&*graph][..], &size].concat());
    let both =
        "heat map of both.r over x and y; heat map of both.g over x and y; heat map of both.b";
    for part in ["heat map of z over x and y; heat map of side over x and y", both] {
        assert!(told.contains(part), "{told}");
    }
    let (told, _) = drawn("field.svg", &[&*graph, "--out", "z", "--view", "left=8x4"]);
    assert_eq!(told, "drew FILE: heat map of z over x and y\n");
    let kinds = [&*graph, "--out", "z", "--plot-kind", "histogram"];
    let (told, _) = drawn("field.svg", &[&kinds[..], &size].concat());
    assert_eq!(told, "drew FILE: histogram of z\n");
    let timed =
        file("plot_timed.mill", "p = context.position()\noutput z: f32 = p.x + context.time()\n");
    let moments = [&*timed, "--time", "0..1:0.5"];
    let path = new_file("several.svg").display().to_string();
    let told = seen(&[&["run", "--plot", &path][..], &moments, &size].concat());
    assert!(told.starts_with("exit code 2\n"), "{told}");
    assert!(told.contains("but there are 3 images of `z`") && told.contains("--out"), "{told}");
}

#[test]
fn a_plot_has_the_view_of_the_image_that_is_given() {
    let photo = new_file("plot_photo.png").display().to_string();
    let sea = file(
        "plot_sea.mill",
        "p = context.position()\noutput sea: image = image.from_field(color(p.x, 0, 1))\n",
    );
    let saved = seen(&["run", &sea, "--size", "6x5", "--save", &photo]);
    assert!(saved.contains("saved 6x5 pixels"), "{saved}");
    let graph = file(
        "plot_tone.mill",
        "input photo: image\noutput tone: color = image.sample(photo, context.position())\n",
    );
    let given = [&*graph, "--in", &format!("photo=@{photo}")];
    let (told, _) = drawn("tone.svg", &given);
    assert!(told.contains("heat map of tone.r over x and y"), "{told}");
}

#[test]
fn fields_of_the_index_are_plotted_as_pictures_show_them() {
    let graph = file(
        "plot_index.mill",
        "i = context.index()\np = context.position()\noutput a: f32 = i * 2\n\
         output z: f32 = p.x\noutput im: image = image.from_field(color(p.x, 0, 0))\n\
         output l: list<f32> = list.of(several [1, 2, 3])\noutput k: f32 = 3\n",
    );
    let size = ["--size", "8x4"];
    let plotted = |args: &[&str]| drawn("index.svg", &[&[&*graph][..], args].concat());
    let (told, svg) = plotted(&[&["--out", "a"][..], &size].concat());
    assert_eq!(told, "drew FILE: heat map of a over x and y\n");
    // The greatest index is 31.
    assert!(svg.lines().any(|line| line.trim() == "62"), "{svg}");
    let elements = ["--count", "20"];
    assert_eq!(plotted(&["--out", "a", "--count", "20"]).0, "drew FILE: lines of a over index\n");
    let useless = plotted(&[&["--out", "a"][..], &elements, &size].concat()).0;
    assert!(useless.contains("the view has no effect"), "{useless}");
    for out in ["im", "z"] {
        let (told, svg) = plotted(&[&["--out", out, "--out", "k"][..], &elements, &size].concat());
        let why = format!("--count has no effect on a picture of `{out}`");
        assert!(told.contains(&why) && svg.is_empty(), "{told}");
    }
    let both = ["--out", "im", "--out", "a", "--out", "l", "--out", "k"];
    let (told, _) = plotted(&[&both[..], &elements, &size].concat());
    for part in ["lines of a over index", "heat map of im.r over x and y", "not drawn: k; "] {
        assert!(told.contains(part), "{told}");
    }
    let listed = plotted(&[&["--out", "im", "--out", "l"][..], &size].concat()).0;
    for part in ["lines of l over item", "heat map of im.r over x and y"] {
        assert!(listed.contains(part) && !listed.contains("not drawn"), "{listed}");
    }
}

#[test]
fn letters_that_a_png_cannot_show_are_told() {
    let graph = file(
        "letters.mill",
        "x = convert.to_f32(context.index())\noutput `\u{65e5}\u{672c}`: f32 = x in m\n",
    );
    let told = |name: &str| drawn(name, &[&graph, "--count", "5"]).0;
    let png = told("letters.png");
    assert!(png.contains("letters without a glyph: \u{65e5}\u{672c}; an svg"), "{png}");
    assert!(!told("letters.svg").contains("without a glyph"));
}
