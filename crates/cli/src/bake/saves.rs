//! The files of a bake.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use millstream::evaluate::{Data, OutputAnswer};
use millstream::values::{Image, Type, ValueType as _};
use millstream::{Answer, Program};
use millstream_io::Format;
use millstream_io::pictures::{AnimationFormat, AnimationWriter, Depth, PictureFormat};

use super::content::{Content, Listed};
use super::manifest;
use super::rows::OfFrames;
use super::table::{self, FramesTable};
use crate::outcome::{Exit, Stop};
use crate::picture::{PictureTarget, VIEW, is_field, numbered};
use crate::place::{Target, stop};
use crate::tables::Coordinates;
use crate::{mesh, save};

/// What the files show.
pub(super) struct Shown {
    /// The output that pictures show, if pictures are saved.
    pub(super) picture: Option<String>,
    /// The outputs in the order of the columns of tables, with their types.
    pub(super) columns: Vec<String>,
}

/// All files that a bake writes.
pub(super) struct Saves {
    all: Vec<Save>,
    n_frames: usize,
    depth: Option<Depth>,
    outdated: Outdated,
}

/// The files of earlier bakes, of which those are removed that this one has no values for.
#[derive(Default)]
pub(super) struct Outdated {
    /// The files that the manifest lists.
    listed: Listed,
    /// The names of those that were removed.
    pub(super) removed: Vec<String>,
    /// The names of those that have another content than a bake wrote, so that they remain.
    pub(super) foreign: Vec<String>,
}

/// The outcome of completing the files that hold all frames.
pub(super) struct Finished {
    /// The names of all files that were written.
    pub(super) names: Vec<String>,
    pub(super) outdated: Outdated,
    /// The reasons why files could not be completed.
    pub(super) misfits: Vec<Stop>,
}

/// One file, or one file per frame.
struct Save {
    name: String,
    kind: Kind,
    /// The number of frames without a file of their own, because there is no value for it.
    n_left_out: usize,
}

enum Kind {
    /// One picture per frame.
    Pictures,
    Animation {
        format: AnimationFormat,
        writer: Option<Box<AnimationWriter>>,
    },
    /// One table or mesh per frame.
    Tables,
    /// All frames in one table.
    Rows(FramesTable),
    /// A file of all frames that could not hold one of them.
    GivenUp,
}

/// The outcome of writing the files of a frame.
#[derive(Default)]
pub(super) struct Pushed {
    /// The names of the files.
    pub(super) files: Vec<String>,
    /// The names of the files that leave the frame out, because an output has no value.
    pub(super) left_out: Vec<String>,
    /// The reasons why files of this frame could not be written.
    pub(super) of_frame: Vec<Stop>,
    /// The reasons why files of all frames were given up.
    pub(super) given_up: Vec<Stop>,
}

fn usage(text: String, help: &str) -> Stop {
    Stop::new(Exit::Usage, text, Some(help.to_owned()))
}

impl Save {
    fn of(name: &str, n_frames: usize, most_rows: usize) -> Result<Self, Stop> {
        let path = Path::new(name);
        if path.file_name().is_none_or(|file| file != name) {
            let text = format!("`--save {name}` is not a file name inside the directory of -o");
            return Err(usage(text, "give a plain name, such as out.####.png"));
        }
        if name == manifest::NAME || name == "cache" {
            let text = format!("`{name}` is reserved for the bake itself");
            return Err(usage(text, "save under another name"));
        }
        if name.contains(VIEW) {
            let text = format!("`{name}`: each view has a directory of its own");
            return Err(usage(text, "leave out {view}"));
        }
        let is_many = name.contains('#');
        let animation = AnimationFormat::of_path(path);
        let is_picture = PictureFormat::of_path(path).is_ok();
        let kind = match animation {
            _ if is_picture && (is_many || n_frames == 1) => Kind::Pictures,
            Some(_) if is_many => {
                let text = format!("`{name}` is an animation, which already holds all frames");
                return Err(usage(text, "leave out #, or save pictures such as out.####.png"));
            }
            Some(format) => Kind::Animation { format, writer: None },
            None if is_picture => {
                let text = format!("{n_frames} pictures do not fit in one file `{name}`");
                let help = "write # in the name in place of the number, such as out.####.png";
                return Err(usage(text, help));
            }
            None => {
                let is_mesh = Format::of_path(path).map_err(|error| stop(&error))?.is_mesh();
                if is_mesh && !is_many && n_frames > 1 {
                    let text = format!("{n_frames} meshes do not fit in one file `{name}`");
                    let help = "write # in the name in place of the number, such as mesh.####.ply";
                    return Err(usage(text, help));
                }
                if is_many || is_mesh {
                    Kind::Tables
                } else {
                    Kind::Rows(FramesTable::new(most_rows))
                }
            }
        };
        Ok(Self { name: name.to_owned(), kind, n_left_out: 0 })
    }
}

