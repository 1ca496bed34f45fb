//! NonMaxSuppression. How many boxes are left only the numbers say: it is computed on the host.
use crate::device::DType;
use crate::error::{Error, Result};
use crate::ops::{Inputs, NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[op!(
    "NonMaxSuppression",
    10..,
    [F32, F32, I64, F32, F32],
    non_max_suppression
)];

fn non_max_suppression(node: &NodeRef<'_>) -> Planned {
    let corners = match node.int_or("center_point_box", 0)? {
        0 => Corners::ordered,
        1 => Corners::around,
        _ => return node.bad_attribute("center_point_box"),
    };
    let given: Vec<_> = (0..5).filter(|i| node.has_input(*i)).collect();
    let plan = lower(move |cx, x| {
        let (batches, boxes) = match *x.dims(0)? {
            [batches, boxes, 4] => (batches, boxes),
            _ => return Err(shapes(x)?),
        };
        let classes = match *x.dims(1)? {
            [b, classes, n] if (b, n) == (batches, boxes) => classes,
            _ => return Err(shapes(x)?),
        };
        let limits = Limits::read(x)?;
        let mut selected: Vec<i64> = vec![];
        if limits.most > 0 && boxes > 0 {
            let (places, scores) = (floats(x, 0)?, floats(x, 1)?);
            for (batch, places) in places.chunks_exact(4 * boxes).enumerate() {
                let places: Vec<_> = places.as_chunks().0.iter().map(corners).collect();
                for class in 0..classes {
                    let scores = &scores[(batch * classes + class) * boxes..][..boxes];
                    for index in limits.select(&places, scores) {
                        for part in [batch, class, index] {
                            selected.push(i64::try_from(part).unwrap_or(i64::MAX));
                        }
                    }
                }
            }
        }
        let bytes: Vec<u8> = selected.iter().flat_map(|v| v.to_le_bytes()).collect();
        cx.array_from_bytes(DType::I64, &[selected.len() / 3, 3], &bytes)
    })?;
    Ok(plan.reads(&given))
}

fn shapes(x: &Inputs<'_>) -> Result<Error> {
    Ok(Error::invalid(format!(
        "boxes and scores must have the shapes [batches, boxes, 4] and [batches, classes, boxes], found {:?} and {:?}",
        x.dims(0)?,
        x.dims(1)?
    )))
}

fn floats(x: &Inputs<'_>, input: usize) -> Result<Vec<f32>> {
    let bytes = x.bytes(input)?;
    let parts = bytes.as_chunks().0.iter();
    Ok(parts.map(|b| f32::from_le_bytes(*b)).collect())
}

/// A box by its smallest and largest coordinates.
#[derive(Debug, Clone, Copy)]
struct Corners {
    low: [f32; 2],
    high: [f32; 2],
}

impl Corners {
    /// Of two opposite corners, in any order.
    fn ordered(&[y1, x1, y2, x2]: &[f32; 4]) -> Self {
        Self {
            low: [y1.min(y2), x1.min(x2)],
            high: [y1.max(y2), x1.max(x2)],
        }
    }

    /// Of the centre and the lengths of the sides.
    fn around(&[x, y, width, height]: &[f32; 4]) -> Self {
        let (across, down) = (width / 2.0, height / 2.0);
        Self {
            low: [y - down, x - across],
            high: [y + down, x + across],
        }
    }

    fn area(&self) -> f32 {
        (self.high[1] - self.low[1]) * (self.high[0] - self.low[0])
    }

    /// Whether the common part of two boxes is more than this part of what they cover together.
    fn overlaps(&self, other: &Self, threshold: f32) -> bool {
        let common = Self {
            low: [0, 1].map(|i| self.low[i].max(other.low[i])),
            high: [0, 1].map(|i| self.high[i].min(other.high[i])),
        };
        if common.high[0] <= common.low[0] || common.high[1] <= common.low[1] {
            return false;
        }
        let (inner, areas) = (common.area(), [self.area(), other.area()]);
        let outer = areas[0] + areas[1] - inner;
        let solid = inner > 0.0 && outer > 0.0 && areas.iter().all(|a| *a > 0.0);
        solid && inner / outer > threshold
    }
}

/// What decides which boxes stay.
struct Limits {
    /// Of each class.
    most: usize,
    overlap: f32,
    score: Option<f32>,
}

impl Limits {
    fn read(x: &Inputs<'_>) -> Result<Self> {
        let single = |input: usize| match x.dims(input)? {
            [] | [1] => Ok(()),
            dims => Err(Error::invalid(format!(
                "input {input} must hold one number, found the shape {dims:?}"
            ))),
        };
        let float = |input: usize| {
            if !x.has(input) || x.dims(input)? == [0] {
                return Ok(None);
            }
            single(input)?;
            floats(x, input).map(|v| v.first().copied())
        };
        let most = if x.has(2) && x.dims(2)? != [0] {
            single(2)?;
            usize::try_from(x.ints(2)?[0]).unwrap_or(0)
        } else {
            0
        };
        let overlap = float(3)?.unwrap_or(0.0);
        if !(0.0..=1.0).contains(&overlap) {
            return Err(Error::invalid(format!(
                "iou_threshold (input 3) is {overlap}, which is not in [0, 1]"
            )));
        }
        Ok(Self {
            most,
            overlap,
            score: float(4)?,
        })
    }

    /// The boxes of one class that stay, best first; of equal ones the one with the lower index.
    fn select(&self, places: &[Corners], scores: &[f32]) -> Vec<usize> {
        // NaN comes last, and zero has one sign.
        let rank = |i: usize| match scores[i] + 0.0 {
            score if score.is_nan() => f32::NEG_INFINITY,
            score => score,
        };
        let passes = |i: &usize| self.score.is_none_or(|least| scores[*i] > least);
        let mut order: Vec<_> = (0..scores.len()).filter(passes).collect();
        order.sort_by(|a, b| rank(*b).total_cmp(&rank(*a)));
        let mut kept: Vec<usize> = vec![];
        for index in order {
            if kept.len() == self.most {
                break;
            }
            let hidden = |k: &usize| places[index].overlaps(&places[*k], self.overlap);
            if !kept.iter().any(hidden) {
                kept.push(index);
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, f32s, i64s};

    const BOXES: [f32; 24] = [
        0.0, 0.0, 1.0, 1.0, 0.0, 0.1, 1.0, 1.1, 0.0, -0.1, 1.0, 0.9, 0.0, 10.0, 1.0, 11.0, 0.0,
        10.1, 1.0, 11.1, 0.0, 100.0, 1.0, 101.0,
    ];
    const SCORES: [f32; 6] = [0.9, 0.75, 0.6, 0.95, 0.5, 0.3];

    fn case(boxes: Data, scores: Data) -> Case {
        Case::new("NonMaxSuppression", 11)
            .input(boxes)
            .input(scores)
    }

    fn six() -> Case {
        case(f32s(&[1, 6, 4], &BOXES), f32s(&[1, 1, 6], &SCORES))
    }

    fn one(value: f32) -> Data {
        f32s(&[1], &[value])
    }

    #[track_caller]
    fn assert_selected(case: Case, expected: &[[i64; 3]]) {
        let out = case.output(crate::device::DType::I64).run();
        assert_eq!(out[0].ints(), expected.concat());
        assert_eq!(out[0].dims(), [i64::try_from(expected.len()).unwrap(), 3]);
    }

    #[test]
    fn overlapping_boxes_yield_to_better_ones() {
        let three = || i64s(&[1], &[3]);
        assert_selected(
            six().input(three()).input(one(0.5)).input(one(0.0)),
            &[[0, 0, 3], [0, 0, 0], [0, 0, 5]],
        );
        // Thresholds of rank 0, and a score that must be exceeded.
        let scalar = |v| f32s(&[], &[v]);
        let limits = six().input(i64s(&[], &[3])).input(scalar(0.5));
        assert_selected(limits.input(scalar(0.9)), &[[0, 0, 3]]);
        assert_selected(six().input(i64s(&[1], &[2])), &[[0, 0, 3], [0, 0, 0]]);
        // Nothing overlaps by more than all.
        let all: Vec<_> = [3, 0, 1, 2, 4, 5].map(|i| [0, 0, i]).to_vec();
        assert_selected(six().input(i64s(&[1], &[9])).constant(one(1.0)), &all);
    }

    #[test]
    fn boxes_may_be_flipped_or_centred() {
        let mut flipped = BOXES;
        flipped[..4].copy_from_slice(&[1.0, 1.0, 0.0, 0.0]);
        let boxes = f32s(&[1, 6, 4], &flipped);
        let limits = case(boxes, f32s(&[1, 1, 6], &SCORES)).input(i64s(&[1], &[3]));
        assert_selected(limits.input(one(0.5)), &[[0, 0, 3], [0, 0, 0], [0, 0, 5]]);
        let centred: Vec<f32> = BOXES
            .as_chunks::<4>()
            .0
            .iter()
            .flat_map(|[y1, x1, y2, x2]| [(x1 + x2) / 2.0, (y1 + y2) / 2.0, x2 - x1, y2 - y1])
            .collect();
        let boxes = f32s(&[1, 6, 4], &centred);
        let limits = case(boxes, f32s(&[1, 1, 6], &SCORES)).input(i64s(&[1], &[3]));
        assert_selected(
            limits.input(one(0.5)).int("center_point_box", 1),
            &[[0, 0, 3], [0, 0, 0], [0, 0, 5]],
        );
    }

    #[test]
    fn batches_come_before_classes_and_ties_keep_their_order() {
        let boxes = f32s(
            &[2, 2, 4],
            &[0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0].repeat(2),
        );
        let scores = f32s(&[2, 2, 2], &[1.0, 1.0, 0.0, -0.0, 1.0, 2.0, f32::NAN, 1.0]);
        let order = [0, 1, 0, 1, 1, 0, 1, 0];
        let expected: Vec<_> = (0..8)
            .map(|i| [i / 4, i / 2 % 2, order[usize::try_from(i).unwrap()]])
            .collect();
        assert_selected(case(boxes, scores).input(i64s(&[1], &[5])), &expected);
    }

    #[test]
    fn nothing_may_be_left() {
        assert_selected(six(), &[]);
        assert_selected(six().input(i64s(&[1], &[0])), &[]);
        assert_selected(six().input(i64s(&[1], &[-1])), &[]);
        let high = six().input(i64s(&[1], &[3])).omitted().input(one(2.0));
        assert_selected(high, &[]);
        let none = case(f32s(&[1, 0, 4], &[]), f32s(&[1, 2, 0], &[]));
        assert_selected(none.input(i64s(&[1], &[3])), &[]);
        let none = case(f32s(&[0, 6, 4], &[]), f32s(&[0, 1, 6], &[]));
        assert_selected(none.input(i64s(&[1], &[3])), &[]);
    }

    #[test]
    fn more_boxes_than_the_host_holds_elsewhere() {
        let count = 3000u16;
        let boxes: Vec<f32> = (0..count)
            .flat_map(|i| [0.0, f32::from(i), 1.0, f32::from(i) + 1.0])
            .collect();
        let scores: Vec<f32> = (0..count).map(f32::from).collect();
        let n = usize::from(count);
        let case = case(f32s(&[1, n, 4], &boxes), f32s(&[1, 1, n], &scores));
        let out = case
            .input(i64s(&[1], &[i64::MAX]))
            .output(crate::device::DType::I64)
            .run();
        let expected: Vec<_> = (0..i64::from(count))
            .rev()
            .flat_map(|i| [0, 0, i])
            .collect();
        assert_eq!(out[0].ints(), expected);
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let failure = |case: Case| case.try_run().err().expect("it fails").to_string();
        let apart = case(f32s(&[1, 6, 4], &BOXES), f32s(&[1, 1, 5], &SCORES[..5]));
        assert!(failure(apart).contains("[batches, classes, boxes]"));
        let high = six().input(i64s(&[1], &[3])).input(one(1.5));
        assert!(failure(high).contains("not in [0, 1]"));
        assert!(failure(six().input(i64s(&[2], &[3, 3]))).contains("one number"));
        let other = six().int("center_point_box", 2).reject();
        assert_eq!(other, Reject::Attribute("center_point_box".into()));
    }
}
