//! `--view NAME=WxH` and `--in INPUT@NAME=VALUE`.

use expect_test::expect;

use crate::{file, millstream, new_file, seen};

fn graph() -> String {
    file(
        "views.mill",
        "input eye: f32 = 0\n\
         size = footprint.pixel_size(context.footprint())\n\
         output all: f32 = size * 10 + eye + convert.to_f32(context.time())\n",
    )
}

#[test]
fn rows_of_several_axes_have_a_column_for_each() {
    let graph = graph();
    let views = ["--view", "left=4x3", "--view", "right=4x3+1-2*0.5", "--time", "0..1:1"];
    let args = [&["run", &*graph, "--in", "eye@right=0.25"][..], &views].concat();
    expect![[r#"
        time   view   all
         0.0   left  10.0
         0.0  right  5.25
         1.0   left  11.0
         1.0  right  6.25

             count   min   mean  max
        all      4  5.25  8.125   11
    "#]]
    .assert_eq(&seen(&args));
    let path = new_file("views.csv");
    let shown = path.display().to_string();
    assert!(millstream(&[&args[..], &["--save", &shown]].concat()).status.success());
    let csv = std::fs::read_to_string(&path).expect("it was written");
    expect![[r#"
        time,view,all
        0.0,left,10.0
        0.0,right,5.25
        1.0,left,11.0
        1.0,right,6.25
    "#]]
    .assert_eq(&csv);
}

#[test]
fn arrays_have_an_axis_for_each_axis_of_the_request() {
    let graph = graph();
    let path = new_file("views.npy");
    let shown = path.display().to_string();
    let views = ["--view", "a=4x3", "--view", "b=4x3", "--view", "c=4x3", "--time", "0..3:1"];
    let args = [&["run", &*graph, "--save", &shown][..], &views].concat();
    assert!(millstream(&args).status.success());
    let bytes = std::fs::read(&path).expect("it was written");
    let header = String::from_utf8_lossy(&bytes[..128]).into_owned();
    assert!(header.contains("'shape': (4, 3, )"), "{header}");
    assert_eq!(bytes.len(), 128 + 4 * 3 * 4);
}

#[test]
fn pictures_of_views_have_their_names() {
    let graph = file("place.mill", "output c: f32 = context.position().x / 10\n");
    let path = new_file("seen.{view}.png");
    let shown = path.display().to_string();
    let views = ["--view", "left=3x2", "--view", "right=5x2+2+0"];
    assert!(
        millstream(&[&["run", &*graph, "--save", &shown][..], &views].concat()).status.success()
    );
    for view in ["left", "right"] {
        let one = shown.replace("{view}", view);
        assert!(std::fs::metadata(&one).is_ok_and(|file| file.len() > 0), "{one}");
    }
    let one = [&["run", &*graph, "--save", "one.png"][..], &views].concat();
    assert!(seen(&one).contains("write {view} in the file name"), "{}", seen(&one));
}

#[test]
fn a_single_view_is_possible_where_state_depends_on_it() {
    let graph = file(
        "view_state.mill",
        "input gain: f32 = 1\n\
         before = state.feedback(now, initial: 0)\n\
         now = before + gain * footprint.pixel_size(context.footprint())\n\
         output c: f32 = now\n",
    );
    let run = ["run", &*graph, "--frame", "0..2"];
    let one = ["--view", "a=4x4*0.5", "--in", "gain@a=4"];
    let told = seen(&[&run[..], &one].concat());
    assert_eq!(told, seen(&[&run[..], &["--size", "4x4*0.5", "--in", "gain=4"]].concat()));
    assert!(told.contains("    2  6.0\n"), "{told}");
    let saved = seen(&[&run[..], &one, &["--save", "csv:-"]].concat());
    assert!(saved.starts_with("frame,time,view,c\n0,0.0,a,2.0\n"), "{saved}");
    let two = seen(&[&run[..], &one, &["--view", "b=4x4"]].concat());
    assert!(two.contains("help: ask for one view at a time"), "{two}");
}

#[test]
fn wrong_views_are_refused() {
    let graph = graph();
    let refused = |args: &[&str], why: &str| {
        let text = seen(&[&["run", &*graph, "--time", "0"], args].concat());
        assert!(text.contains(why), "{text}");
    };
    refused(&["--view", "4x3"], "write a name and a view");
    refused(&["--view", "a=4x3", "--view", "a=2x2"], "the view name `a` is used twice");
    refused(&["--view", "a=4x3", "--in", "eye@b=1"], "there is no view called `b`");
    refused(&["--in", "eye@b=1"], "declare the views first: --view b=640x480");
    refused(&["--view", "a=4x3", "--in", "eye@a=1", "--in", "eye@a=2"], "`eye@a` is given twice");
    refused(&["--reduce", "2"], "--reduce has no effect");
    refused(&["--view", "a=0x3"], "write the width and the height");
    refused(&["--view", "a=9999999999x3"], "too large: write at most 2147483647 pixels");
}

#[test]
fn only_the_requested_outputs_decide_whether_a_view_has_an_effect() {
    let graph = file(
        "views_asked.mill",
        "size = footprint.pixel_size(context.footprint())\n\
         output z: f32 = size * 2\noutput n: f32 = 3\n\
         output p: vec3 = context.position()\n\
         output s: f32 = state.delay(size)\n",
    );
    let run = |out: &str, more: &[&str]| {
        let args = ["run", &*graph, "--out", out, "--size", "4x3*0.5"];
        seen(&[&args[..], more].concat())
    };
    assert_eq!(run("z", &[]), "z = 1.0\n");
    let refused = run("n", &[]);
    assert!(refused.contains("no requested output reads the footprint"), "{refused}");
    let refused = run("p", &[]);
    assert!(refused.contains("the outputs depend on the position"), "{refused}");
    // Through state, and for a plot.
    assert_eq!(run("s", &["--frame", "3"]), "s = 0.5\n");
    let path = new_file("views_asked.svg").display().to_string();
    let drawn = run("z", &["--plot", &path]);
    assert!(drawn.contains("single values of z"), "{drawn}");
    // State that is not requested may differ by view.
    let views = ["--view", "a=4x3", "--view", "b=4x3*0.5", "--frame", "3"];
    let run = |out: &str| seen(&[&["run", &*graph, "--out", out][..], &views].concat());
    assert!(run("z").contains("b  1.0"), "{}", run("z"));
    assert!(run("s").contains("differs from view to view"), "{}", run("s"));
}

/// Three moments, two views and seven elements; outputs of which none varies along all of them.
fn product() -> String {
    file(
        "product.mill",
        "i = context.index()\n\
         size = footprint.pixel_size(context.footprint())\n\
         t = convert.to_f32(context.time())\n\
         output seen: f32 = t * size\n\
         output each: f32 = i * 0.5\n\
         output still: f32 = size * 2\n\
         output sum: f32 = reduce.sum(i * t)\n",
    )
}

const PRODUCT: [&str; 8] =
    ["--view", "a=4x3", "--view", "b=4x3*0.5", "--frame", "0..2", "--count", "7"];

#[test]
fn axes_that_no_output_needs_are_left_out_of_files_that_would_be_too_large() {
    let graph = product();
    let run = |more: &[&str]| seen(&[&["run", &*graph][..], &PRODUCT, more].concat());
    let limit = ["--limit", "list_length=21"];
    let with = |more: &[&str]| run(&[&limit[..], more].concat());
    // Nothing changes where all cells are few enough.
    let all = run(&["--limit", "list_length=42", "--out", "still", "--save", "csv:-"]);
    assert!(
        all.starts_with("frame,time,view,index,still\n0,0.0,a,0,2.0\n0,0.0,a,1,2.0\n"),
        "{all}"
    );
    expect![[r#"
        view,still
        a,2.0
        b,1.0
        stderr:
        saved 2 rows to standard output
        frame and index are left out, as no saved output varies along them: 42 rows would be more than the limit `list_length` allows
    "#]]
    .assert_eq(&with(&["--out", "still", "--save", "csv:-"]));
    expect![[r#"
        frame,time,view,seen,still
        0,0.0,a,0.0,2.0
        0,0.0,b,0.0,1.0
        1,0.041666666666666664,a,0.041666668,2.0
        1,0.041666666666666664,b,0.020833334,1.0
        2,0.08333333333333333,a,0.083333336,2.0
        2,0.08333333333333333,b,0.041666668,1.0
        stderr:
        saved 6 rows to standard output
        index is left out, as no saved output varies along it: 42 rows would be more than the limit `list_length` allows
    "#]]
    .assert_eq(&with(&["--out", "seen", "--out", "still", "--save", "csv:-"]));
    let path = new_file("product.npy");
    let shown = path.display().to_string();
    with(&["--out", "seen", "--save", &shown]);
    let bytes = std::fs::read(&path).expect("it was written");
    let header = String::from_utf8_lossy(&bytes[..128]).into_owned();
    assert!(header.contains("'shape': (3, 2, )"), "{header}");
    assert_eq!(bytes.len(), 128 + 3 * 2 * 4);
    let path = new_file("product.csv");
    let shown = path.display().to_string();
    let refused = with(&["--out", "seen", "--out", "each", "--save", &shown]);
    let text = refused.replace(&shown, "FILE");
    expect![[r#"
        exit code 3
        stderr:
        error: FILE was not written: its outputs together have 42 rows (3 moments × 2 views × 7 elements), the limit is 21
          help: raise it with --limit list_length=42, or save outputs that vary along fewer axes by themselves: --out NAME
    "#]]
    .assert_eq(&text);
    assert!(!path.exists());
}

#[test]
fn only_the_axes_that_a_node_needs_are_limited() {
    let graph = product();
    let run = |more: &[&str]| seen(&[&["run", &*graph][..], &PRODUCT, more].concat());
    let limited = run(&["--limit", "list_length=21", "--format", "json"]);
    assert_eq!(limited, run(&["--format", "json"]));
    expect![[r#"
        exit code 3
        view  still
           a    2.0
           b    1.0

               count  min  mean  max
        still      2    1   1.5    2
        stderr:
        error: sum_value/1: 21 cells (3 moments × 7 elements), the limit is 20
          help: raise `list_length` to 21 with --limit, or request fewer elements, moments or views at once
        output `sum` has no value
    "#]]
    .assert_eq(&run(&["--limit", "list_length=20", "--out", "sum", "--out", "still"]));
    let longer = PRODUCT.map(|text| if text == "0..2" { "0..4" } else { text });
    let longer = [&["run", &*graph, "--limit", "list_length=7"][..], &longer].concat();
    expect![[r#"
        exit code 3
        stderr:
        error: output `seen` has 10 cells (5 moments × 2 views), the limit is 7
          help: raise it with --limit list_length=10, or request fewer elements, moments or views at once
    "#]]
    .assert_eq(&seen(&longer));
}
