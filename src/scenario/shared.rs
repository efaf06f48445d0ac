//! Sources that several tenants share: `sources: (front: Images("front"))` of a scenario, and `source: Shared("front")` of its
//! tenants. What one of them names is read as if it stood at each of these tenants.

use std::collections::BTreeSet;

use super::choices::SOURCES;
use super::{Sharing, Tenant};
use crate::nearest::nearest;
use crate::written::{Fields, Kind, Node, ProblemKind, Reader, Spot, shown};

/// The scenario's named sources, as written.
pub(super) struct SharedSources<'n>(Vec<(Spot<String>, &'n Node)>);

/// Finds them among the fields of a scenario.
pub(super) fn read<'n>(r: &mut Reader, fields: &Fields<'n>) -> SharedSources<'n> {
    let Some(node) = fields.get("sources") else {
        return SharedSources(Vec::new());
    };
    match &node.kind {
        Kind::Call(call) if call.name.is_none() && call.items.is_empty() => {
            let named = call.fields.iter().map(|field| {
                let name = Spot {
                    value: field.name.clone(),
                    place: field.place.clone(),
                };
                (name, &field.value)
            });
            SharedSources(named.collect())
        }
        _ => {
            r.wrong_type::<()>(
                node,
                "sources",
                "named sources, such as (front: Images(\"front\"))",
            );
            SharedSources(Vec::new())
        }
    }
}

impl<'n> SharedSources<'n> {
    /// Their names.
    pub(super) fn names(&self) -> Vec<Spot<String>> {
        self.0.iter().map(|(name, _)| name.clone()).collect()
    }

    /// What a tenant's `source` names, if it is `Shared("…")`: the name, and the source as written. `Some(None)` where that is wrong,
    /// which is then reported.
    pub(super) fn named(&self, r: &mut Reader, node: &Node) -> Option<Option<(Spot<String>, &'n Node)>> {
        match &node.kind {
            Kind::Call(call) if call.name.as_deref() == Some("Shared") => Some(self.find(r, node)),
            _ => None,
        }
    }

    fn find(&self, r: &mut Reader, node: &Node) -> Option<(Spot<String>, &'n Node)> {
        let (_, fields) = r.choice(node, &SOURCES)?;
        let name = r.required(&fields, "name", "Shared(\"front\")", Reader::text)?;
        match self.0.iter().find(|(known, _)| known.value == name.value) {
            Some((_, source)) if is_camera(source) => {
                let problem = format!(
                    "source `{}` is a camera, whose frames come when it has them and go to one tenant: write it at that tenant",
                    shown(&name.value)
                );
                r.report(&name.place, ProblemKind::Syntax { problem });
                None
            }
            Some((_, source)) => Some((name, source)),
            None => {
                let known: Vec<&str> = self.0.iter().map(|(known, _)| known.value.as_str()).collect();
                let meant = nearest(&name.value, known.iter().copied());
                let there = match (known.is_empty(), meant) {
                    (true, _) => {
                        let like = "write it beside the tenants: sources: (";
                        format!(
                            "the scenario has no `sources`; {like}{}: Images(\"…\"))",
                            shown(&name.value)
                        )
                    }
                    (false, Some(meant)) => format!("did you mean `{}`?", shown(meant)),
                    (false, None) => format!("its sources are {}", shown(&known.join(", "))),
                };
                let problem = format!(
                    "no source `{}` is named in `sources`: {there}",
                    shown(&name.value)
                );
                r.report(&name.place, ProblemKind::Syntax { problem });
                None
            }
        }
    }
}

fn is_camera(source: &Node) -> bool {
    matches!(&source.kind, Kind::Call(call) if call.name.as_deref() == Some("Camera"))
}

/// What holds for all of them: each is somebody's, and its tenants are in one process.
///
/// `sources` are the names of all, and `shared` those that tenants name, in the order of the file.
pub(super) fn rules(
    sources: &[Spot<String>],
    shared: &[&Spot<String>],
    tenants: &[Tenant],
    ways: &[Sharing],
    r: &mut Reader,
) {
    let used: BTreeSet<&str> = tenants
        .iter()
        .filter_map(|tenant| tenant.shared.as_deref())
        .collect();
    for name in sources {
        if r.problems.is_empty() && !used.contains(name.value.as_str()) {
            let kind = ProblemKind::Contradiction {
                what: format!("source `{}`", shown(&name.value)),
                why: "no tenant has it".into(),
                advice: format!(
                    "give a tenant source: Shared(\"{}\"), or leave it out",
                    shown(&name.value)
                ),
            };
            r.report(&name.place, kind);
        }
    }
    if let Some(name) = shared.first().filter(|_| ways.contains(&Sharing::Processes)) {
        let kind = ProblemKind::Contradiction {
            what: format!("source Shared(\"{}\")", shown(&name.value)),
            why: "under Processes each tenant is a process of its own, and decoded frames are shared within one".into(),
            advice: "write the source at each tenant, or use another `sharing`".into(),
        };
        r.report(&name.place, kind);
    }
}
