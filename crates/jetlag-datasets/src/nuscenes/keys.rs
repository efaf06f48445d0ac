//! Tokens of one table, and the rows that they name.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::field::{Field, Wrong};
use super::token::Token;
use crate::table_error::FieldProblem;

/// No row: links of the millions of rows are kept in 4 bytes.
pub(super) const NO_ROW: u32 = u32::MAX;

/// Which row of a table has which token.
pub(super) struct Keys {
    table: &'static str,
    rows: HashMap<Token, u32>,
}

impl Keys {
    pub(super) fn of(table: &'static str) -> Self {
        Keys {
            table,
            rows: HashMap::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Takes in the token of a row, and gives it back.
    pub(super) fn insert(&mut self, row: usize, token: Field<Token>) -> Result<Token, Wrong> {
        let token = token.needed("token")?;
        match self.rows.entry(token.clone()) {
            // The reader of tables refuses more rows than 32 bits count.
            Entry::Vacant(place) => {
                place.insert(row as u32);
            }
            Entry::Occupied(_) => {
                return Err(Wrong {
                    field: "token",
                    problem: FieldProblem::Twice(token.shortened()),
                });
            }
        }
        Ok(token)
    }

    /// The row that a field names.
    pub(super) fn row(&self, field: &'static str, token: &Token) -> Result<u32, Wrong> {
        self.get(token).ok_or_else(|| Wrong {
            field,
            problem: FieldProblem::NoSuchRow {
                token: token.shortened(),
                table: self.table,
            },
        })
    }

    /// The row of a token, if there is one.
    pub(super) fn get(&self, token: &Token) -> Option<u32> {
        self.rows.get(token).copied()
    }

    /// The row that a link names, or [`NO_ROW`].
    pub(super) fn link(&self, field: &'static str, token: Option<&Token>) -> Result<u32, Wrong> {
        token.map_or(Ok(NO_ROW), |token| self.row(field, token))
    }
}

/// The place of a link in a list of rows.
pub(super) fn linked(row: u32) -> Option<usize> {
    (row != NO_ROW).then_some(row as usize)
}
