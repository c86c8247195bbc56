//! The types of the terms of an expression, which follow from those of its inputs.
//!
//! Numbers that are combined have the same type, see `islands`.

use std::sync::Arc;

use millstream_base::{Lane, Type};
use millstream_node::convert::convertible;
use millstream_node::signature::{InputFact, TypeError};
use millstream_node::{Among, Instance, NodeDef, Signature, SocketType};
use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use super::functions::{FUNCTIONS, Function, Takes, Typing};
use super::hints;
use super::islands::Islands;
use super::library::{Library, default_settings};
use super::{Binary, Expression, SyntaxError, Term, TermId, Unary};

/// The kind of a term's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Truth,
    /// A number, or a vector of this many.
    Number(u8),
    Other(Type),
    /// All outputs of a node, one of which must be chosen.
    Outputs,
}

/// The types of all terms.
pub(super) struct Types {
    kinds: Vec<Kind>,
    lanes: Vec<Lane>,
    /// The instances of functions whose types are given by their sockets.
    pub(super) instances: FxHashMap<TermId, Arc<Instance>>,
}

impl Types {
    pub(super) fn of(&self, term: TermId) -> Type {
        match self.kinds[term.0 as usize] {
            Kind::Truth => Type::BOOL,
            Kind::Number(n) => number_type(self.lane(term), n),
            Kind::Other(ty) => ty,
            Kind::Outputs => unreachable!("one of several outputs is chosen"),
        }
    }

    /// The lane of a term's numbers and of those it is combined with.
    pub(super) fn lane(&self, term: TermId) -> Lane {
        self.lanes[term.0 as usize]
    }
}

/// The type of a number, or of a vector of `n` numbers.
pub(super) fn number_type(lane: Lane, n: u8) -> Type {
    match (n, lane) {
        (2, _) => Type::VEC2,
        (3, _) => Type::VEC3,
        (4, _) => Type::VEC4,
        (_, Lane::Bool) => Type::BOOL,
        (_, Lane::I32) => Type::I32,
        (_, Lane::I64) => Type::I64,
        (_, Lane::F32) => Type::F32,
        (_, Lane::F64) => Type::F64,
    }
}

/// The kind of values of a type.
fn kind_of(ty: Type) -> Kind {
    match ty.lanes().filter(|_| Type::NUMERIC.contains(&ty)) {
        Some((Lane::Bool, _)) => Kind::Truth,
        Some((_, n)) => Kind::Number(n),
        None => Kind::Other(ty),
    }
}

/// Whether this is a vector type.
pub(super) fn is_vector(ty: Type) -> bool {
    matches!(kind_of(ty), Kind::Number(n) if n > 1)
}

/// The vector type used in place of a color.
pub(super) fn vector(ty: Type) -> Type {
    if ty == Type::COLOR { Type::VEC3 } else { ty }
}

/// Whether a value can be passed where a type is wanted: by a conversion, or by repeating it after
/// one.
pub(super) fn fits(from: Type, to: Type) -> bool {
    convertible(from, to) || is_vector(to) && convertible(from, Type::F64)
}

/// The types of the terms of an expression.
///
/// # Errors
/// The first term that cannot be computed from its operands.
pub(super) fn types_of(
    expression: &Expression,
    inputs: &[Type],
    library: &Library,
) -> Result<Types, SyntaxError> {
    let n_terms = expression.terms.len();
    let mut typer = Typer {
        expression,
        library,
        kinds: Vec::with_capacity(n_terms),
        islands: Islands::new(n_terms, inputs),
        instances: FxHashMap::default(),
    };
    for (at, term) in expression.terms.iter().enumerate() {
        let kind = typer.kind(TermId(at as u32), term, inputs)?;
        typer.kinds.push(kind);
    }
    typer.value(TermId(n_terms as u32 - 1))?;
    let Typer { kinds, mut islands, instances, .. } = typer;
    let lanes = (0..n_terms as u32).map(|at| islands.lane(TermId(at))).collect();
    Ok(Types { kinds, lanes, instances })
}

