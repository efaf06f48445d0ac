//! What NVIDIA's headers ask of the caller beyond types: the double holds to it, and so does the binding.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use nvidia_doubles::tensorrt::{self, Double};
use tensorrt_dyn::{
    ContextMemory, Era, Error, ExecutionContext, Library, NetworkOptions, PreviewFeature, Stream,
};

use crate::scene::{NETWORK, STATIC, Scene};

const NO_STREAM: Stream = std::ptr::null_mut();

pub fn each_library_of_plugins_is_registered_once(double: &'static Double) {
    // A library of plugins belongs to one TensorRT: each double has copies of its own.
    let own = |kind: &str| format!("lib{kind}_{}.so", double.number);
    let (Some(telling), Some(asked), Some(silent)) = (
        tensorrt::plugins(&own("telling"), "PLUGINS_TELL"),
        tensorrt::plugins(&own("asked"), "PLUGINS_INITIALISE"),
        tensorrt::plugins(&own("silent"), "PLUGINS_NONE"),
    ) else {
        return;
    };
    let scene = Scene::new(double);
    for file in [&telling, &asked, &silent] {
        // A build and a run, two engines, two tenants.
        for _ in 0..3 {
            scene.library.load_plugins(file).unwrap();
        }
    }
    // A second time in one process, as `every_row_is_called` does, nothing is called.
    let heard = scene.heard();
    let loads = heard.iter().filter(|line| line.contains("loadLibrary(")).count();
    assert!(loads <= 1, "{heard:?}");
    // SAFETY: a library of this test, whose function has this type.
    let count = unsafe {
        let library = libloading::Library::new(&asked).unwrap();
        let count = library
            .get::<unsafe extern "C" fn() -> i32>(b"double_plugins_asked")
            .unwrap();
        count()
    };
    assert_eq!(count, 1, "asked once, whatever the release");
}

pub fn a_profile_serves_one_context_unless_profiles_are_shared(double: &'static Double) {
    let scene = Scene::new(double);
    let choose = |context: &mut ExecutionContext, profile| {
        // SAFETY: the default stream.
        unsafe { context.set_optimization_profile(profile, NO_STREAM) }
    };
    let shares = scene.version().era() != Era::A;
    let one = scene.engine(NETWORK);
    let mut first = one.context(ContextMemory::Own).unwrap();
    let mut second = one.context(ContextMemory::Own).unwrap();
    choose(&mut first, 0).unwrap();
    assert_eq!(
        second.optimization_profile().unwrap(),
        if shares { 0 } else { -1 }
    );
    match choose(&mut second, 0) {
        Ok(()) => assert!(shares, "{}", scene.version()),
        Err(error) => {
            assert!(!shares, "{error}");
            assert!(
                error.to_string().contains("has been chosen by another"),
                "{error}"
            );
        }
    }
    // A context that is gone leaves its profile.
    drop(first);
    choose(&mut second, 0).unwrap();

    // Two equal profiles serve two contexts in every release.
    let plan = scene.plan_of_profiles(NETWORK, 2, |_| ());
    let two = scene.library.runtime().unwrap().engine(plan.bytes()).unwrap();
    let mut contexts = [0, 1].map(|_| two.context(ContextMemory::Own).unwrap());
    for (profile, context) in (0..).zip(&mut contexts) {
        choose(context, profile).unwrap();
        context.set_input_shape(c"images", &[1, 2, 2]).unwrap();
    }

    // From 8.6.1 on a plan can be built to share them.
    if PreviewFeature::ProfileSharing0806
        .value(scene.version())
        .is_some()
    {
        let plan = scene.plan_with(NETWORK, |config| {
            config
                .set_preview_feature(PreviewFeature::ProfileSharing0806, true)
                .unwrap();
        });
        let shared = scene.library.runtime().unwrap().engine(plan.bytes()).unwrap();
        for context in &mut [0, 1].map(|_| shared.context(ContextMemory::Own).unwrap()) {
            choose(context, 0).unwrap();
        }
    }
}

