//! `run --save FILE.png`: an output as a picture.
//!
//! An image output is the picture itself. For any other output that can be the value of a pixel,
//! such as a color, a node `image.from_field` is added to the document, so the picture shows the
//! values at the pixels of the view. Large views are evaluated and written strip by strip.

use std::io::{self, BufWriter, Stdout};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use millstream::document::{
    Document, Input, InputValue, Link, Node, NodeKind, OutputDef, OutputFrom, free_name,
};
use millstream::evaluate::{Data, RequestAxis};
use millstream::values::{Column, Image, Type, Value, ValueType};
use millstream::{
    Answer, Engine, Error, Evaluator, Feature, Footprint, Given, Mask, Program, Request,
};
use millstream_io::pictures::{
    Depth, PictureFailure, PictureFormat, PictureOptions, PictureSpec, Transfer, write_image,
    write_image_to, write_picture, write_picture_to,
};

use crate::document::{Text, shown};
use crate::outcome::{Exit, Stop};
use crate::picture::strips::{First, Strips};
use crate::place::{Place, STDOUT, stop};
use crate::tables::Coordinates;
use crate::terminal::{eprint, visible};

mod file;
mod strips;

pub(crate) use file::PictureFile;

/// How many times the pixel limit a picture written in strips may exceed.
const IN_STRIPS: usize = 16;

/// A placeholder in file names for the name of the view.
pub(crate) const VIEW: &str = "{view}";

/// A placeholder in file names for the number of the element.
const INDEX: &str = "{index}";

/// The file of a picture, and how it is written.
#[derive(Clone, Debug)]
pub(crate) struct PictureTarget {
    path: PathBuf,
    format: PictureFormat,
    depth: Option<Depth>,
    /// The meaning of integers; that of the format if it is not named.
    transfer: Option<Transfer>,
}

impl PictureTarget {
    /// The target of `--save`, if its format or its extension is that of a picture.
    pub(crate) fn of(path: &Path, depth: Option<Depth>) -> Option<Self> {
        let text = path.to_str();
        if text.is_some_and(|text| Place::of_table(text).format.is_some()) {
            return None;
        }
        let plain = PictureFile { path, format: None, is_linear: false };
        let PictureFile { path, format, is_linear } = text.map_or(plain, PictureFile::of);
        let format = format.or_else(|| PictureFormat::of_path(path).ok())?;
        let transfer = is_linear.then_some(Transfer::Linear);
        Some(Self { path: path.to_owned(), format, depth, transfer })
    }

    pub(crate) fn format(&self) -> PictureFormat {
        self.format
    }

    /// The file, or `-` for standard output.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Parses the number of bits per channel.
pub(crate) fn depth(text: &str) -> Result<Depth, String> {
    match text {
        "8" => Ok(Depth::Eight),
        "16" => Ok(Depth::Sixteen),
        "32" | "float" => Ok(Depth::Float),
        _ => Err("write 8, 16 or 32".into()),
    }
}

/// A node to be added: its name, its type, and its inputs that are given.
type Added = (Arc<str>, &'static str, Vec<(&'static str, InputValue)>);

/// The program with its picture output turned into an image, and the name of that output. An image
/// with its own pixels, such as a photo, is placed on the view, if the request has one.
/// `of_elements` is the flag of the command line that asks for elements, if there is one.
pub(crate) fn program_of_picture(
    engine: &Engine,
    text: &Text,
    program: Program,
    (asked, of_elements, has_view): (&[String], Option<&str>, bool),
) -> Result<(Program, String), Stop> {
    let (name, ty) = shown_output(&program, asked)?;
    if ty == Type::of::<Image>() {
        let program = if has_view { on_view(engine, text, program, &name)? } else { program };
        return Ok((program, name));
    }
    if let Some(flag) = of_elements.filter(|_| reads(&program, &name, &Feature::Index)) {
        let why = "its `index` is the number of the pixel";
        return Err(no_elements(flag, &name, why, ", or save a table"));
    }
    let program =
        with_nodes(engine, text, &program, &name, |value, free| pixel_nodes(ty, value, free))?;
    Ok((program, name))
}

