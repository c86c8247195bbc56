//! The nodes of calls: their kinds, settings and inputs.

use std::sync::Arc;

use millstream_base::Span;
use millstream_base::diagnostics::did_you_mean;
use millstream_document::load::places_in;
use millstream_document::model::{Input, Node, NodeKind, Setting};
use millstream_document::{Fields, Spot};
use serde_json::Value as Json;

use super::body::{Made, Maker};
use super::words::Seen;
use crate::error::{Problem, TextError, shortened};
use crate::json;
use crate::name;
use crate::names::{Callee, Sockets, SocketsOf};
use crate::tree::{Arg, ArgTo, Call, ExprKind, Tree};

impl<'a, 's> Maker<'a, 's, '_> {
    pub(super) fn call(
        &mut self,
        name: &Arc<str>,
        call: &'a Call<'a>,
        callee: &Callee<'a>,
    ) -> Made<Node> {
        let shared = self.shared;
        let tree = shared.tree;
        let args = tree.args_of(&call.args);
        let mut set = Vec::new();
        let mut seen = Seen::default();
        if let Some((setting, json)) = items(tree, args) {
            seen.insert(&setting, &set);
            set.push((setting, json));
        }
        for arg in args {
            let ArgTo::Setting(setting) = &arg.to else { continue };
            let ExprKind::Literal(text) = tree.kind(arg.value) else { continue };
            let span = Span { start: arg.start, end: tree.span(arg.value).end };
            let json = json::read(text).map_err(|message| {
                Problem::syntax(span.start as usize, span.end as usize, message)
            })?;
            let spot = Spot::new(span);
            let name: Arc<str> = Arc::from(&**setting);
            if !seen.insert(&name, &set) {
                return Err(duplicate("setting", setting, span));
            }
            let value = tree.span(arg.value);
            let places = places_in(shared.text, value.start as usize..value.end as usize);
            set.push((name, Setting { spot, places, ..Setting::from(json) }));
        }
        let set = Fields::from_distinct(set.into_iter());
        let sockets = self.sockets(callee, &set);
        let sockets = sockets.as_deref();
        let kind = kind(call, callee);
        let mut inputs = Vec::with_capacity(args.len());
        let mut given = Given::default();
        for (position, arg) in args.iter().enumerate() {
            let span = Span { start: arg.start, end: tree.span(arg.value).end };
            let socket = match &arg.to {
                ArgTo::Setting(_) => continue,
                ArgTo::Input(_) | ArgTo::Socket(_) | ArgTo::Item(_) => {
                    let socket = match &arg.to {
                        ArgTo::Socket(at) | ArgTo::Item(at) => &tree.inputs[*at as usize].name,
                        ArgTo::Input(socket) => socket,
                        ArgTo::Setting(_) | ArgTo::Position => continue,
                    };
                    let known = sockets.and_then(|it| Some((it, it.input(socket)?)));
                    let (socket, is_new) = match known {
                        Some((sockets, at)) => {
                            let socket = Arc::clone(&sockets.inputs[at]);
                            let is_new = given.insert_known(at, &socket, &inputs);
                            (socket, is_new)
                        }
                        None => {
                            let socket = Arc::from(&**socket);
                            let is_new = given.unknown.insert(&socket, &inputs);
                            (socket, is_new)
                        }
                    };
                    if !is_new {
                        return Err(duplicate("input", &socket, span));
                    }
                    socket
                }
                // Positional inputs come first, so none of them has a name that was given before.
                ArgTo::Position => {
                    let socket = self.positional(call, &kind, sockets, position, span)?;
                    given.insert_known(position, &socket, &inputs);
                    socket
                }
            };
            let value = self.source(name, &socket, arg.value)?;
            inputs.push((socket, Input { value, spot: Spot::new(span) }));
        }
        let mut node = Node::new(kind);
        (node.set, node.inputs) = (set, Fields::from_distinct(inputs.into_iter()));
        (node.muted, node.version) = (call.is_muted, call.version);
        Ok(node)
    }

    /// The problem of a setting, if the call is that of a function of formulas.
    fn setting_of_function(&self, call: &Call<'_>) -> Option<Problem> {
        let vocabulary = self.shared.vocabulary;
        let mut args = self.shared.tree.args_of(&call.args).iter();
        let (start, name) = args.find_map(|arg| match &arg.to {
            ArgTo::Setting(name) => Some((arg.start as usize, name)),
            _ => None,
        })?;
        let is_function =
            name::is_plain(&call.name) && vocabulary.refusal_of_call(&call.name, None).is_none();
        is_function.then(|| vocabulary.no_names(&call.name, (start, name.len())))
    }

    /// The sockets of a call's node, if they are known.
    fn sockets<'k>(&self, callee: &'k Callee<'_>, set: &Fields<Setting>) -> Option<SocketsOf<'k>>
    where
        's: 'k,
    {
        match callee {
            Callee::Group(name) | Callee::Zone(_, name) | Callee::Closure(name) => {
                self.shared.groups.own.get(name).map(SocketsOf::Known)
            }
            Callee::Type(known) => self.shared.vocabulary.sockets_with(known, set),
            Callee::Function => None,
        }
    }

    /// The next step for the name of a group that this document lacks; `None` if the group may be in
    /// a document that this one uses.
    fn unknown_group(&self, name: &str) -> Option<String> {
        let groups = &self.shared.groups;
        let (near, otherwise) = match name.split_once('/') {
            Some((alias, _)) if groups.aliases.contains(alias) => return None,
            Some((alias, name)) => {
                let near = did_you_mean(alias, groups.aliases.iter().copied());
                let otherwise = format!("add a line `use {alias} = \"FILE\"`");
                (near.map(|near| format!("{near}/{name}")), otherwise)
            }
            None if groups.aliases.contains(name) => return None,
            None => {
                let near = did_you_mean(name, groups.own.keys().copied());
                let otherwise =
                    format!("a group is written `group {name}(x: f32) -> y: f32 {{ ... }}`");
                (near.map(str::to_owned), otherwise)
            }
        };
        Some(near.map_or(otherwise, |near| format!("did you mean `{near}`?")))
    }

    /// The socket at a position.
    fn positional(
        &self,
        call: &Call<'_>,
        kind: &NodeKind,
        sockets: Option<&Sockets>,
        position: usize,
        span: Span,
    ) -> Made<Arc<str>> {
        let known = sockets.and_then(|sockets| sockets.inputs.get(position));
        if let Some(socket) = known {
            return Ok(Arc::clone(socket));
        }
        let refused =
            |span: Span, error| Err(Problem::new(span.start as usize, span.end as usize, error));
        let refuse = |error| refused(span, error);
        let name = shortened(&call.name);
        let Some(sockets) = sockets else {
            let NodeKind::Type(ty) = kind else {
                let hint = self.unknown_group(&call.name);
                return match hint {
                    Some(hint) => refused(call.name_span, TextError::UnknownGroup { name, hint }),
                    None => refuse(TextError::NeedsNames { name }),
                };
            };
            let registry = self.shared.vocabulary.registry;
            if registry.get(ty).is_some() {
                return refuse(TextError::WrongSettings { name });
            }
            if let Some(problem) = self.setting_of_function(call) {
                return Err(problem);
            }
            let is_compared = ty.len() <= 256 && !self.has_many_problems();
            let near = is_compared.then(|| registry.nearest(ty)).flatten();
            let hint = near.map_or_else(
                || "`millstream nodes` lists all node types; of others, name each input".into(),
                |near| format!("did you mean `{near}`?"),
            );
            let error = TextError::UnknownNodeType { name: shortened(ty), hint };
            return refused(call.name_span, error);
        };
        let n = sockets.inputs.len();
        let names: Vec<String> =
            sockets.inputs.iter().take(12).map(|name| format!("`{name}`")).collect();
        let hint = match names.len() {
            0 => "remove it".to_owned(),
            1 => format!("it is {}", names[0]),
            _ => format!("they are {}", names.join(", ")),
        };
        refuse(TextError::TooManyInputs { name, n, hint })
    }
}

