//! Reading position in a line: blanks, numbers, names and tokens. Knows nothing of tegrastats.

/// A position in a line. A read that gives `None` stops where the text stopped fitting: callers that try another
/// reading note [`Cursor::at`] first and [`Cursor::go_to`] it.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    /// Byte offset from the start of the line.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    pub(crate) fn eat(&mut self, wanted: u8) -> Option<()> {
        if self.peek() == Some(wanted) {
            self.at += 1;
            return Some(());
        }
        None
    }

    #[inline]
    pub(crate) fn eat_text(&mut self, wanted: &str) -> Option<()> {
        if self
            .text
            .as_bytes()
            .get(self.at..)?
            .starts_with(wanted.as_bytes())
        {
            self.at += wanted.len();
            return Some(());
        }
        None
    }

    #[inline]
    pub(crate) fn skip_blanks(&mut self) {
        self.skip_while(is_blank);
    }

    /// The position is kept in a local over the loop, so that it stays in a register.
    #[inline]
    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        while bytes.get(at).is_some_and(|b| wanted(*b)) {
            at += 1;
        }
        self.at = at;
    }

    /// At a blank or at the end of the line.
    #[inline]
    pub(crate) fn token_ends(&self) -> bool {
        match self.peek() {
            None => true,
            Some(b) => is_blank(b),
        }
    }

    /// Nothing but blanks ahead.
    pub(crate) fn line_ends(mut self) -> bool {
        self.skip_blanks();
        self.peek().is_none()
    }

    /// Unsigned number of up to nine digits, which always fits.
    #[inline]
    pub(crate) fn number(&mut self) -> Option<u32> {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        let mut value = 0u32;
        while let Some(byte) = bytes.get(at) {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u32::from(digit));
            at += 1;
        }
        let digits = at - self.at;
        self.at = at;
        // Nine digits cannot have wrapped.
        (1..=9).contains(&digits).then_some(value)
    }

    /// Number with an optional minus sign.
    #[inline]
    pub(crate) fn signed(&mut self) -> Option<i32> {
        let negative = self.eat(b'-').is_some();
        let magnitude = i32::try_from(self.number()?).ok()?;
        Some(if negative { -magnitude } else { magnitude })
    }

    /// Decimal number with an optional minus sign and up to six decimals.
    ///
    /// The result is the `f64` nearest to the text: both parts of the division are exact.
    #[inline]
    pub(crate) fn decimal(&mut self) -> Option<f64> {
        const SCALES: [f64; 7] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6];
        let negative = self.eat(b'-').is_some();
        let mut digits = f64::from(self.number()?);
        if self.eat(b'.').is_some() {
            let start = self.at;
            let decimals = self.number()?;
            let scale = *SCALES.get(self.at - start)?;
            digits = (digits * scale + f64::from(decimals)) / scale;
        }
        Some(if negative { -digits } else { digits })
    }

    /// Name of a zone, rail or engine: letters, digits and `_ - . : +`. Empty where there is none.
    #[inline]
    pub(crate) fn name(&mut self) -> Name<'a> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let (mut at, mut seen) = (start, 0);
        while let Some(byte) = bytes.get(at) {
            let class = NAME_CLASS[usize::from(*byte)];
            if class == 0 {
                break;
            }
            seen |= class;
            at += 1;
        }
        self.at = at;
        Name {
            text: self.since(start),
            seen,
        }
    }

    /// Back to a position this cursor has had. Cheaper than keeping a copy of the cursor.
    #[inline]
    pub(crate) fn go_to(&mut self, at: usize) {
        self.at = at;
    }

    /// Text from `start` to here.
    #[inline]
    pub(crate) fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Moves to the end of the token.
    pub(crate) fn skip_token(&mut self) {
        self.skip_while(|b| !is_blank(b));
    }
}

#[inline]
pub(crate) fn is_blank(byte: u8) -> bool {
    // Nearly every byte is above the blank, and needs one comparison.
    byte <= b' ' && matches!(byte, b' ' | 0x09..=0x0d)
}

/// A name and which classes of letters it holds, noted on the way over it.
#[derive(Clone, Copy)]
pub(crate) struct Name<'a> {
    pub(crate) text: &'a str,
    seen: u8,
}

impl Name<'_> {
    /// Whether it holds a letter, so that it is not a number.
    #[inline]
    pub(crate) fn has_letter(&self) -> bool {
        self.seen & (CAPITAL | SMALL) != 0
    }

    /// As a board's device tree may name a rail (`vdd_in`, `5V_IN`) and prose no word: parts joined by underscores.
    #[inline]
    pub(crate) fn is_joined(&self) -> bool {
        self.has_letter() && self.seen & UNDERSCORE != 0 && self.seen & MARK == 0
    }

    /// As rails and engines are named: capitals, digits and underscores, a capital first.
    #[inline]
    pub(crate) fn is_upper(&self) -> bool {
        self.seen & (SMALL | MARK) == 0 && self.text.as_bytes().first().is_some_and(u8::is_ascii_uppercase)
    }
}

const CAPITAL: u8 = 1;
const SMALL: u8 = 2;
const DIGIT: u8 = 4;
const MARK: u8 = 8;
const UNDERSCORE: u8 = 16;

/// 0 for bytes that end a name.
const NAME_CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = match byte as u8 {
            b'A'..=b'Z' => CAPITAL,
            b'a'..=b'z' => SMALL,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b'-' | b'.' | b':' | b'+' => MARK,
            _ => 0,
        };
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_the_nearest_double_of_its_text() {
        for text in [
            "42.593",
            "0.1",
            "-51",
            "33.25",
            "999999999.999999",
            "30.468",
            "-0.5",
        ] {
            assert_eq!(Cursor::new(text, 0).decimal(), text.parse().ok(), "{text}");
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused_not_wrapped() {
        assert_eq!(Cursor::new("999999999", 0).number(), Some(999_999_999));
        assert_eq!(Cursor::new("4294967296", 0).number(), None);
        assert_eq!(Cursor::new("", 0).number(), None);
        assert_eq!(Cursor::new("-", 0).signed(), None);
        assert_eq!(Cursor::new("1.", 0).decimal(), None);
        assert_eq!(Cursor::new("1.1234567", 0).decimal(), None);
    }
}