/// The nodes that make an image of a value at each pixel; the last one is the image.
fn pixel_nodes(ty: Type, value: InputValue, free: &dyn Fn(&str) -> Arc<str>) -> Vec<Added> {
    let link =
        |node: &Arc<str>, output: &str| InputValue::Link(Link::new(Arc::clone(node), output));
    let (parts, pixel) = (free("pixel_parts"), free("pixel"));
    let mut nodes = Vec::new();
    let value = if ty == Type::I64 {
        nodes.push((Arc::clone(&pixel), "convert.to_f32", vec![("x", value)]));
        link(&pixel, "value")
    } else if ty == Type::VEC4 {
        nodes.push((Arc::clone(&parts), "vector.separate_vec4", vec![("vector", value)]));
        let channels = [("red", "x"), ("green", "y"), ("blue", "z"), ("alpha", "w")];
        let channels = channels.map(|(channel, part)| (channel, link(&parts, part)));
        nodes.push((Arc::clone(&pixel), "color.combine", channels.into()));
        link(&pixel, "value")
    } else {
        value
    };
    nodes.push((free("picture"), "image.from_field", vec![("field", value)]));
    nodes
}

/// The program with an image output placed on the requested view, if it would have its own pixels
/// whatever the view is.
fn on_view(engine: &Engine, text: &Text, program: Program, output: &str) -> Result<Program, Stop> {
    if !program.has_own_pixels(output) {
        return Ok(program);
    }
    with_nodes(engine, text, &program, output, |value, free| {
        vec![(free("picture"), "image.transform", vec![("image", value)])]
    })
}

/// The program with each requested image that has its own pixels placed on the requested view.
pub(crate) fn program_of_images(
    engine: &Engine,
    text: &Text,
    mut program: Program,
    asked: &[String],
) -> Result<Program, Stop> {
    let outputs = program.outputs().iter();
    let images = outputs.filter(|output| output.ty == Type::of::<Image>());
    let images: Vec<String> = images.map(|output| output.name.to_string()).collect();
    for image in images.iter().filter(|name| asked.is_empty() || asked.contains(name)) {
        program = on_view(engine, text, program, image)?;
    }
    Ok(program)
}

/// The program with nodes added between the value of an output and the output, which is then an
/// image, the `value` of the last node. `nodes` gets that value and a function that finds free
/// names.
fn with_nodes(
    engine: &Engine,
    text: &Text,
    program: &Program,
    name: &str,
    nodes: impl FnOnce(InputValue, &dyn Fn(&str) -> Arc<str>) -> Vec<Added>,
) -> Result<Program, Stop> {
    let mut document: Document = program.document().clone();
    let is_taken =
        |name: &str| document.nodes.contains_key(name) || document.inputs.contains_key(name);
    let output = document.outputs.get_mut(name).expect("the output exists");
    let value = match &output.from {
        OutputFrom::Link(link) => InputValue::Link(link.clone()),
        OutputFrom::Input(input) => InputValue::Input(Arc::clone(input)),
    };
    let nodes = nodes(value, &|name| free_name(name, is_taken).into());
    let (last, ..) = nodes.last().expect("there is a node");
    let from = OutputFrom::Link(Link::new(Arc::clone(last), "value"));
    let spot = output.spot;
    *output = OutputDef { ty: Type::of::<Image>().name().into(), from, ..output.clone() };
    for (node_name, node_type, inputs) in nodes {
        let mut node = Node::new(NodeKind::Type(node_type.into()));
        for (socket, value) in inputs {
            node.inputs.insert(socket, Input { value, spot });
        }
        document.nodes.insert(node_name, node);
    }
    // Other parts of the document may have errors.
    let (program, problems) = engine.compile_partly(document);
    let has_output = |it: &Program| it.outputs().iter().any(|output| *output.name == *name);
    program.filter(has_output).ok_or_else(|| shown(text, Error::Document(problems)))
}

/// The program with each requested field, which differs from pixel to pixel, turned into an image.
/// Without elements, `index` is the number of the pixel, so what reads it is a field too.
pub(crate) fn program_of_fields(
    engine: &Engine,
    text: &Text,
    mut program: Program,
    (asked, of_elements, has_elements): (&[String], Option<&str>, bool),
) -> Result<Program, Stop> {
    let of_index =
        |name: &str, ty| !has_elements && is_pixel(ty) && reads(&program, name, &Feature::Index);
    let names = program.outputs().iter().map(|output| (output.name.to_string(), output.ty));
    let fields: Vec<String> = names
        .filter(|(name, _)| asked.is_empty() || asked.contains(name))
        .filter(|(name, ty)| is_field(&program, name) || of_index(name, *ty))
        .map(|(name, _)| name)
        .collect();
    for field in fields {
        (program, _) = program_of_picture(engine, text, program, (&[field], of_elements, false))?;
    }
    Ok(program)
}

/// Whether an output can be a pixel and differs from pixel to pixel.
pub(crate) fn is_field(program: &Program, output: &str) -> bool {
    let known = program.outputs().iter().find(|known| *known.name == *output);
    known.is_some_and(|known| is_pixel(known.ty)) && reads(program, output, &Feature::Position)
}

