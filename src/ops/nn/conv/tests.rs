use super::super::window::Axis;
use super::*;
use crate::device::{DeviceKind, on_thread, testing};
use crate::ops::testing::{Case, Data, f32s, floats, ints};

/// Small whole numbers, so that every sum is exact.
fn numbers(dims: &[usize]) -> Vec<f64> {
    let count = dims.iter().product::<usize>();
    (0..u32::try_from(count).unwrap())
        .map(|i| f64::from(i * 7 % 11) - 5.0)
        .collect()
}

fn data(dtype: DType, dims: &[usize]) -> Data {
    floats(dtype, dims, &numbers(dims))
}

/// All index tuples below `dims`, in row-major order.
fn indices(dims: &[usize]) -> Vec<Vec<usize>> {
    dims.iter().fold(vec![vec![]], |all, d| {
        let grow = |i: &Vec<usize>| {
            (0..*d)
                .map(|j| [i.as_slice(), &[j]].concat())
                .collect::<Vec<_>>()
        };
        all.iter().flat_map(grow).collect()
    })
}

fn at(values: &[f64], dims: &[usize], index: &[usize]) -> f64 {
    values[row_major(dims)
        .iter()
        .zip(index)
        .map(|(s, i)| s * i)
        .sum::<usize>()]
}

/// The definition: (output dims, output).
fn definition(x: &[usize], w: &[usize], groups: usize, axes: &[Axis]) -> (Vec<i64>, Vec<f64>) {
    let (values, weights) = (numbers(x), numbers(w));
    let mut out = vec![x[0], w[0]];
    out.extend(axes.iter().map(|a| a.out));
    let one = |o: &Vec<usize>| {
        let mut sum = 0.0;
        for tap in indices(&w[1..]) {
            let channel = o[1] / (w[0] / groups) * w[1] + tap[0];
            let place = axes.iter().zip(&o[2..]).zip(&tap[1..]);
            let place = place.map(|((a, o), k)| (o * a.stride + k * a.dilation).checked_sub(a.low));
            let Some(place) = place.collect::<Option<Vec<_>>>() else {
                continue;
            };
            if place.iter().zip(axes).all(|(p, a)| *p < a.size) {
                let from = [&[o[0], channel], place.as_slice()].concat();
                sum += at(&values, x, &from) * at(&weights, w, &[&[o[1]], tap.as_slice()].concat());
            }
        }
        sum
    };
    let result = indices(&out).iter().map(one).collect();
    (
        out.iter().map(|d| i64::try_from(*d).unwrap()).collect(),
        result,
    )
}

struct Form {
    x: &'static [usize],
    w: &'static [usize],
    groups: usize,
    strides: usize,
    dilations: usize,
    /// Before and after the first axis, then the others.
    pads: [usize; 4],
}

