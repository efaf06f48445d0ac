//! A database of the fourth version of rosbag2's tables, which holds what the types are; older readers pass that over.

use std::collections::HashSet;
use std::path::Path;

use rusqlite::{Connection, Result, params};

use super::topic::Described;
use crate::time::Time;

const TABLES: &str = "
    CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);
    CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL, metadata TEXT NOT NULL);
    CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,
        serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL, type_description_hash TEXT NOT NULL);
    CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL, encoding TEXT NOT NULL,
        encoded_message_definition TEXT NOT NULL, type_description_hash TEXT NOT NULL);
    CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL, data BLOB NOT NULL);
    CREATE INDEX timestamp_idx ON messages (timestamp ASC);
    INSERT INTO schema VALUES (4, 'iron');
    BEGIN;
";

/// Writes a database, all in one transaction.
pub(super) struct SqliteWriter {
    connection: Connection,
    /// Types that were described.
    types: HashSet<String>,
    /// Compresses each message by itself.
    packer: Option<zstd::bulk::Compressor<'static>>,
}

/// Why a message could not be written.
pub(super) enum Refused {
    Sqlite(rusqlite::Error),
    Packing(std::io::Error),
}

impl SqliteWriter {
    pub(super) fn new(path: &Path, is_packed: bool) -> Result<Self, Refused> {
        let connection = Connection::open(path).map_err(Refused::Sqlite)?;
        connection.execute_batch(TABLES).map_err(Refused::Sqlite)?;
        let packer = is_packed.then(|| zstd::bulk::Compressor::new(1));
        Ok(SqliteWriter {
            connection,
            types: HashSet::new(),
            packer: packer.transpose().map_err(Refused::Packing)?,
        })
    }

    /// Describes a topic; topics are numbered from 1 on here.
    pub(super) fn topic(&mut self, number: u16, topic: &Described<'_>) -> Result<(), Refused> {
        let sql = "INSERT INTO topics VALUES (?1, ?2, ?3, ?4, ?5, '')";
        let row = params![
            i64::from(number) + 1,
            topic.name,
            topic.kind,
            topic.serialization,
            topic.qos
        ];
        self.connection.execute(sql, row).map_err(Refused::Sqlite)?;
        let (encoding, definition) = topic.definition;
        if !definition.is_empty() && self.types.insert(topic.kind.to_owned()) {
            let sql = "INSERT INTO message_definitions (topic_type, encoding, encoded_message_definition, \
                       type_description_hash) VALUES (?1, ?2, ?3, '')";
            let text = String::from_utf8_lossy(definition);
            let row = params![topic.kind, encoding, text];
            self.connection.execute(sql, row).map_err(Refused::Sqlite)?;
        }
        Ok(())
    }

    pub(super) fn message(&mut self, number: u16, time: Time, message: &[u8]) -> Result<(), Refused> {
        let packed = self.packer.as_mut().map(|packer| packer.compress(message));
        let packed = packed.transpose().map_err(Refused::Packing)?;
        let message = packed.as_deref().unwrap_or(message);
        let sql = "INSERT INTO messages (topic_id, timestamp, data) VALUES (?1, ?2, ?3)";
        self.connection
            .prepare_cached(sql)
            .and_then(|mut insert| insert.execute(params![i64::from(number) + 1, time.0, message]))
            .map_err(Refused::Sqlite)?;
        Ok(())
    }

    pub(super) fn finish(self, version: u32, metadata: &str) -> Result<()> {
        let sql = "INSERT INTO metadata (metadata_version, metadata) VALUES (?1, ?2)";
        self.connection.execute(sql, params![version, metadata])?;
        self.connection.execute_batch("COMMIT")?;
        self.connection.close().map_err(|(_, error)| error)
    }
}
