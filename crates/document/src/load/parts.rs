//! Reads documents, groups, their inputs, outputs and nodes.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use millstream_node::Zone;
use millstream_node::interface::CLOSURE;

use super::error::LoadError;
use super::escapes::places_in;
use super::reader::{Placed, Reader, Seen, name_problem};
use crate::at::{At, Part};
use crate::cursor::JsonKind;
use crate::fields::Fields;
use crate::model::{
    Document, Entry, GroupDef, Input, InputDef, InputValue, Link, Lock, Named, Node, NodeKind,
    OutputDef, OutputFrom, Places, Setting, UseDef,
};
use crate::problems::shortened;
use crate::references::relink;
use crate::save::SOURCE_KEYS;
use crate::spot::Spot;
use crate::view::View;

/// Maximal number of sockets that are searched linearly for duplicates; beyond that they are
/// hashed.
const MAX_WALKED: usize = 16;

impl<'t> Reader<'t> {
    /// Reads the document, whose root is an object.
    pub(super) fn document(&mut self) -> Document {
        const KEYS: [&str; 12] = [
            "$schema",
            "millstream",
            "name",
            "fps",
            "start_frame",
            "inputs",
            "outputs",
            "nodes",
            "groups",
            "use",
            "lock",
            "view",
        ];
        let at = At::ROOT;
        let mut document = Document::new("");
        let mut seen = Seen::default();
        self.cursor.enter();
        while let Some(key) = self.field(at, &KEYS, &mut seen) {
            let n_errors = self.n_unmarked();
            match key {
                "$schema" => document.schema = self.shared_text(at, key),
                "name" => document.name = self.shared_text(at, key).unwrap_or_default(),
                "fps" => {
                    let fits = |fps: &f64| fps.is_finite() && *fps > 0.0;
                    let fps = self.number(at, key, "a number above 0", fits);
                    document.fps = fps.unwrap_or(Document::DEFAULT_FPS);
                }
                "start_frame" => {
                    let frame = self.number(at, key, "an integer", |_: &i64| true);
                    document.start_frame = frame.unwrap_or(0);
                }
                "inputs" => document.inputs = self.inputs(at),
                "outputs" => document.outputs = self.outputs(at),
                "nodes" => document.nodes = self.nodes(at),
                "groups" => document.groups = self.groups(at),
                "use" => document.uses = self.named(at, key, "a used document", Self::use_def),
                "lock" => document.lock = self.named(at, key, "a used document", Self::lock),
                "view" => {
                    let range = self.cursor.skip();
                    document.view = View::from_valid_text(&self.text[range]);
                }
                // `millstream` has already been read.
                _ => {
                    self.cursor.skip();
                }
            }
            if self.n_unmarked() > n_errors {
                document.unread.note_key(key);
            }
        }
        for (i, key) in KEYS.iter().enumerate().filter(|(i, _)| seen.is_in_doubt(*i)) {
            document.unread.note_key(key);
            // The format gives everything else its meaning.
            self.is_lost |= KEYS[i] == "millstream";
        }
        if seen.has_strange {
            document.unread.note(Entry::Unknown);
        }
        document
    }

    fn groups(&mut self, at: At<'_>) -> Named<GroupDef> {
        self.named(at, "groups", "a group", Self::group)
    }

    fn use_def(&mut self, name: &str) -> UseDef {
        let path = self.text(At::ROOT, name);
        UseDef::new(path.map_or(Cow::Borrowed(""), |(path, _)| path))
    }

    fn lock(&mut self, name: &str) -> Lock {
        let at = At::ROOT;
        let mut lock = Lock::default();
        let mut seen = Seen::default();
        if !self.object(at, || at.entry(name)) {
            return lock;
        }
        while let Some(key) = self.field(at, &["format", "hash"], &mut seen) {
            match key {
                "format" => {
                    let format = self.number(at, key, "an integer", |_: &u32| true);
                    lock.format = format.unwrap_or(0);
                }
                _ => lock.hash = self.shared_text(at, key).unwrap_or_default(),
            }
        }
        lock
    }

