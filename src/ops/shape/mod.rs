//! Operators that move, cut, join and make tensors without computing on their elements.
mod grid;

mod center_crop_pad;
mod concat;
mod constant;
mod diagonal;
mod expand;
mod gather;
mod gather_nd;
mod nonzero;
mod one_hot;
mod pad;
mod query;
mod range;
mod reshape;
mod reverse_sequence;
mod scatter;
mod slice;
mod space;
mod split;
mod squeeze;
mod tensor_scatter;
mod transpose;
mod unique;

/// The rows of this family, by file.
pub(super) const FAMILY: &[&[super::OpDef]] = &[
    center_crop_pad::OPS,
    concat::OPS,
    constant::OPS,
    diagonal::OPS,
    expand::OPS,
    gather::OPS,
    gather_nd::OPS,
    nonzero::OPS,
    one_hot::OPS,
    pad::OPS,
    query::OPS,
    range::OPS,
    reshape::OPS,
    reverse_sequence::OPS,
    scatter::OPS,
    slice::OPS,
    space::OPS,
    split::OPS,
    squeeze::OPS,
    tensor_scatter::OPS,
    transpose::OPS,
    unique::OPS,
];
