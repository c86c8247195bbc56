//! Nodes that run a group round by round: their settings and instances, and the nodes that capture
//! the context for the group.
//!
//! In a document such a node has the type `repeat` and the name of a group. Its instance is a
//! function over columns. The inputs are the carried values, the invariant ones, the number of
//! rounds, and then the context that the group needs from around the node.

use std::sync::Arc;

use millstream_base::{Feature, Need, Type};
use serde_json::{Value as Json, json};

use crate::class::Class;
use crate::element_state::text_of;
use crate::function::SharedFunction;
use crate::node_def::NodeDef;
pub use crate::node_def::instance::REPEAT;
use crate::node_def::instance::{InputSlot, Instance, Kernel, OutputSlot};
pub use crate::reading::{CAPTURE, capture, type_of};
use crate::scope::ScopeRule;
use crate::settings::{Setting, SettingError, SettingKind, SettingValue, Settings};

/// Name of the socket with the number of rounds.
pub const COUNT: &str = "count";

/// The settings of a repeat as documents write them.
pub fn settings() -> Vec<Setting> {
    let choices = &[
        ("count", "after `count` rounds"),
        ("stable", "after a round that changes no carried value, but at most `count` rounds"),
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

/// The settings of instances: those of documents, and the identity of the group.
pub fn instance_settings() -> Vec<Setting> {
    let mut settings = settings();
    for name in ["body", "group"] {
        settings.push(Setting { name, kind: SettingKind::Text, default: None, about: "" });
    }
    settings
}

/// The node type as in the manual; its other inputs and outputs are those of the group.
pub(crate) fn node_type() -> NodeDef {
    let mut def = NodeDef::new(REPEAT, "A group, round by round")
        .details(
            "Written with the name of a group: {\"type\": \"repeat\", \"group\": \"step\"}. The \
             node has the inputs and outputs of the group, and the input `count` unless the group \
             has one of that name.\n\nEach output of the group is carried to the input of the \
             same name and type in the next round; values of any type can be carried. Other \
             inputs are the same in all rounds. The node gives the values that are carried after \
             the last round or, without any round, the given ones. Each element runs its own \
             number of rounds.\n\nThe output named by `while` tells after each round whether to \
             continue. It need not be carried; then it counts as true before the first round. If \
             it is carried and given as false, no round runs. `until` \"stable\" compares bits.\n\n\
             The group reads the context around the node; `context.iteration` is the number of \
             the round, and one level higher that of an enclosing repeat. A group must not keep \
             state, or read along an axis around the node inside a scope. The limit \
             `repeat_count` bounds the rounds.",
        )
        .input(COUNT, Type::I32, "number of rounds, or the maximal number; negative counts as 0")
        .kernel(|_| Err(SettingError::refused("group", "a repeat is written with a group")));
    def.settings = settings();
    def
}

/// The specification of a repeat.
#[derive(Debug)]
pub struct RepeatSpec<'a> {
    /// Name of the group.
    pub group: &'a str,
    /// A digest of the content of the group.
    pub digest: &'a str,
    /// Name of the output that tells whether to continue; empty if there is none.
    pub go: &'a str,
    /// Whether the repeat ends when a round changes nothing.
    pub until_stable: bool,
    /// The inputs of the group and the count, in the order of the node's sources.
    pub inputs: Vec<(Arc<str>, Type)>,
    /// The context that the group needs.
    pub captures: &'a [Need],
    /// The outputs of the group.
    pub outputs: Vec<(Arc<str>, Type)>,
}

/// The instance of a repeat, whose rounds are run by `function`.
pub fn instance(parts: RepeatSpec<'_>, function: SharedFunction) -> Instance {
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
        network: None,
        class: Class::Static,
        def: Arc::new(def),
    }
}

/// The instance that passes a value of this type on, evaluated with level 0 of a feature injected
/// from its second input.
pub fn provider(feature: &Feature, ty: Type) -> Instance {
    let rule = ScopeRule::Inject { feature: feature.clone(), value: 1 };
    let def = NodeDef::new("repeat.provide", "A value evaluated with a feature provided")
        .input("value", ty, "evaluated in the changed context")
        .scope(rule)
        .input("feature", feature.ty(), "value of the feature")
        .output("value", ty, "the value there")
        .kernel(|_| Ok(Kernel::Pass));
    let made = Arc::new(def).instantiate(Settings::default(), Vec::new(), &[1, 1]);
    made.expect("a node type without settings and generics has an instance")
}
