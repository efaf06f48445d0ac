//! Tags of graphs' nodes, taken when they are captured and followed to the clones that run.

use cupti_dyn::{CaptureTag, NodeEvent, NodeTags, Settings, thread_number};

use crate::scene::{ALL, over, rest};

#[test]
fn a_node_has_the_tag_of_the_thread_that_captured_it_and_so_have_its_clones() {
    let test = "graphs::a_node_has_the_tag_of_the_thread_that_captured_it_and_so_have_its_clones";
    over(test, &ALL, |scene| {
        let settings = Settings {
            graph_nodes: true,
            ..Settings::default()
        };
        let mut session = scene.session_with(&settings, &[]);
        {
            let _layer = CaptureTag::set(42);
            scene.control.graph_node(1, None);
            std::thread::scope(|scope| {
                scope.spawn(|| scene.control.graph_node(2, None));
            });
        }
        scene.control.graph_node(11, Some(1));
        scene.control.graph_node(12, Some(2));
        let events = session.graph_nodes();
        let here = thread_number();
        assert!(
            matches!(events[0], NodeEvent::Created { node: 1, tag: Some(42), thread, at_ns } if thread == here && at_ns > 0),
            "{:?}",
            events[0]
        );
        assert_eq!(events[2], NodeEvent::Cloned { node: 11, of: 1 });
        let mut tags = NodeTags::default();
        events.into_iter().for_each(|event| tags.push(event));
        assert_eq!(
            [1, 2, 11, 12].map(|node| tags.tag(node)),
            [Some(42), None, Some(42), None]
        );
        assert!(session.graph_nodes().is_empty());
        rest(session);
        // Nobody listens any more.
        scene.control.graph_node(3, None);
    });
}

#[test]
fn nobody_is_told_of_nodes_who_did_not_ask() {
    over("graphs::nobody_is_told_of_nodes_who_did_not_ask", &ALL, |scene| {
        let mut session = scene.session(&[]);
        scene.control.graph_node(1, None);
        assert!(session.graph_nodes().is_empty());
    });
}
