//! `--plot FILE`: the outputs of a run as charts.

mod charts;
mod over;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use millstream::diagnostics::counted;
use millstream::evaluate::{Data, OutputAnswer};
use millstream::values::{Font, Image, Type, Value, ValueType};
use millstream::{Answer, Mask, Program, Request};

use crate::chart;
use crate::gaps::is_lost;
use crate::outcome::{Exit, Stop};
use crate::place::refuse_source;
use crate::save::write_complete;
use crate::summary::lanes_of;
use crate::tables::{Coordinates, tables};
use crate::terminal::{eprint, visible};

use charts::{Drawn, charts_of, of_image, of_singles};
use over::Over;

/// The maximum number of charts in a picture.
const MAX_CHARTS: usize = 8;

/// The flags of a plot.
#[derive(Clone, clap::Args)]
pub(crate) struct PlotArgs {
    /// Plot the outputs as lines, points, a histogram or a heat map, depending on their shape
    #[arg(long, value_name = "FILE.svg|png")]
    pub(crate) plot: Option<PathBuf>,
    /// With --plot: the kind of chart
    #[arg(long, value_enum, value_name = "KIND", requires = "plot")]
    plot_kind: Option<Kind>,
}

/// The kinds of charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// A line for each number, over the time, an ascending input or the position
    Lines,
    /// Points: the components of a vector, or the first output against the others
    Scatter,
    /// How often numbers occur
    Histogram,
    /// Colors for numbers over two axes
    HeatMap,
}

/// The file format of a plot.
#[derive(Clone, Copy)]
enum Form {
    Svg,
    Png,
}

/// A plot to be made.
pub(crate) struct Plot<'a> {
    path: &'a Path,
    form: Form,
    kind: Option<Kind>,
}

impl PlotArgs {
    /// The plot, if one is wanted. Other file types, and a file that is also read, are refused
    /// before anything is computed.
    pub(crate) fn plot(&self, sources: &[&Path]) -> Result<Option<Plot<'_>>, Stop> {
        let Some(path) = self.plot.as_deref() else { return Ok(None) };
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let form = match ending.as_deref() {
            Some("svg") => Form::Svg,
            Some("png") => Form::Png,
            Some(_) | None => {
                let text = format!("`{}` is not a picture file", path.display());
                let help = "name FILE.svg or FILE.png; --save writes data";
                return Err(Stop::new(Exit::Usage, text, Some(help.into())));
            }
        };
        refuse_source(path, sources)?;
        Ok(Some(Plot { path, form, kind: self.plot_kind }))
    }
}

impl Plot<'_> {
    /// Plots the outputs of an answer and reports the charts. Failed values and values that are not
    /// finite leave gaps, which the report counts.
    pub(crate) fn draw(
        &self,
        program: &Program,
        request: &Request,
        only: Option<&Mask>,
        answer: &Answer,
        at: &Coordinates,
    ) -> Result<(), Stop> {
        if !answer.outputs.is_empty() && answer.outputs.iter().all(is_lost) {
            let path = self.path.display().to_string();
            eprint(&format!("{} was not drawn because no output has a value\n", visible(&path)));
            return Ok(());
        }
        let document = program.document();
        let unit = |name: &str| document.outputs.get(name).and_then(|it| it.unit.as_deref());
        let (mut all, mut shown): (Vec<Drawn>, Vec<String>) = Default::default();
        for table in &tables(answer, at, 1) {
            let over = Over::of(table, program, request, only, answer, at);
            let (charts, names) = charts_of(table, &over, self.kind, &unit);
            all.extend(charts);
            shown.extend(names);
        }
        for output in &answer.outputs {
            let Some(value) = only_value(output) else { continue };
            let Some(image) = Image::from_value(&value) else { continue };
            all.extend(of_image(&output.name, &image, unit(&output.name), self.kind));
            shown.push(output.name.to_string());
        }
        let are_single = all.is_empty();
        if are_single {
            all.extend(of_singles(answer, &unit));
        }
        all.retain(|drawn| drawn.chart.is_drawn());
        if are_single && self.kind.is_some() && !all.is_empty() {
            let text = "--plot-kind has no effect: every output is a single value";
            let help = "leave it out, or evaluate many elements (--count) or moments (--time)";
            return Err(Stop::new(Exit::Usage, text, Some(help.into())));
        }
        if all.is_empty() {
            return Err(nothing(answer));
        }
        let n_more = all.len().saturating_sub(MAX_CHARTS);
        all.truncate(MAX_CHARTS);
        let lacks: Vec<String> = all.iter().flat_map(|drawn| drawn.lacks.clone()).collect();
        let (names, charts): (Vec<String>, Vec<_>) =
            all.into_iter().map(|drawn| (drawn.about, drawn.chart)).unzip();
        let title = if document.name.is_empty() { "" } else { &*document.name };
        let bytes = match self.form {
            Form::Svg => chart::svg(title, &charts).into_bytes(),
            Form::Png => chart::png(title, &charts),
        };
        write_complete(self.path, &bytes)?;
        let path = self.path.display();
        eprint(&format!("drew {path}: {}\n", visible(&names.join("; "))));
        if !lacks.is_empty() {
            eprint(&format!("missing values: {}\n", visible(&lacks.join("; "))));
        }
        if matches!(self.form, Form::Png) {
            let texts = charts.iter().flat_map(chart::Chart::texts).chain([title]);
            let unknown = letters_without_glyph(texts);
            if !unknown.is_empty() {
                let help = "an svg is drawn with the fonts of its viewer";
                eprint(&format!("letters without a glyph: {}; {help}\n", visible(&unknown)));
            }
        }
        if n_more > 0 {
            let text = "the maximum is";
            eprint(&format!(
                "{n_more} more are not drawn: {text} {MAX_CHARTS}; choose with --out\n"
            ));
        }
        let left = answer.outputs.iter().filter(|it| !are_single && !is_lost(it));
        let left: Vec<&str> =
            left.map(|it| &*it.name).filter(|name| !shown.iter().any(|it| it == name)).collect();
        if !left.is_empty() {
            let names = left.join(", ");
            let help = "choose outputs of one shape with --out";
            eprint(&format!("not drawn: {}; {help}\n", visible(&names)));
        }
        Ok(())
    }
}

