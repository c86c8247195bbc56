//! Settings: values that an author fixes on a node at compile time, checked against a schema.

use std::fmt;
use std::sync::Arc;

use millstream_base::Type;
use millstream_base::diagnostics::did_you_mean;
use serde_json::Value as Json;

/// One setting of a node type.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The key under `set`.
    pub name: &'static str,
    /// The kind of values.
    pub kind: SettingKind,
    /// The default; `None` if the author has to give a value.
    pub default: Option<SettingValue>,
    /// The line in the manual.
    pub about: &'static str,
}

/// The kind of values that a setting takes.
#[derive(Clone, Debug)]
pub enum SettingKind {
    /// One of these names, each with a line for the manual.
    Choice(&'static [(&'static str, &'static str)]),
    /// Any text.
    Text,
    /// A whole number within these bounds, both included.
    Integer(i64, i64),
    /// A finite number.
    Number,
    /// True or false.
    Flag,
    /// The name of a type.
    Type,
    /// Several texts.
    Texts,
    /// Several finite numbers.
    Numbers,
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingValue {
    /// Of [`SettingKind::Choice`] or [`SettingKind::Text`].
    Text(Arc<str>),
    /// Of [`SettingKind::Integer`].
    Integer(i64),
    /// Of [`SettingKind::Number`].
    Number(f64),
    /// Of [`SettingKind::Flag`].
    Flag(bool),
    /// Of [`SettingKind::Type`].
    Type(Type),
    /// Of [`SettingKind::Texts`].
    Texts(Vec<Arc<str>>),
    /// Of [`SettingKind::Numbers`].
    Numbers(Vec<f64>),
}

/// What is wrong with the settings of a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum SettingError {
    /// The node type has no such setting.
    #[error("there is no setting called `{name}`")]
    #[diagnostic(code(settings::unknown), help("{hint}"))]
    Unknown {
        /// The key.
        name: String,
        /// The nearest name, or all.
        hint: String,
    },
    /// The value is of the wrong kind.
    #[error("setting `{name}` is {found}")]
    #[diagnostic(code(settings::wrong_value), help("it takes {expected}"))]
    WrongValue {
        /// The key.
        name: String,
        /// The value, shortened.
        found: String,
        /// The expected kind.
        expected: String,
    },
    /// A setting without a default is missing.
    #[error("setting `{name}` is missing")]
    #[diagnostic(code(settings::missing), help("it takes {expected}"))]
    Missing {
        /// The key.
        name: String,
        /// The expected kind.
        expected: String,
    },
    /// The node type refuses the value for a reason of its own.
    #[error("setting `{name}`: {message}")]
    #[diagnostic(code(settings::refused))]
    Refused {
        /// The key.
        name: String,
        /// The reason.
        message: String,
        /// The bytes of the setting's text that are wrong, if it is text.
        range: Option<(usize, usize)>,
        /// The next step for the author, if there is one.
        #[help]
        hint: Option<String>,
    },
}

impl SettingError {
    /// The key of the setting.
    pub fn name(&self) -> &str {
        match self {
            Self::Unknown { name, .. }
            | Self::WrongValue { name, .. }
            | Self::Missing { name, .. }
            | Self::Refused { name, .. } => name,
        }
    }

