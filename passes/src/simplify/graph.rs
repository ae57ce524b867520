//! The tensor language as an egg language: a node is an operation with its attributes on classes of
//! equal values; the analysis of a class is its type, its value if it is a uniform constant, and
//! whether weights and constants alone decide it.

use crate::fold::splat;
use egg::{Analysis, DidMerge, EGraph, Id, Language};
use indexmap::IndexSet;
use ipucc_tensor::{BinaryOp, Op, TensorType, UnaryOp};

/// A node: a head (see [`Heads`]) on classes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Node {
    /// Index into the heads.
    pub head: u32,
    /// Operands.
    pub children: Vec<Id>,
}

impl Language for Node {
    type Discriminant = u32;

    fn discriminant(&self) -> u32 {
        self.head
    }

    fn matches(&self, other: &Node) -> bool {
        self.head == other.head && self.children.len() == other.children.len()
    }

    fn children(&self) -> &[Id] {
        &self.children
    }

    fn children_mut(&mut self) -> &mut [Id] {
        &mut self.children
    }
}

/// What a node does.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Head {
    /// A parameter of the function.
    Param(u32, TensorType),
    /// A weight of the module, which has this type.
    Weight(String, TensorType),
    /// Any other operation.
    Op(Op),
}

/// The analysis, and the heads that nodes point to.
#[derive(Default)]
pub struct Facts {
    /// Operations by number.
    pub heads: IndexSet<Head>,
}

/// What is known of a class.
#[derive(Clone, PartialEq, Debug)]
pub struct Fact {
    /// Type of its values.
    pub ty: TensorType,
    /// The bits of its one element, if all are equal and known.
    pub splat: Option<Vec<u8>>,
    /// True if weights and constants alone decide it: the planner stores it then.
    pub fixed: bool,
}

impl Analysis<Node> for Facts {
    type Data = Fact;

    fn make(graph: &mut EGraph<Node, Facts>, node: &Node, _: Id) -> Fact {
        let head = &graph.analysis.heads[node.head as usize];
        let fixed = node.children.iter().all(|&child| graph[child].data.fixed);
        match head {
            Head::Param(_, ty) => Fact {
                ty: ty.clone(),
                splat: None,
                fixed: false,
            },
            Head::Weight(_, ty) => Fact {
                ty: ty.clone(),
                splat: None,
                fixed: true,
            },
            Head::Op(op) => {
                let types: Vec<TensorType> = node
                    .children
                    .iter()
                    .map(|&child| graph[child].data.ty.clone())
                    .collect();
                // Nodes are typed before they are added (`Graph::add`); this cannot fail then.
                let ty = op
                    .infer(&types)
                    .unwrap_or_else(|_| types.first().cloned().unwrap_or_else(nothing));
                let splat = match op {
                    Op::Broadcast { .. } | Op::Reshape(_) | Op::Transpose(_) => {
                        graph[node.children[0]].data.splat.clone()
                    }
                    op => splat(op).map(|tensor| tensor.data),
                };
                Fact { ty, splat, fixed }
            }
        }
    }

    fn merge(&mut self, to: &mut Fact, from: Fact) -> DidMerge {
        debug_assert_eq!(to.ty, from.ty, "a rule changed a type");
        let splat = to.splat.is_none() && from.splat.is_some();
        let fixed = !to.fixed && from.fixed;
        let lost = (to.splat.is_some() && from.splat.is_none()) || (to.fixed && !from.fixed);
        if splat {
            to.splat = from.splat;
        }
        to.fixed |= from.fixed;
        DidMerge(splat || fixed, lost)
    }
}

fn nothing() -> TensorType {
    TensorType::new(ipucc_chip::ScalarType::I1, [])
}

/// An expression over classes: what a rule proposes.
#[derive(Clone, Debug)]
pub enum Term {
    /// A class that is there.
    Class(Id),
    /// An operation.
    Op(Op, Vec<Term>),
}

