//! Keys, and entries that are whole, damaged, locked, cut off, a newer jetlag's or a stranger's.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::manifest::tests::manifest;
use super::super::manifest::{BuilderIdentity, Target};
use super::super::options::{BuildOptions, Precision};
use super::*;

fn key_of(network: &str, options: &BuildOptions) -> PlanKey {
    let made = manifest(b"");
    PlanKey::new(network, options, &made.builder, &made.target)
}

#[test]
fn everything_that_decides_a_plan_is_in_its_key() {
    let base = BuildOptions::default();
    let key = key_of("n", &base);
    assert_eq!(key, key_of("n", &base));
    assert_ne!(key, key_of("m", &base));
    let others = [
        BuildOptions {
            precision: Precision::Fp16,
            ..base.clone()
        },
        BuildOptions {
            dla_core: Some(0),
            ..base.clone()
        },
        BuildOptions {
            compute_capabilities: vec![89],
            ..base.clone()
        },
        BuildOptions {
            sparsity: true,
            ..base.clone()
        },
        BuildOptions {
            plugins: vec!["a.so".into()],
            ..base.clone()
        },
    ];
    for other in &others {
        assert_ne!(key, key_of("n", other), "{other:?}");
    }
    let made = manifest(b"");
    let builder = BuilderIdentity {
        version: "1.7.2.1".into(),
        ..made.builder.clone()
    };
    assert_ne!(key, PlanKey::new("n", &base, &builder, &made.target));
    let target = Target::Gpu {
        name: "Orin".into(),
        compute_capability: 87,
        multiprocessors: None,
        off: None,
    };
    let in_another_mode = Target::Gpu {
        name: "Orin".into(),
        compute_capability: 87,
        multiprocessors: Some(8),
        off: Some("f0".into()),
    };
    assert_ne!(
        PlanKey::new("n", &base, &made.builder, &target),
        PlanKey::new("n", &base, &made.builder, &in_another_mode)
    );
    assert_ne!(key, PlanKey::new("n", &base, &made.builder, &target));
}

#[test]
fn a_stored_plan_is_found_whole_and_a_damaged_one_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = PlanCache::new(folder.path().join("plans"));
    let key = key_of("n", &BuildOptions::default());
    assert!(cache.find(&key).is_none());
    let stored = cache
        .store(&key, b"the plan", &manifest(b"the plan"))
        .expect("stored");
    assert_eq!(cache.find(&key).expect("found").path, stored.path);
    let made = manifest(b"the plan");
    let took = cache.last_build_seconds(&made.network.blake3);
    assert_eq!(
        took,
        Some(made.build_seconds),
        "what a build without progress is shown with"
    );
    assert_eq!(cache.last_build_seconds("another network"), None);
    fs::write(&stored.path, b"the plqn").expect("damaged");
    assert!(cache.find(&key).is_none());
    assert!(!stored.path.exists(), "a damaged entry is removed");
    // Cut off between plan and manifest: not an entry.
    fs::write(&stored.path, b"the plan").expect("written");
    assert!(cache.find(&key).is_none());
}

#[test]
fn of_two_builders_one_builds_and_the_other_finds_its_plan() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = PlanCache::new(folder.path().to_owned());
    let key = key_of("n", &BuildOptions::default());
    let built = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let _lock = cache.lock(&key, || true).expect("locked");
                if cache.find(&key).is_none() {
                    built.fetch_add(1, Ordering::Relaxed);
                    cache.store(&key, b"plan", &manifest(b"plan")).expect("stored");
                }
            });
        }
    });
    assert_eq!(built.load(Ordering::Relaxed), 1);
}

#[test]
fn a_disk_that_takes_nothing_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    // A folder in the way of the plan stands for every failure of the final rename.
    let plan = folder.path().join("a.plan");
    fs::create_dir(&plan).expect("made");
    assert!(write_plan(&plan, b"plan", &manifest(b"plan")).is_err());
    let left: Vec<_> = fs::read_dir(folder.path())
        .expect("read")
        .filter_map(Result::ok)
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(left, ["a.plan"]);
}

#[test]
fn a_manifest_that_cannot_be_written_leaves_the_old_plan_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = folder.path().join("a.plan");
    write_plan(&plan, b"old", &manifest(b"old")).expect("written");
    // A folder in the manifest's way fails its turn.
    let beside = manifest::path_of(&plan);
    fs::remove_file(&beside).expect("removed");
    fs::create_dir(&beside).expect("made");
    assert!(write_plan(&plan, b"new", &manifest(b"new")).is_err());
    assert_eq!(fs::read(&plan).expect("read"), b"old");
}

#[test]
fn a_newer_jetlags_entry_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = PlanCache::new(folder.path().to_owned());
    let key = key_of("n", &BuildOptions::default());
    let newer = PlanManifest {
        schema: manifest::SCHEMA + 1,
        ..manifest(b"plan")
    };
    let stored = cache.store(&key, b"plan", &newer).expect("stored");
    assert!(cache.find(&key).is_none());
    assert!(stored.path.exists());
}

#[test]
fn entries_are_listed_and_cleaned_with_what_was_cut_off() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = PlanCache::new(folder.path().to_owned());
    let key = key_of("n", &BuildOptions::default());
    cache.store(&key, b"plan", &manifest(b"plan")).expect("stored");
    let key_like = "0".repeat(KEY_DIGITS);
    let unfinished = folder.path().join(format!("{key_like}.plan.1.unfinished"));
    let strangers = ["Cargo.lock", "mine.plan", "other.unfinished"];
    for stranger in strangers {
        fs::write(folder.path().join(stranger), b"not the cache's").expect("written");
    }
    let long_ago = std::time::SystemTime::now() - 2 * UNFINISHED;
    File::create(&unfinished)
        .and_then(|file| file.set_modified(long_ago))
        .expect("written");
    assert_eq!(cache.list().expect("listed").len(), 1);
    assert_eq!(cache.clean(|_| false).expect("cleaned"), (0, 0));
    assert!(!unfinished.exists());
    assert_eq!(cache.clean(|_| true).expect("cleaned"), (1, 4));
    assert!(cache.list().expect("listed").is_empty());
    for stranger in strangers {
        assert!(
            folder.path().join(stranger).exists(),
            "{stranger} is not the cache's"
        );
    }
}
