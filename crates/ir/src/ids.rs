//! Ids of the parts of graphs and plans.

use millstream_base::define_id;

define_id!(NodeId, "n", "One node of a `Graph`; prints as `n7`.");
define_id!(InstanceId, "f", "One instance used by a graph or plan.");
define_id!(ConstId, "c", "One constant of a graph or plan.");
define_id!(InputId, "i", "One input of a graph or plan.");
define_id!(StepId, "s", "One step of a `Plan`; prints as `s7`.");
define_id!(NeedClassId, "k", "A set of needs that steps of a plan share.");
define_id!(RegionId, "r", "One element-wise region of a graph or plan; prints as `r7`.");
