//! ONNX Runtime's graph, read once per callback into [`ops::ir::Graph`](Graph).
mod constants;
mod macros;
mod value;
mod view;

pub(super) use constants::{Keys, read_constant};
pub(super) use value::TensorView;
pub(super) use view::{GraphView, NodeView};

use crate::error::{Error, Result};
use crate::ffi::ort::types::{OrtOpAttrType, OrtValueInfo};
use crate::ops::ir::{Attribute, Graph, Node, NodeId, Origin, TensorData, Value, ValueId};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use value::ValueView;
use view::AttributeView;

/// A graph, and the host's objects that its parts came from.
pub(super) struct Imported<'a> {
    pub(super) graph: Graph,
    /// By [`NodeId`].
    pub(super) nodes: Vec<NodeView<'a>>,
    /// By key, those of bodies among them.
    constants: HashMap<u64, ValueView<'a>>,
    by_name: HashMap<String, ValueId>,
    /// Empty for a model without a file.
    model_path: PathBuf,
}

impl<'a> Imported<'a> {
    /// Reads a graph with all its bodies. `keys` names constants within a session; where nothing is loaded there is no need of it.
    pub(super) fn read(view: GraphView<'a>, keys: Option<&Keys>) -> Result<Self> {
        let mut importer = Importer::new(view, keys)?;
        importer.read(view)?;
        importer.sort()?;
        importer.finish(view)
    }

    /// Reads one node of a graph, with its bodies, as a graph of its own.
    pub(super) fn read_node(view: GraphView<'a>, node: NodeView<'a>) -> Result<Self> {
        let mut importer = Importer::new(view, None)?;
        importer.nodes = vec![node];
        let outputs = importer.optional_values(node.outputs()?, Some(Origin::Node(NodeId(0))))?;
        let node = importer.node(node, outputs)?;
        importer.graph.nodes.push(node);
        importer.finish(view)
    }

    /// Puts the boundary into the order in which the fused node has its inputs and outputs.
    pub(super) fn order_boundary(&mut self, fused: NodeView<'a>) -> Result<()> {
        let find = |view: Option<ValueView<'a>>| {
            let name = view
                .ok_or_else(|| Error::internal("a fused node omits a value"))?
                .name()?;
            let id = self.by_name.get(&name).copied();
            id.ok_or_else(|| {
                Error::internal(format!(
                    "value '{name}' of a fused node is not in its graph"
                ))
            })
        };
        let inputs = fused
            .inputs()?
            .into_iter()
            .map(find)
            .collect::<Result<Vec<_>>>()?;
        let outputs = fused
            .outputs()?
            .into_iter()
            .map(find)
            .collect::<Result<Vec<_>>>()?;
        (self.graph.inputs, self.graph.outputs) = (inputs, outputs);
        Ok(())
    }
}

struct Importer<'a, 'k> {
    graph: Graph,
    nodes: Vec<NodeView<'a>>,
    constants: HashMap<u64, ValueView<'a>>,
    by_object: HashMap<*const OrtValueInfo, ValueId>,
    by_name: HashMap<String, ValueId>,
    keys: Option<&'k Keys>,
}

impl<'a, 'k> Importer<'a, 'k> {
    fn new(view: GraphView<'a>, keys: Option<&'k Keys>) -> Result<Self> {
        Ok(Self {
            graph: Graph {
                name: view.name()?,
                ..Graph::default()
            },
            nodes: view.nodes()?,
            constants: HashMap::new(),
            by_object: HashMap::new(),
            by_name: HashMap::new(),
            keys,
        })
    }

