//! Requests: the flags that `run`, `explain --run` and `check --twice` share, and the reasons for
//! refusing a request, in terms of the command line.

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use millstream::diagnostics::did_you_mean;
use millstream::evaluate::{Need, fewer_cells};
use millstream::values::{Font, Image, Type, ValueType};
use millstream::{
    EvalError, Feature, Footprint, Given, Limits, Mask, Plan, Program, Request, RequestAxis,
    RequestError, Value,
};
use millstream_io::Budget;

use crate::given::{Assignment, assignment, given};
use crate::interrupt;
use crate::moments::{self, FrameNumbers, Times};
use crate::number;
use crate::outcome::{Exit, Message, Stop};
use crate::picture::{VIEW, image_without_elements, numbered};
use crate::range;
use crate::tables::{Coordinates, Moments};
use crate::views::{self, ByView, NamedView, view};

/// The flags of a request.
#[derive(Clone, clap::Args)]
pub(crate) struct RequestArgs {
    /// The value of an input, or a column of a file with one value per element
    #[arg(long = "in", value_name = "NAME=VALUE")]
    pub(crate) inputs: Vec<String>,
    /// Evaluate for this many elements
    #[arg(long, value_name = "N", value_parser = number::count, allow_hyphen_values = true)]
    pub(crate) count: Option<usize>,
    /// Compute only these elements, counted from 0: 0,5,10..20, both ends included; outputs that
    /// depend on state need all
    #[arg(long, value_name = "ELEMENTS", value_parser = number::elements, allow_hyphen_values = true)]
    pub(crate) only: Option<Mask>,
    /// Evaluate at a time in seconds, T, or at several, A..B:STEP
    #[arg(long, value_name = "T", value_parser = moments::times, allow_hyphen_values = true)]
    pub(crate) time: Option<Times>,
    /// Evaluate at a frame, N, or at several, A..B
    #[arg(long, value_name = "N", value_parser = moments::frames, allow_hyphen_values = true,
          conflicts_with = "time")]
    pub(crate) frame: Option<FrameNumbers>,
    /// Evaluate for a view of this many pixels, 640x480; optionally followed by the scene
    /// coordinates of its lower left corner and the size of a pixel, 640x480+100-50*0.5
    #[arg(long, value_name = "WxH", value_parser = view)]
    pub(crate) size: Option<Footprint>,
    /// Evaluate for a named view, such as left=640x480; may be given several times, and then --in
    /// INPUT@NAME=VALUE sets an input for one of them
    #[arg(long = "view", value_name = "NAME=WxH", value_parser = views::named,
          conflicts_with = "size")]
    pub(crate) views: Vec<NamedView>,
    /// Evaluate the view at a resolution this many times lower in each direction, as a preview
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(i32).range(1..=1024))]
    pub(crate) reduce: i32,
    /// The value of a custom context feature
    #[arg(long = "feature", value_name = "NAME=VALUE")]
    pub(crate) features: Vec<String>,
}

/// When the files of inputs are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    Now,
    /// Later, block by block.
    Later,
}

