//! The elements for which a zone does not run at all, because they are over a limit or their lists
//! differ in length.

use millstream_base::Mask;
use millstream_ir::ZoneBody;
use millstream_node::Call;
use millstream_node::function::Lists;
use millstream_node::zone::Mode;

use super::items::number_of_items;

/// Those elements of a mask that fail whatever the body is.
pub(super) fn refused(body: &ZoneBody, call: &Call<'_>, mask: &Mask) -> Mask {
    match &body.course.mode {
        // Elements that may end early fail when they reach the limit.
        Mode::Rounds { .. } if body.ends_early() => Mask::empty(),
        Mode::Rounds { count, .. } => {
            let counts = call.input::<i32>(*count);
            let limit = call.limits().repeat_count;
            Mask::from_predicate(mask, |i| counts.get(i).max(0) as usize > limit)
        }
        Mode::Items { items, .. } => {
            let lists: Vec<Lists<'_>> = items.iter().map(|input| call.lists(*input)).collect();
            let limit = call.limits().list_length;
            Mask::from_predicate(mask, |i| {
                number_of_items(body, &lists, i).map_or(true, |n| n > limit)
            })
        }
        Mode::Ticks { .. } => panic!("ticks are no runs of one call"),
    }
}