pub fn two_contexts_that_are_enqueued_in_one_memory_are_noticed(double: &'static Double) {
    let scene = Scene::new(double);
    let engine = scene.engine(&format!("{STATIC}compute_us 30000\n"));
    let mut memory = vec![0_u8; 4096];
    let arena = memory.as_mut_ptr() as usize;
    // Both go on until one of them came while the other was in the memory, which at some moment it does.
    const FRAMES: usize = 10_000;
    let is_refused = AtomicBool::new(false);
    let context = || {
        let mut context = engine.context(ContextMemory::FromOutside).unwrap();
        // SAFETY: the memory outlives the frames, and what they do in it at once is what is tested: the double refuses.
        unsafe { context.set_device_memory(arena as *mut c_void, 4096) }.unwrap();
        context
    };
    let frame = |context: &mut ExecutionContext| {
        let (x, mut y) = ([1.0_f32; 4], [0.0_f32; 4]);
        // SAFETY: both live through the frame.
        unsafe {
            context.set_input_address(c"x", x.as_ptr().cast()).unwrap();
            context.set_output_address(c"y", y.as_mut_ptr().cast()).unwrap();
            context.enqueue(NO_STREAM)
        }
    };
    let until_refused = |context: &mut ExecutionContext| {
        let mut frames = (0..FRAMES).take_while(|_| !is_refused.load(Ordering::Acquire));
        let refused = frames.find_map(|_| frame(context).err());
        is_refused.store(true, Ordering::Release);
        refused
    };
    let (mut first, mut second) = (context(), context());
    let refused: Vec<String> = std::thread::scope(|scope| {
        let one = scope.spawn(|| until_refused(&mut first));
        let refused = [until_refused(&mut second), one.join().unwrap()];
        refused.iter().flatten().map(ToString::to_string).collect()
    });
    assert!(
        refused
            .iter()
            .any(|error| error.contains("is being enqueued in this one's device memory")),
        "{refused:?}"
    );
    // One after the other is what it is for.
    frame(&mut first).unwrap();
    frame(&mut second).unwrap();
}

pub fn branches_have_streams_of_their_own(double: &'static Double) {
    let scene = Scene::new(double);
    let mut has_branches = false;
    let plan = scene.plan_with(STATIC, |config| {
        has_branches = config.set_max_aux_streams(2).is_ok()
    });
    let engine = scene.library.runtime().unwrap().engine(plan.bytes()).unwrap();
    assert_eq!(
        engine.aux_streams().unwrap_or(0),
        if has_branches { 2 } else { 0 }
    );
    if !has_branches {
        return;
    }
    let mut context = engine.context(ContextMemory::Own).unwrap();
    let (x, mut y) = ([1.0_f32; 4], [0.0_f32; 4]);
    let one = 0x1_0000_usize as Stream;
    // SAFETY: both tensors live through the frames, which the double refuses before it looks at a stream.
    unsafe {
        context.set_input_address(c"x", x.as_ptr().cast()).unwrap();
        context.set_output_address(c"y", y.as_mut_ptr().cast()).unwrap();
        for mut streams in [[one, one], [one, NO_STREAM]] {
            context.set_aux_streams(&mut streams).unwrap();
            let error = context.enqueue(0x2_0000_usize as Stream).unwrap_err().to_string();
            assert!(error.contains("have to be different streams"), "{error}");
        }
    }
}

/// Objects of two releases have other layouts: neither library is given one of the other's.
pub fn objects_of_two_libraries_are_not_mixed(double: &'static Double) {
    let mut others = tensorrt::eras().iter();
    let Some(other) = others.find(|other| other.number != double.number) else {
        return;
    };
    let scene = Scene::new(double);
    let builder = scene.library.builder().unwrap();
    let options = NetworkOptions::default();
    let (network, config) = (builder.network(options).unwrap(), builder.config().unwrap());
    let theirs = Library::open(&other.infer).unwrap().builder().unwrap();
    let own = theirs.network(options).unwrap();
    let profile = theirs.optimization_profile().unwrap();
    let refused = |error: Error, given: &str| match error {
        Error::OtherLibrary { what, .. } => assert_eq!(what, given),
        other => panic!("{given}: {other}"),
    };
    refused(theirs.build(&network, &config).unwrap_err(), "a network");
    refused(theirs.supports(&own, &config).unwrap_err(), "a configuration");
    refused(
        config.add_optimization_profile(&profile).unwrap_err(),
        "a profile",
    );
}
