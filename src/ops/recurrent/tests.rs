//! Recurrent layers against the equations of their definitions, written out in float64 for one sequence at a time.
use crate::device::DType::{self, F16, F32, I32};
use crate::error::Error;
use crate::ops::Reject;
use crate::ops::ir::Attribute;
use crate::ops::testing::{Case, Data, floats, ints};

const LENGTH: usize = 4;
const BATCH: usize = 3;
const FEATURES: usize = 2;
const HIDDEN: usize = 3;

/// Numbers that differ from each other, between -1 and 1, exact in float16.
fn numbers(count: usize, seed: usize) -> Vec<f64> {
    let number = |i: usize| ((i * 37 + seed * 101) % 61) as f64 / 32.0 - 0.9375;
    (0..count).map(number).collect()
}

/// The forms that a test combines.
#[derive(Clone)]
struct Form {
    op: &'static str,
    directions: Vec<bool>,
    batch_first: bool,
    bias: bool,
    lengths: Option<[i64; BATCH]>,
    states: bool,
    peepholes: bool,
    coupled: bool,
    linear_first: bool,
    clip: Option<f64>,
    activations: Option<(Vec<&'static str>, Vec<f32>)>,
    dtype: DType,
}

impl Form {
    fn plain(op: &'static str) -> Self {
        Self {
            op,
            directions: vec![false],
            batch_first: false,
            bias: false,
            lengths: None,
            states: false,
            peepholes: false,
            coupled: false,
            linear_first: false,
            clip: None,
            activations: None,
            dtype: F32,
        }
    }

    fn gates(&self) -> usize {
        match self.op {
            "LSTM" => 4,
            "GRU" => 3,
            _ => 1,
        }
    }

    fn w(&self) -> Vec<f64> {
        numbers(self.directions.len() * self.gates() * HIDDEN * FEATURES, 1)
    }

    fn r(&self) -> Vec<f64> {
        numbers(self.directions.len() * self.gates() * HIDDEN * HIDDEN, 2)
    }

    fn b(&self) -> Vec<f64> {
        let count = self.directions.len() * 2 * self.gates() * HIDDEN;
        if self.bias {
            numbers(count, 3)
        } else {
            vec![0.0; count]
        }
    }

    fn initial(&self, seed: usize) -> Vec<f64> {
        let count = self.directions.len() * BATCH * HIDDEN;
        if self.states {
            numbers(count, seed)
        } else {
            vec![0.0; count]
        }
    }

    fn p(&self) -> Vec<f64> {
        let count = self.directions.len() * 3 * HIDDEN;
        if self.peepholes {
            numbers(count, 6)
        } else {
            vec![0.0; count]
        }
    }

    fn case(&self) -> Case {
        let (d, h) = (self.directions.len(), HIDDEN);
        let rows = self.gates() * h;
        let data = |dims: &[usize], values: &[f64]| floats(self.dtype, dims, values);
        // [outer, inner, ..] exchanged to [inner, outer, ..] where the batch comes first.
        let placed = |outer: usize, inner: usize, rest: usize, values: &[f64]| -> Data {
            if !self.batch_first {
                return data(&[outer, inner, rest], values);
            }
            let at = |i: usize, o: usize| &values[(o * inner + i) * rest..][..rest];
            let pairs = (0..inner).flat_map(|i| (0..outer).map(move |o| (i, o)));
            let moved: Vec<f64> = pairs.flat_map(|(i, o)| at(i, o).to_vec()).collect();
            data(&[inner, outer, rest], &moved)
        };
        let optional = |case: Case, given: bool, data: Data| {
            if given {
                case.input(data)
            } else {
                case.omitted()
            }
        };
        let mut case = Case::new(self.op, 14)
            .input(placed(
                LENGTH,
                BATCH,
                FEATURES,
                &numbers(LENGTH * BATCH * FEATURES, 0),
            ))
            .constant(data(&[d, rows, FEATURES], &self.w()))
            .constant(data(&[d, rows, h], &self.r()));
        case = optional(case, self.bias, data(&[d, 2 * rows], &self.b()));
        let lengths = ints(I32, &[BATCH], &self.lengths.unwrap_or_default());
        case = optional(case, self.lengths.is_some(), lengths);
        case = optional(case, self.states, placed(d, BATCH, h, &self.initial(4)));
        if self.op == "LSTM" {
            case = optional(case, self.states, placed(d, BATCH, h, &self.initial(5)));
            case = optional(case, self.peepholes, data(&[d, 3 * h], &self.p()));
            case = case.int("input_forget", self.coupled.into());
        }
        if self.op == "GRU" {
            case = case.int("linear_before_reset", self.linear_first.into());
        }
        if let Some(clip) = self.clip {
            #[expect(clippy::cast_possible_truncation, reason = "a small number")]
            let clip = clip as f32;
            case = case.float("clip", clip);
        }
        if let Some((names, alphas)) = &self.activations {
            let names = names.iter().map(|n| n.as_bytes().to_vec()).collect();
            case = case
                .attr("activations", Attribute::Strings(names))
                .attr("activation_alpha", Attribute::Floats(alphas.clone()));
        }
        let direction = match self.directions[..] {
            [false] => "forward",
            [true] => "reverse",
            _ => "bidirectional",
        };
        case.string("direction", direction)
            .int("layout", self.batch_first.into())
            .int("hidden_size", i64::try_from(h).unwrap())
            .outputs(if self.op == "LSTM" { 3 } else { 2 })
    }

