//! Simplification by equality saturation.
//!
//! A function becomes an e-graph (egg); rules add equal expressions until nothing is new or a limit
//! is reached; then the cheapest expression of every result is taken, values with several readers
//! counted once. The limits are counts, so the result does not depend on the machine. A result that
//! is not cheaper is thrown away: the function stays as it was.

mod cost;
mod extract;
mod graph;
mod rules;

use crate::rebuild::same;
use egg::Id;
use extract::extract;
pub use graph::{Graph, Term};
use graph::{Head, Node};
use indexmap::IndexMap;
use ipucc_tensor::{Builder, Function, Module, Op, Value};
pub use rules::{Group, RULES, Rule};

/// Options of the simplifier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Simplify {
    /// Take rules that change the rounding of floats (`--fp=fast`).
    pub fast: bool,
    /// Rule groups that are left out.
    pub without: Vec<Group>,
    /// Tiles of the chip that costs are estimated for.
    pub tiles: u32,
    /// Most nodes in the e-graph; rules stop there.
    pub nodes: usize,
    /// Most rounds of rules.
    pub rounds: usize,
}

impl Default for Simplify {
    fn default() -> Simplify {
        Simplify {
            fast: false,
            without: Vec::new(),
            tiles: u32::from(ipucc_chip::Chip::C600_TILES),
            nodes: 8_000,
            rounds: 8,
        }
    }
}

/// Most proposals that one rule makes in one round; the rest has to wait for the next.
const PROPOSALS: usize = 1_000;

/// What simplifying a function did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Estimated cycles before.
    pub before: u64,
    /// Estimated cycles after; never more.
    pub after: u64,
}

/// Simplifies every function, and says by function what that did.
pub fn simplify_with(module: &Module, options: &Simplify) -> (Module, IndexMap<String, Outcome>) {
    let mut out = module.clone();
    let mut outcomes = IndexMap::new();
    for (name, function) in &mut out.functions {
        if let Some((simple, outcome)) = function_with(function, options) {
            if outcome.after < outcome.before {
                *function = simple;
            }
            outcomes.insert(name.clone(), outcome);
        }
    }
    (out, outcomes)
}

fn function_with(function: &Function, options: &Simplify) -> Option<(Function, Outcome)> {
    let (mut graph, classes) = ingest(function)?;
    let roots: Vec<Id> = function
        .results
        .iter()
        .map(|port| classes.get(&port.value).copied())
        .collect::<Option<_>>()?;
    // Before any rule, every class holds one node: the function as it is, equal values joined.
    let given = extract(&graph, options.tiles);
    let before = total(&graph, &given, &roots, options.tiles)?;
    saturate(&mut graph, options);
    let chosen = extract(&graph, options.tiles);
    let after = total(&graph, &chosen, &roots, options.tiles)?;
    let unchanged = Outcome {
        before,
        after: before,
    };
    if after >= before {
        return Some((function.clone(), unchanged));
    }
    let simple = emit(function, &graph, &classes, &chosen)?;
    Some((simple, Outcome { before, after }))
}

/// The e-graph of a function and the class of each of its values; `None` for operations with
/// several results, which no rule knows.
fn ingest(function: &Function) -> Option<(Graph, IndexMap<Value, Id>)> {
    let mut graph = Graph::default();
    let mut classes: IndexMap<Value, Id> = IndexMap::new();
    for (index, port) in function.params.iter().enumerate() {
        let head = Head::Param(index as u32, function.ty(port.value).clone());
        classes.insert(port.value, graph.insert(head, Vec::new()));
    }
    for &inst in &function.body {
        let data = &function.insts[inst];
        let [result] = data.results[..] else {
            return None;
        };
        let children: Vec<Id> = data
            .operands
            .iter()
            .map(|operand| classes.get(operand).copied())
            .collect::<Option<_>>()?;
        let head = match &data.op {
            Op::Weight(name) => Head::Weight(name.clone(), function.ty(result).clone()),
            op => Head::Op(op.clone()),
        };
        classes.insert(result, graph.insert(head, children));
    }
    graph.egraph.rebuild();
    Some((graph, classes))
}

/// Applies the rules until nothing is new or a limit is reached.
fn saturate(graph: &mut Graph, options: &Simplify) {
    let rules: Vec<&Rule> = RULES
        .iter()
        .filter(|rule| (options.fast || !rule.fast) && !options.without.contains(&rule.group))
        .collect();
    for _ in 0..options.rounds {
        let mut ids: Vec<Id> = graph.egraph.classes().map(|class| class.id).collect();
        ids.sort_unstable();
        let mut proposals: Vec<(Id, Term)> = Vec::new();
        for rule in &rules {
            let mut made = 0;
            for &id in &ids {
                for (op, operands) in graph.ops(id) {
                    let terms = (rule.apply)(graph, id, op, operands);
                    made += terms.len();
                    proposals.extend(terms.into_iter().map(|term| (id, term)));
                }
                if made > PROPOSALS {
                    break;
                }
            }
        }
        let mut changed = false;
        for (id, term) in proposals {
            if graph.egraph.total_size() > options.nodes {
                break;
            }
            let Some(new) = graph.add(&term) else {
                continue;
            };
            if graph.ty(new) == graph.ty(id) {
                changed |= graph.egraph.union(id, new);
            }
        }
        graph.egraph.rebuild();
        if !changed || graph.egraph.total_size() > options.nodes {
            break;
        }
    }
}

