//! The engine: node types and limits, and the programs compiled with them.

use std::fmt;
use std::sync::Arc;

use millstream_base::diagnostics::Diagnostics;
use millstream_base::{Limits, Type};
use millstream_compile::{Options, compile};
use millstream_document::check::{check_partly, open_partly};
use millstream_document::uses::{locks, with_lock};
use millstream_document::{
    Checked, Document, Library, Loaded, NodeUpgrade, check, open_loaded, read_used,
    read_used_as_written,
};
use millstream_ir::Plan;
use millstream_node::{NodeDef, Registry};
use millstream_nodes::expression::call_new_types;
use millstream_text::{BothForms, is_text};

use crate::error::Error;
use crate::program::Program;
use crate::sound::planned;

/// Node types, value types and limits, with which documents are compiled to programs.
#[derive(Clone, Debug)]
pub struct Engine {
    registry: Arc<Registry>,
    upgrades: Vec<NodeUpgrade>,
    limits: Limits,
    documents: Documents,
}

/// The library of documents that others use.
#[derive(Clone, Default)]
struct Documents(Option<Arc<dyn Library>>);

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map(|library| library.top()).fmt(f)
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine {
    /// An engine with the whole node library and the default limits.
    pub fn new() -> Self {
        Self::with_registry(millstream_nodes::registry())
    }

    /// An engine with these node types only.
    pub fn with_registry(registry: Registry) -> Self {
        Self {
            registry: Arc::new(registry),
            upgrades: Vec::new(),
            limits: Limits::default(),
            documents: Documents::default(),
        }
    }

    /// Replaces the limits for loading and compiling.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the library of documents that others use: a [`Folder`](crate::document::Folder) of
    /// files, or a closure that returns the text of a document by its path.
    ///
    /// ```
    /// use millstream::{Engine, Request};
    ///
    /// let library = |path: &str| match path {
    ///     "half.mill.json" => Ok(br#"{ "millstream": 2, "groups": { "half": {
    ///         "inputs": { "x": { "type": "f32" } },
    ///         "outputs": { "value": { "type": "f32", "from": "n.value" } },
    ///         "nodes": { "n": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": 0.5 } } }
    ///     } } }"#.to_vec()),
    ///     _ => Err("there is no such document"),
    /// };
    /// let program = Engine::new().with_documents(library).load(
    ///     br#"{ "millstream": 2, "use": { "lib": "half.mill.json" },
    ///         "inputs": { "x": { "type": "f32" } },
    ///         "outputs": { "y": { "type": "f32", "from": "n.value" } },
    ///         "nodes": { "n": { "type": "group", "group": "lib/half", "in": { "x": { "input": "x" } } } } }"#,
    /// )?;
    /// assert_eq!(program.run(&Request::new().set("x", 3.0_f32))?.value::<f32>("y"), Some(1.5));
    /// # Ok::<(), millstream::Error>(())
    /// ```
    pub fn with_documents(mut self, library: impl Library + 'static) -> Self {
        self.documents = Documents(Some(Arc::new(library)));
        self
    }

    /// Adds the node types of another library, which the given function registers. Expressions can
    /// call them too.
    pub fn with_library(mut self, register: impl FnOnce(&mut Registry)) -> Self {
        let registry = Arc::make_mut(&mut self.registry);
        register(registry);
        call_new_types(registry);
        self
    }

    /// Adds a node type, which expressions can call too; it replaces one of the same name.
    pub fn register(&mut self, def: NodeDef) -> &mut Self {
        let registry = Arc::make_mut(&mut self.registry);
        registry.register(def);
        call_new_types(registry);
        self
    }

    /// Adds a value type, so that documents can name it.
    pub fn register_type(&mut self, ty: Type) -> &mut Self {
        Arc::make_mut(&mut self.registry).register_type(ty);
        self
    }

    /// Adds an upgrade of nodes of an older version of their type.
    pub fn register_upgrade(&mut self, upgrade: NodeUpgrade) -> &mut Self {
        self.upgrades.push(upgrade);
        self
    }

    /// The upgrades of nodes of older versions.
    pub(crate) fn upgrades(&self) -> &[NodeUpgrade] {
        &self.upgrades
    }

    /// The node types and value types, shared.
    pub(crate) fn shared_registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry)
    }

    /// The node types and value types.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The limits for documents.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Loads, checks and compiles the text of a document, JSON or the text form.
    ///
    /// # Errors
    /// Everything that is wrong with the document, each problem with its place.
    pub fn load(&self, text: &[u8]) -> Result<Program, Error> {
        let library = self.library();
        let library = library.as_ref().map(|library| library as &dyn Library);
        let loaded = self.loaded(text);
        let (opened, problems) =
            open_loaded(loaded, &self.registry, library, &self.upgrades, &self.limits);
        match opened {
            Some((document, checked)) if !problems.has_errors() => {
                self.compile_checked(document, &checked, problems)
            }
            Some(_) | None => Err(Error::Document(problems)),
        }
    }

    /// As [`load`](Self::load), but if there are errors, the result is the program of all parts
    /// that do not depend on them, with the outputs that have values. It is `None` if nothing can
    /// be made of the text.
    pub fn load_partly(&self, text: &[u8]) -> (Option<Program>, Diagnostics) {
        let library = self.library();
        let library = library.as_ref().map(|library| library as &dyn Library);
        let (opened, problems) =
            open_partly(self.loaded(text), &self.registry, library, &self.upgrades, &self.limits);
        self.planned_partly(opened, problems)
    }

    /// As [`compile`](Self::compile), but if there are errors, the result is the program of all
    /// parts that do not depend on them.
    pub fn compile_partly(&self, document: Document) -> (Option<Program>, Diagnostics) {
        let document = self.with_used(document);
        let (checked, problems) = check_partly(&document, &self.registry, &self.limits);
        self.planned_partly(checked.map(|checked| (document, checked)), problems)
    }

    /// The program of all parts of a document that do not depend on its problems.
    fn planned_partly(
        &self,
        checked: Option<(Document, Checked)>,
        mut problems: Diagnostics,
    ) -> (Option<Program>, Diagnostics) {
        let Some((document, checked)) = checked else { return (None, problems) };
        let (made, found) = planned(Arc::new(checked), |checked| self.plan(checked));
        problems.append(found);
        (made.map(|(_, plan)| Program::new(document, plan, problems.clone())), problems)
    }

    /// Checks and compiles a document, for example one made with the builder.
    ///
    /// # Errors
    /// Everything that is wrong with the document.
    pub fn compile(&self, document: Document) -> Result<Program, Error> {
        let document = self.with_used(document);
        let (checked, problems) = check(&document, &self.registry, &self.limits);
        match checked {
            Some(checked) => self.compile_checked(document, &checked, problems),
            None => Err(Error::Document(problems)),
        }
    }

    /// The program for these outputs, whatever other outputs the document has. Requesting them would
    /// not be enough if another output reads their state in a scope: then it would be state in
    /// scopes for them too, of which no element goes on where another fails. If the document has
    /// errors that these outputs do not depend on, the program stays as it is.
    #[must_use]
    pub fn only_outputs(&self, program: Program, outputs: &[String]) -> Program {
        let is_asked = |name: &str| outputs.iter().any(|it| it == name);
        let writers = &program.plan().state_writers;
        let is_of_others = |all: &[Arc<str>]| !all.iter().any(|name| is_asked(name));
        if !writers.iter().any(|writer| writer.scoped_by.as_deref().is_some_and(is_of_others)) {
            return program;
        }
        let mut document = program.document().clone();
        let others = document.outputs.keys().filter(|name| !is_asked(name)).cloned();
        for name in others.collect::<Vec<_>>() {
            document.outputs.remove(&name);
        }
        self.compile(document).unwrap_or(program)
    }

    /// The document with the groups that it needs from other documents, and with nodes in place of
    /// calls of groups in formulas.
    fn with_used(&self, document: Document) -> Document {
        self.read_by(read_used, document)
    }

    /// The document with the groups that its nodes need from other documents.
    pub(crate) fn with_used_as_written(&self, document: Document) -> Document {
        self.read_by(read_used_as_written, document)
    }

    fn read_by(
        &self,
        read: fn(&mut Document, &Registry, Option<&dyn Library>, &[NodeUpgrade], &Limits),
        mut document: Document,
    ) -> Document {
        let library = self.library();
        let library = library.as_ref().map(|library| library as &dyn Library);
        read(&mut document, &self.registry, library, &self.upgrades, &self.limits);
        document
    }

    /// The text of a document with a lock of each document that it uses, in its current version;
    /// the rest of the text is unchanged.
    ///
    /// # Errors
    /// If the text is not a document, or a used document cannot be read.
    pub fn locked(&self, text: &[u8]) -> Result<String, Error> {
        let (document, problems) = self.read(text);
        let (Some(document), Ok(text)) = (document, std::str::from_utf8(text)) else {
            return Err(Error::Document(problems));
        };
        if document.uses.is_empty() && document.lock.is_empty() {
            return Ok(text.to_owned());
        }
        let library = self.library();
        let library = library.as_ref().map(|library| library as &dyn Library);
        let lock = locks(&document, library, &self.limits).map_err(Error::Document)?;
        if !is_text(text.as_bytes()) {
            return Ok(with_lock(text, &lock));
        }
        let locked = millstream_text::with_lock(text, &lock, &self.limits);
        locked.ok_or(Error::Document(problems))
    }

    /// Reads the text of a document in either form, without checking or compiling it. The text form
    /// is read with the node types of the engine.
    ///
    /// The result is `None` if parts of the document are lost; a document with problems may lack
    /// statements.
    pub fn read(&self, text: &[u8]) -> (Option<Document>, Diagnostics) {
        let Loaded { document, is_wrong, problems, .. } = self.loaded(text);
        (document.filter(|_| !is_wrong), problems)
    }

    fn loaded(&self, text: &[u8]) -> Loaded {
        millstream_text::load(text, &self.registry, &self.limits)
    }

    fn library(&self) -> Option<BothForms<'_>> {
        let library = self.documents.0.as_deref();
        library.map(|library| BothForms { library, registry: &self.registry })
    }

    fn compile_checked(
        &self,
        document: Document,
        checked: &Checked,
        warnings: Diagnostics,
    ) -> Result<Program, Error> {
        let plan = self.plan(checked).map_err(Error::Document)?;
        Ok(Program::new(document, plan, warnings))
    }

    fn plan(&self, checked: &Checked) -> Result<Plan, Diagnostics> {
        let options = Options { limits: self.limits.clone(), ..Options::default() };
        compile(checked, &self.registry, &options)
    }
}
