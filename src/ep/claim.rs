//! Which nodes of a graph this execution provider takes, and why not the others. A pure function of the graph.
use super::partition::{self, Cluster};
use crate::ops::ir::{Graph, NodeId};
use crate::ops::{self, Reject};

/// What holds for a graph as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Rules {
    /// Nothing may be claimed here, and why.
    pub(super) nothing: Option<&'static str>,
    /// All or nothing, and why.
    pub(super) whole: Option<&'static str>,
    /// Nodes whose bodies read what a fused node would not get are given back, and why.
    pub(super) captures: Option<&'static str>,
    /// Partitions without floating-point work are given back.
    pub(super) float_work_only: bool,
}

/// Clusters to fuse, and why each other node is in none.
pub(super) struct Decision {
    pub(super) clusters: Vec<Cluster>,
    /// By node; `None` for one that is in a cluster or belongs to an execution provider already.
    pub(super) refused: Vec<Option<Reject>>,
}

/// By node, why it cannot be planned; `None` for one that belongs to an execution provider already.
pub(super) fn unplannable(graph: &Graph) -> Vec<Option<Reject>> {
    unplannable_by(graph, |id| ops::plan(graph, id).map(|_| ()))
}

fn unplannable_by(
    graph: &Graph,
    plan: impl Fn(NodeId) -> Result<(), Reject>,
) -> Vec<Option<Reject>> {
    let refusal = |id| match graph.node(id).assigned {
        None => plan(id).err(),
        Some(_) => None,
    };
    graph.node_ids().map(refusal).collect()
}

/// Clusters the free nodes that can be planned; `refused` is what [`unplannable`] gave.
pub(super) fn decide(graph: &Graph, rules: Rules, mut refused: Vec<Option<Reject>>) -> Decision {
    let free = |id: &NodeId| graph.node(*id).assigned.is_none();
    let refuse_rest = |refused: &mut Vec<Option<Reject>>, reason: &'static str| {
        for id in graph.node_ids().filter(free) {
            refused[id.index()].get_or_insert(Reject::Host(reason));
        }
    };
    if let Some(reason) = rules.nothing {
        refuse_rest(&mut refused, reason);
    }
    loop {
        let claimed: Vec<_> = graph
            .node_ids()
            .map(|id| free(&id) && refused[id.index()].is_none())
            .collect();
        if let Some(reason) = rules.whole
            && claimed.contains(&true)
            && claimed.contains(&false)
        {
            refuse_rest(&mut refused, reason);
            continue;
        }
        let clusters = partition::clusters(graph, &claimed);
        if let Some(reason) = rules.captures {
            let lost = clusters
                .iter()
                .flat_map(|c| partition::lost_captures(graph, c));
            let lost: Vec<NodeId> = lost.collect();
            if !lost.is_empty() {
                for id in lost {
                    refused[id.index()] = Some(Reject::Host(reason));
                }
                continue;
            }
        }
        let idle = |cluster: &&Cluster| {
            rules.float_work_only && !partition::has_float_work(graph, cluster)
        };
        let given_back: Vec<NodeId> = clusters.iter().filter(idle).flatten().copied().collect();
        if given_back.is_empty() {
            return Decision { clusters, refused };
        }
        // What is left may form fewer clusters than before, so they are found anew.
        for id in given_back {
            refused[id.index()] = Some(Reject::Policy(
                "its partition has no floating-point work; claim=all keeps it",
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::DType;
    use crate::ops::ir::{Node, Origin, Value, ValueId, ValueKind};

    /// A chain of nodes, each with the type of its output.
    fn chain(types: &[DType]) -> Graph {
        let mut graph = Graph::default();
        for (index, dtype) in types.iter().enumerate() {
            let id = NodeId(u32::try_from(index).unwrap());
            let output = graph.add_value(Value {
                name: format!("v{index}"),
                kind: ValueKind::Tensor {
                    dtype: *dtype,
                    shape: None,
                },
                origin: Origin::Node(id),
                constant: None,
            });
            let input = output.0.checked_sub(1).map(ValueId);
            graph.nodes.push(Node {
                inputs: vec![input],
                outputs: vec![Some(output)],
                ..Node::default()
            });
        }
        graph
    }

    fn decide_chain(graph: &Graph, rules: Rules, refused: &[usize]) -> Decision {
        let refused = unplannable_by(graph, |id| {
            if refused.contains(&id.index()) {
                Err(Reject::Op)
            } else {
                Ok(())
            }
        });
        decide(graph, rules, refused)
    }

    const F: DType = DType::F32;
    const I: DType = DType::I64;

    #[test]
    fn borders_are_not_planned() {
        let mut graph = chain(&[F, F, F]);
        graph.nodes[1].assigned = Some("CPUExecutionProvider".into());
        let refused = unplannable_by(&graph, |id| {
            assert_ne!(
                id.index(),
                1,
                "a node of another execution provider is planned"
            );
            Ok(())
        });
        let decision = decide(&graph, Rules::default(), refused);
        assert_eq!(decision.clusters, [[NodeId(0)], [NodeId(2)]]);
        assert_eq!(decision.refused, [None, None, None]);
    }

    #[test]
    fn idle_clusters_are_given_back_whole_and_only_where_the_rule_says() {
        let graph = chain(&[I, I, F, F, I]);
        let all = decide_chain(&graph, Rules::default(), &[2]);
        assert_eq!(all.clusters.len(), 2);
        let rules = Rules {
            float_work_only: true,
            ..Rules::default()
        };
        let some = decide_chain(&graph, rules, &[2]);
        assert_eq!(
            some.clusters,
            [[NodeId(3), NodeId(4)]],
            "integer work beside float work stays"
        );
        assert!(matches!(some.refused[0], Some(Reject::Policy(_))));
        assert_eq!(some.refused[2], Some(Reject::Op));
    }

    #[test]
    fn all_or_nothing() {
        let graph = chain(&[F, F, F]);
        let rules = Rules {
            whole: Some("old host"),
            ..Rules::default()
        };
        assert_eq!(decide_chain(&graph, rules, &[]).clusters.len(), 1);
        let none = decide_chain(&graph, rules, &[1]);
        assert!(none.clusters.is_empty());
        assert_eq!(
            none.refused,
            [
                Some(Reject::Host("old host")),
                Some(Reject::Op),
                Some(Reject::Host("old host"))
            ]
        );
    }

    #[test]
    fn lost_captures_are_given_back_where_the_rule_says() {
        let mut graph = chain(&[F, F, F, F]);
        graph.nodes[3].captures.push(ValueId(0));
        let rules = Rules {
            captures: Some("old host"),
            ..Rules::default()
        };
        assert_eq!(decide_chain(&graph, rules, &[]).clusters.len(), 1);
        // Without the node that makes the value in the cluster, the body cannot get it.
        let cut = decide_chain(&graph, rules, &[0, 1]);
        assert_eq!(cut.clusters, [[NodeId(2)]]);
        assert_eq!(cut.refused[3], Some(Reject::Host("old host")));
        let free = decide_chain(&graph, Rules::default(), &[0, 1]);
        assert_eq!(free.clusters, [[NodeId(2), NodeId(3)]]);
    }

    #[test]
    fn nothing_where_nothing_may_be_claimed() {
        let graph = chain(&[F, F]);
        let rules = Rules {
            nothing: Some("too late"),
            ..Rules::default()
        };
        let none = decide_chain(&graph, rules, &[0]);
        assert!(none.clusters.is_empty());
        assert_eq!(
            none.refused,
            [Some(Reject::Op), Some(Reject::Host("too late"))]
        );
    }
}