impl RequestArgs {
    /// Refuses these flags, which have no effect without another one.
    pub(crate) fn refuse_without(&self, flag: &str) -> Result<(), Stop> {
        let is_given = [
            ("--in", !self.inputs.is_empty()),
            ("--count", self.count.is_some()),
            ("--only", self.only.is_some()),
            ("--time", self.time.is_some()),
            ("--frame", self.frame.is_some()),
            ("--size", self.size.is_some()),
            ("--view", !self.views.is_empty()),
            ("--feature", !self.features.is_empty()),
        ];
        match is_given.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((given, _)) => {
                let text = format!("{given} has no effect without {flag}: nothing is evaluated");
                Err(Stop::new(Exit::Usage, text, Some(format!("add {flag}, or leave out {given}"))))
            }
        }
    }

    /// Whether the request has a view but no position, and these outputs, all if none is named, read
    /// the position, or the index if there are no elements: then they are evaluated at the pixels of
    /// the view. An image that is given has a view.
    pub(crate) fn asks_for_pixels(&self, program: &Program, outputs: &[String]) -> bool {
        let is_given = self.features.iter().any(|text| text.starts_with("position="));
        let has_view = self.size.is_some() || !self.views.is_empty();
        let has_elements = self.has_elements(program);
        let is_of_pixel = |need: &Need| {
            let is_index = need.feature == Feature::Index && !has_elements;
            need.level == 0 && (need.feature == Feature::Position || is_index)
        };
        (has_view || self.has_image(program))
            && !is_given
            && needs_of(program, &requested(outputs)).any(is_of_pixel)
    }

    /// Whether the request has a view and these outputs, all if none is named, are evaluated for the
    /// pixels of a picture: they read the position of a pixel, or one is an image, which is placed on
    /// the view, and none reads the view.
    pub(crate) fn asks_for_picture(&self, program: &Program, outputs: &[String]) -> bool {
        let is_placed = self.has_view(program)
            && !reads_view(program, &requested(outputs))
            && image_without_elements(program, outputs).is_some();
        is_placed || self.asks_for_pixels(program, outputs)
    }

    /// Whether the request has a view of its own, or that of an image at a lower resolution.
    pub(crate) fn has_view(&self, program: &Program) -> bool {
        let has_view = self.size.is_some() || !self.views.is_empty();
        has_view || (self.reduce > 1 && self.has_image(program))
    }

    /// Whether an image is given.
    fn has_image(&self, program: &Program) -> bool {
        self.inputs.iter().any(|text| is_of_image(program, text))
    }

    /// Whether the request has elements: their number, or a column of a file.
    pub(crate) fn has_elements(&self, program: &Program) -> bool {
        let is_column = |text: &String| text.contains("=@") && !is_of_image(program, text);
        self.flag_of_elements().is_some() || self.inputs.iter().any(is_column)
    }

    /// The flag that asks for elements, if there is one.
    pub(crate) fn flag_of_elements(&self) -> Option<&'static str> {
        match (&self.only, self.count) {
            (Some(_), _) => Some("--only"),
            (None, Some(_)) => Some("--count"),
            (None, None) => None,
        }
    }

    /// The meaning of the cells of a request of these flags.
    pub(crate) fn coordinates(&self, plan: &Plan, request: &Request) -> Coordinates {
        let views = self.views.iter().map(|view| view.name.clone()).collect();
        let frame = match &self.frame {
            Some(FrameNumbers::One(frame)) => Some(*frame),
            Some(FrameNumbers::Many(_)) | None => None,
        };
        Coordinates { moments: self.moments(plan, request), views, frame, only: self.only.clone() }
    }

    /// The moments of the time axis, if there is one. Outputs that depend on state have frames only.
    fn moments(&self, plan: &Plan, request: &Request) -> Option<Moments> {
        let fps = plan.fps;
        if let (Some(Times::Many(times)), true) = (&self.time, request.reads_state(plan))
            && let Some(request) = Request::new().times(times.clone()).on_frames(fps)
            && let Some((frames, _)) = request.asked_frames()
        {
            return Some(Moments::of_frames(frames, fps));
        }
        match (&self.time, &self.frame) {
            (Some(Times::Many(times)), _) => Some(Moments { seconds: times.clone(), frames: None }),
            (_, Some(FrameNumbers::Many(frames))) => Some(Moments::of_frames(frames.clone(), fps)),
            (Some(Times::One(_)) | None, Some(FrameNumbers::One(_)) | None) => None,
        }
    }

    /// The name of a table file, in which the number of the frame and the name of the view replace
    /// their placeholders. They are refused if the table holds several frames or views.
    pub(crate) fn name_of_table(&self, path: &Path) -> Result<PathBuf, Stop> {
        let Some(text) = path.to_str() else { return Ok(path.to_owned()) };
        let refused = |n: usize, what: &str, sign: &str, help: &str| {
            let text = format!("`{text}` is one table, which holds all {n} {what}");
            let help = format!("leave out {sign}, or write a table for each with {help}");
            Stop::new(Exit::Usage, text, Some(help))
        };
        let (n_moments, number) = match (&self.time, &self.frame) {
            (Some(Times::Many(times)), _) => (times.len(), 0),
            (_, Some(FrameNumbers::Many(frames))) => (frames.len(), frames[0]),
            (_, Some(FrameNumbers::One(frame))) => (1, *frame),
            (Some(Times::One(_)) | None, None) => (1, 0),
        };
        if text.contains('#') && n_moments > 1 {
            let what = if self.time.is_some() { "moments" } else { "frames" };
            return Err(refused(n_moments, what, "#", "`millstream bake`"));
        }
        let text = numbered(text, number);
        match &self.views[..] {
            _ if !text.contains(VIEW) => Ok(text.into()),
            [] => {
                let text =
                    format!("`{text}` has a place for the name of a view, but there is none");
                let help = format!("leave out {VIEW}, or give a view, such as --view left=640x480");
                Err(Stop::new(Exit::Usage, text, Some(help)))
            }
            [view] => Ok(text.replace(VIEW, &view.name).into()),
            views => Err(refused(views.len(), "views", VIEW, "`millstream bake --view`")),
        }
    }

    /// Refuses views of the same name, and a reduction without a view.
    fn check_views(&self, program: &Program) -> Result<(), Stop> {
        views::refuse_repeated(&self.views)?;
        if self.reduce > 1 && !self.has_view(program) {
            let text = "--reduce has no effect without a view";
            let help = "add --size WxH, --view NAME=WxH or an image";
            return Err(Stop::new(Exit::Usage, text, Some(help.into())));
        }
        Ok(())
    }

    /// The requested view or views; `has_own` says whether inputs differ by view, and `is_axis`
    /// whether views are an axis.
    fn view(&self, has_own: bool, is_axis: bool) -> ViewFlag {
        let reduced = |view: &Footprint| view.reduced(self.reduce);
        if self.views.is_empty() {
            return ViewFlag::size(self.size.as_ref().map(reduced).as_ref());
        }
        let given = if is_axis {
            let views = self.views.iter().map(|view| reduced(&view.view)).collect();
            Given::Along(RequestAxis::View, views)
        } else {
            Given::One(reduced(&self.views[0].view).into())
        };
        if has_own { ViewFlag::ViewIfRead(given) } else { ViewFlag::View(given) }
    }

    /// Builds the request from the flags, or reports all wrong flags. Files are read until the
    /// deadline.
    pub(crate) fn request(
        &self,
        program: &Program,
        outputs: &[String],
        limits: Limits,
        files: Files,
        deadline: Option<Instant>,
    ) -> Result<Request, Stop> {
        let until = &interrupt::until(deadline);
        let mut request = Request::new();
        let mut messages = Vec::new();
        let mut assigned = Vec::new();
        let mut by_view = ByView::default();
        self.check_views(program)?;
        for text in &self.inputs {
            let at = assignment("--in", text)?;
            let known = |name: &str| program.inputs().iter().find(|input| &*input.name == name);
            let of_view = at.name.rsplit_once('@').and_then(|(name, view)| {
                let at = Assignment { name, ..at };
                known(name).map(|input| (at, view, input.ty))
            });
            match (known(at.name), of_view) {
                (Some(input), _) => assigned.push((at, input.ty)),
                (None, Some((at, view, ty))) => {
                    by_view.take((at, view), ty, &self.views, &limits, until)?;
                }
                (None, None) => {
                    let known = program.inputs().iter().map(|input| &*input.name);
                    messages.push(unknown("there is no input", at.name, known));
                }
            }
        }
        request = wanted(request, program, outputs, &mut messages);
        if !messages.is_empty() {
            return Err(Stop::all(Exit::Usage, messages));
        }
        let mut all = Vec::with_capacity(assigned.len());
        for (at, ty) in assigned {
            if files == Files::Later && at.value.starts_with('@') {
                continue;
            }
            let given = given(at, ty, &limits, until)?;
            range::warn(program, at.name, &given);
            all.push((at.name, given));
        }
        let own_view = view_of_image(all.iter().map(|(_, given)| given));
        let own_view = own_view.map(|view| view.reduced(self.reduce));
        // State must not differ along an axis of views, so a single view is none.
        let is_axis = self.views.len() != 1 || !request.reads_state(program.plan());
        let by_view = by_view.given(program, &mut all, &self.views, is_axis)?;
        let has_own = !by_view.is_empty();
        for (name, given) in all.into_iter().chain(by_view) {
            request = request.given(name, given);
        }
        if let Some(n) = self.count {
            request = request.count(n);
        }
        let view = self.view(has_own, is_axis);
        let parts = (&request, &self.features[..]);
        for (feature, given) in features(program, parts, view, &limits, until)? {
            request = request.feature(feature, given);
        }
        request = with_own_view(request, program, own_view);
        if let Some(elements) = &self.only {
            request = request.mask(elements.clone());
        }
        request = match (&self.time, &self.frame) {
            (Some(Times::One(time)), _) => request.time(*time),
            (Some(Times::Many(times)), _) => request.times(times.clone()),
            (None, Some(FrameNumbers::One(frame))) => request.frame(*frame),
            (None, Some(FrameNumbers::Many(frames))) => request.frames(frames.clone()),
            (None, None) => request,
        };
        request.budget.clone_from(until);
        Ok(request.with_limits(limits))
    }
}