impl From<Id> for Term {
    fn from(id: Id) -> Term {
        Term::Class(id)
    }
}

/// An operation on terms.
pub fn op(op: Op, operands: impl IntoIterator<Item = Term>) -> Term {
    Term::Op(op, operands.into_iter().collect())
}

/// An elementwise operation of two terms.
pub fn binary(kind: BinaryOp, x: impl Into<Term>, y: impl Into<Term>) -> Term {
    op(Op::Binary(kind), [x.into(), y.into()])
}

/// An elementwise operation of one term.
pub fn unary(kind: UnaryOp, x: impl Into<Term>) -> Term {
    op(Op::Unary(kind), [x.into()])
}

/// An e-graph of tensor values.
pub struct Graph {
    /// The classes.
    pub egraph: EGraph<Node, Facts>,
}

impl Default for Graph {
    /// An empty graph.
    fn default() -> Graph {
        Graph {
            egraph: EGraph::new(Facts::default()),
        }
    }
}

impl Graph {
    /// Adds a node that is known to be well typed.
    pub fn insert(&mut self, head: Head, children: Vec<Id>) -> Id {
        let (index, _) = self.egraph.analysis.heads.insert_full(head);
        let head = index as u32;
        self.egraph.add(Node { head, children })
    }

    /// Adds a term; `None` if it has no type.
    pub fn add(&mut self, term: &Term) -> Option<Id> {
        match term {
            Term::Class(id) => Some(self.egraph.find(*id)),
            Term::Op(op, operands) => {
                let children: Vec<Id> = operands
                    .iter()
                    .map(|operand| self.add(operand))
                    .collect::<Option<_>>()?;
                let types: Vec<TensorType> = children.iter().map(|&c| self.ty(c).clone()).collect();
                op.infer(&types).ok()?;
                Some(self.insert(Head::Op(op.clone()), children))
            }
        }
    }

    /// What is known of a class.
    pub fn fact(&self, id: Id) -> &Fact {
        &self.egraph[id].data
    }

    /// Type of a class.
    pub fn ty(&self, id: Id) -> &TensorType {
        &self.fact(id).ty
    }

    /// True if weights and constants alone decide the class.
    pub fn fixed(&self, id: Id) -> bool {
        self.fact(id).fixed
    }

    /// The one element of a class of a uniform constant, as f64.
    pub fn splat(&self, id: Id) -> Option<f64> {
        let fact = self.fact(id);
        let data = fact.splat.clone()?;
        let ty = TensorType::new(fact.ty.element, []);
        let tensor = ipucc_tensor::interp::Tensor { ty, data };
        if fact.ty.element.is_float() {
            tensor.to_floats().first().map(|&v| f64::from(v))
        } else {
            tensor.to_ints().first().map(|&v| v as f64)
        }
    }

    /// The head of a node.
    pub fn head(&self, node: &Node) -> &Head {
        &self.egraph.analysis.heads[node.head as usize]
    }

    /// The operations of a class, with their operands.
    pub fn ops(&self, id: Id) -> impl Iterator<Item = (&Op, &[Id])> {
        self.egraph[id]
            .nodes
            .iter()
            .filter_map(|node| match self.head(node) {
                Head::Op(op) => Some((op, &node.children[..])),
                _ => None,
            })
    }

    /// True if two ids stand for one class.
    pub fn same(&self, a: Id, b: Id) -> bool {
        self.egraph.find(a) == self.egraph.find(b)
    }

    /// A uniform constant of the type of a class.
    pub fn constant_like(&self, id: Id, value: f64) -> Term {
        let ty = self.ty(id);
        let scalar = TensorType::new(ty.element, []);
        let tensor = ipucc_tensor::interp::Tensor::from_floats(scalar, &[value as f32]);
        op(
            Op::Constant {
                element: ty.element,
                shape: ty.shape.clone(),
                data: tensor.data,
            },
            [],
        )
    }
}
