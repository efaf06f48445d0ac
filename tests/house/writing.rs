//! One way to write: `jetlag_record::whole`, which follows no link and replaces nothing unasked. Read from the sources.

use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{ExprMethodCall, ItemMod, ItemUse, UseTree};

use super::{CRATES, is_test, modules};

/// The one file that may.
const WHOLE: &str = "crates/jetlag-record/src/whole.rs";
/// What opens a file for writing, or writes one, by the end of its path. `File::create_new` follows no link and replaces nothing.
const WRITING: [[&str; 2]; 5] = [
    ["File", "create"],
    ["fs", "write"],
    ["fs", "copy"],
    ["image", "save_buffer"],
    ["image", "save_buffer_with_format"],
];
/// Options of `OpenOptions` that let a file be changed, where they are set to `true`.
const OPTIONS: [&str; 5] = ["write", "append", "truncate", "create", "create_new"];

#[test]
fn files_are_written_in_one_way() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources: Vec<PathBuf> = CRATES
        .iter()
        .chain(&["crates/tensorrt-dyn/src"])
        .flat_map(|folder| {
            modules(&root.join(folder))
                .into_values()
                .chain([root.join(folder).join("main.rs")])
        })
        .filter(|path| path.is_file() && !path.ends_with(WHOLE) && !path.ends_with("testing.rs"))
        .collect();
    let found: Vec<String> = sources
        .iter()
        .flat_map(|path| {
            let found = writing(&std::fs::read_to_string(path).unwrap());
            found
                .into_iter()
                .map(|what| format!("{}: {what}", path.display()))
        })
        .collect();
    assert!(
        found.is_empty(),
        "use jetlag_record::whole in place of\n  {}",
        found.join("\n  ")
    );
    // What is looked for is what the one way is made of.
    assert!(!writing(&std::fs::read_to_string(root.join(WHOLE)).unwrap()).is_empty());
}

#[test]
fn other_ways_are_found() {
    for way in [
        "fn f() { std::fs::File::create(p); }",
        "fn f() { fs::write(p, b); }",
        "fn f() { x.map_err(std::fs::write); }",
        "use std::fs::write;",
        "fn f() { OpenOptions::new().read(true).write(true).open(p); }",
        "fn f() { File::options().append(true).open(p); }",
        "fn f() { image.save(p); }",
    ] {
        assert_eq!(writing(way).len(), 1, "{way}");
    }
    let tests = "#[cfg(test)] mod tests { fn f() { std::fs::write(p, b); } }";
    let fine = "fn f() { File::create_new(p); File::options().read(true).open(p); out.write(b); }";
    assert!(writing(tests).is_empty() && writing(fine).is_empty());
}

/// What a file of the source has that writes files.
fn writing(source: &str) -> Vec<String> {
    let mut found = Writing(Vec::new());
    found.visit_file(&syn::parse_file(source).unwrap());
    found.0
}

struct Writing(Vec<String>);

impl Writing {
    fn path(&mut self, names: &[String]) {
        if let [.., within, name] = names
            && WRITING.iter().any(|writes| [within, name] == *writes)
        {
            self.0.push(names.join("::"));
        }
    }

    fn tree(&mut self, tree: &UseTree, before: &mut Vec<String>) {
        let name = match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.tree(&path.tree, before);
                before.pop();
                return;
            }
            UseTree::Group(group) => return group.items.iter().for_each(|tree| self.tree(tree, before)),
            UseTree::Glob(_) => return,
            UseTree::Name(name) => name.ident.to_string(),
            UseTree::Rename(name) => name.ident.to_string(),
        };
        let names: Vec<String> = before.iter().cloned().chain([name]).collect();
        self.path(&names);
    }
}

impl<'ast> Visit<'ast> for Writing {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.tree(&item.tree, &mut Vec::new());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        self.path(&names);
        visit::visit_path(self, path);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let name = call.method.to_string();
        let is_on = matches!(
            call.args.first(),
            Some(syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Bool(on), .. })) if on.value
        );
        let is_option = is_on && OPTIONS.contains(&name.as_str());
        // The crate `image`'s; a model's own has our way within.
        let is_saved = name == "save"
            && call.args.len() == 1
            && !matches!(&*call.receiver, syn::Expr::Path(path) if path.path.is_ident("model") || path.path.is_ident("state"));
        if is_option || is_saved {
            self.0.push(format!(".{name}(…)"));
        }
        visit::visit_expr_method_call(self, call);
    }
}