/// Whether an assignment is to an input that is an image.
fn is_of_image(program: &Program, assignment: &str) -> bool {
    let name = assignment.split_once('=').map_or("", |(name, _)| name);
    let mut inputs = program.inputs().iter();
    inputs.any(|input| *input.name == *name && input.ty == Type::of::<Image>())
}

/// The view of the first image that is given.
pub(crate) fn view_of_image<'g>(mut given: impl Iterator<Item = &'g Given>) -> Option<Footprint> {
    given.find_map(|given| match given {
        Given::One(value) => Image::from_value(value).map(|image| image.view().clone()),
        Given::Along(..) => None,
    })
}

/// The request with the view of an image, if no other is given: without --size, a graph that changes
/// a picture produces one of the same size.
pub(crate) fn with_own_view(
    request: Request,
    program: &Program,
    own_view: Option<Footprint>,
) -> Request {
    match own_view {
        Some(view)
            if reads_view(program, &request)
                && request.of_feature(&Feature::Footprint).is_none() =>
        {
            request.feature(Feature::Footprint, Given::One(view.into()))
        }
        _ => request,
    }
}

/// The request for these outputs; unknown names are reported.
fn wanted(
    mut request: Request,
    program: &Program,
    outputs: &[String],
    messages: &mut Vec<Message>,
) -> Request {
    for (i, name) in outputs.iter().enumerate() {
        if outputs[..i].contains(name) {
            continue;
        }
        let known = program.outputs().iter();
        if known.clone().all(|output| *output.name != **name) {
            let known = known.map(|output| &*output.name);
            messages.push(unknown("there is no output", name, known));
        }
        request = request.output(name);
    }
    request
}

