//! Values are dropped in whatever order: the scene's end finds what was deleted too early, twice or never.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use nvidia_doubles::tensorrt::Double;
use tensorrt_dyn::{ContextMemory, Profiler};

use crate::scene::{NETWORK, STATIC, Scene};

/// All orders of `count` things.
fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    orders(count - 1)
        .into_iter()
        .flat_map(|order| {
            (0..count).map(move |at| {
                let mut order = order.clone();
                order.insert(at, count - 1);
                order
            })
        })
        .collect()
}

/// Drops the values in this order.
fn drop_in(order: &[usize], values: Vec<Box<dyn std::any::Any>>) {
    let mut values: Vec<_> = values.into_iter().map(Some).collect();
    for index in order {
        values[*index] = None;
    }
}

pub fn values_are_dropped_in_every_order(double: &'static Double) {
    let scene = Scene::new(double);
    let none = |scene: &Scene, order: &[usize]| {
        let left = [scene.control.live_objects(), scene.parser.live_objects()].concat();
        assert!(left.is_empty(), "{}: {order:?} leaves {left:?}", double.version);
        let violations = scene.control.violations();
        assert!(
            violations.is_empty(),
            "{}: {order:?}: {violations:?}",
            double.version
        );
        scene.heard();
    };
    for order in orders(4) {
        let (builder, parser) = scene.read(STATIC);
        let mut config = builder.config().unwrap();
        let cache = config.create_timing_cache(&[]).unwrap();
        config.set_timing_cache(&cache, false).unwrap();
        config
            .add_optimization_profile(&builder.optimization_profile().unwrap())
            .unwrap();
        builder.build(&parser, &config).unwrap();
        drop_in(
            &order,
            vec![
                Box::new(builder),
                Box::new(parser),
                Box::new(config),
                Box::new(cache),
            ],
        );
        none(&scene, &order);
    }
    let plan = scene.plan(NETWORK);
    let bytes = plan.bytes().to_vec();
    drop(plan);
    for order in orders(4) {
        let runtime = scene.library.runtime().unwrap();
        let engine = runtime.engine(&bytes).unwrap();
        let context = engine.context(ContextMemory::Own).unwrap();
        let inspector = engine.inspector().unwrap();
        drop_in(
            &order,
            vec![
                Box::new(runtime),
                Box::new(engine),
                Box::new(context),
                Box::new(inspector),
            ],
        );
        none(&scene, &order);
    }
    if !scene.has("ICudaEngine::createRuntimeConfig") {
        return;
    }
    for order in orders(5) {
        let runtime = scene.library.runtime().unwrap();
        let engine = runtime.engine(&bytes).unwrap();
        let mut config = engine.runtime_config().unwrap();
        let cache = config.create_runtime_cache().ok();
        if let Some(cache) = &cache {
            config.set_runtime_cache(cache).unwrap();
        }
        let context = engine.context_with(&config).unwrap();
        drop_in(
            &order,
            vec![
                Box::new(runtime),
                Box::new(engine),
                Box::new(config),
                Box::new(cache),
                Box::new(context),
            ],
        );
        none(&scene, &order);
    }
}

struct Counts(Arc<AtomicU32>);
impl Profiler for Counts {
    fn layer_time(&mut self, _: &str, _: f32) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

pub fn callbacks_live_as_long_as_they_are_called(double: &'static Double) {
    let scene = Scene::new(double);
    let count = Arc::new(AtomicU32::new(0));
    let mut context = scene.context(STATIC);
    for _ in 0..3 {
        context
            .set_profiler(Some(Box::new(Counts(Arc::clone(&count)))))
            .unwrap();
        let (x, mut y) = ([0.0_f32; 4], [0.0_f32; 4]);
        // SAFETY: both live through the frame.
        unsafe {
            context
                .set_tensor_address(c"x", x.as_ptr().cast_mut().cast())
                .unwrap();
            context.set_tensor_address(c"y", y.as_mut_ptr().cast()).unwrap();
            context.enqueue(std::ptr::null_mut()).unwrap();
        }
    }
    assert_eq!(count.load(Ordering::Relaxed), 3);
    assert_eq!(Arc::strong_count(&count), 2);
    drop(context);
    assert_eq!(Arc::strong_count(&count), 1);
}