    fn group(&mut self, name: &str) -> GroupDef {
        let at = At::group(name);
        let mut group = GroupDef::default();
        let mut seen = Seen::default();
        if !self.object(at, || at.whole()) {
            return group;
        }
        while let Some(key) = self.field(at, &["about", "inputs", "outputs", "nodes"], &mut seen) {
            match key {
                "about" => group.about = self.shared_text(at, key),
                "inputs" => group.inputs = self.inputs(at),
                "outputs" => group.outputs = self.outputs(at),
                _ => group.nodes = self.nodes(at),
            }
        }
        group
    }

    fn inputs(&mut self, at: At<'_>) -> Named<InputDef> {
        self.named(at, "inputs", "an input", |reader, name| {
            reader.input_def(at.part(Part::Input(name)))
        })
    }

    fn input_def(&mut self, at: At<'_>) -> InputDef {
        const KEYS: [&str; 7] = ["type", "default", "min", "max", "step", "unit", "about"];
        let mut def = InputDef::default();
        let start = self.cursor.position();
        let mut seen = Seen::default();
        if !self.object(at, || at.whole()) {
            return def;
        }
        while let Some(key) = self.field(at, &KEYS, &mut seen) {
            match key {
                "type" => def.ty = self.word(at, key).unwrap_or_default(),
                "default" => {
                    if let Some((json, range)) = self.json(at, || at.entry(key)) {
                        def.default = Some(json);
                        def.default_spot = Spot::new(self.span(&range));
                    }
                }
                "min" => def.min = self.bound(at, key),
                "max" => def.max = self.bound(at, key),
                "step" => def.step = self.bound(at, key),
                "unit" => def.unit = self.word(at, key),
                _ => def.about = self.shared_text(at, key),
            }
        }
        if !seen.has(0) {
            self.missing_type(at, start, &seen);
        }
        def
    }

    fn bound(&mut self, at: At<'_>, key: &str) -> Option<f64> {
        self.number(at, key, "a number", |x: &f64| x.is_finite())
    }

    fn missing_type(&mut self, at: At<'_>, start: usize, seen: &Seen) {
        let hint = match at.part {
            Part::Node(_) => "write the node type, such as \"type\": \"math.add\"",
            Part::Body | Part::Input(_) | Part::Output(_) | Part::Socket(..) => {
                "write the type of its value, such as \"type\": \"f32\""
            }
        };
        self.missing(at, start, seen, "type", hint);
    }

    fn missing(
        &mut self,
        at: At<'_>,
        start: usize,
        seen: &Seen,
        key: &'static str,
        hint: &'static str,
    ) {
        // The missing key may be misspelled.
        if seen.is_misspelt() {
            return;
        }
        let range = trimmed(self.text, start..self.cursor.position());
        self.report(at, &range, &LoadError::Missing { whole: at.whole(), key, hint });
    }

    fn outputs(&mut self, at: At<'_>) -> Named<OutputDef> {
        self.named(at, "outputs", "an output", |reader, name| {
            reader.output_def(at.part(Part::Output(name)))
        })
    }

    fn output_def(&mut self, at: At<'_>) -> OutputDef {
        let mut def = OutputDef::new("", OutputFrom::Input(Arc::from("")));
        let start = self.cursor.position();
        let mut seen = Seen::default();
        if !self.object(at, || at.whole()) {
            return def;
        }
        while let Some(key) = self.field(at, &["type", "from", "input", "unit", "about"], &mut seen)
        {
            match key {
                "type" => def.ty = self.word(at, key).unwrap_or_default(),
                "from" => {
                    if let Some((node, output)) = self.link(at) {
                        let node = self.names.share(&node);
                        def.from = OutputFrom::Link(Link { node, output });
                    }
                }
                "input" => {
                    let name = self.shared_text(at, key);
                    def.from = name.map_or(def.from, OutputFrom::Input);
                }
                "unit" => def.unit = self.word(at, key),
                _ => def.about = self.shared_text(at, key),
            }
        }
        if !seen.has(0) {
            self.missing_type(at, start, &seen);
        }
        match seen.keys & 0b110 {
            0b110 => {
                let range = trimmed(self.text, start..self.cursor.position());
                self.report(at, &range, &LoadError::AmbiguousSource);
            }
            0b000 => self.missing(at, start, &seen, "from", "write \"from\": \"node.output\""),
            _ => {}
        }
        def
    }