struct Typer<'e> {
    expression: &'e Expression,
    library: &'e Library,
    kinds: Vec<Kind>,
    islands: Islands,
    instances: FxHashMap<TermId, Arc<Instance>>,
}

impl Typer<'_> {
    fn kind(&mut self, at: TermId, term: &Term, inputs: &[Type]) -> Result<Kind, SyntaxError> {
        match term {
            Term::Number(number) => {
                self.islands.written(at, *number);
                Ok(Kind::Number(1))
            }
            Term::Truth(_) => Ok(Kind::Truth),
            Term::Input(input) => Ok(self.comes_in(at, inputs[*input as usize])),
            Term::Unary(Unary::Negate, x) => self.alike(at, &[*x]),
            Term::Unary(Unary::Not, x) => self.condition(*x).map(|()| Kind::Truth),
            Term::Binary(Binary::And | Binary::Or, x, y) => {
                self.condition(*x)?;
                self.condition(*y)?;
                Ok(Kind::Truth)
            }
            Term::Binary(binary, x, y) if binary.is_comparison() => {
                self.comparison(at, *binary, *x, *y)
            }
            Term::Binary(binary, x, y) => {
                let is_sum = matches!(binary, Binary::Add | Binary::Subtract);
                self.islands.demand(at).is_scaled |= !is_sum;
                self.alike(at, &[*x, *y])
            }
            Term::Choose(condition, yes, no) => {
                self.condition(*condition)?;
                match (self.value(*yes)?, self.value(*no)?) {
                    (Kind::Truth, Kind::Truth) => Ok(Kind::Truth),
                    (Kind::Other(a), Kind::Other(b)) if a == b => Ok(Kind::Other(a)),
                    _ => self.alike(at, &[*yes, *no]),
                }
            }
            Term::Call(function, args) => self.function(at, &FUNCTIONS[*function as usize], args),
            Term::Node(node, args) => self.node(at, *node, args),
            Term::Member(x, name) => self.member(at, *x, name),
        }
    }

    /// The kind of a term whose value comes from outside.
    fn comes_in(&mut self, at: TermId, ty: Type) -> Kind {
        let kind = kind_of(ty);
        if let (Kind::Number(_) | Kind::Truth, Some((lane, _))) = (kind, ty.lanes()) {
            self.islands.comes_in(at, lane);
        }
        kind
    }

    fn error(&self, term: TermId, message: impl Into<String>) -> SyntaxError {
        SyntaxError::new(message, self.expression.ranges[term.0 as usize].clone())
    }

    /// A description of a term for messages, with its article.
    fn described(&mut self, term: TermId) -> String {
        match self.kinds[term.0 as usize] {
            Kind::Truth => "a truth value".into(),
            Kind::Number(1) => "a number".into(),
            Kind::Number(n) => number_type(Lane::F32, n).with_article(),
            Kind::Other(ty) => ty.with_article(),
            Kind::Outputs => "several values".into(),
        }
    }

    /// The kind of a term that must be a single value.
    fn value(&self, term: TermId) -> Result<Kind, SyntaxError> {
        match self.kinds[term.0 as usize] {
            Kind::Outputs => {
                let outputs = self.instances[&term].output_names.join(", ");
                let error = self.error(term, "the node has several outputs");
                Err(error.hint(format!("choose one with a dot after the call: {outputs}")))
            }
            kind => Ok(kind),
        }
    }

    /// The number of numbers in a term used in arithmetic; a truth value counts as one.
    fn number(&mut self, term: TermId) -> Result<u8, SyntaxError> {
        match self.value(term)? {
            Kind::Truth => Ok(1),
            Kind::Number(n) => Ok(n),
            Kind::Other(ty) if ty == Type::COLOR => {
                self.islands.comes_in(term, Lane::F32);
                Ok(3)
            }
            Kind::Other(_) | Kind::Outputs => {
                let message = format!("{} is not a number or vector", self.described(term));
                let error = self.error(term, message);
                Err(match self.kinds[term.0 as usize] {
                    Kind::Other(ty) => error.hint(hints::as_number(ty)),
                    _ => error,
                })
            }
        }
    }

    fn condition(&self, term: TermId) -> Result<(), SyntaxError> {
        match self.value(term)? {
            Kind::Truth | Kind::Number(1) => Ok(()),
            Kind::Number(_) | Kind::Other(_) | Kind::Outputs => Err(self
                .error(term, "a condition is a truth value or a number")
                .hint("compare it, such as `v == w` or `length(v) > 0`")),
        }
    }

    /// A term of the same type as its operands; numbers are repeated for vectors.
    fn alike(&mut self, at: TermId, operands: &[TermId]) -> Result<Kind, SyntaxError> {
        let mut most = 1;
        for operand in operands {
            let n = self.number(*operand)?;
            if n != 1 && most != 1 && n != most {
                let (a, b) = (number_type(Lane::F32, most), number_type(Lane::F32, n));
                return Err(self
                    .error(
                        at,
                        format!("{} and {} cannot be combined", a.with_article(), b.with_article()),
                    )
                    .hint("choose equally many components of both, such as `v.xy`"));
            }
            most = most.max(n);
            self.islands.join(at, *operand);
        }
        Ok(Kind::Number(most))
    }

    fn comparison(
        &mut self,
        at: TermId,
        binary: Binary,
        x: TermId,
        y: TermId,
    ) -> Result<Kind, SyntaxError> {
        let both = (self.value(x)?, self.value(y)?);
        match both {
            (Kind::Truth, Kind::Truth) if binary.is_equality() => return Ok(Kind::Truth),
            (Kind::Other(a), Kind::Other(b)) if binary.is_equality() && a == b => {
                if [Type::COLOR, Type::QUAT, Type::MAT4].contains(&a) {
                    return Ok(Kind::Truth);
                }
                let error = self.error(at, format!("{} cannot be compared", a.with_article()));
                return Err(error.hint(hints::comparison(a)));
            }
            _ => {}
        }
        // The compared numbers have one type, but the result has another.
        let (n, m) = (self.number(x)?, self.number(y)?);
        if n.max(m) > 1 && !binary.is_equality() {
            return Err(self
                .error(at, "vectors have no order")
                .hint("compare components or lengths: `v.x < w.x`, `length(v) < 1`"));
        }
        if n > 1 && m > 1 && n != m {
            return Err(self
                .error(at, "vectors of different sizes cannot be compared")
                .hint("choose equally many components of both, such as `v.xy`"));
        }
        self.islands.join(x, y);
        Ok(Kind::Truth)
    }

    fn function(
        &mut self,
        at: TermId,
        function: &Function,
        args: &[TermId],
    ) -> Result<Kind, SyntaxError> {
        match function.typing {
            Typing::Alike(takes) => {
                self.islands.demand(at).is_fractional |= takes == Takes::Floats;
                self.alike(at, args)
            }
            Typing::Folded => self.alike(at, args),
            Typing::Mixed => {
                let factor = args[args.len() - 1];
                if self.number(factor)? != 1 {
                    let message = format!("the factor of `{}` is a single number", function.name);
                    return Err(self
                        .error(factor, message)
                        .hint("`a + (b - a) * f` mixes each component by its own factor"));
                }
                self.islands.demand(factor).is_fractional = true;
                self.islands.demand(at).is_fractional = true;
                self.alike(at, &args[..args.len() - 1])
            }
            Typing::Test => {
                self.number(args[0])?;
                self.islands.demand(args[0]).is_fractional = true;
                Ok(Kind::Truth)
            }
            Typing::Conversion(ty) => {
                if self.number(args[0])? != 1 {
                    let name = function.name;
                    return Err(self
                        .error(args[0], format!("`{name}` takes a single number"))
                        .hint(format!("convert one component, such as `{name}(v.x)`")));
                }
                Ok(self.comes_in(at, ty))
            }
            Typing::Components(ty) => self.components(at, function, ty, args),
            Typing::Sockets => {
                let def = Arc::clone(self.library.def(function.node));
                let args: Vec<(Option<&str>, TermId)> =
                    args.iter().map(|arg| (None, *arg)).collect();
                self.call(at, &def, &args)
            }
        }
    }

    fn components(
        &mut self,
        at: TermId,
        function: &Function,
        ty: Type,
        args: &[TermId],
    ) -> Result<Kind, SyntaxError> {
        let mut n_given = 0;
        for arg in args {
            n_given += self.number(*arg)?;
            self.islands.demand(*arg).is_fractional = true;
        }
        let most = function.arity.1 as u8;
        let is_repeated = n_given == 1 && ty != Type::COLOR;
        let is_opaque = n_given == 3 && ty == Type::COLOR;
        if n_given != most && !is_repeated && !is_opaque {
            let takes = if ty == Type::COLOR { "3 or 4".into() } else { most.to_string() };
            let name = function.name;
            let message = format!("`{name}` takes {takes} components, not {n_given}");
            let hint = if n_given > most {
                "choose some of the components, such as `v.xy`".into()
            } else if ty == Type::COLOR {
                "write red, green and blue, and alpha if it is not 1".into()
            } else {
                format!("write all {most}, or one number for all of them")
            };
            return Err(self.error(at, message).hint(hint));
        }
        Ok(self.comes_in(at, ty))
    }

    fn member(&mut self, at: TermId, x: TermId, name: &str) -> Result<Kind, SyntaxError> {
        if let Kind::Outputs = self.kinds[x.0 as usize] {
            let instance = Arc::clone(&self.instances[&x]);
            let found = instance.output_names.iter().position(|output| **output == *name);
            let Some(output) = found else {
                let outputs = instance.output_names.join(", ");
                let error = self.error(at, format!("the node has no output `{name}`"));
                return Err(error.hint(format!("its outputs: {outputs}")));
            };
            return Ok(self.comes_in(at, instance.outputs[output].ty));
        }
        let n = match self.value(x)? {
            Kind::Number(n) if n > 1 => n,
            Kind::Other(ty) if ty == Type::COLOR => 4,
            kind @ (Kind::Number(_) | Kind::Truth | Kind::Other(_) | Kind::Outputs) => {
                let message = format!("{} has no component `{name}`", self.described(x));
                let hint = match kind {
                    Kind::Other(ty) if ty == Type::QUAT => {
                        "`quat.separate` gives the components of a rotation".into()
                    }
                    Kind::Other(ty) => hints::as_number(ty),
                    Kind::Number(_) | Kind::Truth | Kind::Outputs => hints::components(1, false),
                };
                return Err(self.error(at, message).hint(hint));
            }
        };
        let Some(positions) = components_named(name) else {
            let message = format!("`{name}` does not name components");
            return Err(self
                .error(at, message)
                .hint("write one to four of the letters x, y, z and w, or r, g, b and a"));
        };
        let is_color = matches!(self.kinds[x.0 as usize], Kind::Other(_));
        if positions.iter().any(|at| *at >= usize::from(n)) {
            let message = format!("{} has no component `{name}`", self.described(x));
            return Err(self.error(at, message).hint(hints::components(n, is_color)));
        }
        if is_color && positions.len() > 1 && positions.contains(&3) {
            let error = self.error(at, "alpha is not part of a vector of channels");
            return Err(error.hint("write `c.a` for alpha and `c.rgb` for the channels"));
        }
        let ty = number_type(Lane::F32, positions.len() as u8);
        Ok(self.comes_in(at, ty))
    }

    fn node(
        &mut self,
        at: TermId,
        node: u32,
        args: &[(Option<Arc<str>>, TermId)],
    ) -> Result<Kind, SyntaxError> {
        let name = &self.expression.nodes[node as usize];
        let def = match self.library.find(name) {
            Ok(def) => Arc::clone(def),
            Err((message, hint)) => return Err(self.error(at, message).hint(hint)),
        };
        let args: Vec<(Option<&str>, TermId)> =
            args.iter().map(|(name, arg)| (name.as_deref(), *arg)).collect();
        self.call(at, &def, &args)
    }

    /// Whether a term is a literal that this integer type can hold.
    fn is_whole_literal(&self, at: TermId, ty: Type) -> bool {
        let term = &self.expression.terms[at.0 as usize];
        matches!(term, Term::Number(number) if number.is_whole(ty))
    }

    /// A call of a node type, whose sockets determine the types.
    fn call(
        &mut self,
        at: TermId,
        def: &Arc<NodeDef>,
        args: &[(Option<&str>, TermId)],
    ) -> Result<Kind, SyntaxError> {
        let Some(settings) = default_settings(def) else {
            let message = format!("`{}` has settings that must be written", def.name);
            return Err(self.error(at, message).hint("use a separate node and link it"));
        };
        let signature = def.signature(&settings).map_err(|error| {
            self.error(at, error.to_string()).hint("use a separate node and link it")
        })?;
        let sockets = self.sockets(at, &signature, args)?;
        let mut json: Vec<Option<Json>> = Vec::with_capacity(args.len());
        let mut linked: Vec<Type> = Vec::with_capacity(args.len());
        for (socket, (_, arg)) in sockets.iter().zip(args) {
            let kind = self.value(*arg)?;
            if let Kind::Number(_) = kind {
                self.islands.demand(*arg).is_fractional |= takes_no_integers(&signature, *socket);
            }
            json.push(match &self.expression.terms[arg.0 as usize] {
                Term::Number(number) => Some(Json::from(number.value)),
                _ => None,
            });
            linked.push(match kind {
                Kind::Truth => Type::BOOL,
                Kind::Number(n) => number_type(self.islands.lane(*arg), n),
                Kind::Other(ty) => ty,
                Kind::Outputs => unreachable!("it is one value"),
            });
        }
        let generics = resolved(&signature, &sockets, &json, &linked).map_err(|errors| {
            let error = self.error(at, errors[0].to_string());
            error.hint(format!("`millstream nodes {}` lists its types", def.name))
        })?;
        for (i, socket) in signature.inputs.iter().enumerate() {
            let Ok(to) = socket.ty.resolve(&generics) else { continue };
            let given = sockets.iter().position(|it| *it == i);
            match given {
                // If no input that determines the type is a vector.
                Some(k) if is_vector(to) && !linked.iter().any(|ty| is_vector(vector(*ty))) => {
                    let (arg, from) = (args[k].1, linked[k].with_article());
                    let of = format!("`{}` of `{}`", socket.name, def.name);
                    return Err(self
                        .error(arg, format!("{of} takes a vector, not {from}"))
                        .hint(hints::conversion(linked[k], Type::VEC3)));
                }
                Some(k) if !fits(linked[k], to) && !self.is_whole_literal(args[k].1, to) => {
                    let (arg, from) = (args[k].1, linked[k].with_article());
                    let message = format!(
                        "`{}` of `{}` takes {}, not {from}",
                        socket.name,
                        def.name,
                        to.with_article()
                    );
                    return Err(self.error(arg, message).hint(hints::conversion(linked[k], to)));
                }
                Some(_) => {}
                None if socket.default.value(to).is_none() => {
                    let name = &socket.name;
                    return Err(self
                        .error(at, format!("`{name}` of `{}` is missing", def.name))
                        .hint(format!("write it after the others, or as `{name}: ...`")));
                }
                None => {}
            }
        }
        let Some(instance) = self.library.made(def, &generics, "") else {
            return Err(self
                .error(at, format!("`{}` does not take these types", def.name))
                .hint(format!("`millstream nodes {}` lists its types", def.name)));
        };
        let kind = match &instance.outputs[..] {
            [one] => self.comes_in(at, one.ty),
            _ => Kind::Outputs,
        };
        self.instances.insert(at, instance);
        Ok(kind)
    }

    /// The socket of each argument.
    fn sockets(
        &self,
        at: TermId,
        signature: &Signature,
        args: &[(Option<&str>, TermId)],
    ) -> Result<Vec<usize>, SyntaxError> {
        let mut sockets: Vec<usize> = Vec::with_capacity(args.len());
        let known = || {
            let names: Vec<&str> = signature.inputs.iter().map(|socket| &*socket.name).collect();
            if names.is_empty() {
                "it has no inputs".into()
            } else {
                format!("its inputs: {}", names.join(", "))
            }
        };
        for (i, (name, arg)) in args.iter().enumerate() {
            let socket = match name {
                Some(name) => signature.input(name).ok_or_else(|| {
                    self.error(*arg, format!("there is no input `{name}`")).hint(known())
                })?,
                None if i < signature.inputs.len() => i,
                None => {
                    return Err(self
                        .error(at, format!("too many arguments ({})", args.len()))
                        .hint(known()));
                }
            };
            if sockets.contains(&socket) {
                let name = &signature.inputs[socket].name;
                return Err(self
                    .error(*arg, format!("the input `{name}` is given twice"))
                    .hint("leave one of the two out"));
            }
            sockets.push(socket);
        }
        Ok(sockets)
    }
}