    /// Y `[time, direction, batch, hidden]`, then the last states `[direction, batch, hidden]`.
    fn expected(&self) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let x = numbers(LENGTH * BATCH * FEATURES, 0);
        let d = self.directions.len();
        let mut y = vec![0.0; LENGTH * d * BATCH * HIDDEN];
        let (mut hs, mut cs) = (self.initial(4), self.initial(5));
        for (direction, backwards) in self.directions.iter().enumerate() {
            for row in 0..BATCH {
                let length = self
                    .lengths
                    .map_or(LENGTH, |l| usize::try_from(l[row]).unwrap());
                let state = (direction * BATCH + row) * HIDDEN;
                for step in 0..length {
                    let time = if *backwards { length - 1 - step } else { step };
                    let input = &x[(time * BATCH + row) * FEATURES..][..FEATURES];
                    let h: Vec<f64> = hs[state..][..HIDDEN].to_vec();
                    let c: Vec<f64> = cs[state..][..HIDDEN].to_vec();
                    let (h, c) = self.step(direction, input, &h, &c);
                    hs[state..][..HIDDEN].copy_from_slice(&h);
                    cs[state..][..HIDDEN].copy_from_slice(&c);
                    y[((time * d + direction) * BATCH + row) * HIDDEN..][..HIDDEN]
                        .copy_from_slice(&h);
                }
            }
        }
        (y, hs, cs)
    }

    fn activate(&self, direction: usize, which: usize, v: f64) -> f64 {
        let v = self.clip.map_or(v, |clip| v.clamp(-clip, clip));
        let sigmoid = |v: f64| 1.0 / (1.0 + (-v).exp());
        match &self.activations {
            None if which == 0 && self.op != "RNN" => sigmoid(v),
            None => v.tanh(),
            Some((names, alphas)) => {
                let each = names.len() / self.directions.len();
                let index = direction * each + which;
                // The functions of these tests that take an alpha.
                let takes = |n: &&&str| matches!(**n, "LeakyRelu" | "Elu" | "HardSigmoid");
                let alpha = names[..index].iter().filter(takes).count();
                let alpha = alphas.get(alpha).copied().map(f64::from);
                match names[index] {
                    "Relu" => v.max(0.0),
                    "Sigmoid" => sigmoid(v),
                    "Softsign" => v / (1.0 + v.abs()),
                    "HardSigmoid" => (alpha.unwrap_or(0.2) * v + 0.5).clamp(0.0, 1.0),
                    "LeakyRelu" if v < 0.0 => alpha.unwrap_or(0.01) * v,
                    "Elu" if v < 0.0 => alpha.unwrap_or(1.0) * v.exp_m1(),
                    "LeakyRelu" | "Elu" => v,
                    other => panic!("{other}"),
                }
            }
        }
    }

