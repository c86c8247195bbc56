//! Strategies that start at the output and ask for inputs; nothing is kept between reads.
//!
//! The recursion uses an explicit stack, so that long chains do not overflow the one of the thread.

use super::graph::{Graph, Id};
use super::strategy::{Change, NoRead, Strategy, Values};

/// Computes a node when it is asked for, after its inputs.
pub(super) struct Recursion {
    values: Values,
    /// The last read in which each node ran; `None` if nodes are not marked.
    marks: Option<Vec<u32>>,
    reading: u32,
    stack: Vec<(Id, usize)>,
}

impl Recursion {
    /// Nodes with several readers run once for each request.
    pub(super) fn without_marks(graph: &Graph) -> Self {
        Self { values: Values::of(graph), marks: None, reading: 0, stack: Vec::new() }
    }

    /// Nodes run at most once per read.
    pub(super) fn with_marks(graph: &Graph) -> Self {
        Self { marks: Some(vec![0; graph.len()]), ..Self::without_marks(graph) }
    }
}

impl Strategy for Recursion {
    fn name(&self) -> String {
        match self.marks {
            None => "recursion, no marks".into(),
            Some(_) => "recursion with marks".into(),
        }
    }

    fn read(&mut self, changes: &[Change]) -> Result<f64, NoRead> {
        let Self { values, marks, reading, stack } = self;
        values.start_reading();
        for (source, value) in changes.iter().flatten() {
            values.set(*source, *value);
        }
        *reading += 1;
        let is_done = |marks: &Option<Vec<u32>>, id: Id| {
            marks.as_ref().is_some_and(|marks| marks[id as usize] == *reading)
        };
        stack.clear();
        stack.push((values.graph.output(), 0));
        while let Some((id, position)) = stack.last_mut() {
            if let Some(input) = values.needed(*id, *position) {
                *position += 1;
                if !values.graph.is_source(input) && !is_done(marks, input) {
                    stack.push((input, 0));
                }
                continue;
            }
            let id = *id;
            stack.pop();
            values.run(id)?;
            if let Some(marks) = marks {
                marks[id as usize] = *reading;
            }
        }
        Ok(values.output())
    }

    fn runs(&self) -> Option<u64> {
        Some(self.values.runs)
    }
}
