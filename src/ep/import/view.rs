//! Graphs, nodes and attributes of a host, as long as one callback lasts.
use super::macros::{ask, list, view};
use super::value::{OwnedTensor, ValueView};
use crate::ep::abi;
use crate::ep::api::Api;
use crate::error::{Error, Result};
use crate::ffi::ort::types::{OrtGraph, OrtNode, OrtOpAttr, OrtOpAttrType};
use std::path::PathBuf;

view! {
    /// A graph, or a body of a control-flow node.
    GraphView of OrtGraph
}
view! {
    /// A node of a graph.
    NodeView of OrtNode
}
view! {
    /// An attribute of a node.
    AttributeView of OrtOpAttr
}

/// Why an object cannot be null here.
pub(super) fn missing(what: &str) -> Error {
    Error::internal(format!("ONNX Runtime gave no {what}"))
}

impl<'a> GraphView<'a> {
    pub(super) fn name(self) -> Result<String> {
        self.api.get_text(ask!(self, Graph_GetName))
    }

    pub(super) fn model_path(self) -> Result<PathBuf> {
        Ok(abi::path(
            self.api
                .get(std::ptr::null(), ask!(self, Graph_GetModelPath))?,
        ))
    }

    pub(super) fn inputs(self) -> Result<Vec<Option<ValueView<'a>>>> {
        let list = list!(self, Graph_GetNumInputs, Graph_GetInputs)?;
        // SAFETY: value infos of a graph live as long as the graph.
        Ok(unsafe { ValueView::each(self.api, list) })
    }

    pub(super) fn outputs(self) -> Result<Vec<Option<ValueView<'a>>>> {
        let list = list!(self, Graph_GetNumOutputs, Graph_GetOutputs)?;
        // SAFETY: value infos of a graph live as long as the graph.
        Ok(unsafe { ValueView::each(self.api, list) })
    }

    pub(super) fn nodes(self) -> Result<Vec<NodeView<'a>>> {
        let list = list!(self, Graph_GetNumNodes, Graph_GetNodes)?;
        // SAFETY: nodes of a graph live as long as the graph.
        let nodes = unsafe { NodeView::each(self.api, list) };
        nodes
            .into_iter()
            .map(|node| node.ok_or_else(|| missing("node")))
            .collect()
    }

    /// The node that this is a body of. Hosts before 1.24 name none.
    pub(in crate::ep) fn parent(self) -> Result<Option<NodeView<'a>>> {
        let raw = self
            .api
            .get(std::ptr::null(), ask!(self, Graph_GetParentNode))?;
        // SAFETY: the parent of a graph lives as long as the graph.
        Ok(unsafe { NodeView::new(self.api, raw) })
    }

    /// Whether this is, at some depth, a body of a function, which ONNX Runtime replaces by its definition later.
    pub(in crate::ep) fn is_in_function(self) -> Result<bool> {
        let mut graph = self;
        while let Some(owner) = graph.parent()? {
            if !matches!(owner.op_type()?.as_str(), "If" | "Loop" | "Scan") {
                return Ok(true);
            }
            match owner.graph()? {
                Some(outer) => graph = outer,
                None => break,
            }
        }
        Ok(false)
    }

    /// Whether this is a body of a control-flow node.
    pub(in crate::ep) fn is_nested(self) -> Result<bool> {
        if self.api.version().minor >= 24 {
            return Ok(self.parent()?.is_some());
        }
        // 1.23 names no parent. The metadata of a nested graph is that of the model, whose graph has another name.
        if self.name()? != self.main_graph_name()? {
            return Ok(true);
        }
        for node in self.nodes()? {
            for input in node.inputs()?.into_iter().flatten() {
                if input.is_from_outer_scope()? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn main_graph_name(self) -> Result<String> {
        let table = self.api.table();
        let metadata = self
            .api
            .get(std::ptr::null_mut(), ask!(self, Graph_GetModelMetadata))?;
        let read = || {
            // SAFETY: the out parameter is a live pointer; the allocator is the host's own and never freed.
            let allocator = self.api.get(std::ptr::null_mut(), |out| unsafe {
                (table.GetAllocatorWithDefaultOptions)(out)
            })?;
            let name = self.api.get(std::ptr::null_mut(), |out| {
                // SAFETY: the metadata was made just now and the allocator is live.
                unsafe { (table.ModelMetadataGetGraphName)(metadata, allocator, out) }
            })?;
            let text = abi::text(name);
            // SAFETY: the host made the string with this allocator, and it is freed once.
            let status = unsafe { (table.AllocatorFree)(allocator, name.cast()) };
            self.api.check(status)?;
            Ok(text)
        };
        let name = read();
        // SAFETY: the metadata was made for us and is released once.
        unsafe { (table.ReleaseModelMetadata)(metadata) };
        name
    }
}

impl<'a> NodeView<'a> {
    /// The pointer itself, to give it back to the host.
    pub(in crate::ep) fn raw(self) -> *const OrtNode {
        self.raw
    }

    pub(in crate::ep) fn name(self) -> Result<String> {
        self.api.get_text(ask!(self, Node_GetName))
    }

    pub(super) fn op_type(self) -> Result<String> {
        self.api.get_text(ask!(self, Node_GetOperatorType))
    }

    /// The graph that holds the node.
    fn graph(self) -> Result<Option<GraphView<'a>>> {
        let raw = self.api.get(std::ptr::null(), ask!(self, Node_GetGraph))?;
        // SAFETY: a node lives within its graph.
        Ok(unsafe { GraphView::new(self.api, raw) })
    }

    pub(super) fn domain(self) -> Result<String> {
        self.api.get_text(ask!(self, Node_GetDomain))
    }

    pub(super) fn since_version(self) -> Result<i32> {
        self.api.get(0, ask!(self, Node_GetSinceVersion))
    }

    /// The execution provider that holds the node already.
    pub(super) fn ep_name(self) -> Result<Option<String>> {
        let name = self.api.get_text(ask!(self, Node_GetEpName))?;
        Ok((!name.is_empty()).then_some(name))
    }

    pub(super) fn inputs(self) -> Result<Vec<Option<ValueView<'a>>>> {
        let list = list!(self, Node_GetNumInputs, Node_GetInputs)?;
        // SAFETY: value infos of a node live as long as its graph.
        Ok(unsafe { ValueView::each(self.api, list) })
    }

    pub(super) fn outputs(self) -> Result<Vec<Option<ValueView<'a>>>> {
        let list = list!(self, Node_GetNumOutputs, Node_GetOutputs)?;
        // SAFETY: value infos of a node live as long as its graph.
        Ok(unsafe { ValueView::each(self.api, list) })
    }

    /// Outer values that the bodies of the node read.
    pub(super) fn implicit_inputs(self) -> Result<Vec<Option<ValueView<'a>>>> {
        let list = list!(self, Node_GetNumImplicitInputs, Node_GetImplicitInputs)?;
        // SAFETY: value infos of a node live as long as its graph.
        Ok(unsafe { ValueView::each(self.api, list) })
    }

    pub(super) fn attributes(self) -> Result<Vec<AttributeView<'a>>> {
        let list = list!(self, Node_GetNumAttributes, Node_GetAttributes)?;
        // SAFETY: attributes live as long as their node.
        let attributes = unsafe { AttributeView::each(self.api, list) };
        attributes
            .into_iter()
            .map(|attribute| attribute.ok_or_else(|| missing("attribute")))
            .collect()
    }

    /// The bodies of a control-flow node, each with the name of its attribute.
    pub(super) fn bodies(self) -> Result<Vec<(String, GraphView<'a>)>> {
        let count = self.api.get(0, ask!(self, Node_GetNumSubgraphs))?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut names = vec![std::ptr::null(); count];
        let mut graphs = vec![std::ptr::null(); count];
        // SAFETY: the node is live; both arrays have room for the bodies that were counted.
        let status = unsafe {
            (self.api.table().Node_GetSubgraphs)(
                self.raw,
                graphs.as_mut_ptr(),
                count,
                names.as_mut_ptr(),
            )
        };
        self.api.check(status)?;
        // SAFETY: bodies live as long as their node.
        let graphs = unsafe { GraphView::each(self.api, graphs) };
        let named = names.into_iter().zip(graphs);
        named
            .map(|(name, graph)| Ok((abi::text(name), graph.ok_or_else(|| missing("body"))?)))
            .collect()
    }
}

