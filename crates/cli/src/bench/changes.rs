//! Changes between evaluations: a pseudorandom sequence, the same for every evaluator.
//!
//! A column input gets a new column. A single number stays in the range that the document states
//! or, without one, between 0 and twice its first value; if that value is 0, it stays in the range
//! used for columns.

use clap::ValueEnum;
use millstream::values::{Lane, Type, Value};
use millstream::{Feature, Given, Program, Request};

use super::asked::{Asked, arbitrary, salted};
use crate::moments::{FrameNumbers, Times};
use crate::outcome::{Exit, Stop};
use crate::random::Random;

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// Every kind below that applies to the document, in turn
    All,
    /// A new value for one numeric input
    One,
    /// New values for half of the numeric inputs, at least two
    Many,
    /// Another arm for a boolean or a number that selects one
    Switch,
    /// The next frame
    Time,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::One => "one",
            Self::Many => "many",
            Self::Switch => "switch",
            Self::Time => "time",
        }
    }
}

/// A single-valued input that selects among arms.
struct Switch {
    input: usize,
    n_arms: u64,
}

/// A document with changing inputs.
pub(super) struct Changes<'p> {
    pub(super) program: &'p Program,
    asked: Asked,
    /// The kinds that take turns.
    pub(super) kinds: Vec<Kind>,
    /// Numeric inputs that select no arm, with the range of their single values.
    numbers: Vec<(usize, [f64; 2])>,
    switches: Vec<Switch>,
    random: Random,
    turn: usize,
}

impl<'p> Changes<'p> {
    /// Changes of this kind.
    pub(super) fn new(kind: Kind, program: &'p Program, mut asked: Asked) -> Result<Self, Stop> {
        for (given, input) in asked.inputs.iter_mut().zip(program.inputs()) {
            if given.is_none() {
                *given = input.default.clone().map(Given::One);
            }
        }
        let is_single = |k: usize| matches!(asked.inputs[k], Some(Given::One(_)));
        let switches = asked.arms.iter().enumerate();
        let switches = switches.filter(|(k, n_arms)| **n_arms > 1 && is_single(*k));
        let switches: Vec<Switch> =
            switches.map(|(input, n_arms)| Switch { input, n_arms: *n_arms }).collect();
        let is_number = |k: &usize| {
            let is_switch = switches.iter().any(|switch| switch.input == *k);
            program.inputs()[*k].ty.lanes().is_some() && !is_switch && asked.inputs[*k].is_some()
        };
        let numbers = (0..program.inputs().len()).filter(is_number);
        let numbers = numbers.map(|k| (k, range(program, k, asked.inputs[k].as_ref()))).collect();
        let random = salted(program.inputs().len() as u64);
        let kinds = Vec::new();
        let mut changes = Self { program, asked, kinds, numbers, switches, random, turn: 0 };
        changes.start_time();
        changes.kinds = match kind {
            Kind::All => {
                let all = [Kind::One, Kind::Many, Kind::Switch, Kind::Time];
                all.into_iter().filter(|kind| changes.lacks(*kind).is_none()).collect()
            }
            Kind::One | Kind::Many | Kind::Switch | Kind::Time => match changes.lacks(kind) {
                None => vec![kind],
                Some(lack) => return Err(refused(kind, lack)),
            },
        };
        if changes.kinds.is_empty() {
            return Err(refused(
                kind,
                "the document has no numeric inputs and does not read the time",
            ));
        }
        Ok(changes)
    }

