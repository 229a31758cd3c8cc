//! One value from the bytes into its column: exactly this value, or the problem.

use arrow_array::ArrowPrimitiveType;

use crate::column::Column;
use crate::fixed::Fixed;
use crate::notes::Notes;
use crate::problem::{At, Problem, Unfit, excerpt};
use crate::scan::{Kind, Scan, Token};
use crate::varied::append_base64;
use crate::{number, text, times};

impl Column {
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
                if let Some(number) = number::short(scan, at)
                    && let Some(value) = form.of_short(&number)
                {
                    numbers.push(value);
                    return Ok(number.end);
                }
            }
            Self::Double(numbers) => {
                if let Some(number) = number::short(scan, at)
                    && let Some(value) = number::double(&number)
                {
                    numbers.push(value);
                    return Ok(number.end);
                }
            }
            Self::Timestamp(times) => {
                if let Some(text) = text::plain(scan, at)
                    && let Ok(value) = times::timestamp(text)
                {
                    times.push(value);
                    return Ok(at + text.len() + 2);
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
