//! The rules, in groups that can be left out one by one.
//!
//! A rule looks at one node and proposes expressions that are equal to it. Exact rules keep every
//! bit of the reference interpreter's results, signs of zeros and NaN payloads apart; the others
//! round differently and stand behind `--fp=fast`.

mod algebra;
mod idioms;
mod layout;
mod products;
mod reductions;

use super::graph::{Graph, Term};
use egg::Id;
use ipucc_tensor::Op;

/// Groups of rules.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Group {
    /// Laws of arithmetic.
    Algebra,
    /// Transposes, reshapes and broadcasts.
    Layout,
    /// Reductions.
    Reductions,
    /// Scales and biases into weights, products of products.
    Products,
    /// Softmax, norms, gelu, attention from their parts and back.
    Idioms,
}

impl Group {
    /// All groups.
    pub const ALL: [Group; 5] = [
        Group::Algebra,
        Group::Layout,
        Group::Reductions,
        Group::Products,
        Group::Idioms,
    ];

    /// Name on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Group::Algebra => "algebra",
            Group::Layout => "layout",
            Group::Reductions => "reductions",
            Group::Products => "products",
            Group::Idioms => "idioms",
        }
    }
}

/// What a rule proposes for the node (operation and operands) of a class.
pub type Apply = fn(&Graph, Id, &Op, &[Id]) -> Vec<Term>;

/// A rule.
pub struct Rule {
    /// Name.
    pub name: &'static str,
    /// Its group.
    pub group: Group,
    /// True if it changes the rounding of floats.
    pub fast: bool,
    /// What it proposes.
    pub apply: Apply,
}

const fn exact(name: &'static str, group: Group, apply: Apply) -> Rule {
    Rule {
        name,
        group,
        fast: false,
        apply,
    }
}

const fn fast(name: &'static str, group: Group, apply: Apply) -> Rule {
    Rule {
        name,
        group,
        fast: true,
        apply,
    }
}

/// All rules.
pub const RULES: &[Rule] = &[
    exact("commute", Group::Algebra, algebra::commute),
    exact("neutral", Group::Algebra, algebra::neutral),
    exact("negation", Group::Algebra, algebra::negation),
    exact("idempotent", Group::Algebra, algebra::idempotent),
    exact(
        "divide-by-power-of-two",
        Group::Algebra,
        algebra::divide_by_power,
    ),
    exact("associate-exact", Group::Algebra, algebra::associate_exact),
    exact("factor-integers", Group::Algebra, algebra::factor_integers),
    fast(
        "associate-floats",
        Group::Algebra,
        algebra::associate_floats,
    ),
    fast("factor-floats", Group::Algebra, algebra::factor_floats),
    fast(
        "divide-by-constant",
        Group::Algebra,
        algebra::divide_by_constant,
    ),
    exact("views-of-views", Group::Layout, layout::views_of_views),
    exact("lift-views", Group::Layout, layout::lift_views),
    exact("broadcast-later", Group::Layout, layout::broadcast_later),
    exact(
        "transposed-operand",
        Group::Layout,
        layout::transposed_operand,
    ),
    exact(
        "transposed-product",
        Group::Layout,
        layout::transposed_product,
    ),
    exact(
        "reduce-transposed",
        Group::Reductions,
        reductions::reduce_transposed,
    ),
    exact(
        "reduce-broadcast",
        Group::Reductions,
        reductions::reduce_broadcast,
    ),
    fast(
        "sum-of-scaled",
        Group::Reductions,
        reductions::sum_of_scaled,
    ),
    fast(
        "mean-from-sum",
        Group::Reductions,
        reductions::mean_from_sum,
    ),
    fast(
        "scale-into-weight",
        Group::Products,
        products::scale_into_weight,
    ),
    fast(
        "operand-scale-into-weight",
        Group::Products,
        products::operand_scale,
    ),
    fast(
        "operand-bias-into-bias",
        Group::Products,
        products::operand_bias,
    ),
    fast(
        "conv-scale-into-weight",
        Group::Products,
        products::conv_scale,
    ),
    fast(
        "norm-scale-and-bias",
        Group::Products,
        products::norm_affine,
    ),
    fast("product-chain", Group::Products, products::chain),
    fast("sigmoid", Group::Idioms, idioms::sigmoid),
    fast("gelu-erf", Group::Idioms, idioms::gelu_erf),
    fast("gelu-tanh", Group::Idioms, idioms::gelu_tanh),
    fast("softmax", Group::Idioms, idioms::softmax),
    fast("layer-norm", Group::Idioms, idioms::layer_norm),
    fast("attention", Group::Idioms, idioms::attention),
    fast("decompose-gelu", Group::Idioms, idioms::decompose_gelu),
    fast(
        "decompose-softmax",
        Group::Idioms,
        idioms::decompose_softmax,
    ),
    fast(
        "decompose-layer-norm",
        Group::Idioms,
        idioms::decompose_layer_norm,
    ),
];
