//! Range.
use crate::device::DType;
use crate::error::{Error, Result};
use crate::ops::{HostData, HostTensor, NodeRef, OpDef, Planned, lower, op};

pub(in crate::ops) const OPS: &[OpDef] = &[
    op!("Range", 11..=26, [NUMERIC], |_| range()),
    op!("Range", 27.., [NUMERIC], |node: &NodeRef<'_>| {
        // 16-bit floats are computed as float, which is what 1 says; another type could round differently.
        let stash = node.int_or("stash_type", 1)?;
        let half = matches!(node.dtype(0)?, DType::F16 | DType::BF16);
        if half && stash != 1 {
            return node.bad_attribute("stash_type");
        }
        range()
    }),
    op!(MICROSOFT "Range", 1.., [NUMERIC], contrib),
];

/// The contrib form may leave out the step.
fn contrib(_: &NodeRef<'_>) -> Planned {
    range()
}

fn range() -> Planned {
    let plan = lower(|cx, x| {
        let step = if x.has(2) { Some(x.host(2)?) } else { None };
        let series = Series::new(x.host(0)?, x.host(1)?, step)?;
        let count = series.count()?;
        let (wide, start, step) = match series.values {
            Values::Int { start, step, .. } => (
                DType::I64,
                cx.int(start, DType::I64)?,
                cx.int(step, DType::I64)?,
            ),
            Values::Float { start, step, .. } => {
                let wide = if series.dtype == DType::F64 {
                    DType::F64
                } else {
                    DType::F32
                };
                (wide, cx.float(start, wide)?, cx.float(step, wide)?)
            }
        };
        let offsets = cx.multiply(&cx.arange(count, wide)?, &step)?;
        cx.astype(&cx.add(&offsets, &start)?, series.dtype)
    })?;
    Ok(plan.reads(&[0, 1, 2]).or_host(|h| {
        let (Some(Some(start)), Some(Some(limit))) = (h.first(), h.get(1)) else {
            return Ok(None);
        };
        let series = Series::new(start, limit, h.get(2).copied().flatten())?;
        let count = series.count()?;
        if count > HostTensor::MAX_ELEMENTS {
            return Ok(None);
        }
        Ok(Some(vec![series.on_host(count)]))
    }))
}

/// The numbers from a start on, a step apart, up to a limit that is excluded.
struct Series {
    dtype: DType,
    values: Values,
}

#[derive(Clone, Copy)]
enum Values {
    Int { start: i64, limit: i64, step: i64 },
    Float { start: f64, limit: f64, step: f64 },
}

impl Series {
    fn new(start: &HostTensor, limit: &HostTensor, step: Option<&HostTensor>) -> Result<Self> {
        let fail = |input| Err(Error::invalid(format!("input {input} is not one number")));
        let inputs = [Some(start), Some(limit), step];
        let one = |t: &Option<&HostTensor>| t.is_some_and(|t| t.len() != 1);
        if let Some(input) = inputs.iter().position(one) {
            return fail(input);
        }
        let values = match (start.data(), limit.data(), step.map(HostTensor::data)) {
            (HostData::Int(a), HostData::Int(b), None) => Values::Int {
                start: a[0],
                limit: b[0],
                step: 1,
            },
            (HostData::Int(a), HostData::Int(b), Some(HostData::Int(c))) => Values::Int {
                start: a[0],
                limit: b[0],
                step: c[0],
            },
            (HostData::Float(a), HostData::Float(b), None) => Values::Float {
                start: a[0],
                limit: b[0],
                step: 1.0,
            },
            (HostData::Float(a), HostData::Float(b), Some(HostData::Float(c))) => Values::Float {
                start: a[0],
                limit: b[0],
                step: c[0],
            },
            _ => return Err(Error::invalid("the inputs differ in their types")),
        };
        Ok(Self {
            dtype: start.dtype(),
            values,
        })
    }

    /// How many numbers there are.
    fn count(&self) -> Result<usize> {
        let count = match self.values {
            Values::Int { step: 0, .. } => None,
            Values::Int { start, limit, step } => {
                let wide = |v: i64| {
                    if self.dtype == DType::U64 {
                        i128::from(v.cast_unsigned())
                    } else {
                        i128::from(v)
                    }
                };
                let (distance, step) = (wide(limit) - wide(start), wide(step));
                let rounded = distance / step + i128::from(distance % step != 0);
                Some(if (distance > 0) == (step > 0) {
                    rounded
                } else {
                    0
                })
            }
            Values::Float { start, limit, step } => {
                let count = ((limit - start) / step).ceil();
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "checked to be in the range of an axis"
                )]
                (step != 0.0 && count <= f64::from(i32::MAX)).then_some(count.max(0.0) as i128)
            }
        };
        count
            .and_then(|count| usize::try_from(i32::try_from(count).ok()?).ok())
            .ok_or_else(|| Error::invalid(format!("a range without an end: {self}")))
    }

    fn on_host(&self, count: usize) -> HostTensor {
        match self.values {
            Values::Int { start, step, .. } => {
                let numbers = std::iter::successors(Some(start), |v| Some(v.wrapping_add(step)));
                HostTensor::ints(self.dtype, vec![count], numbers.take(count).collect())
            }
            Values::Float { start, step, .. } => {
                let numbers = std::iter::successors(Some(0.0), |i| Some(i + 1.0));
                let numbers = numbers.map(|i| start + i * step).take(count).collect();
                HostTensor::floats(self.dtype, vec![count], numbers)
            }
        }
    }
}

