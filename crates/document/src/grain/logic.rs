//! Selectors as boolean functions of the sources that they share.
//!
//! Selectors are computed from truth values and numbers by comparisons and logic, in nodes and in
//! formulas. Each *variable* is a source, or a pair of sources that are compared, and has a range of
//! integer values: 0 and 1 for truth values; an integer for itself; a float for its position among
//! all floats, NaN last; and which of a pair is greater. A bit says whether a variable is at most
//! some value. A truth value that nothing is known about is a variable of its own. So two selectors
//! are never treated as more related than they are.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use millstream_base::{Type, literal};
use millstream_node::convert::CONVERT;
use millstream_node::signature::{Signature, Socket};
use millstream_node::{FormulaTerm, Law, NodeDef, SocketType, Truth};
use rustc_hash::FxHashMap;
use serde_json::Value as Json;
use smallvec::{SmallVec, smallvec};

use super::above::{Above, integers, key_of, type_of};
use super::bdd::{FALSE, Function, Functions, TRUE};
use super::computed::Conditions;
use super::line::{Computing, Line};
use super::read_settings;
use crate::model::{InputValue, Node, NodeKind, Setting};

/// Sources computed by more nodes one after the other are variables.
const MAX_DEPTH: usize = 64;

/// Integers up to this size are floats, too.
const MAX_EXACT: u64 = 1 << 53;

/// Integers below this size are numbers of each type.
const MAX_IN_ALL: f64 = 16_777_216.0;

/// The bits of a comparison whose outcome is the opposite one for exchanged operands.
const LESS: u8 = 0b0001;
const EQUAL: u8 = 0b0010;
const GREATER: u8 = 0b0100;
const UNORDERED: u8 = 0b1000;

/// The functions of selectors.
#[derive(Default)]
pub(super) struct Logic {
    pub(super) functions: Functions,
    variables: FxHashMap<String, Variable>,
    /// The functions of truth values by source; `None` for sources that are none.
    truths: FxHashMap<String, Option<Function>>,
    /// What holds for the bits of each variable.
    order: Function,
}

struct Variable {
    values: RangeInclusive<i64>,
    /// The bits that say whether it is at most these values.
    at_most: BTreeMap<i64, Function>,
}

/// The value of a term of a formula, or of an input of a node that compares.
#[derive(Clone)]
enum Operand {
    Truth(Function),
    /// A number, and the integer as which it is written.
    Number(f64, Option<i64>),
    Source(InputValue),
    /// Something that is computed, with a text that equal ones share.
    Computed(String),
    Unknown,
}

impl Logic {
    pub(super) fn new() -> Self {
        Self { order: TRUE, ..Self::default() }
    }

    /// What holds for all bits. All selectors must be known.
    pub(super) fn order(&self) -> Function {
        self.order
    }

    /// The functions that say which of `n` arms a source selects, as a truth value or as an index;
    /// `None` if there are too many.
    pub(super) fn arms(
        &mut self,
        above: Above<'_, '_>,
        (source, ty): (&InputValue, Type),
        n: usize,
    ) -> Option<Vec<Function>> {
        if let Some(truth) = self.truth(above, source, 0) {
            let mut arms = vec![self.functions.not(truth)?, truth];
            arms.resize(n, FALSE);
            return Some(arms);
        }
        let key = key_of(above, source)?;
        let is_integer = type_of(above, source) == Some(Type::I32);
        if ty == Type::BOOL {
            let key = format!("\0truth{key}");
            let truth = self.leaf(&key)?;
            return Some(vec![self.functions.not(truth)?, truth]);
        }
        let (key, values) = if is_integer && ty == Type::I32 {
            (key, integers(Type::I32))
        } else {
            (format!("\0index{}{key}", ty.name()), i64::MIN..=i64::MAX)
        };
        let (last, mut arms) = (n as i64 - 1, Vec::with_capacity(n));
        for arm in 0..=last {
            let low = if arm == 0 { *values.start() } else { arm };
            let high = if arm == last { *values.end() } else { arm };
            arms.push(self.within(&key, &values, low..=high)?);
        }
        Some(arms)
    }

