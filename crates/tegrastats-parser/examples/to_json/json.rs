//! A sample as one JSON object. Every key is always there: `null` is "the line does not say".

use std::fmt::{Display, Write};

use tegrastats_parser::{Activity, Clocks, Core, Sample, Temperature};

/// `null` stands for a line that gave no sample.
pub(crate) fn object(sample: &Sample<'_>) -> String {
    let mut fields = Vec::new();
    let mut field = |key: &str, value: String| fields.push(format!("{}: {value}", string(key)));
    field(
        "timestamp",
        or_null(sample.timestamp, |stamp| string(&stamp.to_string())),
    );
    field("prefix", or_null(sample.prefix, string));
    field(
        "ram",
        or_null(sample.ram, |ram| {
            format!(
                r#"{{"used_mb": {}, "total_mb": {}, "lfb_blocks": {}, "lfb_block_kb": {}}}"#,
                ram.used_mb,
                ram.total_mb,
                number(ram.largest_free.map(|free| free.count)),
                number(ram.largest_free.map(|free| free.block_kb)),
            )
        }),
    );
    field(
        "swap",
        or_null(sample.swap, |swap| {
            let cached = number(swap.cached_mb);
            format!(
                r#"{{"used_mb": {}, "total_mb": {}, "cached_mb": {cached}}}"#,
                swap.used_mb, swap.total_mb
            )
        }),
    );
    field(
        "iram",
        or_null(sample.iram, |iram| {
            let lfb = number(iram.largest_free_kb);
            format!(
                r#"{{"used_kb": {}, "total_kb": {}, "lfb_kb": {lfb}}}"#,
                iram.used_kb, iram.total_kb
            )
        }),
    );
    let cpus = (!sample.cpus.is_empty()).then_some(&sample.cpus);
    field("cpus", or_null(cpus, |cpus| list(cpus, core)));
    field(
        "emc",
        or_null(sample.emc.as_ref(), |emc| load(emc, one_freq(emc))),
    );
    field(
        "gr3d",
        or_null(sample.gr3d.as_ref(), |gpu| load(gpu, freq_list(gpu))),
    );
    field(
        "gr3d2",
        or_null(sample.gr3d2.as_ref(), |gpu| load(gpu, freq_list(gpu))),
    );
    let engines = sample.engines.iter().map(|engine| {
        let activity = &engine.activity;
        let state = if activity.is_off() { "off" } else { "on" };
        let (load, freq) = (number(activity.load_percent()), one_freq(activity));
        format!(
            r#"{}: {{"state": "{state}", "load_pct": {load}, "freq_mhz": {freq}}}"#,
            string(engine.label)
        )
    });
    field(
        "engines",
        format!("{{{}}}", engines.collect::<Vec<_>>().join(", ")),
    );
    field(
        "mts",
        or_null(sample.mts, |mts| {
            format!(
                r#"{{"fg_pct": {}, "bg_pct": {}}}"#,
                mts.foreground_percent, mts.background_percent
            )
        }),
    );
    field("edp_limit", number(sample.edp_limit));
    field(
        "temps",
        list(&sample.temperatures, |zone| {
            // The shape keeps tegrastats's own value for an unreadable sensor and marks it.
            let c = zone.c.unwrap_or(Temperature::UNREADABLE_C);
            let (name, peak) = (string(zone.name), number(zone.peak_c));
            format!(
                r#"{{"name": {name}, "c": {c}, "peak_c": {peak}, "valid": {}}}"#,
                zone.c.is_some()
            )
        }),
    );
    field(
        "rails",
        list(&sample.rails, |rail| {
            let (cur, avg, peak) = (rail.instant_mw, rail.average_mw, number(rail.peak_mw));
            format!(
                r#"{{"name": {}, "cur_mw": {cur}, "avg_mw": {avg}, "peak_mw": {peak}}}"#,
                string(rail.name)
            )
        }),
    );
    field("unknown", list(&sample.unknown, |token| string(token.text)));
    format!("{{{}}}", fields.join(", "))
}

fn core(core: &Core) -> String {
    match core {
        Core::Offline => r#"{"online": false, "load_pct": null, "freq_mhz": null}"#.to_owned(),
        Core::Online {
            load_percent,
            freq_mhz,
        } => {
            let freq = number(*freq_mhz);
            format!(r#"{{"online": true, "load_pct": {load_percent}, "freq_mhz": {freq}}}"#)
        }
    }
}

fn load(activity: &Activity, freq: String) -> String {
    format!(
        r#"{{"load_pct": {}, "freq_mhz": {freq}}}"#,
        number(activity.load_percent())
    )
}

/// A clock where there is one, a list where the line prints a list.
fn one_freq(activity: &Activity) -> String {
    match activity {
        Activity::On {
            freq_mhz: Clocks::Each(_),
            ..
        } => freq_list(activity),
        _ => number(activity.freqs_mhz().first()),
    }
}

fn freq_list(activity: &Activity) -> String {
    list(activity.freqs_mhz(), u32::to_string)
}

fn list<T>(items: &[T], each: impl Fn(&T) -> String) -> String {
    format!("[{}]", items.iter().map(each).collect::<Vec<_>>().join(", "))
}

fn number(value: Option<impl Display>) -> String {
    or_null(value, |value| value.to_string())
}

fn or_null<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "null".to_owned(), show)
}

fn string(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
