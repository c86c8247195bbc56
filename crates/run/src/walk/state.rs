//! State in scopes, which nodes hold from tick to tick for each element of the scopes around them.
//!
//! A reader returns the state of its node for the demanded cells: each cell is an element with
//! coordinates, by which the table of the node is searched. When the outputs exist, the next state
//! of each node is evaluated where its reader was ([`Walk::next_states`]), which may call further
//! nodes. A node fails if one element is reached with two contexts in one tick.

use std::collections::BTreeMap;
use std::sync::Arc;

use millstream_base::feature::Aspect;
use millstream_base::id::Id;
use millstream_base::{Column, Feature, Mask, Need, Type, Value};
use millstream_ir::RequestAxis;
use millstream_ir::answer::{EvalError, NodeFailure};
use millstream_ir::element_states::{Called, Calls, ELEMENT, Reach, Table};
use millstream_ir::plan::{StateWriter, StepId, StepSource};
use millstream_node::{Data, Instance};

use smallvec::SmallVec;

use super::idle_loops::IdleLoop;
use super::{Demand, Mode, Stop, Task, Walk};
use crate::frame::{Feat, FrameId};
use crate::shape::{AxisId, CellMap, Extent, ShapeId, Shapes};
use crate::store::{SlotId, State};

/// The calls of nodes that hold state.
#[derive(Debug, Default)]
pub(super) struct StateCalls {
    /// The contexts in which state was read.
    calls: Vec<Call>,
    pub(super) idle_loops: Vec<IdleLoop>,
    /// The nodes whose state was read in contexts that contradict each other.
    misread: Vec<Arc<str>>,
}

/// A reader in one of its contexts.
#[derive(Clone, Copy, Debug)]
struct Call {
    writer: usize,
    frame: FrameId,
    slot: SlotId,
    /// The number of cells whose next state was evaluated.
    n_asked: usize,
}

/// One coordinate of the elements of a call.
struct Coordinate {
    name: String,
    data: Data,
    map: CellMap,
    /// The axis along which it counts.
    axis: Option<AxisId>,
}

impl Coordinate {
    fn at(&self, cell: usize) -> i32 {
        match &self.data {
            Data::One(value) => value.get().unwrap_or_default(),
            Data::Many(column) => {
                let column = column.as_slice::<i32>().expect("coordinates are whole numbers");
                column[self.map.as_map().entry(cell)]
            }
        }
    }
}

/// Some cells of a call, with their next state and their contexts.
struct Part {
    n: usize,
    keys: Vec<i32>,
    values: Vec<Column>,
    contexts: Vec<Column>,
}

