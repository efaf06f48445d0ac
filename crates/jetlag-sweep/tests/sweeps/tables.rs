//! Tables: written, read again, and read by us where somebody else changed them.

use std::collections::BTreeMap;

use jetlag_figure::{Known, Support, Unit};
use jetlag_report::analysis::figures::Key;
use jetlag_sweep::journal::{Entry, Journal, encode};
use jetlag_sweep::table::{State, Table, read_csv, write_csv, write_json};
use jetlag_sweep::{Axis, Column, Estimate, Failure, FailureKind, FailureStage, Plan, of_run};
use serde_json::{Value, json};

use super::journals::{header, run};

fn table() -> Table {
    let mut plan = Plan {
        axes: vec![Axis::of("tenants.camera.arrival.hz", ["10", "30", "60"])],
        repeats: 2,
        ..Plan::default()
    };
    plan.axes[0].till_first_fail = true;
    let mut text = encode(&Entry::Columns {
        id: 0,
        columns: vec![
            Column::new("camera.response.p99", Unit::Ms),
            Column::new("camera.miss_rate", Unit::Factor),
            Column::new("clock.gpu.mean", Unit::Mhz),
        ],
    })
    .unwrap();
    for repeat in 0..2 {
        let mut run = run(&[("tenants.camera.arrival.hz", "10")], repeat);
        run.columns = Some(0);
        let clock = [1000.0, 1100.0][repeat as usize];
        run.figures = vec![
            Estimate::with(7.25, 7.0, 8.0),
            Estimate::default(),
            Estimate::plain(clock),
        ];
        run.networks = BTreeMap::from([("camera".to_owned(), "abc".to_owned())]);
        text += &encode(&Entry::Run(run)).unwrap();
    }
    let mut broken = run(&[("tenants.camera.arrival.hz", "30")], 0);
    broken.failed = Some(Failure {
        stage: FailureStage::Start,
        kind: FailureKind::OutOfMemory,
        tenant: Some("camera".to_owned()),
        message: "no room,\nof \"any\" kind".to_owned(),
    });
    text += &encode(&Entry::Run(broken)).unwrap();
    let journal = Journal::read(text.as_bytes()).unwrap();
    Table::of(&header(plan.clone()), &plan.points().unwrap(), &journal)
}

#[test]
fn every_run_has_a_row_whatever_became_of_it() {
    let table = table();
    let words: Vec<&str> = table.rows.iter().map(|row| row.state.word()).collect();
    assert_eq!(words, ["done", "done", "failed", "left", "skipped", "skipped"]);
    assert_eq!(table.rows[4].state, State::Skipped { after: 2 });
    assert_eq!(table.counts(), [2, 1, 2, 1]);
    // The clock of the second run is 10 % off the other's.
    assert!(table.rows.iter().any(|row| {
        row.findings
            .iter()
            .any(|code| code == "clocks-moved-between-runs")
    }));
}

#[test]
fn csv_and_json_have_the_same_and_csv_is_read_again() {
    let table = table();
    let mut csv = Vec::new();
    write_csv(&table, &mut csv).unwrap();
    let text = String::from_utf8(csv.clone()).unwrap();
    let head = text.lines().next().unwrap();
    assert!(
        head.starts_with("point,repeat,tenants.camera.arrival.hz,state,failed_stage,failed_kind,"),
        "{head}"
    );
    assert!(head.ends_with("camera.response.p99_ms,camera.response.p99_ms.low,camera.response.p99_ms.high,camera.miss_rate,clock.gpu.mean_mhz"));
    let again = read_csv(csv.as_slice()).unwrap();
    assert_eq!((again.axes.clone(), again.rows.len()), (table.axes.clone(), 6));
    assert_eq!(
        again.rows[0].figure("camera.response.p99"),
        Estimate::with(7.25, 7.0, 8.0)
    );
    assert_eq!(again.rows[0].figure("camera.miss_rate").value, None);
    assert_eq!(
        again.rows[2].state.failure().unwrap().kind,
        FailureKind::OutOfMemory
    );
    let mut json = Vec::new();
    write_json(&table, &mut json).unwrap();
    let value: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(
        value["runs"],
        json!({"done": 2, "failed": 1, "skipped": 2, "left": 1})
    );
    assert_eq!(
        value["rows"][0]["figures"]["camera.response.p99"],
        json!({"value": 7.25, "ci95": [7.0, 8.0], "unit": "ms"})
    );
    assert_eq!(value["rows"][2]["failed"]["kind"], "out-of-memory");
}

