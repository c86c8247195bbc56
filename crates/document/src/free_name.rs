//! Finding names that are not taken.

use std::collections::HashMap;
use std::sync::Arc;

/// The name itself or, if it is taken, with the lowest free number from 2 on. A number at the end
/// of the name is counted up instead.
pub fn free_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    next_free(name, 2, is_taken).0
}

/// Finds free names in constant time, however many similar names exist.
#[derive(Debug, Default)]
pub struct FreeNames {
    /// For each taken name the next number to try.
    next: HashMap<Arc<str>, u64>,
}

impl FreeNames {
    /// Like [`free_name`], but does not try numbers below the last one it returned.
    pub fn find(&mut self, name: &str, is_taken: impl Fn(&str) -> bool) -> Arc<str> {
        let first = self.next.get(name).copied().unwrap_or(2);
        let (free, next) = next_free(name, first, is_taken);
        if next > first {
            match self.next.get_mut(name) {
                Some(known) => *known = next,
                None => drop(self.next.insert(name.into(), next)),
            }
        }
        free.into()
    }
}

/// The free name, and the next number to try.
fn next_free(name: &str, first: u64, is_taken: impl Fn(&str) -> bool) -> (String, u64) {
    if !is_taken(name) {
        return (name.to_owned(), first);
    }
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let stem = stem.strip_suffix('_').filter(|stem| !stem.is_empty()).unwrap_or(name);
    let numbered = |number: u64| format!("{stem}_{number}");
    let mut number = first;
    while is_taken(&numbered(number)) {
        number += 1;
    }
    (numbered(number), number + 1)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn taken_names_get_the_lowest_free_number() {
        let taken = ["a", "a_2", "a_4", "_2", "x7", "7"];
        let is_taken = |name: &str| taken.contains(&name);
        let free = |name: &str| free_name(name, is_taken);
        assert_eq!(["b", "a", "a_2", "a_4"].map(free), ["b", "a_3", "a_3", "a_3"]);
        assert_eq!(["_2", "x7", "7"].map(free), ["_2_2", "x7_2", "7_2"], "these are not numbers");
    }

    #[test]
    fn many_similar_names_are_found_quickly() {
        let (mut names, mut taken) = (FreeNames::default(), HashSet::<Arc<str>>::new());
        for _ in 0..20_000 {
            let free = names.find("constant", |name| taken.contains(name));
            assert!(taken.insert(free));
        }
        assert!(taken.contains("constant") && taken.contains("constant_20000"));
    }
}
