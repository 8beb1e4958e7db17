//! Which columns a JSON record can hold.

use std::fmt;

use arrow_schema::{DataType, Field, Fields};

/// A column whose type JSON does not have, at any depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedColumn {
    /// Its name, with those of the columns it is in: `messages[].at`.
    pub path: String,
    /// What it holds.
    pub kind: &'static str,
}

impl fmt::Display for RefusedColumn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.path, self.kind)
    }
}

/// All columns that no JSON record can hold, in the order of the schema.
pub(super) fn refused(columns: &Fields) -> Vec<RefusedColumn> {
    let mut found = Vec::new();
    for column in columns {
        look(column.name().clone(), column, &mut found);
    }
    found
}

fn look(path: String, column: &Field, found: &mut Vec<RefusedColumn>) {
    look_at_type(path, column.data_type(), found);
}

fn look_at_type(path: String, data_type: &DataType, found: &mut Vec<RefusedColumn>) {
    match data_type {
        DataType::Struct(fields) => {
            for field in fields {
                look(format!("{path}.{}", field.name()), field, found);
            }
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            look(format!("{path}[]"), item, found);
        }
        DataType::Dictionary(_, value) => look_at_type(path, value, found),
        other => {
            if let Some(kind) = foreign(other) {
                found.push(RefusedColumn { path, kind });
            }
        }
    }
}

/// What a type that JSON does not have is called.
fn foreign(data_type: &DataType) -> Option<&'static str> {
    Some(match data_type {
        DataType::Null
        | DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Float16
        | DataType::Float32
        | DataType::Float64
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View => return None,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            "binary"
        }
        DataType::Timestamp(..) => "timestamp",
        DataType::Date32 | DataType::Date64 => "date",
        DataType::Time32(_) | DataType::Time64(_) => "time of day",
        DataType::Duration(_) | DataType::Interval(_) => "duration",
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => "decimal",
        DataType::Map(..) => "map",
        _ => "a type that Reprise does not read",
    })
}
