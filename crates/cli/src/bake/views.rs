//! The views of a bake, each baked into a directory of its own.
//!
//! `--in INPUT@VIEW=VALUE` becomes `--in INPUT=VALUE` in that view. The views share the cache, so what
//! does not depend on the view is computed once.

use std::path::PathBuf;

use millstream::{Footprint, Program};

use super::Args;
use crate::outcome::{Exit, Stop};
use crate::request::{reads_view, requested, unknown};
use crate::views::{NamedView, refuse_repeated};

/// A directory that is baked into, with the view and the inputs of its frames.
pub(super) struct Place<'a> {
    pub(super) folder: PathBuf,
    pub(super) inputs: Vec<String>,
    /// The name of the view, if it has one.
    pub(super) name: Option<&'a str>,
    view: Option<&'a Footprint>,
    /// Whether inputs differ by view.
    has_own: bool,
}

/// The places of a call: one for each named view.
pub(super) fn places<'a>(args: &'a Args) -> Result<Vec<Place<'a>>, Stop> {
    if args.views.is_empty() {
        return Ok(vec![Place {
            folder: args.output.clone(),
            inputs: args.inputs.clone(),
            name: None,
            view: args.size.as_ref(),
            has_own: false,
        }]);
    }
    refuse_repeated(&args.views)?;
    if args.views.iter().any(|view| view.name == "cache") {
        let text = "a view cannot be called `cache`, which is the directory of the results";
        return Err(Stop::new(Exit::Usage, text, Some("give it another name".into())));
    }
    let names = args.views.iter().map(|view| &*view.name);
    let of_views = args.inputs.iter().filter_map(|text| of_view(text));
    for (_, view, _) in of_views.clone() {
        if names.clone().all(|name| name != view) {
            return Err(Stop::all(Exit::Usage, vec![unknown("there is no view", view, names)]));
        }
    }
    let has_own = of_views.count() > 0;
    let place = |view: &'a NamedView| Place {
        folder: args.output.join(&view.name),
        inputs: inputs_in(&args.inputs, &view.name),
        name: Some(&*view.name),
        view: Some(&view.view),
        has_own,
    };
    Ok(args.views.iter().map(place).collect())
}

/// The input, the view and the value of `INPUT@VIEW=VALUE`.
fn of_view(text: &str) -> Option<(&str, &str, &str)> {
    let (name, value) = text.split_once('=')?;
    let (name, view) = name.rsplit_once('@')?;
    Some((name, view, value))
}

/// The values of inputs in a view: those for all views, and those of the view instead.
fn inputs_in(inputs: &[String], view: &str) -> Vec<String> {
    let own = inputs.iter().filter_map(|text| of_view(text)).filter(|(_, of, _)| *of == view);
    let is_own = |text: &str| {
        let name = text.split_once('=').map(|(name, _)| name);
        own.clone().any(|(own, ..)| name == Some(own))
    };
    let plain = inputs.iter().filter(|text| of_view(text).is_none() && !is_own(text)).cloned();
    plain.chain(own.clone().map(|(name, _, value)| format!("{name}={value}"))).collect()
}

impl Place<'_> {
    /// The name of a file in the directory of the call.
    pub(super) fn name_of(&self, file: &str) -> String {
        self.name.map_or_else(|| file.to_owned(), |view| format!("{view}/{file}"))
    }

    /// The requested view. It may be that these outputs do not read it, if inputs differ by view.
    pub(super) fn size(&self, program: &Program, outputs: &[String]) -> Option<&Footprint> {
        let is_read = reads_view(program, &requested(outputs));
        self.view.filter(|_| is_read || !self.has_own)
    }

    /// Whether there is a view.
    pub(super) fn has_view(&self) -> bool {
        self.view.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_has_its_own_inputs_instead_of_those_of_all() {
        let all = ["x=1", "y=2", "x@left=3", "z@right=@file.csv:a@b"].map(str::to_owned);
        assert_eq!(inputs_in(&all, "left"), ["y=2", "x=3"]);
        assert_eq!(inputs_in(&all, "right"), ["x=1", "y=2", "z=@file.csv:a@b"]);
    }
}
