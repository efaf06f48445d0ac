//! What people brought, from public reports: each case answers what is right. The cases, and what is right of each, are those of
//! `scripts/try_reports.sh`, which tells of a case that differs what was expected and what came.

use std::process::Command;

use nvidia_doubles::machine;

/// The cases of this number are tried; a folder that is not there is skipped with a line.
fn tried(number: &str) {
    if machine::shared("data/reports").is_none() {
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/try_reports.sh");
    let output = Command::new("bash")
        .args([script, number])
        .env("JETLAG", env!("CARGO_BIN_EXE_jetlag"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && !said.contains("\n0 tried"), "{said}");
}

#[test]
fn a_quantity_that_a_cloud_lacks_is_found_by_its_other_names_or_told() {
    tried("01");
}

#[test]
fn networks_answer_as_onnx_runtime_does_or_are_refused_when_they_are_loaded() {
    for number in ["03", "04", "05", "06", "07", "08", "09", "11"] {
        tried(number);
    }
}

#[test]
fn a_proposal_is_what_the_file_says_of_itself() {
    for number in ["12", "13", "15"] {
        tried(number);
    }
}

#[test]
fn what_is_wrong_with_a_recording_is_told_and_the_rest_of_it_read() {
    for number in ["16", "18", "19", "20", "21", "32"] {
        tried(number);
    }
}

#[test]
fn what_a_dataset_does_not_say_is_told() {
    tried("23");
    tried("24");
    tried("25");
    tried("27");
}

#[test]
fn rails_without_labels_and_files_of_other_kinds_are_told_for_what_they_are() {
    for number in ["28", "29", "30"] {
        tried(number);
    }
}