    fn read(&mut self, view: GraphView<'a>) -> Result<()> {
        for input in view.inputs()?.into_iter().flatten() {
            let id = self.value(input, Some(Origin::Input))?;
            self.graph.inputs.push(id);
        }
        let nodes = self.nodes.clone();
        // Most nodes make one value, and there are fewer initializers than nodes.
        let expected = nodes.len() * 2;
        self.graph.nodes.reserve(nodes.len());
        self.graph.values.reserve(expected);
        self.by_object.reserve(expected);
        self.by_name.reserve(expected);
        // Outputs first: then whoever reads a value finds it with its producer.
        let mut outputs = Vec::with_capacity(nodes.len());
        for (node, id) in nodes.iter().zip(0..) {
            outputs.push(self.optional_values(node.outputs()?, Some(Origin::Node(NodeId(id))))?);
        }
        for (view, outputs) in nodes.into_iter().zip(outputs) {
            let node = self.node(view, outputs)?;
            self.graph.nodes.push(node);
        }
        for output in view.outputs()?.into_iter().flatten() {
            let id = self.value(output, None)?;
            self.graph.outputs.push(id);
        }
        Ok(())
    }

    fn node(&mut self, view: NodeView<'a>, outputs: Vec<Option<ValueId>>) -> Result<Node> {
        let domain = view.domain()?;
        let mut attributes = Vec::new();
        for attribute in view.attributes()? {
            let name = attribute.name()?;
            if let Some(value) = read_attribute(attribute)? {
                attributes.push((name, value));
            }
        }
        let captures = self.optional_values(view.implicit_inputs()?, None)?;
        for (name, body) in view.bodies()? {
            let mut importer = Importer::new(body, self.keys)?;
            importer.read(body)?;
            importer.sort()?;
            self.describe_outer(&mut importer.graph);
            self.constants.extend(importer.constants);
            attributes.push((name, Attribute::Graph(Box::new(importer.graph))));
        }
        Ok(Node {
            name: view.name()?,
            op_type: view.op_type()?,
            domain: if domain == "ai.onnx" {
                String::new()
            } else {
                domain
            },
            since_version: u32::try_from(view.since_version()?).unwrap_or(0),
            inputs: self.optional_values(view.inputs()?, None)?,
            outputs,
            captures: captures.into_iter().flatten().collect(),
            attributes,
            assigned: view.ep_name()?,
        })
    }

    /// Tells a body what this graph knows of the values that it reads from here: one that is constant has one key in
    /// both, and types may be declared here only.
    fn describe_outer(&self, body: &mut Graph) {
        let outer = body.values.iter_mut().filter(|v| v.origin == Origin::Outer);
        for value in outer {
            let Some(here) = self
                .by_name
                .get(&value.name)
                .map(|id| self.graph.value(*id))
            else {
                continue;
            };
            if here.constant.is_some() || value.shape().is_none() {
                value.kind = here.kind.clone();
                value.constant = here.constant.clone();
            }
        }
    }

    fn finish(self, view: GraphView<'a>) -> Result<Imported<'a>> {
        Ok(Imported {
            graph: self.graph,
            nodes: self.nodes,
            constants: self.constants,
            by_name: self.by_name,
            model_path: view.model_path()?,
        })
    }

    /// The ids of values; an omitted one has no object, or one without a name.
    fn optional_values(
        &mut self,
        views: Vec<Option<ValueView<'a>>>,
        origin: Option<Origin>,
    ) -> Result<Vec<Option<ValueId>>> {
        let id = |view: Option<ValueView<'a>>| match view {
            Some(view) => self.value(view, origin).map(Some),
            None => Ok(None),
        };
        let ids = views.into_iter().map(id).collect::<Result<Vec<_>>>()?;
        Ok(ids
            .into_iter()
            .map(|id| id.filter(|id| !self.graph.value(*id).name.is_empty()))
            .collect())
    }

