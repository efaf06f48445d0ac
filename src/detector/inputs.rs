//! Whether the tensors that a detector makes are inputs of its network, of the type and the shape that it takes, as far as its file
//! tells.

use crate::engine::network::Port;
use crate::nearest::nearest;
use crate::tensor::ElementType;
use crate::written::{ProblemKind, Rules, shown};

/// Refuses tensors that the network does not have, each with the field that names it: what is written to them would go nowhere.
pub(super) fn check_names<'n>(
    tensors: impl IntoIterator<Item = (&'n str, String)>,
    inputs: &[Port],
    rules: &mut Rules<'_>,
) {
    for (name, path) in tensors {
        // One without a name is told by itself.
        if name.trim().is_empty() || inputs.iter().any(|input| input.name == name) {
            continue;
        }
        let known = || inputs.iter().map(|input| input.name.as_str());
        let meant =
            nearest(name, known()).map_or_else(String::new, |near| format!("; `{near}` is probably meant"));
        let kind = ProblemKind::OutOfRange {
            what: format!("`{path}`"),
            found: format!("`{}`", shown(name)),
            wanted: format!(
                "an input of the network: {}{meant}. Exporters leave out inputs that nothing depends on",
                known().collect::<Vec<_>>().join(", ")
            ),
        };
        rules.report(&path, kind);
    }
}

/// Whether an input takes a tensor of these extents, where those that nobody knows are `None`.
pub(crate) fn takes_shape(port: &Port, dims: &[Option<usize>]) -> bool {
    let pairs = || port.shape.iter().zip(dims);
    let fits = || {
        pairs().all(|(wanted, found)| match (wanted.parse::<usize>(), found) {
            (Ok(wanted), Some(found)) => wanted == *found,
            _ => true,
        })
    };
    port.shape.is_empty() || port.shape.len() == dims.len() && fits()
}

/// Whether an input takes elements of this type.
pub(crate) fn takes_element(port: &Port, element: ElementType) -> bool {
    let takes: &[&str] = match element {
        ElementType::F32 => &["float"],
        ElementType::F16 => &["float16"],
        ElementType::I8 => &["int8"],
        ElementType::U8 => &["uint8"],
        // Runtimes narrow the one, and some have no other.
        ElementType::I32 | ElementType::I64 => &["int32", "int64"],
        ElementType::Bool => &["bool"],
    };
    takes.contains(&port.element.as_str()) || port.element == "?"
}