    /// The function of a source that certainly is a truth value.
    fn truth(
        &mut self,
        above: Above<'_, '_>,
        source: &InputValue,
        depth: usize,
    ) -> Option<Function> {
        let source = above.firsts.of(source).unwrap_or_else(|| source.clone());
        let (source, is_negated) = above.firsts.negated(source, 0);
        if let InputValue::Literal(json) = &source {
            let value = json.as_bool()?;
            return Some(if value == is_negated { FALSE } else { TRUE });
        }
        let key = key_of(above, &source)?;
        let function = match self.truths.get(&key) {
            Some(known) => (*known)?,
            None => {
                let is_truth = Conditions::of(&source).is_some()
                    || above.grain.gives_bool(&source, above.body);
                let made = is_truth.then(|| {
                    let computed =
                        (depth < MAX_DEPTH).then(|| self.computed(above, &source, depth)).flatten();
                    computed.or_else(|| self.leaf(&key))
                });
                self.truths.insert(key, made.flatten());
                made.flatten()?
            }
        };
        if is_negated { self.functions.not(function) } else { Some(function) }
    }

    /// The function of a truth value that a formula or a node computes from others.
    fn computed(
        &mut self,
        above: Above<'_, '_>,
        source: &InputValue,
        depth: usize,
    ) -> Option<Function> {
        if let Some(condition) = Conditions::of(source) {
            let alone = above.conditions.alone(condition);
            return self.of_formula(above, alone, depth);
        }
        let InputValue::Link(link) = source else { return None };
        let node = above.body.nodes.get(&link.node).filter(|node| !node.muted)?;
        let NodeKind::Type(name) = &node.kind else { return None };
        let def = above.grain.registry.get(name)?;
        if def.formula.is_some() {
            return self.of_formula(above, node, depth);
        }
        let (_, signature) = read_settings(above.grain.registry, def, node)?;
        let args: Vec<Operand> = (signature.inputs.iter())
            .map(|socket| self.operand(above, node, socket, depth))
            .collect();
        self.of_node(above, def, &signature, (&args, Computing::ByNode))
    }

    /// What a socket of a node that computes a truth value reads.
    fn operand(
        &mut self,
        above: Above<'_, '_>,
        node: &Node,
        socket: &Socket,
        depth: usize,
    ) -> Operand {
        match node.inputs.get(&socket.name).map(|given| &given.value) {
            Some(source) => self.of_source(above, source, depth),
            None => {
                let ty = match socket.ty {
                    SocketType::Exact(ty) => ty,
                    SocketType::Generic(_) | SocketType::ListOf(_) | SocketType::Made => Type::F32,
                };
                let default = socket.default.value(ty).map(|value| literal::to_json(&value));
                default.map_or(Operand::Unknown, |json| of_literal(&json))
            }
        }
    }

    fn of_source(&mut self, above: Above<'_, '_>, source: &InputValue, depth: usize) -> Operand {
        match source {
            InputValue::Literal(json) => of_literal(json),
            InputValue::Link(_) | InputValue::Input(_) | InputValue::Several(_) => {
                match self.truth(above, source, depth + 1) {
                    Some(truth) => Operand::Truth(truth),
                    None => {
                        converted_number(above, source).unwrap_or(Operand::Source(source.clone()))
                    }
                }
            }
        }
    }

    /// The truth value that a node of a type computes from its inputs.
    fn of_node(
        &mut self,
        above: Above<'_, '_>,
        def: &NodeDef,
        signature: &Signature,
        (args, computing): (&[Operand], Computing),
    ) -> Option<Function> {
        let negates = def.laws.iter().any(|law| matches!(law, Law::Involution));
        match (def.truth, args) {
            (Some(Truth::Table(table)), [Operand::Truth(a), Operand::Truth(b), ..]) => {
                self.functions.table(table, [*a, *b])
            }
            (Some(Truth::Compare(outcomes)), [a, b, ..]) => {
                self.compare(above, outcomes, [a, b], computing)
            }
            (None, [Operand::Truth(of)]) if negates => self.functions.not(*of),
            (None, [Operand::Truth(condition), Operand::Truth(no), Operand::Truth(yes)])
                if def.chooses && signature.inputs[0].ty == SocketType::Exact(Type::BOOL) =>
            {
                self.functions.choose(*condition, *yes, *no)
            }
            _ => None,
        }
    }

