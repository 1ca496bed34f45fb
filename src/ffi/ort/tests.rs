//! The declarations against the facts of the ABI: order, types, sizes and values.
use super::api::{
    OrtApi, OrtApiBase, OrtApiV24, OrtApiV25, OrtApiV27, OrtApiV28, OrtApiV29, OrtApiV30,
    OrtApiV31, OrtApiV32,
};
use super::ep_api::{OrtEpApi, OrtEpApiV24, OrtEpApiV25, OrtEpApiV29, OrtEpApiV31};
use super::plugin::*;
use super::{API_VERSION, FLOOR, Host, TAILS, types};
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

/// Slots of a table in release `1.version`.
fn size(facts: &Value, version: u32, table: &str) -> usize {
    let size = facts["table_sizes"][version.to_string()][table].as_u64();
    usize::try_from(size.unwrap()).unwrap()
}

/// Name of the table of a field of `Host`.
fn table_of(field: &str) -> &'static str {
    match field {
        "api" => "OrtApi",
        "ep_api" => "OrtEpApi",
        _ => panic!("no table {field}"),
    }
}

#[test]
fn tails_begin_where_the_release_before_ends() {
    let facts = facts();
    for (field, since, start, slots) in TAILS {
        let table = table_of(field);
        let before = size(&facts, since - 1, table);
        assert_eq!(before, *start, "{table} before {since}");
        let of = size(&facts, *since, table);
        assert_eq!(of, start + slots.len(), "{table} of {since}");
    }
}

#[test]
fn every_release_has_the_floor_and_the_tails_up_to_it() {
    let facts = facts();
    for (field, floor) in [("api", OrtApi::SLOTS), ("ep_api", OrtEpApi::SLOTS)] {
        for version in FLOOR..=API_VERSION {
            let tails = TAILS
                .iter()
                .filter(|(of, since, ..)| *of == field && *since <= version)
                .map(|(.., slots)| slots.len());
            let declared = floor.len() + tails.sum::<usize>();
            let table = table_of(field);
            assert_eq!(declared, size(&facts, version, table), "{table} {version}");
        }
    }
}

extern "system" fn slot() {}

#[test]
fn a_tail_is_reached_only_on_hosts_that_have_it() {
    let facts = facts();
    for minor in FLOOR..=API_VERSION {
        let table = |name| vec![slot as extern "system" fn(); size(&facts, minor, name)];
        let (api, ep_api) = (table("OrtApi"), table("OrtEpApi"));
        // SAFETY: the tables have the slots of release `1.minor` (1) and outlive the host, which this turn of the loop
        // keeps to itself (2).
        let host = unsafe { Host::new(minor, api.as_ptr().cast(), ep_api.as_ptr().cast()) };
        let found = host.tail_addresses();
        assert_eq!(found.len(), TAILS.len());
        for ((field, since, start, slots), found) in TAILS.iter().zip(found) {
            let table = if *field == "api" { &api } else { &ep_api };
            let expected = (minor >= *since).then(|| table.as_ptr().wrapping_add(*start).addr());
            assert_eq!(found, expected, "{field} {since} of {minor}");
            assert!(found.is_none() || start + slots.len() <= table.len());
        }
    }
}

#[test]
fn callback_structs_are_those_of_the_headers() {
    let facts = facts();
    macro_rules! check_structs {
        ($( $Table:ident )*) => { $({
            let name = stringify!($Table);
            let members = facts["structs"][name].as_array().unwrap();
            assert_eq!(members[0]["field"], "u32", "{name}");
            assert_eq!(members[0]["name"], $Table::SLOTS[0], "{name}");
            check(&members[1..], $Table::SIGNATURES);
            // The spare words are ours, not the header's.
            let size = size_of::<$Table>() - size_of_val(&$Table::EMPTY.spare);
            assert_eq!(facts["sizes64"][name], size, "size of {name}");
        })* };
    }
    check_structs! {
        OrtEpFactory OrtEp OrtNodeComputeInfo OrtDataTransferImpl OrtSyncStreamImpl OrtSyncNotificationImpl
        OrtAllocator OrtEpProfilerImpl
    }
}

#[test]
fn an_empty_callback_struct_claims_our_version_and_nothing_else() {
    macro_rules! check_empty {
        ($( $Table:ident )*) => { $({
            let words = size_of::<$Table>() / size_of::<usize>();
            let table = $Table::EMPTY;
            let bytes = std::ptr::from_ref(&table).cast::<u8>();
            // The version is followed by padding, which has no value to look at.
            // SAFETY: the struct begins with its version, a `u32`.
            let version = unsafe { bytes.cast::<u32>().read() };
            assert_eq!(version, API_VERSION, stringify!($Table));
            for place in 1..words {
                // SAFETY: the offset is within the struct, `words` long.
                let word = unsafe { bytes.add(place * size_of::<usize>()) };
                // SAFETY: from the second word on every word is a callback or a spare integer, neither has padding.
                let word = unsafe { word.cast::<usize>().read() };
                assert_eq!(word, 0, "word {place} of {}", stringify!($Table));
            }
        })* };
    }
    check_empty! {
        OrtEpFactory OrtEp OrtNodeComputeInfo OrtDataTransferImpl OrtSyncStreamImpl OrtSyncNotificationImpl
        OrtAllocator OrtEpProfilerImpl
    }
}

#[test]
fn plain_structs_are_those_of_the_headers() {
    let facts = facts();
    let base = facts["structs"]["OrtApiBase"].as_array().unwrap();
    assert_eq!(check(base, OrtApiBase::SIGNATURES), base.len());
    assert_eq!(facts["sizes64"]["OrtApiBase"], size_of::<OrtApiBase>());

    let options = OrtNodeFusionOptions {
        ort_version_supported: 0,
        drop_constant_initializers: false,
    };
    let declared = [
        (
            "ort_version_supported",
            std::any::type_name_of_val(&options.ort_version_supported),
            std::mem::offset_of!(OrtNodeFusionOptions, ort_version_supported),
        ),
        (
            "drop_constant_initializers",
            std::any::type_name_of_val(&options.drop_constant_initializers),
            std::mem::offset_of!(OrtNodeFusionOptions, drop_constant_initializers),
        ),
    ];
    let members = facts["structs"]["OrtNodeFusionOptions"].as_array().unwrap();
    assert_eq!(members.len(), declared.len());
    for (fact, (name, kind, offset)) in members.iter().zip(declared) {
        assert_eq!(fact["name"], name);
        assert_eq!(fact["field"], kind, "{name}");
        assert_eq!(fact["offset64"], offset, "{name}");
    }
    let size = size_of::<OrtNodeFusionOptions>();
    assert_eq!(facts["sizes64"]["OrtNodeFusionOptions"], size);
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
