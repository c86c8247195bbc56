//! Plans of documents that cannot be planned as they are: nodes that stand in the way are marked as
//! wrong, so that the rest has its plan.

use std::sync::Arc;

use millstream_base::diagnostics::Diagnostics;
use millstream_document::Checked;

/// Rounds of marking nodes.
const MAX_ROUNDS: usize = 16;

/// Plans a document. Where that fails at nodes, these are marked as wrong and it is tried again.
/// Gives what could be planned in the end, and why the rest could not.
pub(crate) fn planned<T>(
    mut checked: Arc<Checked>,
    plan: impl Fn(&Checked) -> Result<T, Diagnostics>,
) -> (Option<(Arc<Checked>, T)>, Diagnostics) {
    let mut told = Diagnostics::new();
    for _ in 0..MAX_ROUNDS {
        let problems = match plan(&checked) {
            Ok(plan) => return (Some((checked, plan)), told),
            Err(problems) => problems,
        };
        let part = Arc::make_mut(&mut checked);
        let are_marked = problems.iter().all(|it| part.mark_wrong(it.place.path.as_str()));
        told.append(problems);
        if !are_marked {
            break;
        }
    }
    (None, told)
}
