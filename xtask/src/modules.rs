//! Which module of a crate may import which, inside the large crates.
//!
//! Top-level modules of a crate stand in an order: each may import only modules before it, so there
//! are no cycles. Of `run` the table says more, the imports of each module: no evaluator knows
//! another, the walk knows no evaluator, and the live graph and the walk do not know each other.
//! Imports of tests do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The modules of `run`, lowest first, with all modules that each imports.
const RUN: &[(&str, &[&str])] = &[
    ("buffers", &[]),
    ("costs", &[]),
    ("differing", &[]),
    ("fuse", &[]),
    ("join", &[]),
    ("lanes", &[]),
    ("laps", &[]),
    ("marks", &[]),
    ("one_op", &[]),
    ("shape", &[]),
    ("spread", &[]),
    ("trials", &[]),
    ("uses", &[]),
    ("blocks", &["uses"]),
    ("frame", &["shape"]),
    ("kernel", &["lanes", "shape", "spread"]),
    ("shares", &["fuse", "lanes"]),
    ("stages", &["buffers", "fuse", "lanes", "laps", "shares", "spread"]),
    ("live", &["buffers", "differing", "kernel", "lanes", "one_op", "shape"]),
    ("program", &["blocks", "fuse", "uses"]),
    ("store", &["frame", "shape"]),
    ("walk", &["buffers", "frame", "kernel", "lanes", "laps", "one_op", "shape", "store", "uses"]),
    (
        "chunked",
        &[
            "buffers", "costs", "frame", "fuse", "kernel", "lanes", "program", "shape", "shares",
            "spread", "stages", "store", "walk",
        ],
    ),
    ("parts", &["uses"]),
    ("partial", &["join", "marks", "parts", "walk"]),
    ("ticks", &["join", "marks", "partial", "parts"]),
    ("incremental", &["differing", "frame", "kernel", "live", "shape", "store", "walk"]),
    ("lazy", &["costs", "walk"]),
    (
        "list",
        &[
            "blocks", "buffers", "costs", "frame", "fuse", "kernel", "program", "shape", "store",
            "trials", "uses", "walk",
        ],
    ),
    ("repeat", &["buffers", "chunked", "fuse", "lanes", "spread", "walk"]),
    ("choose", &["chunked", "costs", "incremental", "lazy", "list", "live", "trials", "walk"]),
];

/// Other crates with their modules, lowest first.
const ORDERS: &[(&str, &str)] = &[
    (
        "base",
        "ahead budget id lane limits map mask num order_search pages panic path ramp vector width \
         diagnostics same virtual_array footprint value feature literal",
    ),
    (
        "form",
        "table truncate lane_value op inst symmetry storage arithmetic verify meaning text \
         interpret build native columns operators simplify scalar",
    ),
    (
        "node",
        "class failure implicit scope settings group pace signature blockwise unsettled function node_def \
         closure convert element_state reading zone repeat interface registry explicit",
    ),
    (
        "document",
        "at order checked cursor fields free_name layout name_table named spot view model wrong \
         builder problems range references grain save upgrade load library \
         formula_calls uses check edit",
    ),
    (
        "text",
        "error json name token tree formula names scope parse print comments lower raise lock",
    ),
    (
        "ir",
        "hidden ids element_states need_map paths progress loops region graph plan walk repeat \
         splice trace verify state_reads unsettled request text answer state_failures \
         states checkpoints watch",
    ),
    (
        "io",
        "error faces options meter scalar table builder format guess stored fields guard temporary read \
         writer formats pictures",
    ),
    ("bake", "codec key cheap operands identity contexts trace cones keys cache cuts stored bake"),
    ("compile", "analyses available converter expansion schedule passes state_scopes lower"),
    (
        "nodes",
        "boolean cells each control known manual synonyms shape sort missing compare context convert date \
         footprint math mix stateful string integer vector color curve expression kit \
         random noise list mesh reduce table sdf pattern image",
    ),
    (
        "engine",
        "diagnostics folder document error live prepared run_log sound values program program_node register engine \
         interface regions deploy evaluate explain session twice",
    ),
];

type Arrows = BTreeMap<String, BTreeSet<String>>;

fn source(folder: &str) -> PathBuf {
    crate::root().join("crates").join(folder).join("src")
}