    /// A refusal by the node type.
    pub fn refused(name: &str, message: impl Into<String>) -> Self {
        Self::Refused { name: name.into(), message: message.into(), range: None, hint: None }
    }
}

impl Setting {
    /// Reads the value written for this setting. `type_named` finds types by name.
    ///
    /// # Errors
    /// If the value is not of the setting's kind.
    pub fn read(
        &self,
        json: &Json,
        type_named: &dyn Fn(&str) -> Option<Type>,
    ) -> Result<SettingValue, SettingError> {
        let wrong = || SettingError::WrongValue {
            name: self.name.into(),
            found: shortened(json),
            expected: self.kind.to_string(),
        };
        let read = match &self.kind {
            SettingKind::Choice(choices) => json
                .as_str()
                .filter(|text| choices.iter().any(|(name, _)| name == text))
                .map(|text| SettingValue::Text(text.into())),
            SettingKind::Text => json.as_str().map(|text| SettingValue::Text(text.into())),
            SettingKind::Integer(min, max) => {
                json.as_i64().filter(|x| (min..=max).contains(&x)).map(SettingValue::Integer)
            }
            SettingKind::Number => json.as_f64().map(SettingValue::Number),
            SettingKind::Flag => json.as_bool().map(SettingValue::Flag),
            SettingKind::Type => json.as_str().and_then(type_named).map(SettingValue::Type),
            SettingKind::Texts => json.as_array().and_then(|items| {
                let texts: Option<_> =
                    items.iter().map(|item| item.as_str().map(Arc::from)).collect();
                texts.map(SettingValue::Texts)
            }),
            SettingKind::Numbers => json.as_array().and_then(|items| {
                let numbers: Option<_> = items.iter().map(Json::as_f64).collect();
                numbers.map(SettingValue::Numbers)
            }),
        };
        read.ok_or_else(wrong)
    }
}

impl fmt::Display for SettingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choice(choices) => {
                f.write_str("one of ")?;
                for (i, (name, _)) in choices.iter().enumerate() {
                    write!(f, "{}`{name}`", if i > 0 { ", " } else { "" })?;
                }
                Ok(())
            }
            Self::Text => f.write_str("text"),
            Self::Integer(min, max) => write!(f, "a whole number from {min} to {max}"),
            Self::Number => f.write_str("a number"),
            Self::Flag => f.write_str("true or false"),
            Self::Type => f.write_str("the name of a type"),
            Self::Texts => f.write_str("a list of texts"),
            Self::Numbers => f.write_str("a list of numbers"),
        }
    }
}

fn shortened(json: &Json) -> String {
    let text = json.to_string();
    if text.chars().count() <= 40 {
        return text;
    }
    format!("{}...", text.chars().take(37).collect::<String>())
}

/// The settings of one node, including defaults, in order of their names. Copies share them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings(Arc<[(&'static str, SettingValue)]>);

impl Settings {
    /// Reads `given` according to the schema and reports all problems.
    ///
    /// # Errors
    /// Every setting that is unknown, wrong or missing.
    pub fn read<'a>(
        schema: &[Setting],
        given: impl IntoIterator<Item = (&'a str, &'a Json)>,
        type_named: &dyn Fn(&str) -> Option<Type>,
    ) -> Result<Self, Vec<SettingError>> {
        let mut values: Vec<(&'static str, SettingValue)> = Vec::with_capacity(schema.len());
        let mut errors = Vec::new();
        for (name, json) in given {
            match schema.iter().find(|setting| setting.name == name) {
                Some(setting) => match setting.read(json, type_named) {
                    Ok(value) => set(&mut values, setting.name, value),
                    Err(error) => errors.push(error),
                },
                None => errors.push(unknown(schema, name)),
            }
        }
        for setting in schema {
            let is_given = values.iter().any(|(name, _)| *name == setting.name);
            if is_given || errors.iter().any(|e| e.name() == setting.name) {
                continue;
            }
            match &setting.default {
                Some(default) => set(&mut values, setting.name, default.clone()),
                None => errors.push(SettingError::Missing {
                    name: setting.name.into(),
                    expected: setting.kind.to_string(),
                }),
            }
        }
        if errors.is_empty() { Ok(Self(values.into())) } else { Err(errors) }
    }

    /// The settings with another one.
    pub(crate) fn with(&self, name: &'static str, value: SettingValue) -> Self {
        let mut values = self.0.to_vec();
        set(&mut values, name, value);
        Self(values.into())
    }

    fn get(&self, name: &str) -> Option<&SettingValue> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The settings in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &SettingValue)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    /// Whether the node type has no settings.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text or choice called `name`; empty if the schema has no such text.
    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(SettingValue::Text(text)) => text,
            _ => "",
        }
    }

    /// The whole number called `name`; 0 if the schema has no such number.
    pub fn integer(&self, name: &str) -> i64 {
        match self.get(name) {
            Some(SettingValue::Integer(x)) => *x,
            _ => 0,
        }
    }

    /// The number called `name`; 0 if the schema has no such number.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(SettingValue::Number(x)) => *x,
            _ => 0.0,
        }
    }

    /// The flag called `name`; false if the schema has no such flag.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some(SettingValue::Flag(true)))
    }

    /// The type called `name`, if the schema has it.
    pub fn ty(&self, name: &str) -> Option<Type> {
        match self.get(name) {
            Some(SettingValue::Type(ty)) => Some(*ty),
            _ => None,
        }
    }

    /// The texts called `name`; none if the schema has no such texts.
    pub fn texts(&self, name: &str) -> &[Arc<str>] {
        match self.get(name) {
            Some(SettingValue::Texts(texts)) => texts,
            _ => &[],
        }
    }

    /// The numbers called `name`; none if the schema has no such numbers.
    pub fn numbers(&self, name: &str) -> &[f64] {
        match self.get(name) {
            Some(SettingValue::Numbers(numbers)) => numbers,
            _ => &[],
        }
    }
}

