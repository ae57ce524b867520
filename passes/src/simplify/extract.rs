//! Choosing one node per class so that the whole costs least, values with several readers counted
//! once.

use super::cost::cost;
use super::graph::{Graph, Node};
use egg::Id;
use indexmap::IndexMap;

/// A set of classes, by position.
#[derive(Clone)]
struct Set(Vec<u64>);

impl Set {
    fn new(size: usize) -> Set {
        Set(vec![0; size.div_ceil(64)])
    }

    fn add(&mut self, index: usize) {
        self.0[index / 64] |= 1 << (index % 64);
    }

    fn has(&self, index: usize) -> bool {
        self.0[index / 64] >> (index % 64) & 1 == 1
    }

    fn join(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(at, &word)| {
            let mut word = word;
            std::iter::from_fn(move || {
                if word == 0 {
                    return None;
                }
                let bit = word.trailing_zeros() as usize;
                word &= word - 1;
                Some(at * 64 + bit)
            })
        })
    }
}

/// What a class is best made of, so far.
struct Best {
    total: u64,
    needs: Set,
    node: Node,
    own: u64,
}

/// Most rounds over all nodes; each round lets cheaper choices reach their readers.
const ROUNDS: usize = 16;

/// One node per class that can be computed. A class is known with everything that it needs, so a
/// value with several readers is paid once, and no choice needs itself.
pub fn extract(graph: &Graph, tiles: u32) -> IndexMap<Id, Node> {
    let mut ids: Vec<Id> = graph.egraph.classes().map(|class| class.id).collect();
    ids.sort_unstable();
    let at: IndexMap<Id, usize> = ids.iter().enumerate().map(|(i, &id)| (id, i)).collect();
    let mut best: Vec<Option<Best>> = ids.iter().map(|_| None).collect();
    for _ in 0..ROUNDS {
        let mut changed = false;
        for (index, &id) in ids.iter().enumerate() {
            for node in &graph.egraph[id].nodes {
                let children: Option<Vec<usize>> = node
                    .children
                    .iter()
                    .map(|&child| at.get(&graph.egraph.find(child)).copied())
                    .collect();
                let Some(children) = children else { continue };
                if children.iter().any(|&child| best[child].is_none()) {
                    continue;
                }
                let mut needs = Set::new(ids.len());
                for &child in &children {
                    if let Some(found) = &best[child] {
                        needs.join(&found.needs);
                    }
                }
                if needs.has(index) {
                    continue;
                }
                let own = cost(graph, id, node, tiles);
                let total = needs
                    .iter()
                    .filter_map(|need| best[need].as_ref().map(|b| b.own))
                    .sum::<u64>()
                    + own;
                let better = best[index]
                    .as_ref()
                    .is_none_or(|old| (total, node) < (old.total, &old.node));
                if better {
                    needs.add(index);
                    changed = true;
                    best[index] = Some(Best {
                        total,
                        needs,
                        node: node.clone(),
                        own,
                    });
                }
            }
        }
        if !changed {
            break;
        }
    }
    ids.into_iter()
        .zip(best)
        .filter_map(|(id, best)| Some((id, best?.node)))
        .collect()
}
