//! A bake that is ready to run: its program, its request and its files, all checked.

use millstream::values::{Image, Type};
use millstream::{Engine, Limits, LogDetail, Program, Request};
use millstream_io::pictures::Depth;

use super::saves::{Saves, Shown, usual_names};
use super::views::Place;
use super::{Args, sheet};
use crate::document::{Text, compile_for};
use crate::outcome::{Exit, Stop};
use crate::picture::{program_of_picture, refuse_elements};
use crate::request::{Files, RequestArgs};
use crate::terminal::visible;

/// The program, the request and the picture of one directory.
pub(super) struct Job {
    pub(super) program: Program,
    pub(super) request: Request,
    pub(super) shown: Shown,
    /// Whether the program lacks requested outputs, because the document has errors.
    pub(super) is_partial: bool,
}

/// Compiles the program, determines the request and the files to save, and refuses what cannot be.
pub(super) fn job(
    args: &Args,
    place: &Place<'_>,
    (engine, text): (&Engine, &Text),
    limits: &Limits,
) -> Result<(Job, Saves), Stop> {
    let compiled = compile_for(engine, text, &args.outputs)?;
    let (wanted, is_partial) = (compiled.rest_of(&args.outputs), !compiled.lost.is_empty());
    let program = compiled.program;
    let named = |name: &str| wanted.is_empty() || wanted.iter().any(|it| it == name);
    if program.outputs().is_empty() {
        let text = "the document has no outputs, so there is nothing to bake";
        return Err(Stop::new(Exit::Wrong, text, Some(crate::run::name_outputs(&program))));
    }
    let mut names = args.saves.clone();
    if names.is_empty() {
        names.extend(usual_names(&program, named, (place.has_view(), args.sheet)));
    }
    if args.sheet && names.iter().any(|name| name == sheet::NAME) {
        let text = format!("`{}` is the contact sheet of --sheet", sheet::NAME);
        return Err(Stop::new(Exit::Usage, text, Some("save under another name".into())));
    }
    let saves = Saves::of(&names, (&args.frames(), limits.cells()), args.depth)?;
    if let Some(depth) = args.depth {
        refuse_depth(&saves, depth)?;
    }
    let (program, picture) = if saves.has_pictures() || saves.has_animations() || args.sheet {
        let asked = (&*wanted, args.count.map(|_| "--count"), place.has_view());
        let (program, name) = program_of_picture(engine, text, program, asked)?;
        (program, Some(name))
    } else {
        (program, None)
    };
    let outputs: Vec<String> = match &picture {
        Some(name) if !saves.has_tables() => vec![name.clone()],
        Some(_) | None if wanted.is_empty() => {
            program.outputs().iter().map(|output| output.name.to_string()).collect()
        }
        Some(_) | None => wanted,
    };
    if saves.has_tables() {
        refuse_hidden_images(&program, &outputs, picture.as_deref())?;
    }
    let program = engine.only_outputs(program, &outputs);
    let is_asked = |name: &str| outputs.iter().any(|it| it == name);
    let asked = program.outputs().iter().filter(|output| is_asked(&output.name));
    let types: Vec<(&str, Type)> = asked.map(|output| (&*output.name, output.ty)).collect();
    let columns = types.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
    let shown = Shown { picture, columns };
    let given = RequestArgs {
        inputs: place.inputs.clone(),
        count: args.count,
        only: None,
        time: None,
        frame: None,
        size: place.size(&program, &outputs).cloned(),
        views: Vec::new(),
        reduce: 1,
        features: args.features.clone(),
    };
    let request = given.request(&program, &outputs, limits.clone(), Files::Now, None)?;
    let request = request.with_log(LogDetail::Off);
    if let Some(name) = shown.picture.as_ref().filter(|_| !saves.has_tables()) {
        refuse_elements(&program, name, &request, args.count.map(|_| "--count"))?;
    }
    saves.check(&types, &shown, request.n_elements())?;
    Ok((Job { program, request, shown, is_partial }, saves))
}

/// Refuses a number of bits if no file is a picture, or one cannot have it.
fn refuse_depth(saves: &Saves, depth: Depth) -> Result<(), Stop> {
    if let Some((name, format)) = saves.without_depth(depth) {
        let known: Vec<String> = format.depths().iter().map(ToString::to_string).collect();
        let text =
            format!("--depth: `{name}` cannot be written: {format} does not support {depth}");
        let help = format!("{format} supports {}", known.join(" or "));
        return Err(Stop::new(Exit::Usage, text, Some(help)));
    }
    if saves.has_pictures() {
        return Ok(());
    }
    let (text, help) = if saves.has_animations() {
        let help = "leave it out, or save pictures, such as out.####.png";
        ("--depth has no effect: animations have 8 bits per channel", help)
    } else {
        ("--depth has no effect: no file is a picture", "leave it out")
    };
    Err(Stop::new(Exit::Usage, text, Some(help.into())))
}

/// Refuses images that no file would hold.
fn refuse_hidden_images(
    program: &Program,
    outputs: &[String],
    picture: Option<&str>,
) -> Result<(), Stop> {
    let is_asked = |name: &str| outputs.iter().any(|it| it == name);
    let is_hidden = |name: &str| is_asked(name) && picture != Some(name);
    let mut images = program.outputs().iter().filter(|output| output.ty == Type::of::<Image>());
    let Some(image) = images.find(|output| is_hidden(&output.name)) else { return Ok(()) };
    let text = format!("a table cannot hold the output `{}`, an image", visible(&image.name));
    let help = if picture.is_some() {
        "a bake saves one picture per frame; choose outputs with --out"
    } else {
        "add --save frame.####.png, or choose other outputs with --out"
    };
    Err(Stop::new(Exit::Usage, text, Some(help.into())))
}