/// Refuses names that are those of one file in some frame.
fn refuse_shared(all: &[Save], frames: &[i64]) -> Result<(), Stop> {
    if all.len() < 2 {
        return Ok(());
    }
    let mut known: BTreeMap<String, &str> = BTreeMap::new();
    for frame in frames {
        for Save { name, .. } in all {
            let other = known.insert(numbered(name, *frame), name);
            if let Some(other) = other.filter(|other| *other != name) {
                let text = format!("`{other}` and `{name}` are the same file in frame {frame}");
                return Err(usage(text, "give each file a name of its own"));
            }
        }
    }
    Ok(())
}

impl Saves {
    /// Parses the file names of `--save`. Tables of all frames have at most so many rows for elements
    /// along which no output varies.
    pub(super) fn of(
        names: &[String],
        (frames, most_rows): (&[i64], usize),
        depth: Option<Depth>,
    ) -> Result<Self, Stop> {
        let n_frames = frames.len();
        let all = names.iter().map(|name| Save::of(name, n_frames, most_rows));
        let all = all.collect::<Result<Vec<_>, _>>()?;
        for (i, save) in all.iter().enumerate() {
            if all[..i].iter().any(|known| known.name == save.name) {
                return Err(usage(format!("`{}` is given twice", save.name), "give it once"));
            }
        }
        refuse_shared(&all, frames)?;
        Ok(Self { all, n_frames, depth, outdated: Outdated::default() })
    }

    /// Says which files are those of earlier bakes.
    pub(super) fn supersede(&mut self, listed: Listed) {
        self.outdated = Outdated::of(listed);
    }

    pub(super) fn has_pictures(&self) -> bool {
        self.all.iter().any(|save| matches!(save.kind, Kind::Pictures))
    }

    pub(super) fn has_animations(&self) -> bool {
        self.all.iter().any(|save| matches!(save.kind, Kind::Animation { .. }))
    }

    pub(super) fn has_tables(&self) -> bool {
        self.all.iter().any(|save| matches!(save.kind, Kind::Tables | Kind::Rows(_)))
    }

    /// Whether every file is a table of all frames.
    pub(super) fn are_tables(&self) -> bool {
        self.all.iter().all(|save| matches!(save.kind, Kind::Rows(_)))
    }

    /// Whether some file holds all frames, so that every frame is needed whatever already exists.
    pub(super) fn need_all(&self) -> bool {
        let holds_all = |save: &Save| matches!(save.kind, Kind::Rows(_) | Kind::Animation { .. });
        self.all.iter().any(holds_all)
    }

    /// A picture that cannot have this many bits per channel, with its format.
    pub(super) fn without_depth(&self, depth: Depth) -> Option<(&str, PictureFormat)> {
        let pictures = self.all.iter().filter(|save| matches!(save.kind, Kind::Pictures));
        let formats = pictures.filter_map(|save| {
            let target = PictureTarget::of(Path::new(&save.name), None)?;
            Some((save.name.as_str(), target.format()))
        });
        let mut lacking = formats.filter(|(_, format)| !format.depths().contains(&depth));
        lacking.next()
    }

    /// Whether nothing is left to be written.
    pub(super) fn are_given_up(&self) -> bool {
        self.all.iter().all(|save| matches!(save.kind, Kind::GivenUp))
    }

