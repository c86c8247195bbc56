//! An explanation as an SVG image: boxes with their sockets, links as curves, colors with a legend,
//! and nodes that do not run in gray.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use millstream_base::diagnostics::counted;

use super::coloring::{Coloring, Entry, Painter};
use super::layout::{Box, Layout, Link, layout};
use super::text::{run_text, shortened, source, summary, told_time};
use super::{Body, Explanation, Fate, From, Node, Region, Rounds};

/// Width of a character of the running text, in pixels.
const CHAR: f64 = 6.2;
const ROW: f64 = 16.0;
const HEAD: f64 = 38.0;
const FOOT: f64 = 20.0;
const MARGIN: f64 = 24.0;

/// The margin of the strip of a region around its cards.
const HALO: f64 = 8.0;

/// The colors of regions, in turn.
const REGION_COLORS: [&str; 6] = ["#d5ece8", "#e9e2f3", "#f5e6d3", "#dde9f5", "#f3dede", "#e6edd0"];

/// Maximal number of nodes in a picture: larger ones take long to lay out and are unreadable.
const MAX_NODES: usize = 3000;

/// The document is too large for a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("a picture of {n} nodes would be too large")]
#[diagnostic(code(explain::too_large), help("up to {MAX_NODES} are drawn; take text, json or dot"))]
pub struct TooLarge {
    /// The number of nodes.
    pub n: usize,
}

/// The explanation as an SVG image.
///
/// # Errors
/// If there are more nodes than can be drawn.
pub fn svg(explanation: &Explanation, coloring: Coloring) -> Result<String, TooLarge> {
    let n = explanation.nodes.len();
    if n > MAX_NODES {
        return Err(TooLarge { n });
    }
    let painter = Painter::new(explanation, coloring);
    let cards: Vec<Card> = explanation
        .nodes
        .iter()
        .map(|node| Card::of_node(explanation, node, painter.colors(node)))
        .chain(explanation.outputs.iter().map(|output| Card {
            title: output.name.clone(),
            group: String::new(),
            subtitle: format!("output: {}", output.ty),
            rows: match &output.from {
                From::Constant(value) => vec![Row { left: shortened(value), right: String::new() }],
                From::Node { .. } => Vec::new(),
            },
            foot: String::new(),
            colors: vec!["#ffffff"],
            runs: true,
            is_end: true,
            tooltip: String::new(),
        }))
        .collect();
    let boxes: Vec<Box> = cards
        .iter()
        .enumerate()
        .map(|(i, card)| Box { width: card.width(), height: card.height(), is_last: i >= n })
        .collect();
    let links = links(explanation);
    let mut layout = layout(&boxes, &links.iter().map(|(link, _)| *link).collect::<Vec<_>>());
    layout.width = layout.width.max(560.0);
    let mut out = String::new();
    head(&mut out, explanation, &layout, &painter.legend(explanation));
    write_gradients(&mut out, &cards);
    write_regions(&mut out, explanation, &layout, &boxes, &links);
    for (way, (_, runs)) in layout.ways.iter().zip(&links) {
        write_way(&mut out, way, *runs);
    }
    for ((card, corner), b) in cards.iter().zip(&layout.corners).zip(&boxes) {
        card.write(&mut out, *corner, b);
    }
    out.push_str("</g>\n</svg>\n");
    Ok(out)
}