/// The generic types of a called node type, given the type of each argument, and its value if it is
/// a number.
fn resolved(
    signature: &Signature,
    sockets: &[usize],
    numbers: &[Option<Json>],
    linked: &[Type],
) -> Result<Vec<Type>, Vec<TypeError>> {
    let facts = numbers
        .iter()
        .zip(linked)
        .map(|(number, ty)| number.as_ref().map_or(InputFact::Linked(*ty), InputFact::Literal));
    let generics = signature.resolve(&sockets.iter().copied().zip(facts).collect::<Vec<_>>())?;
    let is_truth = |(socket, number): (&usize, &Option<Json>)| {
        number.is_some()
            && matches!(signature.inputs[*socket].ty, SocketType::Generic(g)
                if generics[usize::from(g)] == Type::BOOL)
    };
    if !sockets.iter().zip(numbers).any(is_truth) {
        return Ok(generics);
    }
    // A truth value beside a number is one, as in `c ? 1 : d`.
    let facts = sockets.iter().zip(linked).map(|(at, ty)| (*at, InputFact::Linked(*ty)));
    signature.resolve(&facts.collect::<Vec<_>>())
}

/// Whether a number for this socket must have a fraction.
fn takes_no_integers(signature: &Signature, socket: usize) -> bool {
    match signature.inputs[socket].ty {
        SocketType::Exact(ty) => [Type::F32, Type::F64].contains(&ty) || is_vector(ty),
        SocketType::Generic(g) => match signature.generics[g as usize].among {
            Among::These(types) => !types.contains(&Type::I32) && !types.contains(&Type::I64),
            Among::Any | Among::AnyOr(_) | Among::Own => false,
        },
        SocketType::ListOf(_) | SocketType::Made => false,
    }
}

/// The positions of components that a name lists: `zyx`, or `rgb`.
pub(super) fn components_named(name: &str) -> Option<Vec<usize>> {
    let all = |letters: &str| -> Option<Vec<usize>> {
        name.chars().map(|letter| letters.find(letter)).collect()
    };
    let positions = all("xyzw").or_else(|| all("rgba"))?;
    matches!(positions.len(), 1..=4).then_some(positions)
}
