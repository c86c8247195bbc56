//! The JSON Schema of documents, generated from the types of the model.
//!
//! It is checked in so that text editors can use it without a build; a test keeps it up to date.
//! Run the tests with `UPDATE_EXPECT=1` to rewrite it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::fields::Fields;
use crate::model::{
    Document, FORMAT_VERSION, Input, Link, Named, NodeKind, OutputFrom, Setting, UseDef,
};

/// Names that links can mention.
const NAME: &str = r"^[^./\u0000-\u001f\u007f-\u009f]{1,200}$";

/// Two names with a dot between them.
const LINK: &str =
    r"^[^./\u0000-\u001f\u007f-\u009f]{1,200}\.[^./\u0000-\u001f\u007f-\u009f]{1,200}$";

pub(super) fn default_fps() -> f64 {
    Document::DEFAULT_FPS
}

pub(super) fn first_version() -> u32 {
    1
}

/// Adds the key that marks a file as a document.
pub(super) fn with_format_version(schema: &mut Schema) {
    if let Some(properties) = schema.get_mut("properties").and_then(|p| p.as_object_mut()) {
        let version = serde_json::json!({
            "description": "Version of the format.",
            "const": FORMAT_VERSION,
        });
        properties.insert("millstream".into(), version);
        for things in ["inputs", "outputs", "nodes", "groups", "use", "lock"] {
            if let Some(map) = properties.get_mut(things).and_then(|map| map.as_object_mut()) {
                map.insert("propertyNames".into(), serde_json::json!({ "pattern": NAME }));
            }
        }
    }
    schema.insert("required".into(), serde_json::json!(["millstream"]));
}

impl JsonSchema for Link {
    fn schema_name() -> Cow<'static, str> {
        "Link".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An output of a node, `node.output`.",
            "type": "string",
            "pattern": LINK,
        })
    }
}

impl JsonSchema for UseDef {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "UseDef".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Path of a document, relative to this one.",
            "type": "string",
            "pattern": r"^[^/\\][^\\]*$",
        })
    }
}

impl JsonSchema for Setting {
    fn schema_name() -> Cow<'static, str> {
        "Setting".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "A setting; the node type determines its values." })
    }
}

impl JsonSchema for Input {
    fn schema_name() -> Cow<'static, str> {
        "Input".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let source = source(generator);
        let literal = ["boolean", "number", "string", "array", "null"];
        json_schema!({
            "description": "A literal, a source, or several sources in a list.",
            "anyOf": [{ "description": "A literal.", "type": literal }, source],
        })
    }
}

/// A source written as an object.
fn source(generator: &mut SchemaGenerator) -> Schema {
    let link = generator.subschema_for::<Link>();
    let one = |key: &str, schema: Schema| {
        json_schema!({
            "type": "object",
            "properties": { key: schema },
            "required": [key],
            "additionalProperties": false,
        })
    };
    let input = json_schema!({
        "description": "Name of an input of the document or group.",
        "type": "string",
    });
    let about = "A literal. A table is an object of columns in order. A column is a plain list, or \
        `{\"type\": \"vec3\", \"values\": [...]}` if its type is not the `bool`, `i64`, `f64` or \
        `string` that the items suggest.";
    let literal = json_schema!({ "description": about });
    json_schema!({
        "anyOf": [one("from", link), one("input", input), one("value", literal)],
    })
}

/// Flattened into nodes.
impl JsonSchema for NodeKind {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "NodeKind".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "type": { "description": "Name of a node type, or `group`, or a zone: `for_each`, `repeat`, `simulate`, or `closure`.", "type": "string" },
                "group": { "description": "Name of the group, for nodes of type `group` or `closure` and zones; a group of a used document is `name/group`, a whole one `name`.", "type": "string" },
            },
            "required": ["type"],
            "if": { "properties": { "type": { "enum": ["group", "for_each", "repeat", "simulate", "closure"] } } },
            "then": { "required": ["group"] },
            "else": { "not": { "required": ["group"] } },
        })
    }
}

/// Flattened into outputs.
impl JsonSchema for OutputFrom {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "OutputFrom".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let link = generator.subschema_for::<Link>();
        json_schema!({
            "type": "object",
            "properties": {
                "from": link,
                "input": { "description": "Name of an input of the document or group.", "type": "string" },
            },
            "oneOf": [{ "required": ["from"] }, { "required": ["input"] }],
        })
    }
}

impl<T: JsonSchema> JsonSchema for Fields<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("FieldsOf{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, T>::json_schema(generator)
    }
}

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("NamedOf{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, T>::json_schema(generator)
    }
}

/// Entries may be left out but may not be null.
fn without_null(schema: &mut Schema) {
    if let Some(types) = schema.get_mut("type")
        && let Some([one, null]) = types.as_array().map(Vec::as_slice)
        && null == "null"
    {
        *types = one.clone();
    }
}

#[test]
fn the_checked_in_schema_is_fresh() {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(without_null));
    let schema = settings.into_generator().into_root_schema_for::<Document>();
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n";
    expect_test::expect_file!["../../../../docs/document.schema.json"].assert_eq(&text);
}
