//! The printer: from a syntax tree to text, laid out in one way.
//!
//! A statement stands on one line if it fits; else each argument of its call stands on a line.
//! Printing what was parsed from printed text gives the same text.

mod expression;
mod view;

use std::collections::HashSet;

pub(crate) use expression::is_special;

use serde_json::Value as Json;

use crate::json::write_value;
use crate::name;
use crate::tree::{InputLine, Item, LockLine, OutputLine, Tree, UseLine, What, at};

/// The intended width of lines.
const WIDTH: usize = 100;

/// The text of a tree; it ends with a line feed unless it is empty.
pub(crate) fn print(tree: &Tree<'_>) -> String {
    let room = tree.items.len() * 48;
    let mut printer =
        Printer { tree, out: String::with_capacity(room), line: 0, aliases: HashSet::new() };
    let mut is_in_group = false;
    let mut last: Option<&What<'_>> = None;
    for item in &tree.items {
        let closes = matches!(item.what, What::Close);
        let opens = matches!(item.what, What::Group(_));
        let after = match last {
            None | Some(What::Group(_)) => false,
            Some(What::Close) => true,
            Some(_) => item.after_blank || opens,
        };
        let is_nothing = matches!(item.what, What::End) && item.before.is_empty();
        if after && !is_nothing && !(closes && item.before.is_empty()) {
            printer.out.push('\n');
        }
        is_in_group &= !(closes && item.before.is_empty());
        printer.comments(item, if is_in_group { 2 } else { 0 });
        is_in_group &= !closes;
        printer.line = printer.out.len();
        printer.out.push_str(if is_in_group { "  " } else { "" });
        printer.statement(&item.what, if is_in_group { 2 } else { 0 });
        if let Some(beside) = tree.beside(item) {
            printer.out.push_str("  #");
            printer.comment(beside);
        }
        if !matches!(item.what, What::End) {
            printer.out.push('\n');
        }
        is_in_group |= opens;
        last = Some(&item.what);
    }
    printer.out
}

struct Printer<'a, 't> {
    tree: &'a Tree<'t>,
    out: String,
    /// The start of the line.
    line: usize,
    /// The names of used documents so far.
    aliases: HashSet<&'a str>,
}

impl<'a, 't> Printer<'a, 't> {
    fn comments(&mut self, item: &Item<'t>, indent: usize) {
        for comment in self.tree.before(item) {
            self.spaces(indent);
            self.out.push('#');
            self.comment(comment);
            self.out.push('\n');
        }
    }

    fn comment(&mut self, text: &str) {
        if !text.is_empty() {
            self.out.push(' ');
        }
        self.out.push_str(text);
    }

    fn spaces(&mut self, n: usize) {
        self.out.extend(std::iter::repeat_n(' ', n));
    }

    /// Whether the line is longer than intended.
    fn is_wide(&self) -> bool {
        let line = &self.out[self.line..];
        line.len() > WIDTH && line.chars().count() > WIDTH
    }

    fn statement(&mut self, what: &'a What<'_>, indent: usize) {
        match what {
            What::Format(format) => self.out.push_str(&format!("millstream {format}")),
            What::Schema(address) => self.text_after("schema ", address),
            What::Title(title) => self.text_after("name ", title),
            What::Fps(fps) => self.out.push_str(&format!("fps {}", number(*fps))),
            What::StartFrame(frame) => self.out.push_str(&format!("start_frame {frame}")),
            What::Use(line) => {
                let UseLine { name, path } = &**line;
                self.aliases.insert(name);
                self.out.push_str("use ");
                name::write(name, &mut self.out);
                self.text_after(" = ", path);
            }
            What::Lock(line) => {
                let LockLine { name, format, hash } = &**line;
                self.out.push_str("lock ");
                name::write(name, &mut self.out);
                self.text_after(&format!(" = {format} "), hash);
            }
            What::Input(input) => {
                self.out.push_str("input ");
                self.input(&self.tree.inputs[*input as usize]);
            }
            What::Output(output) => {
                self.out.push_str("output ");
                self.output(&self.tree.outputs[*output as usize], indent);
            }
            What::Node { name, value } => {
                name::write(name, &mut self.out);
                self.out.push_str(" = ");
                self.fitted(*value, indent);
            }
            What::Group(group) => self.group(*group as usize),
            What::Close => self.out.push('}'),
            What::View(view) => view::write(view, &mut self.out),
            What::End => {}
        }
    }

