//! Tensor types: an element type and a static shape.

use ipucc_chip::ScalarType;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt;

/// Extents, outermost axis first.
pub type Shape = SmallVec<[u32; 4]>;

/// Largest rank of a tensor.
pub const MAX_RANK: usize = 8;

/// The type of a tensor value, for example `tensor<16x128xf16>`; rank 0 is `tensor<f16>`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct TensorType {
    /// Element type.
    pub element: ScalarType,
    /// Extents, outermost first; zero is allowed.
    pub shape: Shape,
}

impl TensorType {
    /// A type from element type and extents.
    pub fn new(element: ScalarType, shape: impl IntoIterator<Item = u32>) -> TensorType {
        TensorType {
            element,
            shape: shape.into_iter().collect(),
        }
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().map(|&extent| extent as usize).product()
    }

    /// Bytes of the dense row-major data.
    pub fn bytes(&self) -> usize {
        self.elements() * self.element.bytes() as usize
    }

    /// The same shape with another element type.
    pub fn with_element(&self, element: ScalarType) -> TensorType {
        TensorType {
            element,
            shape: self.shape.clone(),
        }
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensor<")?;
        for extent in &self.shape {
            write!(f, "{extent}x")?;
        }
        write!(f, "{}>", self.element)
    }
}