const FORMS: &[Form] = &[
    Form {
        x: &[1, 2, 7, 6],
        w: &[4, 2, 3, 3],
        groups: 1,
        strides: 1,
        dilations: 1,
        pads: [1, 1, 1, 1],
    },
    Form {
        x: &[2, 3, 7, 8],
        w: &[2, 3, 3, 2],
        groups: 1,
        strides: 2,
        dilations: 1,
        pads: [0, 2, 1, 0],
    },
    Form {
        x: &[1, 2, 9, 9],
        w: &[2, 2, 3, 3],
        groups: 1,
        strides: 1,
        dilations: 2,
        pads: [2, 2, 2, 2],
    },
    Form {
        x: &[2, 3, 4, 5],
        w: &[4, 3, 1, 1],
        groups: 1,
        strides: 1,
        dilations: 1,
        pads: [0; 4],
    },
    Form {
        x: &[1, 3, 5, 5],
        w: &[2, 3, 1, 1],
        groups: 1,
        strides: 2,
        dilations: 1,
        pads: [0, 1, 1, 0],
    },
    Form {
        x: &[1, 3, 6, 6],
        w: &[3, 1, 3, 3],
        groups: 3,
        strides: 1,
        dilations: 1,
        pads: [1; 4],
    },
    Form {
        x: &[2, 2, 6, 7],
        w: &[4, 1, 3, 2],
        groups: 2,
        strides: 2,
        dilations: 2,
        pads: [1, 2, 0, 1],
    },
    Form {
        x: &[1, 4, 5, 5],
        w: &[6, 2, 3, 3],
        groups: 2,
        strides: 1,
        dilations: 1,
        pads: [1; 4],
    },
    Form {
        x: &[1, 2, 6, 3],
        w: &[2, 2, 5, 1],
        groups: 1,
        strides: 1,
        dilations: 1,
        pads: [0; 4],
    },
    Form {
        x: &[2, 2, 9],
        w: &[3, 2, 4],
        groups: 1,
        strides: 2,
        dilations: 1,
        pads: [2, 1, 0, 0],
    },
    Form {
        x: &[1, 2, 9],
        w: &[2, 1, 70],
        groups: 2,
        strides: 1,
        dilations: 1,
        pads: [40, 40, 0, 0],
    },
    Form {
        x: &[1, 2, 4, 5, 4],
        w: &[2, 2, 2, 3, 2],
        groups: 1,
        strides: 1,
        dilations: 1,
        pads: [1, 0, 0, 1],
    },
    Form {
        x: &[1, 4, 4, 4, 4],
        w: &[4, 2, 2, 2, 2],
        groups: 2,
        strides: 2,
        dilations: 1,
        pads: [0; 4],
    },
];

impl Form {
    fn pads(&self) -> (Vec<usize>, Vec<usize>) {
        let rank = self.x.len() - 2;
        let side = |first, others| {
            (0..rank)
                .map(|i| if i == 0 { first } else { others })
                .collect::<Vec<usize>>()
        };
        (
            side(self.pads[0], self.pads[2]),
            side(self.pads[1], self.pads[3]),
        )
    }

    fn axes(&self) -> Vec<Axis> {
        let rank = self.x.len() - 2;
        let (low, high) = self.pads();
        let window = Window {
            kernel: None,
            strides: Some(vec![self.strides; rank]),
            dilations: Some(vec![self.dilations; rank]),
            padding: super::super::window::Padding::Explicit(Some([low, high].concat())),
            ceil: false,
        };
        window.over(&self.x[2..], &self.w[2..]).unwrap()
    }

    fn case(&self, dtype: DType, constant: bool) -> Case {
        let list = |v: usize| vec![i64::try_from(v).unwrap(); self.x.len() - 2];
        let (low, high) = self.pads();
        let pads: Vec<_> = low
            .iter()
            .chain(&high)
            .map(|p| i64::try_from(*p).unwrap())
            .collect();
        Case::new("Conv", 11)
            .input(data(dtype, self.x))
            .given(constant, data(dtype, self.w))
            .int("group", i64::try_from(self.groups).unwrap())
            .ints("strides", &list(self.strides))
            .ints("dilations", &list(self.dilations))
            .ints("pads", &pads)
    }
}

#[test]
fn forms_agree_with_the_definition() {
    for form in FORMS {
        let (dims, expected) = definition(form.x, form.w, form.groups, &form.axes());
        for (dtype, constant) in [(DType::F32, true), (DType::F32, false), (DType::F64, true)] {
            form.case(dtype, constant).run()[0].assert_close(&dims, &expected, 0.0);
        }
        form.case(DType::F16, true).run()[0].assert_close(&dims, &expected, 1e-3);
        form.case(DType::BF16, true).run()[0].assert_close(&dims, &expected, 8e-3);
    }
}

