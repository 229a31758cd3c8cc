//! The grammar of RFC 8259 over the bytes of one record: what stands at a position, and the problem if nothing may.

use crate::problem::{At, Problem, excerpt};
use crate::text;

pub const MAX_LEVELS: usize = 500;
const WORDS: [&str; 6] = ["true", "false", "null", "NaN", "Infinity", "-Infinity"];

/// The bytes of one record.
#[derive(Clone, Copy)]
pub struct Scan<'a> {
    pub data: &'a [u8],
}

/// What a value is, known from its first byte or, for numbers and words, from the whole token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Text,
    Object,
    Array,
    Number,
    True,
    False,
    Null,
}

impl Kind {
    pub fn words(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Object => "an object",
            Kind::Array => "an array",
            Kind::Number => "a number",
            Kind::True => "true",
            Kind::False => "false",
            Kind::Null => "null",
        }
    }
}

/// What stands at a position, and where it ends (text and containers: where it begins).
pub struct Token {
    pub kind: Kind,
    pub end: usize,
}

impl<'a> Scan<'a> {
    /// The byte here; 0, which is allowed nowhere, behind the end.
    #[inline(always)]
    pub fn byte(self, at: usize) -> u8 {
        self.data.get(at).copied().unwrap_or(0)
    }

    #[inline(always)]
    pub fn starts_with(self, at: usize, bytes: &[u8]) -> bool {
        self.data.get(at..).is_some_and(|rest| rest.starts_with(bytes))
    }

    /// The position behind any spaces.
    #[inline(always)]
    pub fn space(self, at: usize) -> usize {
        if self.byte(at) > b' ' { at } else { self.spaces(at) }
    }

    fn spaces(self, mut at: usize) -> usize {
        while matches!(self.data.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            at += 1;
        }
        at
    }

    /// The problem at a byte that cannot stand there.
    #[cold]
    pub fn unexpected(self, at: usize, wanted: &str) -> Box<Problem> {
        if at >= self.data.len() {
            return Problem::new("truncated_json", format!("The value ends at byte {at}, where {wanted} is expected."));
        }
        let next = &self.data[at..self.data.len().min(at + 4)];
        if next[0] >= 0x80 && std::str::from_utf8(next).is_err_and(|error| error.valid_up_to() == 0) {
            return self.not_utf8(at);
        }
        let found = excerpt(self.data, at, at + 20);
        Problem::new("invalid_json", format!("Expected {wanted} at byte {at}, found `{found}`."))
    }

    #[cold]
    pub fn not_utf8(self, at: usize) -> Box<Problem> {
        Problem::new("invalid_utf8", format!("Byte {at} (0x{:02x}) is not UTF-8.", self.byte(at)))
    }

    /// What stands here. Numbers and words are read to their end.
    pub fn token(self, at: usize) -> Result<Token, Box<Problem>> {
        let (kind, end) = match self.byte(at) {
            b'"' => (Kind::Text, at),
            b'{' => (Kind::Object, at),
            b'[' => (Kind::Array, at),
            b'0'..=b'9' => (Kind::Number, self.number(at, at)?),
            b'-' if self.byte(at + 1).is_ascii_digit() => (Kind::Number, self.number(at, at + 1)?),
            b't' if self.starts_with(at, b"true") => (Kind::True, at + 4),
            b'f' if self.starts_with(at, b"false") => (Kind::False, at + 5),
            b'n' if self.starts_with(at, b"null") => (Kind::Null, at + 4),
            _ => return Err(self.no_value(at)),
        };
        Ok(Token { kind, end })
    }

    #[cold]
    fn no_value(self, at: usize) -> Box<Problem> {
        let rest = &self.data[at.min(self.data.len())..];
        for word in &WORDS[3..] {
            if rest.starts_with(word.as_bytes()) {
                return Problem::new("not_finite", format!("{word} at byte {at} is not a JSON number."));
            }
        }
        if !rest.is_empty() && WORDS.iter().any(|word| word.as_bytes().starts_with(rest)) {
            let found = excerpt(self.data, at, self.data.len());
            return Problem::new("truncated_json", format!("The value ends within `{found}`."));
        }
        self.unexpected(at, "a value")
    }

