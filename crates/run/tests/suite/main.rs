//! The results and runs of the lazy evaluator, on graphs written as text.

mod agreement;
mod budget;
mod chunked;
mod failures;
mod for_each;
mod forms;
mod gathers;
mod incremental;
mod large;
mod lazy;
mod list;
mod loops;
mod partial;
mod partial_zones;
mod parts;
mod pipelines;
mod progress;
mod repeat;
mod unsettled;
