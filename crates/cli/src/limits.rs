//! `--limit NAME=VALUE`: what a document may use.

use millstream::Limits;
use millstream::diagnostics::did_you_mean;

use crate::memory::available;
use crate::outcome::{Exit, Stop};

const NAMES: [&str; 8] = [
    "document_bytes",
    "nodes",
    "group_depth",
    "expanded_nodes",
    "list_length",
    "repeat_count",
    "image_pixels",
    "bytes",
];

/// The default limits, at most half of the memory that is free, with these changes, each written
/// `name=value`.
pub(crate) fn limits(changes: &[String]) -> Result<Limits, Stop> {
    let mut limits = Limits::default();
    // What is read is held twice for a moment. To run out of memory ends the program at once.
    limits.bytes = available().map_or(limits.bytes, |free| limits.bytes.min(free / 2));
    let mut changed = Vec::new();
    for change in changes {
        let (name, value) = change.split_once('=').ok_or_else(|| {
            let help = Some(format!("write NAME=VALUE; names: {}", NAMES.join(", ")));
            Stop::new(Exit::Usage, format!("`--limit {change}` has no value"), help)
        })?;
        let value: usize = value.replace('_', "").parse().map_err(|_| {
            let help = Some("write a whole number".to_owned());
            Stop::new(Exit::Usage, format!("the limit `{name}` cannot be `{value}`"), help)
        })?;
        *field(&mut limits, name).ok_or_else(|| unknown(name))? = value;
        if changed.contains(&name) {
            let help = Some("give it once".to_owned());
            return Err(Stop::new(Exit::Usage, format!("the limit `{name}` is given twice"), help));
        }
        changed.push(name);
    }
    Ok(limits)
}

fn field<'a>(limits: &'a mut Limits, name: &str) -> Option<&'a mut usize> {
    Some(match name {
        "document_bytes" => &mut limits.document_bytes,
        "nodes" => &mut limits.nodes,
        "group_depth" => &mut limits.group_depth,
        "expanded_nodes" => &mut limits.expanded_nodes,
        "list_length" => &mut limits.list_length,
        "repeat_count" => &mut limits.repeat_count,
        "image_pixels" => &mut limits.image_pixels,
        "bytes" => &mut limits.bytes,
        _ => return None,
    })
}

fn unknown(name: &str) -> Stop {
    let help = match did_you_mean(name, NAMES) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("limits: {}", NAMES.join(", ")),
    };
    Stop::new(Exit::Usage, format!("there is no limit called `{name}`"), Some(help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_field() {
        for name in NAMES {
            let limits = limits(&[format!("{name}=1_234")]).expect("known");
            assert_ne!(limits, Limits::default(), "{name}");
        }
    }
}
