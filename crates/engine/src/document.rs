//! Documents: load, check, build, edit and save them.
//!
//! A [`Document`] is the graph that people write. [`load()`] reads its text, and [`save()`] writes
//! it with small diffs and in the original order. [`Builder`] makes a document in Rust code. An
//! [`Engine`](crate::Engine) checks a document when it compiles it, and reports every problem with
//! its place.
//!
//! There are two equivalent forms of a document: JSON, for tools, and the text form, for people.
//! [`Engine::load`](crate::Engine::load) takes either. [`Engine::read`](crate::Engine::read) reads
//! the text form, [`to_text`] writes it, and [`format_text`] formats it.
//!
//! A change is data, an [`Edit`]. An [`Editor`] applies edits to a document. Every edit that it
//! applies has an inverse, which is an edit too, so undo is one more edit. An edit that cannot be
//! applied is refused and leaves the document unchanged. A [`Session`](crate::session::Session) has
//! an editor of its own and evaluates while the document is edited.
//!
//! A document may use the groups of others: `"use": { "noise": "lib/noise.mill.json" }` makes them
//! available as `noise/NAME`, and the document as a whole as `noise`. The engine reads them from a
//! [`Library`], such as a [`Folder`].
//!
//! ```
//! use millstream::document::{Builder, Edit, In, load, save};
//! use millstream::{Engine, Limits, Request, Session};
//!
//! let mut builder = Builder::new("Twice");
//! let x: In<f32> = builder.input("x", 1.0_f32);
//! let twice = builder.node("math.multiply").named("twice").arg("a", x).arg("b", 2.0).value::<f32>();
//! builder.output("y", twice);
//! let document = builder.finish();
//!
//! let text = save(&document);
//! let (again, problems) = load(text.as_bytes(), &Limits::default());
//! assert!(problems.is_empty() && again.as_ref() == Some(&document));
//!
//! let engine = Engine::new();
//! let mut session = Session::new(&engine, document);
//! session.edit(&Edit::literal("twice", "b", 3.0))?;
//! let program = engine.compile(session.document().clone())?;
//! let answer = program.run(&Request::new().set("x", 5.0_f32))?;
//! assert_eq!(answer.value::<f32>("y"), Some(15.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use millstream_document::builder::{
    Any, Builder, GroupHandle, In, Linked, NodeBuilder, NodeHandle, Out, Source,
};
pub use millstream_document::edit::NewNode;
pub use millstream_document::{
    Document, Edit, EditKind, Editor, GroupDef, Input, InputDef, InputValue, Library, LibraryError,
    Link, LoadError, Lock, Node, NodeKind, NodeUpgrade, OutputDef, OutputFrom, Setting, UseDef,
    UseError, View, free_name, load, save,
};
pub use millstream_text::{TextError, format as format_text, is_text, plain_json, to_text};

pub use crate::folder::Folder;