    /// The end of the number whose first digit stands at `digit`.
    fn number(self, start: usize, digit: usize) -> At {
        let mut at = if self.byte(digit) == b'0' { digit + 1 } else { self.digits(digit) };
        if self.byte(at) == b'.' && self.byte(at + 1).is_ascii_digit() {
            at = self.digits(at + 1);
        }
        if matches!(self.byte(at), b'e' | b'E') {
            let digit = self.exponent_digit(at);
            if self.byte(digit).is_ascii_digit() {
                at = self.digits(digit);
            }
        }
        if matches!(self.byte(at), b'.' | b'e' | b'E') {
            return Err(self.half_number(start, at));
        }
        Ok(at)
    }

    fn exponent_digit(self, e: usize) -> usize {
        if matches!(self.byte(e + 1), b'+' | b'-') { e + 2 } else { e + 1 }
    }

    /// The position behind the digits from here on.
    fn digits(self, at: usize) -> usize {
        self.data[at..].iter().position(|byte| !byte.is_ascii_digit()).map_or(self.data.len(), |count| at + count)
    }

    /// A number is followed by a part of a number, at `end`: a second one, or one without its digits.
    #[cold]
    fn half_number(self, start: usize, end: usize) -> Box<Problem> {
        let before = &self.data[start..end];
        let has_exponent = before.iter().any(|byte| matches!(byte, b'e' | b'E'));
        if has_exponent || (self.byte(end) == b'.' && before.contains(&b'.')) {
            return self.unexpected(end, "the end of a number");
        }
        let digit = if self.byte(end) == b'.' { end + 1 } else { self.exponent_digit(end) };
        self.unexpected(digit, "a digit")
    }

    /// The position behind the colon after a name, and behind spaces.
    #[inline]
    pub fn colon(self, at: usize) -> At {
        let at = self.space(at);
        if self.byte(at) != b':' {
            return Err(self.unexpected(at, "`:`"));
        }
        Ok(self.space(at + 1))
    }

    /// Whether another member follows, and its position; or the position behind the closing bracket.
    #[inline(always)]
    pub fn more(self, at: usize, closing: u8) -> Result<(bool, usize), Box<Problem>> {
        let at = self.space(at);
        match self.byte(at) {
            b',' => Ok((true, self.space(at + 1))),
            byte if byte == closing => Ok((false, at + 1)),
            _ => Err(self.neither(at, closing)),
        }
    }

    #[cold]
    fn neither(self, at: usize, closing: u8) -> Box<Problem> {
        self.unexpected(at, &format!("`,` or `{}`", closing as char))
    }

    /// The position behind the name of a member that nobody asked for, and its colon.
    fn key(self, at: usize) -> At {
        self.colon(text::name_end(self, at)?)
    }

    /// The position behind any valid value. Iterative: a million levels cost no stack.
    pub fn skip(self, mut at: usize, level: usize) -> At {
        let mut open = Open::default();
        loop {
            let token = self.token(at)?;
            let mut end = token.end;
            match token.kind {
                Kind::Text => end = text::end(self, at)?,
                Kind::Object | Kind::Array => {
                    if level + open.count >= MAX_LEVELS {
                        let detail = format!("More than {MAX_LEVELS} levels of nesting at byte {at}.");
                        return Err(Problem::new("too_deep", detail));
                    }
                    let object = token.kind == Kind::Object;
                    at = self.space(at + 1);
                    if self.byte(at) != if object { b'}' } else { b']' } {
                        open.push(object);
                        at = if object { self.key(at)? } else { at };
                        continue;
                    }
                    end = at + 1;
                }
                _ => (),
            }
            loop {
                if open.count == 0 {
                    return Ok(end);
                }
                let object = open.last();
                let (another, next) = self.more(end, if object { b'}' } else { b']' })?;
                if another {
                    at = if object { self.key(next)? } else { next };
                    break;
                }
                end = next;
                open.count -= 1;
            }
        }
    }
}

/// The containers that are open while a value is skipped: for each whether it is an object.
#[derive(Default)]
struct Open {
    bits: [u64; MAX_LEVELS.div_ceil(64)],
    count: usize,
}

impl Open {
    fn push(&mut self, object: bool) {
        let (word, bit) = (self.count / 64, self.count % 64);
        self.bits[word] = self.bits[word] & !(1 << bit) | u64::from(object) << bit;
        self.count += 1;
    }

    fn last(&self) -> bool {
        let place = self.count - 1;
        self.bits[place / 64] >> (place % 64) & 1 == 1
    }
}
