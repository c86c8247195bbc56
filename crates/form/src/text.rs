//! Prints forms and parses them.
//!
//! ```text
//! %0 = param f32
//! %1 = const f32 2.0
//! %2 = mul f32 %0, %1
//! %3 = lt bool %2, %0
//! return %2, %3
//! ```
//!
//! Each line names the register, the operation, the lane of the result and the operands. The parser
//! takes any numbers for registers and any spacing; the printer counts from 0. Floats print so that
//! they read back to the same bits, with `nan`, `inf` and `-inf`. `#` starts a comment.

use std::fmt;
use std::str::FromStr;

use millstream_base::id::Arena;
use millstream_base::lane::Lane;
use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::inst::{Form, Inst, Reg};
use crate::lane_value::LaneValue;
use crate::op::Op;
use crate::verify::FormError;

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (reg, inst) in self.insts.iter() {
            write!(f, "{reg} = {} {}", inst.op.name(), inst.lane)?;
            if let Op::Const(bits) = inst.op {
                f.write_str(" ")?;
                write_constant(f, inst.lane, bits)?;
            }
            write_list(f, inst.args())?;
            f.write_str("\n")?;
        }
        f.write_str("return")?;
        write_list(f, &self.results)?;
        f.write_str("\n")
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, regs: &[Reg]) -> fmt::Result {
    for (i, reg) in regs.iter().enumerate() {
        write!(f, "{} {reg}", if i == 0 { "" } else { "," })?;
    }
    Ok(())
}

fn write_constant(f: &mut fmt::Formatter<'_>, lane: Lane, bits: u64) -> fmt::Result {
    match lane {
        Lane::Bool => write!(f, "{}", bool::from_bits(bits)),
        Lane::I32 => write!(f, "{}", i32::from_bits(bits)),
        Lane::I64 => write!(f, "{}", i64::from_bits(bits)),
        Lane::F32 => match <f32 as LaneValue>::from_bits(bits) {
            x if x.is_nan() => f.write_str("nan"),
            x => write!(f, "{x:?}"),
        },
        Lane::F64 => match <f64 as LaneValue>::from_bits(bits) {
            x if x.is_nan() => f.write_str("nan"),
            x => write!(f, "{x:?}"),
        },
    }
}

/// Why a text is not a form.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FormTextError {
    /// A line cannot be read.
    #[error("line {line}: {problem}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// The problem.
        problem: String,
    },
    /// The lines can be read, but the form is wrong.
    #[error(transparent)]
    Form(#[from] FormError),
    /// The text ends before `return`.
    #[error("the form has no `return`")]
    NoReturn,
}

/// The lines that were read so far.
#[derive(Default)]
struct Reader<'t> {
    params: Vec<Lane>,
    insts: Arena<Reg, Inst>,
    names: FxHashMap<&'t str, Reg>,
    results: Option<Vec<Reg>>,
}

impl FromStr for Form {
    type Err = FormTextError;

    fn from_str(text: &str) -> Result<Self, FormTextError> {
        let mut reader = Reader::default();
        for (i, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or(line).trim();
            if !line.is_empty() {
                let problem = |problem| FormTextError::Line { line: i + 1, problem };
                reader.line(line).map_err(problem)?;
            }
        }
        let results = reader.results.ok_or(FormTextError::NoReturn)?;
        let form = Self { params: reader.params, insts: reader.insts, results };
        form.verify()?;
        Ok(form)
    }
}

impl<'t> Reader<'t> {
    fn line(&mut self, line: &'t str) -> Result<(), String> {
        if self.results.is_some() {
            return Err("nothing follows `return`".to_owned());
        }
        if let Some(rest) = line.strip_prefix("return") {
            self.results = Some(self.regs(rest)?);
            return Ok(());
        }
        let (name, rest) = line.split_once('=').ok_or("`=` or `return` is missing")?;
        let name = name.trim();
        if !name.starts_with('%') {
            return Err(format!("`{name}` is not a register; these start with `%`"));
        }
        let (op, rest) = word(rest);
        let (lane, rest) = word(rest);
        let lane = Lane::from_name(lane).ok_or_else(|| format!("`{lane}` is not a lane"))?;
        let inst = self.inst(op, lane, rest)?;
        let reg = self.insts.push(inst);
        match self.names.insert(name, reg) {
            Some(_) => Err(format!("`{name}` is written twice")),
            None => Ok(()),
        }
    }

