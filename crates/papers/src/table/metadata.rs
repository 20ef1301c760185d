//! The types and descriptions of a CSV file's columns, in a file beside it.
//!
//! `rings.csv` is described by `rings.csv-metadata.json`, in the format of the W3C recommendation "Metadata Vocabulary
//! for Tabular Data" (CSVW). The CSV file stays plain for every other program.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Table, Values};

/// The largest metadata file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 24;

/// The types that a column may have, by their CSVW names. The order is that of widening: an integer is also a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ColumnType {
    Boolean,
    Integer,
    Number,
    String,
}

impl ColumnType {
    /// The narrowest type of a field.
    pub(super) fn inferred(field: &str) -> Self {
        match field {
            "true" | "false" => return ColumnType::Boolean,
            "NaN" | "inf" | "-inf" => return ColumnType::Number,
            _ => {}
        }
        // Other spellings of infinity are text.
        if !field.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
            || !field.contains(|c: char| c.is_ascii_digit())
        {
            ColumnType::String
        } else if field.parse::<i64>().is_ok() {
            ColumnType::Integer
        } else if field.parse::<f64>().is_ok() {
            ColumnType::Number
        } else {
            ColumnType::String
        }
    }

    /// The narrowest type that holds both.
    pub(super) fn widened(known: Option<Self>, next: Self) -> Self {
        let Some(known) = known else { return next };
        match (known.min(next), known.max(next)) {
            (ColumnType::Boolean, ColumnType::Integer | ColumnType::Number) => ColumnType::String,
            (_, wider) => wider,
        }
    }

    fn of(values: &Values) -> Self {
        match values {
            Values::Bools(_) => ColumnType::Boolean,
            Values::Integers(_) => ColumnType::Integer,
            Values::Floats(_) => ColumnType::Number,
            Values::Texts(_) => ColumnType::String,
        }
    }

    pub(super) fn with_article(self) -> &'static str {
        match self {
            ColumnType::Boolean => "a boolean",
            ColumnType::Integer => "an integer",
            ColumnType::Number => "a number",
            ColumnType::String => "a string",
        }
    }
}

/// What the metadata file says about a CSV file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Metadata {
    #[serde(rename = "@context")]
    context: String,
    url: String,
    #[serde(rename = "tableSchema")]
    schema: Schema,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Schema {
    columns: Vec<ColumnMetadata>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct ColumnMetadata {
    titles: String,
    datatype: ColumnType,
    #[serde(rename = "dc:description", default, skip_serializing_if = "String::is_empty")]
    description: String,
}

impl Metadata {
    /// The metadata of a table that is written to a file of this name.
    pub(super) fn of(file_name: &str, table: &Table) -> Self {
        let columns = table.columns().map(|(heading, values)| ColumnMetadata {
            titles: heading.name.to_string(),
            datatype: ColumnType::of(values),
            description: heading.about.to_string(),
        });
        Metadata {
            context: "http://www.w3.org/ns/csvw".to_string(),
            url: file_name.to_string(),
            schema: Schema { columns: columns.collect() },
        }
    }

    /// Reads the metadata of a CSV file; empty if there is none.
    pub(super) fn open(csv: &Path) -> io::Result<Self> {
        let file = match File::open(metadata_path(csv)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Metadata::default()),
            opened => opened?,
        };
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(io::Error::other(format!("it has more than {MAX_BYTES} bytes, the maximum")));
        }
        Ok(serde_json::from_slice(&bytes)?)
    }

    fn column(&self, name: &str) -> Option<&ColumnMetadata> {
        self.schema.columns.iter().find(|column| column.titles == name)
    }

    pub(super) fn column_type(&self, name: &str) -> Option<ColumnType> {
        self.column(name).map(|column| column.datatype)
    }

    pub(super) fn about(&self, name: &str) -> Arc<str> {
        self.column(name).map_or("", |column| &column.description).into()
    }
}

/// Where the metadata of a CSV file is.
pub(crate) fn metadata_path(csv: &Path) -> PathBuf {
    let mut name = OsString::from(csv);
    name.push("-metadata.json");
    name.into()
}
