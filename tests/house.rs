//! The structure that docs/architecture.md tells: who imports whom, read from the sources.
//!
//! Two modules that import each other cannot be understood, tested or moved one by one. So at each level of a crate, folders and
//! files beside each other form no circle: what a folder's files import counts as the folder's. A file may name what its parent
//! holds, as Rust's modules do.

mod writing;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, ItemUse, UseTree};

/// The crates of ours, but `tensorrt-dyn`: its objects make one another, as TensorRT's do.
const CRATES: [&str; 20] = [
    "src",
    "crates/cupti-dyn/src",
    "crates/jetlag-activity/src",
    "crates/jetlag-bags/src",
    "crates/jetlag-board/src",
    "crates/jetlag-datasets/src",
    "crates/jetlag-draw/src",
    "crates/jetlag-figure/src",
    "crates/jetlag-inject/src",
    "crates/jetlag-predict/src",
    "crates/jetlag-range/src",
    "crates/jetlag-record/src",
    "crates/jetlag-report/src",
    "crates/jetlag-score/src",
    "crates/jetlag-stats/src",
    "crates/jetlag-sweep/src",
    "crates/jetlag-video/src",
    "crates/jetlag-work/src",
    "crates/jetlag-world/src",
    "crates/tegrastats-parser/src",
];

/// A module's path from the root of its crate: `["backend", "gpu"]`.
type Module = Vec<String>;
type Imports = BTreeMap<Module, BTreeSet<Module>>;

#[test]
fn no_circle_of_modules() {
    for folder in CRATES {
        let modules = modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder));
        assert!(modules.len() > 1, "{folder} has no modules");
        let imports = imports(&modules);
        let circles: Vec<String> = levels(&modules)
            .iter()
            .filter_map(|level| circle(&siblings(&imports, level), level))
            .collect();
        assert!(circles.is_empty(), "{folder}:\n  {}", circles.join("\n  "));
    }
}

/// The floors of the analysis, the lowest first.
const FLOORS: [&[&str]; 6] = [
    &["gathering"],
    &["code", "explained", "finding", "summary", "stats"],
    &["amounts", "figures", "expectation", "catalogue"],
    &["topics"],
    &["judging"],
    &["foreign", "live", "summarizer"],
];

#[test]
fn the_analysis_imports_downwards() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/jetlag-report/src");
    let modules = modules(&root);
    let floor = |module: &Module| {
        let [_, name, ..] = module.as_slice() else {
            return None;
        };
        Some(FLOORS.iter().position(|floor| floor.contains(&name.as_str())))
    };
    let of_analysis = |module: &Module| module.first().is_some_and(|first| first == "analysis");
    let without: Vec<&Module> = modules
        .keys()
        .filter(|m| of_analysis(m) && floor(m) == Some(None))
        .collect();
    assert!(without.is_empty(), "on no floor: {without:?}");
    let imports = imports(&modules);
    let upwards: Vec<String> = imports
        .iter()
        .filter(|(from, _)| of_analysis(from))
        .flat_map(|(from, to)| to.iter().filter(|to| of_analysis(to)).map(move |to| (from, to)))
        .filter(|(from, to)| floor(to) > floor(from) && floor(from).is_some())
        .map(|(from, to)| format!("{} names {}", from.join("::"), to.join("::")))
        .collect();
    assert!(upwards.is_empty(), "{}", upwards.join("\n"));
}

#[test]
fn a_circle_is_found() {
    let module = |path: &str| -> Module { path.split("::").map(str::to_owned).collect() };
    let imports: Imports = [("a::x", "b"), ("b", "c::y"), ("c::z", "a::w"), ("d", "a::x")]
        .map(|(from, to)| (module(from), BTreeSet::from([module(to)])))
        .into();
    let found = circle(&siblings(&imports, &[]), &[]).unwrap();
    assert!(found.contains("a → b → c → a"), "{found}");
    assert_eq!(circle(&siblings(&imports, &module("a")), &module("a")), None);
}

/// Every source file of a crate but its tests, by the module that it is.
fn modules(root: &Path) -> BTreeMap<Module, PathBuf> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let Some("rs") = path.extension().and_then(|ending| ending.to_str()) else {
                continue;
            };
            let within = path.strip_prefix(root).unwrap().with_extension("");
            let mut module: Module = within
                .iter()
                .map(|part| part.to_str().unwrap().to_owned())
                .collect();
            if module.last().is_some_and(|name| name == "mod") || module == ["lib"] {
                module.pop();
            }
            let is_test = module.iter().any(|name| name == "tests");
            if !is_test && module != ["main"] {
                found.insert(module, path);
            }
        }
    }
    found
}

