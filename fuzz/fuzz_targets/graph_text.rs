//! Any text as a printed graph: parsing never panics, and a valid graph prints and parses again as
//! the same text.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use millstream::{Engine, Registry};
use millstream_ir::text::{parse, print_with_paths};
use millstream_ir::verify::{Stage, verify};

fn registry() -> &'static Registry {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| Engine::new().with_library(millstream_blender::register)).registry()
}

fuzz_target!(|text: &str| {
    if let Ok(graph) = parse(text, registry())
        && verify(&graph, Stage::Lowered).is_ok()
    {
        let printed = print_with_paths(&graph);
        let again = parse(&printed, registry()).expect("printed graphs parse");
        assert_eq!(print_with_paths(&again), printed);
    }
});
