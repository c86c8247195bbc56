//! Node types: sockets, settings, context reads, kernel and manual entry.
//!
//! A [`NodeDef`] is data, built with the methods below and added to a `Registry`. A numeric
//! element-wise node has a single definition, a [`Form`](millstream_form::Form).

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use millstream_base::{Need, Type};
use rustc_hash::FxHashSet;

use crate::class::Class;
use crate::function::{Function, SharedFunction};
use crate::node_def::callback::{Assembly, CallbackContext, Stop};
use crate::node_def::formula::{FormulaSetting, Truth};
use crate::node_def::instance::{InputSlot, Kernel, OutputSlot};
use crate::node_def::make::replaced_by_lowering;
use crate::node_def::network::Network;
use crate::node_def::region::RegionUse;
use crate::node_def::state::StateSpec;
use crate::scope::ScopeRule;
use crate::settings::{Setting, SettingError, SettingKind, SettingValue, Settings};
use crate::signature::{
    Among, Default, Generic, OutputSocket, Signature, Socket, SocketType, TypeError,
};

pub mod callback;
mod declare;
mod form;
pub mod formula;
pub mod instance;
mod make;
pub mod network;
pub mod region;
pub mod state;
use millstream_form::{FormBuilder, Val};

/// A node type.
pub struct NodeDef {
    /// `family.name`, as documents write it.
    pub name: Cow<'static, str>,
    /// The version, raised when the meaning or the sockets change; documents with older versions
    /// are upgraded.
    pub version: u32,
    /// The class of the node itself, apart from that of its inputs.
    pub class: Class,
    /// The settings.
    pub settings: Vec<Setting>,
    /// The socket whose value is used in later ticks only; its source may depend on the node.
    pub delayed: Option<&'static str>,
    /// The state that nodes of this type keep from tick to tick.
    pub state: Option<StateSpec>,
    /// Whether the node converts its first input, so that messages about types suggest it.
    pub converts: bool,
    /// Whether the first input selects one of the others, and only that one is needed.
    pub chooses: bool,
    /// Whether exchanging the first two inputs changes no bit, although no form shows it.
    pub commutes: bool,
    /// How its truth value follows from its inputs, which tells what selectors have in common.
    pub truth: Option<Truth>,
    /// Identities that hold for every bit pattern.
    pub laws: Vec<Law>,
    /// Pairs of nodes that equal a single node.
    pub compositions: Vec<Composition>,
    /// The manual entry.
    pub manual: Manual,
    /// Words with a meaning in the text of a setting, which therefore cannot name inputs.
    pub reserved: FxHashSet<&'static str>,
    /// The document that replaces each node, made by the crate `document`.
    pub body: Option<Body>,
    /// The context that its callback reads.
    pub reads: Vec<Need>,
    /// How results in one region of a view depend on the rest of it, for given settings.
    pub region_use: fn(&Settings) -> RegionUse,
    /// The formula in a setting.
    pub formula: Option<FormulaSetting>,
    /// Estimated time for one element of its function.
    pub cost: Option<Duration>,
    /// The state variables of its callback, until the node type is registered.
    kept: Vec<(&'static str, SocketType)>,
    /// The closure that selects lazy inputs for its callback, until the node type is registered.
    select: Option<Arc<Select>>,
    sockets: Sockets,
    kernel: Maker,
}

type Run = dyn Fn(&mut CallbackContext<'_>) -> Result<(), Stop> + Send + Sync;
type Select =
    dyn Fn(&mut CallbackContext<'_>) -> Result<&'static [&'static str], Stop> + Send + Sync;

/// A document, opaque to this crate.
pub type Body = Arc<dyn std::any::Any + Send + Sync>;

/// The manual entry of a node type; sockets and settings carry their own lines.
#[derive(Clone, Debug, std::default::Default)]
pub struct Manual {
    /// One line, shown in lists.
    pub summary: Cow<'static, str>,
    /// Paragraphs about shapes, units, edge cases and failures.
    pub details: Cow<'static, str>,
    /// The source of the formula.
    pub source: Cow<'static, str>,
}

/// An identity that holds bit for bit, where `f` is the node's first output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// `f(x, c) = x` for this constant in every lane.
    RightNeutral(f64),
    /// `f(c, x) = x` for this constant in every lane.
    LeftNeutral(f64),
    /// `f(x, x) = x`.
    SameInputs,
    /// `f(f(x)) = x`.
    Involution,
    /// `f(f(x)) = f(x)`.
    Projection,
}

/// Two nodes that equal one, bit for bit: `f(x, g(y)) = h(x, y)`, where `f` has the composition.
///
/// All three have fixed sockets and one output. `h` has the settings of `f`; its inputs are those of
/// `f`, without the one that `g` is linked to, and then those of `g`.
#[derive(Clone)]
pub struct Composition {
    /// The position of the input of `f`.
    pub input: usize,
    /// The node type `g`, which has no settings.
    pub of: Arc<NodeDef>,
    /// The settings of `f` for which the equation holds.
    pub holds: fn(&Settings) -> bool,
    /// The node type `h`.
    pub both: Arc<NodeDef>,
}

#[derive(Clone)]
enum Sockets {
    Fixed(Signature),
    BySettings(Arc<MakeSignature>),
}

/// The specification from which a kernel is made.
pub struct KernelSpec<'a> {
    /// The settings, including defaults.
    pub settings: &'a Settings,
    /// The types of the generics.
    pub generics: &'a [Type],
    /// The inputs of the instance.
    pub inputs: &'a [InputSlot],
    /// The outputs of the instance.
    pub outputs: &'a [OutputSlot],
}

type MakeSignature = dyn Fn(&Settings) -> Result<Signature, SettingError> + Send + Sync;
/// Writes a form: takes the lanes of each input, and returns the lanes of each output.
pub type WriteForm<'f> = dyn for<'b> Fn(&'b FormBuilder, &[Vec<Val<'b>>]) -> Vec<Vec<Val<'b>>> + 'f;
type MakeKernel = dyn Fn(&KernelSpec<'_>) -> Result<Kernel, SettingError> + Send + Sync;
type MakeNetwork = dyn Fn(&KernelSpec<'_>) -> Result<Arc<Network>, SettingError> + Send + Sync;

enum Maker {
    /// Not set; it must be before the node type is registered.
    Missing,
    Kernel(Arc<MakeKernel>),
    Network(Arc<MakeNetwork>),
    /// A callback, until registering the node type makes it an assembly.
    Callback(Arc<Run>),
    Assembly(Arc<Assembly>),
}

/// Why a node type has no instance for some settings and inputs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum InstanceError {
    /// The settings do not give a kernel.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Setting(#[from] SettingError),
    /// The types do not fit.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Type(#[from] TypeError),
}

impl NodeDef {
    /// A static node type without sockets, to be completed with the methods below.
    pub fn new(name: impl Into<Cow<'static, str>>, summary: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            version: 1,
            class: Class::Static,
            settings: Vec::new(),
            delayed: None,
            state: None,
            converts: false,
            chooses: false,
            commutes: false,
            truth: None,
            laws: Vec::new(),
            compositions: Vec::new(),
            reserved: FxHashSet::default(),
            body: None,
            reads: Vec::new(),
            region_use: |_| RegionUse::Unknown,
            formula: None,
            cost: None,
            kept: Vec::new(),
            select: None,
            manual: Manual { summary: summary.into(), ..Manual::default() },
            sockets: Sockets::Fixed(Signature::default()),
            kernel: Maker::Missing,
        }
    }

    /// Sets the paragraphs of the manual entry.
    pub fn details(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.manual.details = text.into();
        self
    }

    /// Sets the source of the formula.
    pub fn source(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.manual.source = text.into();
        self
    }

    /// Sets the class of the node itself.
    pub fn class(mut self, class: Class) -> Self {
        self.class = class;
        self
    }

    /// Declares the state that nodes of this type keep from tick to tick.
    pub fn state(mut self, state: StateSpec) -> Self {
        self.class = Class::Stateful;
        self.state = Some(state);
        self.kernel(|_| Ok(replaced_by_lowering()))
    }

    /// Declares that each node is replaced by a document, which is expanded like a group.
    pub fn body(mut self, body: Body) -> Self {
        self.body = Some(body);
        self.kernel(|_| Ok(replaced_by_lowering()))
    }

    /// Declares that each node is replaced by others before lowering.
    pub(crate) fn replaced(self) -> Self {
        self.kernel(|_| Ok(replaced_by_lowering()))
    }

    /// Declares that the value of this socket is used only in later ticks.
    pub fn delays(mut self, socket: &'static str) -> Self {
        self.delayed = Some(socket);
        self
    }

    /// Declares that the node converts its first input to another type.
    pub fn converts(mut self) -> Self {
        self.converts = true;
        self
    }

    /// Declares that the kernel is a choice, so that its arms may break cycles.
    pub fn chooses(mut self) -> Self {
        self.chooses = true;
        self
    }

    /// Declares words with a meaning in the text of a setting.
    pub fn reserves(mut self, words: impl IntoIterator<Item = &'static str>) -> Self {
        self.reserved.extend(words);
        self
    }

    /// Declares how the truth value that nodes give follows from their first two inputs.
    pub fn truth(mut self, truth: Truth) -> Self {
        self.truth = Some(truth);
        self
    }

    /// Declares an identity that holds bit for bit.
    pub fn law(mut self, law: Law) -> Self {
        self.laws.push(law);
        self
    }

    /// Declares a pair of nodes that equals a single node.
    pub fn composition(mut self, composition: Composition) -> Self {
        self.compositions.push(composition);
        self
    }

    /// Declares how results in one region of a view depend on the rest of the view.
    pub fn region_use(mut self, of: fn(&Settings) -> RegionUse) -> Self {
        self.region_use = of;
        self
    }

    /// Adds a setting.
    pub fn setting(
        mut self,
        name: &'static str,
        kind: SettingKind,
        default: Option<SettingValue>,
        about: &'static str,
    ) -> Self {
        self.settings.push(Setting { name, kind, default, about });
        self
    }

    /// Adds a setting that is one of several choices, each with its description.
    pub fn choice(
        self,
        name: &'static str,
        choices: &'static [(&'static str, &'static str)],
        default: &'static str,
        about: &'static str,
    ) -> Self {
        let default = SettingValue::Text(default.into());
        self.setting(name, SettingKind::Choice(choices), Some(default), about)
    }

    /// Adds a setting that is true or false.
    pub fn flag(self, name: &'static str, default: bool, about: &'static str) -> Self {
        self.setting(name, SettingKind::Flag, Some(SettingValue::Flag(default)), about)
    }

    /// Adds a setting that is a whole number within some limits, both included.
    pub fn integer(
        self,
        name: &'static str,
        (least, most): (i64, i64),
        default: i64,
        about: &'static str,
    ) -> Self {
        let default = SettingValue::Integer(default);
        self.setting(name, SettingKind::Integer(least, most), Some(default), about)
    }

    /// Adds a generic type; the first call adds generic 0, the next 1.
    pub fn generic(mut self, name: &'static str, among: Among) -> Self {
        self.fixed().generics.push(Generic { name, among });
        self
    }

    /// Adds an input that the author must link or write.
    pub fn input(
        self,
        name: impl Into<Cow<'static, str>>,
        ty: impl Into<SocketType>,
        about: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.input_or(name, ty, Default::Required, about)
    }

    /// Adds an input with a default: a number stands for that number in every lane.
    pub fn input_or(
        mut self,
        name: impl Into<Cow<'static, str>>,
        ty: impl Into<SocketType>,
        default: impl Into<Default>,
        about: impl Into<Cow<'static, str>>,
    ) -> Self {
        let socket = Socket::new(name, ty.into(), default.into());
        self.fixed().inputs.push(Socket { about: about.into(), ..socket });
        self
    }

    /// Lets the last added input take any number of sources.
    pub fn multiple(mut self) -> Self {
        self.last_input().multiple = true;
        self
    }

    /// Lets the kernel overwrite the buffer of the last added input and return it.
    pub fn mutable(mut self) -> Self {
        self.last_input().mutable = true;
        self
    }

    /// Evaluates the last added input in a changed context; the rule names inputs by socket.
    pub fn scope(mut self, rule: ScopeRule) -> Self {
        self.last_input().scope.push(rule);
        self
    }

    /// Adds an output.
    pub fn output(
        mut self,
        name: impl Into<Cow<'static, str>>,
        ty: impl Into<SocketType>,
        about: impl Into<Cow<'static, str>>,
    ) -> Self {
        let socket = OutputSocket::new(name, ty.into());
        self.fixed().outputs.push(OutputSocket { about: about.into(), ..socket });
        self
    }

    /// Derives the sockets from the settings; replaces the fixed sockets.
    pub fn sockets_by_settings(
        mut self,
        sockets: impl Fn(&Settings) -> Result<Signature, SettingError> + Send + Sync + 'static,
    ) -> Self {
        self.sockets = Sockets::BySettings(Arc::new(sockets));
        self
    }

    /// Sets the kernel to a form: a closure from the lanes of each input to the lanes of each
    /// output.
    pub fn form<F>(self, form: F) -> Self
    where
        F: for<'b> Fn(&'b FormBuilder, &[Vec<Val<'b>>]) -> Vec<Vec<Val<'b>>>
            + Send
            + Sync
            + 'static,
    {
        self.kernel(move |parts| Ok(parts.form(&form)))
    }

    /// Sets the kernel to a form that treats each lane of the one output alike: it takes that lane
    /// of each input, or lane 0 of inputs with only one.
    pub fn lanewise<F>(self, lane: F) -> Self
    where
        F: for<'b> Fn(&'b FormBuilder, &[Val<'b>]) -> Val<'b> + Send + Sync + 'static,
    {
        self.kernel(move |parts| Ok(parts.lanewise(&lane)))
    }

    /// Sets the kernel to a function over columns.
    pub fn function(self, function: impl Function + 'static) -> Self {
        let function: SharedFunction = Arc::new(function);
        self.kernel(move |_| Ok(Kernel::Function(Arc::clone(&function))))
    }

    /// Sets a constructor that makes the kernel of each instance.
    pub fn kernel(
        mut self,
        make: impl Fn(&KernelSpec<'_>) -> Result<Kernel, SettingError> + Send + Sync + 'static,
    ) -> Self {
        self.kernel = Maker::Kernel(Arc::new(make));
        self
    }

    /// Sets a constructor that makes the network of each instance: the nodes that replace a node of
    /// this type. Outputs of the type [`SocketType::Made`] take their types from the network.
    pub fn network(
        self,
        make: impl Fn(&KernelSpec<'_>) -> Result<Network, SettingError> + Send + Sync + 'static,
    ) -> Self {
        self.shared_network(move |parts| Ok(Arc::new(make(parts)?)))
    }

    /// Like [`network`](Self::network), but instances may share a network.
    pub fn shared_network(
        mut self,
        make: impl Fn(&KernelSpec<'_>) -> Result<Arc<Network>, SettingError> + Send + Sync + 'static,
    ) -> Self {
        self.kernel = Maker::Network(Arc::new(make));
        self
    }

    fn fixed(&mut self) -> &mut Signature {
        match &mut self.sockets {
            Sockets::Fixed(signature) => signature,
            Sockets::BySettings(_) => panic!("sockets that depend on settings replace fixed ones"),
        }
    }

    fn last_input(&mut self) -> &mut Socket {
        self.fixed().inputs.last_mut().expect("an input was added before")
    }

    /// Whether the kernel is a callback, whose outputs may need only some of the inputs.
    pub fn has_callback(&self) -> bool {
        matches!(self.kernel, Maker::Callback(_) | Maker::Assembly(_))
    }

    /// The part of the name before the dot.
    pub fn family(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }

    /// The sockets without spare memory, unless they depend on settings.
    pub fn into_fixed_signature(self) -> Option<Signature> {
        match self.sockets {
            Sockets::Fixed(Signature { mut generics, mut inputs, mut outputs }) => {
                generics.shrink_to_fit();
                inputs.shrink_to_fit();
                outputs.shrink_to_fit();
                Some(Signature { generics, inputs, outputs })
            }
            Sockets::BySettings(_) => None,
        }
    }

    /// The sockets, unless they depend on settings.
    pub fn fixed_signature(&self) -> Option<&Signature> {
        match &self.sockets {
            Sockets::Fixed(signature) => Some(signature),
            Sockets::BySettings(_) => None,
        }
    }

    /// The sockets for these settings.
    ///
    /// # Errors
    /// If the settings are inconsistent.
    pub fn signature(&self, settings: &Settings) -> Result<Cow<'_, Signature>, SettingError> {
        match &self.sockets {
            Sockets::Fixed(signature) => Ok(Cow::Borrowed(signature)),
            Sockets::BySettings(make) => make(settings).map(Cow::Owned),
        }
    }
}

impl From<Type> for SocketType {
    fn from(ty: Type) -> Self {
        Self::Exact(ty)
    }
}

impl std::fmt::Debug for NodeDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeDef").field("name", &self.name).finish_non_exhaustive()
    }
}
