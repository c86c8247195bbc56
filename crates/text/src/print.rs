//! The printer: from a syntax tree to text in a canonical format.
//!
//! A statement is on one line if it fits; otherwise each argument of its call is on a line. Parsing
//! and printing printed text gives the same text.

mod expression;
mod view;

use std::collections::HashSet;

pub(crate) use expression::is_special;

use serde_json::Value as Json;

use crate::json::write_value;
use crate::name;
use crate::token::write_comment;
use crate::tree::{
    Arg, ArgTo, ExprId, InputLine, Item, LockLine, OutputLine, Tree, UseLine, What, at,
};

/// The intended width of lines.
const WIDTH: usize = 100;

/// The text of a tree; it ends with a line feed unless it is empty.
pub(crate) fn print(tree: &Tree<'_>) -> String {
    let room = tree.items.len() * 48;
    let mut printer =
        Printer { tree, out: String::with_capacity(room), line: 0, aliases: HashSet::new() };
    // For each open group whether it is a block.
    let mut open: Vec<bool> = Vec::new();
    let mut last: Option<&What<'_>> = None;
    let mut after_group = false;
    for item in &tree.items {
        let closes = matches!(item.what, What::Close);
        let after = match last {
            None | Some(What::Group(_) | What::Block { .. }) => false,
            Some(_) => after_group || item.after_blank || matches!(item.what, What::Group(_)),
        };
        let is_nothing = matches!(item.what, What::End) && item.before.is_empty();
        let looks_like_start = printer.out.is_empty()
            && !matches!(item.what, What::Start)
            && tree.before(item).first().is_some_and(|comment| comment.starts_with('!'));
        if looks_like_start || (after && !is_nothing && !(closes && item.before.is_empty())) {
            printer.out.push('\n');
        }
        printer.comments(item, 2 * open.len());
        let closed = if closes { open.pop() } else { None };
        after_group = closed == Some(false);
        let indent = 2 * open.len();
        printer.line = printer.out.len();
        printer.spaces(indent);
        printer.statement(&item.what, indent);
        if let Some(beside) = tree.beside(item) {
            printer.out.push_str("  #");
            write_comment(beside, &mut printer.out);
        }
        if !matches!(item.what, What::Start | What::End) {
            printer.out.push('\n');
        }
        match item.what {
            What::Group(_) => open.push(false),
            What::Block { .. } => open.push(true),
            _ => {}
        }
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
            write_comment(comment, &mut self.out);
            self.out.push('\n');
        }
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
                self.output(&self.tree.outputs[*output as usize], indent, true);
            }
            What::Node { name, value } => {
                name::write(name, &mut self.out);
                self.out.push_str(" = ");
                self.fitted(*value, indent);
            }
            What::Group(group) => self.group(*group as usize, indent),
            What::Block { name, group } => {
                name::write(name, &mut self.out);
                self.out.push_str(" = ");
                self.group(*group as usize, indent);
            }
            What::Close => self.out.push('}'),
            What::View(view) => view::write(view, &mut self.out),
            // Texts with unreadable statements are not printed.
            What::Start | What::End | What::Unread(_) => {}
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
        self.input_notes(line);
    }

    /// The clauses after the type and the value of an input.
    fn input_notes(&mut self, line: &InputLine<'_>) {
        for (word, bound) in [("from", line.min), ("to", line.max), ("step", line.step)] {
            if let Some(bound) = bound {
                self.out.push_str(&format!(" {word} {}", number(bound)));
            }
        }
        self.notes(line.about.as_deref(), line.unit.as_deref());
    }

    fn output(&mut self, line: &OutputLine<'_>, indent: usize, may_break: bool) {
        name::write(&line.name, &mut self.out);
        self.out.push_str(": ");
        self.ty(&line.ty);
        if let Some(value) = line.value {
            self.out.push_str(" = ");
            self.value(value, indent, may_break);
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

    /// The first line of a group, and its purpose; the line of a block starts with the call of its
    /// zone.
    fn group(&mut self, group: usize, indent: usize) {
        let (start, line) = (self.out.len(), self.line);
        self.face(group, indent, false);
        if self.is_wide() {
            self.out.truncate(start);
            self.line = line;
            self.face(group, indent, true);
        }
        if let Some(about) = &self.tree.groups[group].about {
            self.out.push('\n');
            self.spaces(indent + 2);
            self.text_after("", about);
        }
    }

    /// The first line of a group; if it is too long, a line for each input, and for each output if
    /// they are long.
    fn face(&mut self, group: usize, indent: usize, is_broken: bool) {
        let tree = self.tree;
        let group = &tree.groups[group];
        match group.zone.and_then(|zone| tree.call(zone)) {
            Some(call) => {
                self.opening(call);
                self.out.push('(');
                let args = tree.args_of(&call.args);
                for (i, arg) in args.iter().enumerate() {
                    self.before_item(i, indent, is_broken);
                    self.arg(arg, indent + 2, is_broken);
                }
                self.after_items(args.len(), indent, is_broken);
            }
            None => {
                self.out.push_str("group ");
                name::write(&group.name, &mut self.out);
                self.out.push('(');
                let inputs = &tree.inputs[at(&group.inputs)];
                for (i, input) in inputs.iter().enumerate() {
                    self.before_item(i, indent, is_broken);
                    self.input(input);
                }
                self.after_items(inputs.len(), indent, is_broken);
            }
        }
        self.out.push(')');
        let outputs = &tree.outputs[at(&group.outputs)];
        let (start, line) = (self.out.len(), self.line);
        self.outputs(outputs, indent, false);
        if is_broken && self.is_wide() {
            self.out.truncate(start);
            self.line = line;
            self.outputs(outputs, indent, true);
        }
    }

    /// The first line of a group from its outputs on.
    fn outputs(&mut self, outputs: &[OutputLine<'_>], indent: usize, is_broken: bool) {
        match outputs {
            [] => {}
            [output] => {
                self.out.push_str(" -> ");
                self.output(output, indent, is_broken);
            }
            outputs => {
                self.out.push_str(" -> (");
                for (i, output) in outputs.iter().enumerate() {
                    self.before_item(i, indent, is_broken);
                    self.output(output, indent + 2, is_broken);
                }
                self.after_items(outputs.len(), indent, is_broken);
                self.out.push(')');
            }
        }
        self.out.push_str(" {");
    }

    /// An argument of a call that opens a block.
    fn arg(&mut self, arg: &Arg<'_>, indent: usize, is_broken: bool) {
        let tree = self.tree;
        let line = match arg.to {
            ArgTo::Socket(at) | ArgTo::Item(at) => Some(&tree.inputs[at as usize]),
            _ => None,
        };
        match line {
            Some(line) => {
                name::write(&line.name, &mut self.out);
                self.out.push_str(": ");
                match arg.to {
                    ArgTo::Item(_) if name::leads(&line.ty) => {
                        name::write_quoted(&line.ty, &mut self.out);
                    }
                    _ => self.ty(&line.ty),
                }
                self.out.push_str(if matches!(arg.to, ArgTo::Item(_)) { " of " } else { " = " });
            }
            None => self.arg_name(arg),
        }
        self.value(arg.value, indent, is_broken);
        if let Some(line) = line {
            self.input_notes(line);
        }
    }

    fn value(&mut self, value: ExprId, indent: usize, may_break: bool) {
        if may_break {
            self.fitted(value, indent);
        } else {
            self.flat(value);
        }
    }

    fn before_item(&mut self, position: usize, indent: usize, is_broken: bool) {
        if position > 0 {
            self.out.push_str(if is_broken { "," } else { ", " });
        }
        if is_broken {
            self.new_line(indent + 2);
        }
    }

    fn after_items(&mut self, n: usize, indent: usize, is_broken: bool) {
        if is_broken && n > 0 {
            self.out.push(',');
            self.new_line(indent);
        }
    }
}

/// The shortest text of a number that reads back unchanged.
pub(crate) fn number(number: f64) -> String {
    let text = Json::from(number).to_string();
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

/// Whether the name of a type is written without quotes: a plain name, or lists of plain names.
fn is_plain_type(ty: &str) -> bool {
    let end = ty.find('<').unwrap_or(ty.len());
    let (outer, inner) = ty.split_at(end);
    if !name::is_plain(outer) {
        return false;
    }
    name::type_end(inner, 0) == Some(inner.len())
}