    /// The truth value of the formula of a node.
    fn of_formula(&mut self, above: Above<'_, '_>, node: &Node, depth: usize) -> Option<Function> {
        let registry = above.grain.registry;
        let NodeKind::Type(name) = &node.kind else { return None };
        let def = registry.get(name)?;
        let (settings, signature) = read_settings(registry, def, node)?;
        let formula = def.formula_in(&settings)?;
        let text = settings.text(def.formula.as_ref()?.name);
        let mut values: Vec<Operand> = Vec::with_capacity(formula.terms.len());
        for (at, term) in formula.terms.iter().enumerate() {
            let mut part = |at: u32| {
                if matches!(values[at as usize], Operand::Unknown) {
                    let range = formula.ranges[at as usize].clone();
                    values[at as usize] = self.of_part(above, node, &text[range])?;
                }
                Some(values[at as usize].clone())
            };
            let value = match term {
                FormulaTerm::Number(value, whole) => Some(Operand::Number(*value, *whole)),
                FormulaTerm::Input(input) => {
                    let given = node.inputs.get(&signature.inputs[*input as usize].name)?;
                    match &given.value {
                        InputValue::Literal(json) if !json.is_boolean() => None,
                        source => Some(self.of_source(above, source, depth)),
                    }
                }
                FormulaTerm::Call(name, args) => {
                    let args: Option<Vec<_>> = (args.iter())
                        .map(|(name, arg)| Some((name.as_deref(), part(*arg)?)))
                        .collect();
                    args.and_then(|args| self.of_call(above, name, args)).map(Operand::Truth)
                }
                FormulaTerm::Truth(_)
                | FormulaTerm::Not(_)
                | FormulaTerm::Table(..)
                | FormulaTerm::Compare(..)
                | FormulaTerm::Choose { .. } => {
                    let operands: Option<SmallVec<[Operand; 3]>> =
                        operands_of(term).iter().map(|at| part(*at)).collect();
                    let made = operands.and_then(|it| self.of_term(above, term, &it));
                    made.map(Operand::Truth)
                }
                FormulaTerm::Test(_) | FormulaTerm::Of(_) => None,
            };
            values.push(value.unwrap_or(Operand::Unknown));
            debug_assert_eq!(values.len(), at + 1);
        }
        match values.pop()? {
            Operand::Truth(truth) => Some(truth),
            // Nodes that are called may keep state.
            Operand::Unknown if formula.calls.is_empty() => {
                let whole = self.of_part(above, node, text)?;
                if let Operand::Truth(truth) = whole { Some(truth) } else { None }
            }
            Operand::Number(..) | Operand::Source(_) | Operand::Computed(_) | Operand::Unknown => {
                None
            }
        }
    }

    /// The truth value of a term that computes one from others.
    fn of_term(
        &mut self,
        above: Above<'_, '_>,
        term: &FormulaTerm,
        operands: &[Operand],
    ) -> Option<Function> {
        match (term, operands) {
            (FormulaTerm::Truth(value), []) => Some(if *value { TRUE } else { FALSE }),
            (FormulaTerm::Not(_), [Operand::Truth(of)]) => self.functions.not(*of),
            (FormulaTerm::Table(table, _), [Operand::Truth(a), Operand::Truth(b)]) => {
                self.functions.table(*table, [*a, *b])
            }
            (FormulaTerm::Compare(outcomes, _), [a, b]) => {
                self.compare(above, *outcomes, [a, b], Computing::InFormula)
            }
            (
                FormulaTerm::Choose { .. },
                [Operand::Truth(condition), Operand::Truth(no), Operand::Truth(yes)],
            ) => self.functions.choose(*condition, *yes, *no),
            _ => None,
        }
    }

    /// The truth value that a call of a node type in a formula computes.
    fn of_call(
        &mut self,
        above: Above<'_, '_>,
        name: &str,
        args: Vec<(Option<&str>, Operand)>,
    ) -> Option<Function> {
        let def = above.grain.registry.get(name)?;
        let signature = def.fixed_signature()?;
        let mut given: Vec<Option<Operand>> = vec![None; signature.inputs.len()];
        for (at, (name, arg)) in args.into_iter().enumerate() {
            let at = name.map_or(Some(at), |name| signature.input(name))?;
            *given.get_mut(at)? = Some(arg);
        }
        let given: Option<Vec<Operand>> = given.into_iter().collect();
        self.of_node(above, def, signature, (&given?, Computing::InCall))
    }

    /// A part of a formula about which nothing is known but what equal parts share.
    fn of_part(&mut self, above: Above<'_, '_>, node: &Node, part: &str) -> Option<Operand> {
        let NodeKind::Type(name) = &node.kind else { return None };
        let def = above.grain.registry.get(name)?;
        let mut alone = Node::new(node.kind.clone());
        alone.set.insert(def.formula.as_ref()?.name, Setting::from(Json::from(part)));
        let (settings, signature) = read_settings(above.grain.registry, def, &alone)?;
        // The type of numbers without inputs depends on the rest of the formula.
        if signature.inputs.is_empty() {
            return None;
        }
        let mut key = format!("\0part{}", def.formula_in(&settings)?.structure);
        for socket in &signature.inputs {
            key.push_str(&key_of(above, &node.inputs.get(&socket.name)?.value)?);
        }
        match signature.outputs[0].ty {
            SocketType::Exact(ty) if ty == Type::BOOL => self.leaf(&key).map(Operand::Truth),
            _ => Some(Operand::Computed(key)),
        }
    }

