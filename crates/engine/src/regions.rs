//! Whether an output can be computed region by region of the requested view.
//!
//! The region is visible to nodes with an image or a view that depends on it, so these declare how
//! they use it ([`RegionUse`]). An output is computed as a whole unless regions are known to give
//! the same pixels. So it is if it depends on a node that may read all of an image; a node without
//! a declaration, such as a zone, in each round of which an image has the same region; state that
//! depends on the view; or a reduction over pixels. It also is if its own image may cover another
//! region than the requested one. A node that reads an image at the pixel's own position, or places
//! it on another view, allows regions only if the image is known to cover the requested region.
//! Nothing is known to cover it if a scope of a node other than an image node changes the view or
//! the position.

use millstream_base::feature::Aspect;
use millstream_base::id::SideTable;
use millstream_base::{Feature, Footprint, Image, Need, Type};
use millstream_ir::plan::{StepId, StepOp, StepSource};
use millstream_ir::state_reads::StateReads;
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
        let at = plan.output_named(output)?;
        let output = plan.outputs[at].source.step;
        let search = Search::new(plan, output);
        if let Some(node) = search.state_of_view(at) {
            return Some(node);
        }
        if !search.needs(output, &Feature::Footprint) {
            return None;
        }
        let is_image = shows_region(plan.type_of(plan.outputs[at].source));
        let found = search.steps.iter().copied().find(|step| search.needs_whole(*step));
        let found = found.or((is_image && !search.covers[output]).then_some(output));
        paths_of(plan, &[found?]).pop()
    }

    /// Whether an output is an image whose pixels do not depend on the requested view, such as a
    /// photo with changed colors. Its colors may depend on the view.
    pub fn has_own_pixels(&self, output: &str) -> bool {
        let plan = self.plan();
        plan.output_named(output).is_some_and(|at| {
            let output = &plan.outputs[at];
            let step = output.source.step;
            output.ty == Type::of::<Image>() && Search::new(plan, step).has_own_pixels(step)
        })
    }
}

/// Whether a value tells which region was requested, if it depends on the view.
fn shows_region(mut ty: Type) -> bool {
    while let Some(element) = ty.element() {
        ty = element;
    }
    ty == Type::of::<Image>() || ty == Type::of::<Footprint>()
}

struct Search<'p> {
    plan: &'p Plan,
    /// The steps that the output depends on, each before its sources.
    steps: Vec<StepId>,
    /// Whether each step returns an image of the region that is requested from it.
    covers: SideTable<StepId, bool>,
}

