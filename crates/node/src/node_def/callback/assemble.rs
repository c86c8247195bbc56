//! Makes the hidden node types of the parts that replace a node with a callback (see `parts`).
//!
//! A node type `my.node` has three hidden node types beside it, whose nodes only the compiler makes:
//! `my.node_call` runs the callback, `my.node_ask` finds the lazy inputs that the callback asks for,
//! and `my.node_in` evaluates an input in a changed context. If the node keeps state, they belong to
//! the work of a tick, `my.node_tick`.
//!
//! Outputs that declare different needs are computed by separate calls, each with only the inputs
//! that its outputs need.

use std::sync::Arc;

use millstream_base::{Need, Type};

use super::{
    Callback, CallbackFunction, MOST_LAZY, MOST_READS, MOST_ROUNDS, Spec, SpecInput, SpecOutput,
    SpecState, Task, Usage,
};
use crate::class::Class;
use crate::node_def::instance::{InputSlot, Instance, Kernel};
use crate::node_def::make::replaced_by_lowering;
use crate::node_def::state::{STARTED, StateSpec};
use crate::node_def::{KernelSpec, Maker, NodeDef, Sockets};
use crate::scope::ScopeRule;
use crate::settings::{Setting, SettingError, SettingKind, SettingValue, Settings};
use crate::signature::{Default, OutputSocket, Signature, Socket, SocketType};

/// The setting of hidden node types with the outputs of a call; none stands for all.
pub(super) const OF_OUTPUTS: &str = "of outputs";
/// The setting of hidden node types with the name of an input.
pub(super) const OF_INPUT: &str = "of input";
/// The socket with the lazy inputs that were asked for.
const ASKED: &str = "asked for";

/// The node types that all node types with callbacks share.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    /// The node type that selects one of two values.
    pub(crate) pick: Arc<NodeDef>,
    /// The node type that reads the context, and its instances.
    pub(crate) reading: Arc<NodeDef>,
    pub(crate) read: fn(&Arc<NodeDef>, &Need) -> Instance,
}

/// The description of a node type from which all of its parts are made.
pub(super) struct Base {
    /// The name of the node type in messages.
    name: Arc<str>,
    sockets: Sockets,
    pub(super) reads: Vec<Need>,
    /// The variables that it keeps. Their values are its last inputs and outputs.
    kept: Vec<&'static str>,
    pub(super) callback: Callback,
}

/// A node type with a callback, ready to make instances.
pub(crate) struct Assembly {
    pub(super) base: Arc<Base>,
    pub(super) call: Arc<NodeDef>,
    pub(super) ask: Arc<NodeDef>,
    pub(super) input: Arc<NodeDef>,
    pub(super) shared: Shared,
}

/// Completes a node type with a callback; returns the hidden node types that it needs.
///
/// # Panics
/// If parts of the node type contradict each other.
pub(crate) fn assemble(def: &mut NodeDef, shared: &Shared) -> Vec<Arc<NodeDef>> {
    let Maker::Callback(callback) = &def.kernel else {
        let asks = |signature: &Signature| {
            signature.inputs.iter().any(|input| input.lazy)
                || signature.outputs.iter().any(|output| output.needs.is_some())
        };
        let is_plain = def.reads.is_empty() && def.kept.is_empty() && def.select.is_none();
        let only = "only node types with a callback declare reads, state, lazy inputs and needs";
        assert!(is_plain && !def.fixed_signature().is_some_and(asks), "`{}`: {only}", def.name);
        return Vec::new();
    };
    let n_reads = def.reads.len();
    assert!(n_reads <= MOST_READS, "`{}`: it reads {n_reads} parts of the context", def.name);
    let callback = Callback { run: Arc::clone(callback), select: def.select.take() };
    let class_of_reads = def.reads.iter().map(|need| Class::of_reading(&need.feature)).max();
    let own_class = def.class;
    def.class = own_class.max(class_of_reads.unwrap_or_default());
    if let Sockets::Fixed(signature) = &def.sockets {
        check(signature, &callback, !def.kept.is_empty())
            .unwrap_or_else(|why| panic!("`{}`: {why}", def.name));
    }
    if def.kept.is_empty() {
        return complete(def, callback, own_class, shared);
    }
    let kept = std::mem::take(&mut def.kept);
    let about = format!("One tick of `{}`", def.name);
    let mut tick = NodeDef::new(format!("{}_tick", def.name), about);
    tick.settings.clone_from(&def.settings);
    tick.reads.clone_from(&def.reads);
    tick.cost = def.cost;
    tick.kept.clone_from(&kept);
    let variables = kept.clone();
    tick.sockets = match &def.sockets {
        Sockets::Fixed(signature) => Sockets::Fixed(with_state(signature.clone(), &variables)),
        Sockets::BySettings(make) => {
            let make = Arc::clone(make);
            let by_settings =
                move |settings: &Settings| Ok(with_state(make(settings)?, &variables));
            Sockets::BySettings(Arc::new(by_settings))
        }
    };
    let mut hidden = complete_as(&mut tick, &def.name.clone(), callback, own_class, shared);
    let tick = Arc::new(tick);
    hidden.push(Arc::clone(&tick));
    def.class = Class::Stateful;
    def.state = Some(StateSpec::Values(kept, tick));
    def.kernel = Maker::Kernel(Arc::new(|_| Ok(replaced_by_lowering())));
    hidden
}

