//! From the names in a file to the columns of a table.
//!
//! Text tables and polygon files hold one number per cell, so a vector consists of several adjacent
//! fields named by component: `p.x,p.y,p.z` or `p_x,p_y,p_z` is a vec3 called `p`. Components are x
//! y, x y z, x y z w for vectors, w x y z for a quat, r g b (a) for a color, and 0 to 15 for a
//! mat4.

use std::collections::HashSet;

use millstream_base::{Color, Column, Type, Vec3};

use crate::builder::column_of_lanes;
use crate::error::{IoError, Spot};
use crate::options::{ColumnChoice, Wanted};
use crate::table::{Table, joined, missing_column};

/// The column for data without names.
pub(crate) const ONLY: &str = "value";

/// A column to make: its name, its type if already known, and the fields that it consists of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) ty: Option<Type>,
    pub(crate) fields: Vec<usize>,
}

/// The way a format names the components of a vector.
#[derive(Debug)]
pub(crate) struct Naming {
    /// The characters that may separate the name from the component.
    pub(crate) separators: &'static [char],
    /// The separator that forms a vector without a request for one.
    pub(crate) automatic: char,
    /// Conventional names of fields that form a vector of another name.
    pub(crate) customs: &'static [Custom],
    /// Whether one field can hold a whole vector.
    pub(crate) whole_vectors: bool,
    /// The vec3 to use if the caller names no column and the file has several.
    pub(crate) main: Option<&'static str>,
}

impl Naming {
    /// For formats in which a field holds any value.
    pub(crate) const WHOLE: Self =
        Self { separators: &[], automatic: '.', customs: &[], whole_vectors: true, main: None };

    /// For mesh formats in which a field holds any value.
    pub(crate) const MESH: Self = Self { main: Some("position"), ..Self::WHOLE };

    /// For formats in which a field holds one number or string.
    pub(crate) const PARTS: Self =
        Self { separators: &['.', '_'], whole_vectors: false, ..Self::WHOLE };
}

/// Fields that form a vector by convention: `nx ny nz` is a vec3 called `normal`.
#[derive(Debug)]
pub(crate) struct Custom {
    pub(crate) name: &'static str,
    pub(crate) ty: Type,
    pub(crate) fields: &'static [&'static str],
}

/// The fields of a file.
pub(crate) struct Fields<'a> {
    pub(crate) file: &'a str,
    pub(crate) names: &'a [String],
    /// The number of names, from the first, that make up the table if no columns are requested.
    pub(crate) n_main: usize,
    /// Whether a field holds numbers that may be part of a vector.
    pub(crate) is_number: &'a dyn Fn(usize) -> bool,
    pub(crate) naming: &'a Naming,
}

impl<'a> Fields<'a> {
    /// Fields that all belong to the table, none of which is known to hold numbers.
    pub(crate) fn new(file: &'a str, names: &'a [String], naming: &'a Naming) -> Self {
        Self { file, names, n_main: names.len(), is_number: &|_| false, naming }
    }
}

/// Types with components, longest first, so that `x y z w` is not mistaken for `x y`.
const COMPONENTS: [(Type, &[&str]); 7] = [
    (
        Type::MAT4,
        &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15"],
    ),
    (Type::COLOR, &["r", "g", "b", "a"]),
    (Type::VEC4, &["x", "y", "z", "w"]),
    (Type::QUAT, &["w", "x", "y", "z"]),
    (Type::COLOR, &["r", "g", "b"]),
    (Type::VEC3, &["x", "y", "z"]),
    (Type::VEC2, &["x", "y"]),
];

/// The components of a vector in files; empty for other types.
pub(crate) fn components(ty: Type) -> &'static [&'static str] {
    COMPONENTS.iter().find(|(of, _)| *of == ty).map_or(&[], |(_, names)| names)
}

