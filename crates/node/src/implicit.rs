//! The implicit conversions between types.

use millstream_base::Type;

/// Whether an output of type `from` may be linked to an input of type `to`.
pub fn convertible(from: Type, to: Type) -> bool {
    from == to || lanes_convertible(from, to) || to.element() == Some(from) || widens(from, to)
}

/// Whether a single number becomes a list of one number of a wider type.
pub(crate) fn widens(from: Type, to: Type) -> bool {
    let is_number = |ty: Type| ty.lanes().is_some_and(|(_, n)| n == 1);
    to.element().is_some_and(|item| {
        is_number(item) && lanes_convertible(from, item) && !narrows(from, item)
    })
}

/// Whether the conversion of `from` to `to` narrows: fewer bits per number, or no alpha.
///
/// An integer does not narrow to a float of as many bits, although that is exact only up to 2^24 in
/// 32 bits and 2^53 in 64 bits.
pub fn narrows(from: Type, to: Type) -> bool {
    (from == Type::F64 && to == Type::F32) || (from == Type::COLOR && to == Type::VEC3)
}

/// Whether lanes of `from` convert to those of `to`.
pub(crate) fn lanes_convertible(from: Type, to: Type) -> bool {
    let float_vectors = [Type::VEC2, Type::VEC3, Type::VEC4];
    let targets: &[Type] = if from == Type::BOOL {
        &[Type::I32, Type::I64, Type::F32, Type::F64]
    } else if from == Type::I32 {
        &[Type::I64, Type::F32, Type::F64, Type::VEC2, Type::VEC3, Type::VEC4]
    } else if from == Type::I64 {
        &[Type::F64]
    } else if from == Type::F32 {
        return to == Type::F64 || float_vectors.contains(&to);
    } else if from == Type::F64 {
        &[Type::F32]
    } else if from == Type::VEC3 {
        &[Type::COLOR]
    } else if from == Type::COLOR {
        &[Type::VEC3]
    } else {
        &[]
    };
    targets.contains(&to)
}