/// Whether an output needs a feature of the request.
fn reads(program: &Program, output: &str, feature: &Feature) -> bool {
    let plan = program.plan();
    plan.output_named(output).is_some_and(|at| {
        let needs = plan.needs_of(&plan.steps[plan.outputs[at].source.step]);
        let mut needs = needs.bits().map(|bit| plan.needs.need(bit));
        needs.any(|need| need.level == 0 && need.feature == *feature)
    })
}

/// The first image among the requested outputs, if none of these outputs reads the index.
pub(crate) fn image_without_elements<'p>(
    program: &'p Program,
    asked: &[String],
) -> Option<&'p str> {
    let is_asked = |name: &str| asked.is_empty() || asked.iter().any(|it| it == name);
    let mut outputs = program.outputs().iter().filter(|output| is_asked(&output.name));
    let image = outputs.clone().find(|output| output.ty == Type::of::<Image>())?;
    let has_elements = outputs.any(|output| reads(program, &output.name, &Feature::Index));
    (!has_elements).then_some(&*image.name)
}

/// Refuses a flag that asks for elements if a picture is the same for all of them.
pub(crate) fn refuse_elements(
    program: &Program,
    name: &str,
    request: &Request,
    flag: Option<&str>,
) -> Result<(), Stop> {
    let is_column = |feature: &Feature| {
        matches!(request.of_feature(feature), Some(Given::Along(RequestAxis::Index, _)))
    };
    let has_columns = request.columns().next().is_some()
        || program.plan().needs.iter().any(|need| is_column(&need.feature));
    match flag.filter(|_| !has_columns && !reads(program, name, &Feature::Index)) {
        Some(flag) => {
            let why = "it is the same for all elements";
            Err(no_elements(flag, name, why, ""))
        }
        None => Ok(()),
    }
}

fn no_elements(flag: &str, name: &str, why: &str, or: &str) -> Stop {
    let text = format!("{flag} has no effect on a picture of `{}`: {why}", visible(name));
    Stop::new(Exit::Usage, text, Some(format!("leave out {flag}{or}")))
}

/// Whether a value can be a pixel.
fn is_pixel(ty: Type) -> bool {
    ty.lanes().is_some_and(|(_, n)| n <= 4) && ty != Type::QUAT
}

/// The output that a picture shows, with its type: the requested one, the only image, the only value
/// that differs from pixel to pixel, or the only value that can be a pixel.
fn shown_output(program: &Program, asked: &[String]) -> Result<(String, Type), Stop> {
    let outputs = program.outputs();
    let is_image = |ty: Type| ty == Type::of::<Image>();
    let usage = |text: String, help: &str| Stop::new(Exit::Usage, text, Some(help.to_owned()));
    let named: Vec<_> = outputs
        .iter()
        .filter(|output| asked.is_empty() || asked.iter().any(|name| **name == *output.name))
        .collect();
    let mut found: Vec<_> = named.iter().filter(|output| is_image(output.ty)).collect();
    if found.is_empty() {
        found = named.iter().filter(|output| is_field(program, &output.name)).collect();
    }
    if found.is_empty() {
        found = named.iter().filter(|output| is_pixel(output.ty)).collect();
    }
    match found[..] {
        [output] => Ok((output.name.to_string(), output.ty)),
        [] => Err(usage(
            "no output is an image, a color, a number or a vector, so there is nothing to picture"
                .into(),
            "make an image of a field with `image.from_field`, or save the values as a table",
        )),
        [..] => {
            let names: Vec<String> =
                found.iter().map(|output| format!("`{}`", visible(&output.name))).collect();
            let text = format!("a picture shows one output, but there are {}", names.join(", "));
            Err(usage(text, "choose one with --out NAME"))
        }
    }
}

