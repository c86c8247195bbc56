//! placeholder
use crate::Graph;
/// Stage.
#[derive(Clone, Copy, Debug)]
pub enum Stage {
    /// l
    Lowered,
    /// c
    Converted,
}
/// v
pub fn verify(_: &Graph, _: Stage) -> Result<(), Vec<String>> {
    Ok(())
}
