//! A select statement that is put together from optional conditions.
//!
//! Only placeholders are ever written into the text; what a caller brings is always a parameter.

use rusqlite::types::Value;

use super::{Columns, Db};
use crate::error::StoreError;

/// SQL text with its parameters.
pub(crate) struct Query {
    sql: String,
    values: Vec<Value>,
}

impl Query {
    pub(crate) fn new(sql: &str) -> Self {
        Self { sql: sql.to_owned(), values: Vec::new() }
    }

    /// Adds text.
    pub(crate) fn push(&mut self, sql: &str) -> &mut Self {
        self.sql.push_str(sql);
        self
    }

    /// Adds a placeholder for `value`.
    pub(crate) fn bind(&mut self, value: impl Into<Value>) -> &mut Self {
        self.values.push(value.into());
        let placeholder = format!("${}", self.values.len());
        self.push(&placeholder)
    }

    /// Adds a placeholder for an id.
    pub(crate) fn bind_id(&mut self, id: &[u8; 16]) -> &mut Self {
        self.bind(id.to_vec())
    }

    /// Adds the condition that a column with a JSON list of texts holds `text`.
    pub(crate) fn push_holds(&mut self, column: &str, text: &str) -> &mut Self {
        self.push(&format!("exists (select 1 from json_each({column}) one where one.value = "));
        self.bind(text.to_owned()).push(")")
    }

    /// Adds placeholders for ids, separated by commas.
    pub(crate) fn bind_ids<'a>(&mut self, ids: impl IntoIterator<Item = &'a [u8; 16]>) -> &mut Self {
        for (index, id) in ids.into_iter().enumerate() {
            if index > 0 {
                self.push(", ");
            }
            self.bind_id(id);
        }
        self
    }

    /// Adds placeholders for numbers, separated by commas.
    pub(crate) fn bind_list(&mut self, numbers: &[u64]) -> &mut Self {
        for (index, number) in numbers.iter().enumerate() {
            if index > 0 {
                self.push(", ");
            }
            self.bind(super::whole(*number));
        }
        self
    }

    /// All rows of the finished statement.
    pub(crate) fn all<T>(
        self,
        db: &Db,
        read: impl FnMut(&mut Columns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        db.all(&self.sql, rusqlite::params_from_iter(self.values), read)
    }
}