    /// The reason why changes of a kind are impossible, if they are.
    fn lacks(&self, kind: Kind) -> Option<&'static str> {
        match kind {
            Kind::All => None,
            Kind::One => self.numbers.is_empty().then_some("no input is numeric"),
            Kind::Many => (self.numbers.len() < 2).then_some("fewer than two inputs are numeric"),
            Kind::Switch => {
                self.switches.is_empty().then_some("no single-valued input selects an arm")
            }
            Kind::Time if !self.reads_time() => Some("nothing reads the time"),
            Kind::Time => {
                let is_many = matches!(self.asked.time, Some(Times::Many(_)))
                    || matches!(self.asked.frame, Some(FrameNumbers::Many(_)));
                is_many.then_some("several moments are requested at once")
            }
        }
    }

    fn reads_time(&self) -> bool {
        let is_time = |feature: &Feature| matches!(feature, Feature::Time | Feature::Tick);
        self.program.needs().any(|need| need.level == 0 && is_time(&need.feature))
    }

    /// Starts at the first frame, unless flags set a time.
    fn start_time(&mut self) {
        let is_given = self.asked.time.is_some() || self.asked.frame.is_some();
        if !is_given && self.reads_time() {
            self.asked.frame = Some(FrameNumbers::One(self.program.plan().start_frame));
        }
    }

    /// The current request.
    pub(super) fn request(&self) -> Request {
        self.asked.request(self.program)
    }

    /// Makes the next change and returns the resulting request.
    fn next(&mut self) -> Request {
        let kind = self.kinds[self.turn % self.kinds.len()];
        self.turn += 1;
        match kind {
            Kind::All => {}
            Kind::One => self.turn_numbers(1),
            Kind::Many => self.turn_numbers(self.numbers.len().div_ceil(2).max(2)),
            Kind::Switch => self.toggle(),
            Kind::Time => self.go_on(),
        }
        self.request()
    }

    /// Makes `n` changes and returns the request after each.
    pub(super) fn next_many(&mut self, n: usize) -> Vec<Request> {
        (0..n).map(|_| self.next()).collect()
    }

    fn turn_numbers(&mut self, n: usize) {
        for i in 0..n {
            let other = i + self.random.below(self.numbers.len() - i);
            self.numbers.swap(i, other);
            let (input, range) = self.numbers[i];
            let ty = self.program.inputs()[input].ty;
            let Some(given) = &mut self.asked.inputs[input] else { continue };
            match given {
                Given::One(value) => {
                    *value = number(ty, range, &mut self.random);
                }
                Given::Along(_, column) => {
                    let other = arbitrary(ty, column.len(), &mut self.random);
                    *column = other.expect("the type is numeric");
                }
            }
        }
    }

    fn toggle(&mut self) {
        let switch = &self.switches[self.random.below(self.switches.len())];
        let ty = self.program.inputs()[switch.input].ty;
        let Some(Given::One(value)) = &mut self.asked.inputs[switch.input] else { return };
        let arm = value.lane(0).unwrap_or(0).min(switch.n_arms - 1);
        let step = 1 + self.random.below(switch.n_arms as usize - 1) as u64;
        let lanes = [(arm + step) % switch.n_arms];
        *value =
            Value::from_lanes(ty, &lanes).expect("booleans and integers are stored as their bits");
    }

    fn go_on(&mut self) {
        let fps = self.program.plan().fps;
        if let Some(Times::One(time)) = &mut self.asked.time {
            *time += 1.0 / fps;
        }
        if let Some(FrameNumbers::One(frame)) = &mut self.asked.frame {
            *frame += 1;
        }
    }
}

fn refused(kind: Kind, lack: &str) -> Stop {
    let text = format!("there is nothing for --changes={} to change: {lack}", kind.name());
    let help = "--changes without a value takes every kind that applies";
    Stop::new(Exit::Usage, text, Some(help.to_owned()))
}

/// The range for the lanes of a single value.
fn range(program: &Program, input: usize, given: Option<&Given>) -> [f64; 2] {
    let input = &program.inputs()[input];
    let def = program.document().inputs.get(&input.name);
    let stated = def.map(|def| (def.min, def.max));
    let first = match given {
        Some(Given::One(value)) => number_of(value).filter(|x| x.is_finite()).unwrap_or(0.0),
        Some(Given::Along(_, _)) | None => 0.0,
    };
    let is_whole = matches!(input.ty.lanes(), Some((Lane::I32 | Lane::I64, _)));
    let otherwise = match first {
        x if x > 0.0 => [0.0, 2.0 * x],
        x if x < 0.0 => [2.0 * x, 0.0],
        _ => [0.0, if is_whole { 99.0 } else { 1.0 }],
    };
    match stated {
        Some((Some(min), Some(max))) if min < max => [min, max],
        Some((Some(min), None)) if min < otherwise[1] => [min, otherwise[1]],
        Some((None, Some(max))) if otherwise[0] < max => [otherwise[0], max],
        _ => otherwise,
    }
}

/// The first lane of a value.
fn number_of(value: &Value) -> Option<f64> {
    let (lane, _) = value.ty().lanes()?;
    let bits = value.lane(0)?;
    Some(match lane {
        Lane::Bool => bits as f64,
        Lane::I32 => f64::from(bits as i32),
        Lane::I64 => bits as i64 as f64,
        Lane::F32 => f64::from(f32::from_bits(bits as u32)),
        Lane::F64 => f64::from_bits(bits),
    })
}

/// A value whose lanes lie in a range.
fn number(ty: Type, [min, max]: [f64; 2], random: &mut Random) -> Value {
    let (lane, width) = ty.lanes().expect("the type is numeric");
    let mut bits = || {
        let unit = (random.bits() >> 11) as f64 / (1_u64 << 53) as f64;
        let x = min + (max - min) * unit;
        match lane {
            Lane::Bool => u64::from(unit >= 0.5),
            Lane::I32 => u64::from(x.round() as i32 as u32),
            Lane::I64 => x.round() as i64 as u64,
            Lane::F32 => u64::from((x as f32).to_bits()),
            Lane::F64 => x.to_bits(),
        }
    };
    let lanes: Vec<u64> = (0..width).map(|_| bits()).collect();
    Value::from_lanes(ty, &lanes).expect("the lanes match the type")
}
