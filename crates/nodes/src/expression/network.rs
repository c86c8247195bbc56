//! The network of an expression: one node for each operator and function, named by its number in
//! the order of computation.

use std::ops::Range;
use std::sync::Arc;

use millstream_base::{Lane, Type, Value};
use millstream_node::convert::{convertible, narrows};
use millstream_node::{Instance, NarrowedText, Network, Part, PartSource};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::functions::{FUNCTIONS, Function, Takes, Typing};
use super::library::Library;
use super::token::Number;
use super::typing::{Types, components_named, is_vector, number_type, types_of, vector};
use super::{Binary, Expression, SyntaxError, TEXT, Term, TermId, Unary};

/// The network of an expression whose inputs have these types.
///
/// # Errors
/// The first term that cannot be computed from its operands.
pub(super) fn network(
    expression: &Expression,
    inputs: &[Type],
    library: &Library,
) -> Result<Network, SyntaxError> {
    let types = types_of(expression, inputs, library)?;
    let mut writer = Writer {
        expression,
        types,
        inputs,
        library,
        network: Network::default(),
        constants: FxHashMap::default(),
        values: Vec::with_capacity(expression.terms.len()),
    };
    for (at, term) in expression.terms.iter().enumerate() {
        let value = writer.term(TermId(at as u32), term);
        writer.values.push(value);
    }
    let last = TermId(expression.terms.len() as u32 - 1);
    let ty = writer.types.of(last);
    let output = writer.read(last, ty);
    let mut network = writer.network;
    network.outputs.push(output);
    network.narrowed.sort_by_key(|part| (part.start, part.end));
    network.narrowed.dedup();
    Ok(network)
}

/// The result of translating a term.
#[derive(Clone, Copy)]
enum Became {
    /// A number, which can be written in any wanted type.
    Number(Number),
    Truth(bool),
    /// A value of this type.
    Source(PartSource, Type),
    /// The outputs of a part.
    Outputs(u32),
}

struct Writer<'e> {
    expression: &'e Expression,
    types: Types,
    inputs: &'e [Type],
    library: &'e Library,
    network: Network,
    /// Numbers by type and bits.
    constants: FxHashMap<(Type, u64), u32>,
    values: Vec<Became>,
}

