//! RON as a tree of values that know where they were written.
//!
//! The only file that sees `ron2`, whose parser keeps the position of every token, goes on after a mistake
//! and limits its own recursion. (`ron` itself, through serde, stops at the first mistake and keeps no
//! positions.) What the values mean is decided in `file.rs`; `set.rs` puts overrides into the tree before that.

use std::ops::Range;

use ron2::__internal::Lexer;
use ron2::ast::{Document, Expr, StructBody, StructField, TupleElement, parse_document_lossy};
use ron2::error::ErrorKind;

use super::problems::{Place, Problem, ProblemKind, shown};

/// A scenario is a page or two; a text beyond this is something else, and not worth parsing.
pub(super) const LARGEST_TEXT: usize = 1 << 20;

/// As deep as brackets may lie within each other; half of what ron2 takes.
const MOST_DEPTH: usize = 64;
const TOO_DEEP: &str = "values are nested too deeply for a scenario";

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) kind: Kind,
    /// What was typed after `=`, where the value came from `--set`: a string may stand there without quotes.
    pub(super) typed: Option<String>,
}

/// What was written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Text(String),
    /// As written; whether it fits is known only where it is read.
    Number(String),
    Bool(bool),
    List(Vec<Node>),
    /// `Name`, `Name(…)` or `(…)`.
    Call(Call),
    /// `None`: as if the field were not written.
    Nothing,
    /// Something that no field takes, in words.
    Other(&'static str),
    /// Reported already.
    Broken,
}

/// `name(items…, fields…)`. RON has either items or fields; an override may add fields to items.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Call {
    pub(super) name: Option<String>,
    pub(super) items: Vec<Node>,
    pub(super) fields: Vec<Field>,
}

/// `name: value`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) value: Node,
}

impl Node {
    pub(super) fn new(place: Place, kind: Kind) -> Self {
        Node {
            place,
            kind,
            typed: None,
        }
    }

    /// In words, for messages.
    pub(super) fn described(&self) -> String {
        match &self.kind {
            Kind::Text(text) => format!("the text \"{}\"", shown(text)),
            Kind::Number(raw) => format!("the number {}", shown(raw)),
            Kind::Bool(value) => format!("{value}"),
            Kind::List(_) => "a list".into(),
            Kind::Call(Call { name: Some(name), .. }) => format!("`{}`", shown(name)),
            Kind::Call(_) => "fields in parentheses".into(),
            Kind::Nothing => "`None`".into(),
            Kind::Other(what) => (*what).into(),
            Kind::Broken => "something unreadable".into(),
        }
    }
}

/// Reads a scenario's text. What could be read is returned with the problems of what could not.
pub(super) fn parse(text: &str) -> (Option<Node>, Vec<Problem>) {
    if text.len() > LARGEST_TEXT {
        let problem = format!(
            "{} bytes is too large for a scenario (at most {LARGEST_TEXT}); is this the right file?",
            text.len()
        );
        return (
            None,
            vec![Problem {
                place: Place::File,
                kind: ProblemKind::Unreadable { problem },
            }],
        );
    }
    // An editor's byte order mark is no mistake.
    let mut text = text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
    if let Some(offset) = too_deep(&text) {
        let problem = Problem {
            place: Lines::new(&text).place(offset),
            kind: ProblemKind::Syntax {
                problem: TOO_DEEP.into(),
            },
        };
        return (None, vec![problem]);
    }
    let unquoted = quote_quantities(&mut text);
    let lines = Lines::new(&text);
    let (document, errors) = parse_document_lossy(&text);
    let quantities = unquoted
        .iter()
        .map(|(offset, problem)| (*offset, problem.clone(), false));
    let complaints = errors.iter().map(|error| {
        let offset = error.span().start_offset;
        (
            offset,
            worded(error.kind(), &text, offset),
            swallows_the_rest(error.kind()),
        )
    });
    let mut problems: Vec<Problem> = Vec::new();
    for (offset, problem, swallows) in quantities.chain(complaints) {
        let place = lines.place(offset);
        // After one mistake the parser often stumbles again on the same line: the first says it all.
        if problems.iter().any(|earlier| same_line(&earlier.place, &place)) {
            continue;
        }
        let kind = ProblemKind::Syntax { problem };
        problems.push(Problem { place, kind });
        if swallows {
            break;
        }
    }
    let node = root(document, &|offset| lines.place(offset));
    let node = node.map(|mut node| {
        let places: Vec<Place> = unquoted.iter().map(|(offset, _)| lines.place(*offset)).collect();
        mark_broken(&mut node, &places);
        node
    });
    if node.is_none() && problems.is_empty() {
        problems.push(Problem {
            place: Place::File,
            kind: ProblemKind::Syntax {
                problem:
                    "the file contains no scenario; start with Scenario(tenants: [Tenant(name: \"…\", …)])"
                        .into(),
            },
        });
    }
    (node, problems)
}

