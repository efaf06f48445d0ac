//! What of the dashboard is looked at: the page, the order of its rows, how far it is scrolled.

/// A page of the dashboard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Page {
    /// The tenants, and the board below them in what room is left.
    #[default]
    Tenants,
    /// Rails, temperatures, loads and clocks.
    Power,
    /// Who else uses the machine.
    Programs,
}

impl Page {
    /// All of them, in the order of their keys 1, 2 and 3.
    pub const ALL: [Page; 3] = [Page::Tenants, Page::Power, Page::Programs];

    pub(super) fn name(self) -> &'static str {
        match self {
            Page::Tenants => "tenants",
            Page::Power => "power",
            Page::Programs => "programs",
        }
    }
}

/// What rows are sorted by. Figures are sorted with the highest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    /// As the scenario or the sampler has them.
    #[default]
    Given,
    /// By name.
    Name,
    /// By the 99th percentile of latency.
    P99,
    /// By the share of frames that missed.
    Missed,
    /// By the rate reached.
    Rate,
    /// By load.
    Load,
    /// By memory.
    Memory,
}

/// The orders of the tenants.
const OF_TENANTS: [Order; 5] = [Order::Given, Order::P99, Order::Missed, Order::Rate, Order::Name];
/// The orders of programs.
const OF_PROGRAMS: [Order; 3] = [Order::Load, Order::Memory, Order::Name];

/// What is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    page: Page,
    tenants: usize,
    programs: usize,
    /// Rows above the first that is shown.
    scrolled: usize,
    /// Whether the keys are explained.
    pub help: bool,
}

impl Look {
    /// The page; without tenants there is none of them.
    pub fn page(&self, has_tenants: bool) -> Page {
        match self.page {
            Page::Tenants if !has_tenants => Page::Power,
            page => page,
        }
    }

    /// Turns to a page.
    pub fn turn_to(&mut self, page: Page) {
        *self = Look {
            page,
            scrolled: 0,
            help: false,
            ..*self
        };
    }

    /// Turns to the next page, or back.
    pub fn turn(&mut self, back: bool, has_tenants: bool) {
        let pages = &Page::ALL[usize::from(!has_tenants)..];
        let now = pages.iter().position(|page| *page == self.page(has_tenants));
        let step = if back { pages.len() - 1 } else { 1 };
        self.turn_to(pages[(now.unwrap_or(0) + step) % pages.len()]);
    }

    /// The next order of the page's rows, or the one before.
    pub fn sort(&mut self, back: bool, has_tenants: bool) {
        let (chosen, count) = match self.page(has_tenants) {
            Page::Tenants => (&mut self.tenants, OF_TENANTS.len()),
            Page::Programs => (&mut self.programs, OF_PROGRAMS.len()),
            Page::Power => return,
        };
        *chosen = (*chosen + if back { count - 1 } else { 1 }) % count;
        self.scrolled = 0;
    }

    /// Scrolls by rows, down where positive.
    pub fn scroll(&mut self, rows: isize) {
        // More than any screen has; what is drawn keeps to what there is.
        self.scrolled = self.scrolled.saturating_add_signed(rows).min(10_000);
    }

    /// The order of tenants.
    pub(super) fn of_tenants(&self) -> Order {
        OF_TENANTS[self.tenants % OF_TENANTS.len()]
    }

    /// The order of programs.
    pub(super) fn of_programs(&self) -> Order {
        OF_PROGRAMS[self.programs % OF_PROGRAMS.len()]
    }

    /// The first of `count` rows that is shown where `room` of them are. What was scrolled beyond the end is forgotten.
    pub(super) fn first(&mut self, count: usize, room: usize) -> usize {
        self.scrolled = self.scrolled.min(count.saturating_sub(room));
        self.scrolled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_orders_go_round() {
        let mut look = Look::default();
        let mut seen = Vec::new();
        for _ in 0..4 {
            seen.push(look.page(true));
            look.turn(false, true);
        }
        assert_eq!(seen, [Page::Tenants, Page::Power, Page::Programs, Page::Tenants]);
        look.turn(true, true);
        assert_eq!(look.page(true), Page::Tenants);
        (0..4).for_each(|_| look.sort(false, true));
        assert_eq!(look.of_tenants(), Order::Name);
        look.sort(false, true);
        assert_eq!(look.of_tenants(), Order::Given);
        look.sort(true, true);
        assert_eq!(look.of_tenants(), Order::Name);
    }

    #[test]
    fn without_tenants_there_is_no_page_of_them() {
        let mut look = Look::default();
        assert_eq!(look.page(false), Page::Power);
        look.turn(false, false);
        assert_eq!(look.page(false), Page::Programs);
        look.turn(false, false);
        assert_eq!(look.page(false), Page::Power);
    }

    #[test]
    fn scrolling_ends_at_the_last_row() {
        let mut look = Look::default();
        look.scroll(-3);
        assert_eq!(look.first(10, 4), 0);
        look.scroll(99);
        assert_eq!(look.first(10, 4), 6);
        look.scroll(-1);
        assert_eq!(look.first(10, 4), 5);
        assert_eq!(look.first(3, 4), 0);
    }
}
