//! From a syntax tree to a document: names become links, nested calls become nodes of their own.

mod blocks;
pub(crate) mod body;
mod call;
pub(crate) mod formula;
pub(crate) mod literal;
mod made_names;
pub(crate) mod words;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use millstream_base::diagnostics::{Diagnostic, Diagnostics};
use millstream_base::{Limits, Place, Span};
use millstream_document::model::{Document, Entry, Form, GroupDef, InputDef, Lock, Named, UseDef};
use millstream_document::{Spot, View, name_problem};

use crate::comments;
use crate::error::{Problem, TextError, shortened};
use crate::names::{EXPRESSION, Groups, Sockets, VALUE, Vocabulary};
use crate::parse::MAX_PROBLEMS;
use crate::scope::NameId;
use crate::tree::{InputLine, Item, LockLine, OutputLine, Tree, UseLine, What, at};
pub(crate) use blocks::name_blocks;
use body::Maker;

/// The data that all bodies of a document share.
pub(crate) struct Shared<'a> {
    pub(crate) tree: &'a Tree<'a>,
    pub(crate) text: &'a str,
    pub(crate) vocabulary: &'a Vocabulary<'a>,
    pub(crate) groups: Groups<'a>,
    /// The name of an output without another name.
    pub(crate) value: Arc<str>,
    /// The name of the setting that holds a formula.
    pub(crate) expression_text: Arc<str>,
    /// The node type of formulas.
    pub(crate) expression: Arc<str>,
}

/// The data that all bodies add to.
pub(crate) struct Found<'a> {
    pub(crate) problems: Diagnostics,
    /// The number of further problems, which are only counted.
    pub(crate) n_more: usize,
    pub(crate) limits: &'a Limits,
    pub(crate) n_nodes: usize,
    /// The names that expressions refer to, in the scope of their body.
    pub(crate) names: Vec<NameId>,
    /// Whether a part is missing, so that checking names is pointless.
    pub(crate) is_lost: bool,
    /// Whether a statement about the document has an error.
    pub(crate) is_wrong: bool,
    /// Names that are defined twice, each with its group.
    pub(crate) twice: Vec<(Box<str>, Box<str>)>,
}

impl Found<'_> {
    /// Reports a problem of a part at a path.
    pub(crate) fn report(&mut self, path: &str, problem: &Problem) {
        if self.problems.len() >= MAX_PROBLEMS {
            self.n_more += 1;
            return;
        }
        let span = Span::new(problem.start, problem.end.max(problem.start + 1));
        self.problems.push(Diagnostic::new(Place::with_span(path, span), &problem.error));
    }
}

/// The statements of the document, or of a group.
#[derive(Default)]
pub(crate) struct Body<'a> {
    /// The group; empty for the document.
    pub(crate) group: &'a str,
    pub(crate) inputs: Vec<&'a InputLine<'a>>,
    pub(crate) items: Vec<&'a Item<'a>>,
    /// The outputs of a group.
    pub(crate) outputs: &'a [OutputLine<'a>],
    /// The first line of a group.
    pub(crate) opener: Option<&'a Item<'a>>,
    about: Option<&'a str>,
    span: Span,
    /// The body around a block.
    pub(crate) around: Option<usize>,
    /// Whether a statement in it could not be read, which may define any name in it.
    is_broken: bool,
}

impl<'a> Body<'a> {
    /// The body of a group whose first line is this statement.
    fn of_group(tree: &'a Tree<'a>, group: u32, opener: usize, around: Option<usize>) -> Self {
        let line = &tree.groups[group as usize];
        // Those up to the first end, which is that of the group unless blocks are in it.
        let inside = tree.items[opener + 1..].iter();
        let n_items = inside.take_while(|item| !matches!(item.what, What::Close)).count();
        let opener = &tree.items[opener];
        Self {
            group: &line.name,
            inputs: tree.inputs[at(&line.inputs)].iter().collect(),
            items: Vec::with_capacity(n_items),
            outputs: &tree.outputs[at(&line.outputs)],
            opener: Some(opener),
            about: line.about.as_deref(),
            span: opener.span,
            around,
            is_broken: opener.is_broken,
        }
    }
}