    /// Refuses files that cannot hold outputs of these types; `count` is the number of elements.
    pub(super) fn check(
        &self,
        outputs: &[(&str, Type)],
        shown: &Shown,
        count: Option<usize>,
    ) -> Result<(), Stop> {
        let in_tables = |(name, ty): &&(&str, Type)| shown.is_in_tables(name, *ty);
        let outputs: Vec<(&str, Type)> = outputs.iter().filter(in_tables).copied().collect();
        let is_table = |save: &&Save| matches!(save.kind, Kind::Tables | Kind::Rows(_));
        if outputs.is_empty()
            && let Some(table) = self.all.iter().find(is_table)
        {
            let text = format!("`{}` would hold no output: all are in pictures", table.name);
            return Err(usage(text, "leave it out, or choose other outputs too with --out"));
        }
        for save in &self.all {
            let path = Path::new(&save.name);
            match &save.kind {
                Kind::Rows(_) => table::check(path, &outputs, (self.n_frames, count))?,
                Kind::Tables => {
                    let at = (&Coordinates::default(), count.is_some());
                    save::check(&Target::of(path, &[])?, &outputs, at)?;
                }
                Kind::Pictures | Kind::Animation { .. } | Kind::GivenUp => {}
            }
        }
        Ok(())
    }

    /// The names that contain no frame number.
    pub(super) fn fixed_names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|save| save.name.as_str()).filter(|name| !name.contains('#'))
    }

    /// A description of how values become files. Files written under another description are
    /// rewritten.
    pub(super) fn description(&self, shown: &Shown) -> String {
        let mut text: Vec<String> = self.all.iter().map(|save| save.name.clone()).collect();
        text.extend(shown.picture.clone());
        text.extend(self.depth.map(|depth| depth.to_string()));
        if self.has_tables() {
            text.extend(shown.columns.iter().cloned());
        }
        text.join(" ")
    }

    /// Starts writing; `fps` is the frame rate of animations.
    pub(super) fn start(&mut self, folder: &Path, fps: f64, frames: &[i64]) -> Result<(), Stop> {
        for save in &mut self.all {
            if let Kind::Animation { format, writer } = &mut save.kind {
                let path = folder.join(&save.name);
                let started = AnimationWriter::create(&path, *format, fps, frames.len());
                *writer = Some(Box::new(started.map_err(|error| stop(&error))?));
            }
        }
        Ok(())
    }

    /// Writes the files of a frame. A file of all frames that cannot hold this one is given up; the
    /// others are written.
    pub(super) fn push(
        &mut self,
        folder: &Path,
        answer: &Answer,
        frames: &[i64],
        (shown, fps): (&Shown, f64),
    ) -> Result<Pushed, Stop> {
        let in_tables = |output: &&OutputAnswer| shown.is_in_tables(&output.name, output.ty);
        let outputs: Vec<&OutputAnswer> = answer.outputs.iter().filter(in_tables).collect();
        let frame = Frame {
            folder,
            answer,
            outputs: &outputs,
            shown,
            moments: (frames, fps, self.n_frames),
        };
        let mut pushed = Pushed::default();
        for save in &mut self.all {
            let name = numbered(&save.name, frames[0]);
            if !save.has_values(&frame) {
                save.leave_out()?;
                if save.is_of_frame() {
                    self.outdated.remove(folder, &name)?;
                    save.n_left_out += 1;
                }
                pushed.left_out.push(name);
                continue;
            }
            match save.push(&frame, self.depth) {
                Ok(file) => pushed.files.extend(file),
                Err(stop) if !stop.is_misfit() => return Err(stop),
                Err(misfit) => match &save.kind {
                    Kind::Pictures | Kind::Tables => {
                        self.outdated.remove(folder, &name)?;
                        save.n_left_out += 1;
                        pushed.of_frame.push(misfit);
                    }
                    Kind::Animation { .. } | Kind::Rows(_) | Kind::GivenUp => {
                        // Dropping the writer removes its unfinished file.
                        save.kind = Kind::GivenUp;
                        pushed.given_up.push(misfit);
                    }
                },
            }
        }
        Ok(pushed)
    }

    /// Completes the files that hold all frames. A file that cannot be completed is removed if it is
    /// there from an earlier bake, since it holds other values.
    pub(super) fn finish(self, folder: &Path) -> Result<Finished, Stop> {
        let (names, misfits) = (Vec::new(), Vec::new());
        let mut finished = Finished { names, outdated: self.outdated, misfits };
        for save in self.all {
            let has_frames = save.n_left_out < self.n_frames;
            let misfit = match save.kind.finish(&folder.join(&save.name)) {
                Ok(true) if has_frames => {
                    finished.names.push(save.name);
                    continue;
                }
                Ok(_) => None,
                Err(misfit) if misfit.is_misfit() => Some(misfit),
                Err(stop) => return Err(stop),
            };
            finished.outdated.remove(folder, &save.name)?;
            finished.misfits.extend(misfit);
        }
        Ok(finished)
    }
}

