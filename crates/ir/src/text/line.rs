//! Reads the lines of a text one by one; links and types are resolved later.

use std::borrow::Cow;
use std::sync::Arc;

use millstream_base::id::Id;
use millstream_base::{Span, Type, Value, literal};
use millstream_node::{NodeDef, Registry, Settings};
use millstream_node::{Zone, repeat::instance_settings};
use serde_json::Value as Json;

use super::cursor::{Cursor, number};
use super::error::{Problems, TextError};
use crate::graph::GraphInput;
use crate::graph::NodeId;
use crate::loops::{LoopMark, NotFolded};
use crate::region::{InRegion, RegionId};

/// The lines of one graph.
#[derive(Default)]
pub(super) struct Section {
    /// The first line of a group that a zone runs; `None` for the graph itself.
    pub(super) group: Option<GroupLine>,
    pub(super) statements: Vec<Statement>,
}

/// `group "name" count 1 carries [0 -]`.
pub(super) struct GroupLine {
    /// Counted from 1.
    pub(super) line: u32,
    pub(super) span: Span,
    /// The label of the group.
    pub(super) label: String,
    /// The input with the number of rounds, in a repeat.
    pub(super) count: Option<usize>,
    pub(super) carries: Vec<Option<usize>>,
}

/// The content of a line.
pub(super) struct Statement {
    /// Counted from 1.
    pub(super) line: u32,
    /// The bytes without the comment.
    pub(super) span: Span,
    pub(super) what: What,
    /// The text after `#`.
    pub(super) path: String,
}

pub(super) enum What {
    /// `n7 = ...`; `None` if the rest is invalid.
    Node(u32, Option<Making>),
    UnreadInput(GraphInput),
    Output(OutputLine),
}

/// The definition of a node.
pub(super) enum Making {
    Input(GraphInput),
    Const(Value),
    Call(CallLine),
}

pub(super) struct CallLine {
    pub(super) def: Arc<NodeDef>,
    pub(super) generics: Option<Vec<Type>>,
    pub(super) settings: Settings,
    /// The settings as written, without defaults.
    pub(super) settings_text: String,
    pub(super) arguments: Vec<ArgumentText>,
    pub(super) region: Option<InRegion>,
    pub(super) as_loop: Option<LoopMark>,
}

pub(super) struct ArgumentText {
    pub(super) links: Vec<LinkText>,
    pub(super) is_bracketed: bool,
    pub(super) span: Span,
}

#[derive(Clone)]
pub(super) struct LinkText {
    pub(super) id: u32,
    pub(super) output: Option<String>,
    pub(super) span: Span,
}

pub(super) struct OutputLine {
    pub(super) name: String,
    pub(super) ty: Option<Type>,
    pub(super) link: LinkText,
}

/// The statements of all valid lines, those of the graph first, then those of each group. Invalid
/// lines are reported.
pub(super) fn read_lines(text: &str, registry: &Registry, problems: &mut Problems) -> Vec<Section> {
    let mut sections = vec![Section::default()];
    let mut base = 0;
    for (i, with_end) in text.split_inclusive('\n').enumerate() {
        let text = with_end.trim_end_matches(['\n', '\r']);
        let cursor = Cursor::new(text, base);
        base += with_end.len();
        let line = i as u32 + 1;
        let mut reader = Reader { cursor, registry, line, problems, made: None };
        reader.cursor.skip_blanks();
        if reader.cursor.is_at_end() {
            continue;
        }
        let start = reader.cursor.position();
        if reader.cursor.word() == "group" {
            // The following lines belong to the group even if its own line is invalid.
            let group = reader.group_line(start);
            sections.push(Section { group, statements: Vec::new() });
            continue;
        }
        reader.cursor.rewind(start);
        // Later lines may read a node whose definition is invalid.
        let what = reader.statement().or(reader.made.map(|id| What::Node(id, None)));
        let Some(what) = what else { continue };
        let span = reader.cursor.span_since(start);
        let path = reader.cursor.rest().trim_start().strip_prefix('#').unwrap_or_default();
        let path = path.strip_prefix(' ').unwrap_or(path).into();
        let section = sections.last_mut().expect("the graph itself is a section");
        section.statements.push(Statement { line, span, what, path });
    }
    sections
}

