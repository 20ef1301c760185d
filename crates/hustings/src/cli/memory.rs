//! `--max-memory`: how much memory a command may occupy.

use std::sync::LazyLock;

use hustings_sim::memory::available_memory;
use hustings_sim::simulate::{ParseError, Problem, Reader};

/// The value of `--max-memory`: bytes, or a number with a unit.
pub(crate) fn max_memory(text: &str) -> Result<u64, ParseError> {
    let reader = Reader::new(text, "a size such as `800M` or `4G` (K, M, G, T: powers of 1024), at least 64M");
    let units = [("K", 10), ("M", 20), ("G", 30), ("T", 40)];
    let (number, shift) = units
        .into_iter()
        .find_map(|(unit, shift)| text.strip_suffix(unit).map(|number| (number, shift)))
        .unwrap_or((text, 0));
    let bytes = reader.whole(number, 1, u64::MAX >> shift)? << shift;
    if bytes < MIN_MEMORY {
        return Err(reader.wrong(Problem::TooSmall { piece: text.into(), min: "64M".into() }, Some("64M".into())));
    }
    Ok(bytes)
}

/// The program itself takes some of it.
const MIN_MEMORY: u64 = 64 << 20;

/// The maximum memory of the process, in bytes: the given one, or half of what was free when it was first asked.
pub(crate) fn memory_limit(given: Option<u64>) -> Option<u64> {
    static HALF_OF_FREE: LazyLock<Option<u64>> = LazyLock::new(|| available_memory().map(|free| free / 2));
    given.or(*HALF_OF_FREE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes_or_numbers_with_a_unit() {
        let sizes = ["67108864", "800M", "4G"].map(|text| max_memory(text).unwrap() >> 20);
        assert_eq!(sizes, [64, 800, 4096]);
        for text in ["", "M", "1K", "4GB", "-1G", "99999999T"] {
            assert!(max_memory(text).is_err(), "{text}");
        }
    }
}
