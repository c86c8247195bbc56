//! Node types that read any part of the context, for nodes that the compiler makes: those that
//! capture the context for a repeat, and those that read it for a callback.

use std::sync::Arc;

use millstream_base::{Need, Type};
use serde_json::json;

use crate::class::Class;
use crate::element_state::{need_named, text_of};
use crate::node_def::NodeDef;
use crate::node_def::instance::{Instance, Kernel, OutputSlot};
use crate::settings::{SettingError, SettingKind, Settings};
use crate::signature::{OutputSocket, Signature};

/// Name of the node type that captures the context for a repeat.
pub const CAPTURE: &str = "repeat.capture";

/// Name of the node type that reads the context for a callback.
pub const READING: &str = "callback.read";

/// The node type that captures the context for a repeat.
pub(crate) fn capture_type() -> NodeDef {
    node_type(CAPTURE, "A part of the context, for a repeat")
}

/// The node type that reads the context for a callback.
pub(crate) fn reading_type() -> NodeDef {
    node_type(READING, "A part of the context, for a callback")
}

fn node_type(name: &'static str, about: &'static str) -> NodeDef {
    NodeDef::new(name, about)
        .class(Class::Contextual)
        .setting("need", SettingKind::Text, None, "the part of the context")
        .sockets_by_settings(|settings| {
            let ty = type_of(&need_in(settings)?);
            let value = OutputSocket::new("value", ty.into());
            Ok(Signature { outputs: vec![value], ..Signature::default() })
        })
        .kernel(|parts| Ok(kernel_of(need_in(parts.settings)?)))
}

fn need_in(settings: &Settings) -> Result<Need, SettingError> {
    let text = settings.text("need");
    need_named(text).ok_or_else(|| SettingError::refused("need", format!("`{text}` is not a need")))
}

fn kernel_of(Need { feature, level, aspect }: Need) -> Kernel {
    Kernel::Read { feature, level, aspect }
}

/// The instance that reads `need`; `def` is one of the registry's two node types.
pub fn capture(def: &Arc<NodeDef>, need: &Need) -> Instance {
    let text = json!(text_of(need));
    let settings = Settings::read(&def.settings, [("need", &text)], &|_| None);
    Instance {
        def: Arc::clone(def),
        settings: settings.expect("the settings are those of the node type"),
        generics: Vec::new(),
        inputs: Vec::new(),
        outputs: vec![OutputSlot { ty: type_of(need) }],
        output_names: vec!["value".into()],
        kernel: kernel_of(need.clone()),
        network: None,
        class: Class::of_reading(&need.feature),
    }
}

/// The type of the value that is read.
pub fn type_of(need: &Need) -> Type {
    need.ty()
}
