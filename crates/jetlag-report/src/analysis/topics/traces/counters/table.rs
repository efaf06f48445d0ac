//! ncu's CSV as a table of launches: `--page raw`, a column for each metric with units below the names; and `--page details`, a line for
//! each metric of each launch.
//!
//! What the program itself printed may stand before it and behind it, and so may ncu's own lines, which begin with `==`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::number::{Evidence, Style, number};
use super::ranges::{Range, ranges};
use super::unit::{Base, unit};

/// Most launches that are read: damaged files may have any number.
const MOST_LAUNCHES: usize = 1 << 20;
/// Most values in a file.
const MOST_VALUES: usize = 1 << 26;

/// One launch of a kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launch {
    /// The kernel's name.
    pub kernel: String,
    /// The device's compute capability.
    pub compute_capability: Option<String>,
    /// NVTX ranges around it, the outermost first.
    pub(super) ranges: Vec<Range>,
    /// Metrics by name, in counts, bytes and seconds.
    pub(super) values: BTreeMap<String, f64>,
    /// Metrics that the file has and whose cell of this launch holds no count.
    pub(super) missing: BTreeSet<String>,
    /// Whether its line is cut off or too long: then nothing of it is known.
    pub(super) is_cut: bool,
}

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Launches in the order of the file.
    pub launches: Vec<Launch>,
    /// What limits it, a sentence each.
    pub notes: Vec<String>,
}

/// Why a text is no table of ncu's.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum TableError {
    #[error(
        "holds no table of Nsight Compute: a line that begins with \"ID\" and has `Kernel Name` was looked for; write one with `ncu --csv --page raw`"
    )]
    NoTable,
    #[error("holds no table, only what ncu said: {said}")]
    Said { said: String },
    #[error("is a table of Nsight Compute with no launch in it: no kernel was profiled")]
    Empty,
    #[error(
        "the table has no column `{missing}`; write it with `ncu --csv --page raw`, or with --page details"
    )]
    NoColumn { missing: &'static str },
    #[error("has more than {most} launches or values: record fewer frames")]
    TooLong { most: usize },
}

/// Whether a text has such a table.
pub fn is_table(text: &str) -> bool {
    header(text).is_some()
}

/// What ncu refused, in a sentence; none where it refused nothing.
pub fn complaint(said: &str) -> Option<String> {
    let has = |text: &str| said.contains(text);
    if has("ERR_NVGPUCTRPERM") {
        return Some(
            "this user may not read the GPU's counters (ERR_NVGPUCTRPERM): run as root, or let everybody with the kernel module's option NVreg_RestrictProfilingToAdminUsers=0; in a container, with --cap-add=SYS_ADMIN"
                .to_owned(),
        );
    }
    if has("LibraryNotLoaded") {
        return Some(
            "ncu cannot reach the GPU's counters on this machine (LibraryNotLoaded), as in some sandboxes"
                .to_owned(),
        );
    }
    let errors = said
        .lines()
        .filter_map(|line| line.trim().strip_prefix("==ERROR=="));
    let mut errors = errors.map(str::trim).filter(|line| !line.is_empty());
    if let Some(first) = errors.next() {
        let shown: String = first.chars().take(300).collect();
        return Some(format!("ncu said: {}", shown.trim_end_matches('.')));
    }
    has("No kernels were profiled")
        .then(|| "ncu found no kernel within the ranges that were asked for".to_owned())
}

/// Where the table begins.
fn header(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let begin = line.trim_start_matches('\u{feff}');
        let is_header =
            (begin.starts_with("\"ID\"") || begin.starts_with("ID,") || begin.starts_with("\"Process ID\""))
                && line.contains("Kernel Name");
        if is_header {
            return Some(at + (line.len() - begin.len()));
        }
        at += line.len();
    }
    None
}

/// Places of the columns that are no metrics.
struct Columns {
    kernel: usize,
    id: Option<usize>,
    process: Option<usize>,
    cc: Option<usize>,
    ranges: Vec<usize>,
    /// The last of them.
    last: usize,
}

impl Columns {
    fn of(names: &csv::StringRecord) -> Result<Columns, TableError> {
        let place = |name: &str| names.iter().position(|own| own == name);
        let kernel = place("Kernel Name").ok_or(TableError::NoColumn {
            missing: "Kernel Name",
        })?;
        let is_ranges = |name: &str| name.contains("Push/Pop_Range") || name.starts_with("NVTX");
        let ranges: Vec<usize> = names
            .iter()
            .enumerate()
            .filter_map(|(at, name)| is_ranges(name).then_some(at))
            .collect();
        let (id, process, cc) = (place("ID"), place("Process ID"), place("CC"));
        let about = [
            "Process Name",
            "Host Name",
            "Context",
            "Stream",
            "Block Size",
            "Grid Size",
            "Device",
        ];
        let last = about.iter().filter_map(|name| place(name)).chain([kernel]);
        let last = last.chain(cc).chain(id).chain(process).max().unwrap_or(kernel);
        Ok(Columns {
            kernel,
            id,
            process,
            cc,
            ranges,
            last,
        })
    }

