//! Where boxes are: a row for the longest way from the top, and a lane, in which no edge runs through a box.

use super::Graph;

/// Place of a box.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) row: usize,
    pub(super) lane: usize,
}

/// Places of all boxes.
///
/// An edge runs down the lane of the box that it leaves, to just above the box that it enters: there it changes lanes. So a lane is
/// taken from a box to the row before the last one that takes something from it.
pub(super) fn places(graph: &Graph) -> Vec<Place> {
    let count = graph.nodes.len();
    if graph.edges.is_empty() {
        // Nothing is known but the order.
        return (0..count).map(|row| Place { row, lane: 0 }).collect();
    }
    let mut above: Vec<Vec<usize>> = vec![Vec::new(); count];
    for edge in &graph.edges {
        if edge.from < edge.to
            && let Some(own) = above.get_mut(edge.to)
        {
            own.push(edge.from);
        }
    }
    let mut rows = vec![0_usize; count];
    // The last row in which something of a box is still needed in its lane.
    let mut until = vec![0_usize; count];
    for at in 0..count {
        let own = above.get(at).map_or(&[][..], Vec::as_slice);
        let row = own
            .iter()
            .filter_map(|from| rows.get(*from))
            .max()
            .map_or(0, |row| row + 1);
        if let (Some(place), Some(end)) = (rows.get_mut(at), until.get_mut(at)) {
            (*place, *end) = (row, row);
        }
        for from in own {
            if let Some(end) = until.get_mut(*from) {
                *end = (*end).max(row.saturating_sub(1));
            }
        }
    }
    let mut lanes: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut places: Vec<Place> = Vec::with_capacity(count);
    for at in 0..count {
        let row = rows.get(at).copied().unwrap_or(0);
        let end = until.get(at).copied().unwrap_or(row).max(row);
        let is_free = |lanes: &[Vec<(usize, usize)>], lane: usize| {
            lanes.get(lane).is_none_or(|taken| {
                taken
                    .iter()
                    .rev()
                    .all(|(first, last)| end < *first || *last < row)
            })
        };
        // Straight on from what it takes, if that lane is free; else the first that is.
        let mut straight: Vec<usize> = above
            .get(at)
            .map_or(&[][..], Vec::as_slice)
            .iter()
            .filter_map(|from| places.get(*from).map(|place| place.lane))
            .collect();
        straight.sort_unstable();
        let lane = straight
            .into_iter()
            .chain(0..=lanes.len())
            .find(|lane| is_free(&lanes, *lane))
            .unwrap_or(lanes.len());
        if lane >= lanes.len() {
            lanes.resize(lane + 1, Vec::new());
        }
        if let Some(taken) = lanes.get_mut(lane) {
            taken.push((row, end));
        }
        places.push(Place { row, lane });
    }
    places
}

#[cfg(test)]
mod tests {
    use super::super::{Edge, Node};
    use super::*;

    fn graph(count: usize, edges: &[(usize, usize)]) -> Graph {
        Graph {
            nodes: vec![Node::default(); count],
            edges: edges
                .iter()
                .map(|(from, to)| Edge {
                    from: *from,
                    to: *to,
                    ..Edge::default()
                })
                .collect(),
            ..Graph::default()
        }
    }

    #[test]
    fn a_skip_connection_goes_straight_and_what_it_passes_beside_it() {
        let places = places(&graph(5, &[(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)]));
        let at: Vec<_> = places.iter().map(|place| (place.row, place.lane)).collect();
        assert_eq!(at, [(0, 0), (1, 1), (2, 1), (3, 0), (4, 0)]);
    }

    proptest::proptest! {
        #[test]
        fn no_two_boxes_share_a_place_and_no_edge_crosses_one(
            count in 1_usize..60,
            edges in proptest::collection::vec((0_usize..60, 0_usize..60), 0..150),
        ) {
            let edges: Vec<_> = edges.into_iter().filter(|(from, to)| from < to && *to < count).collect();
            let places = places(&graph(count, &edges));
            for (at, place) in places.iter().enumerate() {
                proptest::prop_assert!(!places[..at].contains(place));
            }
            for (from, to) in edges {
                let (above, below) = (places[from], places[to]);
                proptest::prop_assert!(above.row < below.row);
                let on_the_way = |place: &&Place| place.lane == above.lane && above.row < place.row && place.row < below.row;
                proptest::prop_assert!(places.iter().find(on_the_way).is_none());
            }
        }
    }
}
