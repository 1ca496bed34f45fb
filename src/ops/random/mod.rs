//! Random numbers: fresh in each Run, and the same ones for the same seed and number of the Run.
mod draw;
mod fill;

use super::{NodeRef, Reject};
use crate::device::{Array, Emit};
use crate::error::Result;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

/// The rows of this family, by file.
pub(super) const FAMILY: &[&[super::OpDef]] = &[draw::OPS, fill::OPS];

/// Where a node gets its random numbers from. A plan that holds one is [`stateful`](super::Plan::stateful).
pub(in crate::ops) struct Source {
    seed: u64,
    /// How often it was asked.
    draws: AtomicU64,
}

impl Source {
    /// The source of the `seed` attribute; without one, each session has numbers of its own.
    pub(in crate::ops) fn of(node: &NodeRef<'_>) -> Result<Self, Reject> {
        let seed = match node.float("seed")? {
            Some(seed) => seed.to_bits().into(),
            None => RandomState::new().hash_one(0),
        };
        Ok(Self {
            seed,
            draws: AtomicU64::new(0),
        })
    }

    /// The key of the next numbers.
    pub(in crate::ops) fn key(&self, cx: &Emit) -> Result<Array> {
        let draw = self.draws.fetch_add(1, Ordering::Relaxed);
        cx.random_key(mixed(self.seed ^ mixed(draw)))
    }
}

/// Spreads the bits of a counter over 64 bits (the finaliser of SplitMix64).
fn mixed(v: u64) -> u64 {
    let v = v.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let v = (v ^ (v >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let v = (v ^ (v >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    v ^ (v >> 31)
}
