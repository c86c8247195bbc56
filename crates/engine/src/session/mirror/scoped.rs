//! Nodes that evaluate their input at another moment, or with other numbers as features.
//!
//! Such a node reads a copy of its input, in which each node that reads a feature reads that of the
//! scope. Only nodes that need the feature are copied; all others are shared between inside and
//! outside. Thus values are stored, change and are cut off in each context as everywhere in a live
//! graph. Scopes within scopes are copies of copies. When nodes with copies are linked again, their
//! copies are updated before a node is made that reads them, and at the end of the edit.

use std::sync::Arc;

use millstream_base::Feature;
use millstream_form::Form;
use millstream_node::instance::InputSlot;
use millstream_node::{Instance, Kernel, ScopeRule};
use millstream_run::live::NodeNumber;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::parts::lane_of_feature;
use super::{Mirror, NotLive, Operand, Owner};

/// Maximal number of copies in scopes, and how much each call adds to it.
const MANY_COPIES: usize = 1 << 12;
const COPIES_PER_CALL: usize = 4;

/// The copies of a scope are swept when they exceed twice the number of those in use by this many.
const MANY_LEFT: usize = 1 << 10;

/// A node that passes its input on in another context, with the copies for it.
#[derive(Debug)]
pub(super) struct Scoped {
    /// The input, as it is outside.
    root: NodeNumber,
    /// The other inputs.
    args: Vec<NodeNumber>,
    /// The sources of features outside, each with the node that replaces it inside.
    features: SmallVec<[(NodeNumber, NodeNumber); 2]>,
    /// Nodes that compute features for the inside.
    modifiers: Vec<NodeNumber>,
    /// The copy inside of each node that was visited; the node itself if it needs none of these
    /// features.
    inside: FxHashMap<NodeNumber, NodeNumber>,
    /// Their number when all of them were in use.
    n_read: usize,
}

impl Scoped {
    /// Whether a node is the source of a feature that the scope replaces.
    fn gives(&self, node: NodeNumber) -> bool {
        self.features.iter().any(|(outside, _)| *outside == node)
    }
}

/// Whether an instance does nothing but pass its input on with other numbers as features.
pub(super) fn is_scope(instance: &Instance) -> bool {
    let is_number = |rule: &ScopeRule| match rule {
        ScopeRule::Inject { feature, .. } | ScopeRule::Modify { feature, .. } => {
            lane_of_feature(feature).is_some()
        }
        ScopeRule::Each { .. } | ScopeRule::Along { .. } => false,
    };
    matches!(instance.kernel, Kernel::Pass)
        && instance.has_scopes()
        && instance.outputs.len() == 1
        && instance.def.state.is_none()
        && instance.inputs[0].scope.iter().all(is_number)
        && instance.inputs.iter().skip(1).all(|slot| slot.scope.is_empty())
}

impl Mirror {
    /// The node of a scope, which evaluates its first input at another moment. `before` is the
    /// previous node of the same instance in its place, if there was one.
    pub(super) fn scoped(
        &mut self,
        before: Option<NodeNumber>,
        instance: &Arc<Instance>,
        operands: &[Operand],
    ) -> Result<NodeNumber, NotLive> {
        if !is_scope(instance) {
            return Err(NotLive);
        }
        self.follow_scopes()?;
        let known = before.and_then(|before| Some((before, self.scopes.remove(&before)?)));
        let old = |at: usize| {
            let (_, scope) = known.as_ref()?;
            if at == 0 { Some(scope.root) } else { scope.args.get(at - 1).copied() }
        };
        let mut nodes = Vec::with_capacity(operands.len());
        for (at, (operand, slot)) in operands.iter().zip(&instance.inputs).enumerate() {
            let before = old(at);
            let node = self.fitted(Owner::Call, before, operand, slot.ty)?;
            if let Some(before) = before.filter(|before| *before != node) {
                self.doom_owned(Owner::Call, before);
            }
            nodes.push(node);
        }
        let (root, args) = (nodes[0], nodes.split_off(1));
        let Some((node, mut scope)) = known else {
            self.n_calls += 1;
            if self.n_calls > self.limits.expanded_nodes {
                return Err(NotLive);
            }
            let mut scope = self.scope_of(instance, root, args)?;
            let input = self.inside(&mut scope, root)?;
            let made = self.graph.call(&passing(instance), &[input]).map_err(|_| NotLive)?;
            self.scopes.insert(made, scope);
            return Ok(made);
        };
        if scope.args != args {
            self.doom_copies(&scope);
            scope = self.scope_of(instance, root, args)?;
        }
        let is_moved = scope.root != root;
        scope.root = root;
        let input = self.inside(&mut scope, root)?;
        self.link(node, 0, input)?;
        if is_moved {
            self.sweep(&mut scope);
        }
        self.scopes.insert(node, scope);
        Ok(node)
    }

