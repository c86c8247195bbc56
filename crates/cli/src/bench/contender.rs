//! The evaluators that are compared.

use std::num::NonZeroUsize;

use clap::ValueEnum;
use millstream::evaluate::AnyEvaluator;
use millstream::{Answer, EvalError, Program, Request};
use serde_json::{Value as Json, json};

use crate::evaluators::EvaluatorName;
use crate::outcome::{Exit, Stop};
use crate::request::refused;
use crate::terminal::{self, eprint, visible};

/// An evaluator under test.
pub(super) struct Contender {
    pub(super) evaluator: AnyEvaluator,
    /// The times of its evaluations in seconds.
    pub(super) seconds: Vec<f64>,
}

/// The evaluators under test, and those that cannot take part, with the reason.
pub(super) struct Field {
    pub(super) contenders: Vec<Contender>,
    left_out: Vec<(&'static str, String)>,
}

impl Contender {
    fn new(name: EvaluatorName, threads: NonZeroUsize) -> Self {
        Self { evaluator: name.evaluator(Some(threads)), seconds: Vec::new() }
    }

    pub(super) fn name(&self) -> &'static str {
        self.evaluator.name()
    }

    /// Hands the inputs of a request to the evaluator without asking for an answer. State advances
    /// only in evaluations.
    pub(super) fn commit(&mut self, program: &Program, request: &Request) -> Result<(), EvalError> {
        let plan = program.plan();
        if plan.has_states() { Ok(()) } else { self.evaluator.commit(plan, request) }
    }

    pub(super) fn answer(&mut self, program: &Program, request: &Request) -> Result<Answer, Stop> {
        let answer = program.run_with(&mut *self.evaluator, request);
        answer.map_err(|error| refused(&error))
    }
}

/// The answer, or an error if a node failed.
pub(super) fn complete(answer: Answer) -> Result<Answer, Stop> {
    match answer.failures.first() {
        Some(failure) => Err(Stop::new(Exit::Failed, failure.to_string(), failure.help.clone())),
        None => Ok(answer),
    }
}

impl Field {
    /// The named evaluators, or all that support the request; `chunked` also runs on one thread.
    /// Each one evaluates once.
    pub(super) fn of(
        names: &[EvaluatorName],
        threads: NonZeroUsize,
        program: &Program,
        request: &Request,
    ) -> Result<Self, Stop> {
        let is_named = !names.is_empty();
        let names = if is_named { names } else { EvaluatorName::value_variants() };
        let mut field = Self { contenders: Vec::new(), left_out: Vec::new() };
        for name in names {
            let is_chunked = name.text() == "chunked" && threads > NonZeroUsize::MIN;
            let alone = is_chunked.then_some(NonZeroUsize::MIN);
            for threads in alone.into_iter().chain([threads]) {
                let mut contender = Contender::new(*name, threads);
                match program.run_with(&mut *contender.evaluator, request) {
                    Ok(answer) => {
                        contender.evaluator.give_back(complete(answer)?);
                        field.contenders.push(contender);
                    }
                    Err(EvalError::Unfit { why, .. }) if !is_named => {
                        field.left_out.push((contender.name(), why));
                    }
                    Err(error) => return Err(refused(&error)),
                }
            }
        }
        Ok(field)
    }

    /// Reports which evaluators are left out, and why.
    pub(super) fn report_left_out(&self) {
        let style = terminal::of_stderr();
        let mut n_reported = 0;
        while let Some((_, why)) = self.left_out.get(n_reported) {
            let rest = &self.left_out[n_reported..];
            let alike = rest.iter().take_while(|(_, other)| other == why);
            let names: Vec<&str> = alike.map(|(name, _)| *name).collect();
            n_reported += names.len();
            let verb = if names.len() == 1 { "takes" } else { "take" };
            let note = style.strong("note:");
            let names = names.join(", ");
            let why = match why.strip_prefix("it supports") {
                Some(what) if verb == "take" => format!("they support{what}"),
                _ => why.clone(),
            };
            eprint(&format!("{note} {names} {verb} no part: {}\n", visible(&why)));
        }
    }

    pub(super) fn left_out_json(&self) -> Json {
        let left_out = self.left_out.iter();
        left_out.map(|(name, why)| json!({ "evaluator": name, "why": why })).collect()
    }
}
