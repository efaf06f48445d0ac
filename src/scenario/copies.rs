//! Copies of a tenant, each a process of its own (`processes: 2` and `gpus: [0, 1]`), and what those of one device share.
//!
//! A copy is a tenant like any other from here on, named after the first: `camera`, `camera-2`, `camera-3`. Only under
//! `Processes` are there copies; that rule and those of the two fields are here.

use super::file::TenantFile;
use super::rules::require;
use super::{Sharing, Tenant, is_device};
use crate::written::{Place, ProblemKind, Reader, Spot, shown};

/// More processes of one tenant than any GPU serves at once.
const MOST_PROCESSES: usize = 64;
/// What each of `gpus` is.
const A_DEVICE: &str = "a device's number, from 0 to 63";
/// As long as a tenant's name may be.
const LONGEST_NAME: usize = 64;

/// Every tenant with its copies after it. `resolved` are the tenants as typed, in their order.
pub(super) fn expand(
    typed: &[TenantFile<'_>],
    resolved: Vec<Tenant>,
    sharing: Sharing,
    r: &mut Reader,
) -> Vec<Tenant> {
    let names: Vec<String> = resolved.iter().map(|tenant| tenant.name.clone()).collect();
    let mut all = Vec::new();
    for (typed, tenant) in typed.iter().zip(resolved) {
        let label = format!("tenant `{}`", shown(&tenant.name));
        let devices = devices(typed, &label, r);
        let processes = processes(typed, &devices, &label, r);
        let place = typed.processes.given().map(|spot| &spot.place);
        let place = place.or(typed.gpus.given().map(|spot| &spot.place));
        if let Some(place) = place.filter(|_| sharing != Sharing::Processes) {
            let kind = ProblemKind::Contradiction {
                what: format!("`processes` or `gpus` of {label}"),
                why: format!("each copy runs in its own process, but `sharing` is {sharing:?}"),
                advice: "set sharing: Processes, or leave them out".into(),
            };
            r.report(place, kind);
        }
        for copy in 0..processes {
            let mut tenant = tenant.clone();
            if let Some(&device) = devices.get(copy % devices.len().max(1)) {
                tenant.gpu.gpu = device;
            }
            if copy > 0 {
                tenant.name = format!("{}-{}", tenant.name, copy + 1);
                if let Some(place) = place {
                    copy_name(&tenant.name, &names, place, r);
                }
            }
            all.push(tenant);
        }
    }
    all
}

/// The devices that the copies are dealt out to, if any are named.
fn devices(typed: &TenantFile<'_>, label: &str, r: &mut Reader) -> Vec<u16> {
    let Some(Spot { value: list, place }) = typed.gpus.given() else {
        return Vec::new();
    };
    let what = format!("`gpus` of {label}");
    if list.is_empty() {
        let kind = ProblemKind::OutOfRange {
            what: what.clone(),
            found: "an empty list".into(),
            wanted: "at least one device, such as [0, 1]".into(),
        };
        r.report(place, kind);
    }
    if typed.place_of("gpu").is_some() {
        let kind = ProblemKind::Contradiction {
            what: what.clone(),
            why: "`gpu` is for one device and `gpus` for the devices of copies".into(),
            advice: "set only one of them".into(),
        };
        r.report(place, kind);
    }
    for (index, spot) in list.iter().enumerate() {
        require(r, spot, is_device(spot.value), what.as_str(), A_DEVICE);
        if let Some(first) = list[..index].iter().find(|earlier| earlier.value == spot.value) {
            let kind = ProblemKind::Twice {
                what: format!("device {} in {what}", spot.value),
                first: first.place.clone(),
            };
            r.report(&spot.place, kind);
        }
    }
    list.iter().map(|spot| spot.value).collect()
}

/// How many there are: as said, or one a device.
fn processes(typed: &TenantFile<'_>, devices: &[u16], label: &str, r: &mut Reader) -> usize {
    let Some(spot) = typed.processes.given() else {
        return devices.len().max(1);
    };
    let least = devices.len().max(1);
    let wanted = match devices.len() {
        0 | 1 => format!("from 1 to {MOST_PROCESSES}"),
        named => format!("from {named}, one for each of its `gpus`, to {MOST_PROCESSES}"),
    };
    let ok = (least..=MOST_PROCESSES).contains(&spot.value);
    require(r, spot, ok, format!("`processes` of {label}"), &wanted);
    if ok { spot.value } else { 1 }
}

/// A copy's name must do as a tenant's, and be nobody else's.
fn copy_name(name: &str, typed: &[String], place: &Place, r: &mut Reader) {
    let taken = typed.iter().any(|other| other == name);
    if taken || name.len() > LONGEST_NAME {
        let kind = ProblemKind::Contradiction {
            what: format!("the copy `{}`", shown(name)),
            why: match taken {
                true => "another tenant already has that name".into(),
                false => format!("its name is longer than {LONGEST_NAME} letters"),
            },
            advice: "rename one of the two tenants".into(),
        };
        r.report(place, kind);
    }
}

/// Shares of one device add up to at most 1.
pub(super) fn shares<'a>(tenants: impl Iterator<Item = &'a TenantFile<'a>>, r: &mut Reader) {
    let mut sum = 0.0;
    for tenant in tenants {
        let (Some(share), Some(place)) = (tenant.plain.gpu.share, tenant.place_of("share")) else {
            continue;
        };
        sum += share;
        if sum > 1.0 + 1e-9 && share <= 1.0 {
            let kind = ProblemKind::OutOfRange {
                what: "the sum of all `share`s".to_owned(),
                found: format!("{sum:.2} with this one"),
                wanted: "at most 1".to_owned(),
            };
            r.report(place, kind);
            return;
        }
    }
}