impl std::fmt::Display for Series {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.values {
            Values::Int { start, limit, step } => write!(f, "from {start} to {limit} by {step}"),
            Values::Float { start, limit, step } => write!(f, "from {start} to {limit} by {step}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::device::DType;
    use crate::error::Result;
    use crate::ops::Reject;
    use crate::ops::testing::{Case, Data, floats, i64s, ints};

    /// The same range with known and with unknown bounds.
    fn run<T: Copy>(make: impl Fn(T) -> Data, numbers: [T; 3]) -> Result<Vec<f64>> {
        let case = |constant| {
            let case = numbers.iter().fold(Case::new("Range", 11), |case, v| {
                case.given(constant, make(*v))
            });
            case.try_run().map(|out| out[0].floats())
        };
        let found = case(false);
        assert_eq!(case(true).ok(), found.as_ref().ok().cloned());
        found
    }

    #[test]
    fn integers_of_every_width() {
        for dtype in [DType::I16, DType::I32, DType::I64] {
            let range = |numbers| run(|v| ints(dtype, &[], &[v]), numbers);
            assert_eq!(range([10, 0, -3]).unwrap(), [10.0, 7.0, 4.0, 1.0]);
            assert_eq!(range([0, 5, 2]).unwrap(), [0.0, 2.0, 4.0]);
            assert_eq!(range([0, 4, 2]).unwrap(), [0.0, 2.0]);
            assert_eq!(range([3, 3, 1]).unwrap(), [0.0; 0]);
            assert_eq!(range([3, 0, 1]).unwrap(), [0.0; 0]);
            assert!(range([0, 1, 0]).is_err());
        }
    }

    #[test]
    fn large_numbers_stay_exact() {
        let first = (1 << 53) + 1;
        let range = |limit: i64, step: i64| {
            Case::new("Range", 11)
                .constant(i64s(&[], &[first]))
                .input(i64s(&[], &[limit]))
                .input(i64s(&[1], &[step]))
                .try_run()
                .map(|out| out[0].ints())
        };
        assert_eq!(range(first + 3, 1).unwrap(), [first, first + 1, first + 2]);
        let many = range(first + 9000, 2).unwrap();
        assert_eq!((many.len(), many[4499]), (4500, first + 8998));
        assert!(range(i64::MAX, 1).is_err());
        assert_eq!(
            range(i64::MIN, i64::MIN).unwrap(),
            [first, first.wrapping_add(i64::MIN)]
        );
    }

    #[test]
    fn floats_count_with_a_rounded_limit() {
        for dtype in [DType::F32, DType::F64] {
            let range = |numbers| run(|v| floats(dtype, &[], &[v]), numbers);
            assert_eq!(range([0.0, 3.0, 1.0]).unwrap(), [0.0, 1.0, 2.0]);
            assert_eq!(range([1.0, 0.0, -0.25]).unwrap(), [1.0, 0.75, 0.5, 0.25]);
            assert_eq!(range([0.0, 2.5, 1.0]).unwrap(), [0.0, 1.0, 2.0]);
            assert_eq!(range([0.0, 6000.0, 0.5]).unwrap()[11999], 5999.5);
            assert!(range([0.0, 1.0, 0.0]).is_err());
            assert!(range([0.0, f64::INFINITY, 1.0]).is_err());
            assert!(range([0.0, f64::NAN, 1.0]).is_err());
        }
        let found = run(|v| floats(DType::F32, &[], &[v]), [0.0, 1.0, 0.1]).unwrap();
        assert_eq!(found.len(), 10);
    }

    #[test]
    fn sixteen_bit_floats_and_stash_types() {
        for dtype in [DType::F16, DType::BF16] {
            let case = [1.0, 2.0, 0.5]
                .iter()
                .fold(Case::new("Range", 27), |case, v| {
                    case.input(floats(dtype, &[], &[*v]))
                });
            assert_eq!(case.run()[0].floats(), [1.0, 1.5]);
        }
        let case = Case::new("Range", 27).int("stash_type", 10);
        let case = [0.0, 1.0, 1.0]
            .iter()
            .fold(case, |case, v| case.input(floats(DType::F16, &[], &[*v])));
        assert_eq!(case.reject(), Reject::Attribute("stash_type".into()));
    }

    #[test]
    fn the_contrib_form_has_a_default_step() {
        let out = Case::new("Range", 1)
            .domain("com.microsoft")
            .input(i64s(&[], &[2]))
            .input(i64s(&[], &[5]))
            .run();
        assert_eq!(out[0].ints(), [2, 3, 4]);
        let case = Case::new("Range", 11).input(i64s(&[2], &[0, 1]));
        let error = case
            .input(i64s(&[], &[5]))
            .input(i64s(&[], &[1]))
            .try_run()
            .err()
            .unwrap();
        assert!(error.to_string().contains("input 0"), "{error}");
    }
}
