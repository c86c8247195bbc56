//! Comparison of documents with the results that Blender computed.

use millstream::{Engine, Request};
use millstream_base::{Column, Type, literal};
use serde_json::Value as Json;
use thiserror::Error;

use super::Imported;
use super::dump::{Network, NetworkOutput};
use super::kind::{Kind, shown};

/// The difference between an output and the values that Blender computed.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputDifference {
    /// The output of the document.
    pub output: String,
    /// The largest |d| / max(1, |reference|) over elements and components.
    pub difference: f64,
    /// The element with this difference.
    pub element: usize,
    /// The number of compared elements.
    pub compared: usize,
    /// The number of elements left out because small changes of the inputs change them strongly.
    pub sensitive: usize,
}

/// Why a document could not be compared.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The document does not compile.
    #[error("the document is invalid: {0}")]
    Document(millstream::Error),
    /// The recorded values do not have the types of their sockets.
    #[error("{what}: {message}")]
    Values {
        /// The input or output.
        what: String,
        /// The problem.
        message: String,
    },
    /// The evaluation failed.
    #[error("the evaluation failed: {0}")]
    Failed(String),
}

/// Evaluates the document of a network on the recorded inputs and compares the outputs.
///
/// Non-finite results must be equal. A rotation and its negative are the same rotation.
///
/// # Errors
/// If the document does not compile or run, or the recorded values do not have their types.
pub fn verify(
    engine: &Engine,
    network: &Network,
    imported: &Imported,
) -> Result<Vec<OutputDifference>, VerifyError> {
    let program = engine.compile(imported.document.clone()).map_err(VerifyError::Document)?;
    let mut request = Request::new().with_limits(engine.limits().clone());
    let mut n_elements = None;
    for (input, name) in network.inputs.iter().zip(&imported.inputs) {
        let values = column(name, &input.kind, &input.values)?;
        n_elements = Some(input.values.len());
        request = request.column(name.clone(), values);
    }
    let n_recorded = network.outputs.first().map_or(0, |output| output.values.len());
    request = request.count(n_elements.unwrap_or(n_recorded));
    let answer = program.run(&request).map_err(|error| VerifyError::Failed(error.to_string()))?;
    if let Some(failure) = answer.failures.first() {
        return Err(VerifyError::Failed(failure.to_string()));
    }
    let mut found = Vec::new();
    for (output, name) in network.outputs.iter().zip(&imported.outputs) {
        let series = answer.output(name).and_then(|output| output.value.as_ref());
        let series = series.ok_or_else(|| VerifyError::Failed(format!("`{name}` has no value")))?;
        let results = answer.full_column(series);
        found.push(difference(name, output, &results)?);
    }
    Ok(found)
}

fn column(name: &str, kind: &str, values: &[Json]) -> Result<Column, VerifyError> {
    let wrong = |message: String| VerifyError::Values { what: name.into(), message };
    let kind =
        Kind::of_socket(kind).ok_or_else(|| wrong(format!("`{kind}` is not a known type")))?;
    let ty: Type = kind.ty();
    let mut columns = Vec::with_capacity(values.len());
    for (i, json) in values.iter().enumerate() {
        let converted = if is_recorded(kind, json) { kind.converted(json) } else { None };
        let value = converted.and_then(|json| literal::from_json(ty, &json).ok());
        let value = value.ok_or_else(|| {
            wrong(format!("element {i} is {}, which is not of type {}", shown(json), kind.name()))
        })?;
        columns.push(Column::filled(&value, 1));
    }
    Ok(Column::concat(ty, &columns).expect("all columns are of the type"))
}

/// Whether a value has the number of components that Blender records; socket values may be shorter.
fn is_recorded(kind: Kind, json: &Json) -> bool {
    let width = match kind {
        Kind::Vector => 3,
        Kind::Color | Kind::Rotation => 4,
        _ => return !json.is_null(),
    };
    json.as_array().is_some_and(|parts| parts.len() == width)
}

fn difference(
    name: &str,
    output: &NetworkOutput,
    results: &Column,
) -> Result<OutputDifference, VerifyError> {
    let references = column(name, &output.kind, &output.values)?;
    if references.ty() != results.ty() {
        let message =
            format!("{} is recorded, but the document gives {}", references.ty(), results.ty());
        return Err(VerifyError::Values { what: name.into(), message });
    }
    if references.len() != results.len() {
        let message = format!("{} values are recorded, not {}", references.len(), results.len());
        return Err(VerifyError::Values { what: name.into(), message });
    }
    let mut largest = OutputDifference {
        output: name.into(),
        difference: 0.0,
        element: 0,
        compared: 0,
        sensitive: 0,
    };
    for i in 0..results.len() {
        if output.sensitive.contains(&i) {
            largest.sensitive += 1;
            continue;
        }
        largest.compared += 1;
        let (ours, theirs) = (numbers(results, i), numbers(&references, i));
        let mut difference = apart(&ours, &theirs);
        if results.ty() == Type::QUAT {
            let negative: Vec<f64> = ours.iter().map(|x| -x).collect();
            difference = difference.min(apart(&negative, &theirs));
        }
        if difference > largest.difference {
            (largest.difference, largest.element) = (difference, i);
        }
    }
    Ok(largest)
}

/// The components of an element.
fn numbers(column: &Column, i: usize) -> Vec<f64> {
    let value = column.get(i);
    let ty = value.ty();
    let Some((lane, n)) = ty.lanes() else { return Vec::new() };
    let bits = (0..n as usize).map(|k| value.lane(k).expect("the value has this lane"));
    bits.map(|bits| match lane {
        millstream_base::Lane::Bool => f64::from(u8::from(bits != 0)),
        millstream_base::Lane::I32 => f64::from(bits as u32 as i32),
        millstream_base::Lane::I64 => bits as i64 as f64,
        millstream_base::Lane::F32 => f64::from(f32::from_bits(bits as u32)),
        millstream_base::Lane::F64 => f64::from_bits(bits),
    })
    .collect()
}

fn apart(ours: &[f64], theirs: &[f64]) -> f64 {
    let one = |(x, reference): (&f64, &f64)| {
        if x == reference || (x.is_nan() && reference.is_nan()) {
            return 0.0;
        }
        let difference = (x - reference).abs() / reference.abs().max(1.0);
        if difference.is_nan() { f64::INFINITY } else { difference }
    };
    ours.iter().zip(theirs).map(one).fold(0.0, f64::max)
}