/// Reads one line. Every `None` was reported.
struct Reader<'a, 'p> {
    cursor: Cursor<'a>,
    registry: &'a Registry,
    line: u32,
    problems: &'p mut Problems,
    /// The node that the line defines, once known.
    made: Option<u32>,
}

impl Reader<'_, '_> {
    fn fail<T>(&mut self, span: Span, error: impl Into<TextError>) -> Option<T> {
        self.problems.add(self.line, span, &error.into());
        None
    }

    /// The value read; reports an error at the next text.
    fn check<T>(&mut self, read: Result<T, TextError>) -> Option<T> {
        let span = self.cursor.next_span();
        match read {
            Ok(value) => Some(value),
            Err(error) => self.fail(span, error),
        }
    }

    fn statement(&mut self) -> Option<What> {
        let what = if let Some(id) = self.cursor.node_id() {
            self.made = Some(id);
            let equals = self.cursor.expect('=', "`=` after the number of the node");
            self.check(equals)?;
            What::Node(id, Some(self.making()?))
        } else {
            let start = self.cursor.position();
            match self.cursor.word() {
                "output" => What::Output(self.output()?),
                "input" => What::UnreadInput(self.input()?),
                _ => {
                    let mut back = self.cursor.clone();
                    back.rewind(start);
                    let span = back.next_span();
                    let expected = "`n0 = ...`, `input`, `output` or `group`";
                    return self.fail(span, back.unexpected(expected));
                }
            }
        };
        self.at_end()?;
        Some(what)
    }

    /// The text after `group`.
    fn group_line(&mut self, start: usize) -> Option<GroupLine> {
        self.cursor.skip_blanks();
        let label = self.cursor.name("the label of the group");
        let label = self.check(label)?;
        self.cursor.skip_blanks();
        let start_of_word = self.cursor.position();
        let has_count = self.cursor.word() == "count";
        let mut count = None;
        if has_count {
            count = Some(self.position("the number of the input that counts the rounds")?);
        } else {
            self.cursor.rewind(start_of_word);
        }
        self.keyword("carries", "`count` or `carries`")?;
        let open = self.cursor.expect('[', "`[`");
        self.check(open)?;
        let mut carries = Vec::new();
        while !self.cursor.eat(']') {
            carries.push(if self.cursor.eat('-') {
                None
            } else {
                Some(self.position("the number of an input, `-`, or `]`")?)
            });
            self.cursor.skip_blanks();
        }
        let span = self.cursor.span_since(start);
        self.at_end()?;
        Some(GroupLine { line: self.line, span, label, count, carries })
    }

    fn keyword(&mut self, word: &str, expected: &'static str) -> Option<()> {
        self.cursor.skip_blanks();
        let start = self.cursor.position();
        if self.cursor.word() == word {
            return Some(());
        }
        self.cursor.rewind(start);
        let error = self.cursor.unexpected(expected);
        let span = self.cursor.next_span();
        self.fail(span, error)
    }

    fn position(&mut self, expected: &'static str) -> Option<usize> {
        self.cursor.skip_blanks();
        let start = self.cursor.position();
        let number = number(self.cursor.run(|c| c.is_ascii_digit()));
        if number.is_none() {
            self.cursor.rewind(start);
            let error = self.cursor.unexpected(expected);
            let span = self.cursor.next_span();
            return self.fail(span, error);
        }
        number.map(|number| number as usize)
    }

    fn at_end(&mut self) -> Option<()> {
        self.cursor.skip_blanks();
        if self.cursor.is_at_end() {
            return Some(());
        }
        let error = self.cursor.unexpected("the end of the line");
        let span = self.cursor.next_span();
        self.fail(span, error)
    }

    fn making(&mut self) -> Option<Making> {
        let start = self.cursor.position();
        let name = self.cursor.run(|c| !c.is_whitespace() && !"<{[#\"".contains(c));
        let span = self.cursor.span_since(start);
        match name {
            "" => {
                let error = self.cursor.unexpected("`input`, `const` or a node type");
                self.fail(span, error)
            }
            "input" => self.input().map(Making::Input),
            "const" => self.constant().map(Making::Const),
            _ => self.call(name, span).map(Making::Call),
        }
    }