#[test]
fn kernels_of_mlx_agree_with_the_definition() {
    testing::open();
    for form in FORMS {
        let native = form.x.len() < 5 || form.groups == 1;
        if !native || form.w[2..].iter().all(|k| *k == 1) {
            continue;
        }
        let axes = form.axes();
        let (x, w) = (data(DType::F32, form.x), data(DType::F32, form.w));
        let (dims, bytes) = on_thread(|thread| {
            let cx = thread.emit(DeviceKind::Cpu)?;
            let x = cx.array_from_bytes(x.dtype, &x.dims, &x.bytes)?;
            let w = cx.array_from_bytes(w.dtype, &w.dims, &w.bytes)?;
            let w = cx.transpose(&w, &channel_last(w.rank()))?;
            let y = with_kernel(cx, &x, &w, &axes, form.groups)?;
            Ok((y.dims(), cx.read_bytes(&y)?))
        })
        .unwrap();
        let found = bytes
            .chunks_exact(4)
            .map(|c| f64::from(f32::from_le_bytes(c.try_into().unwrap())));
        let (expected_dims, expected) = definition(form.x, form.w, form.groups, &axes);
        assert!(
            dims.iter()
                .zip(&expected_dims)
                .all(|(a, b)| i64::try_from(*a).unwrap() == *b)
        );
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn large_inputs_are_unfolded_in_parts() {
    // 256 channels of 3 by 3 windows on 128 by 128 elements are 144 MiB.
    let x = f32s(&[1, 256, 128, 128], &vec![1.0; 256 * 128 * 128]);
    let w = f32s(&[1, 256, 3, 3], &[0.5; 256 * 9]);
    let out = Case::new("Conv", 11).input(x).constant(w).run();
    assert_eq!(out[0].dims(), [1, 1, 126, 126]);
    assert!(out[0].floats().iter().all(|v| *v == 1152.0));
}

#[test]
fn bias_automatic_padding_and_empty_batches() {
    let x = || f32s(&[1, 1, 3], &[1.0, 2.0, 3.0]);
    let w = || f32s(&[2, 1, 2], &[1.0, 10.0, -1.0, 0.0]);
    let case = || Case::new("Conv", 11).input(x()).constant(w());
    let out = case().constant(f32s(&[2], &[0.5, 0.0])).run();
    out[0].assert_close(&[1, 2, 2], &[21.5, 32.5, -1.0, -2.0], 0.0);
    let out = case().string("auto_pad", "SAME_UPPER").run();
    out[0].assert_close(&[1, 2, 3], &[21.0, 32.0, 3.0, -1.0, -2.0, -3.0], 0.0);
    let out = case().string("auto_pad", "SAME_LOWER").run();
    out[0].assert_close(&[1, 2, 3], &[10.0, 21.0, 32.0, 0.0, -1.0, -2.0], 0.0);
    let out = case()
        .string("auto_pad", "VALID")
        .ints("strides", &[2])
        .run();
    out[0].assert_close(&[1, 2, 1], &[21.0, -1.0], 0.0);
    let empty = Case::new("Conv", 11)
        .input(f32s(&[0, 1, 3], &[]))
        .constant(w())
        .run();
    empty[0].assert_close(&[0, 2, 2], &[], 0.0);
}

#[test]
fn what_cannot_work_is_refused() {
    let x = || f32s(&[1, 2, 3], &[0.0; 6]);
    let case = |w: Data| Case::new("Conv", 11).input(x()).input(w);
    let good = || f32s(&[1, 2, 2], &[0.0; 4]);
    let attribute = |name: &str| Reject::Attribute(name.into());
    assert_eq!(case(good()).int("group", 0).reject(), attribute("group"));
    assert_eq!(
        case(good()).ints("pads", &[-1, 0]).reject(),
        attribute("pads")
    );
    assert_eq!(
        case(good()).ints("strides", &[0]).reject(),
        attribute("strides")
    );
    assert_eq!(
        case(good()).string("auto_pad", "SAME").reject(),
        attribute("auto_pad")
    );
    let found = Some(DType::I32);
    let int = Case::new("Conv", 11).input(ints(DType::I32, &[1, 1, 1], &[1]));
    assert_eq!(int.reject(), Reject::Type { input: 0, found });
    let failure = |case: Case| case.try_run().err().expect("it fails").to_string();
    assert!(failure(case(f32s(&[1, 1, 2], &[0.0; 2]))).contains("do not fit 1 groups"));
    assert!(failure(case(f32s(&[1, 2, 4], &[0.0; 8]))).contains("does not fit an axis"));
    assert!(failure(case(good()).ints("kernel_shape", &[3])).contains("kernel_shape"));
    assert!(failure(case(good()).input(f32s(&[2], &[0.0; 2]))).contains("2 values"));
}
