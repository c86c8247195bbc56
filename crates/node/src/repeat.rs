//! Nodes that run a group round by round: their settings, their instances, and the nodes that read
//! for them what the group needs of its context.
//!
//! A document writes such a node with the type `repeat` and the name of a group. The instance of the
//! node is a function of columns: the values that are carried from round to round, what stays the
//! same, how many rounds, and behind these what the group needs of the context around the node.

use std::sync::Arc;

use millstream_base::feature::Aspect;
use millstream_base::{Feature, Need, Type};
use serde_json::{Value as Json, json};

use crate::class::Class;
use crate::function::SharedFunction;
use crate::instance::{InputSlot, Instance, Kernel, OutputSlot};
use crate::kept::{need_named, text_of};
use crate::node_def::NodeDef;
use crate::scope::ScopeRule;
use crate::settings::{Setting, SettingError, SettingKind, SettingValue, Settings};
use crate::signature::{OutputSocket, Signature};

/// Name of the node type in documents.
pub const REPEAT: &str = "repeat";

/// Name of the socket that says how many rounds.
pub const COUNT: &str = "count";

/// Name of the node type that reads the context for a repeat.
pub const CAPTURE: &str = "repeat.capture";

/// The settings of a repeat as documents write them.
pub fn settings() -> Vec<Setting> {
    let choices = &[
        ("count", "after as many rounds as `count` says"),
        ("stable", "when a round changed no carried value, at the latest after `count` rounds"),
    ];
    vec![
        Setting {
            name: "until",
            kind: SettingKind::Choice(choices),
            default: Some(SettingValue::Text("count".into())),
            about: "when it ends",
        },
        Setting {
            name: "while",
            kind: SettingKind::Text,
            default: Some(SettingValue::Text("".into())),
            about: "a bool output of the group: when it is false, no more rounds run",
        },
    ]
}

/// The settings of its instances: those that documents write, and which group it is.
pub fn instance_settings() -> Vec<Setting> {
    let mut settings = settings();
    for name in ["body", "group"] {
        settings.push(Setting { name, kind: SettingKind::Text, default: None, about: "" });
    }
    settings
}

/// The node type as the manual shows it; what it takes and gives besides is up to the group.
pub(crate) fn node_type() -> NodeDef {
    let mut def = NodeDef::new(REPEAT, "A group, round by round")
        .details(
            "Written with the name of a group: {\"type\": \"repeat\", \"group\": \"step\"}. The node has the \
             inputs of the group, and `count` unless the group has an input of that name; its outputs \
             are those of the group.\n\nAn output of the group is carried to the input of the same name \
             and type in the next round. Other inputs stay as they are given. What the node gives is \
             what is carried after the last round: without any round what was given. Values of any type are carried. Each element runs its \
             own number of rounds.\n\nThe output named by `while` says after each round whether to go on. \
             It need not be carried; then it is true without any round. If it is, no round runs where it \
             is given as false. `until` \"stable\" compares bits.\n\nThe group reads the context around \
             the node; `context.iteration` is the number of the round, and a level higher that of a \
             repeat around. Groups that keep state, or read along an axis around the node inside a scope, are refused. `repeat_count` \
             in the limits bounds the rounds.",
        )
        .input(COUNT, Type::I32, "how many rounds, or at most how many; negative counts as 0")
        .kernel(|_| Err(SettingError::refused("group", "a repeat is written with a group")));
    def.settings = settings();
    def
}

/// What a repeat is made from.
#[derive(Debug)]
pub struct RepeatParts<'a> {
    /// Name of the group.
    pub group: &'a str,
    /// What tells the content of the group from others.
    pub digest: &'a str,
    /// Name of the output that says whether to go on; empty if none does.
    pub go: &'a str,
    /// Whether it ends when nothing changes.
    pub until_stable: bool,
    /// The inputs of the group and the count, in the order of the node's sources.
    pub inputs: Vec<(Arc<str>, Type)>,
    /// What the group needs of the context.
    pub captures: &'a [Need],
    /// The outputs of the group.
    pub outputs: Vec<(Arc<str>, Type)>,
}