    fn input(&mut self) -> Option<GraphInput> {
        self.cursor.skip_blanks();
        let name = self.cursor.name("the name of the input");
        let name = self.check(name)?;
        let colon = self.cursor.expect(':', "`:` and the type");
        self.check(colon)?;
        let ty = self.value_type()?;
        self.cursor.skip_blanks();
        let default = if self.cursor.peek() == Some('=') {
            let equals = self.cursor.expect('=', "`=` and the default");
            self.check(equals)?;
            Some(self.literal(ty)?)
        } else {
            None
        };
        Some(GraphInput { name: name.into(), ty, default })
    }

    fn value_type(&mut self) -> Option<Type> {
        let start = self.cursor.position();
        let name = self.cursor.type_name();
        let span = self.cursor.span_since(start);
        if name.is_empty() {
            let error = self.cursor.unexpected("a type");
            let span = self.cursor.next_span();
            return self.fail(span, error);
        }
        let Some(ty) = self.registry.type_named(name) else {
            let known = self.registry.type_names().join(", ");
            return self.fail(span, TextError::UnknownType { name: name.into(), known });
        };
        Some(ty)
    }

    fn literal(&mut self, ty: Type) -> Option<Value> {
        let start = self.cursor.position();
        let json = self.cursor.json();
        let json = self.check(json)?;
        let span = self.cursor.span_since(start);
        match literal::from_json(ty, &json) {
            Ok(value) => Some(value),
            Err(error) => self.fail(span, error),
        }
    }

    fn constant(&mut self) -> Option<Value> {
        self.cursor.skip_blanks();
        let rest = self.cursor.rest();
        let is_word = |word: &str| {
            let after = rest.strip_prefix(word).map(|after| after.chars().next());
            after.is_some_and(|next| next.is_none_or(|c| c.is_whitespace() || c == '#'))
        };
        let ty = match rest.chars().next() {
            Some('"') => Type::STRING,
            _ if is_word("true") || is_word("false") => Type::BOOL,
            Some(c) if c == '-' || c.is_ascii_digit() => {
                let token = rest.split(|c: char| c.is_whitespace() || c == '#').next();
                let is_float = token.is_some_and(|token| token.contains(['.', 'e', 'E']));
                if is_float { Type::F32 } else { Type::I32 }
            }
            _ => {
                let ty = self.value_type()?;
                self.cursor.skip_blanks();
                ty
            }
        };
        self.literal(ty)
    }

    fn call(&mut self, name: &str, span: Span) -> Option<CallLine> {
        let Some(def) = self.registry.get(name) else {
            let hint = self.registry.nearest(name).map(|near| format!("did you mean `{near}`?"));
            return self.fail(span, TextError::UnknownNodeType { name: name.into(), hint });
        };
        let def = Arc::clone(def);
        let generics = if self.cursor.eat('<') { Some(self.generics()?) } else { None };
        let (settings, settings_text) = self.settings(&def, span)?;
        let mut arguments = Vec::new();
        self.cursor.skip_blanks();
        while !self.cursor.is_at_end() && self.cursor.peek() != Some('@') {
            arguments.push(self.argument()?);
            self.cursor.skip_blanks();
        }
        let mut call = CallLine {
            def,
            generics,
            settings,
            settings_text,
            arguments,
            region: None,
            as_loop: None,
        };
        while self.cursor.eat('@') {
            self.mark(&mut call)?;
            self.cursor.skip_blanks();
        }
        Some(call)
    }

