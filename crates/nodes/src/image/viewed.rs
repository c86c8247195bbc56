//! Image nodes that request another view of their image than is requested of them.
//!
//! Such a node is a network: it reads the requested view, computes which view of the image it
//! needs, evaluates the image for that view, and produces the image of the requested view. An image
//! that does not depend on the view, such as one from a file, is placed onto the pixels that the
//! node needs.

use std::sync::{Arc, Mutex};

use millstream_base::same::Same;
use millstream_base::{Footprint, Image, Limits, Type, Value};
use millstream_node::settings::{SettingError, Settings};
use millstream_node::signature::SocketType;
use millstream_node::{Call, Failure, NodeDef, PartSource, RegionUse, Registry};
use millstream_raster::crew::Crew;
use millstream_raster::place::{Filter, place, place_channels};
use millstream_raster::region::Edge;

use super::crew;
use super::pixels::n_pixels;
use super::weave::{Weave, input};
use crate::cells::{Cells, at, function};

/// The data of a node's work at one element.
pub(super) struct Job<'a> {
    pub(super) settings: &'a Settings,
    /// The values of the inputs after the image.
    pub(super) numbers: &'a [Value],
    /// The requested view.
    pub(super) wanted: &'a Footprint,
    pub(super) limits: &'a Limits,
}

impl Job<'_> {
    /// The value of an input, counted after the image.
    pub(super) fn number<T: millstream_base::ValueType>(&self, i: usize) -> T {
        T::from_value(&self.numbers[i]).expect("inputs have their types")
    }
}