/// The view that a call asks for.
pub(crate) enum ViewFlag {
    None,
    /// It is an error if no node reads the view.
    View(Given),
    /// Inputs differ by view, whether or not a node reads the view itself.
    ViewIfRead(Given),
}

impl ViewFlag {
    /// The view of `--size`.
    pub(crate) fn size(size: Option<&Footprint>) -> Self {
        size.map_or(Self::None, |view| Self::View(Given::One(view.clone().into())))
    }
}

/// The request for these outputs, for all if there are none.
pub(crate) fn requested(outputs: &[String]) -> Request {
    outputs.iter().fold(Request::new(), Request::output)
}

/// The needs of the outputs of a request.
fn needs_of<'p>(program: &'p Program, request: &Request) -> impl Iterator<Item = &'p Need> {
    let plan = program.plan();
    plan.needs.of(request.needs_in(plan))
}

/// Whether the outputs of a request read the view.
pub(crate) fn reads_view(program: &Program, request: &Request) -> bool {
    needs_of(program, request).any(|need| need.feature == Feature::Footprint)
}

/// The context features from flags, and those that the command line itself provides, for the outputs
/// of a request.
pub(crate) fn features(
    program: &Program,
    (request, flags): (&Request, &[String]),
    view: ViewFlag,
    limits: &Limits,
    until: &Budget,
) -> Result<Vec<(Feature, Given)>, Stop> {
    let needs = &program.plan().needs;
    let mut features = Vec::new();
    for text in flags {
        let at = assignment("--feature", text)?;
        let flag = match at.name {
            "time" => Some("--time"),
            "tick" => Some("--frame"),
            "index" => Some("--count"),
            "footprint" if !matches!(view, ViewFlag::None) => Some("--size or --view alone"),
            _ => None,
        };
        if let Some(flag) = flag {
            let text = format!("`{}` is set by a flag of its own", at.name);
            return Err(Stop::new(Exit::Usage, text, Some(format!("give {flag}"))));
        }
        let named = needs.iter().map(|need| &need.feature).find(|f| f.name() == at.name);
        let Some(feature) = named else {
            let known = needs.iter().map(|need| need.feature.name());
            let message = unknown("the graph reads no feature", at.name, known);
            return Err(Stop::all(Exit::Usage, vec![message]));
        };
        features.push((feature.clone(), given(at, feature.ty(), limits, until)?));
    }
    match view {
        ViewFlag::None => {}
        ViewFlag::View(_) if !reads_view(program, request) => {
            return Err(unread_view(program, request, &features));
        }
        ViewFlag::View(given) | ViewFlag::ViewIfRead(given) => {
            features.push((Feature::Footprint, given));
        }
    }
    let is_given = features.iter().any(|(feature, _)| *feature == Feature::RealTime);
    if !is_given && needs.iter().any(|need| need.feature == Feature::RealTime) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64());
        features.push((Feature::RealTime, Given::One(Value::F64(now))));
    }
    Ok(features)
}

