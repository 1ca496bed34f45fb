//! The one line per session that says what was claimed, and why not the rest.
use super::claim::Decision;
use crate::ops::Reject;
use crate::ops::ir::{Graph, Node};
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// How many reasons the line names.
const SHOWN: usize = 16;

/// What became of the nodes of a session, by graph; a graph that is offered again overwrites what was said of it.
#[derive(Debug, Default)]
pub(super) struct Placement {
    graphs: BTreeMap<String, Counts>,
    /// By fused node, how many nodes it holds.
    fused: HashMap<String, usize>,
    /// By first output, why a node was left whose bodies were offered before it.
    owners: HashMap<String, String>,
    said: Option<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    total: usize,
    claimed: usize,
    partitions: usize,
    /// By operator and reason.
    left: BTreeMap<(String, String), usize>,
    /// By first output, why a node was left: it is only offered again with the name of its new execution provider.
    reasons: HashMap<String, String>,
}

impl Placement {
    /// Notes how many nodes went into a fused node, which later graphs hold in their place.
    pub(super) fn fused(&mut self, name: String, nodes: usize) {
        self.fused.insert(name, nodes);
    }

    /// Notes why a node is refused whose bodies are now offered one by one: later they hold what cannot be planned.
    pub(super) fn refuse(&mut self, graph: &Graph, node: &Node, reject: &Reject) {
        self.owners.insert(label(graph, node), reject.to_string());
    }

    /// Notes what was decided for a graph, which may be a body of the one node of `parent`. `own` is the name of this
    /// execution provider.
    pub(super) fn note(
        &mut self,
        graph: &Graph,
        parent: Option<&Graph>,
        decision: &Decision,
        own: &str,
    ) {
        let owner = parent.and_then(|parent| parent.nodes.first().map(|node| label(parent, node)));
        let key = key(owner.as_deref(), graph);
        let earlier = self.graphs.remove(&key).unwrap_or_default();
        let mut counts = Counts {
            partitions: decision.clusters.len(),
            ..Counts::default()
        };
        let mut claimed = vec![false; graph.nodes.len()];
        for id in decision.clusters.iter().flatten() {
            claimed[id.index()] = true;
        }
        for (index, node) in graph.nodes.iter().enumerate() {
            let label = label(graph, node);
            if claimed[index] {
                let nodes = 1 + self.nested(&label, node, true);
                counts.claimed += nodes;
                counts.total += nodes;
                continue;
            }
            if node.assigned.as_deref() == Some(own) {
                let nodes = self.fused.get(&node.name).copied().unwrap_or(1);
                counts.claimed += nodes;
                counts.total += nodes;
                counts.partitions += 1;
                continue;
            }
            let reason = match (&decision.refused[index], &node.assigned) {
                (Some(reject), _) => match self.owners.get(&label) {
                    Some(earlier) => earlier.clone(),
                    None => reject.to_string(),
                },
                (None, Some(ep)) => earlier
                    .reasons
                    .get(&label)
                    .cloned()
                    .unwrap_or_else(|| format!("already on {ep}")),
                (None, None) => String::from("not claimed"),
            };
            let bodies = self.nested(&label, node, false);
            let operator = operator(node);
            if bodies > 0 {
                let body = format!("in a body of {operator}, which is left to CPU");
                *counts
                    .left
                    .entry((String::from("nodes"), body))
                    .or_default() += bodies;
            }
            *counts.left.entry((operator, reason.clone())).or_default() += 1;
            counts.total += 1 + bodies;
            counts.reasons.insert(label, reason);
        }
        self.graphs.insert(key, counts);
    }

    /// Nodes in the bodies of a node, at any depth, without those of bodies that were noted on their own. A body of a
    /// claimed node no longer counts on its own.
    fn nested(&mut self, owner: &str, node: &Node, claimed: bool) -> usize {
        let mut nodes = 0;
        for body in node.bodies() {
            let key = key(Some(owner), body);
            if claimed {
                self.graphs.remove(&key);
            } else if self.graphs.contains_key(&key) {
                continue;
            }
            for node in &body.nodes {
                nodes += 1 + self.nested(&label(body, node), node, claimed);
            }
        }
        nodes
    }

    /// Logs the line, unless it is the one that was logged last.
    pub(super) fn say(&mut self) {
        if self.graphs.is_empty() {
            return;
        }
        let line = self.to_string();
        if self.said.as_ref() == Some(&line) {
            return;
        }
        if self.graphs.values().any(|counts| counts.claimed > 0) {
            log::info!("{line}");
        } else {
            log::warn!("{line}");
        }
        self.said = Some(line);
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |of: fn(&Counts) -> usize| self.graphs.values().map(of).sum::<usize>();
        let partitions = sum(|c| c.partitions);
        let plural = if partitions == 1 { "" } else { "s" };
        write!(
            f,
            "{} of {} nodes in {partitions} partition{plural}",
            sum(|c| c.claimed),
            sum(|c| c.total)
        )?;
        let mut left: BTreeMap<&(String, String), usize> = BTreeMap::new();
        for (key, count) in self.graphs.values().flat_map(|counts| &counts.left) {
            *left.entry(key).or_default() += count;
        }
        let mut left: Vec<_> = left.into_iter().collect();
        left.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        for (index, ((operator, reason), count)) in left.iter().take(SHOWN).enumerate() {
            f.write_str(if index == 0 { "; left to CPU: " } else { ", " })?;
            write!(f, "{operator} x{count} ({reason})")?;
        }
        if left.len() > SHOWN {
            let rest: usize = left[SHOWN..].iter().map(|(_, count)| count).sum();
            write!(f, " and {rest} more")?;
        }
        Ok(())
    }
}

