//! `jetlag data variants NETWORK`: copies of a network with fewer channels, as files that a sweep's axis takes.
//!
//! Which channels go together and how the file changes is in [`jetlag_work::prune`]; here are levels, names, the folder, and what is
//! said. A file has its name once it is whole.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use jetlag_work::prune::{Counts, LeftWhole, Mode, PruneError, Pruner};
use serde::Serialize;

use crate::cli::{Format, Levels, PruneMode, VariantsArgs};
use crate::commands::outcome::{Outcome, WrongUse};
use crate::commands::output::{print, style};
use crate::commands::work;
use crate::files;
use crate::report::table::{Align, Grid, Ink};
use crate::units::Bytes;
use crate::whole::{UNFINISHED, write_whole};

/// Protobuf's own limit, and so that of a network with its weights in one file.
const LARGEST: Bytes = Bytes(2 << 30);
/// Layers that are named in the text; the machine form has all.
const MOST_NAMED: usize = 8;

/// All that was made.
#[derive(Serialize)]
struct Made {
    network: PathBuf,
    mode: &'static str,
    seed: Option<u64>,
    variants: Vec<Written>,
    left_whole: Vec<LeftWhole>,
}

#[derive(Serialize)]
struct Written {
    file: PathBuf,
    #[serde(flatten)]
    counts: Counts,
}

/// Makes the variants of a network.
///
/// # Errors
/// [`WrongUse`] for a network that cannot be read or pruned, and for a folder with something else in it. Otherwise what cannot be
/// written; the variants written until then stay.
pub(in crate::commands) fn make(args: &VariantsArgs) -> anyhow::Result<Outcome> {
    if args.mode == PruneMode::L1 && args.seed.is_some() {
        let problem = "--seed is of --mode random; by weights, the order is always the same";
        return Err(WrongUse(problem.to_owned()).into());
    }
    if let Some(step) = args.step
        && args.prune.iter().all(|range| range.from == range.to)
    {
        let problem = format!(
            "--step {step} is the distance within a range, and --prune has none; write one like 5..90"
        );
        return Err(WrongUse(problem).into());
    }
    let levels = levels(&args.prune, args.step.unwrap_or(STEP));
    let names = Names::of(args)?;
    names.room(&args.out, &levels, args.force)?;
    let of_network = |error: &dyn std::fmt::Display| WrongUse(format!("{}: {error}", args.network.display()));
    let bytes = files::read(&args.network, LARGEST).map_err(|error| {
        WrongUse(format!(
            "cannot read the network {}: {error}",
            args.network.display()
        ))
    })?;
    let given = work::given(&args.dims, &args.shapes)?;
    let pruner = Pruner::new(bytes, &given).map_err(|error| of_network(&error))?;
    let seed = (args.mode == PruneMode::Random).then_some(args.seed.unwrap_or(0));
    let mode = seed.map_or(Mode::L1, |seed| Mode::Random { seed });
    let order = pruner.order(mode).map_err(|error| of_network(&error))?;
    fs::create_dir_all(&args.out).with_context(|| format!("cannot make {}", args.out.display()))?;
    let mut variants = Vec::with_capacity(levels.len());
    for level in levels {
        let made = pruner.variant(&order, level).map_err(|error| {
            match (&error, failed(&error, level, &variants, &args.out)) {
                (PruneError::Unsound { .. }, said) => {
                    anyhow::anyhow!("{}: {said}", args.network.display())
                }
                (_, said) => of_network(&said).into(),
            }
        })?;
        let file = args.out.join(names.name(level));
        write_whole(&file, &made.bytes).with_context(|| format!("cannot write {}", file.display()))?;
        variants.push(Written {
            file,
            counts: made.counts,
        });
    }
    let made = Made {
        network: args.network.clone(),
        mode: names.mode,
        seed,
        variants,
        left_whole: pruner.left_whole(),
    };
    print(&match args.format {
        Format::Json => serde_json::to_string_pretty(&made)? + "\n",
        Format::Text => text(&made, &args.out),
    })?;
    Ok(Outcome::Done)
}

