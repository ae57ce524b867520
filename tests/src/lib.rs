//! What integration tests share: random models.

pub mod random_graph;