    /// A scope without any visited nodes.
    fn scope_of(
        &mut self,
        instance: &Arc<Instance>,
        root: NodeNumber,
        args: Vec<NodeNumber>,
    ) -> Result<Scoped, NotLive> {
        let mut scope = Scoped {
            root,
            args,
            features: SmallVec::new(),
            modifiers: Vec::new(),
            inside: FxHashMap::default(),
            n_read: 0,
        };
        let arg = |scope: &Scoped, at: u16| {
            scope.args.get(usize::from(at).wrapping_sub(1)).copied().ok_or(NotLive)
        };
        for rule in &instance.inputs[0].scope {
            let outside = self.feature(rule.feature())?;
            let inside = match rule {
                ScopeRule::Inject { value, .. } => arg(&scope, *value)?,
                ScopeRule::Modify { feature, form, args } => {
                    let modifier = modifier(instance, form, feature, args);
                    let operands: SmallVec<[NodeNumber; 2]> = self
                        .graph
                        .inputs_needed(&modifier)
                        .iter()
                        .map(|input| match input.checked_sub(1) {
                            None => Ok(outside),
                            Some(at) => arg(&scope, args[usize::from(at)]),
                        })
                        .collect::<Result<_, NotLive>>()?;
                    let made = self.graph.call(&Arc::new(modifier), &operands);
                    let made = made.map_err(|_| NotLive)?;
                    scope.modifiers.push(made);
                    made
                }
                ScopeRule::Each { .. } | ScopeRule::Along { .. } => return Err(NotLive),
            };
            scope.features.push((outside, inside));
        }
        Ok(scope)
    }

    /// The copy of a node inside a scope, made with the copies of its sources.
    fn inside(&mut self, scope: &mut Scoped, node: NodeNumber) -> Result<NodeNumber, NotLive> {
        let mut stack = vec![node];
        while let Some(node) = stack.last().copied() {
            if scope.inside.contains_key(&node) {
                stack.pop();
                continue;
            }
            let n_before = stack.len();
            if !scope.gives(node) {
                let inputs = self.inputs_of(node);
                stack.extend(inputs.into_iter().filter(|it| !scope.inside.contains_key(it)));
            }
            if stack.len() == n_before {
                let found = self.made_inside(scope, node, None)?;
                scope.inside.insert(node, found);
                stack.pop();
            }
        }
        Ok(scope.inside[&node])
    }

    fn inputs_of(&self, node: NodeNumber) -> SmallVec<[NodeNumber; 4]> {
        (0..).map_while(|at| self.graph.input_of(node, at)).collect()
    }