    fn nodes(&mut self, at: At<'_>) -> Named<Node> {
        let mut nodes = self.named(at, "nodes", "a node", |reader, name| {
            reader.node(at.part(Part::Node(name)), name)
        });
        if !self.far.is_empty() {
            self.share_far(&mut nodes);
        }
        nodes
    }

    /// Replaces the node names in far links by the shared names. Doing this for all of them at once
    /// is several times as fast as doing it while reading, where each name waits for memory.
    fn share_far(&mut self, nodes: &mut Named<Node>) {
        let mut shared = nodes.shared_names(&self.far).into_iter();
        self.far.clear();
        let inputs = nodes.values_mut().flat_map(|node| node.inputs.values_mut());
        for input in inputs {
            relink(input, |link| {
                if Arc::ptr_eq(&link.node, &self.no_word) {
                    link.node = shared.next().expect("the names of far links were noted");
                }
            });
        }
        debug_assert!(shared.next().is_none(), "far links without a node were forgotten");
    }

    fn node(&mut self, at: At<'_>, name: &str) -> Node {
        const KEYS: [&str; 6] = ["type", "group", "in", "set", "muted", "version"];
        let mut node = Node::new(NodeKind::Type(Arc::clone(&self.no_word)));
        let start = self.cursor.position();
        let mut seen = Seen::default();
        self.n_nodes += 1;
        if self.n_nodes > self.limits.nodes {
            let range = self.cursor.skip();
            if self.n_nodes == self.limits.nodes + 1 {
                let error = LoadError::TooManyNodes { limit: self.limits.nodes };
                self.report(at, &trimmed(self.text, range), &error);
                self.is_lost = true;
            }
            return node;
        }
        if !self.object(at, || at.whole()) {
            return node;
        }
        let mut group = None;
        while let Some(key) = self.field(at, &KEYS, &mut seen) {
            match key {
                "type" => {
                    if let Some(ty) = self.word(at, key) {
                        node.kind = NodeKind::Type(ty);
                    }
                }
                "group" => group = self.text(at, key),
                "in" => node.inputs = self.node_inputs(at, name),
                "set" => node.set = self.settings(at),
                "muted" => node.muted = self.flag(at, key).unwrap_or(false),
                _ => {
                    let version =
                        self.number(at, key, "a positive integer", |version| *version > 0);
                    node.version = version.unwrap_or(1);
                }
            }
        }
        // A group that takes its name from the key `group`.
        let uses_group = match &node.kind {
            NodeKind::Type(ty) if **ty == *"group" => Some(NodeKind::Group("".into())),
            NodeKind::Type(ty) if **ty == *CLOSURE => Some(NodeKind::Closure("".into())),
            NodeKind::Type(ty) => Zone::named(ty).map(|zone| NodeKind::Zone(zone, "".into())),
            NodeKind::Group(_) | NodeKind::Zone(..) | NodeKind::Closure(_) => None,
        };
        match (seen.has(0), uses_group, group) {
            (false, _, _) => self.missing_type(at, start, &seen),
            (true, Some(kind), Some((group, _))) => {
                node.kind = kind.renamed(self.words.share(&group));
            }
            (true, Some(_), None) if !seen.has(1) => {
                let hint = "write the group's name: \"group\": \"name\"";
                self.missing(at, start, &seen, "group", hint);
            }
            (true, None, Some((_, range))) => {
                let hint = "only nodes of type `group` or `closure` and zones have it".into();
                let error = LoadError::UnknownKey { whole: at.whole(), key: "group".into(), hint };
                self.report_harmless(at, &range, &error);
            }
            (true, _, None) => {}
        }
        node
    }

