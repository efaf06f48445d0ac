//! The alternatives of a choice.

/// One alternative of a choice.
pub struct Choice {
    /// Its name.
    pub name: &'static str,
    /// Names of the fields that it has.
    pub fields: &'static [&'static str],
    /// How many of them, from the first, may be written without their name.
    pub bare: usize,
    /// The alternative in full, for messages.
    pub example: &'static str,
}

/// A choice that is one word.
pub const fn plain(name: &'static str) -> Choice {
    choice(name, &[], 0, name)
}

/// A choice with fields, of which the first `bare` may be written without their name.
pub const fn choice(
    name: &'static str,
    fields: &'static [&'static str],
    bare: usize,
    example: &'static str,
) -> Choice {
    Choice {
        name,
        fields,
        bare,
        example,
    }
}

/// A field with alternatives.
pub struct Choices<'c> {
    /// The field in words, such as "arrival".
    pub what: &'static str,
    /// What it is where it is not written; an override of one of its fields then means this.
    pub default: &'static str,
    /// The alternatives.
    pub all: &'c [Choice],
}
