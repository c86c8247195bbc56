//! Evaluates one output of one node, in one context, at one cell.

use std::rc::Rc;

use millstream_base::feature::Aspect;
use millstream_base::id::Id;
use millstream_base::map::Map;
use millstream_base::{Mask, Need, Type, Value};
use millstream_form::Form;
use millstream_ir::ZoneBody;
use millstream_node::{Argument, Call, Data, Instance, Kernel, ScopeRule};
use millstream_node::{function::Output, function::SharedFunction};

use super::bounds::Seen;
use super::context::{AxisId, Cell, CtxId, is_active, rules};
use super::program::{Link, ProgramOp};
use super::scope::{Gather, at, position};
use super::{Failed, Found, MAX_DEPTH, MAX_ITEMS, Model, Refusal};

impl Model<'_> {
    /// Evaluates the source of a link.
    pub(super) fn eval(&mut self, link: Link, ctx: CtxId, cell: &Cell) -> Result<Found, Refusal> {
        let key = (self.is_asked, link, ctx, cell.clone());
        if let Some(found) = self.memo.get(&key) {
            return Ok(found.clone());
        }
        self.n_evaluations += 1;
        if self.n_evaluations > self.max_evaluations {
            return Err(Refusal::TooLong(self.max_evaluations));
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Refusal::TooDeep(MAX_DEPTH));
        }
        let found = self.eval_uncached(link, ctx, cell)?;
        self.depth -= 1;
        if let Ok(Value::List(items)) = &found.value
            && items.len() > MAX_ITEMS
        {
            return Err(Refusal::TooLarge(items.len()));
        }
        if self.has_memo {
            self.memo.insert(key, found.clone());
        }
        Ok(found)
    }

    fn eval_uncached(&mut self, link: Link, ctx: CtxId, cell: &Cell) -> Result<Found, Refusal> {
        let program = self.program;
        let node = link.node;
        match &program.nodes[node].op {
            ProgramOp::Gone => panic!("no link leads to a removed node"),
            ProgramOp::Const(value) => Ok(Found { value: Ok(value.clone()), seen: Rc::default() }),
            ProgramOp::Input(i) => {
                let data = &self.world.inputs[*i];
                let axis = data.axis.map(|axis| AxisId::from_index(axis as usize));
                let entry = axis.map_or(0, |axis| position(cell, axis));
                let seen = Seen::along(axis);
                Ok(Found { value: Ok(data.data.get(entry)), seen: Rc::new(seen) })
            }
            ProgramOp::Call(instance) => match &instance.kernel {
                Kernel::Read { feature, level, aspect } => {
                    let (feature, level) = (feature.clone(), *level);
                    self.read(node, &Need { feature, level, aspect: *aspect }, ctx, cell)
                }
                Kernel::Pass => self.receive(node, 0, ctx, cell),
                Kernel::Choose => self.choose(node, ctx, cell),
                Kernel::ReadState(_) => self.read_kept(link, ctx, cell),
                Kernel::Form(form) => self.compute(link, instance, ctx, cell, |values| {
                    let types: Vec<Type> = instance.outputs.iter().map(|out| out.ty).collect();
                    Some(run_form(form, values, &types).swap_remove(link.output))
                }),
                Kernel::Function(function) => {
                    let limits = self.limits.clone();
                    if let Some(body) = ZoneBody::of(instance) {
                        let used = self.program.outputs_used(node);
                        let mut refused = None;
                        let found = self.compute(link, instance, ctx, cell, |values| {
                            let rounds = super::repeat::run(body, values, &used, &limits);
                            let outputs = rounds.unwrap_or_else(|refusal| {
                                refused = Some(refusal);
                                None
                            });
                            Some(outputs?.swap_remove(link.output))
                        });
                        return refused.map_or(found, Err);
                    }
                    self.compute(link, instance, ctx, cell, |values| {
                        run_function(function, values, link.output, instance, &limits)
                    })
                }
            },
        }
    }

    /// Evaluates all inputs, then the kernel; a node with a failed input has no value.
    fn compute(
        &mut self,
        link: Link,
        instance: &Instance,
        ctx: CtxId,
        cell: &Cell,
        run: impl FnOnce(&[Value]) -> Option<Value>,
    ) -> Result<Found, Refusal> {
        let mut values = Vec::with_capacity(instance.inputs.len());
        let mut failed = Failed::new();
        let mut seen = Seen::default();
        for slot in 0..instance.inputs.len() {
            let found = self.receive(link.node, slot, ctx, cell)?;
            seen.merge(&found.seen);
            match found.value {
                Ok(value) => values.push(value),
                Err(nodes) => failed.extend(nodes.iter()),
            }
        }
        if !failed.is_empty() {
            return Ok(Found { value: Err(Rc::new(failed)), seen: Rc::new(seen) });
        }
        if self.is_asked {
            self.count(link.node, ctx, cell, &seen)?;
        }
        let value = run(&values).ok_or_else(|| {
            if self.is_asked {
                self.failed.insert(link.node);
            }
            Rc::new(Failed::from([link.node]))
        });
        Ok(Found { value, seen: Rc::new(seen) })
    }

    /// Evaluates the selector, then the selected arm.
    fn choose(&mut self, node: usize, ctx: CtxId, cell: &Cell) -> Result<Found, Refusal> {
        let selector = self.receive(node, 0, ctx, cell)?;
        let picked = match selector.value {
            Ok(Value::Bool(second)) => usize::from(second),
            Ok(Value::I32(i)) => i.max(0) as usize,
            Ok(other) => panic!("a selector is a bool or an i32, not {other:?}"),
            Err(nodes) => return Ok(Found { value: Err(nodes), seen: selector.seen }),
        };
        let n_arms = self.program.nodes[node].links.len() - 1;
        let picked = picked.min(n_arms - 1);
        let arm = self.receive(node, 1 + picked, ctx, cell)?;
        if self.counts_all_arms {
            for other in (0..n_arms).filter(|other| *other != picked) {
                self.receive(node, 1 + other, ctx, cell)?;
            }
        }
        // If all cells take one arm, an evaluator may forget the axes of the selector.
        let mut seen = (*arm.seen).clone();
        seen.took(node, picked);
        Ok(Found { value: arm.value, seen: Rc::new(seen) })
    }

    /// The value that the kernel of a node receives at a socket.
    fn receive(
        &mut self,
        node: usize,
        slot: usize,
        ctx: CtxId,
        cell: &Cell,
    ) -> Result<Found, Refusal> {
        let program = self.program;
        let link = program.nodes[node].links[slot];
        let instance = program.instance(node).expect("only calls have sockets");
        let scope = &instance.inputs[slot].scope;
        if scope.is_empty() {
            return self.eval(link, ctx, cell);
        }
        let mut failed = Failed::new();
        for (r, rule) in rules(scope) {
            let args: &[u16] = match rule {
                ScopeRule::Each { count, .. } => &[*count],
                ScopeRule::Inject { value, .. } => &[*value],
                ScopeRule::Modify { args, .. } => args,
                ScopeRule::Along { .. } => &[],
            };
            // The arguments of a rule are evaluated if the rule has an effect; a loop always has.
            let has_effect = matches!(rule, ScopeRule::Each { .. })
                || is_active(r, scope, &self.needs[link.node]);
            if has_effect {
                for arg in args {
                    let arg = program.nodes[node].links[*arg as usize];
                    let axes = self.axes_of(arg.node, ctx)?;
                    if !axes.iter().all(|axis| cell.iter().any(|(known, _)| known == axis)) {
                        // An axis without cells.
                        continue;
                    }
                    let found = self.eval(arg, ctx, cell)?;
                    if let Err(nodes) = found.value {
                        failed.extend(nodes.iter());
                    }
                }
            }
        }
        if !failed.is_empty() {
            return Ok(Found { value: Err(Rc::new(failed)), seen: Rc::default() });
        }
        let (inner, gather) = self.enter(node, slot, ctx)?;
        let found = match gather {
            Gather::Nothing => self.eval(link, inner, cell)?,
            Gather::One => {
                let found = self.eval(link, inner, cell)?;
                let list = |value: Value| list_of(instance.inputs[slot].ty, vec![value]);
                Found { value: found.value.map(list), seen: found.seen }
            }
            Gather::Along(axis) => self.gather(node, slot, (inner, axis), cell)?,
        };
        let seen = found.seen.outside(scope, ctx);
        Ok(Found { value: found.value, seen: Rc::new(seen) })
    }

    /// A list with the value of the source for each cell of an axis.
    fn gather(
        &mut self,
        node: usize,
        slot: usize,
        (inner, axis): (CtxId, AxisId),
        cell: &Cell,
    ) -> Result<Found, Refusal> {
        let program = self.program;
        let link = program.nodes[node].links[slot];
        self.check_gather(node, link, inner, axis)?;
        let extent = self.extent(Some(axis), cell)?;
        let n = match extent.value {
            Ok(n) => n.get::<i32>().unwrap_or(0) as u32,
            Err(_) => return Ok(extent),
        };
        if self.is_asked {
            let most = self.rounds.entry(axis).or_insert(n);
            *most = (*most).max(n);
            if n == 0 {
                self.idle_loops.insert((node, slot, inner, cell.clone()));
            }
        }
        let mut values = Vec::new();
        let mut failed = Failed::new();
        let mut seen: Option<Seen> = None;
        for i in 0..n {
            let found = self.eval(link, inner, &at(cell, axis, i))?;
            match &mut seen {
                None => seen = Some((*found.seen).clone()),
                Some(seen) => seen.keep_common(&found.seen),
            }
            match found.value {
                Ok(value) => values.push(value),
                Err(nodes) => failed.extend(nodes.iter()),
            }
        }
        let mut seen = seen.unwrap_or_default();
        seen.axes.remove(&axis);
        let instance = program.instance(node).expect("only calls have sockets");
        let value = if failed.is_empty() {
            Ok(list_of(instance.inputs[slot].ty, values))
        } else {
            Err(Rc::new(failed))
        };
        Ok(Found { value, seen: Rc::new(seen) })
    }
}

