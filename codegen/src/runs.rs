//! Affine runs of host elements over the shards of a value.

use ipucc_chip::LogicalTile;
use ipucc_machine::package::{HostDim, HostRun};
use ipucc_tile::{LayoutKind, Shard, ValueData};
use smallvec::SmallVec;

/// Which host element stands where: affine blocks of every shard (of one replica for outputs).
pub(crate) fn host_runs(
    data: &ValueData,
    all_replicas: bool,
    place: impl Fn(LogicalTile) -> Option<u32>,
) -> Vec<HostRun> {
    let replicas = data.distribution.replicas as usize;
    let mut runs = Vec::new();
    for (index, shard) in data.shards().enumerate() {
        if (!all_replicas && index % replicas != 0) || shard.is_empty() {
            continue;
        }
        let Some(base) = place(shard.tile) else {
            continue;
        };
        shard_runs(data, &shard, base, &mut runs);
    }
    runs
}

fn shard_runs(data: &ValueData, shard: &Shard, base: u32, runs: &mut Vec<HostRun>) {
    let size = data.element.bytes();
    let extents = shard.extents();
    let rank = extents.len();
    let stride = |axis: usize| -> u64 {
        data.shape[axis + 1..]
            .iter()
            .map(|&extent| u64::from(extent))
            .product()
    };
    // Axes whose blocks are affine: all in row order; panels cut the innermost ones into blocks.
    let order = &data.layout.order;
    let (blocked, block): (Vec<usize>, Vec<u32>) = match data.layout.kind {
        LayoutKind::Row { .. } => (vec![], vec![]),
        LayoutKind::AmpLhs { panel } => (vec![order[rank - 1] as usize], vec![panel]),
        LayoutKind::AmpRhs { panel } => (
            vec![order[rank - 2] as usize, order[rank - 1] as usize],
            vec![16, panel],
        ),
    };
    let counts: Vec<u32> = blocked
        .iter()
        .zip(&block)
        .map(|(&axis, &b)| extents[axis].div_ceil(b))
        .collect();
    let total: u32 = counts.iter().product();
    for point in 0..total {
        let mut first = SmallVec::<[u32; 4]>::from_elem(0, rank);
        let mut size_here = extents.clone();
        let mut rest = point;
        for i in (0..blocked.len()).rev() {
            let axis = blocked[i];
            first[axis] = rest % counts[i] * block[i];
            size_here[axis] = block[i].min(extents[axis] - first[axis]);
            rest /= counts[i];
        }
        let device = |index: &[u32]| data.layout.offset(&extents, index) * u64::from(size);
        let host = |index: &[u32]| -> u64 {
            (0..rank)
                .map(|axis| u64::from(index[axis] + shard.low[axis]) * stride(axis))
                .sum()
        };
        let start = device(&first);
        let dims = (0..rank)
            .filter(|&axis| size_here[axis] > 1)
            .map(|axis| {
                let mut next = first.clone();
                next[axis] += 1;
                HostDim {
                    count: size_here[axis],
                    host_elements: stride(axis) as i64,
                    device_bytes: (device(&next) as i64 - start as i64) as i32,
                }
            })
            .collect();
        runs.push(HostRun {
            tile: shard.tile.0,
            address: base + start as u32,
            host: host(&first),
            dims,
        });
    }
}
