//! Operators that move, cut, join and make tensors without computing on their elements.
mod grid;

pub(super) mod concat;
pub(super) mod constant;
pub(super) mod diagonal;
pub(super) mod expand;
pub(super) mod gather;
pub(super) mod gather_nd;
pub(super) mod one_hot;
pub(super) mod pad;
pub(super) mod query;
pub(super) mod range;
pub(super) mod reshape;
pub(super) mod slice;
pub(super) mod space;
pub(super) mod split;
pub(super) mod squeeze;
pub(super) mod transpose;
