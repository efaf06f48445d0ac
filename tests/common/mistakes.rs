//! Files with mistakes, each with the phrases that its reader must be told: comments that begin with `expect:`, as many as problems.

use std::path::{Path, PathBuf};

use jetlag::written::{Place, Problems};

/// The RON files of a folder, in order.
pub fn files(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{folder}: {error}"))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ron"))
        .collect();
    files.sort();
    files
}

/// What the comments of a file that begin with this key say.
pub fn comments(path: &Path, key: &str) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let begin = format!("// {key}: ");
    text.lines()
        .filter_map(|line| line.strip_prefix(&begin))
        .map(str::to_owned)
        .collect()
}

/// Where the files of a folder, at least so many, are not told of as they expect; `read` says what is wrong with a file.
pub fn wrongly_told(folder: &str, least: usize, read: impl Fn(&Path) -> Option<Problems>) -> Vec<String> {
    let files = files(folder);
    assert!(files.len() >= least, "{folder} has only {} files", files.len());
    files
        .iter()
        .flat_map(|path| disappointments(path, read(path)))
        .collect()
}

/// Where a file's problems are not those that it expects.
fn disappointments(path: &Path, problems: Option<Problems>) -> Vec<String> {
    let Some(problems) = problems else {
        return vec![format!("{} was taken as right", path.display())];
    };
    let shown = problems.to_string();
    let expected = comments(path, "expect");
    let mut wrong: Vec<String> = expected
        .iter()
        .filter(|phrase| !shown.contains(phrase.as_str()))
        .map(|phrase| format!("`{phrase}` is not in\n{shown}"))
        .collect();
    if problems.list().len() != expected.len() {
        wrong.push(format!("{} problems expected:\n{shown}", expected.len()));
    }
    for (problem, line) in problems.list().iter().zip(shown.lines()) {
        let place = match &problem.place {
            Place::At { line, column } => format!("{}:{line}:{column}: ", path.display()),
            Place::Set(text) => format!("--set {text}: "),
            Place::File => "a line and a column".into(),
        };
        if !line.starts_with(&place) {
            wrong.push(format!("{line}\n  does not begin with {place}"));
        }
    }
    wrong
}