impl PictureTarget {
    /// Writes the pictures of an answer; the file is changed only if everything succeeds. Returns
    /// whether something was written. `n_elements` counts the elements of the request, whether or
    /// not they are asked for.
    pub(crate) fn save(
        &self,
        answer: &Answer,
        output: &str,
        (at, n_elements): (&Coordinates, Option<usize>),
    ) -> Result<bool, Stop> {
        let found = answer.output(output);
        let Some((found, series)) = found.and_then(|it| Some((it, it.known()?))) else {
            eprint(&format!("{} was not written\n", name_of(&self.path)));
            return Ok(false);
        };
        // A placeholder asks for a picture each, even if all are alike.
        let text = self.path.display().to_string();
        let mut axes = series.axes.clone();
        if text.contains('#') && at.moments.is_some() {
            axes.push(RequestAxis::Time);
        }
        if text.contains(VIEW) && !at.views.is_empty() {
            axes.push(RequestAxis::View);
        }
        if text.contains(INDEX) && n_elements.is_some() {
            axes.push(RequestAxis::Index);
        }
        let axes: Vec<RequestAxis> =
            RequestAxis::ALL.into_iter().filter(|axis| axes.contains(axis)).collect();
        match &series.data {
            Data::One(image) if axes.is_empty() => {
                self.write_and_report(&self.path_of(at.number(0)), &image_of(image))?;
            }
            _ => {
                let images = answer.column_over(series, &axes);
                let partial = found.partial.as_ref();
                let missing = partial.map(|it| answer.missing_over(it, &axes)).unwrap_or_default();
                self.write_sequence((&images, &missing), (answer, &axes), (at, n_elements))?;
            }
        }
        Ok(true)
    }

    /// The file of the only picture.
    fn path_of(&self, number: i64) -> PathBuf {
        match self.path.to_str() {
            Some(text) => numbered(text, number).into(),
            None => self.path.clone(),
        }
    }

    /// Writes one picture for each cell of these axes, such as each moment and view, apart from the
    /// missing ones.
    fn write_sequence(
        &self,
        (images, missing): (&Column, &Mask),
        (answer, axes): (&Answer, &[RequestAxis]),
        (at, n_elements): (&Coordinates, Option<usize>),
    ) -> Result<(), Stop> {
        let text = self.path.display().to_string();
        let extent = |axis| if axes.contains(&axis) { answer.extent(axis) } else { 1 };
        let (n_views, count) = (extent(RequestAxis::View), extent(RequestAxis::Index));
        let has_elements = axes.contains(&RequestAxis::Index);
        let has_index = has_elements && text.contains(INDEX);
        let n_moments = images.len() / (n_views * count).max(1);
        let n_numbered = if has_index { n_moments } else { n_moments * count };
        let usage = |n: usize, help: &str| {
            let text = format!("{n} pictures do not fit in one file `{text}`");
            Stop::new(Exit::Usage, text, Some(help.into()))
        };
        if n_views > 1 && !text.contains(VIEW) {
            let help = "write {view} in the file name in place of the view, such as out.{view}.png";
            return Err(usage(n_views, help));
        }
        if n_moments > 1 && count > 1 && !has_index {
            let help = "write {index} in the file name in place of the element, and # in place of the \
                        moment, such as out.{index}.####.png";
            return Err(usage(n_numbered, help));
        }
        if n_numbered > 1 && !text.contains('#') {
            let help = "write # in the file name in place of the number, such as out.####.png";
            return Err(usage(n_numbered, help));
        }
        for (i, image) in images.iter().enumerate().filter(|(i, _)| !missing.contains(*i)) {
            let (view, moment) = (i / count % n_views, i / (count * n_views));
            // Elements have their numbers among all elements, also if only some are asked for.
            let element = at.element(i % count);
            let number = match n_elements {
                Some(n) if n > 1 && has_elements && !has_index && n_moments == 1 => element as i64,
                _ => at.number(moment),
            };
            let mut name =
                at.views.get(view).map_or_else(|| text.clone(), |view| text.replace(VIEW, view));
            if has_index {
                name = name.replace(INDEX, &element.to_string());
            }
            self.write_and_report(Path::new(&numbered(&name, number)), &image_of(&image))?;
        }
        Ok(())
    }

    fn write_and_report(&self, path: &Path, image: &Image) -> Result<(), Stop> {
        report_written(path, &self.write_image(path, image)?);
        Ok(())
    }

    /// Writes an image to a file of the target's format, without a report.
    pub(crate) fn write_image(&self, path: &Path, image: &Image) -> Result<PictureSpec, Stop> {
        let options = PictureOptions { depth: self.depth, transfer: self.transfer };
        let written = match stdout_of(path) {
            Some(mut out) => write_image_to(STDOUT, &mut out, self.format, options, image),
            None => write_image(path, Some(self.format), options, image),
        };
        written.map_err(|error| stop(&error))?;
        Ok(PictureSpec::of_image(self.format, options, image))
    }

