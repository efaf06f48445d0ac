//! What a board's device tree says of its module: part number, carrier board, and how it was flashed.
//!
//! Pure reading of `/proc/device-tree/compatible`; what is known of the module is in `modules.rs`.

use serde::Deserialize;

use super::Roots;

/// Where the device tree names the board.
const COMPATIBLE: &str = "/proc/device-tree/compatible";

/// Which of NVIDIA's two flash configurations of a module is on the board: they differ in clocks and power modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Flash {
    /// As each module has it.
    Plain,
    /// With the higher clocks and other power modes of Orin Nano, Orin NX and AGX Orin 32GB ("Super").
    Super,
}

impl Flash {
    /// In a sentence: `flashed as Super`.
    pub fn words(self) -> &'static str {
        match self {
            Flash::Plain => "flashed without Super",
            Flash::Super => "flashed as Super",
        }
    }
}

/// The names of a board in its device tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The module as the tree writes it, with all that follows the number: `p3767-0005-super`.
    pub text: String,
    /// Its part number, or the name of its kit where the tree has no number: `p3767-0005`, `jetson-xavier-industrial`.
    pub part: String,
    /// The board that carries it: `p3768-0000`.
    pub carrier: Option<String>,
    /// How it was flashed; none for variants of the software that have files of their own (`-safety`, `-px1`).
    pub flash: Option<Flash>,
}

impl Identity {
    /// Of this machine; none where it is no Jetson.
    pub fn of_machine(roots: &Roots) -> Option<Identity> {
        parse(&roots.text(COMPATIBLE)?)
    }
}

/// Reads the entries of `compatible`, which zeros separate. The board comes first, the chip last.
fn parse(compatible: &str) -> Option<Identity> {
    // NVIDIA's start-up script looks for the word in all entries: a carrier of another maker may come first.
    let is_super = compatible
        .split(['\0', '-', '+'])
        .any(|word| word.eq_ignore_ascii_case("super"));
    let nvidia = || {
        compatible
            .split('\0')
            .filter_map(|entry| entry.strip_prefix("nvidia,"))
    };
    let numbered = nvidia().find_map(|entry| {
        let (carrier, module) = match entry.split_once('+') {
            Some((carrier, module)) => (Some(carrier), module),
            None => (None, entry),
        };
        let (part, variant) = split(module)?;
        Some((
            carrier.and_then(split).map(|(carrier, _)| carrier),
            part,
            variant,
            module,
        ))
    });
    let Some((carrier, part, variant, module)) = numbered else {
        let kit = nvidia().find(|entry| entry.starts_with("jetson-"))?;
        return Some(Identity {
            text: kit.to_owned(),
            part: kit.to_owned(),
            carrier: None,
            flash: Some(if is_super { Flash::Super } else { Flash::Plain }),
        });
    };
    let mut part = part;
    let mut flash = Some(if is_super { Flash::Super } else { Flash::Plain });
    // A module may stand in for another, whose power modes it then has: `p3701-0000-as-p3701-0004`.
    let variant = match variant.split_once("as-").and_then(|(_, other)| split(other)) {
        Some((other, rest)) => {
            part = other;
            rest
        }
        None => variant,
    };
    if variant
        .split('-')
        .any(|word| !word.is_empty() && !word.eq_ignore_ascii_case("super") && !is_revision(word))
    {
        flash = None;
    }
    Some(Identity {
        text: module.to_owned(),
        part: part.to_owned(),
        carrier: carrier.map(str::to_owned),
        flash,
    })
}

/// A part number such as `p3767-0005`, and what follows it.
fn split(text: &str) -> Option<(&str, &str)> {
    let (part, rest) = (text.get(..10)?, text.get(10..)?);
    let bytes = part.as_bytes();
    let digits = |range: &[u8]| range.iter().all(u8::is_ascii_digit);
    let right = bytes[0] == b'p' && digits(&bytes[1..5]) && bytes[5] == b'-' && digits(&bytes[6..]);
    (right && (rest.is_empty() || rest.starts_with('-'))).then_some((part, rest))
}

/// The revision of a board, which changes nothing here: `b01`, `a02`, `600`.
fn is_revision(word: &str) -> bool {
    word.len() == 3 && word.bytes().skip(1).all(|b| b.is_ascii_digit()) && word.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(compatible: &str) -> (String, Option<String>, Option<Flash>) {
        let found = parse(compatible).unwrap();
        (found.part, found.carrier, found.flash)
    }

    #[test]
    fn parts_carriers_and_flash_are_read_from_the_forms_that_boards_have() {
        let plain = Some(Flash::Plain);
        for (compatible, part, carrier, flash) in [
            (
                "nvidia,p3768-0000+p3767-0005-super\0nvidia,p3767-0005\0nvidia,tegra234",
                "p3767-0005",
                Some("p3768-0000"),
                Some(Flash::Super),
            ),
            (
                "nvidia,p3768-0000+p3767-0005\0nvidia,p3767-0005\0nvidia,tegra234",
                "p3767-0005",
                Some("p3768-0000"),
                plain,
            ),
            (
                "nvidia,p3449-0000-b00+p3448-0002-b00\0nvidia,jetson-nano\0nvidia,tegra210",
                "p3448-0002",
                Some("p3449-0000"),
                plain,
            ),
            (
                "nvidia,quill\0nvidia,p2597-0000+p3310-1000\0nvidia,tegra186",
                "p3310-1000",
                Some("p2597-0000"),
                plain,
            ),
            (
                "nvidia,p3450-0000\0nvidia,jetson-nano\0nvidia,tegra210",
                "p3450-0000",
                None,
                plain,
            ),
            (
                "nvidia,jetson-xavier-industrial\0nvidia,tegra194",
                "jetson-xavier-industrial",
                None,
                plain,
            ),
            (
                "nvidia,p3740-0002+p3701-0008-safety\0nvidia,tegra234",
                "p3701-0008",
                Some("p3740-0002"),
                None,
            ),
            (
                "nvidia,p3737-0000+p3701-0000-as-p3701-0004\0nvidia,tegra234",
                "p3701-0004",
                Some("p3737-0000"),
                plain,
            ),
            (
                "lanner,eai-i233-super\0nvidia,p3767-0000\0nvidia,tegra234",
                "p3767-0000",
                None,
                Some(Flash::Super),
            ),
        ] {
            let wanted = (part.to_owned(), carrier.map(str::to_owned), flash);
            assert_eq!(of(compatible), wanted, "{compatible}");
        }
        for nothing in [
            "",
            "nvidia,tegra234",
            "nvidia,pé67-00055",
            "nvidia,p3767",
            "raspberrypi,5\0brcm,bcm2712",
        ] {
            assert_eq!(parse(nothing), None, "{nothing}");
        }
    }
}
