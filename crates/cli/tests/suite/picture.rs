//! `run --save FILE.png` and pictures as inputs.

use std::path::Path;

use millstream_io::Budget;
use millstream_io::pictures::{Transfer, read_picture};

use crate::{code, file, millstream, new_file, seen};

/// Saves a picture and reads it back: the messages, and its size and channels.
fn saved(name: &str, args: &[&str]) -> (String, Option<(usize, usize, Vec<f32>)>) {
    let path = new_file(name);
    let shown = path.display().to_string();
    let output = millstream(&[&["run"], args, &["--save", &shown]].concat());
    let told = String::from_utf8(output.stderr).expect("messages are UTF-8");
    (told.replace(&shown, "FILE"), read(&path))
}

fn read(path: &Path) -> Option<(usize, usize, Vec<f32>)> {
    let limits = millstream::Limits::default();
    let image = read_picture(path, (None, Transfer::Srgb), &limits, &Budget::default()).ok()?.image;
    Some((image.width(), image.height(), image.channels().to_vec()))
}

/// A graph whose value is the number of the pixel, in thousandths.
fn numbers() -> String {
    file("numbers.mill", "output n: f32 = convert.to_f32(context.index()) / 1000\n")
}

#[test]
fn a_number_at_each_pixel_is_a_gray_picture() {
    let graph = numbers();
    let (told, found) = saved("numbers.exr", &[&graph, "--size", "3x2"]);
    assert_eq!(told, "saved 3x2 pixels to FILE, floats of 32 bits, linear light\n");
    let (width, height, values) = found.expect("it was written");
    assert_eq!((width, height), (3, 2));
    assert!(values.iter().enumerate().all(|(i, x)| (x - i as f32 / 1000.0).abs() < 1e-7));
}

#[test]
fn strips_of_large_views_have_the_bits_of_the_whole() {
    let graph = file(
        "field.mill",
        "field = image.from_field(noise.fbm(context.position(), scale: 0.03))\n\
         output soft: image = image.blur(field, radius: 9)\n",
    );
    let size = ["--size", "2048x1100"];
    let (_, strips) = saved("strips.exr", &[&[&*graph][..], &size].concat());
    // With --stats, a picture is computed as a whole.
    let (_, whole) = saved("whole.exr", &[&[&*graph, "--stats"][..], &size].concat());
    let (strips, whole) = (strips.expect("it was written"), whole.expect("it was written"));
    assert_eq!((strips.0, strips.1), (2048, 1100));
    assert!(strips.2.iter().zip(&whole.2).all(|(a, b)| a.to_bits() == b.to_bits()));
}

#[test]
fn the_channels_of_a_picture_do_not_depend_on_its_size_or_pixels() {
    let graph = file("opaque.mill", "output c: color = color(0.5, 0.2, 0.1)\n");
    let gray = file("opaque_gray.mill", "output g: f32 = 0.5\n");
    // The color type of the header: 6 has alpha, 0 is gray.
    let kind = |name: &str, args: &[&str]| {
        let (told, _) = saved(name, args);
        assert!(told.starts_with("saved "), "{told}");
        std::fs::read(new_path(name)).expect("it was written")[25]
    };
    for size in ["4x3", "2048x1100"] {
        assert_eq!(kind("opaque.png", &[&graph, "--size", size]), 6, "{size}");
        assert_eq!(kind("opaque_gray.png", &[&gray, "--size", size]), 0, "{size}");
    }
    let size = ["--size", "2048x1100"];
    saved("opaque_strips.png", &[&[&*graph][..], &size].concat());
    // With --stats, a picture is computed as a whole.
    saved("opaque_whole.png", &[&[&*graph, "--stats"][..], &size].concat());
    let bytes = |name: &str| std::fs::read(new_path(name)).expect("it was written");
    assert!(bytes("opaque_strips.png") == bytes("opaque_whole.png"), "the files differ");
}

