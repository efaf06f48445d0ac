//! What a network takes beside its image: spoiled specs are told in a sentence before the run, and batches have each image's own.

use std::fs;
use std::path::Path;

use super::{Case, cases, made};
use crate::common::output::{assert_refused, run};

/// The network of RT-DETR's authors, and its spec.
fn rt_detr(folder: &Path) -> String {
    let all = cases();
    let case: &Case = all.iter().find(|case| case.name == "rt_detr_of_image").unwrap();
    made(folder, case);
    fs::read_to_string(folder.join("spec.ron")).unwrap()
}

#[test]
fn a_spec_that_the_network_does_not_fit_is_told_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let spec = rt_detr(folder);
    let entry = r#"(tensor: "orig_target_sizes", values: [ImageWidth, ImageHeight], element: I64)"#;
    for (to, words) in [
        (
            r#"(tensor: "orig_target_size", values: [ImageWidth, ImageHeight], element: I64)"#,
            "`orig_target_sizes` is probably meant",
        ),
        (
            r#"(tensor: "orig_target_sizes", values: [ImageWidth, ImageHeight, 1], element: I64)"#,
            "the shape of `orig_target_sizes` in `also[0]` is [1, 3], and must be [1, 2], which the network takes",
        ),
        (
            r#"(tensor: "orig_target_sizes", values: [ImageWidth, ImageHeight], element: I64, shape: [2])"#,
            "is [2], and must be [1, 2]",
        ),
        (
            r#"(tensor: "orig_target_sizes", values: [ImageWidth, ImageHeight])"#,
            "the `element` of `orig_target_sizes` in `also[0]` is F32, and must be int64, which the network takes",
        ),
    ] {
        assert!(spec.contains(entry));
        fs::write(folder.join("spec.ron"), spec.replacen(entry, to, 1)).unwrap();
        for line in [&["run", "spec.ron", "--dry-run"][..], &["inspect", "spec.ron"]] {
            assert_refused(&run(line, folder), 2, &[words, "spec.ron:1:"]);
        }
    }
    fs::write(folder.join("spec.ron"), spec.replacen(entry, "", 1)).unwrap();
    let told = [
        "its input is `orig_target_sizes`",
        "what it takes beside the image stands in `also`",
    ];
    assert_refused(&run(&["run", "spec.ron", "--dry-run"], folder), 2, &told);
    let told = [
        "the network's input is `orig_target_sizes`, the spec says `image`",
        "give it values in `also`",
    ];
    assert_refused(&run(&["run", "spec.ron", "--duration", "1s"], folder), 2, &told);
}