/// Reads the value of an override; everything in it is at `place`.
pub(super) fn parse_value(text: &str, place: &Place) -> Result<Node, String> {
    if too_deep(text).is_some() {
        return Err(TOO_DEEP.into());
    }
    let (document, errors) = parse_document_lossy(text);
    match errors.first() {
        Some(error) => Err(worded(error.kind(), text, error.span().start_offset)),
        None => root(document, &|_| place.clone()).ok_or_else(|| "there is no value".into()),
    }
}

/// Where brackets lie too deep within each other, if they do. The parser has a limit too, and may never get beyond what stands
/// there. It is asked for its own words, so that both see the same brackets; one that closes nothing counts as if it were not there.
fn too_deep(text: &str) -> Option<usize> {
    let mut open = Vec::new();
    for token in Lexer::new(text) {
        match (token.text, open.last()) {
            ("(" | "[" | "{", _) => open.push(token.text),
            (")", Some(&"(")) | ("]", Some(&"[")) | ("}", Some(&"{")) => drop(open.pop()),
            _ => {}
        }
        if open.len() > MOST_DEPTH {
            return Some(token.span.start_offset);
        }
    }
    None
}

/// After this mistake the parser has seen the end of the file, and what else it says of it is not so.
fn swallows_the_rest(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ExpectedStringEnd | ErrorKind::UnclosedBlockComment
    )
}

/// Puts blank text of the same length where `10s` stands without quotes, so that the parser can go on;
/// returns where that was and what is wrong there. It is the mistake that is made most.
fn quote_quantities(text: &mut String) -> Vec<(usize, String)> {
    const MOST: usize = 64;
    let mut found = Vec::new();
    while found.len() < MOST {
        let (_, errors) = parse_document_lossy(text);
        let quantity = errors
            .iter()
            .find_map(|error| unquoted_quantity(text, error.span().start_offset));
        let Some(quantity) = quantity else { break };
        let problem = format!(
            "a value with a unit is written in quotes: \"{}\"",
            &text[quantity.clone()]
        );
        found.push((quantity.start, problem));
        let blank = format!("\"{}\"", " ".repeat(quantity.len() - 2));
        text.replace_range(quantity, &blank);
    }
    found
}

/// Values at these places have been complained of already.
fn mark_broken(node: &mut Node, places: &[Place]) {
    match &mut node.kind {
        Kind::Text(_) if places.contains(&node.place) => node.kind = Kind::Broken,
        Kind::List(items) => items.iter_mut().for_each(|item| mark_broken(item, places)),
        Kind::Call(call) => {
            let fields = call.fields.iter_mut().map(|field| &mut field.value);
            call.items
                .iter_mut()
                .chain(fields)
                .for_each(|value| mark_broken(value, places));
        }
        _ => {}
    }
}