    /// The id of a value. `origin` is what the caller knows of it.
    fn value(&mut self, view: ValueView<'a>, origin: Option<Origin>) -> Result<ValueId> {
        if let Some(id) = self.by_object.get(&view.raw()) {
            return Ok(*id);
        }
        let name = view.name()?;
        if let Some(id) = self.by_name.get(&name) {
            self.by_object.insert(view.raw(), *id);
            return Ok(*id);
        }
        let mut kind = view.kind()?;
        let constant = match origin {
            Some(Origin::Node(_)) => None,
            _ => constants::read(view, &name, &mut kind, &self.graph.name, self.keys)?,
        };
        let origin = match origin {
            Some(origin) if constant.is_none() => origin,
            _ if view.is_from_outer_scope()? => Origin::Outer,
            _ => Origin::Initializer,
        };
        if let Some(constant) = constant.as_ref().filter(|_| self.keys.is_some()) {
            self.constants.insert(constant.key, view);
        }
        let id = self.graph.add_value(Value {
            name: name.clone(),
            kind,
            origin,
            constant,
        });
        self.by_object.insert(view.raw(), id);
        self.by_name.insert(name, id);
        Ok(id)
    }

    /// Puts the nodes into a topological order, unless the host gave them in one.
    fn sort(&mut self) -> Result<()> {
        let reads = reads(&self.graph);
        if reads
            .iter()
            .enumerate()
            .all(|(node, reads)| reads.iter().all(|producer| *producer < node))
        {
            return Ok(());
        }
        let order = topological(&reads).ok_or_else(|| Error::internal("a graph has a cycle"))?;
        let mut place = vec![NodeId(0); order.len()];
        for (old, new) in order.iter().zip(0..) {
            place[*old] = NodeId(new);
        }
        self.nodes = order.iter().map(|old| self.nodes[*old]).collect();
        self.graph.nodes = order
            .iter()
            .map(|old| std::mem::take(&mut self.graph.nodes[*old]))
            .collect();
        for value in &mut self.graph.values {
            if let Origin::Node(old) = value.origin {
                value.origin = Origin::Node(place[old.index()]);
            }
        }
        Ok(())
    }
}

/// By node, the nodes whose outputs it reads.
fn reads(graph: &Graph) -> Vec<Vec<usize>> {
    let producers = |node: &Node| {
        let read = node.inputs.iter().flatten().chain(&node.captures);
        read.filter_map(|value| match graph.value(*value).origin {
            Origin::Node(producer) => Some(producer.index()),
            Origin::Input | Origin::Initializer | Origin::Outer => None,
        })
        .collect()
    };
    graph.nodes.iter().map(producers).collect()
}

/// A topological order that keeps the given one where it can; `None` if there is a cycle.
fn topological(reads: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut waiting: Vec<usize> = reads.iter().map(Vec::len).collect();
    let mut readers = vec![Vec::new(); reads.len()];
    for (node, reads) in reads.iter().enumerate() {
        for producer in reads {
            readers[*producer].push(node);
        }
    }
    let mut ready: BinaryHeap<_> = (0..reads.len())
        .filter(|n| waiting[*n] == 0)
        .map(Reverse)
        .collect();
    let mut order = Vec::with_capacity(reads.len());
    while let Some(Reverse(node)) = ready.pop() {
        order.push(node);
        for reader in &readers[node] {
            waiting[*reader] -= 1;
            if waiting[*reader] == 0 {
                ready.push(Reverse(*reader));
            }
        }
    }
    (order.len() == reads.len()).then_some(order)
}

/// An attribute as a value. `None` for bodies, which are read as graphs.
fn read_attribute(view: AttributeView<'_>) -> Result<Option<Attribute>> {
    // A kind that the host cannot name is one that it cannot hand out.
    let Ok(kind) = view.kind() else {
        return Ok(Some(Attribute::Unknown));
    };
    let value = match kind {
        OrtOpAttrType::ORT_OP_ATTR_GRAPH => return Ok(None),
        OrtOpAttrType::ORT_OP_ATTR_TENSOR => match view.tensor() {
            Ok(Some(tensor)) => tensor_data(tensor.view())?,
            Ok(None) | Err(_) => None,
        }
        .map(Attribute::Tensor),
        _ => decode_attribute(kind, &view.read(kind).unwrap_or_default()),
    };
    Ok(Some(value.unwrap_or(Attribute::Unknown)))
}