    /// The truth value of a comparison.
    fn compare(
        &mut self,
        above: Above<'_, '_>,
        outcomes: u8,
        operands: [&Operand; 2],
        computing: Computing,
    ) -> Option<Function> {
        let outcome = |ordering: Ordering| match ordering {
            Ordering::Less => outcomes & LESS != 0,
            Ordering::Equal => outcomes & EQUAL != 0,
            Ordering::Greater => outcomes & GREATER != 0,
        };
        let mirrored = outcomes & (EQUAL | UNORDERED)
            | if outcomes & LESS != 0 { GREATER } else { 0 }
            | if outcomes & GREATER != 0 { LESS } else { 0 };
        match operands {
            [Operand::Truth(a), Operand::Truth(b)] => {
                let value = |at: u8| outcome((at & 1).cmp(&(at >> 1)));
                let table = (0..4).fold(0, |table, at| table | u8::from(value(at)) << at);
                self.functions.table(table, [*a, *b])
            }
            [Operand::Truth(a), Operand::Number(x, _)] => {
                let [no, yes] = [0.0, 1.0_f64].map(|truth| truth.partial_cmp(x).map(outcome));
                let constant = |value: bool| if value { TRUE } else { FALSE };
                self.functions.choose(*a, constant(yes?), constant(no?))
            }
            [number @ Operand::Number(..), other] if !matches!(other, Operand::Number(..)) => {
                self.compare(above, mirrored, [other, number], computing)
            }
            [Operand::Source(source), Operand::Number(x, whole)] => {
                let line = type_of(above, source).filter(|_| !above.has_one_type());
                let line = line.and_then(|ty| Line::of(ty, (*x, *whole), computing));
                match line.and_then(|line| self.on_line(above, outcomes, (source, line))) {
                    Some(made) => Some(made),
                    None => self.compare_pair(above, [outcomes, mirrored], operands, computing),
                }
            }
            [_, _] => self.compare_pair(above, [outcomes, mirrored], operands, computing),
        }
    }

    /// A comparison of a source with a number.
    fn on_line(
        &mut self,
        above: Above<'_, '_>,
        outcomes: u8,
        (source, line): (&InputValue, Line),
    ) -> Option<Function> {
        let key = key_of(above, source)?;
        let mut made = FALSE;
        for (bit, range) in [LESS, EQUAL, GREATER, UNORDERED].into_iter().zip(line.ranges) {
            if let Some(range) = range.filter(|_| outcomes & bit != 0) {
                let within = self.within(&key, &line.values, range)?;
                made = self.functions.choose(made, TRUE, within)?;
            }
        }
        Some(made)
    }

    /// A comparison of two things, of which only the outcome counts.
    fn compare_pair(
        &mut self,
        above: Above<'_, '_>,
        [outcomes, mirrored]: [u8; 2],
        operands: [&Operand; 2],
        computing: Computing,
    ) -> Option<Function> {
        if above.has_one_type() {
            return None;
        }
        let mut is_ordered = true;
        // Whether nodes and formulas may compare other numbers or vectors.
        let mut is_own = false;
        let mut types: SmallVec<[Option<Type>; 2]> = SmallVec::new();
        let mut key = |operand: &Operand| match operand {
            Operand::Source(source) => {
                let ty = type_of(above, source);
                types.push(ty);
                is_ordered &= ty.is_some_and(|ty| ty == Type::I32 || ty == Type::I64);
                key_of(above, source)
            }
            Operand::Number(x, whole) => {
                is_own |= whole.is_none_or(|whole| whole.unsigned_abs() > MAX_EXACT);
                is_ordered &= !x.is_nan();
                let whole = whole.map(|whole| whole.to_string());
                Some(format!("\0={}", whole.unwrap_or_else(|| format!("{:x}.", x.to_bits()))))
            }
            Operand::Computed(key) => {
                (is_own, is_ordered) = (true, false);
                Some(key.clone())
            }
            Operand::Truth(_) | Operand::Unknown => None,
        };
        let (a, b) = (key(operands[0])?, key(operands[1])?);
        let is_both_numbers = operands.iter().all(|it| matches!(it, Operand::Number(..)));
        if is_both_numbers || a == b {
            return None;
        }
        if let [a, b] = types[..] {
            is_own |= a != b && !(is_scalar(a) && is_scalar(b)) || a.is_none();
        }
        let (key, outcomes) = if a < b {
            (format!("\0compare{a}\0\0{b}"), outcomes)
        } else {
            (format!("\0compare{b}\0\0{a}"), mirrored)
        };
        let key = if is_own { format!("{computing:?}{key}") } else { key };
        let values = 0..=if is_ordered { 2 } else { 3 };
        let mut made = FALSE;
        for value in values.clone() {
            if outcomes >> value & 1 == 1 {
                let within = self.within(&key, &values, value..=value)?;
                made = self.functions.choose(made, TRUE, within)?;
            }
        }
        Some(made)
    }

