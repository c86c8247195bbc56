//! `--in NAME=VALUE` and `--in NAME=@FILE:COLUMN`: values and columns for inputs and features.

use std::path::Path;

use millstream::document::plain_json;
use millstream::values::{Font, Image, LiteralError, Table, Type, Value, from_json};
use millstream::{Given, Limits, RequestAxis};
use millstream_io::{
    Budget, ColumnChoice, Format, ReadOptions, TableReader, read, read_bytes, read_column,
    read_column_bytes,
};
use serde_json::Value as Json;

use crate::outcome::{Exit, Message, Stop};
use crate::picture::PictureFile;
use crate::piped;
use crate::place::Place;
use crate::sources;

/// An assignment to a name on the command line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Assignment<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a str,
}

/// Splits `NAME=VALUE`.
pub(crate) fn assignment<'a>(flag: &str, text: &'a str) -> Result<Assignment<'a>, Stop> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok(Assignment { name, value }),
        Some(_) | None => {
            let help = Some(format!("write {flag} NAME=VALUE or {flag} NAME=@FILE:COLUMN"));
            Err(Stop::new(Exit::Usage, format!("`{flag} {text}` is not an assignment"), help))
        }
    }
}

/// Parses the value for an input of type `ty`: a literal, or a column of a file.
pub(crate) fn given(
    at: Assignment<'_>,
    ty: Type,
    limits: &Limits,
    until: &Budget,
) -> Result<Given, Stop> {
    let Some(place) = at.value.strip_prefix('@') else {
        return literal(at.name, at.value, ty).map(Given::One);
    };
    let read = || {
        if ty == Type::of::<Table>() {
            read_table(place, limits, until)
        } else if ty == Type::of::<Image>() {
            PictureFile::of(place).read(limits, until).map(|image| Given::One(image.into()))
        } else if ty == Type::of::<Font>() {
            font(Path::new(place)).map(|font| Given::One(font.into()))
        } else {
            from_file(at.name, place, ty, limits, until)
        }
    };
    match file_of(at.value).filter(|path| !piped::is_piped(path)) {
        Some(path) => sources::column(path, || format!("{} {ty} {place}", at.name), read),
        None => read(),
    }
}

/// Parses a value as JSON; strings need no quotes, and numbers may have a plus sign.
fn literal(name: &str, text: &str, ty: Type) -> Result<Value, Stop> {
    let json = serde_json::from_str(&plain_json(text)).unwrap_or_else(|_| Json::from(text));
    let json = match json {
        Json::String(_) => json,
        _ if ty == Type::STRING => Json::from(text),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => json,
    };
    from_json(ty, &json).map_err(|error| {
        let help = match &error {
            LiteralError::Mismatch { .. } if Path::new(text).is_file() => {
                format!("to read that file, write `@` before its name: {name}=@{text}")
            }
            LiteralError::Mismatch { form, .. } => {
                let from_file = if [Type::of::<Image>(), Type::of::<Font>()].contains(&ty) {
                    "@FILE gives that of a file"
                } else {
                    "@FILE:COLUMN gives a column of them"
                };
                format!("{} is written as {form}; {from_file}", ty.with_article())
            }
            LiteralError::OutOfRange { .. } | LiteralError::Opaque { .. } => {
                Message::of(&error).help.unwrap_or_default()
            }
        };
        Stop::new(Exit::Usage, format!("`{name}`: {error}"), Some(help))
    })
}

/// A reader for a column of a file that can be read row by row; `None` for any other value.
pub(crate) fn open(
    at: Assignment<'_>,
    ty: Type,
    limits: &Limits,
    until: &Budget,
) -> Result<Option<TableReader>, Stop> {
    let Some(place) = at.value.strip_prefix('@') else { return Ok(None) };
    let place = Place::of(place);
    let format = place.format.or_else(|| Format::of_path(place.path()).ok());
    if place.is_piped()
        || !format.is_some_and(Format::is_read_in_blocks)
        || ty.element().is_some()
        || ty == Type::of::<Table>()
        || ty == Type::of::<Image>()
        || ty == Type::of::<Font>()
    {
        return Ok(None);
    }
    let choice = ColumnChoice { column: place.column, otherwise: at.name, ty: Some(ty) };
    let reader = TableReader::open_column(place.path(), place.format, choice, limits, until);
    reader.map(Some).map_err(|error| Stop::data(Exit::Wrong, &error))
}

/// The file in a value such as `@FILE:COLUMN`.
pub(crate) fn file_of(value: &str) -> Option<&Path> {
    let place = value.strip_prefix('@')?;
    let picture = PictureFile::of(place);
    let path = if picture.has_prefix() { picture.path } else { Place::of(place).path() };
    Some(path).filter(|path| !piped::is_stdin(path))
}

