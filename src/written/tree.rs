//! RON as a tree of values that know where they were written.
//!
//! The only file that sees `ron2`, whose parser keeps the position of every token, goes on after a mistake
//! and limits its own recursion. (`ron` itself, through serde, stops at the first mistake and keeps no
//! positions.) What the values mean is decided by those who read the tree.

use std::ops::Range;

use ron2::__internal::Lexer;
use ron2::ast::{Document, Expr, StructBody, StructField, TupleElement, parse_document_lossy};
use ron2::error::ErrorKind;

use super::format::Format;
use super::problems::{Place, Problem, ProblemKind, shown};

/// As deep as brackets may lie within each other; half of what ron2 takes.
const MOST_DEPTH: usize = 64;

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) kind: Kind,
    /// What was typed after `=`, where the value came from `--set`: a string may stand there without quotes.
    pub(crate) typed: Option<String>,
}

/// A value as it was written, before any field gives it a meaning.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
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
    /// A value that could not be parsed; the mistake has been reported already.
    Broken,
}

/// `name(items…, fields…)`. RON has either items or fields; an override may add fields to items.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Call {
    pub(crate) name: Option<String>,
    pub(crate) items: Vec<Node>,
    pub(crate) fields: Vec<Field>,
}

/// A field of a value: `name: value`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) value: Node,
}

impl Node {
    pub(crate) fn new(place: Place, kind: Kind) -> Self {
        Node {
            place,
            kind,
            typed: None,
        }
    }

    /// Where the field at this path is written, such as `head.levels[0].stride`; where it is not, the nearest thing around it.
    pub(crate) fn place_of(&self, path: &str) -> &Place {
        let mut node = self;
        for segment in path.split(['.', '[', ']']).filter(|segment| !segment.is_empty()) {
            // `YoloAnchors(Maps(levels: …))`: what one nameless value holds is held by what is around it.
            while let Kind::Call(Call { items, fields, .. }) = &node.kind
                && let [only] = &items[..]
                && fields.is_empty()
            {
                node = only;
            }
            let part = match &node.kind {
                Kind::Call(call) => call
                    .fields
                    .iter()
                    .find(|field| field.name == segment)
                    .map(|field| &field.value),
                Kind::List(items) => segment.parse::<usize>().ok().and_then(|index| items.get(index)),
                _ => None,
            };
            match part {
                Some(part) => node = part,
                None => break,
            }
        }
        &node.place
    }

