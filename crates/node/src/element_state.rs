//! A node type that reads the state of a node for the current element of the scopes around it.
//!
//! It has no inputs. Its settings are the path of the stateful node, the names and types of the
//! state, and the needs of the node, so that both are evaluated in the same contexts. The state
//! itself comes with the request.

use std::sync::Arc;

use millstream_base::feature::Aspect;
use millstream_base::footprint::Footprint;
use millstream_base::table::Table;
use millstream_base::{Feature, Need, Type};
use serde_json::{Value as Json, json};

use crate::class::Class;
use crate::node_def::NodeDef;
use crate::node_def::instance::{Instance, Kernel, OutputSlot};
use crate::node_def::state::STARTED;
use crate::settings::{SettingError, SettingKind, Settings};
use crate::signature::{OutputSocket, Signature};

/// Name of the node type.
pub const KEPT: &str = "state.kept";

/// The node type, for graphs that are parsed from text.
pub(crate) fn node_type() -> NodeDef {
    NodeDef::new(KEPT, "The state of a node for the current element")
        .class(Class::Stateful)
        .setting("node", SettingKind::Text, None, "path of the stateful node")
        .setting("values", SettingKind::Texts, None, "names and types of the state")
        .setting("needs", SettingKind::Texts, None, "needs of the node")
        .sockets_by_settings(|settings| {
            let mut outputs = vec![socket(STARTED, Type::BOOL)];
            for value in settings.texts("values") {
                let read = value
                    .rsplit_once(": ")
                    .and_then(|(name, ty)| type_named(ty).map(|ty| socket(name, ty)));
                let message = || format!("`{value}` is not a name with a type");
                outputs.push(read.ok_or_else(|| SettingError::refused("values", message()))?);
            }
            Ok(Signature { generics: Vec::new(), inputs: Vec::new(), outputs })
        })
        .kernel(|parts| {
            let read = |need: &Arc<str>| {
                let message = || format!("`{need}` is not a need");
                need_named(need).ok_or_else(|| SettingError::refused("needs", message()))
            };
            let needs: Result<Vec<Need>, _> =
                parts.settings.texts("needs").iter().map(read).collect();
            Ok(Kernel::ReadState(needs?.into()))
        })
}

fn socket(name: &str, ty: Type) -> OutputSocket {
    OutputSocket::new(name.to_owned(), ty.into())
}

/// The instance that reads these values of the state of the node at a path. Any type is allowed,
/// even one without a name in text form.
pub fn instance(
    def: &Arc<NodeDef>,
    node: &str,
    values: &[(Arc<str>, Type)],
    needs: &[Need],
) -> Instance {
    let texts: Vec<String> = values.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
    let names: Vec<String> = needs.iter().map(text_of).collect();
    let settings = [("node", json!(node)), ("values", json!(texts)), ("needs", json!(names))];
    let given = settings.iter().map(|(name, json): &(&str, Json)| (*name, json));
    let settings = Settings::read(&def.settings, given, &|_| None);
    let mut outputs = vec![OutputSlot { ty: Type::BOOL }];
    outputs.extend(values.iter().map(|(_, ty)| OutputSlot { ty: *ty }));
    let mut output_names: Vec<Arc<str>> = vec![STARTED.into()];
    output_names.extend(values.iter().map(|(name, _)| Arc::clone(name)));
    Instance {
        def: Arc::clone(def),
        settings: settings.expect("the settings are those of the node type"),
        generics: Vec::new(),
        inputs: Vec::new(),
        outputs,
        output_names,
        kernel: Kernel::ReadState(needs.into()),
        network: None,
        class: Class::Stateful,
    }
}

/// A need in text form: `index 1`, `extent index 0`, `vararg weight f32 0`.
pub(crate) fn text_of(need: &Need) -> String {
    let mut text = match need.aspect {
        Aspect::Value => String::new(),
        Aspect::Extent => "extent ".to_owned(),
    };
    match &need.feature {
        Feature::Vararg(name, ty) => text.push_str(&format!("vararg {name} {ty}")),
        Feature::Custom(name, ty) => text.push_str(&format!("custom {name} {ty}")),
        built_in => text.push_str(built_in.name()),
    }
    format!("{text} {}", need.level)
}

pub(crate) fn need_named(text: &str) -> Option<Need> {
    let (aspect, rest) = match text.strip_prefix("extent ") {
        Some(rest) => (Aspect::Extent, rest),
        None => (Aspect::Value, text),
    };
    let (feature, level) = rest.rsplit_once(' ')?;
    let feature = match Feature::built_in(feature) {
        Some(feature) => feature,
        None => {
            let (kind, rest) = feature.split_once(' ')?;
            let (name, ty) = rest.rsplit_once(' ')?;
            let (name, ty) = (name.into(), type_named(ty)?);
            match kind {
                "vararg" => Feature::Vararg(name, ty),
                "custom" => Feature::Custom(name, ty),
                _ => return None,
            }
        }
    };
    Some(Need { feature, level: level.parse().ok()?, aspect })
}

/// The type of this name, if every registry has it.
fn type_named(name: &str) -> Option<Type> {
    let opaque = [Type::of::<Table>(), Type::of::<Footprint>()];
    Type::named(name, |name| Type::BUILT_IN.into_iter().chain(opaque).find(|ty| ty.name() == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_read_back_from_its_settings() {
        let needs = [
            Need { feature: Feature::Index, level: 1, aspect: Aspect::Value },
            Need { feature: Feature::Index, level: 0, aspect: Aspect::Extent },
            Need {
                feature: Feature::Custom("a b".into(), Type::VEC3),
                level: 2,
                aspect: Aspect::Value,
            },
        ];
        let list = Type::F32.list().expect("there are lists of numbers");
        let def = Arc::new(node_type());
        let made = instance(
            &def,
            "loop/sum",
            &[
                ("sum: all".into(), Type::F64),
                ("all".into(), list),
                ("rows".into(), Type::of::<Table>()),
            ],
            &needs,
        );
        let read = def.instantiate(made.settings.clone(), Vec::new(), &[]).expect("it is read");
        let types = |instance: &Instance| instance.outputs.iter().map(|o| o.ty).collect::<Vec<_>>();
        assert_eq!(types(&read), types(&made));
        assert_eq!(read.output_names, made.output_names);
        let Kernel::ReadState(again) = &read.kernel else { panic!("it reads state") };
        assert_eq!(**again, needs);
    }
}
