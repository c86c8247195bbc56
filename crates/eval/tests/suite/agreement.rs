//! Every evaluator agrees with the model of the test kit, in values and in what runs.

use millstream_eval::Lazy;
use millstream_testkit::agreement::{cases_by_hand, fixtures, generated};

#[test]
fn lazy_agrees_by_hand() {
    cases_by_hand(&Lazy);
}

#[test]
fn lazy_agrees_on_what_once_failed() {
    fixtures(&Lazy);
}

#[test]
fn lazy_agrees_on_generated_graphs() {
    generated(&Lazy);
}
