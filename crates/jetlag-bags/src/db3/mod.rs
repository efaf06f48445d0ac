//! Bags as SQLite databases (.db3): opened for reading only, with every message found by its row number.
//!
//! A database is a program's input like any other: its tables must be tables and not views, which could compute for ever, and
//! no row may be longer than a message. How it is opened depends on who else has it open. One that nobody writes is opened as
//! immutable where it was last written with a write-ahead log, since SQLite would otherwise make files beside it. One that is being
//! written is read as far as it is committed, and one that is locked is waited for, but not for long.

mod rows;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags, Row, ffi};

pub(crate) use rows::RowReader;

use crate::completeness::Loss;
use crate::compression::Compression;
use crate::contents::{Contents, Entry, NO_CHUNK, TopicContents};
use crate::definition::Definition;
use crate::limits::TOPICS;
use crate::time::Time;
use crate::{BagError, Limits};

/// A database whose messages were found.
#[derive(Debug)]
pub(crate) struct Database {
    /// As messages of errors name it.
    pub(crate) path: PathBuf,
    /// Where it lies: elsewhere, if it was unpacked.
    place: PathBuf,
    access: Access,
    /// Whether it is shorter than it says, which SQLite does not accept unless told to.
    is_cut: bool,
}

/// Who else may have a database open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// Nobody writes it.
    Immutable,
    /// Somebody may.
    Shared,
}

const MESSAGES: &str = "SELECT rowid, topic_id, timestamp, octet_length(data) FROM messages ORDER BY rowid";
const MESSAGE: &str = "SELECT data FROM messages WHERE rowid = ?1";
const FRONT: &str = "SELECT substr(data, 1, 12) FROM messages WHERE rowid = ?1";

/// Finds the messages of a database.
///
/// # Errors
/// It is locked or cannot be read, is no bag, or has more than may be read. Where it is damaged or cut off, what comes before is
/// found, and the contents say so.
pub(crate) fn open(
    path: &Path,
    place: &Path,
    number: u32,
    limits: &Limits,
    before: u64,
) -> Result<(Database, Contents), BagError> {
    let mut contents = Contents::new(limits.messages, before);
    let mut database = Database {
        path: path.to_owned(),
        place: place.to_owned(),
        access: access(place),
        is_cut: false,
    };
    if is_being_written(place) {
        contents.losses.push(Loss::BeingWritten {
            path: path.to_owned(),
        });
    }
    database.is_cut = is_cut(place);
    let connection = match database.connect(limits) {
        Err(BagError::Sqlite { error, .. }) if is_damage(&error) => {
            database.is_cut = true;
            database.connect(limits)?
        }
        other => other?,
    };
    database.require_table(&connection, "topics")?;
    database.require_table(&connection, "messages")?;
    let mut search = Search {
        database: &database,
        number,
        bad_rows: 0,
        contents: &mut contents,
    };
    let result = search
        .topics(&connection)
        .and_then(|()| search.messages(&connection));
    let rows = search.bad_rows;
    if rows > 0 {
        contents.losses.push(Loss::Rows {
            path: path.to_owned(),
            rows,
        });
    }
    let problem = match result {
        Ok(()) if database.is_cut => "it is shorter than it says".to_owned(),
        Ok(()) => {
            check(&database, &connection, limits, &mut contents);
            return Ok((database, contents));
        }
        Err(BagError::Sqlite { error, .. }) if is_damage(&error) => error.to_string(),
        Err(other) => return Err(other),
    };
    contents.losses.push(Loss::Database {
        path: path.to_owned(),
        problem,
        messages: contents.messages,
    });
    Ok((database, contents))
}

/// Has SQLite look whether the parts of a database fit together: rows that nothing leads to any more are missing without an error. A
/// database has no checksums, so of bytes that were changed within a message nobody knows.
fn check(database: &Database, connection: &Connection, limits: &Limits, contents: &mut Contents) {
    let length = std::fs::metadata(&database.place).map_or(0, |about| about.len());
    if length > limits.checked_bytes.0 {
        contents.unchecked = 1;
        return;
    }
    let found = connection
        // Whatever a stranger's table asks for is not computed.
        .pragma_update(None, "ignore_check_constraints", true)
        .and_then(|()| connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0)));
    let problem = match found {
        Ok(said) if said == "ok" => return,
        Ok(said) => said
            .trim_start_matches("*** in database main ***")
            .trim()
            .replace('\n', " "),
        Err(error) => error.to_string(),
    };
    contents.losses.push(Loss::Unsound {
        path: database.path.clone(),
        problem,
        messages: contents.messages,
    });
}