impl Writer<'_> {
    fn term(&mut self, at: TermId, term: &Term) -> Became {
        match term {
            Term::Number(number) => Became::Number(*number),
            Term::Truth(holds) => Became::Truth(*holds),
            Term::Input(input) => {
                Became::Source(PartSource::Input(*input), self.inputs[*input as usize])
            }
            Term::Unary(Unary::Negate, x) => match self.value(*x) {
                Became::Number(number) => Became::Number(number.negative()),
                Became::Truth(_) | Became::Source(..) | Became::Outputs(_) => {
                    self.alike(at, "math.negate", &[*x])
                }
            },
            Term::Unary(Unary::Not, x) => {
                let x = self.condition(*x);
                self.logic("boolean.not", smallvec![x])
            }
            Term::Binary(binary @ (Binary::And | Binary::Or), x, y) => {
                let both = smallvec![self.condition(*x), self.condition(*y)];
                self.logic(if *binary == Binary::And { "boolean.and" } else { "boolean.or" }, both)
            }
            Term::Binary(Binary::Power, x, y) => self.power(at, *x, *y),
            Term::Binary(binary, x, y) if binary.is_comparison() => {
                self.comparison(*binary, *x, *y)
            }
            Term::Binary(binary, x, y) => self.alike(at, binary.node(), &[*x, *y]),
            Term::Choose(condition, yes, no) => {
                let ty = self.types.of(at);
                let condition = self.condition(*condition);
                let sources = smallvec![condition, self.read(*no, ty), self.read(*yes, ty)];
                self.part(self.library.instance("control.switch", &[ty]), sources)
            }
            Term::Call(function, args) => self.function(at, &FUNCTIONS[*function as usize], args),
            Term::Node(_, args) => {
                let names: Vec<(Option<&str>, TermId)> =
                    args.iter().map(|(name, arg)| (name.as_deref(), *arg)).collect();
                self.call(at, &names)
            }
            Term::Member(x, name) => self.member(*x, name),
        }
    }

    fn value(&self, term: TermId) -> Became {
        self.values[term.0 as usize]
    }

    /// The first output of a new part.
    fn part(&mut self, instance: Arc<Instance>, sources: SmallVec<[PartSource; 3]>) -> Became {
        let at = self.network.parts.len() as u32;
        let name = (at + 1).to_string().into();
        let ty = instance.outputs[0].ty;
        self.network.parts.push(Part { name, instance, sources });
        Became::Source(PartSource::Output { part: at, output: 0 }, ty)
    }

    /// A part whose inputs and output have the type of the term.
    fn alike(&mut self, at: TermId, node: &str, args: &[TermId]) -> Became {
        let ty = self.types.of(at);
        let instance = self.library.instance(node, &[ty]);
        let mut sources: SmallVec<[PartSource; 3]> =
            args.iter().map(|arg| self.read(*arg, ty)).collect();
        self.fill(&instance, &mut sources);
        self.part(instance, sources)
    }

    /// Adds the defaults of the remaining inputs.
    fn fill(&mut self, instance: &Instance, sources: &mut SmallVec<[PartSource; 3]>) {
        if sources.len() < instance.inputs.len() {
            let signature = instance.def.signature(&instance.settings);
            let signature = signature.expect("there is an instance with these settings");
            let missing = signature.inputs.iter().zip(&instance.inputs).skip(sources.len());
            let values = missing.map(|(socket, slot)| socket.default.value(slot.ty));
            let values: Vec<Value> = values.map(|it| it.expect("it has a default")).collect();
            sources.extend(values.into_iter().map(|value| self.constant(value)));
        }
    }

    fn logic(&mut self, node: &str, sources: SmallVec<[PartSource; 3]>) -> Became {
        self.part(self.library.instance(node, &[]), sources)
    }

    fn comparison(&mut self, binary: Binary, x: TermId, y: TermId) -> Became {
        let (of_x, of_y) = (self.types.of(x), self.types.of(y));
        let is_single = |ty: Type| ty != Type::COLOR && !is_vector(ty);
        let ty = if of_x == of_y && binary.is_equality() {
            of_x
        } else if is_single(of_x) && is_single(of_y) {
            number_type(self.types.lane(x), 1)
        } else {
            vector(if is_single(of_x) { of_y } else { of_x })
        };
        let sources = smallvec![self.read(x, ty), self.read(y, ty)];
        self.part(self.library.instance(binary.node(), &[ty]), sources)
    }

    /// A power: a product if the exponent is a small literal, or an integer.
    fn power(&mut self, at: TermId, x: TermId, y: TermId) -> Became {
        let ty = self.types.of(at);
        let is_integer = ty == Type::I32 || ty == Type::I64;
        let whole = match self.expression.terms[y.0 as usize] {
            Term::Number(number) => number.whole(),
            _ => None,
        };
        match whole {
            Some(whole @ 0..) if is_integer => self.integer_power(ty, x, whole),
            Some(whole @ 2..=4) => {
                let x = self.read(x, ty);
                let square = self.product(ty, x, x);
                match whole {
                    2 => square,
                    3 => self.product(ty, source_of(square), x),
                    _ => self.product(ty, source_of(square), source_of(square)),
                }
            }
            Some(_) | None if is_integer => self.alike(at, "integer.power", &[x, y]),
            Some(_) | None => self.alike(at, "math.power", &[x, y]),
        }
    }

    /// An integer to a known nonnegative power, by squaring; wraps around.
    fn integer_power(&mut self, ty: Type, x: TermId, mut exponent: i64) -> Became {
        let mut square = self.read(x, ty);
        let mut result = None;
        while exponent > 0 {
            if exponent & 1 != 0 {
                result = Some(match result {
                    None => square,
                    Some(known) => source_of(self.product(ty, known, square)),
                });
            }
            exponent >>= 1;
            if exponent > 0 {
                square = source_of(self.product(ty, square, square));
            }
        }
        let one = Number::of_integer(1);
        let result = result.unwrap_or_else(|| self.number(one, ty));
        Became::Source(result, ty)
    }

    fn product(&mut self, ty: Type, x: PartSource, y: PartSource) -> Became {
        self.part(self.library.instance("math.multiply", &[ty]), smallvec![x, y])
    }

    fn function(&mut self, at: TermId, function: &Function, args: &[TermId]) -> Became {
        match function.typing {
            Typing::Alike(_) if function.name == "log" && args.len() == 1 => {
                self.alike(at, "math.ln", args)
            }
            Typing::Alike(_) => self.alike(at, function.node, args),
            Typing::Folded => {
                let ty = self.types.of(at);
                let instance = self.library.instance(function.node, &[ty]);
                let mut joined = self.read(args[0], ty);
                for arg in &args[1..] {
                    let sources = smallvec![joined, self.read(*arg, ty)];
                    joined = source_of(self.part(Arc::clone(&instance), sources));
                }
                Became::Source(joined, ty)
            }
            Typing::Mixed => {
                let (ty, of_factor) = (self.types.of(at), self.types.lane(args[2]));
                let of_factor = number_type(of_factor, 1);
                let instance = self.library.instance(function.node, &[ty, of_factor]);
                let factor = self.read(args[2], of_factor);
                let sources = smallvec![self.read(args[0], ty), self.read(args[1], ty), factor];
                self.part(instance, sources)
            }
            Typing::Test => {
                let ty = match vector(self.types.of(args[0])) {
                    ty if is_vector(ty) => ty,
                    _ => number_type(self.types.lane(args[0]), 1),
                };
                let sources = smallvec![self.read(args[0], ty)];
                self.part(self.library.instance(function.node, &[ty]), sources)
            }
            Typing::Conversion(to) => match self.value(args[0]) {
                Became::Number(number) if to != Type::BOOL => {
                    Became::Source(self.number(number, to), to)
                }
                _ => {
                    let from = self.types.of(args[0]);
                    let source = self.read(args[0], from);
                    if from == to {
                        return Became::Source(source, to);
                    }
                    let instance = self.library.instance(function.node, &[from]);
                    self.part(instance, smallvec![source])
                }
            },
            Typing::Components(_) => self.components(function, args),
            Typing::Sockets => {
                let args: Vec<(Option<&str>, TermId)> =
                    args.iter().map(|arg| (None, *arg)).collect();
                self.call(at, &args)
            }
        }
    }

    /// A vector or color from its components.
    fn components(&mut self, function: &Function, args: &[TermId]) -> Became {
        let mut sources: SmallVec<[PartSource; 3]> = SmallVec::new();
        for arg in args {
            let ty = vector(self.types.of(*arg));
            if !is_vector(ty) {
                sources.push(self.read(*arg, Type::F32));
                continue;
            }
            let n = ty.lanes().map_or(0, |(_, n)| n as usize);
            let source = self.read(*arg, ty);
            for letter in ["x", "y", "z", "w"].iter().take(n) {
                let instance = self.library.swizzle(letter, ty);
                let component = self.part(instance, smallvec![source]);
                sources.push(source_of(component));
            }
        }
        let instance = self.library.instance(function.node, &[]);
        if let [one] = sources[..] {
            sources = smallvec![one; instance.inputs.len()];
        }
        self.fill(&instance, &mut sources);
        self.part(instance, sources)
    }

    fn member(&mut self, x: TermId, name: &str) -> Became {
        if let Became::Outputs(part) = self.value(x) {
            let instance = &self.network.parts[part as usize].instance;
            let output = instance.output_names.iter().position(|output| **output == *name);
            let output = output.expect("the output was found before");
            let ty = instance.outputs[output].ty;
            return Became::Source(PartSource::Output { part, output: output as u32 }, ty);
        }
        let positions = components_named(name).expect("the components were found before");
        let ty = self.types.of(x);
        if ty == Type::COLOR && positions == [3] {
            let source = self.read(x, ty);
            let Became::Source(PartSource::Output { part, .. }, _) =
                self.part(self.library.instance("color.separate", &[]), smallvec![source])
            else {
                unreachable!("a part has outputs")
            };
            return Became::Source(PartSource::Output { part, output: 3 }, Type::F32);
        }
        let ty = vector(ty);
        let letters: String = positions.iter().map(|at| ['x', 'y', 'z', 'w'][*at]).collect();
        let source = self.read(x, ty);
        self.part(self.library.swizzle(&letters, ty), smallvec![source])
    }

    /// A call of a node type, by its sockets.
    fn call(&mut self, at: TermId, args: &[(Option<&str>, TermId)]) -> Became {
        let instance = Arc::clone(&self.types.instances[&at]);
        let signature = instance.def.signature(&instance.settings);
        let signature = signature.expect("there is an instance with these settings");
        let mut sources: SmallVec<[PartSource; 3]> = SmallVec::new();
        for (i, socket) in signature.inputs.iter().enumerate() {
            let given = args.iter().enumerate().find(|(k, (name, _))| match name {
                Some(name) => *name == socket.name,
                None => *k == i,
            });
            let ty = instance.inputs[i].ty;
            sources.push(match given {
                Some((_, (_, arg))) => {
                    if self.types.of(*arg) == Type::COLOR && narrows(Type::COLOR, ty) {
                        self.narrowed(*arg, Type::COLOR, ty);
                    }
                    self.read(*arg, ty)
                }
                None => {
                    let default = socket.default.value(ty);
                    self.constant(default.expect("the input has a default"))
                }
            });
        }
        drop(signature);
        let is_one = instance.outputs.len() == 1;
        match self.part(instance, sources) {
            Became::Source(PartSource::Output { part, .. }, _) if !is_one => Became::Outputs(part),
            one => one,
        }
    }

    /// A term as a condition.
    fn condition(&mut self, term: TermId) -> PartSource {
        match self.value(term) {
            Became::Number(number) => self.truth(number.value != 0.0),
            Became::Truth(holds) => self.truth(holds),
            Became::Source(source, ty) if ty == Type::BOOL => source,
            Became::Source(..) | Became::Outputs(_) => {
                let ty = self.types.of(term);
                let source = self.read(term, ty);
                let converts = self.library.instance("convert.to_bool", &[ty]);
                source_of(self.part(converts, smallvec![source]))
            }
        }
    }

    /// A term as a value of a type, or of one that converts to it.
    fn read(&mut self, term: TermId, ty: Type) -> PartSource {
        match self.value(term) {
            Became::Number(number) => self.number(number, ty),
            Became::Truth(holds) if ty == Type::BOOL => self.truth(holds),
            Became::Truth(holds) => self.number(Number::of_integer(i64::from(holds)), ty),
            Became::Source(source, from) if convertible(from, ty) => {
                if from == Type::F64 && narrows(from, ty) {
                    self.narrowed(term, from, ty);
                }
                source
            }
            // A number that is repeated for each component of a vector.
            Became::Source(source, from) => {
                if [Type::F64, Type::I64].contains(&from) {
                    self.narrowed(term, from, Type::F32);
                }
                let converts = self.library.instance("convert.to_f32", &[from]);
                source_of(self.part(converts, smallvec![source]))
            }
            Became::Outputs(_) => unreachable!("one of several outputs is chosen"),
        }
    }

    /// Records that a term becomes narrower than it is, without a conversion in the text.
    fn narrowed(&mut self, term: TermId, from: Type, to: Type) {
        // Beside a vector, integers are computed as floats.
        let from = if from == Type::F64 && self.is_whole(term) { Type::I64 } else { from };
        let Range { start, end } = self.expression.ranges[term.0 as usize];
        let (start, end) = (start as u32, end as u32);
        self.network.narrowed.push(NarrowedText { setting: TEXT, start, end, from, to });
    }

    /// Whether a term is an integer if nothing is combined with it.
    fn is_whole(&self, term: TermId) -> bool {
        let mut stack = vec![term];
        while let Some(TermId(at)) = stack.pop() {
            let term = &self.expression.terms[at as usize];
            let is_whole = match term {
                Term::Number(number) => number.whole().is_some(),
                Term::Input(input) => {
                    let ty = self.inputs[*input as usize];
                    [Type::BOOL, Type::I32, Type::I64].contains(&ty)
                }
                Term::Truth(_) | Term::Unary(..) | Term::Binary(..) | Term::Choose(..) => true,
                Term::Call(function, _) => match FUNCTIONS[*function as usize].typing {
                    Typing::Alike(takes) => takes != Takes::Floats,
                    Typing::Folded => true,
                    Typing::Mixed
                    | Typing::Test
                    | Typing::Conversion(_)
                    | Typing::Components(_)
                    | Typing::Sockets => false,
                },
                Term::Node(..) | Term::Member(..) => false,
            };
            if !is_whole {
                return false;
            }
            match term {
                Term::Choose(_, yes, no) => stack.extend([*yes, *no]),
                _ => stack.extend(term.operands()),
            }
        }
        true
    }

    fn truth(&mut self, holds: bool) -> PartSource {
        self.bits(Type::BOOL, u64::from(holds))
    }

    /// A literal as a value of a type.
    fn number(&mut self, number: Number, ty: Type) -> PartSource {
        // A list of one is made of the number as along links.
        let mut ty = ty;
        while ty.lanes().is_none() {
            ty = ty.element().unwrap_or(Type::F32);
        }
        let lane = ty.lanes().map_or(Lane::F32, |(lane, _)| lane);
        self.bits(ty, number.bits(lane))
    }

    /// A constant with these bits in every lane.
    fn bits(&mut self, ty: Type, bits: u64) -> PartSource {
        if let Some(known) = self.constants.get(&(ty, bits)) {
            return PartSource::Constant(*known);
        }
        let (_, n) = ty.lanes().expect("a number has lanes");
        let value = Value::from_lanes(ty, &vec![bits; n as usize]);
        let source = self.constant(value.expect("each lane has a value"));
        if let PartSource::Constant(at) = source {
            self.constants.insert((ty, bits), at);
        }
        source
    }

    fn constant(&mut self, value: Value) -> PartSource {
        self.network.constants.push(value);
        PartSource::Constant(self.network.constants.len() as u32 - 1)
    }
}