impl Fields<'_> {
    /// The columns to make.
    pub(crate) fn plan(&self, wanted: Wanted<'_>) -> Result<Vec<Target>, IoError> {
        match wanted {
            Wanted::All => Ok(self.all()),
            Wanted::Named(columns) => {
                columns.iter().map(|(name, ty)| self.named(name, *ty)).collect()
            }
            Wanted::One(choice) => self.one(choice).map(|target| vec![target]),
        }
    }

    /// All columns, with adjacent components combined to vectors.
    fn all(&self) -> Vec<Target> {
        let names: HashSet<&str> = self.names.iter().map(String::as_str).collect();
        let mut targets = Vec::new();
        let mut next = 0;
        while next < self.n_main {
            let target = self.vector_at(next, &names).unwrap_or_else(|| self.single(next));
            next += target.fields.len();
            targets.push(target);
        }
        targets
    }

    fn single(&self, field: usize) -> Target {
        Target { name: self.names[field].clone(), ty: None, fields: vec![field] }
    }

    /// The vector whose components start at this field.
    fn vector_at(&self, first: usize, names: &HashSet<&str>) -> Option<Target> {
        let numbers = |n: usize| (first..first + n).all(self.is_number);
        let is_free = |name: &str| !names.contains(name);
        for custom in self.naming.customs.iter().filter(|custom| is_free(custom.name)) {
            let fields = self.names.get(first..first + custom.fields.len());
            if fields.is_some_and(|fields| fields == custom.fields) && numbers(custom.fields.len())
            {
                let fields = (first..first + custom.fields.len()).collect();
                return Some(Target { name: custom.name.into(), ty: Some(custom.ty), fields });
            }
        }
        let (name, _) = self.names[first].rsplit_once(self.naming.automatic)?;
        if name.is_empty() || !is_free(name) {
            return None;
        }
        for (ty, components) in COMPONENTS {
            let Some(fields) = self.names.get(first..first + components.len()) else { continue };
            let fits = fields.iter().zip(components).all(|(field, component)| {
                field.rsplit_once(self.naming.automatic) == Some((name, component))
            });
            if fits && numbers(components.len()) {
                let fields = (first..first + components.len()).collect();
                return Some(Target { name: name.into(), ty: Some(ty), fields });
            }
        }
        None
    }

    fn named(&self, name: &str, ty: Option<Type>) -> Result<Target, IoError> {
        let exact = self.names.iter().position(|field| field == name);
        let Some(ty) = ty else {
            if let Some(field) = exact {
                return Ok(self.single(field));
            }
            let known = self.all().into_iter().find(|target| target.name == name);
            return known.ok_or_else(|| self.missing(name));
        };
        if let Some(fields) = self.parts(name, ty) {
            return Ok(Target { name: name.into(), ty: Some(ty), fields });
        }
        match exact {
            Some(field) if self.naming.whole_vectors || components(ty).is_empty() => {
                Ok(Target { ty: Some(ty), ..self.single(field) })
            }
            Some(_) => Err(IoError::other_type(
                Spot::file(self.file).column(name),
                ty,
                "one number per row",
                format!("write it as {}", self.written_as(name, ty)),
            )),
            None => Err(self
                .missing_part(name, ty)
                .or_else(|| self.other_vector(name, ty))
                .unwrap_or_else(|| self.missing(name))),
        }
    }

    /// The fields that make up a vector of this name, wherever they are.
    fn parts(&self, name: &str, ty: Type) -> Option<Vec<usize>> {
        let at = |field: &str| self.names.iter().position(|known| known == field);
        for custom in self.naming.customs.iter().filter(|c| c.name == name && c.ty == ty) {
            let fields: Option<Vec<usize>> = custom.fields.iter().map(|field| at(field)).collect();
            if fields.is_some() {
                return fields;
            }
        }
        for (_, components) in COMPONENTS.iter().filter(|(of, _)| *of == ty) {
            for separator in self.naming.separators {
                let fields = components.iter().map(|c| at(&format!("{name}{separator}{c}")));
                if let Some(fields) = fields.collect::<Option<Vec<usize>>>() {
                    return Some(fields);
                }
            }
        }
        None
    }

    /// The error for a vector of this name with another type.
    fn other_vector(&self, name: &str, ty: Type) -> Option<IoError> {
        let vector = self.all().into_iter().find(|target| target.name == name)?;
        let parts: Vec<String> =
            vector.fields.iter().map(|field| format!("`{}`", self.names[*field])).collect();
        Some(IoError::other_type(
            Spot::file(self.file).column(name),
            ty,
            vector.ty?.to_string(),
            format!("name one of its columns: {}", parts.join(", ")),
        ))
    }

    /// The error for a vector with missing components.
    fn missing_part(&self, name: &str, ty: Type) -> Option<IoError> {
        for separator in self.naming.separators {
            let part = |component: &&str| format!("{name}{separator}{component}");
            let has = |field: &String| self.names.contains(field);
            if components(ty).iter().map(part).any(|field| has(&field)) {
                let lacking = components(ty).iter().map(part).find(|field| !has(field))?;
                return Some(IoError::MissingColumn {
                    file: self.file.to_owned(),
                    name: lacking,
                    hint: format!("{} takes {}", ty.with_article(), self.written_as(name, ty)),
                });
            }
        }
        None
    }

    fn written_as(&self, name: &str, ty: Type) -> String {
        let separator = self.naming.automatic;
        let names: Vec<String> =
            components(ty).iter().map(|c| format!("{name}{separator}{c}")).collect();
        format!("the columns {}", joined(names.iter().map(String::as_str)))
    }

    fn missing(&self, name: &str) -> IoError {
        let known: Vec<String> = self.all().into_iter().map(|target| target.name).collect();
        missing_column(self.file, name, known.iter().map(String::as_str))
    }

    fn one(&self, choice: ColumnChoice<'_>) -> Result<Target, IoError> {
        if let Some(column) = choice.column {
            return self.named(column, choice.ty);
        }
        let all = self.all();
        let is_there = all.iter().any(|target| target.name == choice.otherwise)
            || choice.ty.is_some_and(|ty| self.parts(choice.otherwise, ty).is_some());
        if is_there {
            return self.named(choice.otherwise, choice.ty);
        }
        if all.is_empty() {
            return Err(self.missing(choice.otherwise));
        }
        if let [only] = all.as_slice() {
            return self.named(&only.name, choice.ty);
        }
        if let Some(main) = self.naming.main
            && choice.ty.is_none_or(|ty| ty == Type::VEC3)
            && all.iter().any(|target| target.name == main)
        {
            return self.named(main, choice.ty);
        }
        let bare = choice.ty.filter(|_| !self.naming.separators.is_empty()).and_then(|ty| {
            let at = |field: &&str| self.names.iter().position(|known| known == field);
            COMPONENTS.iter().filter(|(of, _)| *of == ty).find_map(|(_, components)| {
                components.iter().map(at).collect::<Option<Vec<usize>>>()
            })
        });
        match bare {
            Some(fields) => Ok(Target { name: choice.otherwise.into(), ty: choice.ty, fields }),
            None => Err(IoError::ChooseColumn {
                file: self.file.to_owned(),
                name: choice.otherwise.to_owned(),
                known: joined(all.iter().map(|target| target.name.as_str())),
            }),
        }
    }
}

