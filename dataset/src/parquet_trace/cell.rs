//! The values of a row as JSON.

use std::fmt;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Fields};
use serde::ser::{Error as _, SerializeMap as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// Arrow's name of strings that hold JSON. Parquet's own annotation is given this name too.
const JSON: &str = "arrow.json";

/// A row of a batch, without the columns that have no value in it.
pub(super) struct Row<'a> {
    pub(super) batch: &'a RecordBatch,
    pub(super) row: usize,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let schema = self.batch.schema_ref();
        object(serializer, schema.fields(), self.batch.columns(), self.row, None)
    }
}

/// A value, which is not null.
struct Cell<'a> {
    array: &'a dyn Array,
    /// The column, or the item of a list, that the array holds.
    field: &'a Field,
    row: usize,
    place: Place<'a>,
}

/// Where a value stands in its row. Prints as `messages[0].content`.
#[derive(Clone, Copy)]
enum Place<'a> {
    Key(Option<&'a Place<'a>>, &'a Field),
    Item(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(None, field) => formatter.write_str(field.name()),
            Self::Key(Some(parent), field) => write!(formatter, "{parent}.{}", field.name()),
            Self::Item(parent, index) => write!(formatter, "{parent}[{index}]"),
        }
    }
}

/// An object of the keys that have a value.
fn object<S: Serializer>(
    serializer: S,
    fields: &Fields,
    columns: &[ArrayRef],
    row: usize,
    parent: Option<&Place<'_>>,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    for (field, column) in fields.iter().zip(columns) {
        if is_null(column.as_ref(), row) {
            continue;
        }
        let cell = Cell {
            array: column.as_ref(),
            field,
            row,
            place: Place::Key(parent, field),
        };
        map.serialize_entry(field.name(), &cell)?;
    }
    map.end()
}

/// Whether a value is null, also where a dictionary says so.
fn is_null(array: &dyn Array, row: usize) -> bool {
    if array.is_null(row) || *array.data_type() == DataType::Null {
        return true;
    }
    array
        .as_any_dictionary_opt()
        .is_some_and(|dictionary| dictionary.logical_nulls().is_some_and(|nulls| nulls.is_null(row)))
}

/// A list; an item without a value stays, as null, since leaving it out would move the others.
fn list<S: Serializer>(
    serializer: S,
    item: &Field,
    items: &dyn Array,
    place: &Place<'_>,
) -> Result<S::Ok, S::Error> {
    let mut sequence = serializer.serialize_seq(Some(items.len()))?;
    for row in 0..items.len() {
        let cell = Cell {
            array: items,
            field: item,
            row,
            place: Place::Item(place, row),
        };
        sequence.serialize_element(&(!is_null(items, row)).then_some(cell))?;
    }
    sequence.end()
}

impl Cell<'_> {
    fn float<S: Serializer>(&self, serializer: S, number: f64) -> Result<S::Ok, S::Error> {
        if number.is_finite() {
            return serializer.serialize_f64(number);
        }
        Err(S::Error::custom(format_args!(
            "{} is {number}, which is no JSON number",
            self.place
        )))
    }

    /// A string, or the JSON that stands in it: `datasets` writes objects that way where their keys or types differ from row
    /// to row.
    fn text<S: Serializer>(&self, serializer: S, text: &str) -> Result<S::Ok, S::Error> {
        if self.field.extension_type_name() != Some(JSON) {
            return serializer.serialize_str(text);
        }
        match serde_json::from_str::<&RawValue>(text) {
            Ok(json) => json.serialize(serializer),
            Err(error) => Err(S::Error::custom(format_args!(
                "{} is declared as JSON and is none ({error})",
                self.place
            ))),
        }
    }

    fn entry<S: Serializer, K: ArrowDictionaryKeyType>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let dictionary = self.array.as_dictionary::<K>();
        let Some(row) = dictionary.key(self.row) else {
            return serializer.serialize_none();
        };
        let value = Cell {
            array: dictionary.values().as_ref(),
            field: self.field,
            row,
            place: self.place,
        };
        value.serialize(serializer)
    }
}

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { array, row, .. } = *self;
        match array.data_type() {
            DataType::Boolean => serializer.serialize_bool(array.as_boolean().value(row)),
            DataType::Int8 => serializer.serialize_i8(array.as_primitive::<Int8Type>().value(row)),
            DataType::Int16 => serializer.serialize_i16(array.as_primitive::<Int16Type>().value(row)),
            DataType::Int32 => serializer.serialize_i32(array.as_primitive::<Int32Type>().value(row)),
            DataType::Int64 => serializer.serialize_i64(array.as_primitive::<Int64Type>().value(row)),
            DataType::UInt8 => serializer.serialize_u8(array.as_primitive::<UInt8Type>().value(row)),
            DataType::UInt16 => serializer.serialize_u16(array.as_primitive::<UInt16Type>().value(row)),
            DataType::UInt32 => serializer.serialize_u32(array.as_primitive::<UInt32Type>().value(row)),
            DataType::UInt64 => serializer.serialize_u64(array.as_primitive::<UInt64Type>().value(row)),
            // Every narrower number is exactly one of 64 bits.
            DataType::Float16 => self.float(
                serializer,
                array.as_primitive::<Float16Type>().value(row).to_f64(),
            ),
            DataType::Float32 => {
                self.float(serializer, array.as_primitive::<Float32Type>().value(row).into())
            }
            DataType::Float64 => self.float(serializer, array.as_primitive::<Float64Type>().value(row)),
            DataType::Utf8 => self.text(serializer, array.as_string::<i32>().value(row)),
            DataType::LargeUtf8 => self.text(serializer, array.as_string::<i64>().value(row)),
            DataType::Utf8View => self.text(serializer, array.as_string_view().value(row)),
            DataType::Struct(fields) => object(
                serializer,
                fields,
                array.as_struct().columns(),
                row,
                Some(&self.place),
            ),
            DataType::List(item) => list(serializer, item, &array.as_list::<i32>().value(row), &self.place),
            DataType::LargeList(item) => {
                list(serializer, item, &array.as_list::<i64>().value(row), &self.place)
            }
            DataType::FixedSizeList(item, _) => list(
                serializer,
                item,
                &array.as_fixed_size_list().value(row),
                &self.place,
            ),
            DataType::Dictionary(key, _) => match **key {
                DataType::Int8 => self.entry::<S, Int8Type>(serializer),
                DataType::Int16 => self.entry::<S, Int16Type>(serializer),
                DataType::Int32 => self.entry::<S, Int32Type>(serializer),
                DataType::Int64 => self.entry::<S, Int64Type>(serializer),
                DataType::UInt8 => self.entry::<S, UInt8Type>(serializer),
                DataType::UInt16 => self.entry::<S, UInt16Type>(serializer),
                DataType::UInt32 => self.entry::<S, UInt32Type>(serializer),
                _ => self.entry::<S, UInt64Type>(serializer),
            },
            // The schema was checked, so this is a defect; it must not become a wrong record.
            other => Err(S::Error::custom(format_args!(
                "{} is of the type {other}, which JSON does not have",
                self.place
            ))),
        }
    }
}