/// Refuses a view that no node reads. In a picture, a view has a position and an index for each pixel.
fn unread_view(program: &Program, request: &Request, features: &[(Feature, Given)]) -> Stop {
    let of_pixels = [
        (Feature::Position, "position", "one position: --feature position=[0,0,0]"),
        (Feature::Index, "index", "a number of elements: --count 100"),
    ];
    let is_missing = |feature: &Feature| {
        let reads = |need: &Need| need.level == 0 && need.feature == *feature;
        let has_elements = *feature == Feature::Index && request.n_elements().is_some();
        let is_given = features.iter().any(|(given, _)| given == feature) || has_elements;
        !is_given && needs_of(program, request).any(reads)
    };
    let read: Vec<_> = of_pixels.iter().filter(|(feature, ..)| is_missing(feature)).collect();
    let (text, help) = if read.is_empty() {
        (
            "the view has no effect because no requested output reads the footprint".to_owned(),
            "leave out --size and --view".to_owned(),
        )
    } else {
        let names: Vec<&str> = read.iter().map(|(_, name, _)| *name).collect();
        let others: Vec<&str> = read.iter().map(|(.., other)| *other).collect();
        (
            format!(
                "the outputs depend on the {}, which a view provides only for pictures",
                names.join(" and the ")
            ),
            format!(
                "save a picture, such as png or exr, which shows the value at each pixel; or leave \
                 out --size and --view, and give {}",
                others.join(", and ")
            ),
        )
    };
    Stop::new(Exit::Usage, text, Some(help))
}