impl Database {
    /// Opens it, for one reader.
    ///
    /// # Errors
    /// It is locked or cannot be read.
    fn connect(&self, limits: &Limits) -> Result<Connection, BagError> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let connect = || {
            let connection = Connection::open_with_flags(uri(&self.place, self.access), flags)?;
            connection.busy_timeout(limits.wait.to_std())?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
            // A row is a message and three numbers.
            let longest = limits.message_bytes.0.saturating_add(1 << 10);
            connection.set_limit(
                Limit::SQLITE_LIMIT_LENGTH,
                i32::try_from(longest).unwrap_or(i32::MAX),
            )?;
            if self.is_cut {
                // Otherwise a database with fewer pages than its header counts is refused altogether. Nothing can be written.
                connection.pragma_update(None, "writable_schema", true)?;
            }
            // The first access to the file, which is where locks and damage show.
            connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
            Ok(connection)
        };
        connect().map_err(|error| self.refused(error))
    }

    /// A message by its row number, to the end of `into`.
    ///
    /// # Errors
    /// There is no such message, or it cannot be read.
    fn message(&self, connection: &Connection, row: u64, into: &mut Vec<u8>) -> Result<(), BagError> {
        self.query(connection, MESSAGE, row, into)
    }

    /// The first 12 bytes of a message, or all of a shorter one, to the end of `into`.
    ///
    /// # Errors
    /// Those of [`Database::message`].
    fn front(&self, connection: &Connection, row: u64, into: &mut Vec<u8>) -> Result<(), BagError> {
        self.query(connection, FRONT, row, into)
    }

    fn query(
        &self,
        connection: &Connection,
        sql: &str,
        row: u64,
        into: &mut Vec<u8>,
    ) -> Result<(), BagError> {
        let row = row as i64; // As it was noted.
        // Prepared once: the connection keeps it.
        let mut statement = connection
            .prepare_cached(sql)
            .map_err(|error| self.refused(error))?;
        let is_there = statement
            .query_row([row], |found| match found.get_ref(0)? {
                ValueRef::Blob(bytes) | ValueRef::Text(bytes) => {
                    into.extend_from_slice(bytes);
                    Ok(true)
                }
                _ => Ok(false),
            })
            .or_else(|error| match error {
                Error::QueryReturnedNoRows => Ok(false),
                error if is_damage(&error) => Ok(false),
                other => Err(self.refused(other)),
            })?;
        if is_there {
            return Ok(());
        }
        Err(BagError::NoRow {
            path: self.path.clone(),
            row,
        })
    }

    /// A view could compute anything, and a virtual table be anything: only real tables have pages.
    fn require_table(&self, connection: &Connection, table: &'static str) -> Result<(), BagError> {
        if self.has_table(connection, table)? {
            return Ok(());
        }
        Err(BagError::NoTable {
            path: self.path.clone(),
            table,
        })
    }

    fn has_table(&self, connection: &Connection, table: &'static str) -> Result<bool, BagError> {
        let sql = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1 AND rootpage > 0";
        let found: i64 = connection
            .query_row(sql, [table], |row| row.get(0))
            .map_err(|error| self.refused(error))?;
        Ok(found == 1)
    }

    fn refused(&self, error: Error) -> BagError {
        let path = self.path.clone();
        match code_of(&error) {
            Some(code) if matches!(code.code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                BagError::Locked { path }
            }
            Some(code)
                if matches!(code.code, ErrorCode::ReadOnly | ErrorCode::CannotOpen)
                    && is_being_written(&self.place) =>
            {
                BagError::Unclosed { path }
            }
            _ => BagError::Sqlite { path, error },
        }
    }
}

/// What SQLite says, of errors that come from it.
fn code_of(error: &Error) -> Option<ffi::Error> {
    match error {
        Error::SqliteFailure(code, _) | Error::SqlInputError { error: code, .. } => Some(*code),
        _ => None,
    }
}

/// Whether an error means that what is in the file is wrong, and not that it may not be read.
fn is_damage(error: &Error) -> bool {
    let code = code_of(error).map(|code| (code.code, code.extended_code));
    match code {
        Some((ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _)) => true,
        // A page that the file does not have.
        Some((_, ffi::SQLITE_IOERR_SHORT_READ)) => true,
        _ => false,
    }
}

fn beside(place: &Path, ending: &str) -> u64 {
    let mut name = place.as_os_str().to_owned();
    name.push(ending);
    std::fs::metadata(name).map_or(0, |facts| facts.len())
}

/// Whether a database has fewer bytes than its header counts, or a part of a page. SQLite fills what is missing of a page with
/// zeros, and refuses a file with fewer pages; while it is being written, the header may be ahead.
fn is_cut(place: &Path) -> bool {
    let mut head = [0; 100];
    let Ok(file) = jetlag_record::files::open(place) else {
        return false;
    };
    let Ok(length) = file.metadata().map(|facts| facts.len()) else {
        return false;
    };
    if !crate::positioned::read_at(&file, 0, &mut head).is_ok_and(|got| got == head.len())
        || is_being_written(place)
    {
        return false;
    }
    let number = |at: usize| {
        head[at..]
            .first_chunk()
            .map_or(0, |bytes| u32::from_be_bytes(*bytes))
    };
    let page = match u64::from(u16::from_be_bytes([head[16], head[17]])) {
        1 => 1 << 16,
        size => size.max(1),
    };
    // The count holds if the last change was made by a program that keeps it.
    let counted = if number(24) == number(92) {
        u64::from(number(28))
    } else {
        0
    };
    !length.is_multiple_of(page) || length < counted * page
}

