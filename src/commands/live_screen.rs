//! The dashboard during a run: the tenants above the board, drawn by whoever sees every record go by.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::screen::{Key, Screen};
use crate::analysis::live::LiveView;
use crate::record::{Event, FrameRecord};
use crate::scenario::Scenario;
use crate::tenant::recorder::Watcher;
use crate::units::Nanos;

/// Watches the records and draws.
pub(super) struct LiveScreen {
    screen: Screen,
    view: LiveView,
    stop: Arc<AtomicBool>,
}

impl LiveScreen {
    /// On a screen; `q` and Ctrl-C set `stop`, which ends the run with its results.
    pub(super) fn new(
        screen: Screen,
        scenario: &Scenario,
        (planned, rounds): (Nanos, Option<u16>),
        stop: Arc<AtomicBool>,
    ) -> LiveScreen {
        let view = LiveView {
            live: true,
            planned: Some(planned),
            rounds,
            ..LiveView::of_scenario(scenario.name.clone(), scenario)
        };
        LiveScreen { screen, view, stop }
    }
}

impl Watcher for LiveScreen {
    fn frame(&mut self, record: &FrameRecord) {
        self.view.frame(record);
    }
    fn event(&mut self, event: &Event) {
        self.view.event(event);
    }
    fn tick(&mut self) {
        let state = match (self.stop.load(Ordering::Relaxed), self.screen.is_paused()) {
            (true, _) => "ending",
            (_, true) => "paused",
            _ => "running",
        };
        // A terminal that went away is no reason to end the run; its signal is, where it was not told to outlive it.
        let _ = self.screen.draw(&self.view, state);
        if let Ok(Some(Key::Quit)) = self.screen.key(Duration::ZERO, &mut self.view) {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}
