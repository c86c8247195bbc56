//! A compiled document.

use std::sync::Arc;

use millstream_base::diagnostics::Diagnostics;
use millstream_base::feature::Need;
use millstream_document::Document;
use millstream_eval::Lazy;
use millstream_ir::{Answer, EvalError, Evaluator, GraphInput, Plan, Request};

/// A compiled document. Programs are immutable; several threads may run one at the same time.
#[derive(Clone, Debug)]
pub struct Program {
    document: Arc<Document>,
    plan: Arc<Plan>,
    warnings: Arc<Diagnostics>,
}

impl Program {
    pub(crate) fn new(document: Document, plan: Plan, warnings: Diagnostics) -> Self {
        Self { document: Arc::new(document), plan: Arc::new(plan), warnings: Arc::new(warnings) }
    }

    /// Evaluates what the request asks for.
    ///
    /// A node that fails leaves the outputs that depend on it without value, see
    /// [`Answer::failures`]; the others are valid.
    ///
    /// # Errors
    /// If the request does not fit, or the evaluation was cancelled or exceeded its budget.
    pub fn run(&self, request: &Request) -> Result<Answer, EvalError> {
        self.run_with(&Lazy, request)
    }

    /// Evaluates with a certain evaluator; all give the same bits.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_with(
        &self,
        evaluator: &dyn Evaluator,
        request: &Request,
    ) -> Result<Answer, EvalError> {
        evaluator.evaluate(&self.plan, request)
    }

    /// The document.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What is probably not meant.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// The inputs with types and defaults.
    pub fn inputs(&self) -> &[GraphInput] {
        self.plan.inputs.as_slice()
    }

    /// Context features that a request has to provide.
    pub fn needs(&self) -> impl Iterator<Item = &Need> {
        self.plan.required()
    }
}
