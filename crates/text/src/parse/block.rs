//! Blocks of zones: the group of a zone is written where it is used.
//!
//! `name = for_each(x: f32 of list) -> y: f32 {` is both the node and the first line of its group:
//! an input with a type is an input of the group, and its source is that of the node.

use std::borrow::Cow;

use millstream_node::Zone;

use super::{Opened, Parser};
use crate::error::{Problem, shortened};
use crate::name;
use crate::token::{Kind, Symbol};
use crate::tree::{Arg, ArgTo, Call, CallWord, ExprId, GroupLine, MAX_BLOCKS, What, Word};

/// The zone at the start of a statement, which may open a block.
pub(super) struct Header {
    zone: Zone,
    /// The place of its word.
    at: usize,
    /// The number of inputs before it.
    first_input: u32,
    /// Its group, once it is known to open a block.
    group: Option<u32>,
}

impl<'t> Parser<'t> {
    /// Records the zone at the start of a statement's value.
    pub(super) fn find_header(&mut self) {
        let mut at = self.token.start;
        let bytes = self.text.as_bytes();
        if !matches!(bytes.get(at), Some(b'f' | b'm' | b'r' | b's')) {
            return;
        }
        if self.is_word("muted") {
            at = self.token.end;
            while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\r')) {
                at += 1;
            }
        }
        if let Some(zone) = Zone::named(&self.text[at..name::plain_end(self.text, at)]) {
            let first_input = self.tree.inputs.len() as u32;
            self.header = Some(Header { zone, at, first_input, group: None });
        }
    }

    /// The zone whose call starts here, if that is the start of the statement's value.
    pub(super) fn header_at(&self, start: usize, word: CallWord, name: &str) -> Option<Zone> {
        let header = self.header.as_ref().filter(|header| header.at == start)?;
        let is_zone = word == CallWord::Zone(header.zone)
            || (word == CallWord::None && *name == *header.zone.name());
        is_zone.then_some(header.zone)
    }

    /// An argument of a zone, which may be an input of its block.
    pub(super) fn header_arg(&mut self, zone: Zone) -> Result<Arg<'t>, Problem> {
        let start = self.token.start as u32;
        if !self.is_name() || !self.has_type_and_source() {
            return self.arg();
        }
        let at = self.input_head(|_| {})?;
        let is_item = !self.is(Symbol::Assign);
        if is_item && zone != Zone::ForEach {
            let message = format!("a {} has no items", zone.name());
            let problem = Problem::syntax(self.token.start, self.token.end, message);
            return Err(problem.hint("write `=`; `for_each` takes the items of lists"));
        }
        self.advance()?;
        let value = self.expr()?;
        self.input_notes(at, start as usize, true)?;
        let at = at as u32;
        let to = if is_item { ArgTo::Item(at) } else { ArgTo::Socket(at) };
        Ok(Arg { to, value, start })
    }

    /// Whether a type follows the next token, followed by `=` or `of`.
    fn has_type_and_source(&self) -> bool {
        let bytes = self.text.as_bytes();
        let after_blanks = |mut at: usize| {
            while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
                at += 1;
            }
            at
        };
        let colon = after_blanks(self.token.end);
        if bytes.get(colon) != Some(&b':') {
            return false;
        }
        let from = after_blanks(colon + 1);
        let end = match bytes.get(from) {
            Some(b'`') => name::read_quoted(self.text, from).map_or(from, |(_, end)| end),
            _ => name::type_end(self.text, name::plain_end(self.text, from)).unwrap_or(from),
        };
        let next = after_blanks(end);
        let is_word = |word: &str| self.text[next..name::plain_end(self.text, next)] == *word;
        let assigns = bytes.get(next) == Some(&b'=') && bytes.get(next + 1) != Some(&b'=');
        // `input of` is an input.
        let takes_of = || is_word("of") && !name::leads(&self.text[from..end]);
        end > from && (assigns || takes_of())
    }

    /// Whether the call of a zone opens a block.
    pub(super) fn opens_block(&self) -> bool {
        let first_input = self.header.as_ref().map_or(u32::MAX, |header| header.first_input);
        self.is(Symbol::Arrow)
            || self.is(Symbol::OpenBlock)
            || self.tree.inputs.len() as u32 > first_input
    }

    /// The rest of the first line of a block, from its outputs up to its `{`.
    pub(super) fn block_face(&mut self, zone: Zone, call: &mut Call<'t>) -> Result<(), Problem> {
        for arg in self.tree.args_of(&call.args) {
            self.check_arg(zone, arg)?;
        }
        let name = match call.word {
            CallWord::Zone(_) => std::mem::take(&mut call.name),
            _ => Cow::Borrowed(""),
        };
        (call.word, call.name) = (CallWord::Zone(zone), name.clone());
        let at = self.add_block(name);
        if self.takes(Symbol::Arrow)? {
            self.group_outputs(at as usize)?;
        }
        if self.is(Symbol::OpenBlock) {
            return Ok(());
        }
        let hint = "the nodes of a block follow its inputs and outputs, between `{` and `}`";
        Err(self.missing("`->` or `{`").hint(hint))
    }

    fn add_block(&mut self, name: Word<'t>) -> u32 {
        let n_inputs = self.tree.inputs.len() as u32;
        let n_outputs = self.tree.outputs.len() as u32;
        let inputs = self.header.as_ref().map_or(n_inputs, |header| header.first_input)..n_inputs;
        let outputs = n_outputs..n_outputs;
        let line =
            GroupLine { name, is_block: true, zone: None, inputs, outputs, about: None, end: 0 };
        self.tree.groups.push(line);
        let at = self.tree.groups.len() as u32 - 1;
        if let Some(header) = &mut self.header {
            header.group = Some(at);
        }
        at
    }

    /// Refuses an argument that is neither an input of the block nor one of the zone itself.
    fn check_arg(&self, zone: Zone, arg: &Arg<'t>) -> Result<(), Problem> {
        let end = self.tree.span(arg.value).end as usize;
        let refused = |message: String| Problem::syntax(arg.start as usize, end, message);
        match &arg.to {
            ArgTo::Position => Err(refused("an input of a block has a name and a type".into())
                .hint("write it as `x: f32 = ...`")),
            ArgTo::Input(name) if zone.own_inputs().iter().all(|own| *own.name != **name) => {
                let shown = shortened(name);
                Err(refused(format!("a {} has no input called `{shown}`", zone.name()))
                    .hint(format!("an input of the block has a type: `{shown}: f32 = ...`")))
            }
            _ => Ok(()),
        }
    }

    /// The start of the block of a node, after its first line.
    pub(super) fn block(&mut self, name: Word<'t>, value: ExprId) -> Result<What<'t>, Problem> {
        let opened = self.token.start;
        let Some(group) = self.header.as_ref().and_then(|header| header.group) else {
            return Err(self.too_much());
        };
        if self.blocks.len() >= MAX_BLOCKS {
            let message = format!("blocks nest deeper than {MAX_BLOCKS} levels");
            let problem = Problem::syntax(opened, opened + 1, message);
            return Err(problem.hint("write the inner ones as groups: `group name(...) { ... }`"));
        }
        self.advance()?;
        let line = &mut self.tree.groups[group as usize];
        (line.zone, line.end) = (Some(value), self.last_end as u32);
        self.purpose(group as usize)?;
        let (open, close) = (Symbol::OpenBlock.text(), Symbol::CloseBlock.text());
        self.blocks.push(Opened { at: opened, open, close });
        Ok(What::Block { name, group })
    }

    /// The block that starts after an error in its first line.
    pub(super) fn lost_block(&mut self, head: What<'t>) -> What<'t> {
        let Some(header) = &self.header else { return head };
        let What::Node { name, value } = head else { return head };
        let group = match header.group {
            Some(group) => group,
            None => self.add_block(Cow::Borrowed("")),
        };
        self.tree.groups[group as usize].zone = Some(value);
        What::Block { name, group }
    }

    /// Refuses the sockets of a block inside an expression.
    pub(super) fn check_no_block(&self, word: CallWord, name: &str) -> Result<(), Problem> {
        let is_zone = matches!(word, CallWord::Zone(_)) || Zone::named(name).is_some();
        let is_socket = self.is(Symbol::Assign)
            || (self.token.kind == Kind::Name && matches!(self.word(), "of"));
        if !is_zone || !is_socket {
            return Ok(());
        }
        let message = "an expression cannot contain the block of a zone";
        let problem = Problem::syntax(self.token.start, self.token.end, message);
        Err(problem.hint("give it a line of its own: `name = repeat(...) -> ... {`"))
    }
}
