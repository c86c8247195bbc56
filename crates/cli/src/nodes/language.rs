//! The constructs of documents that are found beside node types: groups, inputs and outputs, and
//! the pages on node types that are written in a notation of their own.

use serde_json::{Value as Json, json};

/// A part of documents that is no node type.
pub(super) struct Construct {
    /// The word for it in the text form.
    pub(super) name: &'static str,
    pub(super) summary: &'static str,
    details: &'static str,
    /// A document that has it, in the text form.
    example: &'static str,
    /// The same in JSON.
    json: &'static str,
    pub(super) page: &'static str,
}

/// The node types that are written in a notation of their own, with the page that shows it.
const NODE_TYPES: &[(&str, &str)] = &[
    ("call", "docs/contexts.md#closures"),
    ("closure", "docs/contexts.md#closures"),
    ("for_each", "docs/text-form.md#nodes"),
    ("repeat", "docs/text-form.md#nodes"),
    ("simulate", "docs/text-form.md#nodes"),
];

/// The family under which constructs are listed.
pub(super) const FAMILY: &str = "language";

/// The names of the node types that are written in a notation of their own.
pub(super) fn node_types() -> impl Iterator<Item = &'static str> {
    NODE_TYPES.iter().map(|(name, _)| *name)
}

/// The page that shows the notation of a node type; none if it is a call like most.
pub(super) fn page_of(node_type: &str) -> Option<&'static str> {
    NODE_TYPES.iter().find(|(name, _)| *name == node_type).map(|(_, page)| *page)
}

/// The construct of this name.
pub(super) fn construct(name: &str) -> Option<&'static Construct> {
    CONSTRUCTS.iter().find(|construct| construct.name == name)
}

/// The constructs that are no node types.
pub(super) const CONSTRUCTS: &[Construct] = &[
    Construct {
        name: "group",
        summary: "Nodes with inputs and outputs of their own, used like a node type",
        details: "A group is called by its name and may contain calls of other groups, but not of\n\
                  itself. `repeat`, `for_each` and `simulate` run a group many times, and\n\
                  `closure` makes it a value. With the setting `memo`, `twice(x, memo = \"whole\")` or\n\
                  `\"set\": { \"memo\": \"whole\" }` in JSON, the evaluator `incremental` stores the\n\
                  results of the group as one entry instead of node by node.",
        example: "input x: f32\n\
                  output y: f32 = twice(x)\n\
                  group twice(x: f32) -> value: f32 {\n  value = 2 * x\n}",
        json: r#"{ "type": "group", "group": "twice", "in": { "x": { "input": "x" } } }"#,
        page: "docs/text-form.md#nodes",
    },
    Construct {
        name: "input",
        summary: "A value that is given to the document: a number, a column of a file, a picture",
        details: "`--in NAME=VALUE` gives it a value and `--in NAME=@FILE` a column of a file, an\n\
                  image or a font. Without a default it is required.",
        example: "input size: f32 = 1 from 0 to 10 \"width\" in m\noutput area: f32 = size * size",
        json: r#""inputs": { "size": { "type": "f32", "default": 1, "min": 0, "max": 10, "about": "width", "unit": "m" } }"#,
        page: "docs/data.md",
    },
    Construct {
        name: "muted",
        summary: "Before a call: passes the first input of the node through",
        details: "The node stays in the document and does nothing.",
        example: "input x: f32\noutput y: f32 = muted sqrt(x)",
        json: r#"{ "type": "math.sqrt", "in": { "x": { "input": "x" } }, "muted": true }"#,
        page: "docs/text-form.md#nodes",
    },
    Construct {
        name: "output",
        summary: "A value that the document computes, to be printed, saved or drawn",
        details: "`--save FILE` writes outputs as a table, a mesh or a picture, and `--out NAME`\n\
                  computes only one.",
        example: "input x: f32\noutput root: f32 = sqrt(x) \"side of the square\" in m",
        json: r#""outputs": { "root": { "type": "f32", "from": "root.value", "about": "side of the square", "unit": "m" } }"#,
        page: "docs/text-form.md#statements",
    },
    Construct {
        name: "use",
        summary: "Groups of another document, called by its alias: alias/group",
        details: "`millstream nodes --from DIR` lists the groups of a directory, and `millstream\n\
                  check --update-lock` locks the version of a used document.",
        example: "use water = \"lib/water.mill\"\n\
                  output height: f32 = water/ring(position: [1, 2]).height",
        json: r#""use": { "water": "lib/water.mill" }"#,
        page: "docs/libraries.md",
    },
];

impl Construct {
    /// The description of the construct, ending in a line break.
    pub(super) fn entry(&self) -> String {
        let Self { name, summary, details, example, json, page } = self;
        let example = example.replace('\n', "\n    ");
        let details = details.replace('\n', "\n  ");
        format!(
            "{name}: {summary}\n\n  {details}\n\n  in the text form\n    {example}\n\n  in JSON\n    \
             {json}\n\n  {}\n",
            see(page)
        )
    }

    /// The description for programs.
    pub(super) fn json(&self) -> Json {
        let Self { name, summary, details, example, json, .. } = self;
        let details = details.replace('\n', " ");
        json!({
            "name": name,
            "family": FAMILY,
            "summary": summary,
            "details": details,
            "example": example,
            "json": json,
        })
    }
}

/// The pointer to a page.
pub(super) fn see(page: &str) -> String {
    format!("See {page}.")
}

#[cfg(test)]
mod tests {
    use millstream::Engine;
    use millstream::document::Folder;

    use super::*;

    #[test]
    fn the_examples_compile_and_the_pages_exist() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let examples = Folder::of(format!("{root}/examples/example.mill"));
        let engine = Engine::new().with_documents(examples);
        for Construct { name, example, json, .. } in CONSTRUCTS {
            let program =
                engine.load(example.as_bytes()).unwrap_or_else(|it| panic!("{name}: {it}"));
            let document = millstream::document::save(program.document());
            let compact = |text: &str| text.split_whitespace().collect::<String>();
            assert!(compact(&document).contains(&compact(json)), "{name}: {document}");
        }
        let pages = CONSTRUCTS.iter().map(|construct| construct.page);
        for page in pages.chain(NODE_TYPES.iter().map(|(_, page)| *page)) {
            let file = page.split('#').next().unwrap_or_default();
            assert!(std::path::Path::new(root).join(file).exists(), "{page}");
        }
    }
}
