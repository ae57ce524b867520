//! Names of addresses that are known only after placement.

use serde::{Deserialize, Serialize};

/// A symbol of whoever makes rows and code; the number means what its maker says.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct SymbolId(pub u32);
