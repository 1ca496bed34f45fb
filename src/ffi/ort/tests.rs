//! The declarations against the facts of the ABI: order, types, sizes and values.
use super::api::{
    OrtApi, OrtApiV24, OrtApiV25, OrtApiV27, OrtApiV28, OrtApiV29, OrtApiV30, OrtApiV31, OrtApiV32,
};
use super::ep_api::{OrtEpApi, OrtEpApiV24, OrtEpApiV25, OrtEpApiV29, OrtEpApiV31};
use super::plugin::*;
use super::{TAILS, types};
use crate::ffi::table::Signature;
use serde_json::Value;

fn facts() -> Value {
    serde_json::from_str(include_str!("../../../tests/facts/ort_abi.json")).unwrap()
}

/// `Status` of the facts is a pointer to a status; white space and the spelling of void differ.
fn normal(text: &str) -> String {
    let text = text.replace(' ', "");
    match text.as_str() {
        "Status" => "*mutOrtStatus".into(),
        "void" | "()" | "null" => String::new(),
        _ => text,
    }
}

fn check(facts: &[Value], declared: &[Signature]) -> usize {
    assert_eq!(facts.len(), declared.len(), "slot count");
    let mut with_types = 0;
    for (fact, (name, signature)) in facts.iter().zip(declared) {
        assert_eq!(fact["name"].as_str().unwrap(), *name, "slot order");
        let Some((arguments, result)) = signature else {
            continue;
        };
        with_types += 1;
        let expected: Vec<_> = fact["params"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| normal(p.as_str().unwrap()))
            .collect();
        let found: Vec<_> = arguments.iter().map(|a| normal(a)).collect();
        assert_eq!(found, expected, "arguments of {name}");
        assert_eq!(
            normal(result),
            normal(fact["ret"].as_str().unwrap_or("")),
            "result of {name}"
        );
    }
    with_types
}

#[test]
fn api_tables_are_those_of_the_headers() {
    let facts = facts();
    let all: Vec<Signature> = [
        OrtApi::SIGNATURES,
        OrtApiV24::SIGNATURES,
        OrtApiV25::SIGNATURES,
        OrtApiV27::SIGNATURES,
        OrtApiV28::SIGNATURES,
        OrtApiV29::SIGNATURES,
        OrtApiV30::SIGNATURES,
        OrtApiV31::SIGNATURES,
        OrtApiV32::SIGNATURES,
    ]
    .concat();
    assert!(check(facts["OrtApi"].as_array().unwrap(), &all) > 130);
    let all: Vec<Signature> = [
        OrtEpApi::SIGNATURES,
        OrtEpApiV24::SIGNATURES,
        OrtEpApiV25::SIGNATURES,
        OrtEpApiV29::SIGNATURES,
        OrtEpApiV31::SIGNATURES,
    ]
    .concat();
    assert!(check(facts["OrtEpApi"].as_array().unwrap(), &all) > 60);
}

#[test]
fn tails_begin_where_the_release_before_ends() {
    let facts = facts();
    let size = |version: u32, table: &str| {
        facts["table_sizes"][version.to_string()][table]
            .as_u64()
            .unwrap()
    };
    for (field, since, start, slots) in TAILS {
        let table = if *field == "api" {
            "OrtApi"
        } else {
            "OrtEpApi"
        };
        assert_eq!(
            size(since - 1, table),
            *start as u64,
            "{table} before {since}"
        );
        assert_eq!(
            size(*since, table),
            (start + slots.len()) as u64,
            "{table} of {since}"
        );
    }
    assert_eq!(size(23, "OrtApi"), OrtApi::SLOTS.len() as u64);
    assert_eq!(size(23, "OrtEpApi"), OrtEpApi::SLOTS.len() as u64);
}

#[test]
fn callback_structs_are_those_of_the_headers() {
    let facts = facts();
    let check_struct = |name: &str, declared: &[Signature], slots: &[&str]| {
        let members = facts["structs"][name].as_array().unwrap();
        assert_eq!(members[0]["field"], "u32", "{name}");
        assert_eq!(
            members[0]["name"].as_str().unwrap().trim_end_matches('_'),
            slots[0].trim_end_matches('_')
        );
        assert!(
            check(&members[1..], declared) + 1 >= declared.len(),
            "{name} has undeclared callbacks"
        );
    };
    check_struct(
        "OrtEpFactory",
        OrtEpFactory::SIGNATURES,
        OrtEpFactory::SLOTS,
    );
    check_struct("OrtEp", OrtEp::SIGNATURES, OrtEp::SLOTS);
    check_struct(
        "OrtNodeComputeInfo",
        OrtNodeComputeInfo::SIGNATURES,
        OrtNodeComputeInfo::SLOTS,
    );
    check_struct(
        "OrtDataTransferImpl",
        OrtDataTransferImpl::SIGNATURES,
        OrtDataTransferImpl::SLOTS,
    );
    check_struct(
        "OrtSyncStreamImpl",
        OrtSyncStreamImpl::SIGNATURES,
        OrtSyncStreamImpl::SLOTS,
    );
    check_struct(
        "OrtSyncNotificationImpl",
        OrtSyncNotificationImpl::SIGNATURES,
        OrtSyncNotificationImpl::SLOTS,
    );
    check_struct(
        "OrtAllocator",
        OrtAllocator::SIGNATURES,
        OrtAllocator::SLOTS,
    );
    check_struct(
        "OrtEpProfilerImpl",
        OrtEpProfilerImpl::SIGNATURES,
        OrtEpProfilerImpl::SLOTS,
    );
}

#[test]
fn enum_values_are_those_of_the_headers() {
    let facts = facts();
    for (name, values) in types::ENUMS {
        let expected: Vec<_> = facts["enums"][*name]
            .as_array()
            .unwrap_or_else(|| panic!("no facts of {name}"))
            .iter()
            .map(|v| {
                (
                    v["name"].as_str().unwrap(),
                    i32::try_from(v["value"].as_i64().unwrap()).unwrap(),
                )
            })
            .collect();
        assert_eq!(&expected[..], *values, "{name}");
    }
}