/// The letters of texts that the font of pictures lacks, each once.
fn letters_without_glyph<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let font = Font::built_in();
    let letters: BTreeSet<char> = texts.flat_map(str::chars).collect();
    letters.into_iter().filter(|letter| !font.has_glyph(*letter)).collect()
}

/// The value of an output that has only one.
fn only_value(output: &OutputAnswer) -> Option<Value> {
    match &output.known()?.data {
        Data::One(value) => Some(value.clone()),
        Data::Many(column) if column.len() == 1 => Some(column.get(0)),
        Data::Many(_) => None,
    }
}

/// The error if no output can be plotted.
fn nothing(answer: &Answer) -> Stop {
    let has_numbers = answer.outputs.iter().any(|output| {
        let ty: Type = output.ty.element().unwrap_or(output.ty);
        ty.lanes().is_some_and(|(_, n)| n <= 4)
    });
    let has_images = answer.outputs.iter().any(|output| output.ty == Type::of::<Image>());
    if has_images {
        return several_images(answer);
    }
    let (text, help) = if answer.outputs.is_empty() {
        ("the document has no outputs", "declare an output and plot that")
    } else if has_numbers {
        ("no output holds a finite number", "only finite numbers can be plotted")
    } else {
        (
            "no output holds numbers or vectors",
            "plot numeric outputs; `--save FILE.json` writes values of all types",
        )
    };
    Stop::new(Exit::Failed, format!("there is nothing to plot: {text}"), Some(help.into()))
}

/// The error for image outputs none of which is a single image.
fn several_images(answer: &Answer) -> Stop {
    let images = answer.outputs.iter().filter(|output| output.ty == Type::of::<Image>());
    let counted = images.map(|output| {
        let data = output.known().map(|series| &series.data);
        let n = data.map_or(0, |data| match data {
            Data::One(_) => 1,
            Data::Many(column) => column.len(),
        });
        format!("{} of `{}`", counted(n as u64, "image"), visible(&output.name))
    });
    let counted: Vec<String> = counted.collect();
    let text = format!(
        "there is nothing to plot: a plot shows one image of an output, but there are {}",
        counted.join(" and ")
    );
    let help = "ask for one moment, one view and one element, or choose other outputs with --out \
                NAME; --save writes several images";
    Stop::new(Exit::Usage, text, Some(help.into()))
}

/// A name with its unit.
fn with_unit(name: &str, unit: Option<&str>) -> String {
    match unit {
        Some(unit) if name.is_empty() => format!("in {unit}"),
        Some(unit) => format!("{name} in {unit}"),
        None => name.to_owned(),
    }
}

/// Whether any of the lanes of a column of this type can be drawn.
fn is_drawable(name: &str, column: &millstream::Column) -> bool {
    !lanes_of(name, &column.slice(0..0)).is_empty()
}
