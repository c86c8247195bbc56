//! The settings of nodes that use a group.

use crate::settings::{Setting, SettingKind, SettingValue};

/// The name of the setting that says how results are kept.
const MEMO: &str = "memo";

/// Its value where the nodes of the group are one entry.
const WHOLE: &str = "whole";

/// The settings of a node that uses a group.
pub fn settings() -> Vec<Setting> {
    let choices = &[
        ("nodes", "each node by itself, cheap ones together"),
        (WHOLE, "all nodes that lead to an output of the group as one, also those that take long"),
    ];
    vec![Setting {
        name: MEMO,
        kind: SettingKind::Choice(choices),
        default: Some(SettingValue::Text("nodes".into())),
        about: "how the evaluator `incremental` keeps the results of the group",
    }]
}

/// Whether settings, given by `text` as they are written, say that the nodes of the group are one
/// entry of the memo.
pub fn is_whole<'a>(text: impl Fn(&str) -> Option<&'a str>) -> bool {
    text(MEMO) == Some(WHOLE)
}
