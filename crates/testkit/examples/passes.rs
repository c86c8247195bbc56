//! Prints a fixture after each pass: `cargo run -p millstream-testkit --example passes FILE`.

use millstream_base::Limits;
use millstream_compile::{PASSES, PassContext};
use millstream_ir::text;
use millstream_testkit::generate::{Case, REGISTRY};

#[expect(clippy::print_stdout, reason = "printing is its purpose")]
fn main() -> Result<(), String> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let fixture = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let mut graph = Case::parse(&fixture, &REGISTRY)?.graph;
    println!("{}", text::print_with_paths(&graph));
    let limits = Limits::default();
    let cx = PassContext::new(&REGISTRY, &limits);
    for pass in PASSES {
        let changed = (pass.run)(&mut graph, &cx).map_err(|problems| format!("{problems:?}"))?;
        println!("after {}: {changed:?}\n{}", pass.phase.name(), text::print_with_paths(&graph));
    }
    Ok(())
}