/// The links, each with a flag for those in the plan.
fn links(explanation: &Explanation) -> Vec<(Link, bool)> {
    let n = explanation.nodes.len();
    let port = |node: usize, output: usize| {
        let node = &explanation.nodes[node];
        if node.is_input { HEAD / 2.0 } else { HEAD + ROW * (output as f64 + 0.5) }
    };
    let mut links = Vec::new();
    for (i, node) in explanation.nodes.iter().enumerate() {
        for (row, socket) in node.inputs.iter().enumerate() {
            if let From::Node { node: from, output } = socket.from {
                let to_port = HEAD + ROW * (row as f64 + 0.5);
                let link = Link { from, from_port: port(from, output), to: i, to_port };
                let is_kept = |node: &Node| {
                    matches!(node.fate, Fate::Kept | Fate::As(_)) && !node.stood_still()
                };
                let runs = is_kept(node) && is_kept(&explanation.nodes[from]);
                links.push((link, runs));
            }
        }
    }
    for (i, output) in explanation.outputs.iter().enumerate() {
        if let From::Node { node: from, output } = output.from {
            let from_port = port(from, output);
            let link = Link { from, from_port, to: n + i, to_port: HEAD / 2.0 };
            links.push((link, true));
        }
    }
    links
}

/// The text on a box.
struct Card {
    title: String,
    /// The groups around the node.
    group: String,
    subtitle: String,
    rows: Vec<Row>,
    foot: String,
    /// The colors of its head, side by side.
    colors: Vec<&'static str>,
    runs: bool,
    /// Whether it is an input or output of the graph.
    is_end: bool,
    tooltip: String,
}

/// A socket on either side.
struct Row {
    left: String,
    right: String,
}

impl Card {
    fn of_node(explanation: &Explanation, node: &Node, colors: Vec<&'static str>) -> Self {
        let label = node.label();
        let (group, title) = match label.rsplit_once('/') {
            Some((group, title)) => (format!("{group} /"), title.to_owned()),
            None => (String::new(), label),
        };
        let n_rows = if node.is_input { 0 } else { node.inputs.len().max(node.outputs.len()) };
        let row = |i: usize| {
            let left = node.inputs.get(i).map_or_else(String::new, |socket| match &socket.from {
                From::Constant(value) => format!("{} {}", socket.name, clipped(value, 18)),
                From::Node { .. } => socket.name.clone(),
            });
            let right = node.outputs.get(i).map_or_else(String::new, |(name, ty)| {
                if name == "value" { ty.to_string() } else { format!("{name}: {ty}") }
            });
            Row { left, right }
        };
        let mut subtitle = node.node_type.clone();
        if node.is_input {
            let is_read = node.fate == Fate::Kept;
            subtitle = format!("input: {subtitle}{}", if is_read { "" } else { ", not read" });
        }
        if let Some((_, json)) = node.settings.first() {
            write!(subtitle, "  {}", clipped(json, 28)).expect("strings take all text");
        }
        let mut foot = match &node.fate {
            Fate::Kept => foot(node),
            Fate::Scoped(_) => format!("{}; other contexts", foot(node)),
            Fate::As(ty) => format!("{}; as {}", foot(node), clipped(ty, 24)),
            Fate::Constant(values) => format!("constant {}", clipped(&values.join(", "), 24)),
            Fate::SameAs(other) => {
                format!("merged into {}", clipped(&explanation.nodes[*other].label(), 24))
            }
            Fate::Replaced(from) => {
                format!("is {}", clipped(&source(&explanation.nodes, from), 24))
            }
            Fate::Resolved(from) => {
                format!("is {} with this", clipped(&source(&explanation.nodes, from), 24))
            }
            Fate::Unread => "not read".into(),
        };
        let mut tooltip = format!("{}: {}; runs {}", node.label(), node.class, node.runs);
        if let Some(Body::Here(body)) = &node.body {
            let inside: Vec<String> =
                body.nodes.iter().filter(|node| !node.is_input).map(Node::label).collect();
            write!(tooltip, "; each round runs {}", clipped(&inside.join(", "), 200))
                .expect("strings take all text");
        }
        if let Some(rounds) = &node.rounds {
            write!(tooltip, "; {}", rounds.text(explanation)).expect("strings take all text");
            if matches!(rounds, Rounds::Folded { .. }) {
                foot.push_str("; folded");
            }
        }
        if let (Some(entry), Some(text)) = (&node.run, run_text(node)) {
            let (runs, time) = (counted(entry.runs.into(), "run"), told_time(entry));
            let why = entry.fate.why();
            foot = if let Some(failure) = &node.failure {
                format!("failed: {}", clipped(failure, 40))
            } else if entry.fate.ran() {
                format!("{runs}, {time}, {why}")
            } else {
                format!("did not run: {why}")
            };
            write!(tooltip, "; {text}").expect("strings take all text");
        }
        if node.is_input {
            foot.clear();
        }
        Self {
            subtitle,
            title,
            group,
            rows: (0..n_rows).map(row).collect(),
            foot,
            colors,
            runs: matches!(node.fate, Fate::Kept | Fate::As(_)) && !node.stood_still(),
            is_end: node.is_input,
            tooltip,
        }
    }