/// The document of a tree.
pub(crate) fn lower<'a>(
    tree: &'a Tree<'a>,
    text: &'a str,
    vocabulary: &'a Vocabulary<'a>,
    found: &mut Found<'_>,
) -> Document {
    let shared = Shared {
        tree,
        text,
        vocabulary,
        groups: groups(tree, vocabulary),
        value: Arc::from(VALUE),
        expression_text: Arc::from("text"),
        expression: Arc::clone(&vocabulary.known(EXPRESSION).name),
    };
    let mut document = Document::new("");
    document.format = FORMAT;
    document.form = Form::Text;
    let hides = [(tree.hides_statements, Entry::Statements), (tree.hides_time, Entry::Time)];
    for (_, entry) in hides.into_iter().filter(|(hides, _)| *hides) {
        document.unread.note(entry);
    }
    let mut view = None;
    let (mut bodies, mut open) = (vec![Body::default()], vec![0]);
    let mut hidden = tree.hidden.iter().peekable();
    let (defined, longest) = defined_names(tree);
    let mut seen = HashSet::new();
    for (at, item) in tree.items.iter().enumerate() {
        let inside = open.last().copied().unwrap_or_default();
        while let Some((_, name)) = hidden.next_if(|(item, _)| *item == at) {
            if name.len() <= LONGEST_WORD && has_meaning(vocabulary, name) {
                document.unread.note(Entry::Statements);
            }
            if name.len() <= longest && defined.contains(name) {
                // What follows the end of a group is outside of it.
                let ends = usize::from(matches!(item.what, What::Close) && open.len() > 1);
                let body = open[open.len() - 1 - ends];
                found.twice.push((bodies[body].group.into(), (*name).into()));
            }
        }
        bodies[inside].is_broken |= matches!(item.what, What::Unread(_));
        if inside > 0 && matches!(item.what, What::Unread(Some(Entry::Unknown))) {
            // It may define names of its group alone.
            found.is_wrong = true;
        } else {
            head(item, &mut document, &mut seen, found);
        }
        bodies[inside].span.end = bodies[inside].span.end.max(item.span.end);
        match &item.what {
            What::Input(input) => {
                let line = &tree.inputs[*input as usize];
                add_input(&shared, &mut document.inputs, line, item.is_broken, "", found);
                bodies[0].inputs.push(line);
            }
            What::View(text) => view = Some(&**text),
            What::Node { .. } | What::Output(_) => bodies[inside].items.push(item),
            What::Group(group) => {
                open.push(bodies.len());
                bodies.push(Body::of_group(tree, *group, at, None));
            }
            What::Block { group, .. } => {
                bodies[inside].items.push(item);
                open.push(bodies.len());
                bodies.push(Body::of_group(tree, *group, at, Some(inside)));
            }
            What::Close if open.len() > 1 => drop(open.pop()),
            _ => {}
        }
    }
    for at in 1..bodies.len() {
        make_group(&shared, &bodies, at, &mut document, found);
    }
    (document.nodes, document.outputs) = Maker::made(&shared, &bodies, 0, found);
    for (group, name) in std::mem::take(&mut found.twice) {
        mark(&mut document, &group, &name);
    }
    mark_unknown(&shared, &mut document);
    match comments::view_with(tree, view) {
        Ok(view) => document.view = view,
        Err(error) => {
            let at = tree.items.iter().find(|item| matches!(item.what, What::View(_)));
            let span = at.map_or_else(Span::default, |item| item.span);
            found.report("", &Problem::new(span.start as usize, span.end as usize, error));
            document.view = view.and_then(|view| View::from_text(view).ok()).unwrap_or_default();
        }
    }
    document
}

/// The format of a text that does not state it, now and in later releases.
pub(crate) const FORMAT: u32 = 2;