    fn inst(&mut self, op: &str, lane: Lane, rest: &'t str) -> Result<Inst, String> {
        match op {
            "param" => {
                if !rest.is_empty() {
                    return Err(format!("a parameter has only a lane, not `{rest}`"));
                }
                let number = u32::try_from(self.params.len()).map_err(|e| e.to_string())?;
                self.params.push(lane);
                Ok(Inst::new(Op::Param(number), lane, lane, &[]))
            }
            "const" => match parse_constant(lane, rest) {
                Some(bits) => Ok(Inst::constant(lane, bits)),
                None => Err(format!("`{rest}` is not {lane}")),
            },
            _ => {
                let op = Op::from_name(op).ok_or_else(|| format!("`{op}` is not an operation"))?;
                let args = self.regs(rest)?;
                if args.len() != op.arity() {
                    let (name, takes) = (op.name(), op.arity());
                    return Err(format!("`{name}` takes {takes} operands, not {}", args.len()));
                }
                let of = args.last().map_or(lane, |&arg| self.insts[arg].lane);
                Ok(Inst::new(op, of, lane, &args))
            }
        }
    }

    fn regs(&self, list: &str) -> Result<Vec<Reg>, String> {
        if list.trim().is_empty() {
            return Ok(Vec::new());
        }
        let known = |name: &str| {
            let name = name.trim();
            self.names.get(name).copied().ok_or_else(|| format!("`{name}` is not written before"))
        };
        list.split(',').map(known).collect()
    }
}

fn word(text: &str) -> (&str, &str) {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}

fn parse_constant(lane: Lane, text: &str) -> Option<u64> {
    fn bits<T: FromStr + LaneValue>(text: &str) -> Option<u64> {
        text.parse().ok().map(T::to_bits)
    }
    match lane {
        Lane::Bool => bits::<bool>(text),
        Lane::I32 => bits::<i32>(text),
        Lane::I64 => bits::<i64>(text),
        Lane::F32 => bits::<f32>(text),
        Lane::F64 => bits::<f64>(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::FormBuilder;
    use expect_test::expect;

    #[test]
    fn forms_print_one_instruction_a_line() {
        let b = FormBuilder::new();
        let [x, n] = b.params([Lane::F32, Lane::I32]);
        let y = x.lt(0.5).select(x.sqrt() * -0.0, n.convert(Lane::F32));
        let form = b.finish(&[y, x]);
        expect![[r"
            %0 = param f32
            %1 = param i32
            %2 = const f32 0.5
            %3 = lt bool %0, %2
            %4 = sqrt f32 %0
            %5 = const f32 -0.0
            %6 = mul f32 %4, %5
            %7 = convert f32 %1
            %8 = select f32 %3, %6, %7
            return %8, %0
        "]]
        .assert_eq(&form.to_string());
        assert_eq!(form.to_string().parse(), Ok(form));
    }

    #[test]
    fn constants_read_back_to_the_same_bits() {
        let b = FormBuilder::new();
        let floats = [f32::NAN, f32::INFINITY, -f32::INFINITY, 1e-45, -0.0, 0.1, f32::MAX];
        let mut values = floats.map(|x| b.constant_f32(x)).to_vec();
        values.extend([0.1, f64::NAN, 5e-324, f64::MAX].map(|x| b.constant_f64(x)));
        values.extend([i64::MIN, i64::MAX, (1 << 53) + 1].map(|x| b.constant_i64(x)));
        values.extend([b.constant_i32(i32::MIN), b.constant_bool(true)]);
        let form = b.finish(&values);
        assert_eq!(form.to_string().parse(), Ok(form));
    }

    #[test]
    fn every_operation_has_a_word_of_its_own() {
        for &op in Op::COMPUTING {
            assert_eq!(Op::from_name(op.name()), Some(op));
        }
    }

    #[test]
    fn mistakes_are_reported_with_their_line() {
        let problem = |text: &str| text.parse::<Form>().unwrap_err().to_string();
        assert_eq!(problem("%0 = param f33"), "line 1: `f33` is not a lane");
        assert_eq!(problem("\n%0 = frob f32 %1"), "line 2: `frob` is not an operation");
        assert_eq!(problem("%0 = neg f32 %1"), "line 1: `%1` is not written before");
        assert_eq!(problem("%0 = neg f32"), "line 1: `neg` takes 1 operands, not 0");
        assert_eq!(problem("%0 = const i32 1.5"), "line 1: `1.5` is not i32");
        assert_eq!(problem("x"), "line 1: `=` or `return` is missing");
        assert_eq!(problem("%0 = param f32\n%0 = param f32"), "line 2: `%0` is written twice");
        assert_eq!(problem("return\nreturn"), "line 2: nothing follows `return`");
        assert_eq!(problem("%0 = param f32"), "the form has no `return`");
        let wrong = "%0 = param i32\n%1 = sin i32 %0\nreturn %1";
        assert_eq!(problem(wrong), "%1: `sin` does not take i32 to i32");
    }

    #[test]
    fn a_form_without_results_is_a_form() {
        let empty: Form = "# nothing\nreturn".parse().unwrap();
        assert_eq!(empty.to_string(), "return\n");
    }
}
