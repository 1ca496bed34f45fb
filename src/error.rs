//! What can fail, and how it reads. A claim that is refused is not an error: see `ops::Reject`.
use crate::ffi::load::LoadError;
use std::fmt;

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure that reaches the caller of ONNX Runtime as the text of a status.
#[derive(Debug, Clone)]
pub(crate) enum Error {
    /// libmlxc could not be used.
    Load(LoadError),
    /// A call into mlx-c failed; `message` is what MLX said.
    Mlx { call: &'static str, message: String },
    /// ONNX Runtime answered one of our calls with a status.
    Ort { code: i32, message: String },
    /// The caller passed something that cannot work: a wrong option, shape, dtype or index.
    InvalidArgument(String),
    /// The host or the platform lacks something; the text names it and the way out.
    NotImplemented(String),
    /// The process cannot use MLX any more (forked after first use, or exiting).
    Unavailable(&'static str),
    /// A bug of ours, a caught panic included.
    Internal(String),
    /// Any of the above while a node ran.
    Node {
        op_type: String,
        name: String,
        source: Box<Self>,
    },
}

impl Error {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::InvalidArgument(message.into())
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::Internal(message.into())
    }

    /// Names the node during which the failure came up; the innermost name wins.
    pub(crate) fn at(self, op_type: &str, name: &str) -> Self {
        match self {
            Self::Node { .. } => self,
            other => Self::Node {
                op_type: op_type.into(),
                name: name.into(),
                source: Box::new(other),
            },
        }
    }

    /// The failure without the node around it.
    pub(crate) fn root(&self) -> &Self {
        match self {
            Self::Node { source, .. } => source.root(),
            other => other,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load(error) => error.fmt(f),
            Self::Mlx { call, message } => write!(f, "{call} failed: {message}"),
            Self::Ort { code, message } => {
                write!(f, "ONNX Runtime answered with code {code}: {message}")
            }
            Self::InvalidArgument(text) | Self::NotImplemented(text) => f.write_str(text),
            Self::Unavailable(text) => f.write_str(text),
            Self::Internal(text) => write!(f, "internal error, please report it: {text}"),
            Self::Node {
                op_type,
                name,
                source,
            } => write!(f, "{op_type} node '{name}': {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Node { source, .. } => Some(source),
            Self::Load(error) => Some(error),
            _ => None,
        }
    }
}

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}