    fn width(&self) -> f64 {
        let chars = |text: &str| text.chars().count() as f64;
        let title = chars(&self.title) * CHAR * 1.28 + chars(&self.group) * CHAR * 1.12;
        let rows = self.rows.iter().map(|row| (chars(&row.left) + chars(&row.right) + 3.0) * CHAR);
        let widest = rows.fold(title.max(chars(&self.subtitle) * CHAR * 0.92), f64::max);
        let widest = widest.max(chars(&self.foot) * CHAR * 0.92);
        if self.is_end { (widest + 36.0).max(84.0) } else { (widest + 22.0).max(120.0) }
    }

    fn height(&self) -> f64 {
        let foot = if self.foot.is_empty() { 0.0 } else { FOOT };
        let rows = if self.rows.is_empty() { 0.0 } else { ROW * self.rows.len() as f64 + 4.0 };
        HEAD + rows + foot
    }

    fn write(&self, out: &mut String, (x, y): (f64, f64), size: &Box) {
        let (width, height) = (size.width, size.height);
        let class = if self.runs { "card" } else { "card gone" };
        push(out, format_args!("<g class=\"{class}\" transform=\"translate({x:.1} {y:.1})\">"));
        if !self.tooltip.is_empty() {
            push(out, format_args!("<title>{}</title>", escaped(&self.tooltip)));
        }
        let radius = if self.is_end { HEAD / 2.0 } else { 7.0 };
        push(
            out,
            format_args!(
                "<rect class=\"body\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{radius}\"/>"
            ),
        );
        let fill = fill(&self.colors);
        if self.is_end {
            push(
                out,
                format_args!(
                    "<rect width=\"{width:.1}\" height=\"{HEAD}\" rx=\"{radius}\" fill=\"{fill}\" class=\"edge\"/>"
                ),
            );
        } else {
            push(
                out,
                format_args!(
                    "<path d=\"M0 {HEAD}V7a7 7 0 0 1 7 -7H{:.1}a7 7 0 0 1 7 7V{HEAD}Z\" fill=\"{fill}\"/>\
                 <rect class=\"edge\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{radius}\" fill=\"none\"/>",
                    width - 7.0
                ),
            );
        }
        let inset = if self.is_end { 18.0 } else { 10.0 };
        let group = match self.group.as_str() {
            "" => String::new(),
            group => format!("<tspan class=\"group\">{} </tspan>", escaped(group)),
        };
        push(
            out,
            format_args!(
                "<text x=\"{inset}\" y=\"16\" class=\"title\">{group}{}</text><text x=\"{inset}\" y=\"30\" class=\"type\">{}</text>",
                escaped(&self.title),
                escaped(&self.subtitle)
            ),
        );
        for (i, row) in self.rows.iter().enumerate() {
            let y = HEAD + ROW * (i as f64 + 0.5) + 4.0;
            if !row.left.is_empty() {
                push(out, format_args!("<text x=\"10\" y=\"{y}\">{}</text>", escaped(&row.left)));
            }
            if !row.right.is_empty() && !self.is_end {
                push(
                    out,
                    format_args!(
                        "<text x=\"{:.1}\" y=\"{y}\" class=\"out\">{}</text>",
                        width - 10.0,
                        escaped(&row.right)
                    ),
                );
            }
        }
        if !self.foot.is_empty() {
            push(
                out,
                format_args!(
                    "<text x=\"10\" y=\"{:.1}\" class=\"foot\">{}</text>",
                    height - 7.0,
                    escaped(&self.foot)
                ),
            );
        }
        out.push_str("</g>\n");
    }
}

