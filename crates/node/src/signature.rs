//! Signatures: the sockets of a node type and how generic sockets get their types.

use millstream_base::types::Kind;
use millstream_base::{Color, Lane, Type, Value, Vec2, Vec3, Vec4, literal};
use serde_json::Value as Json;
use smallvec::SmallVec;

mod socket;

pub use socket::{OutputSocket, Socket};

use crate::implicit::{convertible, narrows};

/// The sockets of a node type for given settings.
#[derive(Clone, Debug, Default)]
pub struct Signature {
    /// The generic types.
    pub generics: Vec<Generic>,
    /// The input sockets.
    pub inputs: Vec<Socket>,
    /// The output sockets.
    pub outputs: Vec<OutputSocket>,
}

/// A type that follows from the linked inputs.
#[derive(Clone, Debug)]
pub struct Generic {
    /// Name in the manual: `T`.
    pub name: &'static str,
    /// The types it may take.
    pub among: Among,
}

/// The types a generic may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Among {
    /// The first of these that holds all linked inputs.
    These(&'static [Type]),
    /// Any type: the first numeric one that holds all linked inputs, or the one they agree on.
    Any,
    /// As [`Any`](Self::Any), but this type if there are only literals.
    AnyOr(Type),
    /// Any type. If nothing is linked, a number takes the type that holds the numbers linked to the
    /// other inputs of the node.
    Own,
}

/// How a generic gets its type from linked inputs of several types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Widths {
    /// The first candidate to which all inputs convert and none narrows; if there is none,
    /// the first to which all convert.
    Kept,
    /// The first candidate to which all inputs convert: the rule of documents of format 1.
    First,
}

/// The type of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketType {
    /// This type.
    Exact(Type),
    /// The generic at this position of the signature.
    Generic(u16),
    /// Lists of the generic at this position.
    ListOf(u16),
    /// The type that the network determines; only for outputs.
    Made,
}

/// The value of an input that is neither linked nor written.
#[derive(Clone, Debug)]
pub enum Default {
    /// None: the author must give one.
    Required,
    /// The zero of the type: false, 0, zero vector, empty text, empty list.
    Zero,
    /// This number in every lane, for any type.
    Number(f64),
    /// This value; its type must be the socket's.
    Value(Value),
}

/// Why the generic types of a node cannot be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum TypeError {
    /// The linked inputs have no common type.
    #[error("the inputs {inputs} have no common type")]
    #[diagnostic(code(types::no_common_type), help("they must all convert to {allowed}"))]
    NoCommonType {
        /// The sockets and the types linked to them.
        inputs: String,
        /// The types that the sockets take.
        allowed: String,
    },
    /// A list type would be nested too deeply.
    #[error("lists are nested too deeply")]
    #[diagnostic(
        code(types::list_depth),
        help("lists may be nested {} deep", Type::MAX_LIST_DEPTH)
    )]
    ListDepth,
    /// The type of an output follows from the network.
    #[error("the type of the output follows from those of the inputs")]
    #[diagnostic(code(types::made))]
    Made,
}

/// The knowledge about an input before types are resolved.
#[derive(Clone, Copy, Debug)]
pub enum InputFact<'a> {
    /// The type of the linked output.
    Linked(Type),
    /// The literal.
    Literal(&'a Json),
}

impl SocketType {
    /// The concrete type for these types of the generics.
    ///
    /// # Errors
    /// If a list type would be nested too deeply, or if the network determines the type.
    pub fn resolve(self, generics: &[Type]) -> Result<Type, TypeError> {
        match self {
            Self::Exact(ty) => Ok(ty),
            Self::Generic(g) => Ok(generics[g as usize]),
            Self::ListOf(g) => generics[g as usize].list().ok_or(TypeError::ListDepth),
            Self::Made => Err(TypeError::Made),
        }
    }
}

