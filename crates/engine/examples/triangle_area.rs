//! Loads a document, gives it columns, and reads a column back.

use millstream::{Engine, Error, Request, Vec3};

fn main() -> Result<(), Error> {
    let document = include_bytes!("../../../examples/triangle_area.mill");
    let program = Engine::new().load(document)?;

    // The corners a and b keep their defaults; c is a column, so there is a triangle for each
    // entry.
    let corners: Vec<Vec3> = (1..=5).map(|y| Vec3([0.0, y as f32, 0.0])).collect();
    let answer = program.run(&Request::new().column("c", corners))?;

    // An output without a value failed; the answer says where and why.
    for failure in &answer.failures {
        eprintln!("{failure}");
    }
    for area in answer.column::<f32>("area").unwrap_or_default() {
        println!("{area}");
    }
    Ok(())
}