/// Classes that the roots need, each behind what it needs; `None` if a choice needs itself.
fn order(graph: &Graph, chosen: &IndexMap<Id, Node>, roots: &[Id]) -> Option<Vec<Id>> {
    let mut done: IndexMap<Id, bool> = IndexMap::new();
    let mut out = Vec::new();
    let mut stack: Vec<(Id, bool)> = roots.iter().rev().map(|&id| (id, false)).collect();
    while let Some((id, leave)) = stack.pop() {
        let id = graph.egraph.find(id);
        if leave {
            done.insert(id, true);
            out.push(id);
            continue;
        }
        match done.get(&id) {
            Some(true) => continue,
            Some(false) => return None,
            None => {}
        }
        done.insert(id, false);
        stack.push((id, true));
        for &child in chosen.get(&id)?.children.iter().rev() {
            let child = graph.egraph.find(child);
            match done.get(&child) {
                Some(true) => {}
                Some(false) => return None,
                None => stack.push((child, false)),
            }
        }
    }
    Some(out)
}

fn total(graph: &Graph, chosen: &IndexMap<Id, Node>, roots: &[Id], tiles: u32) -> Option<u64> {
    let order = order(graph, chosen, roots)?;
    Some(
        order
            .iter()
            .map(|id| cost::cost(graph, *id, &chosen[id], tiles))
            .sum(),
    )
}

/// The chosen nodes as a function: ports as they were, names and origins where a value of the old
/// function is in the class.
fn emit(
    function: &Function,
    graph: &Graph,
    classes: &IndexMap<Value, Id>,
    chosen: &IndexMap<Id, Node>,
) -> Option<Function> {
    let mut builder = Builder::new(function.name.clone());
    let params: Vec<Value> = function
        .params
        .iter()
        .map(|port| {
            let ty = function.ty(port.value).clone();
            builder.param_with_host(port.name.clone(), ty, port.host)
        })
        .collect();
    // The first old value of a class that an instruction made gives its name and source.
    let mut old: IndexMap<Id, Value> = IndexMap::new();
    for (&value, &id) in classes {
        if function.def(value).is_some() {
            old.entry(graph.egraph.find(id)).or_insert(value);
        }
    }
    let roots: Vec<Id> = function
        .results
        .iter()
        .map(|port| classes[&port.value])
        .collect();
    let mut made: IndexMap<Id, Value> = IndexMap::new();
    for id in order(graph, chosen, &roots)? {
        let node = &chosen[&id];
        let operands: Vec<Value> = node
            .children
            .iter()
            .map(|&child| made[&graph.egraph.find(child)])
            .collect();
        let source = old.get(&id).and_then(|&value| function.def(value));
        if let Some(inst) = source {
            let data = &function.insts[inst];
            builder.at(data.span, data.origin.clone());
        }
        let value = match graph.head(node) {
            Head::Param(index, _) => params[*index as usize],
            Head::Weight(name, ty) => builder.weight(name.clone(), ty.clone()),
            Head::Op(op) => builder.op(op.clone(), &operands).ok()?,
        };
        let name = old.get(&id).and_then(|&v| function.values[v].name.clone());
        if let (Some(name), true) = (name, !matches!(graph.head(node), Head::Param(..))) {
            builder.name(value, name);
        }
        made.insert(id, value);
    }
    for port in &function.results {
        let value = made[&graph.egraph.find(classes[&port.value])];
        builder.result_with_host(port.name.clone(), value, port.host);
    }
    Some(builder.finish())
}

/// The function with one rule applied once, in every way that it applies: what the property tests of
/// the rules compare.
pub fn applications(module: &Module, rule: &Rule) -> Vec<Module> {
    let Some(function) = module.entry() else {
        return Vec::new();
    };
    let Some((graph, classes)) = ingest(function) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for &inst in &function.body {
        let data = &function.insts[inst];
        let id = graph.egraph.find(classes[&data.results[0]]);
        let terms: Vec<Term> = graph
            .ops(id)
            .flat_map(|(op, operands)| (rule.apply)(&graph, id, op, operands))
            .collect();
        for term in terms {
            if let Some(changed) = applied(function, &graph, &classes, inst, &term) {
                if changed == *function {
                    continue;
                }
                let mut module = module.clone();
                module.functions.insert(function.name.clone(), changed);
                out.push(module);
            }
        }
    }
    out
}

/// The function with the result of one instruction computed as a term says.
fn applied(
    function: &Function,
    graph: &Graph,
    classes: &IndexMap<Value, Id>,
    at: ipucc_tensor::Inst,
    term: &Term,
) -> Option<Function> {
    let mut of_class: IndexMap<Id, Value> = IndexMap::new();
    for (&value, &id) in classes {
        of_class.entry(graph.egraph.find(id)).or_insert(value);
    }
    let target = function.insts[at].results[0];
    let changed = crate::rebuild::rebuild_with(
        function,
        ipucc_tensor::TensorType::clone,
        |builder, data, operands, values| {
            if data.results[0] != target {
                return same(builder, function, data, operands);
            }
            let value = build(builder, graph, term, &|id| values[&of_class[&id]])?;
            // As in saturation: what has another type is no proposal.
            if builder.ty(value) == function.ty(target) {
                return Ok(value);
            }
            same(builder, function, data, operands)
        },
    );
    changed.ok()
}

fn build(
    builder: &mut Builder,
    graph: &Graph,
    term: &Term,
    value: &dyn Fn(Id) -> Value,
) -> Result<Value, ipucc_tensor::TypeError> {
    match term {
        Term::Class(id) => Ok(value(graph.egraph.find(*id))),
        Term::Op(op, operands) => {
            let operands: Vec<Value> = operands
                .iter()
                .map(|operand| build(builder, graph, operand, value))
                .collect::<Result<_, _>>()?;
            builder.op(op.clone(), &operands)
        }
    }
}
