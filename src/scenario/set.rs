//! `--set path=value`: puts one value into the tree of a scenario before it is read.
//!
//! The path is fields joined by dots; a tenant is found by its name or its index. Nothing here knows which
//! fields exist: an override is put where its path says, and `file.rs` then finds a misspelt name exactly
//! as it finds one in the file, with `--set …` as its place.

use std::sync::Arc;

use super::FORMAT;
use crate::nearest::nearest;
use crate::written::{Call, Field, Kind, Node, Place, Problem, ProblemKind, parse_value, shown};

/// More names than any path in a scenario has; without a limit, a path could build a tree of any depth.
const DEEPEST_PATH: usize = 16;

/// Applies the overrides in order, so that a later one wins; returns what is wrong with them.
pub(super) fn apply(root: &mut Node, sets: &[String]) -> Vec<Problem> {
    sets.iter()
        .filter_map(|set| {
            let place = Place::Set(Arc::from(shown(set)));
            apply_one(root, set, &place).err().map(|problem| Problem {
                place,
                kind: ProblemKind::Override { problem },
            })
        })
        .collect()
}

fn apply_one(root: &mut Node, set: &str, place: &Place) -> Result<(), String> {
    let (path, value) = set
        .split_once('=')
        .ok_or("there is no `=`; write path=value, such as duration=5s or tenants.camera.arrival.hz=60")?;
    let segments: Vec<&str> = path.split('.').map(str::trim).collect();
    if segments.iter().any(|segment| segment.is_empty()) {
        return Err("the path has an empty name; write it like tenants.camera.arrival.hz".into());
    }
    if segments.len() > DEEPEST_PATH {
        return Err(format!(
            "the path has {} names; no field is nested that deep",
            segments.len()
        ));
    }
    let value = read_value(value.trim(), place)?;
    put(root, &segments, value, place)
}

/// RON where it reads as RON; otherwise the text itself, so that `80ms` and `../x.ron` need no quotes.
fn read_value(text: &str, place: &Place) -> Result<Node, String> {
    let mut node = match parse_value(text, place, &FORMAT) {
        Ok(node) => node,
        // Brackets and quotes say that RON was meant.
        Err(problem) if text.contains(['(', '[', '{', '"']) => {
            return Err(format!("the value `{}` cannot be read: {problem}", shown(text)));
        }
        Err(_) => Node::new(place.clone(), Kind::Text(text.to_owned())),
    };
    node.typed = Some(text.to_owned());
    Ok(node)
}

/// Walks down the path and puts `value` at its end.
fn put(root: &mut Node, segments: &[&str], value: Node, place: &Place) -> Result<(), String> {
    let mut node = root;
    let mut walked = String::new();
    for segment in segments {
        node = step(node, segment, &walked, place)?;
        if !walked.is_empty() {
            walked.push('.');
        }
        walked.push_str(segment);
    }
    if walked.starts_with("tenants.") && segments.len() == 2 {
        return Err(format!(
            "this is a whole tenant; set one of its fields, such as {}.deadline=80ms",
            shown(&walked)
        ));
    }
    *node = value;
    Ok(())
}

/// The part of `node` called `segment`, made where a field is not yet there.
fn step<'n>(node: &'n mut Node, segment: &str, walked: &str, place: &Place) -> Result<&'n mut Node, String> {
    if matches!(node.kind, Kind::Nothing) {
        node.kind = Kind::Call(Call::default());
        node.place = place.clone();
    }
    let described = node.described();
    match &mut node.kind {
        Kind::Call(call) => Ok(field(call, segment, place)),
        Kind::List(list) => {
            let index = position(list, segment, walked)?;
            Ok(&mut list[index])
        }
        _ => Err(format!(
            "`{}` is {described} and has no field `{}`",
            shown(walked),
            shown(segment)
        )),
    }
}

fn field<'n>(call: &'n mut Call, name: &str, place: &Place) -> &'n mut Node {
    let index = call.fields.iter().position(|field| field.name == name);
    let index = index.unwrap_or_else(|| {
        call.fields.push(Field {
            name: name.to_owned(),
            place: place.clone(),
            value: Node::new(place.clone(), Kind::Nothing),
        });
        call.fields.len() - 1
    });
    &mut call.fields[index].value
}

/// A tenant by name, an element of any list by index.
fn position(list: &[Node], segment: &str, walked: &str) -> Result<usize, String> {
    let names: Vec<&str> = list.iter().filter_map(name_of).collect();
    if let Some(index) = list.iter().position(|node| name_of(node) == Some(segment)) {
        return Ok(index);
    }
    match segment.parse::<usize>() {
        Ok(index) if index < list.len() => return Ok(index),
        Ok(index) => {
            return Err(format!(
                "`{walked}` has {} elements, counted from 0; element {index} does not exist",
                list.len()
            ));
        }
        Err(_) => {}
    }
    if names.is_empty() {
        return Err(format!(
            "`{}` is a list; select an element by its index, from 0",
            shown(walked)
        ));
    }
    let meant = nearest(segment, names.iter().copied())
        .map_or_else(|| ";".into(), |name| format!("; did you mean `{name}`?"));
    Err(format!(
        "no tenant is called `{}`{meant} tenants here: {}",
        shown(segment),
        names.join(", ")
    ))
}

fn name_of(node: &Node) -> Option<&str> {
    let Kind::Call(call) = &node.kind else {
        return None;
    };
    let field = call.fields.iter().find(|field| field.name == "name")?;
    match &field.value.kind {
        Kind::Text(name) => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written::parse;

    fn after(text: &str, set: &str) -> Result<Node, String> {
        let mut root = parse(text, &FORMAT).0.ok_or("no tree")?;
        match apply(&mut root, &[set.to_owned()]).first() {
            Some(problem) => Err(problem.kind.to_string()),
            None => Ok(root),
        }
    }

    const TWO: &str = r#"(tenants: [(name: "camera", depth: 1), (name: "lidar")], expect: ["a", "b"])"#;

    #[test]
    fn a_tenant_is_found_by_name_or_by_index() {
        for path in ["tenants.camera.depth=2", "tenants.0.depth=2"] {
            let mut root = after(TWO, path).expect(path);
            let place = Place::File;
            let mut node = &mut root;
            for segment in ["tenants", "camera", "depth"] {
                node = step(node, segment, "", &place).expect(segment);
            }
            assert_eq!(node.kind, Kind::Number("2".into()));
            assert_eq!(node.place, Place::Set(path.into()));
        }
    }

    #[test]
    fn a_path_that_leads_nowhere_names_what_is_near() {
        for (set, said) in [
            ("tenants.lidra.depth=2", "did you mean `lidar`?"),
            ("tenants.2.depth=2", "counted from 0"),
            ("tenants.camera.depth.x=2", "has no field `x`"),
            ("tenants.camera=2", "one of its fields"),
            ("duration", "there is no `=`"),
            ("tenants..x=1", "an empty name"),
            ("expect.x=1", "by its index"),
            ("tenants.camera.arrival=Periodic(hz: 60", "cannot be read"),
        ] {
            let problem = after(TWO, set).expect_err(set);
            assert!(problem.contains(said), "{set}: {problem}");
        }
    }

    #[test]
    fn a_value_that_is_not_ron_is_taken_as_text() {
        for text in ["80ms", "../engines/x.ron", "builtin:camera", "30Hz", "my-run", ""] {
            let node = read_value(text, &Place::File).expect(text);
            assert_eq!(node.kind, Kind::Text(text.into()));
        }
    }
}
