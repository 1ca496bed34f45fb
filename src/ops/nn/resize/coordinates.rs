//! Where the elements of a resized axis come from. Computed on the host in float, as ONNX Runtime does: ties between
//! two elements fall as they do there.

/// How places of the output are mapped to the input (`coordinate_transformation_mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mapping {
    HalfPixel,
    HalfPixelSymmetric,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
    /// Half pixels that are not shifted back, for nearest elements (opset 11 and 12).
    TfHalfPixelForNearest,
    TfCropAndResize,
}

/// How a place between two elements picks one (`nearest_mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rounding {
    PreferFloor,
    PreferCeil,
    Floor,
    Ceil,
}

/// How an element is computed (`mode`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Filter {
    Nearest(Rounding),
    Linear,
    /// With the coefficient `cubic_coeff_a`.
    Cubic(f32),
}

/// Places that are this near to the middle between two elements count as it.
const TIE: f32 = 1e-5;

/// One axis that is resized.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axis {
    pub(super) size: usize,
    pub(super) out: usize,
    pub(super) scale: f32,
    /// The part of the axis that is cropped, as fractions of it.
    pub(super) crop: (f32, f32),
}

/// What is taken for each element of the output: `weights[tap][o]` times the input at `indices[tap][o]`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Taps {
    pub(super) indices: Vec<Vec<usize>>,
    pub(super) weights: Vec<Vec<f32>>,
}

impl Axis {
    #[expect(
        clippy::cast_precision_loss,
        reason = "ONNX Runtime computes places in float"
    )]
    pub(super) fn place(&self, mapping: Mapping, o: usize) -> f32 {
        let (x, size, out) = (o as f32, self.size as f32, self.out as f32);
        let half_pixel = (x + 0.5) / self.scale - 0.5;
        match mapping {
            Mapping::HalfPixel => half_pixel,
            Mapping::HalfPixelSymmetric => {
                let offset = size / 2.0 * (1.0 - out / (self.scale * size));
                offset + half_pixel
            }
            Mapping::PytorchHalfPixel if self.out > 1 => half_pixel,
            Mapping::AlignCorners if self.out > 1 => x * (size - 1.0) / (out - 1.0),
            Mapping::PytorchHalfPixel | Mapping::AlignCorners => 0.0,
            Mapping::Asymmetric => x / self.scale,
            Mapping::TfHalfPixelForNearest => (x + 0.5) / self.scale,
            Mapping::TfCropAndResize => {
                let (start, end) = self.crop;
                if self.out > 1 {
                    start * (size - 1.0) + x * (end - start) * (size - 1.0) / (out - 1.0)
                } else {
                    0.5 * (start + end) * (size - 1.0)
                }
            }
        }
    }

    /// For each element of the output, whether its place lies outside the input.
    #[expect(
        clippy::cast_precision_loss,
        reason = "ONNX Runtime computes places in float"
    )]
    pub(super) fn outside(&self, mapping: Mapping) -> Vec<bool> {
        let last = self.size as f32 - 1.0;
        (0..self.out)
            .map(|o| {
                let place = self.place(mapping, o);
                place < 0.0 || place > last
            })
            .collect()
    }

    pub(super) fn taps(
        &self,
        mapping: Mapping,
        filter: Filter,
        antialias: bool,
        exclude: bool,
    ) -> Taps {
        let shrink = if antialias { self.scale.min(1.0) } else { 1.0 };
        let per_element: Vec<Vec<(i64, f32)>> = (0..self.out)
            .map(|o| {
                let place = self.place(mapping, o);
                match filter {
                    Filter::Nearest(rounding) => vec![(round(place, rounding), 1.0)],
                    Filter::Linear => self.spread(place, 1.0, shrink, exclude && antialias, |d| {
                        (1.0 - d).max(0.0)
                    }),
                    Filter::Cubic(a) => self.spread(place, 2.0, shrink, exclude, |d| cubic(d, a)),
                }
            })
            .collect();
        let count = per_element.first().map_or(0, Vec::len);
        let tap = |t: usize| per_element.iter().map(move |e| e[t]);
        Taps {
            indices: (0..count)
                .map(|t| tap(t).map(|(i, _)| self.clamped(i)).collect())
                .collect(),
            weights: (0..count)
                .map(|t| tap(t).map(|(_, w)| w).collect())
                .collect(),
        }
    }

    /// The elements around a place under a filter of this radius, which `shrink` widens; the weights add up to 1.
    fn spread(
        &self,
        place: f32,
        radius: f32,
        shrink: f32,
        exclude: bool,
        weight: impl Fn(f32) -> f32,
    ) -> Vec<(i64, f32)> {
        let before = whole((radius / shrink).ceil()) - 1;
        let center = whole(place.floor());
        let weigh = |offset: i64| {
            let index = center + offset;
            let inside = usize::try_from(index).is_ok_and(|i| i < self.size);
            #[expect(clippy::cast_precision_loss, reason = "offsets are small")]
            let distance = (offset as f32 - (place - place.floor())).abs() * shrink;
            (
                index,
                if inside || !exclude {
                    weight(distance)
                } else {
                    0.0
                },
            )
        };
        let mut taps: Vec<_> = (-before..=before + 1).map(weigh).collect();
        let total: f32 = taps.iter().map(|(_, w)| w).sum();
        if total != 0.0 {
            for (_, weight) in &mut taps {
                *weight /= total;
            }
        }
        taps
    }

    fn clamped(&self, index: i64) -> usize {
        usize::try_from(index)
            .unwrap_or(0)
            .min(self.size.saturating_sub(1))
    }
}

