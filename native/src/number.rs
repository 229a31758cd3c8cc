//! Numbers: the usual short ones digit by digit, all others by their whole text.

use crate::problem::Unfit;
use crate::scan::Scan;

/// A number of at most 18 digits without an exponent, the form that nearly all have.
#[derive(Clone, Copy)]
pub struct Short {
    pub negative: bool,
    pub digits: u64,
    /// How many of the digits stand behind the point.
    pub decimals: usize,
    pub end: usize,
}

const MOST_DIGITS: usize = 18;

/// The number here, if it is a short one.
#[inline(always)]
pub fn short(scan: Scan<'_>, at: usize) -> Option<Short> {
    let negative = scan.byte(at) == b'-';
    let start = at + usize::from(negative);
    let (whole, point) = digits(scan, start, 0);
    let count = point - start;
    if count == 0 || count > MOST_DIGITS || (count > 1 && scan.byte(start) == b'0') {
        return None;
    }
    let mut number = Short { negative, digits: whole, decimals: 0, end: point };
    if scan.byte(point) == b'.' {
        (number.digits, number.end) = digits(scan, point + 1, whole);
        number.decimals = number.end - point - 1;
        if number.decimals == 0 || count + number.decimals > MOST_DIGITS {
            return None;
        }
    }
    let goes_on = matches!(scan.byte(number.end), b'.' | b'e' | b'E');
    (!goes_on).then_some(number)
}

#[inline(always)]
fn digits(scan: Scan<'_>, mut at: usize, mut number: u64) -> (u64, usize) {
    loop {
        let digit = scan.byte(at).wrapping_sub(b'0');
        if digit > 9 {
            return (number, at);
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit)); // longer ones are thrown away
        at += 1;
    }
}

/// The integer of a number's text; `name` is its type.
pub fn integer(text: &[u8], name: &str, least: i64, most: i64) -> Result<i64, Unfit> {
    let (negative, digits) = text.strip_prefix(b"-").map_or((false, text), |rest| (true, rest));
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(Unfit::new("wrong_type", format!("is not an integer literal, as {name} needs")));
    }
    let number = digits.iter().try_fold(0_i64, |sum, digit| {
        let digit = i64::from(digit - b'0');
        sum.checked_mul(10)?.checked_add(if negative { -digit } else { digit })
    });
    let fits = number.filter(|number| (least..=most).contains(number));
    fits.ok_or_else(|| Unfit::new("overflow", format!("does not fit {name}")))
}

/// Powers of ten that a DOUBLE holds exactly.
const TENS: [f64; 19] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18];

/// The DOUBLE of a short number, where one division gives it exactly rounded.
#[inline(always)]
pub fn double(number: &Short) -> Option<f64> {
    if number.digits > 1 << 53 {
        return None;
    }
    let value = number.digits as f64 / TENS[number.decimals];
    Some(if number.negative { -value } else { value })
}

/// The nearest DOUBLE or FLOAT of a number's text, or none where that is infinite.
pub fn nearest<T: std::str::FromStr + Copy + Into<f64>>(text: &[u8], name: &str) -> Result<T, Unfit> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<T>().ok());
    let finite = number.filter(|&number| number.into().is_finite());
    finite.ok_or_else(|| Unfit::new("overflow", format!("is beyond the range of {name}")))
}
