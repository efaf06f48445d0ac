//! Tokens of one table, and the rows that they name.
//!
//! A list of tokens, and a list of the rows sorted by them: for the millions of nuScenes that takes half the time and memory of a
//! hash table. And most links lead to the row next to that of the last one, so that is looked at first.

use std::cmp::Ordering;
use std::path::Path;

use super::field::Wrong;
use super::token::Token;
use crate::table_error::{FieldProblem, TableError};

/// No row: links of the millions of rows are kept in 4 bytes.
pub(super) const NO_ROW: u32 = u32::MAX;

/// The tokens of a table while it is read.
pub(super) struct NewKeys {
    table: &'static str,
    tokens: Vec<Token>,
}

/// Which row of a table has which token.
pub(super) struct Keys {
    table: &'static str,
    tokens: Vec<Token>,
    /// The beginning of each token and its row, in the order of the tokens.
    sorted: Vec<(u64, u32)>,
}

impl NewKeys {
    pub(super) fn of(table: &'static str) -> Self {
        NewKeys {
            table,
            tokens: Vec::new(),
        }
    }

    /// Takes in the token of the next row.
    pub(super) fn push(&mut self, token: Token) {
        self.tokens.push(token);
    }

    /// Sorts them, and so finds a token that two rows have.
    pub(super) fn sorted(self, path: &Path) -> Result<Keys, TableError> {
        let NewKeys { table, tokens } = self;
        // The reader of tables refuses more rows than 32 bits count.
        let mut sorted: Vec<(u64, u32)> = (0..)
            .zip(&tokens)
            .map(|(row, token)| (token.beginning(), row))
            .collect();
        let token = |row: u32| &tokens[row as usize];
        sorted.sort_unstable_by(|(a, row), (b, other)| {
            let tokens = || token(*row).cmp(token(*other));
            a.cmp(b).then_with(tokens).then(row.cmp(other))
        });
        let twice = sorted
            .windows(2)
            .find(|pair| token(pair[0].1) == token(pair[1].1));
        if let Some([_, (_, row)]) = twice {
            let wrong = Wrong {
                field: "token",
                problem: FieldProblem::Twice(token(*row).shortened()),
            };
            return Err(wrong.in_row(path, *row as usize));
        }
        Ok(Keys {
            table,
            tokens,
            sorted,
        })
    }
}

impl Keys {
    /// Of a table that is not there.
    pub(super) fn none(table: &'static str) -> Self {
        Keys {
            table,
            tokens: Vec::new(),
            sorted: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The tokens by row; the order is no longer needed.
    pub(super) fn into_tokens(self) -> Vec<Token> {
        self.tokens
    }

    pub(super) fn token(&self, row: usize) -> &Token {
        &self.tokens[row]
    }

    /// The row of a token, if there is one; `guess` is looked at first, and may be any number.
    pub(super) fn get(&self, token: &Token, guess: u32) -> Option<u32> {
        if self.tokens.get(guess as usize) == Some(token) {
            return Some(guess);
        }
        let beginning = token.beginning();
        let compare = |(other, row): &(u64, u32)| match other.cmp(&beginning) {
            Ordering::Equal => self.tokens[*row as usize].cmp(token),
            order => order,
        };
        let at = self.sorted.binary_search_by(compare).ok()?;
        Some(self.sorted[at].1)
    }

    /// The row that a field names; `guess` as in [`Keys::get`].
    pub(super) fn row(&self, field: &'static str, token: &Token, guess: u32) -> Result<u32, Wrong> {
        self.get(token, guess).ok_or_else(|| Wrong {
            field,
            problem: FieldProblem::NoSuchRow {
                token: token.shortened(),
                table: self.table,
            },
        })
    }

    /// The row that a link names, or [`NO_ROW`]; `guess` as in [`Keys::get`].
    pub(super) fn link(&self, field: &'static str, token: Option<&Token>, guess: u32) -> Result<u32, Wrong> {
        token.map_or(Ok(NO_ROW), |token| self.row(field, token, guess))
    }
}

/// The place of a link in a list of rows.
pub(super) fn linked(row: u32) -> Option<usize> {
    (row != NO_ROW).then_some(row as usize)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(texts: &[String]) -> Result<Keys, TableError> {
        let mut keys = NewKeys::of("t");
        for text in texts {
            keys.push(Token::new(text));
        }
        keys.sorted("t.json".as_ref())
    }

    proptest! {
        #[test]
        fn every_token_leads_to_its_row_whatever_the_guess(
            texts in proptest::collection::btree_set("0{30}[0-3]{2}|[0-9a-f]{32}|[a-c]{1,3}", 0..60),
            guess in any::<u32>(),
        ) {
            let texts: Vec<String> = texts.into_iter().rev().collect();
            let keys = keys(&texts).unwrap();
            for (row, text) in texts.iter().enumerate() {
                prop_assert_eq!(keys.get(&Token::new(text), guess), Some(row as u32));
                prop_assert_eq!(keys.get(&Token::new(text), row as u32), Some(row as u32));
            }
            prop_assert_eq!(keys.get(&Token::new("another"), guess), None);
        }
    }

    #[test]
    fn a_token_of_two_rows_is_told_with_the_later_one() {
        let error = keys(&["a", "b", "a"].map(str::to_owned))
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains("row 3, `token`: `a` is the token of an earlier row too"),
            "{error}"
        );
    }
}