/// Whether two places are on one line of the file.
pub(super) fn same_line(a: &Place, b: &Place) -> bool {
    matches!((a, b), (Place::At { line: a, .. }, Place::At { line: b, .. }) if a == b)
}

type Locate<'a> = &'a dyn Fn(usize) -> Place;

fn root(document: Document<'_>, at: Locate<'_>) -> Option<Node> {
    document.value.map(|expr| node(&expr, at))
}

fn node(expr: &Expr<'_>, at: Locate<'_>) -> Node {
    let kind = match expr {
        Expr::Unit(_) => Kind::Call(Call::default()),
        Expr::Bool(value) => Kind::Bool(value.value),
        Expr::Number(number) => Kind::Number(number.raw.to_string()),
        Expr::String(text) => Kind::Text(text.value.clone()),
        Expr::Option(option) => match &option.value {
            None => Kind::Nothing,
            Some(inner) => return node(&inner.expr, at),
        },
        Expr::Seq(seq) => Kind::List(seq.items.iter().map(|item| node(&item.expr, at)).collect()),
        Expr::Tuple(tuple) => Kind::Call(Call {
            items: items(&tuple.elements, at),
            ..Call::default()
        }),
        Expr::AnonStruct(anonymous) => Kind::Call(Call {
            fields: fields(&anonymous.fields, at),
            ..Call::default()
        }),
        Expr::Struct(named) => {
            let (items, fields) = match &named.body {
                None => (Vec::new(), Vec::new()),
                Some(StructBody::Tuple(body)) => (items(&body.elements, at), Vec::new()),
                Some(StructBody::Fields(body)) => (Vec::new(), fields(&body.fields, at)),
            };
            Kind::Call(Call {
                name: Some(named.name.name.to_string()),
                items,
                fields,
            })
        }
        Expr::Map(_) => Kind::Other("a map (fields are written in parentheses, without quotes)"),
        Expr::Char(_) => Kind::Other("a character (text is written in double quotes)"),
        Expr::Byte(_) | Expr::Bytes(_) => Kind::Other("bytes"),
        Expr::Error(_) => Kind::Broken,
    };
    Node::new(at(expr.span().start_offset), kind)
}

fn items(elements: &[TupleElement<'_>], at: Locate<'_>) -> Vec<Node> {
    elements.iter().map(|element| node(&element.expr, at)).collect()
}

fn fields(fields: &[StructField<'_>], at: Locate<'_>) -> Vec<Field> {
    fields
        .iter()
        // The parser leaves a nameless field where it could not read a name, and has reported it.
        .filter(|field| !field.name.name.is_empty())
        .map(|field| Field {
            name: field.name.name.to_string(),
            place: at(field.name.span.start_offset),
            value: node(&field.value, at),
        })
        .collect()
}

/// The parser's complaint in the words of someone who writes a scenario.
fn worded(kind: &ErrorKind, text: &str, offset: usize) -> String {
    match kind {
        ErrorKind::Expected { expected, .. } if expected.contains("comma") => {
            "expected a comma before this value".into()
        }
        ErrorKind::Expected { expected, context } if expected.contains("closing") => {
            let inside = context.map(|c| format!(" of this {c}")).unwrap_or_default();
            let close = if expected.contains(']') {
                "]"
            } else if expected.contains(')') {
                ")"
            } else {
                "}"
            };
            match text.get(offset..).and_then(|rest| rest.chars().next()) {
                Some(found) => format!(
                    "expected `,` or the closing `{close}`{inside}, found `{}`",
                    shown(&found.to_string())
                ),
                None => format!("the file ends before the closing `{close}`{inside}"),
            }
        }
        ErrorKind::Eof => "the file ends in the middle of a value".into(),
        ErrorKind::TrailingCharacters => {
            "more text after the end of the scenario; is a parenthesis closed too early?".into()
        }
        ErrorKind::ExpectedStringEnd => "this text is never closed: add the ending `\"`".into(),
        ErrorKind::UnclosedBlockComment => "this comment is never closed: add `*/`".into(),
        ErrorKind::UnexpectedChar(c @ ('“' | '”' | '„' | '‘' | '’')) => {
            format!("`{c}` is a typographic quote; text is written in plain double quotes: \"")
        }
        ErrorKind::UnexpectedChar(c) => format!("unexpected `{}`", shown(&c.to_string())),
        ErrorKind::ExceededRecursionLimit => TOO_DEEP.into(),
        other => shown(&other.to_string()).to_lowercase(),
    }
}

/// Where `33ms` stands, if the parser stopped between the number and the unit.
fn unquoted_quantity(text: &str, offset: usize) -> Option<Range<usize>> {
    let before = text.get(..offset)?;
    let number = before.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '_'));
    let digits = before[number.len()..].starts_with(|c: char| c.is_ascii_digit());
    let within_a_word = number.ends_with(char::is_alphanumeric);
    let rest = &text[offset..];
    let unit = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
    (digits && !within_a_word && unit > 0).then_some(number.len()..offset + unit)
}