/// The statements about the document as a whole.
fn head(
    item: &Item<'_>,
    document: &mut Document,
    seen: &mut HashSet<&'static str>,
    found: &mut Found<'_>,
) {
    let keyword = match &item.what {
        What::Format(_) => "millstream",
        What::Schema(_) => "schema",
        What::Title(_) => "name",
        What::Fps(_) => "fps",
        What::StartFrame(_) => "start_frame",
        What::View(_) => "view",
        What::Use(_) | What::Lock(_) => "",
        What::Unread(entry) => {
            found.is_wrong = true;
            if let Some(entry) = entry {
                document.unread.note(*entry);
            }
            return;
        }
        _ => return,
    };
    if !keyword.is_empty() && !seen.insert(keyword) {
        found.is_wrong = true;
        match &item.what {
            // The format gives everything else its meaning.
            What::Format(_) => found.is_lost = true,
            What::Fps(_) | What::StartFrame(_) => document.unread.note(Entry::Time),
            _ => {}
        }
        let error = TextError::Duplicate { what: "statement", name: keyword.into() };
        found.report("", &Problem::new(item.span.start as usize, item.span.end as usize, error));
        return;
    }
    let spot = Spot::new(item.span);
    let spot = if item.is_broken { spot.unreadable() } else { spot };
    match &item.what {
        What::Format(format) => document.format = *format,
        What::Schema(address) => document.schema = Some(Arc::from(&**address)),
        What::Title(title) => document.name = Arc::from(&**title),
        What::Fps(fps) => document.fps = *fps,
        What::StartFrame(frame) => document.start_frame = *frame,
        What::Use(line) => {
            let UseLine { name, path } = &**line;
            let is_known = document.uses.contains_key(name);
            check_name("a used document", "use", name, item.span, is_known, "", found);
            match document.uses.get_mut(name) {
                Some(first) => first.spot = first.spot.unreadable(),
                None => {
                    let def = UseDef { spot, ..UseDef::new(&**path) };
                    document.uses.insert(Arc::from(&**name), def);
                }
            }
            found.is_wrong |= is_known || item.is_broken;
        }
        What::Lock(line) => {
            let LockLine { name, format, hash } = &**line;
            let is_known = document.lock.contains_key(name);
            check_name("a used document", "lock", name, item.span, is_known, "", found);
            match document.lock.get_mut(name) {
                Some(first) => first.spot = first.spot.unreadable(),
                None => {
                    let lock = Lock { format: *format, hash: Arc::from(&**hash), spot };
                    document.lock.insert(Arc::from(&**name), lock);
                }
            }
            found.is_wrong |= is_known || item.is_broken;
        }
        _ => {}
    }
}

/// Reports a name that links cannot refer to, or that is taken.
pub(crate) fn check_name(
    what: &'static str,
    word: &'static str,
    name: &str,
    span: Span,
    is_known: bool,
    path: &str,
    found: &mut Found<'_>,
) {
    let (start, end) = (span.start as usize, span.end as usize);
    if let Some(reason) = name_problem(name) {
        let error = TextError::BadName { what, name: shortened(name), reason };
        found.report(path, &Problem::new(start, end, error));
    }
    if is_known {
        let error = TextError::Duplicate { what: word, name: shortened(name) };
        found.report(path, &Problem::new(start, end, error));
        found.twice.push((path.into(), name.into()));
    }
}

/// Marks the parts of this name in a group, or in the document if `group` is empty: another
/// statement may define them.
fn mark(document: &mut Document, group: &str, name: &str) {
    if group.is_empty() {
        let uses = document.uses.get_mut(name).map(|def| &mut def.spot);
        let groups = document.groups.get_mut(name).map(|group| &mut group.spot);
        for spot in uses.into_iter().chain(groups) {
            *spot = spot.unreadable();
        }
    }
    let (inputs, outputs, nodes) = if group.is_empty() {
        (&mut document.inputs, &mut document.outputs, &mut document.nodes)
    } else {
        let Some(group) = document.groups.get_mut(group) else { return };
        (&mut group.inputs, &mut group.outputs, &mut group.nodes)
    };
    let input = inputs.get_mut(name).map(|input| &mut input.spot);
    let output = outputs.get_mut(name).map(|output| &mut output.spot);
    let node = nodes.get_mut(name).map(|node| &mut node.spot);
    for spot in [input, output, node].into_iter().flatten() {
        *spot = spot.unreadable();
    }
}

/// Marks what statements of unknown kind, and outputs that could not be read, may define. Under the
/// name of a constant or function that may be any expression, and so may calls of a group. Inside a
/// group they define nothing outside of it, unless they may be the start of another one.
fn mark_unknown(Shared { tree, text, vocabulary, .. }: &Shared<'_>, document: &mut Document) {
    let mut depth = 0_usize;
    for item in &tree.items {
        match &item.what {
            What::Group(_) | What::Block { .. } => depth += 1,
            What::Close => depth = depth.saturating_sub(1),
            What::Unread(Some(Entry::Unknown)) => {
                let lost = &text[item.span.start as usize..item.span.end as usize];
                if lost.contains(['{', '}']) {
                    document.unread.note(Entry::Statements);
                }
                if depth > 0 {
                    continue;
                }
                let names = names_of_unknown(lost);
                if names.iter().any(|name| has_meaning(vocabulary, name)) {
                    document.unread.note(Entry::Statements);
                }
                for name in names {
                    mark(document, "", name);
                }
            }
            What::Output(output)
                if item.is_broken
                    && has_meaning(vocabulary, &tree.outputs[*output as usize].name) =>
            {
                document.unread.note(Entry::Statements);
            }
            _ => {}
        }
    }
}