impl Outdated {
    /// Those that a manifest lists.
    pub(super) fn of(listed: Listed) -> Self {
        Self { listed, ..Self::default() }
    }

    /// Removes a file of an earlier bake, if it exists. Other files of this name remain.
    pub(super) fn remove(&mut self, folder: &Path, name: &str) -> Result<(), Stop> {
        if !self.listed.contains_key(name) {
            return Ok(());
        }
        let path = folder.join(name);
        let removed = Content::of(&path).and_then(|found| {
            // Another bake may have written it since.
            let is_ours = self.is_ours(name, &found) || {
                self.listed = manifest::listed(folder).unwrap_or_default();
                self.is_ours(name, &found)
            };
            if is_ours { std::fs::remove_file(&path).map(|()| true) } else { Ok(false) }
        });
        match removed {
            Ok(true) => self.removed.push(name.to_owned()),
            Ok(false) => self.foreign.push(name.to_owned()),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                let text =
                    format!("cannot remove `{}`, which is outdated: {error}", path.display());
                return Err(Stop::new(Exit::Failed, text, None));
            }
        }
        Ok(())
    }

    /// Whether a bake wrote this content under this name.
    fn is_ours(&self, name: &str, found: &Content) -> bool {
        self.listed.get(name).is_some_and(|all| all.iter().any(|content| content.is(found)))
    }
}

impl Kind {
    /// Completes the file, if it holds all frames; returns whether there is one.
    fn finish(self, path: &Path) -> Result<bool, Stop> {
        match self {
            Self::Pictures | Self::Tables => {}
            Self::Animation { writer, .. } => {
                let writer = writer.expect("writers are started before frames");
                writer.finish().map_err(|error| stop(&error))?;
            }
            Self::Rows(table) => table.finish(path)?,
            Self::GivenUp => return Ok(false),
        }
        Ok(true)
    }
}

/// The values of a frame, or of several in a table.
struct Frame<'f> {
    folder: &'f Path,
    answer: &'f Answer,
    /// The outputs in tables.
    outputs: &'f [&'f OutputAnswer],
    shown: &'f Shown,
    /// The frames, the frames per second, and the number of all frames.
    moments: (&'f [i64], f64, usize),
}

impl Save {
    /// Whether the outputs of the file have values; for a table, some of them.
    fn has_values(&self, frame: &Frame<'_>) -> bool {
        match &self.kind {
            Kind::Pictures | Kind::Animation { .. } => frame.shown.has_value(frame.answer),
            // Rows of meshes and arrays are complete.
            Kind::Tables | Kind::Rows(_) if self.is_complete() => {
                frame.outputs.iter().all(|it| it.value.is_some())
            }
            Kind::Tables | Kind::Rows(_) => frame.outputs.iter().any(|it| it.known().is_some()),
            Kind::GivenUp => true,
        }
    }

    /// Whether no value may be missing in the format.
    fn is_complete(&self) -> bool {
        let format = Format::of_path(Path::new(&self.name));
        format.is_ok_and(|format| format.is_mesh() || format == Format::NPY)
    }

    /// Whether there is a file for each frame.
    fn is_of_frame(&self) -> bool {
        matches!(self.kind, Kind::Pictures | Kind::Tables)
    }