impl<M: Mode> Walk<'_, M> {
    /// A step that returns the state of its node.
    pub(super) fn read_state(&mut self, top: usize, instance: &Instance) -> Result<(), Stop> {
        let Task { step, frame, slot, .. } = self.stack[top];
        let (shape, mask) = match &self.stack[top].demand {
            Demand::Part(cells) => (cells.shape, Some(cells.mask.clone())),
            Demand::Full => (self.shape_of(step, frame)?, None),
        };
        let n_cells = self.shapes.n_cells(shape)?;
        let mask = mask.unwrap_or_else(|| Mask::full(n_cells));
        let coordinates = self.coordinates(step, frame, shape)?;
        let node = instance.settings.text("node");
        let table = self.request.kept().get(node);
        let table = table.filter(|table| has_coordinates(table, &coordinates));
        let rows = match table {
            Some(table) => {
                // State that was shared by all elements is so until there is one for each.
                let n_more = coordinates.len() - table.coordinates.len();
                rows(table, &coordinates[n_more..], &mask, n_cells)
            }
            None => vec![NO_ROW; n_cells],
        };
        let found = Mask::from_predicate(&mask, |cell| rows[cell] != NO_ROW);
        let missing = mask.difference(&found);
        let used = self.used_outputs[step.index()];
        let mut outputs = Vec::with_capacity(instance.outputs.len());
        for (k, output) in instance.outputs.iter().enumerate() {
            if used & 1 << k.min(63) == 0 {
                outputs.push(None);
                continue;
            }
            let kept = match k {
                0 => Some(Column::filled(&Value::Bool(true), 1)),
                _ => table.and_then(|table| table.value(&instance.output_names[k])).cloned(),
            };
            let kept = kept.filter(|column| column.ty() == output.ty);
            let rest = Column::filled(&output.ty.default_value(), 1);
            let mut column = self.output_column(top, k, output.ty, n_cells)?;
            column.overwrite(&missing, &rest, |_| 0);
            match &kept {
                Some(kept) if k > 0 => column.overwrite(&found, kept, |cell| rows[cell] as usize),
                Some(always) => column.overwrite(&found, always, |_| 0),
                None => column.overwrite(&found, &rest, |_| 0),
            }
            let is_single = shape == Shapes::scalar();
            outputs.push(Some(if is_single {
                Data::One(column.get(0))
            } else {
                Data::Many(column)
            }));
        }
        let is_first = self.store.state(slot) == State::Empty;
        if let Some(writer) =
            self.plan.state_writers.iter().position(|writer| writer.reader == step)
            && is_first
        {
            self.state_calls.calls.push(Call { writer, frame, slot, n_asked: 0 });
        }
        self.store_result(top, outputs, shape)
    }

    /// The coordinates of the cells of a shape over which a reader has results in a frame, the
    /// outermost first.
    fn coordinates(
        &mut self,
        step: StepId,
        frame: FrameId,
        shape: ShapeId,
    ) -> Result<Vec<Coordinate>, Stop> {
        let plan = self.plan;
        let mut counts: Vec<(Need, u32)> = plan
            .needs_of(&plan.steps[step])
            .bits()
            .map(|bit| (plan.needs.need(bit).clone(), bit))
            .filter(|(need, _)| is_coordinate(need))
            .collect();
        counts.sort_by(|(a, _), (b, _)| (b.level, &a.feature).cmp(&(a.level, &b.feature)));
        let mut inner = Vec::with_capacity(counts.len());
        let mut told = Shapes::scalar();
        for (need, bit) in counts {
            let feat = self.feat_of(frame, bit);
            let axis = match self.frames.value(feat) {
                Feat::Position(axis) => Some(*axis),
                Feat::Value(..) | Feat::Axis(_) | Feat::Symbolic(_) => None,
            };
            let (data, of) = self.feat_data(feat);
            told = self.shapes.union(told, of);
            let map = self.shapes.map(shape, of)?;
            inner.push(Coordinate { name: need.to_string(), data, map, axis });
        }
        let given = self.shape_by_inputs(step, frame)?;
        let mut coordinates = Vec::with_capacity(inner.len());
        for axis in self.shapes.axes_of(shape).to_vec() {
            // Elements of the request with different inputs are different, whatever their index.
            if self.shapes.contains(told, axis) && !self.shapes.contains(given, axis) {
                continue;
            }
            let along = self.shapes.along(axis);
            let is_of_request = self.request_axes.iter().any(|(known, _)| *known == axis);
            let name = if is_of_request { ELEMENT } else { "item" };
            let data = Data::Many(self.frames.positions(axis, &self.shapes));
            let map = self.shapes.map(shape, along)?;
            coordinates.push(Coordinate { name: name.into(), data, map, axis: Some(axis) });
        }
        coordinates.extend(inner);
        Ok(coordinates)
    }

    /// The axes along which a reader would vary if its context were the same everywhere: those of
    /// the inputs of the request.
    fn shape_by_inputs(&mut self, reader: StepId, frame: FrameId) -> Result<ShapeId, Stop> {
        let plan = self.plan;
        let mut entries = SmallVec::new();
        for bit in plan.needs_of(&plan.steps[reader]).bits() {
            let feat = match plan.needs.need(bit).aspect {
                Aspect::Value => {
                    self.frames.feat(Feat::Symbolic(Shapes::scalar()), &mut self.shapes)
                }
                Aspect::Extent => self.feat_of(frame, bit),
            };
            entries.push((bit, feat));
        }
        let frame = self.frames.frame(entries);
        self.shape_of(reader, frame)
    }

    /// The axis of the elements of the request, if the state of a node is stored per element.
    pub(super) fn axis_of_state(&self, reader: StepId) -> Option<AxisId> {
        let writer = self.plan.state_writers.iter().find(|writer| writer.reader == reader)?;
        let table = self.request.kept().get(&writer.node)?;
        if !table.coordinates.iter().any(|name| name == ELEMENT) {
            return None;
        }
        self.axis_of_elements()
    }

    /// The index axis of the request, if it opened one.
    pub(super) fn axis_of_elements(&self) -> Option<AxisId> {
        let is_index = |(_, axis): &&(AxisId, RequestAxis)| *axis == RequestAxis::Index;
        self.request_axes.iter().find(is_index).map(|(axis, _)| *axis)
    }

    /// The cells for which a call has results; `None` if it failed.
    fn called(&mut self, slot: SlotId) -> Result<Option<(Mask, ShapeId, Demand)>, Stop> {
        let shape = self.store.rest(slot).shape;
        Ok(match self.store.state(slot) {
            State::Empty | State::Failed | State::Released => None,
            State::Full => {
                let all = Mask::full(self.shapes.n_cells(shape)?);
                // If a loop has no rounds nothing was called.
                let is_even = self.shapes.is_even(shape);
                let demand = if is_even { Demand::Full } else { Demand::part(shape, all.clone()) };
                Some((all, shape, demand))
            }
            State::Partial => {
                let done = self.store.rest(slot).done.as_deref();
                let done = done.expect("a slot in part knows its cells").clone();
                Some((done.clone(), shape, Demand::part(shape, done)))
            }
        })
    }

    /// Reads the state of the nodes that advance in the context of the request, see
    /// [`Request::calling`](millstream_ir::Request::calling).
    pub(super) fn call_in_request(&mut self) -> Result<(), EvalError> {
        let (plan, root) = (self.plan, self.root);
        for writer in self.request.called() {
            let Some(writer) = plan.state_writers.get(*writer) else { continue };
            self.ask(StepSource { step: writer.reader, output: 0 }, root, Demand::Full);
            self.work()?;
        }
        Ok(())
    }

    /// Evaluates the next states of the nodes that were called.
    pub(super) fn next_states(&mut self) -> Result<Calls, EvalError> {
        let plan = self.plan;
        let mut calls = Calls::default();
        if plan.state_writers.is_empty() {
            return Ok(calls);
        }
        let nodes = || plan.state_writers.iter().map(|writer| Arc::clone(&writer.node));
        let most = self.most_calls();
        let mut has_new = true;
        while std::mem::take(&mut has_new) {
            let mut at = 0;
            while let Some(Call { writer, frame, slot, n_asked }) =
                self.state_calls.calls.get(at).copied()
            {
                if let Some((mask, _, demand)) = self.called(slot).map_err(ended)?
                    && mask.len() > n_asked
                {
                    if self.state_calls.calls.len() > most {
                        let writer = &plan.state_writers[writer];
                        self.refuse_contexts(writer, ENDLESS.into());
                        calls.failed = nodes().collect();
                        calls.misread = std::mem::take(&mut self.state_calls.misread);
                        return Ok(calls);
                    }
                    has_new = true;
                    self.state_calls.calls[at].n_asked = mask.len();
                    for value in &plan.state_writers[writer].values {
                        self.ask(value.source, frame, demand.clone());
                        self.work()?;
                    }
                }
                at += 1;
            }
        }
        for (i, writer) in plan.state_writers.iter().enumerate() {
            match self.called_of(i, writer) {
                Ok(Some(called)) => calls.all.push(called),
                Ok(None) | Err(Stop::Cells(_) | Stop::Endless) => {
                    calls.failed.push(Arc::clone(&writer.node));
                }
                Err(Stop::All(error)) => return Err(error),
            }
        }
        if self.known_shapes.is_endless {
            // The calls that were found are not all.
            calls = Calls { failed: nodes().collect(), ..Calls::default() };
        }
        calls.misread = std::mem::take(&mut self.state_calls.misread);
        Ok(calls)
    }

    /// Maximal number of calls of a plan that terminates: a node is called in one context for each
    /// scope, unless its next state reads its state through a scope, which makes another context
    /// each time.
    pub(super) fn most_calls(&self) -> usize {
        FEW_CALLS + self.plan.state_writers.len().saturating_mul(self.plan.steps.len())
    }

    /// The elements for which a node was called, with their next state; `None` if some of it
    /// failed.
    fn called_of(&mut self, i: usize, writer: &StateWriter) -> Result<Option<Called>, Stop> {
        let node = Arc::clone(&writer.node);
        let calls: Vec<Call> =
            self.state_calls.calls.iter().copied().filter(|call| call.writer == i).collect();
        let mut names: Option<Vec<String>> = None;
        let mut parts = Vec::new();
        let mut reach = BTreeMap::new();
        for call in calls {
            let Some((mask, shape, demand)) = self.called(call.slot)? else { return Ok(None) };
            let coordinates = self.coordinates(writer.reader, call.frame, shape)?;
            let of_call = || coordinates.iter().map(|coordinate| coordinate.name.clone());
            if !names.get_or_insert_with(|| of_call().collect()).iter().cloned().eq(of_call()) {
                self.refuse_contexts(writer, "its elements lie along different axes".into());
                return Ok(None);
            }
            let Some(part) =
                self.part(writer, call.frame, &coordinates, (&mask, shape, &demand))?
            else {
                return Ok(None);
            };
            self.note_reach(&coordinates, &part.keys, (&mask, shape), &mut reach)?;
            parts.push(part);
        }
        if let Some(table) = self.request.kept().get(&node).map(Arc::clone) {
            self.note_no_reach(writer.reader, &table, &mut reach)?;
        }
        let extents = reach.into_iter().map(|(outer, extent)| Reach { outer, extent }).collect();
        let Some(names) = names else { return Ok(Some(Called { node, table: None, extents })) };
        let Some((keys, values)) = self.once_each(writer, names.len(), &parts) else {
            return Ok(None);
        };
        let n_rows = values.first().map_or(0, Column::len);
        let n_before = self.request.kept().get(&node).map_or(0, |table| table.n_rows());
        if n_before.max(n_rows) > self.limits.list_length {
            let limit = self.limits.list_length;
            self.fail_state(writer, format!("it has state for more than {limit} elements"));
            return Ok(None);
        }
        let names_of = writer.values.iter().map(|value| Arc::clone(&value.name));
        let values = names_of.zip(values).collect();
        let table = Called::table(names, &keys, values, n_rows);
        Ok(Some(Called { node, table: Some(table), extents }))
    }

    /// The next state of a node for the cells of one call; `None` if some of it failed.
    fn part(
        &mut self,
        writer: &StateWriter,
        frame: FrameId,
        coordinates: &[Coordinate],
        (mask, shape, demand): (&Mask, ShapeId, &Demand),
    ) -> Result<Option<Part>, Stop> {
        let cells: Vec<usize> = {
            let mut cells = Vec::with_capacity(mask.len());
            mask.for_each(|cell| cells.push(cell));
            cells
        };
        let mut keys = Vec::with_capacity(cells.len() * coordinates.len());
        for cell in &cells {
            keys.extend(coordinates.iter().map(|coordinate| coordinate.at(*cell)));
        }
        let mut values = Vec::with_capacity(writer.values.len());
        for value in &writer.values {
            let place = self.place(value.source, frame);
            if self.has_failed(place, demand)? {
                return Ok(None);
            }
            let (data, of) = self.read(place);
            let data = data.clone();
            values.push(self.spread(&data, value.ty, of, shape, &cells)?);
        }
        let plan = self.plan;
        let mut contexts = Vec::new();
        for bit in plan.needs_of(&plan.steps[writer.reader]).bits() {
            let need = plan.needs.need(bit);
            if need.aspect == Aspect::Value && !is_coordinate(need) {
                let feat = self.feat_of(frame, bit);
                let (data, of) = self.feat_data(feat);
                contexts.push(self.spread(&data, need.feature.ty(), of, shape, &cells)?);
            }
        }
        Ok(Some(Part { n: cells.len(), keys, values, contexts }))
    }

    /// The entries for some cells of a shape, of data over a part of its axes.
    fn spread(
        &mut self,
        data: &Data,
        ty: Type,
        of: ShapeId,
        shape: ShapeId,
        cells: &[usize],
    ) -> Result<Column, Stop> {
        Ok(match data {
            Data::One(value) if value.ty() == ty => Column::filled(value, cells.len()),
            Data::One(value) => panic!("the state is {ty}, not {}", value.ty()),
            Data::Many(column) => {
                let map = self.shapes.map(shape, of)?;
                let map = map.as_map();
                column.gather(cells.iter().map(|cell| map.entry(*cell)))
            }
        })
    }

    /// Records the extents of the axes at these cells.
    fn note_reach(
        &mut self,
        coordinates: &[Coordinate],
        keys: &[i32],
        (mask, shape): (&Mask, ShapeId),
        reach: &mut BTreeMap<Vec<i32>, i32>,
    ) -> Result<(), Stop> {
        let n = coordinates.len();
        for (c, coordinate) in coordinates.iter().enumerate() {
            let Some(axis) = coordinate.axis else { continue };
            let extent = self.shapes.extent(axis).clone();
            let map = self.shapes.map(shape, self.shapes.parents(axis))?;
            let mut last: Option<(Vec<i32>, i32)> = None;
            let mut row = 0;
            mask.for_each(|cell| {
                let outer = &keys[row * n..][..c];
                row += 1;
                let extent = match &extent {
                    Extent::Even(n) => *n as i32,
                    Extent::Ragged { counts, .. } => counts[map.as_map().entry(cell)] as i32,
                    Extent::Symbolic { .. } => panic!("results lie along axes of known extent"),
                };
                if last.as_ref().is_some_and(|(known, n)| known == outer && *n == extent) {
                    return;
                }
                let most = reach.entry(outer.to_vec()).or_insert(extent);
                *most = (*most).max(extent);
                last = Some((outer.to_vec(), extent));
            });
        }
        Ok(())
    }

    /// The elements of all parts, each once; `None` if one occurs twice with different contexts.
    fn once_each(
        &mut self,
        writer: &StateWriter,
        n: usize,
        parts: &[Part],
    ) -> Option<(Vec<i32>, Vec<Column>)> {
        let joined = |columns: &dyn Fn(&Part) -> &Vec<Column>, k: usize| {
            let of_parts: Vec<Column> = parts.iter().map(|part| columns(part)[k].clone()).collect();
            let ty = of_parts[0].ty();
            Column::concat(ty, &of_parts).expect("the state has one type")
        };
        let first = &parts[0];
        let values: Vec<Column> =
            (0..first.values.len()).map(|k| joined(&|part| &part.values, k)).collect();
        let contexts: Vec<Column> =
            (0..first.contexts.len()).map(|k| joined(&|part| &part.contexts, k)).collect();
        let keys: Vec<i32> = parts.iter().flat_map(|part| part.keys.iter().copied()).collect();
        let n_rows = parts.iter().map(|part| part.n).sum::<usize>();
        let key = |row: usize| &keys[row * n..][..n];
        if (1..n_rows).all(|row| key(row - 1) < key(row)) {
            return Some((keys, values));
        }
        let mut order: Vec<usize> = (0..n_rows).collect();
        order.sort_by(|a, b| key(*a).cmp(key(*b)));
        let mut rows: Vec<usize> = Vec::with_capacity(n_rows);
        for row in order {
            let Some(last) = rows.last().copied().filter(|last| key(*last) == key(row)) else {
                rows.push(row);
                continue;
            };
            let differs = |column: &&Column| !column.same_at(last, column, row);
            if let Some(column) = contexts.iter().chain(&values).find(differs) {
                let (a, b) = (column.get(last), column.get(row));
                let k = contexts.iter().position(|known| std::ptr::eq(known, column));
                let what = k.map_or("its state".to_owned(), |k| self.context_name(writer, k));
                self.refuse_contexts(
                    writer,
                    format!(
                        "one state is reached with two contexts in one tick: {what} is {a} and {b}"
                    ),
                );
                return None;
            }
        }
        let keys = rows.iter().flat_map(|row| key(*row).iter().copied()).collect();
        let values = values.iter().map(|column| column.gather(rows.iter().copied()));
        Some((keys, values.collect()))
    }

    /// The name of the `k`th need of a node that is not a coordinate.
    fn context_name(&self, writer: &StateWriter, k: usize) -> String {
        let needs = self.plan.needs.of(self.plan.needs_of(&self.plan.steps[writer.reader]));
        let mut others = needs.filter(|need| need.aspect == Aspect::Value && !is_coordinate(need));
        others.nth(k).map_or(String::new(), Need::to_string)
    }

    /// Fails a node whose contexts contradict each other. The values that it returned are not used.
    pub(super) fn refuse_contexts(&mut self, writer: &StateWriter, message: String) {
        self.state_calls.misread.push(Arc::clone(&writer.node));
        self.fail_state(writer, message);
    }

    fn fail_state(&mut self, writer: &StateWriter, message: String) {
        let path = self.plan.paths.get(self.plan.steps[writer.reader].path);
        let help =
            "use state where each element has one context, or let the stateful node read `index`";
        let (help, cell) = (Some(help.into()), Vec::new());
        if !self.failures.iter().any(|known| known.path == path) {
            let failure = NodeFailure { path, message, help, cell, replayed: None };
            self.failures.push(failure);
        }
    }
}

