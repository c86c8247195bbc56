//! The most frequent value of a list.

use millstream_node::{Call, Failure};

use super::nothing;
use crate::cells::{items, picked, put};
use crate::known::{ByHash, Keys};

/// Units of work of one item.
const HASHED: usize = 1 << 4;

/// The most frequent item of each list, the first one if there are several.
pub(super) fn most_frequent(call: &mut Call<'_>) -> Result<(), Failure> {
    let source = items(call, 0);
    let lists = call.lists(0);
    let (keys, mut by_hash) = (Keys::new(), ByHash::new());
    // The index of the first occurrence of each value, and the number of occurrences.
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut pace = call.pace();
    let places = picked(call, &source, |i| {
        by_hash.clear();
        found.clear();
        for at in lists.parts(i).1 {
            pace.work(HASHED)?;
            let hash = keys.of_row([&source], at);
            let new = u32::try_from(found.len()).expect("lists are shorter than 2^32");
            let is_it = |value: u32| source.same_at(at, &source, found[value as usize].0);
            match by_hash.find_or_enter(hash, new, is_it) {
                Some(value) => found[value as usize].1 += 1,
                None => found.push((at, 1)),
            }
        }
        let most = found.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a });
        most.map(|(at, _)| at).ok_or_else(|| nothing(i, "mode"))
    })?;
    put(call, places);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use millstream_base::Value;
    use serde_json::json;

    use crate::cells::testing::{list, value};

    fn mode(items: Value) -> String {
        match value("list.mode", &json!({}), vec![items]) {
            Ok(found) => found.to_string(),
            Err(failure) => failure.message,
        }
    }

    #[test]
    fn of_equally_frequent_values_the_first_is_returned() {
        assert_eq!(mode(list(vec![3, 1, 2, 2, 1])), "1");
        assert_eq!(mode(list(vec![5])), "5");
        assert_eq!(mode(list(vec![f32::NAN, 1.0, f32::NAN])), "\"nan\"");
        assert_eq!(mode(list(vec![0.0, -0.0, -0.0])), "-0.0");
        let texts = ["b", "a", "a"].map(Arc::<str>::from);
        assert_eq!(mode(list(texts.to_vec())), "\"a\"");
        assert_eq!(mode(list(Vec::<bool>::new())), "an empty list has no mode");
    }
}