/// Whether there are changes beside a database that are not in it yet.
fn is_being_written(place: &Path) -> bool {
    beside(place, "-wal") > 0 || beside(place, "-journal") > 0
}

fn access(place: &Path) -> Access {
    let mut head = [0; 20];
    let read =
        jetlag_record::files::open(place).and_then(|file| crate::positioned::read_at(&file, 0, &mut head));
    // Bytes 18 and 19 are 2 where it was last written with a write-ahead log.
    let has_log = read.is_ok_and(|got| got == head.len()) && head[18] == 2;
    match has_log && !is_being_written(place) {
        true => Access::Immutable,
        false => Access::Shared,
    }
}

/// As SQLite wants the name of a file that comes with options.
fn uri(place: &Path, access: Access) -> String {
    use std::fmt::Write;
    let mut uri = String::from("file:");
    for byte in place.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                uri.push(char::from(*byte))
            }
            other => {
                let _ = write!(uri, "%{other:02x}");
            }
        }
    }
    uri.push_str(match access {
        Access::Immutable => "?mode=ro&immutable=1",
        Access::Shared => "?mode=ro",
    });
    uri
}

struct Search<'a> {
    database: &'a Database,
    number: u32,
    bad_rows: u64,
    contents: &'a mut Contents,
}

impl Search<'_> {
    fn topics(&mut self, connection: &Connection) -> Result<(), BagError> {
        let definitions = self.definitions(connection)?;
        let refused = |error| self.database.refused(error);
        let with_qos = "SELECT id, name, type, serialization_format, offered_qos_profiles FROM topics";
        // As the first versions of ROS 2 have it.
        let without = "SELECT id, name, type, serialization_format, '' FROM topics";
        let mut statement = connection
            .prepare(with_qos)
            .or_else(|_| connection.prepare(without))
            .map_err(|error| match code_of(&error).map(|code| code.code) {
                // A column is missing.
                Some(ErrorCode::Unknown) => BagError::NoTable {
                    path: self.database.path.clone(),
                    table: "topics",
                },
                _ => refused(error),
            })?;
        let mut rows = statement.query([]).map_err(refused)?;
        while let Some(row) = rows.next().map_err(refused)? {
            let Some(id) = integer(row, 0) else {
                self.bad_rows += 1;
                continue;
            };
            let kind = text(row, 2);
            self.contents
                .describe(&self.database.path, id, || TopicContents {
                    name: text(row, 1),
                    definition: definitions.get(&kind).cloned(),
                    kind,
                    serialization: text(row, 3),
                    qos: text(row, 4),
                    entries: Vec::new(),
                    compression: Vec::new(),
                })?;
        }
        Ok(())
    }

    /// What the types are, in databases that tell.
    fn definitions(&mut self, connection: &Connection) -> Result<HashMap<String, Arc<Definition>>, BagError> {
        let mut found = HashMap::new();
        if !self.database.has_table(connection, "message_definitions")? {
            return Ok(found);
        }
        let sql = "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions";
        let Ok(mut statement) = connection.prepare(sql) else {
            return Ok(found); // Of other columns: nothing is told.
        };
        let refused = |error| self.database.refused(error);
        let mut rows = statement.query([]).map_err(refused)?;
        while let Some(row) = rows.next().map_err(refused)? {
            if found.len() >= TOPICS {
                break;
            }
            let (encoding, definition) = (text(row, 1), text(row, 2));
            let definition = self
                .contents
                .definition(encoding.as_bytes(), definition.as_bytes());
            found.extend(definition.map(|definition| (text(row, 0), definition)));
        }
        Ok(found)
    }

    fn messages(&mut self, connection: &Connection) -> Result<(), BagError> {
        let refused = |error| self.database.refused(error);
        let mut statement =
            connection
                .prepare(MESSAGES)
                .map_err(|error| match code_of(&error).map(|code| code.code) {
                    Some(ErrorCode::Unknown) => BagError::NoTable {
                        path: self.database.path.clone(),
                        table: "messages",
                    },
                    _ => refused(error),
                })?;
        let mut rows = statement.query([]).map_err(refused)?;
        while let Some(row) = rows.next().map_err(refused)? {
            let found = (integer(row, 0), integer(row, 1), integer(row, 2), integer(row, 3));
            let (Some(row), Some(topic), Some(time), Some(length)) = found else {
                self.bad_rows += 1;
                continue;
            };
            let entry = Entry {
                log_time: Time(time),
                place: row as u64,
                length: u32::try_from(length).unwrap_or(u32::MAX),
                file: self.number,
                chunk: NO_CHUNK,
            };
            if !self
                .contents
                .add(&self.database.path, topic, entry, Compression::None)?
            {
                self.bad_rows += 1;
            }
        }
        Ok(())
    }
}

fn integer(row: &Row<'_>, column: usize) -> Option<i64> {
    match row.get_ref(column) {
        Ok(ValueRef::Integer(value)) => Some(value),
        _ => None,
    }
}

fn text(row: &Row<'_>, column: usize) -> String {
    match row.get_ref(column) {
        Ok(ValueRef::Text(text)) => String::from_utf8_lossy(text).into_owned(),
        _ => String::new(),
    }
}