/// Computes the view of the image that a node needs.
type Ask = dyn Fn(&Job<'_>) -> Result<Footprint, Failure> + Send + Sync;
/// Computes the image of the requested view from that of the view that the node asked for.
type Work = dyn Fn(&Job<'_>, &Image, &Crew<'_>) -> Result<Image, Failure> + Send + Sync;

/// Units of work per pixel.
const PER_PIXEL: usize = 8;

/// The node types from which these nodes are made.
#[derive(Clone)]
pub(super) struct Views {
    footprint: Arc<NodeDef>,
    with_footprint: Arc<NodeDef>,
}

/// The work of a node type.
pub(super) struct Viewed {
    /// Refuses settings that do not fit each other.
    pub(super) refuse: fn(&Settings) -> Result<(), SettingError>,
    /// How an image that does not depend on the view is resampled.
    pub(super) how: fn(&Settings) -> (Filter, Edge),
    /// Whether the work extends an image at its edges exactly as placing it would, so that an image
    /// on the pixel grid of the view is not copied.
    pub(super) extends: bool,
    /// Whether the result consists of colors of the image, so that an image without alpha gets it
    /// if what lies beyond is transparent; other work takes zeros.
    pub(super) shows: bool,
    pub(super) ask: Arc<Ask>,
    pub(super) work: Arc<Work>,
}

impl Views {
    pub(super) fn new(registry: &Registry) -> Self {
        let known = |name: &str| Arc::clone(registry.get(name).expect("the node type exists"));
        Self {
            footprint: known("context.footprint"),
            with_footprint: known("context.with_footprint"),
        }
    }

    /// Registers a node type with fixed sockets, whose first input is an image and whose output is
    /// an image.
    pub(super) fn register(&self, registry: &mut Registry, def: NodeDef, of: Viewed) {
        let Viewed { refuse, how, extends, shows, ask, work } = of;
        let sockets = def.fixed_signature().expect("the sockets are fixed").inputs.clone();
        let part = |suffix: &str, about: &str| {
            let mut part = NodeDef::new(format!("{}_{suffix}", def.name), about.to_owned());
            part.settings.clone_from(&def.settings);
            part
        };
        let with_numbers = |part: NodeDef| {
            let numbers = sockets[1..].iter();
            let part = numbers.fold(part, |part, socket| {
                let SocketType::Exact(ty) = socket.ty else {
                    panic!("the type of the socket is fixed")
                };
                part.input(socket.name.clone(), ty, "")
            });
            part.input("view", Type::of::<Footprint>(), "the requested view")
        };
        let asking = with_numbers(part("view", "The view of the image that the node needs"));
        let asking = that_asks(asking, Arc::clone(&ask));
        let calling =
            part("work", "The image of the requested view").region_use(|_| RegionUse::Places);
        let calling = with_numbers(calling.input("image", Type::of::<Image>(), ""))
            .output("value", Type::of::<Image>(), "")
            .kernel(move |parts| {
                let settings = parts.settings.clone();
                let (ask, work) = (Arc::clone(&ask), Arc::clone(&work));
                Ok(function(move |call| {
                    let old = call.old_column(0).and_then(|old| old.try_into_channels().ok());
                    let old = Mutex::new(old.unwrap_or_default());
                    let mut cells = Cells::<Image>::new(call);
                    let (images, mut pace) = (call.input::<Image>(0), call.pace());
                    cells.fill(call, |i| {
                        in_job(call, &settings, (1, i), |job| {
                            // The image may come from a place where nobody asked for the view.
                            let view = ask(job)?;
                            n_pixels(&view, job.limits)?;
                            n_pixels(job.wanted, job.limits)?;
                            let mut image = images.get(i);
                            if !(extends && image.view().transform.same(&view.transform)) {
                                let work = |n: usize| pace.work(n.saturating_mul(PER_PIXEL));
                                let how = how(job.settings);
                                image = if shows {
                                    place(&image, &view, how, work)?
                                } else {
                                    place_channels(&image, &view, how, work)?
                                };
                            }
                            work(job, &image, &crew(call).with_memory(&old))
                        })
                    })?;
                    cells.put(call);
                    Ok(())
                }))
            });
        let asking = registry.register_part(asking);
        let calling = registry.register_part(calling);
        let n = sockets.len();
        let views = self.clone();
        registry.register(def.network(move |parts| {
            refuse(parts.settings)?;
            let mut weave = Weave::default();
            let view = weave.part("view", &views.footprint, &[], &[]).into();
            let numbers: Vec<PartSource> = (1..n).map(input).chain([view]).collect();
            let settings = || parts.settings.clone();
            let asked = weave.part_with("asked", &asking, settings(), &[], &numbers).into();
            let ty = Type::of::<Image>();
            let image = weave.part("image", &views.with_footprint, &[ty], &[input(0), asked]);
            let sources: Vec<PartSource> = [image.into()].into_iter().chain(numbers).collect();
            let result = weave.part_with("", &calling, settings(), &[], &sources).into();
            Ok(weave.outputs(&[result]))
        }));
    }
}

/// A part that returns the view of the image that a node needs.
fn that_asks(part: NodeDef, ask: Arc<Ask>) -> NodeDef {
    let part = part.region_use(|_| RegionUse::Asks);
    part.output("value", Type::of::<Footprint>(), "").kernel(move |parts| {
        let (settings, ask) = (parts.settings.clone(), Arc::clone(&ask));
        Ok(function(move |call| {
            let mut cells = Cells::<Footprint>::new(call);
            cells.fill(call, |i| {
                in_job(call, &settings, (0, i), |job| {
                    ask(job).and_then(|view| n_pixels(&view, job.limits).map(|_| view))
                })
            })?;
            cells.put(call);
            Ok(())
        }))
    })
}

/// Runs the job of an element; the inputs from `first` on are the numbers and the view.
fn in_job<R>(
    call: &Call<'_>,
    settings: &Settings,
    (first, i): (usize, usize),
    run: impl FnOnce(&Job<'_>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let last = call.n_inputs() - 1;
    let numbers: Vec<Value> = (first..last).map(|k| call.argument(k).value(i)).collect();
    let wanted = call.input::<Footprint>(last).get(i);
    let job = Job { settings, numbers: &numbers, wanted: &wanted, limits: call.limits() };
    run(&job).map_err(|failure| at(failure, i))
}
