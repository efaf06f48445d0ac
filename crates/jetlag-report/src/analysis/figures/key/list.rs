//! Lists of figures, for people: of what an expectation may name, and of the documents.

use jetlag_figure::Unit;
use jetlag_record::Stage;

use super::{
    Better, Entry, Host, Key, Kind, Level, Line, OF_STAGES, OF_TIME, OfRail, Part, PerFrame, Plain, Power,
    Series, Statistic, Whole,
};

impl Key {
    /// Every figure that a tenant may have.
    pub fn all_of_tenant(tenant: &str) -> impl Iterator<Item = Key> {
        let own = tenant.to_owned();
        let each =
            |make: &dyn Fn(Statistic) -> Key| Statistic::ALL.iter().map(|one| make(*one)).collect::<Vec<_>>();
        let series = Series::ALL
            .iter()
            .flat_map(|one| each(&|of| Key::Time(own.clone(), *one, of)));
        let stages = Stage::ALL
            .into_iter()
            .flat_map(|one| each(&|of| Key::Stage(own.clone(), one, of)));
        let plain = Plain::ALL.iter().map(|one| Key::Plain(own.clone(), *one));
        let shares = Part::all().map(|one| Key::TimeShare(own.clone(), one));
        let energy = PerFrame::ALL.iter().map(|one| Key::Frames(own.clone(), *one));
        let all: Vec<Key> = series
            .chain(stages)
            .chain(plain)
            .chain(shares)
            .chain(energy)
            .collect();
        all.into_iter()
    }

    /// Every figure of a machine, but those of its rails and sensors, whose names only a run knows.
    pub fn all_of_machine() -> impl Iterator<Item = Key> {
        let power = Power::ALL.iter().map(|one| Key::Power(Line::Total, *one));
        let energy = Whole::ALL.iter().map(|one| Key::Energy(*one));
        let host = Host::ALL.iter().map(|one| Key::Host(*one));
        power.chain(energy).chain(host)
    }
}

fn names<T: Copy>(all: &[T], name: fn(T) -> &'static str, between: &str) -> String {
    all.iter().map(|one| name(*one)).collect::<Vec<_>>().join(between)
}

/// What an expectation may name, in a sentence. Those of one subject have their names in the documents.
pub fn listed() -> String {
    let plain: Vec<&str> = Plain::ALL
        .iter()
        .map(|plain| plain.name())
        .filter(|name| !name.contains('.') || name.starts_with("slowdown.p"))
        .collect();
    format!(
        "{} and stages.STAGE, each with .{}; {}; energy with .{}; more in docs/json.md; of the machine, without a tenant: power, energy, \
         temperature, clock, load and host (docs/scenarios.md)",
        names(Series::ALL, Series::name, ", "),
        names(Statistic::ALL, Statistic::name, " ."),
        plain.join(", "),
        names(PerFrame::ALL, PerFrame::name, " ."),
    )
}

/// What of the machine an expectation may name.
pub(super) fn of_machine() -> String {
    format!(
        "of the machine: power.total and power.RAIL, each with .{}; energy.{}; energy.TENANT with .{}; temperature.SENSOR, clock.CLOCK and \
         load.SENSOR, each with .{}; host.{}",
        names(Power::ALL, Power::name, " ."),
        names(Whole::ALL, Whole::name, ", energy."),
        names(PerFrame::ALL, PerFrame::name, " ."),
        names(Level::ALL, Level::name, " ."),
        names(Host::ALL, Host::name, ", host."),
    )
}

/// The tables of all figures in Markdown, as docs/json.md has them.
pub fn documented() -> String {
    let mut text = "| figure | unit | better | meaning |\n|---|---|---|---|\n".to_owned();
    let mut row = |name: &str, unit: Unit, better: Better, doc: &str| {
        let better = match better {
            Better::Less => "less",
            Better::More => "more",
            Better::Neither => "–",
        };
        text += &format!("| `{name}` | {} | {better} | {doc} |\n", unit.in_words());
    };
    for series in Series::ALL {
        row(
            &format!("TENANT.{}.STATISTIC", series.name()),
            Unit::Ms,
            Better::Less,
            series.doc(),
        );
    }
    row("TENANT.stages.STAGE.STATISTIC", Unit::Ms, Better::Less, OF_STAGES);
    let mut table = |before: &str, all: &mut dyn Iterator<Item = Entry>| {
        for entry in all {
            row(
                &format!("{before}{}", entry.name),
                entry.unit,
                entry.better,
                entry.doc,
            );
        }
    };
    table("STATISTIC: ", &mut Statistic::ALL.iter().map(|one| one.entry()));
    table("TENANT.", &mut Plain::ALL.iter().map(|one| one.entry()));
    table("energy.TENANT.", &mut PerFrame::ALL.iter().map(|one| one.entry()));
    table("energy.", &mut Whole::ALL.iter().map(|one| one.entry()));
    table("power.total.", &mut Power::ALL.iter().map(|one| one.entry()));
    table("power.RAIL.", &mut Power::ALL.iter().map(|one| one.entry()));
    table("power.RAIL.", &mut OfRail::ALL.iter().map(|one| one.entry()));
    table("host.", &mut Host::ALL.iter().map(|one| one.entry()));
    for kind in Kind::ALL {
        let Entry {
            name,
            unit,
            better,
            doc,
            shown: _,
        } = kind.entry();
        row(&format!("{name}.SENSOR.LEVEL"), unit, better, doc);
    }
    row("TENANT.time_share.PART", Unit::Ratio, Better::Neither, OF_TIME);
    let levels: Vec<String> = Level::ALL
        .iter()
        .map(|one| format!("`{}`, {}", one.name(), one.doc()))
        .collect();
    text + &format!("\nLEVEL is {}.\n", levels.join("; "))
}
