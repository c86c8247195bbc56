//! Plans of documents that have no plan as they are: nodes that prevent it are marked as wrong, so
//! that the rest has a plan.

use std::sync::Arc;

use millstream_base::diagnostics::Diagnostics;
use millstream_document::Checked;

/// Maximal number of rounds of marking nodes.
const MAX_ROUNDS: usize = 16;

/// Plans a document. If that fails at nodes, it marks these as wrong and tries again. Returns what
/// could be planned in the end, and why the rest could not.
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