fn operator(node: &Node) -> String {
    if node.domain.is_empty() {
        node.op_type.clone()
    } else {
        format!("{}.{}", node.domain, node.op_type)
    }
}

/// What a node is known by across offers: its first output, which a fused or inlined graph keeps.
fn label(graph: &Graph, node: &Node) -> String {
    let output = node.outputs.iter().flatten().next();
    output.map_or_else(|| node.name.clone(), |id| graph.value(*id).name.clone())
}

/// Names a graph; bodies of different nodes often share one name.
fn key(owner: Option<&str>, graph: &Graph) -> String {
    match owner {
        Some(owner) => format!("{owner}/{}", graph.name),
        None => graph.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::ir::{Attribute, NodeId, Origin, Value, ValueKind};

    const OWN: &str = "MLXExecutionProvider";

    fn graph(ops: &[&str]) -> Graph {
        let mut graph = Graph {
            name: "main".into(),
            ..Graph::default()
        };
        for (op, index) in ops.iter().zip(0..) {
            let output = graph.add_value(Value {
                name: format!("v{index}"),
                kind: ValueKind::Other,
                origin: Origin::Node(NodeId(index)),
                constant: None,
            });
            graph.nodes.push(Node {
                op_type: (*op).into(),
                outputs: vec![Some(output)],
                ..Node::default()
            });
        }
        graph
    }

    #[test]
    fn reasons_are_counted_and_the_commonest_comes_first() {
        let graph = graph(&["Add", "Foo", "Bar", "Foo"]);
        let decision = Decision {
            clusters: vec![vec![NodeId(0)]],
            refused: vec![
                None,
                Some(Reject::Op),
                Some(Reject::Opset(3)),
                Some(Reject::Op),
            ],
        };
        let mut placement = Placement::default();
        placement.note(&graph, None, &decision, OWN);
        assert_eq!(
            placement.to_string(),
            "1 of 4 nodes in 1 partition; left to CPU: Foo x2 (operator not supported), \
             Bar x1 (form of opset 3 not supported)"
        );
    }

    #[test]
    fn a_repeat_counts_fused_nodes_and_keeps_reasons() {
        let mut placement = Placement::default();
        let first = graph(&["Add", "Mul", "Foo"]);
        let decision = Decision {
            clusters: vec![vec![NodeId(0), NodeId(1)]],
            refused: vec![None, None, Some(Reject::Op)],
        };
        placement.note(&first, None, &decision, OWN);
        let before = placement.to_string();
        placement.fused("fused_0".into(), 2);

        let mut again = graph(&["fused", "Foo"]);
        again.values[1].name = "v2".into();
        again.nodes[0].name = "fused_0".into();
        again.nodes[0].assigned = Some(OWN.into());
        again.nodes[1].assigned = Some("CPUExecutionProvider".into());
        placement.note(
            &again,
            None,
            &Decision {
                clusters: vec![],
                refused: vec![None, None],
            },
            OWN,
        );
        assert_eq!(placement.to_string(), before);
    }

    #[test]
    fn a_body_that_was_offered_counts_on_its_own() {
        let mut main = graph(&["If"]);
        let body = Graph {
            name: "body".into(),
            ..graph(&["Add", "Foo"])
        };
        let decision = |clusters, refused| Decision { clusters, refused };
        let mut placement = Placement::default();
        placement.refuse(&main, &main.nodes[0], &Reject::Op);
        placement.note(
            &body,
            Some(&main),
            &decision(vec![vec![NodeId(0)]], vec![None, Some(Reject::Op)]),
            OWN,
        );
        let attribute = Attribute::Graph(Box::new(body));
        main.nodes[0]
            .attributes
            .push(("then_branch".into(), attribute));
        let later = Reject::Host("what the fused node in its body makes of it");
        placement.note(&main, None, &decision(vec![], vec![Some(later)]), OWN);
        assert_eq!(
            placement.to_string(),
            "1 of 3 nodes in 1 partition; left to CPU: Foo x1 (operator not supported), \
             If x1 (operator not supported)"
        );
        // Claimed at last, it brings its body with it.
        placement.note(
            &main,
            None,
            &decision(vec![vec![NodeId(0)]], vec![None]),
            OWN,
        );
        assert_eq!(placement.to_string(), "3 of 3 nodes in 1 partition");
    }

    #[test]
    fn bodies_of_a_refused_node_are_counted() {
        let mut graph = graph(&["If"]);
        let body = Graph {
            nodes: vec![Node::default(), Node::default()],
            ..Graph::default()
        };
        graph.nodes[0]
            .attributes
            .push(("then_branch".into(), Attribute::Graph(Box::new(body))));
        let mut placement = Placement::default();
        placement.note(
            &graph,
            None,
            &Decision {
                clusters: vec![],
                refused: vec![Some(Reject::Op)],
            },
            OWN,
        );
        let line = placement.to_string();
        assert!(line.starts_with("0 of 3 nodes in 0 partitions"), "{line}");
        assert!(line.contains("nodes x2 (in a body of If"), "{line}");
    }
}
