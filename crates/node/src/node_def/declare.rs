//! What node types declare about callbacks: the context that they read, lazy inputs, state, outputs
//! with needs of their own, and costs.

use std::sync::Arc;
use std::time::Duration;

use millstream_base::{Feature, Need};
use millstream_form::{FormBuilder, Val};

use super::callback::{CallbackContext, Stop};
use super::{Maker, NodeDef};
use crate::scope::ScopeRule;
use crate::settings::{SettingKind, SettingValue};
use crate::signature::{Signature, SocketType};

impl NodeDef {
    /// Declares that exchanging the first two inputs changes no bit. Most forms show it themselves.
    pub fn commutes(mut self) -> Self {
        self.commutes = true;
        self
    }

    /// Sets the kernel to a callback, which computes one element at a time through the context that
    /// it receives. It must be pure: equal values read give equal results.
    ///
    /// Registering the node type completes it.
    ///
    /// ```
    /// use millstream_base::{Feature, Type};
    /// use millstream_node::NodeDef;
    ///
    /// let def = NodeDef::new("my.wave", "A wave over time")
    ///     .input_or("speed", Type::F64, 1.0, "turns per second")
    ///     .reads(Feature::Time)
    ///     .output("value", Type::F64, "between -1 and 1")
    ///     .callback(|cx| {
    ///         let turns = cx.feature::<f64>(Feature::Time)? * cx.get::<f64>("speed")?;
    ///         cx.set("value", (turns * std::f64::consts::TAU).sin())
    ///     });
    /// # millstream_node::Registry::new().register(def);
    /// ```
    pub fn callback(
        mut self,
        run: impl Fn(&mut CallbackContext<'_>) -> Result<(), Stop> + Send + Sync + 'static,
    ) -> Self {
        self.kernel = Maker::Callback(Arc::new(run));
        self
    }

    /// Declares that the callback reads a feature, such as `Feature::Time`, or another part of the
    /// context, such as `Need::extent(Feature::Index, 0)`.
    pub fn reads(mut self, need: impl Into<Need>) -> Self {
        let need = need.into();
        if !self.reads.contains(&need) {
            self.reads.push(need);
        }
        self
    }

    /// Makes the last added input lazy: it is computed only for the elements for which the callback
    /// asks for it or the [selector](Self::selector) names it.
    pub fn lazy(mut self) -> Self {
        self.last_input().lazy = true;
        self
    }

    /// Declares how the lazy inputs follow from the other inputs: the closure returns the names of
    /// those that the callback will read. They are computed at once, and the callback runs only
    /// once more. Without a selector the callback asks for them one by one.
    pub fn selector(
        mut self,
        select: impl Fn(&mut CallbackContext<'_>) -> Result<&'static [&'static str], Stop>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.select = Some(Arc::new(select));
        self
    }

    /// Declares a state variable of the callback.
    pub fn keeps(mut self, name: &'static str, ty: impl Into<SocketType>) -> Self {
        self.kept.push((name, ty.into()));
        self
    }

    /// Declares that the last added output depends on these inputs only, so that links from the
    /// output back to another input form no cycle. Outputs with different needs are computed by
    /// separate runs, which share no work.
    pub fn needs(mut self, inputs: &'static [&'static str]) -> Self {
        let output = self.fixed().outputs.last_mut().expect("an output was added before");
        output.needs = Some(inputs);
        self
    }

    /// States the estimated time for one element, for evaluators that choose a strategy or divide
    /// the work. Without an estimate a function counts as cheap until a run was timed.
    pub fn cost(mut self, per_element: Duration) -> Self {
        self.cost = Some(per_element);
        self
    }

    /// Adds a setting that is a finite number.
    pub fn number(self, name: &'static str, default: f64, about: &'static str) -> Self {
        let default = SettingValue::Number(default);
        self.setting(name, SettingKind::Number, Some(default), about)
    }

    /// Evaluates the last added input with level 0 of a feature set to the value of another input,
    /// which was added before.
    ///
    /// # Panics
    /// If there is no such input.
    pub fn injects(self, feature: Feature, value: &str) -> Self {
        let value = self.position_of(value);
        self.scope(ScopeRule::Inject { feature, value })
    }

    /// Evaluates the last added input once per cell. Another input, which was added before, gives
    /// the number of cells. In cell `i` the feature, of type `i32`, is `i`. The node receives a
    /// list.
    ///
    /// # Panics
    /// If there is no such input.
    pub fn each(self, feature: Feature, count: &str) -> Self {
        let count = self.position_of(count);
        self.scope(ScopeRule::Each { feature, count })
    }

    /// Evaluates the last added input with level 0 of a feature changed. The closure takes the
    /// lanes of the feature, followed by those of the other inputs that are named, and returns the
    /// new lanes of the feature.
    ///
    /// # Panics
    /// If one of the inputs was not added before, or the feature or an input does not consist of
    /// numbers of a fixed type.
    pub fn modifies<F>(self, feature: Feature, args: &[&str], change: F) -> Self
    where
        F: for<'b> Fn(&[Val<'b>]) -> Vec<Val<'b>>,
    {
        let args: Vec<u16> = args.iter().map(|name| self.position_of(name)).collect();
        let b = FormBuilder::new();
        let of_args = args.iter().map(|arg| match self.sockets_so_far().inputs[*arg as usize].ty {
            SocketType::Exact(ty) => ty,
            SocketType::Generic(_) | SocketType::ListOf(_) | SocketType::Made => {
                panic!("the types of what changes a feature are fixed")
            }
        });
        let mut lanes = Vec::new();
        for ty in std::iter::once(feature.ty()).chain(of_args) {
            let (lane, n) = ty.lanes().expect("features that are changed consist of numbers");
            lanes.extend((0..n).map(|_| b.param(lane)));
        }
        let results = change(&lanes);
        let n = feature.ty().lanes().map(|(_, n)| n as usize);
        assert_eq!(n, Some(results.len()), "a changed feature has as many lanes as before");
        let form = Arc::new(b.finish(&results));
        self.scope(ScopeRule::Modify { feature, form, args })
    }

    /// The sockets of a definition that was made only to describe them; see
    /// [`sockets_by_settings`](Self::sockets_by_settings).
    ///
    /// # Panics
    /// If they depend on settings.
    pub fn into_signature(mut self) -> Signature {
        std::mem::take(self.fixed())
    }

    fn position_of(&self, input: &str) -> u16 {
        let at = self.sockets_so_far().input(input);
        at.unwrap_or_else(|| panic!("`{}` has no input `{input}` so far", self.name)) as u16
    }

    fn sockets_so_far(&self) -> &Signature {
        self.fixed_signature().expect("sockets that depend on settings replace fixed ones")
    }
}
