//! How much an untrusted document may use: a table of limits.
//!
//! A limit is one row of the table below. The fields of [`Limits`], their defaults, the parsing of
//! `--limit NAME=VALUE`, the advice in messages and the table in `docs/data.md` are derived from
//! it.

/// One limit: its row in the table.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Its name, as a field and on the command line.
    pub name: &'static str,
    /// The default value.
    pub default: usize,
    /// The highest value that has an effect.
    pub max: usize,
    /// The unit that is counted.
    pub unit: &'static str,
    /// What is counted.
    pub help: &'static str,
    /// What to do instead of raising the limit.
    pub instead: &'static str,
    get: fn(&mut Limits) -> &mut usize,
}

macro_rules! limits {
    ($($constant:ident $name:ident: $default:expr, $max:expr, $unit:literal, $help:literal,
        $instead:literal;)+) => {
        /// The limits of loading, compiling and running. The embedding program sets the fields; the
        /// command line has `--limit NAME=VALUE`.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Limits {
            $(#[doc = concat!($help, ".")] pub $name: usize,)+
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        impl Limits {
            $(
                #[doc = concat!("The limit `", stringify!($name), "`.")]
                pub const $constant: Limit = Limit {
                    name: stringify!($name),
                    default: $default,
                    max: $max,
                    unit: $unit,
                    help: $help,
                    instead: $instead,
                    get: |limits| &mut limits.$name,
                };
            )+

            /// All limits.
            pub const ALL: &[Limit] = &[$(Self::$constant,)+];
        }
    };
}

limits! {
    DOCUMENT_BYTES document_bytes: 1 << 30, usize::MAX, "bytes",
        "Bytes of a document's text",
        "move large values to data files";
    NODES nodes: 16_000_000, usize::MAX, "nodes",
        "Nodes written in a document, in all its groups",
        "move repeated parts into a group";
    GROUP_DEPTH group_depth: 64, usize::MAX, "levels",
        "Groups inside groups",
        "nest the groups less deeply";
    EXPANDED_NODES expanded_nodes: 16_000_000, usize::MAX, "nodes",
        "Nodes after all groups are expanded",
        "use the groups less often";
    USED_DOCUMENTS used_documents: 1000, usize::MAX, "documents",
        "Documents that a document uses, directly or indirectly",
        "merge documents";
    // `index` is an `i32`.
    LIST_LENGTH list_length: 1 << 28, i32::MAX as usize, "elements",
        "Elements of one list, rows of one file, and cells of one column",
        "request fewer elements";
    REPEAT_COUNT repeat_count: 10_000_000, usize::MAX, "rounds",
        "Iterations of one repeat",
        "use fewer iterations";
    IMAGE_PIXELS image_pixels: 1 << 28, usize::MAX, "pixels",
        "Pixels of one image",
        "make the image smaller";
    BYTES bytes: 16 << 30, usize::MAX, "bytes",
        "Bytes held by the columns of one evaluation, or read from one file",
        "request fewer elements";
}

impl Limits {
    /// The maximal number of cells of one column: as many as a list may have, if `index` can number
    /// them.
    pub fn cells(&self) -> usize {
        self.list_length.min(Self::LIST_LENGTH.max)
    }

    /// The limit with this name.
    pub fn named(name: &str) -> Option<&'static Limit> {
        Self::ALL.iter().find(|limit| limit.name == name)
    }

    /// Mutable access to the limit with this name.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut usize> {
        Some((Self::named(name)?.get)(self))
    }

    /// The names of all limits.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        Self::ALL.iter().map(|limit| limit.name)
    }

    /// The table as Markdown, for the documentation.
    pub fn markdown() -> String {
        let mut text =
            String::from("| limit | default | at most | counts | instead of raising it |\n");
        text.push_str("|---|---|---|---|---|\n");
        for Limit { name, default, max, help, instead, .. } in Self::ALL {
            let max = if *max == usize::MAX { String::new() } else { grouped(*max) };
            let default = grouped(*default);
            text.push_str(&format!("| `{name}` | {default} | {max} | {help} | {instead} |\n"));
        }
        text
    }
}

/// A number with `_` between groups of three digits, as `--limit` reads it.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}

impl Limit {
    /// What a user whose document or data exceeds the limit can do.
    pub fn advice(&self) -> String {
        format!("{}, or raise `{}` in the limits if this is intended", self.instead, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_fields_belong_together() {
        let mut limits = Limits::default();
        for limit in Limits::ALL {
            let value = limits.get_mut(limit.name).expect("it has a field");
            assert_eq!(*value, limit.default, "{}", limit.name);
            *value = 7;
        }
        assert!(Limits::names().all(|name| limits.get_mut(name) == Some(&mut 7)));
        assert_eq!(limits.get_mut("nodse"), None);
    }

    #[test]
    fn the_manual_holds_the_table() {
        let manual = include_str!("../../../docs/data.md");
        assert!(manual.contains(&Limits::markdown()), "write into it:\n{}", Limits::markdown());
    }
}