/// Distance of the levels of a range, in percent, where none is given.
const STEP: u8 = 5;

/// All levels once, the smallest first; of a range both ends, wherever its steps lead.
fn levels(ranges: &[Levels], step: u8) -> BTreeSet<u8> {
    let of_range = |range: &Levels| {
        let steps = (range.from..=range.to).step_by(usize::from(step.max(1)));
        steps.chain([range.to])
    };
    ranges.iter().flat_map(of_range).collect()
}

/// What is wrong at a level, and what was written before.
fn failed(error: &PruneError, level: u8, before: &[Written], out: &Path) -> String {
    let written = match before.len() {
        0 => "nothing was written".to_owned(),
        1 => format!("1 network was written to {} before and is whole", out.display()),
        count => format!(
            "{count} networks were written to {} before and are whole",
            out.display()
        ),
    };
    format!("at {level} %: {error}; {written}")
}

/// What the files are called: `net_random_05.onnx`, so that they stand in the order of their levels.
struct Names {
    stem: String,
    mode: &'static str,
}

impl Names {
    fn of(args: &VariantsArgs) -> Result<Names, WrongUse> {
        let stem = args.network.file_stem().and_then(|stem| stem.to_str());
        let stem = stem.filter(|stem| !stem.is_empty()).ok_or_else(|| {
            WrongUse(format!(
                "{} is no name of a network; name an ONNX file",
                args.network.display()
            ))
        })?;
        Ok(Names {
            stem: stem.to_owned(),
            mode: match args.mode {
                PruneMode::Random => "random",
                PruneMode::L1 => "l1",
            },
        })
    }

    fn name(&self, level: u8) -> String {
        format!("{}_{}_{level:02}.onnx", self.stem, self.mode)
    }

    /// A variant of this network, at any level and in any mode, whole or half written.
    fn is_variant(&self, name: &str) -> bool {
        let whole = name
            .strip_suffix(UNFINISHED)
            .and_then(|name| name.rsplit_once('.'));
        let name = whole.map_or(name, |(name, _)| name);
        let rest = name
            .strip_prefix(&*self.stem)
            .and_then(|rest| rest.strip_suffix(".onnx"));
        let level = rest.and_then(|rest| {
            rest.strip_prefix("_random_")
                .or_else(|| rest.strip_prefix("_l1_"))
        });
        level.is_some_and(|level| level.len() == 2 && level.bytes().all(|digit| digit.is_ascii_digit()))
    }

    /// Whether the folder has room: a sweep's axis takes all networks in it, so it holds nothing else.
    fn room(&self, out: &Path, levels: &BTreeSet<u8>, force: bool) -> Result<(), WrongUse> {
        let entries = match fs::read_dir(out) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(WrongUse(format!("cannot write to {}: {error}", out.display()))),
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !self.is_variant(&name) {
                return Err(WrongUse(format!(
                    "{} holds something else than variants of this network ({name}); name another folder",
                    out.display()
                )));
            }
            if !force && levels.iter().any(|level| self.name(*level) == name) {
                return Err(WrongUse(format!(
                    "{} exists; name another folder, or replace it with --force",
                    out.join(name).display()
                )));
            }
        }
        Ok(())
    }
}

/// A file's own name.
fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

