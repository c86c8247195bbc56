//! Building the networks of image nodes.

use std::sync::Arc;

use millstream_base::Type;
use millstream_node::node_def::InstanceError;
use millstream_node::node_def::instance::Instance;
use millstream_node::settings::SettingError;
use millstream_node::{Network, NodeDef, Part, PartSource, Settings};

/// A network under construction.
#[derive(Default)]
pub(super) struct Weave(Network);

/// A part of a network.
#[derive(Clone, Copy)]
pub(super) struct Made(u32);

impl Made {
    /// An output of the part.
    pub(super) fn output(self, output: u32) -> PartSource {
        PartSource::Output { part: self.0, output }
    }
}

impl From<Made> for PartSource {
    /// The first output.
    fn from(part: Made) -> Self {
        part.output(0)
    }
}

/// An input of the node.
pub(super) fn input(i: usize) -> PartSource {
    PartSource::Input(i as u32)
}

impl Weave {
    /// A node of this type with default settings, with one source per socket.
    pub(super) fn part(
        &mut self,
        name: &str,
        def: &Arc<NodeDef>,
        generics: &[Type],
        sources: &[PartSource],
    ) -> Made {
        let settings = Settings::read(&def.settings, [], &|_| None);
        let settings = settings.expect("the settings of parts have defaults");
        self.part_with(name, def, settings, generics, sources)
    }

    /// A node of this type.
    pub(super) fn part_with(
        &mut self,
        name: &str,
        def: &Arc<NodeDef>,
        settings: Settings,
        generics: &[Type],
        sources: &[PartSource],
    ) -> Made {
        let made = self.part_of_author(name, def, settings, generics, sources);
        made.expect("parts have instances if the node has")
    }

    /// Like [`Self::part_with`], with settings from an author, which the node type may refuse.
    pub(super) fn part_of_author(
        &mut self,
        name: &str,
        def: &Arc<NodeDef>,
        settings: Settings,
        generics: &[Type],
        sources: &[PartSource],
    ) -> Result<Made, SettingError> {
        let arities = vec![1; sources.len()];
        match def.instantiate(settings, generics.to_vec(), &arities) {
            Ok(instance) => Ok(self.instance(name, instance, sources)),
            Err(InstanceError::Setting(error)) => Err(error),
            Err(error) => panic!("the sources have the types of the sockets: {error}"),
        }
    }

    fn instance(&mut self, name: &str, instance: Instance, sources: &[PartSource]) -> Made {
        let (instance, sources) = (Arc::new(instance), sources.iter().copied().collect());
        self.0.parts.push(Part { name: name.into(), instance, sources });
        Made(self.0.parts.len() as u32 - 1)
    }

    /// The type of an output of a part.
    pub(super) fn type_of(&self, part: Made, output: usize) -> Type {
        self.0.parts[part.0 as usize].instance.outputs[output].ty
    }

    /// The network with these outputs.
    pub(super) fn outputs(mut self, outputs: &[PartSource]) -> Network {
        self.0.outputs = outputs.to_vec();
        self.0
    }
}
