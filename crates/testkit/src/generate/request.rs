//! Requests as data that can be printed, parsed, generated and shrunk.

use std::fmt;
use std::sync::Arc;

use millstream_base::{Column, Feature, Footprint, Type, Value, literal};
use millstream_ir::request::{Given, RequestAxis};
use millstream_ir::{Graph, Request};
use serde_json::{Map, Value as Json};

use super::values::own_features;

/// The moments of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Moments {
    /// One, in seconds.
    One(f64),
    /// Several, in seconds.
    Many(Vec<f64>),
    /// Several, by number of frame.
    Frames(Vec<i64>),
}

/// A request as data. It provides every built-in feature, so that any graph can be evaluated.
#[derive(Clone, Debug)]
pub struct RequestSketch {
    /// Number of elements, if the request states it.
    pub count: Option<usize>,
    /// The moments.
    pub moments: Moments,
    /// The number of views, if there may be several.
    pub views: Option<usize>,
    /// The given inputs.
    pub inputs: Vec<(String, Given)>,
    /// Further given features.
    pub features: Vec<(Feature, Given)>,
}

impl Default for RequestSketch {
    fn default() -> Self {
        Self {
            count: None,
            moments: Moments::One(1.5),
            views: None,
            inputs: Vec::new(),
            features: Vec::new(),
        }
    }
}

impl RequestSketch {
    /// The request.
    pub fn request(&self) -> Request {
        let mut request = Request::new();
        if let Some(n) = self.count {
            request = request.count(n);
        }
        let mut ticks = Some(Given::One(Value::I64(7)));
        request = match &self.moments {
            Moments::One(seconds) => request.time(*seconds),
            Moments::Many(seconds) => request.times(seconds.clone()),
            Moments::Frames(frames) => {
                ticks = None;
                request.frames(frames.clone())
            }
        };
        for (name, given) in &self.inputs {
            request = request.given(name, given.clone());
        }
        let mut features = self.features.clone();
        let mut provide = |feature: Feature, value: Value| {
            if features.iter().all(|(known, _)| *known != feature) {
                features.push((feature, Given::One(value)));
            }
        };
        provide(Feature::RealTime, Value::F64(1000.25));
        provide(Feature::Position, Value::Vec3([1.0, -2.0, 0.5].into()));
        provide(Feature::Iteration, Value::I32(2));
        if self.views.is_none() {
            provide(Feature::Footprint, Footprint::of_size(3, 2).into());
        }
        for (name, ty) in own_features() {
            provide(Feature::Custom(Arc::clone(&name), ty), super::values::value(ty, 2));
            provide(Feature::Vararg(name, ty), super::values::value(ty, 3));
        }
        let has_elements = self.count.is_some()
            || self
                .inputs
                .iter()
                .any(|(_, given)| matches!(given, Given::Along(RequestAxis::Index, _)));
        if !has_elements {
            provide(Feature::Index, Value::I32(3));
        }
        if let Some(n) = self.views {
            let views = (0..n as i32).map(|i| Footprint::of_size(3 - i, 2 + i));
            features.push((Feature::Footprint, Given::Along(RequestAxis::View, views.collect())));
        }
        if let Some(ticks) = ticks {
            features.push((Feature::Tick, ticks));
        }
        for (feature, given) in features {
            request = request.feature(feature, given);
        }
        request
    }