/// The number of runs of a node, in few characters.
fn foot(node: &Node) -> String {
    let per = match node.axes.as_slice() {
        [] => "once".to_owned(),
        axes => format!("per {}", axes.join(", ")),
    };
    let needs: Vec<&str> = node.needs.iter().map(String::as_str).collect();
    if needs.is_empty() { per } else { format!("{per}; needs {}", clipped(&needs.join(", "), 30)) }
}

/// Draws a strip in the color of each region behind its cards and along the links within it.
fn write_regions(
    out: &mut String,
    explanation: &Explanation,
    layout: &Layout,
    boxes: &[Box],
    links: &[(Link, bool)],
) {
    let region_of = |node: usize| {
        let node = explanation.nodes.get(node)?;
        explanation.region_of(node).map(|(region, _)| region)
    };
    for (i, region) in explanation.regions.iter().enumerate() {
        if region.nodes.len() < 2 {
            continue;
        }
        let (name, color) = (Region::name(i), REGION_COLORS[i % REGION_COLORS.len()]);
        let n = region.nodes.len();
        push(
            out,
            format_args!(
                "<g class=\"region\" fill=\"{color}\" stroke=\"{color}\"><title>region {name}: {n} nodes run as one</title>\n"
            ),
        );
        for (way, (link, _)) in layout.ways.iter().zip(links) {
            if region_of(link.from) == Some(i) && region_of(link.to) == Some(i) {
                write_curve(out, "within", way);
                out.push_str("\"/>\n");
            }
        }
        for node in &region.nodes {
            let ((x, y), size) = (layout.corners[*node], &boxes[*node]);
            let (x, y) = (x - HALO, y - HALO);
            let (width, height) = (size.width + 2.0 * HALO, size.height + 2.0 * HALO);
            push(
                out,
                format_args!(
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"12\" stroke=\"none\"/>\n"
                ),
            );
        }
        let (x, y) = layout.corners[region.nodes[0]];
        push(
            out,
            format_args!(
                "<text x=\"{:.1}\" y=\"{:.1}\" class=\"foot\" stroke=\"none\">region {name}</text></g>\n",
                x,
                y - HALO - 3.0
            ),
        );
    }
}

fn write_curve(out: &mut String, class: &str, way: &[(f64, f64)]) {
    let (x, y) = way[0];
    push(out, format_args!("<path class=\"{class}\" d=\"M{x:.1} {y:.1}"));
    for pair in way.windows(2) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        let bend = ((x1 - x0) * 0.5).max(12.0);
        push(
            out,
            format_args!("C{:.1} {y0:.1} {:.1} {y1:.1} {x1:.1} {y1:.1}", x0 + bend, x1 - bend),
        );
    }
}

fn write_way(out: &mut String, way: &[(f64, f64)], runs: bool) {
    let class = if runs { "link" } else { "link gone" };
    write_curve(out, class, way);
    out.push_str("\"/>");
    let (x, y) = way[0];
    let (x1, y1) = way[way.len() - 1];
    push(
        out,
        format_args!(
            "<circle class=\"{class} end\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\"/>\
         <circle class=\"{class} end\" cx=\"{x1:.1}\" cy=\"{y1:.1}\" r=\"2.6\"/>\n"
        ),
    );
}

/// The name of the gradient of several colors that stand side by side.
fn gradient(colors: &[&str]) -> String {
    let names: Vec<&str> = colors.iter().map(|color| color.trim_start_matches('#')).collect();
    format!("g{}", names.join("-"))
}