/// Where lines start, to turn offsets into line and column.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        Lines { text, starts }
    }

    fn place(&self, offset: usize) -> Place {
        let line = self.starts.partition_point(|&start| start <= offset).max(1);
        let start = self.starts[line - 1];
        let column = self
            .text
            .get(start..offset)
            .map_or(offset.saturating_sub(start), |before| before.chars().count());
        Place::At {
            line,
            column: column + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn syntax(text: &str) -> Vec<String> {
        let (_, problems) = parse(text);
        problems
            .iter()
            .map(|problem| format!("{}: {}", problem.place, problem.kind))
            .collect()
    }

    #[test]
    fn columns_count_characters_not_bytes() {
        let (node, problems) = parse("(\n  näme: \"é\", b: 2)");
        assert_eq!(problems, []);
        let Some(Kind::Call(call)) = node.map(|n| n.kind) else {
            panic!("a struct");
        };
        assert_eq!(call.fields[1].place, Place::At { line: 2, column: 14 });
    }

    #[test]
    fn a_quantity_without_quotes_is_quoted_in_the_answer() {
        assert_eq!(
            syntax("(duration: 10s,\n warmup: 1.5ms)"),
            [
                "1:12: a value with a unit is written in quotes: \"10s\"",
                "2:10: a value with a unit is written in quotes: \"1.5ms\""
            ]
        );
    }

    #[test]
    fn one_line_gives_one_complaint_and_lines_below_are_still_read() {
        let found = syntax("(\na: [1 2 3],\nb: \"x\\q\",\n)");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("2:7: expected a comma"), "{found:?}");
    }

    #[test]
    fn nesting_without_end_is_a_problem_and_not_a_crash() {
        for open in ["(", "[", "Some(", "a(b: ", "{1:"] {
            assert!(!syntax(&open.repeat(100_000)).is_empty());
        }
        // Here the parser stays at one place for ever.
        let found = syntax(&format!("{}\")", "[".repeat(200)));
        assert_eq!(found, ["1:65: values are nested too deeply for a scenario"]);
        assert!(parse_value(&format!("{}\")", "[".repeat(200)), &Place::File).is_err());
        // Brackets that close nothing are no way past it, and what stands in texts and comments is no bracket.
        assert!(!syntax(&"[)".repeat(200)).is_empty());
        let harmless = format!(
            "(a: \"{}\", /* {} */ b: [{}])",
            "[".repeat(200),
            "(".repeat(200),
            "[],".repeat(200)
        );
        assert_eq!(syntax(&harmless), [""; 0]);
    }

    #[test]
    fn an_empty_file_says_how_a_scenario_begins() {
        assert!(syntax("// nothing\n")[0].contains("start with Scenario("));
        assert_eq!(syntax("\u{feff}()"), [""; 0]);
    }
}
