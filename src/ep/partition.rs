//! Which claimed nodes are fused together: maximal convex clusters, in one pass over the graph.
//!
//! Each node gets a wave. A claimed node is in the wave of the latest of its producers; a node that is not claimed
//! ends a wave for whatever depends on it, if it depends itself on a claimed node. The claimed nodes of one wave are
//! one cluster. A path that leaves a cluster through a node that is not claimed therefore comes back in a later wave:
//! clusters are convex and ordered. No two of them can be joined, because every node of a later wave depends on a
//! node outside that depends on the wave before.
use crate::device::DType;
use crate::ops::ir::{Graph, NodeId, Origin, ValueId};
use std::collections::HashSet;

/// Nodes of one cluster, in topological order.
pub(crate) type Cluster = Vec<NodeId>;

/// Groups the nodes for which `claimed` holds. All others, nodes of other execution providers among them, are borders.
pub(crate) fn clusters(graph: &Graph, claimed: &[bool]) -> Vec<Cluster> {
    let mut waves = vec![0usize; graph.nodes.len()];
    let mut clusters: Vec<Cluster> = Vec::new();
    for id in graph.node_ids() {
        let here = claimed[id.index()];
        let wave = producers(graph, id)
            .map(|p| waves[p.index()] + usize::from(claimed[p.index()] && !here))
            .max()
            .unwrap_or(0);
        waves[id.index()] = wave;
        if here {
            if clusters.len() <= wave {
                clusters.resize_with(wave + 1, Vec::new);
            }
            clusters[wave].push(id);
        }
    }
    clusters.retain(|cluster| !cluster.is_empty());
    clusters
}

/// The nodes whose outputs a node or its bodies read.
fn producers(graph: &Graph, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
    let node = graph.node(id);
    let read = node.inputs.iter().flatten().chain(&node.captures).copied();
    read.filter_map(|value: ValueId| match graph.value(value).origin {
        Origin::Node(producer) => Some(producer),
        Origin::Input | Origin::Initializer | Origin::Outer => None,
    })
}

/// Whether a cluster has floating-point work. Without any, copying its values to a GPU and back costs more than the
/// CPU needs for it.
pub(crate) fn has_float_work(graph: &Graph, cluster: &[NodeId]) -> bool {
    cluster.iter().any(|id| {
        let node = graph.node(*id);
        let mut values = node.inputs.iter().chain(&node.outputs).flatten();
        let is_float = |v: &ValueId| graph.value(*v).dtype().is_some_and(DType::is_float);
        let works = |body: &Graph| has_float_work(body, &body.node_ids().collect::<Vec<_>>());
        values.any(is_float) || node.bodies().any(works)
    })
}