    fn text_after(&mut self, before: &str, text: &str) {
        self.out.push_str(before);
        self.out.push_str(&Json::from(text).to_string());
    }

    fn input(&mut self, line: &InputLine<'_>) {
        name::write(&line.name, &mut self.out);
        self.out.push_str(": ");
        self.ty(&line.ty);
        if let Some(default) = &line.default {
            self.out.push_str(" = ");
            write_value(default, &mut self.out);
        }
        for (word, bound) in [("from", line.min), ("to", line.max), ("step", line.step)] {
            if let Some(bound) = bound {
                self.out.push_str(&format!(" {word} {}", number(bound)));
            }
        }
        self.notes(line.about.as_deref(), line.unit.as_deref());
    }

    fn output(&mut self, line: &OutputLine<'_>, indent: usize) {
        name::write(&line.name, &mut self.out);
        self.out.push_str(": ");
        self.ty(&line.ty);
        if let Some(value) = line.value {
            self.out.push_str(" = ");
            self.fitted(value, indent);
        }
        self.notes(line.about.as_deref(), line.unit.as_deref());
    }

    fn notes(&mut self, about: Option<&str>, unit: Option<&str>) {
        if let Some(about) = about {
            self.text_after(" ", about);
        }
        match unit {
            Some(unit) if name::is_plain(unit) => self.out.push_str(&format!(" in {unit}")),
            Some(unit) => self.text_after(" in ", unit),
            None => {}
        }
    }

    fn ty(&mut self, ty: &str) {
        if is_plain_type(ty) {
            self.out.push_str(ty);
        } else {
            name::write_quoted(ty, &mut self.out);
        }
    }

    fn group(&mut self, group: usize) {
        let start = self.out.len();
        self.face(group, false);
        if self.is_wide() {
            self.out.truncate(start);
            self.face(group, true);
        }
        if let Some(about) = &self.tree.groups[group].about {
            self.text_after("\n  ", about);
        }
    }

    /// The first line of a group, or a line for each input, and for each output of several.
    fn face(&mut self, group: usize, is_broken: bool) {
        let tree = self.tree;
        let group = &tree.groups[group];
        self.out.push_str("group ");
        name::write(&group.name, &mut self.out);
        self.out.push('(');
        let inputs = &tree.inputs[at(&group.inputs)];
        for (i, input) in inputs.iter().enumerate() {
            self.before_item(i, is_broken);
            self.input(input);
        }
        self.after_items(inputs.len(), is_broken);
        self.out.push(')');
        let outputs = &tree.outputs[at(&group.outputs)];
        match outputs {
            [] => {}
            [output] => {
                self.out.push_str(" -> ");
                self.output(output, 0);
            }
            outputs => {
                self.out.push_str(" -> (");
                for (i, output) in outputs.iter().enumerate() {
                    self.before_item(i, is_broken);
                    self.output(output, 2);
                }
                self.after_items(outputs.len(), is_broken);
                self.out.push(')');
            }
        }
        self.out.push_str(" {");
    }

    fn before_item(&mut self, position: usize, is_broken: bool) {
        match (position, is_broken) {
            (0, true) => self.out.push_str("\n  "),
            (0, false) => {}
            (_, true) => self.out.push_str(",\n  "),
            (_, false) => self.out.push_str(", "),
        }
        if is_broken {
            self.line = self.out.len() - 2;
        }
    }

    fn after_items(&mut self, n: usize, is_broken: bool) {
        if is_broken && n > 0 {
            self.out.push_str(",\n");
            self.line = self.out.len();
        }
    }
}

/// A number as short as it reads back.
pub(crate) fn number(number: f64) -> String {
    let text = Json::from(number).to_string();
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

/// Whether the name of a type is written without quotes: a plain name, or lists of such.
fn is_plain_type(ty: &str) -> bool {
    let end = ty.find('<').unwrap_or(ty.len());
    let (outer, inner) = ty.split_at(end);
    if !name::is_plain(outer) {
        return false;
    }
    name::type_end(inner, 0) == (inner.len(), 0)
}