    fn node_inputs(&mut self, at: At<'_>, node: &str) -> Fields<Input> {
        let mut inputs = std::mem::take(&mut self.inputs);
        let mut names = Names::default();
        if !self.object(at, || at.entry("in")) {
            self.inputs = inputs;
            return Fields::new();
        }
        while let Some(key) = self.cursor.next_key() {
            let Some(socket) = &key.text else {
                self.bad_escape(at, &key.range, "a socket");
                self.cursor.skip();
                continue;
            };
            let socket = self.words.share(socket);
            if !names.insert(&socket, &inputs) {
                let error = LoadError::Duplicate { whole: at.entry("in"), key: shortened(&socket) };
                self.report(at, &key.range, &error);
                self.cursor.skip();
                continue;
            }
            let value = self.input_value(at.part(Part::Socket(node, &socket)));
            let span = self.span(&(key.range.start..self.cursor.position()));
            if let Some(value) = value {
                inputs.push((socket, Input { value, spot: Spot::new(span) }));
            }
        }
        let fields = Fields::from_distinct(inputs.drain(..));
        self.inputs = inputs;
        fields
    }

    fn settings(&mut self, at: At<'_>) -> Fields<Setting> {
        let mut settings: Vec<(Arc<str>, Setting)> = Vec::new();
        let mut names = Names::default();
        if !self.object(at, || at.entry("set")) {
            return Fields::new();
        }
        while let Some(key) = self.cursor.next_key() {
            let Some(name) = &key.text else {
                self.bad_escape(at, &key.range, "a setting");
                self.cursor.skip();
                continue;
            };
            let name = self.words.share(name);
            if !names.insert(&name, &settings) {
                let error = LoadError::Duplicate { whole: at.entry("set"), key: shortened(&name) };
                self.report(at, &key.range, &error);
                self.cursor.skip();
                continue;
            }
            if let Some((json, range)) = self.json(at, || format!("setting `{name}`")) {
                let spot = Spot::new(self.span(&(key.range.start..range.end)));
                // After an upgrade the positions are those of another text.
                let is_original = self.origins.is_none();
                let places =
                    if is_original { places_in(self.text, range) } else { Places::default() };
                settings.push((name, Setting { json, spot, places }));
            }
        }
        Fields::from_distinct(settings.into_iter())
    }

    /// Reads the source of a socket.
    fn input_value(&mut self, at: At<'_>) -> Option<InputValue> {
        match self.cursor.kind() {
            JsonKind::Object => self.source(at),
            JsonKind::Array if self.is_list_of_sources() => {
                let mut sources = Vec::new();
                self.cursor.enter();
                while self.cursor.next_item() {
                    let kind = self.cursor.kind();
                    if kind != JsonKind::Object {
                        let range = self.cursor.skip();
                        let found = kind.describe().into();
                        self.report(at, &range, &LoadError::NotASource { found });
                        continue;
                    }
                    let start = self.cursor.position();
                    let value = self.source(at);
                    let span = self.span(&(start..self.cursor.position()));
                    sources.extend(value.map(|value| Input { value, spot: Spot::new(span) }));
                }
                sources.shrink_to_fit();
                Some(InputValue::Several(sources))
            }
            JsonKind::Array
            | JsonKind::String
            | JsonKind::Number
            | JsonKind::Bool
            | JsonKind::Null => self
                .json(at, || "the literal".into())
                .map(|(json, _)| InputValue::Literal(json.into())),
        }
    }

