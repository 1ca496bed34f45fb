//! What a Run costs more than the calls of mlx-c that it makes: one addition of four numbers, through ONNX Runtime and
//! the execution provider, against the same calls made directly.
//!
//! ```sh
//! export ONNXRUNTIME_EP_MLX_LIBMLXC=$(scripts/fetch-mlx-c.sh)
//! ORT_FOLDER=$(scripts/fetch-ort.sh 1.32.0) cargo bench --bench run_overhead
//! ```
//!
//! Both sides alternate in short blocks: within a block the MLX thread is as warm as in an application that does nothing
//! else. The difference of the medians of two neighbouring blocks is one observation; the median of those is a round's
//! result, and the quietest round, in which both sides together were fastest, counts. Nothing is asserted: the numbers belong to the machine and to what else it does.
#![allow(
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    reason = "this is the foreign side: each pointer that it passes was made a few lines above"
)]
#![allow(
    clippy::print_stdout,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::cast_possible_truncation,
    reason = "a program that measures prints, and ends where it cannot"
)]
mod direct;
#[allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "declarations are written whole, the bench uses a part"
)]
#[path = "../../src/ffi/mod.rs"]
mod ffi;
mod host;
mod model;

use criterion::Criterion;
use direct::Direct;
use host::{Host, Provider};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Numbers in a vector.
const LENGTH: usize = 4;
const ROUNDS: usize = 5;
/// Neighbouring blocks in a round.
const PAIRS: usize = 40;
/// Runs in a block; the first are not counted, while the threads wake up.
const BLOCK: usize = 40;
const UNCOUNTED: usize = 10;
/// Long enough for every thread and core to fall asleep.
const IDLE: Duration = Duration::from_micros(500);

#[expect(
    clippy::disallowed_methods,
    reason = "the bench is told by the environment what to measure"
)]
fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}

/// The library that cargo built beside this program.
fn library() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let folder = program.parent().and_then(|deps| deps.parent()).unwrap();
    let suffix = if cfg!(target_os = "macos") {
        "dylib"
    } else {
        "so"
    };
    folder.join(format!("libonnxruntime_mlx_ep.{suffix}"))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

fn microseconds(times: &[Duration]) -> f64 {
    median(times.iter().map(|time| time.as_secs_f64() * 1e6).collect())
}

fn times(count: usize, gap: Option<Duration>, mut body: impl FnMut()) -> Vec<Duration> {
    let time = |_| {
        if let Some(gap) = gap {
            std::thread::sleep(gap);
        }
        let start = Instant::now();
        body();
        start.elapsed()
    };
    (0..count).map(time).collect()
}

/// Medians of a round, in microseconds.
struct Round {
    mlx: f64,
    direct: f64,
    cpu: f64,
    overhead: f64,
}

fn round(
    gap: Option<Duration>,
    mut mlx: impl FnMut(),
    mut cpu: impl FnMut(),
    direct: &Direct,
) -> Round {
    let counted = |times: Vec<Duration>| microseconds(&times[UNCOUNTED..]);
    let (mut of_mlx, mut of_direct, mut of_cpu) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        of_mlx.push(counted(times(BLOCK, gap, &mut mlx)));
        of_direct.push(counted(direct.times(BLOCK, gap)));
        of_cpu.push(counted(times(BLOCK, gap, &mut cpu)));
    }
    let differences = of_mlx.iter().zip(&of_direct).map(|(a, b)| a - b).collect();
    Round {
        overhead: median(differences),
        mlx: median(of_mlx),
        direct: median(of_direct),
        cpu: median(of_cpu),
    }
}

fn main() {
    let Some(folder) = variable("ORT_FOLDER") else {
        println!("set ORT_FOLDER to what scripts/fetch-ort.sh prints");
        return;
    };
    let libmlxc = variable("ONNXRUNTIME_EP_MLX_LIBMLXC");
    let host = Host::new(&folder, &library());
    let direct = Direct::new(libmlxc.as_deref(), LENGTH);
    let mut mlx = host.addition(LENGTH, Provider::Mlx);
    let mut cpu = host.addition(LENGTH, Provider::Cpu);

    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!("onnxruntime {}, {cores} cores; microseconds", host.version);
    for (name, gap) in [
        ("back to back", None),
        ("500 us idle before each", Some(IDLE)),
    ] {
        let mut rounds: Vec<_> = (0..ROUNDS)
            .map(|_| round(gap, || mlx.run(), || cpu.run(), &direct))
            .collect();
        rounds.sort_unstable_by(|a, b| (a.mlx + a.direct).total_cmp(&(b.mlx + b.direct)));
        let all: Vec<_> = rounds
            .iter()
            .map(|round| format!("{:.1}", round.overhead))
            .collect();
        let quietest = &rounds[0];
        println!(
            "{name}: Run {:.1}, mlx-c directly {:.1}, overhead {:.1} (all rounds {}); the CPU EP's Run {:.1}",
            quietest.mlx,
            quietest.direct,
            quietest.overhead,
            all.join(" "),
            quietest.cpu
        );
    }

    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    let mut group = criterion.benchmark_group("one addition");
    group.bench_function("Run on MLX", |bencher| bencher.iter(|| mlx.run()));
    group.bench_function("Run on the CPU", |bencher| bencher.iter(|| cpu.run()));
    group.bench_function("mlx-c directly", |bencher| {
        bencher.iter_custom(|count| direct.times(count as usize, None).iter().sum());
    });
    group.finish();
}
