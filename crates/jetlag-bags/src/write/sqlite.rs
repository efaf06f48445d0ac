//! A database of the third version of rosbag2's tables, as ROS 2 Humble writes them.

use std::path::Path;

use rusqlite::{Connection, Result, params};

use crate::time::Time;

const TABLES: &str = "
    CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);
    CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL, metadata TEXT NOT NULL);
    CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,
        serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL);
    CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL, data BLOB NOT NULL);
    CREATE INDEX timestamp_idx ON messages (timestamp ASC);
    INSERT INTO schema VALUES (3, 'humble');
    BEGIN;
";

/// Writes a database, all in one transaction.
pub(super) struct SqliteWriter(Connection);

impl SqliteWriter {
    pub(super) fn new(path: &Path) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.execute_batch(TABLES)?;
        Ok(SqliteWriter(connection))
    }

    /// Describes a topic; topics are numbered from 1 on here.
    pub(super) fn topic(&mut self, number: u16, name: &str, kind: &str) -> Result<()> {
        let sql = "INSERT INTO topics VALUES (?1, ?2, ?3, 'cdr', '')";
        self.0.execute(sql, params![i64::from(number) + 1, name, kind])?;
        Ok(())
    }

    pub(super) fn message(&mut self, number: u16, time: Time, message: &[u8]) -> Result<()> {
        let sql = "INSERT INTO messages (topic_id, timestamp, data) VALUES (?1, ?2, ?3)";
        self.0
            .prepare_cached(sql)?
            .execute(params![i64::from(number) + 1, time.0, message])?;
        Ok(())
    }

    pub(super) fn finish(self, version: u32, metadata: &str) -> Result<()> {
        let sql = "INSERT INTO metadata (metadata_version, metadata) VALUES (?1, ?2)";
        self.0.execute(sql, params![version, metadata])?;
        self.0.execute_batch("COMMIT")?;
        self.0.close().map_err(|(_, error)| error)
    }
}