    /// Reads the output of [`Display`](fmt::Display), for a graph with these inputs.
    ///
    /// # Errors
    /// Describes the mistake.
    pub fn parse(text: &str, graph: &Graph) -> Result<Self, String> {
        let json: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let fields = json.as_object().ok_or("a request is an object")?;
        let mut request = Self::default();
        for (key, json) in fields {
            match key.as_str() {
                "count" => request.count = json.as_u64().map(|n| n as usize),
                "views" => request.views = json.as_u64().map(|n| n as usize),
                "time" => request.moments = Moments::One(json.as_f64().ok_or("a time")?),
                "times" => {
                    let times = items(json)?.iter().map(|item| item.as_f64().ok_or("a time"));
                    request.moments = Moments::Many(times.collect::<Result<_, _>>()?);
                }
                "frames" => {
                    let frames = items(json)?.iter().map(|item| item.as_i64().ok_or("a frame"));
                    request.moments = Moments::Frames(frames.collect::<Result<_, _>>()?);
                }
                "set" | "column" | "per_view" | "per_time" => {
                    for (name, json) in json.as_object().into_iter().flatten() {
                        let input = graph.inputs().as_slice().iter().find(|i| *i.name == **name);
                        let ty = input.ok_or_else(|| format!("no input `{name}`"))?.ty;
                        request.inputs.push((name.clone(), given(key, ty, json)?));
                    }
                }
                "set_feature" | "column_feature" | "per_view_feature" | "per_time_feature" => {
                    for (name, json) in json.as_object().into_iter().flatten() {
                        let feature = feature(name).ok_or_else(|| format!("no feature {name}"))?;
                        let kind = key.trim_end_matches("_feature");
                        let given = given(kind, feature.ty(), json)?;
                        request.features.push((feature, given));
                    }
                }
                other => return Err(format!("a request has no `{other}`")),
            }
        }
        Ok(request)
    }
}

fn items(json: &Json) -> Result<&Vec<Json>, String> {
    json.as_array().ok_or_else(|| "a list is wanted".into())
}

fn feature(name: &str) -> Option<Feature> {
    let own = || own_features().into_iter().find(|(known, _)| **known == *name);
    Feature::built_in(name).or_else(|| own().map(|(name, ty)| Feature::Custom(name, ty)))
}

fn given(kind: &str, ty: Type, json: &Json) -> Result<Given, String> {
    let read = |ty: Type| literal::from_json(ty, json).map_err(|error| error.to_string());
    let column = || -> Result<Column, String> {
        let list = ty.list().ok_or("lists are nested too deeply")?;
        match read(list)? {
            Value::List(column) => Ok(column),
            _ => Err("a list is wanted".into()),
        }
    };
    Ok(match kind {
        "set" => Given::One(read(ty)?),
        "column" => Given::Along(RequestAxis::Index, column()?),
        "per_view" => Given::Along(RequestAxis::View, column()?),
        _ => Given::Along(RequestAxis::Time, column()?),
    })
}

impl fmt::Display for RequestSketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = Map::new();
        if let Some(n) = self.count {
            fields.insert("count".into(), n.into());
        }
        if let Some(n) = self.views {
            fields.insert("views".into(), n.into());
        }
        match &self.moments {
            Moments::One(seconds) => fields.insert("time".into(), (*seconds).into()),
            Moments::Many(seconds) => fields.insert("times".into(), seconds.clone().into()),
            Moments::Frames(frames) => fields.insert("frames".into(), frames.clone().into()),
        };
        let mut insert = |suffix: &str, name: &str, given: &Given| {
            let (kind, text) = match given {
                Given::One(value) => ("set", value.to_string()),
                Given::Along(RequestAxis::Index, column) => {
                    ("column", Value::List(column.clone()).to_string())
                }
                Given::Along(RequestAxis::View, column) => {
                    ("per_view", Value::List(column.clone()).to_string())
                }
                Given::Along(RequestAxis::Time, column) => {
                    ("per_time", Value::List(column.clone()).to_string())
                }
            };
            let json: Json = serde_json::from_str(&text).unwrap_or(Json::Null);
            let entry = fields.entry(format!("{kind}{suffix}"));
            let map = entry.or_insert_with(|| Json::Object(Map::new()));
            if let Json::Object(map) = map {
                map.insert(name.into(), json);
            }
        };
        for (name, given) in &self.inputs {
            insert("", name, given);
        }
        for (feature, given) in &self.features {
            insert("_feature", feature.name(), given);
        }
        write!(f, "{}", Json::Object(fields))
    }
}