/// The names of all statements, inputs and outputs, and the length of the longest; none if no
/// statement can be hidden.
fn defined_names<'t>(tree: &'t Tree<'_>) -> (HashSet<&'t str>, usize) {
    if tree.hidden.is_empty() {
        return (HashSet::new(), 0);
    }
    let items = tree.items.iter().filter_map(|item| match &item.what {
        What::Use(line) => Some(&*line.name),
        what => what.node_name(),
    });
    let inputs = tree.inputs.iter().map(|input| &*input.name);
    let outputs = tree.outputs.iter().map(|output| &*output.name);
    let groups = tree.groups.iter().map(|group| &*group.name);
    let all: HashSet<&str> = items.chain(inputs).chain(outputs).chain(groups).collect();
    let longest = all.iter().map(|name| name.len()).max().unwrap_or(0);
    (all, longest)
}

/// Constants and functions have shorter names.
const LONGEST_WORD: usize = 256;

/// Whether a name is that of a constant or function.
fn has_meaning(vocabulary: &Vocabulary<'_>, name: &str) -> bool {
    vocabulary.is_reserved(name) || vocabulary.short(name).is_some()
}

/// The names that a statement of unknown kind may define: the words at its start, each alone and
/// all together.
fn names_of_unknown(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut end = 0;
    loop {
        let start =
            end + text[end..].len() - text[end..].trim_start_matches([' ', '\t', '`']).len();
        if !text[start..].starts_with(crate::name::starts) {
            break;
        }
        end = crate::name::plain_end(text, start);
        names.push(&text[start..end]);
    }
    names.push(text[..end].trim_matches('`'));
    names
}

/// The groups and used documents that calls can name.
fn groups<'a>(tree: &'a Tree<'a>, vocabulary: &Vocabulary<'_>) -> Groups<'a> {
    let mut own = HashMap::with_capacity(tree.groups.len());
    for line in &tree.groups {
        let inputs = &tree.inputs[at(&line.inputs)];
        let inputs = inputs.iter().map(|input| vocabulary.share(&input.name));
        let outputs = &tree.outputs[at(&line.outputs)];
        let outputs = outputs.iter().map(|output| vocabulary.share(&output.name));
        let (inputs, outputs) = (inputs.collect(), outputs.collect());
        let sockets = Sockets { inputs, outputs, is_block: line.is_block };
        own.entry(&*line.name).or_insert(sockets);
    }
    let used = tree.items.iter().filter_map(|item| match &item.what {
        What::Use(line) => Some(&*line.name),
        _ => None,
    });
    Groups::new(own, used.collect())
}

fn make_group<'a>(
    shared: &Shared<'a>,
    bodies: &[Body<'a>],
    at: usize,
    document: &mut Document,
    found: &mut Found<'_>,
) {
    let Body { group: name, inputs, opener, about, span, is_broken, .. } = &bodies[at];
    let mut def = GroupDef { about: about.map(Arc::from), ..GroupDef::default() };
    for input in inputs {
        add_input(shared, &mut def.inputs, input, false, name, found);
    }
    (def.nodes, def.outputs) = Maker::made(shared, bodies, at, found);
    let spot = Spot::new(*span);
    def.spot = if *is_broken { spot.unreadable() } else { spot };
    let head = opener.map_or(*span, |item| item.span);
    let is_known = document.groups.contains_key(name);
    check_name("a group", "group", name, head, is_known, "", found);
    if !is_known {
        document.groups.insert(Arc::from(*name), def);
    }
}

fn add_input(
    Shared { vocabulary, .. }: &Shared<'_>,
    inputs: &mut Named<InputDef>,
    line: &InputLine<'_>,
    is_broken: bool,
    path: &str,
    found: &mut Found<'_>,
) {
    let is_known = inputs.contains_key(&line.name);
    check_name("an input", "input", &line.name, line.span, is_known, path, found);
    if is_known {
        return;
    }
    let shared = |text: &Option<crate::tree::Word<'_>>| text.as_deref().map(Arc::from);
    let mut def = InputDef::new(vocabulary.share(&line.ty));
    let spot = Spot::new(line.span);
    def.spot = if is_broken { spot.unreadable() } else { spot };
    def.default = line.default.as_ref().and_then(|text| {
        crate::json::read(text)
            .map_err(|message| {
                let (start, end) = (line.default_span.start, line.default_span.end);
                found.report(path, &Problem::syntax(start as usize, end as usize, message));
                def.spot = spot.unreadable();
            })
            .ok()
    });
    def.default_spot = Spot::new(line.default_span);
    (def.min, def.max, def.step) = (line.min, line.max, line.step);
    (def.about, def.unit) = (shared(&line.about), shared(&line.unit));
    inputs.insert(vocabulary.share(&line.name), def);
}