/// Sets a value among those in order of their names.
fn set(values: &mut Vec<(&'static str, SettingValue)>, name: &'static str, value: SettingValue) {
    match values.binary_search_by(|(known, _)| (*known).cmp(name)) {
        Ok(at) => values[at].1 = value,
        Err(at) => values.insert(at, (name, value)),
    }
}

impl SettingValue {
    /// The value as a document writes it.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Text(text) => Json::from(&**text),
            Self::Integer(x) => Json::from(*x),
            Self::Number(x) => Json::from(*x),
            Self::Flag(x) => Json::from(*x),
            Self::Type(ty) => Json::from(ty.name()),
            Self::Texts(texts) => texts.iter().map(|text| Json::from(&**text)).collect(),
            Self::Numbers(numbers) => numbers.iter().map(|x| Json::from(*x)).collect(),
        }
    }
}

fn unknown(schema: &[Setting], name: &str) -> SettingError {
    let known = || schema.iter().map(|setting| setting.name);
    let hint = match did_you_mean(name, known()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if schema.is_empty() => "this node has no settings".into(),
        None => format!("settings: {}", known().collect::<Vec<_>>().join(", ")),
    };
    SettingError::Unknown { name: name.into(), hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &[Setting] = &[
        Setting {
            name: "mode",
            kind: SettingKind::Choice(&[("linear", "straight"), ("smooth", "eased")]),
            default: None,
            about: "",
        },
        Setting {
            name: "steps",
            kind: SettingKind::Integer(1, 9),
            default: Some(SettingValue::Integer(4)),
            about: "",
        },
    ];

    fn read(json: &str) -> Result<Settings, Vec<SettingError>> {
        let given: serde_json::Map<String, Json> = serde_json::from_str(json).expect("an object");
        Settings::read(SCHEMA, given.iter().map(|(k, v)| (k.as_str(), v)), &|_| None)
    }

    #[test]
    fn defaults_fill_what_is_not_given() {
        let settings = read(r#"{"mode": "smooth"}"#).expect("fits");
        assert_eq!((settings.text("mode"), settings.integer("steps")), ("smooth", 4));
    }

    #[test]
    fn all_problems_come_at_once() {
        let errors = read(r#"{"step": 3, "steps": 10}"#).expect_err("three problems");
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "there is no setting called `step`",
                "setting `steps` is 10",
                "setting `mode` is missing"
            ]
        );
    }
}
