//! Whether an output can be computed region by region of the requested view.
//!
//! Nodes declare how they use the region ([`RegionUse`]). A node that reads all of an image forbids
//! regions, if the image depends on the view at all. A node that reads an image at the pixel's own
//! position, or places it on another view, forbids them unless the image is known to cover the
//! requested region. That is unknown if a scope of another node than an image node changes the view
//! or the position.

use millstream_base::Feature;
use millstream_base::feature::Aspect;
use millstream_base::{Image, Type};
use millstream_ir::plan::{StepId, StepOp, StepSource};
use millstream_ir::trace::paths_of;
use millstream_ir::{Plan, Step};
use millstream_node::{Instance, Kernel, RegionUse, ScopeRule};

use crate::program::Program;

impl Program {
    /// The path of a node that makes an output read the whole of the requested view; `None` if its
    /// images can be computed region by region, with the bits of the whole (see
    /// [`in_tiles`](Self::in_tiles)).
    pub fn whole_view_node(&self, output: &str) -> Option<String> {
        let plan = self.plan();
        let output = plan.outputs.iter().find(|known| *known.name == *output)?;
        let search = Search::new(plan, output.source.step);
        let step = search.steps.iter().copied().find(|step| search.needs_whole(*step))?;
        paths_of(plan, &[step]).pop()
    }

    /// Whether an output is an image whose pixels do not depend on the requested view, such as a
    /// photo with changed colors. Its colors may depend on the view.
    pub fn has_own_pixels(&self, output: &str) -> bool {
        let plan = self.plan();
        let output = plan.outputs.iter().find(|known| *known.name == *output);
        output.is_some_and(|output| {
            let step = output.source.step;
            output.ty == Type::of::<Image>() && Search::new(plan, step).has_own_pixels(step)
        })
    }
}

struct Search<'p> {
    plan: &'p Plan,
    /// The steps that the output depends on, each before its sources.
    steps: Vec<StepId>,
    /// Whether only image nodes change views and positions.
    is_plain: bool,
}

impl<'p> Search<'p> {
    fn new(plan: &'p Plan, output: StepId) -> Self {
        let upstream = plan.steps_upstream_of(std::iter::once(output));
        let steps = upstream.iter().rev().filter(|(_, is_upstream)| **is_upstream);
        let steps: Vec<StepId> = steps.map(|(id, _)| id).collect();
        let mut search = Self { plan, steps, is_plain: true };
        search.is_plain = search.steps.iter().all(|step| search.changes_plainly(*step));
        search
    }

    fn call(&self, step: StepId) -> Option<(&'p Instance, &'p [StepSource])> {
        let step: &Step = &self.plan.steps[step];
        match step.op {
            StepOp::Call(instance) => {
                Some((&self.plan.instances[instance], self.plan.inputs_of(step)))
            }
            StepOp::Const(_) | StepOp::Input(_) => None,
        }
    }

    fn use_of(&self, step: StepId) -> RegionUse {
        let of = |(call, _): (&Instance, _)| (call.def.region_use)(&call.settings);
        self.call(step).map_or(RegionUse::Part, of)
    }

    fn needs(&self, step: StepId, feature: &Feature) -> bool {
        let plan = self.plan;
        plan.needs.of(plan.needs_of(&plan.steps[step])).any(|need| need.feature == *feature)
    }

    /// Whether the scopes of a step change the view or the position only as image nodes do, or only
    /// for sources that do not depend on the other of the two.
    fn changes_plainly(&self, step: StepId) -> bool {
        let Some((call, links)) = self.call(step) else { return true };
        call.inputs.iter().zip(links).all(|(input, source)| {
            input.scope.iter().all(|rule| {
                let (feature, by) = match rule {
                    ScopeRule::Inject { feature, value } => (feature, Some(*value)),
                    ScopeRule::Modify { feature, .. } => (feature, None),
                    ScopeRule::Each { .. } | ScopeRule::Along { .. } => return true,
                };
                let other = match feature {
                    Feature::Position => Feature::Footprint,
                    Feature::Footprint => Feature::Position,
                    _ => return true,
                };
                let is_of_images = by.is_some_and(|by| {
                    matches!(
                        self.use_of(links[by as usize].step),
                        RegionUse::Positions | RegionUse::Asks
                    )
                });
                is_of_images || !self.needs(source.step, &other)
            })
        })
    }

    /// Whether the result of a step in a region differs from its result in the whole view.
    fn needs_whole(&self, step: StepId) -> bool {
        let Some((call, links)) = self.call(step) else { return false };
        let varies = |source: &StepSource| self.needs(source.step, &Feature::Footprint);
        let covers = |source: &StepSource| self.is_plain && self.covers(source.step);
        match self.use_of(step) {
            RegionUse::Whole => {
                let images = call.inputs.iter().zip(links);
                let mut images = images.filter(|(input, _)| input.ty == Type::of::<Image>());
                images.any(|(_, source)| varies(source))
            }
            RegionUse::AtPosition => {
                let at = links[1].step;
                // A pass may have replaced a node that reads the position by the position itself.
                let is_there =
                    self.reads(at, &Feature::Position) || self.use_of(at) == RegionUse::Positions;
                varies(&links[0]) && !(covers(&links[0]) && is_there)
            }
            RegionUse::Places | RegionUse::AtPixel => varies(&links[0]) && !covers(&links[0]),
            RegionUse::Part
            | RegionUse::Covers
            | RegionUse::ViewOf
            | RegionUse::Asks
            | RegionUse::Positions => false,
        }
    }

    /// Whether a step reads a feature as it is.
    fn reads(&self, step: StepId, wanted: &Feature) -> bool {
        self.call(step).is_some_and(|(call, _)| match &call.kernel {
            Kernel::Read { feature, level: 0, aspect: Aspect::Value } => feature == wanted,
            _ => false,
        })
    }

    /// Whether a step returns an image, or the view of one, whose pixels do not depend on the
    /// requested view.
    fn has_own_pixels(&self, mut step: StepId) -> bool {
        // Each round goes to a source, so there are at most as many rounds as steps.
        while self.needs(step, &Feature::Footprint) {
            let Some((_, links)) = self.call(step) else { return false };
            let source = match self.use_of(step) {
                RegionUse::Covers | RegionUse::Places => links.last(),
                RegionUse::ViewOf => links.first(),
                _ => None,
            };
            let Some(source) = source else { return false };
            step = source.step;
        }
        true
    }

    /// Whether a step returns an image of the region that is requested from it.
    fn covers(&self, mut step: StepId) -> bool {
        // Each round goes to a source, so there are at most as many rounds as steps.
        loop {
            let Some((_, links)) = self.call(step) else { return false };
            let (first, last) = match links {
                [first, .., last] => (first, last),
                [first] => (first, first),
                [] => return false,
            };
            step = match self.use_of(step) {
                RegionUse::Covers | RegionUse::Places => last.step,
                RegionUse::ViewOf => first.step,
                // The image of a view that an image node requests.
                _ if self.use_of(last.step) == RegionUse::Asks => first.step,
                _ => return false,
            };
            // A pass may have replaced a node that reads the view by the view itself.
            if self.reads(step, &Feature::Footprint) || self.use_of(step) == RegionUse::Asks {
                return true;
            }
        }
    }
}