    /// Leaves out a frame; animations repeat the previous frame instead.
    fn leave_out(&mut self) -> Result<(), Stop> {
        match &mut self.kind {
            Kind::Animation { writer: Some(writer), .. } => {
                writer.repeat().map_err(|error| stop(&error))
            }
            Kind::Animation { writer: None, .. }
            | Kind::Pictures
            | Kind::Tables
            | Kind::Rows(_)
            | Kind::GivenUp => Ok(()),
        }
    }

    /// Writes a frame. Returns the name of the file.
    fn push(&mut self, frame: &Frame<'_>, depth: Option<Depth>) -> Result<Option<String>, Stop> {
        let Frame { folder, answer, outputs, shown, moments } = *frame;
        let name = numbered(&self.name, moments.0[0]);
        let path = folder.join(&name);
        let image = || shown.image(answer).ok_or_else(|| several(&self.name));
        match &mut self.kind {
            Kind::Pictures => {
                let target = PictureTarget::of(&path, depth);
                let target = target.expect("the extension is that of a picture");
                target.write_image(&path, &image()?)?;
            }
            Kind::Animation { writer, .. } => {
                let writer = writer.as_mut().expect("writers are started before frames");
                writer.push(&image()?).map_err(|error| stop(&error))?;
            }
            Kind::Tables => {
                let target = Target::of(&path, &[])?;
                let at = Coordinates::default();
                save::write_outputs(&target, answer, outputs, &at, usize::MAX)?;
            }
            Kind::Rows(table) => {
                let (frames, fps, n_frames) = moments;
                table.push(&path, OfFrames { answer, outputs, frames, fps }, n_frames)?;
            }
            Kind::GivenUp => return Ok(None),
        }
        Ok(Some(name))
    }
}

impl Shown {
    /// Whether tables hold an output.
    fn is_in_tables(&self, name: &str, ty: Type) -> bool {
        self.picture.as_deref() != Some(name) && ty != Type::of::<Image>()
    }

    /// Whether the output that pictures show has a value.
    fn has_value(&self, answer: &Answer) -> bool {
        let shown = self.picture.as_ref().and_then(|name| answer.output(name));
        shown.is_none_or(|output| output.value.is_some())
    }

    /// The picture in an answer.
    pub(super) fn image(&self, answer: &Answer) -> Option<Image> {
        let series = answer.output(self.picture.as_ref()?)?.value.as_ref()?;
        match &series.data {
            Data::One(value) => Image::from_value(value),
            Data::Many(_) => None,
        }
    }
}

/// The names of the files if none are given: pictures of images or, with a view, of values that
/// differ from pixel to pixel.
pub(super) fn usual_names(
    program: &Program,
    is_named: impl Fn(&str) -> bool,
    (has_view, has_sheet): (bool, bool),
) -> impl Iterator<Item = String> {
    let all = program.outputs().iter().filter(|output| is_named(&output.name));
    let outputs: Vec<(&str, Type)> = all.map(|output| (&*output.name, output.ty)).collect();
    let n_images = outputs.iter().filter(|(_, ty)| *ty == Type::of::<Image>()).count();
    let n_fields = outputs.iter().filter(|(name, _)| is_field(program, name)).count();
    let n_shown = if n_images == 0 && has_view { n_fields } else { n_images };
    let names: &[&str] = if n_shown > 0 {
        let has_others = n_shown < outputs.len();
        if has_others { &["frame.####.png", "frames.csv"] } else { &["frame.####.png"] }
    } else if has_view && has_sheet {
        // A contact sheet shows pictures of whatever can be a pixel.
        &["frame.####.png"]
    } else if outputs.iter().any(|(name, ty)| mesh::is_of_faces(name, *ty)) {
        &["frame.####.ply"]
    } else {
        &["frames.csv"]
    };
    names.iter().map(|name| (*name).to_owned())
}

fn several(name: &str) -> Stop {
    let text = format!("`{name}` holds one picture per frame, but there is one per element");
    usage(text, "leave out --count and columns, or set what differs by element to a single value")
}