    /// The text after `@`: a region or the mark of a loop.
    fn mark(&mut self, call: &mut CallLine) -> Option<()> {
        const EXPECTED: &str = "a region like `r0`, `folded` or `apart(...)`";
        if call.region.is_none()
            && let Some(id) = self.cursor.region_id()
        {
            let region = RegionId::from_index(id as usize);
            call.region = Some(InRegion { region, only_uniform: self.cursor.eat('?') });
            return Some(());
        }
        let start = self.cursor.position();
        let word = self.cursor.word();
        if call.as_loop.is_none() && word == "folded" {
            call.as_loop = Some(LoopMark::Folded);
            return Some(());
        }
        if call.as_loop.is_some() || word != "apart" || !self.cursor.eat('(') {
            self.cursor.rewind(start);
            let error = self.cursor.unexpected(EXPECTED);
            let span = self.cursor.next_span();
            return self.fail(span, error);
        }
        self.cursor.skip_blanks();
        let start = self.cursor.position();
        let word = self.cursor.run(|c| c.is_ascii_lowercase() || c == '-');
        let Some(why) = NotFolded::ALL.iter().find(|why| why.name() == word) else {
            self.cursor.rewind(start);
            let error = self.cursor.unexpected("the reason why a loop is apart, like `shared n1`");
            let span = self.cursor.next_span();
            return self.fail(span, error);
        };
        self.cursor.skip_blanks();
        let node = self.cursor.node_id().map(|id| NodeId::from_index(id as usize));
        let close = self.cursor.expect(')', "`)` after the reason");
        self.check(close)?;
        call.as_loop = Some(LoopMark::Apart(*why, node));
        Some(())
    }

    fn generics(&mut self) -> Option<Vec<Type>> {
        let mut types = Vec::new();
        loop {
            self.cursor.skip_blanks();
            types.push(self.value_type()?);
            self.cursor.skip_blanks();
            if self.cursor.eat('>') {
                return Some(types);
            }
            let comma = self.cursor.expect(',', "`,` or `>`");
            self.check(comma)?;
        }
    }

    fn settings(&mut self, def: &NodeDef, name_span: Span) -> Option<(Settings, String)> {
        let (mut given, mut span) = (serde_json::Map::new(), name_span);
        if self.cursor.peek() == Some('{') {
            let start = self.cursor.position();
            let json = self.cursor.json();
            let json = self.check(json)?;
            span = self.cursor.span_since(start);
            // A brace starts an object.
            if let Json::Object(object) = json {
                given = object;
            }
        }
        let registry = self.registry;
        let type_named = |name: &str| registry.type_named(name);
        let pairs = given.iter().map(|(name, json)| (name.as_str(), json));
        // A zone of a graph has its group among the settings.
        let settings = match Zone::named(&def.name) {
            Some(zone) => Cow::Owned(instance_settings(zone)),
            None => Cow::Borrowed(def.settings.as_slice()),
        };
        match Settings::read(&settings, pairs, &type_named) {
            Ok(settings) => Some((settings, Json::Object(given).to_string())),
            Err(errors) => {
                for error in errors {
                    self.fail::<()>(span, error);
                }
                None
            }
        }
    }

    fn argument(&mut self) -> Option<ArgumentText> {
        let start = self.cursor.position();
        let is_bracketed = self.cursor.eat('[');
        let mut links = Vec::new();
        if is_bracketed {
            self.cursor.skip_blanks();
            while !self.cursor.eat(']') {
                links.push(self.link("a node like `n7`, or `]`")?);
                self.cursor.skip_blanks();
            }
        } else {
            links.push(self.link("a node like `n7`, or `[`")?);
        }
        Some(ArgumentText { links, is_bracketed, span: self.cursor.span_since(start) })
    }

    fn link(&mut self, expected: &'static str) -> Option<LinkText> {
        let start = self.cursor.position();
        let Some(id) = self.cursor.node_id() else {
            let error = self.cursor.unexpected(expected);
            let span = self.cursor.next_span();
            return self.fail(span, error);
        };
        let output = if self.cursor.eat('.') {
            let name = self.cursor.name("the name of an output");
            Some(self.check(name)?)
        } else {
            None
        };
        Some(LinkText { id, output, span: self.cursor.span_since(start) })
    }

    fn output(&mut self) -> Option<OutputLine> {
        self.cursor.skip_blanks();
        let start = self.cursor.position();
        if self.cursor.node_id().is_some() {
            self.cursor.rewind(start);
            let link = self.link("a node like `n7`")?;
            return Some(OutputLine { name: "value".into(), ty: None, link });
        }
        let name = self.cursor.name("a name or a node like `n7`");
        let name = self.check(name)?;
        self.cursor.skip_blanks();
        let mut ty = None;
        if self.cursor.eat(':') {
            self.cursor.skip_blanks();
            ty = Some(self.value_type()?);
            self.cursor.skip_blanks();
        }
        let link = self.link("a node like `n7`")?;
        Some(OutputLine { name, ty, link })
    }
}
