//! Windows on the simulator: pooling, depth-wise convolution, interpolation, and convolution as a
//! product over gathered panels; against plain loops, cycles predicted = simulated.

mod support;

use ipucc_chip::ScalarType::{self, F16, F32};
use ipucc_tile::kernel::{
    Copy, CopyDim, Dot, Kernel, Lerp, LerpPoint, Window, WindowDim, WindowKind,
};
use smallvec::smallvec;
use support::{Bench, Random, bound, close, lhs, padded, rhs, unit_of};

/// An image of `height` x `width` pixels of `channels`, windows of `taps` x `across`.
#[derive(Clone, Copy, Debug)]
struct Shape {
    height: u32,
    width: u32,
    channels: u32,
    taps: u32,
    across: u32,
    stride: u32,
    dilation: u32,
}

impl Shape {
    fn pitch(&self, element: ScalarType) -> u32 {
        self.channels.next_multiple_of(8 / element.bytes())
    }

    fn result(&self) -> (u32, u32) {
        let extent =
            |image: u32, taps: u32| (image - (taps - 1) * self.dilation - 1) / self.stride + 1;
        (
            extent(self.height, self.taps),
            extent(self.width, self.across),
        )
    }

    fn window(&self, kind: WindowKind, element: ScalarType) -> Window {
        let pitch = self.pitch(element);
        let (rows, columns) = self.result();
        let dim = |count: u32, input: u32, output: u32| WindowDim {
            count,
            input,
            output,
        };
        let (row, d) = (self.width * pitch, self.dilation);
        Window {
            kind,
            positions: smallvec![
                dim(rows, self.stride * row, columns * pitch),
                dim(columns, self.stride * pitch, pitch),
            ],
            taps: smallvec![dim(self.taps, d * row, 0), dim(self.across, d * pitch, 0)],
            channels: self.channels,
            element,
        }
    }
}

fn shapes() -> Vec<Shape> {
    let mut random = Random(71);
    let mut below = |n: u64| 1 + (random.next() % n) as u32;
    (0..55)
        .map(|_| {
            let (taps, across, dilation) = (below(4), below(4), below(2));
            Shape {
                height: (taps - 1) * dilation + below(8),
                width: (across - 1) * dilation + below(8),
                channels: below(20),
                taps,
                across,
                stride: below(3),
                dilation,
            }
        })
        .collect()
}

#[test]
fn windows() {
    for element in [F32, F16] {
        for shape in shapes() {
            let taps = shape.taps * shape.across;
            let kinds = [
                WindowKind::Conv,
                WindowKind::Max,
                WindowKind::Sum((1.0 / taps as f32).to_bits()),
            ];
            for kind in kinds {
                let seed = u64::from(shape.height * 1000 + shape.width * 10 + shape.channels);
                let mut random = Random(seed);
                let c = shape.channels;
                let pixels = shape.height * shape.width;
                let x = random.values(pixels * c, element, 2.0);
                let w = random.values(taps * c, element, 1.0);
                let pitch = shape.pitch(element);
                let (rows, columns) = shape.result();
                let mut bench = Bench::new();
                let mut operands = vec![bench.input("x", element, &[pixels, c], padded(pitch), &x)];
                if kind == WindowKind::Conv {
                    operands.push(bench.input("w", element, &[taps, c], padded(pitch), &w));
                }
                operands.push(bench.output(element, &[rows * columns, c], padded(pitch)));
                bench.call(Kernel::Window(shape.window(kind, element)), &operands);
                let found = bench.run().values;
                for at in 0..rows * columns * c {
                    let (row, column) = (at / c / columns, at / c % columns);
                    let channel = at % c;
                    let values = (0..taps).map(|t| {
                        let (i, j) = (t / shape.across, t % shape.across);
                        let y = row * shape.stride + i * shape.dilation;
                        let z = column * shape.stride + j * shape.dilation;
                        let value = x[((y * shape.width + z) * c + channel) as usize];
                        match kind {
                            WindowKind::Conv => value * w[(t * c + channel) as usize],
                            WindowKind::Sum(_) => value / f64::from(taps),
                            WindowKind::Max => value,
                        }
                    });
                    let r = values.clone().map(|v| v * v).sum::<f64>().sqrt();
                    let (wanted, limit) = if kind == WindowKind::Max {
                        (values.fold(f64::MIN, f64::max), 0.0)
                    } else {
                        let sum: f64 = values.sum();
                        let limit = bound(f64::from(2 * taps), unit_of(F32), r)
                            + bound(1.0, unit_of(element), sum.abs())
                            + if element == F16 { 2f64.powi(-25) } else { 0.0 };
                        (sum, limit)
                    };
                    let what = format!("{element} {kind:?} {shape:?} ({row}, {column}, {channel})");
                    close(found[at as usize], wanted, limit, &what);
                }
            }
        }
    }
}