    fn launch(&self, row: &csv::StringRecord) -> Launch {
        let cell = |at: Option<usize>| at.and_then(|at| row.get(at)).filter(|cell| !cell.is_empty());
        Launch {
            kernel: row.get(self.kernel).unwrap_or_default().to_owned(),
            compute_capability: cell(self.cc).map(str::to_owned),
            ranges: self
                .ranges
                .iter()
                .filter_map(|at| row.get(*at))
                .flat_map(ranges)
                .collect(),
            ..Launch::default()
        }
    }

    /// What tells launches apart; none where the row is no launch.
    fn key(&self, row: &csv::StringRecord) -> Option<(String, String)> {
        let text = |at: Option<usize>| at.and_then(|at| row.get(at)).unwrap_or_default().to_owned();
        let (id, process) = (text(self.id), text(self.process));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let is_launch = match self.id {
            Some(_) => is_number(&id),
            None => is_number(&process),
        };
        (is_launch && row.len() > self.kernel).then_some((process, id))
    }
}

/// What was counted while reading.
#[derive(Default)]
struct Seen {
    /// Cells that hold no number.
    missing: usize,
    /// Cells with a number below zero, which nothing that is counted is.
    negative: usize,
    /// Launches whose line is cut off.
    cut: usize,
    /// Units that are not known, by name.
    units: BTreeMap<String, usize>,
    /// Lines that are not of the table.
    foreign: usize,
    values: usize,
}

impl Seen {
    fn value(&mut self, launch: &mut Launch, name: &str, cell: &str, of: &str, style: Style) {
        // Rates and shares are no sums; they are kept as they are, for those who asked for them.
        let scale = match unit(of) {
            Some((factor, _)) => factor,
            None if of == "%" || of.contains('/') => 1.0,
            None => {
                *self.units.entry(of.to_owned()).or_default() += 1;
                return;
            }
        };
        match number(cell, style) {
            Some(value) if value >= 0.0 => {
                launch.values.insert(name.to_owned(), value * scale);
                self.values += 1;
                return;
            }
            Some(_) => self.negative += 1,
            None => self.missing += 1,
        }
        launch.missing.insert(name.to_owned());
    }

    fn notes(self, notes: &mut Vec<String>) {
        if self.missing > 0 {
            notes.push(format!(
                "{} cells hold no number; what they would have counted is not known.",
                self.missing
            ));
        }
        if self.negative > 0 {
            notes.push(format!(
                "{} cells hold a number below zero, which is no count; what they would have counted is not known.",
                self.negative
            ));
        }
        if self.cut > 0 {
            notes.push(format!(
                "The lines of {} launches are cut off: nothing of them is known, and no sum that they are part of.",
                self.cut
            ));
        }
        if self.foreign > 0 {
            notes.push(format!(
                "{} lines within the table are not of it and were passed over.",
                self.foreign
            ));
        }
        for (name, times) in self.units.into_iter().take(8) {
            notes.push(format!(
                "{times} values have the unit `{name}`, which is not known here, and were left out."
            ));
        }
    }
}

/// Reads a table of either page.
///
/// # Errors
/// The text has none, or one without launches or without a needed column, or too long a one.
pub fn read(text: &str) -> Result<Table, TableError> {
    let Some(begin) = header(text) else {
        return Err(complaint(text).map_or(TableError::NoTable, |said| TableError::Said { said }));
    };
    let rows = text.get(begin..).unwrap_or_default();
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(rows.as_bytes());
    let names = reader.headers().map_err(|_| TableError::NoTable)?.clone();
    let columns = Columns::of(&names)?;
    let place = |name: &str| names.iter().position(|own| own == name);
    let mut table = match (place("Metric Name"), place("Metric Value")) {
        (Some(name), Some(value)) => long(reader, &columns, [name, value], place("Metric Unit"))?,
        _ => wide(reader, &names, &columns)?,
    };
    // A quotation mark that nothing closes: the last number is cut off as well.
    if rows.matches('"').count() % 2 == 1
        && let Some(last) = table.launches.last_mut()
        && !std::mem::replace(&mut last.is_cut, true)
    {
        let note = "The last line is cut off: nothing of its launch is known, and no sum that it is part of.";
        table.notes.push(note.to_owned());
    }
    if table.launches.is_empty() {
        return Err(complaint(text).map_or(TableError::Empty, |said| TableError::Said { said }));
    }
    if text.contains("uncontrolled GPU caches") {
        table.notes.push("ncu left the caches as they were.".to_owned());
    }
    Ok(table)
}

type Rows<'a> = csv::Reader<&'a [u8]>;

/// All rows, as far as they are text; and the style of their numbers.
fn rows(
    mut reader: Rows<'_>,
    cells: impl Fn(usize) -> bool,
) -> Result<(Vec<csv::StringRecord>, Evidence), TableError> {
    let mut evidence = Evidence::default();
    let mut all = Vec::new();
    let mut row = csv::StringRecord::new();
    let mut values = 0;
    while let Ok(true) = reader.read_record(&mut row) {
        values += row.len();
        if values > MOST_VALUES {
            return Err(TableError::TooLong { most: MOST_VALUES });
        }
        row.iter()
            .enumerate()
            .filter(|(at, _)| cells(*at))
            .for_each(|(_, cell)| evidence.see(cell));
        all.push(row.clone());
    }
    Ok((all, evidence))
}

