//! Texts: finding their end eight bytes at a time, UTF-8, escapes, and what can be wrong with them.

use crate::problem::{At, Problem, excerpt};
use crate::scan::Scan;

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The bytes of eight places that end a plain run: quote, backslash, control characters and, if asked for, whatever
/// is not ASCII. Each shows as the high bit of its byte; those behind the first may show too often.
#[inline(always)]
fn special<const ASCII: bool>(word: u64) -> u64 {
    let zero = |word: u64| word.wrapping_sub(LOW) & !word;
    let found =
        zero(word ^ (LOW * b'"' as u64)) | zero(word ^ (LOW * b'\\' as u64)) | word.wrapping_sub(LOW * 0x20) & !word;
    (if ASCII { found | word } else { found }) & HIGH
}

/// The first place from here on that holds a quote, a backslash, a control character or (if `ASCII`) a byte that is
/// not ASCII; the length of the data if there is none.
#[inline(always)]
fn run<const ASCII: bool>(data: &[u8], mut at: usize) -> usize {
    while let Some(bytes) = data.get(at..at + 8) {
        let found = special::<ASCII>(u64::from_le_bytes(bytes.try_into().unwrap_or_default()));
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(&byte) = data.get(at) {
        if byte == b'"' || byte == b'\\' || byte < b' ' || (ASCII && byte >= 0x80) {
            break;
        }
        at += 1;
    }
    at
}

/// The text that begins at this quote, if it is ASCII without escapes.
#[inline(always)]
pub fn plain(scan: Scan<'_>, at: usize) -> Option<&[u8]> {
    if scan.byte(at) != b'"' {
        return None;
    }
    let end = run::<true>(scan.data, at + 1);
    if scan.byte(end) != b'"' {
        return None;
    }
    scan.data.get(at + 1..end)
}

/// Append the text that begins at this quote; the position behind it.
#[inline]
pub fn append(scan: Scan<'_>, at: usize, out: &mut Vec<u8>) -> At {
    let start = at + 1;
    let end = run::<true>(scan.data, start);
    if scan.byte(end) != b'"' {
        return append_any(scan, at, out);
    }
    out.extend_from_slice(&scan.data[start..end]);
    Ok(end + 1)
}

/// The position behind the text that begins at this quote.
pub fn end(scan: Scan<'_>, at: usize) -> At {
    match plain(scan, at) {
        Some(text) => Ok(at + text.len() + 2),
        None => append_any(scan, at, &mut Vec::new()),
    }
}

/// The position behind the name of a member.
pub fn name_end(scan: Scan<'_>, at: usize) -> At {
    if scan.byte(at) != b'"' {
        return Err(scan.unexpected(at, "a field name in double quotes"));
    }
    end(scan, at)
}

/// `append` for whatever is not plain, and for what is no text at all.
#[inline(never)]
fn append_any(scan: Scan<'_>, at: usize, out: &mut Vec<u8>) -> At {
    let (end, has_escapes) = extent(scan.data, at + 1);
    let raw = &scan.data[at + 1..end];
    if let Err(error) = std::str::from_utf8(raw) {
        if end == scan.data.len() && error.error_len().is_none() {
            return Err(scan.unexpected(end, "the rest of a character"));
        }
        return Err(scan.not_utf8(at + 1 + error.valid_up_to()));
    }
    let closed = scan.byte(end) == b'"';
    if !has_escapes {
        out.extend_from_slice(raw);
    } else if let Some(lone) = unescape(raw, out) {
        // At the very end of the bytes a high surrogate may only be waiting for its other half.
        let waits = lone.is_last && lone.unit < 0xdc00 && !closed && ends_in_escape(scan.data, end);
        if !waits {
            let detail = format!("The text at byte {at} has half a surrogate pair (\\u{:04x}).", lone.unit);
            return Err(Problem::new("invalid_utf8", detail));
        }
    }
    if closed { Ok(end + 1) } else { Err(broken(scan, end)) }
}

/// Where the text ends, or is broken: a quote, a control character, an escape that is none; and whether it has escapes.
fn extent(data: &[u8], mut at: usize) -> (usize, bool) {
    let mut has_escapes = false;
    loop {
        at = run::<false>(data, at);
        if data.get(at) != Some(&b'\\') {
            return (at, has_escapes);
        }
        at += match data.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
            Some(b'u') if data.get(at + 2..at + 6).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) => 6,
            _ => return (at, has_escapes),
        };
        has_escapes = true;
    }
}

/// Half of a surrogate pair.
struct Lone {
    unit: u32,
    /// Nothing follows it in the text.
    is_last: bool,
}

/// Append a text, whose escapes are all well-formed, without them; the first half of a surrogate pair that stands alone.
fn unescape(raw: &[u8], out: &mut Vec<u8>) -> Option<Lone> {
    let mut at = 0;
    while let Some(&byte) = raw.get(at) {
        if byte != b'\\' {
            let next = raw[at..].iter().position(|&byte| byte == b'\\').map_or(raw.len(), |count| at + count);
            out.extend_from_slice(&raw[at..next]);
            at = next;
            continue;
        }
        let escape = raw[at + 1];
        if escape != b'u' {
            out.push(simple(escape));
            at += 2;
            continue;
        }
        let unit = unit(raw, at);
        at += 6;
        let mut code = unit;
        if (0xd800..0xdc00).contains(&unit) && raw.get(at..at + 2) == Some(b"\\u") {
            let low = self::unit(raw, at);
            if (0xdc00..0xe000).contains(&low) {
                code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                at += 6;
            }
        }
        match char::from_u32(code) {
            Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            None => return Some(Lone { unit, is_last: at == raw.len() }),
        }
    }
    None
}

fn simple(escape: u8) -> u8 {
    match escape {
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        same => same,
    }
}

/// The number of a `\uXXXX` that begins here.
fn unit(raw: &[u8], at: usize) -> u32 {
    raw[at + 2..at + 6].iter().fold(0, |sum, &digit| sum << 4 | (digit as char).to_digit(16).unwrap_or(0))
}

/// The bytes end here, or within a `\u` escape that begins here.
fn ends_in_escape(data: &[u8], at: usize) -> bool {
    let rest = &data[at..];
    match rest {
        [] | [b'\\'] => true,
        [b'\\', b'u', hex @ ..] => hex.len() < 4 && hex.iter().all(u8::is_ascii_hexdigit),
        _ => false,
    }
}

#[cold]
fn broken(scan: Scan<'_>, at: usize) -> Box<Problem> {
    if ends_in_escape(scan.data, at) {
        return Problem::new("truncated_json", format!("The value ends at byte {}, within a text.", scan.data.len()));
    }
    if scan.byte(at) == b'\\' {
        let found = excerpt(scan.data, at, at + 6);
        return Problem::new("invalid_json", format!("`{found}` at byte {at} is not an escape."));
    }
    let byte = scan.byte(at);
    Problem::new("invalid_json", format!("Raw control character 0x{byte:02x} in a text, at byte {at}."))
}