#[test]
fn interpolation() {
    for element in [F32, F16] {
        let mut random = Random(72);
        let mut below = |n: u64| 1 + (random.next() % n) as u32;
        for _ in 0..55 {
            let (outer, axis, inner, count) = (below(4), below(12), below(30), below(20));
            let pitch = inner.next_multiple_of(8 / element.bytes());
            let scale = count as f32 / axis as f32;
            let points: Vec<LerpPoint> = (0..count)
                .map(|i| {
                    let at = ((i as f32 + 0.5) / scale - 0.5).clamp(0.0, (axis - 1) as f32);
                    let low = at.floor();
                    LerpPoint {
                        low: low as u32,
                        high: (low as u32 + 1).min(axis - 1),
                        t: (at - low).to_bits(),
                    }
                })
                .collect();
            let x = Random(u64::from(inner)).values(outer * axis * inner, element, 2.0);
            let mut bench = Bench::new();
            let vx = bench.input("x", element, &[outer * axis, inner], padded(pitch), &x);
            let vy = bench.output(element, &[outer * count, inner], padded(pitch));
            let lerp = Lerp {
                outer,
                axis,
                inner,
                pitch,
                points: points.clone(),
                element,
            };
            bench.call(Kernel::Lerp(lerp), &[vx, vy]);
            let found = bench.run().values;
            for at in 0..outer * count * inner {
                let (o, p, i) = (at / inner / count, at / inner % count, at % inner);
                let point = points[p as usize];
                let t = f64::from(f32::from_bits(point.t));
                let value = |a: u32| x[((o * axis + a) * inner + i) as usize];
                let (a, b) = ((1.0 - t) * value(point.low), t * value(point.high));
                let limit = bound(3.0, unit_of(F32), a.hypot(b))
                    + bound(1.0, unit_of(element), (a + b).abs())
                    + if element == F16 { 2f64.powi(-25) } else { 0.0 };
                let what = format!("{element} {outer}x{axis}x{inner} to {count} [{at}]");
                close(found[at as usize], a + b, limit, &what);
            }
        }
    }
}

#[test]
fn convolution_over_gathered_panels() {
    // Small integers: every partial sum is exact.
    for element in [F32, F16] {
        let panel = Dot::input_panel(element);
        for mut shape in shapes() {
            shape.channels = panel * (1 + shape.channels % 2);
            let (rows, columns) = shape.result();
            let (taps, c) = (shape.taps * shape.across, shape.channels);
            let (m, n, k) = (rows * columns, 1 + shape.width, taps * c);
            let mut random = Random(u64::from(m * k));
            let x = random.integers(shape.height * shape.width * c, 2);
            let w = random.integers(k * n, 2);
            let mut bench = Bench::new();
            let pixels = shape.height * shape.width;
            let vx = bench.input("x", element, &[pixels, c], padded(1), &x);
            let vw = bench.input("w", element, &[k, n], rhs(panel), &w);
            let gathered = bench.scratch(element, m * k);
            let vy = bench.output(element, &[m, n], lhs(16));
            let bytes = element.bytes();
            let dim = |count: u32, source: u32, destination: u32| CopyDim {
                count,
                source_bytes: (source * bytes) as i32,
                destination_bytes: (destination * bytes) as i32,
            };
            let (row, d, s) = (shape.width * c, shape.dilation, shape.stride);
            let copy = Copy {
                source_offset: 0,
                destination_offset: 0,
                bytes: panel * bytes,
                dims: smallvec![
                    dim(shape.taps, d * row, shape.across * c / panel * m * panel),
                    dim(shape.across, d * c, c / panel * m * panel),
                    dim(c / panel, panel, m * panel),
                    dim(rows, s * row, columns * panel),
                    dim(columns, s * c, panel),
                ],
            };
            bench.call(Kernel::Copy(copy), &[vx, gathered]);
            let dot = Dot {
                m,
                n,
                k,
                input: element,
                partials: element,
                accumulate: false,
                scale: 0,
            };
            bench.call(Kernel::Dot(dot), &[gathered, vw, vy]);
            let found = bench.run().values;
            for at in 0..m * n {
                let (p, j) = (at / n, at % n);
                let (y, z) = (p / columns * s, p % columns * s);
                let sum: f64 = (0..k)
                    .map(|l| {
                        let (t, channel) = (l / c, l % c);
                        let (y, z) = (y + t / shape.across * d, z + t % shape.across * d);
                        x[((y * shape.width + z) * c + channel) as usize] * w[(l * n + j) as usize]
                    })
                    .sum();
                assert_eq!(found[at as usize], sum, "{element} {shape:?} [{at}]");
            }
        }
    }
}
