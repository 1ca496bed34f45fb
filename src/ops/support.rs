//! The published table of what is claimed, docs/operators.md: made from the op table by a test, which fails where the
//! file is another. `UPDATE_OPERATORS=1 cargo test operators_are_published` writes it.
use super::{OpDef, table};
use crate::device::Types;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

const HEADER: &str = "# Operators

Made from the op table; do not edit. A node is claimed if a row has its domain, its since-version and its element types, and if
nothing of the last column applies. Element types are given per input, the last entry holds for all further inputs. An attribute
that no version of the operator has, or a value of one that ONNX does not define, also leaves a node to ONNX Runtime's other
execution providers, as do strings and complex numbers everywhere.

| short | element types |
|---|---|
";

/// The named sets, largest first.
const SETS: &[(&str, Types)] = &[
    ("all", Types::ALL),
    ("any", Types::ANY),
    ("numeric", Types::NUMERIC),
    ("float64", Types::FLOAT64),
    ("float", Types::FLOAT),
    ("int", Types::INT),
    ("signed", Types::SIGNED),
    ("unsigned", Types::UNSIGNED),
    ("index", Types::INDEX),
];

fn names(types: Types) -> String {
    let names: Vec<_> = types.iter_types().map(|t| t.name()).collect();
    names.join(", ")
}

fn short(types: Types) -> String {
    if let Some((name, _)) = SETS.iter().find(|(_, set)| *set == types) {
        return format!("_{name}_");
    }
    let (mut left, mut parts) = (types, Vec::new());
    for (name, set) in SETS {
        if left.contains(*set) {
            parts.push(format!("_{name}_"));
            left.remove(*set);
        }
    }
    if !left.is_empty() {
        parts.push(names(left));
    }
    parts.join(", ")
}

/// The texts of the refusals that a file makes, as they are written there.
fn refusals(file: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = std::fs::read_to_string(&path).expect("a source file of the op table");
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = BTreeSet::new();
    for kind in ["Form", "Todo", "Policy", "Host"] {
        for rest in text.split(&format!("Reject::{kind}(")).skip(1) {
            if let Some(quoted) = rest.trim_start().strip_prefix('"') {
                found.extend(quoted.split('"').next().map(str::to_owned));
            }
        }
    }
    found.into_iter().collect()
}

fn row(name: &str, rows: &[&OpDef]) -> String {
    let versions: Vec<_> = rows
        .iter()
        .map(|row| match (*row.opsets.start(), *row.opsets.end()) {
            (from, u32::MAX) => format!("{from}+"),
            (from, to) if from == to => from.to_string(),
            (from, to) => format!("{from}-{to}"),
        })
        .collect();
    let types: Vec<_> = rows
        .iter()
        .map(|row| {
            row.types
                .iter()
                .map(|t| short(*t))
                .collect::<Vec<_>>()
                .join("; ")
        })
        .collect();
    let types = if types.windows(2).all(|pair| pair[0] == pair[1]) {
        types[0].clone()
    } else {
        let each = versions.iter().zip(&types);
        each.map(|(v, t)| format!("{v}: {t}"))
            .collect::<Vec<_>>()
            .join("<br>")
    };
    let refused: BTreeSet<_> = rows.iter().flat_map(|row| refusals(row.file)).collect();
    let refused: Vec<_> = refused.into_iter().collect();
    let versions = versions.join(", ");
    format!(
        "| {name} | {versions} | {types} | {} |\n",
        refused.join("; ")
    )
}

fn document() -> String {
    let mut text = HEADER.to_owned();
    for (name, set) in SETS {
        writeln!(text, "| _{name}_ | {} |", names(*set)).unwrap();
    }
    let mut domains: BTreeMap<&str, BTreeMap<&str, Vec<&OpDef>>> = BTreeMap::new();
    for row in table() {
        domains
            .entry(row.domain)
            .or_default()
            .entry(row.name)
            .or_default()
            .push(row);
    }
    for (domain, operators) in &mut domains {
        let title = if domain.is_empty() { "ai.onnx" } else { domain };
        writeln!(text, "\n## {title}: {} operators\n", operators.len()).unwrap();
        text.push_str(
            "| operator | since-versions | element types | left to others |\n|---|---|---|---|\n",
        );
        for (name, rows) in operators {
            rows.sort_by_key(|row| *row.opsets.start());
            text.push_str(&row(name, rows));
        }
    }
    text
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the environment says whether to write the file"
)]
fn operators_are_published() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operators.md");
    let made = document();
    if std::env::var_os("UPDATE_OPERATORS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        made == published,
        "docs/operators.md is not what the op table says: run UPDATE_OPERATORS=1 cargo test operators_are_published"
    );
}