/// The nodes of a cluster whose bodies read what a fused node would not get: a value that neither a node of the cluster
/// makes nor another node of it reads as an input.
pub(crate) fn lost_captures(graph: &Graph, cluster: &[NodeId]) -> Vec<NodeId> {
    let members: HashSet<NodeId> = cluster.iter().copied().collect();
    let explicit: HashSet<ValueId> = cluster
        .iter()
        .flat_map(|id| graph.node(*id).inputs.iter().copied().flatten())
        .collect();
    let arrives = |id: &ValueId| {
        let value = graph.value(*id);
        let made = matches!(value.origin, Origin::Node(producer) if members.contains(&producer));
        made || value.constant.is_some() || explicit.contains(id)
    };
    let loses = |id: &NodeId| !graph.node(*id).captures.iter().all(arrives);
    cluster.iter().copied().filter(loses).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::ir::{Constant, Node, Value, ValueKind};
    use std::time::Instant;

    /// Small deterministic random numbers.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            usize::try_from(self.0 >> 33).unwrap() % n
        }
    }

    /// A graph with one output per node; `edges[i]` are the nodes that node `i` reads.
    fn graph(edges: &[Vec<usize>]) -> Graph {
        let mut graph = Graph::default();
        for (index, reads) in edges.iter().enumerate() {
            let id = NodeId(u32::try_from(index).unwrap());
            let output = graph.add_value(Value {
                name: format!("v{index}"),
                kind: ValueKind::Tensor {
                    dtype: DType::F32,
                    shape: None,
                },
                origin: Origin::Node(id),
                constant: None,
            });
            let input = |i: &usize| Some(ValueId(u32::try_from(*i).unwrap()));
            graph.nodes.push(Node {
                inputs: reads.iter().map(input).collect(),
                outputs: vec![Some(output)],
                ..Node::default()
            });
        }
        graph
    }

    fn random(random: &mut Random, nodes: usize, density: usize) -> Vec<Vec<usize>> {
        (0..nodes)
            .map(|i| {
                if i == 0 {
                    vec![]
                } else {
                    (0..random.below(density + 1))
                        .map(|_| random.below(i))
                        .collect()
                }
            })
            .collect()
    }

    /// `reach[a][b]`: a path of at least one edge leads from `a` to `b`.
    fn reachability(edges: &[Vec<usize>]) -> Vec<Vec<bool>> {
        let n = edges.len();
        let mut reach = vec![vec![false; n]; n];
        for (b, reads) in edges.iter().enumerate() {
            for p in reads {
                for (a, row) in reach.iter_mut().enumerate() {
                    row[b] |= a == *p || row[*p];
                }
            }
        }
        reach
    }

    fn is_convex(set: &[bool], reach: &[Vec<bool>]) -> bool {
        let n = set.len();
        (0..n).filter(|outside| !set[*outside]).all(|outside| {
            let enters = (0..n).any(|a| set[a] && reach[a][outside]);
            let leaves = (0..n).any(|b| set[b] && reach[outside][b]);
            !(enters && leaves)
        })
    }

    fn check(edges: &[Vec<usize>], claimed: &[bool]) {
        let found = clusters(&graph(edges), claimed);
        let reach = reachability(edges);
        let n = edges.len();
        let mut owner = vec![None; n];
        let sets: Vec<Vec<bool>> = found
            .iter()
            .enumerate()
            .map(|(c, cluster)| {
                let mut set = vec![false; n];
                for id in cluster {
                    assert!(
                        claimed[id.index()] && owner[id.index()].is_none(),
                        "{edges:?} {claimed:?}"
                    );
                    owner[id.index()] = Some(c);
                    set[id.index()] = true;
                }
                set
            })
            .collect();
        for node in 0..n {
            assert_eq!(
                owner[node].is_some(),
                claimed[node],
                "a claimed node is lost: {edges:?} {claimed:?}"
            );
        }
        for (i, a) in sets.iter().enumerate() {
            assert!(
                is_convex(a, &reach),
                "cluster {i} is not convex: {edges:?} {claimed:?}"
            );
            for b in &sets[i + 1..] {
                let both: Vec<bool> = a.iter().zip(b).map(|(x, y)| *x || *y).collect();
                assert!(
                    !is_convex(&both, &reach),
                    "two clusters could be one: {edges:?} {claimed:?}"
                );
                let back = (0..n).any(|x| b[x] && (0..n).any(|y| a[y] && reach[x][y]));
                assert!(
                    !back,
                    "clusters are not in topological order: {edges:?} {claimed:?}"
                );
            }
        }
    }

    #[test]
    fn clusters_of_random_graphs_are_convex_ordered_and_maximal() {
        let mut dice = Random(0x9e37_79b9_7f4a_7c15);
        for round in 0..3000 {
            let nodes = 1 + dice.below(14);
            let edges = random(&mut dice, nodes, 1 + round % 3);
            let claimed: Vec<bool> = (0..nodes).map(|_| dice.below(4) != 0).collect();
            check(&edges, &claimed);
        }
    }

    #[test]
    fn independent_branches_share_a_cluster_and_a_cpu_node_between_splits() {
        // 0 and 1 are independent; 2 is left to the CPU; 3 reads it.
        let edges = [vec![], vec![], vec![0], vec![2, 1]];
        let found = clusters(&graph(&edges), &[true, true, false, true]);
        let ids = |c: &Cluster| c.iter().map(|n| n.index()).collect::<Vec<_>>();
        assert_eq!(
            found.iter().map(ids).collect::<Vec<_>>(),
            [vec![0, 1], vec![3]]
        );
    }

    #[test]
    fn a_cpu_node_at_the_start_splits_nothing() {
        let edges = [vec![], vec![], vec![0], vec![1, 2]];
        assert_eq!(
            clusters(&graph(&edges), &[false, true, true, true]).len(),
            1
        );
        assert!(clusters(&graph(&edges), &[false; 4]).is_empty());
    }

    #[test]
    fn what_a_body_captures_orders_its_node() {
        let mut graph = graph(&[vec![], vec![0], vec![]]);
        graph.nodes[2].captures.push(ValueId(1));
        assert_eq!(clusters(&graph, &[true, false, true]).len(), 2);
    }

    #[test]
    fn what_only_bodies_read_must_come_from_the_cluster() {
        // 0 makes what 1 captures; 2 captures a graph input, which 3 reads too.
        let mut graph = graph(&[vec![], vec![], vec![], vec![]]);
        let input = graph.add_value(Value {
            name: "x".into(),
            kind: ValueKind::Other,
            origin: Origin::Input,
            constant: None,
        });
        graph.nodes[1].captures.push(ValueId(0));
        graph.nodes[2].captures.push(input);
        graph.nodes[3].inputs.push(Some(input));
        let ids = |nodes: &[u32]| nodes.iter().copied().map(NodeId).collect::<Vec<_>>();
        assert_eq!(lost_captures(&graph, &ids(&[0, 1, 2, 3])), ids(&[]));
        assert_eq!(lost_captures(&graph, &ids(&[1, 2])), ids(&[1, 2]));
        graph.values[input.index()].constant = Some(Constant {
            dims: vec![],
            host: None,
            key: 0,
        });
        assert_eq!(lost_captures(&graph, &ids(&[1, 2])), ids(&[1]));
    }

    #[test]
    fn float_work_is_seen_in_outputs() {
        let mut graph = graph(&[vec![]]);
        assert!(has_float_work(&graph, &[NodeId(0)]));
        graph.values[0].kind = ValueKind::Tensor {
            dtype: DType::I64,
            shape: None,
        };
        assert!(!has_float_work(&graph, &[NodeId(0)]));
    }

    #[test]
    fn time_grows_with_the_graph_and_not_its_square() {
        let mut dice = Random(7);
        let mut quickest = |nodes: usize| {
            let edges: Vec<Vec<usize>> = (0..nodes)
                .map(|i| {
                    if i == 0 {
                        vec![]
                    } else {
                        (0..3).map(|_| i - 1 - dice.below(i.min(20))).collect()
                    }
                })
                .collect();
            let graph = graph(&edges);
            let claimed: Vec<bool> = (0..nodes).map(|_| dice.below(5) != 0).collect();
            let time = || {
                let start = Instant::now();
                assert!(!clusters(&graph, &claimed).is_empty());
                start.elapsed()
            };
            (0..9).map(|_| time()).min().unwrap()
        };
        let (small, large) = (quickest(10_000), quickest(100_000));
        assert!(
            large < small * 60,
            "10,000 nodes: {small:?}, 100,000 nodes: {large:?}"
        );
    }
}