fn list_of(ty: Type, values: Vec<Value>) -> Value {
    Value::List(ty.collect(&mut values.into_iter()).expect("sources have the socket's type"))
}

/// The results of a form for one element.
pub(super) fn run_form(form: &Form, operands: &[Value], types: &[Type]) -> Vec<Value> {
    let n_lanes = |ty: Type| ty.lanes().map_or(0, |(_, n)| n as usize);
    let mut params = Vec::new();
    for operand in operands {
        params.extend((0..n_lanes(operand.ty())).filter_map(|i| operand.lane(i)));
    }
    let mut results = vec![0; types.iter().map(|ty| n_lanes(*ty)).sum()];
    form.run_scalar(&params, &mut results, &mut Vec::new());
    let mut rest = &results[..];
    let mut values = Vec::new();
    for ty in types {
        let (lanes, others) = rest.split_at(n_lanes(*ty));
        values.push(Value::from_lanes(*ty, lanes).expect("the results are lanes of the outputs"));
        rest = others;
    }
    values
}

/// One output of a function for one element; `None` if it fails.
fn run_function(
    function: &SharedFunction,
    values: &[Value],
    output: usize,
    instance: &Instance,
    limits: &millstream_base::Limits,
) -> Option<Value> {
    let owned = |value: &Value| Argument::owned(Data::One(value.clone()), Map::Single);
    let mut arguments: Vec<Argument<'_>> = values.iter().map(owned).collect();
    let mut outputs: Vec<Output> = instance.outputs.iter().map(|_| Output::Ignored).collect();
    outputs[output] = Output::Wanted(None);
    let mask = Mask::full(1);
    function.call(&mut Call::new(&mask, 1, limits, &mut arguments, &mut outputs)).ok()?;
    let Output::Done(data) = &outputs[output] else {
        panic!("{} sets the outputs that are wanted", instance.name());
    };
    Some(data.get(0))
}

/// The need of a node that reads the context.
pub(super) fn own_need(instance: &Instance) -> Option<Need> {
    match &instance.kernel {
        Kernel::Read { feature, level, aspect } => {
            let (feature, level): (_, u32) = (feature.clone(), *level);
            let aspect: Aspect = *aspect;
            Some(Need { feature, level, aspect })
        }
        Kernel::Form(_)
        | Kernel::Function(_)
        | Kernel::Pass
        | Kernel::Choose
        | Kernel::ReadState(_) => None,
    }
}
