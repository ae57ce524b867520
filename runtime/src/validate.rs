//! Whether a package makes sense: everything a backend relies on, checked before it is trusted.

use ipucc_chip::{Chip, memory};
use ipucc_machine::package::{Binding, FORMAT_VERSION, Package};

/// Checks ranges, alignments and counts of a package that came from outside.
///
/// # Errors
/// The first thing that is wrong, in words.
pub fn validate(package: &Package) -> Result<(), String> {
    if package.header.format_version != FORMAT_VERSION {
        return Err(format!(
            "package data of version {}, expected {FORMAT_VERSION}",
            package.header.format_version
        ));
    }
    if Chip::first(package.tiles).is_none() {
        return Err(format!(
            "{} tiles, expected 1 to {}",
            package.tiles,
            Chip::C600_TILES
        ));
    }
    if package.images.len() != package.tiles as usize {
        return Err(format!(
            "{} images for {} tiles",
            package.images.len(),
            package.tiles
        ));
    }
    for (tile, image) in package.images.iter().enumerate() {
        let executable = memory::BASE..memory::EXECUTABLE_END;
        if image.entry % 4 != 0 || !executable.contains(&image.entry) {
            return Err(format!(
                "tile {tile}: entry {:#x} is not executable",
                image.entry
            ));
        }
        let mut free = memory::BASE as u64;
        for segment in &image.segments {
            let Some(blob) = package.blobs.get(segment.blob as usize) else {
                return Err(format!("tile {tile}: blob {} does not exist", segment.blob));
            };
            let end = segment.address as u64 + blob.len() as u64;
            if (segment.address as u64) < free || end > memory::END as u64 {
                return Err(format!(
                    "tile {tile}: segment at {:#x} of {} bytes overlaps another or leaves memory",
                    segment.address,
                    blob.len()
                ));
            }
            free = end;
        }
    }
    for (name, binding) in &package.inputs {
        check_binding(package.tiles, binding, false).map_err(|r| format!("input `{name}`: {r}"))?;
    }
    for (name, binding) in &package.outputs {
        check_binding(package.tiles, binding, true).map_err(|r| format!("output `{name}`: {r}"))?;
    }
    Ok(())
}

/// `once`: every host element must be named exactly once (counted), as an output must.
fn check_binding(tiles: u16, binding: &Binding, once: bool) -> Result<(), String> {
    let elements = binding
        .shape
        .iter()
        .try_fold(1u64, |n, &extent| n.checked_mul(extent as u64))
        .filter(|&n| n < 1 << 40)
        .ok_or("the shape has too many elements")?;
    let size = binding.device.bytes();
    let mut named = 0u64;
    for run in &binding.runs {
        if run.tile >= tiles {
            return Err(format!("tile {} does not exist", run.tile));
        }
        let (mut host, mut address) = (
            (run.host as i128, run.host as i128),
            (run.address as i128, run.address as i128),
        );
        let mut count = 1u64;
        for dim in &run.dims {
            count = count
                .checked_mul(dim.count as u64)
                .filter(|&n| n <= 1 << 40)
                .ok_or("a run is too long")?;
            let steps = dim.count.saturating_sub(1) as i128;
            let widen = |range: &mut (i128, i128), step: i128| {
                if step < 0 {
                    range.0 += step * steps
                } else {
                    range.1 += step * steps
                }
            };
            widen(&mut host, dim.host_elements as i128);
            widen(&mut address, dim.device_bytes as i128);
            if dim.device_bytes % size as i32 != 0 {
                return Err("a run steps inside an element".into());
            }
        }
        if count == 0 {
            continue;
        }
        if host.0 < 0 || host.1 >= elements as i128 {
            return Err("a run leaves the host buffer".into());
        }
        let inside = address.0 >= memory::BASE as i128
            && address.1 + size as i128 <= memory::END as i128
            && run.address % size == 0;
        if !inside {
            return Err("a run leaves tile memory or is misaligned".into());
        }
        named += count;
    }
    if once && named != elements {
        return Err(format!(
            "{named} elements are read, the buffer has {elements}"
        ));
    }
    Ok(())
}
