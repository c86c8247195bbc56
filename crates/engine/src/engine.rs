//! The engine: node types and limits, and the programs made with them.

use std::sync::Arc;

use millstream_base::diagnostics::Diagnostics;
use millstream_base::{Limits, Type};
use millstream_compile::{Options, compile};
use millstream_document::check::open_partly;
use millstream_document::{Checked, Document, NodeUpgrade, check, open};
use millstream_node::{NodeDef, Registry};

use crate::error::Error;
use crate::program::Program;
use crate::sound::planned;

/// Node types, value types and limits. Programs are made from documents with it.
#[derive(Clone, Debug)]
pub struct Engine {
    registry: Arc<Registry>,
    upgrades: Vec<NodeUpgrade>,
    limits: Limits,
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
        Self { registry: Arc::new(registry), upgrades: Vec::new(), limits: Limits::default() }
    }

    /// Replaces the limits for loading and compiling.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds the node types of another library, given the function that registers them.
    pub fn with_library(mut self, register: impl FnOnce(&mut Registry)) -> Self {
        register(Arc::make_mut(&mut self.registry));
        self
    }

    /// Adds a node type; one of the same name is replaced.
    pub fn register(&mut self, def: NodeDef) -> &mut Self {
        Arc::make_mut(&mut self.registry).register(def);
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

    /// Loads, checks and compiles the text of a document.
    ///
    /// # Errors
    /// Everything that is wrong with the document, each problem with its place.
    pub fn load(&self, text: &[u8]) -> Result<Program, Error> {
        let (opened, problems) = open(text, &self.registry, &self.upgrades, &self.limits);
        match opened {
            Some((document, checked)) if !problems.has_errors() => {
                self.compile_checked(document, &checked, problems)
            }
            Some(_) | None => Err(Error::Document(problems)),
        }
    }

    /// As [`load`](Self::load); if there are errors, the program of what does not depend on them. It
    /// has the outputs that have values. There is none if nothing could be made of the text.
    pub fn load_partly(&self, text: &[u8]) -> (Option<Program>, Diagnostics) {
        let (opened, mut problems) =
            open_partly(text, &self.registry, &self.upgrades, &self.limits);
        let Some((document, checked)) = opened else { return (None, problems) };
        let options = Options { limits: self.limits.clone(), ..Options::default() };
        let plan = |checked: &Checked| compile(checked, &self.registry, &options);
        let (made, found) = planned(Arc::new(checked), plan);
        problems.append(found);
        (made.map(|(_, plan)| Program::new(document, plan, problems.clone())), problems)
    }

    /// Checks and compiles a document, for example one made with the builder.
    ///
    /// # Errors
    /// Everything that is wrong with the document.
    pub fn compile(&self, document: Document) -> Result<Program, Error> {
        let (checked, problems) = check(&document, &self.registry, &self.limits);
        match checked {
            Some(checked) => self.compile_checked(document, &checked, problems),
            None => Err(Error::Document(problems)),
        }
    }

    fn compile_checked(
        &self,
        document: Document,
        checked: &Checked,
        warnings: Diagnostics,
    ) -> Result<Program, Error> {
        let options = Options { limits: self.limits.clone(), ..Options::default() };
        let plan = compile(checked, &self.registry, &options).map_err(Error::Document)?;
        Ok(Program::new(document, plan, warnings))
    }
}
