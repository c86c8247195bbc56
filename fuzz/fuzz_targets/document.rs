//! Any bytes as a document: loading, checking, compiling and running never panic, and a document
//! that loads saves and loads again as the same document.
#![no_main]

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use millstream::document::{load, save};
use millstream::{Engine, Limits, Request};

fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| {
        Engine::new().with_library(millstream_blender::register).with_limits(small())
    })
}

fn small() -> Limits {
    Limits { expanded_nodes: 10_000, list_length: 10_000, bytes: 10_000_000, ..Limits::default() }
}

fuzz_target!(|bytes: &[u8]| {
    let (document, problems) = load(bytes, &small());
    if let Some(document) = &document
        && !problems.has_errors()
    {
        let text = save(document);
        let (again, problems) = load(text.as_bytes(), &small());
        assert!(!problems.has_errors(), "what was saved loads: {problems}\n{text}");
        assert_eq!(again.map(|again| save(&again)), Some(text));
    }
    if let Ok(program) = engine().load(bytes) {
        let mut request = Request::new().frame(3).count(4).with_limits(small());
        request.budget.deadline = Some(Instant::now() + Duration::from_secs(2));
        let _answer = program.run(&request);
    }
});
