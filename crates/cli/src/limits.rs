//! `--limit NAME=VALUE`: resource limits of a document.

use millstream::Limits;
use millstream::diagnostics::did_you_mean;

use crate::memory::available;
use crate::outcome::{Exit, Stop};

/// The default limits with these changes, each written `name=value`. Memory is limited to half of
/// what is free.
pub(crate) fn limits(changes: &[String]) -> Result<Limits, Stop> {
    let mut limits = Limits::default();
    // Data being read exist twice for a moment, and running out of memory would abort the program.
    limits.bytes = available().map_or(limits.bytes, |free| limits.bytes.min(free / 2));
    let mut changed = Vec::new();
    let usage = |text, help: String| Stop::new(Exit::Usage, text, Some(help));
    for change in changes {
        let (name, value) = change.split_once('=').ok_or_else(|| {
            let text = format!("`--limit {change}` has no value");
            usage(text, format!("write NAME=VALUE; names: {}", names()))
        })?;
        let value: usize = value.replace('_', "").parse().map_err(|_| {
            let text = format!("the limit `{name}` cannot be `{value}`");
            usage(text, "write a whole number".into())
        })?;
        let limit = limits.get_mut(name).ok_or_else(|| {
            let near = did_you_mean(name, Limits::names());
            let help = near.map(|near| format!("did you mean `{near}`?"));
            let help = help.unwrap_or_else(|| format!("limits: {}", names()));
            usage(format!("there is no limit called `{name}`"), help)
        })?;
        if let Some(known) = Limits::named(name).filter(|known| value > known.max) {
            let text = format!("the limit `{name}` cannot be {value}");
            return Err(usage(text, format!("it can be at most {}", known.max)));
        }
        *limit = value;
        if changed.contains(&name) {
            return Err(usage(format!("the limit `{name}` is given twice"), "give it once".into()));
        }
        changed.push(name);
    }
    Ok(limits)
}

fn names() -> String {
    Limits::names().collect::<Vec<_>>().join(", ")
}
