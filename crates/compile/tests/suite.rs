//! Documents through lowering, passes and schedule.

#[path = "../benches/common/heron.rs"]
mod heron;
#[path = "../benches/common/large.rs"]
mod large;

mod suite {
    mod analyses;
    mod documents;
    mod lowering;
    mod needs;
    mod plans;
    mod size;
}
