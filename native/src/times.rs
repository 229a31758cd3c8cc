//! TIMESTAMP and DATE: ISO 8601, the years 0001 to 9999.

use crate::problem::Unfit;

const FIRST: i64 = -62_135_596_800_000_000;
const LAST: i64 = 253_402_300_799_999_999;
const DAY: i64 = 86_400;
const OUTSIDE: &str = "lies outside the years 0001 to 9999";

/// Microseconds since 1970 of `YYYY-MM-DD`, then optionally `T` or a space and `hh[:mm[:ss[.f]]]` with 1 to 6 fraction
/// digits and a zone.
#[inline]
pub fn timestamp(text: &[u8]) -> Result<i64, Unfit> {
    let Some(parts) = Parts::of(text) else {
        return Err(not_a_time(text));
    };
    let problem = parts.date.problem().or_else(|| parts.problem());
    if let Some(problem) = problem {
        return Err(Unfit::new("wrong_type", format!("is no time: {problem}")));
    }
    let local = parts.date.days() * DAY + i64::from(parts.hour * 3600 + parts.minute * 60 + parts.second);
    let instant = (local - parts.away) * 1_000_000 + i64::from(parts.micros);
    if !(FIRST..=LAST).contains(&instant) {
        return Err(Unfit::new("overflow", OUTSIDE));
    }
    Ok(instant)
}

/// Days since 1970 of `YYYY-MM-DD`.
pub fn date(text: &[u8]) -> Result<i32, Unfit> {
    let Some(date) = (if text.len() == 10 { Date::of(text) } else { None }) else {
        return Err(Unfit::new("wrong_type", "is not a date like 2026-01-31"));
    };
    if let Some(problem) = date.problem() {
        return Err(Unfit::new("wrong_type", format!("is no date: {problem}")));
    }
    if date.year == 0 {
        return Err(Unfit::new("overflow", OUTSIDE));
    }
    Ok(date.days() as i32)
}

#[cold]
fn not_a_time(text: &[u8]) -> Unfit {
    Unfit::new(
        "wrong_type",
        if is_too_fine(text) { "has more than 6 fraction digits" } else { "is not an ISO 8601 time" },
    )
}

/// Whether it ends like a time with more than 6 fraction digits.
fn is_too_fine(text: &[u8]) -> bool {
    let Some(point) = text.iter().position(|&byte| byte == b'.') else {
        return false;
    };
    let rest = &text[point + 1..];
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits >= 7
        && match &rest[digits..] {
            [] | [b'Z'] => true,
            [b'+' | b'-', zone @ ..] => !zone.is_empty() && zone.iter().all(|byte| matches!(byte, b'0'..=b'9' | b':')),
            _ => false,
        }
}

struct Date {
    year: u32,
    month: u32,
    day: u32,
}

impl Date {
    /// From the first ten bytes.
    #[inline(always)]
    fn of(text: &[u8]) -> Option<Self> {
        let text: &[u8; 10] = text.first_chunk()?;
        if text[4] != b'-' || text[7] != b'-' {
            return None;
        }
        let year = two(text, 0)? * 100 + two(text, 2)?;
        Some(Self { year, month: two(text, 5)?, day: two(text, 8)? })
    }

    #[inline(always)]
    fn problem(&self) -> Option<&'static str> {
        if !(1..=12).contains(&self.month) {
            return Some("month must be in 1..12");
        }
        let leap = self.year.is_multiple_of(4) && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400));
        let days = match self.month {
            2 => 28 + u32::from(leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        (!(1..=days).contains(&self.day)).then_some("day is out of range for month")
    }

    /// Days since 1970; of years that begin in March, so that the leap day is the last.
    #[inline(always)]
    fn days(&self) -> i64 {
        let year = i64::from(self.year) - i64::from(self.month <= 2) + 400;
        let day = i64::from((153 * ((self.month + 9) % 12) + 2) / 5 + self.day - 1);
        year * 365 + year / 4 - year / 100 + year / 400 + day - 719_468 - 146_097
    }
}

struct Parts {
    date: Date,
    hour: u32,
    minute: u32,
    second: u32,
    micros: u32,
    zone: Zone,
    away: i64,
}

#[derive(PartialEq)]
enum Zone {
    Fine,
    TooFar,
}

impl Parts {
    #[inline(always)]
    fn of(text: &[u8]) -> Option<Self> {
        let date = Date::of(text)?;
        let mut parts = Self { date, hour: 0, minute: 0, second: 0, micros: 0, zone: Zone::Fine, away: 0 };
        if text.len() == 10 {
            return Some(parts);
        }
        if !matches!(text[10], b'T' | b' ') {
            return None;
        }
        parts.hour = two(text, 11)?;
        let mut at = 13;
        if text.get(at) == Some(&b':') {
            parts.minute = two(text, at + 1)?;
            at += 3;
            if text.get(at) == Some(&b':') {
                parts.second = two(text, at + 1)?;
                at += 3;
                if text.get(at) == Some(&b'.') {
                    at = parts.fraction(text, at + 1)?;
                }
            }
        }
        match text.get(at..)? {
            [] | [b'Z'] => Some(parts),
            zone => parts.with_zone(zone),
        }
    }

    #[inline(always)]
    fn fraction(&mut self, text: &[u8], start: usize) -> Option<usize> {
        let mut at = start;
        while let Some(&digit @ b'0'..=b'9') = text.get(at) {
            if at - start == 6 {
                return None;
            }
            self.micros = self.micros * 10 + u32::from(digit - b'0');
            at += 1;
        }
        self.micros *= [0, 100_000, 10_000, 1000, 100, 10, 1][at - start];
        (at > start).then_some(at)
    }

    /// `+hh`, `+hhmm` or `+hh:mm`.
    fn with_zone(mut self, zone: &[u8]) -> Option<Self> {
        let sign = match zone[0] {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let hours = two(zone, 1)?;
        let minutes = match zone.len() {
            3 => 0,
            5 => two(zone, 3)?,
            6 if zone[3] == b':' => two(zone, 4)?,
            _ => return None,
        };
        if hours > 23 || minutes > 59 {
            self.zone = Zone::TooFar;
        }
        self.away = sign * i64::from(hours * 3600 + minutes * 60);
        Some(self)
    }

    #[inline(always)]
    fn problem(&self) -> Option<&'static str> {
        match self {
            Self { hour: 24.., .. } => Some("hour must be in 0..23"),
            Self { minute: 60.., .. } => Some("minute must be in 0..59"),
            Self { second: 60.., .. } => Some("second must be in 0..59"),
            Self { zone: Zone::TooFar, .. } => Some("the zone must be less than a day"),
            _ => None,
        }
    }
}

/// The number of two digits.
#[inline(always)]
fn two(text: &[u8], at: usize) -> Option<u32> {
    let (tens, ones) = (text.get(at)?.wrapping_sub(b'0'), text.get(at + 1)?.wrapping_sub(b'0'));
    (tens <= 9 && ones <= 9).then(|| u32::from(tens) * 10 + u32::from(ones))
}