fn source_of(value: Became) -> PartSource {
    match value {
        Became::Source(source, _) => source,
        Became::Number(_) | Became::Truth(_) | Became::Outputs(_) => {
            unreachable!("a part has one output")
        }
    }
}

impl Number {
    /// The nearest value of a lane.
    fn bits(self, lane: Lane) -> u64 {
        match lane {
            Lane::Bool => u64::from(self.value != 0.0),
            Lane::I32 => self.value as i32 as u32 as u64,
            Lane::I64 => self.whole().unwrap_or(self.value as i64) as u64,
            Lane::F32 => u64::from((self.value as f32).to_bits()),
            Lane::F64 => self.value.to_bits(),
        }
    }
}

impl Binary {
    /// The node type of an operator.
    fn node(self) -> &'static str {
        match self {
            Self::Or => "boolean.or",
            Self::And => "boolean.and",
            Self::Equal => "compare.equal",
            Self::NotEqual => "compare.not_equal",
            Self::Less => "compare.less",
            Self::LessEqual => "compare.less_equal",
            Self::Greater => "compare.greater",
            Self::GreaterEqual => "compare.greater_equal",
            Self::Add => "math.add",
            Self::Subtract => "math.subtract",
            Self::Multiply => "math.multiply",
            Self::Divide => "math.divide",
            Self::Modulo => "math.modulo",
            Self::Power => "math.power",
        }
    }
}