fn complete(
    def: &mut NodeDef,
    callback: Callback,
    class: Class,
    shared: &Shared,
) -> Vec<Arc<NodeDef>> {
    complete_as(def, &def.name.clone(), callback, class, shared)
}

fn complete_as(
    def: &mut NodeDef,
    name: &str,
    callback: Callback,
    class: Class,
    shared: &Shared,
) -> Vec<Arc<NodeDef>> {
    let base = Arc::new(Base {
        name: name.into(),
        sockets: def.sockets.clone(),
        reads: def.reads.clone(),
        kept: def.kept.iter().map(|(name, _)| *name).collect(),
        callback,
    });
    let hidden = |suffix: &str, about: String, setting: Setting| {
        let mut hidden = NodeDef::new(format!("{name}_{suffix}"), about);
        hidden.settings.clone_from(&def.settings);
        hidden.settings.push(setting);
        hidden.cost = def.cost;
        hidden.class(class)
    };
    let of_outputs = || Setting {
        name: OF_OUTPUTS,
        kind: SettingKind::Texts,
        default: Some(SettingValue::Texts(Vec::new())),
        about: "the outputs, or none for all",
    };
    let working = |suffix: &str, about: String, task: Task| {
        let (of_sockets, of_kernel) = (Arc::clone(&base), Arc::clone(&base));
        hidden(suffix, about, of_outputs())
            .sockets_by_settings(move |settings| of_sockets.signature_of(task, settings))
            .kernel(move |spec| of_kernel.kernel(task, spec))
    };
    let call = working("call", format!("A run of `{name}`"), Task::Compute);
    let ask = working("ask", format!("The lazy inputs that `{name}` asks for"), Task::Ask);
    let of_input = Setting {
        name: OF_INPUT,
        kind: SettingKind::Text,
        default: None,
        about: "the name of the input",
    };
    let of_sockets = Arc::clone(&base);
    let input = hidden("in", format!("An input of `{name}`"), of_input)
        .class(Class::Static)
        .sockets_by_settings(move |settings| of_sockets.signature_of_input(settings))
        .kernel(|_| Ok(Kernel::Pass));
    let [call, ask, input] = [call, ask, input].map(Arc::new);
    let all = vec![Arc::clone(&call), Arc::clone(&ask), Arc::clone(&input)];
    def.kernel =
        Maker::Assembly(Arc::new(Assembly { base, call, ask, input, shared: shared.clone() }));
    all
}

