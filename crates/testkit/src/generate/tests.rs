//! Generated cases are well typed and shrink.

use std::collections::BTreeMap;

use millstream_form::Form;
use millstream_node::Kernel;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use super::*;

fn runner() -> TestRunner {
    TestRunner::new_with_rng(
        Config { cases: 300, failure_persistence: None, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    )
}

#[test]
fn generated_graphs_are_well_typed() {
    runner()
        .run(&graphs(16), |graph| {
            verify(&graph, Stage::Converted).map_err(|errors| {
                TestCaseError::fail(format!("{errors:?}\n{}", text::print(&graph)))
            })
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn generated_graphs_have_callbacks_of_all_kinds() {
    let seen = std::cell::RefCell::new(std::collections::BTreeSet::new());
    runner()
        .run(&graphs(16), |graph| {
            let names = graph.instances().as_slice().iter().map(|it| it.name().to_owned());
            seen.borrow_mut().extend(names);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    let seen = seen.into_inner();
    for name in crate::custom::NAMES {
        assert!(seen.contains(name) || seen.contains(&format!("{name}_call")), "{name}");
    }
}

#[test]
fn requests_fit_their_graphs() {
    runner()
        .run(&cases(16), |case| {
            let bound = case.request.request().bind(&case.plain);
            bound.map(|_| ()).map_err(|errors| TestCaseError::fail(format!("{errors:?}")))
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn fixtures_read_back_what_cases_print() {
    let n_repeats = std::cell::Cell::new(0);
    runner()
        .run(&cases_with_repeats(10), |case| {
            let printed = case.to_string();
            n_repeats.set(n_repeats.get() + printed.matches("\ngroup ").count());
            let read = Case::parse(&printed, &REGISTRY).map_err(TestCaseError::fail)?;
            prop_assert_eq!(read.to_string(), printed);
            let values = |case: &Case| {
                let expected = crate::agreement::expect(&case.plain, &case.request.request());
                expected.map(|expected| expected.outputs)
            };
            let (Ok(wanted), Ok(found)) = (values(&case), values(&read)) else { return Ok(()) };
            prop_assert_eq!(wanted.len(), found.len());
            for outputs in wanted.iter().zip(&found) {
                match outputs {
                    (Ok(a), Ok(b)) => prop_assert_eq!(crate::agreement::difference(a, b), None),
                    (a, b) => prop_assert_eq!(a.is_ok(), b.is_ok()),
                }
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(n_repeats.get() > 100, "only {} groups were repeated", n_repeats.get());
}

/// Checks that the text of a graph reads back and prints the same.
fn reads_back(graph: &Graph) -> Result<(), TestCaseError> {
    let limits = Limits::default();
    let cx = PassContext::new(&REGISTRY, &limits);
    let printed = text::print_with_paths(graph);
    let read = read_text(&printed, &cx)
        .map_err(|problems| TestCaseError::fail(format!("{problems}\n{printed}")))?;
    prop_assert_eq!(text::print_with_paths(&read), printed);
    Ok(())
}

#[test]
fn graphs_read_back_after_every_pass_and_forms_too() {
    runner()
        .run(&cases_with_repeats(12), |case| {
            let limits = Limits::default();
            let cx = PassContext::new(&REGISTRY, &limits);
            let mut graph = case.graph;
            for pass in millstream_compile::PASSES {
                if (pass.run)(&mut graph, &cx).is_err() {
                    return Ok(());
                }
                reads_back(&graph)?;
            }
            for instance in graph.instances().as_slice() {
                if let Kernel::Form(form) = &instance.kernel {
                    let read: Result<Form, _> = form.to_string().parse();
                    prop_assert_eq!(read.as_ref(), Ok(&**form));
                }
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn graphs_of_documents_read_back_after_every_phase() {
    let scoped = serde_json::json!({ "millstream": 2, "nodes": {
            "i": { "type": "context.index" },
            "rate": { "type": "convert.to_f32", "in": { "x": { "from": "i.value" } } },
            "sum": { "type": "state.integrate", "in": { "rate": { "from": "rate.value" } } },
            "late": { "type": "state.delay", "in": { "value": { "input": "rows" } } },
            "y": { "type": "list.generate", "in": { "item": { "from": "sum.value" }, "count": 3 } } },
        "inputs": { "rows": { "type": "table", "default": { "a": [1, 2] } } },
        "outputs": { "y": { "type": "list<f32>", "from": "y.value" },
            "late": { "type": "table", "from": "late.value" } } });
    let mut documents = vec![("scoped".to_owned(), scoped.to_string())];
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    for entry in std::fs::read_dir(folder).expect("there are examples") {
        let path = entry.expect("the folder is read").path();
        if path.extension().is_some_and(|extension| extension == "mill") {
            let text = std::fs::read_to_string(&path).expect("an example is text");
            documents.push((path.display().to_string(), text));
        }
    }
    assert!(documents.len() > 7, "{} documents", documents.len());
    let limits = Limits::default();
    for (name, text) in documents {
        let library = |path: &str| std::fs::read(format!("{folder}/{path}"));
        let library = millstream_text::BothForms { library: &library, registry: &REGISTRY };
        let loaded = millstream_text::load(text.as_bytes(), &REGISTRY, &limits);
        let (opened, problems) =
            millstream_document::open_loaded(loaded, &REGISTRY, Some(&library), &[], &limits);
        let (_, checked) = opened.unwrap_or_else(|| panic!("{name}: {problems}"));
        for phase in millstream_compile::Phase::ALL {
            let options = millstream_compile::Options { after: Some(phase), ..Default::default() };
            let graph = millstream_compile::compile_graph(&checked, &REGISTRY, &options)
                .unwrap_or_else(|problems| panic!("{name}: {problems}"));
            reads_back(&graph).unwrap_or_else(|error| panic!("{name}, {phase:?}: {error}"));
        }
    }
}

/// The plan of a document, with and without passes.
fn plans_of(document: &serde_json::Value) -> Result<[Plan; 2], String> {
    let limits = Limits::default();
    let text = document.to_string();
    let (opened, problems) =
        millstream_document::open(text.as_bytes(), &REGISTRY, None, &[], &limits);
    let (_, checked) = opened.ok_or_else(|| format!("{problems:?}"))?;
    let compile = |after| {
        let options = millstream_compile::Options { after, ..Default::default() };
        millstream_compile::compile(&checked, &REGISTRY, &options)
            .map_err(|problems| format!("{problems:?}"))
    };
    Ok([compile(Some(millstream_compile::Phase::Lower))?, compile(None)?])
}

#[test]
fn documents_mean_what_their_graphs_mean_also_with_a_node_muted() {
    let strategy = (cases(10), proptest::option::of(0_usize..100));
    let n_compared = std::cell::Cell::new(0);
    let check = |(case, pick): (Case, Option<usize>)| -> Result<(), String> {
        let mut graph = case.graph.clone();
        let calls: Vec<_> = graph
            .ids()
            .filter(|id| {
                let name = graph.instance_of(*id).map(|instance| instance.name());
                name.is_some_and(|name| name != "convert")
            })
            .collect();
        let muted = pick.filter(|_| !calls.is_empty()).map(|pick| calls[pick % calls.len()]);
        let document = document::document_of(&graph, muted);
        if let Some(node) = muted {
            document::mute(&mut graph, node);
        }
        let request = case.request.request();
        let plan = crate::plans::plain_plan(&graph).map_err(|problems| format!("{problems:?}"))?;
        if request.bind(&plan).is_err() {
            // Without the muted node, another node may read a level that nothing provides.
            return Ok(());
        }
        let Ok(expected) = crate::agreement::expect(&plan, &request) else { return Ok(()) };
        for plan in plans_of(&document)? {
            let Ok(found) = crate::agreement::expect(&plan, &request) else { return Ok(()) };
            for (expected, found) in expected.outputs.iter().zip(&found.outputs) {
                if let (Ok(expected), Ok(found)) = (expected, found)
                    && let Some(difference) = crate::agreement::difference(expected, found)
                {
                    return Err(format!("muted {muted:?}: {difference}\n{document}"));
                }
                if expected.is_ok() && found.is_err() {
                    return Err(format!("muted {muted:?}: {found:?} fail\n{document}"));
                }
            }
            n_compared.set(n_compared.get() + expected.outputs.len());
        }
        Ok(())
    };
    runner()
        .run(&strategy, |case| check(case).map_err(TestCaseError::fail))
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(n_compared.get() > 600, "only {} outputs were compared", n_compared.get());
}

#[test]
fn graphs_shrink_to_the_nodes_that_matter() {
    let mut runner = runner();
    let is_culprit = |graph: &Graph| {
        graph.ids().any(|id| graph.instance_of(id).is_some_and(|i| i.name() == "list.append"))
    };
    let mut tree = loop {
        let tree = graphs(16).new_tree(&mut runner).expect("generates");
        if is_culprit(&tree.current()) {
            break tree;
        }
    };
    let before = tree.current().len();
    let mut smallest = before;
    while tree.simplify() {
        let graph = tree.current();
        if is_culprit(&graph) {
            smallest = graph.len();
        } else if !tree.complicate() {
            break;
        }
    }
    assert!(smallest <= 8 && smallest <= before, "{before} nodes shrank to {smallest}");
}

#[test]
fn most_node_types_occur() {
    let mut runner = runner();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let n_defs = REGISTRY.iter().count();
    // A larger library needs more graphs.
    for _ in 0..2 * n_defs {
        let graph = graphs(16).new_tree(&mut runner).expect("generates").current();
        for id in graph.ids() {
            if let Some(instance) = graph.instance_of(id) {
                *seen.entry(instance.name().into()).or_default() += 1;
            }
        }
    }
    let missing: Vec<&str> =
        REGISTRY.iter().map(|def| &*def.name).filter(|name| !seen.contains_key(*name)).collect();
    assert!(missing.len() * 10 < n_defs, "of {n_defs} node types these never occur: {missing:?}");
}