    /// Makes the copy of a node inside a scope, after those of its inputs. A copy `before` is
    /// linked again.
    fn made_inside(
        &mut self,
        scope: &Scoped,
        node: NodeNumber,
        before: Option<NodeNumber>,
    ) -> Result<NodeNumber, NotLive> {
        if let Some((_, inside)) = scope.features.iter().find(|(outside, _)| *outside == node) {
            return Ok(*inside);
        }
        if self.n_elements == Some(node) && self.replaces_index(scope) {
            // At another index there is one element.
            return Err(NotLive);
        }
        if self.graph.is_source(node) {
            // State differs between contexts.
            return if self.kept_sources.contains(&node) { Err(NotLive) } else { Ok(node) };
        }
        let inputs = self.inputs_of(node);
        let inside: SmallVec<[NodeNumber; 4]> =
            inputs.iter().map(|input| scope.inside[input]).collect();
        if inputs == inside {
            return Ok(node);
        }
        if let Some(at) = self.graph.position_of_output(node) {
            return self.graph.output(inside[0], at).ok_or(NotLive);
        }
        if let Some(copy) = before.filter(|before| *before != node) {
            for (at, input) in inside.into_iter().enumerate() {
                self.link(copy, at, input)?;
            }
            return Ok(copy);
        }
        self.n_copies += 1;
        if self.n_copies > MANY_COPIES + COPIES_PER_CALL * self.n_calls {
            return Err(NotLive);
        }
        self.graph.alike(node, &inside).map_err(|_| NotLive)
    }

    fn replaces_index(&self, scope: &Scoped) -> bool {
        self.features.get(&Feature::Index).is_some_and(|index| scope.gives(*index))
    }

    /// Links a node, of which there may be copies.
    pub(super) fn link(
        &mut self,
        node: NodeNumber,
        at: usize,
        input: NodeNumber,
    ) -> Result<(), NotLive> {
        if self.graph.input_of(node, at) == Some(input) {
            return Ok(());
        }
        self.graph.relink_number(node, at, input).map_err(|_| NotLive)?;
        // A scope that is being updated is not among them, and its copies may be in others.
        if self.n_copies > 0 || !self.scopes.is_empty() {
            self.relinked.push(node);
        }
        Ok(())
    }

    /// Updates all copies of nodes that were linked again.
    pub(super) fn follow_scopes(&mut self) -> Result<(), NotLive> {
        while let Some(node) = self.relinked.pop() {
            let within: SmallVec<[NodeNumber; 4]> = self
                .scopes
                .iter()
                .filter(|(_, it)| it.inside.contains_key(&node))
                .map(|it| *it.0)
                .collect();
            for scope in within {
                self.follow_in(scope, node)?;
            }
        }
        Ok(())
    }

