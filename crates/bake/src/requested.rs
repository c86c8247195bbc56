//! Programs reduced to the outputs that are baked.

use std::sync::Arc;

use millstream::{Engine, Program};

/// The program without its other outputs, if one of them reads state in a scope in which these outputs
/// do not read it: then the keys of the state would differ from those without that output. If the
/// document has errors that these outputs do not depend on, the program stays as it is.
pub fn for_outputs(engine: &Engine, program: Program, outputs: &[String]) -> Program {
    let is_asked = |name: &str| outputs.iter().any(|it| it == name);
    let writers = &program.plan().state_writers;
    let is_of_others = |all: &[Arc<str>]| !all.iter().any(|name| is_asked(name));
    if !writers.iter().any(|writer| writer.scoped_by.as_deref().is_some_and(is_of_others)) {
        return program;
    }
    let mut document = program.document().clone();
    let others = document.outputs.keys().filter(|name| !is_asked(name)).cloned();
    for name in others.collect::<Vec<_>>() {
        document.outputs.remove(&name);
    }
    engine.compile(document).unwrap_or(program)
}
