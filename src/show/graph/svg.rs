//! The picture: plain SVG that any browser shows and any editor opens, without scripts; dark where the reader's system is.

use std::fmt::Write as _;

use super::layout::places;
use super::{Graph, Paint};

/// Sizes in pixels.
const BOX: (usize, usize) = (230, 72);
const GAP: (usize, usize) = (26, 40);
const MARGIN: usize = 24;
const HEAD: usize = 34;
/// Letters that fit into a box.
const ROOM: usize = 32;

const STYLE: &str = "text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#1b1f24}.n{font-weight:bold}.d{fill:#57606a}\
rect{fill:#f6f8fa;stroke:#8c959f}.product{fill:#ddf4ff;stroke:#218bff}.pointwise{fill:#dafbe1;stroke:#2da44e}\
.reformat{fill:#fff8c5;stroke:#bf8700}.outside{fill:#fff;stroke:#1b1f24}path{fill:none;stroke:#8c959f}.back{fill:#fff;stroke:none}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.d{fill:#9198a1}rect{fill:#151b23;stroke:#656c76}.product{fill:#0c2d6b;stroke:#388bfd}\
.pointwise{fill:#033a16;stroke:#2ea043}.reformat{fill:#341a00;stroke:#bb8009}.outside{fill:#0d1117;stroke:#e6edf3}.back{fill:#0d1117}}";

/// The graph as SVG.
pub fn svg(graph: &Graph) -> String {
    let places = places(graph);
    let lanes = places.iter().map(|place| place.lane + 1).max().unwrap_or(1);
    let rows = places.iter().map(|place| place.row + 1).max().unwrap_or(1);
    let width = 2 * MARGIN + lanes * BOX.0 + (lanes - 1) * GAP.0;
    let height = 2 * MARGIN + HEAD + rows * BOX.1 + (rows - 1) * GAP.1;
    let left = |lane: usize| MARGIN + lane * (BOX.0 + GAP.0);
    let top = |row: usize| MARGIN + HEAD + row * (BOX.1 + GAP.1);
    let title = escaped(&graph.title);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n<rect class=\"back\" width=\"{width}\" height=\"{height}\"/>\n\
         <text class=\"n\" x=\"{MARGIN}\" y=\"{}\">{title}</text>\n",
        MARGIN + 8
    );
    for edge in &graph.edges {
        let (Some(above), Some(below)) = (places.get(edge.from), places.get(edge.to)) else {
            continue;
        };
        let (x, y) = (left(above.lane) + BOX.0 / 2, top(above.row) + BOX.1);
        let (to_x, to_y) = (left(below.lane) + BOX.0 / 2, top(below.row));
        // Down the lane, and within the last gap over to where it goes.
        let turn = to_y.saturating_sub(GAP.1).max(y);
        let middle = (turn + to_y) / 2;
        let _ = writeln!(
            out,
            "<path d=\"M{x} {y}V{turn}C{x} {middle} {to_x} {middle} {to_x} {to_y}\"><title>{}</title></path>",
            escaped(&edge.tooltip)
        );
    }
    for (node, place) in graph.nodes.iter().zip(&places) {
        let (x, y) = (left(place.lane), top(place.row));
        let class = match node.paint {
            Paint::Plain => "",
            Paint::Product => " class=\"product\"",
            Paint::Pointwise => " class=\"pointwise\"",
            Paint::Reformat => " class=\"reformat\"",
            Paint::Outside => " class=\"outside\"",
        };
        let _ = write!(
            out,
            "<g><title>{}</title><rect{class} x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"4\"/><text class=\"n\" x=\"{}\" y=\"{}\">{}</text>",
            escaped(&node.tooltip),
            BOX.0,
            BOX.1,
            x + 7,
            y + 15,
            escaped(&cut(&node.name))
        );
        for (number, line) in node.lines.iter().take(3).enumerate() {
            let _ = write!(
                out,
                "<text class=\"d\" x=\"{}\" y=\"{}\">{}</text>",
                x + 7,
                y + 32 + 15 * number,
                escaped(&cut(line))
            );
        }
        out.push_str("</g>\n");
    }
    out + "</svg>\n"
}

/// The end of what is too long, which tells names apart.
fn cut(text: &str) -> String {
    let length = text.chars().count();
    match length > ROOM {
        true => ['…']
            .into_iter()
            .chain(text.chars().skip(length + 1 - ROOM))
            .collect(),
        false => text.to_owned(),
    }
}

/// Text as XML has it; what XML forbids becomes a mark.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push('\n'),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{Edge, Node};
    use super::*;

    #[test]
    fn names_are_text_and_long_ones_keep_their_end() {
        let graph = Graph {
            title: "a & b".to_owned(),
            nodes: vec![
                Node {
                    name: "<script>alert(1)</script>\u{0}".to_owned(),
                    ..Node::default()
                },
                Node {
                    name: format!("{}/conv2/Conv", "x".repeat(80)),
                    tooltip: "\"all\"".to_owned(),
                    ..Node::default()
                },
            ],
            edges: vec![Edge {
                from: 0,
                to: 1,
                tooltip: "t <1>".to_owned(),
            }],
        };
        let picture = svg(&graph);
        assert_eq!(picture, svg(&graph));
        assert!(
            !picture.contains("<script>") && picture.contains("&lt;script&gt;") && !picture.contains('\u{0}')
        );
        assert!(picture.contains("/conv2/Conv</text>") && picture.contains("a &amp; b"));
        assert!(svg(&Graph::default()).starts_with("<svg"));
    }
}