fn wide(reader: Rows<'_>, names: &csv::StringRecord, columns: &Columns) -> Result<Table, TableError> {
    let is_metric = |at: usize| at > columns.last && names.get(at).is_some_and(|name| name.contains("__"));
    let (rows, evidence) = rows(reader, is_metric)?;
    let (style, mut seen, mut table) = (evidence.style(), Seen::default(), Table::default());
    // Units stand in a row of their own, in which no launch is named.
    let units = rows
        .iter()
        .find(|row| columns.key(row).is_none() && row.len() == names.len());
    for row in &rows {
        let is_launch = columns.key(row).is_some();
        if !is_launch || row.len() != names.len() {
            if is_launch && table.launches.len() < MOST_LAUNCHES {
                seen.cut += 1;
                table.launches.push(Launch {
                    is_cut: true,
                    ..columns.launch(row)
                });
                continue;
            }
            let is_units = units.is_some_and(|units| std::ptr::eq(units, row));
            seen.foreign +=
                usize::from(!is_units && !row.iter().next().is_some_and(|cell| cell.starts_with("==")));
            continue;
        }
        if table.launches.len() >= MOST_LAUNCHES {
            return Err(TableError::TooLong { most: MOST_LAUNCHES });
        }
        let mut launch = columns.launch(row);
        for (at, name) in names.iter().enumerate().filter(|(at, _)| is_metric(*at)) {
            let of = units.and_then(|units| units.get(at)).unwrap_or_default();
            // A raw page has hundreds of columns about the device and the launch.
            if is_counted(name) {
                seen.value(&mut launch, name, row.get(at).unwrap_or_default(), of, style);
            }
        }
        table.launches.push(launch);
    }
    if units.is_none() {
        table.notes.push(
            "The table has no row of units: bytes, instructions and nanoseconds were taken.".to_owned(),
        );
        for launch in &mut table.launches {
            launch
                .values
                .entry(super::metrics::TIME.to_owned())
                .and_modify(|time| *time *= 1e-9);
        }
    }
    finish(table, seen, evidence)
}

fn long(
    reader: Rows<'_>,
    columns: &Columns,
    [name, value]: [usize; 2],
    unit_at: Option<usize>,
) -> Result<Table, TableError> {
    let (rows, evidence) = rows(reader, |at| at == value)?;
    let (style, mut seen, mut table) = (evidence.style(), Seen::default(), Table::default());
    let mut places: HashMap<(String, String), usize> = HashMap::new();
    let mut is_scaled = false;
    for row in &rows {
        let Some(key) = columns.key(row) else {
            seen.foreign += usize::from(!row.iter().next().is_some_and(|cell| cell.starts_with("==")));
            continue;
        };
        let at = *places.entry(key).or_insert_with(|| {
            table.launches.push(columns.launch(row));
            table.launches.len() - 1
        });
        if table.launches.len() > MOST_LAUNCHES {
            return Err(TableError::TooLong { most: MOST_LAUNCHES });
        }
        if row.len() <= name.max(value) {
            // Which of its metrics that was nobody knows.
            if let Some(launch) = table.launches.get_mut(at) {
                seen.cut += usize::from(!std::mem::replace(&mut launch.is_cut, true));
            }
            continue;
        }
        let of = unit_at.and_then(|at| row.get(at)).unwrap_or_default();
        // Sections have labels in place of names; the one that is needed of them is a kernel's time.
        let metric = match row.get(name).unwrap_or_default() {
            "Duration" => super::metrics::TIME,
            own => own,
        };
        if let Some(launch) = table.launches.get_mut(at).filter(|_| is_counted(metric)) {
            is_scaled |= of.starts_with(['K', 'M', 'G', 'T']) && matches!(unit(of), Some((_, Base::Byte)));
            seen.value(launch, metric, row.get(value).unwrap_or_default(), of, style);
        }
    }
    if is_scaled {
        table.notes.push(
            "ncu scaled and rounded the bytes (to three digits on this page): --print-units base keeps all digits.".to_owned(),
        );
    }
    finish(table, seen, evidence)
}

/// Sums and the metrics of units that users ask for, not the facts of device and launch.
fn is_counted(name: &str) -> bool {
    let about = [
        "device__",
        "launch__",
        "profiler__",
        "c2clink__",
        "nvlink__",
        "numa__",
        "pmsampling:",
    ];
    name.contains("__")
        && !about.iter().any(|own| name.starts_with(own))
        && ![".avg", ".min", ".max"].iter().any(|end| name.ends_with(end))
}

fn finish(mut table: Table, seen: Seen, evidence: Evidence) -> Result<Table, TableError> {
    if seen.values > MOST_VALUES {
        return Err(TableError::TooLong { most: MOST_VALUES });
    }
    if evidence.is_mixed() {
        table
            .notes
            .push("Some numbers have a decimal point and some a decimal comma; most decided.".to_owned());
    }
    seen.notes(&mut table.notes);
    Ok(table)
}