/// The failure of a node whose reader is visited in an unlimited number of contexts.
pub(super) const ENDLESS: &str = "its state is read in an unlimited number of contexts in one tick";

/// Number of contexts in which the nodes of any plan may be called.
const FEW_CALLS: usize = 256;

/// No row of a table.
const NO_ROW: u32 = u32::MAX;

/// For each masked cell its row in the table.
fn rows(table: &Table, coordinates: &[Coordinate], mask: &Mask, n_cells: usize) -> Vec<u32> {
    let mut rows = vec![NO_ROW; n_cells];
    let mut near = 0;
    let mut key = Vec::with_capacity(coordinates.len());
    mask.for_each(|cell| {
        key.clear();
        key.extend(coordinates.iter().map(|coordinate| coordinate.at(cell)));
        if let Some(row) = table.row(&key, near) {
            rows[cell] = row as u32;
            near = row + 1;
        }
    });
    rows
}

fn has_coordinates(table: &Table, coordinates: &[Coordinate]) -> bool {
    let is_as = |coordinates: &[Coordinate]| {
        table.coordinates.iter().eq(coordinates.iter().map(|coordinate| &coordinate.name))
    };
    let for_all = coordinates.split_first().filter(|(first, _)| first.name == ELEMENT);
    is_as(coordinates) || for_all.is_some_and(|(_, rest)| is_as(rest))
}

/// Whether a need distinguishes elements.
fn is_coordinate(need: &Need) -> bool {
    need.aspect == Aspect::Value && matches!(need.feature, Feature::Index | Feature::Iteration)
}

/// The error that ends an evaluation; a step with too many cells only fails.
fn ended(stop: Stop) -> EvalError {
    match stop {
        Stop::All(error) => error,
        Stop::Cells(_) | Stop::Endless => panic!("shapes of results that are there are known"),
    }
}
