//! What the lazy evaluator computes and how often, on graphs written as text.

mod agreement;
mod budget;
mod large;
mod lazy;
