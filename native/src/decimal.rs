//! DECIMAL: a number, or a text that is one, that fits exactly.

use crate::number::Short;
use crate::problem::Unfit;

const TENS: [i128; 39] = {
    let mut tens = [1; 39];
    let mut power = 1;
    while power < 39 {
        tens[power] = tens[power - 1] * 10;
        power += 1;
    }
    tens
};
const FAR: i64 = 1_000_000_000_000_000_000;

/// DECIMAL(precision, scale).
#[derive(Clone, Copy)]
pub struct Form {
    pub precision: u8,
    pub scale: u8,
}

impl std::fmt::Display for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DECIMAL({},{})", self.precision, self.scale)
    }
}

impl Form {
    /// The unscaled value of a short number; none if it does not fit.
    #[inline(always)]
    pub fn of_short(self, number: &Short) -> Option<i128> {
        let places = usize::from(self.scale).checked_sub(number.decimals)?;
        let value = i128::from(number.digits).checked_mul(TENS[places])?;
        if value >= TENS[usize::from(self.precision)] {
            return None;
        }
        Some(if number.negative { -value } else { value })
    }

    /// The unscaled value of `[+-] digits [. digits] [e [+-] digits]` with digits on at least one side of the point.
    pub fn of_text(self, text: &[u8]) -> Result<i128, Unfit> {
        let Some(parts) = Parts::of(text) else {
            return Err(Unfit::new("wrong_type", format!("is not a number for {self}")));
        };
        let digits = || parts.whole.iter().chain(parts.fraction);
        let Some(first) = digits().position(|&digit| digit != b'0') else {
            return Ok(0);
        };
        let zeros = digits().rev().take_while(|&&digit| digit == b'0').count();
        let end = parts.whole.len() + parts.fraction.len() - zeros;
        let power = parts.exponent - parts.fraction.len() as i64 + zeros as i64;
        let kept = (end - first) as i64;
        if kept + power > i64::from(self.precision) - i64::from(self.scale) {
            return Err(Unfit::new("overflow", format!("needs more digits than {self} has")));
        }
        let scale = i64::from(self.scale);
        if power < -scale {
            let why = format!("needs more than the {scale} decimals of {self}");
            return Err(Unfit::new("inexact_decimal", why));
        }
        // At most `precision` digits are left: 38, which an i128 holds.
        let number = digits().take(end).skip(first).fold(0_i128, |sum, digit| sum * 10 + i128::from(digit - b'0'));
        let value = number * TENS[(power + scale) as usize];
        Ok(if parts.negative { -value } else { value })
    }
}

/// A number taken apart.
struct Parts<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
}

impl<'a> Parts<'a> {
    fn of(text: &'a [u8]) -> Option<Self> {
        let (negative, rest) = sign(text);
        let (whole, rest) = digits(rest);
        let (fraction, rest) = rest.strip_prefix(b".").map_or((&rest[..0], rest), digits);
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let exponent = match rest {
            [] => 0,
            [b'e' | b'E', rest @ ..] => exponent(rest)?,
            _ => return None,
        };
        Some(Self { negative, whole, fraction, exponent })
    }
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    }
}

fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len()))
}

/// An exponent, or one that is just as far out.
fn exponent(text: &[u8]) -> Option<i64> {
    let (negative, rest) = sign(text);
    let (digits, rest) = digits(rest);
    if digits.is_empty() || !rest.is_empty() {
        return None;
    }
    let size = digits.iter().fold(0_i64, |sum, digit| sum.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    let size = size.min(FAR);
    Some(if negative { -size } else { size })
}
