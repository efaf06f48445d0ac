//! Every slot, signature and enum value of the crate against the recorded tables of 35 releases
//! (`../shared/tensorrt-abi/versions`), made by a C++ compiler from the releases' headers.

#![allow(clippy::print_stderr, reason = "tests say how much they compared")]

use std::fs;

use nvidia_doubles::machine;
use serde_json::Value;
use tensorrt_dyn::sys::method::Row;
use tensorrt_dyn::sys::{rows, value_rows};
use tensorrt_dyn::{Flavour, Version};

/// The recorded table of one release.
struct Release {
    version: Version,
    table: Value,
}

/// The releases that the crate accepts.
fn releases() -> Vec<Release> {
    let Some(folder) = machine::shared("tensorrt-abi/versions") else {
        return Vec::new();
    };
    let mut releases = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let table: Value = serde_json::from_slice(&fs::read(path).expect("read")).expect("JSON");
        let number = i32::try_from(table["NV_TENSORRT_VERSION"].as_i64().expect("a number")).expect("fits");
        if let Ok(version) = Version::from_number(number) {
            let family = if version.flavour == Flavour::Rtx {
                "rtx"
            } else {
                "trt"
            };
            assert_eq!(table["family"], family, "{version}");
            releases.push(Release { version, table });
        }
    }
    assert!(releases.len() > 30, "only {} releases", releases.len());
    releases
}

/// The Rust type that stands for a C++ type of the tables.
fn rust_type(cpp: &str) -> String {
    let plain = cpp.replace("/*ref*/", "");
    let plain = plain.trim();
    if let Some(width) = plain
        .strip_prefix("enum ")
        .and_then(|rest| rest.rsplit(':').next())
    {
        return rust_type(width);
    }
    match plain {
        "void" => "()",
        "bool" => "bool",
        "float" => "f32",
        "int32_t" => "i32",
        "uint32_t" => "u32",
        "int64_t" => "i64",
        "uint64_t" => "u64",
        "Dims32 (by value)" => "Dims32",
        "Dims64 (by value)" => "Dims64",
        "const char*" => "*const c_char",
        "const char**" => "*mut *const c_char",
        "const int32_t*" => "*const i32",
        "const int64_t*" => "*const i64",
        "int32_t*" => "*mut i32",
        "uint64_t*" => "*mut u64",
        "const Dims32*" => "*const Dims32",
        "const Dims64*" => "*const Dims64",
        "CUstream_st*" => "Stream",
        "CUevent_st*" => "Event",
        "CUstream_st**" => "*mut Stream",
        other if other.ends_with('*') && other.starts_with("const ") => "*const c_void",
        other if other.ends_with('*') => "*mut c_void",
        other => panic!("no Rust type for {other}"),
    }
    .to_owned()
}

/// A slot's signature as the crate's tables write it.
fn signature(slot: &Value) -> String {
    let parameters: Vec<String> = slot["params"]
        .as_array()
        .expect("parameters")
        .iter()
        .map(|parameter| rust_type(parameter[0].as_str().expect("a type")))
        .collect();
    let result = rust_type(slot["ret"].as_str().expect("a type"));
    let arrow = if result == "()" {
        String::new()
    } else {
        format!(" -> {result}")
    };
    format!("fn({}){arrow}", parameters.join(", "))
}

fn without_blanks(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// The slots of a release that are called what a row is called, with their signatures.
fn recorded(release: &Release, row: &Row) -> Vec<(usize, String)> {
    let slots = release.table["vtables"][row.class]["slots"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let named = slots.into_iter().filter(|slot| slot["name"] == row.name);
    // Overloads that the crate does not call may have types that it has no name for.
    let known = named.filter(|slot| !slot["params"].to_string().contains("IStreamReader"));
    known
        .map(|slot| {
            (
                slot["slot"].as_u64().expect("a number") as usize,
                signature(&slot),
            )
        })
        .collect()
}

#[test]
fn every_slot_and_signature_is_what_the_releases_headers_say() {
    let mut compared = 0;
    for release in releases() {
        for row in rows() {
            let ours = row.index(release.version);
            let theirs = recorded(&release, row)
                .into_iter()
                .find(|(_, signature)| without_blanks(signature) == without_blanks(row.signature))
                .map(|(slot, _)| slot);
            assert_eq!(
                ours, theirs,
                "{}::{} {} in {}",
                row.class, row.name, row.signature, release.version
            );
            compared += 1;
        }
    }
    eprintln!("{compared} slots compared");
}

#[test]
fn every_method_of_a_release_under_a_name_in_the_table_is_reachable() {
    for release in releases() {
        for row in rows() {
            for (slot, signature) in recorded(&release, row) {
                let reached = rows().any(|other| {
                    (other.class, other.name) == (row.class, row.name)
                        && other.index(release.version) == Some(slot)
                });
                // The one overload that is not used: auxiliary streams of each compute capability.
                let is_spare = row.name == "setMaxAuxStreams" && signature.contains("i32, i32");
                assert!(
                    reached || is_spare,
                    "{}::{} {signature} of {} has no row",
                    row.class,
                    row.name,
                    release.version
                );
            }
        }
    }
}

#[test]
fn every_enum_value_is_what_the_releases_headers_say() {
    let mut compared = 0;
    for release in releases() {
        for row in value_rows() {
            let recorded = release.table["enums"][row.class]["values"][row.name].as_i64();
            assert_eq!(
                row.value(release.version).map(i64::from),
                recorded,
                "{}::{} in {}",
                row.class,
                row.name,
                release.version
            );
            compared += 1;
        }
    }
    eprintln!("{compared} values compared");
}

#[test]
fn wrappers_carry_their_implementation_in_the_second_word_and_their_destructor_in_slot_1() {
    for release in releases() {
        let wrappers = release.table["wrappers"].as_object().expect("wrappers");
        for (name, wrapper) in wrappers {
            assert_eq!(wrapper["mImpl_offset"], 8, "{name} in {}", release.version);
            assert_eq!(
                wrapper["vtable"][1], "~deleting(D0)",
                "{name} in {}",
                release.version
            );
        }
    }
}

#[test]
fn structs_have_the_sizes_of_the_releases_headers() {
    use tensorrt_dyn::sys::layout::{Dims32, Dims64, InterfaceInfo};
    for release in releases() {
        let structs = &release.table["structs"];
        let ours = if release.version.era().has_32_bit_dims() {
            size_of::<Dims32>()
        } else {
            size_of::<Dims64>()
        };
        assert_eq!(structs["Dims"]["size"], ours, "{}", release.version);
        if let Some(size) = structs["InterfaceInfo"]["size"].as_u64() {
            assert_eq!(size as usize, size_of::<InterfaceInfo>(), "{}", release.version);
        }
    }
}