    /// Updates the copies of a node in a scope.
    fn follow_in(&mut self, passing: NodeNumber, node: NodeNumber) -> Result<(), NotLive> {
        let Some(mut scope) = self.scopes.remove(&passing) else { return Ok(()) };
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            for input in self.inputs_of(node) {
                self.inside(&mut scope, input)?;
            }
            let Some(before) = scope.inside.get(&node).copied() else { continue };
            let now = self.made_inside(&scope, node, Some(before))?;
            if now == before {
                continue;
            }
            scope.inside.insert(node, now);
            self.doom_copy(&scope, node, before);
            let readers = self.graph.readers_of(node);
            stack.extend(readers.into_iter().filter(|it| scope.inside.contains_key(it)));
        }
        let input = scope.inside[&scope.root];
        self.link(passing, 0, input)?;
        if scope.inside.len() > 2 * scope.n_read + MANY_LEFT {
            self.sweep(&mut scope);
        }
        self.scopes.insert(passing, scope);
        Ok(())
    }

    /// Drops the copies in a scope that no node reads any more.
    fn sweep(&mut self, scope: &mut Scoped) {
        let mut read = FxHashSet::default();
        let mut stack = vec![scope.root];
        while let Some(node) = stack.pop() {
            if read.insert(node) && !scope.gives(node) {
                stack.extend(self.inputs_of(node));
            }
        }
        let left = scope.inside.iter().filter(|(node, _)| !read.contains(node));
        let left: Vec<(NodeNumber, NodeNumber)> = left.map(|(node, copy)| (*node, *copy)).collect();
        for (node, copy) in left {
            scope.inside.remove(&node);
            self.doom_copy(scope, node, copy);
        }
        scope.n_read = scope.inside.len();
    }

    /// Drops the copy of a node in a scope.
    fn doom_copy(&mut self, scope: &Scoped, node: NodeNumber, copy: NodeNumber) {
        let is_copy =
            copy != node && !scope.gives(node) && self.graph.position_of_output(copy).is_none();
        if is_copy && self.doomed.insert(copy) {
            self.n_copies -= 1;
        }
    }

    fn doom_copies(&mut self, scope: &Scoped) {
        for (node, copy) in &scope.inside {
            self.doom_copy(scope, *node, *copy);
        }
        self.doomed.extend(scope.modifiers.iter().copied());
    }

    /// Drops the scope of a node, if it has one.
    pub(super) fn doom_scope(&mut self, node: NodeNumber) {
        let Some(scope) = self.scopes.remove(&node) else { return };
        self.doom_copies(&scope);
        for input in scope.args.iter().chain([&scope.root]) {
            self.doom_owned(Owner::Call, *input);
        }
    }

    /// Drops the copies of nodes that are dropped.
    pub(super) fn doom_copies_of_doomed(&mut self) {
        if self.scopes.is_empty() {
            return;
        }
        let mut stack: Vec<NodeNumber> = self.doomed.iter().copied().collect();
        let mut scopes = std::mem::take(&mut self.scopes);
        while let Some(node) = stack.pop() {
            let outputs = (0..).map_while(|at| self.graph.output(node, at));
            let gone: SmallVec<[NodeNumber; 4]> = outputs.chain([node]).collect();
            for scope in scopes.values_mut() {
                for node in &gone {
                    if let Some(copy) = scope.inside.remove(node) {
                        self.doom_copy(scope, *node, copy);
                        stack.extend(Some(copy).filter(|copy| self.doomed.contains(copy)));
                    }
                }
            }
        }
        self.scopes = scopes;
    }

    /// The original of each copy, including copies of copies.
    pub(super) fn originals(&self) -> FxHashMap<NodeNumber, NodeNumber> {
        let mut of: FxHashMap<NodeNumber, NodeNumber> = FxHashMap::default();
        for scope in self.scopes.values() {
            let copies =
                scope.inside.iter().filter(|(node, copy)| node != copy && !scope.gives(**node));
            of.extend(copies.map(|(node, copy)| (*copy, *node)));
        }
        let mut found = FxHashMap::default();
        for copy in of.keys() {
            let mut node = *copy;
            while let Some(original) = of.get(&node) {
                node = *original;
            }
            found.insert(*copy, node);
        }
        found
    }
}

/// An instance that returns its input and leaves the context as it is.
fn passing(instance: &Instance) -> Arc<Instance> {
    let input = InputSlot { scope: Vec::new(), ..instance.inputs[0].clone() };
    Arc::new(like(instance, vec![input], Kernel::Pass))
}

/// The instance that computes a feature inside a scope from its value outside and arguments.
fn modifier(instance: &Instance, form: &Arc<Form>, feature: &Feature, args: &[u16]) -> Instance {
    let old = InputSlot { scope: Vec::new(), ty: feature.ty(), ..instance.inputs[0].clone() };
    let args = args.iter().map(|at| instance.inputs[usize::from(*at)].clone());
    let inputs = std::iter::once(old).chain(args).collect();
    let mut modifier = like(instance, inputs, Kernel::Form(Arc::clone(form)));
    modifier.outputs[0].ty = feature.ty();
    modifier
}

/// An instance with the name of another one.
fn like(instance: &Instance, inputs: Vec<InputSlot>, kernel: Kernel) -> Instance {
    Instance {
        def: Arc::clone(&instance.def),
        settings: instance.settings.clone(),
        generics: instance.generics.clone(),
        inputs,
        outputs: instance.outputs.clone(),
        output_names: instance.output_names.clone(),
        kernel,
        network: None,
        class: instance.class,
    }
}
