//! Explicit conversions: node types that convert between types, suggested in messages.
//!
//! A node type declares with [`NodeDef::converts`] that it converts; its sockets and settings
//! determine between which types.

use std::fmt;
use std::sync::Arc;

use millstream_base::Type;

use crate::implicit::{convertible, widens};
use crate::node_def::NodeDef;
use crate::registry::Registry;
use crate::settings::{SettingKind, Settings};
use crate::signature::{InputFact, Signature};

/// A suggestion: a node type with the setting and the output that give the wanted type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explicit {
    /// Number of implicit conversions on the links to and from the node.
    n_implicit: usize,
    name: String,
    setting: Option<(&'static str, String)>,
    output: Option<String>,
}

impl fmt::Display for Explicit {
    /// The node type as messages name it, with the relevant setting and output; the alternate form
    /// (`{:#}`) writes the setting as the text form does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.name)?;
        if let Some((setting, value)) = &self.setting {
            if f.alternate() {
                write!(f, " with `{setting} = \"{value}\"`")?;
            } else {
                write!(f, " with \"{setting}\": \"{value}\"")?;
            }
        }
        if let Some(output) = &self.output {
            write!(f, " and its output `{output}`")?;
        }
        Ok(())
    }
}

/// At most `most` suggestions for linking an output of type `from` to an input that takes one of
/// the types `to`: those that need the fewest implicit conversions.
pub fn explicit_conversions(
    registry: &Registry,
    from: Type,
    to: &[Type],
    most: usize,
) -> Vec<Explicit> {
    let converting = registry.iter().filter(|def| def.converts);
    let mut found: Vec<Explicit> =
        converting.filter_map(|def| best_setting(registry, def, from, to)).collect();
    let least = found.iter().map(|explicit| explicit.n_implicit).min();
    found.retain(|explicit| Some(explicit.n_implicit) == least);
    found.truncate(most);
    found
}

/// The suggestion with the default settings if that works, else with one setting changed. The type
/// to convert to is always written, even if it is the default.
fn best_setting(
    registry: &Registry,
    def: &Arc<NodeDef>,
    from: Type,
    to: &[Type],
) -> Option<Explicit> {
    let with = |setting: Option<(&'static str, String)>| {
        let json = setting.as_ref().map(|(name, value)| (*name, value.as_str().into()));
        let given = json.as_ref().map(|(name, json)| (*name, json));
        let named = |name: &str| registry.type_named(name);
        let settings = Settings::read(&def.settings, given, &named).ok()?;
        let signature = def.signature(&settings).ok()?;
        let (generics, n_implicit, output) = through(&signature, from, to)?;
        let arities = vec![1; signature.inputs.len()];
        drop(signature);
        def.instantiate(settings, generics, &arities).ok()?;
        Some(Explicit { n_implicit, name: def.name.to_string(), setting, output })
    };
    let (mut of_types, mut others) = (Vec::new(), Vec::from_iter(with(None)));
    let wanted = to.iter().flat_map(|ty| [Some(*ty), ty.element()]).flatten();
    let wanted: Vec<String> = wanted.map(|ty| ty.name().to_owned()).collect();
    if def.fixed_signature().is_none() {
        for setting in &def.settings {
            let values: Vec<String> = match setting.kind {
                SettingKind::Choice(choices) => {
                    choices.iter().map(|(name, _)| (*name).to_owned()).collect()
                }
                SettingKind::Type => wanted.clone(),
                SettingKind::Text
                | SettingKind::Integer(..)
                | SettingKind::Number
                | SettingKind::Flag
                | SettingKind::Texts
                | SettingKind::Numbers => Vec::new(),
            };
            for value in values {
                let all = if wanted.contains(&value) { &mut of_types } else { &mut others };
                all.extend(with(Some((setting.name, value))));
            }
        }
    }
    // The first of several minima counts.
    of_types.into_iter().chain(others).min_by_key(|explicit| explicit.n_implicit)
}