/// The path of a file that was saved.
fn new_path(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn large_views_that_a_node_needs_whole_are_refused_beyond_the_limit() {
    let graph = file(
        "whole.mill",
        "p = context.position()\n\
         field = image.from_field(noise.fbm(p, scale: 0.03))\n\
         all = image.statistics(field)\n\
         output out: f32 = convert.to_f32(all.mean) * p.x\n",
    );
    let path = new_file("whole.png").display().to_string();
    let args = ["run", &*graph, "--size", "2048x1100", "--save", &path];
    let told = seen(&[&args[..], &["--limit", "image_pixels=1000000"]].concat());
    assert!(
        told.contains("`all` needs the whole picture of 2048 by 1100 pixels")
            && told.contains("raise it with --limit image_pixels=N"),
        "{told}"
    );
}

#[test]
fn a_file_without_color_space_is_linear_on_request() {
    let photo = new_file("untagged.png");
    let mut encoder = png::Encoder::new(std::fs::File::create(&photo).expect("a file"), 1, 1);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header().expect("writes");
    writer.write_image_data(&[51]).expect("writes");
    writer.finish().expect("writes");
    let graph = file("same.mill", "input photo: image\noutput out: image = photo\n");
    let value = |prefix: &str| {
        let given = format!("photo=@{prefix}{}", photo.display());
        saved("untagged.exr", &[&graph, "--in", &given]).1.expect("it was written").2[0]
    };
    assert!((value("linear:") - 0.2).abs() < 1e-6);
    assert!((value("") - 0.0331).abs() < 1e-4);
}

#[test]
fn a_filter_gives_a_picture_of_the_size_of_the_photo() {
    let numbers = numbers();
    let photo = new_file("photo.png");
    let photo = photo.display().to_string();
    assert!(millstream(&["run", &numbers, "--size", "20x10", "--save", &photo]).status.success());
    let graph = file(
        "filter.mill",
        "input photo: image\noutput out: image = image.sharpen(photo, radius: 2)\n",
    );
    let given = format!("photo=@{photo}");
    let (told, found) = saved("sharp.png", &[&graph, "--in", &given]);
    assert_eq!(told, "saved 20x10 pixels to FILE, 8 bits, sRGB\n");
    assert_eq!(found.map(|(width, height, _)| (width, height)), Some((20, 10)));
    let over = ["run", &*graph, "--in", &given, "--save", &photo];
    assert!(seen(&over).contains("is an input of this run and is not overwritten"));
}

/// A picture of 20x10 pixels whose colors differ from pixel to pixel.
fn photo(name: &str) -> String {
    let graph = file(
        "photo.mill",
        "p = context.position()\n\
         output c: vec3 = vector.combine_vec3(p.x / 20, p.y / 10, fract(p.x * p.y * 0.37))\n",
    );
    let photo = new_file(name).display().to_string();
    assert!(millstream(&["run", &graph, "--size", "20x10", "--save", &photo]).status.success());
    photo
}

#[test]
fn an_image_with_pixels_of_its_own_is_placed_on_the_view() {
    let given = format!("photo=@{}", photo("placed_photo.exr"));
    let of = |name: &str, value: &str, more: &[&str]| {
        let position = "p = context.position()";
        let text = format!("input photo: image\n{position}\noutput o: image = {value}\n");
        let graph = file(&format!("placed_{name}.mill"), &text);
        let args = [&[&*graph, "--in", &given][..], more].concat();
        let (told, found) = saved(&format!("placed_{name}.exr"), &args);
        found.unwrap_or_else(|| panic!("{value}: {told}"))
    };
    let of_all = [
        ("bare", "photo"),
        ("inverted", "image.invert(photo)"),
        ("levels", "image.levels(photo, gamma: 2)"),
        ("cropped", "image.crop(photo, x: 2, y: 3, width: 5, height: 4)"),
        ("resized", "image.resize(photo, width: 40, height: 5)"),
        ("filled", "image.over(photo, image.from_field(p.x * 0.1))"),
    ];
    for (name, value) in of_all {
        for view in ["--size=30x25", "--size=8x6+4+1*0.5", "--size=40x20", "--view=a=16x9"] {
            let (width, height, values) = of(name, value, &[view]);
            let size = view.rsplit('=').next().expect("it has a size");
            assert!(size.starts_with(&format!("{width}x{height}")), "{value} {view}");
            // As a node that requests a view places it.
            let placed = format!("image.transform({value})");
            assert_eq!((width, height, values), of("transformed", &placed, &[view]), "{value}");
        }
        let (width, height, preview) = of(name, value, &["--size", "20x10", "--reduce", "2"]);
        assert_eq!((width, height), (10, 5), "{value}");
        // Without a size, the view is that of the photo.
        assert_eq!(of(name, value, &["--reduce", "2"]), (10, 5, preview), "{value}");
    }
    // The photo in its own view is the photo, with an alpha channel for what may lie beyond it.
    let (width, height, colors) = of("bare", "photo", &[]);
    let with_alpha = colors.chunks(3).flat_map(|color| [color[0], color[1], color[2], 1.0]);
    let seen = of("bare", "photo", &["--size", "20x10"]);
    assert_eq!(seen, (width, height, with_alpha.collect()));
    // Fields are evaluated for the view; their images keep the pixels that a node gives them.
    let field = "image.resize(image.from_field(p.x), width: 4, height: 3)";
    let (width, height, _) = of("field", field, &["--size", "20x10"]);
    assert_eq!((width, height), (4, 3));
    // In strips as well.
    let large = &["--size", "2048x1100*0.01"];
    let strips = of("inverted", "image.invert(photo)", large);
    assert_eq!(strips, of("inverted", "image.invert(photo)", &[&large[..], &["--stats"]].concat()));
}

#[test]
fn formats_and_encodings_are_named_before_the_file() {
    let photo = photo("prefix.png");
    let graph = file("prefix.mill", "input photo: image\noutput o: image = photo\n");
    let misnamed = new_file("prefix_misnamed.jpg").display().to_string();
    std::fs::copy(&photo, &misnamed).expect("it can be copied");
    let run = |given: &str, target: &str| {
        let given = format!("photo=@{given}");
        let args = ["run", &*graph, "--in", &given, "--save", target];
        let output = millstream(&args);
        (String::from_utf8(output.stderr).expect("messages are UTF-8"), output.stdout)
    };
    let target = new_file("prefix_out.exr").display().to_string();
    assert!(run(&misnamed, &target).0.contains("holds png, not jpeg"));
    let (told, _) = run(&format!("png:{misnamed}"), &target);
    assert!(told.starts_with("saved 20x10 pixels"), "{told}");
    // In the other direction, to a file and to standard output.
    let bare = new_file("prefix_bare").display().to_string();
    let (told, _) = run(&photo, &format!("png:{bare}"));
    assert!(told.contains(&format!("to {bare}, 8 bits, sRGB")), "{told}");
    let (told, stdout) = run(&photo, "png:-");
    assert_eq!(told, "saved 20x10 pixels to standard output, 8 bits, sRGB\n");
    assert_eq!(stdout, std::fs::read(&bare).expect("it was written"));
    // And from standard input.
    let mut command = crate::command(&["run", &graph, "--in", "photo=@png:-", "--save", "png:-"]);
    let input = std::fs::File::open(&photo).expect("it was written");
    let output = command.stdin(input).output().expect("it runs");
    assert_eq!(output.stdout, stdout, "{}", String::from_utf8_lossy(&output.stderr));
    let linear = new_file("prefix_linear.tiff").display().to_string();
    let (told, _) = run(&photo, &format!("linear:{linear}"));
    assert!(told.contains("16 bits, linear light"), "{told}");
    let (told, _) = run(&photo, &format!("csv:{linear}"));
    assert!(!told.contains("pixels"), "{told}");
    // The file that is read is not overwritten, whatever precedes its name.
    assert!(run(&photo, &format!("png:{photo}")).0.contains("is not overwritten"));
    let (told, _) = run("nothing", &target);
    let names = "one of the extensions png, jpeg, jpg, exr, tiff, tif, webp, or name the format";
    assert!(told.contains(names), "{told}");
}

#[test]
fn moments_are_a_sequence_of_pictures() {
    let graph =
        file("time.mill", "output t: f32 = context.time() / 10 + 0 * context.position().x\n");
    let path = new_file("frame.##.png");
    let shown = path.display().to_string();
    let args = ["run", &*graph, "--size", "2x2", "--frame", "9..11", "--save", &shown];
    assert!(millstream(&args).status.success());
    for frame in ["09", "10", "11"] {
        let one = path.with_file_name(
            path.file_name().expect("a name").to_string_lossy().replace("##", frame),
        );
        assert!(read(&one).is_some(), "{frame}");
    }
    let args = ["run", &*graph, "--size", "2x2", "--frame", "9..11", "--save", "one.png"];
    assert!(seen(&args).contains("write # in the file name"), "{}", seen(&args));
}

#[test]
fn impossible_pictures_are_reported() {
    let graph = numbers();
    let text = file("text.mill", "output t: string = string.from_integer(3)\n");
    for (args, part) in [
        (&[&*graph, "--save", "a.png"][..], "give a view, --size 640x480"),
        (&[&*graph, "--size", "0x10", "--save", "a.png"], "write the width and the height"),
        (&[&*graph, "--size", "1000000x1000000", "--save", "a.png"], "the limit is"),
        (&[&*text, "--size", "2x2", "--save", "a.png"], "so there is nothing to picture"),
        (&[&*graph, "--size", "2x2", "--save", "a.csv", "--depth", "8"], "--depth has no effect"),
        (&[&*graph, "--size", "2x2", "--save", "a.jpeg", "--depth", "16"], "jpeg"),
        (&[&*graph, "--size", "2x2", "--save", "/no/such/folder/a.png"], "cannot write"),
    ] {
        let all = [&["run"], args].concat();
        let text = seen(&all);
        assert!(text.contains(part) && code(&all) != Some(0), "{args:?}: {text}");
    }
}

#[test]
fn a_placeholder_is_replaced_even_if_there_is_one_picture() {
    let graph =
        file("still.mill", "output v: f32 = fract(vector.length(context.position()) * 0.1)\n");
    let folder = new_file("placeholders");
    std::fs::create_dir_all(&folder).expect("it can be made");
    let saved = |name: &str, args: &[&str]| {
        let path = folder.join(name).display().to_string();
        let given = [&["run", &*graph, "--save", &path], args].concat();
        assert_eq!(code(&given), Some(0), "{given:?}");
    };
    saved("f.##.png", &["--size", "9x9", "--frame", "1..2"]);
    saved("a.###.png", &["--size", "9x9", "--frame", "5"]);
    saved("large.#.png", &["--size", "2048x1100", "--frame", "7"]);
    saved("{view}.#.png", &["--view", "l=9x9", "--view", "r=8x8", "--frame", "3"]);
    let mut names: Vec<String> = folder
        .read_dir()
        .expect("it is there")
        .map(|entry| entry.expect("it can be listed").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["a.005.png", "f.01.png", "f.02.png", "l.3.png", "large.7.png", "r.3.png"]);
    std::fs::remove_dir_all(&folder).expect("it can be removed");
}

#[test]
fn the_name_of_a_picture_without_its_sign_is_told_how_to_be_written() {
    let graph = file("given.mill", "input p: image\noutput n: image = image.invert(p)\n");
    let picture = new_file("given.png");
    let shown = picture.display().to_string();
    let (told, _) = saved("given.png", &[&numbers(), "--size", "3x2"]);
    assert!(told.starts_with("saved"), "{told}");
    let told = seen(&["run", &graph, "--in", &format!("p={shown}")]).replace(&shown, "FILE");
    let hint = "help: to read that file, write `@` before its name: p=@FILE\n";
    assert!(told.ends_with(hint), "{told}");
    let told = seen(&["run", &graph, "--in", "p=none.png"]);
    assert!(told.contains("; @FILE gives that of a file"), "{told}");
}

#[test]
fn pictures_of_elements_at_several_moments_have_both_numbers_in_their_names() {
    let graph = file(
        "growing.mill",
        "input k: f32 = 1\n\
         output v: image = image.from_field(convert.to_f32(context.tick()) * k * 0.01)\n",
    );
    let column = format!("k=@{}", file("growing.csv", "k\n1\n2\n3\n"));
    let folder = new_file("growing");
    std::fs::create_dir_all(&folder).expect("it can be made");
    let args = |name: &str, more: &[&str]| {
        let path = folder.join(name).display().to_string();
        let args = ["run", &*graph, "--size", "1x1", "--in", &*column, "--save", &*path];
        [&args[..], more].concat().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let saved = |name: &str, more: &[&str]| {
        let args = args(name, more);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        seen(&args)
    };
    let told = saved("q.####.png", &["--frame", "5..6"]);
    assert!(told.contains("6 pictures do not fit in one file"), "{told}");
    assert!(told.contains("such as out.{index}.####.png"), "{told}");
    saved("q.{index}.##.png", &["--frame", "5..6", "--only", "0,2"]);
    saved("one.{index}.png", &["--frame", "5"]);
    saved("#.png", &["--frame", "5", "--only", "1"]);
    let entries = folder.read_dir().expect("it is there").map(|entry| entry.expect("listed"));
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let all = ["1.png", "one.0.png", "one.1.png", "one.2.png", "q.0.05.png", "q.0.06.png"];
    assert_eq!(names, [&all[..], &["q.2.05.png", "q.2.06.png"]].concat());
    let has = |name: &str, value: &str| {
        let path = folder.join(name).display().to_string();
        let read = "input p: image\noutput x: f64 = image.statistics(p).mean\n";
        let told = seen(&["run", &file("grown.mill", read), "--in", &format!("p=@{path}")]);
        assert!(told.contains(value), "{name}: {told}");
    };
    has("q.2.06.png", "0.18");
    has("one.0.png", "0.049");
    has("1.png", "0.099");
    std::fs::remove_dir_all(&folder).expect("it can be removed");
}

#[test]
fn elements_of_a_picture_that_is_the_same_for_all_are_refused() {
    let graph = file(
        "same_picture.mill",
        "input k: f32 = 1\noutput v: image = image.from_field(context.position().x * k)\n",
    );
    let column = file("same_picture.csv", "k\n1\n2\n");
    let path = new_file("same.#.png");
    let shown = path.display().to_string();
    let args = ["run", &*graph, "--size", "4x4", "--save", &shown];
    for flag in ["--count", "--only"] {
        let told = seen(&[&args[..], &[flag, "1"]].concat());
        let why =
            format!("{flag} has no effect on a picture of `v`: it is the same for all elements");
        assert!(told.contains(&why), "{told}");
        assert!(told.contains(&format!("leave out {flag}\n")), "{told}");
    }
    let folder = path.with_extension("bake").display().to_string();
    let bake = ["bake", &*graph, "--size", "4x4", "--frames", "0", "-o", &folder];
    let told = seen(&[&bake[..], &["--count", "2"]].concat());
    assert!(told.contains("--count has no effect on a picture of `v`"), "{told}");
    // Where a column tells the elements apart, they may be chosen.
    let k = format!("k=@{column}");
    let told = seen(&[&args[..], &["--in", &k, "--only", "1"]].concat());
    assert!(told.starts_with("stderr:\nsaved 4x4 pixels"), "{told}");
}

#[test]
fn a_view_is_refused_with_the_features_that_only_pictures_get_from_it() {
    let graph = file("index_of_pixel.mill", "output v: f32 = convert.to_f32(context.index())\n");
    let told = seen(&["run", &graph, "--size", "4x4"]);
    assert!(told.contains("the outputs depend on the index, which a view"), "{told}");
    assert!(told.contains("give a number of elements: --count 100"), "{told}");
    let graph = file(
        "index_and_position.mill",
        "output v: f32 = convert.to_f32(context.index()) + context.position().x\n",
    );
    let told = seen(&["run", &graph, "--size", "4x4"]);
    assert!(told.contains("the outputs depend on the position and the index, which"), "{told}");
}