fn text(made: &Made, out: &Path) -> String {
    let mut grid = Grid::headed()
        .column("file", Align::Left)
        .column("asked", Align::Right)
        .column("removed", Align::Right)
        .optional("of those that may go", Align::Right)
        .column("filters", Align::Right)
        .column("parameters", Align::Right)
        .column("multiply-adds", Align::Right);
    let plain = |text: String| (text, Ink::Plain);
    for variant in &made.variants {
        let counts = &variant.counts;
        grid.row(vec![
            plain(name(&variant.file)),
            plain(format!("{} %", counts.asked_percent)),
            plain(format!("{:.1} %", counts.reached_percent)),
            plain(format!("{:.1} %", counts.reached_of_free_percent)),
            plain(counts.channels.after.to_string()),
            plain(counts.params.after.to_string()),
            plain(counts.macs.after.to_string()),
        ]);
    }
    let order = match made.seed {
        Some(seed) => format!("in an order that follows from seed {seed}"),
        None => "the smallest sums of absolute weights first".to_owned(),
    };
    let mut text = format!("{}, filters removed {order}\n", made.network.display());
    if let Some(first) = made.variants.first() {
        let counts = &first.counts;
        text.push_str(&format!(
            "has {} filters, {} parameters, {} multiply-adds\n\n",
            counts.channels.before, counts.params.before, counts.macs.before
        ));
    }
    text.push_str(&grid.render(&style()));
    if !made.left_whole.is_empty() {
        let all: u64 = made.left_whole.iter().map(|left| left.channels).sum();
        let layers = match made.left_whole.len() {
            1 => "one layer".to_owned(),
            several => format!("{several} layers"),
        };
        text.push_str(&format!("\n{all} filters of {layers} stay at every level:\n"));
        for left in made.left_whole.iter().take(MOST_NAMED) {
            text.push_str(&format!(
                "  `{}` ({}), {} of {}: {}\n",
                left.layer, left.operator, left.channels, left.of, left.reason
            ));
        }
        if let Some(more) = made
            .left_whole
            .len()
            .checked_sub(MOST_NAMED)
            .filter(|more| *more > 0)
        {
            text.push_str(&format!("  and {more} more (--format json has all)\n"));
        }
    }
    let networks = match made.variants.len() {
        1 => "1 network".to_owned(),
        count => format!("{count} networks"),
    };
    let pattern = out.join("*.onnx").display().to_string();
    text.push_str(&format!(
        "\n{networks} written to {}; next: an axis of a sweep, Axis(set: \"tenants.NAME.network\", files: {pattern:?}) with a detector's spec, or \"tenants.NAME.detector\" \
         for the networks alone\n",
        out.display()
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_both_its_ends_wherever_its_steps_lead() {
        let of = |text: &str, step: u8| {
            let ranges: Vec<Levels> = text.split(',').map(|range| range.parse().unwrap()).collect();
            levels(&ranges, step).into_iter().collect::<Vec<u8>>()
        };
        assert_eq!(of("5..90", 15), [5, 20, 35, 50, 65, 80, 90]);
        assert_eq!(of("5..20,60,5..5", 5), [5, 10, 15, 20, 60]);
        assert_eq!(of("1..99", 98), [1, 99]);
    }

    #[test]
    fn a_level_that_fails_is_told_with_what_was_written_before() {
        let error = PruneError::Level { level: 0 };
        let counts = |asked_percent| {
            let change = jetlag_work::prune::Change { before: 2, after: 1 };
            Counts {
                asked_percent,
                reached_percent: 50.0,
                reached_of_free_percent: 50.0,
                channels: change,
                params: change,
                macs: change,
            }
        };
        let written = [5, 20].map(|level| Written {
            file: PathBuf::from(format!("v/{level}.onnx")),
            counts: counts(level),
        });
        let said = |count: usize| failed(&error, 35, &written[..count], Path::new("v"));
        assert!(said(0).starts_with("at 35 %: 0 % is no level"), "{}", said(0));
        assert!(said(0).ends_with("; nothing was written"), "{}", said(0));
        assert!(
            said(1).ends_with("; 1 network was written to v before and is whole"),
            "{}",
            said(1)
        );
        assert!(
            said(2).ends_with("; 2 networks were written to v before and are whole"),
            "{}",
            said(2)
        );
    }

    #[test]
    fn what_a_killed_command_left_is_taken_for_a_variant() {
        let names = Names {
            stem: "net".to_owned(),
            mode: "l1",
        };
        for (name, wanted) in [
            ("net_l1_05.onnx", true),
            ("net_random_50.onnx.0123456789abcdef.unfinished", true),
            ("net_random_50.onnx.part", false),
            ("other_l1_05.onnx.01.unfinished", false),
            ("notes.unfinished", false),
        ] {
            assert_eq!(names.is_variant(name), wanted, "{name}");
        }
    }
}
