//! The syntax tree: the content of the text, without the meaning of names and node types.
//!
//! The formatter prints it, and documents are made from it and converted to it. Its parts are in
//! flat lists and refer to each other by position.

use std::borrow::Cow;
use std::ops::Range;

use millstream_base::Span;
use millstream_base::pages::{reserve_in_huge_pages, room_in_huge_pages};
use millstream_document::model::Entry;
use millstream_node::Zone;

use crate::token::Symbol;

/// A name or text, usually borrowed from the source text.
pub(crate) type Word<'t> = Cow<'t, str>;

/// The position of an expression.
pub(crate) type ExprId = u32;

/// A text as statements.
#[derive(Default)]
pub(crate) struct Tree<'t> {
    pub(crate) items: Vec<Item<'t>>,
    pub(crate) exprs: Vec<Expr<'t>>,
    pub(crate) calls: Vec<Call<'t>>,
    pub(crate) args: Vec<Arg<'t>>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) sources: Vec<ExprId>,
    pub(crate) inputs: Vec<InputLine<'t>>,
    pub(crate) outputs: Vec<OutputLine<'t>>,
    pub(crate) groups: Vec<GroupLine<'t>>,
    pub(crate) comments: Vec<Word<'t>>,
    /// The number of unreadable statements, whose names are missing.
    pub(crate) n_lost: usize,
    /// Whether an unreadable statement may contain others of unknown meaning, or a block is not
    /// closed.
    pub(crate) hides_statements: bool,
    /// Whether an unreadable statement may contain one about the time.
    pub(crate) hides_time: bool,
    /// Names that statements inside an unreadable one may define, with the number of its item.
    pub(crate) hidden: Vec<(usize, &'t str)>,
}

/// A statement, or the end of a block, with the comments around it.
pub(crate) struct Item<'t> {
    pub(crate) what: What<'t>,
    pub(crate) span: Span,
    /// The comments on lines of their own before it.
    pub(crate) before: Range<u32>,
    /// Whether the comment after those is at the end of its line.
    pub(crate) has_beside: bool,
    /// The expressions in it, and in unreadable lines before it.
    pub(crate) exprs: Range<ExprId>,
    pub(crate) after_blank: bool,
    /// Whether a part of it could not be read.
    pub(crate) is_broken: bool,
}

/// A statement.
#[derive(Clone)]
pub(crate) enum What<'t> {
    /// A first line that starts with `#!`, which names the program that runs the file.
    Start,
    Format(u32),
    Schema(Word<'t>),
    Title(Word<'t>),
    Fps(f64),
    StartFrame(i64),
    Use(Box<UseLine<'t>>),
    Lock(Box<LockLine<'t>>),
    /// The input at this position.
    Input(u32),
    /// The output at this position.
    Output(u32),
    Node {
        name: Word<'t>,
        value: ExprId,
    },
    /// The start of the group at this position.
    Group(u32),
    /// A node of a zone, and the start of the group at this position, which holds the zone.
    Block {
        name: Word<'t>,
        group: u32,
    },
    /// The end of the innermost open group.
    Close,
    View(Word<'t>),
    /// A statement about the document that could not be read; if others depend on it, with the
    /// entry of the document to which it belongs.
    Unread(Option<Entry>),
    /// The end of the text.
    End,
}

impl What<'_> {
    /// The name of the node that the statement makes.
    pub(crate) fn node_name(&self) -> Option<&str> {
        match self {
            Self::Node { name, .. } | Self::Block { name, .. } => Some(name),
            _ => None,
        }
    }
}

/// A used document.
#[derive(Clone)]
pub(crate) struct UseLine<'t> {
    pub(crate) name: Word<'t>,
    pub(crate) path: Word<'t>,
}

/// The lock of a used document.
#[derive(Clone)]
pub(crate) struct LockLine<'t> {
    pub(crate) name: Word<'t>,
    pub(crate) format: u32,
    pub(crate) hash: Word<'t>,
}

/// An input of the document or of a group.
pub(crate) struct InputLine<'t> {
    pub(crate) name: Word<'t>,
    pub(crate) ty: Word<'t>,
    /// JSON.
    pub(crate) default: Option<Word<'t>>,
    /// The place of the default.
    pub(crate) default_span: Span,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    pub(crate) step: Option<f64>,
    pub(crate) about: Option<Word<'t>>,
    pub(crate) unit: Option<Word<'t>>,
    pub(crate) span: Span,
}

/// An output of the document or of a group.
pub(crate) struct OutputLine<'t> {
    pub(crate) name: Word<'t>,
    pub(crate) ty: Word<'t>,
    /// The source, if it is not the node of the same name.
    pub(crate) value: Option<ExprId>,
    pub(crate) about: Option<Word<'t>>,
    pub(crate) unit: Option<Word<'t>>,
    pub(crate) span: Span,
}

/// The first line of a group.
pub(crate) struct GroupLine<'t> {
    /// Empty for the block of a zone that names no group, until it is named after its node.
    pub(crate) name: Word<'t>,
    /// Whether it is the block of a zone.
    pub(crate) is_block: bool,
    /// The call of the zone, if it is a block that was read so far.
    pub(crate) zone: Option<ExprId>,
    /// Positions of inputs.
    pub(crate) inputs: Range<u32>,
    /// Positions of outputs.
    pub(crate) outputs: Range<u32>,
    pub(crate) about: Option<Word<'t>>,
    /// The end of its last line.
    pub(crate) end: u32,
}