fn imports(modules: &BTreeMap<Module, PathBuf>) -> Imports {
    modules
        .iter()
        .map(|(module, path)| {
            let file = syn::parse_file(&std::fs::read_to_string(path).unwrap()).unwrap();
            let mut named = Named {
                within: module,
                modules,
                found: BTreeSet::new(),
            };
            named.visit_file(&file);
            (module.clone(), named.found)
        })
        .collect()
}

/// Collects the modules that a file names, in `use` and in paths.
struct Named<'a> {
    within: &'a Module,
    modules: &'a BTreeMap<Module, PathBuf>,
    found: BTreeSet<Module>,
}

impl Named<'_> {
    fn tree(&mut self, tree: &UseTree, before: &mut Vec<String>) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.tree(&path.tree, before);
                before.pop();
            }
            UseTree::Name(name) => self.path(before.iter().cloned().chain([name.ident.to_string()])),
            UseTree::Rename(name) => self.path(before.iter().cloned().chain([name.ident.to_string()])),
            UseTree::Glob(_) => self.path(before.iter().cloned()),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(tree, before)),
        }
    }

    /// Notes the innermost module that a path of names leads to.
    fn path(&mut self, names: impl Iterator<Item = String>) {
        let names: Vec<String> = names.collect();
        let mut rest = names.as_slice();
        let mut module = match rest.first().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("super" | "self") => self.within.clone(),
            Some(first) if self.modules.contains_key(&child(self.within, first)) => self.within.clone(),
            _ => return,
        };
        while let [first, after @ ..] = rest {
            match first.as_str() {
                "super" => drop(module.pop()),
                "crate" | "self" => {}
                name if self.modules.contains_key(&child(&module, name)) => module.push(name.to_owned()),
                _ => break,
            }
            rest = after;
        }
        if module != *self.within {
            self.found.insert(module);
        }
    }
}

impl<'ast> Visit<'ast> for Named<'_> {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if !is_test(&item.attrs) {
            self.tree(&item.tree, &mut Vec::new());
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.path(path.segments.iter().map(|segment| segment.ident.to_string()));
        visit::visit_path(self, path);
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    let is_test = |attribute: &Attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Path>()
                .is_ok_and(|condition| condition.is_ident("test"))
    };
    attributes.iter().any(is_test)
}

fn child(module: &Module, name: &str) -> Module {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

/// The root, and every module that has others below it.
fn levels(modules: &BTreeMap<Module, PathBuf>) -> BTreeSet<Module> {
    modules
        .keys()
        .filter_map(|module| Some(module.split_last()?.1.to_vec()))
        .collect()
}

/// Which of the modules directly below `level` import which; what is deeper counts as theirs.
fn siblings(imports: &Imports, level: &[String]) -> BTreeMap<String, BTreeSet<String>> {
    let below = |module: &Module| module.strip_prefix(level).and_then(|rest| rest.first().cloned());
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (from, to) in imports {
        let Some(from) = below(from) else { continue };
        let to = to.iter().filter_map(below).filter(|to| *to != from);
        found.entry(from.clone()).or_default().extend(to);
    }
    found
}

/// A circle among siblings, as a sentence.
fn circle(imports: &BTreeMap<String, BTreeSet<String>>, level: &[String]) -> Option<String> {
    imports.keys().find_map(|start| {
        let way = way_back(imports, start)?;
        let place = if level.is_empty() {
            "the root"
        } else {
            &level.join("::")
        };
        Some(format!("in {place}: {}", way.join(" → ")))
    })
}

/// The shortest way from `start` along imports back to it.
fn way_back(imports: &BTreeMap<String, BTreeSet<String>>, start: &str) -> Option<Vec<String>> {
    let mut ways = std::collections::VecDeque::from([vec![start.to_owned()]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in imports.get(way.last()?).into_iter().flatten() {
            let longer: Vec<String> = way.iter().cloned().chain([next.clone()]).collect();
            if next == start {
                return Some(longer);
            }
            if seen.insert(next.clone()) {
                ways.push_back(longer);
            }
        }
    }
    None
}