/// A message that nothing has this name, with the names that exist.
pub(crate) fn unknown<'a>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Message {
    let help = match did_you_mean(name, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let mut names: Vec<&str> = known.take(20).collect();
            names.dedup();
            if names.is_empty() {
                "the document has none".into()
            } else {
                format!("there is {}", names.join(", "))
            }
        }
    };
    Message { text: format!("{what} called `{name}`"), help: Some(help) }
}

/// The reason why there is no answer, in terms of the command line.
pub(crate) fn refused(error: &EvalError) -> Stop {
    match error {
        EvalError::Request(errors) => {
            let exit = errors.iter().map(exit_of).max_by_key(|exit| exit.code());
            Stop::all(exit.unwrap_or(Exit::Usage), errors.iter().map(message_of).collect())
        }
        EvalError::Deadline => {
            let help = Some("allow more time with --deadline, or request less".to_owned());
            Stop::new(Exit::Failed, error.to_string(), help)
        }
        EvalError::Bytes { .. } => {
            let help = Some("raise it with --limit bytes=N, or request less".to_owned());
            Stop::new(Exit::Failed, error.to_string(), help)
        }
        EvalError::Memory { .. } => {
            let help = Some("request less, or save block by block with --save FILE".to_owned());
            Stop::new(Exit::Failed, error.to_string(), help)
        }
        _ => Stop::all(Exit::Failed, vec![Message::of(error)]),
    }
}

fn exit_of(error: &RequestError) -> Exit {
    match error {
        RequestError::Length { .. } => Exit::Wrong,
        RequestError::TooManyCells { .. }
        | RequestError::TooLargeOutput { .. }
        | RequestError::TooManyBytes { .. } => Exit::Failed,
        _ => Exit::Usage,
    }
}

fn message_of(error: &RequestError) -> Message {
    let help = match error {
        RequestError::MissingFeature { need, hint, .. } => match need.as_str() {
            "time" => "give a time, --time 1.5 or --time 0..2:0.1, or a frame, --frame 12".into(),
            "tick" => "give a frame, --frame 12 or --frame 0..48".into(),
            "footprint" => "give a view, --size 640x480, or several, --view left=640x480".into(),
            "index" => {
                "give a number of elements, --count 100, or a column, --in NAME=@FILE".into()
            }
            "position" => {
                "give it, --feature position=[0,0,0], or save a picture, which shows the value at \
                           each pixel of a view: --size 640x480 --save FILE.png"
                    .into()
            }
            name if !name.contains(' ') => format!("give it, --feature {name}=VALUE"),
            _ => hint.clone(),
        },
        RequestError::MissingInput { name, ty } if *ty == Type::of::<Image>() => {
            format!("its type is {ty}: give a picture, --in {name}=@FILE")
        }
        RequestError::MissingInput { name, ty } if *ty == Type::of::<Font>() => {
            format!("its type is {ty}: give a TrueType or OpenType font, --in {name}=@FILE")
        }
        RequestError::MissingInput { name, ty } => {
            format!("its type is {ty}: give --in {name}=VALUE, or --in {name}=@FILE:COLUMN")
        }
        RequestError::TooManyCells { cells, .. } | RequestError::TooLargeOutput { cells, .. } => {
            fewer_cells(*cells, &format!("raise it with --limit list_length={cells}"))
        }
        RequestError::TooManyBytes { .. } => {
            "raise it with --limit bytes=N, or request fewer elements".into()
        }
        _ => return Message::of(error),
    };
    Message { text: error.to_string(), help: Some(help) }
}
