//! Any text as an expression: parsing never panics, and a valid expression makes a node.
#![no_main]

use libfuzzer_sys::fuzz_target;
use millstream_nodes::expression::parse;

fuzz_target!(|text: &str| {
    match parse(text) {
        Ok(expression) => assert!(expression.inputs().len() <= text.len()),
        Err(error) => {
            assert!(error.range.end <= text.len() && error.range.start <= error.range.end);
            assert!(text.is_char_boundary(error.range.start));
            assert!(text.is_char_boundary(error.range.end));
        }
    }
});