    fn step(&self, direction: usize, x: &[f64], h: &[f64], c: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (w, r, b, p) = (self.w(), self.r(), self.b(), self.p());
        let rows = self.gates() * HIDDEN;
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let row = |gate: usize, unit: usize| direction * rows + gate * HIDDEN + unit;
        let bias = |gate: usize, unit: usize| direction * 2 * rows + gate * HIDDEN + unit;
        let from_x = |g, u| dot(&w[row(g, u) * FEATURES..][..FEATURES], x) + b[bias(g, u)];
        let from_h =
            |g, u, h: &[f64]| dot(&r[row(g, u) * HIDDEN..][..HIDDEN], h) + b[bias(g, u) + rows];
        let peephole = |which: usize, u: usize| p[direction * 3 * HIDDEN + which * HIDDEN + u];
        let units = 0..HIDDEN;
        let f = |which, v| self.activate(direction, which, v);
        match self.op {
            "RNN" => (
                units
                    .map(|u| f(0, from_x(0, u) + from_h(0, u, h)))
                    .collect(),
                c.to_vec(),
            ),
            "GRU" => {
                let reset: Vec<_> = units
                    .clone()
                    .map(|u| f(0, from_x(1, u) + from_h(1, u, h)))
                    .collect();
                let scaled: Vec<_> = h.iter().zip(&reset).map(|(h, r)| h * r).collect();
                let unit = |u: usize| {
                    let z = f(0, from_x(0, u) + from_h(0, u, h));
                    let inner = if self.linear_first {
                        reset[u] * from_h(2, u, h)
                    } else {
                        from_h(2, u, &scaled)
                    };
                    (1.0 - z) * f(1, from_x(2, u) + inner) + z * h[u]
                };
                (units.map(unit).collect(), c.to_vec())
            }
            _ => units
                .map(|u| {
                    let gate = |g: usize| from_x(g, u) + from_h(g, u, h);
                    let i = f(0, gate(0) + peephole(0, u) * c[u]);
                    let forget = if self.coupled {
                        1.0 - i
                    } else {
                        f(0, gate(2) + peephole(2, u) * c[u])
                    };
                    let cell = forget * c[u] + i * f(1, gate(3));
                    let o = f(0, gate(1) + peephole(1, u) * cell);
                    (o * f(2, cell), cell)
                })
                .unzip(),
        }
    }

    #[track_caller]
    fn check(&self) {
        let out = self.case().run();
        let (y, h, c) = self.expected();
        let (d, dims) = (self.directions.len(), |v: usize| i64::try_from(v).unwrap());
        let tolerance = if self.dtype == F16 { 2e-3 } else { 2e-6 };
        let (l, b, n) = (dims(LENGTH), dims(BATCH), dims(HIDDEN));
        let states = if self.op == "LSTM" {
            vec![h, c]
        } else {
            vec![h]
        };
        if !self.batch_first {
            out[0].assert_close(&[l, dims(d), b, n], &y, tolerance);
            for (out, state) in out[1..].iter().zip(&states) {
                out.assert_close(&[dims(d), b, n], state, tolerance);
            }
            return;
        }
        let at = |t: usize, k: usize, r: usize| {
            y[((t * d + k) * BATCH + r) * HIDDEN..][..HIDDEN].to_vec()
        };
        let order =
            (0..BATCH).flat_map(|r| (0..LENGTH).flat_map(move |t| (0..d).map(move |k| (t, k, r))));
        let moved: Vec<f64> = order.flat_map(|(t, k, r)| at(t, k, r)).collect();
        out[0].assert_close(&[b, l, dims(d), n], &moved, tolerance);
        for (out, state) in out[1..].iter().zip(&states) {
            let order = (0..BATCH).flat_map(|r| (0..d).map(move |k| (k, r)));
            let moved: Vec<f64> = order
                .flat_map(|(k, r)| state[(k * BATCH + r) * HIDDEN..][..HIDDEN].to_vec())
                .collect();
            out.assert_close(&[b, dims(d), n], &moved, tolerance);
        }
    }
}

const OPS: [&str; 3] = ["LSTM", "GRU", "RNN"];

#[test]
fn one_attribute_at_a_time() {
    for op in OPS {
        let plain = Form::plain(op);
        plain.check();
        Form {
            bias: true,
            ..plain.clone()
        }
        .check();
        Form {
            states: true,
            ..plain.clone()
        }
        .check();
        Form {
            batch_first: true,
            ..plain.clone()
        }
        .check();
        Form {
            directions: vec![true],
            ..plain.clone()
        }
        .check();
        Form {
            directions: vec![false, true],
            ..plain.clone()
        }
        .check();
        Form {
            lengths: Some([2, 4, 0]),
            ..plain.clone()
        }
        .check();
        Form {
            clip: Some(0.25),
            ..plain.clone()
        }
        .check();
        Form {
            dtype: F16,
            ..plain.clone()
        }
        .check();
    }
    Form {
        peepholes: true,
        ..Form::plain("LSTM")
    }
    .check();
    Form {
        coupled: true,
        ..Form::plain("LSTM")
    }
    .check();
    Form {
        linear_first: true,
        bias: true,
        ..Form::plain("GRU")
    }
    .check();
}