fn tensor_data(view: TensorView<'_>) -> Result<Option<TensorData>> {
    match view.type_and_dims()? {
        Some((dtype, dims)) if dtype.bits() > 0 => Ok(Some(TensorData {
            dtype,
            dims,
            bytes: Arc::from(view.bytes()?),
        })),
        _ => Ok(None),
    }
}

/// The value in the bytes that ONNX Runtime gives of an attribute; `None` if they do not fit its kind.
fn decode_attribute(kind: OrtOpAttrType, bytes: &[u8]) -> Option<Attribute> {
    let ints = || {
        bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|b| i64::from_ne_bytes(*b))
    };
    let floats = || {
        bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|b| f32::from_ne_bytes(*b))
    };
    match kind {
        OrtOpAttrType::ORT_OP_ATTR_INT => ints().next().map(Attribute::Int),
        OrtOpAttrType::ORT_OP_ATTR_INTS => Some(Attribute::Ints(ints().collect())),
        OrtOpAttrType::ORT_OP_ATTR_FLOAT => floats().next().map(Attribute::Float),
        OrtOpAttrType::ORT_OP_ATTR_FLOATS => Some(Attribute::Floats(floats().collect())),
        OrtOpAttrType::ORT_OP_ATTR_STRING => Some(Attribute::String(bytes.to_vec())),
        // Each string is followed by a NUL.
        OrtOpAttrType::ORT_OP_ATTR_STRINGS => Some(Attribute::Strings(
            bytes
                .split_inclusive(|b| *b == 0)
                .map(|s| s.strip_suffix(&[0]).unwrap_or(s).to_vec())
                .collect(),
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_decoded() {
        let ints: Vec<u8> = [1i64, -2].iter().flat_map(|v| v.to_ne_bytes()).collect();
        assert!(matches!(
            decode_attribute(OrtOpAttrType::ORT_OP_ATTR_INT, &ints[..8]),
            Some(Attribute::Int(1))
        ));
        assert!(
            matches!(decode_attribute(OrtOpAttrType::ORT_OP_ATTR_INTS, &ints), Some(Attribute::Ints(v)) if v == [1, -2])
        );
        assert!(
            matches!(decode_attribute(OrtOpAttrType::ORT_OP_ATTR_INTS, &[]), Some(Attribute::Ints(v)) if v.is_empty())
        );
        assert!(decode_attribute(OrtOpAttrType::ORT_OP_ATTR_INT, &[]).is_none());
        let floats: Vec<u8> = [0.5f32, -1.0]
            .iter()
            .flat_map(|v| v.to_ne_bytes())
            .collect();
        assert!(
            matches!(decode_attribute(OrtOpAttrType::ORT_OP_ATTR_FLOAT, &floats), Some(Attribute::Float(v)) if v == 0.5)
        );
        assert!(
            matches!(decode_attribute(OrtOpAttrType::ORT_OP_ATTR_FLOATS, &floats), Some(Attribute::Floats(v)) if v == [0.5, -1.0])
        );
        assert!(
            matches!(decode_attribute(OrtOpAttrType::ORT_OP_ATTR_STRING, b"ab"), Some(Attribute::String(v)) if v == b"ab")
        );
        let strings = decode_attribute(OrtOpAttrType::ORT_OP_ATTR_STRINGS, b"ab\0\0cde\0");
        assert!(matches!(strings, Some(Attribute::Strings(v)) if v == [&b"ab"[..], b"", b"cde"]));
        assert!(decode_attribute(OrtOpAttrType::ORT_OP_ATTR_UNDEFINED, b"ab").is_none());
    }

    #[test]
    fn the_order_of_the_host_is_kept_where_it_can_be() {
        assert_eq!(
            topological(&[vec![2], vec![], vec![], vec![0, 1]]),
            Some(vec![1, 2, 0, 3])
        );
        assert_eq!(topological(&[vec![1], vec![0]]), None);
        assert_eq!(topological(&[]), Some(vec![]));
    }
}