/// Writes each gradient that cards have, once.
fn write_gradients(out: &mut String, cards: &[Card]) {
    let several: BTreeSet<&[&str]> =
        cards.iter().map(|card| &card.colors[..]).filter(|colors| colors.len() > 1).collect();
    for colors in several {
        push(out, format_args!("<linearGradient id=\"{}\">", gradient(colors)));
        let n = colors.len() as f64;
        for (i, color) in colors.iter().enumerate() {
            for end in [i, i + 1] {
                let offset = end as f64 / n;
                push(out, format_args!("<stop offset=\"{offset:.3}\" stop-color=\"{color}\"/>"));
            }
        }
        out.push_str("</linearGradient>\n");
    }
}

/// The color of the head of a card; several stand side by side, as a gradient.
fn fill(colors: &[&'static str]) -> String {
    match colors {
        [first, _, ..] => format!("url(#{}) {first}", gradient(colors)),
        _ => colors[0].to_owned(),
    }
}

fn head(out: &mut String, explanation: &Explanation, layout: &Layout, legend: &[Entry]) {
    let width = layout.width + 2.0 * MARGIN;
    let mut marks = String::new();
    let (mut x, mut y) = (MARGIN, 60.0);
    for (color, name) in legend {
        let wide = 36.0 + name.chars().count() as f64 * CHAR;
        if x > MARGIN && x + wide > width - MARGIN {
            (x, y) = (MARGIN, y + ROW);
        }
        push(
            &mut marks,
            format_args!(
                "<rect x=\"{x:.1}\" y=\"{y}\" width=\"12\" height=\"12\" rx=\"3\" fill=\"{color}\" class=\"edge\"/>\
             <text x=\"{:.1}\" y=\"{}\" class=\"foot\">{}</text>\n",
                x + 17.0,
                y + 10.0,
                escaped(name)
            ),
        );
        x += wide;
    }
    let top = y + 12.0;
    let height = layout.height + top + 2.0 * MARGIN;
    push(
        out,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#f7f8fa\"/>\n"
        ),
    );
    push(
        out,
        format_args!(
            "<text x=\"{MARGIN}\" y=\"30\" class=\"name\">{}</text>\n<text x=\"{MARGIN}\" y=\"48\" class=\"foot\">{}</text>\n",
            escaped(if explanation.name.is_empty() { "unnamed" } else { &explanation.name }),
            escaped(&summary(explanation))
        ),
    );
    out.push_str(&marks);
    push(out, format_args!("<g transform=\"translate({MARGIN} {:.1})\">\n", top + MARGIN));
}

const STYLE: &str = "text{font:11px 'DejaVu Sans',Verdana,Helvetica,sans-serif;fill:#27303b}\
.name{font-size:17px;font-weight:600}.title{font-size:12px;font-weight:600}\
.group{font-weight:400;fill:#5b6675}.type{font-size:10px;fill:#4a5563}.foot{font-size:10px;fill:#5b6675}\
.out{text-anchor:end;fill:#5b6675}.body{fill:#fff}.edge{stroke:#8d98a7;stroke-width:1}\
.link{fill:none;stroke:#76859a;stroke-width:1.4}.end{fill:#76859a;stroke:none}\
.link.gone{stroke:#c3cad3;stroke-dasharray:4 3}.end.gone{fill:#c3cad3}\
.region .within{fill:none;stroke-width:14;stroke-linecap:round}.region text{fill:#5b6675}\
.card.gone text{fill:#98a2af}.card.gone .edge{stroke-dasharray:4 3;stroke:#b5bec9}";

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("strings take all text");
}

fn clipped(text: &str, n_chars: usize) -> String {
    if text.chars().count() <= n_chars {
        return text.to_owned();
    }
    format!("{}\u{2026}", text.chars().take(n_chars - 1).collect::<String>())
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