#[test]
fn all_attributes_together() {
    for op in OPS {
        for batch_first in [false, true] {
            Form {
                directions: vec![false, true],
                batch_first,
                bias: true,
                lengths: Some([1, 4, 3]),
                states: true,
                peepholes: true,
                coupled: batch_first,
                linear_first: batch_first,
                clip: Some(0.75),
                ..Form::plain(op)
            }
            .check();
        }
    }
}

#[test]
fn activations_are_listed_by_direction_and_take_their_parameters_in_order() {
    let both = vec![false, true];
    let form = |op, names: &[&'static str], alphas: &[f32]| Form {
        directions: both.clone(),
        states: true,
        activations: Some((names.to_vec(), alphas.to_vec())),
        ..Form::plain(op)
    };
    form("RNN", &["LeakyRelu", "Elu"], &[0.5, 0.25]).check();
    form(
        "GRU",
        &["Sigmoid", "LeakyRelu", "HardSigmoid", "Elu"],
        &[0.5],
    )
    .check();
    form(
        "LSTM",
        &[
            "Sigmoid",
            "Relu",
            "Softsign",
            "HardSigmoid",
            "LeakyRelu",
            "Elu",
        ],
        &[0.25, 0.125, 0.5],
    )
    .check();
}

#[test]
fn sequences_longer_than_the_evaluation_step() {
    let steps = super::EVALUATE_EVERY * 2 + 3;
    let out = Case::new("RNN", 14)
        .input(floats(F32, &[steps, 1, 1], &vec![1.0; steps]))
        .input(floats(F32, &[1, 1, 1], &[1.0]))
        .input(floats(F32, &[1, 1, 1], &[1.0]))
        .attr("activations", Attribute::Strings(vec![b"Affine".to_vec()]))
        .attr("activation_alpha", Attribute::Floats(vec![1.0]))
        .outputs(2)
        .run();
    out[1].assert_close(&[1, 1, 1], &[steps as f64], 0.0);
    assert_eq!(out[0].floats()[steps - 2], (steps - 1) as f64);
}

#[test]
fn empty_sequences_keep_the_state() {
    let case = |length, batch| {
        Case::new("GRU", 14)
            .input(floats(F32, &[length, batch, 1], &vec![0.5; length * batch]))
            .input(floats(F32, &[1, 3, 1], &[1.0; 3]))
            .input(floats(F32, &[1, 3, 1], &[1.0; 3]))
            .omitted()
            .omitted()
            .input(floats(F32, &[1, batch, 1], &vec![0.75; batch]))
            .outputs(2)
            .run()
    };
    let out = case(0, 2);
    assert_eq!(out[0].dims(), [0, 1, 2, 1]);
    out[1].assert_close(&[1, 2, 1], &[0.75, 0.75], 0.0);
    let out = case(2, 0);
    assert_eq!(out[0].dims(), [2, 1, 0, 1]);
    assert_eq!(out[1].dims(), [1, 0, 1]);
}

#[test]
fn what_does_not_fit_is_an_error_that_names_it() {
    let text = |case: Case| {
        let error = case.try_run().err().unwrap();
        assert!(matches!(error.root(), Error::InvalidArgument(_)), "{error}");
        error.to_string()
    };
    let form = Form {
        lengths: Some([5, 1, 1]),
        ..Form::plain("RNN")
    };
    assert!(text(form.case()).contains("sequence_lens has 5"));
    let case = Case::new("RNN", 14)
        .input(floats(F32, &[1, 1, 2], &[0.0; 2]))
        .input(floats(F32, &[1, 3, 1], &[0.0; 3]))
        .input(floats(F32, &[1, 3, 3], &[0.0; 9]));
    assert!(text(case).contains("W has shape [1, 3, 1], [1, 3, 2] is needed"));
}

#[test]
fn unknown_attributes_are_refused() {
    let with = |name: &str, value: Attribute| Form::plain("LSTM").case().attr(name, value).reject();
    assert_eq!(
        with("other", Attribute::Int(1)),
        Reject::Attribute("other".into())
    );
    let names = Attribute::Strings(vec![b"Sin".to_vec(); 3]);
    assert_eq!(
        with("activations", names),
        Reject::Attribute("activations".into())
    );
}
