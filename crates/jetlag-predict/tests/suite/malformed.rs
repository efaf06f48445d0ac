//! Tables that are wrong: a sentence each, with file, line and column.

use std::path::Path;

use jetlag_predict::{EvalOptions, FitOptions, PredictError, Target, dataset, eval, fit};
use proptest::prelude::*;

const LAYERS: &str =
    "ic,oc,k_h,k_w,stride,pad_h,pad_w,groups,ip_h,ip_w,op_h,op_w\n3,16,3,3,1,1,1,1,32,32,32,32\n";
const HEAD: &str = "network,level,bs,passed,latency_ms\n";

fn write(folder: &Path, layers: &str, rows: &str) {
    std::fs::create_dir_all(folder.join("layers")).unwrap();
    std::fs::create_dir_all(folder.join("tx2_training_latency")).unwrap();
    for level in [0, 10, 30] {
        std::fs::write(folder.join(format!("layers/net_{level}.csv")), layers).unwrap();
    }
    std::fs::write(folder.join("tx2_training_latency/net.csv"), rows).unwrap();
}

/// What is said of a folder with these layers and rows.
fn said(layers: &str, rows: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), layers, rows);
    let data = match dataset::open(folder.path()) {
        Ok(data) => data,
        Err(error) => return error.to_string(),
    };
    match fit(
        &data,
        &FitOptions {
            trees: 3,
            ..FitOptions::default()
        },
    ) {
        Ok(_) => "fitted".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn rows(value: impl Fn(u32) -> String) -> String {
    let mut text = HEAD.to_owned();
    for level in [0, 10] {
        for batch in 1..=6 {
            text += &format!("net,{level},{batch},True,{}\n", value(batch));
        }
    }
    text
}

#[test]
fn wrong_cells_are_named() {
    let good = rows(|batch| format!("{}", 10 * batch));
    assert_eq!(said(LAYERS, &good), "fitted");
    let cases = [
        (
            good.replace("True,20", "True,"),
            "line 3, column \"latency_ms\": \"\"",
        ),
        (good.replace("True,20", "True,fast"), "\"fast\" where a number"),
        (
            good.replace("True,20", "True,-20"),
            "\"-20\" where a number between",
        ),
        (good.replace("True,20", "True,0"), "\"0\" where"),
        (good.replace("True,20", "True,NaN"), "\"NaN\" where"),
        (good.replace("True,20", "True,inf"), "\"inf\" where"),
        (good.replace("True,20", "maybe,20"), "True or False"),
        (good.replace("net,0,2,", "net,0,x,"), "a batch of 1"),
        (good.replace("net,0,2,", "net,0,0,"), "a batch of 1"),
        (good.replace("net,0,2,", ",0,2,"), "a name"),
        (
            good.replace("latency_ms", "ms"),
            "no column \"latency_ms\"; it has: network",
        ),
        (
            good.replace("net,0,2,True,20", "net,0,2,True"),
            "not a line of a table",
        ),
        (
            HEAD.to_owned(),
            "0 failed, 0 are of networks whose layers are not known",
        ),
        (String::new(), "no column"),
        (format!("{HEAD}net,0,2,True,20\n"), "1 row of 1 network variant"),
        (rows(|_| "7".to_owned()), "all 12 values are 7"),
        (
            good.replace("net,", "other,"),
            "12 are of networks whose layers are not known",
        ),
        (good.replace("True", "False"), "12 failed"),
    ];
    for (rows, wanted) in cases {
        let said = said(LAYERS, &rows);
        assert!(said.contains(wanted), "{said}\nwanted: {wanted}");
    }
}

#[test]
fn wrong_layers_are_named() {
    let rows = rows(|batch| format!("{}", 10 * batch));
    let cases = [
        (
            LAYERS.replace("3,16,3", "3,0,3"),
            "line 2: layer \"layer 0\" has output channels 0",
        ),
        (LAYERS.replace("3,16,3", "3,x,3"), "a whole number"),
        (LAYERS.replace("3,16,3", "3,-16,3"), "a whole number"),
        (
            LAYERS.replace("3,16,3", "3,4000000000,3"),
            "output channels 4000000000; expected 1 to 1048576",
        ),
        (
            LAYERS.replace("1,1,1,1,32", "1,1,1,2,32"),
            "2 groups, which do not divide",
        ),
        (LAYERS.replace("16,3,3,1", "16,99,3,1"), "a kernel of 99"),
        (LAYERS.replace(",oc", ",out"), "no column \"oc\""),
        (LAYERS.lines().next().unwrap().to_owned(), "no layers"),
    ];
    for (layers, wanted) in cases {
        let said = said(&layers, &rows);
        assert!(said.contains(wanted), "{said}\nwanted: {wanted}");
    }
}

#[test]
fn a_folder_without_measurements_says_what_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let said = dataset::open(folder.path()).unwrap_err().to_string();
    assert!(
        said.contains("layers") && said.contains("BOARD_STAGE_TARGET"),
        "{said}"
    );
    std::fs::create_dir(folder.path().join("layers")).unwrap();
    assert!(
        dataset::open(folder.path())
            .unwrap_err()
            .to_string()
            .contains("no folder of measurements")
    );
}