/// The inputs of a call so far.
#[derive(Default)]
struct Given {
    /// A bit for each of the first sockets.
    first: u64,
    unknown: Seen,
}

impl Given {
    /// Adds the socket at a position; false if it exists already.
    fn insert_known<T>(&mut self, at: usize, name: &Arc<str>, inputs: &[(Arc<str>, T)]) -> bool {
        if at >= u64::BITS as usize {
            return self.unknown.insert(name, inputs);
        }
        let is_new = self.first & 1 << at == 0;
        self.first |= 1 << at;
        is_new
    }
}

/// The setting that names the inputs of a block that receive items, if there are any.
fn items(tree: &Tree<'_>, args: &[Arg<'_>]) -> Option<(Arc<str>, Setting)> {
    let item = |arg: &&Arg<'_>| match &arg.to {
        ArgTo::Item(at) => Some(&*tree.inputs[*at as usize].name),
        _ => None,
    };
    args.iter().find_map(|arg| item(&arg))?;
    let items = args.iter().filter_map(|arg| Some((item(&arg)?, arg)));
    let (names, args): (Vec<&str>, Vec<&Arg<'_>>) = items.unzip();
    let (first, last) = (args.first()?, args.last()?);
    let span = Span { start: first.start, end: tree.span(last.value).end };
    let setting = Setting { spot: Spot::new(span), ..Setting::from(Json::from(names)) };
    Some((Arc::from("items"), setting))
}

/// The kind of a call's node.
fn kind(call: &Call<'_>, callee: &Callee<'_>) -> NodeKind {
    match callee {
        Callee::Group(name) => NodeKind::Group(Arc::from(*name)),
        Callee::Zone(zone, name) => NodeKind::Zone(*zone, Arc::from(*name)),
        Callee::Closure(name) => NodeKind::Closure(Arc::from(*name)),
        Callee::Type(known) => NodeKind::Type(Arc::clone(&known.name)),
        Callee::Function => NodeKind::Type(Arc::from(&*call.name)),
    }
}

fn duplicate(what: &'static str, name: &str, span: Span) -> Problem {
    let error = TextError::Duplicate { what, name: shortened(name) };
    Problem::new(span.start as usize, span.end as usize, error)
}
