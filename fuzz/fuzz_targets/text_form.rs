//! Any bytes as a document in the text form: reading, laying out, converting, checking and compiling
//! never panic. What is read without errors is laid out once and for all, keeps its document, and comes
//! back from JSON and from the text of its document.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use millstream::document::{format_text, is_text, load, save, to_text};
use millstream::{Engine, Limits};

fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| Engine::new().with_limits(small()))
}

fn small() -> Limits {
    Limits { expanded_nodes: 10_000, list_length: 10_000, bytes: 10_000_000, ..Limits::default() }
}

fuzz_target!(|bytes: &[u8]| {
    if !is_text(bytes) {
        return;
    }
    let laid_out = format_text(bytes, &small());
    let (document, problems) = engine().read(bytes);
    for problem in &problems {
        let span = problem.place.span.unwrap_or_default();
        assert!(span.start <= span.end && span.end as usize <= bytes.len() + 1);
    }
    if let Some(document) = document.filter(|_| !problems.has_errors()) {
        let laid_out = laid_out.expect("it was read");
        assert_eq!(format_text(laid_out.as_bytes(), &small()).as_ref(), Ok(&laid_out));
        assert_eq!(engine().read(laid_out.as_bytes()).0.as_ref(), Some(&document), "{laid_out}");
        let text = to_text(&document, engine().registry());
        let (again, problems) = engine().read(text.as_bytes());
        assert!(!problems.has_errors(), "what was written is read: {problems}\n{text}");
        assert_eq!(again.as_ref(), Some(&document), "{text}");
        assert_eq!(format_text(text.as_bytes(), &small()).as_ref(), Ok(&text));
        assert_eq!(load(save(&document).as_bytes(), &small()).0.as_ref(), Some(&document));
    }
    let _program = engine().load(bytes);
});