impl<'p> Search<'p> {
    fn new(plan: &'p Plan, output: StepId) -> Self {
        let upstream = plan.steps_upstream_of(std::iter::once(output));
        let steps = upstream.iter().rev().filter(|(_, is_upstream)| **is_upstream);
        let steps: Vec<StepId> = steps.map(|(id, _)| id).collect();
        let covers = SideTable::for_arena(&plan.steps, false);
        let mut search = Self { plan, steps, covers };
        // Only if no other nodes than those on images change views and positions.
        if search.steps.iter().all(|step| search.changes_plainly(*step)) {
            for i in (0..search.steps.len()).rev() {
                let step = search.steps[i];
                search.covers[step] = search.is_covering(step);
            }
        }
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
        let Some((call, _)) = self.call(step) else { return RegionUse::Part };
        match call.kernel {
            // Without a declaration, each pixel of their results depends on the same pixel of images.
            Kernel::Pass | Kernel::Choose | Kernel::Read { .. } | Kernel::Form(_) => {
                match (call.def.region_use)(&call.settings) {
                    RegionUse::Unknown => RegionUse::Part,
                    known => known,
                }
            }
            Kernel::Function(_) | Kernel::ReadState(_) => (call.def.region_use)(&call.settings),
        }
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

    /// The path of a node with state that the output at this position depends on, if the state
    /// depends on the view, or is kept for each pixel.
    fn state_of_view(&self, output: usize) -> Option<String> {
        let states = StateReads::new(self.plan, &[output]);
        let varies = |node: usize| {
            states.nodes[node].writer.is_some()
                || states.steps_of(node).any(|step| self.needs(step, &Feature::Footprint))
        };
        let mut read = (0..states.nodes.len()).filter(|node| states.is_read(*node));
        read.find(|node| varies(*node)).map(|node| states.nodes[node].path.to_string())
    }

    /// Whether the result of a step in a region differs from its result in the whole view.
    fn needs_whole(&self, step: StepId) -> bool {
        let Some((call, links)) = self.call(step) else { return false };
        let varies = |source: &StepSource| self.needs(source.step, &Feature::Footprint);
        let covers = |source: &StepSource| self.covers[source.step];
        match self.use_of(step) {
            RegionUse::Whole | RegionUse::Unknown => {
                let mut inputs = call.inputs.iter().zip(links);
                inputs.any(|(input, source)| shows_region(input.ty) && varies(source))
            }
            RegionUse::AtPosition => {
                let at = links[1].step;
                // A pass may have replaced a node that reads the position by the position itself.
                let is_there =
                    self.reads(at, &Feature::Position) || self.use_of(at) == RegionUse::Positions;
                varies(&links[0]) && !(covers(&links[0]) && is_there)
            }
            RegionUse::Places | RegionUse::AtPixel => varies(&links[0]) && !covers(&links[0]),
            // What counts the pixels, such as a mean over them, sees those of the region.
            RegionUse::Covers => {
                let plan = self.plan;
                let mut needs = plan.needs.of(plan.needs_of(&plan.steps[links[0].step]));
                needs.any(|need| *need == Need::extent(Feature::Index, 0))
            }
            RegionUse::OfView(n) => varies(&links[0]) && self.is_read_from(step, n),
            RegionUse::Part | RegionUse::ViewOf | RegionUse::Asks | RegionUse::Positions => false,
        }
    }

    /// Whether an output of a step from the `first` on is read.
    fn is_read_from(&self, step: StepId, first: u32) -> bool {
        let is_it = |source: &StepSource| source.step == step && source.output >= first;
        let is_output = self.plan.outputs.iter().any(|output| is_it(&output.source));
        is_output
            || self
                .steps
                .iter()
                .any(|reader| self.plan.inputs_of(&self.plan.steps[*reader]).iter().any(is_it))
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

    /// Whether a step returns an image of the region that is requested from it, given which of its
    /// sources do.
    fn is_covering(&self, step: StepId) -> bool {
        let Some((call, links)) = self.call(step) else { return false };
        let [first, ..] = links else { return false };
        let last = links[links.len() - 1].step;
        match self.use_of(step) {
            RegionUse::Covers | RegionUse::Places => self.is_requested(last),
            RegionUse::Part => {
                let of_view = |rule: &ScopeRule| match rule {
                    ScopeRule::Inject { feature, .. } | ScopeRule::Modify { feature, .. } => {
                        *feature == Feature::Footprint
                    }
                    ScopeRule::Each { .. } | ScopeRule::Along { .. } => true,
                };
                if call.inputs.iter().any(|input| input.scope.iter().any(of_view)) {
                    // The image of a view that an image node requests.
                    return self.use_of(last) == RegionUse::Asks && self.covers[first.step];
                }
                let images = call.inputs.iter().zip(links);
                let mut images = images.filter(|(input, _)| shows_region(input.ty)).peekable();
                images.peek().is_some() && images.all(|(_, source)| self.covers[source.step])
            }
            _ => false,
        }
    }

    /// Whether a step returns the requested view.
    fn is_requested(&self, step: StepId) -> bool {
        // A pass may have replaced a node that reads the view by the view itself.
        self.reads(step, &Feature::Footprint)
            || match self.use_of(step) {
                RegionUse::Asks => true,
                RegionUse::ViewOf => {
                    self.call(step).is_some_and(|(_, links)| self.covers[links[0].step])
                }
                _ => false,
            }
    }
}
