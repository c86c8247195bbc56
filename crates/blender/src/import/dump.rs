//! The file format of the exporter. Unknown fields are skipped.

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::error::ImportError;

/// A file of networks.
#[derive(Clone, Debug)]
pub struct Dump {
    /// The version of Blender that wrote it.
    pub blender: String,
    /// The networks; an unreadable one is an error of its own.
    pub networks: Vec<Result<Network, ImportError>>,
}

/// Connected nodes of a node group, with inputs and the outputs that Blender computed.
#[derive(Clone, Debug, Deserialize)]
pub struct Network {
    /// The node group that the network is a part of.
    #[serde(default)]
    pub group: String,
    /// The release of Blender that computed the outputs, because some operations have changed their
    /// meaning.
    #[serde(skip)]
    pub(super) release: Release,
    pub(super) nodes: Vec<Node>,
    #[serde(default)]
    pub(super) inputs: Vec<NetworkInput>,
    #[serde(default)]
    pub(super) outputs: Vec<NetworkOutput>,
}

/// A release of Blender: major and minor number. The default is newer than all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Release(pub(super) u32, pub(super) u32);

impl Default for Release {
    fn default() -> Self {
        Self(u32::MAX, 0)
    }
}

impl Release {
    /// The release of a version such as `5.2.3 LTS`; the default if there is no number.
    fn of_version(version: &str) -> Self {
        let mut numbers = version.split('.').map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Self(major, minor),
            _ => Self::default(),
        }
    }
}

/// A column that was input to Blender.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct NetworkInput {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) values: Vec<Json>,
}

/// A column that Blender computed.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct NetworkOutput {
    pub(super) node: usize,
    pub(super) id: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) values: Vec<Json>,
    #[serde(default)]
    pub(super) sensitive: Vec<usize>,
}

/// A node.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Node {
    #[serde(rename = "type")]
    pub(super) ty: String,
    #[serde(default, alias = "label")]
    pub(super) name: String,
    #[serde(default)]
    pub(super) props: Map<String, Json>,
    #[serde(default)]
    pub(super) inputs: Vec<Socket>,
    #[serde(default)]
    pub(super) outputs: Vec<OutputSocket>,
    #[serde(default, alias = "muted")]
    pub(super) mute: bool,
    #[serde(default)]
    pub(super) location: Option<[f64; 2]>,
}

/// An input of a node.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "WrittenSocket")]
pub(super) struct Socket {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) feed: Feed,
    /// Whether a muted link ends here. Like any other link, it takes precedence over a value when
    /// its node is muted.
    pub(super) has_muted_link: bool,
}

/// The source of an input.
#[derive(Clone, Debug)]
pub(super) enum Feed {
    Value(Json),
    /// An input of the network.
    Input(usize),
    /// An output of a node.
    Link(usize, String),
}

/// An output of a node.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct OutputSocket {
    pub(super) id: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
}

#[derive(Deserialize)]
struct WrittenSocket {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    value: Option<Json>,
    input: Option<usize>,
    link: Option<(usize, String)>,
    #[serde(default)]
    muted_link: bool,
}

impl TryFrom<WrittenSocket> for Socket {
    type Error = String;

    fn try_from(socket: WrittenSocket) -> Result<Self, String> {
        let feed = match (socket.link, socket.input, socket.value) {
            (Some((node, id)), None, _) => Feed::Link(node, id),
            (None, Some(input), _) => Feed::Input(input),
            (None, None, value) => Feed::Value(value.unwrap_or(Json::Null)),
            (Some(_), Some(_), _) => {
                return Err(format!("`{}` has both a link and an input", socket.id));
            }
        };
        Ok(Self { id: socket.id, kind: socket.kind, feed, has_muted_link: socket.muted_link })
    }
}

impl Dump {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// If the text is not a dump. A wrong network is an error in the list of networks.
    pub fn read(text: &[u8]) -> Result<Self, ImportError> {
        #[derive(Deserialize)]
        struct Written {
            blender: Option<String>,
            networks: Vec<Json>,
        }
        let written: Written = serde_json::from_slice(text).map_err(|error| {
            let message = error.to_string();
            ImportError::Format { what: "the file".into(), expected: "dump of networks", message }
        })?;
        let blender = written.blender.unwrap_or_default();
        let release = Release::of_version(&blender);
        let network = |(number, json): (usize, Json)| match serde_json::from_value(json) {
            Ok(network) => Ok(Network { release, ..network }),
            Err(error) => Err(ImportError::Format {
                what: format!("network {number}"),
                expected: "network",
                message: error.to_string(),
            }),
        };
        Ok(Self {
            blender,
            networks: written.networks.into_iter().enumerate().map(network).collect(),
        })
    }
}

impl Network {
    /// The number of nodes that compute something.
    pub fn n_nodes(&self) -> usize {
        self.nodes.iter().filter(|node| !node.is_decoration()).count()
    }
}

impl Node {
    /// The name of the node in messages.
    pub(super) fn label(&self, at: usize) -> String {
        if self.name.is_empty() {
            format!("node {at} ({})", self.ty)
        } else {
            format!("`{}` (node {at})", self.name)
        }
    }

    /// Whether the node merely frames other nodes.
    pub(super) fn is_decoration(&self) -> bool {
        self.ty == "NodeFrame"
    }

    /// The operation of the node in a word or two.
    pub(super) fn title(&self) -> String {
        let says_what = ["ShaderNodeMath", "ShaderNodeVectorMath"].contains(&&*self.ty)
            || ["FunctionNodeIntegerMath", "FunctionNodeBooleanMath"].contains(&&*self.ty)
            || ["FunctionNodeBitMath", "FunctionNodeCompare"].contains(&&*self.ty);
        match self.props.get("operation").and_then(Json::as_str) {
            Some(operation) if says_what => operation.to_lowercase(),
            _ => {
                let prefixes = ["FunctionNode", "ShaderNode", "GeometryNode", "NodeInput", "Node"];
                let stripped = prefixes.iter().find_map(|p| self.ty.strip_prefix(p));
                snake(stripped.unwrap_or(&self.ty))
            }
        }
    }
}

/// `CombineXYZ` as `combine_xyz`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    let mut before = '_';
    for c in name.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            out.push('_');
        }
        out.extend(c.to_lowercase());
        before = c;
    }
    out
}
