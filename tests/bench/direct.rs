//! The calls of mlx-c that one addition needs, made without an execution provider on a thread that does nothing else.
use crate::ffi::load;
use crate::ffi::mlx::Mlx;
use crate::ffi::mlx::types::{mlx_array, mlx_dtype, mlx_stream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// How often, and how long to sleep before each time.
type Order = (usize, Option<Duration>);

/// The thread, and what it was told to do.
pub(crate) struct Direct {
    orders: Sender<Order>,
    times: Receiver<Vec<Duration>>,
}

impl Direct {
    /// `libmlxc` is the file that the execution provider uses as well.
    pub(crate) fn new(libmlxc: Option<&Path>, length: usize) -> Self {
        let mlx = load::load(libmlxc, false).unwrap_or_else(|error| panic!("{error}"));
        let (orders, next) = channel::<Order>();
        let (report, times) = channel();
        std::thread::spawn(move || {
            let mut addition = Addition::new(&mlx, length);
            while let Ok((count, gap)) = next.recv() {
                let time = |_| {
                    if let Some(gap) = gap {
                        std::thread::sleep(gap);
                    }
                    let start = Instant::now();
                    addition.run();
                    start.elapsed()
                };
                let measured = (0..count).map(time).collect();
                if report.send(measured).is_err() {
                    break;
                }
            }
        });
        Self { orders, times }
    }

    /// The time of each of `count` additions, one after another.
    pub(crate) fn times(&self, count: usize, gap: Option<Duration>) -> Vec<Duration> {
        self.orders.send((count, gap)).unwrap();
        self.times.recv().unwrap()
    }
}

struct Addition<'m> {
    mlx: &'m Mlx,
    stream: mlx_stream,
    a: Vec<f32>,
    b: Vec<f32>,
    y: Vec<f32>,
}

impl<'m> Addition<'m> {
    fn new(mlx: &'m Mlx, length: usize) -> Self {
        Self {
            mlx,
            stream: unsafe { mlx.mlx_default_cpu_stream_new() },
            a: vec![1.0; length],
            b: vec![2.0; length],
            y: vec![0.0; length],
        }
    }

    fn array(&self, data: &[f32]) -> mlx_array {
        let shape = [i32::try_from(data.len()).unwrap()];
        unsafe {
            self.mlx.mlx_array_new_data(
                data.as_ptr().cast(),
                shape.as_ptr(),
                1,
                mlx_dtype::MLX_FLOAT32,
            )
        }
    }

    fn run(&mut self) {
        let mlx = self.mlx;
        let (a, b) = (self.array(&self.a), self.array(&self.b));
        let mut y = mlx_array::EMPTY;
        unsafe {
            assert_eq!(mlx.mlx_add(&raw mut y, a, b, self.stream), 0);
            let outputs = mlx.mlx_vector_array_new_data(&raw const y, 1);
            assert_eq!(mlx.mlx_eval(outputs), 0);
            mlx.mlx_vector_array_free(outputs);
            let result = mlx.mlx_array_data_float32(y);
            std::ptr::copy_nonoverlapping(result, self.y.as_mut_ptr(), self.y.len());
            for array in [a, b, y] {
                mlx.mlx_array_free(array);
            }
        }
        assert_eq!(self.y[0], 3.0);
    }
}
