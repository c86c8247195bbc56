//! A short list of named values in the order in which they are written.

use std::sync::Arc;

/// Named values in order, for the few inputs and settings of a node: one allocation, with linear
/// search.
#[derive(Clone, Debug, PartialEq)]
pub struct Fields<T>(Vec<(Arc<str>, T)>);

impl<T> Fields<T> {
    /// No fields.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The value called `name`.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(known, _)| &**known == name).map(|(_, thing)| thing)
    }

    /// The value called `name`, with the stored name.
    pub fn get_key_value(&self, name: &str) -> Option<(&Arc<str>, &T)> {
        self.0.iter().find(|(known, _)| &**known == name).map(|(known, thing)| (known, thing))
    }

    /// The value called `name`.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        self.0.iter_mut().find(|(known, _)| &**known == name).map(|(_, thing)| thing)
    }

    /// Sets the value called `name` and returns the previous one; a new name is appended.
    pub fn insert(&mut self, name: impl Into<Arc<str>>, thing: T) -> Option<T> {
        let name = name.into();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => Some(std::mem::replace(old, thing)),
            None => {
                self.0.push((name, thing));
                None
            }
        }
    }

    /// Like [`insert`](Self::insert), but a new name is inserted before the value called `before`,
    /// if there is one.
    pub fn insert_before(&mut self, name: Arc<str>, thing: T, before: Option<&str>) -> Option<T> {
        let at = before.and_then(|before| self.0.iter().position(|(known, _)| &**known == before));
        match at {
            Some(at) if self.get(&name).is_none() => {
                self.0.insert(at, (name, thing));
                None
            }
            Some(_) | None => self.insert(name, thing),
        }
    }

    /// The name after `name`.
    pub fn name_after(&self, name: &str) -> Option<&Arc<str>> {
        let at = self.0.iter().position(|(known, _)| &**known == name)?;
        self.0.get(at + 1).map(|(name, _)| name)
    }

    /// Removes the value called `name`; the others keep their order.
    pub fn remove(&mut self, name: &str) -> Option<T> {
        let at = self.0.iter().position(|(known, _)| &**known == name)?;
        Some(self.0.remove(at).1)
    }

    /// Renames the value called `from` to `to` in place; false if there is none or `to` is taken.
    pub fn rename(&mut self, from: &str, to: &str) -> bool {
        if self.get(to).is_some() {
            return false;
        }
        match self.0.iter_mut().find(|(known, _)| &**known == from) {
            Some((name, _)) => {
                *name = to.into();
                true
            }
            None => false,
        }
    }

    /// The names and values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &T)> + DoubleEndedIterator {
        self.0.iter().map(|(name, thing)| (name, thing))
    }

    /// The values in order, mutable.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, thing)| thing)
    }

    /// Number of fields.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Fields with distinct names, without spare capacity.
    pub fn from_distinct(fields: impl ExactSizeIterator<Item = (Arc<str>, T)>) -> Self {
        Self(fields.collect())
    }
}

impl<T> Default for Fields<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<N: Into<Arc<str>>, T> FromIterator<(N, T)> for Fields<T> {
    /// If several values share a name, the last one counts.
    fn from_iter<I: IntoIterator<Item = (N, T)>>(things: I) -> Self {
        let mut fields = Self::new();
        for (name, thing) in things {
            fields.insert(name, thing);
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_order_when_renamed() {
        let mut fields: Fields<i32> = [("b", 1), ("a", 2), ("b", 3)].into_iter().collect();
        assert!(fields.rename("b", "c"));
        assert!(!fields.rename("c", "a"));
        let all: Vec<_> = fields.iter().map(|(name, x)| (&**name, *x)).collect();
        assert_eq!(all, [("c", 3), ("a", 2)]);
        assert_eq!(fields.remove("c"), Some(3));
    }
}