/// The sockets for the work of a tick: those of the node, whether there is state, the seconds
/// between ticks, and the state.
fn with_state(mut signature: Signature, kept: &[(&'static str, SocketType)]) -> Signature {
    let plain = |name: String, ty| Socket::new(name, ty, Default::Zero);
    signature.inputs.push(plain(STARTED.into(), Type::BOOL.into()));
    signature.inputs.push(plain("dt".into(), Type::F64.into()));
    for (name, ty) in kept {
        signature.inputs.push(plain(format!("kept {name}"), *ty));
        let name = format!("next {name}").into();
        signature.outputs.push(OutputSocket { name, ty: *ty, about: "".into(), needs: None });
    }
    signature
}

/// Checks the sockets of a node type with a callback, and says what is wrong with them.
fn check(signature: &Signature, callback: &Callback, has_state: bool) -> Result<(), String> {
    for output in &signature.outputs {
        let unknown = |name: &&&str| signature.input(name).is_none();
        if let Some(name) = output.needs.iter().copied().flatten().find(unknown) {
            return Err(format!("output `{}` needs `{name}`, which is not an input", output.name));
        }
        if output.needs.is_some() && !matches!(output.ty, SocketType::Exact(_)) {
            return Err(format!(
                "output `{}` declares what it needs, so its type must not depend on inputs",
                output.name
            ));
        }
        if output.needs.is_some() && has_state {
            return Err(format!(
                "output `{}` declares what it needs, which nodes with state cannot",
                output.name
            ));
        }
    }
    let lazy: Vec<&Socket> = signature.inputs.iter().filter(|socket| socket.lazy).collect();
    for socket in &lazy {
        if socket.multiple || socket.scope.iter().any(ScopeRule::gathers) {
            return Err(format!(
                "input `{}` cannot be lazy, because it takes several values",
                socket.name
            ));
        }
    }
    if lazy.len() > MOST_LAZY {
        return Err(format!("there are {} lazy inputs, at most {MOST_LAZY} can be", lazy.len()));
    }
    if lazy.len() > MOST_ROUNDS && callback.select.is_none() {
        return Err(format!(
            "there are {} lazy inputs, and a callback asks for at most {MOST_ROUNDS} one by one: \
             declare a selector",
            lazy.len()
        ));
    }
    Ok(())
}

fn refused(why: String) -> SettingError {
    SettingError::refused("sockets", why)
}

/// Whether a separate node evaluates the source of a socket, in a changed context.
pub(super) fn is_passed(socket: &Socket) -> bool {
    !socket.scope.is_empty() && !socket.scope.iter().any(ScopeRule::gathers)
}

/// The inputs that the outputs at these positions need.
pub(super) fn needed_by(signature: &Signature, outputs: &[usize]) -> Vec<usize> {
    let mut needed: Vec<usize> =
        outputs.iter().flat_map(|output| signature.needed_by(*output)).collect();
    needed.sort_unstable();
    needed.dedup();
    needed
}

/// The outputs of each call: those that are computed together.
pub(super) fn calls(signature: &Signature) -> Vec<Vec<usize>> {
    let mut calls: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
    for output in 0..signature.outputs.len() {
        let needed = signature.needed_by(output);
        match calls.iter_mut().find(|(known, _)| *known == needed) {
            Some((_, outputs)) => outputs.push(output),
            None => calls.push((needed, vec![output])),
        }
    }
    calls.into_iter().map(|(_, outputs)| outputs).collect()
}

impl Base {
    pub(super) fn signature(&self, settings: &Settings) -> Result<Signature, SettingError> {
        match &self.sockets {
            Sockets::Fixed(signature) => Ok(signature.clone()),
            Sockets::BySettings(make) => {
                let signature = make(settings)?;
                check(&signature, &self.callback, !self.kept.is_empty()).map_err(refused)?;
                Ok(signature)
            }
        }
    }

    /// The positions of the outputs of a call.
    fn outputs(signature: &Signature, settings: &Settings) -> Vec<usize> {
        match settings.texts(OF_OUTPUTS) {
            [] => (0..signature.outputs.len()).collect(),
            names => names.iter().filter_map(|name| signature.output(name)).collect(),
        }
    }

    /// The sockets of the hidden node type for a task: the inputs that its outputs need, the declared
    /// parts of the context, and the lazy inputs that were asked for if there are any.
    fn signature_of(&self, task: Task, settings: &Settings) -> Result<Signature, SettingError> {
        let of_node = self.signature(settings)?;
        let outputs = Self::outputs(&of_node, settings);
        let needed = needed_by(&of_node, &outputs);
        let at = |socket: u16| {
            let at = needed.iter().position(|needed| *needed == usize::from(socket));
            at.expect("what a scope takes is needed") as u16
        };
        let mut made = Signature { generics: of_node.generics.clone(), ..Signature::default() };
        for socket in needed.iter().map(|i| &of_node.inputs[*i]) {
            let scope = socket.scope.iter().filter(|_| !is_passed(socket));
            made.inputs.push(Socket {
                lazy: false,
                mutable: socket.mutable && task == Task::Compute,
                scope: scope.map(|rule| rule.moved(at)).collect(),
                ..socket.clone()
            });
        }
        for need in &self.reads {
            let ty = need.ty();
            made.inputs.push(Socket::new(format!("read {need}"), ty.into(), Default::Required));
        }
        let lazy = of_node.inputs.iter().filter(|socket| socket.lazy);
        if needed.iter().any(|i| of_node.inputs[*i].lazy) {
            made.inputs.push(Socket::new(ASKED, Type::I32.into(), Default::Zero));
        }
        made.outputs = match task {
            Task::Compute => outputs.iter().map(|k| of_node.outputs[*k].clone()).collect(),
            Task::Ask => {
                let asked = OutputSocket::new(ASKED, Type::I32.into());
                let each =
                    lazy.map(|socket| OutputSocket::new(socket.name.clone(), Type::BOOL.into()));
                std::iter::once(asked).chain(each).collect()
            }
        };
        made.outputs.iter_mut().for_each(|output| output.needs = None);
        Ok(made)
    }

    /// The sockets of the node that evaluates an input in a changed context: the input and the
    /// arguments of its scope.
    fn signature_of_input(&self, settings: &Settings) -> Result<Signature, SettingError> {
        let of_node = self.signature(settings)?;
        let name = settings.text(OF_INPUT);
        let unknown = || SettingError::refused(OF_INPUT, format!("there is no input `{name}`"));
        let socket = &of_node.inputs[of_node.input(name).ok_or_else(unknown)?];
        let args = args_of(socket);
        let at = |socket: u16| {
            let at = args.iter().position(|arg| *arg == socket);
            1 + at.expect("the arguments are those of the scope") as u16
        };
        let scoped = Socket {
            lazy: false,
            mutable: false,
            multiple: false,
            scope: socket.scope.iter().map(|rule| rule.moved(at)).collect(),
            ..socket.clone()
        };
        let args = args.iter().map(|arg| of_node.inputs[usize::from(*arg)].clone());
        let args = args.map(|arg| Socket { lazy: false, scope: Vec::new(), ..arg });
        Ok(Signature {
            generics: of_node.generics.clone(),
            inputs: std::iter::once(scoped).chain(args).collect(),
            outputs: vec![OutputSocket::new("value", socket.ty)],
        })
    }

    /// The function for a task, in an instance of its hidden node type.
    pub(super) fn kernel(&self, task: Task, spec: &KernelSpec<'_>) -> Result<Kernel, SettingError> {
        let of_node = self.signature(spec.settings)?;
        let outputs = Self::outputs(&of_node, spec.settings);
        let needed = needed_by(&of_node, &outputs);
        let slots = |socket: usize| {
            let of_socket = |slot: &InputSlot| usize::from(slot.socket) == socket;
            let first = spec.inputs.iter().position(of_socket).unwrap_or(spec.inputs.len());
            (first, spec.inputs.iter().filter(|slot| of_socket(slot)).count())
        };
        let has_state = !self.kept.is_empty();
        let n_own = of_node.inputs.len() - if has_state { 2 + self.kept.len() } else { 0 };
        let mut next_lazy = 0..;
        let mut inputs = Vec::with_capacity(n_own);
        for (i, socket) in of_node.inputs[..n_own].iter().enumerate() {
            let at = needed.iter().position(|needed| *needed == i);
            let (first, n) = at.map_or((spec.inputs.len(), 0), slots);
            inputs.push(SpecInput {
                name: (&*socket.name).into(),
                first,
                n,
                lazy: socket.lazy.then(|| next_lazy.next()).flatten(),
                is_needed: at.is_some(),
                takes_several: socket.multiple,
            });
        }
        let edited = |name: &str| {
            let input = of_node.inputs.iter().zip(&inputs).find(|(_, it)| &*it.name == name)?;
            (input.0.mutable && input.1.is_needed).then_some(input.1.first)
        };
        let output = |k: &usize| {
            let socket = &of_node.outputs[*k];
            let ty = socket.ty.resolve(spec.generics).expect("the node has an instance");
            SpecOutput { name: (&*socket.name).into(), ty, edits: edited(&socket.name) }
        };
        let n_read = self.reads.len();
        let reads = self.reads.iter().enumerate();
        let n_own_outputs = of_node.outputs.len() - self.kept.len();
        let state = self.kept.iter().enumerate().map(|(i, name)| SpecState {
            name: (*name).into(),
            slot: slots(n_own + 2 + i).0,
            output: n_own_outputs + i,
        });
        let others = (0..n_own_outputs).filter(|k| !outputs.contains(k));
        let made = Spec {
            node_type: Arc::clone(&self.name),
            settings: spec.settings.clone(),
            callback: self.callback.clone(),
            reads: reads.map(|(r, need)| (need.clone(), slots(needed.len() + r).0)).collect(),
            asked: needed
                .iter()
                .any(|i| of_node.inputs[*i].lazy)
                .then(|| slots(needed.len() + n_read).0),
            state: state.collect(),
            started: has_state.then(|| (slots(n_own).0, slots(n_own + 1).0)),
            outputs: outputs.iter().map(output).collect(),
            elsewhere: others.map(|k| (&*of_node.outputs[k].name).into()).collect(),
            inputs,
        };
        let function = CallbackFunction { spec: made, task, usage: Usage::default() };
        Ok(Kernel::Function(Arc::new(function)))
    }
}

/// The sockets whose values the scope of a socket takes.
pub(super) fn args_of(socket: &Socket) -> Vec<u16> {
    let mut args: Vec<u16> = Vec::new();
    for arg in socket.scope.iter().flat_map(|rule| rule.uses(true)) {
        if !args.contains(arg) {
            args.push(*arg);
        }
    }
    args
}
