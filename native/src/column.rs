//! One column of any type: reads a value from the bytes, or puts a null.

use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType};
use arrow_schema::{ArrowError, DataType, TimeUnit};

use crate::container::{List, Map};
use crate::decimal::Form;
use crate::fixed::{Fixed, Flags};
use crate::notes::Notes;
use crate::number;
use crate::object::Object;
use crate::problem::{At, Problem, Unfit, excerpt};
use crate::scan::{Kind, Scan, Token};
use crate::varied::{Varied, append_base64};
use crate::{text, times};

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
    fn name(&self) -> &'static str {
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

    /// Read the value that begins here; the position behind it.
    ///
    /// The common form of each type is read on the spot. All others, and all that is wrong, go the long way.
    #[inline(always)]
    pub fn read(&mut self, scan: Scan<'_>, at: usize, level: usize, notes: &mut Notes) -> At {
        match self {
            Self::String(texts) if scan.byte(at) == b'"' => {
                let end = text::append(scan, at, &mut texts.bytes)?;
                texts.close();
                return Ok(end);
            }
            Self::BigInt(numbers) => {
                if let Some(end) = short_integer(scan, at, numbers) {
                    return Ok(end);
                }
            }
            Self::Int(numbers) => {
                if let Some(end) = short_integer(scan, at, numbers) {
                    return Ok(end);
                }
            }
            Self::Decimal(form, numbers) => {
                if let Some(number) = number::short(scan, at) {
                    if let Some(value) = form.of_short(&number) {
                        numbers.push(value);
                        return Ok(number.end);
                    }
                }
            }
            Self::Double(numbers) => {
                if let Some(number) = number::short(scan, at) {
                    if let Some(value) = number::double(&number) {
                        numbers.push(value);
                        return Ok(number.end);
                    }
                }
            }
            Self::Timestamp(times) => {
                if let Some(text) = text::plain(scan, at) {
                    if let Ok(value) = times::timestamp(text) {
                        times.push(value);
                        return Ok(at + text.len() + 2);
                    }
                }
            }
            Self::Boolean(flags) => {
                if scan.starts_with(at, b"true") {
                    flags.push(true);
                    return Ok(at + 4);
                }
                if scan.starts_with(at, b"false") {
                    flags.push(false);
                    return Ok(at + 5);
                }
            }
            Self::Struct(objects) if scan.byte(at) == b'{' => return objects.read(scan, at, level, notes),
            Self::Array(lists) if scan.byte(at) == b'[' => return lists.read(scan, at, level, notes),
            Self::Map(maps) if scan.byte(at) == b'{' => return maps.read(scan, at, level, notes),
            _ => (),
        }
        self.read_any(scan, at, notes)
    }

    /// Whatever `read` does not read on the spot.
    #[inline(never)]
    fn read_any(&mut self, scan: Scan<'_>, at: usize, notes: &mut Notes) -> At {
        let token = scan.token(at)?;
        match token.kind {
            Kind::Null => {
                self.push_null();
                Ok(token.end)
            }
            Kind::Number => match self.take_number(&scan.data[at..token.end]) {
                Some(taken) => self.checked(scan, at, token.end, taken),
                None => Err(self.wrong(scan, at, &token)),
            },
            Kind::Text if self.takes_text() => {
                let mut found = std::mem::take(&mut notes.scratch);
                found.clear();
                let end = text::append(scan, at, &mut found)?;
                let taken = self.take_text(&found);
                notes.scratch = found;
                self.checked(scan, at, end, taken)
            }
            _ => Err(self.wrong(scan, at, &token)),
        }
    }

    fn checked(&self, scan: Scan<'_>, at: usize, end: usize, taken: Result<(), Unfit>) -> At {
        match taken {
            Ok(()) => Ok(end),
            Err(Unfit { code, why }) => Err(Problem::new(code, format!("`{}` {why}.", excerpt(scan.data, at, end)))),
        }
    }

    #[cold]
    fn wrong(&self, scan: Scan<'_>, at: usize, token: &Token) -> Box<Problem> {
        let mut found = token.kind.words().to_string();
        if token.kind == Kind::Number {
            found = format!("{found} `{}`", excerpt(scan.data, at, token.end));
        }
        Problem::new("wrong_type", format!("Expected {}, found {found} at byte {at}.", self.name()))
    }

    /// Take a number by its text; none if this is no column for numbers.
    fn take_number(&mut self, text: &[u8]) -> Option<Result<(), Unfit>> {
        let name = self.name();
        Some(match self {
            Self::TinyInt(numbers) => long_integer(text, name, numbers, i8::MIN, i8::MAX),
            Self::SmallInt(numbers) => long_integer(text, name, numbers, i16::MIN, i16::MAX),
            Self::Int(numbers) => long_integer(text, name, numbers, i32::MIN, i32::MAX),
            Self::BigInt(numbers) => long_integer(text, name, numbers, i64::MIN, i64::MAX),
            Self::Float(numbers) => number::nearest(text, name).map(|value| numbers.push(value)),
            Self::Double(numbers) => number::nearest(text, name).map(|value| numbers.push(value)),
            Self::Decimal(form, numbers) => form.of_text(text).map(|value| numbers.push(value)),
            _ => return None,
        })
    }

    fn takes_text(&self) -> bool {
        matches!(self, Self::Decimal(..) | Self::Timestamp(_) | Self::Date(_) | Self::Binary(_))
    }

    fn take_text(&mut self, text: &[u8]) -> Result<(), Unfit> {
        match self {
            Self::Decimal(form, numbers) => form.of_text(text).map(|value| numbers.push(value)),
            Self::Timestamp(times) => times::timestamp(text).map(|value| times.push(value)),
            Self::Date(days) => times::date(text).map(|value| days.push(value)),
            Self::Binary(values) => append_base64(text, &mut values.bytes).map(|()| values.close()),
            _ => Ok(()),
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

#[inline(always)]
fn short_integer<T: ArrowPrimitiveType>(scan: Scan<'_>, at: usize, numbers: &mut Fixed<T>) -> Option<usize>
where
    T::Native: TryFrom<i64>,
{
    let number = number::short(scan, at).filter(|number| number.decimals == 0)?;
    let value = if number.negative { -(number.digits as i64) } else { number.digits as i64 };
    numbers.push(T::Native::try_from(value).ok()?);
    Some(number.end)
}

fn long_integer<T: ArrowPrimitiveType>(
    text: &[u8],
    name: &str,
    numbers: &mut Fixed<T>,
    least: T::Native,
    most: T::Native,
) -> Result<(), Unfit>
where
    T::Native: TryFrom<i64> + Into<i64>,
{
    let number = number::integer(text, name, least.into(), most.into())?;
    if let Ok(value) = T::Native::try_from(number) {
        numbers.push(value); // always: it lies between the two
    }
    Ok(())
}
