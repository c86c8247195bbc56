//! Prints expressions, on one line or with a line for each argument.

use std::convert::Infallible;

use millstream_node::Zone;
use millstream_node::interface::CLOSURE;

use super::Printer;
use crate::formula;
use crate::json::write_value;
use crate::name;
use crate::tree::{Arg, ArgTo, Call, CallWord, ExprId, ExprKind, at};

/// Keywords before names, and words that are values.
const SPECIAL: [&str; 9] =
    ["true", "false", "null", "muted", "several", "input", "node", "group", CLOSURE];

/// Whether a reference of this name is written in back quotes.
pub(crate) fn is_special(name: &str) -> bool {
    !name::is_plain(name) || SPECIAL.contains(&name) || Zone::named(name).is_some()
}

impl Printer<'_, '_> {
    /// Prints an expression on the line, or on several if it is too long.
    pub(super) fn fitted(&mut self, expr: ExprId, indent: usize) {
        let start = self.out.len();
        self.flat(expr);
        if self.is_wide() && self.can_break(expr) {
            self.out.truncate(start);
            self.broken(expr, indent);
        }
    }

    fn can_break(&self, expr: ExprId) -> bool {
        match self.tree.kind(expr) {
            ExprKind::Call(call) => !self.tree.calls[*call as usize].args.is_empty(),
            ExprKind::Several(sources) => !sources.is_empty(),
            ExprKind::Member(of, _) => self.can_break(*of),
            _ => false,
        }
    }

    fn broken(&mut self, expr: ExprId, indent: usize) {
        let tree = self.tree;
        match tree.kind(expr) {
            ExprKind::Call(call) => {
                let call = &tree.calls[*call as usize];
                self.callee(call);
                self.out.push('(');
                for arg in tree.args_of(&call.args) {
                    self.new_line(indent + 2);
                    self.arg_name(arg);
                    self.fitted(arg.value, indent + 2);
                    self.out.push(',');
                }
                self.new_line(indent);
                self.out.push(')');
            }
            ExprKind::Several(sources) => {
                self.open_list(expr);
                for source in &tree.sources[at(sources)] {
                    self.new_line(indent + 2);
                    self.fitted(*source, indent + 2);
                    self.out.push(',');
                }
                self.new_line(indent);
                self.out.push(']');
            }
            ExprKind::Member(of, member) => {
                self.broken(*of, indent);
                self.out.push('.');
                name::write(member, &mut self.out);
            }
            _ => self.flat(expr),
        }
    }

    pub(super) fn new_line(&mut self, indent: usize) {
        self.out.push('\n');
        self.line = self.out.len();
        self.spaces(indent);
    }

    pub(super) fn flat(&mut self, expr: ExprId) {
        let tree = self.tree;
        match tree.kind(expr) {
            ExprKind::Literal(value) => write_value(value, &mut self.out),
            ExprKind::Ref { name, is_quoted } => {
                if *is_quoted || is_special(name) {
                    name::write_quoted(name, &mut self.out);
                } else {
                    self.out.push_str(name);
                }
            }
            ExprKind::Input(name) => {
                self.out.push_str("input ");
                name::write(name, &mut self.out);
            }
            ExprKind::Link(link) => {
                self.out.push_str("node ");
                name::write(&link.0, &mut self.out);
                self.out.push('.');
                name::write(&link.1, &mut self.out);
            }
            ExprKind::Member(of, member) => {
                self.flat(*of);
                self.out.push('.');
                name::write(member, &mut self.out);
            }
            ExprKind::Call(call) => {
                let call = &tree.calls[*call as usize];
                self.callee(call);
                self.out.push('(');
                for (i, arg) in tree.args_of(&call.args).iter().enumerate() {
                    self.out.push_str(if i > 0 { ", " } else { "" });
                    self.arg_name(arg);
                    self.flat(arg.value);
                }
                self.out.push(')');
            }
            ExprKind::Several(sources) => {
                self.open_list(expr);
                for (i, source) in tree.sources[at(sources)].iter().enumerate() {
                    self.out.push_str(if i > 0 { ", " } else { "" });
                    self.flat(*source);
                }
                self.out.push(']');
            }
            ExprKind::Formula { pieces, bound } => {
                let mut out = std::mem::take(&mut self.out);
                let written = formula::write(&tree.pieces[at(pieces)], &mut out, |out, operand| {
                    std::mem::swap(&mut self.out, out);
                    self.flat(operand);
                    std::mem::swap(&mut self.out, out);
                    Ok::<(), Infallible>(())
                });
                let Ok(()) = written;
                self.out = out;
                for (i, arg) in tree.args_of(bound).iter().enumerate() {
                    self.out.push_str(if i > 0 { ", " } else { " where " });
                    self.arg_name(arg);
                    self.flat(arg.value);
                }
            }
            ExprKind::Paren(inner) => {
                self.out.push('(');
                self.flat(*inner);
                self.out.push(')');
            }
        }
    }

