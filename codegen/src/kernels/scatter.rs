//! Rows of a table replaced by indices. Workers take words of the rows, so that every word sees the
//! indices in their order; an index of another tile's row writes back what is there.

use super::nest::{Dim, Nest};
use super::{Made, anywhere, fits};
use crate::worker::Worker;
use ipucc_tile::cost::NoKernel;
use ipucc_tile::kernel::Scatter;

pub(super) fn generate(scatter: &Scatter) -> Result<Made, NoKernel> {
    let no = |reason: &str| NoKernel {
        what: format!("{scatter:?}"),
        reason: reason.into(),
    };
    let bytes = scatter.row_bytes;
    if scatter.count == 0 || scatter.rows == 0 || bytes == 0 || !bytes.is_multiple_of(4) {
        return Err(no("no rows, or rows that are not whole words"));
    }
    if !fits(u64::from(scatter.rows) * u64::from(bytes))
        || !fits(u64::from(scatter.count) * u64::from(bytes))
        || scatter.rows > 0xffff
        || bytes >= 0x8000
    {
        return Err(no(
            "the table does not fit a tile, or rows are longer than 32767 bytes",
        ));
    }
    let mut setup = Worker::new();
    setup.constant_m(9, scatter.first.wrapping_neg());
    let mut body = Worker::new();
    // $m3 walks the indices, $m4 the rows.
    body.bundle("mov $m3, $m1", "");
    body.bundle("mov $m4, $m0", "");
    body.repeat(scatter.count, |body| {
        body.bundle("ld32step $m5, $mzero, $m3+=, 1", "");
        body.bundle("add $m5, $m5, $m9", "");
        body.bundle(format!("cmpult $m7, $m5, {}", scatter.rows), "");
        // Row 0 stands in for rows of other tiles.
        body.bundle("mul $m5, $m5, $m7", "");
        body.bundle(format!("mul $m5, $m5, {bytes}"), "");
        body.bundle("add $m5, $m5, $m2", "");
        body.bundle("ld32 $m6, $m5, $mzero, 0", "");
        body.bundle("ld32 $m8, $m4, $mzero, 0", "");
        body.bundle("movz $m6, $m7, $m8", "");
        body.bundle("st32 $m6, $m5, $mzero, 0", "");
        body.bundle(format!("add $m4, $m4, {bytes}"), "");
    });
    let nest = Nest {
        name: "scatter",
        pointers: 3,
        dims: vec![Dim::new(bytes / 4, &[4, 0, 4])],
        setup,
        registers: 10,
    };
    let (text, turns) = nest.emit(&body).map_err(|reason| no(&reason))?;
    let launch = nest.launch(turns, &[(0, 0), (1, 0), (2, 0)]);
    Ok((text, vec![launch], vec![anywhere(); 3]))
}
