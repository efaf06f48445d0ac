//! Databases that others have open, and databases that are not what they seem.

use std::time::Instant;

use jetlag_bags::write::Format;
use jetlag_bags::{Bag, BagError, Limits};
use jetlag_record::units::Nanos;
use rusqlite::Connection;

use crate::bags::{messages, open, write};

fn hasty() -> Limits {
    Limits {
        wait: Nanos::from_millis(50),
        ..Limits::default()
    }
}

#[test]
fn a_locked_database_is_an_error_after_a_while() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(&folder.path().join("bag"), Format::Sqlite3, 3);
    let writer = Connection::open(&file).unwrap();
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let began = Instant::now();
    let refused = Bag::open(&file, &hasty()).unwrap_err();
    assert!(matches!(refused, BagError::Locked { .. }), "{refused}");
    assert!(began.elapsed().as_secs() < 60, "it waits for ever");
    writer.execute_batch("ROLLBACK").unwrap();
    assert_eq!(messages(&open(&file)).0.len(), 6);
}

#[test]
fn of_a_database_that_is_being_written_what_is_committed_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(&folder.path().join("bag"), Format::Sqlite3, 3);
    let writer = Connection::open(&file).unwrap();
    writer
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
        .unwrap();
    let insert =
        "INSERT INTO messages (topic_id, timestamp, data) VALUES (1, 2000000000000000000, x'00010000')";
    writer.execute(insert, []).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    writer.execute(insert, []).unwrap();
    let bag = open(&file);
    assert_eq!(messages(&bag).0.len(), 7);
    let text = bag.completeness().losses[0].to_string();
    assert!(text.contains("what is committed is read"), "{text}");
    writer.execute_batch("COMMIT").unwrap();
    assert_eq!(
        messages(&bag),
        (messages(&bag).0, 0),
        "rows that came later disturb nobody"
    );
    assert_eq!(messages(&open(&file)).0.len(), 8);
}

#[test]
fn reading_a_closed_database_leaves_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(&folder.path().join("bag"), Format::Sqlite3, 3);
    let writer = Connection::open(&file).unwrap();
    writer.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    drop(writer);
    let before = std::fs::read(&file).unwrap();
    assert_eq!(messages(&open(&file)).0.len(), 6);
    let names: Vec<_> = file
        .parent()
        .unwrap()
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn tables_that_are_not_those_of_a_bag_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let endless = "CREATE TABLE topics(id INTEGER PRIMARY KEY, name, type, serialization_format);
        CREATE VIEW messages AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
        SELECT x AS rowid, 1 AS topic_id, x AS timestamp, x'00' AS data FROM n;";
    for (n, (sql, table)) in [
        ("CREATE TABLE other(x)", "topics"),
        (
            "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT)",
            "messages",
        ),
        (
            "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE messages(x)",
            "topics",
        ),
        (endless, "messages"),
    ]
    .into_iter()
    .enumerate()
    {
        let path = folder.path().join(format!("{n}.db3"));
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let refused = Bag::open(&path, &hasty()).unwrap_err();
        assert!(
            matches!(refused, BagError::NoTable { table: found, .. } if found == table),
            "{n}: {refused}"
        );
    }
}

#[test]
fn rows_that_are_no_messages_are_passed_over_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.db3");
    let sql = "CREATE TABLE topics(id INTEGER PRIMARY KEY, name, type, serialization_format);
        CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id, timestamp, data);
        INSERT INTO topics VALUES (7, '/a', 'x/msg/Y', 'cdr');
        INSERT INTO messages VALUES (-5, 7, 1, x'00010000'), (2, 8, 1, x'00'), (3, NULL, 1, x'00'), (4, 7, 'late', x'00'),
            (5, 7, 2, NULL), (9223372036854775807, 7, -3, x'0001');";
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let bag = open(&path);
    let (read, refused) = messages(&bag);
    assert_eq!((read.len(), refused), (2, 0));
    assert_eq!((read[0].1.0, read[0].2.as_slice()), (-3, &[0, 1][..]));
    let text = bag.completeness().losses[0].to_string();
    assert!(text.contains("4 rows without topic or time"), "{text}");
}