    /// The start of a list of sources; a list of values is marked.
    fn open_list(&mut self, expr: ExprId) {
        let tree = self.tree;
        let ExprKind::Several(sources) = tree.kind(expr) else { return };
        let is_value = |source: &ExprId| matches!(tree.kind(*source), ExprKind::Literal(_));
        if tree.sources[at(sources)].iter().all(is_value) {
            self.out.push_str("several ");
        }
        self.out.push('[');
    }

    pub(super) fn arg_name(&mut self, arg: &Arg<'_>) {
        match &arg.to {
            ArgTo::Position => {}
            ArgTo::Input(name) => {
                name::write(name, &mut self.out);
                self.out.push_str(": ");
            }
            ArgTo::Setting(name) => {
                name::write(name, &mut self.out);
                self.out.push_str(" = ");
            }
            ArgTo::Socket(_) | ArgTo::Item(_) => {}
        }
    }

    /// A call up to its arguments.
    fn callee(&mut self, call: &Call<'_>) {
        if call.is_muted {
            self.out.push_str("muted ");
        }
        match call.word {
            CallWord::None if !call.name.contains('/') => self.type_name(&call.name),
            CallWord::None => {
                let first = call.name.split('/').next().unwrap_or_default();
                if let Some(("true" | "false" | "null", rest)) = call.name.split_once('/')
                    && self.aliases.contains(first)
                {
                    // Otherwise it would be a value.
                    name::write_quoted(first, &mut self.out);
                    self.out.push('/');
                    self.path(rest);
                } else if self.aliases.contains(first) {
                    self.path(&call.name);
                } else {
                    name::write_quoted(&call.name, &mut self.out);
                }
            }
            CallWord::Zone(zone) => {
                self.out.push_str(zone.name());
                self.out.push(' ');
                self.path(&call.name);
            }
            CallWord::Closure => {
                self.out.push_str("closure ");
                self.path(&call.name);
            }
            CallWord::Group => {
                self.out.push_str("group ");
                self.path(&call.name);
            }
            CallWord::Node => {
                self.out.push_str("node ");
                self.type_name(&call.name);
            }
        }
        self.version(call);
    }

    /// The zone of a block, whose group need not have a name.
    pub(super) fn opening(&mut self, call: &Call<'_>) {
        let CallWord::Zone(zone) = call.word else { return };
        if !call.name.is_empty() {
            return self.callee(call);
        }
        if call.is_muted {
            self.out.push_str("muted ");
        }
        self.out.push_str(zone.name());
        self.version(call);
    }

    fn version(&mut self, call: &Call<'_>) {
        if call.version != 1 {
            self.out.push_str(&format!("@{}", call.version));
        }
    }

    fn type_name(&mut self, name: &str) {
        if is_plain_type_name(name) {
            self.out.push_str(name);
        } else {
            name::write_quoted(name, &mut self.out);
        }
    }

    fn path(&mut self, path: &str) {
        for (i, part) in path.split('/').enumerate() {
            self.out.push_str(if i > 0 { "/" } else { "" });
            name::write(part, &mut self.out);
        }
    }
}

/// Whether the name of a node type or group consists of plain words with dots between them.
fn is_plain_type_name(name: &str) -> bool {
    name.split('.').all(name::is_plain)
}
