//! The fields of a file, including those inside structs, and the column types that they can become.

use arrow_schema::{DataType, Field, Schema};
use millstream_base::Type;
use millstream_base::literal::form_of;
use millstream_base::types::Kind;

use super::numbers::Numbers;

/// The metadata key with which a field says which of several types with the same lanes it is.
pub(super) const TYPE_KEY: &str = "millstream.type";

/// The maximum depth of structs that are searched.
const MAX_DEPTH: usize = 8;

/// A field of a file, perhaps inside structs.
pub(super) struct Leaf {
    pub(super) name: String,
    /// The position among the columns, then among the members of each struct.
    pub(super) path: Vec<usize>,
    pub(super) data_type: DataType,
    /// Whether it, or a struct around it, may contain nulls.
    pub(super) nullable: bool,
    /// The type recorded by a writer of ours.
    noted: Option<Type>,
}

pub(super) fn leaves(schema: &Schema) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    for (i, field) in schema.fields().iter().enumerate() {
        add_leaves(field, field.name().clone(), vec![i], false, &mut leaves);
    }
    leaves
}

fn add_leaves(
    field: &Field,
    name: String,
    path: Vec<usize>,
    nullable: bool,
    leaves: &mut Vec<Leaf>,
) {
    let nullable = nullable || field.is_nullable();
    if let DataType::Struct(members) = field.data_type()
        && path.len() < MAX_DEPTH
    {
        for (i, member) in members.iter().enumerate() {
            let path = path.iter().copied().chain([i]).collect();
            add_leaves(member, format!("{name}.{}", member.name()), path, nullable, leaves);
        }
        return;
    }
    let noted = field.metadata().get(TYPE_KEY).and_then(|noted| Type::written(noted));
    leaves.push(Leaf { name, path, data_type: field.data_type().clone(), nullable, noted });
}

/// The column type if no type is requested.
pub(super) fn native(leaf: &Leaf) -> Option<Type> {
    if let Some(noted) = leaf.noted
        && fits(noted, &leaf.data_type)
    {
        return Some(noted);
    }
    match &leaf.data_type {
        DataType::FixedSizeList(child, n) if *child.data_type() == DataType::Float32 => match n {
            2 => Some(Type::VEC2),
            3 => Some(Type::VEC3),
            4 => Some(Type::VEC4),
            16 => Some(Type::MAT4),
            _ => Type::F32.list(),
        },
        data_type => native_of(data_type, 0),
    }
}

fn native_of(data_type: &DataType, depth: usize) -> Option<Type> {
    match data_type {
        _ if is_text(data_type) => Some(Type::STRING),
        DataType::List(child) | DataType::LargeList(child) | DataType::FixedSizeList(child, _)
            if depth < Type::MAX_LIST_DEPTH =>
        {
            native_of(child.data_type(), depth + 1)?.list()
        }
        _ => Numbers::lane(data_type).map(Type::of_lane),
    }
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => {
            matches!(**values, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
        }
        _ => false,
    }
}

/// The hint for a field that does not fit.
pub(super) fn advice(ty: Type, data_type: &DataType) -> String {
    let simple = match data_type {
        DataType::Dictionary(_, values) => values,
        DataType::RunEndEncoded(..) => return "write the column without run-end encoding".into(),
        data_type => data_type,
    };
    match simple {
        _ if ty == Type::STRING && Numbers::lane(simple).is_some() => {
            "read it as numbers, or write it as strings".into()
        }
        _ if is_text(simple) => {
            format!(
                "it holds strings from row 1 on: read it as string, or write {} there",
                form_of(ty)
            )
        }
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => "bytes cannot be read: write numbers or strings".into(),
        DataType::Map(..) => "maps cannot be read: write a column for each key".into(),
        _ if ty.lanes().is_some_and(|(_, n)| n > 1) => {
            "a vector is a fixed-size list of numbers, or columns p.x, p.y, p.z".into()
        }
        _ => "read it as another type, or write it again".into(),
    }
}

/// Whether one field can become a column of this type.
pub(super) fn fits(ty: Type, data_type: &DataType) -> bool {
    let is_number = |data_type: &DataType| Numbers::lane(data_type).is_some();
    match (ty.kind(), data_type) {
        (Kind::Lanes(..) | Kind::String | Kind::List(_), DataType::Null) => true,
        (Kind::Lanes(_, 1), _) => is_number(data_type),
        (Kind::Lanes(_, n), DataType::FixedSizeList(child, m)) => {
            let is_opaque = ty == Type::COLOR && *m == 3;
            (i32::from(n) == *m || is_opaque) && is_number(child.data_type())
        }
        (Kind::Lanes(..), DataType::List(child) | DataType::LargeList(child)) => {
            is_number(child.data_type())
        }
        (Kind::String, _) => is_text(data_type),
        (
            Kind::List(element),
            DataType::List(child) | DataType::LargeList(child) | DataType::FixedSizeList(child, _),
        ) => fits(element, child.data_type()),
        (Kind::Lanes(..) | Kind::List(_) | Kind::Opaque, _) => false,
    }
}
