//! Why a node is left to another execution provider.
use crate::device::DType;
use std::fmt;

/// Whose limit a refusal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// ONNX Runtime cannot pass it to a plugin.
    Host,
    /// MLX has no exact form of it.
    Backend,
    /// It could run but should not.
    Policy,
    /// Nobody wrote it yet.
    Todo,
}

/// A refusal: found while planning, cheap, countable and printable.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Reject {
    /// No row of the op table has this name and domain.
    Op,
    /// Rows exist, but none for this opset version.
    Opset(u32),
    /// An element type that no row takes.
    Type { input: usize, found: Option<DType> },
    /// Too few or too many inputs.
    Arity(usize),
    /// The rank must be known, or another.
    Rank { input: usize },
    /// A required input that must be a constant initializer.
    NotConstant { input: usize },
    /// An attribute that is missing, unknown, or holds a value that is not supported.
    Attribute(String),
    /// A form that MLX cannot express exactly.
    Form(&'static str),
    /// A form that is not written yet.
    Todo(&'static str),
    /// The host cannot pass it.
    Host(&'static str),
    /// A value that is no tensor.
    NotTensor,
    /// The loaded libmlxc lacks a function group.
    Feature(&'static str),
    /// The session's policy.
    Policy(&'static str),
    /// A node in a body of a control-flow node.
    Body(String, Box<Self>),
}

impl Reject {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Body(_, inner) => inner.kind(),
            Self::Host(_) | Self::NotTensor => Kind::Host,
            Self::Form(_) | Self::Feature(_) => Kind::Backend,
            Self::Policy(_) => Kind::Policy,
            Self::Op
            | Self::Opset(_)
            | Self::Type { .. }
            | Self::Arity(_)
            | Self::Rank { .. }
            | Self::NotConstant { .. }
            | Self::Attribute(_)
            | Self::Todo(_) => Kind::Todo,
        }
    }
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Op => f.write_str("operator not supported"),
            Self::Opset(version) => write!(f, "form of opset {version} not supported"),
            Self::Type {
                input,
                found: Some(dtype),
            } => write!(f, "input {input} of type {dtype} not supported"),
            Self::Type { input, found: None } => write!(f, "input {input} has an unknown type"),
            Self::Arity(count) => write!(f, "{count} inputs not supported"),
            Self::Rank { input } => write!(f, "rank of input {input} unknown or not supported"),
            Self::NotConstant { input } => write!(f, "input {input} must be constant"),
            Self::Attribute(name) => write!(
                f,
                "attribute {name} missing, unknown or with an unsupported value"
            ),
            Self::Form(text) | Self::Todo(text) | Self::Host(text) | Self::Policy(text) => {
                f.write_str(text)
            }
            Self::NotTensor => f.write_str("has an input or output that is no tensor"),
            Self::Feature(name) => write!(f, "the loaded libmlxc lacks {name}"),
            Self::Body(operator, inner) => write!(f, "{operator} in its body: {inner}"),
        }
    }
}
