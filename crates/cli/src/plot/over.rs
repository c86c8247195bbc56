//! The axes over which outputs are plotted.

use millstream::evaluate::RequestAxis;
use millstream::{Answer, Footprint, Given, Mask, Program, Request};

use crate::dots::ascends;
use crate::summary::{Lane, lanes_of};
use crate::tables::{Coordinates, Moments, Table};

use super::with_unit;

/// Positions along an axis.
pub(super) struct Places {
    pub(super) label: String,
    /// A number for each position; `None` if they are numbered from 0.
    numbers: Option<Vec<f64>>,
    pub(super) n: usize,
}

/// The axes of a table: the axis of its rows, or the column and row axes of a grid.
pub(super) struct Over {
    pub(super) rows: Places,
    /// The inner axis, if rows are the cells of two axes.
    pub(super) inner: Option<Places>,
    /// Whether the rows are moments.
    pub(super) is_time: bool,
}

impl Places {
    pub(super) fn numbered(label: &str, n: usize) -> Self {
        Self { label: label.into(), numbers: None, n }
    }

    /// The columns and rows of pixels of a view, at their centers in the scene; numbered if the view
    /// is rotated.
    pub(super) fn of_view(view: &Footprint) -> (Self, Self) {
        let m = view.transform.0.map(f64::from);
        let [width, height] = view.size();
        let is_upright = [m[1], m[4]] == [0.0, 0.0];
        let along = |label: &str, n: usize, first: i32, scale: f64, start: f64| {
            let center = |i: usize| start + scale * (f64::from(first) + i as f64 + 0.5);
            if is_upright {
                let numbers = Some((0..n).map(center).collect());
                Self { label: label.into(), numbers, n }
            } else {
                Self::numbered(&format!("{label} in pixels"), n)
            }
        };
        let [left, lower, ..] = view.crop;
        (along("x", width, left, m[0], m[3]), along("y", height, lower, m[5], m[7]))
    }

    pub(super) fn at(&self, i: usize) -> f64 {
        self.numbers.as_ref().map_or(i as f64, |numbers| numbers[i])
    }

    /// Whether the numbers of a lane are these positions.
    pub(super) fn is(&self, lane: &Lane) -> bool {
        self.numbers.as_deref() == Some(&lane.numbers)
    }

    /// Whether the positions are merely numbered.
    pub(super) fn is_plain(&self) -> bool {
        self.numbers.is_none()
    }

    /// The numbers of a lane as positions, if they ascend.
    pub(super) fn of_lane(label: String, lane: &Lane) -> Option<Self> {
        let is_axis = lane.numbers.len() > 1 && ascends(&lane.numbers);
        is_axis.then(|| Self { label, numbers: Some(lane.numbers.clone()), n: lane.numbers.len() })
    }

    /// The outer edges of the cells around the positions, which are one step apart.
    pub(super) fn borders(&self) -> (f64, f64) {
        let (first, last) = (self.at(0), self.at(self.n - 1));
        let half = if self.n > 1 { (last - first) / (self.n - 1) as f64 / 2.0 } else { 0.5 };
        (first - half, last + half)
    }

    /// These positions if they are evenly spaced, else numbered ones.
    pub(super) fn evenly(&self) -> Self {
        let (first, last) = (self.at(0), self.at(self.n - 1));
        let step = (last - first) / (self.n.max(2) - 1) as f64;
        let is_off = |i: usize| (self.at(i) - first - step * i as f64).abs() > step.abs() * 0.01;
        let Self { label, numbers, n } = self;
        if first > last || (0..*n).any(is_off) {
            return Self { label: format!("number of {label}"), numbers: None, n: *n };
        }
        Self { label: label.clone(), numbers: numbers.clone(), n: *n }
    }
}

impl Over {
    /// The axes of a table.
    pub(super) fn of(
        table: &Table<'_>,
        program: &Program,
        request: &Request,
        only: Option<&Mask>,
        answer: &Answer,
        at: &Coordinates,
    ) -> Self {
        let time = || of_moments(at.moments.as_ref(), answer.times.unwrap_or(1));
        match table.axes[..] {
            [RequestAxis::Time] => Self { rows: time(), inner: None, is_time: true },
            [RequestAxis::Time, RequestAxis::Index] => {
                let n = answer.count.unwrap_or(1);
                let elements = elements(program, request, only, n);
                let inner = (n > 0 && table.n_rows > 0).then_some(elements);
                Self { rows: time(), inner, is_time: true }
            }
            [RequestAxis::Index] => {
                let rows = elements(program, request, only, table.n_rows);
                Self { rows, inner: None, is_time: false }
            }
            _ => {
                let rows = Places::numbered("item", table.n_rows);
                Self { rows, inner: None, is_time: false }
            }
        }
    }
}

fn of_moments(moments: Option<&Moments>, n: usize) -> Places {
    let Some(moments) = moments else { return Places::numbered("time", n) };
    let (label, numbers): (&str, Vec<f64>) = match &moments.frames {
        Some(frames) => ("frame", frames.iter().map(|frame| *frame as f64).collect()),
        None => ("time in s", moments.seconds.clone()),
    };
    Places { label: label.into(), n: numbers.len(), numbers: Some(numbers) }
}

/// The elements, positioned by the first input whose column ascends, else numbered.
fn elements(program: &Program, request: &Request, only: Option<&Mask>, n: usize) -> Places {
    let asked = |i: usize| only.map_or(Some(i), |mask| mask.nth(i));
    for (name, input) in &program.document().inputs {
        let Some(Given::Along(RequestAxis::Index, column)) = request.given_to(name) else {
            continue;
        };
        let mut lanes = lanes_of(name, column);
        let (Some(mut lane), true) = (lanes.pop(), lanes.is_empty()) else { continue };
        if lane.numbers.len() != n {
            let some = (0..n).map(|i| asked(i).and_then(|at| lane.numbers.get(at).copied()));
            let Some(some) = some.collect() else { continue };
            lane.numbers = some;
        }
        let label = with_unit(name, input.unit.as_deref());
        if let Some(places) = Places::of_lane(label, &lane) {
            return places;
        }
    }
    let numbers = only.map(|mask| (0..n).map(|i| mask.nth(i).unwrap_or(i) as f64).collect());
    Places { label: "index".into(), numbers, n }
}
