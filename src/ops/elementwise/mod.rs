//! Operators that work element by element.
pub(super) mod arith;
pub(super) mod broadcast;
pub(super) mod quick;
