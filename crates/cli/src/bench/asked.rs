//! The request of a benchmark, made from the flags and from arbitrary values for inputs without a
//! flag.

use millstream::values::{Column, Lane, Type, Value};
use millstream::{Given, Limits, Program, Request, RequestAxis};

use super::Args;
use super::still::bytes_of;
use millstream_io::Budget;

use crate::given::{assignment, given};
use crate::moments::{FrameNumbers, Times};
use crate::outcome::Stop;
use crate::random::Random;
use crate::request::{ViewFlag, features, view_of_image, with_own_view};

/// The number of elements if neither a count nor a column determines it.
const DEFAULT_COUNT: usize = 1_000_000;

/// The parts of a request.
pub(super) struct Asked {
    /// Outputs, limits, and assignments to inputs that the program does not have.
    base: Request,
    /// The value or column of each input of the program.
    pub(super) inputs: Vec<Option<Given>>,
    pub(super) time: Option<Times>,
    pub(super) frame: Option<FrameNumbers>,
    count: Option<usize>,
    /// For each input, the number of arms it selects among.
    pub(super) arms: Vec<u64>,
}

impl Asked {
    /// Builds the request from the flags. If there are elements, numeric and boolean inputs without
    /// a flag become columns, except those that select an arm when inputs change.
    pub(super) fn new(args: &Args, program: &Program, limits: Limits) -> Result<Self, Stop> {
        // This verb has no deadline, and the first Ctrl-C ends it at once.
        let until = Budget::default();
        let mut base = Request::new();
        let mut count = args.count;
        let mut inputs = vec![None; program.inputs().len()];
        for text in &args.inputs {
            let at = assignment("--in", text)?;
            let known = program.inputs().iter().position(|input| &*input.name == at.name);
            let Some(known) = known else {
                // Binding reports the unknown name together with the known ones.
                base = base.set(at.name, 0.0_f32);
                continue;
            };
            let given = given(at, program.inputs()[known].ty, &limits, &until)?;
            if let Given::Along(RequestAxis::Index, column) = &given {
                count.get_or_insert(column.len());
            }
            if inputs[known].replace(given).is_some() {
                // Binding reports this one too.
                base = base.set(at.name, 0.0_f32);
            }
        }
        for name in &args.outputs {
            base = base.output(name);
        }
        // A picture takes single values, unless elements are asked for.
        let own_view = view_of_image(inputs.iter().flatten());
        let is_picture = args.size.is_some() || own_view.is_some();
        let is_one = args.one || (is_picture && count.is_none());
        let count = (!is_one).then(|| count.unwrap_or(DEFAULT_COUNT));
        let arms = program.arms();
        if args.changes.is_some() {
            for ((input, n_arms), given) in program.inputs().iter().zip(&arms).zip(&mut inputs) {
                if *n_arms > 1 && given.is_none() {
                    let value = input.default.clone().unwrap_or_else(|| input.ty.default_value());
                    *given = Some(Given::One(value));
                }
            }
        }
        if let Some(n) = count.filter(|n| *n <= limits.list_length) {
            for (k, input) in program.inputs().iter().enumerate() {
                if inputs[k].is_none() {
                    let column = arbitrary(input.ty, n, &mut salted(k as u64));
                    inputs[k] = column.map(|column| Given::Along(RequestAxis::Index, column));
                }
            }
        }
        let view = ViewFlag::size(args.size.as_ref());
        for (feature, given) in features(program, (&base, &args.features), view, &limits, &until)? {
            base = base.feature(feature, given);
        }
        base = with_own_view(base, program, own_view);
        let (time, frame) = (args.time.clone(), args.frame.clone());
        Ok(Self { base: base.with_limits(limits), inputs, time, frame, count, arms })
    }

    /// The bytes in the input columns.
    pub(super) fn bytes(&self) -> usize {
        let columns = self.inputs.iter().map(|given| match given {
            Some(Given::Along(_, column)) => bytes_of(column),
            Some(Given::One(_)) | None => 0,
        });
        columns.sum()
    }

    pub(super) fn request(&self, program: &Program) -> Request {
        let mut request = self.base.clone();
        for (input, given) in program.inputs().iter().zip(&self.inputs) {
            if let Some(given) = given {
                request = request.given(&*input.name, given.clone());
            }
        }
        if let Some(n) = self.count {
            request = request.count(n);
        }
        match (&self.time, &self.frame) {
            (Some(Times::One(time)), _) => request.time(*time),
            (Some(Times::Many(times)), _) => request.times(times.clone()),
            (None, Some(FrameNumbers::One(frame))) => request.frame(*frame),
            (None, Some(FrameNumbers::Many(frames))) => request.frames(frames.clone()),
            (None, None) => request,
        }
    }
}

/// A pseudorandom sequence seeded by a salt.
pub(super) fn salted(salt: u64) -> Random {
    Random(salt.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1)
}

/// Pseudorandom values of a numeric type: floats from 0 to 1, integers from 0 to 99.
pub(super) fn arbitrary(ty: Type, n: usize, random: &mut Random) -> Option<Column> {
    let (lane, width) = ty.lanes()?;
    let mut bits = || {
        let x = random.bits() >> 40;
        let unit = x as f32 / 16_777_216.0;
        match lane {
            Lane::Bool => x & 1,
            Lane::I32 | Lane::I64 => x % 100,
            Lane::F32 => u64::from(unit.to_bits()),
            Lane::F64 => f64::from(unit).to_bits(),
        }
    };
    let mut lanes = vec![0; width as usize];
    let mut values = (0..n).map(|_| {
        lanes.fill_with(&mut bits);
        Value::from_lanes(ty, &lanes).expect("the lanes match the type")
    });
    ty.collect(&mut values)
}
