//! The files of a bake.

use std::path::{Path, PathBuf};

use millstream::evaluate::OutputAnswer;
use millstream::values::{Image, Type};
use millstream::{Answer, Program};
use millstream_io::Format;
use millstream_io::pictures::{AnimationFormat, AnimationWriter, Depth, PictureFormat};

use super::table::FramesTable;
use crate::outcome::{Exit, Stop};
use crate::picture::{PictureTarget, VIEW, is_field, numbered};
use crate::place::{Target, stop};
use crate::tables::Coordinates;
use crate::{mesh, save};

/// The output shown in pictures, if pictures are saved.
pub(super) struct Shown {
    pub(super) picture: Option<String>,
}

/// All files that a bake writes.
pub(super) struct Saves {
    all: Vec<Save>,
    n_frames: usize,
    depth: Option<Depth>,
}

/// One file, or one file per frame.
struct Save {
    name: String,
    kind: Kind,
}

enum Kind {
    /// One picture per frame.
    Pictures,
    Animation {
        format: AnimationFormat,
        writer: Option<AnimationWriter>,
    },
    /// One table or mesh per frame.
    Tables,
    /// All frames in one table.
    Rows(FramesTable),
}

fn usage(text: String, help: &str) -> Stop {
    Stop::new(Exit::Usage, text, Some(help.to_owned()))
}

impl Save {
    fn of(name: &str, n_frames: usize) -> Result<Self, Stop> {
        let path = Path::new(name);
        if path.file_name().is_none_or(|file| file != name) {
            let text = format!("`--save {name}` is not a file name inside the directory of -o");
            return Err(usage(text, "give a plain name, such as out.####.png"));
        }
        if name == super::manifest::NAME || name == "cache" {
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
                if is_many || is_mesh { Kind::Tables } else { Kind::Rows(FramesTable::default()) }
            }
        };
        Ok(Self { name: name.to_owned(), kind })
    }
}

impl Saves {
    /// Parses the file names of `--save`.
    pub(super) fn of(
        names: &[String],
        n_frames: usize,
        depth: Option<Depth>,
    ) -> Result<Self, Stop> {
        let all = names.iter().map(|name| Save::of(name, n_frames));
        let all = all.collect::<Result<Vec<_>, _>>()?;
        for (i, save) in all.iter().enumerate() {
            if all[..i].iter().any(|known| known.name == save.name) {
                return Err(usage(format!("`{}` is given twice", save.name), "give it once"));
            }
        }
        Ok(Self { all, n_frames, depth })
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
        text.join(" ")
    }

    /// Starts writing; `fps` is the frame rate of animations.
    pub(super) fn start(&mut self, folder: &Path, fps: f64, frames: &[i64]) -> Result<(), Stop> {
        for save in &mut self.all {
            if let Kind::Animation { format, writer } = &mut save.kind {
                let path = folder.join(&save.name);
                let started = AnimationWriter::create(&path, *format, fps, frames.len());
                *writer = Some(started.map_err(|error| stop(&error))?);
            }
        }
        Ok(())
    }

    /// Writes the files of a frame. Returns their names, with the sizes of files that hold only
    /// this frame.
    pub(super) fn push(
        &mut self,
        folder: &Path,
        answer: &Answer,
        frames: &[i64],
        (shown, fps): (&Shown, f64),
    ) -> Result<Vec<(String, Option<u64>)>, Stop> {
        let mut files = Vec::new();
        let is_shown = |output: &&OutputAnswer| shown.picture.as_deref() != Some(&*output.name);
        let in_table = |output: &&OutputAnswer| output.ty != Type::of::<Image>();
        let outputs: Vec<&OutputAnswer> =
            answer.outputs.iter().filter(|it| is_shown(it) && in_table(it)).collect();
        for save in &mut self.all {
            let path = |name: &str| -> PathBuf { folder.join(name) };
            let mut bytes = None;
            let mut name = save.name.clone();
            match &mut save.kind {
                Kind::Pictures => {
                    name = numbered(&save.name, frames[0]);
                    let image = shown.image(answer);
                    let image = image.ok_or_else(|| several(&save.name))?;
                    let target = PictureTarget::of(&path(&name), self.depth);
                    let target = target.expect("the extension is that of a picture");
                    target.write_image(&path(&name), &image)?;
                    bytes = path(&name).metadata().ok().map(|data| data.len());
                }
                Kind::Animation { writer, .. } => {
                    let image = shown.image(answer).ok_or_else(|| several(&save.name))?;
                    let writer = writer.as_mut().expect("writers are started before frames");
                    writer.push(&image).map_err(|error| stop(&error))?;
                }
                Kind::Tables => {
                    name = numbered(&save.name, frames[0]);
                    let target = Target::of(&path(&name), &[])?;
                    save::write_outputs(&target, answer, &outputs, &Coordinates::default())?;
                    bytes = path(&name).metadata().ok().map(|data| data.len());
                }
                Kind::Rows(table) => {
                    let moments = (frames, fps, self.n_frames);
                    table.push(&path(&name), (answer, &outputs), moments)?;
                }
            }
            files.push((name, bytes));
        }
        Ok(files)
    }

    /// Skips a frame that failed; animations repeat the previous frame instead.
    pub(super) fn skip(&mut self) -> Result<(), Stop> {
        for save in &mut self.all {
            if let Kind::Animation { writer: Some(writer), .. } = &mut save.kind {
                writer.repeat().map_err(|error| stop(&error))?;
            }
        }
        Ok(())
    }

    /// Completes the files that hold all frames, and returns the names of all files.
    pub(super) fn finish(self) -> Result<Vec<String>, Stop> {
        let mut names = Vec::new();
        for save in self.all {
            match save.kind {
                Kind::Pictures | Kind::Tables => {}
                Kind::Animation { writer, .. } => {
                    let writer = writer.expect("writers are started before frames");
                    writer.finish().map_err(|error| stop(&error))?;
                }
                Kind::Rows(table) => {
                    if !table.finish()? {
                        continue;
                    }
                }
            }
            names.push(save.name);
        }
        Ok(names)
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
    let text = format!("`{name}` holds one picture per frame, but --count asks for several");
    usage(text, "leave out --count")
}