/// The instance of a repeat; `function` runs the rounds.
pub fn instance(parts: RepeatParts<'_>, function: SharedFunction) -> Instance {
    let mut def = NodeDef::new(REPEAT, "A group, round by round");
    def.settings = instance_settings();
    let captured = parts.captures.iter().map(|need| (text_of(need).into(), type_of(need)));
    let inputs: Vec<(Arc<str>, Type)> = parts.inputs.into_iter().chain(captured).collect();
    for (name, ty) in &inputs {
        def = def.input(name.to_string(), *ty, "");
    }
    for (name, ty) in &parts.outputs {
        def = def.output(name.to_string(), *ty, "");
    }
    let until = if parts.until_stable { "stable" } else { "count" };
    let given =
        [("body", parts.digest), ("group", parts.group), ("until", until), ("while", parts.go)];
    let given = given.map(|(name, text)| (name, json!(text)));
    let given = given.iter().map(|(name, json): &(&str, Json)| (*name, json));
    let settings = Settings::read(&def.settings, given, &|_| None);
    let slot = |(i, (_, ty)): (usize, &(Arc<str>, Type))| InputSlot {
        socket: i as u16,
        ty: *ty,
        mutable: false,
        scope: Vec::new(),
    };
    Instance {
        settings: settings.expect("the settings are those of the node type"),
        generics: Vec::new(),
        inputs: inputs.iter().enumerate().map(slot).collect(),
        outputs: parts.outputs.iter().map(|(_, ty)| OutputSlot { ty: *ty }).collect(),
        output_names: parts.outputs.iter().map(|(name, _)| Arc::clone(name)).collect(),
        kernel: Kernel::Function(function),
        class: Class::Static,
        def: Arc::new(def),
    }
}

/// The node type that reads the context for a repeat.
pub(crate) fn capture_type() -> NodeDef {
    NodeDef::new(CAPTURE, "What a repeat reads of its context")
        .class(Class::Contextual)
        .setting("need", SettingKind::Text, None, "what is read")
        .sockets_by_settings(|settings| {
            let ty = type_of(&need_in(settings)?);
            let value = OutputSocket { name: "value".into(), ty: ty.into(), about: "".into() };
            Ok(Signature { outputs: vec![value], ..Signature::default() })
        })
        .kernel(|parts| Ok(kernel_of(need_in(parts.settings)?)))
}

fn need_in(settings: &Settings) -> Result<Need, SettingError> {
    let text = settings.text("need");
    need_named(text).ok_or_else(|| SettingError::refused("need", format!("`{text}` is no need")))
}

fn kernel_of(Need { feature, level, aspect }: Need) -> Kernel {
    Kernel::Read { feature, level, aspect }
}

/// The instance that reads `need` for a repeat; `def` is the registry's.
pub fn capture(def: &Arc<NodeDef>, need: &Need) -> Instance {
    let text = json!(text_of(need));
    let settings = Settings::read(&def.settings, [("need", &text)], &|_| None);
    let class = match need.feature {
        Feature::RealTime => Class::Volatile,
        Feature::Time
        | Feature::Tick
        | Feature::Footprint
        | Feature::Index
        | Feature::Position
        | Feature::Iteration
        | Feature::Vararg(..)
        | Feature::Custom(..) => Class::Contextual,
    };
    Instance {
        def: Arc::clone(def),
        settings: settings.expect("the settings are those of the node type"),
        generics: Vec::new(),
        inputs: Vec::new(),
        outputs: vec![OutputSlot { ty: type_of(need) }],
        output_names: vec!["value".into()],
        kernel: kernel_of(need.clone()),
        class,
    }
}

/// The instance that gives a value on, of this type, with level 0 of a feature being what is linked
/// behind it.
pub fn provider(feature: &Feature, ty: Type) -> Instance {
    let rule = ScopeRule::Inject { feature: feature.clone(), value: 1 };
    let def = NodeDef::new("repeat.provide", "A value with a feature of the context given")
        .input("value", ty, "evaluated in the changed context")
        .scope(rule)
        .input("feature", feature.ty(), "value of the feature")
        .output("value", ty, "the value there")
        .kernel(|_| Ok(Kernel::Pass));
    let made = Arc::new(def).instantiate(Settings::default(), Vec::new(), &[1, 1]);
    made.expect("a node type without settings and generics has an instance")
}

/// The type of what is read.
pub fn type_of(need: &Need) -> Type {
    match need.aspect {
        Aspect::Value => need.feature.ty(),
        Aspect::Extent => Type::I32,
    }
}