    /// A truth value about which nothing is known.
    fn leaf(&mut self, key: &str) -> Option<Function> {
        self.within(key, &(0..=1), 1..=1)
    }

    /// Whether a variable of these values is in a range.
    fn within(
        &mut self,
        key: &str,
        values: &RangeInclusive<i64>,
        range: RangeInclusive<i64>,
    ) -> Option<Function> {
        let high = self.at_most(key, values, *range.end())?;
        let Some(below) = range.start().checked_sub(1) else { return Some(high) };
        let low = self.at_most(key, values, below)?;
        let from = self.functions.not(low)?;
        self.functions.and(high, from)
    }

    /// Whether a variable is at most this value.
    fn at_most(&mut self, key: &str, values: &RangeInclusive<i64>, most: i64) -> Option<Function> {
        if most >= *values.end() || most < *values.start() {
            return Some(if most < *values.start() { FALSE } else { TRUE });
        }
        if !self.variables.contains_key(key) {
            let made = Variable { values: values.clone(), at_most: BTreeMap::new() };
            self.variables.insert(key.to_owned(), made);
        }
        let variable = self.variables.get_mut(key).expect("it was added");
        debug_assert_eq!(variable.values, *values, "{key:?}");
        if let Some(known) = variable.at_most.get(&most) {
            return Some(*known);
        }
        let made = self.functions.new_bit()?;
        let before = variable.at_most.range(..most).next_back().map(|(_, bit)| *bit);
        let after = variable.at_most.range(most..).next().map(|(_, bit)| *bit);
        variable.at_most.insert(most, made);
        for (low, high) in [(before, Some(made)), (Some(made), after)] {
            if let (Some(low), Some(high)) = (low, high) {
                let follows = self.functions.choose(low, high, TRUE)?;
                self.order = self.functions.and(self.order, follows)?;
            }
        }
        Some(made)
    }
}

/// The terms from which a term computes a truth value.
fn operands_of(term: &FormulaTerm) -> SmallVec<[u32; 3]> {
    match term {
        FormulaTerm::Not(of) => smallvec![*of],
        FormulaTerm::Table(_, of) | FormulaTerm::Compare(_, of) => SmallVec::from_slice(of),
        FormulaTerm::Choose { condition, arms: [no, yes] } => smallvec![*condition, *no, *yes],
        FormulaTerm::Truth(_)
        | FormulaTerm::Number(..)
        | FormulaTerm::Input(_)
        | FormulaTerm::Call(..)
        | FormulaTerm::Test(_)
        | FormulaTerm::Of(_) => SmallVec::new(),
    }
}

/// The number that a source converts from a literal, if each type of numbers holds it.
fn converted_number(above: Above<'_, '_>, source: &InputValue) -> Option<Operand> {
    let InputValue::Link(link) = source else { return None };
    let node = above.body.nodes.get(&link.node).filter(|node| !node.muted)?;
    let is_conversion = matches!(&node.kind, NodeKind::Type(name) if **name == *CONVERT);
    let InputValue::Literal(json) = &node.inputs.get("x").filter(|_| is_conversion)?.value else {
        return None;
    };
    let ty = type_of(above, source)?;
    let value = literal::from_json(ty, json).ok()?;
    let float = value.get::<f32>().map(f64::from);
    let whole = value.get::<i32>();
    let number = float.or(whole.map(f64::from)).filter(|x| x.abs() < MAX_IN_ALL)?;
    Some(Operand::Number(number, whole.map(i64::from)))
}

fn of_literal(json: &Json) -> Operand {
    match json {
        Json::Bool(value) => Operand::Truth(if *value { TRUE } else { FALSE }),
        Json::Number(number) => match number.as_f64() {
            Some(x) => Operand::Number(x, number.as_i64()),
            None => Operand::Unknown,
        },
        Json::Null | Json::String(_) | Json::Array(_) | Json::Object(_) => Operand::Unknown,
    }
}

fn is_scalar(ty: Option<Type>) -> bool {
    ty.is_some_and(|ty| [Type::I32, Type::I64, Type::F32, Type::F64].contains(&ty))
}