#[test]
fn failed_rows_may_hold_anything_and_are_never_fitted() {
    let good = rows(|batch| format!("{}", 10 * batch));
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        LAYERS,
        &(good.clone() + "net,0,7,False,\nnet,0,8,False,1e99\nnet,0,9,False,oops\n"),
    );
    let data = dataset::open(folder.path()).unwrap();
    assert_eq!((data.rows.len(), data.failed.len()), (12, 3));
    let without = tempfile::tempdir().unwrap();
    write(without.path(), LAYERS, &good);
    let options = FitOptions {
        trees: 3,
        ..FitOptions::default()
    };
    let (with, without) = (
        fit(&data, &options).unwrap(),
        fit(&dataset::open(without.path()).unwrap(), &options).unwrap(),
    );
    assert_eq!(with.targets(), without.targets());
}

#[test]
fn stalls_are_found_by_their_neighbours() {
    let text = |last: &str| {
        format!("{HEAD}net,0,1,True,30\nnet,0,2,True,35\nnet,0,4,True,60\nnet,0,8,True,{last}\n")
    };
    let stalls = |rows: &str| {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), LAYERS, rows);
        let data = dataset::open(folder.path()).unwrap();
        data.stalls
            .iter()
            .map(|stall| (stall.batch, stall.expected_at_most))
            .collect::<Vec<_>>()
    };
    assert_eq!(stalls(&text("119")), []);
    assert_eq!(stalls(&text("400")), [(8, 120.0)]);
    // In the middle, and at the begin.
    assert_eq!(
        stalls(&text("119").replace("2,True,35", "2,True,500")),
        [(2, 60.0)]
    );
    assert_eq!(
        stalls(&text("119").replace("1,True,30", "1,True,900")),
        [(1, 35.0)]
    );
    // A change that stays is no stall.
    assert_eq!(stalls(&format!("{}net,0,16,True,3200\n", text("1600"))).len(), 0);
    // Among three repetitions.
    assert_eq!(
        stalls(&format!("{}net,0,8,True,121\nnet,0,8,True,900\n", text("119"))),
        [(8, 121.0)]
    );
}

#[test]
fn the_published_split_must_find_its_levels() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        LAYERS,
        &rows(|batch| format!("{}", 10 * batch)).replace("net,10,", "net,30,"),
    );
    let data = dataset::open(folder.path()).unwrap();
    let wrong = eval(&data, None, &EvalOptions::default()).unwrap_err();
    assert!(matches!(wrong, PredictError::Split { score: 0, .. }), "{wrong}");
    let power = EvalOptions {
        targets: vec![Target::Power],
        ..EvalOptions::default()
    };
    assert!(
        eval(&data, None, &power)
            .unwrap_err()
            .to_string()
            .contains("training latency")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever tables hold, there is a model or a sentence.
    #[test]
    fn no_table_panics(layers in "(ic|oc|k_h|3|0|1|,|\n|x|-|\"){0,60}", rows in "(network|net|0|7|1e9|True|False|,|\n|\"|é){0,60}") {
        for (layers, rows) in [(layers.clone(), rows.clone()), (LAYERS.to_owned() + &layers, HEAD.to_owned() + &rows)] {
            prop_assert!(!said(&layers, &rows).is_empty());
        }
    }
}