/// The table of a mesh file whose fields hold whole columns, which `column_of` returns. A column of
/// colors or other vectors may be read as another vector type.
pub(crate) fn mesh_table(
    file: &str,
    names: &[String],
    n_main: usize,
    wanted: Wanted<'_>,
    column_of: impl Fn(usize) -> Result<Column, IoError>,
) -> Result<Table, IoError> {
    let mut table = Table::new(file);
    for target in (Fields { n_main, ..Fields::new(file, names, &Naming::MESH) }).plan(wanted)? {
        let column = column_of(target.fields[0])?;
        let found = column.ty();
        let ty = target.ty.unwrap_or(found);
        let column = as_vectors(column, ty).ok_or_else(|| {
            let spot = Spot::file(file).column(&target.name);
            let hint = format!("read it as {found} and convert it in the graph");
            IoError::other_type(spot, ty, found.to_string(), hint)
        })?;
        table.insert(&target.name, column)?;
    }
    Ok(table)
}

/// A column of vectors as vectors with the same lanes; opaque colors also as `vec3`.
fn as_vectors(column: Column, ty: Type) -> Option<Column> {
    if column.ty() == ty {
        return Some(column);
    }
    if let Some(colors) = column.as_slice::<Color>().filter(|_| ty == Type::VEC3) {
        return Some(colors.iter().map(|Color([r, g, b, _])| Vec3([*r, *g, *b])).collect());
    }
    let is_vector = ty.lanes().is_some_and(|(_, n)| n > 1);
    let lanes = column.as_f32_lanes().filter(|_| is_vector)?;
    (ty.size() == column.ty().size()).then(|| column_of_lanes(ty, lanes.to_vec()))
}

#[cfg(test)]
mod tests;