    /// In words, for messages.
    pub(crate) fn described(&self) -> String {
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

/// Reads a file's text. What could be read is returned with the problems of what could not.
pub(crate) fn parse(text: &str, format: &Format) -> (Option<Node>, Vec<Problem>) {
    let what = format.what;
    if text.len() as u64 > format.longest.0 {
        let problem = format!(
            "{} bytes is too large for a {what} (at most {}); is this the right file?",
            text.len(),
            format.longest.0
        );
        return (
            None,
            vec![Problem {
                place: Place::File,
                kind: ProblemKind::Unreadable { what, problem },
            }],
        );
    }
    // An editor's byte order mark is no mistake.
    let mut text = text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
    if let Some(offset) = too_deep(&text) {
        let problem = Problem {
            place: Lines::new(&text).place(offset),
            kind: ProblemKind::Syntax {
                problem: nested_too_deeply(what),
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
            worded(error.kind(), &text, offset, what),
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
                problem: format!("the file contains no {what}; start with {}", format.begins),
            },
        });
    }
    (node, problems)
}

/// Why a value by itself cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoValue {
    /// Too many brackets within each other.
    #[error("values are nested too deeply for a {what}")]
    TooDeep { what: &'static str },
    /// Against the grammar; what is wrong, and where.
    #[error("{0}")]
    Syntax(String),
    /// Blanks and comments alone.
    #[error("there is no value")]
    Empty,
}

/// Reads one value that belongs into such a file; everything in it is at `place`.
pub(crate) fn parse_value(text: &str, place: &Place, format: &Format) -> Result<Node, NoValue> {
    let what = format.what;
    if too_deep(text).is_some() {
        return Err(NoValue::TooDeep { what });
    }
    let (document, errors) = parse_document_lossy(text);
    match errors.first() {
        Some(error) => Err(NoValue::Syntax(worded(
            error.kind(),
            text,
            error.span().start_offset,
            what,
        ))),
        None => root(document, &|_| place.clone()).ok_or(NoValue::Empty),
    }
}

fn nested_too_deeply(what: &'static str) -> String {
    NoValue::TooDeep { what }.to_string()
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
    let quantities: Vec<Range<usize>> = unquoted_quantities(text).take(MOST).collect();
    let quoted = quantities.into_iter().map(|quantity| {
        let found = &text[quantity.clone()];
        let quotes = match found.starts_with('\'') {
            true => "double quotes",
            false => "quotes",
        };
        let problem = format!(
            "a value with a unit is written in {quotes}: \"{}\"",
            found.trim_matches('\'')
        );
        let blank = format!("\"{}\"", " ".repeat(quantity.len() - 2));
        text.replace_range(quantity.clone(), &blank);
        (quantity.start, problem)
    });
    quoted.collect()
}

/// Where a number ends and its unit begins at once, as in `33ms`: nothing in RON is written so.
fn unquoted_quantities(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut number: Option<Range<usize>> = None;
    Lexer::new(text).filter_map(move |token| {
        let span = token.span.start_offset..token.span.end_offset;
        let before = number.take().filter(|number| number.end == span.start);
        if token
            .text
            .trim_start_matches(['+', '-'])
            .starts_with(|c: char| c.is_ascii_digit())
        {
            number = Some(span);
            return None;
        }
        let unit = token
            .text
            .find(|c: char| !c.is_alphabetic())
            .unwrap_or(token.text.len());
        // In typographic quotes it is quoted, and the quotes are the mistake.
        let is_quoted = |number: &Range<usize>| text[..number.start].ends_with(['“', '”', '„', '‘', '’']);
        before
            .filter(|number| unit > 0 && !is_quoted(number))
            .map(|number| in_single_quotes(text, number.start..span.start + unit))
    })
}

/// The same with the single quotes around it, of which the lexer has taken the first with the character behind it.
fn in_single_quotes(text: &str, quantity: Range<usize>) -> Range<usize> {
    let front = text[..quantity.start].trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match (front.strip_suffix('\''), text[quantity.end..].starts_with('\'')) {
        (Some(before), true) => before.len()..quantity.end + 1,
        _ => quantity,
    }
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
pub(crate) fn same_line(a: &Place, b: &Place) -> bool {
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

/// The parser's complaint in the words of someone who writes such a file.
fn worded(kind: &ErrorKind, text: &str, offset: usize, what: &'static str) -> String {
    match kind {
        ErrorKind::Expected { expected, .. } if expected.contains("comma") => {
            match text.get(offset..).is_some_and(|rest| rest.starts_with(':')) {
                true => "this field has its name, and a value before it has none: write all of them with their names, such as \
                         Images(path: \"images\", repeat: false), or all without"
                    .into(),
                false => "expected a comma before this value".into(),
            }
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
            format!("more text after the end of the {what}; is a parenthesis closed too early?")
        }
        ErrorKind::ExpectedStringEnd => "this text is never closed: add the ending `\"`".into(),
        ErrorKind::UnclosedBlockComment => "this comment is never closed: add `*/`".into(),
        ErrorKind::UnexpectedChar(c @ ('“' | '”' | '„' | '‘' | '’')) => {
            format!("`{c}` is a typographic quote; text is written in plain double quotes: \"")
        }
        ErrorKind::UnexpectedChar(c) => format!("unexpected `{}`", shown(&c.to_string())),
        ErrorKind::ExceededRecursionLimit => nested_too_deeply(what),
        other => shown(&other.to_string()).to_lowercase(),
    }
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
    use crate::units::Bytes;

    const FORMAT: Format = Format {
        what: "scenario",
        longest: Bytes(1 << 20),
        begins: "Scenario(…)",
    };

    fn syntax(text: &str) -> Vec<String> {
        let (_, problems) = parse(text, &FORMAT);
        problems
            .iter()
            .map(|problem| format!("{}: {}", problem.place, problem.kind))
            .collect()
    }

    #[test]
    fn columns_count_characters_not_bytes() {
        let (node, problems) = parse("(\n  näme: \"é\", b: 2)", &FORMAT);
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
    fn a_field_with_its_name_behind_a_value_without_is_told() {
        let found = syntax("(source: Images(\"x\", repeat: false))");
        assert!(
            found[0].contains("Images(path: \"images\", repeat: false)"),
            "{found:?}"
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
        assert!(parse_value(&format!("{}\")", "[".repeat(200)), &Place::File, &FORMAT).is_err());
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

    #[test]
    fn a_field_is_found_by_its_path_or_else_what_is_around_it() {
        let text = "A(\nhead: B(C(\nlevels: [\n(stride: 8),\n(stride: 16)])),\nnms: (iou: 1))";
        let root = parse(text, &FORMAT).0.expect("a tree");
        for (path, line) in [
            ("head.levels[1].stride", 5),
            ("head.levels[1].anchors[0]", 5),
            ("head.levels[7].stride", 3),
            ("head.bins", 2),
            ("nms.iou", 6),
            ("classes", 1),
        ] {
            let place = root.place_of(path);
            assert!(
                matches!(place, Place::At { line: at, .. } if *at == line),
                "{path}: {place}"
            );
        }
    }
}