    /// Whether the next value is a list with an object that marks a source.
    fn is_list_of_sources(&self) -> bool {
        let mut ahead = self.cursor;
        ahead.enter();
        while ahead.next_item() {
            if ahead.kind() != JsonKind::Object {
                ahead.skip();
                continue;
            }
            ahead.enter();
            while let Some(key) = ahead.next_key() {
                if key.text.is_some_and(|key| SOURCE_KEYS.contains(&&*key)) {
                    return true;
                }
                ahead.skip();
            }
        }
        false
    }

    /// Reads a source written as an object.
    fn source(&mut self, at: At<'_>) -> Option<InputValue> {
        let start = self.cursor.position();
        let n_errors = self.problems.n_errors();
        let n_far = self.far.len();
        let mut seen = Seen::default();
        let mut value = None;
        self.cursor.enter();
        while let Some(key) = self.field(at, &SOURCE_KEYS, &mut seen) {
            value = match key {
                "from" => self.link_of_node(at).map(InputValue::Link),
                "input" => self.word(at, key).map(InputValue::Input),
                _ => self
                    .json(at, || "the literal".into())
                    .map(|(json, _)| InputValue::Literal(json.into())),
            };
        }
        if seen.keys.is_power_of_two() {
            return value;
        }
        self.far.truncate(n_far);
        // A misspelled key has already been reported.
        if self.problems.n_errors() == n_errors {
            let range = trimmed(self.text, start..self.cursor.position());
            self.report(at, &range, &LoadError::AmbiguousSource);
        }
        None
    }

    /// Reads `node.output`: the name of the node, and the output.
    fn link(&mut self, at: At<'_>) -> Option<(Cow<'t, str>, Arc<str>)> {
        let (text, range) = self.text(at, "from")?;
        let parts = text.split_once('.');
        let fits = |(node, output): &(&str, &str)| {
            name_problem(node).is_none() && name_problem(output).is_none()
        };
        if let Some((node, output)) = parts.filter(fits) {
            let output = self.words.share(output);
            let end = node.len();
            let node = match text {
                Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
                Cow::Owned(text) => Cow::Owned(text[..end].to_owned()),
            };
            return Some((node, output));
        }
        let hint = if name_problem(&text).is_none() {
            format!("name the output too: \"{}.value\"", shortened(&text))
        } else {
            "a link is written \"node.output\"".into()
        };
        let error = LoadError::BadLink { text: shortened(&text), hint };
        self.report(at, &range, &error);
        None
    }

    /// Reads the link of a node.
    fn link_of_node(&mut self, at: At<'_>) -> Option<Link> {
        let (node, output) = self.link(at)?;
        let node = match (self.names.known(&node), node) {
            (Some(known), _) => known,
            (None, Cow::Owned(node)) => node.into(),
            (None, Cow::Borrowed(node)) => {
                self.far.push(node);
                Arc::clone(&self.no_word)
            }
        };
        Some(Link { node, output })
    }
}

/// The names of one object, for finding duplicates.
#[derive(Default)]
struct Names(std::collections::HashSet<Arc<str>>);

impl Names {
    /// Adds the name; false if these fields already contain it.
    fn insert<T>(&mut self, name: &Arc<str>, fields: &[(Arc<str>, T)]) -> bool {
        if fields.len() < MAX_WALKED {
            return fields.iter().all(|(known, _)| known != name);
        }
        if self.0.is_empty() {
            self.0.extend(fields.iter().map(|(known, _)| Arc::clone(known)));
        }
        self.0.insert(Arc::clone(name))
    }
}

/// The range without the space and the colon before the value.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let skipped = text[range.clone()].bytes().take_while(|b| b" \n\r\t:".contains(b)).count();
    range.start + skipped..range.end
}

macro_rules! placed {
    ($($part:ty),*) => {$(
        impl Placed for $part {
            fn spot_mut(&mut self) -> &mut Spot {
                &mut self.spot
            }
        }
    )*};
}
placed!(GroupDef, InputDef, OutputDef, Node, UseDef, Lock);
