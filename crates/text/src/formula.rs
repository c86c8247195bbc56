//! The spacing of formulas.

use crate::tree::{ExprId, Piece};

/// Writes operands and operators, with spaces around operators that have two operands.
///
/// # Errors
/// Those of `operand`.
pub(crate) fn write<E>(
    pieces: &[Piece],
    out: &mut String,
    mut operand: impl FnMut(&mut String, ExprId) -> Result<(), E>,
) -> Result<(), E> {
    for piece in pieces {
        match piece {
            Piece::Prefix(operator) => out.push_str(operator.text()),
            Piece::Infix(operator) => {
                out.push(' ');
                out.push_str(operator.text());
                out.push(' ');
            }
            Piece::Operand(expr) => operand(out, *expr)?,
        }
    }
    Ok(())
}