    /// Evaluates and writes a large view strip by strip; `None` if the view is not large, or if a
    /// node needs the whole of it.
    pub(crate) fn in_strips(
        &self,
        program: &Program,
        evaluator: &mut dyn Evaluator,
        request: &Request,
        (output, number): (&str, i64),
    ) -> Result<Option<Exit>, Stop> {
        let path = &self.path_of(number);
        let Some(Given::One(view)) = request.of_feature(&Feature::Footprint) else {
            return Ok(None);
        };
        let view = &Footprint::from_value(view).expect("the feature is a view");
        let n_pixels = view.n_pixels().unwrap_or(usize::MAX);
        if !strips::is_large(n_pixels) {
            return Ok(None);
        }
        let [width, height] = view.size();
        if let Some(node) = program.whole_view_node(output) {
            let most = request.limits.image_pixels;
            if n_pixels <= most {
                return Ok(None);
            }
            let text = format!(
                "`{}` needs the whole picture of {width} by {height} pixels, so it cannot be \
                 written strip by strip; the limit is {most} pixels",
                visible(&node)
            );
            let help = "raise it with --limit image_pixels=N, if memory suffices for all pixels";
            return Err(Stop::new(Exit::Failed, text, Some(help.into())));
        }
        let most = request.limits.image_pixels.saturating_mul(IN_STRIPS);
        if n_pixels > most {
            let text =
                format!("a picture of {width} by {height} pixels; the limit is {most} pixels");
            let help = format!(
                "raise it with --limit image_pixels=N; a picture in strips may have {IN_STRIPS} N \
                 pixels"
            );
            return Err(Stop::new(Exit::Failed, text, Some(help)));
        }
        let evaluate = program.in_tiles(evaluator);
        let mut strips = Strips { evaluate, request, view, output, path };
        let mut strip = match strips.first()? {
            First::Strip(strip) => strip,
            First::Own(image) => {
                self.write_and_report(path, &image)?;
                return Ok(Some(Exit::Done));
            }
        };
        let n = strip.n_channels;
        let rows = |wanted: std::ops::Range<usize>| {
            let mut rows = Vec::with_capacity(wanted.len() * width * n);
            for row in wanted {
                if !strip.rows.contains(&row) {
                    // The memory of one strip at a time.
                    strip.values = Vec::new();
                    strip = strips.strip_from(row)?;
                }
                let at = (row - strip.rows.start) * width * n;
                rows.extend_from_slice(&strip.values[at..at + width * n]);
            }
            Ok(rows)
        };
        report_written(path, &self.write(path, (width, height, n), rows)?);
        Ok(Some(Exit::Done))
    }

    fn write(
        &self,
        path: &Path,
        (width, height, n_channels): (usize, usize, usize),
        mut rows: impl FnMut(std::ops::Range<usize>) -> Result<Vec<f32>, Stop>,
    ) -> Result<PictureSpec, Stop> {
        let mut spec = PictureSpec::new(self.format, [width, height], n_channels).depth(self.depth);
        spec.options.transfer = self.transfer;
        let written = match stdout_of(path) {
            Some(mut out) => write_picture_to(STDOUT, &mut out, &spec, &mut rows),
            None => write_picture(path, &spec, &mut rows),
        };
        written.map_err(|failure| match failure {
            PictureFailure::Io(error) => stop(&error),
            PictureFailure::Rows(stop) => stop,
        })?;
        Ok(spec)
    }
}

fn report_written(path: &Path, spec: &PictureSpec) {
    let (width, height) = (spec.width, spec.height);
    eprint(&format!("saved {width}x{height} pixels to {}, {}\n", name_of(path), spec.about()));
}

/// Standard output, if a target is that.
fn stdout_of(path: &Path) -> Option<BufWriter<Stdout>> {
    is_stdout(path).then(|| BufWriter::with_capacity(1 << 16, io::stdout()))
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// The name of a target for messages.
fn name_of(path: &Path) -> String {
    if is_stdout(path) { STDOUT.into() } else { path.display().to_string() }
}

fn image_of(value: &Value) -> Image {
    Image::from_value(value).expect("the output is an image")
}

/// The name with its last run of `#` replaced by the number, padded to at least as many digits.
pub(crate) fn numbered(name: &str, number: i64) -> String {
    let Some(end) = name.rfind('#').map(|at| at + 1) else { return name.to_owned() };
    let start = name[..end].trim_end_matches('#').len();
    format!("{}{number:0width$}{}", &name[..start], &name[end..], width = end - start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_padded_to_the_width_of_the_placeholder() {
        assert_eq!(numbered("a/out.####.png", 7), "a/out.0007.png");
        assert_eq!(numbered("#.png", 123), "123.png");
        assert_eq!(numbered("plain.png", 1), "plain.png");
        assert_eq!(numbered("a#b##", -1), "a#b-1");
    }
}
