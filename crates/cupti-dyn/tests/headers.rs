//! Offsets and lengths against NVIDIA's headers of six releases, by a C compiler.

#![allow(clippy::print_stderr, reason = "tests say how much they compared")]

use std::fmt::Write;
use std::process::Command;

use cupti_dyn::record;
use cupti_dyn::sys::{FieldRow, kinds, value_rows};
use nvidia_doubles::cupti::{Release, releases, stub_headers};
use nvidia_doubles::machine;

/// The text of a struct's body, from the header; none where the release has no such struct.
fn body<'a>(header: &'a str, structure: &str) -> Option<&'a str> {
    let end = header.find(&format!("}} {structure};"))?;
    let start = header[..end].rfind("typedef struct")?;
    Some(&header[start..end])
}

/// The newest struct of a name: `CUpti_ActivityKernel` is `CUpti_ActivityKernel9` in 12.4. The header of a release declares
/// the older ones as well.
fn newest(header: &str, structure: &str) -> Option<String> {
    let numbered = (2..40).rev().map(|number| format!("{structure}{number}"));
    numbered
        .chain([structure.to_owned()])
        .find(|name| body(header, name).is_some())
}

/// Whether the struct's body declares a field; what is nested is looked for by its last part.
fn declares(body: &str, field: &str) -> bool {
    let name = field.rsplit('.').next().expect("a part");
    // Comments name other fields.
    let mut code = String::new();
    let mut rest = body;
    while let Some(at) = rest.find("/*") {
        code.push_str(&rest[..at]);
        rest = rest[at..].find("*/").map_or("", |end| &rest[at + end + 2..]);
    }
    code.push_str(rest);
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    code.match_indices(name)
        .any(|(at, _)| !code[..at].ends_with(is_part) && !code[at + name.len()..].starts_with(is_part))
}

/// The claim about one field in one struct.
fn claim(row: &FieldRow, structure: &str, body: &str, text: &mut String) {
    let FieldRow {
        name,
        offset,
        width,
        from,
        ..
    } = row;
    // Members of a union that the header names by a type of its own.
    let is_there = match name.split_once('.') {
        Some((first, _)) => declares(body, first),
        None => declares(body, name),
    };
    let _ = match is_there {
        true => write!(
            text,
            "CLAIM(offsetof({structure}, {name}) == {offset}, \"{structure}.{name} lies elsewhere\");\n\
             CLAIM(sizeof((({structure}*)0)->{name}) == {width}, \"{structure}.{name} has another width\");\n\
             CLAIM(sizeof({structure}) >= {from}, \"{structure}.{name} is there and would not be read\");\n"
        ),
        false => writeln!(
            text,
            "CLAIM(sizeof({structure}) < {from}, \"{structure}.{name} is not there and would be read\");"
        ),
    };
}

/// A program whose claims a compiler proves, and how many there are.
fn program(release: &Release) -> (String, usize) {
    let read = |name: &str| std::fs::read_to_string(release.headers.join(name)).unwrap_or_default();
    let header = read("cupti_activity.h") + &read("cupti_activity_deprecated.h");
    let all = header.clone() + &read("cupti_callbacks.h") + &read("cupti_result.h");
    let mut text = "#include <stdbool.h>\n#include <stddef.h>\n#include <cupti_activity.h>\n#include <cupti_callbacks.h>\n\
        #define CLAIM _Static_assert\n"
        .to_owned();
    for row in record::fields() {
        let structure = row.kind.row().expect("a known kind").structure;
        if let Some(structure) = newest(&header, structure) {
            claim(
                &row,
                &structure,
                body(&header, &structure).expect("it is there"),
                &mut text,
            );
        }
    }
    for row in kinds().filter(|row| row.oldest > 0) {
        let Some(structure) = newest(&header, row.structure) else {
            continue;
        };
        let _ = writeln!(
            text,
            "CLAIM(sizeof({structure}) >= {}, \"{structure} is shorter than the oldest\");",
            row.oldest
        );
        let _ = writeln!(
            text,
            "CLAIM(sizeof({structure}) <= {}, \"{structure} is longer than the newest\");",
            row.newest
        );
        let name = format!("CUPTI_ACTIVITY_KIND_{}", row.name);
        if declares(&all, &name) {
            let _ = writeln!(
                text,
                "CLAIM({name} == {}, \"{name} is another number\");",
                row.kind.0
            );
        }
    }
    for row in value_rows().filter(|row| declares(&all, row.name)) {
        let _ = writeln!(
            text,
            "CLAIM({} == {}, \"{} is another number\");",
            row.name, row.value, row.name
        );
    }
    let claims = text.matches("CLAIM(").count();
    (text, claims)
}

#[test]
fn a_c_compiler_finds_every_field_where_the_crate_reads_it() {
    let folder = tempfile::tempdir().expect("a folder");
    for release in releases() {
        let (text, claims) = program(&release);
        let file = folder.path().join(format!("claims-{}.c", release.name));
        std::fs::write(&file, text).expect("written");
        let built = Command::new("cc")
            .args(["-std=c11", "-fsyntax-only", "-isystem"])
            .arg(stub_headers())
            .arg("-isystem")
            .arg(&release.headers)
            .arg(&file)
            .output();
        let Ok(built) = built else {
            machine::missing(&["JETLAG_REQUIRE_CUPTI"], "there is no C compiler");
            return;
        };
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{}:\n{said}", release.name);
        eprintln!("{}: {claims} claims hold", release.name);
        assert!(claims > 600, "{}: only {claims} claims", release.name);
    }
}

#[test]
fn a_wrong_claim_is_found() {
    let Some(release) = releases().pop() else { return };
    let row = record::fields().next().expect("a field");
    let structure = row.kind.row().expect("a kind").structure;
    let header = std::fs::read_to_string(release.headers.join("cupti_activity.h")).expect("read");
    let structure = newest(&header, structure).expect("it is there");
    let wrong = FieldRow {
        offset: row.offset + 4,
        ..row
    };
    let mut text = "#include <stddef.h>\n#include <stdbool.h>\n#include <cupti_activity.h>\n#define CLAIM _Static_assert\n".to_owned();
    claim(
        &wrong,
        &structure,
        body(&header, &structure).expect("it is there"),
        &mut text,
    );
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("wrong.c");
    std::fs::write(&file, text).expect("written");
    let built = Command::new("cc")
        .args(["-std=c11", "-fsyntax-only", "-isystem"])
        .arg(stub_headers())
        .arg("-isystem")
        .arg(&release.headers)
        .arg(&file)
        .output()
        .expect("a C compiler");
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(
        !built.status.success() && said.contains("lies elsewhere"),
        "{said}"
    );
}