fn round(place: f32, rounding: Rounding) -> i64 {
    whole(match rounding {
        Rounding::PreferFloor => (place - 0.5 - TIE).ceil(),
        Rounding::PreferCeil => (place + 0.5 + TIE).floor(),
        Rounding::Floor => place.floor(),
        Rounding::Ceil => place.ceil(),
    })
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "`as` saturates, and the value is clamped to the axis"
)]
fn whole(v: f32) -> i64 {
    v as i64
}

fn cubic(distance: f32, a: f32) -> f32 {
    let d = distance;
    if d <= 1.0 {
        ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
    } else if d < 2.0 {
        ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest(
        size: usize,
        out: usize,
        scale: f32,
        mapping: Mapping,
        rounding: Rounding,
    ) -> Vec<usize> {
        let axis = Axis {
            size,
            out,
            scale,
            crop: (0.0, 1.0),
        };
        axis.taps(mapping, Filter::Nearest(rounding), false, false)
            .indices
            .remove(0)
    }

    #[test]
    fn ties_round_as_the_mode_says() {
        let of = |m, r| nearest(20, 6, 6.0 / 20.0, m, r);
        assert_eq!(
            of(Mapping::HalfPixel, Rounding::PreferCeil),
            [1, 5, 8, 11, 15, 18]
        );
        assert_eq!(
            of(Mapping::PytorchHalfPixel, Rounding::PreferCeil),
            [1, 5, 8, 11, 15, 18]
        );
        assert_eq!(
            of(Mapping::HalfPixel, Rounding::PreferFloor),
            [1, 4, 8, 11, 14, 18]
        );
        assert_eq!(
            nearest(7, 2, 2.0 / 7.0, Mapping::Asymmetric, Rounding::PreferCeil),
            [0, 4]
        );
        assert_eq!(
            nearest(7, 2, 2.0 / 7.0, Mapping::Asymmetric, Rounding::Floor),
            [0, 3]
        );
        assert_eq!(
            nearest(7, 2, 2.0 / 7.0, Mapping::Asymmetric, Rounding::Ceil),
            [0, 4]
        );
        assert_eq!(
            nearest(3, 1, 1.0 / 3.0, Mapping::AlignCorners, Rounding::Floor),
            [0]
        );
        assert_eq!(
            nearest(2, 4, 2.0, Mapping::TfHalfPixelForNearest, Rounding::Floor),
            [0, 0, 1, 1]
        );
    }

    #[test]
    fn weights_add_up_to_one() {
        let axis = Axis {
            size: 8,
            out: 3,
            scale: 0.4,
            crop: (0.0, 1.0),
        };
        for filter in [Filter::Linear, Filter::Cubic(-0.75)] {
            for (antialias, exclude) in [(false, false), (true, false), (true, true), (false, true)]
            {
                let taps = axis.taps(Mapping::HalfPixel, filter, antialias, exclude);
                for o in 0..3 {
                    let total: f32 = taps.weights.iter().map(|w| w[o]).sum();
                    assert!((total - 1.0).abs() < 1e-6);
                }
                assert!(taps.indices.iter().flatten().all(|i| *i < 8));
            }
        }
    }
}