/// An expression with its place.
pub(crate) struct Expr<'t> {
    pub(crate) kind: ExprKind<'t>,
    pub(crate) span: Span,
}

/// The kinds of expressions.
pub(crate) enum ExprKind<'t> {
    /// A JSON value, or a number of a formula.
    Literal(Word<'t>),
    /// A name; those in back quotes are never constants.
    Ref {
        name: Word<'t>,
        is_quoted: bool,
    },
    /// `input name`.
    Input(Word<'t>),
    /// `node name.output`.
    Link(Box<(Word<'t>, Word<'t>)>),
    /// `expression.name`.
    Member(ExprId, Word<'t>),
    /// The call at this position.
    Call(u32),
    /// A list of sources.
    Several(Range<u32>),
    /// Operands and operators in order, and the letters that are bound after `where`.
    Formula {
        pieces: Range<u32>,
        bound: Range<u32>,
    },
    Paren(ExprId),
}

/// A call of a node type, a group or a function.
#[derive(Clone)]
pub(crate) struct Call<'t> {
    pub(crate) word: CallWord,
    pub(crate) is_muted: bool,
    pub(crate) name: Word<'t>,
    /// The place of the name.
    pub(crate) name_span: Span,
    /// 1 by default.
    pub(crate) version: u32,
    pub(crate) args: Range<u32>,
}

/// The keyword before the name of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallWord {
    /// None: the name is looked up.
    None,
    /// `repeat name(...)` and similar.
    Zone(Zone),
    /// `closure name(...)`.
    Closure,
    /// `group name(...)`.
    Group,
    /// `node name(...)`.
    Node,
}

/// An argument of a call.
pub(crate) struct Arg<'t> {
    pub(crate) to: ArgTo<'t>,
    pub(crate) value: ExprId,
    pub(crate) start: u32,
}

/// The meaning of an argument.
pub(crate) enum ArgTo<'t> {
    /// The input at its position.
    Position,
    /// An input by name.
    Input(Word<'t>),
    /// A setting.
    Setting(Word<'t>),
    /// The input at this position, which belongs to the block.
    Socket(u32),
    /// The same, if it receives the items of a list.
    Item(u32),
}

/// A part of a formula.
#[derive(Clone, Copy)]
pub(crate) enum Piece {
    Operand(ExprId),
    /// An operator before its operand.
    Prefix(Symbol),
    /// An operator between two operands.
    Infix(Symbol),
}

/// The positions of a range.
pub(crate) fn at(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

/// Maximal depth of nested blocks.
pub(crate) const MAX_BLOCKS: usize = 40;

impl<'t> Tree<'t> {
    pub(crate) fn kind(&self, expr: ExprId) -> &ExprKind<'t> {
        &self.exprs[expr as usize].kind
    }

    /// The name and the value of the node that a statement makes.
    pub(crate) fn node_of<'w>(&self, what: &'w What<'t>) -> Option<(&'w str, ExprId)> {
        let value = match what {
            What::Node { value, .. } => Some(*value),
            What::Block { group, .. } => self.groups[*group as usize].zone,
            _ => None,
        };
        what.node_name().zip(value)
    }

    pub(crate) fn span(&self, expr: ExprId) -> Span {
        self.exprs[expr as usize].span
    }

    /// The call, if the expression is one.
    pub(crate) fn call(&self, expr: ExprId) -> Option<&Call<'t>> {
        match self.kind(expr) {
            ExprKind::Call(call) => Some(&self.calls[*call as usize]),
            _ => None,
        }
    }

    /// The comments before a statement.
    pub(crate) fn before(&self, item: &Item<'t>) -> &[Word<'t>] {
        &self.comments[at(&item.before)]
    }

    /// The comment at the end of the line of a statement.
    pub(crate) fn beside(&self, item: &Item<'t>) -> Option<&Word<'t>> {
        item.has_beside.then(|| &self.comments[item.before.end as usize])
    }

    pub(crate) fn args_of(&self, range: &Range<u32>) -> &[Arg<'t>] {
        &self.args[at(range)]
    }

    /// A tree with room for a text of `n_bytes` bytes. Large parts are in huge pages: the output of
    /// a parser is read only once, so its first touch is most of its cost.
    pub(crate) fn for_text(n_bytes: usize) -> Self {
        /// Statements are rarely shorter; the lists of longer texts grow.
        const OF_ONE: usize = 24;
        let n = (n_bytes / OF_ONE).min(1 << 20);
        Self {
            items: room_in_huge_pages(n + 4),
            exprs: room_in_huge_pages(3 * n + 4),
            calls: room_in_huge_pages(n),
            args: room_in_huge_pages(2 * n),
            ..Self::default()
        }
    }

    pub(crate) fn add_call(&mut self, call: Call<'t>, span: Span) -> ExprId {
        reserve_in_huge_pages(&mut self.calls, 1);
        self.calls.push(call);
        self.add(ExprKind::Call(self.calls.len() as u32 - 1), span)
    }

    pub(crate) fn add(&mut self, kind: ExprKind<'t>, span: Span) -> ExprId {
        reserve_in_huge_pages(&mut self.exprs, 1);
        self.exprs.push(Expr { kind, span });
        self.exprs.len() as ExprId - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_and_expressions_are_small() {
        assert!(size_of::<Item<'_>>() <= 64, "{}", size_of::<Item<'_>>());
        assert!(size_of::<Expr<'_>>() <= 40, "{}", size_of::<Expr<'_>>());
    }
}
