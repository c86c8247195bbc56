//! Failures of functions.

/// Why a function has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The lowest element that failed; `None` if the failure concerns the whole call.
    pub element: Option<usize>,
    /// The problem, in lower case, without a final stop.
    pub message: String,
    /// The next step for the author, if there is one.
    pub help: Option<String>,
    /// The item that failed in each loop over lists within the element, outermost first.
    pub items: Vec<usize>,
}

impl Failure {
    /// A failure at one element.
    pub fn at(element: usize, message: impl Into<String>) -> Self {
        Self { element: Some(element), ..Self::whole(message) }
    }

    /// A failure of the whole call.
    pub fn whole(message: impl Into<String>) -> Self {
        Self { element: None, message: message.into(), help: None, items: Vec::new() }
    }

    /// The failure with a hint.
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// The failure as one of an item of a list of this element.
    pub fn in_item(mut self, element: usize, item: usize) -> Self {
        self.items.insert(0, item);
        Self { element: Some(element), ..self }
    }

    /// The items as coordinates with the name of their axis.
    pub fn item_coordinates(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.items.iter().map(|item| ("item", *item))
    }

    /// A limit was exceeded; `raise` is the setting that raises it.
    pub fn limit(what: &str, wanted: usize, limit: usize, raise: &str) -> Self {
        Self::whole(format!("{wanted} {what}, the limit is {limit}"))
            .with_help(format!("raise `{raise}` in the limits"))
    }
}
