use super::*;
use jetlag_record::Activity;
use jetlag_record::activity::{OnStream, Owner};

fn switch(context: u32, at: u64, operation: u32) -> record::ContextSwitch {
    record::ContextSwitch {
        context,
        timestamp: at,
        operation,
    }
}

fn pairs(all: &[(u32, u64, u32)]) -> Switches {
    let mut switches = Switches::default();
    for &(context, at, operation) in all {
        switches.take(&switch(context, at, operation));
    }
    switches
}

fn slice(context: u32, from: u64, to: u64) -> Slice {
    Slice { context, from, to }
}

#[test]
fn switches_to_a_context_and_from_it_are_a_slice_in_whatever_order_they_come() {
    let mut switches = pairs(&[(2, 30, 1), (1, 10, 1), (2, 40, 2), (1, 20, 2), (1, 40, 1)]);
    let paired = switches.pair(false);
    assert_eq!(paired.slices, [slice(1, 10, 20), slice(2, 30, 40)]);
    assert_eq!(paired.unpaired, 0);
    // The end may come with a later buffer.
    switches.take(&switch(1, 50, 2));
    assert_eq!(switches.pair(true).slices, [slice(1, 40, 50)]);
}

#[test]
fn what_has_no_other_half_is_counted_and_makes_no_slice() {
    // An end at first, a begin twice, something unknown, a begin at last.
    let mut switches = pairs(&[
        (1, 5, 2),
        (1, 10, 1),
        (1, 20, 1),
        (1, 30, 2),
        (1, 35, 9),
        (1, 40, 1),
    ]);
    let paired = switches.pair(true);
    assert_eq!((paired.slices, paired.unpaired), (vec![slice(1, 20, 30)], 4));
    assert_eq!(switches.pair(true), Paired::default());
}

/// Two contexts of one device, of tenants 0 and 1, in turns; kernels in the middle of their slices, 5 µs later.
fn two_contexts(stranger: bool) -> Gathered {
    let mut gathered = Gathered::default();
    gathered.slices = Some(TracedSlices::default());
    let mut keep = |(from, to): (i64, i64), tenant: Option<u16>, work, node| {
        let activity = Activity {
            from: Stamp(from),
            to: Stamp(to),
            name: None,
            owner: Owner {
                tenant,
                ..Owner::default()
            },
            work,
        };
        gathered.keep(Raw { activity, node });
    };
    for n in 0..100i64 {
        let at = n * 100_000 + n * 7_919 % 30_000;
        let tenant = (n % 2) as u16;
        let context = u32::from(tenant) + 1;
        let slice = Work::Slice {
            device: 0,
            process: 7,
        };
        keep((at, at + 50_000), None, slice, context.into());
        let kernel = Work::Kernel {
            on: OnStream {
                device: 0,
                context,
                stream: 7,
            },
            correlation: 0,
            graph: 0,
        };
        // One kernel of the other in this context, and it is no longer one tenant's.
        let tenant = if stranger && n == 2 { 1 } else { tenant };
        keep((at + 7_000, at + 53_000), Some(tenant), kernel, 0);
    }
    gathered
}

fn slices(gathered: &Gathered) -> impl Iterator<Item = &Raw> {
    gathered.all.iter().filter(|raw| device(raw).is_some())
}

#[test]
fn a_slice_is_the_tenants_whose_kernels_alone_ran_in_its_context() {
    let mut gathered = two_contexts(false);
    settle(&mut gathered);
    for raw in slices(&gathered) {
        assert_eq!(raw.activity.owner.tenant.map(u64::from), Some(raw.node - 1));
    }
    let mut gathered = two_contexts(true);
    settle(&mut gathered);
    let shared = slices(&gathered).filter(|raw| raw.activity.owner.tenant.is_none());
    assert_eq!(shared.count(), 50);
}

#[test]
fn slices_are_moved_to_where_their_kernels_lie_and_say_how_certain_that_is() {
    let mut gathered = two_contexts(false);
    settle(&mut gathered);
    let told = gathered.slices.unwrap();
    // A kernel is 46 µs and its slice 50, so the place is known within 2.
    assert_eq!((told.stamps, told.inside), (200, 200), "{told:?}");
    assert!(
        (told.moved.0 - 5_000).abs() <= 2_000 && told.within.0 <= 4_000,
        "{told:?}"
    );
    let name = slices(&gathered).next().unwrap().activity.name.unwrap();
    assert_eq!(
        gathered.names.text(name).unwrap().to_string(),
        format!("time slice, placed within {}", told.within)
    );
}

#[test]
fn without_kernels_slices_keep_their_stamps_and_have_no_certain_place() {
    let mut gathered = two_contexts(false);
    gathered.all.retain(|raw| device(raw).is_some());
    let before: Vec<Stamp> = gathered.all.iter().map(|raw| raw.activity.from).collect();
    settle(&mut gathered);
    let told = gathered.slices.unwrap();
    assert_eq!(
        (told.stamps, told.are_placed(), told.contradict()),
        (0, false, false)
    );
    let after: Vec<Stamp> = gathered.all.iter().map(|raw| raw.activity.from).collect();
    assert_eq!(before, after);
    let name = gathered.all[0].activity.name.unwrap();
    assert_eq!(&**gathered.names.text(name).unwrap(), "time slice, place unknown");
}

#[test]
fn kernels_that_lie_in_no_slice_wherever_they_are_put_contradict_them() {
    let mut gathered = two_contexts(false);
    for raw in &mut gathered.all {
        if device(raw).is_none() {
            // Twice as long as any slice and its gap.
            raw.activity.from = Stamp(raw.activity.from.0 + 50_000_000);
            raw.activity.to = Stamp(raw.activity.to.0 + 50_000_000);
        }
    }
    settle(&mut gathered);
    assert!(gathered.slices.unwrap().contradict(), "{:?}", gathered.slices);
}