/// The files of a module, without those of tests, each with the number of `super::` that lead from
/// it to the root of the crate.
fn files(path: &Path, depth: usize) -> Vec<(PathBuf, usize)> {
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    if name == "tests" || name.ends_with("_tests") {
        return Vec::new();
    }
    if path.is_dir() {
        let entries = std::fs::read_dir(path).expect("the folder is readable");
        let paths = entries.map(|entry| entry.expect("the folder is readable").path());
        return paths.flat_map(|path| files(&path, depth + 1)).collect();
    }
    let is_rust = path.extension().is_some_and(|end| end == "rs");
    if is_rust { vec![(path.to_owned(), depth)] } else { Vec::new() }
}

/// The code of a file before its tests, without comments.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("sources are UTF-8");
    let before = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = before.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether the root of a crate compiles a module for tests only.
fn is_for_tests(root: &str, module: &str) -> bool {
    ["", "pub ", "pub(crate) "]
        .iter()
        .any(|of| root.contains(&format!("#[cfg(test)]\n{of}mod {module};")))
}

/// The names that follow `crate::` in code: one, or those of a list in braces.
fn imported(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        if let Some(list) = rest.strip_prefix('{') {
            names.extend(first_names(list));
        } else {
            names.extend(first_name(rest));
        }
    }
    names
}

fn first_name(text: &str) -> Option<String> {
    let name: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty()).then_some(name)
}

/// The first name of each path in a list, up to the brace that closes it.
fn first_names(list: &str) -> Vec<String> {
    let (mut depth, mut is_first, mut names) = (0_usize, true, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => is_first = true,
            _ if is_first && (c.is_alphanumeric() || c == '_') => {
                names.extend(first_name(&list[at..]));
                is_first = false;
            }
            _ => {}
        }
    }
    names
}

/// The modules that the root of a crate exports items of, by the name of the item.
fn exported(root: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (at, _) in root.match_indices("use ") {
        let text = &root[at + "use ".len()..];
        let text = text.strip_prefix("crate::").unwrap_or(text);
        let (Some(module), Some(end)) = (first_name(text), text.find(';')) else { continue };
        let Some(path) = text[..end].strip_prefix(&format!("{module}::")) else { continue };
        let items = path.trim_matches(|c: char| "{}".contains(c) || c.is_whitespace());
        for item in items.split(',') {
            let name = item.rsplit("::").next().unwrap_or_default();
            let name = name.rsplit(" as ").next().unwrap_or_default().trim();
            all.insert(name.to_owned(), module.clone());
        }
    }
    all
}

/// The modules of a crate with the modules that they import.
fn arrows(folder: &str) -> Arrows {
    let root = code(&source(folder).join("lib.rs"));
    let exported = exported(&root);
    let mut arrows = Arrows::new();
    for entry in std::fs::read_dir(source(folder)).expect("the crate has sources") {
        let path = entry.expect("the folder is readable").path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let files = files(&path, 1);
        if name == "lib" || name == "main" || files.is_empty() || is_for_tests(&root, &name) {
            continue;
        }
        let module = arrows.entry(name).or_default();
        for (file, depth) in files {
            let code = code(&file).replace(&"super::".repeat(depth), "crate::");
            module.extend(imported(&code));
        }
    }
    let modules: BTreeSet<String> = arrows.keys().cloned().collect();
    for (name, imported) in &mut arrows {
        let names = imported.iter().filter_map(|import| {
            let module = exported.get(import).unwrap_or(import);
            (modules.contains(module) && module != name).then(|| module.clone())
        });
        *imported = names.collect();
    }
    arrows
}

#[test]
fn modules_of_run_import_what_the_table_says() {
    let as_written = |(name, to): &(&str, &[&str])| {
        ((*name).to_owned(), to.iter().map(|to| (*to).to_owned()).collect())
    };
    let allowed: Arrows = RUN.iter().map(as_written).collect();
    assert_eq!(arrows("run"), allowed);
}

#[test]
fn modules_import_only_those_before_them() {
    let split = |(folder, order): &(&'static str, &'static str)| {
        (*folder, order.split_whitespace().collect::<Vec<_>>())
    };
    let of_run = ("run", RUN.iter().map(|(name, _)| *name).collect());
    let mut wrong = Vec::new();
    for (folder, order) in ORDERS.iter().map(split).chain([of_run]) {
        let found = arrows(folder);
        let listed: BTreeSet<String> = order.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(found.keys().cloned().collect::<BTreeSet<_>>(), listed, "modules of {folder}");
        let position = |module: &str| order.iter().position(|name| *name == module);
        for (name, imported) in &found {
            for to in imported.iter().filter(|to| position(to) > position(name)) {
                wrong.push((folder, name.clone(), to.clone()));
            }
        }
    }
    assert!(wrong.is_empty(), "imports of later modules: {wrong:?}");
}