impl Among {
    /// The candidates in order of preference; all numeric types if any type is allowed.
    pub fn candidates(self) -> &'static [Type] {
        match self {
            Self::These(types) => types,
            Self::Any | Self::AnyOr(_) | Self::Own => &Type::NUMERIC,
        }
    }

    fn allows(self, ty: Type) -> bool {
        match self {
            Self::These(types) => types.contains(&ty),
            Self::Any | Self::AnyOr(_) | Self::Own => true,
        }
    }

    fn describe(self) -> String {
        match self {
            Self::These(types) => {
                let names: Vec<&str> = types.iter().map(|ty| ty.name()).collect();
                format!("one of {}", names.join(", "))
            }
            Self::Any | Self::AnyOr(_) | Self::Own => "one type".into(),
        }
    }
}

impl Default {
    /// The value for a socket of type `ty`; `None` if a value is required.
    pub fn value(&self, ty: Type) -> Option<Value> {
        match self {
            Self::Required => None,
            Self::Zero => Some(zero(ty)),
            Self::Number(x) => Some(repeated(ty, *x).unwrap_or_else(|| ty.default_value())),
            Self::Value(value) => Some(value.clone()),
        }
    }
}

impl From<f64> for Default {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<Value> for Default {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

macro_rules! default_from {
    ($($ty:ty)*) => {$(
        impl From<$ty> for Default {
            fn from(value: $ty) -> Self {
                Self::Value(value.into())
            }
        }
    )*};
}
default_from!(bool Vec2 Vec3 Vec4 Color &str);

/// Zero in every lane, or the default of a type without lanes.
fn zero(ty: Type) -> Value {
    match ty.kind() {
        Kind::Lanes(..) if Type::NUMERIC.contains(&ty) => {
            repeated(ty, 0.0).expect("a numeric type takes a number")
        }
        Kind::Lanes(..) | Kind::String | Kind::List(_) | Kind::Opaque => ty.default_value(),
    }
}

/// The number in every lane of the type; `None` for types without lanes.
fn repeated(ty: Type, x: f64) -> Option<Value> {
    let (lane, n) = ty.lanes()?;
    let bits = match lane {
        Lane::Bool => u64::from(x != 0.0),
        Lane::I32 => x as i32 as u32 as u64,
        Lane::I64 => x as i64 as u64,
        Lane::F32 => u64::from((x as f32).to_bits()),
        Lane::F64 => x.to_bits(),
    };
    Value::from_lanes(ty, &vec![bits; n as usize])
}

impl Signature {
    /// The position of the input called `name`.
    pub fn input(&self, name: &str) -> Option<usize> {
        self.inputs.iter().position(|socket| socket.name == name)
    }

    /// The position of the output called `name`.
    pub fn output(&self, name: &str) -> Option<usize> {
        self.outputs.iter().position(|socket| socket.name == name)
    }