#[test]
fn an_axis_over_the_seed_is_the_column_of_the_seed() {
    let table = Table {
        axes: vec!["seed".to_owned()],
        ..table()
    };
    let mut csv = Vec::new();
    write_csv(&table, &mut csv).unwrap();
    let mut reader = csv::Reader::from_reader(csv.as_slice());
    let heads = reader.headers().unwrap().clone();
    assert_eq!(
        heads.iter().filter(|head| *head == "seed").count(),
        1,
        "{heads:?}"
    );
    // The reader refuses a row that has other cells than heads.
    assert_eq!(
        reader.records().filter(|row| row.is_ok()).count(),
        table.rows.len()
    );
}

#[test]
fn tables_that_are_none_are_sentences() {
    let head = "point,repeat,a,state,failed_kind,failed_message,findings,camera.response.p99_ms";
    for (text, said) in [
        (String::new(), "there is no column point"),
        ("x,y\n1,2".to_owned(), "there is no column point"),
        (head.to_owned(), "it has no row"),
        (
            format!("{head}\n1,1,2,done,,,"),
            "line 2: it has 7 cells, and the head has 8",
        ),
        (format!("{head}\n1,1,2,done,,,,fast"), "`fast` is no number"),
        (format!("{head}\n1,1,2,done,,,,inf"), "`inf` is no number"),
        (format!("{head}\n1,1,2,done,,,,-3"), "a time below zero"),
        (
            format!("{head}\none,1,2,done,,,,3"),
            "`one` is no number of a point",
        ),
        (
            format!("{head}\n1,1,2,perhaps,,,,3"),
            "none of done, failed, skipped, left",
        ),
    ] {
        let error = read_csv(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
    let many: String = (0..50).map(|_| "1,1,2,done,,,,x\n").collect();
    let error = read_csv(format!("{head}\n{many}").as_bytes())
        .unwrap_err()
        .to_string();
    assert!(error.contains("and 40 more"), "{error}");
    // A missing cell is a figure that is not known.
    let table = read_csv(format!("{head}\n1,1,2,done,,,,").as_bytes()).unwrap();
    assert_eq!(table.rows[0].figure("camera.response.p99").value, None);
}

#[test]
fn figures_of_a_run_have_the_names_of_expect_with_their_units() {
    let figure = |name: &str, known, support| jetlag_report::analysis::figures::Figure {
        key: Key::parse(name, &["camera"]).unwrap(),
        known,
        support,
    };
    let figures = of_run(&[
        figure(
            "camera.response.p99",
            Known::Measured(7.25),
            Support::Interval([7.0, 8.0]),
        ),
        figure("camera.response.p99_9", Known::Needs(6_636), Support::Nothing),
        figure("camera.dropped", Known::Measured(3.0), Support::Exact),
        figure("camera.energy.per_frame", Known::Measured(2.5), Support::ThisRun),
    ]);
    let heads: Vec<String> = figures.iter().map(|(column, _)| column.head()).collect();
    let wanted = [
        "camera.response.p99_ms",
        "camera.response.p99_9_ms",
        "camera.dropped",
        "energy.camera.per_frame_mj",
    ];
    assert_eq!(heads, wanted);
    let values: Vec<Estimate> = figures.iter().map(|(_, estimate)| *estimate).collect();
    let wanted = [
        Estimate::with(7.25, 7.0, 8.0),
        Estimate::default(),
        Estimate::plain(3.0),
        Estimate::plain(2.5),
    ];
    assert_eq!(values, wanted);
}
