//! The settings of nodes that use a group.

use crate::settings::{Setting, SettingKind, SettingValue};

/// The setting that says how results are stored.
const MEMO: &str = "memo";

/// Its value if the memo stores the nodes of the group as one entry.
const WHOLE: &str = "whole";

/// The settings of a node that uses a group.
pub fn settings() -> Vec<Setting> {
    let choices = &[
        ("nodes", "each node by itself, cheap ones together"),
        (WHOLE, "all nodes that lead to an output of the group as one, including expensive ones"),
    ];
    vec![Setting {
        name: MEMO,
        kind: SettingKind::Choice(choices),
        default: Some(SettingValue::Text("nodes".into())),
        about: "how the evaluator `incremental` stores the results of the group",
    }]
}

/// Whether the memo stores the nodes of the group as one entry; `text` returns a setting as it is
/// written.
pub fn is_whole<'a>(text: impl Fn(&str) -> Option<&'a str>) -> bool {
    text(MEMO) == Some(WHOLE)
}
