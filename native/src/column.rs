//! One column of any type, as it is built: values, nulls, fillers, and back again. `value.rs` reads into it.

use arrow_array::ArrayRef;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_schema::{ArrowError, DataType, TimeUnit};

use crate::container::{List, Map};
use crate::decimal::Form;
use crate::fixed::{Fixed, Flags};
use crate::object::Object;
use crate::varied::Varied;

pub enum Column {
    Boolean(Flags),
    TinyInt(Fixed<Int8Type>),
    SmallInt(Fixed<Int16Type>),
    Int(Fixed<Int32Type>),
    BigInt(Fixed<Int64Type>),
    Float(Fixed<Float32Type>),
    Double(Fixed<Float64Type>),
    Decimal(Form, Fixed<Decimal128Type>),
    String(Varied),
    Binary(Varied),
    Date(Fixed<Date32Type>),
    Timestamp(Fixed<TimestampMicrosecondType>),
    Array(Box<List>),
    Map(Box<Map>),
    Struct(Box<Object>),
}

/// The same for whatever the column holds.
macro_rules! each {
    ($column:expr, $inner:ident => $do:expr) => {
        match $column {
            Column::Boolean($inner) => $do,
            Column::TinyInt($inner) => $do,
            Column::SmallInt($inner) => $do,
            Column::Int($inner) => $do,
            Column::BigInt($inner) => $do,
            Column::Float($inner) => $do,
            Column::Double($inner) => $do,
            Column::Decimal(_, $inner) => $do,
            Column::String($inner) => $do,
            Column::Binary($inner) => $do,
            Column::Date($inner) => $do,
            Column::Timestamp($inner) => $do,
            Column::Array($inner) => $do,
            Column::Map($inner) => $do,
            Column::Struct($inner) => $do,
        }
    };
}

impl Column {
    /// An empty column of this type; `place` is how unknown fields inside are counted.
    pub fn new(kind: &DataType, place: String) -> Result<Self, ArrowError> {
        Ok(match kind {
            DataType::Boolean => Self::Boolean(Flags::default()),
            DataType::Int8 => Self::TinyInt(Fixed::default()),
            DataType::Int16 => Self::SmallInt(Fixed::default()),
            DataType::Int32 => Self::Int(Fixed::default()),
            DataType::Int64 => Self::BigInt(Fixed::default()),
            DataType::Float32 => Self::Float(Fixed::default()),
            DataType::Float64 => Self::Double(Fixed::default()),
            DataType::Decimal128(precision @ 1..=38, scale @ 0..=38) => {
                Self::Decimal(Form { precision: *precision, scale: *scale as u8 }, Fixed::default())
            }
            DataType::Utf8 => Self::String(Varied::default()),
            DataType::Binary => Self::Binary(Varied::default()),
            DataType::Date32 => Self::Date(Fixed::default()),
            DataType::Timestamp(TimeUnit::Microsecond, Some(zone)) if &**zone == "UTC" => {
                Self::Timestamp(Fixed::default())
            }
            DataType::List(field) => {
                let element = Self::new(field.data_type(), place + "*/")?;
                Self::Array(Box::new(List::new(field.clone(), element)))
            }
            DataType::Map(entries, sorted) => match entries.data_type() {
                DataType::Struct(fields) if fields.len() == 2 && fields[0].data_type() == &DataType::Utf8 => {
                    let value = Self::new(fields[1].data_type(), place + "*/")?;
                    Self::Map(Box::new(Map::new(entries.clone(), *sorted, value)))
                }
                other => return Err(ArrowError::SchemaError(format!("no map of {other}"))),
            },
            DataType::Struct(fields) => Self::Struct(Box::new(Object::new(fields, place)?)),
            other => return Err(ArrowError::SchemaError(format!("no column of {other}"))),
        })
    }

    /// The type as the schema language calls it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Boolean(_) => "BOOLEAN",
            Self::TinyInt(_) => "TINYINT",
            Self::SmallInt(_) => "SMALLINT",
            Self::Int(_) => "INT",
            Self::BigInt(_) => "BIGINT",
            Self::Float(_) => "FLOAT",
            Self::Double(_) => "DOUBLE",
            Self::Decimal(..) => "DECIMAL",
            Self::String(_) => "STRING",
            Self::Binary(_) => "BINARY",
            Self::Date(_) => "DATE",
            Self::Timestamp(_) => "TIMESTAMP",
            Self::Array(_) => "ARRAY",
            Self::Map(_) => "MAP",
            Self::Struct(_) => "STRUCT",
        }
    }

    pub fn push_null(&mut self) {
        each!(self, inner => inner.push_null());
    }

    /// A value where NOT NULL wants one, inside something that is null.
    pub fn push_filler(&mut self) {
        match self {
            Self::Boolean(flags) => flags.push(false),
            Self::String(values) | Self::Binary(values) => values.close(),
            Self::TinyInt(numbers) => numbers.push_filler(),
            Self::SmallInt(numbers) => numbers.push_filler(),
            Self::Int(numbers) => numbers.push_filler(),
            Self::BigInt(numbers) => numbers.push_filler(),
            Self::Float(numbers) => numbers.push_filler(),
            Self::Double(numbers) => numbers.push_filler(),
            Self::Decimal(_, numbers) => numbers.push_filler(),
            Self::Date(days) => days.push_filler(),
            Self::Timestamp(times) => times.push_filler(),
            Self::Array(lists) => lists.push_filler(),
            Self::Map(maps) => maps.push_filler(),
            Self::Struct(objects) => objects.push_filler(),
        }
    }

    /// Keep so many values; none beyond them leaves a trace.
    pub fn truncate(&mut self, len: usize) {
        each!(self, inner => inner.truncate(len));
    }

    /// Make room for so many values.
    pub fn reserve(&mut self, rows: usize) {
        match self {
            Self::TinyInt(numbers) => numbers.reserve(rows),
            Self::SmallInt(numbers) => numbers.reserve(rows),
            Self::Int(numbers) => numbers.reserve(rows),
            Self::BigInt(numbers) => numbers.reserve(rows),
            Self::Float(numbers) => numbers.reserve(rows),
            Self::Double(numbers) => numbers.reserve(rows),
            Self::Decimal(_, numbers) => numbers.reserve(rows),
            Self::Date(days) => days.reserve(rows),
            Self::Timestamp(times) => times.reserve(rows),
            Self::String(values) | Self::Binary(values) => values.reserve(rows, 8 * rows),
            Self::Struct(objects) => objects.reserve(rows),
            Self::Boolean(_) | Self::Array(_) | Self::Map(_) => (),
        }
    }

    /// The column as an Arrow array of this type; it is empty afterwards.
    pub fn finish(&mut self, kind: &DataType) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::Boolean(flags) => flags.finish(),
            Self::TinyInt(numbers) => numbers.finish(kind),
            Self::SmallInt(numbers) => numbers.finish(kind),
            Self::Int(numbers) => numbers.finish(kind),
            Self::BigInt(numbers) => numbers.finish(kind),
            Self::Float(numbers) => numbers.finish(kind),
            Self::Double(numbers) => numbers.finish(kind),
            Self::Decimal(_, numbers) => numbers.finish(kind),
            Self::Date(days) => days.finish(kind),
            Self::Timestamp(times) => times.finish(kind),
            Self::String(values) => values.finish_texts()?,
            Self::Binary(values) => values.finish_bytes()?,
            Self::Array(lists) => lists.finish()?,
            Self::Map(maps) => maps.finish()?,
            Self::Struct(objects) => objects.finish()?,
        })
    }
}