/// The types of the generics, the number of implicit conversions, and the name of the output if
/// there are several; `None` if the first input does not take `from` or no output gives one of
/// `to`.
fn through(
    signature: &Signature,
    from: Type,
    to: &[Type],
) -> Option<(Vec<Type>, usize, Option<String>)> {
    let generics = signature.resolve(&[(0, InputFact::Linked(from))]).ok()?;
    let takes = signature.inputs.first()?.ty.resolve(&generics).ok()?;
    if !convertible(from, takes) {
        return None;
    }
    let before = n_conversions(from, takes);
    let outputs = signature.outputs.iter().filter_map(|output| {
        let gives = output.ty.resolve(&generics).ok()?;
        // One component of a vector is not a useful replacement for another vector.
        let is_part = |to: Type| n_lanes(from) > 1 && n_lanes(gives) == 1 && n_lanes(to) > 1;
        let fitting = to.iter().filter(|to| convertible(gives, **to) && !is_part(**to));
        let after = fitting.map(|to| n_conversions(gives, *to)).min()?;
        Some((before + after, output))
    });
    let (n_implicit, output) = outputs.min_by_key(|(n, _)| *n)?;
    let named = signature.outputs.len() > 1;
    let name = named.then(|| output.name.to_string());
    Some((generics, n_implicit, name))
}

/// The number of implicit conversions on a link between types that may be linked: a number becomes
/// a list of a wider type in two.
fn n_conversions(from: Type, to: Type) -> usize {
    usize::from(from != to) + usize::from(widens(from, to) && to.element() != Some(from))
}

fn n_lanes(ty: Type) -> u8 {
    ty.lanes().map_or(0, |(_, n)| n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::{Among, SocketType};
    use crate::{Call, Failure};

    #[expect(clippy::unnecessary_wraps, reason = "the signature is that of functions")]
    fn nothing(_: &mut Call<'_>) -> Result<(), Failure> {
        Ok(())
    }

    fn registry() -> Registry {
        let t = SocketType::Generic(0);
        let mut registry = Registry::new();
        let whole = NodeDef::new("to.i32", "").generic("T", Among::These(&[Type::F32, Type::F64]));
        let whole = whole.input("x", t, "").output("value", Type::I32, "");
        registry.register(whole.converts().function(nothing));
        let parts = NodeDef::new("parts", "").input("v", Type::VEC2, "");
        let parts = parts.output("x", Type::F32, "").output("y", Type::F32, "");
        registry.register(parts.converts().function(nothing));
        let column = NodeDef::new("column", "")
            .setting("type", SettingKind::Type, Some(crate::SettingValue::Type(Type::F64)), "")
            .sockets_by_settings(|settings| {
                let ty = settings.ty("type").and_then(Type::list).expect("a setting");
                let sockets = NodeDef::new("", "").input("text", Type::STRING, "");
                let sockets = sockets.output("value", ty, "");
                Ok(sockets.fixed_signature().expect("they are fixed").clone())
            });
        registry.register(column.converts().function(nothing));
        let other = NodeDef::new("other", "").input("x", Type::F32, "");
        registry.register(other.output("value", Type::I32, "").function(nothing));
        registry
    }

    fn found(from: Type, to: &[Type]) -> String {
        let found = explicit_conversions(&registry(), from, to, 3);
        found.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn nodes_that_convert_are_named_with_their_settings() {
        assert_eq!(found(Type::F64, &[Type::I32]), "`to.i32`");
        assert_eq!(found(Type::VEC2, &[Type::F64]), "`parts` and its output `x`");
        let list = |ty: Type| ty.list().expect("one level");
        assert_eq!(found(Type::STRING, &[list(Type::F64)]), "`column` with \"type\": \"f64\"");
        assert_eq!(found(Type::STRING, &[list(Type::I32)]), "`column` with \"type\": \"i32\"");
        assert_eq!(found(Type::STRING, &[Type::MAT4]), "");
    }

    #[test]
    fn nodes_with_implicit_conversions_are_named_if_there_are_no_others() {
        let mut registry = registry();
        let exact = NodeDef::new("with.exact", "").input("x", Type::F32, "");
        registry.register(exact.output("value", Type::I64, "").converts().function(nothing));
        let found = explicit_conversions(&registry, Type::F32, &[Type::I64], 3);
        let names: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["`with.exact`"]);
        assert_eq!(explicit_conversions(&registry, Type::F64, &[Type::I64], 3).len(), 2);
        assert_eq!(explicit_conversions(&registry, Type::F64, &[Type::I64], 1).len(), 1);
    }
}
