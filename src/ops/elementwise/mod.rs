//! Operators that work element by element.
pub(super) mod activation;
pub(super) mod arith;
pub(super) mod bitwise;
pub(super) mod broadcast;
pub(super) mod cast;
pub(super) mod choose;
pub(super) mod clip;
pub(super) mod compare;
pub(super) mod power;
pub(super) mod softmax;
pub(super) mod unary;

/// The rows of this family, by file.
pub(super) const FAMILY: &[&[super::OpDef]] = &[
    activation::OPS,
    arith::OPS,
    bitwise::OPS,
    cast::OPS,
    choose::OPS,
    clip::OPS,
    compare::OPS,
    power::OPS,
    softmax::OPS,
    unary::OPS,
];
