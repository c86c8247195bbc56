//! The rows of a file: cells of the request along its axes.
//!
//! They are all cells of the request. If these are more than a file may have, axes along which no
//! output of the file varies are left out; each output has the same value along them.

use millstream::Limits;
use millstream::evaluate::{Answer, OutputAnswer, RequestAxis, product_in_words};

use crate::outcome::{Exit, Stop};
use crate::place::Target;
use crate::tables::{Coordinates, Moments};
use crate::terminal::{eprint, visible};

/// The axes of the rows of a file.
pub(crate) struct Span {
    /// Outermost first.
    pub(crate) axes: Vec<RequestAxis>,
    pub(crate) n_rows: usize,
    /// The axes of the request that are left out.
    left_out: Vec<RequestAxis>,
}

impl Span {
    /// Rows that are the items of lists.
    pub(crate) fn of_items(n_rows: usize) -> Self {
        Self { axes: Vec::new(), n_rows, left_out: Vec::new() }
    }

    /// The rows of a file for these outputs, which may have at most so many.
    pub(crate) fn of(
        target: &Target,
        answer: &Answer,
        outputs: &[&OutputAnswer],
        most_rows: usize,
    ) -> Result<Self, Stop> {
        let opened = Self::opened(answer);
        let all = answer.cells_of(&opened);
        if all <= most_rows {
            return Ok(Self { axes: opened, n_rows: all, left_out: Vec::new() });
        }
        let varies = |axis: &RequestAxis| {
            let mut series = outputs.iter().filter_map(|output| output.known());
            series.any(|series| series.axes.contains(axis))
        };
        let (axes, left_out): (Vec<_>, Vec<_>) = opened.into_iter().partition(varies);
        let extents = axes.iter().map(|axis| (*axis, answer.extent(*axis)));
        let (n_rows, product) = product_in_words(extents);
        if n_rows <= most_rows {
            return Ok(Self { axes, n_rows, left_out });
        }
        let name = target.name();
        let text = format!(
            "{} was not written: its outputs together have {n_rows} rows ({product}), the limit is \
             {most_rows}",
            visible(&name)
        );
        Err(Stop::new(Exit::Failed, text, Some(fewer_rows(n_rows))))
    }

    /// The axes that the request opened, outermost first.
    pub(crate) fn opened(answer: &Answer) -> Vec<RequestAxis> {
        let is_open = |axis: &RequestAxis| match axis {
            RequestAxis::Time => answer.times.is_some(),
            RequestAxis::View => answer.views.is_some(),
            RequestAxis::Index => answer.count.is_some(),
        };
        RequestAxis::ALL.into_iter().filter(is_open).collect()
    }

    /// Whether the rows have no coordinate of this axis.
    pub(crate) fn leaves_out(&self, axis: RequestAxis) -> bool {
        self.left_out.contains(&axis)
    }

    /// The extents of the axes.
    pub(crate) fn extents(&self, answer: &Answer) -> Vec<usize> {
        self.axes.iter().map(|axis| answer.extent(*axis)).collect()
    }

    /// The position along an axis for each row.
    pub(crate) fn position(
        &self,
        axis: RequestAxis,
        answer: &Answer,
    ) -> impl Fn(usize) -> usize + use<> {
        let inside = self.axes.iter().copied().filter(|other| *other > axis);
        let (stride, n) = (answer.cells_of(&inside.collect::<Vec<_>>()), answer.extent(axis));
        move |row| row / stride % n
    }

    /// Reports the axes that were left out.
    pub(crate) fn report(&self, answer: &Answer, at: &Coordinates) {
        if self.left_out.is_empty() {
            return;
        }
        let name = |axis: &RequestAxis| match axis {
            RequestAxis::Time => at.moments.as_ref().map_or(axis.name(), Moments::name),
            RequestAxis::View | RequestAxis::Index => axis.name(),
        };
        let names: Vec<&str> = self.left_out.iter().map(name).collect();
        report_left_out(&names, "", answer.n_cells());
    }
}

/// Reports axes that were left out of a file, which is named by `of`, such as ` of FILE`.
pub(crate) fn report_left_out(names: &[&str], of: &str, n_rows: usize) {
    let (are, them) = if names.len() == 1 { ("is", "it") } else { ("are", "them") };
    eprint(&format!(
        "{} {are} left out{of}, as no saved output varies along {them}: {n_rows} rows would be more \
         than the limit `list_length` allows\n",
        names.join(" and ")
    ));
}

/// The next step for a file with too many rows.
fn fewer_rows(n_rows: usize) -> String {
    let apart = "save outputs that vary along fewer axes by themselves: --out NAME";
    if n_rows <= Limits::LIST_LENGTH.max {
        format!("raise it with --limit list_length={n_rows}, or {apart}")
    } else {
        apart.into()
    }
}