impl<'a> AttributeView<'a> {
    pub(super) fn name(self) -> Result<String> {
        self.api.get_text(ask!(self, OpAttr_GetName))
    }

    pub(super) fn kind(self) -> Result<OrtOpAttrType> {
        self.api.get(
            OrtOpAttrType::ORT_OP_ATTR_UNDEFINED,
            ask!(self, OpAttr_GetType),
        )
    }

    /// The value of a tensor attribute, as a copy.
    pub(super) fn tensor(self) -> Result<Option<OwnedTensor<'a>>> {
        let raw = self.api.get(
            std::ptr::null_mut(),
            ask!(self, OpAttr_GetTensorAttributeAsOrtValue),
        )?;
        // SAFETY: the host made it for us.
        Ok(unsafe { OwnedTensor::new(self.api, raw) })
    }

    /// The value of any other attribute, in the bytes of [`OrtOpAttrType`]'s layout.
    pub(super) fn read(self, kind: OrtOpAttrType) -> Result<Vec<u8>> {
        // Too small a buffer costs a status with its text; most attributes fit into this one.
        let mut buffer = vec![0u8; 256];
        loop {
            let mut needed = 0;
            // SAFETY: the attribute is live; `buffer` has the length that is said.
            let status = unsafe {
                let data = buffer.as_mut_ptr().cast();
                (self.api.table().ReadOpAttr)(self.raw, kind, data, buffer.len(), &raw mut needed)
            };
            match self.api.check(status) {
                Ok(()) => {
                    buffer.truncate(needed);
                    return Ok(buffer);
                }
                Err(_) if needed > buffer.len() => buffer.resize(needed, 0),
                Err(error) => return Err(error),
            }
        }
    }
}