/// Reads a font from a file.
fn font(path: &Path) -> Result<Font, Stop> {
    let refused = |text: String, help: &str| {
        Stop::new(Exit::Wrong, format!("{}: {text}", path.display()), Some(help.to_owned()))
    };
    let bytes = std::fs::read(path)
        .map_err(|error| refused(error.to_string(), "give a TrueType or OpenType font"))?;
    Font::new(bytes).map_err(|error| refused(error, "give a TrueType or OpenType font"))
}

/// Reads all columns of a file.
fn read_table(place: &str, limits: &Limits, until: &Budget) -> Result<Given, Stop> {
    let place = Place::of_table(place);
    let options =
        ReadOptions { limits: limits.clone(), budget: until.clone(), ..ReadOptions::default() };
    let table = if place.is_piped() {
        let (path, format) = (place.path(), place.format_of_stream()?);
        read_bytes(&piped::name_of(path), piped::data(path, limits, until)?, format, &options)
    } else {
        read(place.path(), place.format, &options)
    };
    let table = table.map_err(|error| Stop::data(Exit::Wrong, &error))?;
    let columns = table.into_columns().into_iter().map(|(name, column)| (name.into(), column));
    let table = Table::new(columns.collect()).expect("the reader checked names and lengths");
    Ok(Given::One(Value::from(table)))
}

/// Reads a column of a file. For a list input, the column either holds a list per element or is
/// itself the list.
fn from_file(
    name: &str,
    place: &str,
    ty: Type,
    limits: &Limits,
    until: &Budget,
) -> Result<Given, Stop> {
    let of = Place::of(place);
    if of.file.is_empty() {
        let help = Some(format!("write {name}=@FILE or {name}=@FILE:COLUMN"));
        return Err(Stop::new(
            Exit::Usage,
            format!("`{name}=@{place}` does not name a file"),
            help,
        ));
    }
    let read = |ty: Option<Type>| {
        let choice = ColumnChoice { column: of.column, otherwise: name, ty };
        let column = if of.is_piped() {
            let (path, format) = (of.path(), of.format_of_stream()?);
            let bytes = piped::data(path, limits, until)?;
            read_column_bytes(&piped::name_of(path), bytes, format, choice, limits, until)
        } else {
            read_column(of.path(), of.format, choice, limits, until)
        };
        column.map_err(|error| Stop::data(Exit::Wrong, &error))
    };
    let Some(element) = ty.element() else {
        return read(Some(ty)).map(|column| Given::Along(RequestAxis::Index, column));
    };
    let lists = read(Some(ty));
    match lists {
        Ok(lists) if !lists.is_empty() => Ok(Given::Along(RequestAxis::Index, lists)),
        // A column without rows is ambiguous; it is taken as the empty list.
        Ok(_) | Err(_) => match (read(Some(element)), lists) {
            (Ok(items), _) => Ok(Given::One(Value::List(items))),
            (Err(_), Ok(lists)) => Ok(Given::Along(RequestAxis::Index, lists)),
            (Err(of_items), Err(of_lists)) => {
                let holds_lists = read(None)?.ty();
                let is_list = holds_lists.element().is_some()
                    || holds_lists.lanes().is_some_and(|(_, n)| n > 1);
                Err(if is_list { of_lists } else { of_items })
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_around_strings_are_optional() {
        let text = |text| literal("x", text, Type::STRING).expect("text").to_string();
        assert_eq!(text("hello"), "\"hello\"");
        assert_eq!(text("\"@x\""), "\"@x\"");
        assert_eq!(text("12"), "\"12\"");
    }

    #[test]
    fn numbers_may_have_a_plus_sign() {
        let value = |text, ty| literal("x", text, ty).expect("a value").to_string();
        assert_eq!(value("+1.5", Type::F32), "1.5");
        assert_eq!(value("[+1, +2.5e+1,3] ", Type::VEC3), "[1.0, 25.0, 3.0]");
        assert_eq!(value("+1", Type::STRING), "\"+1\"");
        let texts = Type::named("list<string>", |name| (name == "string").then_some(Type::STRING));
        assert_eq!(value(r#"["+1"]"#, texts.expect("a list")), r#"["+1"]"#);
        for wrong in ["++1", "[+]", "[1 +2, 3]"] {
            assert!(literal("x", wrong, Type::F32).is_err(), "{wrong}");
            assert!(literal("x", wrong, Type::VEC2).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_missing_from_json_are_words() {
        assert_eq!(literal("x", "inf", Type::F32).expect("a number").to_string(), "\"inf\"");
        assert!(literal("x", "[1, 2]", Type::VEC3).is_err());
        assert!(literal("x", "infinite", Type::F32).is_err());
    }
}