    /// The positions of the inputs on which an output depends, ascending; those that the scopes of
    /// such inputs take are among them.
    pub fn needed_by(&self, output: usize) -> Vec<usize> {
        let Some(names) = self.outputs[output].needs else {
            return (0..self.inputs.len()).collect();
        };
        let mut needed: Vec<usize> = names.iter().filter_map(|name| self.input(name)).collect();
        let scopes = needed.clone().into_iter().flat_map(|input| &self.inputs[input].scope);
        needed.extend(scopes.flat_map(|rule| rule.uses(true)).map(|input| usize::from(*input)));
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    /// The types that a socket takes, in order of preference; `None` if it takes any type.
    pub fn taken_by(&self, socket: &Socket) -> Option<Vec<Type>> {
        let among = |g: u16| match self.generics[usize::from(g)].among {
            Among::These(types) => Some(types),
            Among::Any | Among::AnyOr(_) | Among::Own => None,
        };
        match socket.ty {
            SocketType::Exact(ty) => Some(vec![ty]),
            SocketType::Made => None,
            SocketType::Generic(g) => among(g).map(<[Type]>::to_vec),
            SocketType::ListOf(g) => {
                among(g).map(|types| types.iter().filter_map(|ty| ty.list()).collect())
            }
        }
    }

    /// The types of the generics. Each is the first candidate that holds all linked inputs of its
    /// sockets: all convert to it, and none narrows unless every candidate is too narrow. If nothing
    /// is linked the literals decide (numbers are `f32` where allowed), and without literals it is
    /// `f32` or the first candidate.
    ///
    /// `facts` pairs the position of an input with the knowledge about it; a socket with several
    /// sources occurs once for each.
    ///
    /// # Errors
    /// Every generic without a common type.
    pub fn resolve(&self, facts: &[(usize, InputFact<'_>)]) -> Result<Vec<Type>, Vec<TypeError>> {
        self.resolve_by(Widths::Kept, facts)
    }

    /// As [`resolve`](Self::resolve), by a rule.
    ///
    /// # Errors
    /// Every generic without a common type.
    pub fn resolve_by(
        &self,
        widths: Widths,
        facts: &[(usize, InputFact<'_>)],
    ) -> Result<Vec<Type>, Vec<TypeError>> {
        let mut given: Vec<Given<'_>> = vec![Given::default(); self.generics.len()];
        for (input, fact) in facts {
            let (g, is_list) = match self.inputs[*input].ty {
                SocketType::Exact(_) | SocketType::Made => continue,
                SocketType::Generic(g) => (g, false),
                SocketType::ListOf(g) => (g, true),
            };
            let given = &mut given[g as usize];
            match fact {
                InputFact::Linked(ty) if is_list => {
                    given.linked.push((*input, ty.element().unwrap_or(*ty)));
                }
                InputFact::Linked(ty) => given.linked.push((*input, *ty)),
                InputFact::Literal(Json::Array(items)) if is_list => {
                    given.literals.extend(items.first());
                }
                InputFact::Literal(json) => given.literals.push(*json),
            }
        }
        // The type that holds the numbers of all linked inputs.
        let linked = given.iter().flat_map(|of_generic| &of_generic.linked);
        let beside = match widths {
            Widths::Kept => {
                linked.filter_map(|(_, ty)| lane_in(*ty)).reduce(wider_lane).map(number_of)
            }
            // In format 1 all inputs of a generic had one type.
            Widths::First => {
                let among = Among::These(&[Type::F32, Type::F64]);
                let linked: Vec<(usize, Type)> = linked.copied().collect();
                (!linked.is_empty()).then(|| common(among, widths, &linked)).flatten()
            }
        };
        let mut types = Vec::with_capacity(self.generics.len());
        let mut errors = Vec::new();
        for (generic, of_generic) in self.generics.iter().zip(&given) {
            match self.resolve_one((generic.among, widths), of_generic, beside) {
                Ok(ty) => types.push(ty),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(types) } else { Err(errors) }
    }

    fn resolve_one(
        &self,
        (among, widths): (Among, Widths),
        given: &Given<'_>,
        beside: Option<Type>,
    ) -> Result<Type, TypeError> {
        if given.linked.is_empty() {
            return Ok(match among {
                Among::Own => number_beside(&given.literals, beside),
                Among::These(_) | Among::Any | Among::AnyOr(_) => suggested(among, &given.literals),
            });
        }
        if let (Among::Own, Widths::First, Some(ty)) = (among, widths, beside) {
            return Ok(ty);
        }
        let linked = &given.linked;
        common(among, widths, linked).ok_or_else(|| TypeError::NoCommonType {
            inputs: (linked.iter())
                .map(|(input, ty)| format!("`{}` ({ty})", self.inputs[*input].name))
                .collect::<Vec<_>>()
                .join(", "),
            allowed: allowed(among, linked),
        })
    }
}

/// The types that inputs without a common type must convert to.
fn allowed(among: Among, linked: &[(usize, Type)]) -> String {
    let has = |wanted: &[Type]| linked.iter().any(|(_, ty)| wanted.contains(ty));
    let mut text = among.describe();
    if has(&[Type::F64]) && has(&[Type::VEC2, Type::VEC3, Type::VEC4]) {
        text += "; a node `convert` to `f32` makes an f64 fit a vector";
    }
    text
}

/// The known types and literals of the inputs of one generic.
#[derive(Clone, Debug, Default)]
struct Given<'a> {
    /// Positions of inputs, with the types linked to them.
    linked: SmallVec<[(usize, Type); 2]>,
    literals: SmallVec<[&'a Json; 2]>,
}

/// The type of a literal: if it is a number, that of the numbers beside it.
fn number_beside(literals: &[&Json], beside: Option<Type>) -> Type {
    let is_number = |json: &&Json| json.is_number();
    match beside {
        Some(ty)
            if literals.iter().all(is_number)
                && literals.iter().all(|json| literal::from_json(ty, json).is_ok()) =>
        {
            ty
        }
        Some(_) | None => suggested(Among::Any, literals),
    }
}

/// The lane of the numbers in values of a numeric type.
fn lane_in(ty: Type) -> Option<Lane> {
    ty.lanes().filter(|_| Type::NUMERIC.contains(&ty)).map(|(lane, _)| lane)
}

/// The type of single numbers of a lane; truth values count as integers.
fn number_of(lane: Lane) -> Type {
    match lane {
        Lane::Bool | Lane::I32 => Type::I32,
        Lane::I64 => Type::I64,
        Lane::F32 => Type::F32,
        Lane::F64 => Type::F64,
    }
}

/// The narrowest lane that holds the numbers of both.
pub fn wider_lane(a: Lane, b: Lane) -> Lane {
    match (a, b) {
        (Lane::Bool, other) | (other, Lane::Bool) => other,
        (Lane::F64, _) | (_, Lane::F64) => Lane::F64,
        (Lane::I64, Lane::F32) | (Lane::F32, Lane::I64) => Lane::F64,
        (Lane::I32, other) | (other, Lane::I32) => other,
        (Lane::I64, Lane::I64) => Lane::I64,
        (Lane::F32, Lane::F32) => Lane::F32,
    }
}

/// The first candidate that holds all these types, by the rule.
fn common(among: Among, widths: Widths, linked: &[(usize, Type)]) -> Option<Type> {
    let first = linked[0].1;
    if among.allows(first) && linked.iter().all(|(_, ty)| *ty == first) {
        return Some(first);
    }
    let first = |fits: &dyn Fn(Type, Type) -> bool| {
        let holds = |to: &Type| linked.iter().all(|(_, from)| fits(*from, *to));
        among.candidates().iter().copied().find(holds).or_else(|| match among {
            Among::These(_) => None,
            Among::Any | Among::AnyOr(_) | Among::Own => {
                linked.iter().map(|(_, ty)| *ty).find(holds)
            }
        })
    };
    let kept = match widths {
        Widths::Kept => first(&|from, to| convertible(from, to) && !narrows(from, to)),
        Widths::First => None,
    };
    kept.or_else(|| first(&convertible))
}

/// The type suggested by literals alone.
fn suggested(among: Among, literals: &[&Json]) -> Type {
    if let Among::AnyOr(ty) = among {
        return ty;
    }
    let guess = |json: &Json| match json {
        Json::Bool(_) => Some(Type::BOOL),
        Json::Number(_) => Some(Type::F32),
        Json::Array(items) => match items.len() {
            2 => Some(Type::VEC2),
            3 => Some(Type::VEC3),
            4 => Some(Type::VEC4),
            _ => None,
        },
        Json::String(text) if matches!(text.as_str(), "nan" | "inf" | "-inf") => Some(Type::F32),
        Json::String(_) => Some(Type::STRING),
        Json::Null | Json::Object(_) => None,
    };
    let guessed: Vec<(usize, Type)> =
        literals.iter().filter_map(|json| guess(json)).map(|ty| (0, ty)).collect();
    if !guessed.is_empty()
        && let Some(ty) = common(among, Widths::Kept, &guessed)
    {
        return ty;
    }
    let parses = |ty: &&Type| literals.iter().all(|json| literal::from_json(**ty, json).is_ok());
    let candidates = among.candidates();
    let preferred = candidates.iter().filter(|ty| **ty == Type::F32).chain(candidates);
    preferred
        .clone()
        .find(parses)
        .or_else(|| preferred.clone().next())
        .copied()
        .unwrap_or(Type::F32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add() -> Signature {
        let socket = |name| Socket::new(name, SocketType::Generic(0), Default::Zero);
        Signature {
            generics: vec![Generic {
                name: "T",
                among: Among::These(&[Type::I32, Type::F32, Type::VEC3]),
            }],
            inputs: vec![socket("a"), socket("b")],
            outputs: vec![],
        }
    }

    fn resolved(facts: &[InputFact<'_>]) -> Option<Type> {
        let facts: Vec<_> = facts.iter().copied().enumerate().collect();
        add().resolve(&facts).ok().map(|types| types[0])
    }

    #[test]
    fn the_first_common_type_wins() {
        use InputFact::Linked;
        assert_eq!(resolved(&[Linked(Type::I32), Linked(Type::I32)]), Some(Type::I32));
        assert_eq!(resolved(&[Linked(Type::I32), Linked(Type::VEC3)]), Some(Type::VEC3));
        assert_eq!(resolved(&[Linked(Type::BOOL)]), Some(Type::I32));
        assert_eq!(resolved(&[Linked(Type::STRING)]), None);
    }

    /// The type of a generic among `types` for these linked types, by both rules.
    fn both(types: &'static [Type], linked: &[Type]) -> [Option<Type>; 2] {
        let mut signature = add();
        signature.generics[0].among = Among::These(types);
        let facts: Vec<_> = linked.iter().map(|ty| (0, InputFact::Linked(*ty))).collect();
        [Widths::Kept, Widths::First]
            .map(|widths| signature.resolve_by(widths, &facts).ok().map(|types| types[0]))
    }

    #[test]
    fn a_generic_holds_all_links_unless_no_candidate_does() {
        use Type as T;
        let among = |linked: &[Type]| both(&T::NUMERIC, linked);
        assert_eq!(among(&[T::F64, T::F32]), [Some(T::F64), Some(T::F32)]);
        assert_eq!(among(&[T::F32, T::I32, T::F64]), [Some(T::F64), Some(T::F32)]);
        assert_eq!(among(&[T::BOOL, T::F64]), [Some(T::F64), Some(T::F32)]);
        for (linked, ty) in [
            ([T::I64, T::F32], T::F64),
            ([T::I64, T::F64], T::F64),
            ([T::I32, T::F32], T::F32),
            ([T::I32, T::I64], T::I64),
            ([T::BOOL, T::I32], T::I32),
            ([T::BOOL, T::F32], T::F32),
            ([T::I32, T::VEC2], T::VEC2),
            ([T::F32, T::VEC4], T::VEC4),
        ] {
            assert_eq!(among(&linked), [Some(ty); 2], "{linked:?}");
        }
        assert_eq!(among(&[T::F64, T::VEC3]), [None; 2]);
        let wide_and_vector = [T::F64, T::VEC3].map(|ty| (0, InputFact::Linked(ty)));
        let errors = add().resolve(&wide_and_vector).expect_err("an f64 does not fit a vector");
        assert!(format!("{errors:?}").contains("makes an f64 fit a vector"), "{errors:?}");
        assert_eq!(both(&[T::F32, T::VEC3], &[T::F64, T::F32]), [Some(T::F32); 2], "demanded");
        let colors: &[Type] = &[T::F32, T::VEC3, T::COLOR];
        assert_eq!(both(colors, &[T::VEC3, T::COLOR]), [Some(T::COLOR), Some(T::VEC3)]);
    }

    #[test]
    fn literals_adapt_to_links_and_decide_alone() {
        use InputFact::{Linked, Literal};
        let two = Json::from(2);
        let point = serde_json::json!([1, 2, 3]);
        assert_eq!(resolved(&[Linked(Type::I32), Literal(&two)]), Some(Type::I32));
        assert_eq!(resolved(&[Literal(&two), Literal(&two)]), Some(Type::F32));
        assert_eq!(resolved(&[Literal(&two), Literal(&point)]), Some(Type::VEC3));
        assert_eq!(resolved(&[]), Some(Type::F32));
    }
}
