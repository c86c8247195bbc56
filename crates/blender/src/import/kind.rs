//! Types of sockets, and their values as literals of documents.

use millstream_base::Type;
use serde_json::{Value as Json, json};

use super::dump::{Node, Socket};
use super::error::ImportError;

/// The type of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Value,
    Int,
    Boolean,
    Vector,
    Color,
    /// A quaternion; the values of sockets are Euler angles.
    Rotation,
    Matrix,
    String,
    /// A list of strings; only between nodes.
    Strings,
    /// The name of an entry; only literals.
    Menu,
}

impl Kind {
    /// The type with this name in Blender.
    pub(super) fn of_socket(name: &str) -> Option<Self> {
        Some(match name {
            "VALUE" | "FLOAT" => Self::Value,
            "INT" => Self::Int,
            "BOOLEAN" => Self::Boolean,
            "VECTOR" => Self::Vector,
            "RGBA" | "COLOR" => Self::Color,
            "ROTATION" => Self::Rotation,
            "MATRIX" => Self::Matrix,
            "STRING" => Self::String,
            "MENU" => Self::Menu,
            _ => return None,
        })
    }

    pub(super) fn ty(self) -> Type {
        match self {
            Self::Value => Type::F32,
            Self::Int => Type::I32,
            Self::Boolean => Type::BOOL,
            Self::Vector => Type::VEC3,
            Self::Color => Type::COLOR,
            Self::Rotation => Type::QUAT,
            Self::Matrix => Type::MAT4,
            Self::Strings => Type::STRING.list().expect("lists of strings exist"),
            Self::String | Self::Menu => Type::STRING,
        }
    }

    /// The name in messages and of inputs.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Int => "integer",
            Self::Boolean => "boolean",
            Self::Vector => "vector",
            Self::Color => "color",
            Self::Rotation => "rotation",
            Self::Matrix => "matrix",
            Self::String => "string",
            Self::Strings => "list of strings",
            Self::Menu => "menu",
        }
    }

    /// The value of a socket without a value.
    pub(super) fn zero(self) -> Json {
        match self {
            Self::Value => json!(0.0),
            Self::Int => json!(0),
            Self::Boolean => json!(false),
            Self::Vector => json!([0.0, 0.0, 0.0]),
            Self::Color => json!([0.0, 0.0, 0.0, 1.0]),
            Self::Rotation => json!([1.0, 0.0, 0.0, 0.0]),
            Self::Matrix => {
                let one = |i: usize| if i.is_multiple_of(5) { 1.0 } else { 0.0 };
                json!((0..16).map(one).collect::<Vec<_>>())
            }
            Self::String | Self::Menu => json!(""),
            Self::Strings => json!([]),
        }
    }

    /// The value for elements for which the node has none. It differs from [`zero`](Self::zero):
    /// the color is transparent, and the matrix consists of zeros.
    pub(super) fn nothing(self) -> Json {
        match self {
            Self::Color => json!([0, 0, 0, 0]),
            Self::Matrix => json!(vec![0; 16]),
            Self::Value
            | Self::Int
            | Self::Boolean
            | Self::Vector
            | Self::Rotation
            | Self::String
            | Self::Strings
            | Self::Menu => self.zero(),
        }
    }

    /// Like [`nothing`](Self::nothing), if the node has no value for any element.
    pub(super) fn missing(self) -> Json {
        if self == Self::Matrix { self.zero() } else { self.nothing() }
    }

    /// The value of a socket as a literal; [`zero`](Self::zero) if the file has none.
    pub(super) fn literal(
        self,
        node: &Node,
        at: usize,
        socket: &Socket,
        json: &Json,
    ) -> Result<Json, ImportError> {
        self.converted(json).ok_or_else(|| ImportError::WrongValue {
            node: node.label(at),
            socket: socket.id.clone(),
            value: shown(json),
            kind: self.name().into(),
        })
    }

    /// A value in the file as a literal.
    pub(super) fn converted(self, json: &Json) -> Option<Json> {
        if json.is_null() {
            return Some(self.zero());
        }
        match self {
            Self::Value => number(json),
            Self::Int => match json {
                Json::Bool(b) => Some(json!(i32::from(*b))),
                _ => json.as_i64().or_else(|| integer(json.as_f64()?)).map(|x| json!(x)),
            },
            Self::Boolean => match json {
                Json::Bool(b) => Some(json!(b)),
                _ => json.as_f64().map(|x| json!(x != 0.0)),
            },
            Self::Vector => match json {
                Json::Number(_) => Some(json!([json, json, json])),
                _ => numbers(json, 2).map(|mut v| {
                    v.resize(3, json!(0.0));
                    json!(v)
                }),
            },
            Self::Color => numbers(json, 3).map(|mut v| {
                v.resize(4, json!(1.0));
                json!(v)
            }),
            Self::Rotation => {
                let v = numbers(json, 3)?;
                if v.len() == 3 { from_euler(&v) } else { Some(json!(v)) }
            }
            Self::Matrix => {
                let rows = json.as_array()?;
                let flat: Option<Vec<Json>> = if rows.len() == 4 {
                    rows.iter()
                        .map(|row| numbers(row, 4))
                        .collect::<Option<Vec<_>>>()
                        .map(|r| r.concat())
                } else {
                    // Sixteen numbers in the memory layout of Blender: column by column.
                    let v = numbers(json, 16)?;
                    Some((0..16).map(|i| v[4 * (i % 4) + i / 4].clone()).collect())
                };
                flat.filter(|flat| flat.len() == 16).map(|flat| json!(flat))
            }
            Self::String | Self::Menu => match json {
                Json::String(_) => Some(json.clone()),
                _ => None,
            },
            Self::Strings => None,
        }
    }
}

/// A value for messages, at most a line long.
pub(super) fn shown(json: &Json) -> String {
    const MAX_CHARS: usize = 80;
    let text = json.to_string();
    match text.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

fn integer(x: f64) -> Option<i64> {
    (x.fract() == 0.0 && x.abs() < 1e15).then_some(x as i64)
}

fn number(json: &Json) -> Option<Json> {
    match json {
        Json::Number(_) => Some(json.clone()),
        Json::Bool(b) => Some(json!(if *b { 1.0 } else { 0.0 })),
        Json::String(text) if ["nan", "inf", "-inf"].contains(&&**text) => Some(json.clone()),
        _ => None,
    }
}

/// An array of at least `at_least` numbers.
fn numbers(json: &Json, at_least: usize) -> Option<Vec<Json>> {
    let items = json.as_array()?;
    if items.len() < at_least {
        return None;
    }
    items.iter().map(number).collect()
}

/// The quaternion of rotations about x, then y, then z.
fn from_euler(angles: &[Json]) -> Option<Json> {
    // Rounded to single precision like in Blender, because hashes depend on every bit.
    let part = |i: usize| {
        let half = f64::from(angles[i].as_f64()? as f32 * 0.5);
        Some((half.sin() as f32, half.cos() as f32))
    };
    let ((sx, cx), (sy, cy), (sz, cz)) = (part(0)?, part(1)?, part(2)?);
    let (cc, cs, sc, ss) = (cx * cz, cx * sz, sx * cz, sx * sz);
    Some(json!([cy * cc + sy * ss, cy * sc - sy * cs, cy * ss + sy * cc, cy * cs - sy * sc,]))
}
