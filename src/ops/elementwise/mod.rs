//! Operators that work element by element.
pub(super) mod activation;
pub(super) mod arith;
pub(super) mod broadcast;
pub(super) mod power;
pub(super) mod quick;
pub(super) mod softmax;
pub(super) mod unary;
